"""Runs the threads of a load test on a target, with the runtime's verb ``rounds``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import evolve

from deadbeat.executors.hardware import VerbEngine
from deadbeat.executors.programs import LOCK_WAIT_S
from deadbeat.kinds.load.engine import LoadEngine, LoadRequest, parse
from deadbeat.model.errors import RunError, TargetError
from deadbeat.model.load import TRACED, Seen, Takers
from deadbeat.model.tuning import JournalEntry, Setting
from deadbeat.settings.journal import Journal
from deadbeat.settings.tune import applied
from deadbeat.targets.ancestry import process_on
from deadbeat.targets.base import Target
from deadbeat.targets.readings import Readings
from deadbeat.trace.session import Tracer
from deadbeat.trace.why import takers_of

#: Beyond the window: start-up, the wait for the machine's lock, and the guardian's own bound.
_PATIENCE_S = 60.0
_CALIBRATION_S = 0.5
#: As in runtime/src/host/rounds.c: what the round that is running at the end of a window may take.
_TAIL_ROUNDS = 4


class HardwareLoad(VerbEngine, LoadEngine):
    """Real threads on a target."""

    def __init__(
        self, target: Target, *, cross: str | None = None, lock_wait: float = LOCK_WAIT_S
    ) -> None:
        super().__init__(target, cross=cross, lock_wait=lock_wait)
        self.kind, self.address = target.kind, target.address
        # it waits for the program, and that for its threads
        self.process = process_on(target)

    def unit_ps(self, cpus: Sequence[int], *, policy: str, priority: int) -> int:
        """Fastest of many stretches, of half a second."""
        options = {
            "--seconds-ns": str(round(_CALIBRATION_S * 1e9)),
            "--cpus": _list(cpus),
            "--priority": _priority(policy, priority),
        }
        for line in self._executor.converse("unit", policy, options, timeout=_PATIENCE_S):
            word, _, number = line.partition(" ")
            if word == "unit":
                with self._executor.understood():
                    return int(number)
        raise TargetError("the program did not say what a unit of work costs", "")

    def read(self, paths: Sequence[str]) -> Readings:
        return self._target.read_many(paths)

    @contextmanager
    def holding(self, settings: Sequence[Setting], *, reason: str) -> Iterator[dict[str, str]]:
        if not settings:
            yield {}
            return
        with applied(self._target, settings, reason=reason):
            yield {setting.path: setting.value for setting in settings}

    def standing(self) -> tuple[JournalEntry, ...]:
        return Journal(self._target).status()

    def run(self, ask: LoadRequest) -> Seen:
        out = f"{self._target.folder}/{ask.key.text}"
        options = {
            "--cpus": _list(ask.cpus),
            "--seconds-ns": str(round(ask.spec.seconds * 1e9)),
            "--normal": str(ask.key.normal),
            "--real-time": str(int(ask.real_time)),
            "--priority": _priority(ask.spec.policy, ask.spec.priority),
            "--pin": str(-1 if ask.change.pin is None else ask.change.pin),
            "--units": str(ask.units),
            "--unit-ps": str(ask.unit_ps),
            "--period-ns": str(ask.spec.period or 0),
            "--out": out,
        }
        if ask.change.normal_cpus is not None:
            options["--normal-cpus"] = _list(ask.normal_cpus)
        traced = ask.key.condition == TRACED
        trace = self._traced(ask, options) if traced else self._converse(ask, options)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "rounds"
            self._target.get(out, path)
            self._target.run(("rm", "-f", out))
            return evolve(parse(path.read_text()), trace=trace)

    def _traced(self, ask: LoadRequest, options: dict[str, str]) -> Takers:
        """One run under event tracing; who had the CPU, or why that is not known."""
        with Tracer(self._target, cpus=ask.cpus) as tracer:
            tracer.start()
            self._converse(ask, options)
            tracer.stop()
            text = tracer.text()
            if tracer.unavailable:
                return {"unavailable": tracer.unavailable}
            return {**takers_of(text), "lost_events": tracer.lost}

    def _converse(self, ask: LoadRequest, options: dict[str, str]) -> Takers:
        tail_s = (_TAIL_ROUNDS + ask.key.normal) * ask.units * ask.unit_ps / 1e12
        timeout = ask.spec.seconds + tail_s + _PATIENCE_S
        for line in self._executor.converse("rounds", ask.spec.policy, options, timeout=timeout):
            raise RunError(f"unexpected words of the program: {line[:80]}")
        return {}

    def close(self) -> None:
        self._executor.close()


def _priority(policy: str, priority: int) -> str:
    return str(priority if policy == "fifo" else 0)


def _list(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))
