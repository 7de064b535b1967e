//! Measures of a single answer: how much of it is not text, and whether it ends in repeats.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::read::evaluation::Answer;

/// Token of a vocabulary for unknown input.
const UNKNOWN: &str = "<unk>";
/// Character that replaces bytes that are not text.
const REPLACED: char = '\u{fffd}';
/// Tokens that pad an answer after its end.
const FILLING: [&str; 12] = [
    "<pad>",
    "[PAD]",
    "<|pad|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<end_of_turn>",
    "<eos>",
    "</s>",
    "<|finetune_right_pad_id|>",
    "<｜end▁of▁sentence｜>",
];

/// Limits of the repeats that are searched at the end of an answer.
#[derive(Clone, Copy, Debug)]
pub struct RepeatLimits {
    /// Most characters of a repeated unit.
    pub most_unit: usize,
    /// Least number of repetitions of the unit.
    pub least_times: usize,
}

/// An answer in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerMeasures {
    /// Step of the training that it was drawn at.
    pub step: Option<u64>,
    /// Its line.
    pub line: u64,
    /// Hash of its prompt.
    pub prompt: Option<u64>,
    /// Hash of its text.
    pub text: u64,
    /// Characters of its text, without padding after its end.
    pub characters: u64,
    /// The same with each unknown token counted as one.
    pub signs: u64,
    /// Number of replacement characters and unknown tokens among these.
    pub replaced: u64,
    /// Characters covered by the repeats at its end, for the unit that covers most; 0 without repeats.
    pub repeated: u64,
    /// Whether it holds anything but white space.
    pub has_text: bool,
    /// Whether it is something other than text.
    pub is_textless: bool,
    /// Whether the reason for its end was recorded and the end token is counted.
    pub has_end: bool,
    /// Whether that reason is the token limit.
    pub is_cut: bool,
    /// Whether it was sampled at random, where that is known.
    pub is_sampled: Option<bool>,
    /// Whether a log-probability is NaN.
    pub has_nan: bool,
}

/// Measures an answer, in time linear in its text.
pub fn measure(answer: &Answer<'_>, repeats: RepeatLimits) -> AnswerMeasures {
    let text = without_filling(answer.text);
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let unknown = memchr::memmem::find_iter(text.as_bytes(), UNKNOWN.as_bytes()).count();
    let characters = count(text.as_bytes());
    let replaced = text.matches(REPLACED).count() + unknown;
    let ended = text.trim_end();
    let mut repeated = repeated(text.as_bytes(), repeats);
    // A line break after the last repeat does not count as the end of the repeats.
    if ended.len() < text.len() {
        repeated = repeated.max(self::repeated(ended.as_bytes(), repeats));
    }
    AnswerMeasures {
        step: answer.step,
        line: answer.line,
        prompt: answer.prompt,
        text: hasher.finish(),
        characters: characters as u64,
        signs: (characters - unknown * (UNKNOWN.len() - 1)) as u64,
        replaced: replaced as u64,
        repeated: repeated as u64,
        has_text: !text.trim().is_empty(),
        is_textless: answer.is_textless,
        has_end: answer.finish.is_some() && !answer.ignores_end,
        is_cut: answer.finish == Some("length") && !answer.ignores_end,
        is_sampled: answer.is_sampled,
        has_nan: answer.has_nan,
    }
}

/// A text without the padding tokens after its end.
fn without_filling(text: &str) -> &str {
    let mut left = text;
    while let Some(shorter) = FILLING.iter().find_map(|token| left.trim_end().strip_suffix(token)) {
        left = shorter;
    }
    left
}

/// Number of characters in bytes that are valid UTF-8.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xc0) != 0x80).count()
}

/// Number of characters at the end of a text that whole repeats of one unit cover, for the unit that covers most.
fn repeated(text: &[u8], RepeatLimits { most_unit, least_times }: RepeatLimits) -> usize {
    let mut most = 0;
    // A character has up to four bytes.
    for (period, len) in periods(text, 4 * most_unit).into_iter().enumerate().skip(1) {
        let times = len / period;
        if times < least_times {
            continue;
        }
        let tail = |bytes: usize| text.get(text.len() - bytes..).unwrap_or_default();
        if count(tail(period)) <= most_unit {
            most = most.max(times * period);
        }
    }
    count(text.get(text.len() - most..).unwrap_or_default())
}

