//! First screens that a reader of ten seconds understands: what is wrong, with both values, and what to do about each check.

use std::fs;

use assert_cmd::Command;
use precision_gate::policy::Policy;
use precision_gate::report::messages::Language;
use precision_gate::result::GateResult;
use precision_gate::verdict::Verdict;

use super::opening::{judged, opening};
use crate::data::fixture;
use crate::dumps::real_case::Case;

fn both(result: &GateResult) -> [String; 2] {
    [Language::En, Language::Zh].map(|language| opening(result, language))
}

fn headline(screen: &str) -> &str {
    screen.lines().next().expect("a headline")
}

fn real(name: &str) -> GateResult {
    Case::open(&fixture(format!("dumps-real/{name}"))).judge(Policy::default()).expect("a judgement")
}

#[test]
fn numbers_lead_before_speed_and_every_failing_check_has_its_next_step() {
    let result = judged(&["performance/fusion-lost", "loss/diverging_trend", "evaluation/evalscope_lost_14"], "{}");
    let failing = result.checks.iter().filter(|check| check.verdict == Verdict::Fail).count();
    assert_eq!(failing, 3);
    for (screen, next) in both(&result).iter().zip(["next: ", "下一步："]) {
        assert!(headline(screen).contains("loss"), "{screen}");
        let is_step = |line: &&str| line.starts_with('|') && line.contains('❌') && line.contains(next);
        assert_eq!(screen.lines().filter(is_step).count(), 2, "{screen}");
    }
}

#[test]
fn exchanged_weights_are_the_headline_and_the_mapping_of_names_is_the_fix() {
    let [english, chinese] = both(&real("d_gate_up_swapped"));
    assert!(headline(&english).contains("Two weights are exchanged on the NPU: "), "{english}");
    assert!(headline(&chinese).contains("NPU 侧有两个权重互换："), "{chinese}");
    assert!(
        english.contains("**Fix:** Correct the mapping of names") && chinese.contains("参数名映射"),
        "{english}{chinese}"
    );
}

#[test]
fn labels_of_which_only_the_ends_were_recorded_are_printed_before_another_dump() {
    let [english, chinese] = both(&real("d_label_shift"));
    assert!(headline(&english).contains("The labels of `Functional.cross_entropy.0` probably differ"), "{english}");
    assert!(headline(&chinese).contains("`Functional.cross_entropy.0` 的标签疑似不同"), "{chinese}");
    let [first, then] = ["Print the labels", "next-dump"].map(|words| english.find(words).expect("a word"));
    assert!(first < then, "{english}");
}

#[test]
fn a_sum_over_ranks_shows_how_far_the_update_moved_a_parameter() {
    let [english, chinese] = both(&real("d_grad_sum_hidden"));
    assert!(english.contains("update after step 0, first seen at "), "{english}");
    assert!(english.contains("a sum has to be divided by 2, once"), "{english}");
    assert!(english.contains("(its largest value) after step 0 | 0.00734 | 0.0169 |"), "{english}");
    assert!(chinese.contains("求和后须除以 2"), "{chinese}");
}

#[test]
fn texts_that_the_limit_of_tokens_cuts_say_so() {
    let [english, chinese] = both(&judged(&["evaluation/gen_cut_short"], "{}"));
    let told = "40 of 40 generations are cut after 6 tokens on the NPU; the GPU writes 10 to 18";
    assert!(headline(&english).contains(told), "{english}");
    assert!(headline(&chinese).contains("40 条生成中有 40 条在第 6 个 token 处被截断"), "{chinese}");
    assert!(english.contains("Set the same largest number of tokens"), "{english}");
}

#[test]
fn norms_that_are_a_limit_on_both_sides_say_how_far_gradients_are_clipped() {
    let [english, chinese] = both(&judged(&["monitor/clip-differs-v1"], "{}"));
    let told = "Gradients are clipped to a norm of 0.25 on the NPU and of 0.5 on the GPU";
    assert!(headline(&english).contains(told), "{english}");
    assert!(headline(&chinese).contains("梯度裁剪范数不同：NPU 侧 0.25，GPU 侧 0.5"), "{chinese}");
    assert!(english.contains("Set the same clip norm"), "{english}");
}

#[test]
fn a_call_on_a_line_with_several_is_named() {
    let [english, chinese] = both(&real("k_garbage_tail"));
    assert!(
        headline(&english).contains("`self.gate_proj(x)` has a few values that are far too large on the NPU"),
        "{english}"
    );
    assert!(headline(&chinese).contains("`self.gate_proj(x)`"), "{chinese}");
}

