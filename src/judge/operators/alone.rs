//! Operator tests without a baseline, judged by the tool's own status.

use super::api::{ApiTables, compared_api_rows, lone_added_rows};
use super::output::{JudgedRow, judge_alone};
use crate::policy::operators::OperatorsPolicy;
use crate::read::operators::{ApiResult, ComparedRow};

/// Judged rows of the tables of `acc_check`, and the names of the rows that the policy leaves out.
pub(crate) fn tested_rows(tables: ApiTables<'_>, policy: &OperatorsPolicy) -> (Vec<JudgedRow>, Vec<String>) {
    let last = super::table_places(tables.details.iter().map(|output| output.api()));
    let added = lone_added_rows(tables, |api| last.get(api).copied().unwrap_or_default());
    let rows = tables.details.iter().map(judge_alone).collect();
    left_out(super::interleaved(rows, added), policy)
}

/// Judged rows of the tables of `api_precision_compare`, and the names of the rows that the policy leaves out.
pub(crate) fn compared_rows(
    results: &[ApiResult],
    details: &[ComparedRow],
    policy: &OperatorsPolicy,
) -> (Vec<JudgedRow>, Vec<String>) {
    left_out(compared_api_rows(results, details), policy)
}

fn left_out(mut rows: Vec<JudgedRow>, policy: &OperatorsPolicy) -> (Vec<JudgedRow>, Vec<String>) {
    let left_out = super::leave_out(&mut rows, policy);
    (rows, left_out)
}
