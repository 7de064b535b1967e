//! Numbers of ways to choose ranks with a given sum.

/// Ways to choose `chosen` of the values, by their sum.
#[allow(clippy::cast_precision_loss, reason = "a share of ways, of which there are at most 2^40")]
pub(super) fn ways_to_choose(values: &[usize], chosen: usize) -> Vec<f64> {
    let total: usize = values.iter().sum();
    let mut ways = vec![vec![0.0; total + 1]; chosen + 1];
    if let Some(none) = ways.first_mut().and_then(|sums| sums.first_mut()) {
        *none = 1.0;
    }
    for (taken, value) in values.iter().enumerate() {
        for count in (0..chosen.min(taken + 1)).rev() {
            let Some([fewer, more]) = ways.get_mut(count..count + 2) else { continue };
            add_shifted(more, fewer, *value);
        }
    }
    ways.pop().unwrap_or_default()
}

/// Ways to choose any of the values, by their sum.
pub(super) fn ways_to_sum(values: &[usize]) -> Vec<f64> {
    let total: usize = values.iter().sum();
    let mut ways = vec![0.0; total + 1];
    if let Some(none) = ways.first_mut() {
        *none = 1.0;
    }
    for value in values {
        let before = ways.clone();
        add_shifted(&mut ways, &before, *value);
    }
    ways
}

fn add_shifted(to: &mut [f64], from: &[f64], by: usize) {
    for (to, from) in to.iter_mut().skip(by).zip(from) {
        *to += from;
    }
}

/// Twice the rank of each value, with the mean rank for equal values.
pub(super) fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count();
    let equal = |value: f64| values.iter().filter(|other| other.total_cmp(&value).is_eq()).count();
    values.iter().map(|value| 2 * below(*value) + equal(*value) + 1).collect()
}

/// The largest number of places from the front that hold at most `tail` of all `ways`.
pub(super) fn places_of_tail(ways: &[f64], tail: f64) -> usize {
    let all: f64 = ways.iter().sum();
    let sums = ways.iter().scan(0.0, |sum, ways| {
        *sum += ways;
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= tail * all).count()
}
