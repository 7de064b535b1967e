//! Applied rules for documents: values with their units, limits with their direction, notes in words.

use minijinja::Value;
use minijinja::context;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::messages::{ratio, relative_error_text, short_number};
use super::phrases;
use super::writer::{Writer, safe};
use crate::error::Result;
use crate::result::GateResult;
use crate::result::finding::Fact;
use crate::result::number::Number;
use crate::result::outcome::{LimitDirection, Note, RuleOutcome, ValueUnit};
use crate::verdict::{CheckId, Verdict};

/// A rule of a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnitRule {
    /// The check.
    pub check: CheckId,
    /// The unit: a metric, a step and rank, a checkpoint.
    pub unit: String,
    /// The rule as in the result.
    pub outcome: RuleOutcome,
}

/// A rule of a unit for reading.
#[derive(Debug, Serialize)]
pub struct RuleRow {
    /// The check.
    pub check: CheckId,
    /// The unit: a metric, a step and rank, a checkpoint.
    pub unit: String,
    /// Stable name of the rule.
    pub rule: String,
    /// The rule's formula; empty for a rule that this version does not know.
    pub formula: String,
    /// The measured value with its unit; empty where nothing was measured.
    pub value: Value,
    /// The limit that warns, as a bound; empty where there is none.
    pub warn: Value,
    /// The limit that fails, as a bound.
    pub fail: Value,
    /// Distance from the nearest limit as a fraction of the limit; `None` beyond the limit, where value and limit are enough.
    pub margin: Option<Number>,
    /// Verdict that follows from value and limit.
    pub verdict: Verdict,
    /// The notes in words; empty where there are none.
    pub note: Value,
}

/// Every rule of every unit, the worst first, then in the order of reports.
pub fn rules(result: &GateResult) -> Vec<UnitRule> {
    let mut rules = Vec::new();
    for check in &result.checks {
        for unit in &check.units {
            let name = unit.name();
            let row =
                |outcome: &RuleOutcome| UnitRule { check: check.id, unit: name.clone(), outcome: outcome.clone() };
            rules.extend(unit.rules().iter().map(row));
        }
    }
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.outcome.verdict));
    rules
}

/// The rows of [`rules`] in the writer's language and target.
pub fn rows(result: &GateResult, writer: &Writer) -> Result<Vec<RuleRow>> {
    rules(result).into_iter().map(|rule| row(rule, writer)).collect()
}

fn row(rule: UnitRule, writer: &Writer) -> Result<RuleRow> {
    let UnitRule { check, unit, outcome } = rule;
    let limit = |limit: Option<Number>| bound_text(limit, outcome.unit, outcome.direction, writer).map(safe);
    Ok(RuleRow {
        check,
        unit: writer.unit(&unit),
        formula: phrases::formula(&outcome.rule, writer.language()).unwrap_or_default().to_owned(),
        value: safe(measured_text(&outcome, writer)?),
        warn: limit(outcome.warn)?,
        fail: limit(outcome.fail)?,
        margin: outcome.margin.filter(|margin| margin.0 >= 0.0),
        verdict: outcome.verdict,
        note: safe(notes(&outcome.notes, writer)?),
        rule: outcome.rule,
    })
}

/// The measured value with its unit; a relative error has only as many digits as show on which side of its limits it lies.
pub(super) fn measured_text(outcome: &RuleOutcome, writer: &Writer) -> Result<String> {
    let limits: Vec<f64> = outcome.warn.iter().chain(&outcome.fail).map(|limit| limit.0).collect();
    match (outcome.unit, outcome.value) {
        (ValueUnit::Relative, Some(Number(value))) => Ok(relative_error_text(value, &limits)),
        (unit, value) => amount_text(value, unit, writer),
    }
}

/// A value with its unit; empty for none.
pub(crate) fn amount_text(value: Option<Number>, unit: ValueUnit, writer: &Writer) -> Result<String> {
    let Some(Number(value)) = value else { return Ok(String::new()) };
    let counted = |key: &str| match whole(value) {
        Some(count) => writer.phrase(key, &context! { count }),
        None => Ok(short_number(value)),
    };
    match unit {
        ValueUnit::Relative => Ok(ratio(value, 4)),
        ValueUnit::Share | ValueUnit::Plain => Ok(short_number(value)),
        ValueUnit::Steps => counted("amount_steps"),
        ValueUnit::Spikes => counted("amount_spikes"),
        ValueUnit::Elements => counted("amount_elements"),
    }
}

