//! Kinds of lines that are recognised by their form alone.

/// Whether a line looks like a row of a table, with numbers and no words, or ends with a counter.
pub(super) fn is_numeric(line: &[u8]) -> bool {
    let is_row = |byte: &u8| {
        byte.is_ascii_digit()
            || !byte.is_ascii_alphanumeric()
            || matches!(byte, b'e' | b'E' | b'n' | b'a' | b'N' | b'i' | b'f')
    };
    !line.is_empty() && (ends_as_counter(line) || line.iter().all(is_row))
}

/// Whether a line ends as a counter that stands alone does: `.. [10/900]`, `.. (3):`.
fn ends_as_counter(line: &[u8]) -> bool {
    let open = line.strip_suffix(b":").unwrap_or(line);
    let digit = open.strip_suffix(b"]").or_else(|| open.strip_suffix(b")")).unwrap_or(open);
    digit.len() < line.len() && digit.last().is_some_and(u8::is_ascii_digit)
}

/// Whether the program that wrote a line logs means since its last line, as the Trainer and Megatron do.
pub(super) fn logs_means(line: &str) -> bool {
    line.contains("{'loss'") || line.contains("iteration ") && line.contains("elapsed time per iteration")
}
