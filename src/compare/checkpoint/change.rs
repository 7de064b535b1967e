//! Causes of a tensor's difference that its elements show: the values belong to another tensor or to an earlier
//! iteration, are in another order, are scaled by a factor, or were rounded to fewer bits.
//!
//! A conversion of a checkpoint keeps values exact, so elements are compared to within 1e-6, or to within the rounding
//! of the coarser type.

use std::collections::{BTreeMap, BTreeSet};

use half::{bf16, f16};
use pulp::Arch;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::compare::convert;
use crate::compare::tensor::PairStats;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::read::tensor::TensorData;

/// Elements that are read at once.
const BLOCK: u64 = 64 << 10;
/// Number of elements after the first difference that another tensor has to match before it is read as a whole.
const WINDOW: u64 = 1 << 10;
/// Relative distance up to which elements of a conversion are equal: the rounding of float32 and a decimal more.
const EXACT: f64 = 1e-6;
/// One in this many differing elements is looked up in its file; even a part of a row has more elements than this.
const STRIDE: u64 = 7;
/// Most files that are named for one tensor.
const MOST_FILES: usize = 64;
/// Most roundings of the narrow type by which cutting off the lower bits changes a number.
const CUT_OFF: f64 = 4.0;
/// Most tensors whose difference is explained; a model that was trained differently differs everywhere, and the first
/// tensors show that.
const MOST: usize = 256;

/// Change of a tensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TensorChange {
    /// The last two axes are exchanged.
    Transposed,
    /// Differing elements are those of another tensor of the baseline.
    Swapped {
        /// Its name.
        with: String,
    },
    /// Differing elements are those of an earlier iteration.
    Stale {
        /// Its place.
        with: String,
    },
    /// The same elements, in another order, alone or over several tensors.
    Permuted {
        /// The tensors.
        over: Vec<String>,
    },
    /// Every element times one factor.
    Scaled {
        /// The factor.
        factor: f64,
    },
    /// Every element rounded to fewer bits.
    Rounded {
        /// The type that it was rounded to.
        to: Dtype,
    },
}

#[derive(Clone, Copy)]
pub(super) struct DifferingTensor<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// The tensor on the baseline.
    pub(super) baseline: &'a TensorData,
    /// The tensor on the candidate.
    pub(super) candidate: &'a TensorData,
    /// Numbers of the comparison; `None` where shapes differ.
    pub(super) stats: Option<&'a PairStats>,
}

/// Tensors that may explain a difference.
#[derive(Default)]
pub(super) struct Scope<'a> {
    /// Tensors of the baseline, and the candidate's of the same name.
    pub(super) pairs: BTreeMap<&'a str, (&'a TensorData, &'a TensorData)>,
    /// Earlier iterations: place, and tensors by name.
    pub(super) earlier: Vec<(&'a str, BTreeMap<&'a str, &'a TensorData>)>,
    /// Names that are parts of one fused tensor.
    pub(super) families: &'a [Vec<String>],
}

/// Result of looking for the cause of a difference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// Change that explains it, where one was found.
    pub change: Option<TensorChange>,
    /// Files of the candidate that hold differing elements.
    pub files: Vec<String>,
}

