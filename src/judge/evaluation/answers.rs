//! Judges answers by themselves: no text, garbled text, loops, ends at the limit of tokens, log-probabilities that are NaN, and
//! answers that drift although nothing is sampled.
//!
//! docs/evaluation.md has the limits, and the sound answers that look similar.

use super::rules;
use crate::compare::evaluation::answers::{AnswerMeasures, RepeatLimits, measure};
use crate::compare::evaluation::binomial;
use crate::hash::{self, ByHash};
use crate::judge::rule::Rule;
use crate::read::evaluation::{Answer, Generations};
use crate::result::finding::Finding;
use crate::result::unit::AnswerCounts;
use crate::verdict::Severity;

/// Repeats that make a loop: longest repeated unit in characters, and fewest times.
const REPEATS: RepeatLimits = RepeatLimits { most_unit: 200, least_times: 4 };
/// Fewest characters that a loop covers, and least share of the answer.
const LOOP: (u64, f64) = (60, 0.4);
/// Fewest characters of an answer that can be garbled, and least share of replacement characters in it.
const GARBAGE: (u64, f64) = (10, 0.2);
/// Fewest wrong answers that count.
const LEAST: u64 = 3;
/// Shares of wrong answers that warn and that fail.
const SHARES: (f64, f64) = (0.05, 0.2);
/// Limits for answers cut off at the limit of tokens: fewest answers, least share of them cut, and the characters that more than half of
/// the answers have to exceed. Choices of one token end at the limit by design.
const CUT: (u64, f64, u64) = (20, 0.9, 16);
/// Times that a prompt has to be asked before its answers can drift.
const ASKED: u32 = 3;
/// Most prompts whose answers are remembered; answers to later prompts are not compared.
const MOST_PROMPTS: usize = 1 << 20;
/// Largest p-value, and least factor over the baseline's share, at which a candidate is worse than a baseline that has such
/// answers too.
const BEYOND: (f64, f64) = (0.01, 2.0);

/// Measures an answer, so that it can be added to a tally.
pub(crate) fn measure_answer(answer: &Answer<'_>) -> AnswerMeasures {
    measure(answer, REPEATS)
}

/// Answers of one file or folder, counted.
#[derive(Debug, Default)]
pub struct AnswerTally {
    answers: u64,
    garbage: Count,
    loops: Count,
    empty: Count,
    non_finite: Count,
    cut: Count,
    /// Answers with a recorded reason of their end.
    ended: u64,
    /// Those of them that are longer than a choice of one token.
    long: u64,
    /// Prompts by a hash of step and text.
    prompts: ByHash<Asked>,
    /// Prompts that were asked often enough for their answers to drift.
    asked_often: u64,
    drifting: Count,
}

/// Number of answers of a kind, with step and line of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    count: u64,
    first: Option<(Option<u64>, u64)>,
}

/// Hash of a prompt's first answer, how often the prompt was asked, and whether an answer differed.
#[derive(Clone, Copy, Debug)]
struct Asked {
    text: u64,
    times: u32,
    differs: bool,
}

impl Count {
    fn add(&mut self, answer: &AnswerMeasures) {
        self.count += 1;
        self.first = self.first.or(Some((answer.step, answer.line)));
    }
}

impl AnswerTally {
    /// Counts the answers of a file that is in memory.
    pub(crate) fn from_generations(file: &Generations) -> Self {
        let mut tally = Self::default();
        file.answers().for_each(|answer| tally.add(measure_answer(&answer)));
        tally
    }

    /// Adds an answer.
    #[allow(clippy::needless_pass_by_value, reason = "the answer is taken up, and small")]
    pub fn add(&mut self, answer: AnswerMeasures) {
        self.answers += 1;
        let part = |part: u64, of: u64, least: f64| part as f64 >= least * of as f64;
        let is_garbage =
            answer.characters >= GARBAGE.0 && answer.replaced > 0 && part(answer.replaced, answer.signs, GARBAGE.1);
        let is_loop = answer.repeated >= LOOP.0 && part(answer.repeated, answer.characters, LOOP.1);
        if is_garbage {
            self.garbage.add(&answer);
        } else if !answer.has_text && !answer.is_textless {
            self.empty.add(&answer);
        } else if is_loop {
            self.loops.add(&answer);
        }
        if answer.has_nan {
            self.non_finite.add(&answer);
        }
        if answer.has_end {
            self.ended += 1;
            self.long += u64::from(answer.characters > CUT.2);
        }
        if answer.is_cut {
            self.cut.add(&answer);
        }
        self.ask(&answer);
    }

