//! Pairing of checkpoints by place, and of their parameters by name.

mod aligned;
mod arranged;
mod assembled;
mod order;
mod quantised;
mod renamed;
mod spelling;

use std::collections::{BTreeMap, HashSet};

use super::parameter::{prefix_of, rewritten};
use crate::read::checkpoint::{Checkpoint, CheckpointParameter, CheckpointPlace, WeightScale};
use crate::verdict::{PerSide, Side};

pub use aligned::{AlignedCheckpoints, Padding};
pub(crate) use aligned::{align_checkpoints, untie_embeddings};
pub use arranged::ArrangedCheckpoints;
pub(crate) use arranged::arrange_checkpoints;
pub use assembled::Replica;
pub(crate) use order::checkpoints_by_step;
pub(crate) use quantised::take_scales;
pub use renamed::TensorNameRule;

/// Checkpoints of both sides, paired.
#[derive(Debug, Default)]
pub(crate) struct PairedCheckpoints<'a> {
    /// Baseline and candidate.
    pub matched: Vec<(&'a CheckpointPlace, &'a CheckpointPlace)>,
    /// Checkpoints without a partner, with the side that has none.
    pub missing: Vec<(&'a CheckpointPlace, Side)>,
}

/// Pairs checkpoints. A single one on each side is always a pair; others pair by path without the format's extensions, then
/// by folder where each side has one left there.
pub(crate) fn pair_checkpoints<'a>(
    baseline: &'a [CheckpointPlace],
    candidate: &'a [CheckpointPlace],
) -> PairedCheckpoints<'a> {
    if let ([b], [c]) = (baseline, candidate) {
        return PairedCheckpoints { matched: vec![(b, c)], missing: Vec::new() };
    }
    let (mut left, mut right): (Vec<_>, Vec<_>) = (baseline.iter().collect(), candidate.iter().collect());
    let mut matched = take_pairs(&mut left, &mut right, stem);
    matched.extend(take_pairs(&mut left, &mut right, folder));
    let missing = left.into_iter().map(|place| (place, Side::Candidate));
    let missing = missing.chain(right.into_iter().map(|place| (place, Side::Baseline))).collect();
    PairedCheckpoints { matched, missing }
}

/// Pairs the places whose key is unique on both sides, and removes them from the lists.
fn take_pairs<'a>(
    left: &mut Vec<&'a CheckpointPlace>,
    right: &mut Vec<&'a CheckpointPlace>,
    key: fn(&str) -> &str,
) -> Vec<(&'a CheckpointPlace, &'a CheckpointPlace)> {
    let unique = |places: &[&'a CheckpointPlace]| {
        let mut by_key: BTreeMap<&str, Vec<&'a CheckpointPlace>> = BTreeMap::new();
        places.iter().for_each(|place| by_key.entry(key(&place.path)).or_default().push(place));
        by_key
    };
    let right_by_key = unique(right);
    let mut pairs = Vec::new();
    for (key, places) in unique(left) {
        if let ([b], Some([c])) = (places.as_slice(), right_by_key.get(key).map(Vec::as_slice)) {
            pairs.push((*b, *c));
        }
    }
    left.retain(|place| !pairs.iter().any(|(b, _)| b.path == place.path));
    right.retain(|place| !pairs.iter().any(|(_, c)| c.path == place.path));
    pairs
}

