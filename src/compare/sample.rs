//! Choice of the elements that a quick look reads: runs of whole cache lines, one at a random place of every stretch.
//!
//! A tensor is cut into runs of `RUN` elements (16 to 256 cache lines, so that a disk reads what it is asked for and
//! little more) and runs into stretches of equal length; of each stretch one run is looked at. The choice depends on
//! seed, tensor name and place alone: the same on every machine, for any thread count.

/// Elements of a run: whole cache lines for every element type, and whole strips of lanes.
pub(super) const RUN: u64 = 1024;
/// Runs looked at in every tensor, however small the ratio; smaller tensors are looked at whole.
const LEAST_RUNS: u64 = 16;

/// Share of every tensor that a quick look reads, and the seed of the choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    ratio: f64,
    seed: u64,
}

impl Sample {
    /// A sample of `ratio` of every tensor; `None` unless that is above 0 and at most 1.
    pub fn new(ratio: f64, seed: u64) -> Option<Self> {
        (ratio > 0.0 && ratio <= 1.0).then_some(Self { ratio, seed })
    }

    /// The share of every tensor to look at.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Seed of the random choice.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The runs of a tensor that are looked at.
    pub(super) fn runs(&self, name: &str, elements: u64) -> Runs {
        let runs = elements.div_ceil(RUN);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float saturates where it is cast"
        )]
        let wanted = (1.0 / self.ratio).round() as u64;
        let stretch = wanted.min(runs / LEAST_RUNS).max(1);
        let seed = name.bytes().fold(self.seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Runs { elements, stretch, count: runs.div_ceil(stretch), seed }
    }
}

/// The runs of one tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runs {
    elements: u64,
    /// Runs of a stretch.
    stretch: u64,
    /// Number of runs that are looked at: one of every stretch.
    pub(super) count: u64,
    seed: u64,
}

impl Runs {
    /// First element and end of the run that is read in stretch `index`; empty where it lies beyond the end of the last
    /// stretch, which may be shorter than the others.
    pub(super) fn get(&self, index: u64) -> (u64, u64) {
        let start = (index * self.stretch + random(self.seed.wrapping_add(index)) % self.stretch) * RUN;
        (start.min(self.elements), (start + RUN).min(self.elements))
    }
}

/// The largest share of elements that may differ from the others unseen, after `runs` randomly chosen runs were read:
/// with 95 % confidence, a larger share would have met at least one of them. The exact form of the rule of three.
#[allow(clippy::cast_precision_loss, reason = "counts of runs are far below 2^53")]
pub(crate) fn unseen_share(runs: u64) -> f64 {
    if runs == 0 { 1.0 } else { 1.0 - 0.05f64.powf(1.0 / runs as f64) }
}

/// SplitMix64 (Steele, Lea, Flood 2014): a well mixed number for every counter.
fn random(counter: u64) -> u64 {
    let mut bits = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked_at(sample: Sample, elements: u64) -> u64 {
        let runs = sample.runs("x.pt", elements);
        (0..runs.count).map(|index| runs.get(index)).map(|(start, end)| end - start).sum()
    }

    #[test]
    fn a_sample_is_as_large_as_it_was_asked_to_be() {
        let sample = Sample::new(0.01, 7).expect("a ratio");
        let elements = 100_000_000;
        let share = looked_at(sample, elements) * 1000 / elements;
        assert!((9..=11).contains(&share), "{share}");
    }

    #[test]
    fn small_tensors_are_looked_at_whole() {
        let sample = Sample::new(0.001, 0).expect("a ratio");
        for elements in [0, 1, RUN, 16 * RUN + 5, 31 * RUN] {
            assert_eq!(looked_at(sample, elements), elements);
        }
    }

    #[test]
    fn runs_are_in_order_and_never_overlap() {
        let runs = Sample::new(0.05, 3).expect("a ratio").runs("y", 10_000_019);
        let mut last = 0;
        for (start, end) in (0..runs.count).map(|index| runs.get(index)) {
            assert!(start >= last && end >= start && end <= 10_000_019);
            last = end;
        }
    }

    #[test]
    fn ratios_that_are_none_are_refused() {
        assert!([0.0, -1.0, 1.5, f64::NAN].iter().all(|ratio| Sample::new(*ratio, 0).is_none()));
    }

    #[test]
    fn the_bound_is_the_rule_of_three() {
        assert!((unseen_share(1000) - 0.003).abs() < 1e-5);
        assert!((unseen_share(0) - 1.0).abs() < 1e-12);
    }
}
