//! Two checkpoints to numbers, parameter by parameter, in parallel.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::measurements::{Measurements, PairName};
use super::tensor::{PairStats, compare_some};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::pair::checkpoint::ParameterPairs;
use crate::read::checkpoint::Parameter;
use crate::read::tensor::TensorData;
use crate::verdict::Side;

/// Bytes that are read at once to see whether a tensor holds one number throughout; mostly the first few tell.
const BLOCK: usize = 16 << 10;

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
        /// Whether both sides hold nothing but zeros, or one number throughout: their agreement says nothing.
        #[serde(default)]
        is_trivial: bool,
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

/// Whether a floating-point parameter differs between two checkpoints of one run; `None` where none could be compared. Reads until the
/// first that does, which in a run that learns is the first of all.
pub fn has_moved(pairs: &ParameterPairs<'_>) -> Option<bool> {
    let measurements = Measurements::default();
    let is_parameter = |dtypes: (Dtype, Dtype)| dtypes.0 == dtypes.1 && dtypes.0.is_float();
    let mut has_moved = None;
    for (name, before, after) in &pairs.matched {
        let (Parameter::Tensor(before), Parameter::Tensor(after)) = (before, after) else { continue };
        if !is_parameter((before.dtype, after.dtype)) {
            continue;
        }
        match tensors(name, before, after, &measurements) {
            ParameterOutcome::Compared { stats, .. } if stats.unequal > 0 => return Some(true),
            ParameterOutcome::Compared { .. } => has_moved = Some(false),
            _ => {}
        }
    }
    has_moved
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
    let measured = || {
        let stats = compare_some(baseline, candidate, measurements.sample())?;
        let is_trivial = is_trivial(baseline, &stats)?;
        Ok((stats, is_trivial))
    };
    let outcome = measurements.ask(&pair, || match measured() {
        Ok((stats, is_trivial)) => {
            let dtypes = (baseline.dtype, candidate.dtype);
            ParameterOutcome::Compared { dtypes, stats: Box::new(stats), is_trivial }
        }
        Err(error) => unread(baseline, &error),
    });
    if let Some(ParameterOutcome::Compared { stats, .. }) = &outcome {
        measurements.count(stats.elements, candidate.elements());
    }
    outcome.unwrap_or(ParameterOutcome::LeftOut)
}

fn unread(baseline: &TensorData, error: &Error) -> ParameterOutcome {
    let side = if error.subject() == baseline.name() { Side::Baseline } else { Side::Candidate };
    ParameterOutcome::Unread(side, error.to_string())
}

/// Whether two tensors agree by holding zeros alone, or one number at every place. One element alone that is not zero is a
/// value as any other.
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
