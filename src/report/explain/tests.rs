//! Every code has its whole explanation, in both languages, and what it proposes works.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::entry::CodeExplanation;
use super::*;
use crate::policy::Policy;
use crate::policy::value::Date;
use crate::report::{messages, waiver};
use crate::verdict::Profile;

const EXPIRES: &str = "2026-12-07";

fn policy(yaml: &str) -> Policy {
    let codes: Vec<&str> = register::all_rules().map(|rule| rule.code).collect();
    let policy = Policy::parse("p.yml", yaml, &codes).unwrap_or_else(|error| panic!("{error}: {yaml}"));
    policy.as_of(Date::try_from("2026-11-23".to_owned()).expect("a date"), "p.yml", yaml).expect("in time")
}

/// Every entry in every language.
fn all() -> Vec<(Language, &'static str, CodeExplanation)> {
    let of = |language| {
        codes().flat_map(move |code| entries(code, language, EXPIRES).into_iter().map(move |e| (language, code, e)))
    };
    Language::ALL.into_iter().flat_map(of).collect()
}

#[test]
fn texts_are_there_for_every_code_and_for_no_other() {
    let of_rules: BTreeSet<&str> = register::all_rules().map(|rule| rule.code).collect();
    let of_causes: BTreeSet<&str> = cause::ALL.iter().map(|cause| cause.code).collect();
    let of_formulas: BTreeSet<&str> = phrases::formulas(Language::En).keys().map(String::as_str).collect();
    for language in Language::ALL {
        let texts = texts(language);
        assert_eq!(texts.codes.keys().map(String::as_str).collect::<BTreeSet<_>>(), of_rules, "{language:?}: codes");
        assert_eq!(
            cause_explanations(language).keys().map(String::as_str).collect::<BTreeSet<_>>(),
            of_causes,
            "{language:?}: causes"
        );
        assert_eq!(texts.rules.keys().map(String::as_str).collect::<BTreeSet<_>>(), of_formulas, "{language:?}: rules");
        assert!(texts.keys.keys().eq(facts().keys.keys()), "{language:?}: keys");
        assert!(texts.words.values().all(|word| !word.is_empty()));
    }
    let words = |language: Language| texts(language).words.keys();
    assert!(words(Language::En).eq(words(Language::Zh)));
    assert!(facts().rules.keys().map(String::as_str).eq(of_formulas));
    assert!(facts().codes().all(|code| of_rules.contains(code.as_str())), "facts of a code that does not exist");
}

/// A part that both languages leave out is a part that comes from elsewhere: formulas, or the help of a message.
#[test]
fn both_languages_say_the_same_parts() {
    let parts = |language: Language| -> Vec<_> {
        let of = |text: &crate::report::code_texts::CodeText| {
            (text.rule.is_some(), text.fix.is_some(), text.weight.is_some())
        };
        let codes = texts(language).codes.iter().chain(cause_explanations(language));
        codes.map(|(code, text)| (code.as_str(), of(text))).collect()
    };
    assert_eq!(parts(Language::En), parts(Language::Zh));
}

#[test]
fn every_explanation_is_whole_and_has_no_holes() {
    for (language, code, entry) in all() {
        assert!(entry.parts().len() >= 7, "{code}");
        for (title, text) in entry.parts() {
            assert!(!title.is_empty() && !text.trim().is_empty(), "{language:?} {code}: `{title}` is empty");
            let holes = ["{{", "{%", "…", "TODO", "  \n"];
            assert!(!holes.iter().any(|hole| text.contains(hole)), "{language:?} {code}, {title}: {text}");
        }
        let shown = entry.for_terminal();
        let is_chinese = shown.chars().any(|one| ('\u{4e00}'..='\u{9fff}').contains(&one));
        assert_eq!(is_chinese, language == Language::Zh, "{code}");
    }
}

/// A help that needs the facts of a finding is no advice without them: the explanation has words of its own then.
#[test]
fn advice_is_taken_from_a_message_only_where_it_stands_alone() {
    let known =
        regex::Regex::new(r"\{\{ (baseline_name|candidate_name|documentation\('[^']+'\)) \}\}").expect("a pattern");
    for language in Language::ALL {
        for rule in register::all_rules() {
            let own = texts(language).codes.get(rule.code).and_then(|text| text.fix.as_ref());
            let (_, help) = messages::texts(rule.code, language).expect("a message");
            // The two runs have names without a finding too, those of their sides, and pages have addresses.
            let help = known.replace_all(help, "");
            let stands_alone = !help.is_empty() && !help.contains("{{") && !help.contains("{%");
            assert!(own.is_some() || stands_alone, "{language:?} {}: give it a `fix` in explain.yaml", rule.code);
        }
    }
}

