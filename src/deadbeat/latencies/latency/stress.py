"""Background loads by stress-ng, or by the runtime itself where there is none, each under the
runtime's guard: nothing of one outlives it.

Their own counts of operations come only when they end, after several runs. Of /proc, one look
before and one after a run tell CPU time, switches and bytes written of every worker with its
descendants: what was skipped, or stands still, is seen. A process belongs to a load by its
ancestor, which names our folder in its command line.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from signal import Signals

from attrs import define, evolve, field, frozen

from deadbeat.base.model.errors import TargetError
from deadbeat.base.store.files import tool_version
from deadbeat.build.programs import SIGNALLED, guarded, put_runtime
from deadbeat.latencies.latency.circumstances import rounded
from deadbeat.latencies.latency.loads import LOADS, OWN, PROCESSES, STRESS_NG
from deadbeat.latencies.latency.model import LoadPoint, LoadReport
from deadbeat.machine.host.proc import STAT, UPTIME, task_of, uptime_of
from deadbeat.machine.host.snapshot import Snapshot, diff, parse
from deadbeat.machine.host.values import understood
from deadbeat.machine.targets.base import Process, Target
from deadbeat.machine.targets.readings import Readings, script

#: How long a load runs before it is measured, s: its processes start, and find their pace.
SETTLE_S = 1.0
#: How long it may take to end before it is killed, s.
_END_S = 6.0
#: Start of the guard's own words.
_GUARD = "deadbeat guard:"
#: For `Target.read_many`: one process of grep for all files of all processes.
FILES = (STAT, UPTIME)
COMMAND = script("loads.sh", __package__)
_TICK_S = 0.01
_TITLE = re.compile(rf"(?:{'|'.join(PROCESSES.values())})-([a-z0-9-]+)")
_SWITCHES = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")


def makers_of(target: Target, wanted: str = "auto") -> str:
    """What makes loads there, with its version: ``stress-ng 0.15.06``, ``deadbeat 1.2.0``.

    Args:
        wanted: ``stress-ng``, ``deadbeat``, or ``auto``: stress-ng where it is installed.

    Raises:
        TargetError: stress-ng is wanted and not there.
    """
    if wanted != OWN:
        said = target.run(("sh", "-c", f"{STRESS_NG} --version"))
        if said.returncode == 0:
            version = re.search(r"version (\S+)", said.stdout)
            return f"{STRESS_NG} {version[1] if version else ''}".strip()
        if wanted == STRESS_NG:
            hint = f"install it (Debian: apt-get install {STRESS_NG}), or leave out --set loads-by"
            raise TargetError(f"there is no {STRESS_NG} on {target.name}", hint)
    return f"{OWN} {tool_version()}"


@define
class StressLoads:
    """Starts loads on a target, on each CPU, pinned. ``maker``: see `makers_of`. ``program`` puts
    the runtime there, and tells where."""

    cpus: tuple[int, ...]
    maker: str = STRESS_NG
    program: Callable[[Target], str] = field(default=put_runtime, kw_only=True)
    sleep: Callable[[float], None] = field(default=time.sleep, kw_only=True)
    _put: str = field(default="", init=False)

    def start(self, target: Target, point: LoadPoint, *, seconds: float) -> RunningStress:
        """Starts its commands and waits until it has settled. ``seconds``: its own bound.
        Raises TargetError: it cannot be started, or dies at once."""
        profile = LOADS[point.profile]
        commands = profile.commands(point.percent, self.cpus) if point.percent else ()
        if commands and not self._put.startswith(f"{target.folder}/"):
            self._put = self.program(target)
        name = self.maker.partition(" ")[0]
        first = (self._put, "load") if name == OWN else (name,)
        running = RunningStress(target, point, commands, self.cpus, PROCESSES[name])
        try:
            for options in commands:
                argv = (*first, *options)
                running.add(guarded(self._put, argv, bound_s=seconds, until_eof=True))
            if commands:
                self.sleep(SETTLE_S)
            words = running.died()
            if words:
                raise TargetError(f"the load {point.text} ended at once: {words}")
        except BaseException:
            running.stop()
            raise
        return running


@define
class RunningStress:
    """A load that runs, from `StressLoads.start` to `stop`."""

    _target: Target
    _point: LoadPoint
    _commands: Sequence[Sequence[str]]
    _cpus: tuple[int, ...]
    _name: str
    _processes: list[Process] = field(factory=list)
    _words: str = ""
    _before: tuple[Snapshot, Look] | None = None

    def add(self, argv: Sequence[str]) -> None:
        """Starts one of its commands."""
        # Files that a stressor writes go where the target's own do, and are removed with them.
        files = ("--temp-path", self._target.folder, "--quiet")
        self._processes.append(self._target.start((*argv, *files)))

    def begin(self) -> None:
        """Measuring begins: what it achieves is counted from here."""
        self._before = self._look()

    def end(self) -> LoadReport:
        """Measuring ends."""
        before, after = self._before or (Snapshot(), Look()), self._look()
        found = load_report(self._point, self._cpus, self._name, before, after)
        return evolve(found, died=self.died())

    def stop(self) -> None:
        """Ends it and all its processes; safe to call again."""
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
                self._words = _ending(process, self._name)
                break
        return self._words

    def _look(self) -> tuple[Snapshot, Look]:
        commands = {"load": COMMAND} if self._commands else {}
        readings = self._target.read_many(FILES, commands)
        with understood(self._target):
            busy = parse(readings)
            if not commands:
                return busy, Look(workers={})
            return busy, look_of(readings, self._target.folder)


def load_report(
    point: LoadPoint,
    cpus: tuple[int, ...],
    name: str,
    before: tuple[Snapshot, Look],
    after: tuple[Snapshot, Look],
) -> LoadReport:
    """What a load made by ``name`` did from one look to the other."""
    profile = LOADS[point.profile]
    commands = profile.commands(point.percent, cpus) if point.percent else ()
    asked, least = asked_of(commands, profile.kinds), profile.least
    workers, throughput = did(asked, before[1], after[1], least=least)
    return LoadReport(
        asked=point.percent,
        judged=profile.judged,
        computes=profile.computes,
        achieved=rounded(diff(before[0], after[0]).busy, cpus),
        commands=tuple(" ".join((name, *each)) for each in commands),
        workers=workers,
        throughput=throughput,
        least={
            name: each * asked[kind]
            for name, each in least.items()
            if (kind := name.split(maxsplit=1)[0]) in asked
        },
    )


def _ending(process: Process, program: str) -> str:
    """How a command that writes no more has ended: by which signal, else what it said last."""
    try:
        status = process.close(_END_S).returncode
    except TargetError:
        status = 0  # it was killed for not ending: that says nothing about it
    if status < 0 or status > SIGNALLED:
        number = -status if status < 0 else status - SIGNALLED
        name = next((each.name for each in Signals if each == number), f"signal {number}")
        return f"{'its guard' if status < 0 else program} was killed by {name}"
    lines = process.stderr().strip().splitlines()
    said = [line for line in lines if not line.startswith(_GUARD)]
    return (said or lines or [f"it ended without a word, with status {status}"])[-1]


def _ended(process: Process) -> bool:
    """Whether a command has ended: its output then has an end."""
    try:
        while process.read_line(0.0) is not None:
            pass
    except TargetError:
        return False  # nothing to read, and no end
    return True


# ---------- what its processes do ----------


@frozen(kw_only=True)
class Worker:
    """One process that such a program began, with all its descendants.

    Attributes:
        kind: ``vm``, ``timerfd``.
        ticks: CPU time, in ticks of 10 ms, of those that run and of their children that ended.
        switches: Context switches of the running ones.
        written: Bytes that went to a disk (not to files in memory); None: not to be had.
    """

    kind: str
    ticks: int = 0
    switches: int = 0
    written: int | None = None


@frozen(kw_only=True)
class Look:
    """All workers at one moment: process number -> worker; None: they could not be read."""

    workers: Mapping[int, Worker] | None = None
    uptime_s: float | None = None


#: What of every process `COMMAND` prints, where files can be read and no command runs.
PROCESS_FILES = ("stat", "cmdline", "status", "io")


def printed(files: Mapping[str, bytes]) -> str:
    """What `COMMAND` prints, of a machine of which these are files, by their paths."""
    lines = []
    for path, content in files.items():
        process, _, name = path.rpartition("/")
        stat = files.get(f"{process}/stat", b"")
        if name in PROCESS_FILES and any(f"({p}".encode() in stat for p in PROCESSES.values()):
            text = content.decode(errors="replace").replace("\0", " ")
            lines += [f"{path}:{line}" for line in text.splitlines()]
    return "\n".join(lines)


def look_of(readings: Readings, folder: str) -> Look:
    """Parse what `FILES` and `COMMAND` (called ``load``) gave; ``folder``: the load's own files."""
    text = readings.commands["load"].text
    return Look(
        workers=None if text is None else workers_of(text, folder),
        uptime_s=uptime_of(readings.files[UPTIME].text or ""),
    )


