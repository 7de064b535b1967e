//! Every parameter with a gradient must move: an update changes it.
//!
//! An interval lies between two recorded steps. Only parameters whose gradient is more than rounding count: it must exceed a share
//! of the largest gradient of the step. In healthy runs nothing moves while a loss scale comes down, in a warm-up from rate 0, and
//! between micro steps of one update, whose gradients add up.

use std::collections::BTreeMap;

use super::rules::{NEVER_MOVE, PARAMETER_FROZEN, SHOWN};
use crate::compare::run::copies::TensorCopy;
use crate::compare::run::snapshot::Parameters;
use crate::result::finding::Finding;
use crate::result::run::{Invariant, Looked};
use crate::verdict::Severity;

/// Share of the step's largest gradient below which a gradient may be rounding alone.
const GRADIENT: f64 = 1e-4;
/// Number of intervals at the end without any motion that no healthy run has.
const STANDSTILL: usize = 3;
/// Number of intervals in which a frozen parameter stands still while others move.
const FROZEN: usize = 2;

/// One rank at two recorded steps.
#[derive(Clone, Copy, Debug)]
pub struct Interval<'a> {
    /// Parameters at its beginning.
    pub before: &'a Parameters,
    /// Parameters at its end.
    pub after: &'a Parameters,
    /// Gradients at its beginning.
    pub gradients: &'a BTreeMap<String, TensorCopy>,
}

/// Motion of parameters, interval by interval.
#[derive(Debug, Default)]
pub(crate) struct Motion {
    parameters: BTreeMap<String, Track>,
    intervals: usize,
    /// Intervals at the end in which nothing moved.
    standing: usize,
    /// Number of those intervals at whose end gradients add up.
    adding: usize,
    /// Number of parameters with a gradient in the last interval without motion.
    with_gradient: usize,
    /// The step at which the standstill begins.
    since: u64,
}

/// State of one parameter.
#[derive(Debug, Default)]
struct Track {
    /// Number of intervals at the end in which it stood still while others moved by more than its rounding.
    stood: usize,
    /// Whether it has 16 bits, and its rounding may have hidden an update in one of these intervals.
    is_hidden: bool,
}

impl Motion {
    /// Adds an interval of all ranks, which begins at `step`; `adds_up` says whether the gradients at its end include those at its
    /// beginning.
    pub(crate) fn add_interval(&mut self, step: u64, ranks: &[Interval<'_>], adds_up: bool) {
        let mut moved: BTreeMap<&str, bool> = BTreeMap::new();
        let mut counting: BTreeMap<&str, &TensorCopy> = BTreeMap::new();
        // The largest change of an extreme of any parameter.
        let mut largest = 0.0_f64;
        for Interval { before, after, gradients } in ranks {
            let norms = gradients.values().filter_map(|copy| copy.statistics[3]).filter(|norm| norm.is_finite());
            let least = GRADIENT * norms.fold(0.0, f64::max);
            for (name, now) in after.iter().filter(|(_, now)| now.copy.is_comparable()) {
                let Some(was) = before.get(name).filter(|was| was.copy.form == now.copy.form) else { continue };
                let has_moved = !was.copy.is_identical(&now.copy);
                *moved.entry(name).or_default() |= has_moved;
                if has_moved {
                    largest = largest.max(step_of(&was.copy, &now.copy));
                }
                let gradient = gradients.get(name).and_then(|gradient| gradient.statistics[3]);
                if now.is_trainable != Some(false) && gradient.is_some_and(|norm| norm > least && norm > 0.0) {
                    counting.insert(name, &now.copy);
                }
            }
        }
        if counting.is_empty() {
            return;
        }
        self.intervals += 1;
        if !moved.values().any(|has_moved| *has_moved) {
            if self.standing == 0 {
                self.since = step;
            }
            self.standing += 1;
            self.adding += usize::from(adds_up);
            self.with_gradient = counting.len();
            return;
        }
        (self.standing, self.adding) = (0, 0);
        for (name, copy) in counting {
            let track = self.parameters.entry(name.to_owned()).or_default();
            if moved.get(name) == Some(&true) {
                *track = Track::default();
            } else if copy.is_low_precision() || half_rounding(copy) < largest {
                track.stood += 1;
                track.is_hidden |= copy.is_low_precision() && half_rounding(copy) >= largest;
            }
        }
    }

    /// The findings, and the state of the invariant. `is_counted` says whether a log of the run counts a training step for each recorded
    /// step.
    pub(crate) fn finish(self, is_counted: bool) -> (Vec<Finding>, Looked) {
        const ID: Invariant = Invariant::ParametersMove;
        let frozen = self.frozen();
        let counts = [("parameters", self.parameters.len().max(self.with_gradient)), ("steps", self.intervals + 1)];
        let over = |holds: bool| Looked::over(ID, holds, counts);
        if self.standing < STANDSTILL {
            let is_still = self.standing == self.intervals;
            let looked = if self.intervals == 0 {
                Looked::not(ID, "no-parameters")
            } else if is_still {
                Looked::not(ID, "too-few-intervals")
            } else {
                over(frozen.is_none())
            };
            return (frozen.into_iter().collect(), looked);
        }
        let are_micro_steps = self.adding > 0;
        if are_micro_steps && !is_counted {
            return (frozen.into_iter().collect(), Looked::not(ID, "no-update-seen"));
        }
        let finding = standstill_finding("steps", self.since, self.with_gradient, self.standing);
        let finding = finding.with("adds_up", u64::from(are_micro_steps));
        let finding = if are_micro_steps { finding.with_severity(Severity::Warn) } else { finding };
        (vec![finding], over(false))
    }

    /// The finding about parameters that stand still while others move.
    fn frozen(&self) -> Option<Finding> {
        let stood = || self.parameters.iter().filter(|(_, track)| track.stood >= FROZEN);
        let told = stood().any(|(_, track)| !track.is_hidden);
        let names: Vec<&str> =
            stood().filter(|(_, track)| track.is_hidden != told).map(|(name, _)| name.as_str()).collect();
        let intervals = stood().map(|(_, track)| track.stood).max()?;
        let finding = frozen_finding(&names, self.parameters.len(), intervals as u64)?;
        Some(if told { finding } else { finding.with_severity(Severity::Info) })
    }
}

/// The finding that nothing moves in the intervals between `what` (steps or checkpoints), from `since` on.
pub(crate) fn standstill_finding(what: &str, since: u64, count: usize, intervals: usize) -> Finding {
    // Checkpoints have a place of their own, because single parameters were not recorded.
    let place = if what == "checkpoints" { what } else { "parameters" };
    let finding = Finding::new(&NEVER_MOVE, place).with("step", since);
    finding.with("count", count).with("intervals", intervals).with("what", what)
}

/// The finding that the named ones of `of` parameters stand still in `updates` updates; `None` without names.
pub(crate) fn frozen_finding(names: &[&str], of: usize, updates: u64) -> Option<Finding> {
    let finding = Finding::new(&PARAMETER_FROZEN, *names.first()?).with("count", names.len());
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| (*name).to_owned()).collect();
    Some(finding.with("of", of).with("updates", updates).with("names", shown))
}

