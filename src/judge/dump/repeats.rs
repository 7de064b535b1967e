//! Two repeats of a baseline, judged as a pair: what they record as noise.

use super::flow::{LeafFlow, OperationFlow};
use super::input::UnitInput;
use super::item::{is_input, item};
use super::limits::band;
use super::noise::{MOST_ADDED, UnitNoise, ValueNoise};

/// A value that moves further than a repeat does.
#[derive(Debug)]
pub struct TooFar {
    /// Its row name.
    pub row: String,
    /// The part of its error that its inputs do not explain.
    pub added: f64,
    /// The most that it may be.
    pub most: f64,
}

/// Takes the comparison of two repeats into `noise`; gives the first value that moves further than one of a repeat does.
pub fn record(noise: &mut UnitNoise, input: &UnitInput<'_>, flows: &[OperationFlow]) -> Option<TooFar> {
    noise.comparisons += 1;
    let mut too_far = None;
    for (comparison, flow) in input.comparison.operations.iter().zip(flows) {
        let (Some(baseline), Some(candidate)) = comparison.operations(input.baseline, input.candidate) else {
            continue;
        };
        for (leaf, LeafFlow { added, .. }) in comparison.leaves.iter().zip(&flow.leaves) {
            let item = item(leaf, baseline, candidate);
            let sized = item.measured().filter(|measured| measured.exact.is_none() && measured.error.is_finite());
            let Some(error) = sized.map(|measured| measured.error).filter(|error| *error > 0.0) else { continue };
            // What nothing dumped made may be perturbed, by no more than another precision of its type.
            let most = if is_input(item.kind) { band(item.dtype()).wrong.min(MOST_ADDED) } else { MOST_ADDED };
            if *added > most {
                too_far = too_far.or_else(|| Some(TooFar { row: item.row().into_owned(), added: *added, most }));
            }
            let known = noise.values.entry(item.baseline_row().unwrap_or_default().into_owned()).or_default();
            *known = ValueNoise { error: known.error.max(error), added: known.added.max(*added) };
        }
    }
    too_far
}
