//! Compares the updates of parameters: the changes that the optimizer made in a step on both sides.
//!
//! A change is small beside the parameter, so a wrong learning rate does not show in the parameter's size. It shows in the difference of
//! the parameter before and after the update: a wrong optimizer changes its size or sign at once, in most parameters, and in all
//! statistics of each. docs/monitor.md derives the limits.

use super::measure::{self, FileRounding};
use super::precision::Precision;
use crate::hash::{FastMap, FastSet};
use crate::kind::{MonitorKind, Statistic};
use crate::median::upper_median;
use crate::pair::monitor::MonitorRowPair;
use crate::read::monitor::{MonitorParameter, MonitorStatistics};
use crate::verdict::PerSide;

/// Statistics that are compared; a mean adds nothing to the norm.
const FOLLOWED: [Statistic; 3] = [Statistic::Norm, Statistic::Min, Statistic::Max];
/// Fewest statistics of a parameter that have to differ.
const LEAST_STATISTICS: usize = 2;
/// Units of rounding above which a change can be measured.
const MEASURABLE: f64 = 4.0;
/// Difference of updates, relative to the larger one, that most parameters do not exceed by chance.
const OF_MOST: f64 = 0.01;
/// Widest limit on the difference: an update that is twice as large differs by a half.
const WIDEST: f64 = 0.4;
/// Factor over the difference that the runs already have.
const OVER_GROWTH: f64 = 8.0;
/// Difference above which the update of a single parameter is wrong.
const OF_ONE: f64 = 0.25;
/// Difference of the runs up to which single parameters are judged by their updates.
const CALM: f64 = 1e-3;
/// Difference of an update that only one side made.
const ONE_SIDED: f64 = 0.9;
/// Spread up to which factors count as equal, relative to their distance from 1, and decays, relative to their size.
const ALIKE: f64 = 0.1;
/// Least share of the wrong updates that have to show the factor of scaled ones in one of their statistics.
const SHOWING: f64 = 0.75;
/// Fewest parameters, and their least share, that decay differently by one factor.
const LEAST_DECAYS: (usize, f64) = (3, 0.25);

/// The way in which updates differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The candidate's updates are the baseline's times a factor.
    Scaled,
    /// Parameters shrink by another factor: the weight decay differs.
    Decay,
    /// The candidate updates nothing.
    Stands,
    /// The baseline updates nothing.
    Moves,
    /// Any other difference.
    Other,
}

impl Pattern {
    /// The name in findings.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Scaled => "scaled",
            Self::Decay => "decay",
            Self::Stands => "stands",
            Self::Moves => "moves",
            Self::Other => "other",
        }
    }
}

/// A change of a statistic by an update, on both sides.
#[derive(Clone, Copy, Debug)]
struct Change {
    statistic: Statistic,
    deltas: PerSide<f64>,
    /// Part of the difference that rounding explains.
    floor: f64,
}

impl Change {
    fn size(&self) -> f64 {
        self.deltas.baseline.abs().max(self.deltas.candidate.abs())
    }

    /// Difference beyond rounding, over the larger change.
    fn error(&self) -> f64 {
        ((self.deltas.candidate - self.deltas.baseline).abs() - self.floor).max(0.0) / self.size()
    }
}

/// The measurable update of a parameter.
#[derive(Debug)]
struct Update {
    parameter: MonitorParameter,
    changes: Vec<Change>,
}

impl Update {
    /// The change that differs least. An update is wrong only if all of its statistics differ.
    fn least(&self) -> Option<Change> {
        self.changes.iter().copied().min_by(|a, b| a.error().total_cmp(&b.error()))
    }

    fn error(&self) -> f64 {
        self.least().map_or(0.0, |change| change.error())
    }

    fn largest(&self) -> Option<Change> {
        self.changes.iter().copied().max_by(|a, b| a.size().total_cmp(&b.size()))
    }

