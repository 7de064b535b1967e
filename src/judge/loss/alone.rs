//! Curves without a baseline: values that are not finite, a loss that stands still, and a loss that explodes.
//!
//! A value that is not finite once and recovers is no fault: trainers skip steps that overflow, and batches differ. Each rule
//! about a single curve has its own file in `alone/`; a pair applies these rules to both sides.

mod at_chance;
mod climb;
pub(super) mod curve;
mod ends_high;
mod gradient;
pub mod looked;
mod overfits;
mod periodic;
mod ranks;
mod rate;
pub(super) mod rules;
mod throughput;

use std::collections::BTreeSet;

use super::completeness::LISTED;
use super::evidence::{add_source_evidence, carries_verdict, count_trivial};
use super::judged::JudgedCurve;
use super::rule_results::RuleResults;
use super::settings::{LossSettings, own_policy};
use super::sources::add_candidate_notes;
use super::{code, downsample, place};
use crate::compare::run::course::digit_count;
use crate::error::Result;
use crate::kind::Role;
use crate::median::upper_median;
use crate::pair::curve::source::resolution;
use crate::pair::curve::{CurvePair, CurvePairing, PairedSources};
use crate::read::curve::DeclaredSettings;
use crate::read::curve::series::Series;
use crate::read::metric;
use crate::result::outcome::{Note, RuleOutcome};
use crate::result::unit::{CurveUnit, Evidence};
use crate::verdict::{Side, Verdict};
use curve::{Curve, RunFacts};

/// Number of values at the end of a loss that cannot all be equal in a run that learns.
const LAST: usize = 5;
/// Least number of points of a curve whose first and last tenth are compared.
const TENTHS_FROM: usize = 10;
/// Factor by which a loss may grow; no healthy run exceeds it.
const GROWTH: f64 = 2.0;
/// Least number of digits of a gradient norm: equal norms with fewer digits may be due to rounding. `UNITS` is the same for a
/// loss, as a multiple of its last printed digit.
const DIGITS: usize = 3;
const UNITS: f64 = 100.0;
/// Share of its start below which a loss has converged.
const CONVERGED: f64 = 1e-4;

/// Judges the curves of one run, whose log declares `declared`. `pairing` pairs its files with themselves, which gives each
/// metric its file.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub fn judge(
    pairing: &CurvePairing<'_>,
    declared: &DeclaredSettings,
    settings: LossSettings<'_>,
) -> Result<Vec<JudgedCurve>> {
    let is_adversarial = curve::is_adversarial(pairing.pairs.iter().map(|pair| pair.metric.as_str()));
    let mut noted = BTreeSet::new();
    let mut judge = |sources: &PairedSources<'_>| {
        let pair = &sources.load_alone()?;
        let is_due = pair.role == Role::Loss && may_be_frozen(&pair.candidate.series.values);
        let gradients = gradients(pair, pairing).filter(|_| is_due);
        let gradients = gradients.map(PairedSources::load_alone).transpose()?;
        let run = RunFacts { is_rl: pair.is_rl, is_adversarial, declared };
        let mut judged = judged_of(pair, gradients.as_ref(), run, settings);
        for climbs in judged.findings.iter_mut().filter(|finding| finding.is_any(&[&code::ENDS_HIGH, &code::EXPLODING]))
        {
            climb::note_jump(climbs, sources, pairing)?;
        }
        // Notes about a file are added once, to the first of its curves that is judged.
        if judged.counts && noted.insert((pair.run.clone(), pair.candidate.path.clone())) {
            let mut results = RuleResults::new(place(pair), settings.profile);
            add_candidate_notes(pair, &mut results);
            judged.findings.extend(results.findings);
        }
        Ok(judged)
    };
    pairing.pairs.iter().map(&mut judge).collect()
}

