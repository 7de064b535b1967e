//! Results whose words were taken away or turned round: what was measured decides.

#![allow(clippy::print_stdout, reason = "it says how many it looked at")]

use precision_gate::gate::Request;
use precision_gate::result::GateResult;
use serde::Deserialize;
use serde_json::{Value, json};

use super::fixtures::all_fixtures;
use super::{checked, fixture, judged, of_head, policy_of};

/// Ways to take the words of a result away.
const WAYS: [fn(&mut Value); 8] = [
    |value| value["findings"] = json!([]),
    |value| {
        everywhere(value, &|fields| {
            _ = fields.contains_key("culprit") && fields.insert("culprit".into(), Value::Null).is_some()
        })
    },
    |value| value["diagnoses"] = json!([]),
    |value| everywhere(value, &|fields| zero(fields, &["unmatched_candidate", "unmatched_baseline", "not_compared"])),
    |value| {
        everywhere(value, &|fields| {
            let rules = fields.get_mut("rules").and_then(Value::as_array_mut);
            rules.into_iter().flatten().for_each(|rule| rule["verdict"] = "pass".into());
        })
    },
    |value| everywhere(value, &|fields| turn(fields, "verdict", "pass")),
    |value| {
        let findings = value["findings"].as_array_mut().into_iter().flatten();
        findings.for_each(|finding| finding["severity"] = "info".into());
    },
    |value| {
        let waived = value["findings"].as_array().into_iter().flatten().map(|finding| {
            json!({"waiver": "* at *", "finding": finding, "reason": "fine", "owner": "mallory", "expires": "2099-01-01"})
        });
        value["waived"] = waived.collect();
        value["findings"] = json!([]);
    },
];

fn everywhere(value: &mut Value, change: &dyn Fn(&mut serde_json::Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            change(fields);
            fields.values_mut().for_each(|field| everywhere(field, change));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| everywhere(item, change)),
        _ => {}
    }
}

fn zero(fields: &mut serde_json::Map<String, Value>, names: &[&str]) {
    names.iter().for_each(|name| _ = fields.contains_key(*name) && fields.insert((*name).into(), json!(0)).is_some());
}

fn turn(fields: &mut serde_json::Map<String, Value>, name: &str, word: &str) {
    let is_word = fields.get(name).and_then(Value::as_str).is_some_and(|old| old != "skipped");
    _ = is_word && fields.insert(name.into(), word.into()).is_some();
}

/// Every fixture that blocks, without any of its words that a subset of the ways takes away.
#[test]
fn whatever_words_are_taken_away_the_decision_is_the_same() {
    let policy = policy_of("");
    let (mut decided, mut failing) = (0, 0);
    for name in all_fixtures() {
        let honest = of_head(&judged(&fixture(&name), &policy, Request::ALL_CHECKS));
        let verdict = |value: &Value| {
            let result = GateResult::deserialize(value).ok()?;
            checked(result, &policy).ok().map(|checked| checked.result.verdict)
        };
        let before = verdict(&honest).expect("an honest result");
        if !before.blocks() {
            continue;
        }
        failing += 1;
        for subset in 1_u32..1 << WAYS.len() {
            let mut forged = honest.clone();
            let chosen = WAYS.iter().enumerate().filter(|(place, _)| subset >> place & 1 == 1);
            chosen.for_each(|(_, way)| way(&mut forged));
            let now = verdict(&forged);
            decided += u32::from(now.is_some());
            assert!(now.is_none_or(|now| now == before), "{name}, {subset:08b}: {now:?}");
        }
    }
    println!("{failing} failing results, {decided} forged ones decided as before, the others refused");
    assert!(failing > 60 && decided > 5_000, "{failing} failing results, {decided} decided");
}
