//! Evidence that was not seen is told, and counted.

use precision_gate::verdict::Verdict;

use super::{Pair, codes, falling, judge, loss, records, units};

fn table(steps: std::ops::RangeInclusive<u64>, value: impl Fn(u64) -> String) -> String {
    "step,loss,extra\n".to_owned() + &records(steps, |step| format!("{step},{},1.5", value(step)))
}

fn curve(step: u64) -> String {
    format!("{:.6}", 2.0 + (-(step as f64) / 20.0).exp() + (step % 7) as f64 * 0.01)
}

#[test]
fn missing_steps_are_told_and_beyond_one_in_twenty_nothing_is_judged() {
    for (last, verdict, code) in [
        (100, Verdict::Pass, None),
        (97, Verdict::Warn, Some("curve-coverage")),
        (95, Verdict::Warn, Some("curve-coverage")),
        (94, Verdict::Incomplete, Some("curve-coverage")),
        (101, Verdict::Warn, Some("curve-baseline-shorter")),
    ] {
        let result = Pair::new(&[("a", &falling(1..=100, 1.0))], &[("a", &falling(1..=last, 1.0))]).judge("");
        assert_eq!(result.verdict, verdict, "{last}: {:?}", codes(&result));
        assert!(code.is_none_or(|code| codes(&result).contains(&code)), "{last}: {:?}", codes(&result));
        let evidence = &loss(&result).evidence;
        assert_eq!((evidence.compared, evidence.unpaired_count()), (last.min(100), last.abs_diff(100)));
    }
}