def workers_of(text: str, folder: str) -> dict[int, Worker]:
    """The workers in what `COMMAND` printed: children of a program with this ``folder``."""
    lines: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for number, name, line in re.findall(r"^/proc/(\d+)/(\w+):(.*)$", text, re.M):
        lines[int(number)][name].append(line)
    stats = ((number, task_of("".join(files["stat"]))) for number, files in lines.items())
    tasks = {number: task for number, task in stats if task is not None}
    titles = {number: f"{' '.join(lines[number]['cmdline'])} " for number in tasks}

    def worker(number: int, kind: str) -> Worker:
        own, new = {number}, {number}
        while new:
            new = {child for child, task in tasks.items() if task.parent in new} - own
            own |= new
        files = [line for each in own for name in ("status", "io") for line in lines[each][name]]
        counts = re.findall(r"^(\w+):\s*(\d+)\s*$", "\n".join(files), re.M)
        written = [int(value) for name, value in counts if name == "write_bytes"]
        return Worker(
            kind=kind,
            ticks=sum(tasks[each].tree_ticks for each in own),
            switches=sum(int(value) for name, value in counts if name in _SWITCHES),
            written=sum(written) if written else None,
        )

    ours = f"--temp-path {folder} "
    return {
        number: worker(number, match[1])
        for number, task in tasks.items()
        if ours in titles.get(task.parent, "") and (match := _TITLE.match(titles[number]))
    }


