//! Account of every step of a curve.
//!
//! A step that both sides have counts once. Where log lines of the two sides stand for windows of different lengths, the steps
//! they cover are counted, as coverage does; elsewhere the logged points are counted. A step that both sides list without a
//! value has nothing to compare and is not counted.

use crate::kind::Role;
use crate::pair::curve::CurvePair;
use crate::pair::curve::align::PairedBy;
use crate::read::curve::series::Series;
use crate::result::unit::Evidence;
use crate::verdict::Side;

/// Use that the gate makes of the compared steps of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CurveUse {
    /// Rules judge them.
    Judged,
    /// They are shown, and no rule judges them.
    Shown,
    /// The policy leaves the metric out.
    LeftOut,
}

/// Whether a verdict can rest on a judged metric. It cannot rest on the learning rate and other settings: they are inputs of the
/// run, and nothing that it computed.
pub(crate) fn carries_verdict(role: Role) -> bool {
    !matches!(role, Role::LearningRate | Role::Constant)
}

/// Number of pairs of values that show nothing, which is all of them or none: all of them where every value of both sides is
/// zero, or where all are one and the same number. A single pair that is not zero does show something.
pub(crate) fn count_trivial(pairs: impl Iterator<Item = (f64, f64)>) -> u64 {
    let mut pairs = pairs.peekable();
    let Some((first, _)) = pairs.peek().copied() else { return 0 };
    let (mut count, mut is_one) = (0, first.is_finite());
    for (b, c) in pairs {
        count += 1;
        is_one &=
            b.to_bits() == first.to_bits() && c.to_bits() == first.to_bits() || b == 0.0 && c == 0.0 && first == 0.0;
    }
    if is_one && (count > 1 || first == 0.0) { count } else { 0 }
}

/// The account of a curve: the number of its steps in each state.
pub(crate) fn curve_evidence(pair: &CurvePair<'_>, used: CurveUse) -> Evidence {
    let mut evidence = match pair.points.by {
        PairedBy::Window => by_window(pair),
        PairedBy::Step if logs_differ(pair) => by_window(pair),
        PairedBy::Position => by_position(pair),
        PairedBy::Step => by_step(pair),
    };
    evidence.offered = evidence.total();
    sources(pair, &mut evidence);
    match used {
        CurveUse::Judged => {
            let is_finite = |(_, b, c): &(u64, f64, f64)| b.is_finite() && c.is_finite();
            let trivial = count_trivial(pair.points.iter().filter(is_finite).map(|(_, b, c)| (b, c)));
            evidence.equal_trivially = if trivial > 0 { evidence.compared } else { 0 };
        }
        CurveUse::Shown => evidence.shown_only = std::mem::take(&mut evidence.compared),
        CurveUse::LeftOut => evidence = Evidence { left_out: evidence.total(), ..Evidence::default() },
    }
    evidence
}

/// Counts for both sides the values without a step, and the steps with several values that contradict each other.
fn sources(pair: &CurvePair<'_>, evidence: &mut Evidence) {
    for (side, source) in [(Side::Baseline, &pair.baseline), (Side::Candidate, &pair.candidate)] {
        add_source_evidence(side, &source.path, &source.series, evidence);
    }
}

/// Counts the same for one source.
pub(crate) fn add_source_evidence(side: Side, path: &str, series: &Series, evidence: &mut Evidence) {
    let unplaced = series.order.unplaced;
    if unplaced > 0 {
        evidence.damaged = evidence.damaged.saturating_add(unplaced);
        evidence.example("damaged", format!("{} of {path} ({}), without a step", series.name, side.as_str()));
    }
    let contradictions = series.contradictions();
    if let Some((step, _)) = series.contradicting.first().filter(|_| contradictions > 0) {
        evidence.contradicting = evidence.contradicting.saturating_add(contradictions);
        evidence.example("contradicting", format!("{} of {path} ({}), step {step}", series.name, side.as_str()));
    }
}

/// Counts paired points: compared where the baseline is finite, and not compared where it is NaN or infinite.
fn paired(pair: &CurvePair<'_>) -> Evidence {
    let compared = pair.points.baseline.iter().filter(|value| value.is_finite()).count() as u64;
    Evidence { compared, not_compared: pair.points.len() as u64 - compared, ..Evidence::default() }
}

