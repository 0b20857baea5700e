"""Carries out an experiment of any kind: what is stored is never measured again.

Every run is stored as soon as it ends, so that the same call continues after any interruption.
"""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

from attrs import define, evolve, field

from deadbeat.base.experiment.base import (
    Experiment,
    Lost,
    Outcome,
    RunDone,
    RunFailed,
    Started,
    Todo,
    Watcher,
)
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.words import count_of
from deadbeat.base.store.files import atomic_write, read_bytes
from deadbeat.base.store.place import BESIDE_LOG
from deadbeat.machine.targets.guarded import (
    GuardedProgram,
    ended_words,
    found,
    of_shell,
    shared_path,
)

K = TypeVar("K")
R = TypeVar("R")
A = TypeVar("A")
Clock = Callable[[], float]


def run(
    experiment: Experiment[K, R],
    *,
    on_event: Watcher,
    beside: Sequence[str] = (),
    budget_s: float | None = None,
    clock: Clock = time.monotonic,
) -> Outcome[K]:
    """Measures and stores whatever is lacking.

    Args:
        on_event: Called between runs only.
        beside: A program of the user's that runs from before the first run until after the last;
            where it ends with status 0 it is started again.
        budget_s: All ends within this: no run begins that would end later, and some of it is left
            for the summary. What is lacking stays for another call.
        clock: Seconds; for the budget, and the estimate of what is left.

    Raises:
        DeadbeatError: Whatever forbids every further run; what is stored stays. Also where the
            program ``beside`` failed: the run beside which it did is not stored.
        KeyboardInterrupt: Passed on, after everything that was started is gone; nothing is lost.
    """
    log = experiment.store.path / BESIDE_LOG
    ends = math.inf if budget_s is None else clock() + (1 - _SUMMARY) * budget_s
    experiment.budget_s, experiment.left_s = budget_s, lambda: ends - clock()
    with experiment.store.lock(), experiment.prepared(on_event):
        experiment.store.clean()
        work = _Work(experiment, experiment.todo(), on_event, clock, ends)
        work.start()
        with (
            closing(_Beside(beside if work.todo.left else (), log)) as program,
            closing(experiment.measure(on_event)) as results,
        ):
            while clock() + work.next_s < ends:
                result = next(results, None)
                if result is None:
                    work.exhausted = True
                    break
                program.check()
                work.take(result)
            results.close()
            ended = program.close()
        return evolve(experiment.outcome(work.outcome()), beside=ended)


#: Starts a program again and again until it fails; a dot in a file for every start and the failure.
_AGAIN = """starts=$1; shift
while printf . >>"$starts"; do "$@" || { status=$?; printf . >>"$starts"; exit $status; }; done"""


