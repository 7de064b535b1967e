//! Facts about a rule that is broken: the means that it compares and their steps, since when the runs part, and a side that stands still.

use super::mismatch;
use super::onset::{Course, course_of};
use super::trend::{Trend, Window, mean};
use crate::median::upper_median;
use crate::result::finding::{Fact, Finding};

/// The part of a run that a rule compares.
enum Compared {
    /// The two windows in a row that are furthest apart.
    TwoWindows,
    /// The window that is furthest apart.
    OneWindow,
    /// The last quarter.
    Tail,
}

/// Means of both sides over the compared part, and its first and last step; the tail names itself.
struct Levels {
    baseline: f64,
    candidate: f64,
    steps: Option<[u64; 2]>,
}

/// Adds to a finding of `rule` what its reader asks for next.
pub(super) fn note(finding: &mut Finding, rule: &str, metric: &str, trend: &Trend) {
    let mut add = |name: &str, fact: Fact| {
        finding.facts.insert(name.to_owned(), fact);
    };
    if let Some(levels) = levels(rule, metric, trend) {
        add("baseline", levels.baseline.into());
        add("candidate", levels.candidate.into());
        if let Some([first, last]) = levels.steps {
            add("from_step", first.into());
            add("to_step", last.into());
        }
    }
    if let Some(value) = constant(&trend.candidate).filter(|_| constant(&trend.baseline).is_none()) {
        let ends = trend
            .baseline
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |ends, value| (value.min(ends.0), value.max(ends.1)));
        add("stands", value.into());
        add("steps", trend.len().into());
        add("least", ends.0.into());
        add("most", ends.1.into());
    }
    if let Some(course) = course(rule, metric, trend) {
        add("course", course.as_str().into());
        if let Some(step) = course.step() {
            add("onset", step.into());
        }
        if course.is_late(trend) {
            add("late", 1_u64.into());
        }
    }
}

/// The value that all steps have; `None` where they differ, or there is none.
fn constant(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    values.iter().all(|value| value.to_bits() == first.to_bits()).then_some(first)
}

fn compared(rule: &str) -> Option<Compared> {
    Some(match rule {
        "reward_windows" | "entropy_low" | "entropy_high" | "truncation_rise" | "clip_change" => Compared::TwoWindows,
        "length_ratio" | "mismatch_level" => Compared::OneWindow,
        "reward_tail" | "reward_higher" | "kl_tail_ratio" | "loss_tail_ratio" => Compared::Tail,
        _ => return None,
    })
}

/// Distance of the candidate from the baseline, in the direction that a rule looks at.
fn distance(rule: &str, metric: &str) -> Box<dyn Fn(f64, f64) -> f64> {
    match rule {
        "reward_windows" | "reward_tail" | "entropy_low" => Box::new(|b, c| b - c),
        "mismatch_level" | "mismatch_ratio" => {
            let from_ideal = mismatch::distance(metric);
            Box::new(move |b, c| from_ideal(c).abs() - from_ideal(b).abs())
        }
        "clip_change" | "length_ratio" | "kl_tail_ratio" | "loss_tail_ratio" => Box::new(|b, c| (c - b).abs()),
        _ => Box::new(|b, c| c - b),
    }
}

