//! The rules of each role, as a table.

use super::super::code;
use super::super::limits::LimitPair;
use super::delay::{Widened, level_rooms, ratio_rooms, reached_by_two_windows};
use super::measured::{TREND_FROM, TrendMeasure};
use super::trend::{Trend, Window, mean};
use super::{centre, mismatch};
use crate::judge::rule::Rule;
use crate::kind::Role;
use crate::median::upper_median;

/// Number of rewards above which their absence is no chance: rare rewards follow a Poisson distribution, by which a run that expects
/// ten of them has none once in e^10 times.
const CHANCE: f64 = 9.0;

/// Room that is added to the limits of a rule for the uncertainty that follows from the length of the run.
#[derive(Clone, Copy, Debug)]
enum Room {
    None,
    /// This many standard errors of the tail, in parts of the reward's scale.
    Errors(f64),
    /// This many standard errors of a window.
    WindowErrors(f64),
    /// This number, divided by the square root of the number of steps.
    OverRoot(f64),
    /// This many standard errors of the difference of two shares of steps, each as large as the share of zeros on both sides.
    ZeroShares(f64),
}

/// A rule of a role.
struct TrendRule {
    name: &'static str,
    roles: &'static [Role],
    code: &'static Rule,
    limits: LimitPair,
    room: Room,
    from: usize,
    read: Read,
}

/// The function that measures the value of a rule.
#[derive(Clone, Copy)]
enum Read {
    /// A value whose limits do not depend on a delay of the run.
    Value(fn(&Trend) -> f64),
    /// A value, with the room that a delay gives its limits.
    Widened(fn(&Trend) -> Widened),
}

const fn rule(
    name: &'static str,
    roles: &'static [Role],
    code: &'static Rule,
    limits: LimitPair,
    value: fn(&Trend) -> f64,
) -> TrendRule {
    TrendRule { name, roles, code, limits, room: Room::None, from: TREND_FROM, read: Read::Value(value) }
}

/// A rule whose limits allow the delay of a healthy run.
const fn rule_with_delay(
    name: &'static str,
    roles: &'static [Role],
    code: &'static Rule,
    limits: LimitPair,
    value: fn(&Trend) -> Widened,
) -> TrendRule {
    TrendRule { name, roles, code, limits, room: Room::None, from: TREND_FROM, read: Read::Widened(value) }
}

const fn only_warn(warn: f64) -> LimitPair {
    LimitPair { warn: Some(warn), fail: None }
}

/// Losses other than that of the policy: they are positive, and judged by the level at which they end.
const SIDE_LOSSES: &[Role] = &[Role::ValueLoss, Role::AuxiliaryLoss, Role::EvalLoss];

