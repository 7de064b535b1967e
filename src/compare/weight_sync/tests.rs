use std::sync::Arc;

use super::*;
use crate::fetch::MemorySource;
use crate::read::tensor::{ByteOrder, ElementPlacement};

fn tensor(dtype: Dtype, shape: &[u64], bytes: Vec<u8>) -> CheckpointParameter {
    let placement = ElementPlacement { offset: 0, len: bytes.len() as u64, strides: None, order: ByteOrder::Little };
    let source = Arc::new(MemorySource::new("t", bytes));
    CheckpointParameter::Tensor(TensorData::new(source, dtype, shape.to_vec(), placement).expect("a tensor"))
}

fn floats(shape: &[u64], values: &[f32]) -> CheckpointParameter {
    tensor(Dtype::F32, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

/// Numbers without a pattern.
fn numbers(seed: u32, count: u32) -> Vec<f32> {
    (0..count).map(|at| ((at * 37 + seed * 11) % 101) as f32 * 0.013 + seed as f32 * 0.001 - 0.6).collect()
}

fn outcomes(
    pairs: &[(&str, &CheckpointParameter, &CheckpointParameter)],
    earlier: impl Fn() -> Vec<EarlierStep>,
) -> Vec<SyncOutcome> {
    let pairs: Vec<SyncPair<'_>> = pairs.iter().map(|(name, from, to)| SyncPair { name, from, to }).collect();
    sync_tensors(&pairs, &earlier, &|| {}).into_iter().map(|one| one.outcome).collect()
}

fn outcome(name: &str, from: &CheckpointParameter, to: &CheckpointParameter) -> SyncOutcome {
    outcomes(&[(name, from, to)], Vec::new).remove(0)
}

fn change(from: &CheckpointParameter, to: &CheckpointParameter) -> SyncChange {
    match outcome("w", from, to) {
        SyncOutcome::Wrong(change) => change,
        other => panic!("{other:?}"),
    }
}

#[test]
fn equal_bits_agree_and_one_number_throughout_says_nothing() {
    let (some, ones) = (floats(&[4, 4], &numbers(1, 16)), floats(&[4], &[1.0; 4]));
    assert_eq!(outcome("w", &some, &some), SyncOutcome::Equal { is_trivial: false });
    assert_eq!(outcome("w", &ones, &ones), SyncOutcome::Equal { is_trivial: true });
}

#[test]
fn a_rounding_is_a_cast_and_cutting_bits_off_is_none() {
    let values = numbers(1, 16);
    let from = floats(&[4, 4], &values);
    let as_bf16 = |bits: &dyn Fn(f32) -> u16| {
        tensor(Dtype::BF16, &[4, 4], values.iter().flat_map(|value| bits(*value).to_le_bytes()).collect())
    };
    let rounded = as_bf16(&|value| half::bf16::from_f32(value).to_bits());
    assert!(matches!(outcome("w", &from, &rounded), SyncOutcome::Cast { .. }));
    assert!(matches!(outcome("w", &rounded, &rounded), SyncOutcome::Equal { .. }));
    let cut = as_bf16(&|value| (value.to_bits() >> 16) as u16);
    assert!(matches!(outcome("w", &from, &cut), SyncOutcome::Wrong(_)));
    let quantised = tensor(Dtype::I8, &[4, 4], vec![1; 16]);
    assert!(matches!(outcome("w", &from, &quantised), SyncOutcome::Incomparable { .. }));
}

#[test]
fn rows_tell_what_became_of_a_tensor() {
    let values = numbers(1, 64);
    let from = floats(&[8, 8], &values);
    let changed = |change: &dyn Fn(&mut Vec<f32>)| {
        let mut values = values.clone();
        change(&mut values);
        floats(&[8, 8], &values)
    };
    let rotated = changed(&|values| values.rotate_left(8));
    assert_eq!(change(&from, &rotated), SyncChange::Reordered);
    let columns = changed(&|values| values.chunks_mut(8).for_each(|row| row.rotate_left(2)));
    assert_eq!(change(&from, &columns), SyncChange::Reordered);
    let part = changed(&|values| values[16..40].iter_mut().for_each(|value| *value += 0.01));
    assert_eq!(change(&from, &part), SyncChange::Partial { rows: [2, 5], count: 3 });
    assert_eq!(change(&from, &floats(&[8, 8], &[0.0; 64])), SyncChange::Unlike);
    let broken = changed(&|values| values[3] = f32::NAN);
    assert_eq!(change(&from, &broken), SyncChange::NonFinite { count: 1 });
    assert_eq!(change(&broken, &broken), SyncChange::NonFinite { count: 1 });
    let infinite = changed(&|values| values[3] = f32::INFINITY);
    assert_eq!(change(&from, &infinite), SyncChange::NonFinite { count: 1 });
    assert!(matches!(outcome("mask", &infinite, &infinite), SyncOutcome::Equal { .. }));
    let all = changed(&|values| values.iter_mut().for_each(|value| *value += 0.01));
    assert_eq!(change(&from, &all), SyncChange::Other);
    assert!(matches!(change(&from, &floats(&[4, 16], &values)), SyncChange::Shapes { .. }));
}

#[test]
fn a_vector_is_in_part_where_a_block_of_it_is() {
    let values = numbers(1, 40);
    let mut half = values.clone();
    half[20..].iter_mut().for_each(|value| *value += 0.01);
    let from = floats(&[40], &values);
    assert_eq!(change(&from, &floats(&[40], &half)), SyncChange::Partial { rows: [20, 40], count: 20 });
    let mut scattered = values;
    scattered.iter_mut().step_by(3).for_each(|value| *value += 0.01);
    assert_eq!(change(&from, &floats(&[40], &scattered)), SyncChange::Other);
}

#[test]
fn rows_of_zeros_behind_a_vocabulary_are_padding() {
    let values = numbers(1, 16);
    let mut padded = values.clone();
    padded.extend([0.0; 8]);
    let (short, long) = (floats(&[4, 4], &values), floats(&[6, 4], &padded));
    assert_eq!(outcome("model.embed_tokens.weight", &short, &long), SyncOutcome::Padded { rows: 2 });
    assert_eq!(outcome("lm_head.weight", &long, &short), SyncOutcome::Padded { rows: 2 });
    assert!(matches!(outcome("q_proj.weight", &short, &long), SyncOutcome::Wrong(SyncChange::Shapes { .. })));
    padded[20] = 1.0;
    let used = floats(&[6, 4], &padded);
    assert!(matches!(outcome("lm_head.weight", &short, &used), SyncOutcome::Wrong(SyncChange::Shapes { .. })));
}

#[test]
fn tensors_under_other_names_are_swapped_or_copied() {
    let [a, b, c] = [1, 2, 3].map(|seed| floats(&[4, 4], &numbers(seed, 16)));
    let wrong = |pairs: &[(&str, &CheckpointParameter, &CheckpointParameter)]| outcomes(pairs, Vec::new);
    let swapped = |with: &str| SyncOutcome::Wrong(SyncChange::Swapped { with: with.into() });
    assert_eq!(wrong(&[("a", &a, &b), ("b", &b, &a)]), [swapped("b"), swapped("a")]);
    assert_eq!(wrong(&[("a", &a, &b), ("b", &b, &c), ("c", &c, &a)]), [swapped("b"), swapped("c"), swapped("a")]);
    let copied = SyncOutcome::Wrong(SyncChange::Copied { of: "a".into() });
    assert_eq!(wrong(&[("a", &a, &a), ("b", &b, &a)])[1], copied);
    // Ones stand under many names.
    let ones = floats(&[4, 4], &[1.0; 16]);
    assert!(matches!(&wrong(&[("a", &a, &ones), ("n", &ones, &ones)])[0], SyncOutcome::Wrong(change)
        if !matches!(change, SyncChange::Copied { .. } | SyncChange::Swapped { .. })));
}

#[test]
fn a_tensor_of_an_earlier_step_is_stale_by_the_nearest() {
    let [old, older, new] = [1, 2, 3].map(|seed| floats(&[4, 4], &numbers(seed, 16)));
    let step = |step, seed| (step, BTreeMap::from([("w".to_owned(), floats(&[4, 4], &numbers(seed, 16)))]));
    let found =
        |to: &CheckpointParameter| outcomes(&[("w", &new, to)], || vec![step(4, 1), step(3, 1), step(2, 2)]).remove(0);
    assert_eq!(found(&old), SyncOutcome::Wrong(SyncChange::Stale { step: 4 }));
    assert_eq!(found(&older), SyncOutcome::Wrong(SyncChange::Stale { step: 2 }));
    assert!(matches!(found(&new), SyncOutcome::Equal { .. }));
}
