//! Evaluations: their first lines, comment, page, picture and what systems see of them.

use precision_gate::gate::{self, Quiet, Request};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::messages::Language;
use precision_gate::report::page;
use precision_gate::report::pictures;
use precision_gate::report::summary::{self, COMMENT_LIMIT, LinkedPicture};
use precision_gate::report::templates::Templates;
use precision_gate::report::terminal::{self, TerminalDetail};
use precision_gate::report::{issue, junit, metrics};
use precision_gate::result::GateResult;
use precision_gate::result::identity::identify;
use precision_gate::verdict::CheckId;
use serde_json::{Map, Value, json};

use crate::reports::cases;
use crate::reports::comment::comment;

/// A unit as `result.json` has it, with some fields replaced.
pub(crate) fn unit(fields: &Value) -> Value {
    let mut unit = json!({
        "model": "toylab__toy-a", "task": "toy_sum1", "metric": "exact_match", "filter": "strict-match", "scope": "task",
        "higher_is_better": true, "verdict": "pass", "baseline": 0.66, "candidate": 0.655, "drop": 0.005,
        "interval": [-0.015, 0.025], "margin": 0.01, "samples": 200, "paired": 200, "worse": 3, "better": 2, "test": "mcnemar",
        "p_value": 0.5, "p_adjusted": 1.0, "detectable": 0.0354, "shard": null,
    });
    let (unit_fields, fields) = (unit.as_object_mut().expect("fields"), fields.as_object().expect("fields"));
    unit_fields.extend(fields.clone());
    unit
}

/// The finding of a unit.
fn finding(code: &str, severity: &str, unit: &Value) -> Value {
    let text = |name: &str| unit[name].as_str().map(str::to_owned);
    let filter = text("filter").map(|filter| format!(" ({filter})")).unwrap_or_default();
    let title = format!("{} {}{filter}", text("task").expect("a task"), text("metric").expect("a metric"));
    let mut facts = Map::from_iter([("unit".to_owned(), json!(title))]);
    for (fact, field) in [
        ("model", "model"),
        ("task", "task"),
        ("metric", "metric"),
        ("filter", "filter"),
        ("scope", "scope"),
        ("baseline", "baseline"),
        ("candidate", "candidate"),
        ("drop", "drop"),
        ("margin", "margin"),
        ("worse", "worse"),
        ("better", "better"),
        ("paired", "paired"),
        ("p", "p_adjusted"),
        ("detectable", "detectable"),
        ("test", "test"),
    ] {
        if !unit[field].is_null() {
            facts.insert(fact.to_owned(), unit[field].clone());
        }
    }
    json!({"id": "", "check": "evaluation", "severity": severity, "code": code, "where": title, "facts": facts})
}

fn plain(code: &str, severity: &str, place: &str, facts: &Value) -> Value {
    json!({"id": "", "check": "evaluation", "severity": severity, "code": code, "where": place, "facts": facts})
}

/// A result with these units and findings; the worst decides.
pub(crate) fn result(units: &[Value], findings: &[Value]) -> GateResult {
    let mut made = json!(cases::find("pass").run().result);
    let weight =
        |verdict: &str| ["skipped", "pass", "warn", "incomplete", "fail"].iter().position(|one| *one == verdict);
    let of = |value: &Value, key: &str| {
        value[key].as_str().map_or("pass", |word| if word == "info" { "pass" } else { word }).to_owned()
    };
    let all =
        units.iter().map(|unit| of(unit, "verdict")).chain(findings.iter().map(|finding| of(finding, "severity")));
    let verdict = all.max_by_key(|verdict| weight(verdict)).unwrap_or_else(|| "pass".into());
    made["verdict"] = json!(verdict);
    made["checks"] = json!([{"id": "evaluation", "verdict": verdict, "units": units}]);
    made["findings"] = json!(findings);
    made["diagnoses"] = json!([]);
    made["artifacts"] = json!([]);
    let object = made.as_object_mut().expect("a result");
    object.remove("culprit");
    object.remove("next_dump");
    let mut result: GateResult = serde_json::from_value(made).expect("a result");
    identify(&mut result);
    "GPU".clone_into(&mut result.baseline.as_mut().expect("a baseline").label);
    "NPU".clone_into(&mut result.candidate.label);
    result
}

