//! Files that a GitHub runner reads: outputs of the step and its summary.
//!
//! Both are appended to, so that lines of other steps and other commands stay.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::event::{JobVariables, variable};
use crate::error::{Error, Result};

/// Largest size of a step's summary in bytes; above 1 MiB the runner refuses all of it.
const SUMMARY_LIMIT: usize = 1_000_000;

/// Appends outputs to the file that the runner names; does nothing if it names none.
///
/// `nonce` is a number that the authors of values cannot know; it marks the end of a value.
pub fn write(environment: &JobVariables, outputs: &[(&str, &str)], nonce: u64) -> Result<()> {
    let Some(path) = variable(environment, "GITHUB_OUTPUT") else { return Ok(()) };
    append(Path::new(path), &block(outputs, nonce))
}

/// Number of bytes that fit into the step's summary; `None` without such a file.
pub fn summary_room(environment: &JobVariables) -> Option<usize> {
    let path = variable(environment, "GITHUB_STEP_SUMMARY")?;
    let used = fs::metadata(path).map_or(0, |data| data.len());
    Some(SUMMARY_LIMIT.saturating_sub(usize::try_from(used).unwrap_or(usize::MAX)))
}

/// Appends to the step's summary.
pub fn write_summary(environment: &JobVariables, text: &str) -> Result<()> {
    let Some(path) = variable(environment, "GITHUB_STEP_SUMMARY") else { return Ok(()) };
    append(Path::new(path), &format!("{text}\n"))
}

fn block(outputs: &[(&str, &str)], nonce: u64) -> String {
    let mut text = String::new();
    for (name, value) in outputs {
        let mut delimiter = format!("precision_gate_{nonce:016x}");
        while value.contains(&delimiter) {
            delimiter.push('_');
        }
        text.push_str(&format!("{name}<<{delimiter}\n{value}\n{delimiter}\n"));
    }
    text
}

fn append(path: &Path, text: &str) -> Result<()> {
    let write = || OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes());
    write().map_err(|error| Error::io(path.display().to_string(), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_end_itself() {
        let nonce = 0xabc;
        let evil = "x\nprecision_gate_0000000000000abc\nverdict=pass";
        let text = block(&[("verdict", "fail"), ("culprit", evil)], nonce);
        assert_eq!(
            text,
            format!(
                "verdict<<precision_gate_0000000000000abc\nfail\nprecision_gate_0000000000000abc\n\
                 culprit<<precision_gate_0000000000000abc_\n{evil}\nprecision_gate_0000000000000abc_\n"
            )
        );
    }

    #[test]
    fn earlier_lines_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("summary").display().to_string();
        let environment = JobVariables::from([("GITHUB_STEP_SUMMARY".to_owned(), path.clone())]);
        assert_eq!(summary_room(&environment), Some(SUMMARY_LIMIT));
        write_summary(&environment, "one").expect("written");
        write_summary(&environment, "two").expect("written");
        assert_eq!(fs::read_to_string(path).expect("there"), "one\ntwo\n");
        assert_eq!(summary_room(&environment), Some(SUMMARY_LIMIT - 8));
        write(&JobVariables::new(), &[("verdict", "fail")], 1).expect("nothing to do");
    }
}
