//! Bringing two checkpoints under common names: prefixes are removed, the policy's names applied, the pieces of ranks joined,
//! fused tensors split, padded vocabularies cut, and the output layer of tied embeddings compared with the embedding.

use std::collections::{BTreeMap, BTreeSet};

use super::assembled::{AssembledTensors, Replica, assemble_tensors};
use super::renamed::{TensorNameRule, renamed};
use super::spelling::Spelling;
use crate::read::checkpoint::{Checkpoint, CheckpointParameter};
use crate::read::tensor::TensorData;
use crate::verdict::{PerSide, Side};

/// Two checkpoints whose tensors are whole and called alike.
#[derive(Debug, Default)]
pub struct AlignedCheckpoints {
    /// The checkpoints.
    pub checkpoints: PerSide<Checkpoint>,
    /// Copies inside of a run that have to be equal.
    pub replicas: Vec<Replica>,
    /// Rows beyond the vocabulary.
    pub paddings: Vec<Padding>,
    /// Names that are parts of one fused tensor.
    pub families: Vec<Vec<String>>,
    /// Lines of the policy's mapping that fitted no tensor.
    pub unused: Vec<String>,
    /// Tensors of the optimizer that only one side has, or that are not read.
    pub unread_states: PerSide<u64>,
}

/// Rows of an embedding, or of the output layer, that no token uses.
#[derive(Debug)]
pub struct Padding {
    /// The run.
    pub side: Side,
    /// Name of the tensor.
    pub name: String,
    /// Its rows beyond the vocabulary.
    pub tensor: TensorData,
}

/// Brings two checkpoints under common names.
pub(crate) fn align_checkpoints(
    baseline: Checkpoint,
    candidate: Checkpoint,
    rules: &[TensorNameRule],
) -> AlignedCheckpoints {
    let mut aligned =
        AlignedCheckpoints { checkpoints: PerSide { baseline, candidate }, ..AlignedCheckpoints::default() };
    aligned.unread_states = PerSide::of(|side| aligned.checkpoints[side].unread_states);
    aligned.without_prefixes();
    if !rules.is_empty() {
        let own = std::mem::take(&mut aligned.checkpoints.baseline.parameters);
        (aligned.checkpoints.baseline.parameters, aligned.unused) = renamed(own, rules);
    }
    if let Some(spelling) = aligned.spelling() {
        aligned.assemble(spelling);
        aligned.cut_vocabulary();
        aligned.untie();
    }
    aligned.drop_one_sided_moments();
    aligned
}

/// Handles tied embeddings where a configuration declares them: a side that stores both tensors holds copies, and a copy that
/// the other side lacks does not count as missing. Without such a configuration both checkpoints stay as they are.
pub(crate) fn untie_embeddings(baseline: Checkpoint, candidate: Checkpoint) -> (PerSide<Checkpoint>, Vec<Replica>) {
    let mut aligned =
        AlignedCheckpoints { checkpoints: PerSide { baseline, candidate }, ..AlignedCheckpoints::default() };
    if aligned.checkpoints.each().any(|side| side.facts.is_tied == Some(true)) {
        aligned.untie();
    }
    (aligned.checkpoints, aligned.replicas)
}

impl AlignedCheckpoints {
    /// Removes the prefix that all names of a side share, where the names of both sides then agree better.
    fn without_prefixes(&mut self) {
        for is_moment in [false, true] {
            let names = PerSide::of(|side| names_of(&self.checkpoints[side], is_moment));
            let taken = better_prefixes(&names.baseline, &names.candidate);
            for side in [Side::Baseline, Side::Candidate] {
                take_off(&mut self.checkpoints[side], &taken[side], is_moment);
            }
        }
    }

    /// The spelling to compare under; `None` where no side has names of Megatron.
    fn spelling(&self) -> Option<Spelling> {
        let any = |fits: fn(&str, &CheckpointParameter) -> bool| {
            self.checkpoints.each().any(|side| side.parameters.iter().any(|(name, parameter)| fits(name, parameter)))
        };
        let is_megatron = |name: &str, parameter: &CheckpointParameter| {
            matches!(parameter, CheckpointParameter::Pieces(_))
                || (name.starts_with("decoder.layers.") && name.contains(".linear_"))
        };
        if !any(is_megatron) {
            return None;
        }
        let is_hugging_face = any(|name, _| name.contains(".self_attn."));
        let is_mixtral = any(|name, _| name.contains(".block_sparse_moe."));
        Some(if is_hugging_face { Spelling::HuggingFace { is_mixtral } } else { Spelling::Megatron })
    }

