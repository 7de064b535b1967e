#!/usr/bin/env python3
"""Pairs of monitors of small models that numpy trains, healthy ones and ones whose optimizer is wrong, judged by the gate.

    python3 benches/monitor_sweep.py target/debug/precision-gate [HEALTHY] [SEEDS]

A model is attention with a fused bias, layer norm and two linear layers, all in float32. The candidate adds its products up in
another order. Learning rates go from 1e-6 to 1e-2; V1 writes 12 decimals, V2 in full. Prints what is not judged as planted.
"""
import csv, json, pathlib, subprocess, sys, tempfile
import numpy as np

F = np.float32
KINDS = ("sgd", "momentum", "adamw")
WRONG = {
    "lr x2": dict(lr=2), "lr x10": dict(lr=10), "lr x0.5": dict(lr=.5), "lr x1.1": dict(lr=1.1), "eps 1e-3": dict(eps=1e-3), "beta1": dict(b1=.8),
    "beta2": dict(b2=.95), "momentum": dict(mom=.8), "nesterov": dict(nesterov=True), "no decay": dict(wd=0), "decay x3": dict(wd=3),
    "warm-up": dict(warm=1), "one frozen": dict(frozen="fc1.weight"), "one group x2": dict(group="fc2.weight"), "no bias correction": dict(corr=False),
    "decay as L2": dict(l2=True), "nothing moves": dict(lr=0),
}


HALF = [False]


def bf16(x):
    """Values of bf16, to the nearest, where the run is one of autocast."""
    x = np.ascontiguousarray(x, F)
    if not HALF[0]:
        return x
    bits = x.view(np.uint32); return ((bits + np.uint32(0x7fff) + ((bits >> 16) & 1)) & np.uint32(0xffff0000)).view(F)


def dot(a, b, other):
    """A product, on the candidate in two halves of the summed axis, in reverse order."""
    a, b = bf16(a), bf16(b)
    if not other:
        return bf16(a @ b)
    n = a.shape[-1] // 2
    return bf16((a[..., n:] @ b[..., n:, :]) + (a[..., :n] @ b[..., :n, :]))


def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def init(rng, d, h):
    u = lambda *s: rng.uniform(-1, 1, s).astype(F) / F(np.sqrt(s[-1]))
    p = {"attn.qkv.weight": u(3 * d, d), "attn.qkv.bias": u(3 * d) * F(.3), "attn.o.weight": u(d, d), "attn.o.bias": np.zeros(d, F),
         "ln.weight": np.ones(d, F), "ln.bias": np.zeros(d, F), "fc1.weight": u(h, d), "fc1.bias": u(h), "fc2.weight": u(d, h), "fc2.bias": u(d)}
    return p


def step(p, x, y, other):
    """Activations, and gradients of all parameters."""
    d = x.shape[-1]; a = {}; g = {}
    qkv = dot(x, p["attn.qkv.weight"].T, other) + p["attn.qkv.bias"]; qkv = bf16(qkv); q, k, v = np.split(qkv, 3, -1)
    w = softmax(dot(q, k.swapaxes(-1, -2), other) / F(np.sqrt(d))); c = dot(w, v, other)
    o = bf16(dot(c, p["attn.o.weight"].T, other) + p["attn.o.bias"]); r = x + o
    mu = r.mean(-1, keepdims=True); z = r - mu; s = F(1) / np.sqrt((z * z).mean(-1, keepdims=True) + F(1e-5)); n = z * s
    l = n * p["ln.weight"] + p["ln.bias"]; f = bf16(dot(l, p["fc1.weight"].T, other) + p["fc1.bias"]); t = np.tanh(f)
    out = bf16(dot(t, p["fc2.weight"].T, other) + p["fc2.bias"])
    a = {"attn.qkv.input": x, "attn.qkv.output": qkv, "attn.o.input": c, "attn.o.output": o, "ln.input": r, "ln.output": l, "fc1.input": l, "fc1.output": f, "fc2.input": t, "fc2.output": out}
    flat = lambda m: m.reshape(-1, m.shape[-1])
    do = F(2) * (out - y) / F(out.size)
    g["fc2.weight"] = dot(flat(do).T, flat(t), other); g["fc2.bias"] = flat(do).sum(0)
    df = dot(do, p["fc2.weight"], other) * (1 - t * t)
    g["fc1.weight"] = dot(flat(df).T, flat(l), other); g["fc1.bias"] = flat(df).sum(0)
    dl = dot(df, p["fc1.weight"], other); g["ln.weight"] = flat(dl * n).sum(0); g["ln.bias"] = flat(dl).sum(0)
    dn = dl * p["ln.weight"]; dr = s * (dn - dn.mean(-1, keepdims=True) - n * (dn * n).mean(-1, keepdims=True))
    g["attn.o.weight"] = dot(flat(dr).T, flat(c), other); g["attn.o.bias"] = flat(dr).sum(0)
    dc = dot(dr, p["attn.o.weight"], other); dv = dot(w.swapaxes(-1, -2), dc, other); dw = dot(dc, v.swapaxes(-1, -2), other)
    ds = w * (dw - (dw * w).sum(-1, keepdims=True)) / F(np.sqrt(d)); dq = dot(ds, k, other); dk = dot(ds.swapaxes(-1, -2), q, other)
    dqkv = np.concatenate([dq, dk, dv], -1)
    g["attn.qkv.weight"] = dot(flat(dqkv).T, flat(x), other); g["attn.qkv.bias"] = flat(dqkv).sum(0)
    return a, g


