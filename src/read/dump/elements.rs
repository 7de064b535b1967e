//! The elements of a value of the whole model in the files of its ranks.

use super::content::Dump;
use super::folder::DumpFolder;
use super::name::OpName;
use super::records::Leaf;
use super::shard::Shard;
use crate::error::{Error, Result};
use crate::kind::TensorKind;
use crate::layout::placement::ValueRole;
use crate::read::joined::join_along_axis;
use crate::read::tensor::TensorData;
use crate::read::tensor_file;

/// Elements of a value in the files of its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Elements {
    /// All elements are in the file of one rank.
    File {
        /// The rank.
        rank: u64,
        /// The file's name in its data folder.
        name: String,
    },
    /// Parts that follow one another along an axis.
    Joined {
        /// The axis.
        axis: usize,
        /// Number of tensors that each part is fused of along that axis. The whole value has the first tensors of all parts first.
        fused: u64,
        /// The parts, each with its length along the axis.
        parts: Vec<(u64, Self)>,
    },
}

impl Elements {
    /// Opens the files. The elements are joined when they are read.
    ///
    /// # Errors
    /// Those of the first file that cannot be opened; `Corrupt` if the parts do not form one tensor.
    pub(super) fn open(&self, ranks: &[(u64, DumpFolder)]) -> Result<TensorData> {
        match self {
            Self::File { rank, name } => {
                let folder = ranks.iter().find(|(own, _)| own == rank).map(|(_, folder)| folder);
                let folder = folder.ok_or_else(|| Error::corrupt(name, format!("rank {rank} has no dump")))?;
                tensor_file::open(folder.open_tensor(name)?)
            }
            Self::Joined { axis, fused, parts } => {
                let parts = parts.iter().map(|(_, part)| part.open(ranks)).collect::<Result<Vec<TensorData>>>()?;
                let blocks = (0..*fused).flat_map(|block| parts.iter().map(move |part| (block, part)));
                join_along_axis(
                    blocks.map(|(block, part)| fused_part(part, *axis, block, *fused)).collect::<Result<_>>()?,
                    *axis,
                )
            }
        }
    }
}

impl Elements {
    /// Parts of all ranks; empty if one rank holds the whole value.
    pub(super) fn shards(&self) -> Vec<Shard> {
        let Self::Joined { axis, fused, parts } = self else { return Vec::new() };
        let block: u64 = parts.iter().map(|(len, _)| len / fused).sum();
        let mut start = 0;
        let shards = parts.iter().enumerate().filter_map(|(index, (len, part))| {
            let (from, len) = (start, len / fused);
            start += len;
            let Self::File { rank, .. } = part else { return None };
            let ranges = (0..*fused).map(|at| at * block + from..at * block + from + len).collect();
            Some(Shard { rank: *rank, axis: *axis, index, count: parts.len(), ranges })
        });
        shards.collect()
    }
}

/// Tensor number `block` of the `fused` tensors that a part holds along an axis.
fn fused_part(part: &TensorData, axis: usize, block: u64, fused: u64) -> Result<TensorData> {
    let len = part.shape.get(axis).copied().unwrap_or_default();
    if !len.is_multiple_of(fused) {
        return Err(Error::corrupt(part.name(), format!("{len} rows are not fused of {fused} tensors")));
    }
    if fused == 1 { Ok(part.new_handle()) } else { part.narrowed(axis, block * (len / fused), len / fused) }
}

/// Projections that may fuse gate and up, each with the projection that follows it.
const GATED: [(&str, &str); 3] =
    [("linear_fc1", "linear_fc2"), ("dense_h_to_4h", "dense_4h_to_h"), ("gate_up_proj", "down_proj")];
/// Projection that fuses all queries, keys and values of a rank. A dump does not record their sizes.
const FUSED_QUERIES: &str = "qkv_proj";

/// Number of tensors that the first projection of a block fuses on each rank; `None` if unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gates(Option<u64>);

impl Gates {
    /// Reads the number from the weights of the first block that has both projections: a fused projection has two rows for each
    /// column of the projection that follows.
    pub(super) fn of(dumps: &[Dump]) -> Self {
        let of_block = |dump: &Dump| {
            let mut weights = dump.operations.iter().filter_map(|operation| {
                let base = OpName::parse(operation.name).base;
                let (path, _) = base.rsplit_once('.')?;
                let name = path.rsplit('.').next()?;
                let is_weight = |leaf: &Leaf<'_>| {
                    leaf.kind == TensorKind::Parameter && leaf.row.below_operation().ends_with("weight")
                };
                let is_wanted = GATED.iter().any(|(first, second)| name == *first || name == *second);
                let record = operation.leaves.iter().filter(|_| is_wanted).find(is_weight)?.record()?;
                Some((name.to_owned(), record.shape.to_vec()))
            });
            let (first, rows) = weights.find(|(name, _)| GATED.iter().any(|(first, _)| name == first))?;
            let (_, second) = GATED.into_iter().find(|(name, _)| *name == first)?;
            let (_, columns) = weights.find(|(name, _)| name == second)?;
            match (rows.first()?, columns.get(1)?) {
                (rows, columns) if rows == columns => Some(1),
                (rows, columns) if *rows == columns.saturating_mul(2) => Some(2),
                _ => None,
            }
        };
        Self(dumps.iter().find_map(of_block))
    }

    /// Number of tensors that each rank's part of a value is fused of; `None` if it is not known.
    pub(super) fn fused(self, path: &str, role: ValueRole<'_>) -> Option<u64> {
        let name = path.rsplit('.').next().unwrap_or(path);
        match role {
            ValueRole::Input => Some(1),
            _ if name == FUSED_QUERIES => None,
            _ if GATED.iter().any(|(first, _)| name == *first) => self.0,
            _ => Some(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_fused_have_a_range_in_each_tensor() {
        let file = |rank| (4, Elements::File { rank, name: String::new() });
        let elements = Elements::Joined { axis: 1, fused: 2, parts: vec![file(0), file(3)] };
        let shards = elements.shards();
        let ranges = |shard: &Shard| (shard.rank, shard.axis, shard.ranges.clone());
        assert_eq!(shards.iter().map(ranges).collect::<Vec<_>>(), [(0, 1, vec![0..2, 4..6]), (3, 1, vec![2..4, 6..8])]);
        assert_eq!(file(0).1.shards(), []);
    }

    #[test]
    fn the_first_projection_of_a_block_may_be_fused() {
        let gates = |fused| Gates(fused).fused("decoder.layers.0.mlp.linear_fc1", ValueRole::Parameter("weight"));
        assert_eq!([gates(Some(2)), gates(Some(1)), gates(None)], [Some(2), Some(1), None]);
        assert_eq!(Gates(Some(2)).fused("decoder.layers.0.mlp.linear_fc2", ValueRole::Output), Some(1));
        assert_eq!(Gates(Some(2)).fused("model.layers.0.self_attn.qkv_proj", ValueRole::Output), None);
    }
}
