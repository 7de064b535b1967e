//! Comparison of files with git's blob ids, which are digests of their content.

use std::io::{self, Read};

use sha1::{Digest as _, Sha1};
use sha2::{Digest as _, Sha256};

/// Number of digits of a SHA-256 id. Shorter ids are SHA-1.
const LONG: usize = 64;

/// Whether `content`, which has `size` bytes, has this blob id.
pub(super) fn is_blob(content: impl Read, size: u64, id: &str) -> io::Result<bool> {
    let header = format!("blob {size}\0");
    let mut content = header.as_bytes().chain(content.take(size.saturating_add(1)));
    let mut buffer = vec![0; 1 << 16];
    let (mut short, mut long) = (Sha1::new(), Sha256::new());
    loop {
        let read = content.read(&mut buffer)?;
        let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else { break };
        if id.len() == LONG { long.update(part) } else { short.update(part) }
    }
    Ok(if id.len() == LONG { is_digest(&long.finalize(), id) } else { is_digest(&short.finalize(), id) })
}

/// Whether a file has the same lines as the blob with this id. The line ends may be CR LF, because git may check a file out so.
pub(super) fn has_same_lines(content: &[u8], id: &str) -> bool {
    let is = |content: &[u8]| is_blob(content, content.len() as u64, id).unwrap_or(false);
    is(content) || by_line_feeds(content).is_some_and(|content| is(&content))
}

/// Content with CR LF replaced by LF; `None` if there is no CR, or if a CR without LF ends a line.
fn by_line_feeds(content: &[u8]) -> Option<Vec<u8>> {
    let is_pair = |at: usize| content.get(at + 1) == Some(&b'\n');
    let is_converted = memchr::memchr(b'\r', content).is_some() && memchr::memchr_iter(b'\r', content).all(is_pair);
    is_converted.then(|| content.iter().copied().filter(|byte| *byte != b'\r').collect())
}

fn is_digest(digest: &[u8], id: &str) -> bool {
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    digits == id
}

#[cfg(test)]
mod tests {
    use super::has_same_lines;

    /// Ids that `git hash-object --stdin` gave for `x = 1\n`.
    const IDS: [&str; 2] = [
        "7d4290a117a4ddcc11daae7ea675841033830c8f",
        "ad0de4e782859190cf54ae4db714187a9ba861e1fb30ca0c3ae148990aea81c9",
    ];

    #[test]
    fn a_file_is_known_by_its_content_with_either_line_end() {
        for id in IDS {
            assert!(has_same_lines(b"x = 1\n", id) && has_same_lines(b"x = 1\r\n", id), "{id}");
            for other in ["x = 1\r", "x = 1\r\r\n", "x = 2\n", ""] {
                assert!(!has_same_lines(other.as_bytes(), id), "{id} {other:?}");
            }
        }
    }
}