def train(seed, kind, lr, wd, steps, other, wrong, warmup):
    rng = np.random.default_rng(seed); d, h = int(rng.choice([16, 24, 32])), int(rng.choice([32, 48, 64])); p = init(rng, d, h)
    target = rng.normal(size=(d, d)).astype(F); m = {k: np.zeros_like(v) for k, v in p.items()}; v = {k: np.zeros_like(x) for k, x in p.items()}
    wd = wd * wrong.get("wd", 1); base = lr * wrong.get("lr", 1); eps = wrong.get("eps", 1e-8); b1, b2, mom = wrong.get("b1", .9), wrong.get("b2", .999), wrong.get("mom", .9)
    for t in range(steps):
        x = rng.normal(size=(4, 8, d)).astype(F); y = np.tanh(x @ target)
        before = {k: u.copy() for k, u in p.items()}; a, g = step(p, x, y, other)
        for k in p:
            rate = base * (min(1, (t + wrong.get("warm", 0)) / warmup) if warmup else 1) * (2 if wrong.get("group") == k else 0 if wrong.get("frozen") == k else 1)
            grad, decay = g[k], wd if k.endswith("weight") and k != "ln.weight" else 0
            if kind == "adamw":
                if wrong.get("l2"): grad = grad + F(decay) * p[k]; decay = 0
                m[k] = F(b1) * m[k] + F(1 - b1) * grad; v[k] = F(b2) * v[k] + F(1 - b2) * grad * grad
                c1, c2 = (1 - b1 ** (t + 1), 1 - b2 ** (t + 1)) if wrong.get("corr", True) else (1, 1)
                p[k] = p[k] * F(1 - rate * decay) - F(rate / c1) * m[k] / (np.sqrt(v[k]) / F(np.sqrt(c2)) + F(eps))
            else:
                grad = grad + F(decay) * p[k]
                m[k] = F(mom if kind == "momentum" else 0) * m[k] + grad
                up = grad + F(mom) * m[k] if wrong.get("nesterov") else m[k]
                p[k] = p[k] - F(rate) * up
        yield t, before, a, g, (m if kind != "sgd" else {}), (v if kind == "adamw" else {}), p


