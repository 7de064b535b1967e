//! The fixed words of documents: `opening.yaml`, `report.yaml`, `publish.yaml`, `reproduce.yaml`, `run.yaml` and `signoff.yaml` of
//! `templates/messages/<language>`, which map flat keys to minijinja texts; and the names of the checks from the checks' own files.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::messages::Language;
use super::texts::{self, CheckTexts, Words};

/// Words by key.
type Phrases = BTreeMap<String, String>;

macro_rules! phrases {
    ($language:literal, $of_check:expr, $($file:literal),+) => {
        LazyLock::new(|| {
            let mut phrases =
                parse(&[$(include_str!(concat!("../../templates/messages/", $language, "/", $file, ".yaml"))),+]);
            phrases.extend(of_checks($of_check));
            phrases
        })
    };
}

static ENGLISH: LazyLock<Phrases> =
    phrases!("en", |of| of.english, "opening", "report", "publish", "reproduce", "run", "signoff");
static CHINESE: LazyLock<Phrases> =
    phrases!("zh", |of| of.chinese, "opening", "report", "publish", "reproduce", "run", "signoff");
/// Formulas of rules, by the rule's name.
static ENGLISH_FORMULAS: LazyLock<Phrases> =
    LazyLock::new(|| parse(&[include_str!("../../templates/messages/en/formulas.yaml")]));
static CHINESE_FORMULAS: LazyLock<Phrases> =
    LazyLock::new(|| parse(&[include_str!("../../templates/messages/zh/formulas.yaml")]));

fn parse(files: &[&str]) -> Phrases {
    let part = |file: &&str| serde_yaml::from_str::<Phrases>(file).expect("invariant: shipped phrases are tested");
    files.iter().flat_map(part).collect()
}

/// Names of the checks in documents, `check_<name>`, and the phrases for how much each compared, `compared_<name>`.
fn of_checks(file: fn(&CheckTexts) -> &str) -> Phrases {
    let of_check = |texts: &CheckTexts| {
        let Words { name, compared, alone } = texts::words(file(texts));
        let key = format!("compared_{}", texts.name);
        let alone = alone.map(|alone| (format!("{key}_alone"), alone));
        [(format!("check_{}", texts.name), name), (key, compared)].into_iter().chain(alone)
    };
    texts::ALL.iter().flat_map(of_check).collect()
}

pub(crate) fn all_phrases(language: Language) -> &'static BTreeMap<String, String> {
    match language {
        Language::En => &ENGLISH,
        Language::Zh => &CHINESE,
    }
}

/// The phrase of a key, a minijinja text over the arguments it is called with.
pub fn find(key: &str, language: Language) -> Option<&'static str> {
    all_phrases(language).get(key).map(String::as_str)
}

/// The phrase of a key; for a run without a baseline the phrase of `<key>_alone`, if there is one.
pub(crate) fn find_for(key: &str, language: Language, is_alone: bool) -> Option<&'static str> {
    let own = is_alone.then(|| find(&format!("{key}_alone"), language)).flatten();
    own.or_else(|| find(key, language))
}

/// The formulas of all rules, by the rule's name.
pub fn formulas(language: Language) -> &'static BTreeMap<String, String> {
    match language {
        Language::En => &ENGLISH_FORMULAS,
        Language::Zh => &CHINESE_FORMULAS,
    }
}

/// A rule's formula; `None` for a rule that this version does not know (a result of a later version).
pub fn formula(rule: &str, language: Language) -> Option<&'static str> {
    formulas(language).get(rule).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_hold_the_same_keys() {
        let keys = |language| all_phrases(language).keys().collect::<Vec<_>>();
        assert_eq!(keys(Language::En), keys(Language::Zh));
    }

    /// Keys that are written out in templates and code; keys put together at run time have a common start.
    #[test]
    fn every_key_is_used() {
        let sources = [
            include_str!("../../templates/report/summary.md.j2"),
            include_str!("view.rs"),
            include_str!("outcomes.rs"),
            include_str!("terminal.rs"),
            include_str!("mermaid.rs"),
            include_str!("standing.rs"),
            include_str!("trend.rs"),
            include_str!("opening.rs"),
            include_str!("opening/builder.rs"),
            include_str!("opening/agreement.rs"),
            include_str!("opening/evaluation.rs"),
            include_str!("opening/culprit.rs"),
            include_str!("opening/performance.rs"),
            include_str!("performance.rs"),
            include_str!("opening/lead.rs"),
            include_str!("opening/curve_advice.rs"),
            include_str!("opening/curves.rs"),
            include_str!("opening/numbers.rs"),
            include_str!("compared.rs"),
            include_str!("error_place.rs"),
            include_str!("reference.rs"),
            include_str!("plot/error_map.rs"),
            include_str!("sentence.rs"),
            include_str!("source_rules.rs"),
            include_str!("opening/beside.rs"),
            include_str!("opening/others.rs"),
            include_str!("opening/settings.rs"),
            include_str!("opening/beside.rs"),
            include_str!("writer.rs"),
        ];
        let composed = [
            "compared_",
            "picture_",
            "plot_",
            "unit_",
            "verdict_",
            "icon_",
            "check_",
            "next_dump_",
            "checker_",
            "side_",
            "state_",
            "kind_",
            "section_",
            "page_",
            "severity_",
            "profile_",
            "publish_",
            "history_",
            "change_",
            "signoff_",
            "training_",
            "note_",
            "headline_",
            "why_",
            "phase_",
            "subject_",
            "because_",
            "curve_cause_",
            "agrees_",
            "row_",
            "rule_",
            "metric_",
            "value_",
            "axis_",
            "evaluation_",
            "operators_",
            "account_",
            "fallback_",
            "performance_",
            "place_",
            "reason_",
            "invariant_",
            "looked_",
            "timeline_",
            "layout_",
            "reproduce_",
            "model_",
            "advice_settings_",
        ];
        for key in all_phrases(Language::En).keys() {
            let quoted = format!("\"{}\"", key.trim_end_matches("_alone"));
            let used = composed.iter().any(|start| key.starts_with(start))
                || sources.iter().any(|source| source.contains(&quoted));
            assert!(used, "`{key}` is used nowhere");
        }
    }
}
