"""Writes the curves of a training, as the gate reads them, while it runs.

    from precision_gate.collect import Collector

    with Collector("runs/npu", settings=["train.sh"]) as collect:
        for step, batch in enumerate(loader, start=1):
            loss = train(batch)
            collect(step, loss=loss, lr=scheduler.get_last_lr()[0], grad_norm=norm)

``metrics.jsonl`` gets a line per step and rank, ``config_check_pack.zip`` the settings of the run. For transformers there is
:func:`trainer_callback`, for Lightning :func:`lightning_callback`. Nothing is patched.

A tensor is not waited for: its value is copied on its device, and fetched with those of the next steps.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type

from ._binary import execute
from ._commands import Location, Option, health, run
from ._errors import GateError, UsageError
from ._result import Result

__all__ = ["Collector", "Dump", "lightning_callback", "trainer_callback"]

LOG = logging.getLogger("precision_gate")

#: Name of the file of curves.
CURVES = "metrics.jsonl"
#: Name of the config pack.
PACK = "config_check_pack.zip"
#: Steps that are kept in memory before they are written: a device is waited for once in so many.
STEPS_AT_ONCE = 32
#: Seconds after which steps are written in any case, so that a slow run that is killed loses little.
SECONDS_AT_ONCE = 30.0


def _rank() -> Tuple[int, int, int]:
    """Rank, number of ranks, and number of ranks on this machine."""
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        world = int(distributed.get_world_size())
        return int(distributed.get_rank()), world, int(os.environ.get("LOCAL_WORLD_SIZE", world))
    world = int(os.environ.get("WORLD_SIZE", 1))
    return int(os.environ.get("RANK", 0)), world, int(os.environ.get("LOCAL_WORLD_SIZE", world))


def _accelerator() -> Any:
    """The module of the accelerator in use, such as ``torch.npu``; ``None`` on a CPU."""
    torch = sys.modules.get("torch")
    for name in ("npu", "cuda"):
        module = getattr(torch, name, None)
        if module is not None and module.is_available() and hasattr(module, "max_memory_allocated"):
            return module
    return None


class Dump:
    """Starts and stops the dump of msprobe for the steps of a file that ``precision-gate next-dump`` wrote.

    ``config`` is that file. Where msprobe is not installed, a sentence in the log says so, and training goes on.
    """

    def __init__(self, config: Location, model: Any = None) -> None:
        path = Path(config)
        try:
            wanted = json.loads(path.read_text(encoding="utf-8"))
            self.steps = frozenset(int(step) for step in wanted.get("step", []))
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise UsageError(
                f"{path} is no configuration of a dump ({error}): write it with `precision-gate next-dump RESULT.json`"
            ) from error
        self.model = model
        self.debugger: Any = None
        self.is_on = False
        try:
            from msprobe.pytorch import PrecisionDebugger
        except ImportError:
            LOG.warning("msprobe is not installed, so nothing is dumped: `pip install mindstudio-probe`")
            return
        self.debugger = PrecisionDebugger(config_path=str(path))

    def before(self, step: int) -> None:
        """Called before step ``step``, counted from 0 as msprobe does."""
        if self.debugger is not None and (not self.steps or step in self.steps):
            self.debugger.start(self.model)
            self.is_on = True

    def after(self) -> None:
        """Called after every step: msprobe counts them by it."""
        if self.debugger is None:
            return
        if self.is_on:
            self.debugger.stop()
            self.is_on = False
        self.debugger.step()


class Collector:
    """Collects curves. Use it in a ``with``, or call :meth:`close` at the end.

    * ``folder``: the folder of the run; it is made where it is not there.
    * ``seed``: the seed, which stands in every line.
    * ``every``: one step in so many is written.
    * ``settings``, ``pack``: files for the config pack, and whether one is made at the start (by rank 0).
    * ``ranks``: ``all`` writes every rank's curves, ``first`` those of rank 0; by default ``all`` on one machine. Ranks of several
      machines share no file.
    * ``resume``: whether the run goes on with the curves that the folder holds.
    * ``dump``: configuration of msprobe's dump, from ``precision-gate next-dump``.
    * ``baseline``: judges the run against it at the end, on rank 0; ``judge=True`` without one looks at the run alone.
    """

    def __init__(
        self,
        folder: Location,
        *,
        seed: Optional[int] = None,
        every: int = 1,
        settings: Sequence[Location] = (),
        pack: bool = True,
        ranks: Optional[str] = None,
        dump: Optional[Location] = None,
        model: Any = None,
        resume: bool = False,
        baseline: Optional[Location] = None,
        judge: bool = False,
        options: Optional[Dict[str, Option]] = None,
    ) -> None:
        if every < 1:
            raise UsageError(f"`every` is {every}: give 1 or more")
        if ranks not in (None, "all", "first"):
            raise UsageError(f"`ranks` is {ranks!r}: give `all`, `first`, or leave it out")
        self.folder = Path(folder)
        self.resume = resume
        self.seed, self.every, self.settings, self.has_pack, self.ranks = seed, every, list(settings), pack, ranks
        self.baseline, self.judge, self.options = baseline, judge or baseline is not None, dict(options or {})
        self.dump = Dump(dump, model) if dump is not None else None
        #: What the gate said at the end; ``None`` without it, and on other ranks.
        self.result: Optional[Result] = None
        self.rank, self.is_writing = 0, False
        self._file: Optional[int] = None
        self._has_started = self._is_closed = False
        self._waiting: List[Dict[str, Any]] = []
        self._last = self._written = time.perf_counter()
        self._step = self._over = 0
        self._device: Any = None

    def start(self) -> Collector:
        """Opens the file, makes the config pack, and begins to measure time."""
        if self._is_closed:
            raise UsageError(f"the collector of {self.folder} is closed: make another, with `resume=True` where the run goes on")
        if self._has_started:
            return self
        self._has_started = True
        self.rank, world, local = _rank()
        ranks = self.ranks or ("all" if world == local else "first")
        self.is_writing = self.rank == 0 or ranks == "all"
        self._device = _accelerator()
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / CURVES
        if self.rank == 0 and not self.resume and path.is_file() and path.stat().st_size > 0:
            raise UsageError(f"{path} holds curves already: give another folder, or `resume=True` where this run goes on")
        # A line goes out whole, at the end of the file, whoever else writes to it.
        if self.is_writing:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        if self.rank == 0 and self.has_pack:
            self._make_pack()
        self._last = self._written = time.perf_counter()
        if self.dump is not None:
            self.dump.before(0)
        return self

    def _make_pack(self) -> None:
        arguments = ["config-pack", f"--out={self.folder / PACK}", f"--python={sys.executable}", "--"]
        try:
            execute([*arguments, *(os.fspath(path) for path in self.settings)])
        except GateError as error:
            LOG.warning("no config pack was made: %s", error)

    def __enter__(self) -> Collector:
        return self.start()

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        # A run that broke is judged by whoever sees that it broke.
        self.judge = self.judge and error is None
        self.close()

    def __call__(self, step: Optional[int] = None, **values: Any) -> None:
        """Takes the values of a step: ``loss``, ``lr``, ``grad_norm``, ``loss_scale``, ``skipped`` and whatever else.

        Numbers, and tensors of one element. ``time``, ``memory``, ``rank`` and ``seed`` are added. Steps count from 1 unless given.
        """
        self.start()
        self._step = self._step + 1 if step is None else int(step)
        if self.dump is not None:
            # msprobe counts from 0, so that the number of steps that are over is the number of the next.
            self._over += 1
            self.dump.after()
            self.dump.before(self._over)
        now = time.perf_counter()
        passed, self._last = now - self._last, now
        if self._file is None or self._step % self.every:
            return
        line: Dict[str, Any] = {"step": self._step}
        for name, value in values.items():
            if value is not None:
                line[name] = _held(value)
        line.setdefault("time", round(passed, 6))
        if self._device is not None and "memory" not in line:
            line["memory"] = int(self._device.max_memory_allocated())
        line["rank"] = self.rank
        if self.seed is not None:
            line["seed"] = self.seed
        self._waiting.append(line)
        if len(self._waiting) >= STEPS_AT_ONCE or now - self._written > SECONDS_AT_ONCE:
            self.flush()

    step = __call__

    def flush(self) -> None:
        """Writes what is waiting."""
        if self._file is None or not self._waiting:
            return
        lines, self._waiting = self._waiting, []
        _fetch(lines)
        data = "".join(json.dumps({name: _written(value) for name, value in line.items()}) + "\n" for line in lines).encode("utf-8")
        while data:
            data = data[os.write(self._file, data) :]
        self._written = time.perf_counter()

    def close(self) -> None:
        """Writes the rest and, where asked for, judges the run on rank 0, once every rank has written."""
        if self._is_closed:
            return
        self._is_closed = True
        self.flush()
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self.judge and self._has_started:
            self._wait_for_all()
            self._ask_gate()

    @staticmethod
    def _wait_for_all() -> None:
        torch = sys.modules.get("torch")
        distributed = getattr(torch, "distributed", None)
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            distributed.barrier()

    def _ask_gate(self) -> None:
        if self.rank != 0:
            return
        options = {"out": self.folder / "precision-gate-out", **self.options}
        try:
            if self.baseline is not None:
                self.result = run(self.baseline, self.folder, **options)  # type: ignore[arg-type]
            else:
                self.result = health(self.folder, **options)  # type: ignore[arg-type]
        except GateError as error:
            # A training that has ended well is not lost for it.
            LOG.error("the gate could not judge: %s", error)
            return
        LOG.log(logging.INFO if self.result.verdict in ("pass", "warn") else logging.ERROR, "%s", self.result)


def _held(value: Any) -> Any:
    """A value that later steps do not change: a tensor is copied where it lies, and not waited for."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if value.numel() != 1:
            raise UsageError(f"a value has the shape {tuple(value.shape)}: give one number a step, such as its mean")
        value = value.detach()
        return value.item() if value.device.type == "cpu" else value.reshape(()).clone()
    return value


