//! Limits on the size of answers by their kind, in bytes, and on time. A forge, or somebody who impersonates it, may send
//! endlessly.

use std::time::Duration;

use crate::fetch::retry::Retry;

/// Bytes of one item: a comment, a check, a pull request. GitLab's longest description has 1 000 000 characters of up to four
/// bytes; the same amount is left for escapes and the other fields.
pub(crate) const THING: usize = 8 << 20;
/// Bytes of a page of a list: a hundred of GitHub's longest comments, 65 536 characters of up to four bytes each.
pub(crate) const PAGE: usize = 32 << 20;
/// Bytes of all pages of a list together: four full pages of the longest comments, or 10 000 of 13 KB.
pub(crate) const LIST: usize = 128 << 20;
/// Pages of a list: ten thousand comments.
pub const PAGES: u32 = 100;
/// Bytes of an answer of which at most one line is shown: a refusal, a removal, a chat robot's answer.
pub(crate) const WORD: usize = 64 << 10;
/// Time for one request and its whole answer, however slowly it comes.
pub const TIME: Duration = Duration::from_secs(60);
/// Retries of requests: three more tries, and a wait of one minute if a forge limits requests without naming a time, as GitHub
/// demands. The limit on waits holds for the whole run; beyond it publishing is given up, which does not affect the verdict.
pub(crate) const RETRY: Retry = Retry {
    tries: 4,
    first_wait: Duration::from_millis(500),
    limit_wait: Duration::from_secs(60),
    most_waiting: Duration::from_secs(300),
};
