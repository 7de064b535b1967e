//! Profiles: their comment, terminal, page and JUnit.

use std::path::Path;

use precision_gate::gate::{self, Quiet, Request};
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::report::messages::Language;
use precision_gate::report::summary::COMMENT_LIMIT;
use precision_gate::report::templates::Templates;
use precision_gate::report::terminal::{self, TerminalDetail};
use precision_gate::report::{issue, junit, page};
use precision_gate::result::GateResult;
use precision_gate::verdict::CheckId;

use crate::reports::comment::comment;

fn judged(name: &str, policy: &str) -> GateResult {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/performance").join(name);
    let request = Request {
        baseline: TrustedLocation::own(case.join("gpu").display().to_string()),
        several: Default::default(),
        candidate: case.join("npu").display().to_string(),
        checks: CheckId::CHECKS.to_vec(),
        policy: Policy::parse("policy.yml", policy, &[]).expect("a sound policy"),
        matching: Matching::default(),
    };
    let mut result = gate::run(&request, &Quiet).expect("both sides are there").result;
    "runs/gpu".clone_into(&mut result.baseline.as_mut().expect("two runs").location);
    "runs/npu".clone_into(&mut result.candidate.location);
    "2026-11-23".clone_into(&mut result.today);
    result
}

/// One result per kind of end.
pub(crate) fn kinds() -> Vec<(&'static str, GateResult)> {
    vec![
        ("fusion", judged("fusion-lost", "")),
        ("ranks", judged("communication-not-overlapped", "")),
        ("table", judged("kernel-details-missing", "")),
        ("reported", judged("gpu-to-npu-limit", "")),
        ("passing", judged("db-against-text", "")),
    ]
}

#[test]
fn every_end_of_a_profile_reads_well_in_both_languages() {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter("sha256:[0-9a-f]+", "sha256:…");
    settings.set_prepend_module_to_snapshot(false);
    let _settings = settings.bind_to_scope();
    for (name, result) in kinds() {
        for (language, tag) in [(Language::En, "en"), (Language::Zh, "zh")] {
            let options = terminal::TerminalOptions {
                language,
                colour: false,
                report: "precision-gate-out/report.html",
                detail: TerminalDetail::All,
            };
            let shown = terminal::render(&result, &options).expect("renders");
            insta::assert_snapshot!(
                format!("comment.performance_{name}.{tag}"),
                comment(&result, language, COMMENT_LIMIT)
            );
            insta::assert_snapshot!(format!("terminal.performance_{name}.{tag}"), shown);
        }
    }
}

#[test]
fn page_and_systems_name_the_operators_and_no_step() {
    let result = judged("fusion-lost", "");
    let templates = Templates::shipped();
    let options = page::PageOptions { language: Language::En, templates: &templates };
    let text = page::render(&result, &[].as_slice().into(), &options).expect("renders");
    let section = text.split("id=\"performance\"").nth(1).expect("the section");
    let section = section.split("</section>").next().expect("its end");
    assert!(section.contains("SoftmaxGrad") && section.contains("performance-plot") && !section.contains("step 0"));
    let issues =
        issue::all_issues(&result, &issue::IssueOptions { language: Language::En, source_root: None }).expect("issues");
    let text = junit::render(&result, &issues, &[]).expect("renders");
    assert!(text.contains("performance-slower") && text.contains("computing explains 100 %"), "{text}");
}
