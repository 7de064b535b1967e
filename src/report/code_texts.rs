//! Texts and facts about every code. Explanations, their page and waivers are made from them: texts per language
//! (`templates/messages/<language>/explain.yaml`, for causes `diagnoses.yaml`), and facts that are the same in every language
//! (`templates/explain.yaml`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::messages::Language;
use crate::judge::rule::Rule;
use crate::verdict::{Profile, Severity};

/// Texts of one language.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CodeTexts {
    /// Headings and other fixed words.
    pub(super) words: BTreeMap<String, String>,
    /// Meaning of each policy key.
    pub(super) keys: BTreeMap<String, String>,
    /// Findings, by code.
    pub(super) codes: BTreeMap<String, CodeText>,
    /// Meaning of each rule, by its name.
    pub(super) rules: BTreeMap<String, String>,
}

/// Texts about a finding or a cause.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CodeText {
    /// Meaning; lists show its first sentence alone.
    pub(super) meaning: String,
    /// The test, or how a cause is recognised; explanations add the formulas of rules to it.
    pub(super) rule: Option<String>,
    /// Reason why a healthy run may show it.
    pub(super) harmless: String,
    /// Advice; `None` if the `help` of the finding's message is the advice.
    pub(super) fix: Option<String>,
    /// Condition under which its severity differs from the default.
    pub(super) weight: Option<String>,
}

/// Facts that are the same in every language.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplanationFacts {
    /// A line of YAML for each policy key.
    pub(super) keys: BTreeMap<String, String>,
    /// By the name of a check.
    pub(super) checks: BTreeMap<String, CheckFacts>,
    /// Facts by the code of a finding; a code with the same facts as its check is left out.
    codes: BTreeMap<String, CodeFacts>,
    /// The finding that each rule gives.
    pub(super) rules: BTreeMap<String, String>,
}

/// Facts about the findings of a check.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CheckFacts {
    /// An example of a place, as findings name it.
    #[serde(rename = "where")]
    pub(super) place: String,
    /// Page below `docs/`, with its anchor.
    page: String,
    /// Whether the page has one heading per finding, which is the finding's code.
    #[serde(default)]
    headed_by_code: bool,
    /// Policy keys that affect the findings without facts of their own.
    #[serde(default)]
    keys: Vec<String>,
}

/// Facts about one finding.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(super) struct CodeFacts {
    /// Names of the rules that it repeats.
    pub(super) rules: Vec<String>,
    /// Policy keys that change it.
    keys: Vec<String>,
    /// An example of a place, if it differs from that of its check.
    #[serde(rename = "where")]
    pub(super) place: Option<String>,
    /// Page, if it differs from that of its check.
    page: Option<String>,
    strict: Option<Severity>,
    bit_exact: Option<Severity>,
    release: Option<Severity>,
    /// Whether it may be a warning although its default severity is another one.
    pub(super) warns: bool,
    /// Whether only the profile `release` produces it.
    pub(super) only_release: bool,
    /// Whether neither a waiver can cover it nor the policy change its severity.
    pub(super) never_waived: bool,
}

impl CodeFacts {
    /// Severity of this finding under `profile`; `None` if it is the default one.
    pub(super) fn profile_severity(&self, profile: Profile) -> Option<Severity> {
        match profile {
            Profile::Default => None,
            Profile::Strict => self.strict,
            Profile::BitExact => self.bit_exact,
            Profile::Release => self.release,
        }
    }
}

impl ExplanationFacts {
    /// Facts about the finding `code`.
    pub(super) fn of_code(&self, code: &str) -> &CodeFacts {
        static NONE: LazyLock<CodeFacts> = LazyLock::new(CodeFacts::default);
        self.codes.get(code).unwrap_or(&NONE)
    }

    /// Policy keys that change a finding: its own, else those of its check.
    pub(super) fn keys_of(&self, rule: &Rule) -> &[String] {
        match (self.codes.get(rule.code), self.checks.get(rule.check.as_str())) {
            (Some(own), _) => &own.keys,
            (None, Some(check)) => &check.keys,
            (None, None) => &[],
        }
    }

    /// The page about a finding, below `docs/`.
    pub(super) fn page_of(&self, rule: &Rule) -> String {
        let check = self.checks.get(rule.check.as_str());
        match (&self.of_code(rule.code).page, check) {
            (Some(page), _) => page.clone(),
            (None, Some(check)) if check.headed_by_code => format!("{}#{}", check.page, rule.code),
            (None, check) => check.map(|check| check.page.clone()).unwrap_or_default(),
        }
    }

    /// The codes that have facts of their own.
    #[cfg(test)]
    pub(super) fn codes(&self) -> impl Iterator<Item = &String> {
        self.codes.keys()
    }
}

static ENGLISH: LazyLock<CodeTexts> = LazyLock::new(|| parse(include_str!("../../templates/messages/en/explain.yaml")));
static CHINESE: LazyLock<CodeTexts> = LazyLock::new(|| parse(include_str!("../../templates/messages/zh/explain.yaml")));
static FACTS: LazyLock<ExplanationFacts> = LazyLock::new(|| parse(include_str!("../../templates/explain.yaml")));

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_yaml::from_str(text).expect("invariant: shipped explanations are tested")
}

pub(super) fn texts(language: Language) -> &'static CodeTexts {
    match language {
        Language::En => &ENGLISH,
        Language::Zh => &CHINESE,
    }
}

pub(super) fn facts() -> &'static ExplanationFacts {
    &FACTS
}

/// A fixed word.
pub(super) fn word(key: &str, language: Language) -> &'static str {
    texts(language).words.get(key).map_or("", String::as_str)
}
