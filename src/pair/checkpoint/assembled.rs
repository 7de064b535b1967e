//! Joining the pieces of tensor-parallel ranks into whole tensors, and splitting fused tensors, as Megatron places them.
//!
//! Columns of a module are cut along the first axis of its weight, rows along the second; norms and routers are copies. The
//! fused queries, keys and values stand in groups: for each head of the keys its heads of the queries, then the key, then the
//! value. Ranks cut between groups; with fewer heads than ranks, rank t holds a copy of head ⌊t·heads/ranks⌋. Gate and the half
//! it multiplies are fused on each rank by itself (docs/layouts.md).

use std::collections::BTreeMap;

use super::spelling::{Part, Spelling};
use crate::read::checkpoint::{CheckpointParameter, ModelFacts, ParameterPiece, ParameterPieces};
use crate::read::joined::join_along_axis;
use crate::read::tensor::TensorData;
use crate::verdict::Side;

/// Two copies of one tensor, or of a part of it, that a run holds.
#[derive(Debug)]
pub struct Replica {
    /// The run.
    pub side: Side,
    /// Name of the tensor.
    pub name: String,
    /// Ranks, or names, of the copies.
    pub holders: [String; 2],
    /// The copies.
    pub copies: [TensorData; 2],
}

/// Whole tensors of one side, joined from the pieces of its ranks.
#[derive(Debug, Default)]
pub(super) struct AssembledTensors {
    /// By the names that both sides are compared under.
    pub(super) parameters: BTreeMap<String, CheckpointParameter>,
    /// Copies that have to be equal.
    pub(super) replicas: Vec<Replica>,
    /// Names that are parts of one fused tensor.
    pub(super) families: Vec<Vec<String>>,
}

/// Placement of a tensor over tensor-parallel ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    Copied,
    Columns,
    Rows,
    FusedAttention,
    FusedGate,
}

/// The placement of the tensor of a Megatron name; `None` for one that is not known.
fn placement(name: &str) -> Option<Placement> {
    let weight = name.split('@').next().unwrap_or(name);
    let (module, tensor) = weight.rsplit_once('.')?;
    let module = module.rsplit('.').next().unwrap_or(module);
    Some(match (module, tensor) {
        ("word_embeddings" | "output_layer", _) => Placement::Columns,
        ("linear_qkv", _) => Placement::FusedAttention,
        ("linear_fc1", _) => Placement::FusedGate,
        ("linear_proj" | "linear_fc2", "weight") => Placement::Rows,
        ("linear_proj" | "linear_fc2" | "position_embeddings" | "router", _) => Placement::Copied,
        (norm, _) if norm.contains("norm") => Placement::Copied,
        _ => return None,
    })
}

/// Joins the tensors of a side under the names of `spelling`. Tensors without a Megatron name stay as they are.
pub(super) fn assemble_tensors(
    side: Side,
    parameters: BTreeMap<String, CheckpointParameter>,
    facts: &ModelFacts,
    spelling: Spelling,
) -> AssembledTensors {
    let gated: Vec<String> = parameters.keys().filter(|name| is_gated(name, &parameters)).cloned().collect();
    let mut assembly = Assembly { side, facts, spelling, gated, out: AssembledTensors::default() };
    for (name, parameter) in parameters {
        match (parameter, placement(&name)) {
            (CheckpointParameter::Unread(reason), _) => assembly.unread(&name, &reason),
            (CheckpointParameter::Tensor(tensor), None) => assembly.put(name, CheckpointParameter::Tensor(tensor)),
            (CheckpointParameter::Tensor(tensor), Some(placement)) => {
                let piece = ParameterPiece { tp: 0, rank: String::new(), tensor };
                assembly.take(&name, ParameterPieces { tp_size: 1, pieces: vec![piece] }, placement);
            }
            (CheckpointParameter::Pieces(pieces), Some(placement)) => assembly.take(&name, pieces, placement),
            (CheckpointParameter::Pieces(pieces), None) if pieces.tp_size == 1 => {
                assembly.take(&name, pieces, Placement::Copied)
            }
            (CheckpointParameter::Pieces(_), None) => {
                assembly.unread(&name, "it is not known how tensor parallelism cuts a tensor of this name");
            }
        }
    }
    assembly.out
}

