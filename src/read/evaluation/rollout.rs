//! Rollouts of verl, `<step>.jsonl` with `input`, `output`, `gts`, `score` and `step`: docs/formats/evaluation.md.
//!
//! Answers to one prompt at one step are a set, because they are sampled at random and their order has no meaning.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer::{self, Answer, AnswerFile};
use super::cursor::{Cursor, Parsed};
use super::damage::EvaluationDamage;
use super::digest::Digest;
use super::lines::Line;
use super::place;
use super::question::{EvaluationSample, SampleValue, Samples, TextPlace};
use super::run::{EvaluationRun, EvaluationTask, Harness, Score, ScoreName};
use super::samples;
use crate::error::Error;
use crate::fetch::{Budget, Files};
use crate::kind::SampleId;
use crate::read::account::UnreadNumbers;
use crate::read::json::{self, Json};

/// Name of the metric of rollouts.
pub(super) const SCORE: &str = "score";
/// Name of rollouts in the root of a side.
const NAMELESS: &str = "rollouts";
/// Number of characters of a prompt that are kept.
const PROMPT: usize = 2000;
/// Most prompts of a folder's rollouts, over all steps.
const MOST_GROUPS: usize = 2_000_000;

/// One line of rollouts.
#[derive(Debug, Default, PartialEq)]
struct Rollout<'a> {
    input: Option<u64>,
    output: Option<Cow<'a, str>>,
    truth: Option<u64>,
    score: Option<f64>,
    step: Option<u64>,
}

/// Parts of a line that are kept in memory.
struct Kept {
    step: u64,
    input: u64,
    output: u64,
    truth: Option<u64>,
    score: Option<f64>,
    characters: u64,
    /// Prompt of the first line of a file; `None` for other lines.
    prompt: Option<String>,
    texts: TextPlace,
}

/// An answer with its score, for the comparison of the rollouts of two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RolloutRecord {
    /// Hash of the answer.
    pub output: u64,
    /// Hash of the expected answer; `None` if there is none.
    pub truth: Option<u64>,
    /// Its score; `None` if there is none.
    pub score: Option<f64>,
    /// Number of characters of the answer.
    pub characters: u64,
}

/// Rollouts of one step.
#[derive(Debug, Default)]
pub struct RolloutStep {
    /// Answers by the hash of their prompt. Several answers to one prompt are a set.
    pub prompts: BTreeMap<u64, Vec<RolloutRecord>>,
    /// Beginning of the first prompt.
    pub first_prompt: String,
}

/// Answers to one prompt at one step.
struct Group {
    answers: u64,
    scored: u64,
    sum: f64,
    truth: Option<u64>,
    texts: TextPlace,
    outputs: u64,
}

/// Rollouts of one folder.
#[derive(Debug)]
pub struct Rollouts {
    /// The rollouts as a run with one task, whose samples are the prompts of each step.
    pub run: EvaluationRun,
    /// Summary of their answers.
    pub account: AnswerFile,
    /// The answers by step.
    pub steps: BTreeMap<u64, RolloutStep>,
}

impl Default for Rollouts {
    fn default() -> Self {
        let account = AnswerFile::default();
        Self { run: run(&account, BTreeMap::new()), account, steps: BTreeMap::new() }
    }
}

impl Rollouts {
    /// Whether settings in their folder say that answers were not sampled at random.
    pub(crate) fn is_greedy(&self) -> bool {
        !self.run.tasks.is_empty() && self.run.tasks.values().all(|task| !task.is_sampled)
    }
}

/// Groups paths by folder. The files of a folder are the steps of one training.
pub(super) fn paths_by_folder<'a>(paths: &[&'a str]) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in paths {
        folders.entry(place::split_folder(path).0).or_default().push(path);
    }
    for paths in folders.values_mut() {
        paths.sort_by_key(|path| (step_of(path), *path));
    }
    folders
}

/// Step in the name of a file.
fn step_of(path: &str) -> Option<u64> {
    place::stem(path).parse().ok()
}

