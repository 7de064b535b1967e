//! Curves without a baseline: values that are not finite, a loss that stands still, and a loss that explodes.
//!
//! A value that breaks and comes back says nothing: trainers skip a step that overflows, and batches differ.

use std::collections::BTreeSet;

use super::completeness::LISTED;
use super::evidence::{carries, of_source, trivial};
use super::judged::JudgedCurve;
use super::rule_results::RuleResults;
use super::settings::{Settings, own_policy};
use super::sources::notes_alone;
use super::{code, downsample, place};
use crate::error::Result;
use crate::kind::Role;
use crate::median::median;
use crate::pair::curve::{CurvePair, CurvePairing, PairedSources};
use crate::read::curve::Note as FileNote;
use crate::read::metric;
use crate::result::outcome::{Note, RuleOutcome};
use crate::result::unit::{CurveUnit, Evidence};
use crate::verdict::{Side, Verdict};

/// Values at the end of a loss that are not all the same in a run that learns.
const LAST: usize = 5;
/// Points from which on a curve has a first and a last tenth.
const TENTHS_FROM: usize = 10;
/// Growth of a loss that no healthy run has.
const GROWTH: f64 = 2.0;

/// Judges the curves of one run. `pairing` pairs its files with themselves, which gives each metric its file.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub fn judge(pairing: &CurvePairing<'_>, settings: Settings<'_>) -> Result<Vec<JudgedCurve>> {
    let mut noted = BTreeSet::new();
    let mut judge = |sources: &PairedSources<'_>| {
        let pair = &sources.load()?;
        let gradients = gradients(pair, pairing).filter(|_| pair.role == Role::Loss);
        let gradients = gradients.map(PairedSources::load).transpose()?;
        let mut judged = curve(pair, gradients.as_ref(), settings);
        // What concerns a file is said once, with the first of its curves that is judged.
        if judged.counts && noted.insert((pair.run.clone(), pair.candidate.path.clone())) {
            let mut results = RuleResults::new(place(pair), settings.profile);
            notes_alone(pair, &mut results);
            judged.findings.extend(results.findings);
        }
        Ok(judged)
    };
    pairing.pairs.iter().map(&mut judge).collect()
}

fn curve(pair: &CurvePair<'_>, gradients: Option<&CurvePair<'_>>, settings: Settings<'_>) -> JudgedCurve {
    let left_out = own_policy(&settings.policy.metrics, &pair.metric).is_some_and(|own| own.ignore);
    let counts = pair.role.is_judged() && !left_out;
    let points: Vec<(u64, f64)> = pair.candidate.series.points().collect();
    let mut results = RuleResults::new(place(pair), settings.profile);
    if counts {
        non_finite(pair, &points, &mut results);
    }
    if counts && pair.role == Role::Loss && !pair.is_rl {
        frozen(&points, gradients, &mut results);
    }
    if counts && matches!(pair.role, Role::GradNorm | Role::LearningRate) {
        nothing_learned(pair, &points, &mut results);
    }
    if counts && matches!(metric::role(&pair.metric), Role::Loss | Role::EvalLoss) && !pair.is_rl {
        exploding(&points, &mut results);
    }
    let len = points.len() as u64;
    let evidence = match (left_out, counts && carries(pair.role)) {
        (true, _) => Evidence { left_out: len, ..Evidence::default() },
        (false, is_carrier) => account(pair, &points, is_carrier),
    };
    let unit = CurveUnit {
        metric: pair.metric.clone(),
        role: Some(pair.role),
        better: metric::better(&pair.metric, pair.role),
        run: pair.run.clone(),
        rank: pair.rank,
        candidate_file: pair.candidate.path.clone(),
        format: pair.candidate.format.to_owned(),
        paired: len,
        evidence,
        non_finite_steps: points
            .iter()
            .filter(|(_, value)| !value.is_finite())
            .take(LISTED)
            .map(|(step, _)| *step)
            .collect(),
        rules: std::mem::take(&mut results.rules),
        series: downsample::one_sided(&points),
        ..CurveUnit::empty()
    };
    JudgedCurve { unit, findings: results.findings, counts }
}

/// The account of a curve's steps: those with a finite value are judged, where a verdict can rest on them.
fn account(pair: &CurvePair<'_>, points: &[(u64, f64)], is_carrier: bool) -> Evidence {
    let finite = || points.iter().map(|(_, value)| *value).filter(|value| value.is_finite());
    let count = finite().count() as u64;
    let damaged = pair.candidate.series.unrecorded.len() as u64;
    let mut evidence = Evidence { not_compared: points.len() as u64 - count, damaged, ..Evidence::default() };
    if is_carrier {
        (evidence.compared, evidence.equal_trivially) = (count, trivial(finite().map(|value| (value, value))));
    } else {
        evidence.shown_only = count;
    }
    evidence.offered = evidence.total();
    of_source(Side::Candidate, &pair.candidate.path, &pair.candidate.series, &mut evidence);
    evidence
}

/// The gradient norm of the same run.
fn gradients<'p, 'a>(pair: &CurvePair<'_>, pairing: &'p CurvePairing<'a>) -> Option<&'p PairedSources<'a>> {
    let mut pairs = pairing.pairs.iter();
    pairs.find(|other| other.metric == "grad_norm" && other.run == pair.run && other.rank == pair.rank)
}

