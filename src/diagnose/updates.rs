//! Updates of parameters: how far each moved on both sides since the step before.

use super::before::{Four, StepBefore};
use super::context::{DumpContext, Suspect, is_weight_of};
use super::value_pair::{ValuePair, operations_of, values_of};
use crate::compare::dump::bounds_of_sums;
use crate::dtype::Dtype;
use crate::kind::TensorKind;
use crate::median::upper_median;
use crate::read::dump::name::OpName;
use crate::result::diagnosis::Statement;

/// Share of an update that healthy runs may differ by; noise in tiny gradients turns some elements of a parameter, not most.
const ALIKE: f64 = 0.01;

/// Scatter of a factor of updates over parameters.
const SCATTER: f64 = 0.05;

/// Names of parameters told as evidence.
const MOST_NAMES: usize = 4;

/// One parameter since the step before.
pub(super) struct Update {
    pub(super) row: String,
    baseline: Four,
    candidate: Four,
    /// Differences that rounding and the order of summation make, of each statistic.
    rounding: Four,
    /// Mean of the parameter before the update.
    mean: f64,
}

/// The two parts of which the candidate's updates are made, in terms of the baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parts {
    /// Factor of the part that follows the gradient.
    pub(super) gradient: f64,
    /// Share of itself by which the candidate shrinks a parameter more than the baseline does.
    pub(super) decay: f64,
}

/// Updates of the parameters that the step before was given too.
pub(super) struct Updates {
    pub(super) all: Vec<Update>,
    /// The suspect's own.
    own: usize,
    /// The step before.
    pub(super) since: u64,
}

impl Updates {
    /// The updates of a unit whose culprit is such a parameter, equal on both sides at the step before.
    pub(super) fn from_suspect(context: &DumpContext<'_>, suspect: &Suspect<'_>) -> Option<Self> {
        let before = context.before.filter(|_| !suspect.is_result() && !suspect.is_backward())?;
        // Where modules record their parameters, their inputs are none.
        let has_parameters = suspect.value.kind == TensorKind::Parameter;
        let is_given = |kind: TensorKind| kind == TensorKind::Parameter || kind == TensorKind::Input && !has_parameters;
        let mut all = Vec::new();
        let mut own = None;
        for comparison in &context.input.comparison.operations {
            let Some((baseline, candidate)) = operations_of(context.input, comparison) else { continue };
            let name = OpName::parse(candidate.name);
            let given = values_of(comparison, baseline, candidate).filter(|both| is_given(both.kind));
            for both in given {
                let is_own = both.candidate.row.to_string() == suspect.culprit.tensor;
                // What the graph makes of the same batch moves by little, too.
                let is_parameter = is_own || is_weight_of(&both, name.function());
                let Some(update) = update(&both, &before).filter(|_| is_parameter) else { continue };
                own = is_own.then_some(all.len()).or(own);
                all.push(update);
            }
        }
        Some(Self { all, own: own?, since: before.step })
    }

    /// The suspect's own update.
    pub(super) fn suspect_update(&self) -> Option<&Update> {
        self.all.get(self.own)
    }

    /// Adds to evidence about updates since which step they are, and how far the statistic of the suspect that tells the sides apart best
    /// moved on each.
    pub(super) fn note(&self, evidence: Statement) -> Statement {
        const STATISTICS: [&str; 4] = ["max", "min", "mean", "norm"];
        let evidence = evidence.with("since", self.since);
        let Some(own) = self.suspect_update() else { return evidence };
        let apart = |place: usize| {
            let rounding = pick(&own.rounding, place).max(f64::MIN_POSITIVE);
            (pick(&own.baseline, place) - pick(&own.candidate, place)).abs() / rounding
        };
        let all = STATISTICS.into_iter().enumerate();
        let Some((place, statistic)) = all.reduce(|one, other| if apart(other.0) > apart(one.0) { other } else { one })
        else {
            return evidence;
        };
        let moved = [&own.baseline, &own.candidate].map(|side| pick(side, place));
        evidence.with("statistic", statistic).with("moved_baseline", moved[0]).with("moved_candidate", moved[1])
    }