#[test]
fn losses_that_are_null_are_unreadable_and_never_agreement() {
    let line = |step: u64, value: &str| format!(r#"{{"step": {step}, "loss": {value}}}"#);
    let whole = records(1..=100, |step| line(step, &curve(step)));
    let nulls =
        |from: u64| records(1..=100, |step| line(step, if step < from { curve(step) } else { "null".into() }.as_str()));
    for (from, verdict) in [(96, Verdict::Warn), (90, Verdict::Incomplete)] {
        let result = Pair::new(&[("a", &whole)], &[("a", &nulls(from))]).judge("");
        assert_eq!(result.verdict, verdict, "{:?}", codes(&result));
        assert_eq!(loss(&result).evidence.damaged, 101 - from);
    }
}

#[test]
fn a_candidate_that_is_not_finite_fails_in_every_result() {
    for metric in ["loss", "grad_norm", "aux_loss", "throughput", "foo", "reward", "eval_loss"] {
        let is_result = metric != "throughput";
        let line =
            |step: u64, value: &str| format!(r#"{{"step": {step}, "loss": {}, "{metric}": {value}}}"#, curve(step));
        let whole = records(1..=200, |step| line(step, "1.5"));
        for value in ["NaN", "Infinity"] {
            let broken = records(1..=200, |step| line(step, if step == 70 { value } else { "1.5" }));
            let result = Pair::new(&[("a", &whole)], &[("a", &broken)]).judge("");
            let (verdict, code) =
                if is_result { (Verdict::Fail, "curve-non-finite") } else { (Verdict::Pass, "curve-non-finite-speed") };
            assert_eq!(result.verdict, verdict, "{metric} {value}: {:?}", codes(&result));
            assert!(codes(&result).contains(&code), "{metric} {value}: {:?}", codes(&result));
        }
    }
    let line = |step: u64, value: &str| format!(r#"{{"step": {step}, "loss": {}, "foo": {value}}}"#, curve(step));
    let broken = records(1..=50, |step| line(step, if step == 7 { "NaN" } else { "1.5" }));
    let whole = records(1..=50, |step| line(step, "1.5"));
    let left_out = Pair::new(&[("a", &whole)], &[("a", &broken)]).judge("loss: {metrics: {foo: {ignore: true}}}");
    assert_eq!(left_out.verdict, Verdict::Pass, "{:?}", codes(&left_out));
    let unit = units(&left_out).into_iter().find(|unit| unit.metric == "foo").expect("shown");
    assert_eq!((unit.evidence.left_out, unit.evidence.total()), (50, 50));
}

#[test]
fn a_last_row_that_is_cut_is_told() {
    let whole = table(1..=100, curve);
    for cut in [2, 5, 9, 12] {
        let result = Pair::new(&[("a.csv", &whole)], &[("a.csv", &whole[..whole.len() - cut])]).judge("");
        assert_eq!(result.verdict, Verdict::Warn, "{cut}: {:?}", codes(&result));
        assert!(codes(&result).contains(&"source-cut"), "{cut}: {:?}", codes(&result));
    }
    let result = Pair::new(&[("a.csv", &whole)], &[("a.csv", whole.trim_end())]).judge("");
    assert_eq!(result.verdict, Verdict::Pass, "{:?}", codes(&result));
}

#[test]
fn a_history_cut_to_its_first_bytes_is_damaged() {
    let history = records(1..=60, |step| format!(r#"{{"step": {step}, "loss": {}}},"#, curve(step)));
    let state = format!("{{\n\"best_metric\": null, \"log_history\": [{}]}}", history.trim_end().trim_end_matches(','));
    for end in [1, 2, 9, 20] {
        let result = Pair::new(&[("trainer_state.json", &state)], &[("trainer_state.json", &state[..end])]).judge("");
        assert_eq!(result.verdict, Verdict::Incomplete, "{end}: {:?}", codes(&result));
        assert!(codes(&result).contains(&"artifact-damaged"), "{end}: {:?}", codes(&result));
    }
}

#[test]
fn a_metric_that_reads_like_a_loss_is_no_pass_where_it_was_only_shown() {
    let line = |step: u64| format!(r#"{{"step": {step}, "loss": {}, "lossx": 1.0, "loss_scale": 512.0}}"#, curve(step));
    let whole = records(1..=60, line);
    // The same numbers in another file: a copy of a file would be told too.
    let again = format!("{whole}\n");
    let result = Pair::new(&[("a", &whole)], &[("a", &again)]).judge("");
    assert_eq!((result.verdict, codes(&result)), (Verdict::Warn, vec!["curve-shown-only"]));
    let told = Pair::new(&[("a", &whole)], &[("a", &again)]).judge("loss: {metrics: {lossx: {mean: {fail: 0.01}}}}");
    assert_eq!(told.verdict, Verdict::Pass, "{:?}", codes(&told));
}

#[test]
fn metrics_that_only_the_baseline_has_are_told_once() {
    let of = |extra: &str| records(1..=60, |step| format!(r#"{{"step": {step}, "loss": {}{extra}}}"#, curve(step)));
    let (more, less) = (of(r#", "foo": 1.0, "bar": 2.0, "throughput": 9.0"#), of(""));
    let result = Pair::new(&[("a", &more)], &[("a", &less)]).judge("");
    assert_eq!((result.verdict, codes(&result)), (Verdict::Warn, vec!["curve-metrics-missing"]));
    let result = Pair::new(&[("a", &less)], &[("a", &more)]).judge("");
    assert_eq!(result.verdict, Verdict::Pass, "{:?}", codes(&result));
}

/// A policy may name a metric as its trainer spells it.
#[test]
fn a_policy_names_a_metric_by_any_of_its_spellings() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, factor: f64| {
        let value = |step: u32| 2.0 + 1.0 / f64::from(step);
        let lines: String = (1..60)
            .map(|step| {
                format!("{{\"step\": {step}, \"loss\": {}, \"val_loss\": {}}}\n", value(step), factor * value(step))
            })
            .collect();
        let path = folder.path().join(name);
        std::fs::write(&path, lines).expect("written");
        path
    };
    let (baseline, candidate) = (write("gpu.jsonl", 1.0), write("npu.jsonl", 1.03));
    assert_eq!(judge(&baseline, &candidate, "").verdict.as_str(), "fail");
    for name in ["val_loss", "eval/loss", "eval_loss"] {
        let policy = format!("loss: {{metrics: {{{name}: {{ignore: true}}}}}}");
        assert_eq!(judge(&baseline, &candidate, &policy).verdict.as_str(), "pass", "{name}");
    }
}
