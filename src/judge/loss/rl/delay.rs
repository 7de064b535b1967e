//! Additional room in the limits for two healthy runs of which one is later than the other.
//!
//! Sampled answers teach one run a little more at a step than the other, and the next answers are sampled from what was learned.
//! So healthy runs diverge for good, by more than the scatter of single steps shows: they reach the same places at different
//! steps. The effect on a metric is its own slope times the number of steps that one run may be late, so a metric that does not
//! change gets no such room. `docs/rl.md` says where the shares come from.

use std::ops::Range;

use super::trend::Window;
use crate::judge::loss::limits::LimitPair;

/// Share of the steps so far by which a healthy run may be late or early: the first one widens limits that warn, the second one
/// those that fail.
pub(super) const LATE: (f64, f64) = (0.15, 0.25);

/// Additional room of the warning limit and of the failing limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rooms {
    /// Amounts that are added to the limits.
    pub plus: (f64, f64),
    /// Factors that the limits are multiplied by before that.
    pub times: (f64, f64),
}

impl Rooms {
    /// No room.
    pub(crate) const NONE: Self = Self { plus: (0.0, 0.0), times: (1.0, 1.0) };

    /// The room for values that are divided by `scale`.
    #[must_use]
    pub(crate) fn relative_to(self, scale: f64) -> Self {
        Self { plus: (self.plus.0 / scale, self.plus.1 / scale), ..self }
    }

    /// The room of the warning limit for both limits, for runs whose other metrics show that it is no delay.
    #[must_use]
    pub(super) fn warning_room_only(self) -> Self {
        Self { plus: (self.plus.0, self.plus.0), times: (self.times.0, self.times.0) }
    }

    /// The limits, widened by this room.
    pub(crate) fn widen(self, limits: LimitPair) -> LimitPair {
        let of = |limit: Option<f64>, times: f64, plus: f64| limit.map(|limit| limit * times + plus);
        LimitPair { warn: of(limits.warn, self.times.0, self.plus.0), fail: of(limits.fail, self.times.1, self.plus.1) }
    }
}

/// A measured value, with the room that its limits get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Widened {
    /// The value.
    pub value: f64,
    /// The room.
    pub rooms: Rooms,
}

impl From<f64> for Widened {
    fn from(value: f64) -> Self {
        Self { value, rooms: Rooms::NONE }
    }
}

/// Room for the limits of a level, averaged over the windows in the range `some`.
pub(crate) fn level_rooms(windows: &[Window], some: Range<usize>) -> Rooms {
    Rooms { plus: rooms(windows, some, |value| value), ..Rooms::NONE }
}

/// Room for the limits of a ratio, averaged over the windows in the range `some`; values below `floor` count as `floor`.
pub(super) fn ratio_rooms(windows: &[Window], some: Range<usize>, floor: f64) -> Rooms {
    let (warn, fail) = rooms(windows, some, |value| value.max(floor).ln());
    Rooms { times: (warn.exp(), fail.exp()), ..Rooms::NONE }
}

fn rooms(windows: &[Window], some: Range<usize>, of: impl Fn(f64) -> f64) -> (f64, f64) {
    let baseline: Vec<f64> = windows.iter().map(|window| of(window.baseline)).collect();
    let candidate: Vec<f64> = windows.iter().map(|window| of(window.candidate)).collect();
    let of = |share: f64| shared_room(climb(&baseline, some.clone(), share), climb(&candidate, some.clone(), share));
    let (warn, fail) = (of(LATE.0), of(LATE.1));
    // A path that turned may have changed less over the longer stretch (failing) than over the shorter one (warning). It was not
    // rising or falling all along, so the warning room is no larger than the failing one.
    (warn.min(fail), fail)
}

/// The value that is farthest `beyond` its room, among the values that two windows in a row both reach; that of the only window if
/// there is just one.
pub(crate) fn reached_by_two_windows(values: impl Iterator<Item = Widened>, beyond: fn(&Widened) -> f64) -> Widened {
    let values: Vec<Widened> = values.collect();
    let least = |pair: &[Widened]| pair.iter().copied().min_by(|a, b| beyond(a).total_cmp(&beyond(b)));
    let pairs = values.windows(2.min(values.len().max(1))).filter_map(least);
    pairs.max_by(|a, b| beyond(a).total_cmp(&beyond(b))).unwrap_or_else(|| 0.0.into())
}

