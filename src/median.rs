//! The median of numbers.

/// The median (the upper one of an even number); `None` for nothing.
pub(crate) fn upper_median(mut values: Vec<f64>) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// The median (the mean of the two middle values of an even number); `None` for nothing.
pub(crate) fn midpoint_median(mut values: Vec<f64>) -> Option<f64> {
    let (place, is_even) = (values.len() / 2, values.len().is_multiple_of(2));
    if values.is_empty() {
        return None;
    }
    let (before, upper, _) = values.select_nth_unstable_by(place, f64::total_cmp);
    let upper = *upper;
    let lower = before.iter().copied().max_by(f64::total_cmp).filter(|_| is_even).unwrap_or(upper);
    Some(0.5 * (lower + upper))
}

#[cfg(test)]
mod tests {
    use super::{midpoint_median, upper_median};

    #[test]
    fn an_even_number_has_two_in_the_middle() {
        for (values, upper, mean) in
            [(vec![3.0, 1.0, 2.0], 2.0, 2.0), (vec![4.0, 1.0, 2.0, 3.0], 3.0, 2.5), (vec![2.0; 4], 2.0, 2.0)]
        {
            assert_eq!((upper_median(values.clone()), midpoint_median(values)), (Some(upper), Some(mean)));
        }
        assert_eq!((upper_median(Vec::new()), midpoint_median(Vec::new())), (None, None));
    }
}
