//! Conversion of a run's result into the record that its history keeps.
//!
//! Everything that reaches a record passes the redactor: a record lives longer than a log, and is read by more people.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::fetch::Digest;
use crate::gate::baseline::facts;
use crate::gate::baseline::manifest::Manifest;
use crate::gate::discover::Inventory;
use crate::history::record::{
    EnvironmentFacts, FindingCount, LAYOUT, Record, RecordedBaseline, RecordedCulprit, RecordedMeasure,
};
use crate::history::trend::finding;
use crate::judge::config::watched_names;
use crate::judge::settle::settle;
use crate::policy::Policy;
use crate::read::json::{Json, to_text};
use crate::read::pack::Pack;
use crate::redact::Redactor;
use crate::report::JudgedRun;
use crate::result::GateResult;
use crate::result::history::Case;
use crate::result::history::Suite;
use crate::result::history::Summary;
use crate::result::number::Number;
use crate::result::observation::Observation;
use crate::result::outcome::LimitDirection;
use crate::result::unit::{Check, ConfigItem, Unit};
use crate::verdict::{CheckId, Verdict};

/// Values that one record holds: those of a thousand ranks. The rest of a larger run is left to its result.
const MOST_MEASURES: usize = 20_000;
/// Failing cases that one record holds, the first in the order of reports.
const MOST_CASES: usize = 1_000;
/// Characters of a text from an artifact.
const MOST_CHARS: usize = 300;

/// Circumstances of a run that its result does not hold.
#[derive(Clone, Debug)]
pub struct Moment<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// Time at which it is judged.
    pub time: Timestamp,
    /// The job's page.
    pub run: &'a str,
    /// The baseline's manifest, where it was named by one.
    pub manifest: Option<&'a Manifest>,
    /// Versions that no artifact holds; they take precedence over those from artifacts.
    pub versions: &'a [(String, String)],
}

/// Facts about the candidate's surroundings from its config packs.
pub fn facts(candidate: &Inventory, policy: &Policy) -> EnvironmentFacts {
    let recorded = facts::recorded_facts(candidate);
    let mut environment = BTreeMap::new();
    for name in watched_names(&policy.config) {
        let told = candidate.artifacts::<Pack>().iter().find_map(|pack| pack.variable(name));
        environment.extend(told.map(|value| (name.to_owned(), value.to_owned())));
    }
    EnvironmentFacts { versions: recorded.versions, environment, digests: digests(candidate, &recorded.inputs) }
}

/// Digests of all packages, settings and recorded inputs, independent of the order in the files.
fn digests(candidate: &Inventory, inputs: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let redactor = Redactor::default();
    let packs = || candidate.artifacts::<Pack>().iter();
    let packages = packs().flat_map(|pack| pack.pip.iter().flatten().flatten().cloned());
    let setting = |(name, value): &(String, Json)| format!("{name}={}", to_text(&redactor.value(name, value)));
    let settings = packs().flat_map(|pack| pack.settings().map(setting).collect::<Vec<_>>());
    let inputs = inputs.iter().map(|(name, digest)| format!("{name}={digest}"));
    let all: [(&str, Vec<String>); 3] =
        [("packages", packages.collect()), ("settings", settings.collect()), ("inputs", inputs.collect())];
    let of = |(name, mut lines): (&str, Vec<String>)| {
        lines.sort();
        (!lines.is_empty()).then(|| (name.to_owned(), Digest::of(lines.join("\n").as_bytes()).to_string()))
    };
    all.into_iter().filter_map(of).collect()
}

/// The record of a run.
pub fn record(judged: &JudgedRun, policy: &Policy, moment: &Moment<'_>) -> Record {
    let JudgedRun { result, facts, .. } = judged;
    let clean = Clean(Redactor::default());
    let mut facts = clean.facts(facts);
    facts.versions.extend(moment.versions.iter().map(|(what, version)| (what.clone(), clean.text(version))));
    let source = result.source.as_ref();
    let mut measures: Vec<RecordedMeasure> = result.checks.iter().flat_map(|check| clean.measures(check)).collect();
    measures.truncate(MOST_MEASURES);
    Record {
        schema_version: LAYOUT,
        suite: moment.suite.clone(),
        time: moment.time,
        commit: source.map_or_else(String::new, |source| clean.text(&source.commit)),
        repository: source.map_or_else(String::new, |source| clean.text(&source.repository)),
        run: clean.text(moment.run),
        verdict: result.verdict,
        profile: result.profile,
        tool: result.tool.version.clone(),
        baseline: clean.baseline(result, moment.manifest),
        candidate: clean.text(&result.candidate.label),
        facts,
        policy: policy.digest.clone(),
        culprit: result.culprit.as_ref().map(|culprit| RecordedCulprit {
            step: culprit.step,
            rank: culprit.rank,
            op: clean.text(&culprit.op),
            tensor: clean.text(&culprit.tensor),
            code: culprit.code.clone(),
        }),
        failing: clean.failing(result),
        measures,
        findings: findings(result),
    }
}

/// Adds the history's summary to the result; warnings of its trends count like any finding.
pub fn add_history(result: &mut GateResult, summary: Summary, policy: &Policy) {
    let told = summary.trends.iter().flat_map(finding::trend_findings);
    result.measured.extend(told.map(|finding| Observation::of_check(CheckId::History, finding)));
    result.history = Some(summary);
    settle(result, policy);
}

/// Findings by code.
fn findings(result: &GateResult) -> BTreeMap<String, FindingCount> {
    let mut found: BTreeMap<String, FindingCount> = BTreeMap::new();
    for finding in &result.findings {
        let (check, severity) = (finding.check, finding.severity);
        let entry = found.entry(finding.code.clone()).or_insert(FindingCount { check, severity, count: 0 });
        entry.severity = entry.severity.max(severity);
        entry.count += 1;
    }
    found
}