/// For each period up to `most` bytes, the length of the longest suffix of `text` with that period; indexed by period,
/// from 0.
///
/// The text is matched with itself from its end on (the Z-function), so that each byte is compared a few times, whatever
/// repeats there are.
fn periods(text: &[u8], most: usize) -> Vec<usize> {
    let len = text.len();
    let most = most.min(len.saturating_sub(1));
    let from_end = |at: usize| len.checked_sub(at + 1).and_then(|place| text.get(place));
    let mut shared = vec![0; most + 1];
    let (mut start, mut end) = (0, 0);
    for at in 1..=most {
        let known = if at < end { shared.get(at - start).copied().unwrap_or(0).min(end - at) } else { 0 };
        let mut same = known;
        while at + same < len && from_end(same) == from_end(at + same) {
            same += 1;
        }
        if at + same > end {
            (start, end) = (at, at + same);
        }
        if let Some(place) = shared.get_mut(at) {
            *place = same;
        }
    }
    shared.iter().enumerate().map(|(period, same)| if period == 0 { 0 } else { period + same }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, proptest};

    use super::*;

    const REPEATS: RepeatLimits = RepeatLimits { most_unit: 200, least_times: 4 };

    fn of(text: &str) -> AnswerMeasures {
        measure(&Answer { text, ..Answer::default() }, REPEATS)
    }

    #[test]
    fn whole_repeats_at_the_end_are_covered() {
        assert_eq!(of(&format!("So {}", "the end. ".repeat(7))).repeated, 63);
        // The last repeat is cut, and the first one is found by its end.
        assert_eq!(of(&format!("So {}the", "the end. ".repeat(7))).repeated, 63);
        assert_eq!(of(&format!("{}\n", "no. ".repeat(20).trim_end())).repeated, 76);
        assert_eq!(of(&"!".repeat(128)).repeated, 128);
        assert_eq!(of(&"的的 the , ".repeat(9)).repeated, 81);
        assert_eq!(of("one two three four").repeated, 0);
        assert_eq!(of(&"0123456789".repeat(3)).repeated, 0);
        assert_eq!(of("").repeated, 0);
    }

    #[test]
    fn units_are_counted_in_characters() {
        let unit = |len: u32| -> String { (0..len).filter_map(|nth| char::from_u32(0x4e00 + nth)).collect() };
        assert_eq!(of(&unit(200).repeat(4)).repeated, 800);
        assert_eq!(of(&unit(201).repeat(4)).repeated, 0);
    }

    #[test]
    fn an_unknown_token_is_one_sign() {
        let measures = of("<unk> <unk>\u{fffd}a");
        assert_eq!((measures.characters, measures.signs, measures.replaced), (13, 5, 3));
        assert!(measures.has_text && !of(" \n").has_text);
    }

    #[test]
    fn what_fills_an_answer_up_is_no_part_of_it() {
        let filled = of(&format!("42{}", "<|endoftext|>".repeat(40)));
        assert_eq!((filled.characters, filled.repeated), (2, 0));
        assert_eq!(filled.text, of("42").text);
        assert!(!of(&"<pad>".repeat(9)).has_text);
    }

    #[test]
    fn a_long_text_is_measured_in_linear_time() {
        // Nine tenths of the largest periods match to the middle: a search for each of them would take minutes.
        let text = format!("{}b{}", "a".repeat(4 << 20), "a".repeat(4 << 20));
        assert_eq!(of(&text).repeated, 4 << 20);
        let text = "ab".repeat(4 << 20) + "a";
        assert_eq!(of(&text).repeated, 8 << 20);
    }

    /// The longest end with a period, found by comparing.
    fn naive(text: &[u8], period: usize) -> usize {
        let len = text.len();
        period + (period..len).take_while(|at| text[len - 1 - at] == text[len - 1 - (at - period)]).count()
    }

    proptest! {
        #[test]
        fn periods_are_those_of_a_plain_search(text in prop::collection::vec(0_u8..3, 1..60), most in 1_usize..40) {
            for (period, len) in periods(&text, most).into_iter().enumerate().skip(1) {
                assert_eq!(len, naive(&text, period), "{text:?} {period}");
            }
        }
    }
}
