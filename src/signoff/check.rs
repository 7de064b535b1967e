//! Checks results against the requirements of a release. All reasons against it are listed, not only the first.

use std::collections::{BTreeMap, BTreeSet};

use super::input::{LoadedResult, SignoffResults, UnreadResult};
use super::refusal::Refusal;
use super::{Approval, Demands, SCHEMA_VERSION, Signoff, Suite};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::signoff::{BaselineDemand, SignoffPolicy, SuitePolicy};
use crate::policy::value::Date;
use crate::report::messages::Language;
use crate::report::{outcomes, summary};
use crate::result::finding::verdict_of;
use crate::result::this_tool;
use crate::result::{GateResult, Source};
use crate::verdict::{CheckId, Verdict};

/// Fewest digits that identify a commit.
const LEAST_DIGITS: usize = 7;

/// Request for a sign-off: requirements, commit, approvals and date.
#[derive(Clone, Copy, Debug)]
pub struct SignoffRequest<'a> {
    /// Requirements of the release.
    pub policy: &'a SignoffPolicy,
    /// The expected commit; `None` where all results only have to be of the same one.
    pub commit: Option<&'a str>,
    /// People who approved.
    pub approved_by: &'a [String],
    /// The day of the sign-off.
    pub today: Date,
    /// The language of refusals.
    pub language: Language,
}

impl SignoffRequest<'_> {
    /// Refuses a request that asks for nothing, or for something impossible.
    ///
    /// # Errors
    /// `Policy` and `Usage`.
    pub fn check(&self) -> Result<()> {
        let wrong = |message: &str, help: &str| Err(Error::new(ErrorKind::Policy, "signoff", message).with_help(help));
        let suites = &self.policy.suites;
        if suites.is_empty() {
            let help = "list what a release needs: `signoff: { suites: [{ name: llama-8b }] }` in the policy file, or \
                        --require FILE";
            return wrong("no suite is required, so a sign-off would say nothing", help);
        }
        let names: BTreeSet<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
        if names.len() < suites.len() {
            return wrong("a suite is listed twice", "give each suite a different name");
        }
        let is_commit = |text: &str| text.len() >= LEAST_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match self.commit {
            Some(commit) if !is_commit(commit) => {
                Err(Error::new(ErrorKind::Usage, "commit", format!("`{commit}` is none"))
                    .with_help(format!("give at least {LEAST_DIGITS} hexadecimal digits of it")))
            }
            _ => Ok(()),
        }
    }
}

/// Signs off, or lists the reasons against it.
pub fn assess(results: &SignoffResults, request: &SignoffRequest<'_>) -> Result<Signoff, Vec<Refusal>> {
    let loaded = &results.loaded;
    let mut refusals: Vec<Refusal> = results.unread.iter().map(unreadable).collect();
    refusals.extend(missing(results, request));
    refusals.extend(twice(loaded));
    for one in loaded {
        refusals.extend(of_suite(one, request).into_iter().map(|refusal| refusal.with("suite", one.suite.as_str())));
    }
    refusals.extend(commits(loaded, request));
    refusals.extend(approvals(request));
    if refusals.is_empty() { Ok(signoff(loaded, request)) } else { Err(refusals) }
}

fn unreadable(unread: &UnreadResult) -> Refusal {
    Refusal::new("unreadable").with("suite", unread.suite.as_str()).with("error", unread.error.to_string())
}

fn missing(results: &SignoffResults, request: &SignoffRequest<'_>) -> Vec<Refusal> {
    let loaded = results.loaded.iter().map(|one| one.suite.as_str());
    let there: BTreeSet<&str> = loaded.chain(results.unread.iter().map(|one| one.suite.as_str())).collect();
    let names = request.policy.suites.iter().map(|demand| demand.name.as_str());
    names.filter(|name| !there.contains(name)).map(|name| Refusal::new("suite-missing").with("suite", name)).collect()
}

