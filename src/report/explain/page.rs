//! The page of all codes that the book includes in `docs/findings.md` and `docs/findings.zh.md`: the same texts as in a terminal, as
//! Markdown.

use super::entry::{fix, severity_key, test_texts, weight};
use super::{by_check, first_sentence};
use crate::diagnose::cause;
use crate::judge::rule::Rule;
use crate::report::causes::cause_explanations;
use crate::report::code_texts::{facts, texts, word};
use crate::report::messages::Language;
use crate::report::phrases;

/// The page in a language, without its title.
pub fn page(language: Language) -> String {
    let word = |key| word(key, language);
    let mut page = String::new();
    for paragraph in ["page_intro", "page_severity"] {
        page += &format!("{}\n\n", word(paragraph));
    }
    page += &index(language);
    for (check, rules) in by_check() {
        page += &format!("## {check}\n\n");
        page.extend(rules.iter().map(|rule| of_finding(rule, language)));
    }
    page += &format!("## {}\n\n", word("causes"));
    page.extend(cause::ALL.iter().map(|cause| of_cause(cause.code, language)));
    page + &of_rules(language)
}

/// A table of all findings: code, severity, and the sentence that stands for each.
fn index(language: Language) -> String {
    let word = |key| word(key, language);
    let heads = [word("page_code"), word("check"), word("severity"), word("page_says")];
    let row = |rule: &Rule| {
        let about = texts(language).codes.get(rule.code).map_or("", |text| first_sentence(&text.meaning));
        let code = format!("[`{code}`](#{code})", code = rule.code);
        table_row(&[&code, rule.check.as_str(), super::severity_name(rule.severity), about])
    };
    let rows = by_check().into_iter().flat_map(|(_, rules)| rules).map(row);
    table_head(&heads) + &rows.collect::<String>() + "\n"
}

fn of_finding(rule: &Rule, language: Language) -> String {
    let Some(text) = texts(language).codes.get(rule.code) else { return String::new() };
    let own = facts().keys_of(rule).iter().cloned();
    let keys: Vec<String> = severity_key(rule).into_iter().chain(own).map(|key| format!("`{key}`")).collect();
    let keys = if keys.is_empty() { word("no_key", language).to_owned() } else { keys.join(word("comma", language)) };
    let weight = [Some(weight(rule, language)), text.weight.clone()];
    let weight = weight.into_iter().flatten().collect::<Vec<_>>().join(word("stop", language));
    let items = [
        ("page_weight", weight),
        ("rule", test_texts(rule.code, language).join(word("semicolon", language))),
        ("harmless", text.harmless.clone()),
        ("fix", fix(rule.code, language)),
        ("page_keys", keys),
    ];
    described(rule.code, &text.meaning, &items, language)
}

fn of_cause(code: &str, language: Language) -> String {
    let Some(text) = cause_explanations(language).get(code) else { return String::new() };
    let items = [
        ("recognised", text.rule.clone().unwrap_or_default()),
        ("harmless", text.harmless.clone()),
        ("fix", text.fix.clone().unwrap_or_default()),
    ];
    described(code, &text.meaning, &items, language)
}

/// A heading, a paragraph and a list of named items.
fn described(code: &str, meaning: &str, items: &[(&str, String)], language: Language) -> String {
    // The colon stands outside: emphasis that ends with a full-width one and goes on without a space is none.
    let item =
        |(key, text): &(&str, String)| format!("- **{}**{}{text}\n", word(key, language), word("colon", language));
    let items: String = items.iter().map(item).collect();
    format!("### `{code}`\n\n{meaning}\n\n{items}\n")
}

/// A table of the rules with their formulas and findings.
fn of_rules(language: Language) -> String {
    let word = |key| word(key, language);
    let heads = [word("rule_kind"), word("page_says"), word("page_formula"), word("page_finding")];
    let row = |(name, meaning): (&String, &String)| {
        let formula = phrases::formula(name, language).unwrap_or_default();
        let finding = facts().rules.get(name).map(|code| format!("[`{code}`](#{code})")).unwrap_or_default();
        table_row(&[&format!("`{name}`"), meaning, formula, &finding])
    };
    format!("## {}\n\n", word("rules"))
        + &table_head(&heads)
        + &texts(language).rules.iter().map(row).collect::<String>()
}

fn table_head(heads: &[&str]) -> String {
    table_row(heads) + "|" + &"---|".repeat(heads.len()) + "\n"
}

fn table_row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}
