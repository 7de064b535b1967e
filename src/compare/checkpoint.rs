//! Comparison of two checkpoints, parameter by parameter and in parallel.

mod change;
mod codes;
mod quantised;

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::measurements::{Measurements, PairName};
use super::tensor::{PairStats, compare_sample};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::pair::checkpoint::{Padding, ParameterPairs, Replica};
use crate::read::checkpoint::{Checkpoint, CheckpointParameter};
use crate::read::tensor::TensorData;
use crate::verdict::Side;

use change::{DifferingTensor, Scope, explanations};
pub use change::{Explanation, TensorChange};
pub use quantised::{CodesChange, CodesPattern, QuantisedStats};

/// Bytes that are read at once to see whether a tensor holds one number throughout; usually the first few show that it
/// does not.
const BLOCK: usize = 16 << 10;

/// Reason why a tensor of which only the ranks' pieces are known cannot be compared.
const APART: &str = "the pieces of its ranks were not put together";

/// One parameter of both sides.
#[derive(Debug)]
pub struct ParameterComparison<'a> {
    /// Its name on the candidate's side.
    pub name: &'a str,
    /// Result of the comparison.
    pub outcome: ParameterOutcome,
    /// Whether it is the state of a random generator or of a data sampler, which differs between healthy runs.
    pub is_state: bool,
    /// Explanation of its difference, as far as one was looked for.
    pub explanation: Explanation,
}

/// Two copies of one tensor within a run.
#[derive(Debug)]
pub struct ReplicaComparison<'a> {
    /// The copies.
    pub replica: &'a Replica,
    /// Numbers of the comparison, or the reason why there are none.
    pub outcome: std::result::Result<Box<PairStats>, String>,
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
        /// Whether both sides hold only zeros or one constant, so that their agreement proves nothing.
        #[serde(default)]
        is_trivial: bool,
        /// Distances in units of the quantisation step, where a side is quantised.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quantised: Option<QuantisedStats>,
    },
    /// Shapes differ: baseline, candidate.
    ShapesDiffer(Vec<u64>, Vec<u64>),
    /// Reason why a side cannot be read.
    Unread(Side, String),
    /// Skipped by a quick look.
    LeftOut,
}

/// Compares every pair and returns the results in the order of `pairs`, for any thread count. `done` is called after
/// each pair.
pub(crate) fn compare_parameters<'a>(
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
                (CheckpointParameter::Tensor(baseline), CheckpointParameter::Tensor(candidate)) => {
                    let scales = pairs.scales.get(name);
                    let baseline =
                        quantised::QuantisedSide { tensor: baseline, scale: scales.and_then(|scales| scales.baseline) };
                    let candidate = quantised::QuantisedSide {
                        tensor: candidate,
                        scale: scales.and_then(|scales| scales.candidate),
                    };
                    tensors(name, baseline, candidate, measurements)
                }
                (CheckpointParameter::Unread(reason), _) => ParameterOutcome::Unread(Side::Baseline, reason.clone()),
                (_, CheckpointParameter::Unread(reason)) => ParameterOutcome::Unread(Side::Candidate, reason.clone()),
                (CheckpointParameter::Pieces(_), _) => ParameterOutcome::Unread(Side::Baseline, APART.into()),
                (_, CheckpointParameter::Pieces(_)) => ParameterOutcome::Unread(Side::Candidate, APART.into()),
            };
            done();
            let is_state = baseline.is_state(name) && candidate.is_state(name);
            ParameterComparison { name, outcome, is_state, explanation: Explanation::default() }
        })
        .collect()
}

/// Explains the differences that `is_wanted` picks, by the tensors of both sides, by earlier iterations (given with
/// their places), and by the parts of fused tensors.
pub fn explain(
    comparisons: &mut [ParameterComparison<'_>],
    pairs: &ParameterPairs<'_>,
    families: &[Vec<String>],
    earlier: &[(String, Checkpoint)],
    is_wanted: &dyn Fn(&ParameterComparison<'_>) -> bool,
) {
    let tensors: BTreeMap<&str, (&TensorData, &TensorData)> = pairs
        .matched
        .iter()
        .filter_map(|(name, baseline, candidate)| match (baseline, candidate) {
            (CheckpointParameter::Tensor(baseline), CheckpointParameter::Tensor(candidate)) => {
                Some((*name, (baseline, candidate)))
            }
            _ => None,
        })
        .collect();
    let mut suspects = Vec::new();
    for comparison in comparisons.iter().filter(|comparison| is_wanted(comparison)) {
        let Some((baseline, candidate)) = tensors.get(comparison.name) else { continue };
        let stats = match &comparison.outcome {
            ParameterOutcome::Compared { stats, .. } => Some(stats.as_ref()),
            _ => None,
        };
        suspects.push(DifferingTensor { name: comparison.name, baseline, candidate, stats });
    }
    if suspects.is_empty() {
        return;
    }
    let earlier = earlier.iter().map(|(place, checkpoint)| (place.as_str(), readable(checkpoint))).collect();
    let mut found = explanations(&suspects, &Scope { pairs: tensors.clone(), earlier, families });
    drop(suspects);
    for comparison in comparisons {
        comparison.explanation = found.remove(comparison.name).unwrap_or_default();
    }
}

/// The tensors of a checkpoint that can be read, by name.
fn readable(checkpoint: &Checkpoint) -> BTreeMap<&str, &TensorData> {
    let tensors = checkpoint.parameters.iter().filter_map(|(name, parameter)| match parameter {
        CheckpointParameter::Tensor(tensor) => Some((name.as_str(), tensor)),
        _ => None,
    });
    tensors.collect()
}

/// Compares the copies within each run, in parallel.
pub(crate) fn compare_replicas(replicas: &[Replica]) -> Vec<ReplicaComparison<'_>> {
    let compared = |replica: &'_ Replica| {
        let [first, copy] = &replica.copies;
        if first.shape != copy.shape {
            return Err(format!("shape {:?} against {:?}", first.shape, copy.shape));
        }
        compare_sample(first, copy, None).map(Box::new).map_err(|error| error.to_string())
    };
    replicas
        .par_iter()
        .with_max_len(1)
        .map(|replica| ReplicaComparison { replica, outcome: compared(replica) })
        .collect()
}

