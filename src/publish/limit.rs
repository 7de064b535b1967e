//! Limits in bytes of the answers that are read, by kind, and of the time that is spent. A forge, or whoever stands in
//! its place, may send without end.

use std::time::Duration;

use crate::fetch::retry::Retry;

/// Bytes of one thing: a comment, a check, a pull request. GitLab's longest description has 1 000 000 characters of up to
/// four bytes; as much again is left for escapes and the other fields.
pub const THING: usize = 8 << 20;
/// Bytes of a page of a list: a hundred of GitHub's longest comments, 65 536 characters of up to four bytes each.
pub const PAGE: usize = 32 << 20;
/// Bytes of all pages of a list together: four full pages of the longest comments, or 10 000 of 13 KB.
pub const LIST: usize = 128 << 20;
/// Pages of a list: ten thousand comments.
pub const PAGES: u32 = 100;
/// Bytes of an answer of which a line is shown at most, or nothing: a refusal, a removal, a robot's word.
pub const WORD: usize = 64 << 10;
/// Time for one request and its whole answer, however slowly it comes.
pub const TIME: Duration = Duration::from_secs(60);
/// Repeats of requests: three more tries; a minute's wait where a forge limits and does not say for how long, as GitHub
/// asks for. Waits count for the whole run: publishing is given up then, the verdict stands anyway.
pub const RETRY: Retry = Retry {
    tries: 4,
    first_wait: Duration::from_millis(500),
    limit_wait: Duration::from_secs(60),
    most_waiting: Duration::from_secs(300),
};
