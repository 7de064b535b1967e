//! Catalogues of texts, one per language.
//!
//! `templates/messages/<language>/*.yaml` map a rule's code to `message` and `help`, minijinja texts over the
//! finding's facts and its place (`where`); [`super::writer`] renders them. `report.yaml` beside them holds the
//! fixed words of documents ([`super::phrases`]). Both languages must hold every code; a test checks that.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::texts::{self, CheckTexts};
pub use crate::language::Language;
use crate::result::finding::Finding;

/// One code's texts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    message: String,
    #[serde(default)]
    help: String,
    /// Help texts that replace `help`, by the cause that the finding names.
    #[serde(default)]
    help_by_cause: BTreeMap<String, String>,
    /// Texts for a run without a baseline, if the others speak of two runs.
    #[serde(default)]
    alone: Option<Box<Self>>,
}

/// The catalogue of one language.
struct Catalogue(BTreeMap<String, Entry>);

macro_rules! catalogue {
    ($language:literal, $of_check:expr, $($file:literal),+) => {
        LazyLock::new(|| {
            let general = [$(include_str!(concat!("../../templates/messages/", $language, "/", $file, ".yaml"))),+];
            Catalogue::parse(general.into_iter().chain(texts::ALL.iter().map($of_check)))
        })
    };
}

static ENGLISH: LazyLock<Catalogue> =
    catalogue!("en", |of: &CheckTexts| of.english, "artifacts", "policy", "location", "history");
static CHINESE: LazyLock<Catalogue> =
    catalogue!("zh", |of: &CheckTexts| of.chinese, "artifacts", "policy", "location", "history");

impl Catalogue {
    fn of(language: Language) -> &'static Self {
        match language {
            Language::En => &ENGLISH,
            Language::Zh => &CHINESE,
        }
    }

    fn parse<'a>(files: impl Iterator<Item = &'a str>) -> Self {
        Self(files.flat_map(texts::codes).collect())
    }
}

/// The message and help templates of a code, as the catalogue holds them.
pub fn texts(code: &str, language: Language) -> Option<(&'static str, &'static str)> {
    Catalogue::of(language).0.get(code).map(|entry| (entry.message.as_str(), entry.help.as_str()))
}

/// The texts of a finding, as templates over its facts: message and help. A run without a baseline has texts of its own for some
/// codes.
pub(super) fn templates(finding: &Finding, language: Language, is_alone: bool) -> Option<(&'static str, &'static str)> {
    let entry = Catalogue::of(language).0.get(&finding.code)?;
    let entry = entry.alone.as_deref().filter(|_| is_alone).unwrap_or(entry);
    let help = finding.text("cause").and_then(|cause| entry.help_by_cause.get(cause)).unwrap_or(&entry.help);
    Some((entry.message.trim_end(), help.trim_end()))
}

/// Largest ratio that is written as a percentage; a larger ratio is written as a multiple.
const MOST_PERCENT: f64 = 10.0;

/// Smallest ratio that is written as a percentage.
const LEAST_PERCENT: f64 = 1e-4;

/// A measured relative error with two digits, or with as many digits as show on which side of its limits it lies.
pub(super) fn relative_error_text(value: f64, limits: &[f64]) -> String {
    // A value that equals its limit cannot be told apart by any digits. Otherwise it has to be written unlike the limit, whether the
    // limit has two or four digits; the zero added below does not count.
    let differs = |shown: &String, limit: &f64| {
        value.to_bits() == limit.to_bits()
            || [2, 4].iter().all(|digits| shown.replace(".0 %", " %") != ratio(*limit, *digits))
    };
    let is_told_apart = |shown: &String| limits.iter().all(|limit| differs(shown, limit));
    let shown = |digits| match ratio(value, digits) {
        // A zero at the end shows that the number was rounded: 5.046 % becomes 5.0 %, and exactly 5 % stays 5 %.
        one if digits == 2 && one.len() == "5 %".len() && one.ends_with('%') && one != ratio(value, 4) => {
            one.replace(" %", ".0 %")
        }
        other => other,
    };
    (2..4).map(shown).find(is_told_apart).unwrap_or_else(|| ratio(value, 4))
}

