//! Names of one tensor in the spelling of Megatron and of Hugging Face.

/// Part of a fused tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The tensor as a whole.
    Whole,
    /// Queries.
    Query,
    /// Keys.
    Key,
    /// Values.
    Value,
    /// Gate of a gated layer.
    Gate,
    /// The half that the gate multiplies.
    Up,
}

/// Spelling that tensors are compared under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// That of Megatron; a part of a fused tensor stands in brackets.
    Megatron,
    /// That of Hugging Face.
    HuggingFace {
        /// Whether a mixture of experts is spelled as Mixtral's.
        is_mixtral: bool,
    },
}

impl Spelling {
    /// The name, in this spelling, of a tensor or a part of it whose Megatron name is `name`. A moment keeps its mark.
    pub(super) fn tensor_name(self, name: &str, part: Part) -> String {
        let (weight, moment) = name.split_at(name.find('@').unwrap_or(name.len()));
        let spelled = match self {
            Self::Megatron => match part_mark(part) {
                "" => weight.to_owned(),
                mark => format!("{weight}[{mark}]"),
            },
            Self::HuggingFace { is_mixtral } => hugging_face(weight, part, is_mixtral),
        };
        format!("{spelled}{moment}")
    }
}

fn part_mark(part: Part) -> &'static str {
    match part {
        Part::Whole => "",
        Part::Query => "q",
        Part::Key => "k",
        Part::Value => "v",
        Part::Gate => "gate",
        Part::Up => "up",
    }
}

fn hugging_face(name: &str, part: Part, is_mixtral: bool) -> String {
    match name {
        "embedding.word_embeddings.weight" => return "model.embed_tokens.weight".into(),
        "output_layer.weight" => return "lm_head.weight".into(),
        _ => {}
    }
    if let Some(end) = name.strip_prefix("decoder.final_layernorm.") {
        return format!("model.norm.{end}");
    }
    let inside = name.strip_prefix("decoder.layers.").and_then(|rest| rest.split_once('.'));
    let spelled = inside.and_then(|(layer, rest)| Some((layer, inside_of_layer(rest, part, is_mixtral)?)));
    spelled.map_or_else(
        || Spelling::Megatron.tensor_name(name, part),
        |(layer, rest)| format!("model.layers.{layer}.{rest}"),
    )
}

/// The Hugging Face name within a layer; `None` where there is none.
fn inside_of_layer(rest: &str, part: Part, is_mixtral: bool) -> Option<String> {
    if let Some(expert) = rest.strip_prefix("mlp.experts.local_experts.") {
        let (number, inside) = expert.split_once('.')?;
        let (linear, tensor) = inside.split_once('.')?;
        let projection = projection(linear, part)?;
        return Some(if is_mixtral {
            let short = match projection {
                "gate_proj" => "w1",
                "down_proj" => "w2",
                _ => "w3",
            };
            format!("block_sparse_moe.experts.{number}.{short}.{tensor}")
        } else {
            format!("mlp.experts.{number}.{projection}.{tensor}")
        });
    }
    let (module, tensor) = rest.rsplit_once('.')?;
    let module = match (module, part) {
        ("self_attention.linear_qkv", Part::Query) => "self_attn.q_proj",
        ("self_attention.linear_qkv", Part::Key) => "self_attn.k_proj",
        ("self_attention.linear_qkv", Part::Value) => "self_attn.v_proj",
        ("self_attention.linear_proj", _) => "self_attn.o_proj",
        ("self_attention.q_layernorm", _) => "self_attn.q_norm",
        ("self_attention.k_layernorm", _) => "self_attn.k_norm",
        ("input_layernorm", _) => "input_layernorm",
        ("pre_mlp_layernorm", _) => "post_attention_layernorm",
        ("mlp.router", _) if is_mixtral => "block_sparse_moe.gate",
        ("mlp.router", _) => "mlp.gate",
        _ => {
            let (stack, linear) = module.rsplit_once('.')?;
            let stack = match stack {
                "mlp" => "mlp",
                "mlp.shared_experts" => "mlp.shared_expert",
                _ => return None,
            };
            return Some(format!("{stack}.{}.{tensor}", projection(linear, part)?));
        }
    };
    Some(format!("{module}.{tensor}"))
}

fn projection(linear: &str, part: Part) -> Option<&'static str> {
    match (linear, part) {
        ("linear_fc1", Part::Gate) => Some("gate_proj"),
        ("linear_fc1", Part::Up) => Some("up_proj"),
        ("linear_fc2", _) => Some("down_proj"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_have_a_name_in_both_spellings() {
        let dense = Spelling::HuggingFace { is_mixtral: false };
        let mixtral = Spelling::HuggingFace { is_mixtral: true };
        for (spelling, name, part, expected) in [
            (dense, "embedding.word_embeddings.weight", Part::Whole, "model.embed_tokens.weight"),
            (
                dense,
                "decoder.layers.3.self_attention.linear_qkv.bias",
                Part::Key,
                "model.layers.3.self_attn.k_proj.bias",
            ),
            (
                dense,
                "decoder.layers.3.pre_mlp_layernorm.weight",
                Part::Whole,
                "model.layers.3.post_attention_layernorm.weight",
            ),
            (
                dense,
                "decoder.layers.0.mlp.linear_fc1.weight@exp_avg",
                Part::Up,
                "model.layers.0.mlp.up_proj.weight@exp_avg",
            ),
            (
                dense,
                "decoder.layers.0.self_attention.q_layernorm.weight",
                Part::Whole,
                "model.layers.0.self_attn.q_norm.weight",
            ),
            (
                mixtral,
                "decoder.layers.0.mlp.experts.local_experts.2.linear_fc1.weight",
                Part::Gate,
                "model.layers.0.block_sparse_moe.experts.2.w1.weight",
            ),
            (
                dense,
                "decoder.layers.0.mlp.experts.local_experts.2.linear_fc2.weight",
                Part::Whole,
                "model.layers.0.mlp.experts.2.down_proj.weight",
            ),
            (mixtral, "decoder.layers.0.mlp.router.weight", Part::Whole, "model.layers.0.block_sparse_moe.gate.weight"),
            (
                Spelling::Megatron,
                "decoder.layers.0.mlp.linear_fc1.weight",
                Part::Gate,
                "decoder.layers.0.mlp.linear_fc1.weight[gate]",
            ),
            (dense, "embedding.position_embeddings.weight", Part::Whole, "embedding.position_embeddings.weight"),
            (dense, "decoder.layers.0.mlp.linear_fc1.weight", Part::Whole, "decoder.layers.0.mlp.linear_fc1.weight"),
        ] {
            assert_eq!(spelling.tensor_name(name, part), expected);
        }
    }
}