/// All rules that a function of the trend measures. `docs/rl.md` has the formulas and the sources of the limits.
const RULES: [TrendRule; 16] = [
    rule("reward_dead", &[Role::Reward], &code::RL_REWARD_DEAD, LimitPair::new(0.0, CHANCE), dead),
    TrendRule {
        room: Room::Errors(1.0),
        ..rule_with_delay(
            "reward_tail",
            &[Role::Reward],
            &code::RL_REWARD_LOWER,
            LimitPair::new(0.03, 0.05),
            reward_tail,
        )
    },
    TrendRule {
        room: Room::Errors(1.0),
        ..rule_with_delay(
            "reward_windows",
            &[Role::Reward],
            &code::RL_REWARD_LOWER,
            LimitPair::new(0.15, 0.25),
            reward_windows,
        )
    },
    TrendRule {
        room: Room::Errors(2.0),
        ..rule_with_delay("reward_higher", &[Role::Reward], &code::RL_REWARD_HIGHER, only_warn(0.10), reward_higher)
    },
    TrendRule {
        from: 1,
        ..rule("eval_shortfall", &[Role::EvalScore], &code::WORSE, LimitPair::new(0.10, 0.25), shortfall)
    },
    TrendRule {
        room: Room::OverRoot(4.0),
        ..rule("centre_shift", &[Role::Centred], &code::RL_CENTRE, LimitPair::new(1.0, 2.0), centre::shift)
    },
    rule("spread_ratio", &[Role::Centred], &code::RL_CENTRE, LimitPair::new(4.0, 20.0), centre::spread_ratio),
    rule_with_delay("kl_tail_ratio", &[Role::Kl], &code::RL_KL, LimitPair::new(3.0, 10.0), |trend| {
        tail_ratio(trend, 1e-3)
    }),
    rule_with_delay(
        "entropy_low",
        &[Role::Entropy],
        &code::RL_ENTROPY,
        LimitPair::new(1.0 / 0.55, 1.0 / 0.33),
        entropy_low,
    ),
    rule_with_delay("entropy_high", &[Role::Entropy], &code::RL_ENTROPY, LimitPair::new(2.0, 3.0), entropy_high),
    rule_with_delay("length_ratio", &[Role::Length], &code::RL_LENGTH, LimitPair::new(1.2, 1.5), length_ratio),
    TrendRule {
        room: Room::WindowErrors(1.0),
        ..rule_with_delay(
            "truncation_rise",
            &[Role::Truncation],
            &code::RL_TRUNCATION,
            LimitPair::new(0.03, 0.10),
            truncation_rise,
        )
    },
    TrendRule {
        room: Room::WindowErrors(1.0),
        ..rule_with_delay("clip_change", &[Role::ClipFraction], &code::RL_CLIP, LimitPair::new(0.03, 0.10), clip_change)
    },
    rule("grad_norm_ratio", &[Role::GradNorm], &code::RL_GRAD_NORM, LimitPair::new(2.0, 4.0), grad_norm_ratio),
    TrendRule {
        room: Room::ZeroShares(3.0),
        ..rule("grad_norm_zeros", &[Role::GradNorm], &code::RL_GRAD_NORM, LimitPair::new(0.05, 0.5), grad_norm_zeros)
    },
    rule_with_delay("loss_tail_ratio", SIDE_LOSSES, &code::RL_VALUE_LOSS, LimitPair::new(2.0, 4.0), |trend| {
        tail_ratio(trend, 1e-6)
    }),
];

/// Names of all rules of this mode, with the codes of their findings.
pub const NAMES: [(&str, &Rule); 19] = [
    ("reward_dead", &code::RL_REWARD_DEAD),
    ("reward_tail", &code::RL_REWARD_LOWER),
    ("reward_windows", &code::RL_REWARD_LOWER),
    ("reward_higher", &code::RL_REWARD_HIGHER),
    ("eval_shortfall", &code::WORSE),
    ("centre_shift", &code::RL_CENTRE),
    ("spread_ratio", &code::RL_CENTRE),
    ("kl_tail_ratio", &code::RL_KL),
    ("entropy_low", &code::RL_ENTROPY),
    ("entropy_high", &code::RL_ENTROPY),
    ("length_ratio", &code::RL_LENGTH),
    ("truncation_rise", &code::RL_TRUNCATION),
    ("clip_change", &code::RL_CLIP),
    ("grad_norm_ratio", &code::RL_GRAD_NORM),
    ("grad_norm_zeros", &code::RL_GRAD_NORM),
    ("loss_tail_ratio", &code::RL_VALUE_LOSS),
    ("mismatch_level", &code::RL_MISMATCH),
    ("mismatch_ratio", &code::RL_MISMATCH),
    ("constant", &code::RL_CONSTANT),
];

/// Every rule of `role` that the trend is long enough for.
pub(crate) fn trend_measures(role: Role, metric: &str, trend: &Trend) -> Vec<TrendMeasure> {
    let due = RULES.iter().filter(|rule| rule.roles.contains(&role) && trend.len() >= rule.from);
    let mut measured: Vec<TrendMeasure> = due.map(|rule| rule.apply(trend)).collect();
    if role == Role::Mismatch && trend.len() >= TREND_FROM {
        measured.extend(mismatch::level(metric, trend));
        measured.push(TrendMeasure {
            rule: "mismatch_ratio",
            code: &code::RL_MISMATCH,
            value: mismatch::ratio(metric, trend),
            limits: LimitPair::new(4.0, 10.0),
            limits_without_delay: None,
            step: None,
            is_noisy: true,
        });
    }
    measured
}

