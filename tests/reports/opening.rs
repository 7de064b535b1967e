//! The first lines of a comment: everything a reviewer of ten seconds sees.

use std::fs;
use std::path::Path;

use precision_gate::gate::{self, Quiet, Request};
use precision_gate::judge::register;
use precision_gate::msprobe::dump::Matching;
use precision_gate::policy::Policy;
use precision_gate::policy::location::TrustedLocation;
use precision_gate::policy::value::Date;
use precision_gate::report::messages::Language;
use precision_gate::report::summary::COMMENT_LIMIT;
use precision_gate::result::GateResult;
use precision_gate::result::diagnosis::Sureness;
use precision_gate::result::unit::Culprit;
use precision_gate::verdict::{CheckId, Severity, Verdict};

use crate::data::fixture;
use crate::reports::comment::comment;

fn copied(from: &Path, to: &Path) {
    if from.is_file() {
        fs::create_dir_all(to.parent().expect("a folder")).expect("created");
        fs::copy(from, to).expect("copied");
        return;
    }
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        copied(&entry.path(), &to.join(entry.file_name()));
    }
}

/// The judgement of fixtures that lie side by side, the GPU's in `gpu` and the NPU's in `npu`.
pub(super) fn judged(parts: &[&str], policy: &str) -> GateResult {
    let folder = tempfile::tempdir().expect("a folder");
    for side in ["gpu", "npu"] {
        fs::create_dir_all(folder.path().join(side)).expect("created");
    }
    for part in parts {
        let name = Path::new(part).file_name().expect("a name");
        for entry in fs::read_dir(fixture(part)).expect("a fixture").flatten() {
            let file = entry.file_name();
            let side = file.to_string_lossy();
            if let Some(side) = ["gpu", "npu"].into_iter().find(|known| side.starts_with(known)) {
                let to = folder.path().join(side).join(name);
                copied(&entry.path(), &if entry.path().is_file() { to.join(&file) } else { to });
            }
        }
    }
    judged_at(&folder.path().join("gpu"), &folder.path().join("npu"), policy)
}

/// The judgement of two folders, which the result calls `gpu` and `npu`.
pub(crate) fn judged_at(baseline: &Path, candidate: &Path, policy: &str) -> GateResult {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let mut policy = Policy::parse("precision-gate.yml", policy, &codes).expect("a policy");
    policy.today = Date::try_from("2026-11-21".to_owned()).expect("a date");
    let request = Request {
        baseline: TrustedLocation::own(baseline.display().to_string()),
        several: Default::default(),
        candidate: candidate.display().to_string(),
        checks: CheckId::CHECKS.to_vec(),
        policy,
        matching: Matching::default(),
    };
    let mut result = gate::run(&request, &Quiet).expect("both sides are there").result;
    let baseline = result.baseline.as_mut().expect("a baseline");
    for (run, side) in [(baseline, "gpu"), (&mut result.candidate, "npu")] {
        side.clone_into(&mut run.location);
    }
    result
}

/// The comment up to its first fold.
pub(super) fn opening(result: &GateResult, language: Language) -> String {
    let text = comment(result, language, COMMENT_LIMIT);
    text.split("<details>").next().expect("a text").trim_end().to_owned()
}

fn without_cause(mut result: GateResult) -> GateResult {
    result.diagnoses.clear();
    result
}

fn named(mut result: GateResult, manifest: &str) -> GateResult {
    let verified = serde_json::json!({
        "manifest": manifest, "digest": "sha256:0", "every_byte": false, "approved_by": "alice",
        "approved_on": "2026-11-18", "reason": "first release",
    });
    result.baseline.as_mut().expect("a baseline").verified = Some(serde_json::from_value(verified).expect("a proof"));
    result
}

const DROPOUT_WAIVED: &str =
    "waivers:\n  - {code: '*', where: '*', reason: known, owner: alice, expires: 2027-03-31}\n";

/// One result per kind of headline.
fn kinds() -> Vec<(&'static str, GateResult)> {
    let of = |parts: &[&str]| judged(parts, "{}");
    vec![
        (
            "everything",
            of(&["dumps/glm_stats_mix_zero_getitem_grad", "loss/diverging_trend", "config-check/identical-gpu-vs-npu"]),
        ),
        ("zero_gradient", of(&["dumps/glm_stats_mix_zero_getitem_grad"])),
        ("overflow", of(&["dumps/glm_stats_mix_fp16_saturation"])),
        ("dropout", of(&["dumps/glm_stats_mix_dropout"])),
        ("culprit", without_cause(of(&["dumps/gpt_bf16_tensor_layernorm_eps"]))),
        ("non_finite", without_cause(of(&["dumps/zoo_tensor_nan_inf"]))),
        ("input", of(&["dumps/glm_stats_mix_inv_freq"])),
        ("precision", of(&["dumps/cnn_tensor_l1_fp16_linear"])),
        ("loss", of(&["loss/diverging_trend"])),
        ("spike", of(&["loss/spike_recovers"])),
        ("nan", of(&["loss/nan_from_step"])),
        ("settings", of(&["config-check/hyper-shell-differs"])),
        ("missing", of(&["dumps/glm_stats_mix_jit_script_missing_bench"])),
        ("nothing", of(&["config-check/bad-zero-bytes"])),
        (
            "pass",
            named(of(&["dumps/benign_glm_stats_mix", "loss/aligned_bf16", "config-check/identical-gpu-vs-npu"]), "glm"),
        ),
        ("pass_settings", of(&["config-check/identical-gpu-vs-npu"])),
        ("waived", judged(&["dumps/glm_stats_mix_zero_getitem_grad"], DROPOUT_WAIVED)),
    ]
}

