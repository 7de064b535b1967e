"""Makes records of a rollout and weights on their way to an engine, to see what reading them costs.

    python3 benches/large_tokens.py FOLDER [--answers 64] [--tokens 8192] [--gigabytes 1]
    /usr/bin/time -v precision-gate run --health --candidate FOLDER/tokens --out FOLDER/out --quiet
    /usr/bin/time -v precision-gate run --health --candidate FOLDER/sync --out FOLDER/out --quiet

`tokens` holds one batch of verl as `.pt`: log-probabilities of engine and trainer that differ by 0.008 on average, ids and mask. `sync` holds what the
trainer sent and the engine received, as lists of (name, tensor) of 64 MB each.
"""

import argparse
import array
import collections
import io
import pathlib
import pickle
import random
import sys
import types
import zipfile


# The forms that torch pickles tensors in, without torch.
class FloatStorage:
    pass


class LongStorage:
    pass


def _rebuild_tensor_v2(*_):
    pass


for kind in (FloatStorage, LongStorage):
    kind.__module__ = "torch"
_rebuild_tensor_v2.__module__ = "torch._utils"
sys.modules["torch"] = types.SimpleNamespace(FloatStorage=FloatStorage, LongStorage=LongStorage)
sys.modules["torch._utils"] = types.SimpleNamespace(_rebuild_tensor_v2=_rebuild_tensor_v2)


class Storage:
    def __init__(self, kind, key, length):
        self.kind, self.key, self.length = kind, key, length


class Tensor:
    def __init__(self, kind, key, shape):
        self.kind, self.key, self.shape = kind, key, shape

    def __reduce__(self):
        length, strides = 1, []
        for size in reversed(self.shape):
            strides.insert(0, length)
            length *= size
        parts = (Storage(self.kind, self.key, length), 0, tuple(self.shape), tuple(strides), False, collections.OrderedDict())
        return _rebuild_tensor_v2, parts


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        return ("storage", value.kind, value.key, "cpu", value.length) if isinstance(value, Storage) else None


def save(path, value, contents):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.BytesIO()
    Pickler(text, 2).dump(value)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", text.getvalue())
        for key, content in contents.items():
            archive.writestr(f"archive/data/{key}", content)
        archive.writestr("archive/version", "3\n")


def write_tokens(folder, answers, tokens):
    numbers = random.Random(1)
    count, shape = answers * tokens, [answers, tokens]
    trainer = array.array("f", (-numbers.expovariate(0.5) for _ in range(count)))
    engine = array.array("f", (min(value + numbers.gauss(0, 0.01), 0.0) for value in trainer))
    ids = array.array("q", (numbers.randrange(32000) for _ in range(count)))
    ones = array.array("q", [1]) * count
    prompts = array.array("q", (numbers.randrange(32000) for _ in range(answers * 16)))
    keys = {"rollout_log_probs": engine, "old_log_probs": trainer, "responses": ids, "response_mask": ones, "prompts": prompts}
    kinds = {"f": FloatStorage, "q": LongStorage}
    value = {key: Tensor(kinds[data.typecode], str(at), [answers, 16] if key == "prompts" else shape) for at, (key, data) in enumerate(keys.items())}
    save(folder / "batch_step_1.pt", value, {str(at): data.tobytes() for at, data in enumerate(keys.values())})


def write_sync(folder, gigabytes):
    numbers = random.Random(2)
    rows, width = 4096, 4096
    block = array.array("f", [numbers.gauss(0, 0.02) for _ in range(1 << 16)]).tobytes()
    content = block * (rows * width * 4 // len(block))
    count = max(1, int(gigabytes * 1e9) // len(content))
    value = [(f"model.layers.{at}.mlp.up_proj.weight", Tensor(FloatStorage, str(at), [rows, width])) for at in range(count)]
    contents = {str(at): content[at * 4096 :] + content[: at * 4096] for at in range(count)}
    for stage, end in (("stage1_export", "P2_sender"), ("stage2_transfer", "P5_receiver")):
        save(folder / stage / f"{end}_step1_rank0.pt", value, contents)
    print(f"{count * len(content) / 1e9:.2f} GB at each end")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--answers", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--gigabytes", type=float, default=1)
    asked = parser.parse_args()
    write_tokens(asked.folder / "tokens", asked.answers, asked.tokens)
    write_sync(asked.folder / "sync", asked.gigabytes)


if __name__ == "__main__":
    main()
