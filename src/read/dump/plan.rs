//! Facts about putting the dumps of ranks together that only both sides together tell.

use crate::layout::placement::{ModuleKind, ValueRole};

/// Facts about putting a side together that only both sides together tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Whether the calls of a module in one step are parts of one batch.
    pub merges_calls: bool,
    /// Factor of the gradients of values against those of a single rank, which is taken out.
    pub backward_scale: f64,
    /// Whether the vocabularies are padded to different sizes, so that values over it do not compare.
    pub is_padded: bool,
    /// Whether ranks hold copies of keys and values, whose sums count these more than once and do not compare.
    pub has_key_copies: bool,
    /// Whether the embedding and the output layer share their weight, and lie on other stages than the other side's.
    pub has_tied_parts: bool,
    /// Whether the embedding and the output layer of the baseline share their weight.
    pub is_tied: bool,
    /// Whether the sides spread their experts differently.
    pub has_other_experts: bool,
    /// Samples and tokens of each that one rank is given at once.
    pub tokens: Option<[u64; 2]>,
    /// Whether parts are placed by the kind of their module; else all ranks are taken to hold copies.
    pub has_placement: bool,
    /// Whether elements that were saved lie in one order on both sides. Samples and parts of sequences may be dealt to ranks in
    /// several.
    pub has_elements: bool,
}

impl Default for Plan {
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

impl Plan {
    /// Whether a value does not compare, whatever its pieces are.
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
        // Each expert is compared by itself; the list of a rank's experts is another one.
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
