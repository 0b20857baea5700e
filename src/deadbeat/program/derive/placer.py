"""Gives threads of a program policy, priority and CPUs from outside, and puts all back.

runtime/observe/placer.c does it, and says how. It ends with this process, however that ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.build.native import tool_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.machine.targets.base import ClosedAfterwards, Process, Target, is_here

_PATIENCE_S = 30.0
#: For so long after a thread is new the placer runs before all others, and keeps them waiting.
FIRST_NS = 100_000_000


@frozen(kw_only=True)
class Placing:
    """What threads of a name get, as `tasks.names_of` has it; a name without number: all of it; *:
    all others. What is not given stays. ``policy``: other, fifo, rr, deadline; ``comm``: the name
    by the kernel, if that is another."""

    name: str
    comm: str = ""
    policy: str = ""
    priority: int | None = None
    cpus: tuple[int, ...] = ()
    runtime_ns: int = 0
    deadline_ns: int = 0
    period_ns: int = 0


@frozen
class PlacedThread:
    """A thread got ``what`` (fifo:50, cpus:0,1) at ``ns``. ``word``: set, back, refused, gave-up
    (the program went on changing it), stuck (not put back); ``error``: errno, or 0."""

    word: str
    ns: int
    tid: int
    error: int
    what: str
    name: str


@frozen(kw_only=True)
class Placed:
    """What was set and put back, and what was not. ``last_change_ns``: of what was set, or 0."""

    changes: tuple[PlacedThread, ...] = ()
    refused: tuple[PlacedThread, ...] = ()
    last_change_ns: int = 0


class Placer(ClosedAfterwards):
    """Places threads of a process on ``target`` by ``rules``, from `begin` until `finish`."""

    def __init__(self, target: Target, toolchain: Toolchain, rules: Sequence[Placing]) -> None:
        self._target, self._rules = target, rules
        self._process: Process | None = None
        self._tool = str(tool_program(toolchain, "placer"))
        if not is_here(target):
            target.put(Path(self._tool), f"{target.folder}/placer")
            self._tool = f"{target.folder}/placer"

    def begin(self, pid: int) -> None:
        """Place its threads, and all that come. UsageError: there is no such process."""
        if not self._rules:
            return
        self._process = self._target.start((self._tool, str(pid), *map(_word, self._rules)))
        said = self._process.read_line(_PATIENCE_S) or "no word"
        if said == "gone":
            raise UsageError(f"no process {pid} on {self._target.name}", "check the number: ps -e")
        if not said.startswith("begun"):
            raise TargetError(f"the placer failed: {said}")

    def finish(self) -> Placed:
        """Put all back. Raises TargetError: it was killed."""
        process, self._process = self._process, None
        if process is None:
            return Placed()
        *lines, last = process.close(_PATIENCE_S).stdout.removesuffix("\n").split("\n")
        if last == "killed":
            raise TargetError("the placer was killed: what it changed is back", "repeat it")
        if not last.startswith("ended"):
            hint = "end the program, or set its priorities and CPUs again"
            raise TargetError("the placer was killed: what it changed may still be so", hint)
        said = []
        for line in lines:
            word, ns, tid, error, what, name = line.split(" ", 5)
            thread = PlacedThread(word, int(ns), int(tid), int(error), what, name)
            said.append(thread)
        good = [each for each in said if each.word in ("set", "back")]
        return Placed(
            changes=tuple(good),
            refused=tuple(each for each in said if each not in good),
            last_change_ns=max((each.ns for each in good if each.word == "set"), default=0),
        )

    def close(self) -> None:
        """Put all back. Safe to call again."""
        with suppress(TargetError):
            self.finish()


def _word(rule: Placing) -> str:
    numbers = (rule.priority, rule.runtime_ns, rule.deadline_ns, rule.period_ns)
    fields = (rule.policy, *(str(n or "") for n in numbers), ",".join(map(str, rule.cpus)))
    return f"{rule.comm or rule.name}={':'.join(fields)}"
