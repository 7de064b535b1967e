//! The self-test: whether the limits of a policy catch known defects.
//!
//! Runs made on the spot, some healthy and some with a defect of known kind and size, are judged by the user's own
//! policy. A policy that lets a defect pass, or that blocks a healthy run, is reported: limits without a test
//! cannot be trusted.

pub mod synthetic;

use serde::Serialize;

use super::checks::recognisers;
use super::known_defects;
use super::loss;
use super::repeats::RepeatOpener;
use crate::error::Result;
use crate::fetch::Fetcher;
use crate::policy::Policy;
use crate::policy::loss::Mode;
use crate::policy::loss::limit::Share;
use crate::verdict::Verdict;
use synthetic::{Defect, Noise, SyntheticRun};

/// Steps of a made run.
const STEPS: u64 = 200;
/// Seed of all cases: a self-test gives the same result every time.
const SEED: u64 = 20_261_121;

/// Result of the self-test.
#[derive(Clone, Debug, Serialize)]
pub struct Selftest {
    /// Every case.
    pub cases: Vec<Case>,
    /// Whether the policy does what it should in all of them.
    pub ok: bool,
}

/// One made pair of runs.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// Stable name.
    pub name: &'static str,
    /// Defect that was added to the run.
    pub what: &'static str,
    /// Whether it must be blocked.
    pub is_defect: bool,
    /// Verdict by the policy.
    pub verdict: Verdict,
    /// The rules that decided: codes of the worst findings.
    pub by: Vec<String>,
    /// Whether that is right.
    pub ok: bool,
}

/// Healthy runs: name, what differs, noise of the candidate.
const HEALTHY: [(&str, &str, Noise); 4] = [
    ("identical", "the same run twice", Noise::None),
    ("dense-noise", "different platform, dense model: 1e-5 on average", Noise::Dense),
    ("moe-noise", "different platform, mixture of experts: 4e-4 on average", Noise::MixtureOfExperts),
    ("dropout", "dropout left in: single steps differ by 3 %, the level agrees", Noise::Dropout),
];

/// Known defects, each on top of the noise of a healthy dense model.
const DEFECTS: [(&str, &str, Defect); 15] = [
    (
        "level-0.25-percent",
        "0.25 % lower from the second step on (a missing hook)",
        Defect::Scale { size: -0.0025, from: 2 },
    ),
    (
        "first-five-0.3-percent",
        "0.3 % off over the first five steps, then healed",
        Defect::Window { size: 0.003, from: 2, to: 5 },
    ),
    ("level-2-percent", "2 % off from the first step on", Defect::Scale { size: 0.02, from: 1 }),
    ("level-from-middle", "1.5 % off from the middle on", Defect::Scale { size: 0.015, from: 100 }),
    ("drift", "slowly drifting apart, to 3 % at the end", Defect::Drift { size: 0.03 }),
    ("tail", "0.8 % off in the last tenth", Defect::Scale { size: 0.008, from: 181 }),
    ("bad-steps", "every tenth step off by 4 %, up and down", Defect::EveryTenth { size: 0.04 }),
    ("delay", "one step behind: an update is lost", Defect::Delay { steps: 1 }),
    ("data-order", "different data order from step 60 on", Defect::DataOrder { from: 60 }),
    ("nan", "NaN from step 150 on", Defect::NaN { from: 150 }),
    ("nan-once", "NaN only at step 150", Defect::NaNOnce { at: 150 }),
    (
        "hidden-nan",
        "NaN filtered out of the log: loss 0.0, gradient norm NaN, for one step",
        Defect::HiddenNaN { at: 150 },
    ),
    ("cut", "ends at three quarters", Defect::Cut { at: 150 }),
    ("learning-rate", "another warm-up", Defect::LearningRate),
    ("grad-norm", "gradient norm 30 % off, loss untouched", Defect::GradNorm { size: 0.3 }),
];

