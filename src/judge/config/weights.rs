//! Parameters of the model.
//!
//! At step 0 both runs hold the weights that they loaded: maximum and minimum must be equal, mean and norm agree up to the order of
//! a float32 sum. Later the two trainings diverge, as they must. Their distance is shown then, and only values that are NaN or
//! infinite are judged.

use super::context::PackContext;
use super::listed::first_names;
use super::rules::{
    RECORD_MALFORMED, WEIGHTS_BROKE, WEIGHTS_DIFFER, WEIGHTS_DRIFT, WEIGHTS_NEARLY, WEIGHTS_NON_FINITE,
    WEIGHTS_ONE_SIDED, WEIGHTS_PRECISION, WEIGHTS_WITHIN,
};
use crate::compare::config::statistics::{StatisticDistance, is_rounding_of};
use crate::judge::rule::Rule;
use crate::pair::parameter::{self, PairedParameters};
use crate::read::pack::PackParameter;
use crate::result::finding::Finding;
use crate::verdict::Side;

/// Share of bit-equal parameters from which on the others stand out: on devices that sum in another order only constant tensors are
/// bit-equal.
const NEARLY_ALL: f64 = 0.9;

pub(super) fn judge(context: &PackContext<'_>) -> Vec<Finding> {
    let prefixes = &context.policy.weights.prefixes;
    let mut findings = Vec::new();
    let mut drift = Drift::default();
    for (place, baseline) in &context.baseline.weights {
        let (Ok(baseline), Some(Ok(candidate))) = (baseline, context.candidate.weights.get(place)) else { continue };
        let paired = parameter::pair_pack_parameters(baseline, candidate, prefixes);
        let group = Group { context, step: place.0, rank: place.1, pairs: distances(&paired) };
        findings.extend(group.malformed(baseline, candidate));
        findings.extend(group.non_finite());
        if place.0 == 0 {
            findings.extend(group.one_sided(&paired));
            findings.extend(group.loaded());
        } else {
            drift.add(&group);
        }
    }
    findings.extend(drift.finding(context));
    findings
}

/// A pair of parameters with their distance.
struct Paired<'a> {
    name: &'a str,
    distance: StatisticDistance,
    /// Whether one side holds the other's values rounded to a 16-bit type.
    rounded: bool,
    /// The side alone in its kind: the one with NaN or infinity, else the one with rounded values.
    side: Option<Side>,
}

fn distances<'a>(paired: &PairedParameters<'a>) -> Vec<Paired<'a>> {
    let readable = paired.matched.iter().filter_map(|(baseline, candidate)| {
        let (a, b) = (baseline.statistics.as_ref().ok()?, candidate.statistics.as_ref().ok()?);
        let distance = StatisticDistance::between(a, b);
        let is_rounded = [is_rounding_of(a, b), is_rounding_of(b, a)];
        let rounded = !distance.exact && is_rounded.contains(&true);
        let is_broken = [a, b].map(|side| side.0.iter().any(|value| !value.is_finite()));
        let side = if distance.non_finite_on_one { is_broken } else { is_rounded };
        Some(Paired { name: &candidate.name, distance, rounded, side: only_side(side) })
    });
    readable.collect()
}

/// The one side that `is_so` holds for.
fn only_side(is_so: [bool; 2]) -> Option<Side> {
    match is_so {
        [true, false] => Some(Side::Baseline),
        [false, true] => Some(Side::Candidate),
        _ => None,
    }
}

/// One step and rank.
struct Group<'a> {
    context: &'a PackContext<'a>,
    step: u64,
    rank: u64,
    pairs: Vec<Paired<'a>>,
}

