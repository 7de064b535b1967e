//! Sample names of operations and parameters, which tell a selector of a few from one of many.

/// Operations as dumps name them, without direction. A pattern that fits many of them does not name particular ones.
pub(super) const OPERATIONS: [&str; 32] = [
    "Functional.linear.0",
    "Functional.layer_norm.1",
    "Functional.softmax.2",
    "Functional.embedding.0",
    "Functional.cross_entropy.0",
    "Functional.dropout.3",
    "Functional.gelu.1",
    "Functional.scaled_dot_product_attention.0",
    "Tensor.__add__.0",
    "Tensor.__mul__.4",
    "Tensor.__getitem__.1",
    "Tensor.view.2",
    "Tensor.transpose.0",
    "Tensor.to.5",
    "Tensor.sum.0",
    "Tensor.index_select.0",
    "Torch.matmul.0",
    "Torch.cat.3",
    "Torch.einsum.0",
    "Torch.rsqrt.1",
    "Torch.arange.0",
    "Torch.tanh.6",
    "Torch.where.0",
    "Torch.topk.0",
    "Module.model.embed_tokens.Embedding.forward.0",
    "Module.model.layers.0.self_attn.q_proj.Linear.forward.0",
    "Module.model.layers.0.mlp.down_proj.Linear.forward.0",
    "Module.model.layers.1.input_layernorm.LlamaRMSNorm.forward.0",
    "Module.model.layers.1.mlp.act_fn.SiLU.forward.0",
    "Module.model.norm.LlamaRMSNorm.forward.0",
    "Module.lm_head.Linear.forward.0",
    "Module.criterion.CrossEntropyLoss.forward.0",
];

/// Parameters as checkpoints name them.
pub(super) const PARAMETERS: [&str; 16] = [
    "model.embed_tokens.weight",
    "model.layers.0.self_attn.q_proj.weight",
    "model.layers.0.self_attn.q_proj.bias",
    "model.layers.0.self_attn.o_proj.weight",
    "model.layers.0.mlp.down_proj.weight",
    "model.layers.1.input_layernorm.weight",
    "model.layers.1.mlp.gate.weight",
    "model.norm.weight",
    "lm_head.weight",
    "transformer.h.0.attn.c_attn.weight",
    "transformer.h.0.attn.c_attn.bias",
    "transformer.h.1.mlp.c_fc.weight",
    "encoder.layer.0.attention.self.query.weight",
    "encoder.layer.0.output.LayerNorm.bias",
    "conv1.weight",
    "layer1.0.bn1.running_mean",
];

/// Number of matches among the names above from which a selector counts as one for all.
pub(super) const MANY: usize = 6;
