//! Judges generations token by token: whether a near tie explains that two of them diverge.

use super::answers::{AnswerTally, paired_answer_findings};
use super::{excerpt, rules};
use crate::compare::evaluation::generation::{Parting, ProbabilityAgreement, TokenGap, parting};
use crate::judge::rule::Rule;
use crate::kind::SampleId;
use crate::pair::evaluation::{PairedGenerations, TextPair};
use crate::policy::Policy;
use crate::policy::evaluation::Tie;
use crate::read::evaluation::{Generation, Generations, SampleTexts};
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::unit::{Divergence, DivergenceKind, Evidence, GenerationUnit};
use crate::verdict::{Profile, Severity, Side};

/// Tie limit, in units of the noise of log-probabilities.
const OVER_NOISE: f64 = 4.0;
/// Smallest and largest tie limit, in nats.
const TIE: (f64, f64) = (0.1, 0.5);
/// Share of the prompts that may diverge without a tie and only warn.
const MOST_SHARE: f64 = 0.01;
/// Prompts that a finding names.
const NAMED: usize = 3;
/// Standard errors by which the scale of log-probabilities has to differ from 1.
const SURE: f64 = 3.0;

/// A judged file of generations. Its verdict follows from the findings once the policy is applied to them.
#[derive(Debug)]
pub struct JudgedGenerations {
    /// The unit.
    pub unit: GenerationUnit,
    /// Findings about it.
    pub findings: Vec<Finding>,
}

/// A pair of answers that diverge.
struct Different<'a> {
    name: &'a str,
    baseline: &'a Generation,
    candidate: &'a Generation,
    parting: Parting,
    kind: DivergenceKind,
}

/// Answers of equal text that ended for different reasons.
#[derive(Debug, Default)]
struct Ends {
    count: u64,
    /// Name of the first of them, and its reasons on the baseline and the candidate side.
    first: Option<[String; 3]>,
}

impl Ends {
    fn add(&mut self, name: &str, baseline: &Generation, candidate: &Generation) {
        let (Some(baseline_end), Some(candidate_end)) = (&baseline.finish, &candidate.finish) else { return };
        if baseline_end != candidate_end {
            self.count += 1;
            self.first.get_or_insert_with(|| [name.to_owned(), baseline_end.clone(), candidate_end.clone()]);
        }
    }

    fn finding(self, unit: &GenerationUnit) -> Option<Finding> {
        let [name, baseline, candidate] = self.first?;
        let finding = about(&rules::FINISH_DIFFERS, unit).with("count", self.count).with("compared", unit.compared);
        Some(
            finding
                .with("doc_id", name.as_str())
                .with("baseline", baseline.as_str())
                .with("candidate", candidate.as_str()),
        )
    }
}

/// Judges the generations of one file.
pub fn judge(paired: &PairedGenerations<'_>, policy: &Policy) -> JudgedGenerations {
    let mut agreement = ProbabilityAgreement::default();
    let mut different = Vec::new();
    let (mut compared, mut ends) = (0, Ends::default());
    for ((baseline, candidate), name) in paired.pairs.iter().zip(&paired.names) {
        let (Some(baseline), Some(candidate)) =
            (paired.baseline.records.get(*baseline), paired.candidate.records.get(*candidate))
        else {
            continue;
        };
        compared += 1;
        let found = parting(&baseline.tokens, &candidate.tokens);
        let shared = found.map_or(baseline.tokens.len(), |found| found.token);
        agreement.add(&baseline.tokens, &candidate.tokens, shared);
        if found.is_none() && baseline.text == candidate.text {
            ends.add(name, baseline, candidate);
        }
        if let Some(parting) = found {
            // A placeholder: the kind follows below from the tie limit, which needs the noise of all pairs.
            let kind = DivergenceKind::Unexplained;
            different.push(Different { name, baseline, candidate, parting, kind });
        }
    }
    let limit = tie_limit(&agreement, policy);
    for one in &mut different {
        one.kind = kind(one, limit);
    }
    let count = |kind| different.iter().filter(|one| one.kind == kind).count() as u64;
    let unit = GenerationUnit {
        evidence: account(paired, compared),
        compared,
        unmatched: paired.only_baseline + paired.only_candidate,
        changed: different.len() as u64,
        near_ties: count(DivergenceKind::Tie),
        far: count(DivergenceKind::Far),
        length: count(DivergenceKind::Length),
        unexplained: count(DivergenceKind::Unexplained),
        tie_limit: agreement.mean().map(|_| Number(limit)),
        logprob_mean_abs: agreement.mean().map(Number),
        logprob_scale: agreement.scale().map(|(scale, _)| Number(scale)),
        first_divergence: first(&different).map(divergence),
        ..GenerationUnit::empty(&paired.candidate.task)
    };
    let mut findings = missing(paired, &unit);
    findings.extend(of_divergences(&unit, &different, limit, policy));
    findings.extend(ends.finding(&unit));
    // This includes tokens behind the point of divergence, and tokens that were not chosen.
    agreement.non_finite = agreement.non_finite.max(broken(paired));
    findings.extend(of_probabilities(&unit, &agreement, policy));
    let [baseline, candidate] = [paired.baseline, paired.candidate].map(AnswerTally::from_generations);
    findings.extend(paired_answer_findings(&unit.task, &baseline, &candidate));
    JudgedGenerations { unit, findings }
}

