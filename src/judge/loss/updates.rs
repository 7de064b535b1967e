//! Updates that the log itself calls skipped: they did not take place, whatever the curves look like.
//!
//! With a dynamic loss scale a healthy run skips updates at the start, until the scale has come down, and once after each rise.
//! These skips are excused while the scale is above 1. At 1 it cannot be reduced further, and every skip is a lost step.

use super::code;
use crate::pair::curve::CurvePairing;
use crate::read::curve::updates::UpdateHistory;
use crate::result::finding::Finding;
use crate::verdict::Severity;

/// Place of the findings.
const PLACE: &str = "updates";
/// Number of updates in a row without a skip that ends the start-up.
const IN_A_ROW: u64 = 10;
/// Number of updates after which the start-up has ended in any case.
const START_UP: u64 = 40;
/// Loss scale at or below which no skip is excused.
const FLOOR: f64 = 1.0;
/// Least share of skipped updates and least number of them that fail, and that warn; both must be reached.
const FAILS: (f64, f64) = (0.05, 5.0);
const WARNS: (f64, f64) = (0.01, 3.0);

/// Share of the updates from which on it fails that they took place although their gradients had overflowed.
const OVERFLOWED: f64 = 0.5;

/// Skipped updates of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Skipped {
    /// All skipped updates.
    all: u64,
    /// Skipped updates that are not excused.
    skipped: u64,
    /// All updates, skipped or not.
    of: u64,
    /// Step of the first record with a skipped update.
    first: Option<u64>,
    last_scale: Option<f64>,
}

/// The finding about the updates that the candidate skips beyond the share that the baseline skips.
pub fn judge(pairing: &CurvePairing<'_>) -> Option<Finding> {
    let [baseline, candidate] = pairing.updates.each_ref().map(|updates| updates.as_ref().map(count));
    let (baseline, candidate) = (baseline.unwrap_or_default(), candidate?);
    let beyond = in_f64(candidate.skipped) - share(&baseline) * in_f64(candidate.of);
    let alone = severity(in_f64(candidate.skipped), candidate.of)?;
    let at_floor = |side: &Skipped| side.last_scale.is_some_and(|scale| scale <= FLOOR);
    let both_at_floor = at_floor(&baseline) && at_floor(&candidate) && baseline.skipped > 0;
    let severity = match severity(beyond, candidate.of) {
        Some(severity) => severity,
        None if both_at_floor => alone.min(Severity::Warn),
        None => Severity::Info,
    };
    Some(finding(&candidate, severity).with("baseline_skipped", baseline.all).with("baseline_of", baseline.of))
}

/// The finding about skipped updates of one run.
pub(crate) fn skipped_finding(pairing: &CurvePairing<'_>) -> Option<Finding> {
    let [.., candidate] = &pairing.updates;
    let skipped = count(candidate.as_ref()?);
    severity(in_f64(skipped.skipped), skipped.of).map(|severity| finding(&skipped, severity))
}

/// The finding about updates of one run that took place with gradients that had overflowed.
pub(crate) fn overflow_finding(updates: Option<&UpdateHistory>) -> Option<Finding> {
    let updates = updates?;
    let broken = || updates.records.iter().enumerate().filter(|(_, record)| record.overflowed > 0);
    let (count, of) = (broken().count(), updates.records.len());
    let (place, first) = broken().next()?;
    let fails = in_f64(count as u64) >= OVERFLOWED * in_f64(of as u64) && in_f64(count as u64) >= FAILS.1;
    let severity = if fails { Severity::Fail } else { Severity::Info };
    let finding = Finding::new(&code::UPDATES_OVERFLOWED, PLACE).with_severity(severity);
    let last_scale = updates.records.iter().rev().find_map(|record| record.scale);
    Some(
        finding
            .with("count", count)
            .with("of", of)
            .with("step", first.step.unwrap_or(place as u64 + 1).to_string())
            .with("last_scale", last_scale.map(scale_in_digits).unwrap_or_default()),
    )
}

/// The same finding for two runs: a note if the baseline has a failing one as well.
pub(crate) fn overflow_finding_of_pair(pairing: &CurvePairing<'_>) -> Option<Finding> {
    let [baseline, candidate] = pairing.updates.each_ref().map(|updates| overflow_finding(updates.as_ref()));
    let is_alike = baseline.is_some_and(|finding| finding.severity == Severity::Fail);
    candidate.map(|finding| if is_alike { finding.with_severity(Severity::Info) } else { finding })
}

fn finding(skipped: &Skipped, severity: Severity) -> Finding {
    Finding::new(&code::UPDATES_SKIPPED, PLACE)
        .with_severity(severity)
        .with("skipped", skipped.all)
        .with("excused", skipped.all - skipped.skipped)
        .with("of", skipped.of)
        .with("first", skipped.first.map(|step| step.to_string()).unwrap_or_default())
        .with("last_scale", skipped.last_scale.map(scale_in_digits).unwrap_or_default())
}

/// A loss scale as text: with an exponent where it would be a long row of zeros.
fn scale_in_digits(scale: f64) -> String {
    if (1e-3..1e12).contains(&scale) { scale.to_string() } else { format!("{scale:.2e}") }
}

fn severity(skipped: f64, of: u64) -> Option<Severity> {
    let reaches = |(share, least): (f64, f64)| skipped >= least && skipped >= share * in_f64(of);
    if reaches(FAILS) {
        Some(Severity::Fail)
    } else if reaches(WARNS) {
        Some(Severity::Warn)
    } else {
        None
    }
}

