//! `metrics.txt`: OpenMetrics text 1.0, for GitLab's metrics widget and for scrapers.
//!
//! Each number is one gauge, labelled by check, unit and rule, so that two runs of a pipeline can be compared.

use std::fmt::Write;

use super::outcomes::{self, UnitRule};
use crate::result::GateResult;
use crate::result::unit::{Check, Unit};
use crate::verdict::Severity;

/// A family of gauges: its name, its help, its samples.
struct Family {
    name: &'static str,
    help: &'static str,
    samples: Vec<(Vec<(&'static str, String)>, f64)>,
}

/// Renders the numbers of a result.
pub fn render(result: &GateResult) -> String {
    let mut text = String::new();
    for family in families(result).iter().filter(|family| !family.samples.is_empty()) {
        // Writing to a string cannot fail.
        let _written = writeln!(text, "# TYPE {} gauge\n# HELP {} {}", family.name, family.name, family.help);
        for (labels, value) in &family.samples {
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            let _written = writeln!(text, "{}{{{}}} {}", family.name, labels.join(","), number(*value));
        }
    }
    text.push_str("# EOF\n");
    text
}

fn families(result: &GateResult) -> Vec<Family> {
    let verdicts = result.checks.iter().map(|check| (vec![label_check(check)], f64::from(check.verdict as u8)));
    let total = (vec![("check", "all".to_owned())], f64::from(result.verdict as u8));
    vec![
        Family {
            name: "precision_gate_verdict",
            help: "0 skipped, 1 pass, 2 warn, 3 incomplete, 4 fail",
            samples: std::iter::once(total).chain(verdicts).collect(),
        },
        Family {
            name: "precision_gate_compared",
            help: "values compared, or steps of a curve",
            samples: units(result, compared),
        },
        Family { name: "precision_gate_findings", help: "findings by severity", samples: findings(result) },
        Family {
            name: "precision_gate_error",
            help: "error of the culprit, relative to its tensor's scale",
            samples: units(result, culprit_error),
        },
        Family {
            name: "precision_gate_drop",
            help: "drop of a score in the unit of its margin, negative where it is better",
            samples: units(result, drop),
        },
        Family { name: "precision_gate_rule", help: "measured value of a rule", samples: rules(result) },
    ]
}

type Samples = Vec<(Vec<(&'static str, String)>, f64)>;

fn label_check(check: &Check) -> (&'static str, String) {
    ("check", check.id.as_str().to_owned())
}

fn units(result: &GateResult, value: fn(&Unit) -> Option<f64>) -> Samples {
    let of_check = |check: &'_ Check| -> Samples {
        let sample = |unit: &Unit| Some((vec![label_check(check), ("unit", unit.name())], value(unit)?));
        check.units.iter().filter_map(sample).collect()
    };
    result.checks.iter().flat_map(of_check).collect()
}

#[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn compared(unit: &Unit) -> Option<f64> {
    let size = unit.size();
    Some(size.values.max(size.steps) as f64)
}

fn culprit_error(unit: &Unit) -> Option<f64> {
    unit.culprit()?.metrics.get("error").map(|error| error.0)
}

fn drop(unit: &Unit) -> Option<f64> {
    match unit {
        Unit::Evaluation(unit) => unit.drop.map(|drop| drop.0),
        _ => None,
    }
}

fn findings(result: &GateResult) -> Samples {
    let severities = [Severity::Info, Severity::Warn, Severity::Incomplete, Severity::Fail];
    let sample = |severity: &Severity| {
        let count = result.counting().filter(|finding| finding.severity == *severity).count();
        let name = if *severity == Severity::Info { "info" } else { severity.verdict().as_str() };
        (vec![("severity", name.to_owned())], f64::from(u32::try_from(count).unwrap_or(u32::MAX)))
    };
    severities.iter().map(sample).collect()
}

fn rules(result: &GateResult) -> Samples {
    let sample = |row: UnitRule| {
        let labels = vec![("check", row.check.as_str().to_owned()), ("unit", row.unit), ("rule", row.outcome.rule)];
        Some((labels, row.outcome.value?.0))
    };
    outcomes::rules(result).into_iter().filter_map(sample).collect()
}

/// A label's value without hidden characters, with backslash, quote and line break escaped.
fn escaped(text: &str) -> String {
    super::escape::cleaned(text).replace('\\', "\\\\").replace('"', "\\\"")
}

fn number(value: f64) -> String {
    match value {
        nan if nan.is_nan() => "NaN".into(),
        f64::INFINITY => "+Inf".into(),
        f64::NEG_INFINITY => "-Inf".into(),
        finite => finite.to_string(),
    }
}
