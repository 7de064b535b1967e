//! Measures a metric: the drop over its pairs, and the input of its test.

use super::comparable::failed_samples;
use super::standard_error;
use crate::compare::evaluation::interval;
use crate::compare::evaluation::normal::DETECTABLE;
use crate::compare::evaluation::{binomial, normal, permutation};
use crate::pair::evaluation::{PairedMetric, ValuePair};
use crate::policy::evaluation::margin::MetricScale;
use crate::read::evaluation::{SampleValue, Score};
use crate::result::unit::EvaluationTest;
use crate::verdict::Side;

/// Relative difference up to which two scores are the same number, written twice.
const ROUNDING: f64 = 1e-9;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TestInput {
    /// Answers that got worse and better.
    Counts {
        /// Worse ones.
        worse: u64,
        /// Better ones.
        better: u64,
    },
    /// Losses of the pairs, in order of id; positive where the candidate is worse.
    Losses(Vec<f64>),
    /// Drop between two scores, in standard errors.
    Scores(f64),
}

/// P-values of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chances {
    /// P-value of a drop as large; of a change as large where the metric has no direction.
    pub(super) worse: f64,
    /// P-value of a gain as large.
    pub(super) better: f64,
}

impl TestInput {
    pub(super) fn test(&self) -> EvaluationTest {
        match self {
            Self::Counts { .. } => EvaluationTest::Mcnemar,
            Self::Losses(_) => EvaluationTest::PairedPermutation,
            Self::Scores(_) => EvaluationTest::Unpaired,
        }
    }

    /// Runs the test, one of `tests` in the run. It is two-sided unless `is_one_sided`.
    pub(super) fn chances(&self, tests: u64, is_one_sided: bool) -> Chances {
        let (worse, better) = match self {
            Self::Counts { worse, better } => (binomial::mcnemar(*worse, *better), binomial::mcnemar(*better, *worse)),
            Self::Losses(losses) => {
                let found = permutation::sign_flip_test(losses, permutation::draws(tests));
                (found.worse, found.better)
            }
            Self::Scores(z) => (normal::upper_tail(*z), normal::upper_tail(-z)),
        };
        if is_one_sided {
            Chances { worse, better }
        } else {
            Chances { worse: (2.0 * worse.min(better)).min(1.0), better: 1.0 }
        }
    }
}

/// Size of a drop, in the metric's unit or relative to the baseline's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Effect {
    /// The drop; negative for a gain.
    pub(super) drop: f64,
    /// Ends of its 95 % interval.
    pub(super) interval: [f64; 2],
    /// Smallest drop that the test finds with a power of 80 %.
    pub(super) detectable: f64,
}

