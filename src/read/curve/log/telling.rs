//! The words that mark a relevant line of a log: a line with letters and none of these words holds neither a value nor a counter.

use std::sync::LazyLock;

use crate::read::word_search::WordSearch;

/// The words.
const WORDS: &[&str] = &[
    "loss",
    "step",
    "iter",
    "epoch",
    "grad",
    "norm",
    "batch",
    "reward",
    "acc",
    "score",
    "lr",
    "rate",
    "updat",
    "val",
    "eval",
    "test",
    "cost",
    "nll",
    "ppl",
    "perp",
    "bleu",
    "rouge",
    "wer",
    "cer",
    "dice",
    "iou",
    "map",
    "psnr",
    "ssim",
    "recall",
    "prec",
    "f1",
    "auc",
    "mse",
    "mae",
    "em|",
    "bpb",
    "bpc",
    "err",
    "objective",
    "entropy",
    "tick",
    "rollout",
    "perf",
    "verflow",
    "skipped",
    "|ep|",
    "|up|",
    "|it|",
    "#it|",
    " ap|",
    "_ap|",
    "/ap|",
    "top",
    "l.r",
    "traceback",
    "xception",
    "exit",
    "killed",
    "out of mem",
    "timeout",
    "time out",
    "timed out",
    "complet",
    "finish",
    "done",
    "class",
    "label",
    "vocab",
    "sched",
    "decay",
    "succe",
    "损失",
    "学习",
    "梯度",
    "率",
    "精度",
    "困惑",
    "第",
    "轮",
    "步",
    "迭代",
    "验证",
    "测试",
    "训练",
];

static SEARCH: LazyLock<WordSearch> = LazyLock::new(|| WordSearch::of(WORDS));

/// An offset in the first line of a text that has one of the words. The text must begin at the start of a line.
pub(super) fn first_match(lines: &[u8]) -> Option<usize> {
    // A word's leading boundary may be the end of the line before it.
    let is_end = |place: usize| matches!(lines.get(place), Some(b'\n' | b'\r'));
    SEARCH.first(lines).map(|place| place + usize::from(is_end(place)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::bytes::Regex;

    use super::*;

    /// The same words as one expression.
    fn expression() -> Regex {
        let sign = |sign: char| match sign {
            '|' => r"\b".to_owned(),
            '#' => r"\d".to_owned(),
            other => regex::escape(&other.to_string()),
        };
        let (ascii, wide): (Vec<&str>, Vec<&str>) = WORDS.iter().partition(|word| word.is_ascii());
        let ascii: Vec<String> = ascii.into_iter().map(|word| word.chars().map(sign).collect()).collect();
        Regex::new(&format!("(?i-u:{})|{}", ascii.join("|"), wide.join("|"))).expect("sound")
    }

    /// Line of a place, by its number.
    fn line_of(text: &[u8], place: usize) -> usize {
        text.iter().take(place).filter(|byte| **byte == b'\n').count()
    }

    proptest! {
        #[test]
        fn the_first_word_is_the_one_that_an_expression_finds(
            parts in proptest::collection::vec(
                prop_oneof![
                    3 => "[a-zA-Z0-9 _./|:\n-]{0,12}",
                    1 => proptest::sample::select(WORDS).prop_map(|word| word.replace(['|', '#'], " ")),
                    1 => proptest::sample::select(WORDS).prop_map(|word| word.to_uppercase().replace(['|', '#'], "7")),
                ],
                0..12,
            ),
        ) {
            let text = format!("{}\n", parts.concat()).into_bytes();
            let expected = expression().find(&text).map(|found| line_of(&text, found.start()));
            prop_assert_eq!(first_match(&text).map(|place| line_of(&text, place)), expected);
        }
    }

    #[test]
    fn words_are_found_at_both_ends_of_a_text() {
        for text in ["ep 1\n", "it\n", "x 3it\n", "a/ap\n", "the item\n", "loss", "LR", "步\n", " l.r\n"] {
            assert!(first_match(text.as_bytes()).is_some(), "{text}");
        }
        for text in ["", "\n", "epic\n", "up1\n", "items \n", "lo", "los\n", "emo\n", "apt\n", "1ap\n"] {
            assert_eq!(first_match(text.as_bytes()), None, "{text}");
        }
    }
}
