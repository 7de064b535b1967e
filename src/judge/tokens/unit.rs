//! Judges one comparison of log-probabilities.

use super::cause::{TokenCause, token_cause};
use super::groups::{Loudness, RankClass};
use super::noise::{ExcessLevel, Noise, TokenLimits};
use super::notes::{findings, has_equal_bits};
use super::rules;
use super::told::{WorstStep, compared_parties, divergence_finding, loud_sequences_finding};
use crate::compare::tokens::{MeasuredAnswer, Measures, Meter, Notes, SideMeasure, TokenMeasure};
use crate::policy::tokens::TokensPolicy;
use crate::read::tokens::TokensStep;
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::unit::{AnyUnit, LogprobsSide, LogprobsUnit, LoudToken, MapRow, RankLevel, StepLevel};
use crate::verdict::Severity;

/// Most answers in the picture.
const DRAWN: usize = 48;
/// Mean difference above which the baseline's own engine and trainer disagree, in nats.
const BASELINE_OFF: f64 = 0.05;
/// Factor over the baseline's own mean difference from which on a candidate is less precise.
const LESS_PRECISE: f64 = 10.0;
/// Least mean difference of such a candidate, in nats.
const LEAST_LESS_PRECISE: f64 = 0.003;

/// Policy, noise and reference for judging a comparison.
#[derive(Clone, Copy)]
pub struct TokensContext<'a> {
    /// The policy.
    pub policy: &'a TokensPolicy,
    /// The noise.
    pub noise: Noise,
    /// The comparison of the baseline's own engine and trainer; `None` where it has none.
    pub reference: Option<BaselineReference<'a>>,
}

/// The comparison of the baseline's own engine and trainer.
#[derive(Clone, Copy)]
pub struct BaselineReference<'a> {
    /// Its measures.
    pub measures: Measures,
    /// Notes about its answers.
    pub notes: &'a Notes,
}

/// A comparison, judged.
pub struct JudgedTokens {
    /// Its unit.
    pub unit: LogprobsUnit,
    /// Its findings.
    pub findings: Vec<Finding>,
}

/// Judges the comparison of a side's engine with its trainer.
pub(crate) fn judge_own(side: LogprobsSide, measured: &TokenMeasure, context: TokensContext<'_>) -> JudgedTokens {
    let mut judged = judge(LogprobsUnit::empty(side, (context.noise.nats, context.noise.source)), measured, context);
    let evidence = &mut judged.unit.evidence;
    let [engines, trainers] = measured.notes.lonely;
    let reference = context.reference.filter(|_| side == LogprobsSide::Candidate);
    let answers = offered(&measured.notes, reference.map(|reference| reference.notes));
    evidence.offered = answers + engines + trainers;
    evidence.not_compared += engines + trainers;
    if engines + trainers > 0 {
        evidence
            .example("not-compared", format!("{engines} answers of the engine and {trainers} of the trainer alone"));
    }
    judged
}

/// Judges the comparison of the candidate with the baseline. `is_beside` says that the candidate's own comparison decides the verdict.
pub(crate) fn judge_across(across: &SideMeasure, is_beside: bool, context: TokensContext<'_>) -> JudgedTokens {
    let mut unit = LogprobsUnit::empty(LogprobsSide::Across, (context.noise.nats, context.noise.source));
    let [candidate, baseline] = across.quantities;
    unit.quantity = if candidate == baseline {
        candidate.as_str().to_owned()
    } else {
        format!("{}-{}", candidate.as_str(), baseline.as_str())
    };
    let context = TokensContext { reference: None, ..context };
    let mut judged = judge(unit, &across.measured, context);
    let [candidate, baseline] = across.answers;
    let evidence = &mut judged.unit.evidence;
    // Where each side is compared with itself, answers that only one side sampled are not missing.
    evidence.offered = if is_beside { across.shared } else { candidate.max(baseline) };
    let [baseline_alone, candidate_alone] = &mut evidence.one_sided;
    (*baseline_alone, *candidate_alone) =
        (baseline.saturating_sub(across.shared), candidate.saturating_sub(across.shared));
    judged
}

/// Number of answers that either side has: step by step where both number their steps, else in total. The candidate may have more steps.
fn offered(candidate: &Notes, baseline: Option<&Notes>) -> u64 {
    let (candidate, baseline) = (candidate.by_step(), baseline.map(Notes::by_step).unwrap_or_default());
    let all_of_candidate: u64 = candidate.values().sum();
    let is_numbered = candidate.keys().chain(baseline.keys()).all(|step| step.number().is_some());
    if !is_numbered || !candidate.keys().any(|step| baseline.contains_key(step)) {
        return all_of_candidate.max(baseline.values().sum());
    }
    let missing = baseline.iter().map(|(step, count)| count.saturating_sub(candidate.get(step).copied().unwrap_or(0)));
    all_of_candidate + missing.sum::<u64>()
}

