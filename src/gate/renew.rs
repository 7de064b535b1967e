//! Many baselines renewed in one reviewed request: each suite's new runs are judged against its old ones, as samples.

use serde::{Deserialize, Serialize};

use super::request::{FurtherRuns, Request};
use super::run::run_by;
use super::surroundings::Surroundings;
use crate::compare::measurements::Measurements;
use crate::error::{Error, Result};
use crate::fetch::Fetcher;
use crate::fetch::progress::Progress;
use crate::msprobe::dump::Matching;
use crate::policy::Policy;
use crate::policy::location::TrustedLocation;
use crate::report::sink::DiscardingSink;
use crate::result::GateResult;
use crate::result::number::Number;
use crate::result::unit::{SampleRule, samples};
use crate::verdict::Verdict;

/// A request to renew baselines.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenewRequest {
    /// The suites.
    pub renew: Vec<RenewSuite>,
}

/// One suite of a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RenewSuite {
    /// Its name.
    pub suite: String,
    /// Location of the old runs: a folder with a run in each entry, or a recorded sample.
    pub baseline: String,
    /// Location of the new runs: a folder with a run in each entry.
    pub candidate: String,
    /// Reason for the new baseline, for reviewers.
    pub because: String,
}

/// A judged suite.
#[derive(Clone, Debug, Serialize)]
pub struct Renewed {
    /// Its name.
    pub suite: String,
    /// Whether its new runs may become the baseline.
    pub accepted: bool,
    /// Reason why they may not; empty where they may.
    pub reason: String,
    /// Verdict of the comparison; null where none took place.
    pub verdict: Option<Verdict>,
    /// The most certain shift, as a part of the old value.
    pub effect: Option<Number>,
    /// Its interval.
    pub interval: Option<[Number; 2]>,
    /// Reason for the new baseline.
    pub because: String,
}

/// Judges every suite under `policy`; `place` turns a location of the request into one that can be opened.
pub fn judge(
    request: &RenewRequest,
    policy: &Policy,
    place: &dyn Fn(&str) -> String,
    fetcher: &Fetcher,
    progress: &dyn Progress,
) -> Vec<Renewed> {
    let of = |suite: &RenewSuite| {
        let refused = |reason: &str| Renewed {
            suite: suite.suite.clone(),
            accepted: false,
            reason: reason.to_owned(),
            verdict: None,
            effect: None,
            interval: None,
            because: suite.because.clone(),
        };
        if !suite.because.chars().any(char::is_alphanumeric) {
            return refused("no reason is given (`because`)");
        }
        match compared(suite, policy, place, fetcher, progress) {
            Ok(result) => of_result(suite, &result),
            Err(error) => refused(&with_help(&error)),
        }
    };
    request.renew.iter().map(of).collect()
}

fn with_help(error: &Error) -> String {
    let help = error.help().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("{error}{help}")
}

fn compared(
    suite: &RenewSuite,
    policy: &Policy,
    place: &dyn Fn(&str) -> String,
    fetcher: &Fetcher,
    progress: &dyn Progress,
) -> Result<GateResult> {
    let request = Request {
        baseline: TrustedLocation::own(place(&suite.baseline)),
        candidate: place(&suite.candidate),
        several: FurtherRuns { are_runs: [true, true], ..FurtherRuns::default() },
        checks: Request::ALL_CHECKS.to_vec(),
        policy: policy.clone().trust_own_files(),
        matching: Matching::default(),
    };
    let surroundings = Surroundings::new(fetcher, &DiscardingSink);
    Ok(run_by(&request, &surroundings, &Measurements::default(), progress)?.result)
}

fn of_result(suite: &RenewSuite, result: &GateResult) -> Renewed {
    let is_one = result.samples.as_ref().is_none_or(|samples| samples.runs.iter().all(|runs| runs.len() < 2));
    let blocks = result.verdict.blocks().then(|| {
        let finding = result.findings.iter().find(|finding| finding.counts());
        finding.map_or_else(
            || result.verdict.as_str().to_owned(),
            |finding| format!("{}: {}", finding.code, finding.place),
        )
    });
    let reason = if is_one {
        Some("one run against one shows nothing of their scatter: give several".to_owned())
    } else {
        blocks
    };
    let rules = samples(&result.checks).flat_map(|unit| &unit.rules).filter(|rule| rule.p_adjusted.is_some());
    let chance = |rule: &&SampleRule| rule.p_adjusted.map_or(1.0, |p| p.0);
    let surest = rules.min_by(|a, b| chance(a).total_cmp(&chance(b)));
    Renewed {
        suite: suite.suite.clone(),
        accepted: reason.is_none(),
        reason: reason.unwrap_or_default(),
        verdict: Some(result.verdict),
        effect: surest.and_then(|rule| rule.effect.or(rule.drop)),
        interval: surest.and_then(|rule| rule.interval),
        because: suite.because.clone(),
    }
}
