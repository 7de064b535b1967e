//! Instructions in comments: `/precision-gate waive CODE until DATE because REASON`.
//!
//! Text of a comment is data: it is parsed here, and never reaches a shell, a template or a path.

use std::str::SplitWhitespace;

use crate::error::{Error, ErrorKind, Result};
use crate::policy::value::Date;

/// The word that every instruction begins with.
pub const COMMAND: &str = "/precision-gate";

/// Instructions there are, as a refusal shows them.
pub const USAGE: &str = "`/precision-gate waive CODE until YYYY-MM-DD because REASON`, with `at PLACE` behind the code for one \
                         place alone, or `/precision-gate accept-baseline`, with the baseline's name behind it where there are several, \
                         and `because REASON`";

/// Largest number of characters of a reason.
const MOST_REASON: usize = 300;
/// Largest number of characters of a pattern of places.
const MOST_PLACE: usize = 200;

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Propose a waiver.
    Waive {
        /// The finding's code.
        code: String,
        /// Pattern of the places it covers.
        place: String,
        /// Last day of the waiver.
        until: Date,
        /// Reason, in one line.
        reason: String,
    },
    /// Propose the baseline's run for the judged commit as the new baseline.
    AcceptBaseline {
        /// The baseline's name; empty if there is only one baseline.
        name: String,
        /// Reason, in one line; empty where none is given.
        reason: String,
    },
}

impl Instruction {
    /// Reads the instruction in the first line of `comment`; `None` if that line does not begin with the word [`COMMAND`].
    ///
    /// # Errors
    /// `Usage` for an unknown or malformed instruction.
    pub fn parse(comment: &str) -> Option<Result<Self>> {
        let mut words = comment.lines().next()?.split_whitespace();
        (words.next()? == COMMAND).then(|| Self::of_words(words))
    }

    fn of_words(mut words: SplitWhitespace<'_>) -> Result<Self> {
        match words.next() {
            Some("waive") => Self::waive(words),
            Some("accept-baseline") => {
                let (name, next) = match words.next() {
                    Some("because") => ("", Some("because")),
                    name => (name.unwrap_or_default(), words.next()),
                };
                let reason = if next.is_none() { String::new() } else { because(next, words)? };
                Ok(Self::AcceptBaseline { name: name.to_owned(), reason })
            }
            Some(other) => Err(wrong(format!("`{other}` is no instruction"))),
            None => Err(wrong("it says nothing to do".into())),
        }
    }

    fn waive(mut words: SplitWhitespace<'_>) -> Result<Self> {
        let code = words.next().ok_or_else(|| wrong("the code is missing".into()))?.to_owned();
        let (place, next) = match words.next() {
            Some("at") => (words.next().unwrap_or_default().to_owned(), words.next()),
            next => ("*".to_owned(), next),
        };
        if place.is_empty() || place.chars().count() > MOST_PLACE {
            return Err(wrong(format!("a place has 1 to {MOST_PLACE} characters")));
        }
        expect("until", next)?;
        let day = words.next().unwrap_or_default();
        let until = Date::try_from(day.to_owned()).map_err(|error| wrong(format!("`{day}`: {error}")))?;
        let reason = because(words.next(), words)?;
        Ok(Self::Waive { code, place, until, reason })
    }
}

fn expect(word: &str, found: Option<&str>) -> Result<()> {
    if found == Some(word) { Ok(()) } else { Err(wrong(format!("`{word}` is missing"))) }
}

/// The reason after the word `because`; `next` has to be that word.
fn because(next: Option<&str>, words: SplitWhitespace<'_>) -> Result<String> {
    expect("because", next)?;
    let reason = words.collect::<Vec<_>>().join(" ");
    let is_short = reason.chars().count() <= MOST_REASON;
    if is_short && reason.chars().any(char::is_alphanumeric) {
        return Ok(reason);
    }
    Err(wrong(format!("the reason has a letter or a digit, and at most {MOST_REASON} characters")))
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Usage, COMMAND, message).with_help(format!("write {USAGE}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(comment: &str) -> Instruction {
        Instruction::parse(comment).expect("an instruction").expect("a sound one")
    }

    fn refused(comment: &str) -> String {
        Instruction::parse(comment).expect("an instruction").expect_err("refused").to_string()
    }

    #[test]
    fn a_waiver_has_code_end_and_reason() {
        let until = Date::try_from("2026-12-24".to_owned()).expect("a date");
        let waive = |code: &str, place: &str, reason: &str| Instruction::Waive {
            code: code.into(),
            place: place.into(),
            until,
            reason: reason.into(),
        };
        assert_eq!(
            parsed("/precision-gate waive output-diverges until 2026-12-24 because  HF32 is $(accepted)\nand more"),
            waive("output-diverges", "*", "HF32 is $(accepted)")
        );
        assert_eq!(
            parsed("  /precision-gate waive nan-appears at Torch.bmm.* until 2026-12-24 because 已知问题\r\n"),
            waive("nan-appears", "Torch.bmm.*", "已知问题")
        );
    }

    #[test]
    fn a_baseline_may_be_named() {
        let accept =
            |name: &str, reason: &str| Instruction::AcceptBaseline { name: name.into(), reason: reason.into() };
        assert_eq!(parsed("/precision-gate accept-baseline"), accept("", ""));
        assert_eq!(parsed("/precision-gate accept-baseline glm"), accept("glm", ""));
        assert_eq!(parsed("/precision-gate accept-baseline because new rope"), accept("", "new rope"));
        assert_eq!(parsed("/precision-gate accept-baseline glm because new rope"), accept("glm", "new rope"));
    }

    #[test]
    fn other_comments_are_none_and_bad_ones_say_what_is_missing() {
        for comment in [
            "",
            "looks good",
            "> /precision-gate waive x",
            "see /precision-gate",
            "/precision-gate-x y",
            "\n/precision-gate waive",
        ] {
            assert!(Instruction::parse(comment).is_none(), "{comment}");
        }
        for (comment, said) in [
            ("/precision-gate", "it says nothing to do"),
            ("/precision-gate approve", "`approve` is no instruction"),
            ("/precision-gate waive", "the code is missing"),
            ("/precision-gate waive x because y", "`until` is missing"),
            ("/precision-gate waive x until tomorrow because y", "`tomorrow`"),
            ("/precision-gate waive x until 2026-12-24", "`because` is missing"),
            ("/precision-gate waive x until 2026-12-24 because !!", "the reason has a letter"),
            ("/precision-gate accept-baseline glm new rope", "`because` is missing"),
        ] {
            assert!(refused(comment).contains(said), "{comment}: {}", refused(comment));
        }
    }

    proptest! {
        #[test]
        fn no_comment_breaks_a_line(rest in any::<String>()) {
            let comment = format!("/precision-gate waive x until 2026-12-24 because a{rest}");
            if let Some(Ok(Instruction::Waive { reason, .. })) = Instruction::parse(&comment) {
                prop_assert!(!reason.contains(['\n', '\r']));
            }
        }
    }
}
