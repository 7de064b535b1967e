//! Rows from tables of results, beyond those from tables of details: operators without details, and a worse status.

use super::output::{JudgedRow, RowEvidence, RowReason};
use crate::hash::FastMap;
use crate::kind::Direction;
use crate::read::operators::{ApiResult, ComparedRow, OperatorOutput, OperatorStatus};

/// A side's tables of one test.
#[derive(Clone, Copy, Debug)]
pub struct ApiTables<'a> {
    /// Table of details, with one row per output.
    pub details: &'a [OperatorOutput],
    /// Table of results, with one row per operator.
    pub results: &'a [ApiResult],
}

/// Rows that tables of results add.
#[derive(Debug, Default)]
pub(crate) struct AddedRows {
    /// Rows, each with the number of rows of details that come before it.
    pub rows: Vec<(usize, JudgedRow)>,
    /// Operators of the baseline alone, which have no details on either side.
    pub only_baseline: Vec<String>,
    /// Operators of the candidate alone.
    pub only_candidate: Vec<String>,
}

/// The worst status of the details of each operator and direction.
struct Worst<'a>(FastMap<&'a str, [Option<OperatorStatus>; 2]>);

impl<'a> Worst<'a> {
    fn of(details: &'a [OperatorOutput]) -> Self {
        let mut worst: FastMap<&str, [Option<OperatorStatus>; 2]> = FastMap::default();
        for output in details {
            let [forward, backward] = worst.entry(output.api()).or_default();
            let status = if output.direction == Direction::Forward { forward } else { backward };
            *status = (*status).max(Some(output.status));
        }
        Self(worst)
    }

    fn has(&self, api: &str) -> bool {
        self.0.contains_key(api)
    }

    /// The worst status of an operator in a direction; skipped where it has no details.
    fn status(&self, api: &str, direction: Direction) -> OperatorStatus {
        let [forward, backward] = self.0.get(api).copied().unwrap_or_default();
        let status = if direction == Direction::Forward { forward } else { backward };
        status.unwrap_or(OperatorStatus::Skip)
    }
}

/// Rows that the candidate's results add to its details, compared with the baseline's results. `row_of` returns the number of rows of
/// details up to the last one of an operator.
pub(crate) fn added_rows(
    baseline: ApiTables<'_>,
    candidate: ApiTables<'_>,
    row_of: impl Fn(&str) -> usize,
) -> AddedRows {
    let (baseline_worst, candidate_worst) = (Worst::of(baseline.details), Worst::of(candidate.details));
    let of_baseline: FastMap<&str, &ApiResult> =
        baseline.results.iter().map(|result| (result.api.as_str(), result)).collect();
    let of_candidate: FastMap<&str, &ApiResult> =
        candidate.results.iter().map(|result| (result.api.as_str(), result)).collect();
    let mut added = AddedRows::default();
    let mut behind = 0;
    for result in candidate.results {
        behind = behind.max(row_of(&result.api));
        let twin = of_baseline.get(result.api.as_str()).copied();
        if !candidate_worst.has(&result.api) && twin.is_none() && !baseline_worst.has(&result.api) {
            added.only_candidate.push(result.api.clone());
            continue;
        }
        if !candidate_worst.has(&result.api) && baseline_worst.has(&result.api) {
            // The baseline's outputs have no partner, which is reported for each of them.
            continue;
        }
        added.rows.extend(against(result, twin, &candidate_worst).map(|row| (behind, row)));
    }
    for result in baseline.results {
        let is_known = baseline_worst.has(&result.api) || candidate_worst.has(&result.api);
        if !is_known && !of_candidate.contains_key(result.api.as_str()) {
            added.only_baseline.push(result.api.clone());
        }
    }
    added
}

