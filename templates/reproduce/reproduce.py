#!/usr/bin/env python3
"""Runs one operation of a training run alone and says which side computes it wrong. Written by precision-gate.

    python3 reproduce.py [--device cpu|cuda|npu] [--out FOLDER]

It needs torch, and torch_npu on an Ascend machine; nothing else, no network. It runs the operation, forward and backward, on the
CPU in fp64 (the truth), on the CPU in the type of the run, and on the accelerator that is there, and measures each answer
against the truth. What the GPU and the NPU of the run answered counts too, where the recorded tensors lie beside it (tensor-*.bin).
Each answer is written to errors_<device>.json; copy those of several machines into one folder and run again. The ratios of the
NPU's errors to the GPU's are those of the operator standard of msprobe's api_precision_compare.

Exit code: 0 no error of the NPU found, 1 the NPU errs, 2 the operation could not be run.
"""
import argparse
import hashlib
import json
import math
import os
import sys

# The operation: one constant. Texts in it come from a dump; they are compared and printed, and never run.
CASE = '{}'

TRUTH, CPU, BASELINE, CANDIDATE = "truth", "cpu", "baseline", "candidate"
FLOATS = ("float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64")
# Elements up to this size count as near zero; an error above the second number counts there. Numbers of the standard.
SMALL = {"float16": (2.0**-10, 1e-16), "bfloat16": (2.0**-10, 1e-16), "float32": (2.0**-20, 2.0**-30)}
# An element is wrong where it is this many times further off, for its size, than any element of the other answers.
OUTLIER = 10.0
# Largest error of a native run that rounding explains, in units of the type's resolution.
ROUNDINGS = 32.0


class CannotRun(Exception):
    """The operation cannot be run here; the text says why."""


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--device", choices=("cpu", "cuda", "npu"), help="default: the accelerator that is there")
    arguments.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)), help="folder of the errors")
    options = arguments.parse_args()
    case = json.loads(CASE)
    try:
        load_torch()
        return examine(case, options)
    except (CannotRun, OSError) as error:
        print("cannot run: %s" % error, file=sys.stderr)
        return 2


def load_torch():
    global torch
    try:
        import torch
    except ImportError as error:
        raise CannotRun("torch is not installed (%s); pip install torch" % error)
    try:
        import torch_npu  # noqa: F401  registers the device
    except ImportError:
        pass


def examine(case, options):
    print("%s, step %s%s" % (shown(case["op"]), case["step"], "" if case["rank"] is None else ", rank %s" % case["rank"]))
    print("torch %s" % torch.__version__)
    for note in case["notes"]:
        print("note: %s" % shown(note))
    sides = case["sides"]
    live = CANDIDATE if CANDIDATE in sides else BASELINE
    if case["inputs"] == "statistics":
        print("note: the inputs are made from recorded statistics with seed %d; they are not those of the run" % case["seed"])
    truths = {}
    for name in sides:
        if case["inputs"] == "recorded" or name == live:
            same = name != live and truths and sides[name]["call"] == sides[live]["call"]
            truths[name] = truths[live] if same and same_gradients(sides, name, live) else run(case, name, TRUTH)
    answers = {CPU: native_answer(case, live)}
    device = options.device or accelerator()
    if device not in (None, CPU):
        answers[device] = run(case, live, device)
    for name in sides:
        if case["inputs"] == "recorded":
            answers[name] = recorded(case, name)
    digest = hashlib.sha256(CASE.encode()).hexdigest()
    os.makedirs(options.out, exist_ok=True)
    for name, answer in answers.items():
        if answer is None:
            continue
        truth = truths[name if name in truths else live]
        write_errors(options.out, name, {
            "case": digest, "op": case["op"], "device": name, "label": label(case, name), "torch": torch.__version__,
            "accelerator": device_name(name), "inputs": case["inputs"], "results": measure_all(answer, truth),
        })
    code = report(case, read_errors(options.out, digest))
    differing_inputs(case, truths, answers)
    return code


# The call: arguments of the record become values of Python. Names are looked up, nothing is evaluated.

def same_gradients(sides, one, other):
    return sides[one].get("arriving") == sides[other].get("arriving")


def function_of(case):
    root, name = case["root"], case["name"]
    if not name.replace(".", "_").isidentifier():
        raise CannotRun("%s is not the name of a function" % shown(name))
    place = {"functional": torch.nn.functional, "torch": torch, "tensor": torch.Tensor}[root]
    for part in name.split("."):
        place = getattr(place, part, None)
        if place is None:
            raise CannotRun("torch %s has no %s.%s" % (torch.__version__, root, shown(name)))
    return place


