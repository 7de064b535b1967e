#!/usr/bin/env python3
"""Makes pairs of tensor dumps in which one kernel is wrong, one pair per operation, with msprobe and torch on the CPU.

    make_cases.py FOLDER        (pip install torch==2.7.1 mindstudio-probe==26.2.0)

Each case calls one operation, forward and backward, on seeded inputs, and msprobe records it at level L1. The side `npu` runs under
a dispatch mode that changes the result of one ATen kernel: the place of a defect of a device, below autograd and below the
recorder. The folder has the layout of the other cases (`<case>/gpu`, `<case>/npu`), for run_fixtures.py.
"""
import json
import pathlib
import subprocess
import sys

import torch
from msprobe.pytorch import PrecisionDebugger
from torch.utils._python_dispatch import TorchDispatchMode

F = torch.nn.functional


class Defect(TorchDispatchMode):
    """Changes the first floating-point result of the kernels whose name begins with `kernel`."""

    def __init__(self, kernel, spoil):
        super().__init__()
        self.kernel, self.spoil, self.hits = kernel, spoil, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        name = func.name().split("::")[-1].split(".")[0]
        if func.namespace != "aten" or name != self.kernel:
            return result
        self.hits += 1
        first = result[0] if isinstance(result, (tuple, list)) else result
        if first.is_floating_point():
            with torch.no_grad():
                first.copy_(self.spoil(first.clone()))
        return result


def scaled(value):
    # Operators of ATen: the recorder would see those of torch.
    return torch.ops.aten.mul(value, 1.02)


def zeroed(value):
    return torch.zeros_like(value)


