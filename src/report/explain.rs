//! Explanations of every code: what a finding, a likely cause or a rule means, its test, why it may be harmless, what to do,
//! the policy keys that change it, and a waiver to paste.
//!
//! `precision-gate explain` prints them, and [`page`] makes the list in `docs/findings.md` of the same texts.

mod entry;
pub mod page;
#[cfg(test)]
mod tests;

use super::causes::cause_explanations;
use super::code_texts::{facts, texts, word};
use super::messages::Language;
use super::phrases;
use crate::diagnose::cause;
use crate::judge::register;
use crate::judge::rule::Rule;
use crate::nearest::edit_distance;
use crate::verdict::Severity;
use entry::CodeExplanation;

/// Edits between a slip and a code that is close to it.
const MOST_EDITS: usize = 3;
/// Codes that are proposed in place of one that does not exist.
const MOST_PROPOSED: usize = 4;

/// Explains `code`: the finding, the cause and the rule of this name, whichever there are. A waiver in it ends on `expires`.
/// `None` where there is none of this name.
pub fn explain(code: &str, language: Language, expires: &str) -> Option<String> {
    let entries = entries(code, language, expires);
    let shown: Vec<String> = entries.iter().map(CodeExplanation::for_terminal).collect();
    (!shown.is_empty()).then(|| shown.join("\n"))
}

fn entries(code: &str, language: Language, expires: &str) -> Vec<CodeExplanation> {
    let finding = register::find(code).map(|rule| CodeExplanation::of_finding(rule, language, expires));
    let cause = cause::find(code).map(|cause| CodeExplanation::of_cause(cause, language));
    let preset = format!("preset:{code}");
    let name = [code, preset.as_str()].into_iter().find(|name| facts().rules.contains_key(*name));
    let rule = name.and_then(|name| CodeExplanation::of_rule(name, language, expires));
    [finding, cause, rule].into_iter().flatten().collect()
}

/// The day on which a waiver ends that is written on `today` (`YYYY-MM-DD`); `None` where that is no date.
pub fn expiry(today: &str) -> Option<String> {
    super::waiver::end_day(today, super::waiver::DAYS)
}

/// Every code with one line about it: findings by check, then causes and rules. With `check`, the findings of that one.
pub fn list(check: Option<&str>, language: Language) -> String {
    let of_finding = |rule: &&'static Rule| {
        let about = texts(language).codes.get(rule.code).map_or("", |text| first_sentence(&text.meaning));
        line(rule.code, &format!("{:<10}  {about}", severity_name(rule.severity)))
    };
    let of_check = |(name, rules): (&str, Vec<&'static Rule>)| section(name, rules.iter().map(of_finding));
    let wanted = by_check().into_iter().filter(|(name, _)| check.is_none_or(|wanted| wanted == *name));
    let mut list: String = wanted.map(of_check).collect();
    if check.is_none() {
        let of_cause = |cause: &&'static cause::Cause| {
            let about = cause_explanations(language).get(cause.code).map_or("", |text| first_sentence(&text.meaning));
            line(cause.code, about)
        };
        list += &section(word("causes", language), cause::ALL.iter().map(of_cause));
        list += &section(word("rules", language), texts(language).rules.iter().map(|(name, about)| line(name, about)));
    }
    list + word("explain_more", language) + "\n"
}

fn line(code: &str, about: &str) -> String {
    format!("  {code:<32}  {about}\n")
}

/// A title with its lines, and an empty line below.
fn section(title: &str, lines: impl Iterator<Item = String>) -> String {
    format!("{title}\n{}\n", lines.collect::<String>())
}

/// A severity as policies write it.
fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warn => "warn",
        Severity::Incomplete => "incomplete",
        Severity::Fail => "fail",
    }
}

/// The rules of findings by the name of their check, in the order of reports; codes in alphabetical order.
fn by_check() -> Vec<(&'static str, Vec<&'static Rule>)> {
    let mut rules: Vec<&Rule> = register::all_rules().collect();
    rules.sort_by_key(|rule| (rule.check, rule.code));
    let same_check = |left: &&Rule, right: &&Rule| left.check == right.check;
    let named = |rules: &[&'static Rule]| Some((rules.first()?.check.as_str(), rules.to_vec()));
    rules.chunk_by(same_check).filter_map(named).collect()
}

/// A text up to the end of its first sentence.
fn first_sentence(text: &str) -> &str {
    let ends = [". ", "。"].into_iter().filter_map(|end| Some(text.find(end)? + end.trim_end().len()));
    ends.min().and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Whether `name` is that of a check whose codes can be listed.
pub fn is_check(name: &str) -> bool {
    facts().checks.contains_key(name)
}

/// Every code that can be explained: of findings, causes and rules.
pub fn codes() -> impl Iterator<Item = &'static str> {
    let findings = register::all_rules().map(|rule| rule.code);
    let causes = cause::ALL.iter().map(|cause| cause.code).filter(|code| register::find(code).is_none());
    findings.chain(causes).chain(phrases::formulas(Language::En).keys().map(String::as_str))
}

/// The codes that were probably meant by `word`: those that hold it, or else those that a slip leads to, closest first.
pub fn similar_codes(word: &str) -> Vec<&'static str> {
    let word = word.trim().to_lowercase().replace(' ', "-");
    let holding: Vec<&str> = codes().filter(|code| word.len() > 2 && code.contains(&word)).collect();
    if !holding.is_empty() {
        return holding.into_iter().take(MOST_PROPOSED).collect();
    }
    let mut near: Vec<(usize, &str)> = codes().map(|code| (edit_distance(&word, code), code)).collect();
    near.retain(|(distance, _)| *distance <= MOST_EDITS);
    near.sort_unstable();
    near.into_iter().take(MOST_PROPOSED).map(|(_, code)| code).collect()
}
