//! The first steps of a loss, and whether they show the same weights.
//!
//! A first step that is equal within the noise of one forward pass, followed by steps that stay close, shows the same weights. An
//! equal first step alone does not: different weights agree there by chance once in sixty times, and always if the output layer
//! starts at zero, because the prediction is then uniform for any weights. `docs/loss.md` derives the numbers.

use crate::compare::curve::{CurveMeasures, HEAD};

/// Largest relative difference of one forward pass between two platforms (measured: 4e-6; accepted by MindSpore Transformers'
/// worked example: 1e-4).
pub(crate) const FORWARD_NOISE: f64 = 1e-4;
/// Largest relative difference of the first gradient norms from the same weights: gradients in bf16 differ by about 1 % from rounding
/// alone.
pub(crate) const BACKWARD_NOISE: f64 = 1e-2;
/// Largest relative difference after the first updates from the same weights; it is the failing limit of the head.
pub(crate) const UPDATE_NOISE: f64 = 2e-3;
/// Share of the next differences below which a first difference is no chance: Student's t with four degrees of freedom lies below
/// it once in a thousand times (its density at 0 is 0.375).
const NO_CHANCE: f64 = 1e-3 / 0.75;
/// The relative rounding of a `float32` logarithm and mean, two units in the last place.
const SINGLE: f64 = 2.4e-7;

/// Result of comparing the first steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The same weights, and no randomness left in.
    Same,
    /// The first step differs.
    Differs,
    /// The first step agrees, but no better than chance allows, and the next steps do not agree.
    Chance,
    /// The first step is a uniform prediction (over this many classes, if known), and the next steps do not show the same weights.
    Uniform(Option<u32>),
}

impl Start {
    /// Result for a loss; `None` where no step is finite on both sides.
    pub(crate) fn from_measures(measures: &CurveMeasures) -> Option<Self> {
        let first = measures.first?;
        if first.value > FORWARD_NOISE {
            return Some(Self::Differs);
        }
        // If no step of the whole run leaves the stricter limits, those can be applied.
        let never_leaves = measures.max.is_none_or(|max| max.value <= UPDATE_NOISE);
        if let Some(classes) = uniform(measures).filter(|_| !never_leaves) {
            return Some(if learns_alike(measures) { Self::Same } else { Self::Uniform(classes) });
        }
        let is_close = measures.head.is_none_or(|head| head.value <= UPDATE_NOISE);
        Some(if is_close || is_no_chance(measures) { Self::Same } else { Self::Chance })
    }
}

/// Whether the first step agrees far better than the next ones.
fn is_no_chance(measures: &CurveMeasures) -> bool {
    let relative = |(b, c): &(f64, f64)| (c - b).abs().max(measures.resolution).max(SINGLE * b.abs()) / b.abs();
    let mut all = measures.start.iter().map(relative);
    let Some(first) = all.next() else { return false };
    let next: Vec<f64> = all.collect();
    #[allow(clippy::cast_precision_loss, reason = "at most four steps")]
    let square = next.iter().map(|value| value * value).sum::<f64>() / next.len().max(1) as f64;
    first <= NO_CHANCE * square.sqrt()
}

/// Whether both runs learn the same from the uniform start: the steps move away from it, and differ by less than the
/// first updates from the same weights do.
///
/// Differences are measured relative to the change of the loss since the start, because its uniform part is equal in any case.
fn learns_alike(measures: &CurveMeasures) -> bool {
    let Some((first, _)) = measures.start.first() else { return false };
    let learned = |(b, _): &(f64, f64)| UPDATE_NOISE * (b - first).abs();
    let next = || measures.start.iter().skip(1);
    let alike = |values: &(f64, f64)| (values.1 - values.0).abs() <= learned(values).max(measures.floor);
    next().any(|values| learned(values) >= measures.floor) && next().all(alike)
}

/// The number of classes of a first loss that is a uniform prediction, with `None` inside for an unknown number; `None` for any
/// other first loss.
///
/// The loss is then the logarithm of the number of classes, on any data. A loss that is the same constant at two steps on both
/// sides does not depend on the data either.
#[allow(clippy::option_option, reason = "a uniform prediction over an unknown number of classes is one")]
fn uniform(measures: &CurveMeasures) -> Option<Option<u32>> {
    let (b, c) = *measures.start.first()?;
    // Half a printed digit, or two units in the last place.
    let exact = (measures.resolution / 2.0).max(printed_unit(&measures.start, b) / 2.0).max(SINGLE * b.abs());
    if (b - c).abs() > 2.0 * exact {
        return None;
    }
    let again = |(next_b, next_c): &(f64, f64)| next_b.to_bits() == b.to_bits() && next_c.to_bits() == c.to_bits();
    let is_constant = measures.start.get(1).is_some_and(again);
    classes(f64::midpoint(b, c), exact)
        .map(Some)
        .or_else(|| (is_constant && measures.start.len() >= HEAD).then_some(None))
}

/// One unit of the last printed digit of `value`, if values are printed with as many significant digits as the longest of the first
/// ones. 0 if that is as many as `float32` needs.
fn printed_unit(start: &[(f64, f64)], value: f64) -> f64 {
    /// Digits that tell any two `float32` apart.
    const FULL: usize = 9;
    let parts =
        |value: f64| format!("{value:e}").split_once('e').map(|(digits, power)| (digits.len(), power.to_owned()));
    // Without the point and a sign.
    let digits = |value: f64| parts(value.abs()).map_or(FULL, |(length, _)| length.saturating_sub(1).max(1));
    let most = start.iter().flat_map(|(b, c)| [digits(*b), digits(*c)]).max().unwrap_or(FULL);
    let power = parts(value.abs()).and_then(|(_, power)| power.parse::<i32>().ok());
    match (power, i32::try_from(most)) {
        (Some(power), Ok(digits)) if most < FULL => 10.0_f64.powi(power - digits + 1),
        _ => 0.0,
    }
}

