//! Comments of a module that say which findings are accepted.

use std::sync::LazyLock;

use regex::Regex;

/// `precision-gate: ignore[code, code] reason`
static IGNORE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"precision-gate:\s*ignore\[([^\]]*)\]\s*(.*)").expect("invariant: a constant expression")
});

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Its line, from 1.
    pub line: u64,
    /// Its column, from 1.
    pub column: u64,
    /// Whether nothing stands before it.
    pub is_alone: bool,
    /// Findings that it accepts; `None` for any other comment.
    pub ignore: Option<Ignore>,
}

/// Findings that a comment accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignore {
    /// Their codes.
    pub codes: Vec<String>,
    /// Reason; without one the comment does not count.
    pub reason: String,
}

impl Ignore {
    /// Findings that the text of a comment accepts.
    pub fn from_comment(text: &str) -> Option<Self> {
        // Most comments are about something else.
        if !text.contains("precision-gate") {
            return None;
        }
        let found = IGNORE.captures(text)?;
        let codes = found.get(1)?.as_str().split(',').map(|code| code.trim().to_owned());
        let reason = found.get(2)?.as_str().trim();
        let reason = if reason.chars().any(char::is_alphanumeric) { reason } else { "" };
        Some(Self { codes: codes.filter(|code| !code.is_empty()).collect(), reason: reason.to_owned() })
    }
}

impl Comment {
    /// Whether it accepts findings of `code` on `line`: on its own line, and on the next one where nothing stands before it.
    pub fn covers(&self, code: &str, line: u64) -> bool {
        let is_there = self.line == line || self.is_alone && self.line + 1 == line;
        let names = |ignore: &Ignore| !ignore.reason.is_empty() && ignore.codes.iter().any(|named| named == code);
        is_there && self.ignore.as_ref().is_some_and(names)
    }
}

#[cfg(test)]
mod tests {
    use super::Ignore;

    #[test]
    fn codes_and_a_reason_are_read() {
        let read = |text: &str| Ignore::from_comment(text).map(|ignore| (ignore.codes.join(" "), ignore.reason));
        assert_eq!(read("# precision-gate: ignore[a-b, c] issue 12"), Some(("a-b c".into(), "issue 12".into())));
        assert_eq!(read("#precision-gate:ignore[a]"), Some(("a".into(), String::new())));
        assert_eq!(read("# precision-gate: ignore[a] --"), Some(("a".into(), String::new())));
        assert_eq!(read("# noqa # precision-gate: ignore[a] 已评审"), Some(("a".into(), "已评审".into())));
        assert_eq!(read("# precision-gate ignores this"), None);
    }
}
