//! Updates of parameters: what an optimizer did in a step, held against what it did on the other side.
//!
//! A change is small beside the parameter, so that a wrong learning rate does not show in the parameter's size. It shows in
//! the difference of the parameter before and after the update, which a wrong optimizer gives another size or sign at once,
//! in most parameters, and in all statistics of one. docs/monitor.md derives the limits.

use super::measure::{self, Written};
use super::precision::Precision;
use crate::hash::{FastMap, FastSet};
use crate::kind::{MonitorKind, Statistic};
use crate::median::median;
use crate::pair::monitor::RowPair;
use crate::read::monitor::{Parameter, Statistics};
use crate::verdict::PerSide;

/// Statistics that follow single elements or all of them; a mean says nothing beside the norm.
const FOLLOWED: [Statistic; 3] = [Statistic::Norm, Statistic::Min, Statistic::Max];
/// Statistics of a parameter that have to differ.
const LEAST_STATISTICS: usize = 2;
/// Roundings above which a change can be measured.
const MEASURABLE: f64 = 4.0;
/// Difference of updates, over the larger of both, above which most parameters do not differ by chance.
const OF_MOST: f64 = 0.01;
/// The same where growth has widened the limit: an update that is twice as large differs by a half.
const WIDEST: f64 = 0.4;
/// Ratio to what the runs differ by already.
const OVER_GROWTH: f64 = 8.0;
/// Difference above which a single parameter's update is another one.
const OF_ONE: f64 = 0.25;
/// Differences of runs up to which a single parameter is judged by its update.
const CALM: f64 = 1e-3;
/// Difference of an update that only one side made.
const ONE_SIDED: f64 = 0.9;
/// Spread of factors, over their distance to 1, and of decays, over their size, that are one.
const ALIKE: f64 = 0.1;
/// Parameters, and their share, that decay differently by one factor.
const LEAST_DECAYS: (usize, f64) = (3, 0.25);

/// The way in which updates differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The candidate's are those of the baseline times a factor.
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
    of: PerSide<f64>,
    /// Part of the difference that rounding explains.
    floor: f64,
}

impl Change {
    fn size(&self) -> f64 {
        self.of.baseline.abs().max(self.of.candidate.abs())
    }

    /// Difference beyond rounding, over the larger change.
    fn error(&self) -> f64 {
        ((self.of.candidate - self.of.baseline).abs() - self.floor).max(0.0) / self.size()
    }
}

/// The update of a parameter that could be measured.
#[derive(Debug)]
struct Update {
    parameter: Parameter,
    changes: Vec<Change>,
}

impl Update {
    /// The statistic that differs least: all of them have to differ.
    fn least(&self) -> Option<Change> {
        self.changes.iter().copied().min_by(|a, b| a.error().total_cmp(&b.error()))
    }

    fn error(&self) -> f64 {
        self.least().map_or(0.0, |change| change.error())
    }

    /// The largest change.
    fn largest(&self) -> Option<Change> {
        self.changes.iter().copied().max_by(|a, b| a.size().total_cmp(&b.size()))
    }

    /// Whether one side alone moved the parameter.
    fn is_one_sided(&self) -> bool {
        let stands = |of: fn(&Change) -> f64| self.changes.iter().all(|change| of(change).abs() <= change.floor);
        stands(|change| change.of.baseline) != stands(|change| change.of.candidate)
    }
}

/// A parameter whose update is wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrong {
    /// A statistic that shows it.
    pub(super) statistic: Statistic,
    /// Difference over the larger update; of a decay over the parameter.
    pub(super) error: f64,
    /// Difference up to which it is none.
    pub(super) limit: f64,
}

/// The updates of a step.
#[derive(Debug, Default)]
pub(super) struct Updates {
    wrong: FastMap<Parameter, Wrong>,
    /// The way in which they differ, and the factor of scaled ones.
    pub(super) pattern: Option<(Pattern, Option<f64>)>,
    /// Parameters whose update could be measured.
    pub(super) measured: usize,
    /// The largest difference over its limit.
    pub(super) worst: Option<f64>,
}

impl Updates {
    /// The error of a parameter's update, where it is wrong.
    pub(super) fn of(&self, parameter: &Parameter) -> Option<Wrong> {
        self.wrong.get(parameter).copied()
    }

    /// Number of wrong ones.
    pub(super) fn count(&self) -> usize {
        self.wrong.len()
    }
}

/// Circumstances of a step that decide how its updates are judged.
#[derive(Clone, Copy)]
pub(super) struct Circumstances {
    /// Rounding of the files.
    pub(super) written: Written,
    /// Decimals of the baseline's numbers.
    pub(super) decimals: Option<u32>,
    /// Type of the activations.
    pub(super) precision: Precision,
    /// Largest difference of the runs before.
    pub(super) growth: f64,
}

/// Parameters on their way through the updates.
#[derive(Debug, Default)]
pub(super) struct Motion {
    last: FastMap<Parameter, PerSide<Statistics>>,
    /// Sum of the largest change of an element in each update.
    travelled: f64,
    /// The largest median difference of updates so far.
    growth: f64,
}