/// Room that follows from the changes of both sides: their mean, but no more than the baseline's change. A candidate that does not
/// change is not late, and one that changes faster gets no more room for that.
fn shared_room(baseline: f64, candidate: f64) -> f64 {
    let size = baseline.abs();
    f64::midpoint(size, candidate * baseline.signum()).min(size).max(0.0)
}

/// Change of a path within the last `share` of the steps so far, averaged over the windows in the range `some`.
fn climb(path: &[f64], some: Range<usize>, share: f64) -> f64 {
    let changes = path.iter().enumerate().take(some.end).skip(some.start);
    let (mut count, mut sum) = (0_u32, 0.0);
    for (nth, value) in changes {
        count += 1;
        sum += value - before(path, nth, share);
    }
    sum / f64::from(count.max(1))
}

/// Value of the path a `share` of the steps so far before the middle of window `nth`, interpolated linearly between the middles of
/// windows.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few windows"
)]
fn before(path: &[f64], nth: usize, share: f64) -> f64 {
    // In windows: the middle of window `nth` is `nth + 0.5` from the start, and has the number `nth` in `path`.
    let at = (nth as f64 + 0.5) * (1.0 - share) - 0.5;
    // Before the first middle the line between the first two goes on.
    let left = (at.max(0.0) as usize).min(path.len().saturating_sub(2));
    match (path.get(left), path.get(left + 1)) {
        (Some(from), Some(to)) => from + (to - from) * (at - left as f64),
        (Some(only), None) => *only,
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(baseline: impl Fn(u32) -> f64, candidate: impl Fn(u32) -> f64) -> Vec<Window> {
        let of = |nth: u32| Window { to_step: u64::from(nth), baseline: baseline(nth), candidate: candidate(nth) };
        (0..8).map(of).collect()
    }

    #[test]
    fn the_room_is_slope_times_delay() {
        let line = |slope: f64| move |nth: u32| slope * (f64::from(nth) + 0.5);
        let rooms = level_rooms(&windows(line(0.1), line(0.1)), 6..8);
        // The tail's middle is at 7 windows.
        assert!((rooms.plus.0 - 0.1 * 7.0 * LATE.0).abs() < 1e-12, "{rooms:?}");
        assert!((rooms.plus.1 - 0.1 * 7.0 * LATE.1).abs() < 1e-12, "{rooms:?}");
        let standing = level_rooms(&windows(|_| 0.9, line(0.1)), 6..8);
        assert_eq!(standing.plus, (0.0, 0.0), "a baseline that stands leaves none");
    }

    #[test]
    fn a_candidate_that_stands_halves_the_room_and_one_that_falls_takes_it() {
        let line = |nth: u32| 0.1 * f64::from(nth);
        let of = |candidate: fn(u32) -> f64| level_rooms(&windows(line, candidate), 6..8).plus.1;
        let late = of(|nth| 0.08 * f64::from(nth));
        assert!(of(|_| 0.3) < 0.6 * late && of(|_| 0.3) > 0.0);
        assert!(of(|nth| 0.7 - 0.1 * f64::from(nth)).abs() < 1e-12);
        assert!((of(|nth| 0.9 * f64::from(nth)) - of(line)).abs() < 1e-12, "steeper than the baseline");
    }

    #[test]
    fn ratios_widen_by_a_factor_and_little_is_enough() {
        let falling = |nth: u32| 2.0 * 0.7_f64.powf(f64::from(nth) + 0.5);
        let rooms = ratio_rooms(&windows(falling, falling), 7..8, 1e-3);
        assert!((rooms.times.0 - 0.7_f64.powf(-7.5 * LATE.0)).abs() < 1e-9, "{rooms:?}");
        assert_eq!(level_rooms(&[], 0..0).plus, (0.0, 0.0));
        let one = [Window { to_step: 9, baseline: 1.0, candidate: 2.0 }];
        assert_eq!(level_rooms(&one, 0..1).plus, (0.0, 0.0));
    }
}