    /// Whether only one side moved the parameter.
    fn is_one_sided(&self) -> bool {
        let stands = |of: fn(&Change) -> f64| self.changes.iter().all(|change| of(change).abs() <= change.floor);
        stands(|change| change.deltas.baseline) != stands(|change| change.deltas.candidate)
    }
}

/// A parameter that shows how updates differ: the changes of one of its statistics on both sides.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ShownUpdate {
    /// The parameter's name.
    pub(super) name: String,
    /// The changes of its statistic, without their signs.
    pub(super) moved: PerSide<f64>,
}

/// A parameter whose update is wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrongUpdate {
    /// A statistic that shows it.
    pub(super) statistic: Statistic,
    /// Difference relative to the larger update; for a decay, relative to the parameter.
    pub(super) error: f64,
    /// Largest accepted difference.
    pub(super) limit: f64,
}

/// The judged updates of a step.
#[derive(Debug, Default)]
pub(super) struct JudgedUpdates {
    wrong: FastMap<MonitorParameter, WrongUpdate>,
    /// Pattern of the wrong updates, and the factor of scaled ones; of decays, the share by which the candidate's parameters are larger.
    pub(super) pattern: Option<(Pattern, Option<f64>)>,
    /// The first wrong update that shows the pattern; `None` for decays.
    pub(super) shown: Option<ShownUpdate>,
    /// Number of parameters whose update could be measured.
    pub(super) measured: usize,
    /// The largest ratio of a difference to its limit.
    pub(super) worst: Option<f64>,
}

impl JudgedUpdates {
    /// Returns the update of `parameter` if it is wrong.
    pub(super) fn wrong_update(&self, parameter: &MonitorParameter) -> Option<WrongUpdate> {
        self.wrong.get(parameter).copied()
    }

    /// Number of wrong updates.
    pub(super) fn count(&self) -> usize {
        self.wrong.len()
    }

    /// Names of the parameters with a wrong update, `first` before the others; at most `most`.
    pub(super) fn names(&self, first: &str, most: usize) -> Vec<String> {
        let mut names: Vec<String> = self.wrong.keys().map(|parameter| parameter.name.to_string()).collect();
        names.sort_unstable_by(|one, other| (one != first, one).cmp(&(other != first, other)));
        names.dedup();
        names.truncate(most);
        names
    }
}

/// Circumstances of a step that decide how its updates are judged.
#[derive(Clone, Copy)]
pub(super) struct Circumstances {
    /// Rounding of the files.
    pub(super) written: FileRounding,
    /// Decimals of the baseline's numbers.
    pub(super) decimals: Option<u32>,
    /// Precision of the activations.
    pub(super) precision: Precision,
    /// Largest difference of the runs up to this step.
    pub(super) growth: f64,
}

/// Movement of the parameters over the updates.
#[derive(Debug, Default)]
pub(super) struct Motion {
    /// Latest statistics of each parameter.
    last: FastMap<MonitorParameter, PerSide<MonitorStatistics>>,
    /// Sum over all updates of the largest change of an element.
    travelled: f64,
    /// The largest median difference of updates so far.
    growth: f64,
}

impl Motion {
    /// Largest distance that an element can have moved since the first step, in the parameter's own unit.
    pub(super) fn travelled(&self) -> f64 {
        self.travelled
    }