impl TrendRule {
    fn apply(&self, trend: &Trend) -> TrendMeasure {
        #[allow(clippy::cast_precision_loss, reason = "a count of steps")]
        let room = match self.room {
            Room::None => 0.0,
            Room::Errors(factor) => factor * trend.tail_error() / scale(trend),
            Room::WindowErrors(factor) => factor * trend.window_error(),
            Room::OverRoot(factor) => factor / (trend.len() as f64).sqrt(),
            Room::ZeroShares(factor) => {
                let share = (zeros(&trend.baseline) + zeros(&trend.candidate)) / (2 * trend.len()) as f64;
                factor * (2.0 * share * (1.0 - share) / trend.len() as f64).sqrt()
            }
        };
        let widened = match self.read {
            Read::Value(value) => value(trend).into(),
            Read::Widened(widened) => widened(trend),
        };
        let own = self.limits.raised((room, room));
        let is_reward = self.roles.contains(&Role::Reward);
        TrendMeasure {
            rule: self.name,
            code: self.code,
            value: widened.value,
            limits: widened.rooms.widen(own),
            limits_without_delay: is_reward.then(|| widened.rooms.warning_room_only().widen(own)),
            step: None,
            is_noisy: self.name != "reward_dead",
        }
    }
}

/// Steps at which the baseline differs from a candidate that never changes; 0 where it changes.
#[allow(clippy::cast_precision_loss, reason = "a count of steps")]
fn dead(trend: &Trend) -> f64 {
    let Some(first) = trend.candidate.first() else { return 0.0 };
    let differs = |value: &&f64| (*value - first).abs() > 0.0;
    if trend.candidate.iter().any(|value| differs(&value)) {
        return 0.0;
    }
    trend.baseline.iter().filter(differs).count() as f64
}

/// Scale of a reward: its range over the windows or its median magnitude, whichever is larger. The candidate's is used if the
/// baseline is 0 throughout.
fn scale(trend: &Trend) -> f64 {
    let windows = trend.windows();
    let of = |side: fn(&Window) -> f64| {
        let values: Vec<f64> = windows.iter().map(side).collect();
        let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        (highest - lowest).max(upper_median(values.iter().map(|value| value.abs()).collect()).unwrap_or_default())
    };
    let scale = of(|window| window.baseline);
    let scale = if scale > 0.0 { scale } else { of(|window| window.candidate) };
    if scale > 0.0 { scale } else { 1.0 }
}

/// Shortfall of the candidate at the end, in parts of the scale.
fn reward_tail(trend: &Trend) -> Widened {
    let (baseline, candidate) = trend.tail_means(|value| value);
    tail_level(trend, baseline - candidate)
}

/// Surplus of the candidate at the end, in parts of the scale.
fn reward_higher(trend: &Trend) -> Widened {
    let (baseline, candidate) = trend.tail_means(|value| value);
    tail_level(trend, candidate - baseline)
}

fn tail_level(trend: &Trend, apart: f64) -> Widened {
    let (windows, scale) = (trend.windows(), scale(trend));
    let rooms = level_rooms(&windows, trend.first_of_tail()..windows.len());
    Widened { value: positive(apart / scale), rooms: rooms.relative_to(scale) }
}

/// The value, or 0 where it is negative; NaN stays NaN, and fails.
fn positive(value: f64) -> f64 {
    if value <= 0.0 { 0.0 } else { value }
}

/// The largest shortfall that two windows in a row share.
fn reward_windows(trend: &Trend) -> Widened {
    let scale = scale(trend);
    let worst = levels_in_a_row(&trend.windows(), |window| window.baseline - window.candidate);
    Widened { value: positive(worst.value / scale), rooms: worst.rooms.relative_to(scale) }
}

