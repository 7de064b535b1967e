//! What people read: one catalogue per language.
//!
//! `templates/messages/<language>/*.yaml` map a rule's code to `message` and `help`, minijinja texts over the
//! finding's facts, its place (`where`) and `code`. Both languages must hold every code (a test sees to it).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::judge::finding::Finding;

/// A language of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English
    #[default]
    En,
    /// Chinese
    Zh,
}

/// One code's texts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    message: String,
    #[serde(default)]
    help: String,
}

/// The catalogue of one language.
struct Catalogue(BTreeMap<String, Entry>);

macro_rules! catalogue {
    ($language:literal, $($file:literal),+) => {
        LazyLock::new(|| Catalogue::parse(&[$(include_str!(concat!("../../templates/messages/", $language, "/", $file, ".yaml"))),+]))
    };
}

static ENGLISH: LazyLock<Catalogue> = catalogue!("en", "artifacts", "policy", "config", "loss", "dump");
static CHINESE: LazyLock<Catalogue> = catalogue!("zh", "artifacts", "policy", "config", "loss", "dump");

impl Catalogue {
    fn of(language: Language) -> &'static Self {
        match language {
            Language::En => &ENGLISH,
            Language::Zh => &CHINESE,
        }
    }

    fn parse(files: &[&str]) -> Self {
        let mut entries = BTreeMap::new();
        for file in files {
            let part: Option<BTreeMap<String, Entry>> =
                serde_yaml::from_str(file).expect("invariant: shipped catalogues are tested");
            entries.extend(part.unwrap_or_default());
        }
        Self(entries)
    }
}

/// Writes `message` and `help` of every finding in `language`.
pub fn fill(findings: &mut [Finding], language: Language) -> Result<()> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("number", number);
    environment.add_filter("percent", percent);
    for finding in findings {
        let entry = Catalogue::of(language)
            .0
            .get(&finding.code)
            .ok_or_else(|| Error::new(ErrorKind::Internal, &finding.code, "has no text in the message catalogue"))?;
        let mut context: BTreeMap<&str, minijinja::Value> =
            finding.facts.iter().map(|(name, fact)| (name.as_str(), minijinja::Value::from(Serde(fact)))).collect();
        context.insert("where", finding.place.clone().into());
        let render = |text: &str| {
            environment
                .render_str(text, &context)
                .map_err(|error| Error::new(ErrorKind::Internal, &finding.code, error))
        };
        let (message, help) = (render(entry.message.trim_end())?, render(entry.help.trim_end())?);
        finding.message = message;
        finding.help = help;
    }
    Ok(())
}

/// A number for reading: four significant digits; words (`nan`, `inf`) stay.
fn number(value: &minijinja::Value) -> String {
    f64::try_from(value.clone()).map_or_else(|_| value.to_string(), short)
}

/// A ratio as a percentage.
fn percent(value: &minijinja::Value) -> String {
    f64::try_from(value.clone()).map_or_else(|_| value.to_string(), |ratio| format!("{} %", short(ratio * 100.0)))
}

/// `value` with four significant digits: plain between 1e-4 and 1e6, with an exponent elsewhere.
pub fn short(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e6).contains(&magnitude) {
        let text = format!("{value:.3e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", trim_zeros(mantissa));
    }
    #[allow(clippy::cast_possible_truncation, reason = "the magnitude lies between 1e-4 and 1e6")]
    let decimals = (3 - magnitude.log10().floor() as i32).max(0);
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
            let mut codes: Vec<&str> = crate::judge::rule::all().map(|rule| rule.code).collect();
            codes.sort_unstable();
            codes
        };
        for language in [Language::En, Language::Zh] {
            let known: Vec<&str> = Catalogue::of(language).0.keys().map(String::as_str).collect();
            assert_eq!(known, codes, "{language:?}");
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in
            [(0.0, "0"), (1.0, "1"), (0.012345, "0.01235"), (1234567.0, "1.235e6"), (-2.5e-7, "-2.5e-7"), (99.0, "99")]
        {
            assert_eq!(short(value), text);
        }
    }
}
