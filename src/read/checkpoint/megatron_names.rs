//! Names of Megatron's tensors in one spelling, whether they come from its core, from Transformer Engine or from older models.

/// Parts of older names, each with its present spelling.
const RENAMED: [(&str, &str); 11] = [
    ("attention.query_key_value.", "self_attention.linear_qkv."),
    ("attention.dense.", "self_attention.linear_proj."),
    ("mlp.dense_h_to_4h.", "mlp.linear_fc1."),
    ("mlp.dense_4h_to_h.", "mlp.linear_fc2."),
    ("post_attention_layernorm.", "pre_mlp_layernorm."),
    ("post_attention_norm.", "pre_mlp_layernorm."),
    ("input_norm.", "input_layernorm."),
    ("self_attention.linear_qkv.layer_norm_", "input_layernorm."),
    ("mlp.linear_fc1.layer_norm_", "pre_mlp_layernorm."),
    ("mlp.router.gate.", "mlp.router."),
    ("mlp.shared_expert.", "mlp.shared_experts."),
];

/// Name of a tensor of a chunk in the spelling of Megatron core; `None` if it is not a weight.
pub(super) fn core_name(name: &str) -> Option<String> {
    let name = name.strip_prefix("module.").unwrap_or(name);
    let name = name.strip_prefix("language_model.").unwrap_or(name);
    if name.ends_with("_extra_state") || name.ends_with("rotary_pos_emb.inv_freq") {
        return None;
    }
    if matches!(name, "word_embeddings_for_head.weight" | "word_embeddings.weight") {
        return Some("output_layer.weight".into());
    }
    let inside = ["encoder.", "transformer.", "decoder."].iter().find_map(|stack| name.strip_prefix(stack));
    let Some(inside) = inside else { return Some(name.to_owned()) };
    let Some((layer, rest)) = layer_of(inside) else {
        return Some(format!("decoder.{}", inside.replace("final_norm.", "final_layernorm.")));
    };
    Some(format!("decoder.layers.{layer}.{}", modern_inside(rest)))
}

/// Name within a layer, in the present spelling.
fn modern_inside(rest: &str) -> String {
    for (old, new) in RENAMED {
        let found = rest.strip_prefix(old).or_else(|| rest.strip_prefix("self_")?.strip_prefix(old));
        if let Some(end) = found {
            return format!("{new}{end}");
        }
    }
    grouped_expert(rest).unwrap_or_else(|| rest.to_owned())
}

/// Name of an expert's weight, given in the form that grouped products use: `mlp.experts.linear_fc1.weight3`.
fn grouped_expert(rest: &str) -> Option<String> {
    let inside = rest.strip_prefix("mlp.experts.")?;
    let (linear, tensor) = inside.split_once('.')?;
    let kind = tensor.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let expert = tensor.get(kind.len()..).filter(|expert| !expert.is_empty())?;
    let is_known = matches!(linear, "linear_fc1" | "linear_fc2") && matches!(kind, "weight" | "bias");
    is_known.then(|| format!("mlp.experts.local_experts.{expert}.{linear}.{kind}"))
}

/// Splits `layers.3.rest` into the number of the layer and the rest.
fn layer_of(inside: &str) -> Option<(u64, &str)> {
    let (layer, rest) = inside.strip_prefix("layers.")?.split_once('.')?;
    Some((layer.parse().ok()?, rest))
}

/// Name with the numbers of its layer and of its expert changed by the given functions.
pub(super) fn renumbered(name: &str, layer: impl Fn(u64) -> u64, expert: impl Fn(u64) -> u64) -> String {
    let Some((own, rest)) = name.strip_prefix("decoder.").and_then(layer_of) else { return name.to_owned() };
    let rest = match expert_of(rest) {
        Some((number, end)) => format!("{EXPERTS}{}.{end}", expert(number)),
        None => rest.to_owned(),
    };
    format!("decoder.layers.{}.{rest}", layer(own))
}

