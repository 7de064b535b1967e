//! Flags about the training job: its outcome as a word of the pipeline, and as a file that the job left.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use precision_gate::documentation;
use precision_gate::error::{Error, ErrorKind};
use precision_gate::gate::training::Training;

/// Bytes of a file with one word and the end of its line, and some more.
const MOST_BYTES: u64 = 64;

/// The outcome of the training job.
#[derive(Debug, Args)]
pub(crate) struct TrainingFlags {
    /// Outcome of the training job; unless it succeeded, the verdict is at best incomplete
    #[arg(long, value_enum, value_name = "RESULT")]
    pub(crate) training: Option<Training>,
    /// File of the training job with its outcome, as one word; where it is not there, --training counts
    #[arg(long, value_name = "FILE")]
    pub(crate) training_file: Option<PathBuf>,
}

impl TrainingFlags {
    /// The outcome; `warn` hears where the file says none. The file is the training job's own word, and makes nothing of a
    /// failure that the pipeline tells.
    pub(crate) fn outcome(&self, warn: impl FnOnce(Error)) -> Option<Training> {
        let is_bad = matches!(self.training, Some(Training::Failure | Training::Cancelled | Training::Skipped));
        let file = self.training_file.as_deref().filter(|path| !is_bad && !path.as_os_str().is_empty());
        match file.and_then(|path| Some((path, word(path)?))) {
            None => self.training,
            Some((_, Ok(training))) => Some(training),
            Some((path, Err(reason))) => {
                warn(warning(path, &reason));
                Some(Training::Unknown)
            }
        }
    }
}

/// The word in a file; `None` where there is no such file.
fn word(path: &Path) -> Option<Result<Training, String>> {
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() {
        return Some(Err("is no regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        return Some(Err(format!("cannot be read: {error}")));
    }
    let text = str::from_utf8(&bytes).ok().filter(|text| text.len() as u64 <= MOST_BYTES);
    let word = text.and_then(|text| Training::from_str(text.trim_ascii(), false).ok());
    Some(word.ok_or_else(|| "holds something other than one of these words".to_owned()))
}

fn warning(path: &Path, reason: &str) -> Error {
    let message = format!("{reason}; the outcome of the training job counts as `unknown`");
    Error::new(ErrorKind::Usage, path.display().to_string(), message).with_help(concat!(
        "write success, failure (failed), cancelled (canceled), skipped or unknown into it: ",
        documentation!("pipelines.md#gitlab")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(flag: Option<Training>, path: &Path) -> (Option<Training>, Option<String>) {
        let flags = TrainingFlags { training: flag, training_file: Some(path.to_owned()) };
        let mut warning = None;
        let training = flags.outcome(|said| warning = Some(said));
        (training, warning.map(|warning| warning.to_string()))
    }

    #[test]
    fn a_file_with_one_of_five_words_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("training.txt");
        assert_eq!(outcome(None, &path), (None, None));
        assert_eq!(outcome(Some(Training::Unknown), &path), (Some(Training::Unknown), None));
        for (text, word) in [
            ("success\n", Training::Success),
            ("failed", Training::Failure),
            ("failure\r\n", Training::Failure),
            (" canceled \n", Training::Cancelled),
            ("cancelled", Training::Cancelled),
            ("skipped", Training::Skipped),
            ("unknown", Training::Unknown),
        ] {
            fs::write(&path, text).expect("written");
            assert_eq!(outcome(Some(Training::Unknown), &path), (Some(word), None), "{text}");
            // What the pipeline itself calls a failure is one.
            assert_eq!(outcome(Some(Training::Skipped), &path), (Some(Training::Skipped), None), "{text}");
        }
        fs::write(&path, "failed").expect("written");
        assert_eq!(outcome(Some(Training::Success), &path).0, Some(Training::Failure));
    }

    #[test]
    fn anything_else_is_unknown_and_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("training.txt");
        let long = "success".to_owned() + &" ".repeat(100);
        for text in [
            &b""[..],
            b"Success",
            b"success success",
            b"running",
            b"success\0",
            b"\xff",
            b"success\nfailed",
            long.as_bytes(),
        ] {
            fs::write(&path, text).expect("written");
            let (training, warning) = outcome(Some(Training::Success), &path);
            assert_eq!(training, Some(Training::Unknown), "{text:?}");
            assert!(warning.expect("said").contains("counts as `unknown`"), "{text:?}");
        }
        fs::write(&path, "success").expect("written");
        let beside = folder.path().join("beside");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&path, &beside).expect("linked");
        for path in [folder.path(), &beside] {
            let (training, warning) = outcome(None, path);
            assert_eq!(training, Some(Training::Unknown));
            assert!(warning.expect("said").contains("is no regular file"));
        }
    }
}