/// Number of the candidate's log-probabilities that are NaN, in records without NaN on the baseline side.
fn broken(paired: &PairedGenerations<'_>) -> u64 {
    let pairs = paired.pairs.iter().filter_map(|(baseline, candidate)| {
        Some((paired.baseline.records.get(*baseline)?.broken, paired.candidate.records.get(*candidate)?.broken))
    });
    pairs.filter(|(baseline, _)| *baseline == 0).map(|(_, candidate)| candidate).sum()
}

/// Account of the prompts. Two answers without tokens agree trivially.
fn account(paired: &PairedGenerations<'_>, compared: u64) -> Evidence {
    let is_empty = |(baseline, candidate): &&(usize, usize)| {
        let records = (paired.baseline.records.get(*baseline), paired.candidate.records.get(*candidate));
        matches!(records, (Some(left), Some(right)) if left.tokens.is_empty() && right.tokens.is_empty())
    };
    let mut evidence = Evidence {
        compared,
        equal_trivially: paired.pairs.iter().filter(is_empty).count() as u64,
        not_compared: paired.prompts + paired.failed,
        contradicting: paired.contradictory,
        one_sided: [paired.only_baseline, paired.only_candidate],
        ..Evidence::default()
    };
    evidence.offered = evidence.compared + evidence.not_compared + evidence.unpaired_count();
    for damage in paired.baseline.damages.iter().chain(&paired.candidate.damages) {
        evidence.damaged += 1;
        evidence.example("damaged", damage.path.as_str());
    }
    evidence
}

fn tie_limit(agreement: &ProbabilityAgreement, policy: &Policy) -> f64 {
    match policy.evaluation.tie {
        Tie::Nats(nats) => nats.get(),
        Tie::Auto => agreement.noise().map_or(TIE.0, |noise| (OVER_NOISE * noise).clamp(TIE.0, TIE.1)),
    }
}

fn kind(one: &Different<'_>, limit: f64) -> DivergenceKind {
    let (baseline, candidate) = (one.baseline, one.candidate);
    let is_beginning = baseline.text != candidate.text
        && (baseline.text.starts_with(&candidate.text) || candidate.text.starts_with(&baseline.text));
    // Sampled answers can diverge anywhere.
    let is_sampled = baseline.is_sampled == Some(true) || candidate.is_sampled == Some(true);
    match one.parting.gap {
        TokenGap::Nats(gap) if gap <= limit => DivergenceKind::Tie,
        _ if is_sampled => DivergenceKind::Unexplained,
        TokenGap::End => DivergenceKind::Length,
        _ if is_beginning => DivergenceKind::Length,
        TokenGap::Nats(_) | TokenGap::Beyond => DivergenceKind::Far,
        TokenGap::Unrecorded => DivergenceKind::Unexplained,
    }
}

