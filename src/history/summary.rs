//! Summary of one run compared with the runs before it.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use super::change::changes;
use super::moment::result_time;
use super::record::Record;
use super::series::series_of;
use super::trend::trends;
use crate::result::history::{Case, Past, Since, Summary};
use crate::result::trend::Trend;

/// Most trends in a summary: the worst of those that move.
const MOST_TRENDS: usize = 12;

impl From<&Record> for Past {
    fn from(record: &Record) -> Self {
        let Record { time, commit, verdict, run, .. } = record;
        Self { time: result_time(*time), commit: commit.clone(), verdict: *verdict, run: run.clone() }
    }
}

/// Summarises the `earlier` records of a suite, oldest first, for the `current` one.
///
/// A case is a rule of a unit, or its equivalent. The cases that fail in the current run are followed back as long as one of them failed in
/// every run. A run that failed for another reason ends the row, as a passing one does, so a single flaky night is a row of one.
pub fn summarise(location: &str, earlier: &[Record], current: &Record, alert_after: NonZeroU32) -> Summary {
    let row = Row::of(earlier, current);
    let since = row.first.map(|first| Since { green: row.green.map(Past::from), red: Past::from(first) });
    let all: Vec<&Record> = earlier.iter().chain([current]).collect();
    let mut trends = trends(&series_of(&all));
    trends.retain(Trend::moves);
    trends.truncate(MOST_TRENDS);
    Summary {
        suite: current.suite.clone(),
        location: location.to_owned(),
        last: all.into_iter().map(Past::from).collect(),
        alert_after,
        failed: row.length,
        alert: row.length >= alert_after.get(),
        cases: row.cases.into_iter().cloned().collect(),
        changed: row.green.zip(row.first).map(|(green, red)| changes(green, red)).unwrap_or_default(),
        since,
        commits: None,
        trends,
        unread: Vec::new(),
    }
}

/// A row of runs in which the same case failed, up to the current one.
struct Row<'a> {
    length: u32,
    /// Cases that failed in every run of the row.
    cases: BTreeSet<&'a Case>,
    first: Option<&'a Record>,
    /// The last run before it that did not block.
    green: Option<&'a Record>,
}

impl<'a> Row<'a> {
    fn of(earlier: &'a [Record], current: &'a Record) -> Self {
        let mut row = Self { length: 0, cases: current.failing.iter().collect(), first: None, green: None };
        if !current.blocks() {
            return Self { cases: BTreeSet::new(), ..row };
        }
        (row.length, row.first) = (1, Some(current));
        let mut before = earlier.iter().rev();
        let mut ended = None;
        for record in before.by_ref() {
            let again: BTreeSet<&Case> = record.failing.iter().filter(|case| row.cases.contains(case)).collect();
            if !record.blocks() || again.is_empty() {
                ended = Some(record);
                break;
            }
            row.cases = again;
            row.length += 1;
            row.first = Some(record);
        }
        row.green = ended.into_iter().chain(before).find(|record| !record.blocks());
        row
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;

    use super::*;
    use crate::verdict::Verdict;

    const DRIFT: (&str, &str) = ("loss", "mean_rel");
    const SPIKE: (&str, &str) = ("loss", "non_finite");
    const NORM: (&str, &str) = ("grad_norm", "mean_rel");

    /// Nights from the first one on, each with what fails in it.
    fn nights(failing: &[&[(&str, &str)]], alert_after: u32) -> Summary {
        let mut records: Vec<Record> = (1..).zip(failing).map(|(night, failing)| record(night, failing)).collect();
        let current = records.pop().expect("a night");
        summarise("here", &records, &current, NonZeroU32::new(alert_after).expect("not 0"))
    }

    fn range(summary: &Summary) -> Option<(Option<String>, String)> {
        let night = |past: &Past| past.commit[..2].to_owned();
        summary.since.as_ref().map(|since| (since.green.as_ref().map(night), night(&since.red)))
    }

    #[test]
    fn a_flaky_night_is_held_and_a_broken_suite_is_not() {
        let flaky = nights(&[&[], &[], &[SPIKE]], 2);
        assert_eq!((flaky.failed, flaky.alert), (1, false));
        let green_again = nights(&[&[], &[], &[SPIKE], &[]], 2);
        assert_eq!((green_again.failed, green_again.alert, range(&green_again)), (0, false, None));
        let other_case = nights(&[&[], &[SPIKE], &[DRIFT]], 2);
        assert_eq!((other_case.failed, other_case.alert), (1, false), "another case is another row");
        let twice = nights(&[&[], &[SPIKE], &[], &[DRIFT], &[DRIFT, NORM]], 2);
        assert_eq!((twice.failed, twice.alert), (2, true));
        assert_eq!(twice.cases.len(), 1, "the gradient norm has failed once");
        assert_eq!(range(&twice), Some((Some("03".into()), "04".into())));
        assert!(nights(&[&[], &[DRIFT]], 1).alert, "by default the first failure is an alert");
    }

    #[test]
    fn the_range_goes_from_the_last_green_to_the_first_red_run() {
        let masked = nights(&[&[], &[SPIKE], &[DRIFT], &[DRIFT]], 1);
        assert_eq!(range(&masked), Some((Some("01".into()), "03".into())));
        assert_eq!(masked.changed[0].before, "01".repeat(20));
        let bisect = masked.since.and_then(|since| since.bisect());
        assert_eq!(bisect, Some(format!("git bisect start {} {}", "03".repeat(20), "01".repeat(20))));
        let never_green = nights(&[&[DRIFT], &[DRIFT]], 1);
        assert_eq!(range(&never_green), Some((None, "01".into())));
        assert!(never_green.changed.is_empty() && never_green.since.is_some_and(|since| since.bisect().is_none()));
    }

    #[test]
    fn only_names_of_commits_reach_a_command() {
        let past = |commit: &str| Past {
            time: Default::default(),
            commit: commit.into(),
            verdict: Verdict::Fail,
            run: String::new(),
        };
        for (green, red) in
            [("0123456", "0123456"), ("--upload-pack=x", "0123456"), ("0123456", "$(id)"), ("", "0123456")]
        {
            assert_eq!(Since { green: Some(past(green)), red: past(red) }.bisect(), None, "{green} {red}");
        }
    }
}
