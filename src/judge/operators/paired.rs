//! Operator tests of both sides.

use super::api::{Tables, added};
use std::collections::HashMap;

use super::output::{JudgedRow, judge};
use super::table::{Content, OneSided};
use crate::pair::operators::{OutputPair, PairedRows};
use crate::policy::operators::OperatorsPolicy;
use crate::read::operators::{Output, Status};

/// Judges two tests, whose paired details are `rows`; `msprobe` gives the status of msprobe's comparison.
pub fn content(
    baseline: Tables<'_>,
    candidate: Tables<'_>,
    rows: &PairedRows<'_>,
    msprobe: impl Fn(&OutputPair<'_>) -> Status,
    policy: &OperatorsPolicy,
) -> Content {
    let last = super::table_places(rows.both.iter().map(|pair| pair.candidate.api()));
    let from_results = added(baseline, candidate, |api| last.get(api).copied().unwrap_or_default());
    let judged = rows.both.iter().map(|pair| judge(pair, msprobe(pair), policy)).collect();
    let mut all: Vec<JudgedRow> = super::woven(judged, from_results.rows);
    let name = |output: &&Output| (output.api().to_owned(), output.name.clone());
    let of_api = |api: String| (api.clone(), api);
    let ours = rows.only_baseline.iter().map(name).chain(from_results.only_baseline.into_iter().map(of_api));
    let theirs = rows.only_candidate.iter().map(name).chain(from_results.only_candidate.into_iter().map(of_api));
    let mut left_out = super::leave_out(&mut all, policy);
    let contradicting = contradicting(rows, policy);
    let mut kept = |names: &mut dyn Iterator<Item = (String, String)>| {
        let (ignored, kept): (Vec<_>, Vec<_>) = names.partition(|(api, _)| policy.ignores(api));
        left_out.extend(ignored.into_iter().map(|(_, name)| name));
        kept.into_iter().map(|(_, name)| name).collect::<Vec<String>>()
    };
    let mut ours = ours;
    let mut theirs = theirs;
    let one_sided = OneSided { baseline: kept(&mut ours), candidate: kept(&mut theirs) };
    Content { rows: all, one_sided, left_out, contradicting, damage: Vec::new() }
}

/// Rows that a side holds once more than the other, with other numbers than the one that was paired.
fn contradicting(rows: &PairedRows<'_>, policy: &OperatorsPolicy) -> Vec<String> {
    let paired: HashMap<&str, &OutputPair<'_>> =
        rows.both.iter().map(|pair| (pair.candidate.name.as_str(), pair)).collect();
    let ours = rows
        .only_baseline
        .iter()
        .filter(|output| paired.get(output.name.as_str()).is_some_and(|pair| !pair.baseline.says_the_same(output)));
    let theirs = rows
        .only_candidate
        .iter()
        .filter(|output| paired.get(output.name.as_str()).is_some_and(|pair| !pair.candidate.says_the_same(output)));
    let kept = ours.chain(theirs).filter(|output| !policy.ignores(output.api()));
    kept.map(|output| output.name.clone()).collect()
}
