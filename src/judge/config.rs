//! Config packs: differences of two packs, checker by checker.
//!
//! Each area has a file of its own. A judge returns findings and no verdict: the severities and waivers of the policy are applied
//! to them afterwards. Only values of variables on a watch list are shown, and no value whose name looks secret.

pub mod alone;
mod context;
mod dataset;
mod device;
mod digest;
mod env;
mod hyperparameters;
mod listed;
mod pack;
mod packages;
mod pip;
mod random;
pub mod rules;
mod seed;
mod signs;
mod weights;

use crate::read::pack::Checker;
use crate::result::finding::Finding;
use crate::verdict::Side;

pub use context::PackContext;
pub(crate) use env::watched_names;
pub use rules::RULES;
pub(crate) use signs::device_of;

/// Findings about two packs.
#[derive(Debug, Default)]
pub struct JudgedPacks {
    /// Findings about the packs as such.
    pub general: Vec<Finding>,
    /// Findings per checker, in order; `None` where neither pack has it and nothing asks for it.
    pub checkers: Vec<(Checker, Option<Vec<Finding>>)>,
}

/// Judges two packs.
pub fn judge(context: &PackContext<'_>) -> JudgedPacks {
    let mut general = pack::pack_findings(context);
    general.extend(device::judge(context));
    general.extend(digest::judge(context));
    let mut checkers: Vec<(Checker, Option<Vec<Finding>>)> =
        Checker::ALL.into_iter().map(|checker| (checker, judge_checker(checker, context))).collect();
    let seeds = seed::judge(context);
    // Seeds belong to the random checker, or, without one, to the environment that they were read from.
    for wanted in [Checker::Random, Checker::Env] {
        let place = checkers.iter_mut().find(|(checker, findings)| *checker == wanted && findings.is_some());
        if let Some((_, Some(findings))) = place {
            findings.extend(seeds);
            break;
        }
    }
    JudgedPacks { general, checkers }
}

fn judge_checker(checker: Checker, context: &PackContext<'_>) -> Option<Vec<Finding>> {
    let expected = context.policy.expect.contains(&checker);
    let (baseline, candidate) = (context.baseline.has_any_of(checker), context.candidate.has_any_of(checker));
    let mut findings = pack::checker_findings(checker, context);
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
