//! Rules about several runs of a side, as documents show them.

use minijinja::Value;
use serde::Serialize;

use super::writer::{Writer, safe};
use crate::error::Result;
use crate::report::messages::short_number;
use crate::result::number::Number;
use crate::result::unit::{AnyUnit, Check, SampleRule, samples};

/// A tested rule for documents.
#[derive(Debug, Serialize)]
pub(crate) struct SampleRow {
    /// The metric, with its task.
    pub name: Value,
    /// The rule.
    pub rule: Value,
    /// Runs of both sides.
    pub runs: Value,
    /// Estimated shift with its interval.
    pub shift: Value,
    /// Probability of such a shift by chance, corrected.
    pub p: Value,
    /// Smallest shift that would have been found.
    pub detectable: Value,
    /// Its verdict, in a word.
    pub verdict: Value,
}

/// A row for each rule.
///
/// # Errors
/// Errors of a text.
pub(super) fn rows(checks: &[Check], writer: &Writer) -> Result<Vec<SampleRow>> {
    let mut rows = Vec::new();
    for unit in samples(checks) {
        for rule in &unit.rules {
            rows.push(row(&unit.name(), rule, writer)?);
        }
    }
    Ok(rows)
}

fn row(name: &str, rule: &SampleRule, writer: &Writer) -> Result<SampleRow> {
    let is_plain = rule.drop.is_some() || rule.rule == "spikes";
    let shown = |number: Number| {
        if is_plain { short_number(number.0) } else { format!("{} %", short_number(100.0 * number.0)) }
    };
    let shift = match (rule.effect.or(rule.drop), rule.interval) {
        (Some(effect), Some([low, high])) => format!("{} ({} … {})", shown(effect), shown(low), shown(high)),
        _ => String::new(),
    };
    Ok(SampleRow {
        name: safe(writer.name(name)),
        rule: safe(writer.name(&rule.rule)),
        runs: safe(format!("{} : {}", rule.n, rule.m)),
        shift: safe(shift),
        p: safe(rule.p_adjusted.map_or_else(String::new, |p| short_number(p.0))),
        detectable: safe(rule.detectable.map_or_else(String::new, shown)),
        verdict: safe(writer.word(&format!("verdict_{}", rule.verdict.as_str()))?),
    })
}