impl Motion {
    /// Most that an element can have moved since the first step, in the parameter's own unit.
    pub(super) fn travelled(&self) -> f64 {
        self.travelled
    }

    /// Judges the updates of a step. Parameters that `is_noise` are not judged; those of which `is_parted` a part is noise
    /// count among all of them and are not judged alone.
    pub(super) fn judge(
        &mut self,
        pairs: &[RowPair],
        at: Circumstances,
        is_noise: impl Fn(&RowPair) -> bool,
        is_parted: impl Fn(&RowPair) -> bool,
    ) -> Updates {
        self.note(pairs, MonitorKind::ParamOrigin);
        let updated: Vec<&RowPair> =
            pairs.iter().filter(|pair| pair.key.kind == MonitorKind::ParamUpdated && !pair.is_repeat).collect();
        let judged: Vec<&RowPair> = updated.iter().copied().filter(|pair| !is_noise(pair)).collect();
        let all: Vec<Update> = judged.iter().filter_map(|pair| self.update(pair, at)).collect();
        let ends = all.iter().flat_map(|update| &update.changes).filter(|change| change.statistic != Statistic::Norm);
        let step = ends.map(|change| change.of.baseline.abs()).fold(0.0, f64::max);
        self.travelled += step;
        let mut updates = Updates { measured: all.len(), ..Updates::default() };
        self.judge_most(&all, at, &mut updates);
        let parted: FastSet<Parameter> =
            judged.iter().filter(|pair| is_parted(pair)).map(|pair| pair.key.parameter()).collect();
        judge_each(all.iter().filter(|update| !parted.contains(&update.parameter)), at, &mut updates);
        if updates.wrong.is_empty() {
            judge_decay(&judged, at, &mut updates);
        } else {
            updates.pattern = Some(pattern(all.iter().filter(|update| updates.wrong.contains_key(&update.parameter))));
        }
        self.note(pairs, MonitorKind::ParamUpdated);
        updates
    }

    fn note(&mut self, pairs: &[RowPair], kind: MonitorKind) {
        for pair in pairs.iter().filter(|pair| pair.key.kind == kind && !pair.is_repeat) {
            let statistics = PerSide { baseline: pair.baseline.statistics, candidate: pair.candidate.statistics };
            self.last.insert(pair.key.parameter(), statistics);
        }
    }

    /// Changes by an update; `None` where too little of it stands out of rounding.
    fn update(&self, pair: &RowPair, at: Circumstances) -> Option<Update> {
        let before = self.last.get(&pair.key.parameter())?;
        let change = |statistic: Statistic| {
            let change = |now: &Statistics, before: &Statistics| {
                Some(now.get(statistic)? - before.get(statistic)?).filter(|change| change.is_finite())
            };
            let baseline = change(&pair.baseline.statistics, &before.baseline)?;
            let candidate = change(&pair.candidate.statistics, &before.candidate)?;
            let floor = 2.0 * rounding(pair, statistic, at);
            Some(Change { statistic, of: PerSide { baseline, candidate }, floor })
        };
        let changes: Vec<Change> =
            FOLLOWED.into_iter().filter_map(change).filter(|one| one.size() >= MEASURABLE * one.floor).collect();
        let is_measured = changes.len() >= LEAST_STATISTICS && changes.iter().any(|change| change.size() > 0.0);
        is_measured.then(|| Update { parameter: pair.key.parameter(), changes })
    }

    /// Judges all updates together: in healthy runs most of them agree.
    fn judge_most(&mut self, all: &[Update], at: Circumstances, updates: &mut Updates) {
        let Some(middle) = median(all.iter().map(Update::error).collect()).filter(|_| all.len() >= LEAST_STATISTICS)
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

/// Judges each update by itself: where the runs still agree, and where one side alone makes it.
fn judge_each<'a>(all: impl Iterator<Item = &'a Update>, at: Circumstances, updates: &mut Updates) {
    let is_calm = at.precision == Precision::Fp32 && at.growth < CALM;
    let is_wrong = |update: &&Update| {
        let error = update.error();
        is_calm && error > OF_ONE || error > ONE_SIDED && update.is_one_sided()
    };
    add(all.filter(is_wrong), OF_ONE, updates);
}

fn add<'a>(wrong: impl Iterator<Item = &'a Update>, limit: f64, updates: &mut Updates) {
    for update in wrong {
        let Some(change) = update.least() else { continue };
        let (statistic, error) = (change.statistic, change.error());
        updates.worst = Some(updates.worst.unwrap_or(0.0).max(error / limit));
        updates.wrong.entry(update.parameter.clone()).or_insert(Wrong { statistic, error, limit });
    }
}

