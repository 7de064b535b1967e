//! Words of identifiers and texts: `isNPUAvailable` and `is_npu_available` both have the word `npu`, `input` has not.

/// Words of a text in lower case: runs of letters, split where a capital begins a word.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|character: char| !character.is_ascii_alphabetic()).filter(|run| !run.is_empty()).flat_map(of_run)
}

/// Whether `text` has one of `wanted`, which are in lower case; several words joined by `_` have to follow each other.
pub fn has_word(text: &str, wanted: &[&str]) -> bool {
    // Most texts hold none of the letters; splitting them would be most of the work of a file.
    let begins = wanted.iter().filter_map(|word| word.bytes().next()).fold(0, |all, letter| all | bit(letter));
    let bytes = text.as_bytes();
    let is_at = |place: usize| {
        let rest = bytes.get(place..).unwrap_or_default();
        wanted.iter().any(|word| {
            let first = word.split('_').next().unwrap_or(word).as_bytes();
            rest.get(..first.len()).is_some_and(|part| part.eq_ignore_ascii_case(first))
        })
    };
    if !bytes.iter().enumerate().any(|(place, byte)| begins & bit(*byte) != 0 && is_at(place)) {
        return false;
    }
    let found: Vec<String> = words(text).collect();
    wanted.iter().any(|word| {
        let parts: Vec<&str> = word.split('_').collect();
        found.windows(parts.len()).any(|window| window.iter().zip(&parts).all(|(a, b)| a == b))
    })
}

/// The bit of a letter in either case, which few other bytes share.
fn bit(byte: u8) -> u32 {
    1 << (byte & 31)
}

/// Whether `text` holds `part`, which is in lower case, in letters of either case.
pub fn contains_ignoring_case(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len().max(1)).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

/// Words of letters without anything between: `NPUWorker` is `npu` and `worker`.
fn of_run(run: &str) -> Vec<String> {
    let letters: Vec<char> = run.chars().collect();
    let mut words = Vec::new();
    let mut word = String::new();
    for (place, letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| letters.get(before));
        let after = letters.get(place + 1);
        let begins = letter.is_ascii_uppercase()
            && before.is_some_and(|before| before.is_ascii_lowercase() || after.is_some_and(char::is_ascii_lowercase));
        if begins && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.push(letter.to_ascii_lowercase());
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::{has_word, words};

    #[test]
    fn names_of_every_style_have_words() {
        for (text, expected) in [
            ("is_torch_npu_available", "is torch npu available"),
            ("IS_NPU", "is npu"),
            ("NPUWorker", "npu worker"),
            ("isNPUAvailable", "is npu available"),
            ("npu:0", "npu"),
            ("sm90", "sm"),
            ("input", "input"),
        ] {
            assert_eq!(words(text).collect::<Vec<_>>().join(" "), expected);
        }
    }

    #[test]
    fn a_word_is_no_part_of_another() {
        assert!(has_word("use_npu", &["npu"]) && has_word("torch.cuda.is_available", &["is_available"]));
        assert!(!has_word("input_ids", &["npu"]) && !has_word("descending", &["ascend"]) && !has_word("", &["npu"]));
        assert!(has_word("base_learning_rate", &["learning_rate"]) && !has_word("rate", &["learning_rate"]));
    }
}
