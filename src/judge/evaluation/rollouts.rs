//! Rollouts of two runs: answers that a model in training drew, with the scores of a reward function.
//!
//! docs/evaluation.md has the rules. Answers are drawn at random, so a different text is no fault. A different score for the same
//! answer is one.

use std::collections::{BTreeMap, BTreeSet};

use super::answers::{AnswerTally, paired_answer_findings};
use super::rules;
use crate::compare::evaluation::answers::AnswerMeasures;
use crate::compare::evaluation::permutation;
use crate::judge::rule::Rule;
use crate::median::upper_median;
use crate::pair::evaluation::{PairedPrompt, PairedStep, rollout_steps};
use crate::read::evaluation::{RolloutRecord, Rollouts};
use crate::result::finding::Finding;
use crate::result::number::Number;
use crate::result::unit::{AnswerCounts, RolloutUnit};
use crate::verdict::{PerSide, Severity, Side};

/// Least share of a step's answers that need a partner on the other side.
const PAIRED: f64 = 0.95;
/// Share of equal texts below which the answers were drawn again.
const EQUAL: f64 = 0.9;
/// Factor between the median lengths of both sides from which on they differ.
const LENGTHS: f64 = 1.5;
/// Fewest answers on either side for which lengths are compared.
const LEAST_LENGTHS: usize = 16;
/// Largest p-value at which a drop of the scores counts.
const CHANCE: f64 = 0.01;
/// Smallest drop that counts, as a share of the range of the baseline's scores: for sampled answers, and for greedy ones.
const DROP: (f64, f64) = (0.05, 0.01);
/// Share of wrong answers from which on a single step is reported, where the run as a whole is not.
const OF_A_STEP: f64 = 0.2;
/// Characters of a prompt that are shown before its first difference, and from there on.
const SHOWN: (usize, usize) = (24, 48);
/// Steps that a finding lists.
const LISTED: usize = 8;

/// Answers of one folder, counted over all steps and by step.
#[derive(Debug, Default)]
pub(crate) struct RolloutTally {
    /// Answers of all steps.
    pub all: AnswerTally,
    steps: BTreeMap<u64, AnswerCounts>,
}

impl RolloutTally {
    /// Adds an answer.
    pub(crate) fn add(&mut self, answer: AnswerMeasures) {
        let (step, before) = (answer.step, self.all.counts());
        self.all.add(answer);
        let (Some(step), after) = (step, self.all.counts()) else { return };
        let of_step = self.steps.entry(step).or_default();
        of_step.answers += after.answers - before.answers;
        of_step.garbage += after.garbage - before.garbage;
        of_step.loops += after.loops - before.loops;
        of_step.empty += after.empty - before.empty;
    }

    fn of_step(&self, step: u64) -> AnswerCounts {
        self.steps.get(&step).copied().unwrap_or_default()
    }
}

/// Rollouts of one folder of both runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RolloutPair<'a> {
    /// The candidate's folder.
    pub task: &'a str,
    /// The rollouts.
    pub rollouts: PerSide<&'a Rollouts>,
    /// Their answers, counted.
    pub tallies: PerSide<&'a RolloutTally>,
}

#[derive(Debug, Default)]
pub(crate) struct JudgedRollouts {
    /// A unit for each step.
    pub units: Vec<RolloutUnit>,
    /// Findings, each with the places of the units that it is about.
    pub findings: Vec<(Finding, Vec<usize>)>,
}

/// Judges the rollouts of one folder.
pub(crate) fn judge_rollouts(pair: RolloutPair<'_>) -> JudgedRollouts {
    let steps = rollout_steps(pair.rollouts.baseline, pair.rollouts.candidate);
    let mut judged =
        JudgedRollouts { units: steps.iter().map(|step| unit(&pair, step)).collect(), ..Default::default() };
    judged.damage(&pair);
    judged.missing_steps(pair.task, &steps);
    judged.prompts(pair.task, &steps);
    judged.truths(pair.task, &steps);
    judged.answers(&pair);
    judged.scores_contradict(pair.task, &steps);
    judged.non_finite(pair.task, &steps);
    judged.scores(&pair, &steps);
    judged.lengths(pair.task, &steps);
    judged.resampled(pair.task);
    judged
}