    /// Names of parameters for evidence: the suspect's first.
    pub(super) fn names<'a>(&'a self, fits: impl Fn(&Update) -> bool + 'a) -> Vec<String> {
        let own = self.suspect_update().into_iter();
        let others = self.all.iter().enumerate().filter(|(place, _)| *place != self.own).map(|(_, update)| update);
        own.chain(others).filter(|update| fits(update)).take(MOST_NAMES).map(|update| update.row.clone()).collect()
    }

    /// The parts of the candidate's updates, where one factor of the gradient's part and one further decay make all of them.
    ///
    /// An update moves a mean by `-lr · mean(gradient) - decay · mean`, so that the candidate's is
    /// `k · baseline - (decay_c - k · decay_b) · mean`: least squares over all parameters, each in units of its rounding.
    pub(super) fn parts(&self) -> Option<Parts> {
        /// Fewest parameters that leave no room for chance.
        const FEWEST: usize = 6;
        /// Share of the difference that may be left.
        const LEFT: f64 = 0.02;
        let telling = self.telling_means().map(|([baseline, candidate], mean)| [baseline, mean, candidate]);
        let telling: Vec<[f64; 3]> = telling.collect();
        let sum = |of: fn(&[f64; 3]) -> f64| telling.iter().map(of).sum::<f64>();
        let (bb, bm, mm) = (sum(|[b, ..]| b * b), sum(|[b, m, _]| b * m), sum(|[_, m, _]| m * m));
        let (bc, mc) = (sum(|[b, _, c]| b * c), sum(|[_, m, c]| m * c));
        let determinant = bb * mm - bm * bm;
        if telling.len() < FEWEST || determinant <= 1e-9 * bb * mm {
            return None;
        }
        let (gradient, further) = ((bc * mm - mc * bm) / determinant, (mc * bb - bc * bm) / determinant);
        let left: f64 = telling.iter().map(|[b, m, c]| (c - gradient * b - further * m).powi(2)).sum();
        let apart = sum(|[b, _, c]| (c - b) * (c - b));
        (left <= LEFT * LEFT * apart).then_some(Parts { gradient, decay: -further })
    }

    /// The constant that the candidate's updates are of the baseline's, where most parameters agree on one.
    pub(super) fn factor(&self) -> Option<f64> {
        self.shared_factor().or_else(|| self.rough_factor())
    }

    /// The factor that most parameters share.
    fn shared_factor(&self) -> Option<f64> {
        const FEWEST: usize = 3;
        let mut factors: Vec<f64> = self.all.iter().filter_map(Update::factor).collect();
        factors.sort_by(f64::total_cmp);
        let middle = *factors.get(factors.len() / 2)?;
        let near = factors.iter().filter(|factor| (*factor / middle - 1.0).abs() <= SCATTER).count();
        let is_clear = factors.len() >= FEWEST && near * 4 >= factors.len() * 3 && (middle - 1.0).abs() > SCATTER;
        is_clear.then_some(middle)
    }

    /// The factor that most means share roughly, where it is far from 1: means of small updates are near their rounding, and Adam scales
    /// each element by itself.
    fn rough_factor(&self) -> Option<f64> {
        /// Fewest parameters, the scatter of their factors, and the least factor or one over it.
        const FEWEST: usize = 6;
        const NEAR: f64 = 0.1;
        const FAR: f64 = 1.5;
        let telling = self.telling_means().filter(|([baseline, _], _)| baseline.abs() > 0.5);
        let factors: Vec<f64> = telling.map(|([baseline, candidate], _)| candidate / baseline).collect();
        let middle = upper_median(factors.clone())?;
        let near = factors.iter().filter(|factor| (*factor / middle - 1.0).abs() <= NEAR).count();
        let is_rough = factors.len() >= FEWEST && near * 5 >= factors.len() * 3;
        (is_rough && middle > 0.0 && !(1.0 / FAR..FAR).contains(&middle)).then_some(middle)
    }

    /// Distances by which the mean of each parameter moved on both sides, and the mean before, in units of its rounding; of those that
    /// moved by enough to tell.
    fn telling_means(&self) -> impl Iterator<Item = ([f64; 2], f64)> {
        self.all.iter().filter_map(|update| {
            let (baseline, candidate) = (pick(&update.baseline, 2), pick(&update.candidate, 2));
            let unit = pick(&update.rounding, 2);
            let is_telling = unit > 0.0 && baseline.abs().max(candidate.abs()) > 8.0 * unit;
            is_telling.then(|| ([baseline / unit, candidate / unit], update.mean / unit))
        })
    }
}

