//! Several tests at once.

/// Probabilities corrected for the number of tests, so that one false alarm among all is as likely as one test alone makes it
/// (S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979).
#[allow(clippy::cast_precision_loss, reason = "a count of tests")]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    let value = |place: usize| p_values.get(place).copied().unwrap_or(1.0);
    order.sort_by(|a, b| value(*a).total_cmp(&value(*b)));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut most: f64 = 0.0;
    for (nth, place) in order.into_iter().enumerate() {
        most = most.max((p_values.len() - nth) as f64 * value(place)).min(1.0);
        if let Some(adjusted) = adjusted.get_mut(place) {
            *adjusted = most;
        }
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::holm;

    #[test]
    fn the_smallest_counts_most_and_none_falls_below_one_before_it() {
        let found = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
        assert!(holm(&[]).is_empty());
    }
}
