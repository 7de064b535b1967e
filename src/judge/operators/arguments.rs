//! Arguments that set the formula of an operator, mostly by their defaults, which devices and versions may read differently.

use crate::pair::dump::takes_argument;
use crate::read::dump::name::OpName;

/// Parts of operators' names, in lower case, with these arguments; the more specific before the more general.
const FORMULAS: [(&str, &[&str]); 22] = [
    ("interpolate", &["mode", "align_corners", "scale_factor", "antialias"]),
    ("upsample", &["mode", "align_corners", "scale_factor"]),
    ("grid_sample", &["mode", "padding_mode", "align_corners"]),
    ("affine_grid", &["align_corners"]),
    ("avg_pool", &["ceil_mode", "count_include_pad", "divisor_override"]),
    ("max_pool", &["ceil_mode", "dilation", "padding"]),
    ("attention", &["scale", "is_causal", "attn_mask"]),
    ("norm", &["eps"]),
    ("leaky_relu", &["negative_slope"]),
    ("gelu", &["approximate"]),
    ("relu", &[]),
    ("selu", &[]),
    ("elu", &["alpha"]),
    ("softplus", &["beta", "threshold"]),
    ("softshrink", &["lambd"]),
    ("cross_entropy", &["label_smoothing", "reduction", "ignore_index"]),
    ("loss", &["reduction"]),
    ("fft", &["norm"]),
    ("addmm", &["beta", "alpha"]),
    ("addbmm", &["beta", "alpha"]),
    ("baddbmm", &["beta", "alpha"]),
    ("std", &["correction"]),
];

/// The arguments of an operator that set its formula, those alone that its signature has, where that is known (`Torch.norm` has no
/// `eps`); none where the operator is not in the table.
pub(crate) fn formula_arguments(op: &str) -> Vec<String> {
    let base = OpName::parse(op).base;
    let name = base.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let known = FORMULAS.into_iter().find(|(part, _)| name.contains(part)).map(|(_, arguments)| arguments);
    let own = known.into_iter().flatten().filter(|argument| takes_argument(base, argument) != Some(false));
    own.map(|argument| (*argument).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_has_its_own_arguments_and_a_matrix_product_none() {
        assert_eq!(formula_arguments("Functional.interpolate.0.forward")[1], "align_corners");
        assert_eq!(formula_arguments("Functional.layer_norm.2.forward"), ["eps"]);
        assert_eq!(formula_arguments("Module.layers.0.norm.LayerNorm.forward.0"), ["eps"]);
        assert!(formula_arguments("Functional.linear.9.forward").is_empty());
        assert!(formula_arguments("Torch.norm.0.forward").is_empty());
    }
}
