//! Findings of a result, by the unit they are about.

use std::collections::{BTreeSet, HashMap};

use crate::judge::dump::rules as dump;
use crate::judge::loss::code;
use crate::judge::register;
use crate::judge::rule::{Rule, artifacts};
use crate::result::GateResult;
use crate::result::finding::{Fact, Finding};
use crate::result::unit::{EvaluationUnit, Unit};
use crate::verdict::CheckId;

/// A unit: its check, and how findings call it.
pub(super) type Key = (CheckId, String);

/// Findings by unit.
#[derive(Debug, Default)]
pub(super) struct Said<'a> {
    counting: HashMap<Key, Vec<&'a Finding>>,
    waived: HashMap<Key, Vec<&'a Finding>>,
    /// Those about a task of an evaluation as a whole, by model and task.
    tasks: HashMap<(String, String), Vec<&'a Finding>>,
}

impl<'a> Said<'a> {
    pub(super) fn of(result: &'a GateResult) -> Self {
        let units = keys(result);
        let mut said = Self::default();
        for finding in &result.findings {
            if let Some(key) = owner(finding, &units) {
                said.counting.entry(key).or_default().push(finding);
            }
            if let Some(task) = task_of(finding) {
                said.tasks.entry(task).or_default().push(finding);
            }
        }
        for waived in &result.waived {
            if let Some(key) = owner(&waived.finding, &units) {
                said.waived.entry(key).or_default().push(&waived.finding);
            }
        }
        said
    }

    /// Findings about a unit that count.
    pub(super) fn counting(&self, key: &Key) -> &[&'a Finding] {
        self.counting.get(key).map_or(&[], Vec::as_slice)
    }

    /// Findings about a task of an evaluation as a whole that count.
    pub(super) fn of_task(&self, model: &str, task: &str) -> &[&'a Finding] {
        self.tasks.get(&(model.to_owned(), task.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Findings about a unit, waived ones too.
    pub(super) fn all(&self, key: &Key) -> impl Iterator<Item = &'a Finding> + '_ {
        let waived = self.waived.get(key).map_or(&[][..], Vec::as_slice);
        self.counting(key).iter().chain(waived).copied()
    }
}

/// Every finding of a result, waived ones too.
pub(super) fn everything(result: &GateResult) -> impl Iterator<Item = &Finding> {
    result.findings.iter().chain(result.waived.iter().map(|waived| &waived.finding))
}

/// The keys of all units.
pub(super) fn keys(result: &GateResult) -> BTreeSet<Key> {
    result.checks.iter().flat_map(|check| check.units.iter().map(|unit| key(check.id, unit))).collect()
}

/// Key of a unit in findings.
pub(super) fn key(check: CheckId, unit: &Unit) -> Key {
    (check, unit.place())
}

/// The unit that a finding is about; `None` where it is about a check or the run as a whole.
pub(super) fn owner(finding: &Finding, units: &BTreeSet<Key>) -> Option<Key> {
    let name = claimed_owner(finding)?;
    let key = (finding.check, name);
    (!is_of_file(finding) || units.contains(&key)).then_some(key)
}

/// Whether a finding is about a file that cannot be read; a checkpoint that cannot be opened is called as its file is.
fn is_of_file(finding: &Finding) -> bool {
    finding.code == artifacts::DAMAGED.code || finding.code == artifacts::UNSUPPORTED.code
}

fn claimed_owner(finding: &Finding) -> Option<String> {
    let own = register::find(&finding.code).is_some_and(|rule| rule.check == finding.check);
    let of_whole_unit = [&dump::NOTHING_COMPARED, &dump::TASK_DIFFERS, &dump::PRESET_NEEDS_DATA];
    let place = || finding.place.as_str();
    let name = match finding.check {
        CheckId::Dump if own && of_whole_unit.iter().any(|rule| rule.code == finding.code) => Some(place()),
        CheckId::Dump if own => text(finding, "unit"),
        CheckId::Loss
            if own && ![code::ONE_SIDED.code, code::METRICS_MISSING.code].contains(&finding.code.as_str()) =>
        {
            Some(place())
        }
        CheckId::Checkpoint if own => text(finding, "checkpoint"),
        CheckId::Checkpoint if is_of_file(finding) => Some(place()),
        CheckId::Evaluation if own => return of_evaluation(finding),
        CheckId::Operators | CheckId::Performance | CheckId::Source if own => text(finding, "unit"),
        CheckId::Monitor if own => {
            return number(finding, "rank").map(|rank| format!("rank {rank}"));
        }
        _ => None,
    };
    name.map(str::to_owned)
}

/// The unit of an evaluation that a finding names; a finding about a task as a whole names none.
fn of_evaluation(finding: &Finding) -> Option<String> {
    let unit = text(finding, "unit")?;
    match text(finding, "model").zip(text(finding, "scope")) {
        Some((model, scope)) => Some(EvaluationUnit::place_of(model, unit, scope)),
        None => Some(unit.to_owned()),
    }
}

/// Model and task of a finding about a task of an evaluation as a whole.
fn task_of(finding: &Finding) -> Option<(String, String)> {
    let is_whole = finding.check == CheckId::Evaluation && !finding.facts.contains_key("unit");
    let task = text(finding, "model").zip(text(finding, "task")).filter(|_| is_whole)?;
    Some((task.0.to_owned(), task.1.to_owned()))
}

/// Whether a finding is of one of `rules`.
pub(super) fn is_of(finding: &Finding, rules: &[&Rule]) -> bool {
    rules.iter().any(|rule| rule.code == finding.code)
}

/// Whether any of `findings` is of one of `rules`.
pub(super) fn says(findings: &[&Finding], rules: &[&Rule]) -> bool {
    findings.iter().any(|finding| is_of(finding, rules))
}

/// A text among a finding's facts.
pub(super) fn text<'a>(finding: &'a Finding, name: &str) -> Option<&'a str> {
    match finding.facts.get(name) {
        Some(Fact::Text(text)) => Some(text),
        _ => None,
    }
}

/// A number among a finding's facts.
pub(super) fn number(finding: &Finding, name: &str) -> Option<f64> {
    match finding.facts.get(name) {
        #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53, other numbers are not counts")]
        Some(Fact::Count(count)) => Some(*count as f64),
        Some(Fact::Number(number)) => Some(number.0),
        // JSON has one spelling for a text and for a number that is none.
        Some(Fact::Text(text)) => match text.as_str() {
            "nan" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}