/// Values that are not finite at the end, or of a loss for at least a tenth of the curve, in a row or apart.
fn non_finite(pair: &CurvePair<'_>, points: &[(u64, f64)], results: &mut RuleResults) {
    let is_broken = |(_, value): &(u64, f64)| !value.is_finite();
    let at_the_end = points.iter().rev().take_while(|point| is_broken(point)).count();
    let runs = points.chunk_by(|a, b| is_broken(a) == is_broken(b)).filter(|run| run.iter().all(is_broken));
    let long = runs.clone().find(|run| run.len() >= LAST.max(points.len() / 10)).filter(|_| pair.role == Role::Loss);
    let count = points.iter().filter(|point| is_broken(point)).count();
    let is_often = pair.role != Role::GradNorm && count >= LAST && 10 * count >= points.len();
    let often = points.iter().find(|point| is_broken(point)).filter(|_| is_often);
    let first =
        if at_the_end > 0 { points.get(points.len() - at_the_end) } else { long.and_then(<[_]>::first).or(often) };
    let verdict = if first.is_some() { Verdict::Fail } else { Verdict::Pass };
    let first = first.map(|(step, _)| *step);
    #[allow(clippy::cast_precision_loss, reason = "a count of steps")]
    let outcome = RuleOutcome::new("lasting_non_finite", Some(count as f64), (None, None), verdict);
    results.note(outcome.noting(Note::at_step(Note::FROM_STEP, first)));
    if let Some(first) = first {
        results.say(&code::NON_FINITE, |finding| {
            finding.with("count", count).with("step", first.to_string()).with("to_the_end", u64::from(at_the_end > 0))
        });
    }
}

/// A loss whose last values are the same to the last digit, or that is 0.0 where the gradient norm is NaN or 0.
fn frozen(points: &[(u64, f64)], gradients: Option<&CurvePair<'_>>, results: &mut RuleResults) {
    let same = points.last().map_or(0, |(_, last)| {
        points.iter().rev().take_while(|(_, value)| value.to_bits() == last.to_bits() && value.is_finite()).count()
    });
    let bad: BTreeSet<u64> = gradients
        .into_iter()
        .flat_map(|pair| pair.candidate.series.points())
        .filter(|(_, norm)| !norm.is_finite() || norm.abs() <= 0.0)
        .map(|(step, _)| step)
        .collect();
    let hidden: Vec<u64> =
        points.iter().filter(|(step, value)| value.abs() <= 0.0 && bad.contains(step)).map(|(step, _)| *step).collect();
    let ends_hidden = points.last().is_some_and(|(step, _)| hidden.last() == Some(step));
    let is_hidden = hidden.len() > 1 || ends_hidden;
    let stands = same >= LAST;
    #[allow(clippy::cast_precision_loss, reason = "a count of steps")]
    let value = same as f64;
    let verdict = if stands || is_hidden { Verdict::Fail } else { Verdict::Pass };
    results.note(RuleOutcome::new("standstill", Some(value), (None, None), verdict));
    if is_hidden {
        let step = hidden.first().map(u64::to_string).unwrap_or_default();
        results.say(&code::FROZEN, |finding| {
            finding.with("count", hidden.len()).with("step", step).with("is_hidden", 1_u64)
        });
    } else if stands {
        let step = |place: usize| points.get(place).map(|(step, _)| step.to_string()).unwrap_or_default();
        let value = points.last().map(|(_, value)| *value).unwrap_or_default();
        results.say(&code::FROZEN, |finding| {
            let finding = finding.with("count", same).with("value", value);
            finding.with("step", step(points.len() - same)).with("last", step(points.len() - 1))
        });
    }
}

/// A gradient norm of 0 at half of the steps, or a learning rate of 0 at all of them: nothing is learned. A batch without labels
/// has no gradient, a schedule may begin and end at 0, and a small number rounds to `0.0000`.
fn nothing_learned(pair: &CurvePair<'_>, points: &[(u64, f64)], results: &mut RuleResults) {
    const LEAST: usize = 5;
    let is_rounded = |note: &FileNote| matches!(note, FileNote::RoundedZeros(metric) if *metric == pair.metric);
    let zeros = points.iter().filter(|(_, value)| value.abs() <= 0.0).count();
    if zeros < LEAST || pair.candidate.notes.iter().any(is_rounded) {
        return;
    }
    let is_rate = pair.role == Role::LearningRate;
    let is_zero = if is_rate { zeros == points.len() } else { 2 * zeros >= points.len() };
    if is_zero {
        let code = if is_rate { &code::LEARNING_RATE_ZERO } else { &code::GRADIENT_ZERO };
        results.say(code, |finding| finding.with("count", zeros).with("of", points.len()));
    }
}

/// A loss whose last tenth lies above twice its first value and twice its first tenth.
fn exploding(points: &[(u64, f64)], results: &mut RuleResults) {
    let finite: Vec<f64> = points.iter().map(|(_, value)| *value).filter(|value| value.is_finite()).collect();
    if finite.len() < TENTHS_FROM {
        return;
    }
    let tenth = (finite.len() / 10).max(1);
    let of = |values: &[f64]| median(values.to_vec()).unwrap_or_default();
    let early = of(finite.get(..tenth).unwrap_or_default());
    let late = of(finite.get(finite.len() - tenth..).unwrap_or_default());
    let first = finite.first().copied().unwrap_or_default();
    let start = first.max(early);
    if start <= 0.0 || first <= 0.0 {
        return;
    }
    let growth = late / start;
    let verdict = if growth > GROWTH { Verdict::Fail } else { Verdict::Pass };
    results.note(RuleOutcome::new("growth", Some(growth), (None, Some(GROWTH)), verdict));
    if growth > GROWTH {
        results.say(&code::EXPLODING, |finding| {
            finding.with("first", first).with("late", late).with("growth", growth).with("limit", GROWTH)
        });
    }
}
