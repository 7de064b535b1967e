"""Makes one model as Hugging Face safetensors and as a Megatron folder of several ranks, to see what comparing them costs.

    python3 benches/large_checkpoint.py FOLDER [--layers 5] [--tp 4] [--pp 2] [--changed]
    /usr/bin/time -v precision-gate run --baseline FOLDER/gpu --candidate FOLDER/npu --out FOLDER/out --quiet

A Llama of 2048 features and 32 000 words; 5 layers are 1.5 GB a side. Its weights are windows of 256 KB of random numbers, so that files are
written at the speed of the disk. With --changed one element of the candidate is off.
"""

import argparse
import array
import collections
import io
import json
import pathlib
import pickle
import random
import struct
import sys
import types
import zipfile

HIDDEN, FEED, WORDS, HEADS = 2048, 5504, 32000, 16
HEAD = HIDDEN // HEADS
POOL_ROWS = 65536

numbers = random.Random(1)
POOL = array.array("f", [numbers.gauss(0, 0.02) for _ in range(POOL_ROWS + 8192)]).tobytes()
IDENTITIES = {}


def row(name, index, first, last):
    """Columns of a row of a weight: a window of the pool that depends on both."""
    identity = IDENTITIES.setdefault(name, len(IDENTITIES) + 1)
    start = (identity * 7919 + index * 131) % POOL_ROWS
    return POOL[(start + first) * 4 : (start + last) * 4]


def block(name, rows, columns):
    return b"".join(row(name, index, *columns) for index in range(*rows))


def part(size, rank, ranks):
    return rank * size // ranks, (rank + 1) * size // ranks


def weights(layers):
    """Names and shapes of Hugging Face."""
    yield "model.embed_tokens.weight", (WORDS, HIDDEN)
    for layer in range(layers):
        at = f"model.layers.{layer}."
        yield at + "input_layernorm.weight", (HIDDEN,)
        for projection in "qkvo":
            yield f"{at}self_attn.{projection}_proj.weight", (HIDDEN, HIDDEN)
        yield at + "post_attention_layernorm.weight", (HIDDEN,)
        yield at + "mlp.gate_proj.weight", (FEED, HIDDEN)
        yield at + "mlp.up_proj.weight", (FEED, HIDDEN)
        yield at + "mlp.down_proj.weight", (HIDDEN, FEED)
    yield "model.norm.weight", (HIDDEN,)
    yield "lm_head.weight", (WORDS, HIDDEN)


def size_of(shape):
    return 4 * (shape[0] if len(shape) == 1 else shape[0] * shape[1])


