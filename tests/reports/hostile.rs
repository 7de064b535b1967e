//! Names that want to be more than names: in every document they are text.

use std::collections::BTreeMap;

use precision_gate::report::messages::Language;
use precision_gate::report::summary::COMMENT_LIMIT;
use precision_gate::report::templates::Templates;
use precision_gate::report::terminal::TerminalDetail;
use precision_gate::report::{annotations, code_quality, issue, junit, metrics, page, sarif, terminal};
use precision_gate::result::GateResult;
use precision_gate::result::identity::identify;
use precision_gate::result::operation::OperationLine;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::{Value, json};

use crate::reports::cases;
use crate::reports::comment::comment;

const NAMES: &[&str] = &[
    "</details></summary><b>",
    "@org/team #1 !1 ~label",
    "![x](http://evil.example/x.png)",
    "[x](javascript:alert(1))",
    "<script>alert(1)</script>",
    "::error::x\n::add-mask::y",
    "``` ` ``",
    "`",
    "a\u{202e}b\u{2066}c\u{200b}",
    "/merge\n/close",
    "|a|b|\n|--|--|",
    "back\\|slash",
    "##[add-mask]z",
    "{{ 7 * 7 }}{% raw %}",
    "[[ATTACHMENT|/etc/passwd]]",
    "]]></failure><x a=\"",
    "\u{1b}[31mred\u{7}",
    "<!-- precision-gate:v1 key=x -->",
    "www.evil.example https://evil.example",
    "-->\n# heading\n- item",
    "\"},\\u003c/script>",
];

/// Fields that carry words of the gate, not of an artifact.
const OWN: &[&str] = &[
    "verdict",
    "severity",
    "check",
    "id",
    "code",
    "kind",
    "side",
    "status",
    "profile",
    "state",
    "today",
    "version",
    "name",
    "suite",
    "time",
    "direction",
    "of",
    "pattern",
    "role",
    "better",
    "scope",
    "test",
    "shape",
    "invariant",
];

/// A result of a real run, every foreign text in it replaced by hostile ones.
pub(crate) fn result() -> GateResult {
    shifted(0)
}

/// The same with the hostile texts in other places: they begin with that of `shift`.
fn shifted(shift: usize) -> GateResult {
    let mut next = (shift..).map(|index: usize| format!("{}{}", NAMES[index % NAMES.len()], "x".repeat(index % 7)));
    let mut made = json!(cases::find("culprit_forward").run().result);
    let findings = made["findings"].as_array().cloned().unwrap_or_default();
    let mut many: Vec<Value> = findings.iter().cycle().take(40).cloned().collect();
    many.extend(cases::find("damaged").run().result.findings.iter().map(|finding| json!(finding)));
    many.extend(cases::find("operations_missing").run().result.findings.iter().map(|finding| json!(finding)));
    made["waived"] = json!([{"finding": many[0], "waiver": "v", "reason": "r", "owner": "o", "expires": "e"}]);
    made["findings"] = json!(many);
    made["diagnoses"] = json!([{"cause": "c", "where": "w", "evidence": ["e", "f"], "advice": "a"}]);
    let run = json!({"time": "2026-11-21T02:00:00Z", "commit": "c", "verdict": "fail", "run": "u"});
    let changes: Vec<Value> =
        NAMES.iter().map(|_| json!({"kind": "version", "name": "n", "before": "b", "after": "a"})).collect();
    made["history"] = json!({
        "suite": "nightly", "location": "l", "last": [run, run], "alert_after": 1, "failed": 1, "alert": true,
        "cases": [{"check": "loss", "unit": "u", "rule": "r"}], "since": {"green": run, "red": run}, "changed": changes,
        "commits": {"total": 9, "list": NAMES.iter().map(|_| json!({"id": "i", "subject": "s"})).collect::<Vec<_>>()},
        "unread": ["a", "b"],
    });
    for name in ["curve_divergence", "config_failure"] {
        let other = json!(cases::find(name).run().result);
        made["checks"].as_array_mut().expect("checks").extend(other["checks"].as_array().cloned().unwrap_or_default());
    }
    poison(&mut made, "", &mut next);
    let mut result: GateResult = serde_json::from_value(made).expect("still a result");
    identify(&mut result);
    result
}

/// An evaluation whose tasks, metrics, questions and answers are hostile texts.
fn evaluation(shift: usize) -> GateResult {
    let mut next = (shift..).map(|index: usize| format!("{}{}", NAMES[index % NAMES.len()], "x".repeat(index % 7)));
    let mut made = json!(crate::reports::evaluation::everything());
    poison(&mut made, "", &mut next);
    let mut result: GateResult = serde_json::from_value(made).expect("still a result");
    identify(&mut result);
    result
}

fn poison(value: &mut Value, key: &str, next: &mut impl Iterator<Item = String>) {
    match value {
        Value::String(text) if !OWN.contains(&key) && text != "nan" && text != "inf" => {
            *text = next.next().unwrap_or_default();
        }
        Value::Array(items) => items.iter_mut().for_each(|item| poison(item, key, next)),
        Value::Object(fields) => {
            // The unit of a rule's value is a word of the gate; elsewhere a unit is a name.
            let is_rule = fields.contains_key("direction");
            let foreign = fields.iter_mut().filter(|(key, _)| !(is_rule && *key == "unit"));
            foreign.for_each(|(key, field)| poison(field, key, next));
        }
        _ => {}
    }
}

