//! The comment for any other system: it is passed to a command of the user's.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::error::{Error, ErrorKind, Result};

/// Runs `command` in a shell with `text` on its standard input, and waits for it.
///
/// A command that cannot be run or that ends with another code than 0 is an error of the outside world.
pub fn hand_over(command: &str, text: &str) -> Result<()> {
    let failed = |message: String| Error::new(ErrorKind::Unavailable, "--post-command", message);
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("no shell: {error}")))?;
    if let Some(mut input) = child.stdin.take() {
        // A command may close the pipe without reading everything; its exit code decides.
        let _ = input.write_all(text.as_bytes());
    }
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(format!("ended with {status}"))) }
}

#[cfg(test)]
mod tests {
    use super::hand_over;

    #[test]
    fn the_command_gets_the_text_and_its_failure_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("comment.md");
        hand_over(&format!("cat > '{}'", file.display()), "## fail\n").expect("runs");
        assert_eq!(std::fs::read_to_string(file).expect("written"), "## fail\n");
        assert!(hand_over("exit 3", &"x".repeat(1 << 20)).is_err());
    }
}
