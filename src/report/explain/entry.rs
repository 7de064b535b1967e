//! One explanation: its head, and its parts in the order of reading.

use std::collections::BTreeMap;

use crate::diagnose::cause::Cause;
use crate::documentation;
use crate::judge::apply_policy::decide;
use crate::judge::register;
use crate::judge::rule::Rule;
use crate::judge::source::Family;
use crate::policy::Policy;
use crate::report::causes::cause_explanations;
use crate::report::code_texts::{CodeText, facts, texts, word};
use crate::report::escape::TextTarget;
use crate::report::messages::{self, Language};
use crate::report::writer::Writer;
use crate::report::{phrases, waiver};
use crate::verdict::{Profile, Severity};

/// The page about causes.
const CAUSES_PAGE: &str = documentation!("diagnoses.md#causes");

/// Profiles that may weigh a finding differently.
const OTHER_PROFILES: [(Profile, &str); 3] =
    [(Profile::Strict, "strict"), (Profile::BitExact, "bit-exact"), (Profile::Release, "release")];

/// Explanation of one finding, cause or rule.
pub(super) struct CodeExplanation {
    code: String,
    /// Its kind, check and severity.
    head: String,
    /// Titles and texts, in the order of reading.
    parts: Vec<(&'static str, String)>,
}

impl CodeExplanation {
    /// Explains findings of `rule`.
    pub(super) fn of_finding(rule: &'static Rule, language: Language, expires: &str) -> Self {
        let meaning = of_code(rule.code, language, |text| Some(&text.meaning));
        let mut parts = vec![("meaning", meaning), ("rule", test_texts(rule.code, language).join("\n"))];
        parts.extend(about_finding(rule, language, expires));
        if crate::judge::source::find(rule.code).is_some_and(|rule| rule.family != Family::Reading) {
            let (reason, _) = waiver::placeholders(language);
            parts.push(("ignore_comment", format!("# precision-gate: ignore[{}] {reason}", rule.code)));
        }
        Self::new(rule.code, head("finding", Some(rule), language), parts, language)
    }

    /// Explains a cause.
    pub(super) fn of_cause(cause: &Cause, language: Language) -> Self {
        let text = cause_explanations(language).get(cause.code);
        let of = |part: fn(&CodeText) -> Option<&String>| text.and_then(part).cloned().unwrap_or_default();
        let pages: Vec<&str> = std::iter::once(CAUSES_PAGE).chain(cause.links.iter().copied()).collect();
        let parts = vec![
            ("meaning", of(|text| Some(&text.meaning))),
            ("recognised", of(|text| text.rule.as_ref())),
            ("harmless", of(|text| Some(&text.harmless))),
            ("fix", of(|text| text.fix.as_ref())),
            ("keys", word("cause_has_no_key", language).to_owned()),
            ("waiver", word("cause_has_no_waiver", language).to_owned()),
            ("page", pages.join("\n")),
        ];
        Self::new(cause.code, head("cause", None, language), parts, language)
    }

    /// Explains the rule `name` by its formula and by the finding that it gives; `None` where there is no such rule.
    pub(super) fn of_rule(name: &str, language: Language, expires: &str) -> Option<Self> {
        let rule = register::find(facts().rules.get(name)?)?;
        let finding = [word("its_finding", language), word("colon", language), "`", rule.code, "`"].concat();
        let meaning = [texts(language).rules.get(name)?.as_str(), &finding].join("\n");
        // Limits in the finding's texts are those of its main rule.
        let is_main = facts().of_code(rule.code).rules.first().is_some_and(|main| main == name);
        let limits = is_main.then(|| of_code(rule.code, language, |text| text.rule.as_ref()));
        let formula = std::iter::once(phrases::formula(name, language)?.to_owned());
        let test: Vec<String> = formula.chain(limits.filter(|limits| !limits.is_empty())).collect();
        let mut parts = vec![("meaning", meaning), ("rule", test.join("\n"))];
        parts.extend(about_finding(rule, language, expires));
        Some(Self::new(name, head("rule_kind", Some(rule), language), parts, language))
    }

