//! MLflow's file store: `<experiment>/<run>/metrics/<metric>`, a file per metric with `<ms> <value> <step>` in each line.

use std::sync::Arc;

use super::collector::Collector;
use super::file::{CurveFile, CurveNote};
use super::format::CurveFormat;
use super::lines::{self, Lines};
use crate::error::Result;
use crate::fetch::{ByteSource, Files, Room, read_all};

/// Number of lines by which a file is recognised.
const FIRST_LINES: usize = 20;
/// Number of digits of a time in milliseconds, from September 2001 to the year 2286.
const TIME: usize = 13;

/// Whether a text is such a file, from its first lines.
pub(super) fn recognise(head: &str) -> bool {
    let whole = head.rfind('\n').map_or("", |end| head.get(..end).unwrap_or_default());
    !whole.is_empty() && whole.lines().take(FIRST_LINES).all(|line| parse(line.as_bytes()).is_some())
}

fn parse(line: &[u8]) -> Option<(u64, f64)> {
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let (time, value, step) = (words.next()?, words.next()?, words.next()?);
    let is_time = time.len() == TIME && time.bytes().all(|digit| digit.is_ascii_digit());
    if words.next().is_some() || !is_time { None } else { Some((step.parse().ok()?, lines::parse_number(value)?)) }
}

/// Reads one metric. A last line without its end may have lost digits and is not used.
pub(super) fn read(source: &dyn ByteSource, room: &Arc<Room>) -> Result<CurveFile> {
    let name = place(source.name()).1;
    let mut collector = Collector::new(source.name(), room);
    let mut lines = Lines::new(source);
    let (mut skipped, mut is_cut) = (0, false);
    while let Some((line, has_end)) = lines.next_with_end()? {
        match parse(line) {
            _ if !has_end => is_cut = true,
            Some((step, value)) => collector.push(&name, Some(step), value)?,
            None => skipped += 1,
        }
    }
    let file = CurveFile::new(source, CurveFormat::Mlflow, collector.finish()?)
        .with_note(is_cut.then_some(CurveNote::Truncated));
    Ok(file.with_note((skipped > 0).then_some(CurveNote::SkippedLines(skipped))))
}

/// The run's folder and the metric in the path of a file. A metric's own name may contain a folder `metrics` too.
fn place(path: &str) -> (Option<String>, String) {
    let parts: Vec<&str> = path.split('/').collect();
    let is_id = |part: &str| part.len() == 32 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
    let is_metrics = |at: &usize| parts.get(*at) == Some(&"metrics") && *at + 1 < parts.len();
    let behind_id = |at: &usize| at.checked_sub(1).and_then(|at| parts.get(at)).is_some_and(|part| is_id(part));
    let found = (0..parts.len()).find(|at| is_metrics(at) && behind_id(at));
    match found.or_else(|| (0..parts.len()).find(is_metrics)) {
        Some(at) => {
            let (run, metric) = parts.split_at(at);
            (Some(run.join("/")), metric.get(1..).unwrap_or_default().join("/"))
        }
        None => (None, parts.last().copied().unwrap_or_default().to_owned()),
    }
}

/// The name of the run that the metric at `path` belongs to, from the file of its tag; `None` where there is none.
pub fn run_name(files: &dyn Files, path: &str) -> Option<String> {
    /// Longest name.
    const LONGEST: u64 = 4096;
    let folder = place(path).0?;
    let tag = format!("{folder}/tags/mlflow.runName");
    let source = files.open(tag.trim_start_matches('/')).ok()?;
    let name = String::from_utf8(read_all(source.as_ref(), LONGEST).ok()?).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::MemorySource;

    #[test]
    fn lines_of_time_value_and_step_are_one_metric() {
        let text = "1795350304556 3.5 1\n1795350304562 nan 2\nbroken\n1795350304563 3.1 3\n1795350304564 2.9 4";
        assert!(recognise("1795350304556 3.5 1\n1795350304562 nan 2\n1795350304563 3."));
        assert!(!recognise("1 3.5 1\n2 3.25 2\n") && !recognise("1795350304556 3.5"));
        let file = read(&MemorySource::new("metrics/train/loss", text.as_bytes().to_vec()), &Room::unlimited())
            .expect("readable");
        let points: Vec<(u64, f64)> = file.loaded()[0].points().collect();
        assert_eq!((file.loaded()[0].name.as_str(), points.len(), points[2]), ("train/loss", 3, (3, 3.1)));
        assert_eq!(file.notes, [CurveNote::Truncated, CurveNote::SkippedLines(1)]);
    }

    #[test]
    fn the_metric_is_the_path_below_its_run() {
        let run = "3904a1851df64f00a6dff71285a6c1dd";
        for (path, folder, metric) in [
            (format!("mlruns/0/{run}/metrics/loss"), Some(format!("mlruns/0/{run}")), "loss"),
            (format!("{run}/metrics/metrics/mAP50"), Some(run.to_owned()), "metrics/mAP50"),
            (format!("metrics/{run}/metrics/train/loss"), Some(format!("metrics/{run}")), "train/loss"),
            ("metrics/train/loss".to_owned(), Some(String::new()), "train/loss"),
            ("loss".to_owned(), None, "loss"),
            ("run/metrics".to_owned(), None, "metrics"),
        ] {
            assert_eq!(place(&path), (folder, metric.to_owned()), "{path}");
        }
    }
}
