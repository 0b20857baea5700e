"""Scheduling events of a run, from a private instance of the kernel's event tracing (tracefs).

Only what is the instance's own is ever set: clock, buffers, events, on or off. One shell on the
target holds it for the life of a session. Where tracefs is not mounted, that shell mounts it in a
mount namespace of its own, so there is nothing to unmount; it removes the instance when its input
ends, which also happens when this process is killed. What it could not remove, because it was
killed too, one that is started for it does, or the next one of all: instances are called after
the process that made them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from deadbeat.base.model.errors import TargetError, UnreachableError
from deadbeat.machine.host.values import cpu_mask
from deadbeat.machine.targets.base import Process, Target
from deadbeat.machine.targets.readings import script

#: Where tracefs is, or is mounted otherwise. To look for it within debugfs would mount it there.
PLACE = "/sys/kernel/tracing"
EVENTS = (
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_migrate_task",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "irq_vectors/local_timer_entry",
    "irq_vectors/local_timer_exit",
)
#: Without these there is no answer.
_NEEDED = ("sched/sched_switch", "sched/sched_waking")
#: Ring buffer of each CPU in use, or half of it and so on where memory is scarce; all of them
#: together take no more than the second figure.
BUFFER_KB, BUFFERS_KB = 32_768, 131_072
_PATIENCE_S = 30.0
#: For a shell that has already failed.
_LAST_PATIENCE_S = 5.0
_SWEEP_S = 10.0


class Tracer:
    """Event tracing of the CPUs of a session; ``unavailable`` says why there is none.

    Args:
        cpus: CPUs to record.
        place: Where tracefs is, or where it is mounted if need be.
        events: What is recorded, where the kernel has it.
        buffer_kb: Ring buffer of each CPU; what does not fit in it is the oldest.

    Attributes:
        folder: The instance, as any process of the target may open it; "" where there is none.
    """

    def __init__(
        self,
        target: Target,
        *,
        cpus: Sequence[int],
        place: str = PLACE,
        events: Sequence[str] = EVENTS,
        buffer_kb: int = BUFFER_KB,
    ) -> None:
        self.unavailable = ""
        self.folder = ""
        self.lost = 0
        self.lost_cpus: tuple[int, ...] = ()
        self._place = place
        self._target = target
        self._kept = f"{target.folder}/trace"
        self._process: Process | None = None
        try:
            self._process = target.start(_command(place, cpus, events, buffer_kb))
            self.folder = self._hear("ready").partition(" ")[2]
        except UnreachableError:
            raise
        except TargetError as error:
            self._give_up(str(error))
        except BaseException:  # an interrupt: no other code could close it
            self.close()
            raise

    def set(self, file: str, value: str) -> bool:
        """Write ``value`` to a file of the instance; whether the kernel took it."""
        return self._ask(f"set {file} {value}") == "ok"

    def start(self) -> None:
        """Empties the buffers and begins."""
        self._ask("on")

    def stop(self) -> None:
        """Ends; ``lost`` is then what the buffers could not hold, on ``lost_cpus``."""
        numbers = [int(word) for word in self._ask("off").split()[1:] if word.isdecimal()]
        self.lost, *cpus = numbers or (0,)
        self.lost_cpus = tuple(cpus)

    def text(self) -> str:
        """What was recorded between start and stop, as the kernel prints it; "" on failure."""
        return self.saved() if self.save() else ""

    def save(self) -> bool:
        """Keeps what was recorded on the target, instead of what was kept there before."""
        return bool(self._ask(f"save {self._kept}"))

    def saved(self) -> str:
        """What `save` kept; "" where there is nothing. It is kept no longer."""
        text = self._target.read_text(self._kept) or ""
        self._ask(f"forget {self._kept}")
        return text

    def close(self) -> None:
        """Removes the instance. Safe to call again."""
        if self._process is not None:
            self._end(_PATIENCE_S)
        self.unavailable = self.unavailable or "closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, line: str) -> str:
        """The answer to ``line``, "" where there is none any more."""
        if self._process is None:
            return ""
        try:
            self._process.write_line(line)
            return self._hear("ok")
        except UnreachableError:
            raise
        except TargetError as error:
            self._give_up(str(error))
            return ""

    def _hear(self, word: str) -> str:
        assert self._process is not None
        line = self._process.read_line(_PATIENCE_S)
        if line is None:
            said = self._process.stderr().strip().splitlines()
            raise TargetError(said[-1] if said else "the tracing shell ended without a word")
        if line.split(" ")[0] != word:
            raise TargetError(line.removeprefix("no "))
        return line

    def _give_up(self, reason: str) -> None:
        self.unavailable = " ".join(reason.split())
        if self._process is not None:
            self._end(_LAST_PATIENCE_S)

    def _end(self, patience: float) -> None:
        """The shell's own way out removes the instance; where it was killed, another one does."""
        assert self._process is not None
        process, self._process = self._process, None
        try:
            left = process.close(timeout=patience).returncode != 0
        except TargetError:
            process.kill()
            left = True
        if left:
            with suppress(TargetError):
                self._target.run(_command(self._place, ()), timeout=_SWEEP_S)


def _command(
    place: str, cpus: Sequence[int], events: Sequence[str] = (), buffer_kb: int = BUFFER_KB
) -> tuple[str, ...]:
    """The script for ``cpus``; without any it only removes what others left."""
    kb = min(buffer_kb, BUFFERS_KB // max(len(cpus), 1))
    others = " ".join(event for event in events if event not in _NEEDED)
    words = (place, str(kb), " ".join(map(str, cpus)), " ".join(_NEEDED), others)
    text = script("session.sh", __package__)
    return ("sh", "-c", text, text, "0", *words, cpu_mask(cpus) if cpus else "")
