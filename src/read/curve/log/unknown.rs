//! Lines of a text that hold a loss and that the grammar does not read, and the pattern that would read them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{DECIMAL, LogPattern, Names, SEARCHED, constant_regex, parse_with};
use crate::fetch::ByteSource;
use crate::read::curve::lines::Lines;

static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| constant_regex(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|\b(?:nan|NaN|inf)\b)"));
/// A word for a counter at the end of the text before a number.
static COUNTER: LazyLock<Regex> =
    LazyLock::new(|| constant_regex(r"(?i)\b(?:step|iter|iteration|it|batch|update)s?\W*$"));

/// Number of lines of one shape from which a text is taken for a log.
const ALIKE: usize = 3;
/// Largest number of shapes that are counted.
const MAX_SHAPES: usize = 256;
/// Largest number of characters that are read of a line.
const WIDTH: usize = 2000;

/// Lines of one shape that the grammar does not read.
#[derive(Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The first of them.
    pub line: String,
    /// Text of the lines with `#` in place of each number.
    shape: String,
    /// Pattern for `loss.log-pattern` that reads them; `None` where none could be derived.
    pub pattern: Option<String>,
}

impl Unknown {
    /// Whether a text has lines of this shape and a pattern reads all of them.
    pub fn is_read(&self, source: &dyn ByteSource, pattern: &LogPattern) -> bool {
        let (mut lines, mut names, mut count) = (Lines::new(source), Names::default(), 0_u64);
        while lines.consumed() < SEARCHED {
            let Ok(Some(line)) = lines.next() else { break };
            let line: String = String::from_utf8_lossy(line).chars().take(WIDTH).collect();
            if NUMBER.replace_all(&line, "#") != self.shape {
                continue;
            }
            if parse_with(&line, pattern, &mut names).is_none() {
                return false;
            }
            count += 1;
        }
        count > 0
    }
}

/// The first shape that three lines share which name a loss and hold a decimal number; `None` where there is no such shape.
pub fn find(source: &dyn ByteSource) -> Option<Unknown> {
    let mut shapes: HashMap<String, Vec<String>> = HashMap::new();
    let mut lines = Lines::new(source);
    while lines.consumed() < SEARCHED {
        let line = lines.next().ok()??;
        if line.contains(&0) {
            return None;
        }
        let line: String = String::from_utf8_lossy(line).chars().take(WIDTH).collect();
        if !line.to_lowercase().contains("loss") && !line.contains("损失") || !DECIMAL.is_match(&line) {
            continue;
        }
        let shape = NUMBER.replace_all(&line, "#").into_owned();
        if shapes.len() >= MAX_SHAPES && !shapes.contains_key(&shape) {
            continue;
        }
        let alike = shapes.entry(shape.clone()).or_default();
        alike.push(line);
        if alike.len() == ALIKE {
            return Some(Unknown { pattern: pattern(alike), line: alike.first()?.clone(), shape });
        }
    }
    None
}

/// Byte ranges of the numbers of a line.
fn numbers(line: &str) -> Vec<Range<usize>> {
    NUMBER.find_iter(line).map(|found| found.range()).collect()
}

/// The pattern for lines that differ only in their numbers.
fn pattern(lines: &[String]) -> Option<String> {
    let line = lines.first()?;
    let numbers = numbers(line);
    let loss = loss(line, &numbers)?;
    let step = (0..numbers.len()).filter(|at| *at != loss && counts(lines, *at)).min_by_key(|at| {
        let before = numbers.get(*at).and_then(|place| line.get(..place.start)).unwrap_or_default();
        (!COUNTER.is_match(before), *at)
    });
    let first = step.map_or(loss, |step| step.min(loss));
    let last = step.map_or(loss, |step| step.max(loss));
    let start = start(line, &numbers, first)?;
    let is_plain = last - first <= 1;
    let literal = |text: &str| if is_plain { text.to_owned() } else { regex::escape(text) };
    let mut pattern = String::new();
    let mut end = start;
    for at in first..=last {
        let place = numbers.get(at)?;
        pattern.push_str(&literal(line.get(end..place.start)?));
        pattern.push_str(if is_plain && at == loss {
            "{loss}"
        } else if is_plain {
            "{step}"
        } else if at == loss {
            r"(?<loss>[-+.\w]*[.\w])"
        } else if Some(at) == step {
            r"(?<step>\d+)"
        } else {
            r"[-+.\w]+"
        });
        end = place.end;
    }
    let trimmed = pattern.trim().to_owned();
    let is_sayable = !trimmed.contains(['`', '\'']) && !trimmed.contains(char::is_control);
    is_sayable.then_some(trimmed)
}

/// Offset of the literal text before the number `first` that distinguishes such lines from others. It begins after the number
/// before `first`, without the brackets that close that number.
fn start(line: &str, numbers: &[Range<usize>], first: usize) -> Option<usize> {
    let end = first.checked_sub(1).and_then(|at| numbers.get(at)).map_or(0, |place| place.end);
    let text = line.get(end..numbers.get(first)?.start)?;
    let word = text.find(char::is_alphanumeric).filter(|_| end > 0);
    Some(end + word.unwrap_or(0))
}