class Maker:
    """Makes the arguments of a call for one place: the CPU in fp64, the CPU, or an accelerator."""

    def __init__(self, case, place):
        self.case, self.place, self.leaves, self.made = case, place, [], 0
        self.device = CPU if place == TRUTH else place

    def tensor(self, item, grad=True):
        value = self.raw(item)
        if self.place == TRUTH:
            value = widened(value)
        value = value.to(self.device)
        if grad and item.get("requires_grad") and (value.is_floating_point() or value.is_complex()):
            value.requires_grad_(True)
            self.leaves.append(value)
            # An operation in place may not write to a leaf.
            return value.clone() if self.case["in_place"] else value
        self.leaves.append(None)
        return value.clone() if self.case["in_place"] else value

    def raw(self, item):
        """The recorded elements, or made ones: the same in every place, since they are made on the CPU in order."""
        self.made += 1
        if self.case["inputs"] == "recorded":
            return read_tensor(item)
        return made_tensor(item, self.case["seed"] + self.made)

    def value(self, item):
        (kind, content), = item.items()
        if kind == "tensor":
            return self.tensor(content)
        if kind == "value":
            return content
        if kind in ("list", "tuple"):
            items = [self.value(inner) for inner in content]
            return items if kind == "list" else tuple(items)
        if kind == "dict":
            return {key: self.value(inner) for key, inner in content}
        if kind == "slice":
            return slice(*content)
        if kind == "ellipsis":
            return Ellipsis
        if kind == "dtype":
            return self.dtype(content)
        if kind == "device":
            return torch.device(self.device)
        if kind == "memory_format":
            formats = {"contiguous_format", "channels_last", "channels_last_3d", "preserve_format"}
            if content not in formats:
                raise CannotRun("memory format %s is not known" % shown(content))
            return getattr(torch, content)
        raise CannotRun("an argument of an unknown kind")

    def dtype(self, name):
        if self.place == TRUTH and name in FLOATS:
            return torch.float64
        if self.place == TRUTH and name == "complex64":
            return torch.complex128
        return dtype_of(name)


def dtype_of(name):
    found = getattr(torch, name, None) if name.isidentifier() else None
    if not isinstance(found, torch.dtype):
        raise CannotRun("torch %s has no type %s" % (torch.__version__, shown(name)))
    return found


def widened(value):
    if value.is_floating_point():
        return value.to(torch.float64)
    return value.to(torch.complex128) if value.is_complex() else value


def read_tensor(item):
    """Elements of a file beside this one: little-endian, row-major, without a header."""
    if "file" not in item and 0 in item["shape"]:
        return torch.empty(item["shape"], dtype=dtype_of(item["dtype"]))
    if "file" not in item:
        raise CannotRun("a recorded tensor was not saved")
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.path.basename(item["file"]))
    with open(path, "rb") as file:
        content = bytearray(file.read())
    if hashlib.sha256(content).hexdigest() != item["sha256"]:
        raise CannotRun("%s is not the file that was recorded: its SHA-256 differs" % path)
    return torch.frombuffer(content, dtype=dtype_of(item["dtype"])).reshape(item["shape"])


def made_tensor(item, seed):
    """Elements with the recorded shape, type and, as far as they fit together, statistics."""
    generator = torch.Generator().manual_seed(seed)
    shape, dtype = item["shape"], dtype_of(item["dtype"])
    high, low, mean, norm = item["statistics"]
    count = math.prod(shape)
    if dtype == torch.bool:
        share = {(True, True): 1.0, (False, False): 0.0}.get((high, low), 0.5)
        value = torch.rand(shape, generator=generator) < share
        return value
    if not (dtype.is_floating_point or dtype.is_complex):
        high, low = (1 if high is None else int(high)), (0 if low is None else int(low))
        if low < 0 <= high:
            # A negative number among indices stands for "none" (-1, -100); numbers between may be no index at all.
            value = torch.randint(0, high + 1, shape, generator=generator)
            value[torch.rand(shape, generator=generator) < 0.1] = low
        else:
            value = torch.randint(low, max(low, high) + 1, shape, generator=generator)
        value = place_extremes(value, high, low)
        return value.to(dtype)
    if dtype.is_complex:
        parts = [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)]
        value, peak = torch.complex(*parts), finite(high)
        return (value * (peak / value.abs().max() if peak and count else 1.0)).to(dtype)
    limits = torch.finfo(dtype)
    top, bottom = finite(high), finite(low)
    top = 1.0 if top is None else top
    bottom = -1.0 if bottom is None else bottom
    if bottom < -1e30 or bottom == limits.min:
        # An additive mask: the type's most negative number beside ordinary ones.
        value = torch.rand(shape, generator=generator, dtype=torch.float64) * max(top, 0.0)
        value[torch.rand(shape, generator=generator) < 0.25] = bottom
    elif finite(mean) is not None and finite(norm) is not None and count:
        spread = math.sqrt(max(norm * norm / count - mean * mean, 0.0))
        value = torch.randn(shape, generator=generator, dtype=torch.float64) * spread + mean
        value = value.clamp(min(bottom, top), max(bottom, top))
    else:
        value = bottom + (top - bottom) * torch.rand(shape, generator=generator, dtype=torch.float64)
    return place_extremes(value, number(high), number(low)).to(dtype)


