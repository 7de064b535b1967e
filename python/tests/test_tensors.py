"""Tensors in memory."""

import pytest

import precision_gate
from precision_gate import PrecisionError, UsageError, _tensors

numpy = pytest.importorskip("numpy")


def noise(seed=0):
    return numpy.random.default_rng(seed).normal(size=(64, 32)).astype("f4")


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f4", "c8", "i8", "u1", "?"])
def test_equal_arrays_of_every_type_pass(kind):
    array = (noise() * 9).astype(kind)
    result = precision_gate.compare_tensors({"x": (array, array.copy()), "layers.0.mlp": (array.T, array.T)})
    assert result.verdict == "pass", result
    assert [check.id for check in result.checks if check.verdict != "skipped"] == ["arrays"]


def test_a_defect_is_told_in_one_sentence():
    array = noise()
    wrong = array.copy()
    wrong[:8] = 0
    with pytest.raises(PrecisionError, match=r"^✗ fail: logits\.npy is wrong"):
        precision_gate.compare_tensors({"logits": (array, wrong)}).assert_pass()
    with pytest.raises(PrecisionError, match="different shapes"):
        precision_gate.compare_tensors({"logits": (array, array[:3])}).assert_pass()
    with pytest.raises(PrecisionError):
        precision_gate.assert_close(numpy.where(array > 2, numpy.nan, array), array)
    with pytest.raises(PrecisionError):
        precision_gate.assert_close([array, {"k": array.astype("i4") + 1}], [array, {"k": array.astype("i4")}])


def test_noise_of_the_type_is_no_defect():
    array = noise()
    precision_gate.assert_close(array * (1 + 1e-7), array)
    precision_gate.assert_close(array.astype("f2"), array.astype("f2"))
    precision_gate.assert_close({"a": [array, 3, 2.5, True]}, {"a": [array, 3, 2.5, True]})


def test_states_are_checkpoints(tmp_path):
    state = {"model": {"layer.weight": noise(), "layer.bias": noise(1)[0]}, "steps": [numpy.int64(3)]}
    result = precision_gate.compare_state(state, state, out=tmp_path)
    assert (result.verdict, result.folder, result.page) == ("pass", tmp_path, tmp_path / "report.html")
    wrong = {**state, "model": {**state["model"], "layer.weight": noise(2)}}
    result = precision_gate.compare_state(state, wrong)
    assert result.verdict == "fail"
    assert "layer.weight" in result.headline
    assert result.check("checkpoint").verdict == "fail"
    less = {"model": {"layer.weight": noise()}, "steps": [numpy.int64(3)]}
    assert precision_gate.compare_state(state, less).verdict == "incomplete"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda a: precision_gate.compare_state({"module.w": a}, {"w": a}), "no name is on both sides (`module.w`, `w`): rename"),
        (lambda a: precision_gate.compare_state({"w": "x"}, {"w": a}), "`w` is of type str, and no tensor: leave it out"),
        (lambda a: precision_gate.compare_state({}, {"w": a}), "the baseline holds no tensors"),
        (lambda a: precision_gate.compare_state(3, {"w": a}), "the baseline is of type int: give a state dict"),
        (lambda a: precision_gate.compare_tensors({}), "no tensors are given"),
        (lambda a: precision_gate.compare_tensors({"w": a}), "`w` is no pair"),
        (lambda a: precision_gate.compare_tensors({"a.b": (a, a), "a/b": (a, a)}), "differ only in `.` and `/`"),
        (lambda a: precision_gate.compare_tensors({"x" * 999: (a, a)}), "is a name of 999 characters"),
        (lambda a: precision_gate.compare_tensors({"w": (a, numpy.array(["x"]))}), "holds no numbers: leave it out"),
        (lambda a: precision_gate.assert_close([a], [a, a]), "has 1 items, and 2 are expected"),
        (lambda a: precision_gate.assert_close({"k": a}, {"l": a}), "has other keys on each side (k, l)"),
        (lambda a: precision_gate.assert_close(1 << 80, 1), "more than 64 bits hold"),
    ],
)
def test_what_is_no_tensor_has_one_sentence(call, said):
    with pytest.raises(UsageError) as raised:
        call(noise())
    assert said in str(raised.value)


def test_files_are_those_of_the_formats(tmp_path):
    for array in (noise(), noise().T, numpy.float32(2.5), noise()[:0], noise().astype(">f8")):
        _tensors.write_npy(tmp_path / "x.npy", _tensors.Values("x", array))
        read = numpy.load(tmp_path / "x.npy")
        assert numpy.array_equal(read, array)
        assert read.shape == numpy.shape(array)


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    tensor = torch.randn(64, 32)
    for kind in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.float8_e4m3fn, torch.int64, torch.complex64):
        precision_gate.assert_close(tensor.to(kind), tensor.to(kind))
        precision_gate.assert_close(tensor.to(kind).T, tensor.to(kind).T)
    precision_gate.assert_close(tensor.bfloat16(), tensor, name="weight")
    parameter = torch.nn.Parameter(tensor)
    precision_gate.assert_close(parameter, tensor)
    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.BatchNorm1d(32))
    assert precision_gate.compare_state(model, model.state_dict()).verdict == "pass"
    assert precision_gate.compare_state(model.bfloat16(), model.bfloat16()).verdict == "pass"
    for value, said in (
        (tensor.to("meta"), "is on the device meta and has no values"),
        (tensor.to_sparse(), "is of layout torch.sparse_coo: give"),
    ):
        with pytest.raises(UsageError, match=said):
            precision_gate.compare_tensors({"x": (tensor, value)})
