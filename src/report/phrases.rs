//! The fixed words of documents: `templates/messages/<language>/report.yaml`, flat keys, minijinja texts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::messages::Language;

/// Words by key.
type Phrases = BTreeMap<String, String>;

static ENGLISH: LazyLock<Phrases> = LazyLock::new(|| parse(include_str!("../../templates/messages/en/report.yaml")));
static CHINESE: LazyLock<Phrases> = LazyLock::new(|| parse(include_str!("../../templates/messages/zh/report.yaml")));

fn parse(text: &str) -> Phrases {
    serde_yaml::from_str(text).expect("invariant: shipped phrases are tested")
}

/// All phrases of a language.
pub fn all(language: Language) -> &'static BTreeMap<String, String> {
    match language {
        Language::En => &ENGLISH,
        Language::Zh => &CHINESE,
    }
}

/// The phrase of a key, a minijinja text over the arguments it is called with.
pub fn find(key: &str, language: Language) -> Option<&'static str> {
    all(language).get(key).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_hold_the_same_keys() {
        let keys = |language| all(language).keys().collect::<Vec<_>>();
        assert_eq!(keys(Language::En), keys(Language::Zh));
    }

    /// Keys that are written out in templates and code; keys put together at run time have a common start.
    #[test]
    fn every_key_is_used() {
        let sources = [
            include_str!("../../templates/report/summary.md.j2"),
            include_str!("view.rs"),
            include_str!("terminal.rs"),
        ];
        let composed = [
            "compared_",
            "picture_",
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
        ];
        for key in all(Language::En).keys() {
            let quoted = format!("\"{key}\"");
            let used = composed.iter().any(|start| key.starts_with(start))
                || sources.iter().any(|source| source.contains(&quoted));
            assert!(used, "`{key}` is used nowhere");
        }
    }
}
