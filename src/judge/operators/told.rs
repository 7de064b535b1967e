//! Rows that a finding tells. Of a table in which every row is wrong only a few are shown, so that a finding is made once its row is
//! among them.

use super::arguments::formula_arguments;
use super::output::{JudgedRow, RowReason};
use super::rules;
use crate::compare::operators::RatioKind;
use crate::judge::rule::Rule;
use crate::read::operators::OperatorStatus;
use crate::result::finding::Finding;

/// A row that breaks a rule.
#[derive(Clone, Copy)]
pub(super) struct ToldRow<'a> {
    /// Its place among the rows of the table.
    pub(super) place: usize,
    pub(super) row: &'a JudgedRow,
    pub(super) rule: &'static Rule,
    reason: &'a RowReason,
}

impl<'a> ToldRow<'a> {
    /// The row at `place`; `None` for a pass and a skip.
    pub(super) fn of(place: usize, row: &'a JudgedRow) -> Option<Self> {
        let reason = row.reason.as_ref()?;
        let rule = match reason {
            RowReason::Ratio { kind: RatioKind::MaxRel, .. } => &rules::MAX_RELATIVE,
            RowReason::Ratio { .. } => &rules::INACCURATE,
            RowReason::NonFinite => &rules::NON_FINITE,
            RowReason::BaselineNonFinite => &rules::BASELINE_NON_FINITE,
            RowReason::Dtype(..) => &rules::DTYPE_DIFFERS,
            RowReason::Elements(_) => &rules::ELEMENTS_DIFFER,
            RowReason::Tool if row.status == OperatorStatus::Error => &rules::TOOL_ERROR,
            RowReason::Tool => &rules::TOOL_WARNING,
            RowReason::Mask => &rules::MASK,
        };
        Some(Self { place, row, rule, reason })
    }

    /// Whether its rule is about numbers.
    pub(super) fn is_numeric(&self) -> bool {
        rules::NUMERIC.iter().any(|rule| rule.code == self.rule.code)
    }

    /// Name of its operator, as that of its finding.
    pub(super) fn operator(&self) -> &'a str {
        rules::operator_of(&self.row.name)
    }

    /// The finding about it, in a table of this name.
    pub(super) fn finding(&self, table: &str) -> Finding {
        with_numbers(about(self.row, self.rule, self.reason), self.row, table)
    }
}

/// The finding that `rule` is broken by a row for this reason.
fn about(row: &JudgedRow, rule: &Rule, reason: &RowReason) -> Finding {
    let finding = Finding::new(rule, &row.name).with("rule", reason.as_str());
    match reason {
        RowReason::Ratio { value, limit, .. } => {
            let finding = with_other_result(finding, row).with("value", *value).with("limit", *limit);
            match &row.errors {
                Some(errors) => errors.tell_sizes(finding),
                None => finding,
            }
        }
        RowReason::Dtype(baseline, candidate) => {
            finding.with("baseline", baseline.as_str()).with("candidate", candidate.as_str())
        }
        RowReason::Elements(share) => finding.with("value", *share).with("limit", 0.0),
        RowReason::NonFinite => match &row.errors {
            Some(errors) => errors.tell_broken(finding),
            None => finding,
        },
        RowReason::BaselineNonFinite | RowReason::Tool | RowReason::Mask => finding,
    }
}

/// Adds the similarity of an output that is another result, and the arguments that set the operator's formula.
fn with_other_result(finding: Finding, row: &JudgedRow) -> Finding {
    let Some(similarity) = row.other_result else { return finding };
    let arguments = formula_arguments(&row.operation());
    let finding = finding.with("similarity", similarity);
    if arguments.is_empty() { finding } else { finding.with("arguments", arguments) }
}

fn with_numbers(finding: Finding, row: &JudgedRow, table: &str) -> Finding {
    let mut finding = finding.with("unit", table).with("op", row.operation()).with("api", row.api.as_str());
    if let Some(direction) = row.direction {
        finding = finding.with("direction", direction.as_str());
    }
    if let Some(output) = row.output {
        finding = finding.with("output", output);
    }
    if let Some(level) = row.level {
        finding = finding.with("level", level.as_str());
    }
    if !row.dtype.is_empty() && !finding.facts.contains_key("candidate") {
        finding = finding.with("dtype", row.dtype.as_str());
    }
    if let Some(shape) = row.errors.as_ref().map(|errors| errors.shape.as_str()).filter(|shape| !shape.is_empty()) {
        finding = finding.with("shape", shape);
    }
    match row.msprobe {
        Some(msprobe) => finding.with("msprobe", msprobe.as_str()),
        None => finding,
    }
}
