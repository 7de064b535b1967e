//! The noise record of two repeats of a baseline that were judged as a pair.

use super::flow::{LeafFlow, OperationFlow};
use super::input::UnitInput;
use super::item::{is_input, item};
use super::limits::band_of_dtype;
use super::noise::{MOST_ADDED, UnitNoise, ValueNoise};

/// A value that differs more than repeats may.
#[derive(Debug)]
pub struct TooFar {
    /// Its row name.
    pub row: String,
    /// The part of its error that its inputs do not explain.
    pub added: f64,
    /// The largest added error of a repeat.
    pub most: f64,
}

/// Adds the comparison of two repeats to `noise`; returns the first value that differs more than repeats may.
pub fn record(noise: &mut UnitNoise, input: &UnitInput<'_>, flows: &[OperationFlow]) -> Option<TooFar> {
    noise.comparisons += 1;
    let mut too_far = None;
    for (comparison, flow) in input.comparison.operations.iter().zip(flows) {
        let (Some(baseline), Some(candidate)) = comparison.operations(input.baseline, input.candidate) else {
            continue;
        };
        for (leaf, LeafFlow { added, .. }) in comparison.leaves.iter().zip(&flow.leaves) {
            let item = item(leaf, baseline, candidate);
            let sized = item.measurement().filter(|measured| measured.exact.is_none() && measured.error.is_finite());
            let Some(error) = sized.map(|measured| measured.error).filter(|error| *error > 0.0) else { continue };
            // An input may be perturbed, but by no more than another precision of its type explains.
            let most = if is_input(item.kind) { band_of_dtype(item.dtype()).wrong.min(MOST_ADDED) } else { MOST_ADDED };
            if *added > most {
                too_far = too_far.or_else(|| Some(TooFar { row: item.row().into_owned(), added: *added, most }));
            }
            let known = noise.values.entry(item.baseline_row().unwrap_or_default().into_owned()).or_default();
            *known = ValueNoise { error: known.error.max(error), added: known.added.max(*added) };
        }
    }
    too_far
}