fn judged_of(
    pair: &CurvePair<'_>,
    gradients: Option<&CurvePair<'_>>,
    run: RunFacts<'_>,
    settings: LossSettings<'_>,
) -> JudgedCurve {
    let left_out = own_policy(&settings.policy.metrics, &pair.metric).is_some_and(|own| own.ignore);
    let counts = pair.role.is_judged() && !left_out;
    let series = &*pair.candidate.series;
    let mut results = RuleResults::new(place(pair), settings.profile);
    if counts {
        non_finite(pair, &mut results);
    }
    if counts && pair.role == Role::Loss && !pair.is_rl {
        frozen(series, gradients, &mut results);
    }
    let is_loss = matches!(metric::role(&pair.metric), Role::Loss | Role::EvalLoss);
    let curve = Curve::new(&pair.metric, &pair.candidate, run);
    if counts && is_loss && !pair.is_rl && !run.is_adversarial {
        exploding(&curve, &mut results);
    }
    if !left_out {
        rules::judge(&curve, &mut results);
    }
    if results.has_finding(&code::GRADIENT_NON_FINITE) {
        // `gradient-non-finite` is about the same values and says more.
        results.findings.retain(|finding| !finding.is(&code::NON_FINITE));
    }
    // A curve that no rule judges counts all the same once there is a finding about it.
    let counts = counts || !results.findings.is_empty();
    let len = series.values.len() as u64;
    let evidence = match (left_out, counts && carries_verdict(pair.role)) {
        (true, _) => Evidence { left_out: len, ..Evidence::default() },
        (false, is_carrier) => account(pair, is_carrier),
    };
    let unit = CurveUnit {
        metric: pair.metric.clone(),
        role: Some(pair.role),
        better: metric::better_direction(&pair.metric, pair.role),
        run: pair.run.clone(),
        rank: pair.rank,
        candidate_file: pair.candidate.path.clone(),
        format: pair.candidate.format.to_owned(),
        paired: len,
        evidence,
        non_finite_steps: broken(series).take(LISTED).collect(),
        rules: std::mem::take(&mut results.rules),
        series: downsample::one_sided_series(series),
        ..CurveUnit::empty()
    };
    JudgedCurve { unit, findings: results.findings, counts }
}

/// The account of a curve's steps. Steps with a finite value count as compared if a verdict can rest on the metric
/// (`is_carrier`), and as shown only otherwise.
fn account(pair: &CurvePair<'_>, is_carrier: bool) -> Evidence {
    let values = &pair.candidate.series.values;
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let count = finite().count() as u64;
    let damaged = pair.candidate.series.unrecorded.len() as u64;
    let mut evidence = Evidence { not_compared: values.len() as u64 - count, damaged, ..Evidence::default() };
    if is_carrier {
        (evidence.compared, evidence.equal_trivially) = (count, count_trivial(finite().map(|value| (value, value))));
    } else {
        evidence.shown_only = count;
    }
    evidence.offered = evidence.total();
    add_source_evidence(Side::Candidate, &pair.candidate.path, &pair.candidate.series, &mut evidence);
    evidence
}

/// The gradient norm of the same run.
fn gradients<'p, 'a>(pair: &CurvePair<'_>, pairing: &'p CurvePairing<'a>) -> Option<&'p PairedSources<'a>> {
    let mut pairs = pairing.pairs.iter();
    pairs.find(|other| other.metric == "grad_norm" && other.run == pair.run && other.rank == pair.rank)
}

/// Whether the values of a loss look frozen. Its gradient norms are loaded only then.
fn may_be_frozen(values: &[f64]) -> bool {
    let mut last = values.iter().rev().take(LAST).map(|value| value.to_bits());
    let stands = last.next().is_some_and(|first| last.all(|bits| bits == first));
    stands || values.iter().any(|value| value.abs() <= 0.0)
}

/// Steps of the values that are not finite.
fn broken(series: &Series) -> impl Iterator<Item = u64> + '_ {
    series.points().filter(|(_, value)| !value.is_finite()).map(|(step, _)| step)
}

/// Values that are not finite at the end, or of a loss for at least a tenth of the curve, in a row or apart.
fn non_finite(pair: &CurvePair<'_>, results: &mut RuleResults) {
    let series = &*pair.candidate.series;
    let values = &series.values;
    let at_the_end = values.iter().rev().take_while(|value| !value.is_finite()).count();
    let mut end = 0;
    let mut runs = values.chunk_by(|a, b| a.is_finite() == b.is_finite()).map(|run| {
        end += run.len();
        (end - run.len(), run)
    });
    let is_long = |run: &[f64]| run.len() >= LAST.max(values.len() / 10) && run.iter().all(|value| !value.is_finite());
    let long = runs.find(|(_, run)| pair.role == Role::Loss && is_long(run)).map(|(start, _)| start);
    let count = broken(series).count();
    let is_often = pair.role != Role::GradNorm && count >= LAST && 10 * count >= values.len();
    // The last values may be broken among many others: then the first of all tells more.
    let lasts = 2 * at_the_end > count;
    let place = if lasts { Some(values.len() - at_the_end) } else { long };
    let is_broken = is_often || at_the_end > 0;
    let first = place.and_then(|place| series.steps.get(place)).or_else(|| broken(series).next().filter(|_| is_broken));
    let verdict = if first.is_some() { Verdict::Fail } else { Verdict::Pass };
    #[allow(clippy::cast_precision_loss, reason = "a count of steps")]
    let outcome = RuleOutcome::new("lasting_non_finite", Some(count as f64), (None, None), verdict);
    results.add_outcome(outcome.noting(Note::at_step(Note::FROM_STEP, first)));
    if let Some(first) = first {
        results.add_finding(&code::NON_FINITE, |finding| {
            let is_nan = values.iter().all(|value| value.is_finite() || value.is_nan());
            let finding = finding.with("count", count).with("step", first.to_string());
            finding.with("to_the_end", u64::from(lasts)).with("is_nan", u64::from(is_nan))
        });
    }
}