fn sample(id: u64, question: &str, target: &str, baseline: &str, candidate: &str) -> Value {
    json!({"id": id, "question": question, "target": target, "baseline": baseline, "candidate": candidate, "shared": 0})
}

/// The unit that lost 20 of 200 answers.
fn lost() -> Value {
    unit(&json!({
        "verdict": "fail", "candidate": 0.565, "drop": 0.095, "interval": [0.051, 0.139], "worse": 20, "better": 1,
        "p_value": 1.049_041_748e-5, "p_adjusted": 4.2e-5, "detectable": 0.0726, "examples": [3, 17, 29],
        "flipped": [
            sample(3, "…Question: what is 3 + 4?\nAnswer:", "7", "The answer is 7.", "The answer is 8."),
            sample(17, "…Question: what is 12 + 9?\nAnswer:", "21", "The answer is 21.", "The answer is"),
        ],
    }))
}

fn drop() -> GateResult {
    let all = unit(&json!({
        "task": "*", "scope": "all", "verdict": "fail", "candidate": 0.64, "drop": 0.02, "interval": [0.008, 0.032], "samples": 1200,
        "paired": 1200, "worse": 34, "better": 10, "p_value": 2e-4, "p_adjusted": 0.002, "detectable": 0.0175,
    }));
    let perplexity = unit(&json!({
        "task": "toy_text", "metric": "word_perplexity", "filter": null, "higher_is_better": false, "baseline": 20.13,
        "candidate": 20.2, "drop": 0.0035, "interval": [-0.001, 0.008], "margin": 0.02, "is_relative": true, "samples": 60, "paired": 60,
        "worse": 35, "better": 25, "test": "paired-permutation", "p_value": 0.2, "p_adjusted": 0.6, "detectable": 0.012,
    }));
    let sampled = unit(
        &json!({"task": "toy_facts_town", "is_sampled": true, "filter": null, "metric": "acc", "detectable": 0.11}),
    );
    let alone = unit(&json!({
        "task": "toy_facts_river", "filter": null, "metric": "acc", "verdict": "warn", "paired": 0, "worse": 0, "better": 0,
        "samples": 0, "test": "unpaired", "drop": 0.05, "candidate": 0.61, "interval": [-0.04, 0.14], "detectable": 0.156, "p_value": 0.14,
        "p_adjusted": 0.5,
    }));
    let findings = [
        finding("evaluation-drop", "fail", &all),
        finding("evaluation-drop", "fail", &lost()),
        plain(
            "evaluation-samples-missing",
            "warn",
            "toy_facts_river",
            &json!({"task": "toy_facts_river", "side": "both"}),
        ),
    ];
    result(&[all, lost(), perplexity, sampled, alone], &findings)
}

fn shard() -> GateResult {
    let facts = json!({
        "unit": "toy_sum1 exact_match (strict-match)", "model": "toylab__toy-a", "task": "toy_sum1", "metric": "exact_match",
        "filter": "strict-match", "scope": "task", "modulus": 4, "remainder": 1, "inside": 20, "worse": 20,
    });
    let mut unit = lost();
    unit["shard"] = json!({"modulus": 4, "remainder": 1});
    let pattern = plain("evaluation-shard-pattern", "info", "toy_sum1 exact_match (strict-match)", &facts);
    result(std::slice::from_ref(&unit), &[finding("evaluation-drop", "fail", &unit), pattern])
}