/// Suites given twice, and one result given for two suites.
fn twice(loaded: &[LoadedResult]) -> Vec<Refusal> {
    let mut suites: BTreeMap<&str, &str> = BTreeMap::new();
    let mut contents: BTreeMap<&str, &str> = BTreeMap::new();
    let mut refusals = Vec::new();
    for one in loaded {
        if let Some(first) = suites.insert(&one.suite, &one.path) {
            let paths = Refusal::new("suite-twice").with("first", first).with("second", one.path.as_str());
            refusals.push(paths.with("suite", one.suite.as_str()));
            continue;
        }
        let content = one.files.first().map_or("", |file| file.sha256.as_str());
        if let Some(other) = contents.insert(content, &one.suite) {
            refusals.push(Refusal::new("same-result").with("suite", one.suite.as_str()).with("other", other));
        }
    }
    refusals
}

fn of_suite(loaded: &LoadedResult, request: &SignoffRequest<'_>) -> Vec<Refusal> {
    let result = &loaded.result;
    let mut refusals: Vec<Refusal> =
        demand_of(&loaded.suite, request.policy).map_or_else(Vec::new, |d| demanded(result, d));
    refusals.extend(verdict(result, request.language));
    refusals.extend(age(result, request));
    match &result.baseline {
        None => refusals.push(Refusal::new("no-baseline").with("suite", loaded.suite.as_str())),
        Some(baseline) if request.policy.baselines == BaselineDemand::Verified && baseline.verified.is_none() => {
            refusals.push(Refusal::new("baseline-unverified").with("location", baseline.location.as_str()));
        }
        Some(_) => {}
    }
    refusals.extend(waivers(result, request.today));
    let beside = loaded.operations_digest();
    if let Some((said, found)) = result.operations_digest.as_ref().zip(beside).filter(|(said, found)| *said != found) {
        refusals.push(Refusal::new("file-changed").with("said", said.as_str()).with("found", found));
    }
    refusals
}

fn demand_of<'a>(suite: &str, policy: &'a SignoffPolicy) -> Option<&'a SuitePolicy> {
    policy.suites.iter().find(|demand| demand.name.as_str() == suite)
}

/// Refusals from the requirements for this suite.
fn demanded(result: &GateResult, demand: &SuitePolicy) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if result.profile != demand.profile {
        let profiles = Refusal::new("other-profile").with("found", word(&result.profile));
        refusals.push(profiles.with("wanted", word(&demand.profile)));
    }
    if let Some(pattern) = demand.candidate.as_ref().filter(|pattern| !pattern.matches(&result.candidate.label)) {
        let labels = Refusal::new("other-candidate").with("found", result.candidate.label.as_str());
        refusals.push(labels.with("wanted", pattern.as_str()));
    }
    for check in &demand.checks {
        let found = result.checks.iter().find(|found| found.id == *check).map(|found| found.verdict);
        if found.is_none_or(|verdict| verdict == Verdict::Skipped) {
            refusals.push(Refusal::new("check-missing").with("check", check.as_str()));
        }
    }
    refusals
}

/// Refusals for a verdict other than `pass`, or one that does not follow from the result itself.
fn verdict(result: &GateResult, language: Language) -> Option<Refusal> {
    let checks = result.checks.iter().map(|check| check.verdict);
    let implied = Verdict::of_all(checks.chain([verdict_of(&result.findings)]));
    if result.verdict != Verdict::Pass {
        let why = summary::headline(result, language).unwrap_or_default();
        return Some(Refusal::new("not-passed").with("why", why));
    }
    let passed = result.checks.iter().any(|check| check.verdict == Verdict::Pass);
    let implied = if passed { implied } else { implied.max(Verdict::Incomplete) };
    (implied != Verdict::Pass).then(|| Refusal::new("inconsistent").with("implied", implied.as_str()))
}

fn age(result: &GateResult, request: &SignoffRequest<'_>) -> Option<Refusal> {
    let limit = request.policy.max_age_days;
    let Ok(judged) = Date::try_from(result.today.clone()) else {
        return Some(Refusal::new("undated").with("date", result.today.as_str()));
    };
    let days = request.today.days_since(judged);
    match u64::try_from(days) {
        Err(_) => Some(
            Refusal::new("from-future").with("date", result.today.as_str()).with("today", request.today.to_string()),
        ),
        Ok(days) if days > u64::from(limit) => {
            let ages = Refusal::new("too-old").with("days", days).with("limit", u64::from(limit));
            Some(ages.with("date", result.today.as_str()))
        }
        Ok(_) => None,
    }
}

