//! Classification of tensor names: parameters, modules, and other results.

use crate::read::tensor::StoredValue;

/// Meaning of a file of tensors that holds no parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activations {
    /// Results of modules, under their paths.
    Modules,
    /// A single array, or several under plain names.
    Arrays,
}

/// Last parts of the names of parameters and of an optimizer's states.
const PARAMETERS: [&str; 40] = [
    "weight",
    "bias",
    "gamma",
    "beta",
    "embedding_table",
    "scale",
    "scales",
    "inv_freq",
    "running_mean",
    "running_var",
    "num_batches_tracked",
    "exp_avg",
    "exp_avg_sq",
    "max_exp_avg_sq",
    "momentum_buffer",
    "momentum",
    "moment1",
    "moment2",
    "step",
    "lora_a",
    "lora_b",
    "a_log",
    "d",
    "w1",
    "w2",
    "w3",
    "qweight",
    "qzeros",
    "g_idx",
    "weight_scale",
    "weight_g",
    "weight_v",
    "cls_token",
    "pos_embed",
    "kernel",
    "_extra_state",
    "param",
    "params",
    "master_weights",
    "weight_scale_inv",
];

/// Last parts of the names of modules. A parameter's name has a further part.
const MODULES: [&str; 46] = [
    "attn",
    "attention",
    "self_attn",
    "self_attention",
    "cross_attn",
    "mlp",
    "ffn",
    "feed_forward",
    "norm",
    "act",
    "act_fn",
    "activation",
    "dropout",
    "embed",
    "embed_tokens",
    "embeddings",
    "word_embeddings",
    "wte",
    "wpe",
    "c_attn",
    "c_proj",
    "c_fc",
    "ln_f",
    "lm_head",
    "head",
    "output_layer",
    "gate",
    "router",
    "experts",
    "dense",
    "query",
    "key",
    "value",
    "softmax",
    "relu",
    "gelu",
    "silu",
    "pooler",
    "classifier",
    "decoder",
    "encoder",
    "proj",
    "qkv",
    "rotary_emb",
    "transformer",
    "model",
];

/// Names of results.
const RESULTS: [&str; 28] = [
    "logits",
    "hidden",
    "hidden_states",
    "last_hidden_state",
    "pooler_output",
    "activations",
    "activation",
    "acts",
    "act",
    "out",
    "output",
    "outputs",
    "input",
    "inputs",
    "embedding",
    "embeddings",
    "emb",
    "embs",
    "feature",
    "features",
    "vector",
    "vectors",
    "attentions",
    "image_embeds",
    "text_embeds",
    "probs",
    "scores",
    "result",
];

/// Endings of the names of modules and results.
const ENDINGS: [&str; 10] =
    ["_proj", "layernorm", "_norm", "_fn", "_output", "_input", "_embeds", "_states", "_out", "_attn"];

/// Meaning of the values of the file at `path`; `None` for a checkpoint, and for a file without tensors.
///
/// A bare tensor is an array unless its file has the name of a parameter. Named tensors are results if none has the name of a
/// parameter and all have the name of a module or a result.
pub fn activations(path: &str, stored: &[(String, StoredValue)]) -> Option<Activations> {
    let tensors =
        stored.iter().filter(|(_, stored)| matches!(stored, StoredValue::Tensor(_))).map(|(name, _)| name.as_str());
    if let [(name, StoredValue::Tensor(_))] = stored
        && name.is_empty()
    {
        let stem = super::place::tensor_stem(path)?;
        return (!is_parameter(stem)).then_some(Activations::Arrays);
    }
    let names: Vec<&str> = tensors.collect();
    if names.is_empty() || !names.iter().all(|name| !is_parameter(name) && is_result(name)) {
        return None;
    }
    let is_path = |name: &&str| name.contains('.');
    Some(if names.iter().any(is_path) { Activations::Modules } else { Activations::Arrays })
}

/// Whether a name belongs to a parameter or to a state of an optimizer.
pub(super) fn is_parameter(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    PARAMETERS.contains(&last.as_str()) || last.ends_with("_weight") || last.ends_with("_bias")
}

/// Whether a name is the path of a module: at least two parts that are names or numbers, and not a parameter's name.
pub(super) fn is_module_path(name: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let begins = |name: &str| name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    name.contains('.') && begins(name) && name.split('.').all(is_part) && !is_parameter(name)
}

/// Whether the last word of a name belongs to a module or a result. Numbers at the end count layers and outputs and are ignored.
fn is_result(name: &str) -> bool {
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = name.split('.').collect();
    let Some(last) = parts.iter().rev().find(|part| !is_number(part)) else { return false };
    let last = last.to_ascii_lowercase();
    let last = last.trim_end_matches(|sign: char| sign.is_ascii_digit()).trim_end_matches('_');
    let is_counted = parts.last().is_some_and(is_number) && ["layers", "h", "blocks", "block", "layer"].contains(&last);
    let is_short = ["q", "k", "v", "fc", "ln", "conv", "linear"].contains(&last) && parts.len() > 1;
    MODULES.contains(&last)
        || RESULTS.contains(&last)
        || is_counted
        || is_short
        || ENDINGS.iter().any(|end| last.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_told_from_modules() {
        for name in ["model.layers.0.mlp.up_proj.weight", "bias", "state.0.exp_avg", "h.0.ln_1.gamma", "x.lora_A"] {
            assert!(is_parameter(name), "{name}");
        }
        for name in [
            "model.layers.0.mlp",
            "transformer.h.0.attn.c_attn",
            "transformer.h.3",
            "lm_head",
            "logits",
            "q_proj",
            "encoder.fc1",
            "hidden_states_2",
            "layers.0.output.0",
            "model.layers.1.input_layernorm",
        ] {
            assert!(is_result(name) && !is_parameter(name), "{name}");
        }
        for name in ["w", "x", "layers.0.alpha", "table", "0.1"] {
            assert!(!is_result(name), "{name}");
        }
        assert!(is_module_path("model.embed_tokens") && is_module_path("h.0"));
        assert!(
            !is_module_path("logits")
                && !is_module_path("00.mlp")
                && !is_module_path("a..b")
                && !is_module_path("x.weight")
        );
    }
}
