//! An opened checkpoint: its tensors, the pieces of tensors that are cut over ranks, and facts about the model.

use std::collections::BTreeMap;

use super::settings::{PlainValues, names_state};
use crate::layout::Layout;
use crate::read::tensor::{StoredValue, TensorData};

/// An opened checkpoint. Elements are not read yet.
#[derive(Debug, Default)]
pub struct Checkpoint {
    /// Tensors by name. In a checkpoint that is cut over ranks, the names are those of the whole model.
    pub parameters: BTreeMap<String, CheckpointParameter>,
    /// Facts about the model.
    pub facts: ModelFacts,
    /// Paths of missing files, which the names or numbers of other files require.
    pub missing: Vec<String>,
    /// Layout of the ranks; `None` if one file or an index holds everything.
    pub layout: Option<Layout>,
    /// Number of tensors of the optimizer that are present but not read.
    pub unread_states: u64,
    /// Scales of quantised weights, by the weight's name.
    pub scales: BTreeMap<String, WeightScale>,
    /// Values that are not tensors.
    pub plain: PlainValues,
}

/// Scale of the codes of a quantised weight. The value of an element is `(code - zero) * factor / divisor`.
#[derive(Debug)]
pub struct WeightScale {
    /// Its name behind that of the weight's module.
    pub name: String,
    /// Factors, one per block of the weight.
    pub factors: BlockNumbers,
    /// Zero points, one per block; `None` if all zero points are 0.
    pub zeros: Option<BlockNumbers>,
    /// Number that all factors are divided by.
    pub divisor: f32,
}

/// Numbers of which each one applies to a block of a larger tensor.
#[derive(Debug)]
pub struct BlockNumbers {
    /// One number per block.
    pub numbers: TensorData,
    /// Length of a block along each axis of the larger tensor.
    pub blocks: Vec<u64>,
    /// Number of blocks along each axis.
    pub counts: Vec<u64>,
    /// Number of blocks along the last axis.
    pub row: u64,
}

/// One tensor of a checkpoint.
#[derive(Debug)]
pub enum CheckpointParameter {
    /// A tensor that can be read.
    Tensor(TensorData),
    /// Reason why a tensor that exists, or that an index names, cannot be read.
    Unread(String),
    /// Pieces on ranks. The way they are joined depends on the tensor.
    Pieces(ParameterPieces),
}

/// Pieces of one tensor on tensor-parallel ranks.
#[derive(Debug)]
pub struct ParameterPieces {
    /// Number of tensor-parallel ranks.
    pub tp_size: u32,
    /// The pieces. A rank may have several if other ranks hold copies.
    pub pieces: Vec<ParameterPiece>,
}

/// Piece of a tensor.
#[derive(Debug)]
pub struct ParameterPiece {
    /// Tensor-parallel rank.
    pub tp: u32,
    /// Name of the rank, for messages.
    pub rank: String,
    /// Elements of the piece.
    pub tensor: TensorData,
}

/// Facts about a model, from a configuration or pickled arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFacts {
    /// Number of query heads.
    pub heads: Option<u64>,
    /// Number of key and value heads.
    pub kv_heads: Option<u64>,
    /// Number of tokens in the vocabulary, without padding.
    pub vocabulary: Option<u64>,
    /// Whether the output layer shares its weight with the embedding.
    pub is_tied: Option<bool>,
}

impl ModelFacts {
    /// Fills unknown facts from `other`.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            heads: self.heads.or(other.heads),
            kv_heads: self.kv_heads.or(other.kv_heads),
            vocabulary: self.vocabulary.or(other.vocabulary),
            is_tied: self.is_tied.or(other.is_tied),
        }
    }
}

impl ParameterPieces {
    /// Returns another handle on the same pieces, without copying elements.
    pub(crate) fn again(&self) -> Self {
        let piece = |piece: &ParameterPiece| ParameterPiece {
            tp: piece.tp,
            rank: piece.rank.clone(),
            tensor: piece.tensor.new_handle(),
        };
        Self { tp_size: self.tp_size, pieces: self.pieces.iter().map(piece).collect() }
    }
}

impl Checkpoint {
    /// Adds the tensors of a file under their names. A name that is already present keeps its tensor.
    pub(super) fn add_stored(&mut self, stored: Vec<(String, StoredValue)>) {
        for (name, stored) in stored {
            if let Some(parameter) = CheckpointParameter::from_stored(stored) {
                self.parameters.entry(name).or_insert(parameter);
            }
        }
    }
}

impl CheckpointParameter {
    /// Tensor of a stored value, or the reason why it is not read; `None` for plain values.
    pub(super) fn from_stored(stored: StoredValue) -> Option<Self> {
        match stored {
            StoredValue::Tensor(tensor) => Some(Self::Tensor(tensor)),
            StoredValue::Unsupported(reason) => Some(Self::Unread(reason)),
            StoredValue::Plain(_) | StoredValue::Shape(_) => None,
            StoredValue::Part(part) if part.tensor.shape == part.shape => Some(Self::Tensor(part.tensor)),
            StoredValue::Part(part) => Some(Self::Unread(format!(
                "it is the part {:?} of a tensor of shape {:?}; give the files of all ranks",
                part.tensor.shape, part.shape
            ))),
        }
    }

    /// Whether `name` is the state of a random generator or of a data loader. The generators of a GPU and an NPU have states of
    /// different lengths, so they are not compared. A floating-point tensor is never such a state.
    pub(crate) fn is_state(&self, name: &str) -> bool {
        let is_number = match self {
            Self::Tensor(tensor) => tensor.dtype.is_float() || tensor.dtype.is_complex(),
            Self::Unread(_) => false,
            Self::Pieces(_) => true,
        };
        !is_number && name.split('.').any(names_state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::fetch::MemorySource;
    use crate::read::tensor::{ByteOrder, ElementPlacement};

    fn parameter(dtype: Dtype) -> CheckpointParameter {
        let source = std::sync::Arc::new(MemorySource::new("rng.pt", vec![0; 8]));
        let placement = ElementPlacement { offset: 0, len: 8, strides: None, order: ByteOrder::Little };
        CheckpointParameter::Tensor(TensorData::new(source, dtype, vec![1], placement).expect("a tensor"))
    }

    #[test]
    fn states_of_generators_are_told_from_weights() {
        let (bytes, weight) = (parameter(Dtype::U8), parameter(Dtype::F32));
        for name in [
            "rng_state.0.np_rng_state.1",
            "rng_state.0.cuda_rng_state",
            "rng_state.0.rng_tracker_states.model-parallel-rng",
            "dataloader_state_dict.generator",
            "torch_rng_state",
        ] {
            assert!(bytes.is_state(name) && !weight.is_state(name), "{name}");
        }
        for name in ["embeddings.position_ids", "bn.num_batches_tracked", "generator_blocks.0.index", "strange.ring"] {
            assert!(!bytes.is_state(name), "{name}");
        }
    }
}