    /// Judges the updates of a step. Parameters for which `is_noise` is true are not judged. Those for which `is_parted` is true are partly
    /// noise: they are judged with the others, but not individually.
    pub(super) fn judge(
        &mut self,
        pairs: &[MonitorRowPair],
        at: Circumstances,
        is_noise: impl Fn(&MonitorRowPair) -> bool,
        is_parted: impl Fn(&MonitorRowPair) -> bool,
    ) -> JudgedUpdates {
        self.note(pairs, MonitorKind::ParamOrigin);
        let updated: Vec<&MonitorRowPair> =
            pairs.iter().filter(|pair| pair.key.kind == MonitorKind::ParamUpdated && !pair.is_repeat).collect();
        let judged: Vec<&MonitorRowPair> = updated.iter().copied().filter(|pair| !is_noise(pair)).collect();
        let all: Vec<Update> = judged.iter().filter_map(|pair| self.update(pair, at)).collect();
        let ends = all.iter().flat_map(|update| &update.changes).filter(|change| change.statistic != Statistic::Norm);
        let step = ends.map(|change| change.deltas.baseline.abs()).fold(0.0, f64::max);
        self.travelled += step;
        let mut updates = JudgedUpdates { measured: all.len(), ..JudgedUpdates::default() };
        self.judge_most(&all, at, &mut updates);
        let parted: FastSet<MonitorParameter> =
            judged.iter().filter(|pair| is_parted(pair)).map(|pair| pair.key.parameter()).collect();
        judge_each(all.iter().filter(|update| !parted.contains(&update.parameter)), at, &mut updates);
        let mut decays = JudgedUpdates::default();
        judge_decay(&judged, at, &mut decays);
        // A parameter of which hardly anything but the decay moves is wrong by its update, too.
        if updates.wrong.keys().all(|parameter| decays.wrong.contains_key(parameter)) {
            updates.worst = [updates.worst, decays.worst].into_iter().flatten().reduce(f64::max);
            updates.wrong.extend(decays.wrong);
            updates.pattern = decays.pattern;
        } else {
            let wrong = || all.iter().filter(|update| updates.wrong.contains_key(&update.parameter));
            let found = pattern(wrong());
            updates.shown = shown_update(wrong(), found.1);
            updates.pattern = Some(found);
        }
        self.note(pairs, MonitorKind::ParamUpdated);
        updates
    }

    fn note(&mut self, pairs: &[MonitorRowPair], kind: MonitorKind) {
        for pair in pairs.iter().filter(|pair| pair.key.kind == kind && !pair.is_repeat) {
            let statistics = PerSide { baseline: pair.baseline.statistics, candidate: pair.candidate.statistics };
            self.last.insert(pair.key.parameter(), statistics);
        }
    }

    /// Measures the changes by an update; `None` where rounding hides them.
    fn update(&self, pair: &MonitorRowPair, at: Circumstances) -> Option<Update> {
        let before = self.last.get(&pair.key.parameter())?;
        let change = |statistic: Statistic| {
            let change = |now: &MonitorStatistics, before: &MonitorStatistics| {
                Some(now.get(statistic)? - before.get(statistic)?).filter(|change| change.is_finite())
            };
            let baseline = change(&pair.baseline.statistics, &before.baseline)?;
            let candidate = change(&pair.candidate.statistics, &before.candidate)?;
            let floor = 2.0 * rounding(pair, statistic, at);
            Some(Change { statistic, deltas: PerSide { baseline, candidate }, floor })
        };
        let changes: Vec<Change> =
            FOLLOWED.into_iter().filter_map(change).filter(|one| one.size() >= MEASURABLE * one.floor).collect();
        let is_measured = changes.len() >= LEAST_STATISTICS && changes.iter().any(|change| change.size() > 0.0);
        is_measured.then(|| Update { parameter: pair.key.parameter(), changes })
    }

    /// Judges all updates together by their median difference: in healthy runs most of them agree.
    fn judge_most(&mut self, all: &[Update], at: Circumstances, updates: &mut JudgedUpdates) {
        let Some(middle) =
            upper_median(all.iter().map(Update::error).collect()).filter(|_| all.len() >= LEAST_STATISTICS)
        else {
            return;
        };
        let limit = (OVER_GROWTH * at.growth.max(self.growth)).clamp(OF_MOST, WIDEST);
        updates.worst = Some(middle / limit);
        if middle <= limit {
            self.growth = self.growth.max(middle);
            return;
        }
        add(all.iter().filter(|update| update.error() > limit), limit, updates);
    }
}