    /// Compares an answer with the first one to its prompt.
    fn ask(&mut self, answer: &AnswerMeasures) {
        let Some(prompt) = answer.prompt else { return };
        let key = hash::hash_of(&(answer.step, prompt));
        if self.prompts.len() >= MOST_PROMPTS && !self.prompts.contains_key(&key) {
            return;
        }
        let asked = self.prompts.entry(key).or_insert(Asked { text: answer.text, times: 0, differs: false });
        asked.times = asked.times.saturating_add(1);
        let was_told = asked.differs && asked.times > ASKED;
        asked.differs |= asked.text != answer.text;
        // Answers may differ if they were sampled. Without a record of that, nothing is known.
        if answer.is_sampled == Some(false) {
            self.asked_often += u64::from(asked.times == ASKED);
            if asked.differs && asked.times >= ASKED && !was_told {
                self.drifting.add(answer);
            }
        }
    }

    /// Number of answers that were added.
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// Number of different prompts.
    pub fn prompts(&self) -> usize {
        self.prompts.len()
    }

    /// Whether there are enough answers for a rule to fail.
    pub(crate) fn is_enough(&self) -> bool {
        self.answers >= LEAST
    }

    /// The counts that a result keeps.
    pub fn counts(&self) -> AnswerCounts {
        AnswerCounts {
            answers: self.answers,
            garbage: self.garbage.count,
            loops: self.loops.count,
            empty: self.empty.count,
            cut: self.cut.count,
            non_finite: self.non_finite.count,
            drifting: self.drifting.count,
        }
    }
}

/// A kind of wrong answers: its rule, its count of all candidates for it, and its severity in one run.
struct Kind {
    rule: &'static Rule,
    of: fn(&AnswerTally) -> (Count, u64),
    level: fn(&AnswerTally) -> Option<Severity>,
}

/// The rules, in the order of findings.
const KINDS: [Kind; 6] = [
    Kind { rule: &rules::NON_FINITE_ANSWERS, of: |all| (all.non_finite, all.answers), level: non_finite },
    Kind { rule: &rules::GARBAGE, of: |all| (all.garbage, all.answers), level: |all| by_share(all.garbage, all) },
    Kind { rule: &rules::LOOPS, of: |all| (all.loops, all.answers), level: |all| by_share(all.loops, all) },
    Kind { rule: &rules::EMPTY, of: |all| (all.empty, all.answers), level: |all| by_share(all.empty, all) },
    Kind { rule: &rules::CUT, of: |all| (all.cut, all.ended), level: cut },
    Kind { rule: &rules::DRIFT, of: |all| (all.drifting, all.asked_often), level: drift },
];

fn non_finite(all: &AnswerTally) -> Option<Severity> {
    (all.non_finite.count > 0).then_some(Severity::Fail)
}

fn by_share(count: Count, all: &AnswerTally) -> Option<Severity> {
    let share = count.count as f64 / all.answers.max(1) as f64;
    match count.count >= LEAST {
        true if share >= SHARES.1 => Some(Severity::Fail),
        true if share >= SHARES.0 => Some(Severity::Warn),
        _ => None,
    }
}

fn cut(all: &AnswerTally) -> Option<Severity> {
    let (least, share, _) = CUT;
    let is_long = 2 * all.long > all.ended;
    let is_cut = all.ended >= least && all.cut.count as f64 >= share * all.ended as f64;
    (is_cut && is_long).then_some(Severity::Warn)
}

fn drift(all: &AnswerTally) -> Option<Severity> {
    (all.drifting.count > 0).then_some(Severity::Warn)
}

/// Findings about the answers of one run to `task`.
pub(crate) fn answer_findings(task: &str, answers: &AnswerTally) -> Vec<Finding> {
    let found = |kind: &Kind| {
        let severity = (kind.level)(answers)?;
        Some(about(kind, task, answers).with_severity(severity))
    };
    KINDS.iter().filter_map(found).collect()
}