fn waivers(result: &GateResult, today: Date) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for waived in &result.waived {
        let about = |code| Refusal::new(code).with("waiver", waived.waiver.as_str());
        if waived.owner.trim().is_empty() {
            refusals.push(about("waiver-unowned"));
        }
        if Date::try_from(waived.expires.clone()).map_or(true, |last| last < today) {
            let ended = about("waiver-expired").with("expires", waived.expires.as_str());
            refusals.push(ended.with("owner", waived.owner.as_str()));
        }
    }
    refusals.dedup();
    refusals
}

/// Refusals for results without a commit, of another commit than the expected one, or of different commits.
fn commits(loaded: &[LoadedResult], request: &SignoffRequest<'_>) -> Vec<Refusal> {
    let of = |one: &LoadedResult| one.result.source.as_ref().map(|source| source.commit.to_ascii_lowercase());
    let mut refusals: Vec<Refusal> = loaded
        .iter()
        .filter(|one| of(one).is_none_or(|commit| commit.is_empty()))
        .map(|one| Refusal::new("no-commit").with("suite", one.suite.as_str()))
        .collect();
    let known =
        loaded.iter().filter_map(|one| Some((one.suite.as_str(), of(one).filter(|commit| !commit.is_empty())?)));
    if let Some(wanted) = request.commit.map(str::to_ascii_lowercase) {
        let others = known.filter(|(_, commit)| !commit.starts_with(&wanted));
        refusals.extend(others.map(|(suite, commit)| {
            Refusal::new("other-commit")
                .with("suite", suite)
                .with("found", short(&commit))
                .with("wanted", short(&wanted))
        }));
        return refusals;
    }
    let mut suites: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (suite, commit) in known {
        suites.entry(commit).or_default().push(suite);
    }
    if suites.len() > 1 {
        let each = suites.iter().map(|(commit, suites)| format!("{} ({})", short(commit), suites.join(", ")));
        refusals.push(Refusal::new("commits-differ").with("commits", each.collect::<Vec<_>>()));
    }
    refusals
}

fn approvals(request: &SignoffRequest<'_>) -> Vec<Refusal> {
    let given = |name: &&String| !request.approved_by.iter().any(|by| by == *name);
    let open = request.policy.approvers.iter().filter(given);
    open.map(|name| Refusal::new("approval-missing").with("name", name.as_str())).collect()
}

fn signoff(loaded: &[LoadedResult], request: &SignoffRequest<'_>) -> Signoff {
    let source = loaded.iter().find_map(|one| one.result.source.clone());
    let approved = |by: &String| Approval { by: by.clone(), on: request.today.to_string() };
    Signoff {
        schema_version: SCHEMA_VERSION,
        tool: this_tool(),
        today: request.today.to_string(),
        source: source.unwrap_or_else(|| Source { commit: String::new(), repository: String::new(), target: None }),
        demands: Demands { max_age_days: request.policy.max_age_days, baselines: request.policy.baselines },
        approvals: request.approved_by.iter().map(approved).collect(),
        suites: loaded.iter().map(|one| suite(one, demand_of(&one.suite, request.policy))).collect(),
    }
}

fn suite(loaded: &LoadedResult, demand: Option<&SuitePolicy>) -> Suite {
    let result = &loaded.result;
    let judged = result.checks.iter().map(|check| (check.id, check.verdict));
    Suite {
        name: loaded.suite.clone(),
        required: demand.is_some(),
        labels: demand.map(|demand| demand.labels.clone()).unwrap_or_default(),
        verdict: result.verdict,
        profile: result.profile,
        judged: result.today.clone(),
        tool: result.tool.clone(),
        baseline: result.baseline.clone().unwrap_or_default(),
        candidate: result.candidate.clone(),
        checks: judged.collect::<BTreeMap<CheckId, Verdict>>(),
        rules: outcomes::rules(result),
        findings: result.findings.clone(),
        waived: result.waived.clone(),
        files: loaded.files.clone(),
    }
}

fn short(commit: &str) -> String {
    commit.chars().take(12).collect()
}

/// A value as it is serialised.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