/// Judges each update by itself, where the runs still agree closely or only one side makes the update.
fn judge_each<'a>(all: impl Iterator<Item = &'a Update>, at: Circumstances, updates: &mut JudgedUpdates) {
    let is_calm = at.precision == Precision::Fp32 && at.growth < CALM;
    let is_wrong = |update: &&Update| {
        let error = update.error();
        is_calm && error > OF_ONE || error > ONE_SIDED && update.is_one_sided()
    };
    add(all.filter(is_wrong), OF_ONE, updates);
}

fn add<'a>(wrong: impl Iterator<Item = &'a Update>, limit: f64, updates: &mut JudgedUpdates) {
    for update in wrong {
        let Some(change) = update.least() else { continue };
        let (statistic, error) = (change.statistic, change.error());
        updates.worst = Some(updates.worst.unwrap_or(0.0).max(error / limit));
        updates.wrong.entry(update.parameter.clone()).or_insert(WrongUpdate { statistic, error, limit });
    }
}

/// Judges weight decay. It takes the same share of every element, so the norm, min and max of a parameter differ by one share, which is
/// the same in several parameters.
fn judge_decay(pairs: &[&MonitorRowPair], at: Circumstances, updates: &mut JudgedUpdates) {
    let (is_fine, most) = (at.precision == Precision::Fp32, at.precision.horizon() / OVER_GROWTH);
    if at.growth >= if is_fine { CALM } else { most } {
        return;
    }
    // With coarser types all three statistics have to show the share.
    let least_statistics = if is_fine { LEAST_STATISTICS } else { FOLLOWED.len() };
    let mut shares: Vec<(f64, f64, MonitorParameter)> = pairs
        .iter()
        .filter_map(|pair| decay(pair, at, least_statistics).map(|(share, floor)| (share, floor, pair.key.parameter())))
        .collect();
    shares.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut best = 0..0;
    let mut first = 0;
    for (last, (share, ..)) in shares.iter().enumerate() {
        while shares.get(first).is_some_and(|(other, ..)| (share - other).abs() > ALIKE * share.abs()) {
            first += 1;
        }
        if last + 1 - first > best.len() {
            best = first..last + 1;
        }
    }
    let (least, part) = LEAST_DECAYS;
    #[allow(clippy::cast_precision_loss, reason = "a share needs no exact count")]
    let is_many = best.len() >= least && best.len() as f64 >= part * pairs.len() as f64;
    let Some(found) = shares.get(best).filter(|_| is_many) else { return };
    let middle = upper_median(found.iter().map(|(share, ..)| *share).collect());
    for (share, floor, parameter) in found {
        let wrong = WrongUpdate { statistic: Statistic::Norm, error: share.abs(), limit: *floor };
        updates.worst = Some(updates.worst.unwrap_or(0.0).max(share.abs() / floor));
        updates.wrong.insert(parameter.clone(), wrong);
    }
    updates.pattern = Some((Pattern::Decay, middle));
}

/// The share by which the norm, min and max of a parameter differ, and the largest share that rounding explains. `None` where the shares
/// are not equal.
fn decay(pair: &MonitorRowPair, at: Circumstances, least_statistics: usize) -> Option<(f64, f64)> {
    let (baseline, candidate) = (&pair.baseline.statistics, &pair.candidate.statistics);
    let largest = baseline.largest().unwrap_or(0.0);
    let mut shares = Vec::new();
    let mut floor: f64 = 0.0;
    for statistic in FOLLOWED {
        let (Some(b), Some(c)) = (baseline.get(statistic), candidate.get(statistic)) else { continue };
        let least = MEASURABLE * rounding(pair, statistic, at);
        // A min or max near zero shows no share.
        if b.abs() > ALIKE * largest && (c - b).abs() > least {
            shares.push((c - b) / b);
            floor = floor.max(least / b.abs());
        }
    }
    let share = upper_median(shares.clone()).filter(|_| shares.len() >= least_statistics)?;
    let is_one = shares.iter().all(|other| (other - share).abs() <= ALIKE * share.abs());
    is_one.then_some((share, floor))
}

