//! Waivers ready to paste, as YAML: for a finding of a run, and for a code alone.
//!
//! A place is a name from an artifact. The waiver contains a pattern that matches this place and no other, in double quotes, with
//! every character escaped that could end the quotes, the line or a Markdown fence around it.

use std::collections::BTreeSet;
use std::fmt::Write;

use jiff::ToSpan;
use jiff::civil;

use super::code_texts::facts;
use super::escape::is_shown;
use super::messages::Language;
use crate::judge::register;
use crate::judge::rule::Rule;
use crate::policy::amend::with_waiver;
use crate::policy::value::Date;
use crate::policy::waiver::{OFFERED_OWNERS, OFFERED_REASONS};
use crate::result::finding::Finding;
use crate::verdict::Severity;

/// Number of days that a proposed waiver lasts, which leaves time for a repair. A policy may demand fewer (`waiver-max-days`).
pub const DAYS: u16 = 14;

/// Largest number of waivers that a comment offers; a run with more defects needs a repair, not waivers.
const MOST_WAIVERS: usize = 50;

/// Largest number of characters of a place in a pattern; a longer place continues with `*`.
const MOST_CHARS: usize = 200;

/// A waiver of `finding` that ends `days` after `today` (`YYYY-MM-DD`), with a line break at its end. Apart from visible letters
/// and signs it is ASCII, and it contains no backtick.
///
/// `None` for information, which needs no waiver, for a code that does not exist or that no waiver can cover, and if `today` is not
/// a date.
pub fn waiver(finding: &Finding, today: &str, days: u16, language: Language) -> Option<String> {
    let rule = register::find(&finding.code)?;
    let is_absence = rule.is_absence && finding.severity == Severity::Incomplete;
    let is_covered = finding.severity > Severity::Info && !is_absence && !facts().of_code(&finding.code).never_waived;
    let expires = end_day(today, days).filter(|_| is_covered)?;
    Some(waiver_at_place(&finding.code, &finding.place, &expires, language))
}

/// The YAML of waivers of all `findings` that can be waived, as in [`waiver`], one for each code and place; `None` if there is none.
pub fn waivers(findings: &[&Finding], today: &str, days: u16, language: Language) -> Option<String> {
    let expires = end_day(today, days)?;
    let mut seen = BTreeSet::new();
    let covered = findings.iter().filter(|finding| waiver(finding, today, days, language).is_some());
    // A place holds no step and no rank: one waiver covers them all.
    let covered = covered.filter(|finding| seen.insert((&finding.code, &finding.place)));
    // Each waiver is put in front of the earlier ones.
    let covered: Vec<_> = covered.take(MOST_WAIVERS).collect();
    let text = covered.into_iter().rev().fold(String::new(), |text, finding| {
        let words = placeholders(language);
        with_waiver(&text, &fields(&finding.code, &pattern(&finding.place), &expires, words))
    });
    Some(text).filter(|text| !text.is_empty())
}

/// Whether a waiver may ever cover findings of `rule`: waivers cover differences, never data that was not read or not compared.
pub(super) fn is_ever_covered(rule: &Rule) -> bool {
    !(rule.is_absence && rule.severity == Severity::Incomplete || facts().of_code(rule.code).never_waived)
}

/// The day that is `days` after `today`, as a policy writes it; `None` if `today` is not a date.
pub(super) fn end_day(today: &str, days: u16) -> Option<String> {
    Date::try_from(today.to_owned()).ok()?;
    let day: civil::Date = today.parse().ok()?;
    day.checked_add(i64::from(days).days()).ok().map(|end| end.to_string())
}

/// The YAML of a waiver of `code` at `place` alone.
pub(super) fn waiver_at_place(code: &str, place: &str, expires: &str, language: Language) -> String {
    text(code, &pattern(place), expires, language)
}

/// Placeholders for reason and owner; a policy that still contains them is refused.
pub(super) fn placeholders(language: Language) -> (&'static str, &'static str) {
    let ([english, chinese], [owner, chinese_owner]) = (OFFERED_REASONS, OFFERED_OWNERS);
    match language {
        Language::En => (english, owner),
        Language::Zh => (chinese, chinese_owner),
    }
}

/// The YAML of a waiver of `code` at the places that `pattern` matches.
fn text(code: &str, pattern: &str, expires: &str, language: Language) -> String {
    with_waiver("", &fields(code, pattern, expires, placeholders(language)))
}

