"""Background loads by stress-ng, each under the runtime's guard: nothing of one outlives it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from signal import Signals
from typing import Any

from deadbeat.host.snapshot import Snapshot, diff, parse
from deadbeat.kinds.latency.circumstances import rounded
from deadbeat.kinds.latency.guarded import SIGNALLED, guarded, put_runtime
from deadbeat.kinds.latency.load import LoadProfile, profiles
from deadbeat.kinds.latency.workers import COMMAND, FILES, Look, asked_of, did, look_of
from deadbeat.model.errors import TargetError
from deadbeat.model.latency import LoadPoint
from deadbeat.targets.base import Process, Target

#: How long a load runs before it is measured, s: its processes start, and find their pace.
SETTLE_S = 1.0
#: How long it may take to end before it is killed, s.
_END_S = 6.0
#: Of the guard's own words.
_GUARD = "deadbeat guard:"


class StressLoads:
    """See `deadbeat.kinds.latency.load.Loads`.

    Args:
        cpus: Where loads run: on each of them, pinned.
        program: Where the runtime's program is on a target; puts it there.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        cpus: Sequence[int],
        *,
        program: Callable[[Target], str] = put_runtime,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cpus = tuple(cpus)
        self._put = program
        self._sleep = sleep
        self._program = ""

    @cached_property
    def _profiles(self) -> dict[str, LoadProfile]:
        return profiles()

    def unavailable(self, target: Target, point: LoadPoint) -> str:
        """Whether its program is installed; the idle machine needs none."""
        profile = self._profiles[point.profile]
        if point.percent == 0:
            return ""
        if target.run(("sh", "-c", f"command -v {profile.program}")).returncode == 0:
            return ""
        return f"{profile.program} is not installed (Debian: apt-get install {profile.package})"

    def start(self, target: Target, point: LoadPoint, *, seconds: float) -> RunningStress:
        """Starts its commands and waits until it has settled; see the protocol."""
        profile = self._profiles[point.profile]
        commands = profile.commands(point.percent, self._cpus, seconds) if point.percent else ()
        if commands and not self._program:
            self._program = self._put(target)
        running = RunningStress(target, point, profile, commands, self._cpus)
        try:
            for argv in commands:
                running.add(guarded(self._program, argv, bound_s=seconds, until_eof=True))
            if commands:
                self._sleep(SETTLE_S)
            words = running.died()
            if words:
                raise TargetError(f"the load {point.text} ended at once: {words}")
        except BaseException:
            running.stop()
            raise
        return running


class RunningStress:
    """A load that runs; see `deadbeat.kinds.latency.load.RunningLoad`."""

    def __init__(
        self,
        target: Target,
        point: LoadPoint,
        profile: LoadProfile,
        commands: Sequence[Sequence[str]],
        cpus: tuple[int, ...],
    ) -> None:
        self._target = target
        self._point = point
        self._profile = profile
        self._commands = commands
        self._cpus = cpus
        self._processes: list[Process] = []
        self._words = ""
        self._asked = asked_of(commands, profile.kinds)
        self._before = (Snapshot(), Look())

    def add(self, argv: Sequence[str]) -> None:
        """Starts one of its commands."""
        # Files that a stressor writes go where the target's own do, and are removed with them.
        files = ("--temp-path", self._target.folder, "--quiet")
        self._processes.append(self._target.start((*argv, *files)))

    def begin(self) -> None:
        self._before = self._look()

    def end(self) -> dict[str, Any]:
        (busy, working), (now_busy, now_working) = self._before, self._look()
        return {
            "asked": self._point.percent,
            "judged": self._profile.judged,
            "computes": self._profile.computes,
            "achieved": rounded(diff(busy, now_busy).busy, self._cpus),
            "commands": [" ".join(argv) for argv in self._commands],
            **did(self._asked, working, now_working, least=self._profile.least),
            "least": {
                name: least * self._asked[name.split(maxsplit=1)[0]]
                for name, least in self._profile.least.items()
                if name.split(maxsplit=1)[0] in self._asked
            },
            "died": self.died(),
        }

    def stop(self) -> None:
        processes, self._processes = self._processes, []
        for process in processes:
            try:
                process.close(_END_S)
            except TargetError:
                process.kill()

    def died(self) -> str:
        """How what has ended did, and its last words; "" while all of it runs."""
        for process in () if self._words else tuple(self._processes):
            if _ended(process):
                self._processes.remove(process)
                self._words = _ending(process, self._profile.program)
                break
        return self._words

    def _look(self) -> tuple[Snapshot, Look]:
        commands = {"load": COMMAND} if self._commands else {}
        readings = self._target.read_many(FILES, commands)
        busy = parse(readings)
        if not commands:
            return busy, Look(workers={})
        return busy, look_of(readings, self._target.folder)


def _ending(process: Process, program: str) -> str:
    """How a command that writes no more has ended: by which signal, else what it said last."""
    try:
        status = process.close(_END_S).returncode
    except TargetError:
        status = 0  # it was killed for not ending: that says nothing about it
    if status < 0 or status > SIGNALLED:
        number = -status if status < 0 else status - SIGNALLED
        who = "its guard" if status < 0 else program
        return f"{who} was killed by {_signal_name(number)}"
    lines = process.stderr().strip().splitlines()
    said = [line for line in lines if not line.startswith(_GUARD)]
    return (said or lines or [f"it ended without a word, with status {status}"])[-1]


def _signal_name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"


def _ended(process: Process) -> bool:
    """Whether a command has ended: its output then has an end."""
    try:
        while process.read_line(0.0) is not None:
            pass
    except TargetError:
        return False  # nothing to read, and no end
    return True
