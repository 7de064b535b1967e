//! Counters that agree but for an offset: one run counts its steps from 0, the other from 1.
//!
//! Shifted by the right number of steps, two records of one computation agree up to noise. Unshifted, they differ by the
//! change of the loss within that many steps, which is far more. Only a loss shows this: a learning rate or a norm may hardly
//! change from step to step.

use crate::median::upper_median;
use crate::read::curve::series::Series;

/// Steps that must be common as they stand and shifted: fewer may agree by chance.
const COMMON: usize = 8;
/// The typical difference as they stand is at least so many times the one after the shift. Values of a run and of its copy with
/// independent noise differ equally for every shift, so that a ratio of two would be chance already; ten leaves no doubt.
const TIMES: f64 = 10.0;
/// Typical relative difference up to which shifted values agree to noise: ten times what one forward pass in bf16 allows.
const NOISE: f64 = 1e-2;

/// Number to add to the candidate's steps so that both sides agree; `None` where they agree best unshifted.
pub fn find(baseline: &Series, candidate: &Series) -> Option<i64> {
    if !baseline.counter.is_comparable(candidate.counter) || !baseline.steps.is_numbered() {
        return None;
    }
    let as_they_stand = difference(baseline, candidate, 0);
    let starts = signed(baseline.steps.get(0)?)? - signed(candidate.steps.get(0)?)?;
    let met = common(baseline, candidate, 0);
    // A shift that pairs fewer steps than no shift would hide the unpaired ones; one step fewer is allowed.
    let shifts =
        [starts, 1, -1].into_iter().filter(|shift| *shift != 0 && common(baseline, candidate, *shift) + 1 >= met);
    let best = shifts.filter_map(|shift| {
        let shifted = difference(baseline, candidate, shift)?;
        (shifted <= NOISE).then_some((shift, shifted))
    });
    let (shift, shifted) = best.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    match as_they_stand {
        Some(difference) if difference > 0.0 && difference >= TIMES * shifted => Some(shift),
        // Steps that never meet: every tenth from 1 on, and every tenth from 10 on.
        None if shift == starts && met == 0 => Some(shift),
        _ => None,
    }
}

fn signed(step: u64) -> Option<i64> {
    i64::try_from(step).ok()
}

fn pairs<'a>(baseline: &'a Series, candidate: &'a Series, shift: i64) -> impl Iterator<Item = (f64, f64)> + 'a {
    let mut candidate = candidate.points().peekable();
    baseline.points().filter_map(move |(step, value)| {
        let wanted = step.checked_add_signed(-shift)?;
        while candidate.next_if(|(other, _)| *other < wanted).is_some() {}
        candidate.next_if(|(other, _)| *other == wanted).map(|(_, other)| (value, other))
    })
}

fn common(baseline: &Series, candidate: &Series, shift: i64) -> usize {
    pairs(baseline, candidate, shift).count()
}

/// Median of the relative differences; `None` where too few steps are common.
fn difference(baseline: &Series, candidate: &Series, shift: i64) -> Option<f64> {
    let differences: Vec<f64> = pairs(baseline, candidate, shift)
        .filter(|(b, c)| b.is_finite() && c.is_finite() && *b != 0.0)
        .map(|(b, c)| ((c - b) / b).abs())
        .collect();
    if differences.len() < COMMON { None } else { upper_median(differences) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(first: u64, interval: u64, noise: f64) -> Series {
        let value = |index: u64| {
            let x = index as f64;
            (9.0 * (-x / 20.0).exp() + 2.0 + 0.05 * (7.3 * x).sin()) * (1.0 + noise * (11.7 * x).cos())
        };
        Series::by_step("loss", (0..60).map(|index| (first + interval * index, value(index))))
    }

    #[test]
    fn a_shift_is_found_where_only_it_agrees() {
        for (baseline, candidate, shift) in [
            (series(1, 1, 0.0), series(0, 1, 1e-6), Some(1)),
            (series(0, 1, 0.0), series(1, 1, 1e-4), Some(-1)),
            (series(10, 10, 0.0), series(1, 10, 1e-6), Some(9)),
            (series(10, 10, 0.0), series(0, 10, 1e-6), Some(10)),
            (series(1, 1, 0.0), series(1, 1, 1e-4), None),
            (series(1, 1, 0.0), series(1, 1, 0.05), None),
        ] {
            assert_eq!(find(&baseline, &candidate), shift);
        }
    }

    #[test]
    fn a_run_that_is_a_step_behind_from_its_first_step_on_is_named_by_its_shift() {
        let baseline = series(1, 1, 0.0);
        let behind = Series::by_step("loss", baseline.points().map(|(step, value)| (step + 1, value)).take(59));
        assert_eq!(find(&baseline, &behind), Some(-1));
    }

    #[test]
    fn curves_that_agree_nowhere_have_no_shift() {
        let other = Series::by_step("loss", (1..=60).map(|step| (step, 4.0 + (step as f64 * 1.7).sin())));
        assert_eq!(find(&series(1, 1, 0.0), &other), None);
    }
}