fn levels(rule: &str, metric: &str, trend: &Trend) -> Option<Levels> {
    if rule == "grad_norm_ratio" {
        let median = |values: &[f64]| upper_median(values.to_vec());
        let (baseline, candidate) = (median(&trend.baseline)?, median(&trend.candidate)?);
        return Some(Levels { baseline, candidate, steps: None });
    }
    if let Compared::Tail = compared(rule)? {
        let magnitude = |value: f64| if rule.ends_with("_ratio") { value.abs() } else { value };
        let (baseline, candidate) = trend.tail_means(magnitude);
        return Some(Levels { baseline, candidate, steps: None });
    }
    let size = if matches!(compared(rule), Some(Compared::TwoWindows)) { 2 } else { 1 };
    let (windows, apart, from_ideal) = (trend.windows(), distance(rule, metric), mismatch::distance(metric));
    let of = |window: &Window| match rule {
        // The level is that of the candidate alone.
        "mismatch_level" => from_ideal(window.candidate).abs(),
        "length_ratio" => (window.candidate / window.baseline).max(window.baseline / window.candidate),
        _ => apart(window.baseline, window.candidate),
    };
    let least = |some: &[Window]| some.iter().map(of).fold(f64::INFINITY, f64::min);
    let size = size.min(windows.len().max(1));
    let all = windows.windows(size).zip(trend.first_steps());
    let (worst, first) = all.max_by(|(one, _), (other, _)| least(one).total_cmp(&least(other)))?;
    // Of engines that should agree the distance is told, which the limit is about.
    let level = |value: f64| if rule == "mismatch_level" { from_ideal(value).abs() } else { value };
    Some(Levels {
        baseline: level(mean(worst.iter().map(|window| window.baseline))),
        candidate: level(mean(worst.iter().map(|window| window.candidate))),
        steps: Some([first, worst.last()?.to_step]),
    })
}

/// The course of the difference. Values that only scatter, such as a centred loss, have none.
fn course(rule: &str, metric: &str, trend: &Trend) -> Option<Course> {
    compared(rule).or((rule == "mismatch_ratio").then_some(Compared::OneWindow))?;
    let either_way = matches!(rule, "clip_change" | "length_ratio" | "kl_tail_ratio" | "loss_tail_ratio");
    let (baseline, candidate) = trend.tail_means(|value| value);
    match either_way {
        // The magnitude of noise would be a difference throughout.
        true if candidate >= baseline => course_of(trend, |b, c| c - b),
        true => course_of(trend, |b, c| b - c),
        false => course_of(trend, distance(rule, metric)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::loss::code;

    fn facts(rule: &str, metric: &str, apart: impl Fn(u64) -> (f64, f64)) -> Finding {
        let mut finding = Finding::new(&code::RL_TRUNCATION, metric);
        let trend = Trend::new((1..=120).map(|step| (step, apart(step).0, apart(step).1)));
        note(&mut finding, rule, metric, &trend);
        finding
    }

    #[test]
    fn cut_answers_name_their_shares_and_the_steps_that_they_grow_at() {
        let found = facts("truncation_rise", "truncated", |step| (0.0, step.saturating_sub(60) as f64 * 0.01));
        assert_eq!(found.facts.get("from_step"), Some(&Fact::Count(91)));
        assert_eq!(found.facts.get("to_step"), Some(&Fact::Count(120)));
        assert_eq!(found.text("course"), Some("grows"));
        assert!(found.facts.contains_key("late"), "{:?}", found.facts);
        assert!(matches!(found.facts.get("onset"), Some(Fact::Count(55..=66))), "{:?}", found.facts);
    }

    #[test]
    fn a_level_that_is_off_from_the_first_step_on_has_no_onset() {
        let wave = |step: u64| if step.is_multiple_of(2) { 1e-4 } else { 0.0 };
        let found = facts("mismatch_ratio", "train_rollout_logprob_abs_diff", |step| (wave(step), 0.15 + wave(step)));
        assert_eq!(found.text("course"), Some("throughout"));
        assert!(!found.facts.contains_key("onset") && !found.facts.contains_key("late"));
    }

    #[test]
    fn a_side_that_stands_still_is_named_with_the_ends_of_the_other() {
        let found = facts("reward_windows", "reward", |step| (step as f64 / 120.0, 0.0));
        assert_eq!(found.facts.get("stands"), Some(&Fact::from(0.0)));
        assert_eq!(found.facts.get("steps"), Some(&Fact::Count(120)));
        assert_eq!(found.facts.get("most"), Some(&Fact::from(1.0)));
        let moving = facts("reward_windows", "reward", |step| (step as f64, step as f64 - 1.0));
        assert!(!moving.facts.contains_key("stands"));
    }
}