/// A limit as a bound: `at most 1 %`, `at least 0.95`; empty for none.
pub(crate) fn bound_text(
    limit: Option<Number>,
    unit: ValueUnit,
    direction: LimitDirection,
    writer: &Writer,
) -> Result<String> {
    if limit.is_none() {
        return Ok(String::new());
    }
    let key = match direction {
        LimitDirection::AtMost => "bound_at_most",
        LimitDirection::AtLeast => "bound_at_least",
        LimitDirection::Within => "bound_within",
    };
    writer.phrase(key, &context! { limit => safe(amount_text(limit, unit, writer)?) })
}

/// The value as a whole number; `None` for a fraction, and near 2^53, from where on an `f64` is no longer exact.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn whole(value: f64) -> Option<u64> {
    (value.fract() == 0.0 && (0.0..9e15).contains(&value)).then_some(value as u64)
}

/// Notes in words.
fn notes(notes: &[Note], writer: &Writer) -> Result<String> {
    let words: Vec<String> = notes.iter().map(|note| in_words(note, writer)).collect::<Result<_>>()?;
    Ok(words.join(&writer.word("comma")?))
}

/// A note that this version does not know is shown by its code.
fn in_words(note: &Note, writer: &Writer) -> Result<String> {
    match note.facts.get(Note::TEXT) {
        Some(Fact::Text(text)) if note.code == Note::TEXT => return Ok(writer.prose(text)),
        _ if !note.is_whole() => return Ok(writer.name(&note.code)),
        _ => {}
    }
    let key = format!("note_{}", note.code.replace('-', "_"));
    let phrase = phrases::find(&key, writer.language()).unwrap_or_default();
    writer.statement(&key, phrase, &note.facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::escape::TextTarget;
    use crate::report::messages::Language;
    use crate::result::outcome::KINDS;

    fn writers() -> [Writer; 2] {
        [Language::En, Language::Zh].map(|language| Writer::new(language, TextTarget::Plain))
    }

    #[test]
    fn limits_say_on_which_side_a_value_has_to_lie() {
        let said = |limit, unit, direction| {
            writers().map(|writer| bound_text(Some(Number(limit)), unit, direction, &writer).expect("a bound"))
        };
        assert_eq!(said(0.01, ValueUnit::Relative, LimitDirection::AtMost), ["at most 1 %", "阈值 1 %"]);
        assert_eq!(said(0.95, ValueUnit::Share, LimitDirection::AtLeast), ["at least 0.95", "不低于 0.95"]);
        assert_eq!(said(0.005, ValueUnit::Relative, LimitDirection::Within), ["within ±0.5 %", "±0.5 % 以内"]);
        assert_eq!(said(1.0, ValueUnit::Steps, LimitDirection::AtMost), ["at most 1 step", "阈值 1 步"]);
        assert_eq!(said(2e-5, ValueUnit::Relative, LimitDirection::AtMost), ["at most 2e-5", "阈值 2e-5"]);
    }

    #[test]
    fn values_carry_their_units() {
        let [english, _] = writers();
        let said = |value, unit| amount_text(Some(Number(value)), unit, &english).expect("an amount");
        assert_eq!(said(94.0, ValueUnit::Steps), "94 steps");
        assert_eq!(said(0.0, ValueUnit::Relative), "0 %");
        assert_eq!(said(f64::NAN, ValueUnit::Steps), "nan");
        assert_eq!(said(f64::INFINITY, ValueUnit::Relative), "inf");
        assert_eq!(said(1.5, ValueUnit::Elements), "1.5", "no count");
        assert_eq!(amount_text(None, ValueUnit::Steps, &english).expect("nothing"), "");
    }

    #[test]
    fn every_rule_has_a_formula_in_both_languages() {
        for language in [Language::En, Language::Zh] {
            let mut known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            known.sort_unstable();
            assert_eq!(phrases::formulas(language).keys().map(String::as_str).collect::<Vec<_>>(), known);
        }
    }

    #[test]
    fn every_note_has_words_and_a_strange_one_is_named() {
        for writer in writers() {
            for (code, facts) in Note::CODES {
                let note = facts.iter().fold(Note::new(code), |note, name| note.with(name, 3_u64));
                let said = in_words(&note, &writer).expect("words");
                assert!(!said.is_empty() && said != writer.name(code), "{code}: {said}");
                assert!(facts.is_empty() || in_words(&Note::new(code), &writer).is_ok(), "{code} without facts");
            }
            assert_eq!(in_words(&Note::new("of-later"), &writer).expect("a name"), writer.name("of-later"));
        }
    }
}