    fn new(code: &str, head: String, parts: Vec<(&'static str, String)>, language: Language) -> Self {
        let parts = parts.into_iter().map(|(title, text)| (word(title, language), text)).collect();
        Self { code: code.to_owned(), head, parts }
    }

    /// Titles and texts.
    #[cfg(test)]
    pub(super) fn parts(&self) -> &[(&'static str, String)] {
        &self.parts
    }

    /// The text of a terminal: titles at the edge, everything else indented.
    pub(super) fn for_terminal(&self) -> String {
        let lines = |text: &str| text.lines().map(|line| format!("  {line}\n")).collect::<String>();
        let parts = self.parts.iter().map(|(title, text)| format!("\n{title}\n{}", lines(text)));
        format!("{}\n{}\n{}", self.code, self.head, parts.collect::<String>())
    }
}

/// The lines below a code: its kind and, of a rule, its check, its severity, and when it weighs otherwise.
fn head(kind: &str, rule: Option<&Rule>, language: Language) -> String {
    let named = |key, value: &str| [word(key, language), word("colon", language), value].concat();
    let of_rule = |rule: &Rule| [named("check", rule.check.as_str()), named("severity", &weight(rule, language))];
    let kind = word(kind, language).to_owned();
    let first: Vec<String> = std::iter::once(kind).chain(rule.map(of_rule).into_iter().flatten()).collect();
    let note =
        rule.map(|rule| of_code(rule.code, language, |text| text.weight.as_ref())).filter(|note| !note.is_empty());
    std::iter::once(first.join(" · ")).chain(note).collect::<Vec<_>>().join("\n")
}

/// The parts that a finding has in common with the rules it repeats.
fn about_finding(rule: &'static Rule, language: Language, expires: &str) -> [(&'static str, String); 5] {
    [
        ("harmless", of_code(rule.code, language, |text| Some(&text.harmless))),
        ("fix", fix(rule.code, language)),
        ("keys", keys(rule, language).join("\n")),
        ("waiver", proposed_waiver(rule, language, expires)),
        ("page", documentation::address(&facts().page_of(rule))),
    ]
}

fn of_code(code: &str, language: Language, part: fn(&CodeText) -> Option<&String>) -> String {
    texts(language).codes.get(code).and_then(part).cloned().unwrap_or_default()
}

/// The test of a finding: formulas of the rules it repeats, then the test in words.
pub(super) fn test_texts(code: &str, language: Language) -> Vec<String> {
    let formula = |name: &String| {
        let formula = phrases::formula(name, language)?;
        Some([name, word("colon", language), formula].concat())
    };
    let formulas = facts().of_code(code).rules.iter().filter_map(formula);
    let in_words = texts(language).codes.get(code).and_then(|text| text.rule.clone());
    formulas.chain(in_words).collect()
}

/// Advice on a finding: the explanation's own words, or the help of its message, which calls the two runs by their sides.
pub(super) fn fix(code: &str, language: Language) -> String {
    let own = texts(language).codes.get(code).and_then(|text| text.fix.clone());
    let help = || {
        let (_, help) = messages::texts(code, language)?;
        Writer::new(language, TextTarget::Plain).statement(code, help, &BTreeMap::new()).ok()
    };
    own.or_else(help).unwrap_or_default()
}

/// A severity as people read it.
fn severity_word(severity: Severity, language: Language) -> &'static str {
    let key = match severity {
        Severity::Info => "severity_info",
        Severity::Warn => "severity_warn",
        Severity::Incomplete => "severity_incomplete",
        Severity::Fail => "severity_fail",
    };
    word(key, language)
}

/// A rule's severity by default, and how other profiles weigh it: those that do so alike together.
pub(super) fn weight(rule: &Rule, language: Language) -> String {
    let warns = facts().of_code(rule.code).warns;
    let mut others: Vec<(&str, Vec<&str>)> = Vec::new();
    for (profile, name) in OTHER_PROFILES {
        let Some(severity) = under(rule, if warns { Severity::Warn } else { rule.severity }, profile) else { continue };
        let weight = if warns { word("instead_of_warn", language) } else { severity_word(severity, language) };
        match others.last_mut().filter(|(known, _)| *known == weight) {
            Some((_, names)) => names.push(name),
            None => others.push((weight, vec![name])),
        }
    }
    let alike = |(weight, names): &(&str, Vec<&str>)| {
        [&names.join(word("comma", language)), word("colon", language), *weight].concat()
    };
    let others: Vec<String> = others.iter().map(alike).collect();
    let default = std::iter::once(severity_word(rule.severity, language).to_owned());
    let others = (!others.is_empty()).then(|| others.join(word("semicolon", language)));
    default.chain(others).collect::<Vec<_>>().join(" · ")
}

/// The severity that `profile` gives a finding of `severity`; `None` where that is the same.
fn under(rule: &Rule, severity: Severity, profile: Profile) -> Option<Severity> {
    let by_judge = facts().of_code(rule.code).profile_severity(profile).unwrap_or(severity);
    let decided = decide(rule.code, "", by_judge, &Policy { profile, ..Policy::default() }).severity;
    (decided != severity).then_some(decided)
}

/// Whether any profile lets the finding count for more than information.
fn is_ever_more_than_information(rule: &Rule) -> bool {
    rule.severity > Severity::Info
        || facts().of_code(rule.code).warns
        || OTHER_PROFILES.iter().any(|(profile, _)| under(rule, rule.severity, *profile).is_some())
}

/// Lines of YAML that change what becomes of the finding, each with its meaning but for the first one.
fn keys(rule: &Rule, language: Language) -> Vec<String> {
    let facts = facts();
    let line = |key: &String| {
        let meaning = texts(language).keys.get(key)?;
        Some(format!("{}  # {meaning}", facts.keys.get(key)?))
    };
    let keys = facts.keys_of(rule).iter().filter_map(line);
    let lines: Vec<String> = severity_key(rule).into_iter().chain(keys).collect();
    if lines.is_empty() { vec![word("no_key", language).to_owned()] } else { lines }
}

/// The line that weighs the finding otherwise; `None` where the policy has no say, as in findings about itself.
pub(super) fn severity_key(rule: &Rule) -> Option<String> {
    let of_code = facts().of_code(rule.code);
    // A release makes a failure of a warning, so that what only a release demands is lowered to information.
    let other = match rule.severity {
        Severity::Warn => "info",
        _ if of_code.only_release => "info",
        Severity::Info | Severity::Incomplete | Severity::Fail => "warn",
    };
    (!of_code.never_waived).then(|| format!("severity: {{{}: {other}}}", rule.code))
}

fn proposed_waiver(rule: &Rule, language: Language, expires: &str) -> String {
    let of_code = facts().of_code(rule.code);
    if !waiver::is_ever_covered(rule) {
        return word("never_waived", language).to_owned();
    }
    if !is_ever_more_than_information(rule) {
        return word("no_waiver", language).to_owned();
    }
    let place = of_code.place.as_deref().or_else(|| Some(facts().checks.get(rule.check.as_str())?.place.as_str()));
    waiver::waiver_at_place(rule.code, place.unwrap_or_default(), expires, language)
}