/// A count as a measure of its unit.
fn count(of_unit: &RecordedMeasure, rule: &str, count: u64) -> RecordedMeasure {
    #[allow(clippy::cast_precision_loss, reason = "no run compares 2^53 values")]
    let value = Some(Number(count as f64));
    RecordedMeasure { rule: rule.to_owned(), value, ..of_unit.clone() }
}

/// Texts for a record: without secrets, and short.
struct Clean(Redactor);

impl Clean {
    fn text(&self, text: &str) -> String {
        self.0.text(text).chars().take(MOST_CHARS).collect()
    }

    fn facts(&self, facts: &EnvironmentFacts) -> EnvironmentFacts {
        let clean = |map: &BTreeMap<String, String>| {
            let entry = |(name, value): (&String, &String)| {
                (self.text(name), self.0.setting(name, value).chars().take(MOST_CHARS).collect())
            };
            map.iter().map(entry).collect()
        };
        EnvironmentFacts {
            versions: clean(&facts.versions),
            environment: clean(&facts.environment),
            digests: facts.digests.clone(),
        }
    }

    fn baseline(&self, result: &GateResult, manifest: Option<&Manifest>) -> RecordedBaseline {
        let digest = |manifest: &Manifest| manifest.text().map(|text| Digest::of(text.as_bytes()).to_string());
        RecordedBaseline {
            label: result.baseline.as_ref().map_or_else(String::new, |run| self.text(&run.label)),
            digest: result.baseline.as_ref().map_or_else(String::new, |run| run.digest.clone()),
            name: manifest.map_or_else(String::new, |manifest| self.text(&manifest.name)),
            manifest: manifest.and_then(|manifest| digest(manifest).ok()).unwrap_or_default(),
        }
    }

    fn measures(&self, check: &Check) -> Vec<RecordedMeasure> {
        let of_item = |item: &ConfigItem| {
            count(&self.unmeasured(check.id, &item.name, item.verdict), "findings", item.findings as u64)
        };
        let items = check.items.iter().filter(|item| item.verdict != Verdict::Skipped).map(of_item);
        items.chain(check.units.iter().flat_map(|unit| self.of_unit(check.id, unit))).collect()
    }

    /// A measure of a unit, without rule and value.
    fn unmeasured(&self, check: CheckId, unit: &str, verdict: Verdict) -> RecordedMeasure {
        RecordedMeasure {
            check,
            unit: self.text(unit),
            rule: String::new(),
            value: None,
            warn: None,
            fail: None,
            direction: None,
            verdict,
        }
    }

    fn of_unit(&self, check: CheckId, unit: &Unit) -> Vec<RecordedMeasure> {
        let of_unit = self.unmeasured(check, &unit.name(), unit.verdict());
        let rules = unit.rules().iter().map(|outcome| RecordedMeasure {
            rule: self.text(&outcome.rule),
            value: outcome.value,
            warn: outcome.warn,
            fail: outcome.fail,
            direction: outcome.warn.or(outcome.fail).map(|_| outcome.direction),
            verdict: outcome.verdict,
            ..of_unit.clone()
        });
        let counts = unit.counts().into_iter().map(|(rule, number)| count(&of_unit, rule, number));
        let measured = unit.measured().into_iter().map(|measured| RecordedMeasure {
            rule: self.text(&measured.name),
            value: Some(measured.value),
            warn: measured.warn,
            fail: measured.fail,
            direction: measured.warn.or(measured.fail).map(|_| LimitDirection::AtMost),
            ..of_unit.clone()
        });
        rules.chain(counts).chain(measured).collect()
    }

    /// Blocking cases: for each blocking unit its blocking rules, else its culprit's code, else the unit itself; and blocking
    /// findings of checks without a blocking unit.
    fn failing(&self, result: &GateResult) -> Vec<Case> {
        let mut cases: Vec<Case> = result.checks.iter().flat_map(|check| self.of_check(check)).collect();
        let told: BTreeSet<CheckId> = cases.iter().map(|case| case.check).collect();
        let others = result.findings.iter().filter(|finding| finding.severity.verdict().blocks());
        let others = others.filter(|finding| !told.contains(&finding.check));
        cases.extend(others.map(|finding| Case {
            check: finding.check,
            unit: String::new(),
            rule: self.text(&finding.code),
        }));
        if cases.is_empty() && result.verdict.blocks() {
            cases.push(Case { check: CheckId::Artifacts, unit: String::new(), rule: String::new() });
        }
        cases.sort();
        cases.dedup();
        cases.truncate(MOST_CASES);
        cases
    }

    fn of_check(&self, check: &Check) -> Vec<Case> {
        let case = |unit: &str, rule: &str| Case { check: check.id, unit: self.text(unit), rule: self.text(rule) };
        let items = check.items.iter().filter(|item| item.verdict.blocks()).map(|item| case(&item.name, ""));
        let mut cases: Vec<Case> = items.collect();
        for unit in check.units.iter().filter(|unit| unit.verdict().blocks()) {
            let name = unit.name();
            let rules = unit.rules().iter().filter(|outcome| outcome.verdict.blocks());
            let mut own: Vec<Case> = rules.map(|outcome| case(&name, &outcome.rule)).collect();
            if own.is_empty() {
                let culprit = unit.culprit().map(|culprit| culprit.code.as_str());
                own.push(case(&name, culprit.unwrap_or_default()));
            }
            cases.extend(own);
        }
        cases
    }
}