fn unit(pair: &RolloutPair<'_>, step: &PairedStep<'_>) -> RolloutUnit {
    let of_side = PerSide::of(|side| step.answer_count(side));
    let counts = pair.tallies.candidate.of_step(step.step);
    let (garbled, looping, empty) = (counts.garbage, counts.loops, counts.empty);
    let records = if step.sides.candidate.is_some() { of_side.candidate } else { of_side.baseline };
    let paired = step.paired_count();
    let equal_texts = step.prompts.iter().map(PairedPrompt::equal_texts).sum();
    let scored_apart = step.prompts.iter().filter_map(PairedPrompt::contradiction).map(|(_, count)| count).sum();
    let mut unit = RolloutUnit {
        records,
        paired,
        equal_texts,
        scored_apart,
        garbled,
        looping,
        empty,
        ..RolloutUnit::empty(pair.task, step.step)
    };
    let means = PerSide::of(|side| mean(step.prompts.iter().filter(|pair| is_scored(pair)), side));
    (unit.score_baseline, unit.score_candidate) = (means.baseline.map(Number), means.candidate.map(Number));
    unit.drop = means.baseline.zip(means.candidate).map(|(baseline, candidate)| Number(baseline - candidate));
    let scored = |pair: &PairedPrompt<'_>| {
        let has = |answers: &[RolloutRecord]| answers.iter().filter(|answer| answer.score.is_some()).count();
        has(pair.baseline).min(has(pair.candidate)) as u64
    };
    let evidence = &mut unit.evidence;
    evidence.compared = step.prompts.iter().map(scored).sum();
    evidence.not_compared = paired.saturating_sub(evidence.compared);
    evidence.one_sided = [of_side.baseline.saturating_sub(paired), of_side.candidate.saturating_sub(paired)];
    evidence.offered = of_side.baseline.max(of_side.candidate);
    unit
}

/// Whether the scores of a prompt are judged: both sides have the same expected answer and as many answers, all with finite scores.
fn is_scored(pair: &PairedPrompt<'_>) -> bool {
    let is_finite = |answers: &[RolloutRecord]| answers.iter().all(|one| one.score.is_some_and(f64::is_finite));
    pair.baseline.len() == pair.candidate.len()
        && !pair.has_other_truth()
        && is_finite(pair.baseline)
        && is_finite(pair.candidate)
}

/// Mean score of a side over the answers to some prompts; `None` for none.
fn mean<'a, 'p: 'a>(pairs: impl Iterator<Item = &'a PairedPrompt<'p>>, side: Side) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_u64);
    for pair in pairs {
        let answers = if side == Side::Baseline { pair.baseline } else { pair.candidate };
        for score in answers.iter().filter_map(|answer| answer.score) {
            (sum, count) = (sum + score, count + 1);
        }
    }
    (count > 0).then(|| sum / count as f64)
}

fn about(rule: &Rule, task: &str) -> Finding {
    Finding::new(rule, task).with("unit", task).with("task", task)
}

/// Steps as a finding lists them.
fn listed(steps: &[u64]) -> Vec<String> {
    steps.iter().take(LISTED).map(u64::to_string).collect()
}

/// A finding with the steps that it is about.
fn with_steps(finding: Finding, steps: &[u64]) -> Finding {
    let finding = finding.with("steps", listed(steps)).with("of_steps", steps.len());
    match steps.first() {
        Some(step) => finding.with("step", *step),
        None => finding,
    }
}

impl JudgedRollouts {
    fn say(&mut self, finding: Finding, steps: &[u64]) {
        let wanted: BTreeSet<u64> = steps.iter().copied().collect();
        let is_about = |(_, unit): &(usize, &RolloutUnit)| wanted.contains(&unit.step);
        let places = self.units.iter().enumerate().filter(is_about).map(|(place, _)| place).collect();
        self.findings.push((finding, places));
    }

