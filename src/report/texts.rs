//! The message files of the checks, one per check and language.
//!
//! `templates/messages/<language>/<check>.yaml` holds the texts of each code of the check and, under `check`, the check's name and
//! phrases for documents.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::check::each_check;

/// The key in a check's file that is not a code.
const WORDS: &str = "check";

/// The message files of a check.
pub(super) struct CheckTexts {
    /// Its name.
    pub(super) name: &'static str,
    /// English.
    pub(super) english: &'static str,
    /// Chinese.
    pub(super) chinese: &'static str,
}

/// Name of a check and the phrase for how much it compared, in one language.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    /// Its name for people.
    pub(super) name: String,
    /// Phrase for how much it compared, a text over `units`, `values`, `steps`, `unmatched` and `checkers`.
    pub(super) compared: String,
    /// Phrase for how much it examined in a run without a baseline, over the same counts; `None` if it judges no such run.
    #[serde(default)]
    pub(super) alone: Option<String>,
}

/// Makes the list of files of the table of checks.
macro_rules! files {
    ($($(#[$about:meta])+ $name:ident = $id:ident by [$($command:ident)?];)+) => {
        /// Texts of all checks, in the order of reports.
        pub(super) const ALL: &[CheckTexts] = &[$(CheckTexts {
            name: stringify!($name),
            english: include_str!(concat!("../../templates/messages/en/", stringify!($name), ".yaml")),
            chinese: include_str!(concat!("../../templates/messages/zh/", stringify!($name), ".yaml")),
        }),+];
    };
}

each_check!(files);

/// The words in a check's file: its first entry, so that the codes behind it, which few runs need, are not parsed.
pub(super) fn words(file: &str) -> Words {
    let lines = file.split_inclusive('\n').enumerate();
    let first: String =
        lines.take_while(|(number, line)| *number == 0 || line.starts_with(' ')).map(|(_, line)| line).collect();
    let words = parse(&first).remove(WORDS).unwrap_or_default();
    serde_yaml::from_value(words).expect("invariant: shipped messages are tested")
}

/// The codes in a file, with their texts.
pub(super) fn codes<T: DeserializeOwned>(file: &str) -> BTreeMap<String, T> {
    let mut parts: BTreeMap<String, serde_yaml::Value> = parse(file);
    parts.remove(WORDS);
    let code = |(code, said)| (code, serde_yaml::from_value(said).expect("invariant: shipped messages are tested"));
    parts.into_iter().map(code).collect()
}

fn parse(file: &str) -> BTreeMap<String, serde_yaml::Value> {
    let parts: Option<BTreeMap<_, _>> = serde_yaml::from_str(file).expect("invariant: shipped messages are tested");
    parts.unwrap_or_default()
}
