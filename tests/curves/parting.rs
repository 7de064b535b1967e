//! Healthy runs that part: along their paths, by other seeds, on other data; and defects that do not hide behind it.

use std::fs;
use std::path::{Path, PathBuf};

use precision_gate::verdict::Verdict;
use serde_json::Value;

use super::{codes, data, is_broken, judge, units};

fn fixtures(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(kind)
}

fn sides(kind: &str, case: &str) -> [PathBuf; 2] {
    ["gpu", "npu"].map(|side| fixtures(kind).join(case).join(side))
}

/// Cases of a folder whose verdict is not one of those that are right.
fn wrong(folder: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for case in fs::read_dir(folder).expect("a folder").map(|case| case.expect("an entry").path()) {
        let Ok(text) = fs::read_to_string(case.join("case.json")) else { continue };
        // Python writes numbers that JSON does not have.
        let spec: Value = serde_json::from_str(&text.replace("NaN", "null")).expect("JSON");
        let truth = &spec["truth"];
        let right = |verdict: &str| {
            truth["verdict"] == verdict
                || truth["also"].as_array().is_some_and(|all| all.iter().any(|one| one == verdict))
        };
        let result = judge(&case.join("gpu"), &case.join("npu"), "");
        if !right(result.verdict.as_str()) {
            wrong.push(format!("{}: {:?} {:?}", case.display(), result.verdict, codes(&result)));
        }
    }
    wrong
}

#[test]
fn each_case_is_judged_as_its_truth_says() {
    for kind in ["rl", "loss-trained"] {
        assert_eq!(wrong(&fixtures(kind)), Vec::<String>::new());
    }
}

/// All cases, those of other origin too, where they lie beside the checkout.
#[test]
fn cases_beside_the_checkout_are_judged_as_their_truth_says() {
    for kind in ["rl-curves", "loss-trained"] {
        let Some(folder) = data::beside(kind) else { continue };
        assert_eq!(wrong(&folder), Vec::<String>::new());
    }
}

#[test]
fn a_climbing_reward_passes_within_the_delay_and_its_limit_holds_no_more() {
    let [baseline, candidate] = sides("rl", "ok-ppo-roll-13");
    let healthy = judge(&baseline, &candidate, "");
    assert_eq!(healthy.verdict, Verdict::Pass, "{:?}", codes(&healthy));
    let tail = |result: &precision_gate::result::GateResult| {
        let reward = units(result).into_iter().find(|unit| unit.metric == "critic/score/mean").expect("a reward");
        let rule = reward.rules.iter().find(|rule| rule.rule == "reward_tail").expect("its tail").clone();
        (rule.value.expect("a value").0, rule.warn.expect("a limit").0, rule.fail.expect("a limit").0)
    };
    let (value, warn, fail) = tail(&healthy);
    assert!(0.12 < value && value < warn && warn < fail && fail < 0.3, "{value} {warn} {fail}");
    // A reward that stands has the limits that it always had.
    let [baseline, candidate] = sides("rl", "verl_benign");
    let (_, warn, fail) = tail(&judge(&baseline, &candidate, ""));
    assert!(warn < 0.045 && fail < 0.065, "{warn} {fail}");
}

/// Less than the longest delay, and on another way by its length: it blocks. By the reward alone it warns.
#[test]
fn other_metrics_tell_another_way_from_a_late_one() {
    let [baseline, candidate] = sides("rl", "bad-length-bias");
    let told = judge(&baseline, &candidate, "");
    assert_eq!((told.verdict, codes(&told)[0]), (Verdict::Fail, "rl-reward-lower"));
    let alone = "loss: {metrics: {completions/mean_length: {ignore: true}, completions/clipped_ratio: {ignore: true}}}";
    let alone = judge(&baseline, &candidate, alone);
    assert_eq!((alone.verdict, codes(&alone)[0]), (Verdict::Warn, "rl-reward-lower"));
}

#[test]
fn other_seeds_and_other_data_warn_and_say_what_differs() {
    for (kind, case) in
        [("loss-trained", "ok-seeds-lm-gru"), ("loss-trained", "ok-seeds-lm-tr"), ("rl", "ok-dpo-llamafactory_dpo-30")]
    {
        let [baseline, candidate] = sides(kind, case);
        let result = judge(&baseline, &candidate, "");
        assert_eq!(result.verdict, Verdict::Warn, "{case}: {:?}", codes(&result));
        assert!(codes(&result).contains(&"curve-data-order"), "{case}: {:?}", codes(&result));
        let loss = super::loss(&result);
        assert!(loss.rules.iter().any(|rule| rule.rule == "level_windows"), "{case}");
        // Whoever says how far they may be apart is believed, and so is who declares the same weights.
        for policy in ["loss: {mode: own-weights, limits: {mean: {fail: 0.01}}}", "loss: {mode: same-weights}"] {
            assert_eq!(judge(&baseline, &candidate, policy).verdict, Verdict::Fail, "{case} {policy}");
        }
    }
}

/// A level that is off is found behind the scatter of single steps.
#[test]
fn a_level_beyond_the_own_scatter_fails() {
    let [baseline, candidate] = sides("loss-trained", "ok-seeds-lm-gru");
    let folder = tempfile::tempdir().expect("a folder");
    let file = fs::read_dir(&candidate).expect("a folder").next().expect("a file").expect("an entry").path();
    let text = fs::read_to_string(&file).expect("text");
    let changed = text.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).expect("JSON");
        if let Some(loss) = record["train/loss"].as_f64() {
            record["train/loss"] = (loss * 1.3).into();
        }
        record.to_string() + "\n"
    });
    fs::write(folder.path().join(file.file_name().expect("a name")), changed.collect::<String>()).expect("written");
    let result = judge(&baseline, folder.path(), "");
    assert_eq!(result.verdict, Verdict::Fail);
    assert!(is_broken(&result, "level_windows") && codes(&result).contains(&"curve-mean"), "{:?}", codes(&result));
}

/// The first rounding of `bf16` that falls the other way is no change of what is trained, and many steps between two points let noise
/// grow.
#[test]
fn an_onset_within_one_rounding_or_behind_a_gap_is_none() {
    let log = |every: u32, change: &dyn Fn(u32) -> f64| {
        let line = |nth: u32| {
            let step = nth * every;
            let loss = 3.0 / f64::from(step + 20).sqrt() + 0.001 * f64::from(nth % 7);
            format!("{{\"step\": {step}, \"loss\": {}}}\n", loss * (1.0 + change(nth)))
        };
        (1..=80).map(line).collect::<String>()
    };
    let judged = |every: u32, change: &dyn Fn(u32) -> f64| {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |side: &str, text: String| {
            let path = folder.path().join(side);
            fs::create_dir(&path).expect("a folder");
            fs::write(path.join("log.jsonl"), text).expect("written");
            path
        };
        let (baseline, candidate) = (write("gpu", log(every, &|_| 0.0)), write("npu", log(every, change)));
        codes(&judge(&baseline, &candidate, "loss: {mode: same-weights}")).contains(&"curve-abrupt-onset")
    };
    let at_once = |size: f64| move |nth: u32| if nth > 40 { size } else { 0.0 };
    assert!(!judged(1, &at_once(1e-3)), "one rounding of bf16");
    assert!(judged(1, &at_once(0.03)));
    let grown = |nth: u32| if nth > 40 { 0.03 } else { 1e-5 };
    assert!(judged(1, &grown) && !judged(10, &grown), "ten steps between two points");
}