/// Paddings that hold something other than zeros, where the other side does not hold the same values there.
pub(crate) fn used_paddings(paddings: &[Padding]) -> Vec<&Padding> {
    let is_zero = |tensor: &TensorData| {
        let stats = compare_sample(tensor, tensor, None);
        stats.is_ok_and(|stats| stats.sum_sq_baseline <= 0.0 && stats.nan_baseline + stats.inf_baseline == 0)
    };
    let is_shared = |padding: &Padding| {
        paddings.iter().any(|other| {
            other.side != padding.side
                && other.name == padding.name
                && other.tensor.shape == padding.tensor.shape
                && compare_sample(&padding.tensor, &other.tensor, None).is_ok_and(|stats| stats.unequal == 0)
        })
    };
    paddings.iter().filter(|padding| !is_zero(&padding.tensor) && !is_shared(padding)).collect()
}

/// Whether a floating-point parameter differs between two checkpoints of one run; `None` where none could be compared.
/// Reading stops at the first one that differs; in a run that learns, that is usually the very first.
pub(crate) fn has_moved(pairs: &ParameterPairs<'_>) -> Option<bool> {
    let measurements = Measurements::default();
    let is_parameter = |dtypes: (Dtype, Dtype)| dtypes.0 == dtypes.1 && dtypes.0.is_float();
    let mut has_moved = None;
    for (name, before, after) in &pairs.matched {
        let (CheckpointParameter::Tensor(before), CheckpointParameter::Tensor(after)) = (before, after) else {
            continue;
        };
        if !is_parameter((before.dtype, after.dtype)) {
            continue;
        }
        let of = |tensor| quantised::QuantisedSide { tensor, scale: None };
        match tensors(name, of(before), of(after), &measurements) {
            ParameterOutcome::Compared { stats, .. } if stats.unequal > 0 => return Some(true),
            ParameterOutcome::Compared { .. } => has_moved = Some(false),
            _ => {}
        }
    }
    has_moved
}

fn tensors(
    name: &str,
    own: quantised::QuantisedSide<'_>,
    other: quantised::QuantisedSide<'_>,
    measurements: &Measurements,
) -> ParameterOutcome {
    let (baseline, candidate) = (own.tensor, other.tensor);
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
    let is_quantised = (own.is_quantised() || other.is_quantised()) && own.is_numeric() && other.is_numeric();
    let measured = || {
        if !is_quantised {
            let stats = compare_sample(baseline, candidate, measurements.sample())?;
            let is_trivial = is_trivial(baseline, &stats)?;
            return Ok((stats, is_trivial, None));
        }
        let stats = compare_sample(&own.numbers()?, &other.numbers()?, None)?;
        let (mut quantised, all) = quantised::measure_quantised(own, other, &stats)?;
        if quantised.beyond > 0 || quantised.rows > 0 {
            quantised.change = codes::codes_change(own, other, (&stats, all))?;
            quantised.scale = own.scale_agreement(other)?;
        }
        let is_trivial = is_trivial(baseline, &stats)?;
        Ok((stats, is_trivial, Some(quantised)))
    };
    let outcome = measurements.get_or_measure(&pair, || match measured() {
        Ok((stats, is_trivial, quantised)) => {
            let dtypes = (baseline.dtype, candidate.dtype);
            ParameterOutcome::Compared { dtypes, stats: Box::new(stats), is_trivial, quantised }
        }
        Err(error) => unread(baseline, &error),
    });
    if let Some(ParameterOutcome::Compared { stats, .. }) = &outcome {
        measurements.count_elements(stats.elements, candidate.elements());
    }
    outcome.unwrap_or(ParameterOutcome::LeftOut)
}

fn unread(baseline: &TensorData, error: &Error) -> ParameterOutcome {
    let side = if error.subject() == baseline.name() { Side::Baseline } else { Side::Candidate };
    ParameterOutcome::Unread(side, error.to_string())
}

/// Whether two tensors agree only because both hold zeros, or one number at every place. A single element that is not
/// zero is an ordinary value.
fn is_trivial(baseline: &TensorData, stats: &PairStats) -> Result<bool> {
    if stats.elements == 0 || stats.unequal > 0 || stats.nan_baseline + stats.inf_baseline > 0 {
        return Ok(false);
    }
    if stats.sum_sq_baseline <= 0.0 && stats.sum_sq_candidate <= 0.0 {
        return Ok(true);
    }
    if baseline.elements() < 2 { Ok(false) } else { is_one_number(baseline) }
}

/// Whether every element has the bits of the first. Reading ends at the first that differs.
fn is_one_number(tensor: &TensorData) -> Result<bool> {
    let size = tensor.dtype.size();
    let mut first = vec![0; size];
    tensor.read_block(0, &mut first)?;
    let block = (BLOCK / size).max(1) as u64;
    let mut bytes = Vec::new();
    let mut start = 0;
    while start < tensor.elements() {
        let count = block.min(tensor.elements() - start);
        bytes.resize(usize::try_from(count).unwrap_or(0) * size, 0);
        tensor.read_block(start, &mut bytes)?;
        if bytes.chunks_exact(size).any(|element| element != first) {
            return Ok(false);
        }
        start += count;
    }
    Ok(true)
}