/// Keys and YAML scalars of a waiver that `owner` requests with a `reason`; `None` for a code that does not exist or that no waiver
/// can cover.
pub fn requested_waiver(
    code: &str,
    pattern: &str,
    expires: &str,
    (reason, owner): (&str, &str),
) -> Option<[(&'static str, String); 5]> {
    register::find(code).filter(|rule| is_ever_covered(rule))?;
    Some(fields(code, pattern, expires, (reason, owner)))
}

fn fields(code: &str, pattern: &str, expires: &str, (reason, owner): (&str, &str)) -> [(&'static str, String); 5] {
    [
        ("code", code.to_owned()),
        ("where", quoted(pattern)),
        ("reason", quoted(reason)),
        ("owner", quoted(owner)),
        ("expires", expires.to_owned()),
    ]
}

/// The pattern that matches `place` alone; for a long place also other places with the same beginning. A finding without a place
/// matches every place.
fn pattern(place: &str) -> String {
    if place.is_empty() {
        return "*".into();
    }
    let start: String = place.chars().take(MOST_CHARS).collect();
    let rest = if start.len() < place.len() { "*" } else { "" };
    // A backslash escapes the character after it, except between brackets.
    let parts: Vec<String> = start.split('\\').map(globset::escape).collect();
    parts.join("[\\]") + rest
}

/// A double-quoted YAML scalar: a JSON string in which invisible characters, line breaks and backticks are numeric escapes.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    let mut quoted = String::with_capacity(json.len());
    for character in json.chars() {
        let code = u32::from(character);
        let is_plain = is_shown(character) && !matches!(character, '`' | '\u{2028}' | '\u{2029}');
        // A string takes whatever is written to it.
        let _ = match code {
            _ if is_plain => write!(quoted, "{character}"),
            0..=0xffff => write!(quoted, "\\u{code:04x}"),
            _ => write!(quoted, "\\U{code:08x}"),
        };
    }
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::judge::dump::rules::{DECOMPOSED_OTHERWISE, OUTPUT_DIVERGES};
    use crate::judge::rule::policy::WAIVER_EXPIRED;
    use crate::policy::Policy;

    fn made(place: &str) -> String {
        waiver(&Finding::new(&OUTPUT_DIVERGES, place), "2026-11-23", DAYS, Language::En).expect("a waiver")
    }

    /// The policy that `yaml` is, read as one of a run is.
    fn policy(yaml: &str) -> Policy {
        let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
        let today = Date::try_from("2026-11-23".to_owned()).expect("a date");
        let policy = Policy::parse("p.yml", yaml, &codes).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
        policy.as_of(today, "p.yml", yaml).expect("an end that is near")
    }

    /// The waiver `yaml` with words in place of what is to be filled in.
    fn filled(yaml: &str) -> String {
        let [reason, owner] = [OFFERED_REASONS, OFFERED_OWNERS].map(|[english, _]| english);
        yaml.replace(&format!("reason: \"{reason}\""), "reason: reviewed")
            .replace(&format!("owner: \"{owner}\""), "owner: ann")
    }

    fn covers(place: &str, other: &str) -> bool {
        policy(&filled(&made(place))).waivers.first().expect("one").covers("output-diverges", other)
    }

    #[test]
    fn a_waiver_is_as_people_write_it() {
        assert_eq!(
            made("Functional.linear.0.forward.output.0"),
            "waivers:\n  - code: output-diverges\n    where: \"Functional.linear.0.forward.output.0\"\n    \
             reason: \"why it is acceptable\"\n    owner: \"the person responsible\"\n    expires: 2026-12-07\n"
        );
    }

    #[test]
    fn a_place_is_no_pattern_and_ends_neither_line_nor_fence() {
        for place in [
            "h[order]",
            "a*b?c",
            "{a,b}",
            "a\\*b",
            "\\",
            "```\n# heading",
            "~~~\n</details>",
            "x\"\n  owner: mallory",
            "a: b # c",
            "\u{2028}- code: '*'",
            "\u{202e}gnp.exe",
            "\u{feff}\u{0}\u{7f}\u{85}",
            "é 算子 🦀 \u{e0041}",
            " ends with a space ",
            "a//b/../c/",
        ] {
            let yaml = made(place);
            assert_eq!(yaml.lines().count(), 6, "{yaml}");
            assert!(!yaml.contains('`') && yaml.chars().all(|one| one == '\n' || is_shown(one)), "{yaml:?}");
            assert!(covers(place, place), "{yaml}");
            assert!(!covers(place, "another place"), "{yaml}");
        }
        assert!(!covers("h[order]", "ho"));
        assert!(!covers("a*b?c", "aXbYc"));
    }

    #[test]
    fn a_long_place_goes_on_with_a_star() {
        let long = "layer.".repeat(100);
        assert!(made(&long).len() < 500);
        assert!(covers(&long, &long));
        assert!(covers("", ""));
    }

    #[test]
    fn there_is_none_where_none_holds() {
        let of = |finding: &Finding, today: &str| waiver(finding, today, DAYS, Language::Zh);
        let sound = Finding::new(&OUTPUT_DIVERGES, "x");
        assert!(of(&sound, "2026-11-23").is_some());
        assert_eq!(of(&sound, "today"), None);
        assert_eq!(of(&sound, "2026-11-23T10:00"), None);
        assert_eq!(of(&sound, "9999-12-31"), None);
        assert_eq!(of(&Finding::new(&DECOMPOSED_OTHERWISE, "x"), "2026-11-23"), None);
        assert_eq!(of(&Finding::new(&WAIVER_EXPIRED, "x"), "2026-11-23"), None);
        assert_eq!(of(&Finding { code: "x\n- code".into(), ..sound }, "2026-11-23"), None);
    }

    proptest! {
        #[test]
        fn whatever_the_place_is_its_waiver_covers_it(place in any::<String>()) {
            prop_assert!(covers(&place, &place));
        }
    }
}
