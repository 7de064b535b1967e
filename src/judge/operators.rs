//! Judging operator tests, output by output in the order of the candidate's table.
//!
//! Each side's table holds errors against a CPU. An output is wrong where the candidate's errors are several times the
//! baseline's; docs/operators.md has the rules.

pub mod alone;
pub mod api;
pub mod arguments;
pub mod errors;
mod limits;
mod mask;
pub mod output;
pub mod paired;
pub mod rules;
mod siblings;
pub mod table;
mod told;

use crate::compare::operators::RatioKind;
use crate::hash::FastMap;
use crate::kind::Direction;
use crate::policy::operators::OperatorsPolicy;
use output::JudgedRow;
pub use rules::RULES;

/// The limit of a ratio of `api` in a direction.
pub fn limit_of(api: &str, direction: Direction, kind: RatioKind, policy: &OperatorsPolicy) -> f64 {
    limits::limits(api, direction, policy).ratios.get(kind)
}

/// Removes the rows that the policy leaves out; returns their names.
fn leave_out(rows: &mut Vec<JudgedRow>, policy: &OperatorsPolicy) -> Vec<String> {
    rows.extract_if(.., |row| policy.ignores(&row.api)).map(|row| row.name).collect()
}

/// Number of rows up to and including the last one of each operator.
fn table_places<'a>(apis: impl Iterator<Item = &'a str>) -> FastMap<&'a str, usize> {
    apis.enumerate().map(|(place, api)| (api, place + 1)).collect()
}

/// Merges `added` into `rows`; the number of an added row is that of the rows before it.
fn interleaved(rows: Vec<JudgedRow>, added: Vec<(usize, JudgedRow)>) -> Vec<JudgedRow> {
    if added.is_empty() {
        return rows;
    }
    let mut all = Vec::with_capacity(rows.len() + added.len());
    let mut added = added.into_iter().peekable();
    for (place, row) in rows.into_iter().enumerate() {
        while let Some((_, row)) = added.next_if(|(behind, _)| *behind <= place) {
            all.push(row);
        }
        all.push(row);
    }
    all.extend(added.map(|(_, row)| row));
    all
}