/// Judges by what weight decay does: it takes the same share of every element, so that norm and both ends of a parameter are off
/// by one share, and of several parameters by the same one.
fn judge_decay(pairs: &[&RowPair], at: Circumstances, updates: &mut Updates) {
    let (is_fine, most) = (at.precision == Precision::Fp32, at.precision.horizon() / OVER_GROWTH);
    if at.growth >= if is_fine { CALM } else { most } {
        return;
    }
    // Behind coarser types all three statistics have to tell the share.
    let least_statistics = if is_fine { LEAST_STATISTICS } else { FOLLOWED.len() };
    let mut shares: Vec<(f64, f64, Parameter)> = pairs
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
    for (share, floor, parameter) in found {
        let wrong = Wrong { statistic: Statistic::Norm, error: share.abs(), limit: *floor };
        updates.worst = Some(updates.worst.unwrap_or(0.0).max(share.abs() / floor));
        updates.wrong.insert(parameter.clone(), wrong);
    }
    updates.pattern = Some((Pattern::Decay, None));
}

/// The share by which norm and ends of a parameter are off, with the largest share that rounding explains; `None` where it is not
/// one share.
fn decay(pair: &RowPair, at: Circumstances, least_statistics: usize) -> Option<(f64, f64)> {
    let (ours, theirs) = (&pair.baseline.statistics, &pair.candidate.statistics);
    let largest = ours.largest().unwrap_or(0.0);
    let mut shares = Vec::new();
    let mut floor: f64 = 0.0;
    for statistic in FOLLOWED {
        let (Some(b), Some(c)) = (ours.get(statistic), theirs.get(statistic)) else { continue };
        let least = MEASURABLE * rounding(pair, statistic, at);
        // An end near zero shows no share.
        if b.abs() > ALIKE * largest && (c - b).abs() > least {
            shares.push((c - b) / b);
            floor = floor.max(least / b.abs());
        }
    }
    let share = median(shares.clone()).filter(|_| shares.len() >= least_statistics)?;
    let is_one = shares.iter().all(|other| (other - share).abs() <= ALIKE * share.abs());
    is_one.then_some((share, floor))
}

/// Rounding of a statistic of a parameter: of a sum in any order, or of an element.
fn rounding(pair: &RowPair, statistic: Statistic, at: Circumstances) -> f64 {
    let scale = measure::scale(&pair.baseline.statistics, statistic).unwrap_or(0.0);
    let of_type = Precision::of_parameter(&pair.baseline, at.decimals).epsilon();
    let of_sum = if statistic == Statistic::Norm { measure::rounding_of_sum(&pair.baseline) } else { 0.0 };
    at.written.unit + scale * (of_type.max(of_sum) + at.written.of_versions())
}

/// The way in which wrong updates differ.
fn pattern<'a>(wrong: impl Iterator<Item = &'a Update> + Clone) -> (Pattern, Option<f64>) {
    let stands = |of: fn(&Change) -> f64| {
        wrong.clone().all(|update| update.changes.iter().all(|change| of(change).abs() <= change.floor))
    };
    if stands(|change| change.of.candidate) {
        return (Pattern::Stands, None);
    }
    if stands(|change| change.of.baseline) {
        return (Pattern::Moves, None);
    }
    let factors: Vec<f64> = wrong
        .filter_map(Update::largest)
        .map(|change| change.of.candidate / change.of.baseline)
        .filter(|factor| factor.is_finite())
        .collect();
    let Some(factor) = median(factors.clone()) else { return (Pattern::Other, None) };
    let distances: Vec<f64> = factors.iter().map(|other| (other - factor).abs()).collect();
    let is_one = median(distances).is_some_and(|spread| spread <= ALIKE * (factor - 1.0).abs());
    if is_one { (Pattern::Scaled, Some(factor)) } else { (Pattern::Other, None) }
}

/// Whether a parameter is the bias of several projections in one, of which that of the keys has no gradient in mathematics: a
/// softmax takes no notice of what is added to all scores of a query.
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

/// Second moments by the share of their smallest element: the root of it over the root of the largest is the share of the
/// smallest gradient. Below `noise` a part of the parameter is driven by noise alone.
pub(super) fn smallest_share(statistics: &Statistics) -> Option<f64> {
    let (least, most) = (statistics.get(Statistic::Min)?, statistics.get(Statistic::Max)?);
    (least > 0.0 && most.is_finite() && most > 0.0).then(|| (least / most).sqrt())
}

/// Parameters of which a part is driven by noise, by what told it.
#[derive(Debug, Default)]
pub(super) struct Parted(FastSet<Parameter>);

impl Parted {
    /// Notes what a second moment tells of a bias.
    pub(super) fn note(&mut self, pair: &RowPair, noise: f64) {
        let is_bias = pair.key.name.ends_with("bias");
        let is_noise = || smallest_share(&pair.baseline.statistics).is_some_and(|share| share < noise);
        if pair.key.kind == MonitorKind::ExpAvgSq && is_bias && is_noise() {
            self.0.insert(pair.key.parameter());
        }
    }

    /// Whether a part of this parameter is noise.
    pub(super) fn has(&self, parameter: &Parameter) -> bool {
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
            of: PerSide { baseline: *baseline, candidate: *candidate },
            floor: 1e-8,
        };
        let parameter = Parameter { model: 0, stage: 0, name: "fc.weight".into() };
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