impl Group<'_> {
    /// A finding about several parameters: their number, their names, and the worst one.
    fn finding(&self, rule: &Rule, of: &[&Paired<'_>]) -> Option<Finding> {
        let worst = of.iter().max_by(|a, b| a.distance.worst().1.total_cmp(&b.distance.worst().1))?;
        let (statistic, value) = worst.distance.worst();
        let side = worst.side.filter(|side| of.iter().all(|pair| pair.side == Some(*side)));
        let finding = match side {
            Some(side) => Finding::new(rule, worst.name).with("side", side.as_str()),
            None => Finding::new(rule, worst.name),
        };
        Some(
            finding
                .with("step", self.step)
                .with("rank", self.rank)
                .with("count", of.len())
                .with("compared", self.pairs.len())
                .with("names", first_names(of.iter().map(|pair| pair.name)))
                .with("statistic", statistic)
                .with("worst", value),
        )
    }

    /// Findings about the weights that both runs loaded.
    fn loaded(&self) -> Vec<Finding> {
        let limit = self.context.policy.weights.relative.get();
        let limits = [0.0, 0.0, limit, limit];
        let beyond = |pair: &Paired<'_>| pair.distance.relative.iter().zip(limits).any(|(value, limit)| *value > limit);
        let inexact = self.pairs.iter().filter(|pair| !pair.distance.exact && !pair.distance.non_finite_on_one);
        let (beyond, within): (Vec<&Paired<'_>>, Vec<&Paired<'_>>) = inexact.partition(|pair| beyond(pair));
        let (rounded, differ): (Vec<&Paired<'_>>, Vec<&Paired<'_>>) = beyond.into_iter().partition(|pair| pair.rounded);
        let exact = self.pairs.iter().filter(|pair| pair.distance.exact).count();
        #[allow(clippy::cast_precision_loss, reason = "counts of parameters lie far below 2^53")]
        let stands_out = exact as f64 >= NEARLY_ALL * self.pairs.len() as f64;
        let within_rule = if stands_out { &WEIGHTS_NEARLY } else { &WEIGHTS_WITHIN };
        let parts = [(&WEIGHTS_DIFFER, differ), (&WEIGHTS_PRECISION, rounded), (within_rule, within)];
        parts.iter().filter_map(|(rule, pairs)| self.finding(rule, pairs)).collect()
    }

    fn one_sided(&self, paired: &PairedParameters<'_>) -> Vec<Finding> {
        let prefix = paired.common_prefix().unwrap_or_default();
        let sides = [(Side::Baseline, &paired.only_baseline), (Side::Candidate, &paired.only_candidate)];
        let finding = |(side, names): (Side, &Vec<&str>)| {
            let first = names.first()?;
            Some(
                Finding::new(&WEIGHTS_ONE_SIDED, *first)
                    .with("side", side.as_str())
                    .with("rank", self.rank)
                    .with("count", names.len())
                    .with("names", first_names(names.iter().copied()))
                    .with("prefix", prefix.as_str()),
            )
        };
        sides.into_iter().filter_map(finding).collect()
    }

    fn non_finite(&self) -> Vec<Finding> {
        let of = |wanted: fn(&StatisticDistance) -> bool| -> Vec<&Paired<'_>> {
            self.pairs.iter().filter(|pair| wanted(&pair.distance)).collect()
        };
        let one = self.finding(&WEIGHTS_BROKE, &of(|distance| distance.non_finite_on_one));
        let both = self
            .finding(&WEIGHTS_NON_FINITE, &of(|distance| distance.non_finite_on_both && !distance.non_finite_on_one));
        one.into_iter().chain(both).collect()
    }

    fn malformed(&self, baseline: &[PackParameter], candidate: &[PackParameter]) -> Option<Finding> {
        let broken = |(_, parameter): &(Side, &PackParameter)| parameter.statistics.is_err();
        let all = baseline.iter().map(|parameter| (Side::Baseline, parameter));
        let all = all.chain(candidate.iter().map(|parameter| (Side::Candidate, parameter)));
        let broken: Vec<(Side, &PackParameter)> = all.filter(broken).collect();
        let (_, first) = broken.first()?;
        let finding = Finding::new(&RECORD_MALFORMED, &first.name).with("step", self.step).with("rank", self.rank);
        Some(finding.with("places", broken.len()))
    }
}

/// The largest distance at later steps.
#[derive(Default)]
struct Drift {
    worst: Option<(f64, u64, u64, String)>,
    last_step: u64,
    beyond: usize,
    compared: usize,
}

impl Drift {
    fn add(&mut self, group: &Group<'_>) {
        self.last_step = self.last_step.max(group.step);
        #[allow(clippy::cast_precision_loss, reason = "steps lie far below 2^53")]
        let limit = group.context.policy.weights.drift_per_step.get() * group.step as f64;
        for pair in &group.pairs {
            let (_, value) = pair.distance.worst();
            self.compared += 1;
            self.beyond += usize::from(value > limit);
            if value > 0.0 && self.worst.as_ref().is_none_or(|(worst, ..)| value > *worst) {
                self.worst = Some((value, group.step, group.rank, pair.name.to_owned()));
            }
        }
    }

    fn finding(self, context: &PackContext<'_>) -> Option<Finding> {
        let (worst, step, rank, name) = self.worst?;
        Some(
            Finding::new(&WEIGHTS_DRIFT, name)
                .with("step", step)
                .with("rank", rank)
                .with("worst", worst)
                .with("limit", context.policy.weights.drift_per_step.get())
                .with("beyond", self.beyond)
                .with("compared", self.compared)
                .with("last", self.last_step),
        )
    }
}