fn update(both: &ValuePair<'_>, before: &StepBefore<'_>) -> Option<Update> {
    let row = both.candidate.row.to_string();
    let [baseline_before, candidate_before] = before.parameters.statistics_of(&row)?;
    let (baseline, candidate) = both.records()?;
    let now = both.finite_statistics()?;
    let moved =
        |now: Four, before: &Four| -> Four { std::array::from_fn(|place| pick(&now, place) - pick(before, place)) };
    if !is_parameter(baseline_before, &now[0]) {
        return None;
    }
    let [_, _, mean, norm] = bounds_of_sums(&baseline, &candidate, candidate.elements());
    let unit = Dtype::parse(candidate.dtype).map_or(0.0, Dtype::unit_roundoff);
    let [max, min, ..] = now[0];
    let update = Update {
        row,
        baseline: moved(now[0], baseline_before),
        candidate: moved(now[1], candidate_before),
        rounding: [2.0 * unit * max.abs(), 2.0 * unit * min.abs(), mean, norm],
        mean: pick(baseline_before, 2),
    };
    // What differed before already is no matter of this update.
    let apart = |place: usize| (pick(baseline_before, place) - pick(candidate_before, place)).abs();
    let was_equal = (0..4).all(|place| apart(place) <= 4.0 * pick(&update.rounding, place));
    was_equal.then_some(update)
}

/// Whether a value moved as a parameter does, by a part of itself: what the graph makes of another batch is another value.
fn is_parameter(before: &Four, now: &Four) -> bool {
    let [max, min, _, norm] = *before;
    let [new_max, new_min, _, new_norm] = *now;
    let scale = max.abs().max(min.abs());
    let is_part = |moved: f64, of: f64| moved.abs() <= 0.5 * of;
    norm <= 0.0 || is_part(new_max - max, scale) && is_part(new_min - min, scale) && is_part(new_norm - norm, norm)
}

fn pick(four: &Four, place: usize) -> f64 {
    four.get(place).copied().unwrap_or_default()
}

impl Update {
    fn has_moved(&self, side: &Four) -> bool {
        side.iter().zip(self.rounding).any(|(moved, rounding)| moved.abs() > 4.0 * rounding)
    }

    /// Whether a side is as it was, to the last bit of every statistic.
    fn has_stayed(side: &Four) -> bool {
        side.iter().all(|moved| moved.abs() <= 0.0)
    }

