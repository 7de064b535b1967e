//! Limits in bytes of the answers that are read, by kind. A forge, or whoever stands in its place, may send without
//! end.

use std::time::Duration;

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