/// Calls `measure` with each answer of a folder's files, and `take` with the results in order of step and line.
pub(super) fn measure_answers<T: Send>(
    files: &dyn Files,
    (folder, paths): (&str, &[&str]),
    measure: impl Fn(&Answer<'_>) -> T + Sync,
    mut take: impl FnMut(T),
) -> AnswerFile {
    let mut account = account(folder);
    for path in paths {
        let read = |line: &Line<'_>, bytes: &[u8]| Ok(measure(&rollout(bytes, path)?.answer(line.number)));
        account.damages.extend(match files.open(path) {
            Ok(source) => samples::read_each_line(path, source.as_ref(), read, &mut take),
            Err(error) => vec![unopened(path, &error)],
        });
    }
    account
}

/// Reads the rollouts of a folder, and calls `measure` with each answer and `take` with the results.
pub(super) fn read<T: Send>(
    files: &dyn Files,
    (folder, paths): (&str, &[&str]),
    measure: impl Fn(&Answer<'_>) -> T + Sync,
    mut take: impl FnMut(T),
) -> Rollouts {
    let mut account = account(folder);
    let mut groups: BTreeMap<(u64, u64), Group> = BTreeMap::new();
    let mut steps: BTreeMap<u64, RolloutStep> = BTreeMap::new();
    let mut left_out = 0_u64;
    for path in paths {
        let source = match files.open(path) {
            Ok(source) => source,
            Err(error) => {
                account.damages.push(unopened(path, &error));
                continue;
            }
        };
        let (name, mut budget): (Arc<str>, Budget) = (Arc::from(*path), Budget::from_source(source.as_ref()));
        let read = |line: &Line<'_>, bytes: &[u8]| {
            let rollout = rollout(bytes, path)?;
            let prompt = (line.number == 1).then(|| prompt_of(path, bytes));
            let kept = rollout.kept(samples::line_place(&name, line), prompt)?;
            Ok((measure(&rollout.answer(line.number)), kept))
        };
        account.damages.extend(samples::read_each_line(path, source.as_ref(), read, |(measured, kept)| {
            take(measured);
            let is_known = groups.contains_key(&(kept.step, kept.input));
            let has_room =
                is_known || groups.len() < MOST_GROUPS && budget.reserve_value::<(Group, EvaluationSample)>(64).is_ok();
            if has_room && budget.reserve_value::<RolloutRecord>(0).is_ok() {
                keep(&mut steps, &kept);
                add(&mut groups, kept);
            } else {
                left_out += 1;
            }
        }));
    }
    if left_out > 0 {
        let reason = format!("{left_out} lines beyond what is read of one folder: {MOST_GROUPS} prompts, or memory");
        account.damages.push(EvaluationDamage { path: folder.to_owned(), line: None, reason });
    }
    Rollouts { run: run(&account, groups), account, steps }
}

/// The damage of a file that cannot be opened.
fn unopened(path: &str, error: &Error) -> EvaluationDamage {
    EvaluationDamage { path: path.to_owned(), line: None, reason: error.message().to_owned() }
}

fn account(folder: &str) -> AnswerFile {
    let name = place::last_part(folder);
    let task = if name.is_empty() { NAMELESS } else { name }.to_owned();
    let path = if folder.is_empty() { NAMELESS } else { folder }.to_owned();
    AnswerFile { task, path, ..AnswerFile::default() }
}

/// Reads a line of the file at `path`. The file's name gives the step if the line does not.
fn rollout<'a>(bytes: &'a [u8], path: &str) -> Result<Rollout<'a>, String> {
    let mut rollout = Rollout::default();
    let mut cursor = Cursor::new(bytes);
    let read: Parsed<()> = cursor
        .object(|key, cursor| {
            match key {
                "input" => rollout.input = digest(cursor)?,
                "output" if cursor.peek() == Some(b'"') => rollout.output = Some(cursor.text()?),
                "gts" => rollout.truth = digest(cursor)?,
                SCORE => rollout.score = cursor.number()?,
                "step" => rollout.step = cursor.number()?.and_then(whole),
                _ => cursor.skip()?,
            }
            Ok(())
        })
        .and_then(|()| cursor.end());
    read.map_err(|fault| fault.reason())?;
    rollout.step = rollout.step.or(step_of(path));
    match (rollout.input, &rollout.output) {
        (Some(_), Some(_)) => Ok(rollout),
        (None, _) => Err("expected `input`, found none".to_owned()),
        _ => Err("expected a text under `output`, found none".to_owned()),
    }
}

