"""Makes a pair of statistics dumps of as many operations as wanted, to see what a run of that size costs.

    python3 benches/large_dump.py FOLDER OPERATIONS [--steps N] [--ranks N] [--renamed]
    /usr/bin/time -v precision-gate compare FOLDER/gpu FOLDER/npu --out FOLDER/out --quiet

Four operations a layer, three values each, every value with statistics of its own in 32 bits, as msprobe records them; call
stacks and module tree beside them. The candidate differs by rounding noise everywhere, and by 5 % in one operation in ten
thousand. With --renamed every operation of the candidate has a name that the baseline does not have, so that none has a
partner.
"""

import argparse
import array
import json
import pathlib
import random

APIS = ["Functional.linear", "Tensor.__add__", "Torch.matmul", "Functional.layer_norm"]


def tensor(shape, values):
    keys = ["Max", "Min", "Mean", "Norm"]
    head = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": shape}
    return head | dict(zip(keys, values)) | {"requires_grad": True}


def name_of(index, renamed):
    own = f"_{index:x}_of_the_candidate" if renamed else ""
    return f"{APIS[index % 4]}{own}.{index // 4}.forward"


def operations(count, place, drift, renamed):
    numbers, noise = random.Random(place), random.Random(1000 * drift + place)

    def values(factor):
        largest, norm = numbers.uniform(1, 9), numbers.uniform(50, 900)
        plain = [largest, -largest * numbers.uniform(0.5, 1), numbers.uniform(-0.1, 0.1), norm]
        return array.array("f", [value * factor * (1 + noise.uniform(-1e-7, 1e-7)) for value in plain])

    for index in range(count):
        name = name_of(index, renamed)
        shape = [8, 128, 64 * (1 + index % 7)]
        broken = 1.05 if drift and index % 10_000 == 5_000 else 1.0
        yield name, {
            "input_args": [tensor(shape, values(1.0)), tensor(shape, values(1.0))],
            "input_kwargs": {},
            "output": [tensor(shape, values(broken))],
        }


def write(folder, count, place, drift, renamed):
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "dump.json", "w") as out:
        out.write('{"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {')
        for index, (name, record) in enumerate(operations(count, place, drift, renamed)):
            out.write("," * (index > 0) + f'\n "{name}": {json.dumps(record)}')
        out.write("}}\n")
    names = [name_of(index, renamed) for index in range(count)]
    with open(folder / "stack.json", "w") as out:
        frames = [["File model.py, line 10, in forward, \n y = f(x)", "File train.py, line 3, in step, \n model(x)"]] * 100
        json.dump({str(at): [names[at::100], frames[at]] for at in range(100)}, out)
    with open(folder / "construct.json", "w") as out:
        json.dump({name: f"Module.layers.{at // 40}.Block.forward.0" for at, name in enumerate(names)}, out)


def write_pair(root, count, steps=1, ranks=1, renamed=False):
    """Writes both sides below `root`, in `gpu` and `npu`."""
    for step in range(steps):
        for rank in range(ranks):
            place = step * ranks + rank
            write(root / f"gpu/step{step}/rank{rank}", count, place, 0, False)
            write(root / f"npu/step{step}/rank{rank}", count, place, 1, renamed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("operations", type=int)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--renamed", action="store_true")
    arguments = parser.parse_args()
    write_pair(arguments.folder, arguments.operations, arguments.steps, arguments.ranks, arguments.renamed)


if __name__ == "__main__":
    main()
