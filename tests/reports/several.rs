//! Several checks that fail in one run: the next step is about the headline, and each row says what is wrong with its check.

use precision_gate::report::messages::Language;
use precision_gate::report::summary::COMMENT_LIMIT;
use precision_gate::result::GateResult;

use crate::reports::comment::comment;
use crate::reports::opening::judged;

/// The first lines of a comment, and its line with the next step or the fix.
fn opening(result: &GateResult, language: Language) -> (String, String) {
    let text = comment(result, language, COMMENT_LIMIT);
    let first = text.split("<details").next().unwrap_or_default().to_owned();
    let words = ["**Next:**", "**Fix:**", "**下一步：**", "**修复：**"];
    let next = first.lines().find(|line| words.iter().any(|word| line.starts_with(word))).unwrap_or_default();
    (first.clone(), next.to_owned())
}

#[test]
fn the_next_step_is_about_the_headline_and_names_its_parameters() {
    let result = judged(&["monitor/frozen-fc2-v2", "loss/diverging_trend"], "");
    assert!(result.next_dump.is_some(), "the curve asks for a dump");
    for (language, asks) in [(Language::En, "`requires_grad`"), (Language::Zh, "param_groups")] {
        let (first, next) = opening(&result, language);
        let headline = first.lines().next().expect("a headline");
        assert!(["`fc2.weight`", "`fc2.bias`"].iter().all(|name| headline.contains(name)), "{headline}");
        assert!(next.contains(asks) && next.contains("`fc2.bias`") && !next.contains("next-dump"), "{next}");
    }
}

#[test]
fn a_loss_whose_log_hides_nan_is_no_lower_loss() {
    let result = judged(&["monitor/frozen-fc2-v2", "loss/nan_filtered"], "");
    let (first, _) = opening(&result, Language::En);
    assert!(first.contains("loss, NaN hidden in the log from step 70 on"), "{first}");
    assert!(first.contains("the log writes 0.0 at 51 steps at which the gradient norm is NaN or infinite"), "{first}");
    assert!(!first.contains("100 %"), "{first}");
    let (first, _) = opening(&result, Language::Zh);
    assert!(first.contains("从第 70 步起日志掩盖了 NaN") && !first.contains("100 %"), "{first}");
}

#[test]
fn nan_that_the_log_shows_is_told_once() {
    let result = judged(&["loss/nan_from_step"], "");
    let (first, _) = opening(&result, Language::En);
    assert!(!first.contains("shows a value although") && !first.contains("not finite"), "{first}");
    assert!(!first.contains("It diverges from"), "{first}");
}

#[test]
fn a_norm_whose_input_and_parameters_agree_is_asked_for_its_eps() {
    let result = judged(&["monitor/norm-eps-v1"], "");
    for language in [Language::En, Language::Zh] {
        let (first, next) = opening(&result, language);
        assert!(first.lines().next().expect("a headline").contains("eps"), "{first}");
        assert!(next.contains("`eps`") && next.contains("`layers.0.ln2`"), "{next}");
    }
}

#[test]
fn a_head_that_is_no_longer_tied_leads() {
    let result = judged(&["monitor/head-untied-v2"], "");
    assert_eq!(result.culprit.as_ref().map(|culprit| culprit.op.as_str()), Some("emb.weight"));
    for language in [Language::En, Language::Zh] {
        let (first, next) = opening(&result, language);
        let headline = first.lines().next().expect("a headline");
        assert!(headline.contains("`head.weight`") && headline.contains("`emb.weight`"), "{headline}");
        assert!(next.contains("`tie_word_embeddings`"), "{next}");
    }
}