/// The pair that diverges earliest far from a tie or in length, else the one that diverges earliest. The first of equal ones.
fn first<'a, 'b>(different: &'b [Different<'a>]) -> Option<&'b Different<'a>> {
    let is_wrong = |one: &Different<'_>| matches!(one.kind, DivergenceKind::Far | DivergenceKind::Length);
    different.iter().min_by_key(|one| (!is_wrong(one), one.parting.token))
}

fn divergence(one: &Different<'_>) -> Divergence {
    let gap = match one.parting.gap {
        TokenGap::Nats(gap) => Some(Number(gap)),
        _ => None,
    };
    let texts = |generation: &Generation| SampleTexts {
        question: generation.prompt.clone().unwrap_or_default(),
        answer: generation.text.clone(),
        target: String::new(),
    };
    let pair = TextPair { baseline: texts(one.baseline), candidate: texts(one.candidate) };
    Divergence {
        doc_id: one.name.to_owned(),
        token: one.parting.token as u64,
        prefix: excerpt::shared_prefix(&one.baseline.text, &one.candidate.text) as u64,
        logprob_gap: gap,
        kind: one.kind,
        divergence: one.parting.divergence.map(Number),
        texts: Some(excerpt::flipped_sample(SampleId::Text(one.name.to_owned()), &pair)),
    }
}

fn about(rule: &Rule, unit: &GenerationUnit) -> Finding {
    Finding::new(rule, &unit.task).with("unit", unit.task.as_str()).with("task", unit.task.as_str())
}

/// Findings about records without a partner.
fn missing(paired: &PairedGenerations<'_>, unit: &GenerationUnit) -> Vec<Finding> {
    let total = unit.compared + unit.unmatched + paired.prompts + paired.failed;
    let mut findings = Vec::new();
    let sides: [(Side, &Generations); 2] = [(Side::Baseline, paired.baseline), (Side::Candidate, paired.candidate)];
    for (side, file) in sides {
        if let Some(damage) = file.damages.first() {
            let mut finding = about(&rules::DAMAGED, unit)
                .with("path", damage.path.as_str())
                .with("side", side.as_str())
                .with("reason", damage.reason.as_str());
            finding.place.clone_from(&damage.path);
            if let Some(line) = damage.line {
                finding = finding.with("line", line).with("count", file.damages.len());
            }
            findings.push(finding);
        }
    }
    let is_damaged = !findings.is_empty();
    if unit.unmatched > 0 && !is_damaged || unit.compared == 0 && findings.is_empty() {
        findings.push(
            about(&rules::SAMPLES_UNPAIRED, unit)
                .with("baseline_only", paired.only_baseline)
                .with("candidate_only", paired.only_candidate)
                .with("total", total),
        );
    }
    if paired.prompts > 0 {
        findings.push(about(&rules::PROMPTS_DIFFER, unit).with("count", paired.prompts).with("total", total));
    }
    if paired.contradictory > 0 {
        let finding = about(&rules::DUPLICATE_SAMPLES, unit).with_severity(Severity::Incomplete);
        let finding = finding.with("count", paired.contradictory).with("side", "both");
        findings.push(finding.with("contradictory", paired.contradictory));
    }
    if paired.failed > 0 {
        let finding = about(&rules::METRIC_ERROR, unit).with("count", paired.failed).with("total", total);
        findings.push(finding.with("side", "both"));
    }
    findings
}

/// Severity of `wrong` among `compared` generations that diverge without a tie: a few only warn.
pub(crate) fn severity_of(wrong: u64, compared: u64) -> Severity {
    let most = (MOST_SHARE * compared as f64).max(1.0);
    if wrong as f64 > most { Severity::Fail } else { Severity::Warn }
}