def _fetch(lines: List[Dict[str, Any]]) -> None:
    """Replaces tensors by their values: one transfer for each device."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    by_device: Dict[str, List[Tuple[Dict[str, Any], str]]] = {}
    for line in lines:
        for name, value in line.items():
            if isinstance(value, torch.Tensor):
                by_device.setdefault(str(value.device), []).append((line, name))
    for device, places in by_device.items():
        # A double holds counts, too; not every accelerator has it.
        kind = torch.float64 if device.startswith("cuda") else torch.float32
        values = torch.stack([line[name].to(kind) for line, name in places]).tolist()
        for (line, name), value in zip(places, values):
            line[name] = value


def _written(value: Any) -> Any:
    """A value as JSON has it; NaN and infinity are words."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if not isinstance(value, (str, int, float)):
        raise UsageError(f"a value is of type {type(value).__qualname__}, and no number: give a number or a tensor of one element")
    return value


def trainer_callback(folder: Location, **settings: Any) -> Any:
    """A callback for ``Trainer(callbacks=[...])`` of transformers; settings are those of :class:`Collector`.

    It writes what the Trainer logs, at the steps where it does: ``logging_steps=1`` gives every step.
    """
    try:
        from transformers import TrainerCallback
    except ImportError as error:
        raise GateError("transformers is not installed: `pip install transformers`, or use `Collector`") from error

    class Callback(TrainerCallback):  # type: ignore[misc]
        """Hands the Trainer's numbers on."""

        def __init__(self) -> None:
            self.collector: Optional[Collector] = None

        def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
            self.collector = Collector(folder, **{"seed": args.seed, "model": others.get("model"), **settings}).start()

        def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Dict[str, Any]] = None, **others: Any) -> None:
            logs = dict(logs or {})
            if self.collector is None or "loss" not in logs:
                return
            logs.pop("epoch", None)
            logs["lr"] = logs.pop("learning_rate", None)
            optimizer = others.get("optimizer")
            scaler = getattr(optimizer, "scaler", None)
            if scaler is not None:
                logs["skipped"] = int(bool(getattr(optimizer, "step_was_skipped", False)))
                logs["loss_scale"] = scaler.get_scale()
            self.collector(state.global_step, **logs)

        def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
            if self.collector is not None:
                self.collector.close()

    return Callback()


