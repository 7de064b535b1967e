//! Arguments that set the formula of an operator, mostly by their defaults, which devices and versions may read differently.

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

/// The arguments of an operator that set its formula; none where the operator is not in the table.
pub fn formula_arguments(api: &str) -> &'static [&'static str] {
    let api = api.to_ascii_lowercase();
    let known = FORMULAS.into_iter().find(|(part, _)| api.contains(part));
    known.map_or(&[], |(_, arguments)| arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_has_its_own_arguments_and_a_matrix_product_none() {
        assert_eq!(formula_arguments("Functional.interpolate.0")[1], "align_corners");
        assert_eq!(formula_arguments("LayerNorm"), ["eps"]);
        assert!(formula_arguments("Functional.linear.9").is_empty());
    }
}