/// Sizes of published vocabularies that are not padded to a multiple of 64: BERT, RoBERTa, GPT-2, GPT-J, GPT-NeoX, OPT, T5,
/// XLM-R, Llama with a padding token, CodeLlama, Qwen, MiniCPM, cl100k, o200k.
const UNPADDED: [u32; 22] = [
    21_128, 28_996, 30_522, 32_001, 32_016, 32_100, 50_254, 50_257, 50_258, 50_265, 50_272, 50_277, 50_280, 50_400,
    73_448, 100_277, 119_547, 122_753, 151_643, 151_665, 200_019, 250_002,
];

/// The number of classes whose logarithm is `loss`, within `exact`.
///
/// Any whole number counts if the digits distinguish it from the next one. Otherwise only a vocabulary padded to a multiple of 64
/// (as accelerators prefer), or a published size.
fn classes(loss: f64, exact: f64) -> Option<u32> {
    let (least, most) = ((loss - exact).exp(), (loss + exact).exp());
    if !(2.0 - exact..=f64::from(1_u32 << 24)).contains(&most) {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "2 to 2^24")]
    let (first, last) = (least.ceil() as u32, most.floor() as u32);
    let padded = last / 64 * 64;
    if last < first || last < 2 {
        None
    } else if most - least <= 0.5 {
        Some(last)
    } else if padded >= first {
        Some(padded)
    } else {
        UNPADDED.into_iter().find(|size| (first..=last).contains(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::curve::{CurveScale, measure};
    use crate::pair::curve::align::{AlignedPoints, PairedBy, StepCoverage};
    use crate::read::curve::series::Steps;

    fn start(pairs: &[(f64, f64)], resolution: f64) -> Option<Start> {
        let (baseline, candidate): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let steps = Steps::Positions(baseline.len());
        let (baseline, candidate) = (baseline.into(), candidate.into());
        let points = AlignedPoints {
            by: PairedBy::Step,
            steps,
            baseline,
            candidate,
            coverage: StepCoverage::default(),
            values: None,
        };
        Start::from_measures(&measure(&points, CurveScale { floor: 1e-5, resolution, steps: None })?)
    }

    /// A fall from `first` in which the candidate differs by `apart` of the loss from the second step on.
    fn fall(first: f64, apart: [f64; 4]) -> Vec<(f64, f64)> {
        let next = (1..5).zip(apart).map(|(t, apart)| (first - 0.31 * f64::from(t), apart));
        std::iter::once((first, first)).chain(next.map(|(b, apart)| (b, b * (1.0 + apart)))).collect()
    }

    #[test]
    fn the_first_five_steps_decide() {
        let none = [0.0; 4];
        assert_eq!(start(&fall(8.123_457, none), 0.0), Some(Start::Same));
        assert_eq!(start(&fall(8.123_457, [1e-6, 8e-5, 4e-4, -1e-3]), 0.0), Some(Start::Same), "noise grows");
        let early_fault = [2e-3, 3e-3, -4e-3, 6e-3];
        assert_eq!(
            start(&fall(8.123_457, early_fault), 0.0),
            Some(Start::Same),
            "equal to the last digit, and no chance"
        );
        let mut by_chance = fall(8.123_457, early_fault);
        by_chance[0].1 *= 1.0 + 5e-5;
        assert_eq!(start(&by_chance, 0.0), Some(Start::Chance));
        by_chance[0].1 *= 1.0 + 5e-4;
        assert_eq!(start(&by_chance, 0.0), Some(Start::Differs));
        assert_eq!(start(&[], 0.0), None);
    }

    #[test]
    fn a_uniform_prediction_tells_nothing_of_the_weights() {
        let apart = [8e-3, 0.013, 0.021, 0.017];
        for (classes, resolution) in
            [(50_257, 0.0), (32_000, 0.0), (50_304, 1e-4), (151_936, 1e-4), (10, 0.0), (2, 1e-3)]
        {
            let digits: f64 = if resolution > 0.0 { 1.0 / resolution } else { 1e6 };
            let first = (f64::from(classes).ln() * digits).round() / digits;
            assert_eq!(
                start(&fall(first + 9.0 - 9.0, apart), resolution),
                Some(Start::Uniform(Some(classes))),
                "{classes}"
            );
        }
        // Both sides learn the same: the weights are equal.
        assert_eq!(start(&fall(10.824_905, [1e-6, 2e-6, -3e-6, 4e-6]), 0.0), Some(Start::Same));
        // Nothing learned yet, as in a warm-up: nothing is known.
        let mut warm_up = vec![(10.824_905, 10.824_905); 5];
        assert_eq!(start(&warm_up, 0.0), Some(Start::Same), "nothing ever differs");
        warm_up.push((9.8, 9.9));
        assert_eq!(start(&warm_up, 0.0), Some(Start::Uniform(Some(50_257))));
        let constant = [(1.5, 1.5), (1.5, 1.5), (1.4, 1.42), (1.3, 1.31), (1.2, 1.22)];
        assert_eq!(start(&constant, 0.0), Some(Start::Uniform(None)));
    }

    #[test]
    fn few_digits_make_no_loss_a_uniform_one() {
        // Six digits between the logarithms of neighbouring numbers, four between those of padded vocabularies.
        assert_eq!(classes(8.048_325, 5e-7), None);
        assert_eq!(classes(10.9001, 5e-5), None);
        assert_eq!(classes(0.01, 5e-7), None);
        assert_eq!(classes(800.0, 1e-4), None);
    }
}