pub(crate) fn generation(fields: &Value) -> Value {
    let mut unit = json!({
        "kind": "generation", "task": "generations", "verdict": "fail", "compared": 60, "unmatched": 0, "changed": 12, "near_ties": 0,
        "far": 12, "length": 0, "unexplained": 0, "tie_limit": 0.1, "logprob_mean_abs": 0.0014, "logprob_scale": 1.0,
        "first_divergence": {
            "doc_id": "0", "token": 0, "prefix": 0, "logprob_gap": 7.1, "kind": "far", "divergence": 5.2,
            "texts": sample(0, "Once upon a time", "", "there was a king", "zz was a king"),
        },
    });
    let (all, fields) = (unit.as_object_mut().expect("fields"), fields.as_object().expect("fields"));
    all.extend(fields.clone());
    unit
}

fn generations() -> GateResult {
    let facts = json!({
        "unit": "generations", "count": 12, "compared": 60, "changed": 12, "doc_id": "0", "token": 0, "gap": 7.1, "limit": 0.1,
    });
    result(&[generation(&json!({}))], &[plain("evaluation-diverges-without-tie", "fail", "generations", &facts)])
}

/// Scores and generations of all kinds, with several models.
pub(crate) fn everything() -> GateResult {
    let mut all = json!(drop());
    let other =
        unit(&json!({"model": "toylab__toy-b", "task": "toy_facts_river", "shard": {"modulus": 4, "remainder": 1}}));
    let more = [json!(generations()), json!(shard()), json!(missing()), json!(prompts()), json!(result(&[other], &[]))];
    for more in more {
        let units = more["checks"][0]["units"].as_array().cloned().unwrap_or_default();
        all["checks"][0]["units"].as_array_mut().expect("units").extend(units);
        all["findings"]
            .as_array_mut()
            .expect("findings")
            .extend(more["findings"].as_array().cloned().unwrap_or_default());
    }
    serde_json::from_value(all).expect("a result")
}

fn missing() -> GateResult {
    let facts = json!({"task": "toy_mirror", "side": "candidate"});
    result(&[unit(&json!({}))], &[plain("evaluation-task-missing", "incomplete", "toy_mirror", &facts)])
}

fn prompts() -> GateResult {
    let facts = json!({"task": "toy_sum1", "count": 200, "total": 200});
    let left = unit(&json!({
        "verdict": "incomplete", "paired": 0, "worse": 0, "better": 0, "test": null, "p_value": null, "p_adjusted": null, "drop": null,
        "interval": null, "detectable": null,
    }));
    result(&[left], &[plain("evaluation-prompts-differ", "incomplete", "toy_sum1", &facts)])
}

fn passing() -> GateResult {
    result(&[unit(&json!({})), unit(&json!({"task": "toy_facts_town"}))], &[])
}

/// One result per kind of end.
pub(crate) fn kinds() -> Vec<(&'static str, GateResult)> {
    vec![
        ("drop", drop()),
        ("shard", shard()),
        ("generations", generations()),
        ("missing", missing()),
        ("prompts", prompts()),
        ("passing", passing()),
    ]
}

/// A run of many tasks, of which some fail.
fn many(tasks: u64, failing: u64) -> GateResult {
    let units: Vec<Value> = (0..tasks)
        .map(|number| {
            let mut unit = if number < failing { lost() } else { unit(&json!({})) };
            unit["task"] = json!(format!("benchmark_{number:04}_of_a_family_with_long_names"));
            unit
        })
        .collect();
    let failing = units.iter().filter(|unit| unit["verdict"] == "fail");
    let findings: Vec<Value> = failing.map(|unit| finding("evaluation-drop", "fail", unit)).collect();
    result(&units, &findings)
}

fn shown(result: &GateResult, language: Language, detail: TerminalDetail) -> String {
    let options =
        terminal::TerminalOptions { language, colour: false, report: "precision-gate-out/report.html", detail };
    terminal::render(result, &options).expect("renders")
}

fn page_of(result: &GateResult, language: Language) -> String {
    let templates = Templates::shipped();
    let options = page::PageOptions { language, templates: &templates };
    page::render(result, &[].as_slice().into(), &options).expect("renders")
}