/// The difference farthest beyond its room that two windows in a row both reach; that of the only window if there is just one.
fn levels_in_a_row(windows: &[Window], apart: fn(&Window) -> f64) -> Widened {
    let of =
        |(nth, window): (usize, &Window)| Widened { value: apart(window), rooms: level_rooms(windows, nth..nth + 1) };
    reached_by_two_windows(windows.iter().enumerate().map(of), |widened| widened.value - widened.rooms.plus.0)
}

/// Shortfall of the candidate over the last third, in parts of the baseline's mean there.
fn shortfall(trend: &Trend) -> f64 {
    let last = |values: &[f64]| mean(values.iter().skip(values.len() - values.len().div_ceil(3)).copied());
    let (baseline, candidate) = (last(&trend.baseline), last(&trend.candidate));
    let worse = baseline - candidate;
    positive(worse / baseline.abs().max(f64::MIN_POSITIVE))
}

/// Ratio of the magnitudes at which both sides end, at least 1. Values below `least`, or below 2 % of the baseline's largest window,
/// count as that bound.
fn tail_ratio(trend: &Trend, least: f64) -> Widened {
    let windows = trend.windows_of(f64::abs);
    let floor = floor(&windows, least);
    let (baseline, candidate) = trend.tail_means(f64::abs);
    let rooms = ratio_rooms(&windows, trend.first_of_tail()..windows.len(), floor);
    Widened { value: either_way(baseline.max(floor), candidate.max(floor)), rooms }
}

fn floor(windows: &[Window], least: f64) -> f64 {
    windows.iter().map(|window| 0.02 * window.baseline).fold(least, f64::max)
}

fn either_way(a: f64, b: f64) -> f64 {
    (a / b).max(b / a)
}

/// Ratio of baseline to candidate that two windows in a row both reach.
fn entropy_low(trend: &Trend) -> Widened {
    entropy(trend, |baseline, candidate| baseline / candidate)
}

/// Ratio of candidate to baseline that two windows in a row both reach.
fn entropy_high(trend: &Trend) -> Widened {
    entropy(trend, |baseline, candidate| candidate / baseline)
}

fn entropy(trend: &Trend, ratio: fn(f64, f64) -> f64) -> Widened {
    let windows = trend.windows_of(f64::abs);
    let floor = floor(&windows, 1e-3);
    let of = |(nth, window): (usize, &Window)| Widened {
        value: ratio(window.baseline.max(floor), window.candidate.max(floor)),
        rooms: ratio_rooms(&windows, nth..nth + 1, floor),
    };
    reached_by_two_windows(windows.iter().enumerate().map(of), |widened| widened.value / widened.rooms.times.0)
}

/// The largest ratio of a window, either way. Lengths count as at least one token.
fn length_ratio(trend: &Trend) -> Widened {
    let windows = trend.windows();
    let of = |(nth, window): (usize, &Window)| Widened {
        value: either_way(window.baseline.max(1.0), window.candidate.max(1.0)),
        rooms: ratio_rooms(&windows, nth..nth + 1, 1.0),
    };
    let beyond = |widened: &Widened| widened.value / widened.rooms.times.0;
    let largest = windows.iter().enumerate().map(of).max_by(|a, b| beyond(a).total_cmp(&beyond(b)));
    largest.unwrap_or_else(|| 1.0.into())
}

/// The largest rise of the share that two windows in a row both reach.
fn truncation_rise(trend: &Trend) -> Widened {
    rise(&trend.windows(), |window| window.candidate - window.baseline)
}

/// The largest change of the share, either way, that two windows in a row both reach.
fn clip_change(trend: &Trend) -> Widened {
    let windows = trend.windows();
    let (up, down) = (
        rise(&windows, |window| window.candidate - window.baseline),
        rise(&windows, |window| window.baseline - window.candidate),
    );
    if up.value - up.rooms.plus.0 >= down.value - down.rooms.plus.0 { up } else { down }
}

