//! Config packs: what two packs differ in, checker by checker.
//!
//! Each area has a file of its own. A judge gives findings and no verdict: the policy's severities and waivers
//! are applied to them afterwards. Values of variables are shown only for those on a watch list, and no value
//! whose name looks secret is shown at all.

pub mod alone;
mod dataset;
mod device;
mod digest;
mod env;
mod hyperparameters;
mod pack;
mod pip;
mod random;
pub mod rules;
mod seed;
mod weights;

use crate::policy::config::{ConfigPolicy, Device};
use crate::read::pack::{Checker, Pack};
use crate::redact::Redactor;
use crate::result::finding::Finding;
use crate::verdict::Side;

pub use device::device_of;
pub use env::watched_names;
pub use rules::RULES;

/// Two packs and what decides.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The trusted run's pack.
    pub baseline: &'a Pack,
    /// The pack to judge.
    pub candidate: &'a Pack,
    /// The policy's section.
    pub policy: &'a ConfigPolicy,
    /// Replaces secrets in values.
    pub redactor: &'a Redactor,
}

impl<'a> Context<'a> {
    /// Both sides.
    fn sides(&self) -> [(Side, &'a Pack); 2] {
        [(Side::Baseline, self.baseline), (Side::Candidate, self.candidate)]
    }

    /// The kind of device a side ran on: as declared, else as its pack shows.
    fn device(&self, side: Side) -> Option<Device> {
        let (declared, pack) = match side {
            Side::Baseline => (self.policy.devices.baseline, self.baseline),
            Side::Candidate => (self.policy.devices.candidate, self.candidate),
        };
        declared.or_else(|| device::shown_by(pack).device)
    }
}

/// Findings about two packs.
#[derive(Debug, Default)]
pub struct Judged {
    /// Findings about the packs as such.
    pub general: Vec<Finding>,
    /// Findings per checker, in order; `None` where neither pack has it and nothing asks for it.
    pub checkers: Vec<(Checker, Option<Vec<Finding>>)>,
}

/// Judges two packs.
pub fn judge(context: &Context<'_>) -> Judged {
    let mut general = pack::general(context);
    general.extend(device::judge(context));
    general.extend(digest::judge(context));
    let mut checkers: Vec<(Checker, Option<Vec<Finding>>)> =
        Checker::ALL.into_iter().map(|checker| (checker, judge_checker(checker, context))).collect();
    let seeds = seed::judge(context);
    // Seeds belong to the random checker; where there is none, to the environment they were read from.
    for wanted in [Checker::Random, Checker::Env] {
        let place = checkers.iter_mut().find(|(checker, findings)| *checker == wanted && findings.is_some());
        if let Some((_, Some(findings))) = place {
            findings.extend(seeds);
            break;
        }
    }
    Judged { general, checkers }
}

fn judge_checker(checker: Checker, context: &Context<'_>) -> Option<Vec<Finding>> {
    let expected = context.policy.expect.contains(&checker);
    let (baseline, candidate) = (context.baseline.has(checker), context.candidate.has(checker));
    let mut findings = pack::of_checker(checker, context);
    match (baseline, candidate) {
        (false, false) if !expected => return None,
        (false, false) => findings.push(Finding::new(&rules::CHECKER_MISSING, checker.as_str())),
        (true, true) => findings.extend(match checker {
            Checker::Env => env::judge(context),
            Checker::Pip => pip::judge(context),
            Checker::Dataset => dataset::judge(context),
            Checker::Weights => weights::judge(context),
            Checker::Hyperparameters => hyperparameters::judge(context),
            Checker::Random => random::judge(context),
        }),
        (has, _) => {
            let side = if has { Side::Baseline } else { Side::Candidate };
            findings.push(Finding::new(&rules::CHECKER_ONE_SIDED, checker.as_str()).with("side", side.as_str()));
        }
    }
    Some(findings)
}

/// Most names that one finding lists; its count says how many there are.
const LISTED: usize = 10;

/// The first names of a long list.
fn listed<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Vec<String> {
    names.into_iter().take(LISTED).map(Into::into).collect()
}