/// The largest change of an extreme (maximum or minimum) of a parameter.
fn step_of(was: &TensorCopy, now: &TensorCopy) -> f64 {
    let ends = was.statistics.iter().zip(&now.statistics).take(2);
    ends.filter_map(|(was, now)| Some((now.as_ref()? - was.as_ref()?).abs())).fold(0.0, f64::max)
}

/// The largest update that rounding may hide in the largest element of a parameter.
fn half_rounding(copy: &TensorCopy) -> f64 {
    let [max, min, ..] = copy.statistics.map(|one| one.map_or(0.0, f64::abs));
    copy.roundoff * max.max(min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::run::snapshot::Parameter;
    use crate::result::run::InvariantState;

    fn parameters(values: &[(&str, f64)]) -> Parameters {
        let parameter = |value: f64| {
            let copy = TensorCopy::from_statistics([value, -value, value / 8.0, 3.0 * value].map(Some));
            Parameter { copy, is_trainable: Some(true) }
        };
        values.iter().map(|(name, value)| ((*name).to_owned(), parameter(*value))).collect()
    }

    fn gradients(names: &[(&str, f64)]) -> BTreeMap<String, TensorCopy> {
        let copy = |norm: f64| TensorCopy::from_statistics([norm, -norm, 0.0, norm].map(Some));
        names.iter().map(|(name, norm)| ((*name).to_owned(), copy(*norm))).collect()
    }

    fn judge(
        steps: &[[(&str, f64); 2]],
        grads: [(&str, f64); 2],
        adds_up: bool,
        counted: bool,
    ) -> (Vec<Finding>, Looked) {
        let mut motion = Motion::default();
        let gradients = gradients(&grads);
        for (step, pair) in (0..).zip(steps.windows(2)) {
            let [before, after] = [parameters(&pair[0]), parameters(&pair[1])];
            let interval = Interval { before: &before, after: &after, gradients: &gradients };
            motion.add_interval(step, &[interval], adds_up);
        }
        motion.finish(counted)
    }

    const BOTH: [(&str, f64); 2] = [("a", 1.0), ("b", 1.0)];

    fn at(a: f64, b: f64) -> [(&'static str, f64); 2] {
        [("a", a), ("b", b)]
    }

    #[test]
    fn a_standstill_of_three_intervals_at_the_end_fails() {
        let still = [at(1.0, 1.0); 4];
        let (findings, looked) = judge(&still, BOTH, false, false);
        assert_eq!(findings.iter().map(|one| one.severity).collect::<Vec<_>>(), [Severity::Fail]);
        assert_eq!(looked.state, InvariantState::Broken);
        let (findings, looked) = judge(&still[1..], BOTH, false, false);
        assert!(findings.is_empty() && looked.reason == "too-few-intervals");
        let warmed = [at(1.0, 1.0), at(1.0, 1.0), at(1.0, 1.0), at(1.0, 1.0), at(1.1, 1.1)];
        let (findings, looked) = judge(&warmed, BOTH, false, false);
        assert!(findings.is_empty() && looked.state == InvariantState::Held, "{findings:?}");
    }

    #[test]
    fn micro_steps_of_one_update_stand_still() {
        let still = [at(1.0, 1.0); 5];
        assert_eq!(judge(&still, BOTH, true, false).1.reason, "no-update-seen");
        let (findings, _) = judge(&still, BOTH, true, true);
        assert_eq!(findings.iter().map(|one| one.severity).collect::<Vec<_>>(), [Severity::Warn]);
    }

    #[test]
    fn a_parameter_that_stands_while_others_move_is_frozen() {
        let one_stands = [at(1.0, 1.0), at(1.1, 1.0), at(1.2, 1.0)];
        let (findings, _) = judge(&one_stands, BOTH, false, false);
        assert_eq!(findings.iter().map(|one| one.place.as_str()).collect::<Vec<_>>(), ["b"]);
        let rounding = [("a", 1.0), ("b", 1e-5)];
        assert!(judge(&one_stands, rounding, false, false).0.is_empty(), "a gradient of rounding");
        let tiny = [at(1e-3, 1.0), at(1e-3 + 1e-9, 1.0), at(1e-3 + 2e-9, 1.0)];
        assert!(judge(&tiny, BOTH, false, false).0.is_empty(), "an update below half a rounding");
    }
}