/// Findings about the candidate's answers compared with the baseline's. Wrong answers that exceed the baseline's fail; those that both
/// have alike are information.
pub(crate) fn paired_answer_findings(task: &str, baseline: &AnswerTally, candidate: &AnswerTally) -> Vec<Finding> {
    let found = |kind: &Kind| {
        let alone = (kind.level)(candidate)?;
        let ((candidate_count, candidate_all), (baseline_count, baseline_all)) =
            ((kind.of)(candidate), (kind.of)(baseline));
        let is_beyond = exceeds((candidate_count.count, candidate_all), (baseline_count.count, baseline_all));
        let severity = match (kind.level)(baseline) {
            _ if is_beyond => Severity::Fail,
            Some(_) => Severity::Info,
            None => alone.min(Severity::Warn),
        };
        let finding = about(kind, task, candidate).with_severity(severity);
        Some(finding.with("baseline", baseline_count.count).with("baseline_of", baseline_all))
    };
    KINDS.iter().filter_map(found).collect()
}

/// Whether the candidate has more of a kind than the baseline: the baseline has none, or chance does not explain the excess.
fn exceeds((candidate, candidate_all): (u64, u64), (baseline, baseline_all): (u64, u64)) -> bool {
    if baseline == 0 {
        return true;
    }
    let (chance, factor) = BEYOND;
    let share = |count: u64, of: u64| count as f64 / of.max(1) as f64;
    let expected = share(candidate_all, candidate_all + baseline_all);
    share(candidate, candidate_all) >= factor * share(baseline, baseline_all)
        && binomial::upper_tail(candidate, candidate + baseline, expected) <= chance
}

