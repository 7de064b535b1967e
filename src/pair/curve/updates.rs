//! Updates of a side, over all its files, and the gradient norms that follow from them.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::error::Result;
use crate::read::curve::CurveFile;
use crate::read::curve::series::Series;
use crate::read::curve::updates::{Update, Updates, updates_of};

/// Updates of a side: files that follow one another form one run; among several runs, the one with most skipped updates
/// counts.
///
/// # Errors
/// Errors of the disk, where points lie there.
pub(super) fn of_files(files: &[CurveFile]) -> Result<Option<Updates>> {
    let mut all = Vec::new();
    for file in files {
        all.extend(updates_of(file.updates.as_ref(), &file.series)?);
    }
    all.sort_by_key(|updates| updates.records.first().and_then(|record| record.step));
    let mut runs: Vec<Updates> = Vec::new();
    for updates in all {
        match runs.last_mut().filter(|run| run.is_told == updates.is_told && is_behind(run, &updates)) {
            Some(run) => run.records.extend(updates.records.iter()),
            None => runs.push(updates),
        }
    }
    let skipped = |updates: &Updates| updates.records.iter().map(|record| record.skipped).sum::<u64>();
    Ok(runs.into_iter().max_by_key(|updates| (skipped(updates), updates.is_told, updates.records.len())))
}

fn is_behind(earlier: &Updates, next: &Updates) -> bool {
    let step = |record: Option<Update>| record.and_then(|record| record.step);
    matches!((step(earlier.records.last()), step(next.records.first())), (Some(last), Some(first)) if last < first)
}

/// Steps whose update was skipped, or one of the updates up to it.
pub fn skipped_steps(updates: Option<&Updates>) -> BTreeSet<u64> {
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
        *series = Cow::Owned(series.except(|step| broken.contains(&step)));
    }
}