    fn assemble(&mut self, spelling: Spelling) {
        let PerSide { baseline, candidate } = &self.checkpoints;
        let facts =
            PerSide { baseline: baseline.facts.or(&candidate.facts), candidate: candidate.facts.or(&baseline.facts) };
        for side in [Side::Baseline, Side::Candidate] {
            let own = std::mem::take(&mut self.checkpoints[side].parameters);
            let AssembledTensors { parameters, replicas, families } =
                assemble_tensors(side, own, &facts[side], spelling);
            self.checkpoints[side].parameters = parameters;
            self.replicas.extend(replicas);
            for family in families {
                if !self.families.contains(&family) {
                    self.families.push(family);
                }
            }
        }
    }

    /// Cuts embedding and output layer to the size of the vocabulary: that of a configuration, else the smaller number of rows.
    fn cut_vocabulary(&mut self) {
        let known = self.checkpoints.each().filter_map(|side| side.facts.vocabulary).min();
        let names: Vec<String> =
            self.checkpoints.baseline.parameters.keys().filter(|name| has_vocabulary(name)).cloned().collect();
        for name in names {
            let rows = PerSide::of(|side| match self.checkpoints[side].parameters.get(&name) {
                Some(CheckpointParameter::Tensor(tensor)) => tensor.shape.first().copied(),
                _ => None,
            });
            let (Some(b), Some(c)) = (rows.baseline, rows.candidate) else { continue };
            let fewer = b.min(c);
            let vocabulary = match known {
                // A side with fewer rows than the vocabulary is reported by its shape.
                Some(known) if known > fewer => continue,
                Some(known) => known,
                None => fewer,
            };
            for side in [Side::Baseline, Side::Candidate] {
                self.cut_rows(side, &name, vocabulary);
            }
        }
    }

    fn cut_rows(&mut self, side: Side, name: &str, vocabulary: u64) {
        let Some(CheckpointParameter::Tensor(tensor)) = self.checkpoints[side].parameters.get_mut(name) else { return };
        let rows = tensor.shape.first().copied().unwrap_or(0);
        if rows <= vocabulary {
            return;
        }
        let cut = tensor.narrowed(0, 0, vocabulary);
        let beyond = tensor.narrowed(0, vocabulary, rows - vocabulary);
        if let (Ok(cut), Ok(beyond)) = (cut, beyond) {
            *tensor = cut;
            self.paddings.push(Padding { side, name: name.to_owned(), tensor: beyond });
        }
    }

    /// Treats an output layer that only one side stores as a copy of the embedding, unless the other side's configuration denies
    /// tied embeddings.
    fn untie(&mut self) {
        for (embedding, output) in [
            ("model.embed_tokens.weight", "lm_head.weight"),
            ("embedding.word_embeddings.weight", "output_layer.weight"),
        ] {
            for side in [Side::Baseline, Side::Candidate] {
                let other = &self.checkpoints[side.other()];
                let is_other_tied = !other.parameters.contains_key(output)
                    && other.parameters.contains_key(embedding)
                    && other.facts.is_tied != Some(false);
                let own = &mut self.checkpoints[side];
                let are_both_there = own.parameters.contains_key(embedding) && own.parameters.contains_key(output);
                if !are_both_there || !(is_other_tied || own.facts.is_tied == Some(true)) {
                    continue;
                }
                if let (Some(CheckpointParameter::Tensor(first)), Some(CheckpointParameter::Tensor(copy))) =
                    (own.parameters.get(embedding), own.parameters.get(output))
                {
                    self.replicas.push(Replica {
                        side,
                        name: output.to_owned(),
                        holders: [embedding.to_owned(), output.to_owned()],
                        copies: [first.new_handle(), copy.new_handle()],
                    });
                    if is_other_tied {
                        own.parameters.remove(output);
                    }
                }
            }
        }
    }

    /// Removes optimizer moments that only one side stores, and counts them: a converted model has none.
    fn drop_one_sided_moments(&mut self) {
        let has = PerSide::of(|side| self.checkpoints[side].parameters.keys().any(|name| name.contains('@')));
        for side in [Side::Baseline, Side::Candidate] {
            if has[side] && !has[side.other()] {
                let all = &mut self.checkpoints[side].parameters;
                let before = all.len();
                all.retain(|name, _| !name.contains('@'));
                self.unread_states[side] += (before - all.len()) as u64;
            }
        }
    }
}

/// Whether a tensor has a row for each token.
fn has_vocabulary(name: &str) -> bool {
    let weight = name.split('@').next().unwrap_or(name);
    matches!(
        weight,
        "model.embed_tokens.weight" | "lm_head.weight" | "embedding.word_embeddings.weight" | "output_layer.weight"
    )
}

