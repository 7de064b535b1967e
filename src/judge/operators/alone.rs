//! Operator tests without a baseline, judged by the tool's own status.

use super::api::{Tables, added_alone, of_compared};
use super::output::{JudgedRow, judge_alone};
use crate::policy::operators::OperatorsPolicy;
use crate::read::operators::{ApiResult, ComparedRow};

/// Judged rows of the tables of `acc_check`, and the names of the rows that the policy leaves out.
pub fn tested(tables: Tables<'_>, policy: &OperatorsPolicy) -> (Vec<JudgedRow>, Vec<String>) {
    let last = super::table_places(tables.details.iter().map(|output| output.api()));
    let added = added_alone(tables, |api| last.get(api).copied().unwrap_or_default());
    let rows = tables.details.iter().map(judge_alone).collect();
    left_out(super::woven(rows, added), policy)
}

/// Judged rows of the tables of `api_precision_compare`, and the names of the rows that the policy leaves out.
pub fn compared(
    results: &[ApiResult],
    details: &[ComparedRow],
    policy: &OperatorsPolicy,
) -> (Vec<JudgedRow>, Vec<String>) {
    left_out(of_compared(results, details), policy)
}

fn left_out(mut rows: Vec<JudgedRow>, policy: &OperatorsPolicy) -> (Vec<JudgedRow>, Vec<String>) {
    let left_out = super::leave_out(&mut rows, policy);
    (rows, left_out)
}