/// Digest of a value; `None` for `null`.
fn digest(cursor: &mut Cursor<'_>) -> Parsed<Option<u64>> {
    if cursor.peek() == Some(b'n') {
        cursor.skip()?;
        return Ok(None);
    }
    let mut digest = Digest::default();
    digest.add_value(cursor)?;
    Ok(digest.finish())
}

/// Step as a whole number; `None` if it is not one.
fn whole(step: f64) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number that fits")]
    (step >= 0.0 && step.fract().abs() <= 0.0 && step < 9e15).then_some(step as u64)
}

impl Rollout<'_> {
    fn answer(&self, line: u64) -> Answer<'_> {
        let text = self.output.as_deref().unwrap_or_default();
        Answer { step: self.step, line, prompt: self.input, text, ..Answer::default() }
    }

    fn kept(&self, texts: TextPlace, prompt: Option<String>) -> Result<Kept, String> {
        Ok(Kept {
            step: self.step.ok_or("expected a whole number under `step`, found none")?,
            input: self.input.unwrap_or_default(),
            output: self.output.as_deref().map(Digest::of_text).unwrap_or_default(),
            truth: self.truth,
            score: self.score,
            characters: self.output.as_deref().map_or(0, |output| output.chars().count() as u64),
            prompt,
            texts,
        })
    }
}

/// Adds an answer to those of its step.
fn keep(steps: &mut BTreeMap<u64, RolloutStep>, kept: &Kept) {
    let Kept { output, truth, score, characters, .. } = *kept;
    let step = steps.entry(kept.step).or_default();
    if let Some(prompt) = kept.prompt.as_ref().filter(|_| step.first_prompt.is_empty()) {
        step.first_prompt.clone_from(prompt);
    }
    step.prompts.entry(kept.input).or_default().push(RolloutRecord { output, truth, score, characters });
}

/// Beginning of a line's prompt.
fn prompt_of(path: &str, bytes: &[u8]) -> String {
    let line = json::parse_bytes(path, bytes).unwrap_or(Json::Null);
    let prompt = line.get("input").map(answer::message_text).unwrap_or_default();
    prompt.chars().take(PROMPT).collect()
}

fn add(groups: &mut BTreeMap<(u64, u64), Group>, kept: Kept) {
    let group = groups.entry((kept.step, kept.input)).or_insert_with(|| Group {
        answers: 0,
        scored: 0,
        sum: 0.0,
        truth: kept.truth,
        texts: kept.texts,
        outputs: 0,
    });
    group.answers += 1;
    // A wrapping sum of hashes does not depend on the order of the lines.
    group.outputs = group.outputs.wrapping_add(kept.output);
    if let Some(score) = kept.score {
        group.scored += 1;
        group.sum += score;
    }
}