/// Numbers of the layer and of the expert in a name, as far as it has them.
pub(super) fn layer_and_expert(name: &str) -> (Option<u64>, Option<u64>) {
    match name.strip_prefix("decoder.").and_then(layer_of) {
        Some((layer, rest)) => (Some(layer), expert_of(rest).map(|(expert, _)| expert)),
        None => (None, None),
    }
}

const EXPERTS: &str = "mlp.experts.local_experts.";

fn expert_of(rest: &str) -> Option<(u64, &str)> {
    let (expert, end) = rest.strip_prefix(EXPERTS)?.split_once('.')?;
    Some((expert.parse().ok()?, end))
}

/// Names of the parts of a tensor that stacks all layers, such as `decoder.layers.mlp.linear_fc1.weight`: whether it stacks experts
/// too, and a function from layer and expert to the name. `None` for any other tensor.
pub(super) fn unstacked_names(name: &str) -> Option<(bool, impl Fn(u64, u64) -> String)> {
    let rest = name.strip_prefix("decoder.layers.").filter(|rest| layer_of(&format!("layers.{rest}")).is_none())?;
    let rest = modern_inside(rest);
    let experts = rest.strip_prefix("mlp.experts.experts.").map(str::to_owned);
    Some((experts.is_some(), move |layer, expert| match &experts {
        Some(inside) => format!("decoder.layers.{layer}.{EXPERTS}{expert}.{inside}"),
        None => format!("decoder.layers.{layer}.{rest}"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_names_are_spelled_as_those_of_the_core() {
        for (old, new) in [
            ("language_model.embedding.word_embeddings.weight", "embedding.word_embeddings.weight"),
            (
                "language_model.encoder.layers.3.self_attention.query_key_value.bias",
                "decoder.layers.3.self_attention.linear_qkv.bias",
            ),
            (
                "language_model.transformer.layers.0.attention.dense.weight",
                "decoder.layers.0.self_attention.linear_proj.weight",
            ),
            ("language_model.encoder.layers.1.mlp.dense_4h_to_h.weight", "decoder.layers.1.mlp.linear_fc2.weight"),
            ("decoder.layers.0.self_attention.linear_qkv.layer_norm_weight", "decoder.layers.0.input_layernorm.weight"),
            ("decoder.layers.0.mlp.linear_fc1.layer_norm_bias", "decoder.layers.0.pre_mlp_layernorm.bias"),
            (
                "decoder.layers.0.self_attention.q_layernorm.weight",
                "decoder.layers.0.self_attention.q_layernorm.weight",
            ),
            ("language_model.encoder.final_norm.weight", "decoder.final_layernorm.weight"),
            ("word_embeddings_for_head.weight", "output_layer.weight"),
            (
                "decoder.layers.2.mlp.experts.linear_fc2.weight7",
                "decoder.layers.2.mlp.experts.local_experts.7.linear_fc2.weight",
            ),
        ] {
            assert_eq!(core_name(old).as_deref(), Some(new), "{old}");
        }
        assert_eq!(core_name("decoder.layers.0.self_attention._extra_state"), None);
    }

    #[test]
    fn layers_and_experts_are_renumbered() {
        let name = "decoder.layers.1.mlp.experts.local_experts.0.linear_fc1.weight";
        let renumbered = renumbered(name, |layer| layer + 4, |expert| expert + 2);
        assert_eq!(renumbered, "decoder.layers.5.mlp.experts.local_experts.2.linear_fc1.weight");
        assert_eq!(layer_and_expert(name), (Some(1), Some(0)));
    }

    #[test]
    fn a_stack_gives_a_name_for_each_layer() {
        let (experts, name) =
            unstacked_names("decoder.layers.self_attention.linear_qkv.layer_norm_weight").expect("a stack");
        assert_eq!((experts, name(2, 0).as_str()), (false, "decoder.layers.2.input_layernorm.weight"));
        let (experts, name) = unstacked_names("decoder.layers.mlp.experts.experts.linear_fc1.weight").expect("a stack");
        assert!(experts);
        assert_eq!(name(1, 3), "decoder.layers.1.mlp.experts.local_experts.3.linear_fc1.weight");
        assert!(unstacked_names("decoder.layers.0.mlp.linear_fc1.weight").is_none());
    }
}
