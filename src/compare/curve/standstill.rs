//! Search for values that stand still: the same digits are repeated while the other run moves.

use super::robust::longest_run;

/// Least number of equal values in a row that make a standstill; fewer occur by chance.
const FROM: usize = 5;
/// Expected number of such repeats by chance in the whole curve, from which on there is no standstill.
const CHANCE: f64 = 1e-3;

/// The longest standstill of `values` during which `others` moves: its first place and its length in steps.
///
/// Printed digits also repeat by chance. Their frequency is taken from the curves themselves: p is the share of equal
/// neighbours outside the standstill, on both sides, and n p^(length - 1) is the expected number of such runs.
pub fn standstill(values: &[f64], others: &[f64]) -> Option<(usize, usize)> {
    let equal =
        |values: &[f64]| values.windows(2).map(|pair| matches!(pair, [a, b] if a.to_bits() == b.to_bits())).collect();
    let (own, other): (Vec<bool>, Vec<bool>) = (equal(values), equal(others));
    let (first, repeats) = longest_run(own.iter().copied())?;
    let length = repeats + 1;
    let meanwhile = other.get(first..first + repeats)?;
    let moves = meanwhile.iter().filter(|equal| !**equal).count();
    let ties = |equal: &[bool]| equal.iter().filter(|equal| **equal).count();
    let elsewhere = ties(&own) - repeats + ties(&other) - ties(meanwhile);
    #[allow(clippy::cast_precision_loss, reason = "counts of steps")]
    let (n, share) = {
        let neighbours = own.len() - repeats + other.len() - meanwhile.len();
        (values.len() as f64, (elsewhere as f64 + 1.0) / (neighbours as f64 + 1.0))
    };
    let by_chance = n * share.powi(i32::try_from(repeats).unwrap_or(i32::MAX));
    // A curve that stands still throughout leaves only the other side to show how often digits repeat.
    let is_whole = repeats == own.len() && elsewhere == 0;
    (length >= FROM && moves * 2 > repeats && (is_whole || by_chance < CHANCE)).then_some((first, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(decimals: f64) -> Vec<f64> {
        (0..300_u32).map(|t| ((2.0 + f64::from(t * 7919 % 263) / 263.0) * decimals).round() / decimals).collect()
    }

    fn held(from: usize, length: usize, decimals: f64) -> Vec<f64> {
        let mut values = curve(decimals);
        let value = values[from];
        values.iter_mut().skip(from).take(length).for_each(|slot| *slot = value);
        values
    }

    #[test]
    fn a_standstill_is_found_whatever_its_place() {
        for (from, length) in [(0, 300), (100, 20), (294, 6)] {
            let found = standstill(&held(from, length, 1e6), &curve(1e6));
            assert_eq!(found, Some((from, length)), "{length} steps from {from} on");
        }
    }

    #[test]
    fn few_digits_and_a_run_that_stands_still_as_well_are_none() {
        assert_eq!(standstill(&curve(1e6), &curve(1e6)), None);
        assert_eq!(standstill(&held(100, 4, 1e6), &curve(1e6)), None);
        assert_eq!(standstill(&held(100, 20, 1e6), &held(100, 20, 1e6)), None);
        // One decimal: eleven different values, of which neighbours are often equal.
        assert_eq!(standstill(&held(100, 5, 1.0), &curve(1.0)), None);
    }
}