/// Rounding of a parameter's statistic: of a sum in any order for the norm, and of an element for the others.
fn rounding(pair: &MonitorRowPair, statistic: Statistic, at: Circumstances) -> f64 {
    let scale = measure::scale(&pair.baseline.statistics, statistic).unwrap_or(0.0);
    let of_type = Precision::from_parameter(&pair.baseline, at.decimals).epsilon();
    let of_sum = if statistic == Statistic::Norm { measure::rounding_of_sum(&pair.baseline) } else { 0.0 };
    at.written.unit + scale * (of_type.max(of_sum) + at.written.version_rounding())
}

/// Pattern of the wrong updates, and the factor of scaled ones.
fn pattern<'a>(wrong: impl Iterator<Item = &'a Update> + Clone) -> (Pattern, Option<f64>) {
    let stands = |of: fn(&Change) -> f64| {
        wrong.clone().all(|update| update.changes.iter().all(|change| of(change).abs() <= change.floor))
    };
    if stands(|change| change.deltas.candidate) {
        return (Pattern::Stands, None);
    }
    if stands(|change| change.deltas.baseline) {
        return (Pattern::Moves, None);
    }
    match common_factor(wrong) {
        Some(factor) => (Pattern::Scaled, Some(factor)),
        None => (Pattern::Other, None),
    }
}

/// The factor of all updates: that of their largest changes, or that of single elements, which the ends of a parameter show. A norm is no
/// sum of steps, so it shows a factor only where the parameter starts near zero.
fn common_factor<'a>(wrong: impl Iterator<Item = &'a Update> + Clone) -> Option<f64> {
    let largest: Vec<f64> =
        wrong.clone().filter_map(Update::largest).map(factor_of).filter(|factor| factor.is_finite()).collect();
    let factor = upper_median(largest.clone())?;
    let distances: Vec<f64> = largest.iter().map(|other| (other - factor).abs()).collect();
    if upper_median(distances).is_some_and(|spread| spread <= ALIKE * (factor - 1.0).abs()) {
        return Some(factor);
    }
    let ends = wrong.clone().flat_map(|update| &update.changes).filter(|change| change.statistic != Statistic::Norm);
    let of_ends: Vec<f64> = ends.map(|change| factor_of(*change)).filter(|factor| factor.is_finite()).collect();
    let factor = upper_median(of_ends)?;
    let (count, showing) = wrong.fold((0_usize, 0_usize), |(count, showing), update| {
        (count + 1, showing + usize::from(update.changes.iter().any(|change| shows(*change, factor))))
    });
    #[allow(clippy::cast_precision_loss, reason = "a share needs no exact count")]
    let is_common = count >= LEAST_STATISTICS && showing as f64 >= SHOWING * count as f64;
    is_common.then_some(factor)
}

fn factor_of(change: Change) -> f64 {
    change.deltas.candidate / change.deltas.baseline
}

/// Whether a change shows that updates differ by `factor`.
fn shows(change: Change, factor: f64) -> bool {
    (factor_of(change) - factor).abs() <= ALIKE * (factor - 1.0).abs()
}

/// The first of the updates with a change that shows `factor`; without a factor the first one, by its change that differs least.
fn shown_update<'a>(mut wrong: impl Iterator<Item = &'a Update>, factor: Option<f64>) -> Option<ShownUpdate> {
    let apart = |change: &Change, factor: f64| (factor_of(*change) - factor).abs();
    let of = |update: &'a Update| match factor {
        Some(factor) => {
            let showing = update.changes.iter().copied().filter(|change| shows(*change, factor));
            showing.min_by(|a, b| apart(a, factor).total_cmp(&apart(b, factor)))
        }
        None => update.least(),
    };
    let (update, change) = wrong.find_map(|update| Some((update, of(update)?)))?;
    let PerSide { baseline, candidate } = change.deltas;
    let moved = PerSide { baseline: baseline.abs(), candidate: candidate.abs() };
    Some(ShownUpdate { name: update.parameter.name.to_string(), moved })
}

