//! Exit codes, a public contract.

use crate::error::{Error, ErrorKind};
use crate::verdict::Verdict;

/// Pass or warn.
pub const PASS: u8 = 0;
/// Fail or incomplete.
pub const FAIL: u8 = 1;
/// Bad usage, bad policy, a path that is not there.
pub const USAGE: u8 = 2;
/// An artifact or baseline could not be fetched: the outside world failed after retries.
pub const UNAVAILABLE: u8 = 3;
/// A defect of the gate itself.
pub const INTERNAL: u8 = 4;

/// The exit code of a verdict; `warn_code` is what `--warn-exit-code` asks for. A run that only reports blocks nothing.
pub fn of_verdict(verdict: Verdict, warn_code: u8, report_only: bool) -> u8 {
    let code = match verdict {
        Verdict::Pass | Verdict::Skipped => PASS,
        Verdict::Warn => warn_code,
        Verdict::Fail | Verdict::Incomplete => FAIL,
    };
    if report_only && code == FAIL { PASS } else { code }
}

/// The exit code of an error that ended the run. What may not be read could not be fetched either.
pub fn of_error(error: &Error) -> u8 {
    match error.kind() {
        ErrorKind::Unavailable | ErrorKind::Denied => UNAVAILABLE,
        ErrorKind::Internal => INTERNAL,
        _ => USAGE,
    }
}
