//! Texts of likely causes, from `templates/messages/<language>/diagnoses.yaml`.
//!
//! A diagnosis carries codes and facts; titles, evidence and advice are minijinja texts over those facts, as for findings.
//! A code that this version does not know (from a result of a later version) is shown as it is in the result.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::Value;
use serde::{Deserialize, Serialize};

use super::code_texts::CodeText;
use super::messages::Language;
use super::writer::{Writer, safe};
use crate::diagnose::cause;
use crate::error::Result;
use crate::judge::register;
use crate::result::diagnosis::{Diagnosis, Statement};
use crate::result::finding::{Fact, Finding};

/// The texts of one language, by code.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Texts {
    titles: BTreeMap<String, String>,
    sureness: BTreeMap<String, String>,
    evidence: BTreeMap<String, String>,
    advice: BTreeMap<String, String>,
    /// Explanations, by cause.
    explained: BTreeMap<String, CodeText>,
}

static ENGLISH: LazyLock<Texts> = LazyLock::new(|| parse(include_str!("../../templates/messages/en/diagnoses.yaml")));
static CHINESE: LazyLock<Texts> = LazyLock::new(|| parse(include_str!("../../templates/messages/zh/diagnoses.yaml")));

fn parse(text: &str) -> Texts {
    serde_yaml::from_str(text).expect("invariant: shipped texts are tested")
}

impl Texts {
    fn of(language: Language) -> &'static Self {
        match language {
            Language::En => &ENGLISH,
            Language::Zh => &CHINESE,
        }
    }
}

/// A cause's title in a language.
pub fn title(cause: &str, language: Language) -> Option<&'static str> {
    Texts::of(language).titles.get(cause).map(String::as_str)
}

/// Explanations of all causes, by code.
pub(super) fn cause_explanations(language: Language) -> &'static BTreeMap<String, CodeText> {
    &Texts::of(language).explained
}

/// The advice of a code, a template over its facts.
pub fn advice(code: &str, language: Language) -> Option<&'static str> {
    Texts::of(language).advice.get(code).map(String::as_str)
}

/// Texts of a cause, in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseText {
    /// Title.
    pub title: String,
    /// Confidence in the cause, in one word.
    pub sureness: String,
    /// Evidence for it, one sentence each.
    pub evidence: Vec<String>,
    /// Advice; empty if the result holds none.
    pub advice: String,
}

/// The texts of a diagnosis in the writer's language and target.
pub fn text(diagnosis: &Diagnosis, writer: &Writer) -> Result<CauseText> {
    let texts = Texts::of(writer.language());
    let told = |known: &BTreeMap<String, String>, statement: &Statement| match known.get(&statement.code) {
        Some(template) => writer.statement(&statement.code, template, &statement.facts),
        None => Ok(writer.name(&statement.code)),
    };
    let evidence = |statement: &Statement| match as_finding(statement) {
        _ if statement.code.is_empty() => Ok(writer.prose(&statement.text)),
        Some(finding) => finding_text(&finding, writer),
        None => told(&texts.evidence, statement),
    };
    let title = texts.titles.get(&diagnosis.cause).cloned().unwrap_or_else(|| writer.name(&diagnosis.cause));
    let evidence: Result<Vec<String>> = diagnosis.evidence.iter().map(evidence).collect();
    let advice = match &diagnosis.advice {
        known if texts.advice.contains_key(&known.code) => told(&texts.advice, known)?,
        other => writer.prose(&other.text),
    };
    let sureness = texts.sureness.get(diagnosis.sureness.as_str()).cloned().unwrap_or_default();
    Ok(CauseText { title, sureness, evidence: evidence?, advice })
}

