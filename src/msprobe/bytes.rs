//! Search for bytes of a kind, block by block.

/// Bytes that are looked at together.
const BLOCK: usize = 16;

/// Offset of the first byte that is wanted. `is_wanted` should not branch, so that a block takes a few instructions: texts of
/// tables have hundreds of bytes, of which hardly one is special.
pub(super) fn position(bytes: &[u8], is_wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let has_none = |block: &&[u8; BLOCK]| !block.iter().fold(false, |found, byte| found | is_wanted(*byte));
    let before = blocks.iter().take_while(has_none).count() * BLOCK;
    let at = bytes.get(before..)?.iter().position(|byte| is_wanted(*byte))?;
    Some(before + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_first_byte_is_found(bytes in proptest::collection::vec(0_u8..4, 0..60), wanted in 0_u8..6) {
            let few: Vec<u8> = bytes.iter().map(|byte| if *byte > 2 { wanted } else { 9 }).collect();
            for bytes in [&bytes, &few] {
                let expected = bytes.iter().position(|byte| *byte == wanted);
                proptest::prop_assert_eq!(position(bytes, |byte| byte == wanted), expected);
            }
        }
    }
}
