"""Collectors."""

import json
import math

import pytest

import precision_gate
from precision_gate import UsageError
from precision_gate.collect import Collector, Dump


def train(folder, shift=0.0, steps=80, **settings):
    """A training of numbers alone."""
    with Collector(folder, seed=3, **settings) as collect:
        for step in range(1, steps + 1):
            loss = 2 + 3 * math.exp(-step / 20) + 0.01 * math.sin(step * 7) + (shift if step > 30 else 0)
            collect(step, loss=loss, lr=1e-3, grad_norm=1.0 + 0.1 * math.cos(step * 3), skipped=0, loss_scale=65536.0)
    return collect


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_a_clean_and_a_broken_run(tmp_path):
    train(tmp_path / "gpu")
    good = train(tmp_path / "npu", baseline=tmp_path / "gpu", options={"out": tmp_path / "out"})
    assert good.result.verdict == "pass", good.result
    bad = train(tmp_path / "bad", shift=0.2, baseline=tmp_path / "gpu")
    assert bad.result.verdict == "fail"
    assert "step 31" in bad.result.headline
    assert (tmp_path / "bad/precision-gate-out/report.html").is_file()
    first = lines(tmp_path / "gpu")[0]
    assert list(first) == ["step", "loss", "lr", "grad_norm", "skipped", "loss_scale", "time", "rank", "seed"]
    assert (tmp_path / "gpu/config_check_pack.zip").is_file()


def test_one_run_alone_and_words_for_what_is_not_finite(tmp_path):
    with Collector(tmp_path, pack=False, judge=True) as collect:
        for step in range(1, 61):
            collect(loss=math.nan if step > 30 else 3 / step, grad_norm=math.inf if step == 50 else None)
    assert collect.result.verdict == "fail"
    found = lines(tmp_path)
    assert (found[30]["loss"], found[49]["grad_norm"], len(found)) == ("nan", "inf", 60)
    assert "grad_norm" not in found[0]


def test_a_run_that_breaks_is_written_and_not_judged(tmp_path):
    with pytest.raises(ZeroDivisionError), Collector(tmp_path, pack=False, judge=True) as collect:
        collect(loss=1.0)
        raise ZeroDivisionError
    assert len(lines(tmp_path)) == 1
    assert collect.result is None


def test_what_a_folder_holds_is_not_mixed(tmp_path):
    train(tmp_path, pack=False, steps=10, every=5)
    assert [line["step"] for line in lines(tmp_path)] == [5, 10]
    with pytest.raises(UsageError, match="holds curves already: give another folder, or `resume=True`"):
        train(tmp_path, pack=False)
    train(tmp_path, pack=False, steps=2, resume=True)
    assert len(lines(tmp_path)) == 4


def test_a_plain_loop_needs_no_with(tmp_path):
    collect = Collector(tmp_path, pack=False)
    collect(loss=1.0)
    collect.close()
    collect.close()
    assert len(lines(tmp_path)) == 1
    with pytest.raises(UsageError, match="is closed: make another"):
        collect(loss=1.0)


def test_every_rank_of_a_machine_writes_whole_lines(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        train(tmp_path / "all", pack=False, resume=True)
        train(tmp_path / "first", pack=False, resume=True, ranks="first")
        monkeypatch.setenv("LOCAL_WORLD_SIZE", "1")
        train(tmp_path / "machines", pack=False, resume=True)
        monkeypatch.delenv("LOCAL_WORLD_SIZE")
    assert [line["rank"] for line in lines(tmp_path / "all")] == [0] * 80 + [1] * 80
    assert {line["rank"] for line in lines(tmp_path / "first") + lines(tmp_path / "machines")} == {0}
    assert precision_gate.loss(tmp_path / "all", tmp_path / "all", out="-").verdict in ("pass", "warn")


def test_bad_values_have_one_sentence(tmp_path):
    with pytest.raises(UsageError, match="`every` is 0"):
        Collector(tmp_path, every=0)
    with pytest.raises(UsageError, match="give `all`, `first`"):
        Collector(tmp_path, ranks="some")
    with pytest.raises(UsageError, match="is of type list, and no number"), Collector(tmp_path, pack=False) as collect:
        collect(loss=[1])
    with pytest.raises(UsageError, match=r"write it with `precision-gate next-dump RESULT\.json`"):
        Dump(tmp_path / "nothing.json")


def test_the_dump_of_msprobe_begins_and_ends_at_its_steps(tmp_path, monkeypatch):
    import sys
    import types

    said = []

    class PrecisionDebugger:
        def __init__(self, config_path):
            said.append(config_path)

        def start(self, model):
            said.append("start")

        def stop(self):
            said.append("stop")

        def step(self):
            said.append("step")

    module = types.ModuleType("msprobe.pytorch")
    module.PrecisionDebugger = PrecisionDebugger
    monkeypatch.setitem(sys.modules, "msprobe", types.ModuleType("msprobe"))
    monkeypatch.setitem(sys.modules, "msprobe.pytorch", module)
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"step": [1]}))
    train(tmp_path / "run", pack=False, steps=3, dump=config)
    assert said == [str(config), "step", "start", "stop", "step", "step"]


def test_tensors_are_fetched_together(tmp_path):
    torch = pytest.importorskip("torch")
    with Collector(tmp_path, pack=False) as collect:
        total = torch.zeros(())
        for _ in range(40):
            total += 1
            collect(loss=total)
        with pytest.raises(UsageError, match=r"has the shape \(2,\): give one number a step"):
            collect(loss=torch.ones(2))
    assert [line["loss"] for line in lines(tmp_path)] == [float(step) for step in range(1, 41)]
