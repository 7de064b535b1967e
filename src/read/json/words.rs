//! Bytes of a document, eight at a time.

/// Bytes of a text that are searched for its end eight at a time; a search for longer ones takes longer to begin.
const SHORT: usize = 32;

/// Number of bytes in front of the first quote or backslash; `None` if there is none.
#[inline]
pub(super) fn text_len(text: &[u8]) -> Option<usize> {
    let (words, _) = text.as_chunks();
    for (index, word) in words.iter().take(SHORT / 8).enumerate() {
        let word = u64::from_le_bytes(*word);
        if let Some(place) = first(marks(word, b'"') | marks(word, b'\\')) {
            return Some(8 * index + place);
        }
    }
    memchr::memchr2(b'"', b'\\', text)
}

/// Number of bytes, of eight outside of texts, in front of the first that begins a text, or opens or closes an object or a list; eight
/// if there is none. A letter may be taken for such a byte.
#[inline]
pub(super) fn plain_len(word: [u8; 8]) -> usize {
    let word = u64::from_le_bytes(word);
    // Brackets and braces are `Y` but for these bits.
    let brackets = marks(word & !u64::from_le_bytes([0x26; 8]), b'Y');
    first(brackets | marks(word, b'"')).unwrap_or(8)
}

/// The highest bit of each byte that is equal to `byte`, up to the first, and maybe of some behind it.
#[inline]
fn marks(word: u64, byte: u8) -> u64 {
    let difference = word ^ u64::from_le_bytes([byte; 8]);
    difference.wrapping_sub(u64::from_le_bytes([1; 8])) & !difference & u64::from_le_bytes([0x80; 8])
}

/// Index of the first byte that is marked.
#[inline]
fn first(marks: u64) -> Option<usize> {
    if marks == 0 { None } else { Some((marks.trailing_zeros() / 8) as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_text_ends_at_its_first_quote_or_backslash(text in "[a\"\\\\ü]{0,3}[a-zé]{0,50}[a\"\\\\]{0,3}") {
            let expected = text.bytes().position(|byte| matches!(byte, b'"' | b'\\'));
            proptest::prop_assert_eq!(text_len(text.as_bytes()), expected);
        }

        #[test]
        fn plain_bytes_are_none_that_count(bytes: [u8; 8], text in "[\"\\[\\]{}:,.0-9e-]{8}") {
            let counts = |byte: &u8| matches!(byte, b'"' | b'[' | b']' | b'{' | b'}');
            let text = text.as_bytes().try_into().expect("eight bytes");
            proptest::prop_assert_eq!(plain_len(text), text.iter().position(counts).unwrap_or(8));
            proptest::prop_assert!(!bytes[..plain_len(bytes)].iter().any(counts));
        }
    }
}