fn operations() -> Vec<OperationLine<'static>> {
    let mut next = (0..).map(|index: usize| NAMES[index % NAMES.len()].to_owned());
    let written = |line: &OperationLine<'_>| {
        let mut text = Vec::new();
        line.write(&mut text).expect("written");
        serde_json::from_slice::<Value>(&text).expect("JSON")
    };
    let mut lines = json!(cases::find("culprit_forward").run().operations.iter().map(written).collect::<Vec<_>>());
    poison(&mut lines, "", &mut next);
    serde_json::from_value(lines).expect("still lines")
}

#[test]
fn in_the_comment() {
    for (shift, language) in (0..NAMES.len()).flat_map(|shift| Language::ALL.map(|language| (shift, language))) {
        for result in [shifted(shift), evaluation(shift)] {
            is_harmless(&comment(&result, language, COMMENT_LIMIT));
        }
    }
}

/// A comment in which every foreign text is text.
fn is_harmless(text: &str) {
    for line in text.lines() {
        let start = line.trim_start();
        assert!(!start.starts_with(['/', '@']) && !start.starts_with("::"), "{line}");
    }
    let mut html: BTreeMap<String, usize> = BTreeMap::new();
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    // No forge makes links of what stands in a block of code.
    let mut in_code = false;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => panic!("a link: {event:?}"),
            Event::Html(tag) | Event::InlineHtml(tag) => {
                let tag = tag.trim().chars().take_while(|letter| *letter != '(').collect::<String>();
                *html.entry(tag.split("<summary>").next().unwrap_or_default().to_owned()).or_default() += 1;
            }
            Event::Text(words) if !in_code => {
                assert!(!words.contains('@') && !words.contains("http") && !words.contains("www."), "{words}");
            }
            _ => {}
        }
    }
    let kinds: Vec<&str> = html.keys().map(String::as_str).collect();
    assert_eq!(kinds, ["</details>", "</sub>", "<details>", "<sub>"]);
    assert_eq!(html["<details>"], html["</details>"]);
    assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()));
    assert!(!text.contains(['\u{202e}', '\u{2066}', '\u{200b}']));
}

/// The page of the hostile result.
pub(crate) fn rendered(language: Language) -> String {
    page_of(&result(), language)
}

fn page_of(result: &GateResult, language: Language) -> String {
    let templates = Templates::shipped();
    let options = page::PageOptions { language, templates: &templates };
    page::render(result, &operations().as_slice().into(), &options).expect("renders")
}

#[test]
fn in_the_page() {
    for (shift, language) in (0..NAMES.len()).flat_map(|shift| Language::ALL.map(|language| (shift, language))) {
        for result in [shifted(shift), evaluation(shift)] {
            let html = page_of(&result, language);
            let (document, _) = html.split_once("<script type=\"application/json\"").expect("data");
            let document = document.replacen("<img id=\"error-map\" alt=\"", "", 1);
            let document = document.replacen("<img id=\"evaluation-plot\" alt=\"", "", 1);
            for tag in ["<script", "<b>", "<img", "<x ", "<!-- "] {
                assert!(!document.contains(tag), "{tag}");
            }
            assert_eq!(html.matches("</script>").count(), 4, "data, library, page, packed rows");
            assert!(document.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
            assert!(!html.contains(['\u{202e}', '\u{2066}', '\u{200b}']));
        }
    }
}

#[test]
fn on_the_terminal_and_in_workflow_commands() {
    for result in [result(), evaluation(0), evaluation(9)] {
        let options = terminal::TerminalOptions {
            language: Language::En,
            colour: false,
            report: "out",
            detail: TerminalDetail::All,
        };
        let shown = terminal::render(&result, &options).expect("renders");
        assert!(shown.chars().all(|letter| letter == '\n' || !letter.is_control()));
        assert!(shown.lines().all(|line| !line.trim_start().starts_with("::")), "{shown}");
        assert!(!shown.contains("##["));
        let issues = issue::all_issues(&result, &issue::IssueOptions { language: Language::En, source_root: None })
            .expect("issues");
        let lines = annotations::render(&result, &issues, Language::En).expect("renders");
        assert!(lines.len() <= 10);
        for line in &lines {
            let command = line.strip_prefix("::").and_then(|rest| rest.split([' ', ':']).next());
            assert!(command.is_some_and(|name| ["error", "warning", "notice"].contains(&name)), "{line}");
            assert!(!line.contains(['\n', '\r']));
        }
    }
}

#[test]
fn in_reports_for_systems() {
    for result in [result(), evaluation(0), evaluation(9)] {
        let issues = issue::all_issues(&result, &issue::IssueOptions { language: Language::En, source_root: None })
            .expect("issues");
        crate::reports::formats::check_sarif(&sarif::render(&result, &issues).expect("renders"));
        crate::reports::formats::check_code_quality(&code_quality::render(&issues).expect("renders"));
        let xml = junit::render(&result, &issues, &[]).expect("renders");
        let said = xml.split("<system-out>").skip(1).filter_map(|rest| rest.split("</system-out>").next());
        assert!(said.into_iter().all(|said| !said.contains("[[ATTACHMENT")), "only pictures are attached");
        crate::reports::formats::check_metrics(&metrics::render(&result));
    }
}
