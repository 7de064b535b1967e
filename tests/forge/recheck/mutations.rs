//! Ten thousand results that somebody changed: none of them is published as better than what was measured.
#![allow(clippy::print_stdout, reason = "it says what became of them")]

use std::collections::BTreeMap;

use precision_gate::gate::Request;
use precision_gate::gate::recheck::parse;
use precision_gate::policy::Policy;
use precision_gate::report::messages::Language;
use precision_gate::report::rewrite::rewrite;
use precision_gate::report::summary;
use precision_gate::report::templates::Templates;
use serde_json::{Map, Value, json};

use super::{checked, fixture, judged, of_head, policy_of, second_half};
use crate::forge::fake::github::GitHub;

/// Mutated results of each of the honest ones.
const EACH: u64 = 800;

/// Honest results that block, each for another reason.
const HONEST: [(&str, &str); 15] = [
    ("dumps/gpt_bf16_stats_attention_scale", ""),
    ("dumps/zoo_tensor_shape_mismatch", ""),
    ("dumps/broken_missing_rank", ""),
    ("dumps/zoo_tensor_nan_inf", ""),
    ("loss/nan_from_step", ""),
    ("loss/diverging_trend", "severity: { curve-tail: warn }"),
    (
        "checkpoints/one_parameter_wrong",
        "waivers: [{ code: dtype-*, where: '*', reason: r, owner: o, expires: 2027-01-01 }]",
    ),
    ("config-check/hyper-static-vs-dynamic", "required: [config]"),
    ("monitor/loss-scale-half-v1", ""),
    ("monitor/file-cut-v1", ""),
    ("evaluation/ais_bench_worse", ""),
    ("evaluation/fewshot_order_differs", ""),
    ("evaluation/gen_first_token_wrong", ""),
    ("operators/gelu-2-percent", ""),
    ("operators/details-cut", ""),
];

/// Numbers that look random and are the same in every run: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most.max(1) as u64).expect("small")
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Words that decide, in place of those that stand there.
const WORDS: [&str; 14] = [
    "pass",
    "warn",
    "fail",
    "incomplete",
    "skipped",
    "info",
    "default",
    "strict",
    "release",
    "",
    "loss",
    "dump",
    "nan",
    "read",
];

/// One change.
fn mutate(value: &mut Value, random: &mut Random) {
    match random.below(16) {
        0 => everywhere(value, random, &["verdict"]),
        1 => everywhere(value, random, &["severity"]),
        2 => everywhere(value, random, &["verdict", "severity"]),
        3 => findings(value, random),
        4 => waive(value),
        5 => checks(value, random),
        6 => {
            value["profile"] = (*random.pick(&["default", "strict", "bit-exact", "release"])).into();
        }
        7 => calm(value),
        _ => somewhere(value, random),
    }
}

/// Every field of these names says something milder.
fn everywhere(value: &mut Value, random: &mut Random, names: &[&str]) {
    let word = *random.pick(&["pass", "warn", "info", "skipped"]);
    set_all(value, names, &|name, old| match (name, old) {
        ("severity", _) => if word == "warn" { "warn" } else { "info" }.into(),
        ("verdict", "skipped") => "skipped".into(),
        _ => if word == "info" { "pass" } else { word }.into(),
    });
}

fn set_all(value: &mut Value, names: &[&str], word: &dyn Fn(&str, &str) -> String) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match field {
                    Value::String(old) if names.contains(&name.as_str()) => *old = word(name, old),
                    other => set_all(other, names, word),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| set_all(item, names, word)),
        _ => {}
    }
}

/// Findings are dropped: all, or those of one code.
fn findings(value: &mut Value, random: &mut Random) {
    let Some(findings) = value["findings"].as_array_mut() else { return };
    let code = findings.first().map(|finding| finding["code"].clone());
    let all = random.below(2) == 0;
    findings.retain(|finding| !all && Some(&finding["code"]) != code.as_ref());
}

