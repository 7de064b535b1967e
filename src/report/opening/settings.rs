//! Settings in the opening: config packs that differ, by what differs.

use minijinja::{Value, context};

use super::{Builder, Columns, EvidenceRow, Opening};
use crate::error::Result;
use crate::judge::finding::{Fact, Finding};
use crate::report::writer::safe;
use crate::verdict::Severity;

/// Names that a headline shows.
const MOST_NAMES: usize = 3;

/// The kinds of setting: the end of the phrase, and the codes of findings that say it differs.
const KINDS: [(&str, &[&str]); 7] = [
    ("hyperparameters", &["hyperparameter-differs", "hyperparameter-path-differs"]),
    ("pip", &["pip-version-differs", "pip-package-missing", "pip-rule-broken"]),
    ("env", &["env-pair-differs", "env-watched-differs", "env-device-count-differs"]),
    ("dataset", &["dataset-differs", "dataset-kind-differs", "dataset-one-sided"]),
    ("weights", &["weights-differ", "weights-one-sided", "weights-precision-differs"]),
    ("random", &["seed-differs", "random-count-differs", "random-unmatched"]),
    ("digest", &["digest-differs"]),
];

/// The findings as severe as `finding` that say the same of settings; empty where it is not about a setting.
pub(super) fn alike<'a>(finding: &Finding, findings: &'a [Finding]) -> Vec<&'a Finding> {
    let Some((_, codes)) = kind_of(finding) else { return Vec::new() };
    let is_alike = |other: &&Finding| other.severity == finding.severity && codes.contains(&other.code.as_str());
    findings.iter().filter(is_alike).collect()
}

fn kind_of(finding: &Finding) -> Option<(&'static str, &'static [&'static str])> {
    KINDS.into_iter().find(|(_, codes)| codes.contains(&finding.code.as_str()))
}

impl Builder<'_> {
    /// The opening of settings that differ, all of one kind.
    pub(super) fn settings(&self, findings: &[&Finding]) -> Result<Opening> {
        let Some(first) = findings.first() else { return Ok(Opening::saying(Value::from(""))) };
        let mut opening = Opening::saying(safe(self.headline_of_settings(findings)?));
        let counts = self.result.findings.iter().filter(|other| other.severity >= Severity::Warn);
        opening.rows = counts.filter_map(|finding| self.row_of_setting(finding)).collect();
        opening.columns = self.columns_of_sides()?;
        if let Some(head) = opening.columns.first_mut() {
            *head = self.word("head_setting")?;
        }
        opening.rows.extend(self.other_checks(Some(first.check), Columns::Sides)?);
        let cause = self.result.diagnoses.iter().find(|cause| cause.place == first.place);
        self.advise(&mut opening, cause, first)?;
        (opening.advice_word, opening.certainty, opening.reasons) =
            (self.word("next_step")?, Value::from(""), Value::from(""));
        opening.told = Some(first.check);
        if let Some(expected) = self.expected()? {
            opening.advice = safe(format!("{} {expected}", opening.advice));
        }
        Ok(opening)
    }

    /// The headline of settings that differ, all of one kind.
    pub(super) fn headline_of_settings(&self, findings: &[&Finding]) -> Result<String> {
        let kind = findings.first().and_then(|finding| kind_of(finding)).map_or("hyperparameters", |(kind, _)| kind);
        let mut names: Vec<&str> = findings.iter().map(|finding| finding.place.as_str()).collect();
        names.dedup();
        let count = names.len();
        let names = safe(self.names(&names)?);
        self.writer.phrase(&format!("headline_settings_{kind}"), &context! { names, count })
    }

    /// `a`, `a and b`, `a, b and c`, `a, b, c and 4 more`.
    fn names(&self, all: &[&str]) -> Result<String> {
        let shown: Vec<String> = all.iter().take(MOST_NAMES).map(|name| self.writer.name(name)).collect();
        let comma = self.writer.word("comma")?;
        match shown.as_slice() {
            shown if all.len() > MOST_NAMES => {
                let names = safe(shown.join(&comma));
                self.writer.phrase("opening_names_more", &context! { names, all => all.len(), shown => MOST_NAMES })
            }
            [before @ .., last] if !before.is_empty() => {
                Ok(format!("{}{}{last}", before.join(&comma), self.writer.word("opening_and")?))
            }
            shown => Ok(shown.join(&comma)),
        }
    }

    /// A setting with its values on both sides.
    fn row_of_setting(&self, finding: &Finding) -> Option<EvidenceRow> {
        kind_of(finding)?;
        let value = |side: &str| match finding.facts.get(side)? {
            Fact::Text(value) => Some(self.writer.name(value)),
            other => Some(self.writer.fact(side, other).to_string()),
        };
        let cells = vec![self.writer.name(&finding.place), value("baseline")?, value("candidate")?];
        Some(EvidenceRow::new(cells, finding.severity.verdict()))
    }

    /// A setting that differs as the devices do, so that nobody makes it equal.
    fn expected(&self) -> Result<Option<String>> {
        let found = self.result.findings.iter().find(|finding| finding.code == "hyperparameter-equivalent");
        let Some((finding, (baseline, candidate))) = found
            .and_then(|finding| Some((finding, finding.facts.get("baseline").zip(finding.facts.get("candidate"))?)))
        else {
            return Ok(None);
        };
        let [baseline, candidate] = [baseline, candidate].map(|fact| self.writer.fact("value", fact));
        let name = finding.place.as_str();
        self.writer.phrase("opening_expected", &context! { name, baseline, candidate }).map(Some)
    }
}
