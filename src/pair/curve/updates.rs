//! Updates of a side, over all its files, and the gradient norms that follow from them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::error::Result;
use crate::read::curve::CurveFile;
use crate::read::curve::series::Series;
use crate::read::curve::updates::{UpdateHistory, UpdateRecord, updates_of_file};

/// Updates of a side: files that follow one another form one run; among several runs, the one with most skipped updates
/// counts.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub(super) fn of_files(files: &[CurveFile]) -> Result<Option<UpdateHistory>> {
    let mut all = Vec::new();
    for file in files {
        all.extend(updates_of_file(file.updates.as_ref(), &file.series)?);
    }
    all.sort_by_key(|updates| updates.records.first().and_then(|record| record.step));
    let mut runs: Vec<UpdateHistory> = Vec::new();
    for updates in all {
        match runs.last_mut().filter(|run| run.is_stated == updates.is_stated && is_behind(run, &updates)) {
            Some(run) => run.records.extend(updates.records.iter()),
            None => runs.push(updates),
        }
    }
    let skipped = |updates: &UpdateHistory| updates.records.iter().map(|record| record.skipped).sum::<u64>();
    Ok(runs.into_iter().max_by_key(|updates| (skipped(updates), updates.is_stated, updates.records.len())))
}

fn is_behind(earlier: &UpdateHistory, next: &UpdateHistory) -> bool {
    let step = |record: Option<UpdateRecord>| record.and_then(|record| record.step);
    matches!((step(earlier.records.last()), step(next.records.first())), (Some(last), Some(first)) if last < first)
}

/// Steps whose update was skipped, or one of the updates up to it.
pub(crate) fn skipped_steps(updates: Option<&UpdateHistory>) -> BTreeSet<u64> {
    let records = updates.into_iter().flat_map(|updates| (1..).zip(updates.records.iter()));
    let skipped = records.filter(|(_, record)| record.skipped > 0);
    skipped.map(|(place, record)| record.step.unwrap_or(place)).collect()
}

/// Leaves out gradient norms that are not finite because their update was skipped: that is what skipping is for.
pub(super) fn leave_out_skipped(series: &mut Cow<'_, Series>, skipped: &BTreeSet<u64>) {
    if skipped.is_empty() || series.values.iter().all(|value| value.is_finite()) {
        return;
    }
    let broken = series.points().filter(|(step, value)| !value.is_finite() && skipped.contains(step));
    let broken: BTreeSet<u64> = broken.map(|(step, _)| step).collect();
    if !broken.is_empty() && series.steps.is_numbered() {
        *series = Cow::Owned(series.without_steps(|step| broken.contains(&step)));
    }
}