impl Effect {
    fn times(self, factor: f64) -> Self {
        // A drop of 0 stays 0, even where the factor is infinite.
        let times = |value: f64| if value.abs() > 0.0 { value * factor } else { 0.0 };
        Self { drop: times(self.drop), interval: self.interval.map(times), detectable: times(self.detectable) }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct MeasuredMetric {
    /// Input of the test; `None` where nothing can be tested.
    pub(super) evidence: Option<TestInput>,
    /// The drop as measured: relative to `size` where `is_part`, else in the metric's unit.
    effect: Option<Effect>,
    /// Whether the effect is relative to `size`.
    is_part: bool,
    /// Magnitude of the baseline's value, which relative drops refer to.
    size: f64,
    /// The baseline's score.
    pub(super) baseline: Option<f64>,
    /// The candidate's score.
    pub(super) candidate: Option<f64>,
    /// Scale of the metric.
    pub(super) scale: Option<MetricScale>,
    /// Index of each tested pair among the metric's pairs, with its loss.
    pub(super) losses: Vec<(usize, f64)>,
    /// The first pair of values of which only the candidate's is not finite.
    pub(super) non_finite: Option<(f64, f64)>,
    /// Number of pairs whose values cannot be compared: not finite on the baseline side, or of two kinds.
    pub(super) uncomputed: u64,
    /// Whether scores have no standard error, and no rate from which to compute one.
    pub(super) lacks_error: bool,
    /// Sides whose standard error was invalid or wider than possible, and was replaced.
    pub(super) replaced_errors: Vec<Side>,
}

impl MeasuredMetric {
    /// The drop, relative to the baseline's value or in the metric's own unit.
    pub(super) fn effect(&self, is_relative: bool) -> Option<Effect> {
        let effect = self.effect?;
        Some(match (self.is_part, is_relative) {
            (true, false) => effect.times(self.size),
            (false, true) => effect.times(1.0 / self.size),
            _ => effect,
        })
    }

    /// Number of pairs that got worse and better.
    pub(super) fn changed(&self) -> (u64, u64) {
        let count = |is: fn(f64) -> bool| self.losses.iter().filter(|(_, loss)| is(*loss)).count() as u64;
        (count(|loss| loss > 0.0), count(|loss| loss < 0.0))
    }

    /// The measurement of several tasks together, from their effect, the changed answers and the rates of both sides.
    pub(super) fn from_counts(effect: Effect, (worse, better): (u64, u64), (baseline, candidate): (f64, f64)) -> Self {
        Self {
            evidence: Some(TestInput::Counts { worse, better }),
            effect: Some(effect),
            size: baseline,
            baseline: Some(baseline),
            candidate: Some(candidate),
            scale: Some(MetricScale::Rate),
            ..Self::default()
        }
    }

    /// Whether all values are right or wrong answers.
    pub(super) fn is_binary(&self) -> bool {
        matches!(self.evidence, Some(TestInput::Counts { .. }))
    }
}

/// Numbers of both sides that enter the test, with the index of their pair.
#[derive(Default)]
struct Numbers {
    /// Index, baseline, candidate.
    plain: Vec<(usize, f64, f64)>,
    /// Index, log-likelihood of the baseline and of the candidate, and size of the text in words, bytes or documents.
    likelihoods: Vec<(usize, f64, f64, f64)>,
    is_corpus: bool,
    non_finite: Option<(f64, f64)>,
    uncomputed: u64,
}

impl Numbers {
    fn of(metric: &PairedMetric) -> Self {
        let mut numbers = Self::default();
        let is_log = is_log(metric);
        for (place, pair) in metric.pairs.iter().enumerate() {
            numbers.add(place, pair, is_log);
        }
        // A metric has values of one kind, so plain numbers beside likelihoods were not computed.
        if !numbers.plain.is_empty() && !numbers.likelihoods.is_empty() {
            numbers.uncomputed += numbers.plain.len() as u64;
            numbers.plain.clear();
        }
        numbers
    }

    fn add(&mut self, place: usize, pair: &ValuePair, is_log: bool) {
        match (pair.baseline, pair.candidate) {
            (SampleValue::Number(b), SampleValue::Number(c)) if self.are_finite(b, c) => match is_log {
                true => self.likelihoods.push((place, b, c, 1.0)),
                false => self.plain.push((place, b, c)),
            },
            (SampleValue::Likelihood { log: b, size }, SampleValue::Likelihood { log: c, size: of_candidate })
                if self.are_finite(b, if of_candidate.is_finite() { c } else { of_candidate }) =>
            {
                self.likelihoods.push((place, b, c, size));
            }
            (SampleValue::Corpus, SampleValue::Corpus) => self.is_corpus = true,
            (SampleValue::Number(_), SampleValue::Number(_))
            | (SampleValue::Likelihood { .. }, SampleValue::Likelihood { .. }) => {}
            _ => self.uncomputed += 1,
        }
    }

    fn are_finite(&mut self, b: f64, c: f64) -> bool {
        match (b.is_finite(), c.is_finite()) {
            (true, true) => true,
            (true, false) => {
                self.non_finite = self.non_finite.or(Some((b, c)));
                false
            }
            (false, _) => {
                self.uncomputed += 1;
                false
            }
        }
    }
}

/// Whether a metric's numbers are log-likelihoods. A perplexity is at least 1, so numbers up to 0 are the logarithms it is made of.
fn is_log(metric: &PairedMetric) -> bool {
    let is_log = |value: &SampleValue| matches!(value, SampleValue::Number(value) if *value <= 0.0 || value.is_nan());
    metric.metric == "perplexity" && metric.pairs.iter().all(|pair| is_log(&pair.baseline) && is_log(&pair.candidate))
}

/// Measures a metric. Scores are compared only if `may_use_scores`: they must not include samples that were left out of the test.
pub(super) fn measure(metric: &PairedMetric, may_use_scores: bool) -> MeasuredMetric {
    let numbers = Numbers::of(metric);
    let score = |score: Option<Score>| score.map(|score| score.value);
    let (baseline, candidate) = (score(metric.baseline), score(metric.candidate));
    let mut measured =
        MeasuredMetric { baseline, candidate, uncomputed: numbers.uncomputed, ..MeasuredMetric::default() };
    measured.non_finite = match (baseline, candidate) {
        (Some(b), Some(c)) if b.is_finite() && !c.is_finite() => Some((b, c)),
        _ => numbers.non_finite,
    };
    let values = numbers.plain.iter().flat_map(|(_, b, c)| [*b, *c]);
    measured.scale = super::margin::scale(&metric.metric, values.chain(baseline).chain(candidate));
    let has_values = !numbers.plain.is_empty() || !numbers.likelihoods.is_empty();
    let left = metric.left_out;
    if left.contradictory > 0 {
        return measured;
    }
    if !numbers.plain.is_empty() {
        of_numbers(&mut measured, &numbers.plain, metric.higher_is_better.unwrap_or(true));
    } else if !numbers.likelihoods.is_empty() {
        of_likelihoods(&mut measured, &numbers.likelihoods);
    } else if may_use_scores && left.documents + left.prompts + failed_samples(metric) + numbers.uncomputed == 0 {
        let is_without = !metric.has_samples || numbers.is_corpus || metric.samples == 0;
        if is_without && !has_values {
            of_scores(&mut measured, metric);
        }
    }
    // A broken standard error is reported even where no test needs it.
    let error = |score: Option<Score>| score.and_then(|score| score.error);
    let is_broken = matches!((error(metric.baseline), error(metric.candidate)),
        (Some(baseline_error), Some(candidate_error)) if baseline_error.is_finite() && !candidate_error.is_finite());
    if is_broken && !measured.replaced_errors.contains(&Side::Candidate) {
        measured.replaced_errors.push(Side::Candidate);
    }
    measured
}

fn of_numbers(measured: &mut MeasuredMetric, numbers: &[(usize, f64, f64)], is_higher_better: bool) {
    let loss = |b: f64, c: f64| if is_higher_better { b - c } else { c - b };
    measured.losses = numbers.iter().map(|(place, b, c)| (*place, loss(*b, *c))).collect();
    let is_answer = |value: f64| value.abs() <= 0.0 || (value - 1.0).abs() <= 0.0;
    let losses: Vec<f64> = measured.losses.iter().map(|(_, loss)| *loss).collect();
    let mean = |of: fn(&(usize, f64, f64)) -> f64| numbers.iter().map(of).sum::<f64>() / numbers.len() as f64;
    measured.baseline = measured.baseline.or(Some(mean(|(_, b, _)| *b)));
    measured.candidate = measured.candidate.or(Some(mean(|(_, _, c)| *c)));
    measured.size = mean(|(_, b, _)| b.abs());
    if numbers.iter().all(|(_, b, c)| is_answer(*b) && is_answer(*c)) {
        let (worse, better) = measured.changed();
        let pairs = numbers.len() as u64;
        measured.effect = rate_effect(worse, better, pairs);
        measured.evidence = Some(TestInput::Counts { worse, better });
    } else {
        // Sums of numbers near the largest float overflow.
        let are_finite =
            |(drop, error): &(f64, f64)| drop.is_finite() && error.is_finite() && measured.size.is_finite();
        let found = interval::mean_and_error(&losses).filter(are_finite);
        let Some((drop, error)) = found else {
            measured.uncomputed += losses.len() as u64;
            return;
        };
        measured.effect = Some(around(drop, error));
        measured.evidence = Some(TestInput::Losses(losses));
    }
}

/// Effect of `worse` and `better` answers among `pairs`; `None` without pairs.
pub(super) fn rate_effect(worse: u64, better: u64, pairs: u64) -> Option<Effect> {
    let drop = (worse as f64 - better as f64) / pairs as f64;
    Some(Effect {
        drop,
        interval: interval::rate_interval(worse, better, pairs)?,
        detectable: interval::detectable_rate(worse, better, pairs)?,
    })
}

fn around(drop: f64, error: f64) -> Effect {
    Effect { drop, interval: interval::interval_around(drop, error), detectable: DETECTABLE * error }
}

/// Measures perplexities and bits per byte: sums of log-likelihoods over words, bytes or documents.
fn of_likelihoods(measured: &mut MeasuredMetric, values: &[(usize, f64, f64, f64)]) {
    let losses: Vec<f64> = values.iter().map(|(_, b, c, _)| b - c).collect();
    measured.losses = values.iter().map(|(place, b, c, _)| (*place, b - c)).collect();
    let sum = |of: fn(&(usize, f64, f64, f64)) -> f64| values.iter().map(of).sum::<f64>();
    let (size, log) = (sum(|(.., size)| *size), sum(|(_, b, ..)| b.abs()));
    let (of_baseline, of_candidate) = (-sum(|(_, b, ..)| *b) / size, -sum(|(_, _, c, _)| *c) / size);
    let Some((mean, error)) = interval::mean_and_error(&losses) else { return };
    let count = losses.len() as f64;
    let is_bits = measured.scale == Some(MetricScale::BitsPerByte);
    let over = if is_bits { log } else { size };
    // A text without length, or with likelihood 1, has no relative change.
    let (drop, error) = (mean * count / over, error * count / over);
    if over.is_nan() || over <= 0.0 || drop.is_nan() || error.is_nan() {
        measured.uncomputed += values.len() as u64;
        return;
    }
    let natural = around(drop, error);
    let grown = |value: f64| if is_bits { value } else { value.exp_m1() };
    measured.effect = Some(Effect {
        drop: grown(natural.drop),
        interval: natural.interval.map(grown),
        detectable: grown(natural.detectable),
    });
    let score = |per_word: f64| if is_bits { per_word / std::f64::consts::LN_2 } else { per_word.exp() };
    measured.baseline = measured.baseline.or(Some(score(of_baseline)));
    measured.candidate = measured.candidate.or(Some(score(of_candidate)));
    measured.size = measured.baseline.filter(|score| score.is_finite()).unwrap_or_else(|| score(of_baseline));
    measured.is_part = true;
    measured.evidence = Some(TestInput::Losses(losses));
}

/// Measures scores without answers, with standard errors from the harness or from the rate.
fn of_scores(measured: &mut MeasuredMetric, metric: &PairedMetric) {
    let (Some(baseline), Some(candidate)) = (metric.baseline, metric.candidate) else { return };
    if !baseline.value.is_finite() || !candidate.value.is_finite() {
        return;
    }
    let is_rate = measured.scale == Some(MetricScale::Rate);
    let errors = standard_error::standard_errors((baseline, candidate), metric.counts, is_rate);
    measured.replaced_errors = errors.replaced;
    let (baseline_error, candidate_error) = match (errors.baseline, errors.candidate) {
        (Some(baseline_error), Some(candidate_error)) => (baseline_error, candidate_error),
        // The same answers have the same score, whatever its error.
        _ if is_same(metric, baseline.value, candidate.value) => (0.0, 0.0),
        _ => {
            measured.lacks_error = true;
            return;
        }
    };
    let is_higher_better = metric.higher_is_better.unwrap_or(true);
    let drop = if is_higher_better { baseline.value - candidate.value } else { candidate.value - baseline.value };
    let mut error = baseline_error.hypot(candidate_error);
    if error <= 0.0 && drop.abs() > 0.0 {
        // All answers right on one side and all wrong on the other: both errors are 0 by their formula, although the true ones are not.
        let pooled = metric.counts.0.zip(metric.counts.1).filter(|_| is_rate);
        match pooled.and_then(|(baseline_count, candidate_count)| {
            pooled_error((baseline.value, baseline_count), (candidate.value, candidate_count))
        }) {
            Some(pooled) => error = pooled,
            None => {
                measured.lacks_error = true;
                return;
            }
        }
    }
    if !drop.is_finite() || !error.is_finite() {
        measured.lacks_error = true;
        return;
    }
    measured.size = baseline.value.abs();
    measured.effect = Some(around(drop, error));
    measured.evidence = Some(TestInput::Scores(if error > 0.0 { drop / error } else { 0.0 }));
}

/// Whether all answers are the same on both sides, and the scores too.
fn is_same(metric: &PairedMetric, baseline: f64, candidate: f64) -> bool {
    let are_same = !metric.pairs.is_empty() && metric.pairs.iter().all(|pair| pair.same_answer == Some(true));
    are_same && (baseline - candidate).abs() <= ROUNDING * baseline.abs()
}

/// Standard error of the difference of two rates under the hypothesis that they are equal.
fn pooled_error((baseline, baseline_count): (f64, u64), (candidate, candidate_count): (f64, u64)) -> Option<f64> {
    let (n, m) = (baseline_count as f64, candidate_count as f64);
    let rate = (baseline * n + candidate * m) / (n + m);
    Some((rate * (1.0 - rate) * (1.0 / n + 1.0 / m)).sqrt()).filter(|error| error.is_finite() && *error > 0.0)
}