/// Whether the first projection of a layer includes a gate: it then has twice as many rows as the second has columns.
fn is_gated(name: &str, parameters: &BTreeMap<String, CheckpointParameter>) -> bool {
    if placement(name) != Some(Placement::FusedGate) {
        return false;
    }
    let Some((module, _)) = name.split_once("linear_fc1.") else { return false };
    let rows = parameters.get(name).and_then(|parameter| len_of(parameter, 0));
    let columns = parameters.get(&format!("{module}linear_fc2.weight")).and_then(|parameter| len_of(parameter, 1));
    matches!((rows, columns), (Some(rows), Some(columns)) if Some(rows) == columns.checked_mul(2))
}

/// Length of an axis of a tensor, or of a piece of it.
fn len_of(parameter: &CheckpointParameter, axis: usize) -> Option<u64> {
    let tensor = match parameter {
        CheckpointParameter::Tensor(tensor) => tensor,
        CheckpointParameter::Pieces(pieces) => &pieces.pieces.first()?.tensor,
        CheckpointParameter::Unread(_) => return None,
    };
    tensor.shape.get(axis).copied()
}

struct Assembly<'a> {
    side: Side,
    facts: &'a ModelFacts,
    spelling: Spelling,
    gated: Vec<String>,
    out: AssembledTensors,
}

/// Parts of a fused tensor, each with its pieces in the order of ranks; or the reason why there are none.
type Parts = Result<Vec<(Part, Vec<TensorData>)>, String>;