class _Beside:
    """A program that runs beside runs; of no words: none. What became of it is added to ``log``."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._name, self._log, self._began = shlex.join(command), log, time.time()
        self._program: GuardedProgram | None = None
        if command:
            found(command[0])
            self._starts = shared_path("deadbeat-beside")
            again = ("sh", "-c", _AGAIN, "beside", str(self._starts), *command)
            self._program = GuardedProgram(again, file=str(self._starts))

    def check(self) -> None:
        """Raises DeadbeatError where it has failed."""
        if self._program is not None and not self._program.running():
            status = self._program.close()
            known = self._starts.stat() if self._starts.exists() else None
            after = (known.st_mtime if known else time.time()) - self._began
            ended = f"{ended_words(of_shell(status))} after {after:.1f} s"
            self._note(f"ended {ended}", failures=int(status > 0))
            raise DeadbeatError(
                f"{self._name} ended {ended}, during a run; that run is not kept",
                "fix it, then repeat the command: earlier runs are kept",
            )

    def close(self) -> str:
        """Ends it; says how often it was started where that was more than once."""
        if self._program is None:
            return ""
        self._program.close()
        seconds = time.time() - self._began
        starts = self._note(f"was ended with the measurement after {seconds:.1f} s")
        return f"{self._name} was started {starts} times in {seconds:.1f} s" * (starts > 1)

    def _note(self, how: str, failures: int = 0) -> int:
        """Keeps how it ended; returns how often it was started."""
        self._program = None
        starts = self._starts.stat().st_size - failures if self._starts.exists() else 0
        self._starts.unlink(missing_ok=True)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        line = f"{now} {self._name}: {count_of(starts, 'start')}, {how}\n"
        known = self._log.is_file()
        before = read_bytes(self._log, what="log", hint="remove it") if known else b""
        atomic_write(self._log, before + line.encode(errors="replace"))
        return starts


#: Part of a budget that summary and page take.
_SUMMARY = 0.05
#: Runs of this call from which on their pace tells the end.
_PACED = 3


@define
class _Work(Generic[K, R]):
    """One call's way through what is lacking."""

    experiment: Experiment[K, R]
    todo: Todo
    tell: Watcher
    clock: Clock
    ends: float
    first_ended: float = 0.0
    at_first: int = 0
    ended: int = 0
    stored: int = 0
    invalid: int = 0
    exhausted: bool = False
    failed: dict[K, str] = field(factory=dict)
    next_s: float = 0.0

    def start(self) -> None:
        todo, decided = self.todo, self.experiment.decided()
        known = {"total": todo.total, "done": todo.done, "failed": todo.failed}
        self.tell(Started(**known, eta_s=self._eta_s(), decided=decided))

    def take(self, result: R | Lost[K]) -> None:
        """Stores one result, or why there is none."""
        kept = result if isinstance(result, Lost) else self.experiment.keep(result)
        if isinstance(kept, Lost):
            self._lose(kept.key, str(kept.error))
            return
        self._end(kept.size)
        self.stored += kept.size
        self.invalid += bool(kept.doubt)
        decided = self.experiment.decided()
        self.tell(
            RunDone(
                key=kept.key,
                done=self._done,
                total=self.todo.total if decided is None else self._done + self._left(),
                eta_s=self._eta_s(),
                decided=decided,
                doubt=kept.doubt,
            )
        )

    def outcome(self) -> Outcome[K]:
        return Outcome(
            planned=self.todo.total,
            done=self._done,
            invalid=self.invalid,
            failed=self.failed,
            complete=self.exhausted or self.ended >= self.todo.left,
        )

    @property
    def _done(self) -> int:
        return self.todo.done + self.stored

    def _lose(self, key: K, reason: str) -> None:
        self.experiment.lose(key, reason)
        self.failed[key] = reason
        self._end(1)
        self.tell(RunFailed(key=key, reason=reason))

    def _end(self, size: int) -> None:
        if not self.ended:
            self.first_ended, self.at_first = self.clock(), size
            planned = self.experiment.seconds(1)
            self.next_s = planned if math.isfinite(planned) else 0.0
        self.ended += size
        if self.ended > self.at_first:
            self.next_s = (self.clock() - self.first_ended) / (self.ended - self.at_first)

    def _eta_s(self) -> float:
        """Seconds left: by the plan, from a few runs on by the pace since the first ended, which
        may have waited for a build; at most what the budget leaves."""
        left = self._left()
        paced = self.ended >= max(_PACED, self.at_first + 1) and not self.experiment.paced
        planned = left * self.next_s if paced else self.experiment.seconds(left)
        return min(planned, max(0.0, self.ends - self.clock()))

    def _left(self) -> int:
        if self.experiment.decided() is None:
            return max(0, self.todo.left - self.ended)
        return self.experiment.expected_left()


def in_series(
    machines: Iterable[str], measure: Callable[[str, A | None], A], say: Callable[[str], None]
) -> tuple[dict[str, A], dict[str, DeadbeatError]]:
    """One specification on several machines, one after another; what is finished there stays. The
    answers, and why others have none: they do not end the series. ``machines``: by the names of
    their results; ``measure``: what a machine answers, given what the first one did. Raises
    UsageError: what is asked cannot be measured."""
    answers: dict[str, A] = {}
    failed: dict[str, DeadbeatError] = {}
    for name in machines:
        try:
            answers[name] = measure(name, next(iter(answers.values()), None))
        except UsageError:
            raise
        except DeadbeatError as error:
            say(f"{name}: {error}")
            failed[name] = error
    return answers, failed