#[test]
fn every_end_of_an_evaluation_reads_well_in_both_languages() {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter("sha256:[0-9a-f]+", "sha256:…");
    settings.set_prepend_module_to_snapshot(false);
    let _settings = settings.bind_to_scope();
    for (name, result) in kinds() {
        for (language, tag) in [(Language::En, "en"), (Language::Zh, "zh")] {
            insta::assert_snapshot!(
                format!("comment.evaluation_{name}.{tag}"),
                comment(&result, language, COMMENT_LIMIT)
            );
            insta::assert_snapshot!(
                format!("terminal.evaluation_{name}.{tag}"),
                shown(&result, language, TerminalDetail::All)
            );
        }
    }
}

#[test]
fn the_unit_that_lost_most_leads_and_what_explains_it_stands_below() {
    let text = comment(&drop(), Language::En, COMMENT_LIMIT);
    let headline = "## ❌ `toy_sum1` answers 20 of 200 questions worse than the GPU and 1 better: `exact_match` falls from 0.66 to 0.565 (p = 4.2e-5)";
    assert!(text.starts_with(headline), "{text}");
    let text = comment(&shard(), Language::En, COMMENT_LIMIT);
    assert!(
        text.contains("**Likely, because** 20 of the 20 samples that got worse have a number of the form 4·k + 1"),
        "{text}"
    );
    assert!(text.contains("**Next:** Evaluate once without rank 1 of 4, or with a single rank"), "{text}");
}

#[test]
fn what_other_checks_found_leads_before_an_evaluation() {
    let mut both = json!(cases::find("curve_divergence").run().result);
    let own = json!(drop());
    both["checks"].as_array_mut().expect("checks").extend(own["checks"].as_array().cloned().unwrap_or_default());
    both["findings"].as_array_mut().expect("findings").extend(own["findings"].as_array().cloned().unwrap_or_default());
    let both: GateResult = serde_json::from_value(both).expect("a result");
    let text = comment(&both, Language::En, COMMENT_LIMIT);
    let headline = text.lines().next().expect("a line");
    assert!(headline.contains("The loss diverges from the"), "{headline}");
    let row = text.lines().find(|line| line.starts_with("| evaluation: `toy_sum1 exact_match")).expect("a row");
    assert!(row.contains("20 worse, 1 better of 200 · next: read the answers that got worse"), "{row}");
}

#[test]
fn a_thousand_tasks_fit_the_comment_and_all_stand_in_the_page() {
    for (tasks, failing) in [(1000, 1000), (1000, 3), (40, 40)] {
        let result = many(tasks, failing);
        for language in Language::ALL {
            let text = comment(&result, language, COMMENT_LIMIT);
            assert!(text.len() <= COMMENT_LIMIT && text.encode_utf16().count() <= COMMENT_LIMIT, "{}", text.len());
            assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
            assert!(text.trim_end().ends_with("</sub>"), "whole to its end");
        }
        let html = page_of(&result, Language::En);
        for task in 0..tasks {
            assert!(html.contains(&format!("benchmark_{task:04}_of")), "{task}");
        }
        assert_eq!(pictures::draw_all(&result, Language::En).expect("drawn").len(), 1);
    }
    let text = comment(&many(1000, 3), Language::En, COMMENT_LIMIT);
    assert!(text.contains("; 2 more tasks drop"), "{text}");
}

#[test]
fn the_page_shows_both_answers_and_marks_where_they_part() {
    let html = page_of(&drop(), Language::En);
    assert!(html.contains("<td>The answer is <mark>7.</mark></td><td>The answer is <mark>8.</mark></td>"));
    assert!(html.contains("<td>The answer is<mark> 21.</mark></td><td>The answer is</td>"));
    assert!(html.contains(
        "<img id=\"evaluation-plot\" alt=\"drop of each score with its 95 % interval\" src=\"data:image/png;base64,"
    ));
    assert!(html.contains("href=\"#evaluation\"") && html.contains("<section id=\"evaluation\""));
    assert!(
        html.contains("<span class=\"quiet\">sampled</span>")
            && html.contains("<span class=\"quiet\">no samples</span>")
    );
}