/// Every finding is called waived.
fn waive(value: &mut Value) {
    let findings = value["findings"].take();
    let waived: Vec<Value> = findings
        .as_array()
        .into_iter()
        .flatten()
        .map(|finding| {
            json!({
                "waiver": "* at *", "finding": finding, "reason": "fine", "owner": "mallory", "expires": "2099-01-01",
            })
        })
        .collect();
    value["findings"] = json!([]);
    value["waived"] = waived.into();
}

/// A check is gone, empty, or loses a unit.
fn checks(value: &mut Value, random: &mut Random) {
    let Some(checks) = value["checks"].as_array_mut().filter(|checks| !checks.is_empty()) else { return };
    let index = random.below(checks.len());
    match random.below(3) {
        0 => {
            checks.remove(index);
        }
        1 => checks[index] = json!({ "id": checks[index]["id"], "verdict": "skipped" }),
        _ => {
            if let Some(units) = checks[index]["units"].as_array_mut() {
                units.pop();
            }
        }
    }
}

/// All verdicts pass, no finding, no culprit: what a careless forger would write.
fn calm(value: &mut Value) {
    set_all(value, &["verdict"], &|_, old| if old == "skipped" { "skipped" } else { "pass" }.into());
    value["findings"] = json!([]);
    value["culprit"] = Value::Null;
}

/// One place, chosen at random from the top, is changed at random.
fn somewhere(value: &mut Value, random: &mut Random) {
    let copy = value.clone();
    let (mut at, mut path) = (&copy, String::new());
    while random.below(6) > 0 {
        let (name, below) = match at {
            Value::Object(fields) if !fields.is_empty() => {
                let (name, field) = fields.iter().nth(random.below(fields.len())).expect("a field");
                (name.clone(), field)
            }
            Value::Array(items) if !items.is_empty() => {
                let index = random.below(items.len());
                (index.to_string(), &items[index])
            }
            _ => break,
        };
        path.push_str(&format!("/{name}"));
        at = below;
    }
    change(value.pointer_mut(&path).expect("there"), &copy, random);
}

fn change(at: &mut Value, whole: &Value, random: &mut Random) {
    match at {
        Value::Object(fields) => object(fields, random),
        Value::Array(items) => array(items, random),
        Value::String(text) => {
            *text = match random.below(3) {
                0 => String::new(),
                1 => format!("{text}\u{202e}x"),
                _ => (*random.pick(&WORDS)).to_owned(),
            };
        }
        Value::Number(number) if random.below(4) > 0 => {
            *at = match (number.as_u64(), number.as_f64()) {
                (Some(count), _) => {
                    (*random.pick(&[0, 1, count / 2, count.saturating_add(1), count.saturating_mul(1_000)])).into()
                }
                (None, Some(value)) => (*random.pick(&[0.0, value * 1e-6, value * 0.5, value * 1e3, -value])).into(),
                (None, None) => Value::Null,
            };
        }
        other => {
            let strange = [
                json!(null),
                json!(0),
                json!(-1),
                json!(1e308),
                json!("nan"),
                json!(18_446_744_073_709_551_615_u64),
                json!([]),
                json!({}),
                json!(true),
                whole["findings"].clone(),
                json!(1e-9),
            ];
            *other = random.pick(&strange).clone();
        }
    }
}

fn object(fields: &mut Map<String, Value>, random: &mut Random) {
    let names: Vec<String> = fields.keys().cloned().collect();
    let Some(name) = names.get(random.below(names.len())) else { return };
    let other = &names[random.below(names.len())];
    match random.below(8) {
        0 => {
            fields.remove(name);
        }
        1 => {
            let (one, two) = (fields[name].clone(), fields[other].clone());
            fields.insert(name.clone(), two);
            fields.insert(other.clone(), one);
        }
        2 => {
            fields.insert(name.clone(), Value::Null);
        }
        _ => {
            let whole = Value::Object(fields.clone());
            change(&mut fields[name], &whole, random);
        }
    }
}

