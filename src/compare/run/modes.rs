//! Calls whose result depends on whether the model trains: dropout, attention with dropout, batch norm.

use crate::kind::TensorKind;
use crate::read::dump::name::OpName;
use crate::read::dump::{LeafValue, Operation};
use crate::read::json::Json;

/// Kind of such a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeKind {
    /// Dropout, or attention with dropout.
    Dropout,
    /// Batch norm.
    BatchNorm,
}

/// A call with its mode.
#[derive(Clone, Debug, PartialEq)]
pub struct CallMode {
    /// Name of the operation.
    pub name: String,
    /// Its kind.
    pub kind: ModeKind,
    /// Whether it is in training mode: dropout drops elements, batch norm uses the statistics of the batch.
    pub is_training: bool,
}

impl CallMode {
    /// The mode of a forward call; `None` for other operations, and where the flag was not recorded.
    pub(crate) fn from_operation(name: &OpName<'_>, operation: Operation<'_>) -> Option<Self> {
        let (kind, is_training) = match name.api() {
            "dropout" | "dropout1d" | "dropout2d" | "dropout3d" | "alpha_dropout" | "feature_alpha_dropout" => {
                let is_training = flag(operation, &["2", "training", "train"])?;
                let drops = number(operation, &["1", "p"]).is_none_or(|share| share > 0.0);
                (ModeKind::Dropout, is_training && drops)
            }
            "scaled_dot_product_attention" => (ModeKind::Dropout, number(operation, &["4", "dropout_p"])? > 0.0),
            "npu_fusion_attention" => (ModeKind::Dropout, number(operation, &["keep_prob"])? < 1.0),
            "flash_attn_func" | "flash_attn_varlen_func" => {
                (ModeKind::Dropout, number(operation, &["dropout_p"])? > 0.0)
            }
            "batch_norm" => (ModeKind::BatchNorm, flag(operation, &["5", "training"])?),
            _ => return None,
        };
        Some(Self { name: operation.name.to_owned(), kind, is_training })
    }
}

/// The plain argument that has one of these positions or names.
fn argument<'a>(operation: Operation<'a>, names: &[&str]) -> Option<&'a Json> {
    let is_named = |row: &str| {
        let own = row.trim_start_matches('.');
        let own = own.strip_prefix("input.").or_else(|| own.strip_prefix("input_kwargs.")).unwrap_or(own);
        names.contains(&own)
    };
    let mut arguments = operation.leaves.iter().filter(|leaf| leaf.kind == TensorKind::Input);
    arguments.find_map(|leaf| match leaf.value {
        LeafValue::Plain { value, .. } if is_named(leaf.row.below_operation()) => Some(value),
        _ => None,
    })
}

fn flag(operation: Operation<'_>, names: &[&str]) -> Option<bool> {
    match argument(operation, names)? {
        Json::Bool(flag) => Some(*flag),
        _ => None,
    }
}

fn number(operation: Operation<'_>, names: &[&str]) -> Option<f64> {
    argument(operation, names)?.as_f64()
}