fn rise(windows: &[Window], apart: fn(&Window) -> f64) -> Widened {
    let worst = levels_in_a_row(windows, apart);
    Widened { value: positive(worst.value), ..worst }
}

fn grad_norm_ratio(trend: &Trend) -> f64 {
    let of = |values: &[f64]| upper_median(values.to_vec()).unwrap_or_default().abs().max(f64::MIN_POSITIVE);
    either_way(of(&trend.baseline), of(&trend.candidate)).min(f64::MAX)
}

#[allow(clippy::cast_precision_loss, reason = "a count of steps")]
fn zeros(values: &[f64]) -> f64 {
    values.iter().filter(|value| **value == 0.0).count() as f64
}

/// Share of the steps at which the norm is exactly 0, beyond the baseline's.
#[allow(clippy::cast_precision_loss, reason = "counts of steps")]
fn grad_norm_zeros(trend: &Trend) -> f64 {
    positive((zeros(&trend.candidate) - zeros(&trend.baseline)) / trend.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::outcome::RuleKind;

    fn trend(steps: u32, baseline: impl Fn(u32) -> f64, candidate: impl Fn(u32) -> f64) -> Trend {
        Trend::new((1..=steps).map(|step| (u64::from(step), baseline(step), candidate(step))))
    }

    fn value(name: &str, role: Role, trend: &Trend) -> f64 {
        trend_measures(role, "m", trend).into_iter().find(|measured| measured.rule == name).expect(name).value
    }

    #[test]
    fn every_rule_has_a_name_a_kind_and_a_code() {
        for rule in &RULES {
            assert!(
                NAMES.iter().any(|(name, code)| *name == rule.name && code.code == rule.code.code),
                "{}",
                rule.name
            );
        }
        assert!(NAMES.iter().all(|(name, _)| RuleKind::find(name).is_some()));
    }

    #[test]
    fn a_reward_that_is_rarely_earned_is_dead_only_where_chance_does_not_explain_it() {
        let every = |n: u32| move |step: u32| if step.is_multiple_of(n) { 0.1 } else { 0.0 };
        let dead = |n| value("reward_dead", Role::Reward, &trend(120, every(n), |_| 0.0));
        assert!(dead(30) <= CHANCE && dead(4) > CHANCE);
        let solved = trend(120, |step| if step == 7 { 0.9 } else { 1.0 }, |_| 1.0);
        assert!(value("reward_dead", Role::Reward, &solved) <= CHANCE, "solved from the first step on");
    }

    #[test]
    fn one_bad_window_is_not_two_in_a_row() {
        let entropy = |last: u32| trend(80, |_| 1.0, move |step| if (40..last).contains(&step) { 0.2 } else { 1.0 });
        assert!(value("entropy_low", Role::Entropy, &entropy(51)) < 1.82);
        assert!(value("entropy_low", Role::Entropy, &entropy(61)) > 3.0);
    }

    #[test]
    fn few_steps_have_no_trend_and_scores_need_none() {
        let short = trend(6, |_| 0.8, |_| 0.4);
        assert!(trend_measures(Role::Reward, "reward", &short).is_empty());
        assert!((value("eval_shortfall", Role::EvalScore, &short) - 0.5).abs() < 1e-12);
        assert!(trend_measures(Role::EvalScore, "m", &Trend::default()).is_empty());
    }

    #[test]
    fn ratios_of_values_near_zero_are_held_by_a_floor() {
        let converged = trend(80, |step| if step < 20 { 1.0 } else { 1e-5 }, |step| if step < 20 { 1.0 } else { 1e-7 });
        for (name, role) in
            [("kl_tail_ratio", Role::Kl), ("entropy_low", Role::Entropy), ("loss_tail_ratio", Role::ValueLoss)]
        {
            assert!(value(name, role, &converged) < 1.5, "{name}");
        }
    }
}