/// The finding that a statement repeats; `None` if it repeats none.
fn as_finding(statement: &Statement) -> Option<Finding> {
    let text = |name: &str| match statement.facts.get(name) {
        Some(Fact::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let (rule, place) = (register::find(text("finding_code")?)?, text("finding_place")?);
    Some(Finding { facts: statement.facts.clone(), ..Finding::new(rule, place) })
}

/// A finding's sentence, with its place in front if the sentence does not name the place.
fn finding_text(finding: &Finding, writer: &Writer) -> Result<String> {
    let message = writer.finding(finding)?.message;
    let place = writer.name(&finding.place);
    if message.contains(&place) { Ok(message) } else { Ok(format!("{place}{}{message}", writer.word("colon")?)) }
}

/// A likely cause.
#[derive(Debug, Serialize)]
pub(crate) struct DiagnosisRow {
    /// Its code.
    pub cause: String,
    /// Title.
    pub title: Value,
    /// Confidence in the cause, in one word.
    pub sureness: Value,
    /// Place of the suspected fault.
    #[serde(rename = "where")]
    pub place: Value,
    /// Evidence for it, one sentence each.
    pub evidence: Vec<Value>,
    /// Advice; may be empty.
    pub advice: Value,
    /// Pages for further reading, chosen by the gate and never taken from an artifact.
    pub links: Vec<Value>,
}

/// A diagnosis for documents.
pub(super) fn row(diagnosis: &Diagnosis, writer: &Writer) -> Result<DiagnosisRow> {
    let text = text(diagnosis, writer)?;
    let links = cause::find(&diagnosis.cause).map_or(&[] as &[&str], |cause| cause.links);
    Ok(DiagnosisRow {
        cause: diagnosis.cause.clone(),
        title: safe(text.title),
        sureness: safe(text.sureness),
        place: safe(writer.name(&diagnosis.place)),
        evidence: text.evidence.into_iter().map(safe).collect(),
        advice: safe(text.advice),
        links: links.iter().map(|link| safe((*link).to_owned())).collect(),
    })
}

/// Writes the texts of evidence and advice of every diagnosis with a writer of plain text.
pub fn write_diagnosis_texts(diagnoses: &mut [Diagnosis], writer: &Writer) -> Result<()> {
    for diagnosis in diagnoses {
        let text = text(diagnosis, writer)?;
        diagnosis.evidence.iter_mut().zip(text.evidence).for_each(|(statement, text)| statement.text = text);
        diagnosis.advice.text = text.advice;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn sources(folder: &Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                sources(&path, text);
            } else {
                text.push_str(&std::fs::read_to_string(&path).expect("a source"));
            }
        }
    }

    /// Every text written out in the sources of the stage, in quotes.
    fn quoted() -> BTreeSet<String> {
        let mut text = String::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diagnose"), &mut text);
        text.split('"').map(str::to_owned).collect()
    }

    #[test]
    fn both_languages_hold_every_code_and_no_other() {
        let quoted = quoted();
        let causes: Vec<&str> = {
            let mut codes: Vec<&str> = cause::ALL.iter().map(|cause| cause.code).collect();
            codes.sort_unstable();
            codes
        };
        let (english, chinese) = (Texts::of(Language::En), Texts::of(Language::Zh));
        assert_eq!(english.titles.keys().collect::<Vec<_>>(), causes);
        assert_eq!(english.titles.keys().collect::<Vec<_>>(), chinese.titles.keys().collect::<Vec<_>>());
        assert_eq!(english.sureness.keys().collect::<Vec<_>>(), chinese.sureness.keys().collect::<Vec<_>>());
        assert_eq!(english.evidence.keys().collect::<Vec<_>>(), chinese.evidence.keys().collect::<Vec<_>>());
        assert_eq!(english.advice.keys().collect::<Vec<_>>(), chinese.advice.keys().collect::<Vec<_>>());
        for code in english.evidence.keys().chain(english.advice.keys()) {
            assert!(quoted.contains(code), "`{code}` is said nowhere");
        }
        for cause in causes {
            assert!(english.advice.contains_key(cause), "`{cause}` has no advice");
        }
    }

    #[test]
    fn every_statement_of_a_rule_has_a_text() {
        let mut text = String::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diagnose/cause"), &mut text);
        let english = Texts::of(Language::En);
        for part in text.split("Statement::new(\"").skip(1) {
            let code = part.split('"').next().unwrap_or_default();
            assert!(english.evidence.contains_key(code) || english.advice.contains_key(code), "`{code}` has no text");
        }
    }
}
