//! Facts for the assembly of ranks' dumps that follow only from both sides together.

use crate::layout::placement::{ModuleKind, ValueRole};

/// Facts for the assembly of one side's dumps that follow only from both sides together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AssemblyPlan {
    /// Whether the calls of a module in one step are parts of one batch.
    pub merges_calls: bool,
    /// Factor between the gradients of values and those of a single rank. Merged gradients are divided by it.
    pub backward_scale: f64,
    /// Whether the vocabularies are padded to different sizes, so that values over the vocabulary cannot be compared.
    pub is_padded: bool,
    /// Whether ranks hold copies of keys and values. Merged statistics would count the copies more than once, so they are not compared.
    pub has_key_copies: bool,
    /// Whether the embedding and the output layer share their weight and are on other stages than on the other side.
    pub has_tied_parts: bool,
    /// Whether the embedding and the output layer of the baseline share their weight.
    pub is_tied: bool,
    /// Whether the sides spread their experts differently.
    pub has_other_experts: bool,
    /// Number of samples, and of tokens per sample, that one rank processes at once.
    pub tokens: Option<[u64; 2]>,
    /// Whether the kind of a module decides how its parts are placed; otherwise all ranks are assumed to hold copies.
    pub has_placement: bool,
    /// Whether saved elements have the same order on both sides. Samples and parts of sequences may be distributed over ranks in
    /// different orders.
    pub has_elements: bool,
}

impl Default for AssemblyPlan {
    fn default() -> Self {
        Self {
            merges_calls: false,
            backward_scale: 1.0,
            is_padded: false,
            has_key_copies: false,
            has_tied_parts: false,
            is_tied: false,
            has_other_experts: false,
            tokens: None,
            has_placement: true,
            has_elements: false,
        }
    }
}

impl AssemblyPlan {
    /// Whether a value cannot be compared, regardless of its pieces.
    pub(super) fn leaves_out(&self, path: &str, kind: ModuleKind, role: ValueRole<'_>) -> bool {
        let name = path.rsplit('.').next().unwrap_or(path);
        let is_gradient = matches!(role, ValueRole::Gradient(_));
        let of_vocabulary = match (kind, role) {
            (ModuleKind::Embedding, ValueRole::Parameter(_) | ValueRole::Gradient(_)) => true,
            (ModuleKind::Column, ValueRole::Output | ValueRole::Parameter(_) | ValueRole::Gradient(_)) => {
                matches!(name, "output_layer" | "lm_head")
            }
            _ => false,
        };
        // Each expert is compared separately; the list of a rank's experts differs between the sides.
        let of_experts = self.has_other_experts && matches!(name, "experts" | "local_experts");
        let of_keys = self.has_key_copies
            && match kind {
                ModuleKind::Attention => role == ValueRole::Input,
                ModuleKind::HeadNorm => true,
                ModuleKind::Column => KEYS.contains(&name) && role != ValueRole::Input,
                _ => false,
            };
        of_vocabulary && (self.is_padded || self.has_tied_parts && is_gradient) || of_experts || of_keys
    }
}

/// Projections that make keys and values.
const KEYS: [&str; 5] = ["linear_qkv", "query_key_value", "qkv_proj", "k_proj", "v_proj"];
