"""Makes a pair of training monitors (V2) of as many rows as wanted, or reads one with pandas, to see what a run of that size costs.

    python3 benches/large_monitor.py make FOLDER RANKS ROWS STEPS     # ROWS a rank and step; needs NumPy
    /usr/bin/time -v precision-gate run FOLDER/gpu FOLDER/npu --out FOLDER/out --quiet
    /usr/bin/time -v python3 benches/large_monitor.py read FOLDER     # every table of both sides, one after the other

Files hold 50 steps each, as the tool's windows do. The candidate starts from the same parameters, differs by rounding noise
everywhere after that, and by 5 % in one gradient of the last rank at the last step but one.
"""

import pathlib
import sys

WINDOW = 50
SCOPES = {"module": ["forward", "backward"], "weight_grad": ["reduced"], "param": ["param_origin", "param_updated"]}


def names(scope, count):
    part = {"forward": "output.0", "backward": "grad_input.0"}.get(scope, "weight")
    return [f"layers.{index}.mlp.fc1.{part}" for index in range(count)]


def make(folder, ranks, rows, steps):
    import numpy

    scopes = [(monitor, scope) for monitor, all_of in SCOPES.items() for scope in all_of]
    share = rows // len(scopes)
    values = numpy.random.default_rng(0).uniform(0.1, 9, (len(scopes), share, 4))
    values[:, :, 1] *= -1
    for side, drift in (("gpu", 0), ("npu", 1)):
        noise = numpy.random.default_rng(drift)
        for rank in range(ranks):
            home = pathlib.Path(folder, side, f"rank_{rank}")
            home.mkdir(parents=True, exist_ok=True)
            for start in range(0, steps, WINDOW):
                end = min(start + WINDOW, steps)
                for monitor in SCOPES:
                    micro = ",micro_step" if monitor == "weight_grad" else ""
                    with open(home / f"{monitor}_step{start}-{end - 1}.csv", "w") as file:
                        file.write(f"vpp_stage,step,module_name,scope{micro},norm,min,max,mean\n")
                        for step in range(start, end):
                            for place, (of, scope) in enumerate(scopes):
                                if of != monitor:
                                    continue
                                is_start = scope == "param_origin" and step == 0
                                rounding = noise.uniform(-1e-7, 1e-7, (share, 4)) * (not is_start)
                                table = values[place] * (1 + 0.01 * step + rounding)
                                if drift and scope == "reduced" and (rank, step) == (ranks - 1, steps - 2):
                                    table[share // 2] *= 1.05
                                table = table.astype(numpy.float32).astype(float).tolist()
                                own = ",1" if micro else ""
                                file.writelines(
                                    f"-1,{step},{name},{scope}{own},{a!r},{b!r},{c!r},{d!r}\n"
                                    for name, (a, b, c, d) in zip(names(scope, share), table)
                                )


def read(folder):
    import pandas

    rows = 0
    for path in sorted(pathlib.Path(folder).rglob("*.csv")):
        if "out" not in path.parts:
            rows += len(pandas.read_csv(path))
    print(rows, "rows")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        read(sys.argv[2])