#[test]
fn every_kind_of_headline_reads_well_in_both_languages() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.add_filter(r"[^`\s]*/\.tmp[A-Za-z0-9]+/", "");
    let _settings = settings.bind_to_scope();
    for (name, result) in kinds() {
        for (language, tag) in [(Language::En, "en"), (Language::Zh, "zh")] {
            insta::assert_snapshot!(format!("opening.{name}.{tag}"), opening(&result, language));
        }
    }
}

/// All fixtures of one kind, by the folder they lie in.
fn folders(kind: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(fixture(kind))
        .expect("fixtures")
        .flatten()
        .filter(|entry| entry.path().join("npu").exists() || entry.path().join("npu.zip").exists())
        .map(|entry| format!("{kind}/{}", entry.file_name().to_string_lossy()))
        .collect();
    names.sort();
    names
}

#[test]
fn the_first_lines_of_every_failure_say_what_where_and_what_to_do() {
    let mut looked_at = 0;
    for fixture in ["dumps", "loss", "config-check"].into_iter().flat_map(folders) {
        let result = judged(&[&fixture], "{}");
        if result.verdict < Verdict::Warn {
            continue;
        }
        looked_at += 1;
        let text = opening(&result, Language::En);
        let headline = text.lines().next().expect("a headline");
        assert!(headline.starts_with("## ❌ ") || headline.starts_with("## ⚠️ "), "{fixture}: {headline}");
        assert!(!text.contains("noise limit") && !text.contains("adds error"), "{fixture}: {text}");
        says_what(&fixture, &result, headline);
        says_where(&fixture, &result, &text);
        let advice = text.lines().find(|line| line.starts_with("**Fix:** ") || line.starts_with("**Next:** "));
        assert!(advice.is_some_and(|advice| advice.len() > 20), "{fixture}: {text}");
        assert!(text.lines().filter(|line| line.starts_with('|')).count() <= 6, "{fixture}: {text}");
    }
    assert!(looked_at > 60, "{looked_at}");
}

/// A likely cause of the culprit gives the headline its words; the first wrong operation is named only without one.
fn says_what(fixture: &str, result: &GateResult, headline: &str) {
    let Some(culprit) = &result.culprit else { return };
    let is_known = |cause: &&precision_gate::result::diagnosis::Diagnosis| {
        cause.sureness >= Sureness::Likely && cause.place == culprit.tensor
    };
    if result.diagnoses.iter().any(|cause| is_known(&cause)) {
        assert!(!headline.contains("first wrong operation"), "{fixture}: {headline}");
    }
}

fn says_where(fixture: &str, result: &GateResult, text: &str) {
    let worst = result.findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Info);
    let heavy = || result.findings.iter().filter(|finding| finding.severity == worst);
    let of_backward = |op: &str| heavy().any(|finding| finding.place.starts_with(&op.replace("forward", "backward")));
    let is_lead = |culprit: &&Culprit| {
        heavy().any(|finding| finding.id == culprit.finding)
            || of_backward(&culprit.op) && text.contains("other kernels")
    };
    let leads = result.culprit.as_ref().filter(is_lead);
    if let Some(culprit) = leads {
        // A value that was saved by hand has a name of its own.
        let is_told = |name: &str| text.contains(&format!("`{name}`, step {}", culprit.step));
        assert!(is_told(&culprit.op) || is_told(&culprit.tensor), "{fixture}: {text}");
        assert!(culprit.rank.is_none_or(|rank| text.contains(&format!("rank {rank}"))), "{fixture}: {text}");
        return;
    }
    let is_named = |place: &str| text.contains(place) || text.contains(&format!("step {place}"));
    let of_curve = heavy().any(|finding| finding.check == CheckId::Loss) && text.contains("loss");
    assert!(of_curve || heavy().any(|finding| is_named(&finding.place)), "{fixture}: {text}");
}

#[test]
fn a_pass_says_what_agreed_and_nothing_else_before_its_first_fold() {
    for parts in
        [vec!["loss/aligned_bf16"], vec!["dumps/benign_glm_stats_mix"], vec!["config-check/identical-gpu-vs-npu"]]
    {
        let text = opening(&judged(&parts, "{}"), Language::En);
        assert!(text.lines().filter(|line| !line.is_empty()).count() <= 6, "{text}");
        assert!(!text.contains('|') && !text.contains("mermaid"), "{text}");
    }
}

#[test]
fn a_failing_gradient_norm_is_pictured_by_itself() {
    let mut result = judged(&["loss/diverging_trend"], "{}");
    // The loss alone is healthy again.
    for unit in result.checks.iter_mut().flat_map(|check| &mut check.units) {
        if let precision_gate::result::unit::Unit::Curve(unit) = unit
            && unit.metric == "loss"
        {
            unit.verdict = Verdict::Pass;
        }
    }
    result.findings.retain(|finding| finding.place != "loss");
    let text = opening(&result, Language::En);
    assert!(text.starts_with("## ❌ The gradient norm "), "{text}");
    assert!(text.contains("title \"grad_norm: line 1 GPU, line 2 NPU\""), "{text}");
}

#[test]
fn a_pass_of_curves_without_a_rule_of_the_mean_says_how_much_was_compared() {
    let mut result = judged(&["loss/aligned_bf16"], "{}");
    for unit in result.checks.iter_mut().flat_map(|check| &mut check.units) {
        if let precision_gate::result::unit::Unit::Curve(unit) = unit {
            unit.rules.clear();
            unit.series = precision_gate::result::unit::CurveSeries::default();
        }
    }
    let text = opening(&result, Language::En);
    assert!(text.contains("curves of 120 steps within their limits"), "{text}");
}