    /// The side that stayed as it was while the other one moved.
    pub(super) fn lost_side(&self) -> Option<&'static str> {
        match (Self::has_stayed(&self.baseline), Self::has_stayed(&self.candidate)) {
            (false, true) if self.has_moved(&self.baseline) => Some("candidate"),
            (true, false) if self.has_moved(&self.candidate) => Some("baseline"),
            _ => None,
        }
    }

    /// Whether the two sides moved otherwise; `None` where neither moved by enough to say.
    pub(super) fn is_different(&self) -> Option<bool> {
        let pairs = self.baseline.iter().zip(&self.candidate).zip(self.rounding);
        let telling = pairs.filter(|((b, c), rounding)| b.abs().max(c.abs()) > 8.0 * rounding);
        let differs =
            telling.map(|((b, c), rounding)| (b - c).abs() > ALIKE.mul_add(b.abs().max(c.abs()), 2.0 * rounding));
        differs.reduce(|one, other| one || other)
    }

    /// The candidate's update as a multiple of the baseline's: by both ends where they agree, else by the mean, which is linear
    /// in the update.
    fn factor(&self) -> Option<f64> {
        let ratio = |place: usize| {
            let (baseline, candidate) = (pick(&self.baseline, place), pick(&self.candidate, place));
            (baseline.abs() > 40.0 * pick(&self.rounding, place)).then(|| candidate / baseline)
        };
        let ends = ratio(0).zip(ratio(1)).filter(|(max, min)| (max / min - 1.0).abs() <= SCATTER);
        ends.map(|(max, _)| max).or_else(|| ratio(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(baseline: Four, candidate: Four) -> Update {
        Update { row: String::new(), baseline, candidate, rounding: [1e-8, 1e-8, 1e-9, 1e-8], mean: 0.1 }
    }

    #[test]
    fn an_update_on_one_side_alone_is_lost() {
        let moved = [1e-3, -1e-3, 1e-5, 2e-3];
        assert_eq!(update(moved, [0.0; 4]).lost_side(), Some("candidate"));
        assert_eq!(update([0.0; 4], moved).lost_side(), Some("baseline"));
        assert_eq!(update(moved, moved).lost_side(), None);
        assert_eq!(update([0.0; 4], [1e-9; 4]).lost_side(), None, "rounding");
    }

    #[test]
    fn parts_of_updates_are_told_apart() {
        // Gradients of either sign, means of any size, and a decay of 1e-3 on both sides.
        let all = |gradient: f64, decay: f64| {
            let all = (1..9_u8).map(|place| {
                let (mean, step) = (f64::from(place % 4) * 0.3 - 0.4, (f64::from(place) * 1.7).sin() * 1e-3);
                let moved = |mean: f64| [0.0, 0.0, mean, 0.0];
                let updated = update(moved(-step - 1e-3 * mean), moved(-gradient * step - decay * mean));
                Update { mean, ..updated }
            });
            Updates { all: all.collect(), own: 0, since: 0 }.parts()
        };
        let near = |found: Option<Parts>, gradient: f64, decay: f64| {
            found.is_some_and(|parts| (parts.gradient - gradient).abs() < 1e-6 && (parts.decay - decay).abs() < 1e-9)
        };
        assert!(near(all(28.0, 1e-3), 28.0, 1e-3 - 28.0 * 1e-3), "clipping left out");
        assert!(near(all(1.0, 3e-3), 1.0, 2e-3), "another decay");
        assert!(near(all(2.0, 2e-3), 2.0, 0.0), "another learning rate");
    }

    #[test]
    fn a_constant_factor_of_all_updates_is_named() {
        let moved = |size: f64| [size, -size, size / 100.0, 2.0 * size];
        let all = (1..6_u8).map(|size| f64::from(size) * 1e-3).map(|size| update(moved(size), moved(2.0 * size)));
        let updates = Updates { all: all.collect(), own: 0, since: 0 };
        assert!(updates.factor().is_some_and(|factor| (factor - 2.0).abs() < 1e-9));
        assert!(updates.all.iter().all(|update| update.is_different() == Some(true)));
        let equal = Updates { all: vec![update(moved(1e-3), moved(1e-3))], own: 0, since: 0 };
        assert_eq!(equal.factor(), None);
        // Means that scatter around twice the baseline's, as with Adam.
        let scattered = |apart: f64| {
            let all = (1..9_u8).map(|place| {
                let mean = (f64::from(place) * 1.7).sin() * 1e-6;
                let factor = 2.0 + apart * (f64::from(place) * 2.3).cos();
                update([0.0, 0.0, mean, 0.0], [0.0, 0.0, factor * mean, 0.0])
            });
            Updates { all: all.collect(), own: 0, since: 0 }.factor()
        };
        assert!(scattered(0.1).is_some_and(|factor| (factor - 2.0).abs() < 0.1));
        assert_eq!(scattered(1.5), None);
        assert_eq!(equal.all[0].is_different(), Some(false));
    }
}
