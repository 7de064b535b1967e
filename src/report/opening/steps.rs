//! The next step of a check that does not lead, in one clause: the instruction at the start of its advice.
//!
//! An advice consists of an instruction and of its expected outcome. A row of the first table has room for the instruction only, so
//! that informative clauses and text in brackets are left out.

use super::length::{TextPart, parts, visible_chars};
use super::words::uncapital;
use crate::report::escape::TextTarget;
use crate::report::sides::is_chinese;

/// Characters of a step beside a row.
const MOST_CHARS: usize = 90;
/// Characters that a list keeps before it is cut.
const LEAST_CHARS: usize = 30;

/// Words at the start of an English clause that tells something, where an order starts with its verb.
const TELLING: [&str; 26] = [
    "A", "An", "At", "Both", "By", "Each", "Equal", "Every", "If", "In", "It", "Its", "No", "Nothing", "Of", "On",
    "One", "Only", "Other", "That", "The", "These", "They", "This", "Two", "Where",
];

/// The first instruction of a rendered advice, without its outcome; empty if the advice is empty.
pub(super) fn first_step(advice: &str, target: TextTarget) -> String {
    let parts = without_brackets(parts(advice, target));
    let clauses = clauses(&parts);
    let is_order = |clause: &&[TextPart]| is_order(&written(clause));
    let Some(clause) = clauses.iter().copied().find(is_order).or(clauses.first().copied()) else {
        return String::new();
    };
    let text = written(at_comma(clause)).trim().to_owned();
    let text = text.strip_prefix('请').map_or(text.as_str(), str::trim_start).to_owned();
    uncapital(&text, &[])
}

fn written(parts: &[TextPart]) -> String {
    parts.iter().map(|part| part.written.as_str()).collect()
}

/// The parts outside of brackets; a blank before a bracket goes with it, and one stays between other letters and Chinese.
fn without_brackets(parts: Vec<TextPart>) -> Vec<TextPart> {
    let (mut depth, mut is_behind) = (0_usize, false);
    let mut kept: Vec<TextPart> = Vec::with_capacity(parts.len());
    for part in parts {
        match part.written.as_str() {
            "(" | "（" => depth += 1,
            ")" | "）" if depth > 0 => {
                depth -= 1;
                is_behind = true;
            }
            _ if depth > 0 => {}
            text => {
                let last = kept.last().map(|last| last.written.as_str());
                if is_behind && last == Some(" ") && !text.starts_with(is_chinese) {
                    kept.pop();
                }
                let is_foreign =
                    |text: &str| text.ends_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '`');
                if is_behind
                    && text.starts_with(is_chinese)
                    && kept.last().is_some_and(|last| is_foreign(&last.written))
                {
                    kept.push(TextPart { written: " ".to_owned(), seen: 1, is_name: false });
                }
                is_behind = false;
                kept.push(part);
            }
        }
    }
    kept
}

/// The clauses between full stops, colons and semicolons.
fn clauses(parts: &[TextPart]) -> Vec<&[TextPart]> {
    let mut clauses = Vec::new();
    let mut rest = parts;
    while !rest.is_empty() {
        let ends = |at: &usize| {
            let text = |at: usize| rest.get(at).map_or(" ", |part| part.written.as_str());
            match text(*at) {
                "。" | "；" | "：" => true,
                "." | ";" | ":" => text(at + 1) == " " || text(at + 1) == "\n",
                _ => false,
            }
        };
        let end = (0..rest.len()).find(ends).unwrap_or(rest.len());
        let (clause, behind) = rest.split_at(end);
        if !written(clause).trim().is_empty() {
            clauses.push(clause);
        }
        rest = behind.get(1..).unwrap_or_default();
    }
    clauses
}

/// Whether a clause is an instruction rather than information.
fn is_order(clause: &str) -> bool {
    let clause = clause.trim();
    if clause.contains(is_chinese) {
        return clause.contains('请') || clause.starts_with("在");
    }
    let first = clause.split([' ', ',']).next().unwrap_or_default();
    // Advice of a reader begins with a small letter.
    let tells = TELLING.iter().any(|word| word.eq_ignore_ascii_case(first));
    !tells && first.starts_with(|letter: char| letter.is_alphabetic())
}

/// A long clause up to the last comma that leaves it short enough; as it is where there is none.
fn at_comma(clause: &[TextPart]) -> &[TextPart] {
    if visible_chars(clause) <= MOST_CHARS {
        return clause;
    }
    let mut before = 0;
    let mut cut = None;
    for (index, part) in clause.iter().enumerate() {
        if matches!(part.written.as_str(), "," | "，" | "、") && (LEAST_CHARS..=MOST_CHARS).contains(&before) {
            cut = Some(index);
        }
        before += part.seen;
    }
    cut.and_then(|cut| clause.get(..cut)).unwrap_or(clause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_first_order_of_an_advice() {
        for (advice, step) in [
            (
                "Read the answers that got worse in report.html: a change of form (chat template) shows at once.",
                "read the answers that got worse in report.html",
            ),
            ("The forward pass is right: dump the first step; look at it.", "dump the first step"),
            (
                "Run `a: b. c` alone (`precision-gate reproduce r.json` writes the script) with both formulas; then choose.",
                "run `a: b. c` alone with both formulas",
            ),
            ("the file was cut short, as when a job is killed: collect it again", "collect it again"),
            ("No operation is wrong. Feed the GPU's choice to the NPU.", "feed the GPU's choice to the NPU"),
            ("`optimizer.step()` is called.", "`optimizer.step()` is called"),
            (
                "前向是正确的：请在两侧采集首个 step（含反向）的 dump，查找首个差异。",
                "在两侧采集首个 step 的 dump，查找首个差异",
            ),
            ("请加载同一 checkpoint；再比对。", "加载同一 checkpoint"),
            ("", ""),
        ] {
            assert_eq!(first_step(advice, TextTarget::Markdown), step);
        }
    }

    #[test]
    fn a_long_list_ends_at_a_comma() {
        let advice = "Make the optimizer equal in both runs with learning rate and schedule, betas, eps, weight decay, clipping, groups.";
        let step = first_step(advice, TextTarget::Markdown);
        assert!(step.chars().count() <= MOST_CHARS && step.ends_with("eps"), "{step}");
    }
}