def asked_of(commands: Iterable[Sequence[str]], kinds: Sequence[str]) -> dict[str, int]:
    """How many workers of each kind the commands of a load begin."""
    found = dict.fromkeys(kinds, 0)
    for argv in commands:
        for option, value in pairwise(argv):
            if option.removeprefix("--") in found and value.isdigit():
                found[option.removeprefix("--")] += int(value)
    return {kind: count for kind, count in found.items() if count}


def did(
    asked: Mapping[str, int], before: Look, after: Look, *, least: Mapping[str, float]
) -> tuple[dict[str, tuple[int, int, int]] | None, dict[str, float]]:
    """`LoadReport`'s ``workers`` and ``throughput`` between two looks; a rate of 0 stays where
    ``least`` of it is wanted."""
    if before.workers is None or after.workers is None:
        return None, {}
    seconds = (after.uptime_s or 0.0) - (before.uptime_s or 0.0)
    workers: dict[str, tuple[int, int, int]] = {}
    rates: dict[str, float] = {}
    for kind, count in asked.items():
        pairs = [
            (before.workers[number], new)
            for number, new in after.workers.items()
            if number in before.workers and new.kind == kind
        ]
        working = [
            new for old, new in pairs if (new.ticks, new.switches) != (old.ticks, old.switches)
        ]
        workers[kind] = (count, len(pairs), len(working))
        if seconds <= 0:
            continue
        ticks = sum(max(new.ticks - old.ticks, 0) for old, new in pairs)
        switches = sum(max(new.switches - old.switches, 0) for old, new in pairs)
        rates[f"{kind} CPU s/s"] = round(ticks * _TICK_S / seconds, 3)
        rates[f"{kind} switches/s"] = round(switches / seconds, 1)
        if pairs and all(each.written is not None for pair in pairs for each in pair):
            written = sum(max((new.written or 0) - (old.written or 0), 0) for old, new in pairs)
            rates[f"{kind} written B/s"] = round(written / seconds, 1)
    return workers, {name: rate for name, rate in rates.items() if rate or name in least}
