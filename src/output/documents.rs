//! The names of the documents that runs write, which the next run may remove.

use std::path::{Path, PathBuf};

use crate::verdict::Checker;

/// Files of the lines of a run, plain and compressed. They are written first, since the result contains their digest.
pub const LINES: [&str; 2] = ["operations.jsonl", "operations.jsonl.zst"];
/// Documents that name the program that wrote them.
pub(super) const SIGNED: [&str; 4] = ["signoff.json", "signoff.md", "index.html", "reproduce.py"];
/// Bytes at the start of a document that are searched for the program's name.
pub(super) const HEAD: u64 = 64 << 10;

/// Whether a document that begins with `head` is one that this program wrote.
pub(super) fn is_own(head: &[u8]) -> bool {
    memchr::memmem::find(head, b"precision-gate").is_some()
}

/// The result. Every document after it is made from it.
pub const RESULT: &str = "result.json";
/// Documents that are made from a result and its lines alone.
const RENDERED: [&str; 17] = [
    "badge.json",
    "divergence.png",
    "error-map.png",
    "evaluation.png",
    "gl-code-quality.json",
    "junit.xml",
    "loss.png",
    "metrics.txt",
    "monitor.png",
    "timeline.png",
    "performance.png",
    "samples.png",
    "report.html",
    "sarif.json",
    "summary.md",
    "tokens.png",
    "trend.png",
];
/// Tables and workbooks with a fixed name.
const TABLES: [&str; 3] = ["config_check_summary.csv", "operators_result.csv", "result.xlsx"];
/// Documents of a sign-off.
const SIGNOFF: [&str; 7] = [
    "signoff.html",
    "signoff.intoto.json",
    "signoff.json",
    "signoff.md",
    "signoff.sha256",
    "signoff.zh.html",
    "signoff.zh.md",
];
/// Documents of one operation, beside its tensors.
const REPRODUCE: [&str; 3] = ["issue.md", "issue.zh.md", "reproduce.py"];
/// Layers that MindSpore's dumps name, as tables repeat them.
const LAYERS: [&str; 2] = ["_pynative", "_graph"];

/// Set of documents that a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentSet {
    /// Documents of a run: result, lines, tables, and everything rendered.
    Run,
    /// Documents that are rendered again from a result that stays.
    Rendered,
    /// Documents of a sign-off.
    Signoff,
    /// The page of a history, with its badges.
    History,
    /// A script that runs one operation, its tensors, and the report to file.
    Reproduce,
}

impl DocumentSet {
    /// Position of a document in the order in which documents are written; `None` for a name outside of the set.
    pub fn write_order(self, name: &str) -> Option<u8> {
        match self {
            Self::Run if LINES.contains(&name) => Some(0),
            Self::Run if name == RESULT => Some(1),
            Self::Run if TABLES.contains(&name) || is_table(name) => Some(2),
            Self::Run | Self::Rendered if RENDERED.contains(&name) => Some(2),
            Self::Signoff if SIGNOFF.contains(&name) => Some(2),
            Self::History if name == "index.html" || is_badge(name) => Some(2),
            Self::Reproduce if REPRODUCE.contains(&name) || is_tensor(name) => Some(2),
            _ => None,
        }
    }
}

/// The file of lines that lies beside a result, if any does.
pub(crate) fn lines_beside(result: &Path) -> Option<PathBuf> {
    LINES.iter().map(|name| result.with_file_name(name)).find(|path| path.symlink_metadata().is_ok())
}

/// Whether a name is `config_check_<checker>.csv`, or `compare_result[_layer][_stepN][_rankN]` as a table or a workbook.
fn is_table(name: &str) -> bool {
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    if let Some(checker) = stem.strip_prefix("config_check_") {
        return ending == "csv" && Checker::ALL.iter().any(|known| known.as_str() == checker);
    }
    let stem = stem.strip_prefix("debug_").unwrap_or(stem);
    let Some(rest) = stem.strip_prefix("compare_result") else { return false };
    let rest = LAYERS.iter().find_map(|layer| rest.strip_prefix(layer)).unwrap_or(rest);
    let rest = without_number(without_number(rest, "_step"), "_rank");
    rest.is_empty() && matches!(ending, "csv" | "xlsx")
}

/// Whether a name is `badge.json` or `badge-<suite>.json`.
fn is_badge(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("badge").and_then(|rest| rest.strip_suffix(".json")) else { return false };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    rest.is_empty() || rest.strip_prefix('-').is_some_and(|suite| !suite.is_empty() && suite.bytes().all(plain))
}

/// Whether a name is `tensor-<N>.bin`.
fn is_tensor(name: &str) -> bool {
    let number = name.strip_prefix("tensor-").and_then(|rest| rest.strip_suffix(".bin"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A name without a leading `word` and the number after it; unchanged where they do not follow each other.
fn without_number<'a>(name: &'a str, word: &str) -> &'a str {
    let number = name.strip_prefix(word).map(|rest| rest.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    number.filter(|rest| rest.len() + word.len() < name.len()).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_told_from_files_of_others() {
        for name in [
            "result.json",
            "operations.jsonl",
            "operations.jsonl.zst",
            "summary.md",
            "result.xlsx",
            "config_check_env.csv",
            "config_check_summary.csv",
            "compare_result.csv",
            "compare_result_step0.csv",
            "compare_result_step12_rank3.xlsx",
            "compare_result_rank3.csv",
            "debug_compare_result_step0.csv",
            "compare_result_graph_step0_rank1.csv",
        ] {
            assert!(DocumentSet::Run.write_order(name).is_some(), "{name}");
        }
        for name in [
            "compare_result_mine.txt",
            "compare_result_mine.csv",
            "compare_result_step.csv",
            "compare_result_step0.csv.bak",
            "compare_result_20260101.csv",
            "config_check_mine.csv",
            "config_check_env.txt",
            "my_result.json",
            "Result.json",
            "noise.json",
            "part-1-of-2.jsonl",
            "signoff.md",
            "",
            ".csv",
        ] {
            assert_eq!(DocumentSet::Run.write_order(name), None, "{name}");
        }
    }

    #[test]
    fn a_result_appears_after_its_lines_and_before_what_is_made_from_it() {
        let ranks = ["operations.jsonl", "result.json", "summary.md"].map(|name| DocumentSet::Run.write_order(name));
        assert_eq!(ranks, [Some(0), Some(1), Some(2)]);
        assert_eq!(DocumentSet::Rendered.write_order("result.json"), None, "it is what is rendered");
        assert_eq!(DocumentSet::Rendered.write_order("compare_result_step0.csv"), None, "no result holds it");
    }
}