/// Whether a log line stands for more steps on one side than on the other.
fn logs_differ(pair: &CurvePair<'_>) -> bool {
    let (baseline, candidate) = (&pair.baseline, &pair.candidate);
    let windows = baseline.logged.may_be_windows() && candidate.logged.may_be_windows();
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
    let (by_candidate, baseline_only) = alone(baseline, candidate);
    let (by_baseline, candidate_only) = alone(candidate, baseline);
    Evidence { damaged: by_candidate + by_baseline, one_sided: [baseline_only, candidate_only], ..paired(pair) }
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
    use crate::fetch::MemorySource;
    use crate::pair::curve::pair_curves;
    use crate::read::curve::{self, CurveFile};

    fn file(text: &str) -> CurveFile {
        let source = MemorySource::new("loss", text.as_bytes().to_vec());
        let format = curve::recognise(text.as_bytes(), &source).expect("a format");
        curve::read(std::sync::Arc::new(source), format, &crate::fetch::Room::unlimited()).expect("a curve").remove(0)
    }

    fn states(baseline: &str, candidate: &str, used: CurveUse) -> Evidence {
        let (baseline, candidate) = ([file(baseline)], [file(candidate)]);
        curve_evidence(
            &pair_curves(&baseline, &candidate).expect("in memory").pairs[0].load().expect("in memory"),
            used,
        )
    }

    #[test]
    fn every_step_of_either_side_is_in_one_state() {
        let baseline = "step,loss\n1,2.5\n2,2.4\n3,nan\n4,2.2\n5,\n6,2.0\n";
        let candidate = "step,loss\n1,2.5\n2,\n3,2.3\n5,2.1\n6,nan\n7,1.9\n";
        let expected =
            Evidence { offered: 7, compared: 2, not_compared: 1, damaged: 2, one_sided: [1, 1], ..Evidence::default() };
        let found = states(baseline, candidate, CurveUse::Judged);
        assert_eq!((&found, found.total()), (&expected, 7));
        let shown = Evidence { compared: 0, shown_only: 2, ..expected };
        assert_eq!(states(baseline, candidate, CurveUse::Shown), shown);
        let left_out = Evidence { left_out: 7, ..Evidence::default() };
        assert_eq!(states(baseline, candidate, CurveUse::LeftOut), left_out);
    }

    #[test]
    fn lists_are_counted_by_position() {
        let found = states("{\"lm loss\": [1.0, 2.0, 3.0]}", "{\"lm loss\": [1.0, 2.0, 3.1]}", CurveUse::Judged);
        assert_eq!(found, Evidence { offered: 3, compared: 3, ..Evidence::default() });
        let found = states("{\"lm loss\": [1.0, 2.0, 3.0]}", "{\"lm loss\": [1.0, 2.0]}", CurveUse::Judged);
        let expected = Evidence { offered: 5, one_sided: [3, 2], ..Evidence::default() };
        assert_eq!(found, expected, "nothing says which belong together");
    }

    #[test]
    fn steps_without_a_place_and_with_two_values_are_counted() {
        let lines = |loss: [&str; 4]| loss.map(|line| format!("{{{line}}}\n")).concat();
        let baseline =
            lines([r#""step": 1, "loss": 2.5"#, r#""step": 2, "loss": 2.4"#, r#""step": 3, "loss": 2.3"#, ""]);
        let candidate = lines([
            r#""step": 1, "loss": 2.6"#,
            r#""step": 1, "loss": 2.5"#,
            r#""step": null, "loss": 2.4"#,
            r#""step": 3, "loss": 2.3"#,
        ]);
        let found = states(&baseline, &candidate, CurveUse::Judged);
        assert_eq!((found.compared, found.contradicting, found.damaged, found.one_sided), (2, 1, 1, [1, 0]));
        assert_eq!(found.examples["contradicting"], ["loss of loss (candidate), step 1"]);
        let healthy = states(&baseline, &baseline, CurveUse::Judged);
        assert_eq!((healthy.contradicting, healthy.damaged), (0, 0));
    }

    #[test]
    fn numbers_that_never_change_on_either_side_say_nothing() {
        for (values, expected) in [
            (&[(0.0, 0.0), (0.0, -0.0)][..], 2),
            (&[(1.5, 1.5), (1.5, 1.5)], 2),
            (&[(0.0, 0.0)], 1),
            (&[(1.5, 1.5)], 0),
            (&[(1.5, 1.5), (1.5, 1.6)], 0),
            (&[(1.5, 1.5), (1.4, 1.4)], 0),
            (&[], 0),
        ] {
            assert_eq!(count_trivial(values.iter().copied()), expected, "{values:?}");
        }
    }

    proptest::proptest! {
        /// Both sides record the same numbers, so that nothing looks like means over several steps, which are counted by window.
        #[test]
        fn the_states_add_up_to_the_union_of_both_sides(
            baseline in proptest::collection::btree_map(1_u64..40, proptest::bool::ANY, 3..30),
            candidate in proptest::collection::btree_map(1_u64..40, proptest::bool::ANY, 3..30),
        ) {
            type Side = std::collections::BTreeMap<u64, bool>;
            let text = |side: &Side| side.iter().fold("step,loss\n0,1.5\n".to_owned(), |text, (step, is_recorded)| {
                format!("{text}{step},{}\n", if *is_recorded { format!("{}.5", 50 - step) } else { String::new() })
            });
            let found = states(&text(&baseline), &text(&candidate), CurveUse::Judged);
            let has = |side: &Side, step: u64| side.get(&step).is_some_and(|is_recorded| *is_recorded);
            let there = (1..40).filter(|step| has(&baseline, *step) || has(&candidate, *step)).count() as u64;
            let both = (1..40).filter(|step| has(&baseline, *step) && has(&candidate, *step)).count() as u64;
            proptest::prop_assert_eq!((found.total(), found.compared), (there + 1, both + 1));
        }
    }
}
