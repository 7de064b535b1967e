//! Settings in the opening: config packs that differ, by what differs.

use minijinja::{Value, context};

use super::builder::{Builder, Columns, EvidenceRow, Opening};
use crate::error::Result;
use crate::judge::config::rules as config_rules;
use crate::judge::rule::Rule;
use crate::report::messages::short_number;
use crate::report::writer::safe;
use crate::result::finding::{Fact, Finding};
use crate::verdict::Severity;

/// Characters of a number that is shown as it was recorded.
const MOST_DIGITS: usize = 9;
/// Names that a headline shows.
const MOST_NAMES: usize = 3;

/// The kinds of setting: the end of the phrase, and the rules whose findings say it differs.
const KINDS: [(&str, &[&Rule]); 8] = [
    ("hyperparameters", &[&config_rules::HYPER_DIFFERS, &config_rules::HYPER_PATH]),
    ("pip", &[&config_rules::PIP_VERSION_DIFFERS, &config_rules::PIP_PACKAGE_MISSING, &config_rules::PIP_RULE_BROKEN]),
    ("env", &[&config_rules::ENV_PAIR_DIFFERS, &config_rules::ENV_WATCHED_DIFFERS, &config_rules::ENV_DEVICE_COUNT]),
    ("dataset", &[&config_rules::DATASET_DIFFERS, &config_rules::DATASET_KIND, &config_rules::DATASET_ONE_SIDED]),
    ("weights", &[&config_rules::WEIGHTS_DIFFER, &config_rules::WEIGHTS_ONE_SIDED, &config_rules::WEIGHTS_PRECISION]),
    ("seed", &[&config_rules::SEED_DIFFERS]),
    ("random", &[&config_rules::RANDOM_COUNT, &config_rules::RANDOM_UNMATCHED]),
    ("digest", &[&config_rules::DIGEST_DIFFERS]),
];

/// Kinds whose likely cause gives better advice than each finding does.
const CAUSED: [&str; 3] = ["hyperparameters", "dataset", "weights"];

/// Kinds whose settings have a value to set.
const SETTABLE: [&str; 4] = ["hyperparameters", "env", "pip", "seed"];

/// Kinds whose cause is about more than they are.
const OWN: [&str; 2] = ["dataset", "weights"];

/// Rules about what only one run has.
const ONE_SIDED: [&Rule; 3] =
    [&config_rules::HYPER_ONE_SIDED, &config_rules::WEIGHTS_ONE_SIDED, &config_rules::DATASET_ONE_SIDED];

/// The findings as severe as `finding` about settings of the same kind; empty if it is not about a setting.
pub(super) fn similar_settings_findings<'a>(finding: &Finding, findings: &'a [Finding]) -> Vec<&'a Finding> {
    let Some((_, rules)) = kind_of(finding) else { return Vec::new() };
    let is_alike = |other: &&Finding| other.severity == finding.severity && other.is_any(rules);
    findings.iter().filter(is_alike).collect()
}