def place_extremes(value, high, low):
    flat = value.reshape(-1)
    if flat.numel() > 1 and high is not None and low is not None:
        flat[0], flat[-1] = high, low
    elif flat.numel() == 1 and high is not None:
        flat[0] = high
    return flat.reshape(value.shape)


def number(value):
    return None if value is None or isinstance(value, bool) else value


def finite(value):
    return value if number(value) is not None and math.isfinite(value) else None


# Runs.

def run(case, side, place):
    try:
        return run_once(case, side, place, None)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, AttributeError) as error:
        raise CannotRun("%s on %s: %s" % (shown(case["op"]), "the CPU in fp64" if place == TRUTH else place, first_line(error)))


def native_answer(case, side):
    """The CPU's answer in the type of the run; `None` where the CPU has no such operation."""
    try:
        return run_once(case, side, CPU, None)
    except (RuntimeError, NotImplementedError) as error:
        print("note: the CPU does not run this in the type of the run: %s" % first_line(error))
        return None


def run_once(case, side, place, cast):
    record = case["sides"][side]
    maker = Maker(case, place)
    args = [maker.value(item) for item in record["call"]["args"]]
    kwargs = {key: maker.value(item) for key, item in record["call"]["kwargs"]}
    function = module_of(case, record, args, maker) if case["root"] == "module" else function_of(case)
    with torch.enable_grad():
        if cast is None:
            result = function(*args, **kwargs)
        else:
            with torch.autocast(device_type=maker.device, dtype=cast):
                result = function(*args, **kwargs)
    if result is None:
        # An assignment gives nothing back: its result is the tensor that it wrote to.
        result = args[0]
    outputs = flattened(result)
    wanted = recorded_dtype(record)
    if cast is None and place != TRUTH and wanted is not None and outputs and outputs[0].is_floating_point() \
            and outputs[0].dtype != wanted:
        # The run computed in another type than its arguments have: autocast was on.
        return run_once(case, side, place, wanted)
    answer = {"output.%d" % index: output.detach() for index, output in enumerate(outputs)}
    answer.update(backward(case, record, outputs, maker))
    return {name: value.to(CPU) for name, value in answer.items()}


def recorded_dtype(record):
    for item in record["outputs"]:
        if item is not None and item["dtype"] in FLOATS:
            return dtype_of(item["dtype"])
        return None
    return None


def module_of(case, record, args, maker):
    """A module of torch.nn with the recorded parameters; what its constructor got was not recorded and has its usual value."""
    parameters = {name: maker.tensor(item) for name, item in record["call"]["parameters"]}
    functional, name = torch.nn.functional, case["name"]
    weight, bias = parameters.get("weight"), parameters.get("bias")
    if name == "Linear":
        return lambda x: functional.linear(x, weight, bias)
    if name == "Embedding":
        return lambda x: functional.embedding(x, weight)
    if name == "LayerNorm":
        shape = list(weight.shape) if weight is not None else [args[0].shape[-1]]
        return lambda x: functional.layer_norm(x, shape, weight, bias)
    if name == "RMSNorm":
        return lambda x: functional.rms_norm(x, list(weight.shape), weight)
    if name == "Bilinear":
        return lambda x, y: functional.bilinear(x, y, weight, bias)
    if name == "PReLU":
        return lambda x: functional.prelu(x, weight)
    plain = {"ReLU", "GELU", "SiLU", "Sigmoid", "Tanh", "Softplus", "ReLU6", "Hardswish", "Mish", "LogSigmoid", "Identity", "MSELoss",
             "L1Loss", "Softsign", "ELU", "SELU", "CELU", "Hardsigmoid", "Flatten"}
    if name in plain:
        return getattr(torch.nn, name)()
    raise CannotRun("a module of class %s" % shown(name))


