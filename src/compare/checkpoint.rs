//! Two checkpoints to numbers, parameter by parameter, in parallel.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::measurements::{Measurements, PairName};
use super::tensor::{PairStats, compare_some};
use crate::dtype::Dtype;
use crate::pair::checkpoint::ParameterPairs;
use crate::read::checkpoint::Parameter;
use crate::read::tensor::TensorData;
use crate::verdict::Side;

/// One parameter of both sides.
#[derive(Debug)]
pub struct ParameterComparison<'a> {
    /// Its name on the candidate's side.
    pub name: &'a str,
    /// Result of the comparison.
    pub outcome: ParameterOutcome,
    /// Whether it is the state of a generator or of what hands out data, which differs between healthy runs.
    pub is_state: bool,
}

/// Result of comparing a parameter.
#[derive(Debug, Serialize, Deserialize)]
pub enum ParameterOutcome {
    /// Numbers of a parameter that was compared.
    Compared {
        /// Element types of baseline and candidate.
        dtypes: (Dtype, Dtype),
        /// The numbers.
        stats: Box<PairStats>,
    },
    /// Shapes differ: baseline, candidate.
    ShapesDiffer(Vec<u64>, Vec<u64>),
    /// A side cannot be read; why.
    Unread(Side, String),
    /// A quick look left it out.
    LeftOut,
}

/// Compares every pair; the order is that of `pairs`, whatever the thread count. `done` is called after each.
pub fn parameters<'a>(
    pairs: &ParameterPairs<'a>,
    measurements: &Measurements,
    done: &(dyn Fn() + Sync),
) -> Vec<ParameterComparison<'a>> {
    pairs
        .matched
        .par_iter()
        .with_max_len(1)
        .map(|(name, baseline, candidate)| {
            let outcome = match (baseline, candidate) {
                (Parameter::Tensor(baseline), Parameter::Tensor(candidate)) => {
                    tensors(name, baseline, candidate, measurements)
                }
                (Parameter::Unread(reason), _) => ParameterOutcome::Unread(Side::Baseline, reason.clone()),
                (_, Parameter::Unread(reason)) => ParameterOutcome::Unread(Side::Candidate, reason.clone()),
            };
            done();
            let is_state = baseline.is_state(name) && candidate.is_state(name);
            ParameterComparison { name, outcome, is_state }
        })
        .collect()
}

fn tensors(name: &str, baseline: &TensorData, candidate: &TensorData, measurements: &Measurements) -> ParameterOutcome {
    if baseline.shape != candidate.shape {
        return ParameterOutcome::ShapesDiffer(baseline.shape.clone(), candidate.shape.clone());
    }
    let pair = PairName {
        question: "parameter",
        op: None,
        baseline: baseline.name(),
        candidate: candidate.name(),
        member: name,
        offset: candidate.offset(),
    };
    let outcome = measurements.ask(&pair, || match compare_some(baseline, candidate, measurements.sample()) {
        Ok(stats) => ParameterOutcome::Compared { dtypes: (baseline.dtype, candidate.dtype), stats: Box::new(stats) },
        Err(error) => {
            let side = if error.subject() == baseline.name() { Side::Baseline } else { Side::Candidate };
            ParameterOutcome::Unread(side, error.to_string())
        }
    });
    if let Some(ParameterOutcome::Compared { stats, .. }) = &outcome {
        measurements.count(stats.elements, candidate.elements());
    }
    outcome.unwrap_or(ParameterOutcome::LeftOut)
}
