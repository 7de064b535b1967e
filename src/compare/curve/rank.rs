//! Rank correlation of two runs' changes from step to step.
//!
//! The change at a step, measured against the mean of its neighbours, mostly reflects the difficulty of that step's
//! batch. Two runs on the same data in the same order change together, whatever their own noise; with a different data
//! order they do not. Ranks keep single spikes from dominating.

/// Most changes that are ranked; longer runs are represented by evenly spread blocks.
const SAMPLE: usize = 40_000;
/// Neighbouring changes of a block.
const BLOCK: usize = 400;

/// Spearman's rank correlation of the changes of two curves of equal length, -1 to 1.
///
/// `None` where a curve has fewer than three changes or does not move.
pub fn change_correlation(baseline: &[f64], candidate: &[f64]) -> Option<f64> {
    let (b, c) = (changes(baseline), changes(candidate));
    if b.len() != c.len() || b.len() < 3 {
        return None;
    }
    pearson(&ranks(&b), &ranks(&c))
}

/// Number of changes on which the correlation of two curves of `len` values rests.
pub fn change_count(len: usize) -> usize {
    let windows = len.saturating_sub(2);
    if windows <= SAMPLE { windows } else { SAMPLE }
}

/// Whether a rank correlation of this many changes is lower than chance would make it once in a thousand times, for
/// runs whose true correlation is `expected`.
///
/// Fisher's transformation makes a correlation nearly normal, with a variance of 1 / (m - 3), 1.06 times that for ranks
/// (Fieller, Hartley and Pearson, 1957). The changes are not independent: each shares values with its neighbours, which
/// for independent values correlates them by -2/3 and 1/6 with the next two. By Bartlett's formula m changes count
/// like m / (1 + 2 (4/9 + 1/36)) independent ones.
pub fn is_below(correlation: f64, expected: f64, changes: usize) -> bool {
    const ONCE_IN_A_THOUSAND: f64 = 3.09;
    #[allow(clippy::cast_precision_loss, reason = "at most a few ten thousand changes")]
    let independent = changes as f64 / (35.0 / 18.0);
    if independent <= 3.0 {
        return false;
    }
    let error = (1.06 / (independent - 3.0)).sqrt();
    expected.atanh() - correlation.max(-1.0).atanh() > ONCE_IN_A_THOUSAND * error
}

fn changes(values: &[f64]) -> Vec<f64> {
    let windows = values.len().saturating_sub(2);
    let blocks = windows.div_ceil(BLOCK);
    let every = windows.div_ceil(SAMPLE).max(1);
    (0..blocks)
        .step_by(every)
        .flat_map(|block| block * BLOCK..((block + 1) * BLOCK).min(windows))
        .filter_map(|start| match values.get(start..start + 3) {
            Some([before, value, after]) => Some(value - (before + after) / 2.0),
            _ => None,
        })
        .collect()
}

/// Ranks from 0, equal values sharing the mean of theirs.
#[allow(clippy::cast_precision_loss, reason = "at most a few ten thousand ranks")]
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for equal in order.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let rank = first as f64 + (equal.len() - 1) as f64 / 2.0;
        for (_, index) in equal {
            if let Some(slot) = ranks.get_mut(*index) {
                *slot = rank;
            }
        }
        first += equal.len();
    }
    ranks
}

#[allow(clippy::cast_precision_loss, reason = "at most a few ten thousand values")]
fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let n = x.len() as f64;
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        xy += (x - mx) * (y - my);
        xx += (x - mx) * (x - mx);
        yy += (y - my) * (y - my);
    }
    (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ranks_share_their_mean() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [2.5, 0.0, 2.5, 1.0]);
    }

    #[test]
    fn few_changes_need_a_lower_correlation() {
        for (correlation, changes, below) in
            [(0.1, 18, true), (0.5, 18, false), (0.5, 48, true), (0.8, 198, true), (0.85, 48, false), (-1.0, 5, false)]
        {
            assert_eq!(is_below(correlation, 0.9, changes), below, "{correlation} of {changes}");
        }
    }

    #[test]
    fn runs_on_the_same_data_move_together() {
        // Powers modulo a prime: no pattern that second differences would turn into ties.
        let powers = std::iter::successors(Some(1_u32), |value| Some(value * 48_271 % 65_537));
        let wave: Vec<f64> = powers.take(200).map(|value| 3.0 + f64::from(value) / 65_537.0).collect();
        let scaled: Vec<f64> = wave.iter().map(|value| value * 1.125 + 0.5).collect();
        let shifted: Vec<f64> = wave.iter().cycle().skip(37).take(200).copied().collect();
        assert!(change_correlation(&wave, &scaled).expect("moves") > 0.999);
        assert!(change_correlation(&wave, &shifted).expect("moves") < 0.5);
        assert_eq!(change_correlation(&wave, &vec![1.0; 200]), None);
    }
}