def write(folder, run, version, digits):
    folder.mkdir(parents=True); files = {}
    def add(kind, name, t, x):
        vals = [float(np.sqrt((x.astype(F) ** 2).sum(dtype=F))), float(x.min()), float(x.max()), float(x.mean(dtype=F))]
        if version == 1:
            row = [0, name, t, *([0] if kind == "actv" else []), *[round(u, digits) for u in vals], 0, str(list(x.shape)), "torch.float32"]
            files.setdefault(f"{kind}_0-{N - 1}.csv", [["vpp_stage", "name", "step", *(["micro_step"] if kind == "actv" else []), "norm", "min", "max", "mean", "nans", "shape", "dtype"]]).append(
                [f"{u:.{digits}f}".rstrip("0") if isinstance(u, float) else u for u in row])
        else:
            slug, scope, suffix = {"param_origin": ("param", "param_origin", ""), "param_updated": ("param", "param_updated", ""), "actv": ("module", "forward", ".0"),
                                   "grad_reduced": ("weight_grad", "reduced", ""), "exp_avg": ("optimizer", "exp_avg", ".exp_avg"), "exp_avg_sq": ("optimizer", "exp_avg_sq", ".exp_avg_sq")}[kind]
            files.setdefault(f"{slug}_step0-{N - 1}.csv", [["vpp_stage", "step", "module_name", "scope", "norm", "min", "max", "mean", "nans"]]).append([-1, t, name + suffix, scope, *vals, 0.0])
    last = ({}, {})
    for t, before, a, g, m, v, p in run:
        for k, x in before.items(): add("param_origin", k, t, x)
        for k, x in a.items(): add("actv", k, t, x)
        for k, x in g.items():
            add("grad_reduced", k, t, x)
            if version == 1: add("grad_unreduced", k, t, x)
        moments = last if version == 1 else (m, v)
        for kind, of in zip(("exp_avg", "exp_avg_sq"), moments):
            for k, x in of.items(): add(kind, k, t, x)
        last = ({k: x.copy() for k, x in m.items()}, {k: x.copy() for k, x in v.items()})
        for k, x in p.items(): add("param_updated", k, t, x)
    for name, rows in files.items():
        with open(folder / name, "w", newline="") as f: csv.writer(f, lineterminator="\n").writerows(rows)


N = 6


def judge(exe, seed, wrong):
    rng = np.random.default_rng(10_000 + seed); kind = KINDS[seed % 3]; lr = 10 ** rng.uniform(-6, -2) * (1 if kind == "adamw" else 10); wd = float(rng.choice([0, .01, .1])) if wrong == {} else .1
    HALF[0] = seed // 6 % 4 == 3; version = 1 + seed // 3 % 2; warmup = 3 if "warm" in wrong else int(rng.choice([0, 0, 2])); digits = int(rng.choice([10, 12]))
    with tempfile.TemporaryDirectory() as tmp:
        for side, other in (("gpu", False), ("npu", True)):
            name = "Nov22_20-14-57-rank0-2f27f46d" if version == 1 else "rank_0"
            write(pathlib.Path(tmp) / side / name, train(seed, kind, lr, wd, N, other, wrong if other else {}, warmup), version, digits)
        subprocess.run([exe, "run", "--baseline", f"{tmp}/gpu", "--candidate", f"{tmp}/npu", "--out", f"{tmp}/out"], capture_output=True)
        r = json.loads((pathlib.Path(tmp) / "out/result.json").read_text())
    return kind, lr, wd, version, r["verdict"], r.get("culprit") or {}


def applies(name, kind):
    return {"momentum": kind == "momentum", "nesterov": kind == "momentum", "eps 1e-3": kind == "adamw", "beta1": kind == "adamw", "beta2": kind == "adamw",
            "no bias correction": kind == "adamw", "decay as L2": kind == "adamw"}.get(name, True)


def main():
    exe, healthy, seeds = sys.argv[1], int((sys.argv[2:] or [100])[0]), int((sys.argv[3:] or [6])[0])
    alarms = 0
    for seed in range(healthy):
        kind, lr, wd, version, v, c = judge(exe, seed, {})
        if v not in ("pass",):
            alarms += 1; print(f"healthy {seed}: {v} {kind} lr {lr:.1e} V{version}{' bf16' * HALF[0]}: {c.get('kind')} {c.get('name')} step {c.get('step')} {c.get('metrics')}")
    print(f"healthy: {healthy - alarms} of {healthy} pass")
    found = named = n = half = 0
    for name, wrong in WRONG.items():
        done = 0; seed = 1000
        while done < seeds:
            seed += 1
            if not applies(name, KINDS[seed % 3]): continue
            kind, lr, wd, version, v, c = judge(exe, seed, wrong); done += 1; n += 1; half += HALF[0]
            ok = v == "fail"; found += ok; at = ok and c.get("cause") == "optimizer"; named += at
            if not at: print(f"{name} {seed}: {v} {kind} lr {lr:.1e} V{version}{' bf16' * HALF[0]}: {c.get('kind')} {c.get('name')} step {c.get('step')} {c.get('cause')}")
    print(f"wrong optimizers: {found} of {n} fail, {named} named as such; {half} of them in bf16")


if __name__ == "__main__":
    main()