def tile(value):
    flat = value.reshape(-1)
    flat[: max(1, flat.numel() // 16)] *= 1.5
    return flat.reshape(value.shape)


def one(value):
    value.view(-1)[value.numel() // 2] += value.abs().max() + 1
    return value


def rounded(value):
    return value.to(torch.bfloat16).to(value.dtype)


def nan(value):
    value.view(-1)[value.numel() // 3] = float("nan")
    return value


def x(*shape, seed=1, grad=True, dtype=torch.float32, positive=False):
    value = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    value = (value.abs() + 0.1 if positive else value).to(dtype)
    return value.requires_grad_(grad)


def ints(high, *shape, seed=2):
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(seed))


BF16 = torch.bfloat16
CASES = {
    # name: (call, ATen kernel that is wrong, defect)
    "linear_scaled": (lambda: F.linear(x(6, 32), x(16, 32, seed=3), x(16, seed=4)), "addmm", scaled),
    "linear_bf16_tile": (lambda: F.linear(x(64, 32, dtype=BF16), x(48, 32, seed=3, dtype=BF16)), "mm", tile),
    "conv2d_rounded": (lambda: F.conv2d(x(2, 3, 12, 12), x(8, 3, 3, 3, seed=3), x(8, seed=4), padding=1), "convolution", rounded),
    "conv1d_tile": (lambda: F.conv1d(x(2, 4, 40), x(8, 4, 5, seed=3)), "convolution", tile),
    "layer_norm_scaled": (lambda: F.layer_norm(x(8, 32), (32,), x(32, seed=3), x(32, seed=4), 1e-5), "native_layer_norm", scaled),
    "group_norm_rounded": (lambda: F.group_norm(x(2, 8, 6, 6), 4, x(8, seed=3), x(8, seed=4)), "native_group_norm", rounded),
    "batch_norm_scaled": (lambda: F.batch_norm(x(8, 6, 5, 5), torch.zeros(6), torch.ones(6), x(6, seed=3), x(6, seed=4), True), "native_batch_norm", scaled),
    "softmax_nan": (lambda: F.softmax(x(4, 6, 16), dim=-1), "_softmax", nan),
    "softmax_backward_zero": (lambda: F.softmax(x(4, 6, 16), dim=-1), "_softmax_backward_data", zeroed),
    "log_softmax_scaled": (lambda: F.log_softmax(x(8, 30), dim=1), "_log_softmax", scaled),
    "gelu_one_element": (lambda: F.gelu(x(16, 32)), "gelu", one),
    "gelu_tanh_backward": (lambda: F.gelu(x(16, 32), approximate="tanh"), "gelu_backward", scaled),
    "silu_scaled": (lambda: F.silu(x(16, 32)), "silu", scaled),
    "relu_tile": (lambda: F.relu(x(16, 32)), "relu", tile),
    "sigmoid_rounded": (lambda: F.sigmoid(x(16, 32)), "sigmoid", rounded),
    "tanh_scaled": (lambda: torch.tanh(x(16, 32)), "tanh", scaled),
    "embedding_backward_zero": (lambda: F.embedding(ints(20, 3, 8), x(20, 16)), "embedding_dense_backward", zeroed),
    "cross_entropy_scaled": (lambda: F.cross_entropy(x(12, 30), ints(30, 12)), "nll_loss_forward", scaled),
    "mse_loss_scaled": (lambda: F.mse_loss(x(12, 30), x(12, 30, seed=5, grad=False)), "mse_loss", scaled),
    "attention_scaled": (lambda: F.scaled_dot_product_attention(x(1, 2, 8, 16), x(1, 2, 8, 16, seed=3), x(1, 2, 8, 16, seed=4)), "_scaled_dot_product_flash_attention_for_cpu", scaled),
    "interpolate_tile": (lambda: F.interpolate(x(1, 3, 8, 8), scale_factor=2.0, mode="bilinear"), "upsample_bilinear2d", tile),
    "max_pool2d_backward": (lambda: F.max_pool2d(x(1, 3, 12, 12), 2), "max_pool2d_with_indices_backward", scaled),
    "avg_pool2d_scaled": (lambda: F.avg_pool2d(x(1, 3, 12, 12), 2), "avg_pool2d", scaled),
    "matmul_bf16_one": (lambda: torch.matmul(x(12, 24, dtype=BF16), x(24, 20, seed=3, dtype=BF16)), "mm", one),
    "bmm_tile": (lambda: torch.bmm(x(4, 12, 24), x(4, 24, 20, seed=3)), "bmm", tile),
    "baddbmm_scaled": (lambda: torch.baddbmm(x(4, 12, 20), x(4, 12, 24, seed=3), x(4, 24, 20, seed=4), alpha=0.5), "baddbmm", scaled),
    "einsum_rounded": (lambda: torch.einsum("bij,bjk->bik", x(3, 8, 10), x(3, 10, 6, seed=3)), "bmm", rounded),
    "exp_fp16": (lambda: torch.exp(x(16, 32, dtype=torch.float16)), "exp", scaled),
    "rsqrt_rounded": (lambda: torch.rsqrt(x(16, 32, positive=True)), "rsqrt", rounded),
    "cumsum_tile": (lambda: torch.cumsum(x(8, 20), dim=1), "cumsum", tile),
    "topk_scaled": (lambda: torch.topk(x(8, 20), 4, dim=1)[0], "topk", scaled),
    "mean_scaled": (lambda: x(8, 20).mean(-1), "mean", scaled),
    "sum_rounded": (lambda: torch.sum(x(8, 200), dim=1), "sum", rounded),
    "pow_scaled": (lambda: x(8, 20, positive=True).pow(2.5), "pow", scaled),
    "mul_tile": (lambda: x(16, 20) * x(16, 20, seed=3), "mul", tile),
    "div_rounded": (lambda: x(16, 20) / x(16, 20, seed=3, positive=True), "div", rounded),
    "gather_scaled": (lambda: torch.gather(x(8, 20), 1, ints(20, 8, 5)), "gather", scaled),
    "masked_fill_tile": (lambda: x(8, 20).masked_fill(ints(2, 8, 20).bool(), -1e4), "masked_fill", tile),
    "index_select_scaled": (lambda: x(8, 20).index_select(0, ints(8, 6)), "index_select", scaled),
    "add_inplace": (lambda: (x(8, 20) * 1.0).add_(x(8, 20, seed=3), alpha=0.5), "add_", scaled),
    "addmm_scaled": (lambda: torch.addmm(x(20), x(8, 12, seed=3), x(12, 20, seed=4), beta=0.5), "addmm", scaled),
    "complex_mul": (lambda: torch.abs(torch.view_as_complex(x(8, 20, 2)) * (2 + 1j)), "abs", scaled),
}


def side(folder, call, defect):
    folder.mkdir(parents=True)
    config = folder / "config.json"
    config.write_text(json.dumps({"task": "tensor", "dump_path": str(folder / "dump"), "rank": [], "step": [0], "level": "L1",
                                  "tensor": {"scope": [], "list": [], "data_mode": ["all"]}}))
    PrecisionDebugger._instance = None
    debugger = PrecisionDebugger(config_path=str(config))
    debugger.start(model=torch.nn.Identity())
    with defect:
        result = call()
        weights = torch.linspace(0.5, 1.5, result.numel()).reshape(result.shape).to(result.dtype)
        result.backward(weights)
    debugger.stop()
    debugger.step()
    config.unlink()
    for step in (folder / "dump").iterdir():
        step.rename(folder / step.name)
    (folder / "dump").rmdir()
    return defect.hits


def main():
    root, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    if len(wanted) != 1:
        # The recorder wraps functions once more at each start, so that every case has a process of its own.
        for name in wanted or CASES:
            subprocess.run([sys.executable, __file__, str(root), name], check=True, stdout=subprocess.DEVNULL)
            print(name, flush=True)
        return
    call, kernel, spoil = CASES[wanted[0]]
    side(root / wanted[0] / "gpu", call, Defect("no kernel", spoil))
    if not side(root / wanted[0] / "npu", call, Defect(kernel, spoil)):
        sys.exit("%s: no kernel of this name ran" % wanted[0])


if __name__ == "__main__":
    main()