def backward(case, record, outputs, maker):
    """The gradients that leave the operation, as the recorder saw them: those of its last autograd node, or of a module's
    arguments."""
    if record["arriving"] is None or not any(leaf is not None for leaf in maker.leaves):
        return {}
    pairs = []
    for index, item in enumerate(record["arriving"]):
        if item is None or index >= len(outputs) or not outputs[index].requires_grad:
            continue
        gradient = maker.tensor(item, grad=False)
        gradient = gradient.to(outputs[index].dtype).reshape(outputs[index].shape)
        pairs.append((outputs[index], gradient))
    if not pairs:
        return {}
    seen = []
    node = next((output.grad_fn for output in outputs if output.grad_fn is not None), None)
    if node is not None and case["root"] != "module":
        node.register_hook(lambda leaving, _: seen.extend(leaving))
    torch.autograd.backward([output for output, _ in pairs], [gradient for _, gradient in pairs])
    leaves = [leaf.grad if leaf is not None else None for leaf in maker.leaves]
    return chosen(case, record, [None if one is None else one.detach() for one in seen], leaves)


def chosen(case, record, seen, leaves):
    """Gradients under the places of the record: by position where all shapes fit, else by shape."""
    wanted = record["leaving"]
    if wanted is None:
        found = [one for one in leaves if one is not None]
        return {"gradient.%d" % index: one for index, one in enumerate(found)}
    fits = [None if item is None else list(item["shape"]) for item in wanted]
    if case["root"] != "module" and len(seen) == len(fits) and all(
            shape is None or (one is not None and list(one.shape) == shape) for one, shape in zip(seen, fits)):
        return {"gradient.%d" % index: one for index, one in enumerate(seen) if fits[index] is not None and one is not None}
    rest, found = [one for one in leaves if one is not None] + [one for one in seen if one is not None], {}
    for index, shape in enumerate(fits):
        match = next((place for place, one in enumerate(rest) if list(one.shape) == shape), None)
        if match is not None:
            found["gradient.%d" % index] = rest.pop(match)
    return found