#[test]
fn texts_end_as_sentences_and_the_first_one_stands_for_itself() {
    for language in Language::ALL {
        let end = if language == Language::En { '.' } else { '。' };
        for (code, text) in texts(language).codes.iter().chain(cause_explanations(language)) {
            for part in [Some(&text.meaning), Some(&text.harmless), text.weight.as_ref()].into_iter().flatten() {
                assert!(part.ends_with(end), "{language:?} {code}: {part}");
            }
            let first = first_sentence(&text.meaning);
            assert!(first.ends_with(end) && first.chars().count() <= 150, "{language:?} {code}: {first}");
        }
    }
}

/// Chinese text has no spaces of its own: none beside a Chinese character.
#[test]
fn chinese_has_no_stray_spaces() {
    let chinese = |one: char| ('\u{4e00}'..='\u{9fff}').contains(&one) || "，。；：、（）".contains(one);
    let signs = |one: char| "≤≥=<>×−+/".contains(one);
    for (code, text) in texts(Language::Zh).codes.iter().chain(cause_explanations(Language::Zh)) {
        let parts = [Some(&text.meaning), Some(&text.harmless), text.fix.as_ref(), text.weight.as_ref()];
        for part in parts.into_iter().flatten() {
            let letters: Vec<char> = part.chars().collect();
            for three in letters.windows(3).filter(|three| three[1] == ' ') {
                let is_stray = chinese(three[0]) && !signs(three[2]) || chinese(three[2]) && !signs(three[0]);
                assert!(!is_stray, "{code}: {part}");
            }
        }
    }
}

/// The value at a dotted path, through references, in the schema of a policy.
fn is_in_schema(schema: &Value, path: &str) -> bool {
    let resolve = |mut at: Value| {
        // A reference may stand beside a description, or among the choices of what may be left out.
        while let Some(reference) = at["$ref"].as_str().or_else(|| at["anyOf"][0]["$ref"].as_str()) {
            at = schema.pointer(reference.trim_start_matches('#')).cloned().unwrap_or_default();
        }
        at
    };
    let mut at = schema.clone();
    path.split('.').all(|key| {
        at = resolve(resolve(at.clone())["properties"][key].clone());
        !at.is_null()
    })
}

#[test]
fn policy_keys_are_real_and_their_examples_parse() {
    let schema = schemars::schema_for!(Policy).to_value();
    assert!(!is_in_schema(&schema, "loss.limits.median"));
    for (key, example) in &facts().keys {
        assert!(is_in_schema(&schema, key), "there is no policy key `{key}`");
        policy(example);
        let value: Value = serde_yaml::from_str(example).expect("YAML");
        assert!(value.pointer(&format!("/{}", key.replace('.', "/"))).is_some(), "{example} does not set `{key}`");
    }
    let named: BTreeSet<&String> = register::all_rules().flat_map(|rule| facts().keys_of(rule)).collect();
    for key in &named {
        assert!(facts().keys.contains_key(key.as_str()), "`{key}` has no example");
    }
    for (language, code, entry) in all() {
        let title = word("keys", language);
        let lines = entry.parts().iter().filter(|(name, _)| *name == title).flat_map(|(_, text)| text.lines());
        let says_none = ["cause_has_no_key", "no_key"].map(|key| word(key, language));
        lines.filter(|line| !says_none.contains(line)).for_each(|line| {
            policy(line);
            assert!(!line.is_empty(), "{code}");
        });
    }
}

#[test]
fn the_waiver_of_every_code_parses_and_covers_its_place() {
    let mut without = Vec::new();
    for language in Language::ALL {
        for rule in register::all_rules() {
            let entry = CodeExplanation::of_finding(rule, language, EXPIRES);
            let yaml = &entry.parts().iter().find(|(name, _)| *name == word("waiver", language)).expect("a part").1;
            if !yaml.starts_with("waivers:") {
                without.push(rule.code);
                continue;
            }
            let (reason, owner) = waiver::placeholders(language);
            let policy = policy(&yaml.replace(reason, "agreed").replace(owner, "ann"));
            let waiver = policy.waivers.first().expect("one waiver");
            let place = facts().of_code(rule.code).place.as_deref();
            let place = place.unwrap_or_else(|| &facts().checks[rule.check.as_str()].place);
            assert!(waiver.covers(rule.code, place), "{}: {yaml}", rule.code);
            assert_eq!(waiver.expires.to_string(), EXPIRES);
        }
    }
    for code in &without {
        let rule = register::find(code).expect("a rule");
        assert!(rule.severity == Severity::Info || !waiver::is_ever_covered(rule), "{code} has no waiver");
    }
    assert!(without.contains(&"waiver-expired") && without.contains(&"policy-unread"));
    assert!(!without.contains(&"sides-identical"), "a release fails by it");
    assert!(!without.contains(&"data-checksummed"), "it may be a warning");
}

