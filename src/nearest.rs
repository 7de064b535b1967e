//! Search for the known word that an unknown one probably stands for.

use strsim::damerau_levenshtein;

/// Most edits between a typing error and the intended word: a plural, two letters swapped, a forgotten hyphen.
const MOST_EDITS: usize = 2;

/// The word in `known` of which `word` is probably a misspelling; `None` where all are too far away.
///
/// ```
/// assert_eq!(precision_gate::nearest::nearest("profil", ["baseline", "profile"]), Some("profile"));
/// ```
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |known: &'a str| {
        let edits = edit_distance(&word.to_lowercase(), &known.to_lowercase());
        // In a short word fewer edits are allowed: `xor` is not `op`.
        (edits <= MOST_EDITS && 2 * edits <= known.chars().count()).then_some((edits, known))
    };
    known.into_iter().filter_map(near).min_by_key(|(edits, _)| *edits).map(|(_, known)| known)
}

/// The number of letters to insert, delete, replace or swap with their neighbour that make `left` of `right`.
pub(crate) fn edit_distance(left: &str, right: &str) -> usize {
    damerau_levenshtein(left, right)
}

/// `; did you mean ...?`, or nothing where no known word is near.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_hand_is_recognised_and_another_word_is_not() {
        let known = ["op", "loss", "checkpoint", "max-age-days"];
        for (word, meant) in [
            ("los", Some("loss")),
            ("LOSS", Some("loss")),
            ("checkpiont", Some("checkpoint")),
            ("max_age_days", Some("max-age-days")),
            ("po", Some("op")),
            ("xor", None),
            ("tensor", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
    }
}