fn kind_of(finding: &Finding) -> Option<(&'static str, &'static [&'static Rule])> {
    KINDS.into_iter().find(|(_, rules)| finding.is_any(rules))
}

/// The baseline's value of a setting, where it is one that can be set.
fn settable_value(finding: &Finding) -> Option<&str> {
    let value = finding.text("baseline")?;
    let is_plain = !matches!(value, "absent" | "unset") && !value.ends_with('…');
    // Variables of both platforms have different names, and values that mean the same.
    (is_plain && !finding.is(&config_rules::ENV_PAIR_DIFFERS)).then_some(value)
}

/// Sentences in a row: English ones with a blank between them, Chinese ones without.
fn sentences(all: &[String]) -> String {
    let mut text = String::new();
    for sentence in all.iter().filter(|sentence| !sentence.is_empty()) {
        if !text.is_empty() && !text.ends_with('。') {
            text.push(' ');
        }
        text.push_str(sentence);
    }
    text
}

/// A recorded text with its long numbers in four digits: `max 1.105065107345581, min -0.08` reads `max 1.105, min -0.08`.
fn rounded(text: &str) -> String {
    let short = |part: &str| match part.parse::<f64>() {
        Ok(number) if part.len() > MOST_DIGITS && number.is_finite() => short_number(number),
        _ => part.to_owned(),
    };
    let parts = text.split_inclusive([' ', ',', '[', ']']).map(|part| {
        let number = part.trim_end_matches([' ', ',', '[', ']']);
        short(number) + part.strip_prefix(number).unwrap_or_default()
    });
    parts.collect()
}

impl Builder<'_> {
    /// The opening of settings that differ, all of one kind.
    pub(super) fn settings(&self, findings: &[&Finding]) -> Result<Opening> {
        let Some(first) = findings.first() else { return Ok(Opening::from_headline(Value::from(""))) };
        let mut opening = Opening::from_headline(safe(self.headline_of_settings(findings)?));
        let counts = self.result.counting().filter(|other| other.severity >= Severity::Warn);
        opening.rows = counts.filter_map(|finding| self.row_of_setting(finding)).collect();
        opening.columns = self.columns_of_sides()?;
        if let Some(head) = opening.columns.first_mut() {
            *head = self.word("head_setting")?;
        }
        opening.rows.extend(self.other_checks(Some(first.check), Columns::Sides)?);
        let is_caused = kind_of(first).is_some_and(|(kind, _)| CAUSED.contains(&kind));
        let cause = self.result.diagnoses.iter().find(|cause| is_caused && cause.place == first.place);
        self.advise(&mut opening, cause, first)?;
        (opening.advice_word, opening.certainty, opening.reasons) =
            (self.word("next_step")?, Value::from(""), Value::from(""));
        opening.told = Some(first.check);
        let named = self.advice_of_settings(findings)?;
        let mut advice = vec![named.unwrap_or_else(|| opening.advice.to_string())];
        let one_sided = self.result.counting().filter(|finding| finding.is(&config_rules::HYPER_ONE_SIDED));
        for finding in one_sided {
            advice.extend(self.one_sided(finding)?);
        }
        advice.extend(self.expected()?);
        opening.advice = safe(sentences(&advice));
        Ok(opening)
    }

    /// The settings to make equal, with the baseline's values; `None` where one has no value to set.
    fn advice_of_settings(&self, findings: &[&Finding]) -> Result<Option<String>> {
        let Some((kind, _)) = findings.first().and_then(|finding| kind_of(finding)) else { return Ok(None) };
        if OWN.contains(&kind) {
            return findings.first().map(|first| Ok(self.writer.finding(first)?.help)).transpose();
        }
        if !SETTABLE.contains(&kind) {
            return Ok(None);
        }
        let key = if kind == "pip" { "advice_setting_pip" } else { "advice_setting" };
        let mut named: Vec<String> = Vec::new();
        for finding in findings.iter().take(MOST_NAMES) {
            let Some(value) = settable_value(finding) else { return Ok(None) };
            let context =
                context! { name => safe(self.writer.name(&finding.place)), value => safe(self.writer.name(value)) };
            named.push(self.writer.phrase(key, &context)?);
        }
        let settings = safe(self.listed(&named, findings.len(), "advice_and")?);
        self.writer.phrase(&format!("advice_settings_{kind}"), &context! { settings }).map(Some)
    }

    /// Settings that only one run has, in a sentence.
    fn one_sided(&self, finding: &Finding) -> Result<Option<String>> {
        let names: Vec<_> = match finding.facts.get("names") {
            Some(Fact::List(names)) => names.iter().take(MOST_NAMES).map(|name| safe(self.writer.name(name))).collect(),
            _ => Vec::new(),
        };
        let fact = |name: &str| finding.facts.get(name).map(|fact| self.writer.fact(name, fact));
        let Some((count, side)) = fact("count").zip(fact("side")).filter(|_| !names.is_empty()) else {
            return Ok(None);
        };
        self.writer.phrase("advice_setting_one_sided", &context! { names, count, side }).map(Some)
    }

    /// The headline of settings that differ, all of one kind.
    pub(super) fn headline_of_settings(&self, findings: &[&Finding]) -> Result<String> {
        let kind = findings.first().and_then(|finding| kind_of(finding)).map_or("hyperparameters", |(kind, _)| kind);
        let are_one_sided = findings.iter().all(|finding| finding.is(&config_rules::WEIGHTS_ONE_SIDED));
        let kind = if are_one_sided { "one_sided" } else { kind };
        let mut names: Vec<&str> = findings.iter().map(|finding| finding.place.as_str()).collect();
        names.dedup();
        let count = names.len();
        let names = safe(self.names(&names)?);
        self.writer.phrase(&format!("headline_settings_{kind}"), &context! { names, count })
    }

    /// `a`, `a and b`, `a, b and c`, `a, b, c and 4 more`.
    fn names(&self, all: &[&str]) -> Result<String> {
        let shown: Vec<String> = all.iter().take(MOST_NAMES).map(|name| self.writer.name(name)).collect();
        self.listed(&shown, all.len(), "opening_and")
    }

    /// The first of `all` things in a list that says how many more there are; `and` is the key of the word before the last.
    fn listed(&self, shown: &[String], all: usize, and: &str) -> Result<String> {
        let comma = self.writer.word("opening_comma")?;
        match shown {
            shown if all > shown.len() => {
                let names = safe(shown.join(&comma));
                self.writer.phrase("opening_names_more", &context! { names, all, shown => shown.len() })
            }
            [before @ .., last] if !before.is_empty() => {
                Ok(format!("{}{}{last}", before.join(&comma), self.writer.word(and)?))
            }
            shown => Ok(shown.join(&comma)),
        }
    }

    /// A setting with its values on both sides.
    pub(super) fn row_of_setting(&self, finding: &Finding) -> Option<EvidenceRow> {
        let is_one_sided = finding.is_any(&ONE_SIDED);
        if is_one_sided {
            return self.row_of_one_sided(finding);
        }
        kind_of(finding)?;
        let value = |side: &str| match finding.facts.get(side)? {
            Fact::Text(value) if !matches!(value.as_str(), "absent" | "unset") => {
                Some(self.writer.name(&rounded(value)))
            }
            other => Some(self.writer.fact(side, other).to_string()),
        };
        let sides = value("baseline").zip(value("candidate"));
        let off = || finding.facts.get("worst").map(|worst| self.writer.fact("worst", worst));
        let (baseline, candidate) = match sides {
            Some(sides) => sides,
            None => {
                let statistic = finding.text("statistic").unwrap_or_default();
                (String::new(), self.writer.phrase("row_off", &context! { off => off()?, statistic }).ok()?)
            }
        };
        let cells = vec![self.writer.name(&finding.place), baseline, candidate];
        Some(EvidenceRow::new(cells, finding.severity.verdict()))
    }

    /// A setting that one run has.
    fn row_of_one_sided(&self, finding: &Finding) -> Option<EvidenceRow> {
        let [present, absent] = ["value_present", "value_absent"].map(|key| self.writer.word(key).ok());
        let sides = match finding.text("side")? {
            "baseline" => [present?, absent?],
            _ => [absent?, present?],
        };
        let cells = [vec![self.writer.name(&finding.place)], sides.to_vec()].concat();
        Some(EvidenceRow::new(cells, finding.severity.verdict()))
    }

    /// A setting that differs as the devices do, so that nobody makes it equal.
    fn expected(&self) -> Result<Option<String>> {
        let found = self.result.findings.iter().find(|finding| finding.is(&config_rules::HYPER_EQUIVALENT));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_of_a_recorded_text_have_four_digits() {
        for (text, shown) in [
            ("max 1.105065107345581, min -0.0841553583741188", "max 1.105, min -0.08416"),
            ("[0.9, 0.95]", "[0.9, 0.95]"),
            ("1.25e-4", "1.25e-4"),
            ("cuda:0", "cuda:0"),
        ] {
            assert_eq!(rounded(text), shown);
        }
    }
}
