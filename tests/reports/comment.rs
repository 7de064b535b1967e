//! The comment and the terminal's summary, as people read them.

use precision_gate::report::messages::Language;
use precision_gate::report::summary::{self, COMMENT_LIMIT, LinkedPicture};
use precision_gate::report::templates::Templates;
use precision_gate::report::terminal;
use precision_gate::report::terminal::TerminalDetail;
use precision_gate::result::GateResult;
use serde_json::json;

use crate::reports::cases::{self, CASES};

pub(crate) fn comment(result: &GateResult, language: Language, limit: usize) -> String {
    let templates = Templates::shipped();
    let options = summary::SummaryOptions { language, limit, pictures: &[], diagram: true, templates: &templates };
    summary::render(result, &options).expect("the shipped template renders")
}

#[test]
fn every_end_of_a_run_reads_well_in_both_languages() {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter("sha256:[0-9a-f]+", "sha256:…");
    settings.set_prepend_module_to_snapshot(false);
    let _settings = settings.bind_to_scope();
    for case in CASES {
        let result = case.run().result;
        for (language, tag) in [(Language::En, "en"), (Language::Zh, "zh")] {
            let name = format!("{}.{tag}", case.name);
            insta::assert_snapshot!(format!("comment.{name}"), comment(&result, language, COMMENT_LIMIT));
            let options = terminal::TerminalOptions {
                language,
                colour: false,
                report: "precision-gate-out/report.html",
                detail: TerminalDetail::All,
            };
            let shown = terminal::render(&result, &options).expect("renders");
            insta::assert_snapshot!(format!("terminal.{name}"), shown);
            let options = terminal::TerminalOptions { detail: TerminalDetail::Opening, ..options };
            let shown = terminal::render(&result, &options).expect("renders");
            insta::assert_snapshot!(format!("terminal_short.{name}"), shown);
        }
    }
}

/// A red night after three others.
fn with_history() -> GateResult {
    let mut result = cases::find("curve_divergence").run().result;
    let night = |day: u32, verdict: &str| {
        let commit = format!("{day:02}").repeat(20);
        json!({"time": format!("2026-11-{day:02}T02:00:00Z"), "commit": commit, "verdict": verdict})
    };
    let nights = [night(1, "pass"), night(2, "warn"), night(3, "fail"), night(4, "fail")];
    let change = |kind: &str, name: &str, before: &str, after: &str| json!({"kind": kind, "name": name, "before": before, "after": after});
    let history = json!({
        "suite": "nightly", "location": "branch:precision-history", "last": nights,
        "alert_after": 2, "failed": 2, "alert": true, "cases": [{"check": "loss", "unit": "loss", "rule": "mean_rel"}],
        "since": {"green": night(2, "warn"), "red": night(3, "fail")},
        "changed": [
            change("commit", "", &"02".repeat(20), &"03".repeat(20)),
            change("version", "torch-npu", "2.5.1", "2.6.0"),
            change("environment", "HCCL_DETERMINISTIC", "true", ""),
            change("limit", "loss mean_rel", "warn 0.002, fail 0.01", "warn 0.002, fail 0.02"),
        ],
        "commits": {"total": 3, "list": [{"id": "03".repeat(20), "subject": "use the fused optimizer"}]},
        "unread": ["nightly/20261101T020000.000Z-unknown-0123456789ab.json: is no record"],
    });
    result.history = Some(serde_json::from_value(history).expect("a history"));
    result
}

#[test]
fn earlier_runs_read_well_in_both_languages() {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter("sha256:[0-9a-f]+", "sha256:…");
    settings.set_prepend_module_to_snapshot(false);
    let _settings = settings.bind_to_scope();
    let mut result = with_history();
    for (language, tag) in [(Language::En, "en"), (Language::Zh, "zh")] {
        insta::assert_snapshot!(format!("comment.history.{tag}"), comment(&result, language, COMMENT_LIMIT));
        let options = terminal::TerminalOptions {
            language,
            colour: false,
            report: "precision-gate-out/report.html",
            detail: TerminalDetail::All,
        };
        insta::assert_snapshot!(
            format!("terminal.history.{tag}"),
            terminal::render(&result, &options).expect("renders")
        );
    }
    let summary = result.history.as_mut().expect("a history");
    (summary.alert, summary.failed) = (false, 1);
    assert!(comment(&result, Language::En, COMMENT_LIMIT).contains("No alert yet: the same case has failed 1 time"));
}

#[test]
fn a_short_limit_keeps_verdict_and_culprit_and_says_what_is_left_out() {
    let result = cases::find("culprit_forward").run().result;
    let whole = comment(&result, Language::En, COMMENT_LIMIT);
    for limit in [whole.len() - 1, 2_000, 1_600] {
        let short = comment(&result, Language::En, limit);
        assert!(short.len() <= limit && short.encode_utf16().count() <= limit, "{limit}: {}", short.len());
        assert!(short.starts_with("## ❌ `self.ln_1(x)` computes as with eps = 0.001 on the NPU"), "{short}");
        assert!(short.contains("Left out or shortened for length: "), "{short}");
    }
}

#[test]
fn only_https_pictures_are_linked() {
    let result = cases::find("culprit_forward").run().result;
    let templates = Templates::shipped();
    let picture = |url: &str| LinkedPicture { name: "divergence", url: url.to_owned() };
    let pictures = [picture("https://host/a.png"), picture("http://host/b.png"), picture("https://host/c) ![x](d")];
    let options = summary::SummaryOptions {
        language: Language::En,
        limit: COMMENT_LIMIT,
        pictures: &pictures,
        diagram: true,
        templates: &templates,
    };
    let text = summary::render(&result, &options).expect("renders");
    assert_eq!(text.matches("](https://").count(), 1);
    assert!(text.contains("![Error against execution order. Verdict: fail.](https://host/a.png)"));
    assert!(!text.contains("b.png") && !text.contains("c)"));
}

#[test]
fn colour_marks_the_verdict_and_nothing_else_changes() {
    let result = cases::find("culprit_forward").run().result;
    let shown = |colour| {
        let options =
            terminal::TerminalOptions { language: Language::En, colour, report: "", detail: TerminalDetail::All };
        terminal::render(&result, &options).expect("renders")
    };
    let (plain, coloured) = (shown(false), shown(true));
    assert!(coloured.starts_with("\u{1b}[31m✗ fail\u{1b}[0m: "), "{coloured}");
    let mut stripped = coloured;
    for code in ["31", "1", "2", "0"] {
        stripped = stripped.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(stripped, plain);
}

#[test]
fn a_users_template_takes_the_place_of_a_shipped_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let result = cases::find("pass").run().result;
    let render = |text: &str| {
        std::fs::write(folder.path().join("summary.md.j2"), text).expect("written");
        let templates = Templates::with_folder(folder.path()).expect("read");
        let options = summary::SummaryOptions {
            language: Language::Zh,
            limit: COMMENT_LIMIT,
            pictures: &[],
            diagram: true,
            templates: &templates,
        };
        summary::render(&result, &options)
    };
    let own = "{{ t('verdict_' ~ view.verdict) }} {{ result.baseline.location }}";
    assert_eq!(render(own).expect("renders"), "通过 `dumps/zoo_tensor_identical/gpu`\n");
    let error = render("one\n{{ view.nothing }}").expect_err("an unknown name is an error");
    assert!(error.to_string().contains("summary.md.j2:2"), "{error}");
}