fn about(kind: &Kind, task: &str, answers: &AnswerTally) -> Finding {
    let (count, of) = (kind.of)(answers);
    let mut finding = Finding::new(kind.rule, task).with("unit", task).with("task", task);
    finding = finding.with("count", count.count).with("of", of);
    if let Some((step, line)) = count.first {
        finding = finding.with("line", line);
        if let Some(step) = step {
            finding = finding.with("step", step);
        }
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::finding::Fact;

    const HEALTHY: &str = "The river is longer than the road, because it turns twice.";

    fn tally<'a>(answers: impl IntoIterator<Item = Answer<'a>>) -> AnswerTally {
        let mut tally = AnswerTally::default();
        answers.into_iter().for_each(|answer| tally.add(measure_answer(&answer)));
        tally
    }

    fn texts(text: &str, count: usize, of: usize) -> AnswerTally {
        let text = |nth| if nth < count { text } else { HEALTHY };
        tally((0..of).map(|nth| Answer { text: text(nth), ..Answer::default() }))
    }

    fn said(tally: &AnswerTally) -> Vec<(String, Severity)> {
        answer_findings("g", tally).into_iter().map(|finding| (finding.code, finding.severity)).collect()
    }

    fn one(code: &str, severity: Severity) -> Vec<(String, Severity)> {
        vec![(code.to_owned(), severity)]
    }

    #[test]
    fn a_fifth_of_wrong_answers_fails_and_a_twentieth_warns() {
        let looping = "no, no. ".repeat(20);
        for (text, code) in [
            ("\u{fffd}\u{fffd}\u{fffd}x的的 的的,,1", "generation-garbage"),
            ("", "generation-empty"),
            (&looping, "generation-loops"),
        ] {
            assert_eq!(said(&texts(text, 12, 60)), one(code, Severity::Fail), "{code}");
            assert_eq!(said(&texts(text, 3, 60)), one(code, Severity::Warn), "{code}");
            assert!(said(&texts(text, 2, 6)).is_empty(), "{code}: two are an accident");
            assert!(said(&texts(text, 3, 61)).is_empty(), "{code}: fewer than a twentieth");
        }
        let first = answer_findings("g", &texts("", 12, 60)).swap_remove(0);
        assert_eq!((&first.facts["count"], &first.facts["of"]), (&Fact::Count(12), &Fact::Count(60)));
    }

    #[test]
    fn what_only_looks_like_a_loop_or_garbage_is_quiet() {
        let table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n";
        let rows: String = (0..30).map(|nth| format!("self.w{nth} = layer({nth})\n")).collect();
        let half = format!("{}{}", HEALTHY.repeat(2), "ha".repeat(30));
        for text in
            ["哈哈哈哈哈哈哈哈哈哈", table, &rows, &half, "A", "a <unk> in a text of its own", "\u{fffd}\u{fffd}"]
        {
            assert!(said(&texts(text, 60, 60)).is_empty(), "{text}");
        }
    }

    #[test]
    fn garbage_is_no_loop_as_well() {
        let text = "\u{fffd}".repeat(100);
        assert_eq!(said(&texts(&text, 30, 60)), one("generation-garbage", Severity::Fail));
    }

    #[test]
    fn ends_at_the_limit_warn_unless_they_are_meant() {
        let cut = |text: &'static str, count: usize, of: usize, ignores_end| {
            let finish = |nth| if nth < count { "length" } else { "stop" };
            said(&tally((0..of).map(|nth| Answer {
                text,
                finish: Some(finish(nth)),
                ignores_end,
                ..Answer::default()
            })))
        };
        assert_eq!(cut(HEALTHY, 18, 20, false), one("generation-cut", Severity::Warn));
        assert!(cut(HEALTHY, 17, 20, false).is_empty() && cut(HEALTHY, 19, 19, false).is_empty());
        assert!(cut("A", 60, 60, false).is_empty(), "choices of one token");
        assert!(cut(HEALTHY, 60, 60, true).is_empty(), "a measurement of speed");
    }

    #[test]
    fn one_log_probability_that_is_nan_fails() {
        let answer = |has_nan| Answer { text: HEALTHY, has_nan, ..Answer::default() };
        assert_eq!(said(&tally([answer(false), answer(true)])), one("generation-non-finite", Severity::Fail));
    }

    #[test]
    fn answers_drift_where_nothing_is_drawn() {
        let ask = |texts: &[&'static str], is_sampled, step: fn(u64) -> Option<u64>| {
            let answer = |(nth, text): (usize, &&'static str)| Answer {
                text,
                prompt: Some(7),
                is_sampled,
                step: step(nth as u64),
                ..Answer::default()
            };
            tally(texts.iter().enumerate().map(answer))
        };
        let parted = ["a", "a", "b", "c"];
        let drift = ask(&parted, Some(false), |_| None);
        assert_eq!(said(&drift), one("generation-drift", Severity::Warn));
        let facts = answer_findings("g", &drift).swap_remove(0).facts;
        assert_eq!((&facts["count"], &facts["of"]), (&Fact::Count(1), &Fact::Count(1)));
        let late = ask(&["a", "a", "a", "a", "b", "b"], Some(false), |_| None);
        assert_eq!(late.counts().drifting, 1);
        assert!(said(&ask(&["a", "a", "a"], Some(false), |_| None)).is_empty());
        assert!(said(&ask(&["a", "b"], Some(false), |_| None)).is_empty(), "asked twice");
        assert!(said(&ask(&parted, Some(true), |_| None)).is_empty());
        assert!(said(&ask(&parted, Some(false), Some)).is_empty(), "the weights of every step are others");
        assert!(said(&ask(&parted, None, |_| None)).is_empty(), "whether they were drawn is not known");
    }

    #[test]
    fn of_two_runs_the_candidates_own_fails_and_what_both_have_is_a_note() {
        let severity = |baseline: &AnswerTally, candidate: &AnswerTally| {
            paired_answer_findings("g", baseline, candidate).first().map(|finding| finding.severity)
        };
        let of = |count| texts("", count, 60);
        assert_eq!(severity(&of(0), &of(3)), Some(Severity::Fail));
        assert_eq!(severity(&of(30), &of(31)), Some(Severity::Info));
        assert_eq!(severity(&of(4), &of(50)), Some(Severity::Fail));
        assert_eq!(severity(&of(2), &of(3)), Some(Severity::Warn), "chance explains one more");
        assert_eq!(severity(&of(50), &of(0)), None);
        let note = paired_answer_findings("g", &of(30), &of(31)).swap_remove(0);
        assert_eq!((&note.facts["baseline"], &note.facts["baseline_of"]), (&Fact::Count(30), &Fact::Count(60)));
    }
}