fn array(items: &mut Vec<Value>, random: &mut Random) {
    let (one, two) = (random.below(items.len()), random.below(items.len()));
    match random.below(4) {
        _ if items.is_empty() => items.push(Value::Null),
        0 => {
            items.remove(one);
        }
        1 => items.push(items[one].clone()),
        2 => items.swap(one, two),
        _ => items.truncate(one),
    }
}

/// A result, changed up to six times.
fn mutant(honest: &Value, random: &mut Random) -> Value {
    let mut value = honest.clone();
    let times = 1 + random.below(3) * random.below(3) + random.below(2);
    (0..times).for_each(|_| mutate(&mut value, random));
    value
}

fn honest(name: &str, policy: &Policy) -> Value {
    let result = judged(&fixture(name), policy, Request::ALL_CHECKS);
    assert!(result.verdict.blocks(), "{name}: {:?}", result.verdict);
    of_head(&result)
}

/// Outcome of a mutated result, through the steps of `publish`.
fn outcome(value: &Value, policy: &Policy, draws: bool) -> &'static str {
    let Ok(result) = parse("result.json", &value.to_string()) else { return "no result" };
    let Ok(rechecked) = checked(result, policy) else { return "refused" };
    let mut result = rechecked.result;
    if rewrite(&mut result, "result.json", Language::En).is_err() {
        return "refused";
    }
    if draws {
        let templates = Templates::shipped();
        let options = summary::SummaryOptions {
            language: Language::En,
            limit: 60_000,
            pictures: &[],
            diagram: true,
            templates: &templates,
        };
        summary::render(&result, &options).expect("a comment");
        summary::headline(&result, Language::En).expect("a headline");
    }
    if result.verdict.blocks() { "blocks" } else { "passes" }
}

#[test]
fn no_change_of_a_blocking_result_makes_it_pass() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (index, (name, policy)) in HONEST.iter().enumerate() {
        let policy = policy_of(policy);
        let honest = honest(name, &policy);
        let refused = || checked(serde_json::from_value(honest.clone()).unwrap(), &policy).err();
        assert_eq!(outcome(&honest, &policy, true), "blocks", "{name}: {:?}", refused());
        let mut random = Random(0x5eed + index as u64);
        for number in 0..EACH {
            let value = mutant(&honest, &mut random);
            let outcome = outcome(&value, &policy, number % 8 == 0);
            *counts.entry(outcome).or_default() += 1;
            assert!(outcome != "passes", "{name}, mutant {number}:\n{value}");
        }
    }
    println!("{counts:?}");
    assert!(counts.values().sum::<u64>() >= 10_000);
}

#[test]
fn the_program_refuses_or_blocks_them_too() {
    let fake = GitHub::start("");
    let mut random = Random(0xb1a);
    let mut codes: BTreeMap<i32, u64> = BTreeMap::new();
    for (name, policy) in [HONEST[0], HONEST[5], HONEST[7]] {
        let honest = honest(name, &policy_of(policy));
        for number in 0..100 {
            let value = mutant(&honest, &mut random);
            let gate = second_half(&fake);
            gate.write("result.json", &value.to_string());
            gate.write("operations.jsonl", "");
            gate.write("precision-gate.yml", policy);
            let ended = gate.command(&["publish", "result.json", "--today", "2026-11-21"]);
            assert!(matches!(ended.code, 0 | 2 | 3), "{name}, mutant {number}: {ended:?}");
            *codes.entry(ended.code).or_default() += 1;
            let state = fake.state();
            let conclusion = &state.checks.last().unwrap()["conclusion"];
            assert!(*conclusion == "failure", "{name}, mutant {number}: {conclusion} {value}");
        }
    }
    println!("{codes:?}");
}