/// Findings about generations that diverge.
fn of_divergences(unit: &GenerationUnit, different: &[Different<'_>], limit: f64, policy: &Policy) -> Vec<Finding> {
    let is_exact = policy.profile == Profile::BitExact;
    let wrong = if is_exact { Severity::Fail } else { severity_of(unit.far + unit.length, unit.compared) };
    let unexplained = if is_exact { Severity::Fail } else { rules::UNEXPLAINED.severity };
    let kinds = [
        (&rules::DIVERGES, DivergenceKind::Far, unit.far, wrong),
        (&rules::STOP_DIFFERS, DivergenceKind::Length, unit.length, wrong),
        (&rules::UNEXPLAINED, DivergenceKind::Unexplained, unit.unexplained, unexplained),
        // A near tie counts as a difference only under the bit-exact profile.
        (&rules::DIVERGES, DivergenceKind::Tie, if is_exact { unit.near_ties } else { 0 }, Severity::Fail),
    ];
    let finding = |(rule, kind, count, severity): (&Rule, DivergenceKind, u64, Severity)| {
        let mut of_kind: Vec<&Different<'_>> = different.iter().filter(|one| one.kind == kind).collect();
        of_kind.sort_by_key(|one| one.parting.token);
        let earliest = of_kind.first()?;
        let finding = about(rule, unit)
            .with_severity(severity)
            .with("count", count)
            .with("compared", unit.compared)
            .with("changed", unit.changed)
            .with("wrong", unit.far + unit.length)
            .with("doc_id", earliest.name)
            .with("token", earliest.parting.token)
            .with("limit", limit);
        let names = of_kind.iter().take(NAMED).map(|one| one.name.to_owned());
        let finding = finding.with("names", names.collect::<Vec<_>>());
        let finding = match cut(&of_kind).filter(|_| kind == DivergenceKind::Length) {
            Some(cut) => finding
                .with("side", cut.side.as_str())
                .with("tokens", cut.tokens)
                .with("least", cut.others[0])
                .with("most", cut.others[1]),
            None => finding,
        };
        Some(match earliest.parting.gap {
            TokenGap::Nats(gap) => finding.with("gap", gap),
            _ => finding,
        })
    };
    kinds.into_iter().filter(|(_, _, count, _)| *count > 0).filter_map(finding).collect()
}

/// Answers that the limit of tokens cut on one side, all after the same number.
struct Cut {
    side: Side,
    tokens: usize,
    /// Fewest and most tokens of the same answers on the other side.
    others: [usize; 2],
}

/// Finds how answers are cut: `None` where one of them ends otherwise, or where tokens were not recorded.
fn cut(different: &[&Different<'_>]) -> Option<Cut> {
    [Side::Candidate, Side::Baseline].into_iter().find_map(|side| {
        let mut tokens = None;
        let mut others = [usize::MAX, 0];
        for one in different {
            let (own, other) = match side {
                Side::Baseline => (one.baseline, one.candidate),
                Side::Candidate => (one.candidate, one.baseline),
            };
            let is_counted = own.tokens.iter().any(|token| token.log_probability.is_some());
            let is_cut = own.finish.as_deref() == Some("length") && own.tokens.len() < other.tokens.len();
            if !is_counted || !is_cut || *tokens.get_or_insert(own.tokens.len()) != own.tokens.len() {
                return None;
            }
            others = [others[0].min(other.tokens.len()), others[1].max(other.tokens.len())];
        }
        Some(Cut { side, tokens: tokens?, others })
    })
}

/// Findings about log-probabilities where the texts agree.
fn of_probabilities(unit: &GenerationUnit, agreement: &ProbabilityAgreement, policy: &Policy) -> Vec<Finding> {
    let evaluation = &policy.evaluation;
    let (most, most_scale) = (evaluation.logprob_mean.get(), evaluation.logprob_scale.get());
    let mut findings = Vec::new();
    if agreement.non_finite > 0 {
        let finding = about(&rules::NON_FINITE, unit).with("count", agreement.non_finite);
        findings.push(finding.with("metric", "logprob"));
    }
    let mean = agreement.mean();
    let scale = agreement.scale();
    // The scale is wrong only if its own standard error does not explain the distance.
    let is_scaled = scale.is_some_and(|(scale, error)| (scale - 1.0).abs() > most_scale.max(SURE * error));
    if mean.is_some_and(|mean| mean > most) || is_scaled {
        let mut finding = about(&rules::LOGPROBS_DIFFER, unit).with("mean_limit", most).with("scale_limit", most_scale);
        if let Some(mean) = mean {
            finding = finding.with("mean", mean);
        }
        if let Some((scale, _)) = scale {
            finding = finding.with("scale", scale);
            if is_scaled {
                finding = finding.with("factor", scale).with("pattern", "temperature");
            }
        }
        findings.push(finding);
    }
    findings
}
