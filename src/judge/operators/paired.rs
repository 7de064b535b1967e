//! Operator tests of both sides.

use rayon::prelude::*;

use super::api::{ApiTables, added_rows};
use super::output::{JudgedRow, judge};
use super::table::{OneSidedRows, TestContent};
use crate::hash::FastMap;
use crate::pair::operators::{OutputPair, PairedRows};
use crate::policy::operators::OperatorsPolicy;
use crate::read::operators::{OperatorOutput, OperatorStatus};

/// Judges the tests of both sides, whose paired details are `rows`; `msprobe` returns the status of msprobe's comparison.
pub fn content(
    baseline: ApiTables<'_>,
    candidate: ApiTables<'_>,
    rows: &PairedRows<'_>,
    msprobe: impl Fn(&OutputPair<'_>) -> OperatorStatus + Sync,
    policy: &OperatorsPolicy,
) -> TestContent {
    let last = super::table_places(rows.both.iter().map(|pair| pair.candidate.api()));
    let from_results = added_rows(baseline, candidate, |api| last.get(api).copied().unwrap_or_default());
    let judged = rows.both.par_iter().map(|pair| judge(pair, msprobe(pair), policy)).collect();
    let mut all: Vec<JudgedRow> = super::interleaved(judged, from_results.rows);
    let name = |output: &&OperatorOutput| (output.api().to_owned(), output.name.clone());
    let of_api = |api: String| (api.clone(), api);
    let only_baseline = rows.only_baseline.iter().map(name).chain(from_results.only_baseline.into_iter().map(of_api));
    let only_candidate =
        rows.only_candidate.iter().map(name).chain(from_results.only_candidate.into_iter().map(of_api));
    let mut left_out = super::leave_out(&mut all, policy);
    let contradicting = contradicting(rows, policy);
    let mut kept = |names: &mut dyn Iterator<Item = (String, String)>| {
        let (ignored, kept): (Vec<_>, Vec<_>) = names.partition(|(api, _)| policy.ignores(api));
        left_out.extend(ignored.into_iter().map(|(_, name)| name));
        kept.into_iter().map(|(_, name)| name).collect::<Vec<String>>()
    };
    let mut only_baseline = only_baseline;
    let mut only_candidate = only_candidate;
    let one_sided = OneSidedRows { baseline: kept(&mut only_baseline), candidate: kept(&mut only_candidate) };
    TestContent { rows: all, one_sided, left_out, contradicting, damage: Vec::new() }
}

/// Names of rows that one side repeats, with other numbers than in the paired row.
fn contradicting(rows: &PairedRows<'_>, policy: &OperatorsPolicy) -> Vec<String> {
    if rows.only_baseline.is_empty() && rows.only_candidate.is_empty() {
        return Vec::new();
    }
    let paired: FastMap<&str, &OutputPair<'_>> =
        rows.both.iter().map(|pair| (pair.candidate.name.as_str(), pair)).collect();
    let baseline = rows
        .only_baseline
        .iter()
        .filter(|output| paired.get(output.name.as_str()).is_some_and(|pair| !pair.baseline.has_same_numbers(output)));
    let candidate = rows
        .only_candidate
        .iter()
        .filter(|output| paired.get(output.name.as_str()).is_some_and(|pair| !pair.candidate.has_same_numbers(output)));
    let kept = baseline.chain(candidate).filter(|output| !policy.ignores(output.api()));
    kept.map(|output| output.name.clone()).collect()
}