/// The path without the endings that only tell the format.
fn stem(path: &str) -> &str {
    let path = path.strip_suffix(".index.json").unwrap_or(path);
    let endings = [".safetensors", ".pt", ".pth", ".bin", ".ckpt"];
    endings.iter().find_map(|ending| path.strip_suffix(ending)).unwrap_or(path)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Parameters of two checkpoints, paired.
#[derive(Debug, Default)]
pub struct ParameterPairs<'a> {
    /// The candidate's name with baseline and candidate, in order of the baseline's names.
    pub matched: Vec<(&'a str, &'a CheckpointParameter, &'a CheckpointParameter)>,
    /// Names that only the baseline has.
    pub only_baseline: Vec<&'a str>,
    /// Names that only the candidate has.
    pub only_candidate: Vec<&'a str>,
    /// Names on one side only that belong to states of random generators and data loaders.
    pub one_sided_states: Vec<&'a str>,
    /// Scales of quantised weights, by the candidate's name of the weight.
    pub scales: BTreeMap<&'a str, PerSide<Option<&'a WeightScale>>>,
}

/// Pairs by name, after prefixes are rewritten on both sides (`module.` to nothing).
pub(crate) fn pair_parameters<'a>(
    baseline: &'a Checkpoint,
    candidate: &'a Checkpoint,
    prefixes: &BTreeMap<String, String>,
) -> ParameterPairs<'a> {
    let mut by_name: BTreeMap<String, &str> = BTreeMap::new();
    for name in candidate.parameters.keys() {
        by_name.entry(rewritten(name, prefixes)).or_insert(name);
    }
    let mut pairs = ParameterPairs::default();
    for (name, parameter) in &baseline.parameters {
        let partner = by_name.remove(&rewritten(name, prefixes));
        match partner.and_then(|partner| Some((partner, candidate.parameters.get(partner)?))) {
            Some((partner, tensor)) => {
                pairs.matched.push((partner, parameter, tensor));
                let scales = PerSide { baseline: baseline.scales.get(name), candidate: candidate.scales.get(partner) };
                if scales.each().any(Option::is_some) {
                    pairs.scales.insert(partner, scales);
                }
            }
            None => pairs.only_baseline.push(name),
        }
    }
    let matched: HashSet<&str> = pairs.matched.iter().map(|(name, ..)| *name).collect();
    pairs.only_candidate =
        candidate.parameters.keys().map(String::as_str).filter(|name| !matched.contains(name)).collect();
    for (names, side) in [(&mut pairs.only_baseline, baseline), (&mut pairs.only_candidate, candidate)] {
        let is_state = |name: &&str| side.parameters.get(*name).is_some_and(|parameter| parameter.is_state(name));
        let (states, rest): (Vec<&str>, Vec<&str>) = names.iter().copied().partition(is_state);
        pairs.one_sided_states.extend(states);
        *names = rest;
    }
    pairs
}

impl ParameterPairs<'_> {
    /// A prefix that one side's left-over names carry and the other's do not, if it explains all of them.
    pub(crate) fn common_prefix(&self) -> Option<String> {
        prefix_of(&self.only_candidate, &self.only_baseline)
            .or_else(|| prefix_of(&self.only_baseline, &self.only_candidate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(paths: &[&str]) -> Vec<CheckpointPlace> {
        paths.iter().map(|path| CheckpointPlace::from_file((*path).to_owned())).collect()
    }

    #[test]
    fn places_pair_by_name_without_format_then_by_folder() {
        let baseline = places(&["a/model.safetensors", "b/pytorch_model.bin", "c/model.pt", "lost/x.pt"]);
        let candidate =
            places(&["a/model.safetensors.index.json", "b/model.safetensors", "c/model.pt", "c/optimizer.pt"]);
        let paired = pair_checkpoints(&baseline, &candidate);
        let paths: Vec<(&str, &str)> = paired.matched.iter().map(|(b, c)| (b.path.as_str(), c.path.as_str())).collect();
        let expected = [
            ("a/model.safetensors", "a/model.safetensors.index.json"),
            ("c/model.pt", "c/model.pt"),
            ("b/pytorch_model.bin", "b/model.safetensors"),
        ];
        assert_eq!(paths, expected);
        let missing: Vec<(&str, Side)> =
            paired.missing.iter().map(|(place, side)| (place.path.as_str(), *side)).collect();
        assert_eq!(missing, [("lost/x.pt", Side::Candidate), ("c/optimizer.pt", Side::Baseline)]);
    }

    #[test]
    fn one_on_each_side_is_a_pair_whatever_it_is_called() {
        assert_eq!(pair_checkpoints(&places(&["x.pt"]), &places(&["deep/y.safetensors"])).matched.len(), 1);
    }
}