/// Judges all made runs by `policy`.
pub fn run(policy: &Policy) -> Result<Selftest> {
    let fetcher = Fetcher::default();
    let repeats = RepeatOpener { fetcher: &fetcher, recognisers: recognisers() };
    let judged = |name, what, is_defect, candidate: &SyntheticRun| -> Result<Case> {
        let baseline = SyntheticRun::healthy(STEPS, SEED).curve_file("baseline");
        let mut outcome = loss::check(&[baseline], &[candidate.curve_file("candidate")], policy, repeats, None)?;
        let applied = outcome.settle(policy);
        let verdict = outcome.check.verdict;
        let blocks = verdict.blocks();
        let worst = applied.findings.iter().map(|finding| finding.severity).max();
        let mut by: Vec<String> = applied
            .findings
            .iter()
            .filter(|finding| Some(finding.severity) == worst && verdict > Verdict::Pass)
            .map(|finding| finding.code.clone())
            .collect();
        by.dedup();
        Ok(Case { name, what, is_defect, verdict, by, ok: blocks == is_defect })
    };
    let mut cases = Vec::new();
    for (name, what, noise) in HEALTHY {
        // A policy that excludes randomness refuses a run with dropout, and rightly so.
        if noise != Noise::Dropout || policy.loss.mode != Mode::SameWeights {
            cases.push(judged(name, what, false, &SyntheticRun::healthy(STEPS, SEED).with_noise(noise, SEED + 1))?);
        }
    }
    let needed = Share::default().get();
    for (name, what, defect) in DEFECTS {
        // A policy may say that shorter runs are fine.
        if matches!(defect, Defect::Cut { .. }) && policy.loss.coverage.get() < needed {
            continue;
        }
        let run = SyntheticRun::healthy(STEPS, SEED).with_noise(Noise::Dense, SEED + 1).with_defect(defect, SEED + 2);
        cases.push(judged(name, what, true, &run)?);
    }
    cases.extend(tensors(policy));
    let ok = cases.iter().all(|case| case.ok);
    Ok(Selftest { cases, ok })
}

/// Defects of known size in a dump and in a checkpoint, by the limits that hold for all operations and parameters.
fn tensors(policy: &Policy) -> Vec<Case> {
    let of = |(place, key): (usize, &'static str)| {
        known_defects::DEFECTS.iter().filter_map(move |defect| {
            let verdict = known_defects::by_global_limits(key, defect, policy);
            let (name, what) = (defect.cases.get(place).copied()?, defect.what);
            Some(Case { name, what, is_defect: true, verdict, by: Vec::new(), ok: verdict.blocks() })
        })
    };
    known_defects::KEYS.into_iter().enumerate().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selftest(yaml: &str) -> Selftest {
        let codes: Vec<&str> = crate::judge::register::all_rules().map(|rule| rule.code).collect();
        run(&Policy::parse("policy.yml", yaml, &codes).expect("sound")).expect("runs")
    }

    fn wrong(selftest: &Selftest) -> Vec<&str> {
        selftest.cases.iter().filter(|case| !case.ok).map(|case| case.name).collect()
    }

    #[test]
    fn the_defaults_catch_every_defect_and_block_no_healthy_run() {
        for mode in ["auto", "same-weights"] {
            let selftest = selftest(&format!("loss: {{mode: {mode}}}"));
            assert!(selftest.ok, "{mode}: {:#?}", selftest.cases.iter().filter(|case| !case.ok).collect::<Vec<_>>());
        }
    }

    #[test]
    fn limits_that_let_a_defect_pass_are_told() {
        assert!(wrong(&selftest("loss: {limits: {head: {fail: 0.5}}}")).contains(&"level-0.25-percent"));
        assert!(wrong(&selftest("loss: {limits: {tail: {fail: 9}}}")).contains(&"tail"));
        assert!(wrong(&selftest("loss: {limits: {spread: 1}}")).contains(&"bad-steps"));
        assert!(wrong(&selftest("loss: {limits: {grad-norm: {fail: 9}}}")).contains(&"grad-norm"));
        assert_eq!(wrong(&selftest("dump: {limits: [{noise: 0.6}]}")), ["dump-scale", "dump-half"]);
        assert_eq!(wrong(&selftest("checkpoint: {limits: [{wrong: 1}]}")).len(), 3);
        assert!(wrong(&selftest("loss: {absolute-floor: 1}")).contains(&"drift"));
        assert!(wrong(&selftest("loss: {preset: megatron}")).contains(&"level-2-percent"));
        assert!(wrong(&selftest("loss: {preset: torchtitan-exact}")).contains(&"dense-noise"));
        assert!(wrong(&selftest("severity: {curve-non-finite: info, curve-coverage: info}")).contains(&"nan-once"));
    }
}
