//! Files that continue one another: a run that was started again often goes on in a new file.

use std::collections::{BTreeMap, BTreeSet};

use crate::read::curve::CurveFile;
use crate::read::curve::stored::StoredSeries;

/// Traits that files of one run share: folder, format, run of a tracker, metrics.
type Alike<'a> = (&'a str, &'a str, Option<&'a str>, BTreeSet<&'a str>);

/// All files of a side, ordered so that a file comes after the one that it continues, and the paths of each run that consists
/// of several files.
///
/// Files of one folder, one format and one run of a tracker that log the same metrics, at steps that ascend from file to file and have none in
/// common, are one run.
pub(super) fn in_order(files: &[CurveFile]) -> (Vec<&CurveFile>, Vec<Vec<&str>>) {
    let mut alike: BTreeMap<Alike<'_>, Vec<&CurveFile>> = BTreeMap::new();
    for file in files {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let metrics = file.series.iter().map(StoredSeries::name).collect();
        alike.entry((folder, file.format, file.run.as_deref(), metrics)).or_default().push(file);
    }
    let mut runs: Vec<Vec<&CurveFile>> = Vec::new();
    for mut run in alike.into_values().filter(|alike| alike.len() > 1) {
        run.sort_by_key(|file| steps(file).map(|(first, _)| first));
        if run.iter().zip(run.iter().skip(1)).all(|(earlier, next)| ascends(earlier, next)) {
            runs.push(run);
        }
    }
    let joined: BTreeSet<&str> = runs.iter().flatten().map(|file| file.path.as_str()).collect();
    let alone = files.iter().filter(|file| !joined.contains(file.path.as_str()));
    let paths = runs.iter().map(|run| run.iter().map(|file| file.path.as_str()).collect()).collect();
    let order = alone.chain(runs.into_iter().flatten()).collect();
    (order, paths)
}

/// The first and the last step of a file; `None` where a metric has no step numbers.
fn steps(file: &CurveFile) -> Option<(u64, u64)> {
    let ends = |series: &StoredSeries| series.shape().ends.filter(|_| series.shape().is_numbered);
    let mut whole: Option<(u64, u64)> = None;
    for series in &file.series {
        let (first, last) = ends(series)?;
        let (start, end) = whole.unwrap_or((first, last));
        whole = Some((start.min(first), end.max(last)));
    }
    whole
}

fn ascends(earlier: &CurveFile, next: &CurveFile) -> bool {
    matches!((steps(earlier), steps(next)), (Some((_, last)), Some((first, _))) if last < first)
}