/// The row of an operator without details, or with a worse status than in its details and in the baseline; else `None`.
fn against(result: &ApiResult, twin: Option<&ApiResult>, details: &Worst<'_>) -> Option<JudgedRow> {
    let has_details = details.has(&result.api);
    let of = |direction: Direction| {
        let (status, known) = match (direction, twin) {
            (Direction::Forward, twin) => (result.forward, twin.map(|twin| twin.forward)),
            (Direction::Backward, twin) => (result.backward, twin.map(|twin| twin.backward)),
        };
        let is_worse = status >= OperatorStatus::Warning && status > details.status(&result.api, direction);
        let counts = is_worse && known.is_none_or(|known| status > known);
        let is_bad_everywhere = status >= OperatorStatus::Warning && !counts;
        (if is_bad_everywhere { OperatorStatus::Skip } else { status }, counts, direction, known)
    };
    let (forward, backward) = (of(Direction::Forward), of(Direction::Backward));
    let (status, counts, direction, known) = if backward.0 > forward.0 { backward } else { forward };
    if has_details && !counts {
        return None;
    }
    let row = row(&result.api, Some(direction), status, counts);
    let evidence = match status {
        // The rows of its details are counted instead.
        _ if has_details => RowEvidence::Nothing,
        OperatorStatus::Skip if result.forward.max(result.backward) == OperatorStatus::Skip => RowEvidence::Nothing,
        OperatorStatus::Skip => RowEvidence::NotCompared,
        _ => RowEvidence::Compared,
    };
    Some(JudgedRow {
        evidence,
        baseline: Some(known.unwrap_or(OperatorStatus::Skip)),
        candidate: result.forward.max(result.backward),
        ..row
    })
}

/// Rows that the results of a candidate that is judged alone add to its details.
pub(crate) fn lone_added_rows(candidate: ApiTables<'_>, row_of: impl Fn(&str) -> usize) -> Vec<(usize, JudgedRow)> {
    let details = Worst::of(candidate.details);
    let mut behind = 0;
    let mut rows = Vec::new();
    for result in candidate.results {
        behind = behind.max(row_of(&result.api));
        rows.extend(against(result, None, &details).map(|row| (behind, row)));
    }
    rows
}

/// One row per operator of the tables of `api_precision_compare`, with its worst status.
pub(crate) fn compared_api_rows(results: &[ApiResult], details: &[ComparedRow]) -> Vec<JudgedRow> {
    let mut places: FastMap<&str, usize> = FastMap::default();
    let mut worst: Vec<(&str, OperatorStatus, Option<Direction>)> = Vec::new();
    let both = |result: &ApiResult| [(Direction::Forward, result.forward), (Direction::Backward, result.backward)];
    let of_results = results
        .iter()
        .flat_map(|result| both(result).map(|(direction, status)| (result.api.as_str(), direction, status)));
    let of_details = details.iter().map(|row| (row.api(), row.direction, row.status));
    for (api, direction, status) in of_results.chain(of_details) {
        let place = *places.entry(api).or_insert(worst.len());
        match worst.get_mut(place) {
            Some(known) if status > known.1 => *known = (api, status, Some(direction)),
            Some(_) => {}
            None => worst.push((api, status, Some(direction))),
        }
    }
    let judged = |(api, status, direction): (&str, OperatorStatus, Option<Direction>)| {
        let row = row(api, direction, status, status >= OperatorStatus::Warning);
        JudgedRow { msprobe: Some(status), ..row }
    };
    worst.into_iter().map(judged).collect()
}

fn row(api: &str, direction: Option<Direction>, status: OperatorStatus, is_told: bool) -> JudgedRow {
    JudgedRow {
        name: api.to_owned(),
        api: api.to_owned(),
        direction,
        output: None,
        dtype: String::new(),
        level: None,
        ratios: None,
        worst: None,
        baseline: None,
        candidate: status,
        msprobe: None,
        status,
        reason: is_told.then_some(RowReason::Tool),
        skipped_on: None,
        rule: None,
        evidence: if status == OperatorStatus::Skip { RowEvidence::Nothing } else { RowEvidence::Compared },
        errors: None,
        other_result: None,
    }
}