fn judge(mut unit: LogprobsUnit, measured: &TokenMeasure, context: TokensContext<'_>) -> JudgedTokens {
    let (meter, noise) = (&measured.meter, context.noise.nats);
    let is_of_differences = measured.is_of_differences();
    let reference = context.reference.filter(|_| unit.side == LogprobsSide::Candidate);
    let known = reference.filter(|_| is_of_differences).map(|reference| reference.measures.prob_mean);
    let limits = TokenLimits::from_policy(context.policy, noise, known);
    measures(&mut unit, measured);
    let name = unit.name();
    let mut all = findings(&name, unit.side, measured, context.noise);
    let worst = worst(meter, &limits);
    let loudness = Loudness::from_sequences(&meter.sequences, noise);
    if unit.side == LogprobsSide::Baseline {
        map(&mut unit, meter, &loudness);
        let mean = meter.total().measures().mean_abs;
        if mean > BASELINE_OFF {
            let finding = Finding::new(&rules::BASELINE_OFF, &name).with("value", mean).with("limit", BASELINE_OFF);
            all.push(finding.with("tokens", unit.tokens).with("noise", noise));
        }
        return JudgedTokens { unit, findings: all };
    }
    let level = worst.as_ref().map(|worst| worst.exceeded.level).unwrap_or_default();
    let shape = if is_of_differences { None } else { token_cause(meter, &loudness, noise, level) };
    if loudness.stands_out() {
        unit.sequences_off = loudness.count();
    }
    let told = of_findings(&all).or(shape.clone());
    note_cause(&mut unit, told.as_ref().or(shape.as_ref()));
    if unit.cause.is_none() && all.iter().any(|finding| finding.is(&rules::VERSION_BEHIND)) {
        unit.cause = Some("stale-weights".to_owned());
    }
    let is_some = matches!(shape, Some(TokenCause::Sequences | TokenCause::PrefixCache));
    let is_structure = shape.is_some() && !is_some;
    if let Some(worst) = worst.filter(|worst| worst.exceeded.level > ExcessLevel::Quiet || is_structure) {
        let severity =
            if is_structure || worst.exceeded.level == ExcessLevel::Fail { Severity::Fail } else { Severity::Warn };
        let finding = divergence_finding(&unit, &worst, told.as_ref(), meter).with_severity(severity);
        all.push(finding);
    }
    if is_some || unit.sequences_off == 1 {
        let severity = if unit.sequences_off > 1 { Severity::Fail } else { Severity::Warn };
        all.extend(loud_sequences_finding(&unit, &loudness, noise).map(|finding| finding.with_severity(severity)));
    }
    let is_quiet = level == ExcessLevel::Quiet && shape.is_none();
    all.extend(bits(&unit, meter, context.policy, is_quiet));
    all.extend(reference.filter(|_| is_quiet).and_then(|reference| precision(&unit, reference, context.policy)));
    map(&mut unit, meter, &loudness);
    JudgedTokens { unit, findings: all }
}

/// Writes the measures into the unit.
fn measures(unit: &mut LogprobsUnit, measured: &TokenMeasure) {
    let meter = &measured.meter;
    let sums = meter.total();
    let all = sums.measures();
    (unit.tokens, unit.masked, unit.sequences) = (sums.tokens, meter.masked, measured.measured);
    unit.mean_abs = known(all.mean_abs);
    unit.prob_mean = known(all.prob_mean);
    (unit.k3, unit.bias, unit.outside) = (known(all.k3), known(all.bias), known(all.outside));
    unit.by_step = meter
        .steps
        .iter()
        .map(|(step, sums)| {
            let of_step = sums.measures();
            StepLevel {
                step: step.number(),
                name: if let TokensStep::Name(name) = step { name.clone() } else { String::new() },
                tokens: sums.tokens,
                mean_abs: known(of_step.mean_abs),
                prob_mean: known(of_step.prob_mean),
                k3: known(of_step.k3),
            }
        })
        .collect();
    if let [only] = unit.by_step.as_slice() {
        unit.step = only.step;
    }
    let mut ranks = meter.ranks.iter();
    match (ranks.next(), ranks.next()) {
        (Some((rank, _)), None) => unit.rank = *rank,
        _ => {
            unit.by_rank = meter
                .ranks
                .iter()
                .map(|(rank, sums)| RankLevel {
                    rank: *rank,
                    tokens: sums.tokens,
                    mean_abs: known(sums.measures().mean_abs),
                })
                .collect();
        }
    }
    unit.first_token = meter.first_loud.as_ref().map(|token| LoudToken {
        step: token.step.number(),
        rank: token.rank,
        sequence: token.sequence,
        position: token.position,
        a: Number(token.a),
        b: Number(token.b),
    });
    let notes = &measured.notes;
    let evidence = &mut unit.evidence;
    evidence.compared = measured.measured;
    evidence.damaged = notes.unreadable.count;
    evidence.contradicting = notes.contradicting.count;
    evidence.not_compared = notes.lengths.count + notes.positive.count;
    if let Some((place, files)) = &notes.contradicting.first {
        evidence.example("contradicting", format!("{place}: {files}"));
    }
    if let Some((place, reason)) = &notes.unreadable.first {
        evidence.example("damaged", format!("{place}: {reason}"));
    }
}