/// Explains the suspects, by name of the tensor. Files that can no longer be read explain nothing.
pub(super) fn explanations(suspects: &[DifferingTensor<'_>], scope: &Scope<'_>) -> BTreeMap<String, Explanation> {
    let looked = suspects.par_iter().with_max_len(1).take(MOST);
    let found = looked.filter_map(|suspect| Some((suspect.name.to_owned(), explanation(suspect, scope).ok()?)));
    found.collect()
}

fn explanation(suspect: &DifferingTensor<'_>, scope: &Scope<'_>) -> Result<Explanation> {
    let DifferingTensor { baseline, candidate, .. } = suspect;
    if !is_looked_at(baseline) || !is_looked_at(candidate) {
        return Ok(Explanation::default());
    }
    let is_turned = candidate.shape.len() == 2 && candidate.shape.iter().eq(baseline.shape.iter().rev());
    let Some(stats) = suspect.stats else {
        let is_transposed = is_turned && is_equal(&baseline.transposed()?, candidate)?;
        return Ok(Explanation { change: is_transposed.then_some(TensorChange::Transposed), files: Vec::new() });
    };
    let difference = Difference::between(baseline, candidate)?;
    let change = change(suspect, scope, stats, (&difference, is_turned))?;
    Ok(Explanation { change, files: difference.files })
}

fn change(
    suspect: &DifferingTensor<'_>,
    scope: &Scope<'_>,
    stats: &PairStats,
    (difference, is_turned): (&Difference, bool),
) -> Result<Option<TensorChange>> {
    let DifferingTensor { baseline, candidate, .. } = suspect;
    if is_turned && difference.is_explained_by(suspect, &baseline.transposed()?)? {
        return Ok(Some(TensorChange::Transposed));
    }
    for (name, (other, _)) in &scope.pairs {
        if *name != suspect.name && difference.is_explained_by(suspect, other)? {
            return Ok(Some(TensorChange::Swapped { with: (*name).to_owned() }));
        }
    }
    for (place, tensors) in scope.earlier.iter().rev() {
        if let Some(before) = tensors.get(suspect.name)
            && difference.is_explained_by(suspect, before)?
        {
            return Ok(Some(TensorChange::Stale { with: (*place).to_owned() }));
        }
    }
    if let Some(over) = permuted(suspect, scope)? {
        return Ok(Some(TensorChange::Permuted { over }));
    }
    Ok(scaled(suspect, stats).or_else(|| difference.rounded(candidate)))
}

fn is_looked_at(tensor: &TensorData) -> bool {
    tensor.dtype.is_float() && !tensor.dtype.is_complex() && tensor.elements() > 1
}

/// Relative distance up to which elements of two types are equal.
fn tolerance(one: Dtype, other: Dtype) -> f64 {
    EXACT.max(one.unit_roundoff()).max(other.unit_roundoff())
}

fn are_equal(one: f64, other: f64, tolerance: f64) -> bool {
    (one - other).abs() <= tolerance * one.abs().max(other.abs())
}

/// The values of `count` elements from `start` on.
fn values(tensor: &TensorData, start: u64, count: u64) -> Result<Vec<f64>> {
    let mut bytes = vec![0; usize::try_from(count).unwrap_or(0) * tensor.dtype.size()];
    tensor.read_block(start, &mut bytes)?;
    let mut values = Vec::new();
    convert::to_f64(Arch::new(), tensor.dtype, &bytes, false, &mut values);
    Ok(values)
}

/// Blocks of a tensor: first element and count.
fn blocks(elements: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..elements.div_ceil(BLOCK)).map(move |index| (index * BLOCK, BLOCK.min(elements - index * BLOCK)))
}