def flattened(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [one for inner in value for one in flattened(inner)]
    if isinstance(value, dict):
        return [one for inner in value.values() for one in flattened(inner)]
    if isinstance(value, (bool, int, float)):
        return [torch.tensor(value)]
    return []


def recorded(case, side):
    """What the run itself got: outputs, and gradients that left."""
    record, answer = case["sides"][side], {}
    for start, items in (("output", record["outputs"]), ("gradient", record["leaving"] or [])):
        for index, item in enumerate(items):
            if item is not None and "file" in item:
                answer["%s.%d" % (start, index)] = read_tensor(item)
    return answer or None


def accelerator():
    for name in ("npu", "cuda"):
        if getattr(torch, name, None) is not None and getattr(torch, name).is_available():
            return name
    return None


def device_name(name):
    try:
        return getattr(torch, name).get_device_name(0) if name in ("npu", "cuda") else ""
    except (RuntimeError, AttributeError):
        return ""


# Errors.

def measure_all(answer, truth):
    return [dict(name=name, **measure(answer[name], truth.get(name))) for name in sorted(answer)]


def measure(answer, truth):
    facts = {"dtype": str(answer.dtype).replace("torch.", ""), "shape": list(answer.shape)}
    if truth is None:
        return dict(facts, skipped="the replay has no such result: this device composes the operation of other parts")
    if list(answer.shape) != list(truth.shape):
        return dict(facts, wrong="its shape is %s, and %s in fp64" % (list(answer.shape), list(truth.shape)))
    if answer.numel() == 0:
        return dict(facts, skipped="it has no elements")
    if not (answer.is_floating_point() or answer.is_complex()):
        return dict(facts, unequal=float((answer.to(truth.dtype) != truth).double().mean()))
    return dict(facts, **errors(answer, truth, facts["dtype"]))


def errors(answer, truth, dtype):
    expected = truth.to(answer.dtype)
    if answer.is_complex():
        answer, truth, expected = (torch.view_as_real(one.resolve_conj()) for one in (answer, truth, expected))
    answer, truth = answer.double(), truth.double()
    expected = expected.double()
    # The truth rounded to the type tells where the type itself overflows.
    both = torch.isfinite(answer) & torch.isfinite(expected)
    alike = both | (torch.isnan(answer) & torch.isnan(expected)) | (answer == expected)
    error = torch.where(both, (answer - truth).abs(), torch.zeros_like(truth))
    size = torch.where(both, truth.abs(), torch.zeros_like(truth))
    small_value, small_error = SMALL.get(dtype, SMALL["float32"])
    small = both & (truth.abs() <= small_value)
    masked = ~both | small
    count, left_out = error.numel(), int(masked.sum())
    square = float((torch.where(masked, torch.zeros_like(error), error) ** 2).mean())
    relative = (error / (size + resolution(dtype, wide=True)))[~masked]
    scale = float(torch.linalg.vector_norm(size))
    typical = scale / math.sqrt(max(int(both.sum()), 1))
    element = error / torch.clamp(size, min=typical) if typical > 0 else error
    return {
        "max_abs": float(error.max()),
        "element": float(element.max()),
        "rel_l2": float(torch.linalg.vector_norm(error)) / scale if scale > 0 else float((error > 0).any()),
        "rmse": math.sqrt(square * (count / (count - left_out + 0.0001) + 0.0001)),
        "mean_rel": float(relative.mean()) if relative.numel() else 0.0,
        "max_rel": float(relative.max()) if relative.numel() else 0.0,
        "small": float((error[small] > small_error).double().mean()) if bool(small.any()) else 0.0,
        "non_finite": int((~alike).sum()),
        "zeros": bool((answer == 0).all()) and bool((truth != 0).any()),
    }


def resolution(dtype, wide=False):
    """Distance of 1 to the next number of the type; `wide`: the number that the standard adds to what it divides by."""
    if wide:
        return 2.0**-8 if dtype == "bfloat16" else 2.0**-52
    return {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float64": 2.0**-52, "complex128": 2.0**-52, "float8_e4m3fn": 2.0**-3,
            "float8_e5m2": 2.0**-2}.get(dtype, 2.0**-23)


def write_errors(folder, name, content):
    with open(os.path.join(folder, "errors_%s.json" % name), "w", encoding="ascii") as file:
        json.dump(content, file, indent=1, sort_keys=True)
        file.write("\n")


def read_errors(folder, digest):
    """Errors of all answers in the folder that belong to this operation."""
    found = {}
    for name in (CPU, "cuda", "npu", BASELINE, CANDIDATE):
        path = os.path.join(folder, "errors_%s.json" % name)
        if not os.path.exists(path):
            continue
        try:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
            if content["case"] != digest:
                print("note: %s belongs to another operation and was left out" % path)
                continue
            found[name] = {one["name"]: one for one in content["results"]}
        except (ValueError, KeyError, TypeError) as error:
            raise CannotRun("%s is damaged (%s); remove it" % (path, first_line(error)))
    return found


# The verdict.

def report(case, found):
    native = found.get(CPU, {})
    gpu = next((name for name in ("cuda", BASELINE) if name in found), None)
    npu = next((name for name in ("npu", CANDIDATE) if name in found), None)
    print()
    print("%-12s %-22s %-14s %-14s %-14s" % ("result", "answer", "largest error", "rel. L2 error", "RMSE"))
    for result in sorted({result for results in found.values() for result in results}):
        for name in (CPU, "cuda", BASELINE, "npu", CANDIDATE):
            if result in found.get(name, {}):
                print("%-12s %-22s %s" % (result, label(case, name)[:22], numbers(found[name][result])))
    print()
    for result, errors_ in sorted(native.items()):
        if errors_.get("rel_l2", 0.0) > ROUNDINGS * resolution(errors_["dtype"]):
            print("note: %s cancels: the CPU itself is off by %.2g in %s" % (result, errors_["rel_l2"], errors_["dtype"]))
    if npu is None:
        print("no answer of an NPU: run this on the machine that has one")
        return 0
    if gpu is None:
        print("no answer of a GPU: the NPU is held against the CPU in the type of the run")
    wrong = False
    for result in sorted(found[npu]):
        other = found.get(gpu, {}).get(result) or native.get(result)
        wrong |= judge(case, result, found[npu][result], other, native.get(result))
    print("the NPU errs" if wrong else "the NPU does not err: its errors are those of the %s" % ("CPU" if gpu is None else "GPU"))
    return 1 if wrong else 0


def numbers(errors_):
    for reason in ("wrong", "skipped"):
        if reason in errors_:
            return errors_[reason]
    if "unequal" in errors_:
        return "%.4g of the elements differ" % errors_["unequal"]
    text = "%-14.3g %-14.3g %-14.3g" % (errors_["max_abs"], errors_["rel_l2"], errors_["rmse"])
    text = text if errors_["non_finite"] or errors_["zeros"] else text.rstrip()
    if errors_["non_finite"]:
        text += " %d elements are NaN or infinite and should not be, or the reverse" % errors_["non_finite"]
    return text + (" all zero" if errors_["zeros"] else "")


def judge(case, result, npu, gpu, native):
    """Whether a result of the NPU is wrong; says why."""
    if "skipped" in npu:
        return False
    reasons = []
    if "wrong" in npu:
        if not gpu or "wrong" not in gpu:
            reasons.append(npu["wrong"])
    elif gpu is None or "skipped" in gpu:
        print("%s: nothing to hold it against" % result)
    elif "unequal" in npu:
        if npu["unequal"] > gpu.get("unequal", 0.0):
            reasons.append("%.4g of its elements differ from the truth" % npu["unequal"])
    elif "unequal" in gpu or "wrong" in gpu:
        print("%s: the GPU's result is of another kind" % result)
    else:
        reasons.extend(by_standard(case, result, npu, gpu))
        if npu["non_finite"] and not gpu["non_finite"]:
            reasons.append("%d elements are NaN or infinite and should not be, or the reverse" % npu["non_finite"])
        others = max(gpu["element"], (native or {}).get("element", 0.0), resolution(npu["dtype"]) / 2)
        if npu["element"] > OUTLIER * others:
            reasons.append("an element is off by %.2g of its size, at most %.2g elsewhere" % (npu["element"], others))
    for reason in reasons:
        print("%s: wrong on the NPU: %s" % (result, reason))
    return bool(reasons)


def by_standard(case, result, npu, gpu):
    """The ratios of the operator standard: the first three above their limit are errors, the largest relative error is a
    warning."""
    floor = case["standard"]["floors"].get(npu["dtype"])
    if floor is None:
        return []
    reasons, told = [], []
    for kind in ("rmse", "mean_rel", "small", "max_rel"):
        limit = case["standard"]["limits"][kind]
        ratio = npu[kind] / max(gpu[kind], floor)
        told.append("%s %.3g (limit %g)" % (kind, ratio, limit))
        if ratio > limit and kind != "max_rel":
            reasons.append("%s is %.3g times the GPU's, more than %g" % (kind, ratio, limit))
    print("%s: errors NPU/GPU, level %s: %s" % (result, case["standard"]["level"], ", ".join(told)))
    if reasons and npu["rel_l2"] <= resolution(npu["dtype"]):
        # Two honest roundings of few elements differ by more than the narrowest limits.
        print("%s: warning: %s, within the resolution of %s" % (result, "; ".join(reasons), npu["dtype"]))
        return []
    if not reasons and ratio > limit:
        print("%s: warning: only its largest relative error is above the limit; one element near zero is enough" % result)
    return reasons


def differing_inputs(case, truths, answers):
    """Says how far the NPU's answer is from what the GPU's inputs give, where the two runs fed the operation differently."""
    if not case["differing"]:
        return
    print()
    for found in case["differing"]:
        print("the two runs gave another %s: %s" % (shown(found["place"]), distance(found)))
    if BASELINE not in truths or CANDIDATE not in truths:
        return
    for name, value in sorted((answers.get(CANDIDATE) or {}).items()):
        facts = measure(value, truths[BASELINE].get(name))
        if "rel_l2" in facts or "unequal" in facts:
            print("%s of the NPU against fp64 on the GPU's inputs: %s" % (name, numbers(facts)))


def distance(found):
    """How far two arguments are apart."""
    ours, theirs = found["tensors"] or ({}, {})
    if "file" not in ours or "file" not in theirs or ours["shape"] != theirs["shape"]:
        return "%s against %s" % (shown(found["candidate"]), shown(found["baseline"]))
    facts = measure(read_tensor(theirs), widened(read_tensor(ours)))
    return numbers(facts)


def label(case, name):
    if name in (BASELINE, CANDIDATE):
        return "%s (recorded)" % shown(case["labels"][name])
    return {CPU: "CPU, native type", "cuda": "GPU, here", "npu": "NPU, here"}[name]


def first_line(error):
    return shown(str(error).split("\n")[0])


def shown(text):
    """A text of the dump as a terminal may show it."""
    text = str(text).encode("ascii", "backslashreplace").decode()
    return "".join(letter if letter.isprintable() else "?" for letter in text)


if __name__ == "__main__":
    sys.exit(main())
