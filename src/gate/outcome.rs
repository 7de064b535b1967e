//! Outcome of one check, before and after its policy.

use std::collections::BTreeSet;

use crate::diagnose::next_dump::RecordedSizes;
use crate::error::Error;
use crate::judge::rule::artifacts::DAMAGED;
use crate::judge::settle::{AppliedPolicy, settle_check};
use crate::judge::unread;
use crate::msprobe::table::MsprobeTable;
use crate::policy::Policy;
use crate::read::account::UnreadNumbers;
use crate::result::diagnosis::Diagnosis;
use crate::result::finding::Finding;
use crate::result::layout::Layouts;
use crate::result::observation::Observation;
use crate::result::place::Accepted;
use crate::result::run::{Growth, Looked, Timeline};
use crate::result::unit::{Check, Evidence, Unit};
use crate::verdict::{CheckId, Side, Verdict};

/// Outcome of one check.
#[derive(Debug)]
pub struct CheckOutcome {
    /// The check with its units.
    pub check: Check,
    /// Observations of the check, before any policy.
    pub observations: Vec<Observation>,
    /// Tables that do not grow with what is compared; others have gone to the sink.
    pub tables: Vec<MsprobeTable>,
    /// Sizes in bytes of operations that the next dump may hold; `None` where the check sees no operations.
    pub sizes: Option<RecordedSizes>,
    /// Likely causes that its artifacts show by themselves.
    pub diagnoses: Vec<Diagnosis>,
    /// Comments of the change that accept findings.
    pub accepted: Vec<Accepted>,
    /// Invariants of one run that it looked at, or could not.
    pub looked: Vec<Looked>,
    /// The course of the runs.
    pub timeline: Option<Timeline>,
    /// Gradient norms over the layers.
    pub growth: Option<Growth>,
    /// Parallel layouts of both sides, where they are known.
    pub layout: Option<Layouts>,
}

/// Finding about records of a check that cannot be read.
pub(super) fn damaged_finding(check: CheckId, side: Side, error: &Error) -> Finding {
    let finding = Finding::new(&DAMAGED, error.subject()).of_check(check).with("side", side.as_str());
    finding.with("reason", error.message()).with("help", error.help().unwrap_or_default())
}

impl CheckOutcome {
    /// A check that has not judged anything yet.
    pub fn new(id: CheckId) -> Self {
        Self {
            check: Check {
                id,
                verdict: Verdict::Skipped,
                culprit: None,
                samples: None,
                items: Vec::new(),
                units: Vec::new(),
            },
            observations: Vec::new(),
            tables: Vec::new(),
            sizes: None,
            diagnoses: Vec::new(),
            accepted: Vec::new(),
            looked: Vec::new(),
            timeline: None,
            growth: None,
            layout: None,
        }
    }

    /// Adds findings about the check as a whole.
    pub(super) fn add_findings(&mut self, findings: impl IntoIterator<Item = Finding>) {
        let id = self.check.id;
        self.observations.extend(findings.into_iter().map(|finding| Observation::of_check(id, finding)));
    }

    /// Adds a unit with findings about it.
    pub(super) fn add_unit(&mut self, unit: Unit, findings: impl IntoIterator<Item = Finding>) {
        let (id, place) = (self.check.id, self.check.units.len());
        self.check.units.push(unit);
        self.observations.extend(findings.into_iter().map(|finding| Observation::of_unit(id, place, finding)));
    }

    /// Judges numbers of both sides that their readers left unread; `broken` are metrics already reported as not finite.
    pub(super) fn judge_unread<'a>(
        &mut self,
        baseline: impl Iterator<Item = &'a UnreadNumbers>,
        candidate: impl Iterator<Item = &'a UnreadNumbers>,
        broken: &BTreeSet<String>,
    ) {
        let points = self.check.units.iter().filter_map(|unit| unit.evidence()).map(Evidence::telling);
        let judged = unread::ReadNumbers { points: points.fold(0, u64::saturating_add), broken };
        let unread = unread::judge(baseline, candidate, &[], judged);
        if let Some(evidence) = self.check.units.first_mut().and_then(|unit| unit.evidence_mut()) {
            unread.add_to_evidence(evidence);
        }
        self.add_findings(unread::cell_findings(unread.findings, self.check.id));
    }

    /// Applies `policy` to the findings, and decides the verdicts of the units and of the check.
    pub fn settle(&mut self, policy: &Policy) -> AppliedPolicy {
        settle_check(&mut self.check, &self.observations.iter().collect::<Vec<_>>(), policy)
    }
}