def write_safetensors(folder, layers):
    folder.mkdir(parents=True, exist_ok=True)
    header, offset = {}, 0
    for name, shape in weights(layers):
        end = offset + size_of(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in weights(layers):
            rows = (0, 1) if len(shape) == 1 else (0, shape[0])
            file.write(block(name, rows, (0, shape[-1])))
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": HIDDEN, "num_hidden_layers": layers}
    config |= {"num_attention_heads": HEADS, "num_key_value_heads": HEADS, "vocab_size": WORDS, "tie_word_embeddings": False}
    (folder / "config.json").write_text(json.dumps(config | {"intermediate_size": FEED, "torch_dtype": "float32"}))
    return offset


# The forms that torch pickles tensors in, without torch.
class FloatStorage:
    pass


def _rebuild_tensor_v2(*_):
    pass


FloatStorage.__module__, _rebuild_tensor_v2.__module__ = "torch", "torch._utils"
sys.modules["torch"] = types.SimpleNamespace(FloatStorage=FloatStorage)
sys.modules["torch._utils"] = types.SimpleNamespace(_rebuild_tensor_v2=_rebuild_tensor_v2)


class Storage:
    def __init__(self, key, length):
        self.key, self.length = key, length


class Tensor:
    def __init__(self, key, shape):
        self.key, self.shape = key, shape

    def __reduce__(self):
        length, strides = 1, []
        for size in reversed(self.shape):
            strides.insert(0, length)
            length *= size
        parts = (Storage(self.key, length), 0, tuple(self.shape), tuple(strides), False, collections.OrderedDict())
        return _rebuild_tensor_v2, parts


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        return ("storage", FloatStorage, value.key, "cpu", value.length) if isinstance(value, Storage) else None


def rank_tensors(layers, tp, pp, rank, stage):
    """Names, bytes and shapes of one rank of a Megatron folder."""
    heads, features, feed, words = (part(size, rank, tp) for size in (HEADS, HIDDEN, FEED, WORDS))
    width = (0, HIDDEN)
    if stage == 0:
        yield "embedding.word_embeddings.weight", block("model.embed_tokens.weight", words, width), (WORDS // tp, HIDDEN)
    for local in range(layers * stage // pp, layers * (stage + 1) // pp):
        source, target = f"model.layers.{local}.", f"decoder.layers.{local - layers * stage // pp}."
        yield target + "input_layernorm.weight", row(source + "input_layernorm.weight", 0, *width), (HIDDEN,)
        fused = b"".join(
            block(f"{source}self_attn.{projection}_proj.weight", (head * HEAD, (head + 1) * HEAD), width)
            for head in range(*heads)
            for projection in "qkv"
        )
        yield target + "self_attention.linear_qkv.weight", fused, (3 * HIDDEN // tp, HIDDEN)
        yield target + "self_attention.linear_proj.weight", block(source + "self_attn.o_proj.weight", width, features), (HIDDEN, HIDDEN // tp)
        yield target + "pre_mlp_layernorm.weight", row(source + "post_attention_layernorm.weight", 0, *width), (HIDDEN,)
        gate, up = (block(f"{source}mlp.{name}_proj.weight", feed, width) for name in ("gate", "up"))
        yield target + "mlp.linear_fc1.weight", gate + up, (2 * FEED // tp, HIDDEN)
        yield target + "mlp.linear_fc2.weight", block(source + "mlp.down_proj.weight", width, feed), (HIDDEN, FEED // tp)
    if stage == pp - 1:
        yield "decoder.final_layernorm.weight", row("model.norm.weight", 0, *width), (HIDDEN,)
        yield "output_layer.weight", block("lm_head.weight", words, width), (WORDS // tp, HIDDEN)


def write_rank(folder, layers, sizes, rank, stage, changed):
    tp, pp = sizes
    arguments = {"tensor_model_parallel_size": tp, "pipeline_model_parallel_size": pp, "num_layers": layers}
    arguments |= {"num_attention_heads": HEADS, "num_query_groups": HEADS, "kv_channels": HEAD, "hidden_size": HIDDEN, "swiglu": True}
    tensors = list(rank_tensors(layers, tp, pp, rank, stage))
    model = {name: Tensor(str(key), shape) for key, (name, _, shape) in enumerate(tensors)}
    text = io.BytesIO()
    Pickler(text, 2).dump({"args": arguments, "checkpoint_version": 3.0, "iteration": 10, "model": model})
    folder = folder / "iter_0000010" / f"mp_rank_{rank:02}_{stage:03}"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "model_optim_rng.pt", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", text.getvalue())
        for key, (_, content, _) in enumerate(tensors):
            if changed and key == 2:
                content = content[:400] + struct.pack("<f", 1.0) + content[404:]
            archive.writestr(f"archive/data/{key}", content)
        archive.writestr("archive/version", "3\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=5)
    parser.add_argument("--tp", type=int, default=4)
    parser.add_argument("--pp", type=int, default=2)
    parser.add_argument("--changed", action="store_true")
    asked = parser.parse_args()
    written = write_safetensors(asked.folder / "gpu", asked.layers)
    ranks = [(rank, stage) for stage in range(asked.pp) for rank in range(asked.tp)]
    for rank, stage in ranks:
        is_changed = asked.changed and (rank, stage) == ranks[-1]
        write_rank(asked.folder / "npu", asked.layers, (asked.tp, asked.pp), rank, stage, is_changed)
    print(f"{written / 1e9:.2f} GB a side, {len(ranks)} ranks")


if __name__ == "__main__":
    main()
