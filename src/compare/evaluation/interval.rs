//! Confidence intervals of drops, and the smallest drop that a test finds.

use super::normal::{DETECTABLE, INTERVAL};

/// Changed answers of the smallest table with a probability of at most 0.01: seven lost and none won.
const LEAST_CHANGED: f64 = 7.0;

/// The 95 % interval of the drop of a rate over pairs, of which `worse` and `better` changed; `None` without pairs.
///
/// Wald's interval for matched pairs after half an answer is added to each of the four cells (Agresti and Min, Statistics in
/// Medicine 24, 2005, section 3). It needs no more than the changed answers, and holds its level where few changed.
pub(crate) fn rate_interval(worse: u64, better: u64, pairs: u64) -> Option<[f64; 2]> {
    if pairs == 0 {
        return None;
    }
    let (worse, better, pairs) = (worse as f64 + 0.5, better as f64 + 0.5, pairs as f64 + 2.0);
    let drop = (worse - better) / pairs;
    let error = (worse + better - (worse - better) * drop).max(0.0).sqrt() / pairs;
    Some([(drop - INTERVAL * error).max(-1.0), (drop + INTERVAL * error).min(1.0)])
}

/// The 95 % interval of a drop with a standard error.
pub(crate) fn interval_around(drop: f64, error: f64) -> [f64; 2] {
    [drop - INTERVAL * error, drop + INTERVAL * error]
}

/// The smallest drop of a rate over pairs that a test finds four times in five (power 0.8); `None` without pairs.
pub(crate) fn detectable_rate(worse: u64, better: u64, pairs: u64) -> Option<f64> {
    let changed = (worse + better).max(1) as f64;
    (pairs > 0).then(|| (DETECTABLE * changed.sqrt() / pairs as f64).max(LEAST_CHANGED / pairs as f64))
}

/// Mean and its standard error; `None` without numbers, an error of 0 for a single one.
pub(crate) fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    if values.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    Some((mean, deviation / count.sqrt()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::*;

    proptest! {
        #[test]
        fn the_interval_of_a_rate_holds_its_drop(worse in 0_u64..100, better in 0_u64..100, same in 0_u64..1000) {
            let pairs = worse + better + same;
            let Some([low, high]) = rate_interval(worse, better, pairs) else { return Ok(()) };
            let drop = (worse as f64 - better as f64) / pairs as f64;
            assert!(low <= drop && drop <= high && low >= -1.0 && high <= 1.0, "{low} {drop} {high}");
            let detectable = detectable_rate(worse, better, pairs).expect("pairs");
            assert!(detectable >= 7.0 / pairs as f64);
        }
    }

    #[test]
    fn numbers_are_those_of_a_table() {
        // 20 of 200 lost and one won: (20.5 - 1.5) / 202, and sqrt(22 - 19^2 / 202) / 202.
        let [low, high] = rate_interval(20, 1, 200).expect("pairs");
        assert!((low - 0.050_437).abs() < 1e-6 && (high - 0.137_682).abs() < 1e-6, "{low} {high}");
        let detectable = detectable_rate(20, 1, 200).expect("pairs");
        assert!((detectable - 0.072_634).abs() < 1e-6, "{detectable}");
        assert_eq!((rate_interval(0, 0, 0), detectable_rate(0, 0, 0), mean_and_error(&[])), (None, None, None));
        assert_eq!(mean_and_error(&[2.0]), Some((2.0, 0.0)));
        let (mean, error) = mean_and_error(&[1.0, 2.0, 3.0, 4.0]).expect("numbers");
        assert!((mean - 2.5).abs() < 1e-15 && (error - 0.645_497_224).abs() < 1e-9);
    }
}