#[test]
fn pages_and_their_headings_exist() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let pages: BTreeSet<String> = register::all_rules().map(|rule| facts().page_of(rule)).collect();
    assert!(pages.len() > 15);
    for page in pages {
        let (file, anchor) = page.split_once('#').unwrap_or((&page, ""));
        let text = std::fs::read_to_string(docs.join(file)).unwrap_or_else(|error| panic!("{page}: {error}"));
        let anchors: Vec<String> = text.lines().filter(|line| line.starts_with('#')).map(as_anchor).collect();
        assert!(anchor.is_empty() || anchors.iter().any(|known| known == anchor), "{page}: {anchors:?}");
    }
}

/// The anchor that a forge gives a heading.
fn as_anchor(heading: &str) -> String {
    let title = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = title.chars().filter(|one| one.is_alphanumeric() || " -_".contains(*one));
    kept.map(|one| if one == ' ' { '-' } else { one }).collect()
}

#[test]
fn a_release_turns_warnings_into_failures() {
    for rule in register::all_rules().filter(|rule| rule.severity == Severity::Warn) {
        let head = CodeExplanation::of_finding(rule, Language::En, EXPIRES).for_terminal();
        assert!(head.contains("release: fail\n"), "{head}");
    }
    let head = |code: &str| {
        CodeExplanation::of_finding(register::find(code).expect("a rule"), Language::En, EXPIRES).for_terminal()
    };
    assert!(
        head("other-precision").contains("severity: warn · strict, release: fail\n"),
        "{}",
        head("other-precision")
    );
    assert!(head("baseline-unproved").contains("severity: info · release: incomplete\n"));
    assert!(head("curve-mean").contains("severity: fail · strict, bit-exact, release: fail instead of warn\n"));
    assert!(head("output-diverges").contains("severity: fail\n"));
    assert_eq!(facts().of_code("near-tie").profile_severity(Profile::Strict), Some(Severity::Fail));
}

#[test]
fn a_code_of_two_kinds_is_explained_as_both() {
    let both = explain("input-differs", Language::En, EXPIRES).expect("an explanation");
    assert!(both.contains("finding · check: dump") && both.contains("likely cause"), "{both}");
    let preset = explain("megatron", Language::En, EXPIRES).expect("a preset by its name in a policy");
    assert!(preset.contains("0.05 |b|") && preset.contains("curve-preset"), "{preset}");
    let mean = explain("mean_rel", Language::En, EXPIRES).expect("a rule");
    assert!(mean.contains("mean of r_t over all paired steps") && mean.contains("fails above 1 %"), "{mean}");
    let declared = explain("declared_mean_rel", Language::En, EXPIRES).expect("a rule");
    assert!(!declared.contains("fails above 1 %"), "{declared}");
    assert_eq!(explain("no-such-code", Language::En, EXPIRES), None);
}

#[test]
fn a_slip_is_answered_with_what_was_meant() {
    for (slip, meant) in [
        ("output-diverge", "output-diverges"),
        ("curve-maen", "curve-mean"),
        ("Overflw", "overflow"),
        ("near tie", "near-tie"),
    ] {
        assert!(similar_codes(slip).contains(&meant), "{slip}: {:?}", similar_codes(slip));
    }
    assert!(similar_codes("qqqqqqqqqqqqqqq").is_empty());
}

#[test]
fn the_list_names_every_code_in_one_line() {
    for language in Language::ALL {
        let list = list(None, language);
        for code in codes() {
            let lines = list.lines().filter(|line| line.trim_start().starts_with(&format!("{code} "))).count();
            let kinds = entries(code, language, EXPIRES).len();
            assert_eq!(lines, kinds, "{language:?}: {code}");
        }
        assert!(!super::list(Some("loss"), language).contains("output-diverges"));
    }
}

/// `release` makes a failure of a warning: a line that weighs a finding otherwise has to help there too.
#[test]
fn what_only_a_release_demands_is_lowered_to_information() {
    let keys = |code: &str| entry::severity_key(register::find(code).expect("a rule"));
    assert_eq!(keys("baseline-unverified").as_deref(), Some("severity: {baseline-unverified: info}"));
    assert_eq!(keys("output-diverges").as_deref(), Some("severity: {output-diverges: warn}"));
    assert_eq!(keys("waiver-expired"), None);
}