/// A loss whose last values are the same to the last digit, or that is 0.0 where the gradient norm is NaN or 0.
fn frozen(series: &Series, gradients: Option<&CurvePair<'_>>, results: &mut RuleResults) {
    let values = &series.values;
    let same = values.last().map_or(0, |last| {
        values.iter().rev().take_while(|value| value.to_bits() == last.to_bits() && value.is_finite()).count()
    });
    let bad: BTreeSet<u64> = gradients
        .into_iter()
        .flat_map(|pair| pair.candidate.series.points())
        .filter(|(_, norm)| !norm.is_finite() || norm.abs() <= 0.0)
        .map(|(step, _)| step)
        .collect();
    let is_hidden = |(step, value): &(u64, f64)| value.abs() <= 0.0 && bad.contains(step);
    let hidden: Vec<u64> = series.points().filter(is_hidden).map(|(step, _)| step).collect();
    let last_step = values.len().checked_sub(1).and_then(|last| series.steps.get(last));
    let ends_hidden = last_step.is_some_and(|step| hidden.last() == Some(&step));
    let is_hidden = hidden.len() > 1 || ends_hidden;
    let value = values.last().copied().unwrap_or_default();
    // A converged loss may repeat because few digits are printed. A loss that repeats while the gradient norm repeats too has
    // not converged.
    let start = values.first().map(|first| first.abs()).unwrap_or_default();
    let has_digits = value.abs() >= UNITS * resolution(series) && value.abs() > CONVERGED * start;
    let stands = same >= LAST && (has_digits && value != 0.0 || gradients.is_some_and(came_to_stand));
    #[allow(clippy::cast_precision_loss, reason = "a count of steps")]
    let count = same as f64;
    let verdict = if stands || is_hidden { Verdict::Fail } else { Verdict::Pass };
    results.add_outcome(RuleOutcome::new("standstill", Some(count), (None, None), verdict));
    if is_hidden {
        let step = hidden.first().map(u64::to_string).unwrap_or_default();
        results.add_finding(&code::FROZEN, |finding| {
            finding.with("count", hidden.len()).with("step", step).with("is_hidden", 1_u64).with("alone", 1_u64)
        });
    } else if stands {
        let step = |place: usize| series.steps.get(place).map(|step| step.to_string()).unwrap_or_default();
        results.add_finding(&code::FROZEN, |finding| {
            let finding = finding.with("count", same).with("value", value).with("alone", 1_u64);
            finding.with("step", step(values.len() - same)).with("last", step(values.len() - 1))
        });
    }
}

/// Whether a gradient norm varied first, and then repeats one value of several digits to the end.
fn came_to_stand(gradients: &CurvePair<'_>) -> bool {
    let values = &gradients.candidate.series.values;
    let Some(last) = values.last().filter(|last| last.is_finite() && digit_count(**last) >= DIGITS) else {
        return false;
    };
    let same = values.iter().rev().take_while(|value| value.to_bits() == last.to_bits()).count();
    same >= LAST && same < values.len()
}

/// A loss whose last tenth lies above twice its first value and twice its first tenth.
fn exploding(curve: &Curve<'_>, results: &mut RuleResults) {
    let finite = curve.finite();
    if finite.len() < TENTHS_FROM {
        return;
    }
    let tenth = (finite.len() / 10).max(1);
    let of = |values: &[f64]| upper_median(values.to_vec()).unwrap_or_default();
    let early = of(finite.get(..tenth).unwrap_or_default());
    let late = of(finite.get(finite.len() - tenth..).unwrap_or_default());
    let first = finite.first().copied().unwrap_or_default();
    let start = first.max(early);
    if start <= 0.0 || first <= 0.0 {
        return;
    }
    let growth = late / start;
    let verdict = if growth > GROWTH { Verdict::Fail } else { Verdict::Pass };
    results.add_outcome(RuleOutcome::new("growth", Some(growth), (None, Some(GROWTH)), verdict));
    if growth > GROWTH {
        results.add_finding(&code::EXPLODING, |finding| {
            let finding = finding.with("first", first).with("late", late).with("growth", growth).with("limit", GROWTH);
            match climb::start(curve, [start, late], 0.0) {
                Some(step) => finding.with("from_step", step),
                None => finding,
            }
        });
    }
}
