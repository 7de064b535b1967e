//! Depth to which a YAML text nests its brackets, counted before it is parsed.
//!
//! A parser of YAML takes time that grows with the square of the depth. A policy needs four levels; a text with a
//! hundred thousand is refused here, in one pass over its bytes.

/// Levels of `[` and `{` that are read.
const MOST_LEVELS: usize = 64;

/// The line, from 1, at which brackets are nested deeper than a policy ever needs.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut before = b'\n';
    let mut line = 1;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        line += usize::from(byte == b'\n');
        match (quote, byte) {
            (Some(b'"'), b'\\') => line += usize::from(bytes.next() == Some(b'\n')),
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'#') if before.is_ascii_whitespace() => line += usize::from(skip_line(&mut bytes)),
            (None, b'\'' | b'"') if starts_value(before, depth) => quote = Some(byte),
            (None, b'[' | b'{') if starts_value(before, depth) => depth += 1,
            (None, b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MOST_LEVELS {
            return Some(line);
        }
        before = if byte == b'#' && quote.is_none() { b'\n' } else { byte };
    }
    None
}

/// Whether a value may begin after the byte `before`; anywhere else a bracket or quote is part of a plain text.
fn starts_value(before: u8, depth: usize) -> bool {
    before.is_ascii_whitespace() || b"[{".contains(&before) || (depth > 0 && b",:]}".contains(&before))
}

/// Skips to the end of a comment; returns whether a line break ends it.
fn skip_line(bytes: &mut std::str::Bytes<'_>) -> bool {
    bytes.any(|byte| byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::too_deep;

    #[test]
    fn deep_brackets_are_found_with_their_line() {
        assert_eq!(too_deep(&format!("profile: strict\nrequired: {}", "[".repeat(100_000))), Some(2));
        assert_eq!(too_deep(&"{a: ".repeat(1000)), Some(1));
        assert_eq!(too_deep(&"[\n".repeat(1000)), Some(65));
    }

    #[test]
    fn brackets_in_texts_and_comments_do_not_count() {
        for text in ["# [[\n", "- 'a[b'\n", "- \"\\\"[{\"\n", "- a[b\n", "- it's [1]\n", "- {a: '[['}\n"] {
            assert_eq!(too_deep(&text.repeat(1000)), None, "{text}");
        }
        let rules = "waivers: [{code: '[a-z]*', where: 'x[0]'}, {code: \"[\", where: y}]\n";
        assert_eq!(too_deep(&rules.repeat(1000)), None);
    }
}
