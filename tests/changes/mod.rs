//! Changes of real files, for tests that ask what the gate makes of them.

pub(crate) use crate::data;
pub(crate) mod folder;
pub(crate) mod layouts;
pub(crate) mod pairs;
pub(crate) mod places;
pub(crate) mod removal;
pub(crate) mod tree;

use std::path::Path;

use precision_gate::error::Result;
use precision_gate::gate::{Quiet, Request, run};
use precision_gate::judge::register;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::result::GateResult;
use precision_gate::result::unit::{Evidence, Unit};
use precision_gate::verdict::CheckId;

/// Numbers that are the same in every run (Knuth's generator of MMIX).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit.max(1)
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

/// Judges two folders or files with every check.
pub(crate) fn judge(baseline: &Path, candidate: &Path, policy: &str) -> Result<GateResult> {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let request = Request {
        baseline: TrustedLocation::own(baseline.display().to_string()),
        several: Default::default(),
        candidate: candidate.display().to_string(),
        checks: CheckId::CHECKS.to_vec(),
        policy: Policy::parse("policy.yml", policy, &codes)?,
        matching: precision_gate::msprobe::dump::Matching::default(),
    };
    Ok(run(&request, &Quiet)?.result)
}

/// The counts of all units together.
pub(crate) fn evidence(result: &GateResult) -> Evidence {
    let mut sum = Evidence::default();
    for unit in result.checks.iter().flat_map(|check| &check.units) {
        let of_unit = match unit {
            Unit::Dump(unit) => unit.evidence.clone(),
            Unit::Curve(unit) => unit.evidence.clone(),
            Unit::Checkpoint(unit) => unit.evidence.clone(),
            Unit::Monitor(unit) => unit.evidence.clone(),
            Unit::Operators(unit) => unit.evidence.clone(),
            Unit::Logprobs(unit) => unit.evidence.clone(),
            Unit::Sample(unit) => unit.evidence.clone(),
            Unit::Array(unit) => unit.evidence.clone(),
            Unit::Rollout(unit) => unit.evidence.clone(),
            Unit::Sync(unit) => unit.evidence.clone(),
            Unit::Performance(unit) => {
                let [baseline, candidate] = unit.steps;
                Evidence { compared: baseline.min(candidate), ..Evidence::default() }
            }
            // Source is no part of a pair.
            Unit::Source(_) => Evidence::default(),
            Unit::Evaluation(unit) => {
                let one_sided = unit.samples.saturating_sub(unit.paired);
                Evidence { compared: unit.paired, one_sided: [0, one_sided], ..Evidence::default() }
            }
            Unit::Generation(unit) => {
                Evidence { compared: unit.compared, one_sided: [0, unit.unmatched], ..Evidence::default() }
            }
        };
        sum.compared += of_unit.compared;
        sum.shown_only += of_unit.shown_only;
        sum.not_compared += of_unit.not_compared;
        sum.one_sided = [0, sum.unpaired_count() + of_unit.unpaired_count()];
        sum.damaged += of_unit.damaged;
        sum.left_out += of_unit.left_out;
    }
    sum
}

/// The codes of all findings.
pub(crate) fn codes(result: &GateResult) -> Vec<&str> {
    result.findings.iter().map(|finding| finding.code.as_str()).collect()
}