#[test]
fn pictures_are_linked_in_the_comment() {
    let templates = Templates::shipped();
    let pictures =
        ["evaluation", "monitor", "trend"].map(|name| LinkedPicture { name, url: format!("https://host/{name}.png") });
    for language in Language::ALL {
        let options = summary::SummaryOptions {
            language,
            limit: COMMENT_LIMIT,
            pictures: &pictures,
            diagram: true,
            templates: &templates,
        };
        let text = summary::render(&drop(), &options).expect("renders");
        assert!(
            text.find("https://host/evaluation.png") < text.find("<details>"),
            "the picture of what leads is above the fold"
        );
        assert!(text.contains("https://host/monitor.png"));
    }
}

#[test]
fn the_picture_is_drawn_whatever_the_numbers_are() {
    let strange = [
        json!({"drop": "nan", "candidate": "nan", "interval": null, "verdict": "fail"}),
        json!({"drop": 1e300, "margin": 0.0, "verdict": "fail"}),
        json!({"drop": "-inf", "interval": ["-inf", "inf"]}),
        json!({"interval": ["nan", 0.1], "detectable": "nan", "p_value": "nan", "p_adjusted": "nan"}),
        json!({"margin": "nan"}),
        json!({"drop": null, "candidate": "inf"}),
        json!({"task": "任务".repeat(80), "metric": "", "filter": ""}),
    ];
    let units: Vec<Value> = strange.iter().map(unit).collect();
    for units in units.iter().map(std::slice::from_ref).chain([units.as_slice()]) {
        let result = result(units, &[]);
        for language in Language::ALL {
            let drawn = pictures::draw_all(&result, language).expect("drawn");
            assert_eq!(drawn.len(), 1);
            let again = pictures::draw_all(&result, language).expect("drawn");
            assert_eq!(drawn[0].png, again[0].png);
            comment(&result, language, COMMENT_LIMIT);
            shown(&result, language, TerminalDetail::All);
        }
    }
    assert!(pictures::draw_all(&generations(), Language::En).expect("drawn").is_empty(), "no score, no plot");
}

#[test]
fn systems_see_every_unit() {
    let result = drop();
    let issues =
        issue::all_issues(&result, &issue::IssueOptions { language: Language::En, source_root: None }).expect("issues");
    let xml = junit::render(&result, &issues, &[]).expect("renders");
    assert!(xml.contains("<testsuite name=\"evaluation\" tests=\"5\""), "{xml}");
    assert!(xml.contains("<testcase name=\"toy_sum1 exact_match (strict-match)\""), "{xml}");
    let metrics = metrics::render(&result);
    let labels = "{check=\"evaluation\",unit=\"toy_sum1 exact_match (strict-match)\"}";
    assert!(metrics.contains(&format!("precision_gate_compared{labels} 200")), "{metrics}");
    assert!(metrics.contains(&format!("precision_gate_drop{labels} 0.095")), "{metrics}");
}

#[test]
fn the_example_ends_with_the_headline_that_its_page_promises() {
    let example = |side: &str| format!("{}/examples/evaluation/{side}", env!("CARGO_MANIFEST_DIR"));
    let request = Request {
        several: Default::default(),
        baseline: TrustedLocation::own(example("gpu")),
        candidate: example("npu"),
        checks: CheckId::CHECKS.to_vec(),
        policy: Policy::default(),
        matching: Matching::default(),
    };
    let mut result = gate::run(&request, &Quiet).expect("both sides are there").result;
    "GPU".clone_into(&mut result.baseline.as_mut().expect("a baseline").label);
    "NPU".clone_into(&mut result.candidate.label);
    let text = comment(&result, Language::En, COMMENT_LIMIT);
    assert!(
        text.starts_with("## ❌ `toy_sum1` answers 20 of 100 questions worse than the GPU and none better"),
        "{text}"
    );
    assert!(text.contains("have a number of the form 4·k + 1"), "{text}");
    assert_eq!(pictures::draw_run_pictures(&result, Language::En).expect("drawn").len(), 1);
}