def lightning_callback(folder: Location, **settings: Any) -> Any:
    """A callback for ``Trainer(callbacks=[...])`` of Lightning; settings are those of :class:`Collector`.

    It writes what the module logs (``self.log("loss", loss)``) at each optimizer step, and the loss of ``training_step``.
    """
    base: Any = None
    for name in ("lightning.pytorch", "pytorch_lightning"):
        try:
            base = __import__(name, fromlist=["Callback"]).Callback
            break
        except ImportError:
            continue
    if base is None:
        raise GateError("Lightning is not installed: `pip install lightning`, or use `Collector`")

    class Callback(base):  # type: ignore[misc]
        """Hands Lightning's numbers on."""

        def __init__(self) -> None:
            super().__init__()
            self.collector: Optional[Collector] = None
            self.last = 0

        def on_train_start(self, trainer: Any, module: Any) -> None:
            self.collector = Collector(folder, **{"model": module, **settings}).start()
            self.last = int(trainer.global_step)

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            if self.collector is None or trainer.global_step == self.last:
                return
            self.last = int(trainer.global_step)
            logged = {name: value for name, value in trainer.callback_metrics.items() if getattr(value, "ndim", 0) == 0}
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
            if loss is not None and "loss" not in logged:
                logged["loss"] = loss
            rates = [group["lr"] for optimizer in trainer.optimizers for group in optimizer.param_groups]
            if rates and "lr" not in logged:
                logged["lr"] = rates[0]
            self.collector(self.last, **logged)

        def on_train_end(self, trainer: Any, module: Any) -> None:
            if self.collector is not None:
                self.collector.close()

    return Callback()