impl Assembly<'_> {
    fn put(&mut self, name: String, parameter: CheckpointParameter) {
        self.out.parameters.insert(name, parameter);
    }

    /// Adds an unreadable tensor under the names of its parts.
    fn unread(&mut self, name: &str, reason: &str) {
        let parts: &[Part] = match placement(name) {
            Some(Placement::FusedAttention) => &[Part::Query, Part::Key, Part::Value],
            Some(Placement::FusedGate) => &[Part::Gate, Part::Up],
            _ => &[Part::Whole],
        };
        for part in parts {
            self.put(self.spelling.tensor_name(name, *part), CheckpointParameter::Unread(reason.to_owned()));
        }
    }

    /// Joins the pieces of a tensor.
    fn take(&mut self, name: &str, pieces: ParameterPieces, placement: Placement) {
        let of = pieces.tp_size;
        let own = self.without_copies(name, pieces);
        if placement != Placement::Copied && own.len() as u64 != u64::from(of) {
            let is_there = |rank: &u32| own.iter().any(|piece| piece.tp == *rank);
            let lost = (0..of).find(|rank| !is_there(rank)).unwrap_or(0);
            return self.unread(name, &format!("the part of tensor-parallel rank {lost} of {of} is missing"));
        }
        let parts = match placement {
            Placement::Copied => self.first_copy(name, own),
            Placement::Columns => Ok(vec![(Part::Whole, tensors(own))]),
            Placement::Rows => return self.rows(name, own),
            Placement::FusedAttention => self.attention(name, own),
            Placement::FusedGate if self.gated.iter().any(|gated| gated == name) => halves(own),
            Placement::FusedGate => Ok(vec![(Part::Whole, tensors(own))]),
        };
        match parts {
            Ok(parts) => self.join(name, parts, 0),
            Err(reason) => self.unread(name, &reason),
        }
    }

    fn rows(&mut self, name: &str, own: Vec<ParameterPiece>) {
        self.join(name, vec![(Part::Whole, tensors(own))], 1);
    }

    /// Joins the pieces of each part along an axis.
    fn join(&mut self, name: &str, parts: Vec<(Part, Vec<TensorData>)>, axis: usize) {
        let mut family = Vec::new();
        for (part, tensors) in parts {
            let whole = join_along_axis(tensors, axis)
                .map_or_else(|error| CheckpointParameter::Unread(error.to_string()), CheckpointParameter::Tensor);
            let part_name = self.spelling.tensor_name(name, part);
            family.push(part_name.clone());
            self.put(part_name, whole);
        }
        if family.len() > 1 {
            self.out.families.push(family);
        }
    }

    /// One piece per tensor-parallel rank; further copies of it become replicas.
    fn without_copies(&mut self, name: &str, pieces: ParameterPieces) -> Vec<ParameterPiece> {
        let mut own: BTreeMap<u32, ParameterPiece> = BTreeMap::new();
        for piece in pieces.pieces {
            match own.get(&piece.tp) {
                Some(first) => self.replica(name, first, piece),
                None => drop(own.insert(piece.tp, piece)),
            }
        }
        own.into_values().collect()
    }

    fn replica(&mut self, name: &str, first: &ParameterPiece, copy: ParameterPiece) {
        self.out.replicas.push(Replica {
            side: self.side,
            name: name.to_owned(),
            holders: [first.rank.clone(), copy.rank],
            copies: [first.tensor.new_handle(), copy.tensor],
        });
    }

    fn first_copy(&mut self, name: &str, own: Vec<ParameterPiece>) -> Parts {
        let mut own = own.into_iter();
        let Some(first) = own.next() else { return Err("no rank holds it".into()) };
        for copy in own {
            self.replica(name, &first, copy);
        }
        Ok(vec![(Part::Whole, vec![first.tensor])])
    }

    /// Splits a fused attention tensor into queries, keys and values.
    fn attention(&mut self, name: &str, own: Vec<ParameterPiece>) -> Parts {
        let ranks = own.len() as u64;
        let (Some(heads), Some(kv_heads)) = (self.facts.heads, self.facts.kv_heads) else {
            return match self.spelling {
                // Without the number of heads the tensor stays fused; both sides are fused alike, unless keys are copied.
                Spelling::Megatron => Ok(vec![(Part::Whole, tensors(own))]),
                Spelling::HuggingFace { .. } => {
                    Err("the number of heads is not known; put the model's config.json beside the checkpoint".into())
                }
            };
        };
        let groups = Groups::of(heads, kv_heads, ranks).ok_or_else(|| {
            format!("{heads} heads of queries and {kv_heads} of keys cannot be cut over {ranks} ranks")
        })?;
        let (mut queries, mut keys, mut values) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for piece in own {
            let rows = piece.tensor.shape.first().copied().unwrap_or(0);
            let head = groups.rows_of_head(rows).ok_or_else(|| {
                format!(
                    "{rows} rows do not divide into {heads} heads of queries and {kv_heads} of keys over {ranks} ranks"
                )
            })?;
            for group in 0..groups.local {
                let start = group * (groups.queries + 2) * head;
                let cut = |from: u64, heads: u64| {
                    piece.tensor.narrowed(0, start + from * head, heads * head).map_err(|error| error.to_string())
                };
                queries.push(cut(0, groups.queries)?);
                let number = groups.first(piece.tp, kv_heads, ranks) + group;
                self.keep(name, &piece, Part::Key, (&mut keys, number), cut(groups.queries, 1)?);
                self.keep(name, &piece, Part::Value, (&mut values, number), cut(groups.queries + 1, 1)?);
            }
        }
        let all = |heads: BTreeMap<u64, (String, TensorData)>| heads.into_values().map(|(_, tensor)| tensor).collect();
        Ok(vec![(Part::Query, queries), (Part::Key, all(keys)), (Part::Value, all(values))])
    }

    /// Keeps the first copy of a head; a further copy becomes a replica.
    fn keep(
        &mut self,
        name: &str,
        piece: &ParameterPiece,
        part: Part,
        (heads, number): (&mut BTreeMap<u64, (String, TensorData)>, u64),
        tensor: TensorData,
    ) {
        let Some((holder, first)) = heads.get(&number) else {
            heads.insert(number, (piece.rank.clone(), tensor));
            return;
        };
        self.out.replicas.push(Replica {
            side: self.side,
            name: self.spelling.tensor_name(name, part),
            holders: [holder.clone(), piece.rank.clone()],
            copies: [first.new_handle(), tensor],
        });
    }
}

