//! Operator tests of both sides.

use super::api::{Tables, added};
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
    let before = all.len();
    all.retain(|row| !policy.ignores(&row.api));
    let mut left_out = before - all.len();
    let mut kept = |names: &mut dyn Iterator<Item = (String, String)>| {
        let (ignored, kept): (Vec<_>, Vec<_>) = names.partition(|(api, _)| policy.ignores(api));
        left_out += ignored.len();
        kept.into_iter().map(|(_, name)| name).collect::<Vec<String>>()
    };
    let mut ours = ours;
    let mut theirs = theirs;
    let one_sided = OneSided { baseline: kept(&mut ours), candidate: kept(&mut theirs) };
    Content { rows: all, one_sided, left_out: left_out as u64, damage: Vec::new() }
}
