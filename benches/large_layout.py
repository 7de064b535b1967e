"""Makes dumps of one model on eight ranks a side that cut it differently, to see what putting ranks together costs.

    python3 benches/large_layout.py FOLDER [--layers 8000] [--calls 0]
    /usr/bin/time -v precision-gate run --baseline FOLDER/gpu --candidate FOLDER/npu --config FOLDER/precision-gate.yml --out FOLDER/out --quiet

TP 2 and PP 4 against TP 4 and PP 2. Each layer has ten modules, forward and backward, with parameters in five of them; --calls adds as many calls
outside of modules, which are left out. Statistics of a rank are those of its parts of one model, so that both sides agree.
"""

import argparse
import json
import math
import pathlib
import random

PARTS = 4
TOKENS, BATCH, HIDDEN = 16, 2, 64

# Module below a layer, its class, inputs and outputs, parameters: w whole, l cut along the last axis, f along the first.
MODULES = [
    ("input_layernorm", "RMSNorm", "w", "w", {"weight": ("w", [HIDDEN])}),
    ("self_attention.linear_qkv", "ColumnParallelLinear", "w", "l", {"weight": ("f", [3 * HIDDEN, HIDDEN])}),
    ("self_attention.core_attention", "DotProductAttention", "h", "l", {}),
    ("self_attention.linear_proj", "RowParallelLinear", "l", "w", {"weight": ("l", [HIDDEN, HIDDEN])}),
    ("self_attention", "SelfAttention", "w", "w", {}),
    ("pre_mlp_layernorm", "RMSNorm", "w", "w", {"weight": ("w", [HIDDEN])}),
    ("mlp.linear_fc1", "ColumnParallelLinear", "w", "l", {"weight": ("f", [4 * HIDDEN, HIDDEN])}),
    ("mlp.linear_fc2", "RowParallelLinear", "l", "w", {"weight": ("l", [HIDDEN, 4 * HIDDEN])}),
    ("mlp", "MLP", "w", "w", {}),
    ("", "TransformerLayer", "w", "w", {}),
]


def shape_of(cut, features):
    return [TOKENS, BATCH, 4, HIDDEN // 4] if cut == "h" else [TOKENS, BATCH, features]


def tensor(key, cut, shape, tp, rank):
    """Statistics of the part of a value that a rank of `tp` holds."""
    numbers = random.Random(key)
    parts = [(numbers.uniform(1, 9), numbers.uniform(-9, -1), numbers.uniform(-0.1, 0.1), numbers.uniform(5, 90)) for _ in range(PARTS)]
    if cut != "w":
        width = PARTS // tp
        parts = parts[rank * width : (rank + 1) * width]
        axis = {"l": len(shape) - 1, "f": 0, "h": 2}[cut]
        shape = [size // tp if at == axis else size for at, size in enumerate(shape)]
    largest, smallest, means, norms = zip(*parts)
    values = {"Max": max(largest), "Min": min(smallest), "Mean": sum(means) / len(means), "Norm": math.hypot(*norms)}
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": shape} | values | {"requires_grad": True}


def end_of_model(name, kind, cut, tp, rank):
    value = tensor(name, "w", [TOKENS, BATCH, HIDDEN], tp, rank)
    weight = tensor(f"{name}.weight", cut, [PARTS * HIDDEN, HIDDEN], tp, rank)
    return f"Module.{name}.{kind}.forward.0", {"input_args": [value], "input_kwargs": {}, "output": [value], "parameters": {"weight": weight}}


def operations(stage, asked, tp, pp, rank):
    own = asked.layers // pp
    if stage == 0:
        yield end_of_model("embedding.word_embeddings", "VocabParallelEmbedding", "f", tp, rank)
    for is_forward in (True, False):
        order = range(own) if is_forward else reversed(range(own))
        for local in order:
            layer = stage * own + local
            for name, kind, given, made, parameters in MODULES if is_forward else reversed(MODULES):
                path = f"decoder.layers.{local}" + (f".{name}" if name else "")
                key, way = f"{layer}.{name}.{is_forward}", "forward" if is_forward else "backward"
                features = 4 * HIDDEN if "fc" in name else HIDDEN
                ends = [tensor(f"{key}.{end}", cut, shape_of(cut, features), tp, rank) for end, cut in (("in", given), ("out", made))]
                if not is_forward:
                    ends.reverse()
                operation = {"input_args" if is_forward else "input": ends[:1], "output": ends[1:]}
                if is_forward:
                    weights = {own: tensor(f"{layer}.{name}.{own}", cut, shape, tp, rank) for own, (cut, shape) in parameters.items()}
                    operation |= {"input_kwargs": {}} | ({"parameters": weights} if weights else {})
                yield f"Module.{path}.{kind}.{way}.0", operation
            for call in range(asked.calls // 2):
                value = tensor(f"{layer}.{call}", "w", [TOKENS, BATCH, HIDDEN], tp, rank)
                yield f"Tensor.__add__.{local * asked.calls + call}.{'forward' if is_forward else 'backward'}", {
                    "input_args" if is_forward else "input": [value],
                    "output": [value],
                }
        if is_forward and stage == pp - 1:
            yield end_of_model("decoder.final_layernorm", "RMSNorm", "w", tp, rank)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=8000)
    parser.add_argument("--calls", type=int, default=0)
    asked = parser.parse_args()
    for side, tp, pp in (("gpu", 2, 4), ("npu", 4, 2)):
        for stage in range(pp):
            for rank in range(tp):
                folder = asked.folder / side / "step0" / f"rank{stage * tp + rank}"
                folder.mkdir(parents=True, exist_ok=True)
                data = dict(operations(stage, asked, tp, pp, rank))
                head = {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None}
                (folder / "dump.json").write_text(json.dumps(head | {"data": data}))
        print(f"{side}: {len(data)} operations a rank")
    policy = "layout:\n  baseline: {tp: 2, pp: 4}\n  candidate: {tp: 4, pp: 2}\n"
    (asked.folder / "precision-gate.yml").write_text(policy)


if __name__ == "__main__":
    main()