fn tensors(own: Vec<ParameterPiece>) -> Vec<TensorData> {
    own.into_iter().map(|piece| piece.tensor).collect()
}

/// Splits the piece of each rank into the gate and the half that the gate multiplies.
fn halves(own: Vec<ParameterPiece>) -> Parts {
    let (mut gates, mut ups) = (Vec::new(), Vec::new());
    for piece in own {
        let half = piece.tensor.shape.first().copied().unwrap_or(0) / 2;
        let cut = |start| piece.tensor.narrowed(0, start, half).map_err(|error| error.to_string());
        gates.push(cut(0)?);
        ups.push(cut(half)?);
    }
    Ok(vec![(Part::Gate, gates), (Part::Up, ups)])
}

/// Groups of heads on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Groups {
    /// Groups, each with one head of the keys.
    local: u64,
    /// Heads of the queries in a group.
    queries: u64,
}

impl Groups {
    fn of(heads: u64, kv_heads: u64, ranks: u64) -> Option<Self> {
        let divides = |whole: u64, by: u64| (by > 0 && whole > 0 && whole.is_multiple_of(by)).then(|| whole / by);
        divides(heads, kv_heads)?;
        if kv_heads >= ranks {
            let local = divides(kv_heads, ranks)?;
            Some(Self { local, queries: heads / kv_heads })
        } else {
            divides(ranks, kv_heads)?;
            Some(Self { local: 1, queries: divides(heads, ranks)? })
        }
    }

    /// Rows of one head where a rank has `rows`.
    fn rows_of_head(&self, rows: u64) -> Option<u64> {
        let heads = self.local.checked_mul(self.queries.checked_add(2)?)?;
        (heads > 0 && rows > 0 && rows.is_multiple_of(heads)).then(|| rows / heads)
    }

    /// Number of the first head of the keys on a rank.
    fn first(&self, tp: u32, kv_heads: u64, ranks: u64) -> u64 {
        u64::from(tp).saturating_mul(kv_heads) / ranks.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_cut_between_groups_and_copied_beyond() {
        assert_eq!(Groups::of(8, 4, 2), Some(Groups { local: 2, queries: 2 }));
        let copied = Groups::of(4, 2, 4).expect("a cut");
        assert_eq!(copied, Groups { local: 1, queries: 1 });
        let first: Vec<u64> = (0..4).map(|rank| copied.first(rank, 2, 4)).collect();
        assert_eq!(first, [0, 0, 1, 1]);
        for (heads, kv_heads, ranks) in [(4, 3, 1), (4, 0, 1), (6, 2, 4), (6, 3, 2)] {
            assert_eq!(Groups::of(heads, kv_heads, ranks), None, "{heads} {kv_heads} {ranks}");
        }
        assert_eq!(copied.rows_of_head(12), Some(4));
        assert_eq!(copied.rows_of_head(13), None);
    }

    #[test]
    fn names_tell_the_placement() {
        for (name, expected) in [
            ("embedding.word_embeddings.weight", Some(Placement::Columns)),
            ("decoder.layers.0.self_attention.linear_qkv.bias@exp_avg", Some(Placement::FusedAttention)),
            ("decoder.layers.0.mlp.experts.local_experts.1.linear_fc2.weight", Some(Placement::Rows)),
            ("decoder.layers.0.self_attention.linear_proj.bias", Some(Placement::Copied)),
            ("decoder.final_layernorm.weight", Some(Placement::Copied)),
            ("model.embed_tokens.weight", None),
        ] {
            assert_eq!(placement(name), expected, "{name}");
        }
    }
}