fn share(skipped: &Skipped) -> f64 {
    in_f64(skipped.skipped) / in_f64(skipped.of.max(1))
}

#[allow(clippy::cast_precision_loss, reason = "counts of updates lie far below 2^53")]
fn in_f64(count: u64) -> f64 {
    count as f64
}

fn count(updates: &UpdateHistory) -> Skipped {
    let mut found = Skipped::default();
    let (mut in_a_row, mut has_started, mut has_risen) = (0, false, false);
    let mut before: Option<f64> = None;
    for (place, record) in updates.records.iter().enumerate() {
        let covered = updates.covered_updates(place);
        let skipped = record.skipped.min(covered);
        let highest = record.tried_scale.into_iter().chain(record.scale).reduce(f64::max);
        has_risen |= matches!((before, highest), (Some(before), Some(now)) if now > before);
        let above = record.scale.is_some_and(|scale| scale > FLOOR);
        for nth in 0..skipped {
            let starts_up = !has_started && found.of + nth < START_UP;
            let is_excused = above && (starts_up || has_risen);
            has_risen &= starts_up || !is_excused;
            found.all += 1;
            found.skipped += u64::from(!is_excused);
            found.first = found.first.or(record.step).or(Some(place as u64 + 1));
            in_a_row = 0;
        }
        in_a_row += covered - skipped;
        has_started |= in_a_row >= IN_A_ROW;
        found.of += covered;
        before = record.scale.or(before);
    }
    found.last_scale = before;
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::curve::updates::UpdateRecord;

    /// Updates of steps from 1 on: whether each was skipped, and the scale behind it.
    fn updates(records: impl IntoIterator<Item = (bool, f64)>) -> UpdateHistory {
        let record = |(step, (skipped, scale)): (u64, (bool, f64))| UpdateRecord {
            step: Some(step),
            skipped: u64::from(skipped),
            scale: Some(scale),
            ..UpdateRecord::default()
        };
        UpdateHistory { records: (1..).zip(records).map(record).collect(), is_stated: true }
    }

    fn pairing(baseline: Option<UpdateHistory>, candidate: UpdateHistory) -> CurvePairing<'static> {
        CurvePairing { updates: [baseline, Some(candidate)], ..CurvePairing::default() }
    }

    fn every(nth: u64, scale: f64) -> UpdateHistory {
        updates((1..=120).map(|step| (step % nth == 0, scale)))
    }

    #[test]
    fn lost_updates_fail_and_those_of_a_scale_that_settles_do_not() {
        for (case, expected) in [
            (every(2, 1.0), Some(Severity::Fail)),
            (every(12, 256.0), Some(Severity::Fail)),
            (every(40, 1.0), Some(Severity::Warn)),
            (every(60, 1.0), None),
            (updates((1..=120).map(|step| (step <= 20, 2.0_f64.powi(32 - step.min(20))))), None),
            (updates((1..=120).map(|step| (step % 20 == 0, if step % 20 > 9 { 512.0 } else { 256.0 }))), None),
        ] {
            let found = skipped_finding(&pairing(None, case)).map(|finding| finding.severity);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_pair_is_judged_by_what_the_candidate_skips_beyond_the_baseline() {
        for (baseline, candidate, expected) in [
            (Some(every(121, 256.0)), every(2, 1.0), Some(Severity::Fail)),
            (None, every(12, 256.0), Some(Severity::Fail)),
            (Some(every(12, 256.0)), every(12, 256.0), Some(Severity::Info)),
            (Some(every(2, 1.0)), every(2, 1.0), Some(Severity::Warn)),
            (Some(every(2, 1.0)), every(121, 1.0), None),
        ] {
            let found = judge(&pairing(baseline, candidate));
            assert_eq!(found.as_ref().map(|finding| finding.severity), expected);
            assert!(found.is_none_or(|finding| finding.code == "updates-skipped"));
        }
    }

    #[test]
    fn a_scale_that_rose_unseen_excuses_one_skip() {
        let probes = |tried: f64| {
            let mut updates = every(20, 512.0);
            let records = updates.records.iter();
            let tried =
                records.map(|record| UpdateRecord { tried_scale: (record.skipped > 0).then_some(tried), ..record });
            updates.records = tried.collect();
            skipped_finding(&pairing(None, updates)).map(|finding| finding.severity)
        };
        assert_eq!((probes(1024.0), probes(512.0)), (None, Some(Severity::Fail)));
    }

    #[test]
    fn updates_with_overflowed_gradients_fail_from_half_of_the_records_on() {
        let of = |nth: u64| {
            let mut updates = every(1000, 1.0);
            let records = (1_u64..).zip(updates.records.iter());
            let every_nth = records
                .map(|(place, record)| UpdateRecord { overflowed: u64::from(place.is_multiple_of(nth)), ..record });
            updates.records = every_nth.collect();
            overflow_finding(Some(&updates)).map(|finding| finding.severity)
        };
        assert_eq!([of(2), of(3), of(1000)], [Some(Severity::Fail), Some(Severity::Info), None]);
    }

    #[test]
    fn a_record_stands_for_the_updates_since_the_one_before() {
        let every_ten = UpdateHistory {
            records: (1..=12)
                .map(|step| UpdateRecord {
                    step: Some(10 * step),
                    skipped: 5,
                    scale: Some(1.0),
                    ..UpdateRecord::default()
                })
                .collect(),
            is_stated: true,
        };
        assert_eq!(
            count(&every_ten),
            Skipped { all: 60, skipped: 60, of: 120, first: Some(10), last_scale: Some(1.0) }
        );
    }
}