/// Index of the loss: the first decimal number after the word `loss`, or else the last one before it.
fn loss(line: &str, numbers: &[Range<usize>]) -> Option<usize> {
    let word = line.to_ascii_lowercase().find("loss").or_else(|| line.find("损失"))?;
    let is_decimal =
        |place: &Range<usize>| line.get(place.clone()).is_some_and(|text| text.contains(['.', 'e', 'E', 'n']));
    let places = || numbers.iter().enumerate().filter(|(_, place)| is_decimal(place));
    let behind = places().find(|(_, place)| place.start > word);
    behind.or_else(|| places().rfind(|(_, place)| place.start < word)).map(|(at, _)| at)
}

/// Whether the number at index `at` of the lines is a counter: it rises by the same amount from line to line, and is part of
/// neither a time of day nor a date.
fn counts(lines: &[String], at: usize) -> bool {
    let value = |line: &String| {
        let place = numbers(line).get(at).cloned()?;
        let text = line.get(place.clone())?;
        let before = line.get(..place.start)?.chars().next_back();
        let behind = line.get(place.end..)?;
        let joined = |sign: char| matches!(sign, ':' | '-' | '/' | '.' | '_') || sign.is_alphanumeric();
        let is_time = before.is_some_and(|sign| matches!(sign, ':' | '-' | '/'))
            && line.get(..place.start)?.chars().rev().nth(1).is_some_and(|sign| sign.is_ascii_digit())
            || behind.starts_with(joined) && behind.chars().nth(1).is_some_and(|sign| sign.is_ascii_digit());
        if is_time { None } else { text.parse::<u64>().ok() }
    };
    let values: Option<Vec<u64>> = lines.iter().map(value).collect();
    let Some(values) = values else { return false };
    let steps: Vec<i128> =
        values.iter().zip(values.iter().skip(1)).map(|(a, b)| i128::from(*b) - i128::from(*a)).collect();
    steps.first().is_some_and(|first| *first > 0 && steps.iter().all(|step| step == first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    fn unknown(line: impl Fn(u64) -> String) -> Option<Unknown> {
        let text: String = (1..=5).map(|step| line(step) + "\n").collect();
        find(&MemorySource::new("train.log", format!("building the model\n{text}").into_bytes()))
    }

    #[test]
    fn the_numbers_of_a_line_become_names() {
        for (first, pattern) in [
            ("LOSS@<1> ==> 9.5 units", "LOSS@<{step}> ==> {loss} units"),
            ("2026-11-22 10:11:12 it#1 our loss was 9.5", "it#{step} our loss was {loss}"),
            ("1 -> loss 9.5", "{step} -> loss {loss}"),
            ("loss 9.5", "loss {loss}"),
        ] {
            let (before, behind) = first
                .split_once('1')
                .filter(|_| first.contains("@<1") || first.starts_with('1'))
                .unwrap_or((first, ""));
            let line = |step: u64| match first {
                _ if behind.is_empty() => first.replace("it#1", &format!("it#{step}")),
                _ => format!("{before}{step}{behind}"),
            };
            let found = unknown(line).expect(first).pattern.expect(first);
            assert!(pattern.starts_with(&found), "{first}: {found}");
        }
    }

    #[test]
    fn a_pattern_reads_every_line_of_the_shape_or_none() {
        let text = |losses: [&str; 4]| {
            let lines = (1..).zip(losses).map(|(step, loss)| format!("LOSS@<{step}> ==> {loss} units\n"));
            MemorySource::new("train.log", lines.collect::<String>().into_bytes())
        };
        let own = text(["9.5", "8.5", "nan", "7.5"]);
        let found = find(&own).expect("lines");
        let whole = LogPattern::parse(r"LOSS@<(?<step>\d+)> ==> (?<loss>\S+) units").expect("sound");
        let digits = LogPattern::parse(r"LOSS@<(?<step>\d+)> ==> (?<loss>\d+\.\d+) units").expect("sound");
        assert!(found.is_read(&own, &whole) && found.is_read(&text(["1.5", "inf", "1.4", "1.3"]), &whole));
        assert!(!found.is_read(&own, &digits), "a line with NaN is not read");
        let other = MemorySource::new("train.log", b"loss of step 1 is 2.5\nloss of step 2 is 2.4\n".to_vec());
        assert!(!found.is_read(&other, &whole), "the other text has no such line");
    }

    #[test]
    fn numbers_between_both_are_passed_over() {
        let found = unknown(|step| format!("round {step} of 60 | loss ~ {}.5 |", 9 - step)).expect("lines");
        let pattern = found.pattern.expect("a pattern");
        let pattern = LogPattern::parse(&pattern).expect("sound");
        let record = parse_with(&found.line, &pattern, &mut Names::default()).expect("it reads the line");
        let values: Vec<f64> = record.pairs.iter().map(|pair| pair.value).collect();
        assert_eq!((record.step, values), (Some(1), vec![8.5]));
    }

    #[test]
    fn prose_and_programs_are_no_logs() {
        assert_eq!(unknown(|step| format!("{:x<1$} loss of 0.5", "", usize::try_from(step).expect("small"))), None);
        let program = b"loss1 = ce(x1)\nloss2 = ce(x2)\nloss3 = ce(x3)\nloss = 0.5 * loss1 + 0.5 * loss2\n";
        assert_eq!(find(&MemorySource::new("train.py", program.to_vec())), None);
    }
}