fn names_of(checkpoint: &Checkpoint, is_moment: bool) -> Vec<String> {
    checkpoint.parameters.keys().filter(|name| name.contains('@') == is_moment).cloned().collect()
}

/// The prefixes of both sides whose removal makes most names common, and then most names known ones.
fn better_prefixes(baseline: &[String], candidate: &[String]) -> PerSide<String> {
    let (baseline_prefixes, candidate_prefixes) = (prefixes(baseline), prefixes(candidate));
    let mut best = ((0, 0), PerSide::default());
    for own in &baseline_prefixes {
        for other in &candidate_prefixes {
            let left = without(baseline, own);
            let right = without(candidate, other);
            let common = left.intersection(&right).count();
            let known = left.iter().chain(&right).filter(|name| is_known(name)).count();
            if (common, known) > best.0 {
                best = ((common, known), PerSide { baseline: own.clone(), candidate: other.clone() });
            }
        }
    }
    best.1
}

/// Prefixes up to a dot that all names share, the shortest first, beginning with the empty one.
fn prefixes(names: &[String]) -> Vec<String> {
    let mut prefixes = vec![String::new()];
    let Some(first) = names.first() else { return prefixes };
    for (end, _) in first.match_indices('.').take(4) {
        let Some(prefix) = first.get(..=end) else { break };
        if !names.iter().all(|name| name.starts_with(prefix)) {
            break;
        }
        prefixes.push(prefix.to_owned());
    }
    prefixes
}

fn without<'a>(names: &'a [String], prefix: &str) -> BTreeSet<&'a str> {
    names.iter().filter_map(|name| name.strip_prefix(prefix)).collect()
}

/// Whether a name begins as names of a model without any wrapper do.
fn is_known(name: &str) -> bool {
    const BEGINNINGS: [&str; 7] =
        ["model.layers.", "model.embed_tokens.", "model.norm.", "lm_head.", "decoder.", "embedding.", "output_layer."];
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

fn take_off(checkpoint: &mut Checkpoint, prefix: &str, is_moment: bool) {
    if prefix.is_empty() {
        return;
    }
    let named = |(name, parameter): (String, CheckpointParameter)| {
        let is_meant = name.contains('@') == is_moment;
        let short = name.strip_prefix(prefix).filter(|_| is_meant).map(str::to_owned);
        (short.unwrap_or(name), parameter)
    };
    let all = std::mem::take(&mut checkpoint.parameters);
    checkpoint.parameters = all.into_iter().map(named).collect::<BTreeMap<_, _>>();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(names: &[&str]) -> Checkpoint {
        let unread = |name: &&str| ((*name).to_owned(), CheckpointParameter::Unread("x".into()));
        Checkpoint { parameters: names.iter().map(unread).collect(), ..Checkpoint::default() }
    }

    fn names(checkpoint: &Checkpoint) -> Vec<&str> {
        checkpoint.parameters.keys().map(String::as_str).collect()
    }

    #[test]
    fn a_prefix_that_all_names_share_is_taken_off_where_names_then_fit() {
        let plain = ["lm_head.weight", "model.embed_tokens.weight"];
        let both = align_checkpoints(
            checkpoint(&plain),
            checkpoint(&["model.lm_head.weight", "model.model.embed_tokens.weight"]),
            &[],
        );
        assert_eq!(names(&both.checkpoints.candidate), plain);
        // Without an output layer all names of a model begin alike, and the prefix is their own.
        let tied = ["model.embed_tokens.weight", "model.norm.weight"];
        let both = align_checkpoints(checkpoint(&tied), checkpoint(&tied), &[]);
        assert_eq!(names(&both.checkpoints.candidate), tied);
    }

    #[test]
    fn moments_of_one_side_are_counted() {
        let both = align_checkpoints(checkpoint(&["a.weight"]), checkpoint(&["a.weight", "a.weight@exp_avg"]), &[]);
        assert_eq!((names(&both.checkpoints.candidate), both.unread_states.candidate), (vec!["a.weight"], 1));
    }

    #[test]
    fn tensors_of_megatron_get_the_names_of_the_other_side() {
        let megatron =
            checkpoint(&["decoder.layers.0.self_attention.linear_qkv.weight", "decoder.final_layernorm.weight"]);
        let both = align_checkpoints(checkpoint(&["model.layers.0.self_attn.q_proj.weight"]), megatron, &[]);
        let expected = [
            "model.layers.0.self_attn.k_proj.weight",
            "model.layers.0.self_attn.q_proj.weight",
            "model.layers.0.self_attn.v_proj.weight",
            "model.norm.weight",
        ];
        assert_eq!(names(&both.checkpoints.candidate), expected);
    }
}
