//! Placement of a module's values over ranks: one table for dumps and monitors, by class and by name of the module.

/// Kind of a module, which determines the placement of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ModuleKind {
    /// Embedding whose vocabulary is split over ranks.
    Embedding,
    /// Normalisation, or router of experts: every rank has all of its parameters.
    Norm,
    /// Linear layer whose outputs are split (column parallel).
    Column,
    /// Linear layer whose inputs are split and whose outputs are summed (row parallel).
    Row,
    /// Attention over the heads of a rank.
    Attention,
    /// Softmax or dropout over the scores of a rank's heads.
    Scores,
    /// Normalisation of the heads of a rank, between projection and attention.
    HeadNorm,
    /// Function between a column-parallel and a row-parallel projection.
    Activation,
    /// Any other module, made of these.
    Container,
}

/// Role of a value in its module. The gradient of an input or output has the placement of the value itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ValueRole<'a> {
    /// An input, or its gradient.
    Input,
    /// An output, or its gradient.
    Output,
    /// A parameter, by its name in the module.
    Parameter(&'a str),
    /// The gradient of a parameter.
    Gradient(&'a str),
}

/// Placement of a value over the ranks of one tensor-parallel group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Placement {
    /// Each rank holds all of it.
    Whole,
    /// Each rank holds a part.
    Sharded(CutAxis),
    /// Each rank holds a summand of the value.
    Partial,
}

/// Axis along which a value is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CutAxis {
    /// The first axis.
    First,
    /// The last axis.
    Last,
    /// The axis of the sequence.
    Sequence,
    /// The axis of attention heads: the last but one of four, else the last.
    Heads,
    /// The axis of heads in attention scores: the second.
    Second,
}

/// Names of column-parallel linear layers.
const COLUMN: [&str; 14] = [
    "linear_qkv",
    "linear_fc1",
    "output_layer",
    "query_key_value",
    "dense_h_to_4h",
    "q_proj",
    "k_proj",
    "v_proj",
    "gate_proj",
    "up_proj",
    "gate_up_proj",
    "qkv_proj",
    "lm_head",
    "linear_q",
];
/// Names of row-parallel linear layers.
const ROW: [&str; 6] = ["linear_proj", "linear_fc2", "o_proj", "down_proj", "dense_4h_to_h", "out_proj"];

/// Names of the functions between the projections of a block.
const ACTIVATION: [&str; 2] = ["act_fn", "activation_func"];

/// Names of normalisations of heads.
const HEAD_NORM: [&str; 4] = ["q_layernorm", "k_layernorm", "q_norm", "k_norm"];

impl ModuleKind {
    /// The kind of the module at `path`; `class` is empty where it was not recorded.
    pub(crate) fn from_path(path: &str, class: &str) -> Self {
        let name = path.rsplit('.').next().unwrap_or(path);
        let has = |word: &str| class.contains(word);
        if has("ColumnParallel") {
            Self::Column
        } else if has("RowParallel") {
            Self::Row
        } else if has("VocabParallelEmbedding") || name == "word_embeddings" || name == "embed_tokens" {
            Self::Embedding
        } else if COLUMN.contains(&name) {
            Self::Column
        } else if ROW.contains(&name) {
            Self::Row
        } else if has("DotProductAttention") || name == "core_attention" {
            Self::Attention
        } else if path.contains("core_attention.") && (name.contains("softmax") || name.contains("dropout")) {
            Self::Scores
        } else if path.contains("core_attention.") && name.contains("attention") {
            Self::Attention
        } else if ACTIVATION.contains(&name) {
            Self::Activation
        } else if HEAD_NORM.contains(&name) {
            Self::HeadNorm
        } else if has("Norm") || has("Router") || name.contains("norm") || name == "router" {
            Self::Norm
        } else {
            Self::Container
        }
    }

    /// The placement of a value over a tensor-parallel group. With sequence parallelism (`sp`) each rank's norms see a part of the sequence.
    pub(crate) fn place(self, role: ValueRole<'_>, sp: bool) -> Placement {
        use Placement::{Partial, Sharded, Whole};
        let between = if sp { Sharded(CutAxis::Sequence) } else { Whole };
        // Each rank sees its own part of the sequence.
        let of_whole = if sp { Partial } else { Whole };
        let is_norm = |name: &str| name.contains("norm");
        match (self, role) {
            (Self::Embedding, ValueRole::Input) => Whole,
            (Self::Embedding | Self::Column, ValueRole::Parameter(name)) if is_norm(name) => Whole,
            (Self::Embedding | Self::Column, ValueRole::Gradient(name)) if is_norm(name) => of_whole,
            (Self::Embedding | Self::Column, ValueRole::Parameter(_) | ValueRole::Gradient(_)) => {
                Sharded(CutAxis::First)
            }
            (Self::Column, ValueRole::Output) | (Self::Row, ValueRole::Input) => Sharded(CutAxis::Last),
            (Self::Row, ValueRole::Parameter("bias")) => Whole,
            (Self::Row, ValueRole::Gradient("bias")) => of_whole,
            (Self::Row, ValueRole::Parameter(_) | ValueRole::Gradient(_)) => Sharded(CutAxis::Last),
            (Self::Attention, ValueRole::Input) | (Self::HeadNorm, ValueRole::Input | ValueRole::Output) => {
                Sharded(CutAxis::Heads)
            }
            (Self::HeadNorm, ValueRole::Gradient(_)) => Partial,
            (Self::Scores, ValueRole::Input | ValueRole::Output) => Sharded(CutAxis::Second),
            (Self::Activation, ValueRole::Input | ValueRole::Output) => Sharded(CutAxis::Last),
            (Self::Attention, ValueRole::Output) => Sharded(CutAxis::Last),
            (_, ValueRole::Parameter(_)) => Whole,
            (_, ValueRole::Gradient(_)) => of_whole,
            (_, ValueRole::Input | ValueRole::Output) => between,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_known_by_class_and_by_name() {
        let kind = |path, class| ModuleKind::from_path(path, class);
        assert_eq!(kind("decoder.layers.0.mlp.linear_fc1", "TEColumnParallelLinear"), ModuleKind::Column);
        assert_eq!(kind("model.layers.3.mlp.down_proj", ""), ModuleKind::Row);
        assert_eq!(kind("decoder.layers.0.self_attention.core_attention", ""), ModuleKind::Attention);
        assert_eq!(kind("decoder.final_layernorm", ""), ModuleKind::Norm);
        assert_eq!(kind("decoder.layers.0.self_attention.q_layernorm", "RMSNorm"), ModuleKind::HeadNorm);
        assert_eq!(kind("decoder.layers.0.mlp", "MLP"), ModuleKind::Container);
        let scores = "decoder.layers.0.self_attention.core_attention.scale_mask_softmax";
        assert_eq!(kind(scores, "FusedScaleMaskSoftmax"), ModuleKind::Scores);
        assert_eq!(kind("model.layers.0.mlp.act_fn", "SiLUActivation"), ModuleKind::Activation);
    }

    #[test]
    fn sequence_parallelism_cuts_what_lies_between_projections() {
        let place = |kind: ModuleKind, role| [kind.place(role, false), kind.place(role, true)];
        let sequence = Placement::Sharded(CutAxis::Sequence);
        assert_eq!(place(ModuleKind::Row, ValueRole::Output), [Placement::Whole, sequence]);
        assert_eq!(place(ModuleKind::Norm, ValueRole::Gradient("weight")), [Placement::Whole, Placement::Partial]);
        assert_eq!(place(ModuleKind::Column, ValueRole::Output), [Placement::Sharded(CutAxis::Last); 2]);
    }
}
