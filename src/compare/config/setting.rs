//! Equality of settings that may be spelled differently.

use std::collections::BTreeMap;

use crate::read::json::Json;

/// Relation of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sameness {
    /// Equal: numbers as numbers, `true` as `True`, lists item by item.
    Equal,
    /// Equal except for words that have the same meaning on another device, such as `nccl` and `hccl`.
    Equivalent,
    /// Two paths.
    DifferentPaths,
    /// Different.
    Different,
}

/// Groups of words that have the same meaning on different devices.
const EQUIVALENT: [&[&str]; 2] = [&["nccl", "hccl"], &["cuda", "npu", "gpu"]];

/// Equality of settings: by number within a tolerance, and by groups of words.
#[derive(Debug)]
pub(crate) struct SettingMeaning {
    relative: f64,
    /// Maps each word to the first word of its group.
    words: BTreeMap<String, String>,
}

impl SettingMeaning {
    /// Numbers are equal up to the relative difference; `equivalent` adds groups of words to the built-in ones.
    pub(crate) fn new(relative: f64, equivalent: &[Vec<String>]) -> Self {
        let built_in = EQUIVALENT.iter().map(|group| group.iter().map(|word| (*word).to_owned()).collect());
        let mut words = BTreeMap::new();
        for group in equivalent.iter().cloned().chain(built_in) {
            let Some(first) = group.first().map(|word| word.to_lowercase()) else { continue };
            for word in group {
                words.entry(word.to_lowercase()).or_insert_with(|| first.clone());
            }
        }
        Self { relative, words }
    }

    /// Compares two values.
    pub(crate) fn compare(&self, a: &Json, b: &Json) -> Sameness {
        match (a, b) {
            (Json::Array(a), Json::Array(b)) => self.items(a, b),
            (Json::Object(a), Json::Object(items)) => {
                let partner = |(key, value): &(String, Json)| {
                    b.get(key).map_or(Sameness::Different, |other| self.compare(value, other))
                };
                if a.len() == items.len() { worst(a.iter().map(partner)) } else { Sameness::Different }
            }
            _ => self.scalars(a, b),
        }
    }

    fn items(&self, a: &[Json], b: &[Json]) -> Sameness {
        if a.len() != b.len() {
            return Sameness::Different;
        }
        worst(a.iter().zip(b).map(|(a, b)| self.compare(a, b)))
    }

    fn scalars(&self, a: &Json, b: &Json) -> Sameness {
        if let (Some(a), Some(b)) = (number(a), number(b)) {
            let near = (a - b).abs() <= self.relative * a.abs().max(b.abs());
            return if near || (a.is_nan() && b.is_nan()) { Sameness::Equal } else { Sameness::Different };
        }
        let (Some(a), Some(b)) = (word(a), word(b)) else { return Sameness::Different };
        if a == b || (is_keyword(&a) && a.eq_ignore_ascii_case(&b)) {
            Sameness::Equal
        } else if self.without_device(&a) == self.without_device(&b) {
            Sameness::Equivalent
        } else if a.contains('/') && b.contains('/') {
            Sameness::DifferentPaths
        } else {
            Sameness::Different
        }
    }

    /// The text with every device word, in any case, replaced by the first of its group.
    fn without_device(&self, text: &str) -> String {
        let mut out = String::new();
        for piece in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
            let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
            out.push_str(self.words.get(&word.to_lowercase()).map_or(word, String::as_str));
            out.push_str(piece.get(word.len()..).unwrap_or_default());
        }
        out
    }
}

fn worst(all: impl Iterator<Item = Sameness>) -> Sameness {
    let rank = |sameness: &Sameness| match sameness {
        Sameness::Equal => 0,
        Sameness::Equivalent => 1,
        Sameness::DifferentPaths => 2,
        Sameness::Different => 3,
    };
    all.max_by_key(rank).unwrap_or(Sameness::Equal)
}

/// The number that a value is or spells; `None` for booleans.
fn number(value: &Json) -> Option<f64> {
    match value {
        Json::Text(text) => {
            let text = text.trim();
            let spelled = text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
            spelled.then(|| text.parse().ok())?
        }
        other => other.as_f64(),
    }
}

/// The text of a value that is not a container.
fn word(value: &Json) -> Option<String> {
    match value {
        Json::Null => Some("none".into()),
        Json::Bool(value) => Some(value.to_string()),
        Json::Text(text) => Some(text.trim().to_owned()),
        Json::Int(value) => Some(value.to_string()),
        Json::BigInt(digits) => Some(digits.clone()),
        Json::Float(value) => Some(value.to_string()),
        Json::Array(_) | Json::Object(_) => None,
    }
}

/// Words whose case carries no meaning.
fn is_keyword(text: &str) -> bool {
    ["true", "false", "none", "null"].iter().any(|keyword| text.eq_ignore_ascii_case(keyword))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_mean_the_same_across_spellings() {
        let text = |value: &str| Json::Text(value.into());
        let meaning = SettingMeaning::new(0.0, &[vec!["flash".into(), "fused".into()]]);
        for (a, b, expected) in [
            (text("1.5e-4"), Json::Float(0.000_15), Sameness::Equal),
            (Json::Int(1), Json::Float(1.0), Sameness::Equal),
            (Json::Bool(true), text("True"), Sameness::Equal),
            (Json::Null, text("None"), Sameness::Equal),
            (text("nccl"), text("hccl"), Sameness::Equivalent),
            (text("NCCL"), text("hccl"), Sameness::Equivalent),
            (text("cuda:0"), text("npu:0"), Sameness::Equivalent),
            (text("flash-attn"), text("fused-attn"), Sameness::Equivalent),
            (text("cuda:0"), text("npu:1"), Sameness::Different),
            (text("Adam"), text("adam"), Sameness::Different),
            (text("/a/x"), text("/b/x"), Sameness::DifferentPaths),
            (Json::Bool(true), Json::Int(1), Sameness::Different),
            (Json::Array(vec![Json::Float(0.9)]), Json::Array(vec![text("0.90")]), Sameness::Equal),
            (Json::Array(vec![]), text("x"), Sameness::Different),
        ] {
            assert_eq!(meaning.compare(&a, &b), expected, "{a:?} {b:?}");
        }
    }
}
