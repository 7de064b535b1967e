//! Commands that people are told to run.

use std::fmt;
use std::path::Path;

/// Name of this program.
const PROGRAM: &str = "precision-gate";

/// File that commands in documents name where nobody knows another one: the default of `--out` holds it.
pub(crate) const DEFAULT_FILE: &str = "precision-gate-out/result.json";

/// A path as commands name it: without the working directory, where it lies below that.
pub(crate) fn from_here(path: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.as_deref().and_then(|here| path.strip_prefix(here).ok());
    below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(path).display().to_string()
}

/// A command of this program with its arguments, as a shell takes it.
///
/// ```
/// use precision_gate::result::advice::Advice;
///
/// let advice = Advice::new(["next-dump", "night 7/result.json"]);
/// assert_eq!(advice.to_string(), "precision-gate next-dump 'night 7/result.json'");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    args: Vec<String>,
}

impl Advice {
    /// The command with these arguments, each as the program gets it.
    pub fn new<S: Into<String>>(args: impl IntoIterator<Item = S>) -> Self {
        Self { args: args.into_iter().map(Into::into).collect() }
    }

    /// The command that records the baseline `name`; words in capitals stand for what the reader knows.
    pub fn record(name: &str) -> Self {
        let name = if name.is_empty() { "NAME" } else { name };
        Self::new(["baseline", "promote", "LOCATION", "--name", name, "--reason", "WHY", "--approved-by", "WHO"])
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(PROGRAM)?;
        self.args.iter().try_for_each(|word| write!(formatter, " {}", quoted(word)))
    }
}

/// A word as POSIX shells take it (Shell Command Language, 2.2.2): in single quotes where it holds more than plain letters.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-./:=@%+,#".contains(letter);
    // Three characters mean something at the start of a word alone.
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with(['#', '=', '%']) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_part_them() {
        for (word, shown) in [
            ("runs/npu", "runs/npu"),
            ("运行/npu", "运行/npu"),
            ("two words", "'two words'"),
            ("it's", "'it'\\''s'"),
            ("$(id)", "'$(id)'"),
            ("", "''"),
            ("#1", "'#1'"),
            ("s3://golden/glm#sha256=0", "s3://golden/glm#sha256=0"),
            ("~/runs", "'~/runs'"),
        ] {
            assert_eq!(Advice::new([word]).to_string(), format!("precision-gate {shown}"));
        }
    }
}