/// Whether a parameter is the fused bias of several projections. The part for the keys has a gradient that is mathematically zero, since
/// a softmax does not change when a constant is added to all scores of a query.
pub(super) fn has_key_part(name: &str) -> bool {
    const FUSED: [&str; 11] = [
        "qkv",
        "query_key_value",
        "in_proj",
        "c_attn",
        "kv_proj",
        "linear_kv",
        "kv_linear",
        "key_value",
        "to_kv",
        "wkv",
        "q_k_v",
    ];
    let name = name.to_ascii_lowercase();
    name.ends_with("bias") && FUSED.iter().any(|fused| name.contains(fused))
}

/// The smallest gradient of a parameter relative to its largest: the root of the smallest over the root of the largest second moment.
/// A parameter with a share below the noise is partly driven by noise.
pub(super) fn smallest_share(statistics: &MonitorStatistics) -> Option<f64> {
    let (least, most) = (statistics.get(Statistic::Min)?, statistics.get(Statistic::Max)?);
    (least > 0.0 && most.is_finite() && most > 0.0).then(|| (least / most).sqrt())
}

/// Parameters that are partly driven by noise.
#[derive(Debug, Default)]
pub(super) struct PartlyNoise(FastSet<MonitorParameter>);

impl PartlyNoise {
    /// Adds a bias whose second moment shows that a part of it is noise.
    pub(super) fn note(&mut self, pair: &MonitorRowPair, noise: f64) {
        let is_bias = pair.key.name.ends_with("bias");
        let is_noise = || smallest_share(&pair.baseline.statistics).is_some_and(|share| share < noise);
        if pair.key.kind == MonitorKind::ExpAvgSq && is_bias && is_noise() {
            self.0.insert(pair.key.parameter());
        }
    }

    /// Whether `parameter` is partly driven by noise.
    pub(super) fn has(&self, parameter: &MonitorParameter) -> bool {
        has_key_part(&parameter.name) || self.0.contains(parameter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn biases_of_projections_in_one_have_a_part_of_keys() {
        for name in
            ["blk.0.qkv.bias", "enc.self_attn.in_proj_bias", "h.3.attn.c_attn.bias", "layers.1.query_key_value.bias"]
        {
            assert!(has_key_part(name), "{name}");
        }
        for name in ["blk.0.qkv.weight", "layers.0.attn.q.bias", "mlp.fc1.bias", "ln.bias"] {
            assert!(!has_key_part(name), "{name}");
        }
    }

    fn update(changes: &[(f64, f64)]) -> Update {
        let change = |(statistic, (baseline, candidate)): (Statistic, &(f64, f64))| Change {
            statistic,
            deltas: PerSide { baseline: *baseline, candidate: *candidate },
            floor: 1e-8,
        };
        let parameter = MonitorParameter { model: 0, stage: 0, name: "fc.weight".into() };
        Update { parameter, changes: FOLLOWED.into_iter().zip(changes).map(change).collect() }
    }

    #[test]
    fn all_statistics_of_an_update_have_to_differ() {
        let twice = update(&[(1e-4, 2e-4), (-1e-5, -2e-5), (1e-5, 2e-5)]);
        assert!((twice.error() - 0.5).abs() < 1e-3);
        let turned = update(&[(1e-4, 1e-4), (-1e-5, 1e-5), (1e-5, -1e-5)]);
        assert!(turned.error() <= 0.0, "one statistic agrees");
        let frozen = update(&[(1e-4, 0.0), (-1e-5, 0.0), (1e-5, 0.0)]);
        assert!(frozen.is_one_sided() && frozen.error() > ONE_SIDED && !twice.is_one_sided());
        assert_eq!(pattern([&twice, &twice].into_iter()).0, Pattern::Scaled);
        assert_eq!(pattern([&frozen].into_iter()), (Pattern::Stands, None));
    }
}
