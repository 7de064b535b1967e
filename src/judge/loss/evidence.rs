//! Account of every step of a curve.
//!
//! Steps that both sides have count once. Where log lines of the two sides stand for windows of different lengths, the
//! steps they cover are counted, as coverage does; elsewhere the points that were logged. A step that both sides list without a value has nothing to compare and is not
//! counted.

use crate::pair::curve::CurvePair;
use crate::pair::curve::align::PairedBy;
use crate::read::curve::Logged;
use crate::read::curve::series::Series;
use crate::result::unit::Evidence;

/// State of the compared steps of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Its rules count.
    Judged,
    /// It is shown, and nothing judges it.
    Shown,
    /// The policy leaves it out.
    LeftOut,
}

/// The states of all steps of `pair`.
pub fn of(pair: &CurvePair<'_>, used: Use) -> Evidence {
    let mut evidence = match pair.points.by {
        PairedBy::Window => by_window(pair),
        PairedBy::Step if logs_differ(pair) => by_window(pair),
        PairedBy::Position => by_position(pair),
        PairedBy::Step => by_step(pair),
    };
    match used {
        Use::Judged => {}
        Use::Shown => evidence.shown_only = std::mem::take(&mut evidence.compared),
        Use::LeftOut => evidence = Evidence { left_out: evidence.total(), ..Evidence::default() },
    }
    evidence
}

/// A value that the baseline does not have, or has as NaN or infinity, is none that a candidate can be compared with.
fn paired(pair: &CurvePair<'_>) -> Evidence {
    let compared = pair.points.baseline.iter().filter(|value| value.is_finite()).count() as u64;
    Evidence { compared, not_compared: pair.points.len() as u64 - compared, ..Evidence::default() }
}

/// Whether a log line stands for more steps on one side than on the other.
fn logs_differ(pair: &CurvePair<'_>) -> bool {
    let (baseline, candidate) = (&pair.baseline, &pair.candidate);
    let windows = baseline.logged == Logged::Windows && candidate.logged == Logged::Windows;
    windows && baseline.interval != candidate.interval
}

fn by_window(pair: &CurvePair<'_>) -> Evidence {
    let coverage = &pair.points.coverage;
    let missing = coverage.baseline.saturating_sub(coverage.both);
    Evidence {
        compared: coverage.both,
        one_sided: [missing, coverage.candidate_only],
        not_compared: paired(pair).not_compared,
        ..Evidence::default()
    }
}

fn by_position(pair: &CurvePair<'_>) -> Evidence {
    let only = |values: &[f64]| values.len().saturating_sub(pair.points.len()) as u64;
    Evidence { one_sided: [only(&pair.baseline.series.values), only(&pair.candidate.series.values)], ..paired(pair) }
}

fn by_step(pair: &CurvePair<'_>) -> Evidence {
    let (baseline, candidate) = (pair.baseline.series.as_ref(), pair.candidate.series.as_ref());
    let paired_steps = pair.points.len() as u64;
    let alone = |one: &Series, other: &Series| {
        let damaged = listed_without_value(one, other);
        (damaged, (one.steps.len() as u64).saturating_sub(paired_steps + damaged))
    };
    let (by_candidate, ours) = alone(baseline, candidate);
    let (by_baseline, theirs) = alone(candidate, baseline);
    Evidence { damaged: by_candidate + by_baseline, one_sided: [ours, theirs], ..paired(pair) }
}

/// Steps at which `one` has a value and `other` lists none.
fn listed_without_value(one: &Series, other: &Series) -> u64 {
    if other.unrecorded.is_empty() {
        return 0;
    }
    one.steps.iter().filter(|step| other.unrecorded.binary_search(step).is_ok()).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Memory;
    use crate::pair::curve::pair_curves;
    use crate::read::curve::{self, CurveFile};

    fn file(text: &str) -> CurveFile {
        let source = Memory::new("loss", text.as_bytes().to_vec());
        let format = curve::recognise(text.as_bytes(), &source).expect("a format");
        curve::read(std::sync::Arc::new(source), format, &crate::fetch::Room::unlimited()).expect("a curve").remove(0)
    }

    fn states(baseline: &str, candidate: &str, used: Use) -> Evidence {
        let (baseline, candidate) = ([file(baseline)], [file(candidate)]);
        of(&pair_curves(&baseline, &candidate).expect("in memory").pairs[0].load().expect("in memory"), used)
    }

    #[test]
    fn every_step_of_either_side_is_in_one_state() {
        let baseline = "step,loss\n1,2.5\n2,2.4\n3,nan\n4,2.2\n5,\n6,2.0\n";
        let candidate = "step,loss\n1,2.5\n2,\n3,2.3\n5,2.1\n6,nan\n7,1.9\n";
        let expected = Evidence { compared: 2, not_compared: 1, damaged: 2, one_sided: [1, 1], ..Evidence::default() };
        let found = states(baseline, candidate, Use::Judged);
        assert_eq!((&found, found.total()), (&expected, 7));
        let shown = Evidence { compared: 0, shown_only: 2, ..expected };
        assert_eq!(states(baseline, candidate, Use::Shown), shown);
        let left_out = Evidence { left_out: 7, ..Evidence::default() };
        assert_eq!(states(baseline, candidate, Use::LeftOut), left_out);
    }

    #[test]
    fn lists_are_counted_by_position() {
        let found = states("{\"lm loss\": [1.0, 2.0, 3.0]}", "{\"lm loss\": [1.0, 2.0, 3.1]}", Use::Judged);
        assert_eq!(found, Evidence { compared: 3, ..Evidence::default() });
        let found = states("{\"lm loss\": [1.0, 2.0, 3.0]}", "{\"lm loss\": [1.0, 2.0]}", Use::Judged);
        assert_eq!(found, Evidence { one_sided: [3, 2], ..Evidence::default() }, "nothing says which belong together");
    }

    proptest::proptest! {
        #[test]
        fn the_states_add_up_to_the_union_of_both_sides(
            baseline in proptest::collection::btree_map(1_u64..40, proptest::option::of(1.0_f64..3.0), 3..30),
            candidate in proptest::collection::btree_map(1_u64..40, proptest::option::of(1.0_f64..3.0), 3..30),
        ) {
            type Side = std::collections::BTreeMap<u64, Option<f64>>;
            let text = |side: &Side| side.iter().fold("step,loss\n0,1.5\n".to_owned(), |text, (step, value)| {
                format!("{text}{step},{}\n", value.map(|value| value.to_string()).unwrap_or_default())
            });
            let found = states(&text(&baseline), &text(&candidate), Use::Judged);
            let has = |side: &Side, step: u64| side.get(&step).is_some_and(Option::is_some);
            let there = (1..40).filter(|step| has(&baseline, *step) || has(&candidate, *step)).count() as u64;
            let both = (1..40).filter(|step| has(&baseline, *step) && has(&candidate, *step)).count() as u64;
            proptest::prop_assert_eq!((found.total(), found.compared), (there + 1, both + 1));
        }
    }
}