    /// Numbers of the steps that both runs have.
    fn common(steps: &[PairedStep<'_>]) -> Vec<u64> {
        let is_common = |step: &&PairedStep<'_>| step.sides.baseline.is_some() && step.sides.candidate.is_some();
        steps.iter().filter(is_common).map(|step| step.step).collect()
    }

    /// Reports lines and files that cannot be read, with the first of each side.
    fn damage(&mut self, pair: &RolloutPair<'_>) {
        for side in Side::BOTH {
            let damages = &pair.rollouts[side].account.damages;
            let Some(first) = damages.first() else { continue };
            let step = first.path.rsplit('/').next().and_then(|name| name.split('.').next()?.parse::<u64>().ok());
            let mut finding = Finding::new(&rules::DAMAGED, &first.path)
                .with("unit", pair.task)
                .with("task", pair.task)
                .with("path", first.path.as_str())
                .with("side", side.as_str())
                .with("reason", first.reason.as_str());
            if let Some(line) = first.line {
                finding = finding.with("line", line).with("count", damages.len());
            }
            for damage in damages {
                let of_step = self.units.iter().position(|unit| Some(unit.step) == step).unwrap_or(0);
                if let Some(unit) = self.units.get_mut(of_step) {
                    unit.evidence.damaged += 1;
                    unit.evidence.example("damaged", damage.path.as_str());
                }
            }
            let steps: Vec<u64> = self.units.iter().map(|unit| unit.step).collect();
            let about: Vec<u64> = step.filter(|step| steps.contains(step)).map_or(steps, |step| vec![step]);
            self.say(finding, &about);
        }
    }

    fn missing_steps(&mut self, task: &str, steps: &[PairedStep<'_>]) {
        for side in Side::BOTH {
            let lacking = steps.iter().filter(|step| step.sides[side].is_none()).map(|step| step.step);
            let lacking: Vec<u64> = lacking.collect();
            if !lacking.is_empty() {
                let finding = about(&rules::ROLLOUT_STEP_MISSING, task).with("side", side.as_str());
                self.say(with_steps(finding, &lacking), &lacking);
            }
        }
    }

    /// Reports steps without a common prompt, and steps of which too few answers have a partner.
    fn prompts(&mut self, task: &str, steps: &[PairedStep<'_>]) {
        let common = || steps.iter().filter(|step| step.sides.baseline.is_some() && step.sides.candidate.is_some());
        let others: Vec<&PairedStep<'_>> = common().filter(|step| step.prompts.is_empty()).collect();
        if let Some(first) = others.first() {
            let numbers: Vec<u64> = others.iter().map(|step| step.step).collect();
            let texts = PerSide::of(|side| first.sides[side].map_or("", |step| step.first_prompt.as_str()));
            let (at, [baseline, candidate]) = first_difference([texts.baseline, texts.candidate]);
            let finding = about(&rules::ROLLOUT_PROMPTS_DIFFER, task).with("character", at);
            let finding = finding.with("baseline", baseline).with("candidate", candidate);
            self.say(with_steps(finding, &numbers), &numbers);
        }
        let of = |step: &PairedStep<'_>| step.answer_count(Side::Baseline).max(step.answer_count(Side::Candidate));
        let is_apart = |step: &&PairedStep<'_>| {
            !step.prompts.is_empty() && (step.paired_count() as f64) < PAIRED * of(step) as f64
        };
        let apart: Vec<&PairedStep<'_>> = common().filter(is_apart).collect();
        if !apart.is_empty() {
            let numbers: Vec<u64> = apart.iter().map(|step| step.step).collect();
            let paired: u64 = apart.iter().map(|step| step.paired_count()).sum();
            let all: u64 = apart.iter().map(|step| of(step)).sum();
            let finding = about(&rules::ROLLOUT_UNPAIRED, task).with("paired", paired).with("of", all);
            self.say(with_steps(finding, &numbers), &numbers);
        }
    }

    fn truths(&mut self, task: &str, steps: &[PairedStep<'_>]) {
        let other = |step: &PairedStep<'_>| step.prompts.iter().filter(|pair| pair.has_other_truth()).count() as u64;
        self.count(&rules::ROLLOUT_TRUTH_DIFFERS, task, steps, |step| (other(step), step.prompts.len() as u64));
    }

    /// Reports a kind of answers that at least one step has, with their number.
    fn count(
        &mut self,
        rule: &Rule,
        task: &str,
        steps: &[PairedStep<'_>],
        counts: impl Fn(&PairedStep<'_>) -> (u64, u64),
    ) {
        let (mut numbers, mut count, mut of) = (Vec::new(), 0, 0);
        for step in steps {
            let (own, all) = counts(step);
            of += all;
            if own > 0 {
                numbers.push(step.step);
                count += own;
            }
        }
        if count > 0 {
            let finding = about(rule, task).with("count", count).with("of", of);
            self.say(with_steps(finding, &numbers), &numbers);
        }
    }

    fn scores_contradict(&mut self, task: &str, steps: &[PairedStep<'_>]) {
        let (mut numbers, mut count, mut first) = (Vec::new(), 0, None);
        for step in steps {
            for (scores, own) in step.prompts.iter().filter_map(PairedPrompt::contradiction) {
                first.get_or_insert(scores);
                count += own;
                if numbers.last() != Some(&step.step) {
                    numbers.push(step.step);
                }
            }
        }
        let Some([baseline, candidate]) = first else { return };
        let of: u64 = self.units.iter().map(|unit| unit.equal_texts).sum();
        let finding = about(&rules::ROLLOUT_SCORE_CONTRADICTS, task).with("count", count).with("of", of.max(count));
        let finding = finding.with("baseline", baseline).with("candidate", candidate);
        self.say(with_steps(finding, &numbers), &numbers);
    }

    fn non_finite(&mut self, task: &str, steps: &[PairedStep<'_>]) {
        let is_broken = |answer: &&RolloutRecord| answer.score.is_some_and(|score| !score.is_finite());
        let broken = |step: &PairedStep<'_>, side: Side| {
            let answers = step.sides[side].into_iter().flat_map(|step| step.prompts.values()).flatten();
            answers.filter(is_broken).count() as u64
        };
        let beyond = |step: &PairedStep<'_>| {
            let candidate = broken(step, Side::Candidate);
            let is_alone = step.sides.baseline.is_some() && candidate > broken(step, Side::Baseline);
            (if is_alone { candidate } else { 0 }, step.answer_count(Side::Candidate))
        };
        self.count(&rules::ROLLOUT_SCORE_NON_FINITE, task, steps, beyond);
    }

    /// Tests the mean score of every prompt for a drop.
    fn scores(&mut self, pair: &RolloutPair<'_>, steps: &[PairedStep<'_>]) {
        let mut prompts: BTreeMap<u64, Vec<&PairedPrompt<'_>>> = BTreeMap::new();
        for pair in steps.iter().flat_map(|step| &step.prompts).filter(|pair| is_scored(pair)) {
            prompts.entry(pair.prompt).or_default().push(pair);
        }
        let of = |side: Side| mean(prompts.values().flatten().copied(), side);
        let loss = |pairs: &Vec<&PairedPrompt<'_>>| {
            let of = |side: Side| mean(pairs.iter().copied(), side).unwrap_or(0.0);
            of(Side::Baseline) - of(Side::Candidate)
        };
        let losses: Vec<f64> = prompts.values().map(loss).collect();
        let (Some(baseline), Some(candidate)) = (of(Side::Baseline), of(Side::Candidate)) else { return };
        let drop = losses.iter().sum::<f64>() / losses.len() as f64;
        let margin = range(&prompts) * if pair.rollouts.baseline.is_greedy() { DROP.1 } else { DROP.0 };
        if drop < margin {
            return;
        }
        let p = permutation::sign_flip_test(&losses, permutation::draws(1)).worse;
        if p > CHANCE {
            return;
        }
        let finding =
            about(&rules::ROLLOUT_SCORE_DIFFERS, pair.task).with("baseline", baseline).with("candidate", candidate);
        let finding = finding.with("drop", drop).with("margin", margin).with("p", p).with("prompts", prompts.len());
        self.say(finding, &Self::common(steps));
    }

    fn lengths(&mut self, task: &str, steps: &[PairedStep<'_>]) {
        let pairs = || steps.iter().flat_map(|step| &step.prompts);
        let lengths = |side: Side| -> Vec<f64> {
            let answers = |pair: &PairedPrompt<'_>| match side {
                Side::Baseline => pair.baseline.to_vec(),
                Side::Candidate => pair.candidate.to_vec(),
            };
            pairs().flat_map(answers).map(|answer| answer.characters as f64).collect()
        };
        let (baseline, candidate) = (lengths(Side::Baseline), lengths(Side::Candidate));
        if baseline.len().min(candidate.len()) < LEAST_LENGTHS {
            return;
        }
        let (Some(baseline), Some(candidate)) = (upper_median(baseline), upper_median(candidate)) else { return };
        if baseline > 0.0 && (candidate >= LENGTHS * baseline || candidate * LENGTHS <= baseline) {
            let finding =
                about(&rules::ROLLOUT_TEXTS_DIFFER, task).with("baseline", baseline).with("candidate", candidate);
            let finding = if candidate > 0.0 {
                finding.with("factor", (candidate / baseline).max(baseline / candidate))
            } else {
                finding
            };
            self.say(finding, &Self::common(steps));
        }
    }

    /// Reports answers that are wrong by themselves: over all steps, and otherwise at single steps.
    fn answers(&mut self, pair: &RolloutPair<'_>) {
        let found = paired_answer_findings(pair.task, &pair.tallies.baseline.all, &pair.tallies.candidate.all);
        let told: BTreeSet<String> = found.iter().map(|finding| finding.code.clone()).collect();
        let steps: Vec<u64> = self.units.iter().map(|unit| unit.step).collect();
        for finding in found {
            self.say(finding, &steps);
        }
        type Of = fn(&AnswerCounts) -> u64;
        let kinds: [(&Rule, Of); 3] = [
            (&rules::GARBAGE, |counts| counts.garbage),
            (&rules::LOOPS, |counts| counts.loops),
            (&rules::EMPTY, |counts| counts.empty),
        ];
        for (rule, of) in kinds.into_iter().filter(|(rule, _)| !told.contains(rule.code)) {
            let is_bad = |step: &&u64| {
                let [baseline, candidate] =
                    [pair.tallies.baseline, pair.tallies.candidate].map(|side| side.of_step(**step));
                let least = OF_A_STEP * candidate.answers as f64;
                candidate.answers > 2
                    && of(&candidate) > 2
                    && of(&candidate) as f64 >= least
                    && (of(&baseline) as f64) < least / 2.0
            };
            let bad: Vec<u64> = steps.iter().filter(is_bad).copied().collect();
            let sum = |side: &RolloutTally, part: Of| bad.iter().map(|step| part(&side.of_step(*step))).sum::<u64>();
            if !bad.is_empty() {
                let (baseline, candidate) = (pair.tallies.baseline, pair.tallies.candidate);
                let finding = about(rule, pair.task).with_severity(Severity::Fail);
                let finding =
                    finding.with("count", sum(candidate, of)).with("of", sum(candidate, |counts| counts.answers));
                let finding = finding.with("baseline", sum(baseline, of));
                let finding = finding.with("baseline_of", sum(baseline, |counts| counts.answers));
                self.say(with_steps(finding, &bad), &bad);
            }
        }
    }

    /// Notes that the same prompts have other answers, where there is nothing worse to report.
    fn resampled(&mut self, task: &str) {
        let paired: u64 = self.units.iter().map(|unit| unit.paired).sum();
        let equal: u64 = self.units.iter().map(|unit| unit.equal_texts).sum();
        let is_quiet = self.findings.iter().all(|(finding, _)| finding.severity <= Severity::Info);
        if is_quiet && (equal as f64) < EQUAL * paired as f64 {
            let finding = about(&rules::ROLLOUT_RESAMPLED, task).with("equal", equal).with("of", paired);
            let steps: Vec<u64> = self.units.iter().map(|unit| unit.step).collect();
            self.say(finding, &steps);
        }
    }
}

/// Range of the baseline's scores. Where all are equal it is their magnitude, and 1 where all are 0.
fn range(prompts: &BTreeMap<u64, Vec<&PairedPrompt<'_>>>) -> f64 {
    let scores = prompts.values().flatten().flat_map(|pair| pair.baseline).filter_map(|answer| answer.score);
    let (least, most) =
        scores.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), score| (least.min(score), most.max(score)));
    match (most - least, most.abs()) {
        (range, _) if range > 0.0 && range.is_finite() => range,
        (_, size) if size > 0.0 && size.is_finite() => size,
        _ => 1.0,
    }
}

/// Position of the first character that differs, from 1, and an excerpt around it from each text.
fn first_difference(texts: [&str; 2]) -> (u64, [String; 2]) {
    let [baseline, candidate] = texts;
    let at = baseline.chars().zip(candidate.chars()).take_while(|(one, other)| one == other).count();
    let around = |text: &str| text.chars().skip(at.saturating_sub(SHOWN.0)).take(SHOWN.0.min(at) + SHOWN.1).collect();
    (at as u64 + 1, [around(baseline), around(candidate)])
}