#[test]
fn an_optimizer_that_is_another_is_told_of_all_its_parameters_and_compared_from_the_learning_rate_on() {
    let [english, chinese] = both(&judged(&["monitor/lr-x10-at-1e-6-v2"], "{}"));
    assert!(headline(&english).contains("All ") && headline(&english).contains(" parameters move "), "{english}");
    assert!(headline(&chinese).contains("全部 "), "{chinese}");
    let next = english.lines().find(|line| line.starts_with("**Next:**")).expect("a next step");
    assert!(next.starts_with("**Next:** Print the learning rate of this step"), "{next}");
}

#[test]
fn a_share_of_tokens_has_both_values() {
    let Some(case) = crate::data::beside("rl-curves") else { return };
    let place = case.join("bad-clip-ratio");
    let [english, chinese] = both(&super::opening::judged_at(&place.join("gpu"), &place.join("npu"), "{}"));
    assert!(headline(&english).contains("of the tokens are clipped on the NPU in steps "), "{english}");
    assert!(headline(&chinese).contains("GPU 侧为 ") && headline(&chinese).contains("NPU 侧为 "), "{chinese}");
    assert!(english.contains("(`critic/score/mean` alike) | 0.78 → 0.387 | at least 0.677 |"), "{english}");
}

#[test]
fn a_factor_that_no_settings_make_is_a_clip_norm_first() {
    let [english, chinese] = both(&real("d_clip_off"));
    assert!(english.contains("**Next:** Compare the clip norm first"), "{english}");
    assert!(english.contains("so the GPU, whose updates are the smaller ones, probably clips"), "{english}");
    assert!(chinese.contains("更新量较小的 GPU 侧很可能按范数裁剪了梯度"), "{chinese}");
}

#[test]
fn a_line_that_one_side_does_not_run_is_named_with_the_function_that_replaces_it() {
    let [english, chinese] = both(&real("d_residual_dropped"));
    assert!(english.contains("(`forward`), through which only the NPU runs this part"), "{english}");
    assert!(chinese.contains("只有 NPU 侧经由它执行这一部分"), "{chinese}");
}

#[test]
fn a_constant_of_a_norm_that_fits_is_the_headline() {
    let [english, chinese] = both(&real("d_rms_eps_l0"));
    assert!(headline(&english).contains("as with eps = "), "{english}");
    assert!(headline(&chinese).contains("的结果相当于 eps = "), "{chinese}");
}

#[test]
fn logits_that_are_scaled_say_the_temperature_that_would_do_it() {
    let [english, chinese] = both(&judged(&["evaluation/gen_logit_scale"], "{}"));
    assert!(
        headline(&english).contains("0.6 times those of the GPU where the texts agree, as with a temperature of 1.67"),
        "{english}"
    );
    assert!(english.contains("all 40 texts agree"), "{english}");
    assert!(headline(&chinese).contains("相当于温度系数 1.67"), "{chinese}");
}

#[test]
fn a_difference_of_probabilities_that_is_nan_blames_neither_side() {
    let [english, chinese] = both(&judged(&["tokens/prob-diff-nan"], "{}"));
    assert!(
        headline(&english).contains("1 difference of the probabilities of rollout and training is NaN"),
        "{english}"
    );
    assert!(english.contains("they do not tell which of the two is not finite"), "{english}");
    assert!(headline(&chinese).contains("推理与训练的概率之差为 NaN"), "{chinese}");
}

#[test]
fn operators_of_the_same_kind_that_pass_rule_out_a_mode_of_the_whole_run() {
    let [english, chinese] = both(&judged(&["operators/linear-bf16-products"], "{}"));
    assert!(english.contains("`Torch.matmul.0` pass"), "{english}");
    assert!(english.contains("no autocast or precision mode of the whole run is at fault"), "{english}");
    assert!(chinese.contains("可排除全局的 autocast 与精度模式"), "{chinese}");
}

#[test]
fn a_loss_that_repeats_itself_is_drawn_by_its_periods_and_its_norms_point_to_the_update() {
    let out = tempfile::tempdir().expect("folder");
    let [english, chinese] = ["en", "zh"].map(|language| {
        let mut gate = Command::cargo_bin("precision-gate").expect("built");
        let arguments = ["run", "--health", "--lang", language, "--candidate"];
        gate.args(arguments).arg(fixture("onerun/periodic-0/npu")).arg("--out").arg(out.path()).assert().code(1);
        fs::read_to_string(out.path().join("summary.md")).expect("written")
    });
    assert!(headline(&english).contains("with a period of 8: the parameters never move"), "{english}");
    assert!(english.contains("so the backward pass works and the update is lost"), "{english}");
    assert!(english.contains("x-axis \"step\" 1 --> 32"), "{english}");
    assert!(chinese.contains("丢失的是更新"), "{chinese}");
}