/// Microseconds with three digits: `48.2 ms`.
pub(super) fn duration(microseconds: f64) -> String {
    if microseconds == 0.0 {
        return "0".to_owned();
    }
    let (value, unit) = match microseconds.abs() {
        below if below < 1e3 => (microseconds, "us"),
        below if below < 1e6 => (microseconds / 1e3, "ms"),
        _ => (microseconds / 1e6, "s"),
    };
    let text = match value.abs() {
        below if below < 10.0 => format!("{value:.2}"),
        below if below < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    format!("{text} {unit}")
}

/// A ratio with at most `digits` significant digits: a percentage from 0.01 % on, with all whole percents from 100 % on;
/// a plain number below, and a multiple (`34×`) beyond 1000 %.
pub(super) fn ratio(value: f64, digits: usize) -> String {
    let magnitude = value.abs();
    if magnitude > MOST_PERCENT && magnitude.is_finite() {
        return format!("{}×", rounded(value, digits));
    }
    if value != 0.0 && !(LEAST_PERCENT..=MOST_PERCENT).contains(&magnitude) {
        return rounded(value, digits);
    }
    let percent = value * 100.0;
    if magnitude >= 1.0 { format!("{percent:.0} %") } else { format!("{} %", rounded(percent, digits)) }
}

/// A ratio with two digits and its sign: `+7.1 %`.
pub(super) fn signed_ratio(value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", ratio(value, 2)).replace('-', "−")
}

/// The label of an axis of relative errors: a ratio with three digits.
pub fn tick(value: f64) -> String {
    let size = ratio(value.abs(), 3);
    if value < 0.0 { format!("−{size}") } else { size }
}

/// The label of an axis of differences, with its sign: `+12.5 %`.
pub fn signed_tick(value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", tick(value))
}

/// The share of a part in a growth, in whole percent. A part that grew by more than the whole, while others shrank, counts as
/// 100 %.
pub(super) fn share_of_growth(part: f64) -> String {
    let percent = (part.min(1.0) * 100.0).round() + 0.0;
    format!("{percent:.0} %").replace('-', "−")
}

/// `value` with four significant digits: plain between 1e-4 and 1e6, with an exponent elsewhere.
pub fn short_number(value: f64) -> String {
    rounded(value, 4)
}

/// `value` with at most `digits` significant digits.
pub(super) fn rounded(value: f64, digits: usize) -> String {
    let magnitude = value.abs();
    if value == 0.0 || !value.is_finite() {
        return match value {
            nan if nan.is_nan() => "nan".into(),
            // Adding 0.0 removes the sign of a negative zero.
            zero_or_infinite => format!("{}", zero_or_infinite + 0.0),
        };
    }
    if !(1e-4..1e6).contains(&magnitude) {
        let text = format!("{value:.*e}", digits.saturating_sub(1));
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", trim_zeros(mantissa));
    }
    #[allow(clippy::cast_possible_truncation, reason = "the magnitude lies between 1e-4 and 1e6")]
    let decimals = (i32::try_from(digits).unwrap_or(4) - 1 - magnitude.log10().floor() as i32).max(0);
    trim_zeros(&format!("{value:.*}", usize::try_from(decimals).unwrap_or(0))).to_owned()
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_hold_every_code_and_no_other() {
        let codes: Vec<&str> = {
            let mut codes: Vec<&str> = crate::judge::register::all_rules().map(|rule| rule.code).collect();
            codes.sort_unstable();
            codes
        };
        for language in Language::ALL {
            let known: Vec<&str> = Catalogue::of(language).0.keys().map(String::as_str).collect();
            assert_eq!(known, codes, "{language:?}");
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in
            [(0.0, "0"), (1.0, "1"), (0.012345, "0.01235"), (1234567.0, "1.235e6"), (-2.5e-7, "-2.5e-7"), (99.0, "99")]
        {
            assert_eq!(short_number(value), text);
        }
    }
}
