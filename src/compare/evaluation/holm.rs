//! Correction for the number of tests.

/// Adjusts probabilities so that the chance of any false alarm among them is at most the level they are held against (Holm,
/// Scandinavian Journal of Statistics 6, 1979). The result has the order of `values`; NaN counts as 1.
pub(crate) fn adjust(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> =
        values.iter().map(|value| if value.is_nan() { 1.0 } else { *value }).enumerate().collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.cmp(&other.0)));
    let mut adjusted = vec![1.0; values.len()];
    let mut most = 0.0_f64;
    for (rank, (place, value)) in order.into_iter().enumerate() {
        most = most.max(value * (values.len() - rank) as f64).min(1.0);
        if let Some(adjusted) = adjusted.get_mut(place) {
            *adjusted = most;
        }
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, proptest};

    use super::adjust;

    #[test]
    fn the_smallest_counts_all_tests_and_the_next_one_fewer() {
        let found = adjust(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15), "{found:?}");
        assert_eq!(adjust(&[]), Vec::<f64>::new());
        assert!((adjust(&[0.7])[0] - 0.7).abs() <= 0.0, "one test needs no correction");
        assert!(adjust(&[f64::NAN, 0.1]).iter().zip([1.0, 0.2]).all(|(a, b)| (a - b).abs() <= 0.0));
    }

    proptest! {
        #[test]
        fn no_probability_falls_and_none_exceeds_bonferroni(values in prop::collection::vec(0.0_f64..=1.0, 1..50)) {
            let found = adjust(&values);
            for (value, adjusted) in values.iter().zip(&found) {
                assert!(adjusted >= value && *adjusted <= (value * values.len() as f64).min(1.0) + 1e-15);
            }
        }
    }
}