/// Converts the rollouts into a run. A prompt with another number of answers counts as another question, because otherwise one
/// side could leave out its worse answers.
fn run(account: &AnswerFile, groups: BTreeMap<(u64, u64), Group>) -> EvaluationRun {
    let sample = |((step, input), group): ((u64, u64), Group)| {
        let times = if group.answers > 1 { format!(" x{}", group.answers) } else { String::new() };
        let mean = group.sum / group.answers as f64;
        EvaluationSample {
            id: SampleId::Text(format!("{step}/{input:016x}{times}")),
            document: group.truth,
            prompt: Some(input),
            answer: Some(group.outputs),
            values: BTreeMap::from([(SCORE.to_owned(), SampleValue::Number(mean))]),
            is_failed: group.scored < group.answers,
            texts: group.texts,
        }
    };
    let list: Vec<EvaluationSample> = groups.into_iter().map(sample).collect();
    let values = list.iter().filter(|sample| !sample.is_failed).filter_map(|sample| match sample.values.get(SCORE) {
        Some(SampleValue::Number(value)) => Some(*value),
        _ => None,
    });
    let (count, sum) = values.fold((0_u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    let score = Score { value: sum / count as f64, error: None, higher_is_better: Some(true) };
    let name = ScoreName { metric: SCORE.to_owned(), filter: None };
    let mut samples = Samples { by_filter: BTreeMap::from([(None, list)]) };
    samples.sort();
    let is_empty = samples.by_filter.values().all(Vec::is_empty);
    let task = EvaluationTask {
        is_sampled: true,
        scores: (count > 0).then_some((name, score)).into_iter().collect(),
        samples: (!is_empty).then_some(samples),
        damages: account.damages.clone(),
        ..EvaluationTask::default()
    };
    EvaluationRun {
        harness: Harness::Verl,
        model: account.path.clone(),
        path: account.path.clone(),
        settings: BTreeMap::new(),
        tasks: BTreeMap::from([(account.task.clone(), task)]),
        groups: BTreeMap::new(),
        older: Vec::new(),
        damages: Vec::new(),
        account: UnreadNumbers::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::{FileEntry, MemorySource, Source};

    struct InMemory(Vec<FileEntry>, Vec<(String, String)>);

    impl InMemory {
        fn new(files: &[(&str, &str)]) -> Self {
            let entry = |(path, text): &(&str, &str)| FileEntry { path: (*path).to_owned(), len: text.len() as u64 };
            let files_of = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
            Self(files.iter().map(entry).collect(), files_of.collect())
        }
    }

    impl Files for InMemory {
        fn location(&self) -> &str {
            "memory"
        }

        fn list(&self) -> &[FileEntry] {
            &self.0
        }

        fn open(&self, path: &str) -> crate::error::Result<Source> {
            let found = self.1.iter().find(|(name, _)| name == path).map(|(_, text)| text.clone().into_bytes());
            Ok(Arc::new(MemorySource::new(path, found.unwrap_or_default())))
        }
    }

    fn line(input: &str, output: &str, score: &str, step: u64) -> String {
        format!(r#"{{"input": "{input}", "output": "{output}", "gts": "1", "score": {score}, "step": {step}}}"#) + "\n"
    }

    fn samples(text: &str) -> Vec<EvaluationSample> {
        let files = InMemory::new(&[("r/7.jsonl", text)]);
        let read = read(&files, ("r", &["r/7.jsonl"][..]), |_| (), |()| ());
        let (_, task) = read.run.tasks.into_iter().next().expect("a task");
        task.samples.map(|samples| samples.by_filter.into_values().flatten().collect()).unwrap_or_default()
    }

    #[test]
    fn answers_to_one_prompt_are_one_sample_whatever_their_order() {
        let lines =
            [line("a", "x", "1.0", 1), line("b", "y", "0.0", 1), line("a", "z", "0", 1), line("a", "x", "1", 2)];
        let forward = samples(&lines.concat());
        let backward = samples(&lines.iter().rev().cloned().collect::<String>());
        assert_eq!(forward.len(), 3);
        let told = |samples: &[EvaluationSample]| -> Vec<_> {
            samples.iter().map(|sample| (sample.id.clone(), sample.answer, sample.values.clone())).collect()
        };
        assert_eq!(told(&forward), told(&backward));
        assert!(forward.iter().any(|sample| sample.values[SCORE] == SampleValue::Number(0.5)));
    }

    #[test]
    fn another_number_of_answers_is_another_sample() {
        let two = samples(&[line("a", "x", "1", 1), line("a", "y", "0", 1)].concat());
        let one = samples(&line("a", "x", "1", 1));
        assert_ne!(two[0].id, one[0].id);
    }

    #[test]
    fn a_score_that_is_missing_fails_its_prompt_and_nan_stays() {
        assert!(samples(&line("a", "x", "null", 1))[0].is_failed);
        let nan = samples(&line("a", "x", "NaN", 1));
        assert!(matches!(nan[0].values[SCORE], SampleValue::Number(value) if value.is_nan()) && !nan[0].is_failed);
    }

    #[test]
    fn the_name_of_the_file_tells_the_step_that_its_lines_do_not() {
        let text = r#"{"input": "a", "output": "x", "score": 1.0}"#;
        assert!(matches!(&samples(text)[0].id, SampleId::Text(id) if id.starts_with("7/")));
        let damages = |text: &str| {
            let files = InMemory::new(&[("r/7.jsonl", text)]);
            measure_answers(&files, ("r", &["r/7.jsonl"][..]), |_| (), |()| ()).damages.len()
        };
        assert_eq!(damages(r#"{"input": "a", "score": 1.0}"#), 1);
        assert_eq!(damages(r#"{"input": "a", "output": 3}"#), 1);
        assert_eq!(damages("{\"input\": \"a\", \"output\": \"\"}\n{\"input\""), 1);
        assert_eq!(damages(""), 1);
    }
}