/// Whether two tensors hold the same elements in the same order.
fn is_equal(one: &TensorData, other: &TensorData) -> Result<bool> {
    let tolerance = tolerance(one.dtype, other.dtype);
    for (start, count) in blocks(one.elements()) {
        let (left, right) = (values(one, start, count)?, values(other, start, count)?);
        if left.iter().zip(&right).any(|(left, right)| !are_equal(*left, *right, tolerance)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Facts about how two tensors differ, from one pass over both.
struct Difference {
    /// First element that differs.
    first: u64,
    /// Whether at least two different values of the candidate differ; a single value is found in almost any tensor.
    is_telling: bool,
    /// Narrow types, each with whether every element of the candidate is the baseline's rounded to it.
    fits: [(Dtype, bool); 2],
    /// Files of the candidate that hold differing elements (a sample of them).
    files: Vec<String>,
}

impl Difference {
    fn between(baseline: &TensorData, candidate: &TensorData) -> Result<Self> {
        let tolerance = tolerance(baseline.dtype, candidate.dtype);
        let (mut first, mut seen, mut is_telling, mut differing) = (None, None, false, 0_u64);
        let mut files = BTreeSet::new();
        let mut fits = [(Dtype::BF16, true), (Dtype::F16, true)];
        for (start, count) in blocks(candidate.elements()) {
            let (before, after) = (values(baseline, start, count)?, values(candidate, start, count)?);
            for ((b, c), index) in before.iter().zip(&after).zip(start..) {
                for (dtype, fit) in &mut fits {
                    *fit = *fit && is_rounded(*b, *c, *dtype);
                }
                if !are_equal(*b, *c, tolerance) {
                    first.get_or_insert(index);
                    let seen = *seen.get_or_insert(*c);
                    is_telling = is_telling || !are_equal(seen, *c, tolerance);
                    if differing.is_multiple_of(STRIDE) && files.len() < MOST_FILES {
                        files.insert(candidate.file_name_at(index).to_owned());
                    }
                    differing += 1;
                }
            }
        }
        Ok(Self { first: first.unwrap_or(0), is_telling, fits, files: files.into_iter().collect() })
    }

    /// Whether every element that differs from the baseline is that of `other`.
    fn is_explained_by(&self, suspect: &DifferingTensor<'_>, other: &TensorData) -> Result<bool> {
        if !self.is_telling || other.shape != suspect.candidate.shape || !is_looked_at(other) {
            return Ok(false);
        }
        let elements = other.elements();
        let window = (self.first, WINDOW.min(elements - self.first));
        if !agrees_where_it_differs(suspect, other, window)? {
            return Ok(false);
        }
        for block in blocks(elements) {
            if !agrees_where_it_differs(suspect, other, block)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The type that the candidate was rounded to.
    fn rounded(&self, candidate: &TensorData) -> Option<TensorChange> {
        let narrower = |dtype: Dtype| dtype.unit_roundoff() > candidate.dtype.unit_roundoff();
        let fit = self.fits.iter().find(|(dtype, fits)| *fits && narrower(*dtype))?;
        Some(TensorChange::Rounded { to: fit.0 })
    }
}

/// Whether `other` holds, in a range, the candidate's elements where they differ from the baseline's.
fn agrees_where_it_differs(
    suspect: &DifferingTensor<'_>,
    other: &TensorData,
    (start, count): (u64, u64),
) -> Result<bool> {
    let DifferingTensor { baseline, candidate, .. } = suspect;
    let own_tolerance = tolerance(baseline.dtype, candidate.dtype);
    let other_tolerance = tolerance(other.dtype, candidate.dtype);
    let (b, c, o) = (values(baseline, start, count)?, values(candidate, start, count)?, values(other, start, count)?);
    let mut places = b.iter().zip(&c).zip(&o);
    Ok(places.all(|((b, c), o)| are_equal(*b, *c, own_tolerance) || are_equal(*c, *o, other_tolerance)))
}

/// Whether `to` is `from` in the bits of `dtype`, rounded or cut off.
fn is_rounded(from: f64, to: f64, dtype: Dtype) -> bool {
    let (own, smallest) = match dtype {
        Dtype::BF16 => (bf16::from_f64(to).to_f64(), 0.0),
        // Numbers below the smallest normal one lose more bits.
        _ => (f16::from_f64(to).to_f64(), 6e-8),
    };
    let is_own = own.to_bits() == to.to_bits();
    is_own && (to - from).abs() <= CUT_OFF * dtype.unit_roundoff() * from.abs() + smallest
}

/// The factor that all elements were multiplied by.
fn scaled(suspect: &DifferingTensor<'_>, stats: &PairStats) -> Option<TensorChange> {
    let (b, c) = (stats.sum_sq_baseline, stats.sum_sq_candidate);
    if b <= 0.0 || c <= 0.0 || stats.nan_candidate + stats.inf_candidate + stats.nan_baseline + stats.inf_baseline > 0 {
        return None;
    }
    let factor = stats.dot / b;
    let tolerance = tolerance(suspect.baseline.dtype, suspect.candidate.dtype);
    // Σ (c − f·b)², from the sums that were measured already.
    let residual = c - stats.dot * factor;
    let is_scaled = residual <= tolerance * tolerance * c && (factor - 1.0).abs() > tolerance;
    is_scaled.then_some(TensorChange::Scaled { factor })
}

/// Tensors within which the candidate's elements are the baseline's in another order: the tensor alone, or all parts of
/// a fused one.
fn permuted(suspect: &DifferingTensor<'_>, scope: &Scope<'_>) -> Result<Option<Vec<String>>> {
    let dtype = coarser(suspect.baseline.dtype, suspect.candidate.dtype);
    if contents(suspect.baseline, dtype)? == contents(suspect.candidate, dtype)? {
        return Ok(Some(vec![suspect.name.to_owned()]));
    }
    let Some(family) = scope.families.iter().find(|family| family.iter().any(|name| name == suspect.name)) else {
        return Ok(None);
    };
    let (mut before, mut after) = (0_u64, 0_u64);
    for name in family {
        let Some((b, c)) = scope.pairs.get(name.as_str()) else { return Ok(None) };
        before = before.wrapping_add(contents(b, dtype)?);
        after = after.wrapping_add(contents(c, dtype)?);
    }
    Ok((before == after).then(|| family.clone()))
}

fn coarser(one: Dtype, other: Dtype) -> Dtype {
    if one.unit_roundoff() >= other.unit_roundoff() { one } else { other }
}

/// Hash of a tensor's elements in the bits of `dtype`, independent of their order.
fn contents(tensor: &TensorData, dtype: Dtype) -> Result<u64> {
    let mut sum = 0_u64;
    for (start, count) in blocks(tensor.elements()) {
        for value in values(tensor, start, count)? {
            let bits = match dtype {
                Dtype::BF16 => bf16::from_f64(value).to_f64(),
                Dtype::F16 => f16::from_f64(value).to_f64(),
                #[allow(clippy::cast_possible_truncation, reason = "elements are held against each other in float32")]
                _ => f64::from(value as f32),
            };
            // Zeros of either sign count as equal.
            sum = sum.wrapping_add(mixed((bits + 0.0).to_bits()));
        }
    }
    Ok(sum)
}

/// Spreads the bits of a number over all of them, as in SplitMix64.
fn mixed(bits: u64) -> u64 {
    let mut mixed = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::compare::tensor::compare;
    use crate::fetch::MemorySource;
    use crate::read::tensor::{ByteOrder, ElementPlacement};

    fn tensor(shape: &[u64], values: &[f32]) -> TensorData {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let placement =
            ElementPlacement { offset: 0, len: bytes.len() as u64, strides: None, order: ByteOrder::Little };
        TensorData::new(Arc::new(MemorySource::new("t", bytes)), Dtype::F32, shape.to_vec(), placement)
            .expect("a tensor")
    }

    /// Numbers without a pattern.
    fn numbers(seed: u32, count: u32) -> Vec<f32> {
        (0..count).map(|at| ((at * 37 + seed * 11) % 101) as f32 * 0.013 + seed as f32 * 0.001 - 0.6).collect()
    }

    fn found(
        before: &TensorData,
        after: &TensorData,
        others: &[(&str, &TensorData)],
        earlier: &TensorData,
    ) -> Option<TensorChange> {
        let stats = (before.shape == after.shape).then(|| compare(before, after).expect("compared"));
        let suspect = DifferingTensor { name: "own", baseline: before, candidate: after, stats: stats.as_ref() };
        let mut pairs: BTreeMap<&str, (&TensorData, &TensorData)> =
            others.iter().map(|(name, other)| (*name, (*other, *other))).collect();
        pairs.insert("own", (before, after));
        let scope = Scope { pairs, earlier: vec![("iter_5", BTreeMap::from([("own", earlier)]))], families: &[] };
        explanations(&[suspect], &scope).remove("own")?.change
    }

    #[test]
    fn each_change_is_told_by_the_elements() {
        let (own, other, before) = (numbers(1, 16), numbers(2, 16), numbers(3, 16));
        let whole = |values: &[f32]| tensor(&[4, 4], values);
        let seen = |values: &[f32]| found(&whole(&own), &whole(values), &[("other", &whole(&other))], &whole(&before));
        let turned: Vec<f32> = (0..16).map(|at| own[at % 4 * 4 + at / 4]).collect();
        let half = |second: &[f32]| [&own[..8], &second[8..]].concat();
        let reversed: Vec<f32> = own.iter().rev().copied().collect();
        let scaled: Vec<f32> = own.iter().map(|value| value * 4.0).collect();
        let rounded: Vec<f32> = own.iter().map(|value| bf16::from_f32(*value).to_f32()).collect();
        let halves: Vec<f32> = own.iter().map(|value| f16::from_f32(*value).to_f32()).collect();
        let moved: Vec<f32> = own.iter().zip(&other).map(|(own, other)| own + other * 0.3).collect();
        assert_eq!(seen(&turned), Some(TensorChange::Transposed));
        assert_eq!(seen(&other), Some(TensorChange::Swapped { with: "other".into() }));
        assert_eq!(seen(&half(&other)), Some(TensorChange::Swapped { with: "other".into() }));
        assert_eq!(seen(&half(&before)), Some(TensorChange::Stale { with: "iter_5".into() }));
        assert_eq!(seen(&reversed), Some(TensorChange::Permuted { over: vec!["own".into()] }));
        assert!(matches!(seen(&scaled), Some(TensorChange::Scaled { factor }) if (factor - 4.0).abs() < 1e-6));
        assert_eq!(seen(&rounded), Some(TensorChange::Rounded { to: Dtype::BF16 }));
        assert_eq!(seen(&halves), Some(TensorChange::Rounded { to: Dtype::F16 }));
        assert_eq!(seen(&moved), None);
    }

    #[test]
    fn one_number_that_another_tensor_holds_too_tells_nothing() {
        let own = numbers(1, 16);
        let mut one = own.clone();
        one[3] = 0.5;
        let other = tensor(&[16], &[0.5; 16]);
        let before = tensor(&[16], &own);
        assert_eq!(found(&before, &tensor(&[16], &one), &[("other", &other)], &before), None);
    }

    #[test]
    fn a_transposed_tensor_of_another_shape_is_told() {
        let own = numbers(1, 6);
        let turned: Vec<f32> = (0..6).map(|at| own[at % 2 * 3 + at / 2]).collect();
        let before = tensor(&[2, 3], &own);
        let change = found(&before, &tensor(&[3, 2], &turned), &[], &before);
        assert_eq!(change, Some(TensorChange::Transposed));
    }

    #[test]
    fn parts_of_a_fused_tensor_are_permuted_together() {
        let (query, key) = (numbers(1, 8), numbers(2, 8));
        let (first, second) = ([&query[..4], &key[4..]].concat(), [&key[..4], &query[4..]].concat());
        let [before, after] = [[&query, &key], [&first, &second]].map(|parts| parts.map(|part| tensor(&[8], part)));
        let pairs = BTreeMap::from([("q", (&before[0], &after[0])), ("k", (&before[1], &after[1]))]);
        let stats = compare(&before[0], &after[0]).expect("compared");
        let suspect = DifferingTensor { name: "q", baseline: &before[0], candidate: &after[0], stats: Some(&stats) };
        let families = [vec!["q".to_owned(), "k".to_owned()]];
        // Half of it is that of the other part, which is the closer cause.
        let found = explanation(&suspect, &Scope { pairs, earlier: Vec::new(), families: &families }).expect("read");
        assert_eq!(found.change, Some(TensorChange::Swapped { with: "k".into() }));
        assert_eq!(found.files, ["t"]);
        assert_eq!(
            permuted(
                &suspect,
                &Scope {
                    pairs: BTreeMap::from([("q", (&before[0], &after[0])), ("k", (&before[1], &after[1]))]),
                    earlier: Vec::new(),
                    families: &families
                }
            )
            .expect("read"),
            Some(families[0].clone())
        );
    }
}
