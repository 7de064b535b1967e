//! The hidden last line by which, together with their author, comments and issues of the gate are found again.
//!
//! The author alone proves little: all workflows of a repository write as `github-actions[bot]`, and one of them may repeat text
//! of a stranger. The line contains a digest of the thing it belongs to, so that a copy from another place does not match, and it
//! is the last line, which a quotation inside another text is not. It is no secret: somebody who can make such a bot end its
//! comment with their text can still forge the line.

use sha2::{Digest, Sha256};

use crate::policy::publish::Key;

/// Start of every such line.
const START: &str = "<!-- precision-gate:v2 ";

/// The marker of one suite's comment on one pull request, or of its issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    line: String,
    /// The first line of texts by earlier releases.
    old: String,
}

impl Marker {
    /// The marker of the comment on a pull request.
    pub fn of_comment(repository: &str, number: u64, key: &Key) -> Self {
        Self::new("", repository, number, key.as_str())
    }

    /// The marker of the suite's issue; it contains no number, which is unknown until the issue exists.
    pub(crate) fn of_issue(repository: &str, key: &Key) -> Self {
        Self::new("issue ", repository, 0, key.as_str())
    }

    fn new(kind: &str, repository: &str, number: u64, key: &str) -> Self {
        let digest = format!("{:x}", Sha256::digest(format!("{kind}\n{repository}\n{number}\n{key}")));
        let digest = digest.get(..32).unwrap_or(&digest);
        Self {
            line: format!("{START}{kind}key={key} of={digest} -->"),
            old: format!("<!-- precision-gate:v1 {kind}key={key} -->"),
        }
    }

    /// The last two lines of a text: `stamp`, the facts that the next run reads, and the marker.
    pub fn tail(&self, stamp: &str) -> String {
        format!("\n<!-- {stamp} -->\n{}\n", self.line)
    }

    /// Whether the marker is the last line of `body`.
    pub(crate) fn is_last_line_of(&self, body: &str) -> bool {
        last_lines(body).is_some_and(|(_, last)| last == self.line)
    }

    /// Whether `body` begins as earlier releases wrote it: the marker in the first line, and an empty third line.
    pub(crate) fn is_old_start_of(&self, body: &str) -> bool {
        let mut lines = body.lines().map(str::trim_end);
        lines.next() == Some(&self.old) && old_stamp(body).is_some() && lines.nth(1) == Some("")
    }

    /// Whether `body` has this marker, or the one of earlier releases.
    pub fn is_in(&self, body: &str) -> bool {
        self.is_last_line_of(body) || self.is_old_start_of(body)
    }

    /// The items of `all` with this marker. Items of earlier releases are returned only if there are none of this release, so that
    /// they are updated once.
    pub(crate) fn marked_items<T>(&self, mut all: Vec<T>, body: impl Fn(&T) -> &str) -> Vec<T> {
        let is_new = all.iter().any(|one| self.is_last_line_of(body(one)));
        all.retain(|one| if is_new { self.is_last_line_of(body(one)) } else { self.is_old_start_of(body(one)) });
        all
    }
}

/// The stamp of a comment that is marked as the comment of any suite on this pull request.
pub(crate) fn stamp_of_any<'a>(body: &'a str, repository: &str, number: u64) -> Option<&'a str> {
    let (_, last) = last_lines(body)?;
    let key = last.strip_prefix(START)?.strip_prefix("key=")?.split(' ').next()?;
    stamp(body).filter(|_| last == Marker::new("", repository, number, key).line)
}

/// The facts in the line before the marker; `None` without a marker.
pub fn stamp(body: &str) -> Option<&str> {
    let (stamp, last) = last_lines(body)?;
    if last.starts_with(START) { inner(stamp) } else { None }
}

/// The facts in a text of an earlier release, in its second line.
pub(crate) fn old_stamp(body: &str) -> Option<&str> {
    inner(body.lines().nth(1)?.trim_end()).filter(|stamp| stamp.starts_with("verdict="))
}

/// The last line that is not empty, and the one before it.
fn last_lines(body: &str) -> Option<(&str, &str)> {
    let mut lines = body.trim_end().lines().rev().map(str::trim_end);
    let last = lines.next()?;
    Some((lines.next().unwrap_or_default(), last))
}

fn inner(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- ")?.strip_suffix(" -->")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_marked_by_its_last_line_alone() {
        let marker = Marker::of_comment("1", 5, &Key::default());
        let body = format!("text\n{}", marker.tail("verdict=pass culprit=none"));
        assert!(
            marker.is_last_line_of(&body)
                && marker.is_last_line_of(body.trim_end())
                && marker.is_last_line_of(&body.replace('\n', "\r\n"))
        );
        assert_eq!(stamp(&body), Some("verdict=pass culprit=none"));
        let other = |repository, number| Marker::of_comment(repository, number, &Key::default());
        for marker in [other("2", 5), other("1", 6), Marker::of_issue("1", &Key::default())] {
            assert!(!marker.is_last_line_of(&body), "{marker:?}");
        }
        for body in
            [format!("{body}thanks"), format!("> {}", marker.line), marker.line.replace(" of=", " of=0"), String::new()]
        {
            assert!(!marker.is_last_line_of(&body), "{body}");
        }
        assert_eq!(stamp_of_any(&body, "1", 5), Some("verdict=pass culprit=none"));
        assert_eq!((stamp_of_any(&body, "1", 6), stamp_of_any(&body, "2", 5)), (None, None));
    }

    #[test]
    fn what_earlier_releases_wrote_counts_once() {
        let marker = Marker::of_comment("1", 5, &Key::default());
        let old = "<!-- precision-gate:v1 key=default -->\n<!-- verdict=pass culprit=none -->\n\n## Pass\n".to_owned();
        assert!(marker.is_old_start_of(&old) && !marker.is_last_line_of(&old));
        for other in [
            old.replace("default", "nightly"),
            old.replacen("\n<!-- verdict", "\n\n<!-- verdict", 1),
            old.replace("\n\n", "\nmerge it\n"),
            format!("see:\n{old}"),
            "<!-- precision-gate:v1 key=default -->\n".to_owned(),
        ] {
            assert!(!marker.is_old_start_of(&other), "{other}");
        }
        let new = marker.tail("verdict=fail culprit=none");
        assert_eq!(marker.marked_items(vec![old.clone(), new.clone()], |body| body), [new]);
        assert_eq!(marker.marked_items(vec![old.clone(), "x".to_owned()], |body| body), [old]);
    }
}
