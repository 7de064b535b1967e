//! Results of schema version 1, brought to the present one.
//!
//! Version 1 wrote a rule's formula and its note as English text, and left the direction of its limits to be known. The
//! direction follows from the rule's name, the margin from value, limits and direction; a note that version 1 is known to
//! have written becomes facts, any other stays as the text that it is.

use serde_json::{Map, Value, json};

use crate::SCHEMA_VERSION;
use crate::number::Number;
use crate::outcome::{Note, RuleKind};

/// The version that is brought up.
pub(super) const FROM: u32 = 1;

/// The rule of a parameter, whose note was the parameter's name.
const OF_PARAMETER: &str = "relative-l2";
/// Start of the phrase in formulas of older results that a note holds now.
const SMOOTHED: &str = "after a rolling median";

/// A result of version 1 as the present version writes it. What is not as it should be stays, and is refused when the
/// result is read.
pub(super) fn upgraded(mut result: Value) -> Value {
    let Some(fields) = result.as_object_mut() else { return result };
    fields.insert("schema_version".into(), SCHEMA_VERSION.into());
    for check in items(fields.get_mut("checks")) {
        let is_dump = check.get("id").is_some_and(|id| id == "dump");
        for unit in items(check.get_mut("units")) {
            items(unit.get_mut("rules")).filter_map(Value::as_object_mut).for_each(|rule| outcome(rule, is_dump));
        }
    }
    let trends = fields.get_mut("history").and_then(|history| history.get_mut("trends"));
    items(trends).filter_map(Value::as_object_mut).for_each(trend);
    for finding in items(fields.get_mut("findings")) {
        forget_formula(finding);
    }
    for waived in items(fields.get_mut("waived")) {
        waived.get_mut("finding").into_iter().for_each(forget_formula);
    }
    result
}

fn items(value: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    value.and_then(Value::as_array_mut).into_iter().flatten()
}

/// The formula is found by the preset's name.
fn forget_formula(finding: &mut Value) {
    if let Some(facts) = finding.get_mut("facts").and_then(Value::as_object_mut) {
        facts.remove("formula");
    }
}

fn outcome(rule: &mut Map<String, Value>, is_dump: bool) {
    let formula = rule.remove("formula");
    let name = rule.get("rule").and_then(Value::as_str).unwrap_or_default().to_owned();
    let note = rule.remove("note");
    let mut notes = notes(&name, note.as_ref().and_then(Value::as_str).unwrap_or_default(), is_dump);
    if formula.as_ref().and_then(Value::as_str).is_some_and(|formula| formula.contains(SMOOTHED)) {
        notes.push(Note::new(Note::SMOOTHED));
    }
    let (unit, direction) = RuleKind::held(&name);
    rule.insert("notes".into(), json!(notes));
    rule.insert("unit".into(), json!(unit));
    rule.insert("direction".into(), json!(direction));
    let number = |name: &str| rule.get(name).and_then(|value| serde_json::from_value::<Number>(value.clone()).ok());
    let limits = (number("warn").map(|limit| limit.0), number("fail").map(|limit| limit.0));
    let margin = number("value").and_then(|value| direction.margin(value.0, limits.0, limits.1));
    rule.insert("margin".into(), json!(margin.map(Number)));
}

/// Adds the direction by the rule's name.
fn trend(trend: &mut Map<String, Value>) {
    let (_, direction) = RuleKind::held(trend.get("rule").and_then(Value::as_str).unwrap_or_default());
    trend.insert("direction".into(), json!(direction));
}

/// The facts of a note as version 1 wrote it.
fn notes(rule: &str, text: &str, is_dump: bool) -> Vec<Note> {
    if text.is_empty() {
        return Vec::new();
    }
    if rule == OF_PARAMETER {
        return vec![Note::new(Note::PARAMETER).with(Note::PARAMETER, text)];
    }
    if is_dump {
        return vec![Note::new(Note::TENSOR).with(Note::TENSOR, text)];
    }
    let parts: Option<Vec<Note>> = text.split(", ").map(of_curve).collect();
    parts.unwrap_or_else(|| vec![Note::new(Note::TEXT).with(Note::TEXT, text)])
}

/// One part of a curve's note; `None` for a part that version 1 did not write.
fn of_curve(part: &str) -> Option<Note> {
    let at = |start: &str, code: &str| {
        let step = part.strip_prefix(start)?.parse::<u64>().ok()?;
        Note::at_step(code, Some(step))
    };
    let covered = || {
        let (both, baseline) = part.strip_suffix(" steps")?.split_once(" of ")?;
        let count = |text: &str| text.parse::<u64>().ok();
        Some(Note::new(Note::STEPS_COVERED).with("both", count(both)?).with("baseline", count(baseline)?))
    };
    match part {
        "beside the preset" => Some(Note::new(Note::BESIDE_PRESET)),
        "no gradient norm was logged" => Some(Note::new(Note::NO_GRADIENT_NORM)),
        _ => at("step ", Note::STEP)
            .or_else(|| at("first at step ", Note::FIRST_STEP))
            .or_else(|| at("from step ", Note::FROM_STEP))
            .or_else(covered),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Fact;

    fn upgraded_rule(id: &str, rule: &Value) -> Value {
        let result = upgraded(json!({"schema_version": 1, "checks": [{"id": id, "units": [{"rules": [rule]}]}]}));
        result["checks"][0]["units"][0]["rules"][0].clone()
    }

    #[test]
    fn the_direction_follows_from_the_name() {
        let rule = json!({"rule": "coverage", "formula": "steps", "value": 1.0, "warn": null, "fail": 0.8,
            "margin": 0.25, "verdict": "pass", "note": "94 of 120 steps"});
        let rule = upgraded_rule("loss", &rule);
        assert_eq!((&rule["direction"], &rule["unit"]), (&json!("at-least"), &json!("share")));
        assert_eq!(rule["notes"], json!([{"code": "steps-covered", "both": 94, "baseline": 120}]));
        assert_eq!((rule.get("formula"), rule.get("note"), rule["margin"].as_f64()), (None, None, Some(0.25)));
        let pcc = json!({"rule": "pcc-0.99", "value": 0.9999, "fail": 0.99, "margin": null, "note": "a, step 3"});
        let pcc = upgraded_rule("dump", &pcc);
        assert_eq!(pcc["direction"], "at-least");
        assert!(pcc["margin"].as_f64().is_some_and(|margin| margin > 0.0), "{pcc}");
        assert_eq!(pcc["notes"], json!([{"code": "tensor", "tensor": "a, step 3"}]));
    }

    #[test]
    fn notes_become_facts_where_they_are_known() {
        let codes = |text: &str| notes("mean_rel", text, false).into_iter().map(|note| note.code).collect::<Vec<_>>();
        assert_eq!(codes("step 12, beside the preset"), ["step", "beside-preset"]);
        assert_eq!(codes("first at step 3"), ["first-step"]);
        assert_eq!(codes("from step 3"), ["from-step"]);
        assert_eq!(codes("no gradient norm was logged"), ["no-gradient-norm"]);
        assert_eq!(codes(""), Vec::<String>::new());
        let other = notes("mean_rel", "as in \"A, B\"", false);
        assert_eq!(other[0].facts["text"], Fact::Text("as in \"A, B\"".into()));
        assert_eq!((other.len(), other[0].code.as_str()), (1, "text"));
    }

    #[test]
    fn what_is_no_result_is_left_alone() {
        for value in [json!(null), json!([1]), json!({"checks": 3, "history": {"trends": [1]}, "waived": [{}]})] {
            let _ = upgraded(value);
        }
    }
}