fn known(value: f64) -> Option<Number> {
    (!value.is_nan()).then_some(Number(value))
}

/// The step that exceeds its limits most: by level, then by value.
fn worst(meter: &Meter, limits: &TokenLimits) -> Option<WorstStep> {
    let steps = meter.steps.iter().filter(|(_, sums)| sums.tokens > 0);
    let steps = steps.map(|(step, sums)| WorstStep { step: step.clone(), exceeded: limits.exceeded(&sums.measures()) });
    steps.fold(None, |worst: Option<WorstStep>, one| match worst {
        Some(worst) if (worst.exceeded.level, worst.exceeded.value) >= (one.exceeded.level, one.exceeded.value) => {
            Some(worst)
        }
        _ => Some(one),
    })
}

/// The cause that findings from the alignment show.
fn of_findings(findings: &[Finding]) -> Option<TokenCause> {
    let has = |rule| findings.iter().any(|finding| finding.is(rule));
    if has(&rules::PROMPT_DIFFERS) {
        return Some(TokenCause::Prompt);
    }
    has(&rules::NON_FINITE).then_some(TokenCause::Overflow)
}

/// Writes a cause and its facts into the unit.
fn note_cause(unit: &mut LogprobsUnit, cause: Option<&TokenCause>) {
    let Some(cause) = cause else { return };
    unit.cause = Some(cause.code().to_owned());
    match cause {
        TokenCause::Shifted { shift } => unit.shift = Some(*shift),
        TokenCause::LogBase { factor } => unit.factor = Some(Number(*factor)),
        TokenCause::StaleWeights { first_step, .. } => unit.first_step = first_step.number(),
        TokenCause::RankWeights { class: RankClass::Rank(rank) } => unit.rank = Some(*rank),
        TokenCause::TokenRow { token } => unit.token = Some(*token),
        TokenCause::Position { first_position } => unit.first_position = Some(*first_position),
        _ => {}
    }
}

/// Finding about bits that are equal where that is suspicious, or that differ where the policy demands equal ones.
fn bits(unit: &LogprobsUnit, meter: &Meter, policy: &TokensPolicy, is_quiet: bool) -> Option<Finding> {
    let sums = meter.total();
    if policy.bitwise {
        let differing = sums.tokens.saturating_sub(sums.equal_bits);
        let finding = Finding::new(&rules::DIVERGE, unit.name()).with("measure", "bits").with("value", differing);
        let finding = finding.with("tokens", sums.tokens).with("between", compared_parties(unit.side));
        return (differing > 0 && is_quiet).then_some(finding);
    }
    let is_equal = unit.side == LogprobsSide::Candidate && has_equal_bits(sums.tokens, sums.equal_bits);
    is_equal.then(|| Finding::new(&rules::EQUAL_BITS, unit.name()).with("tokens", sums.tokens))
}

/// Finding about a candidate whose engine is less precise than the baseline's, although within limits.
fn precision(unit: &LogprobsUnit, reference: BaselineReference<'_>, policy: &TokensPolicy) -> Option<Finding> {
    let (candidate, baseline) = (unit.mean_abs?.0, reference.measures.mean_abs);
    let is_less = candidate > LESS_PRECISE * baseline && candidate > LEAST_LESS_PRECISE;
    let severity = if policy.strict { Severity::Fail } else { Severity::Info };
    let finding =
        Finding::new(&rules::OTHER_PRECISION, unit.name()).with("value", candidate).with("baseline", baseline);
    is_less.then(|| finding.with_severity(severity))
}

/// Fills the picture with the answers of the largest mean difference, the largest first.
fn map(unit: &mut LogprobsUnit, meter: &Meter, loudness: &Loudness<'_>) {
    let is_loud =
        |sequence: &MeasuredAnswer| loudness.stands_out() && loudness.loud().any(|loud| std::ptr::eq(loud, sequence));
    let drawn = meter.sequences.iter().filter(|sequence| !sequence.parts.is_empty() && sequence.tokens > 0);
    let mut drawn: Vec<&MeasuredAnswer> = drawn.collect();
    drawn.sort_by(|x, y| y.mean.total_cmp(&x.mean));
    let row = |sequence: &MeasuredAnswer| MapRow {
        step: sequence.step.number(),
        rank: sequence.rank,
        sequence: sequence.index,
        is_loud: is_loud(sequence),
        parts: sequence.parts.iter().map(|part| known(f64::from(*part))).collect(),
    };
    unit.map = drawn.into_iter().take(DRAWN).map(row).collect();
}
