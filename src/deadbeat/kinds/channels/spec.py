"""Which work is set beside which, on which CPUs, how long and how often."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from attrs import evolve, frozen

from deadbeat.catalog import load_catalog
from deadbeat.model import rules
from deadbeat.model.errors import UsageError
from deadbeat.model.rules import refuse
from deadbeat.model.specification import keyed
from deadbeat.model.tasks import Kind
from deadbeat.model.words import nearest, shown

_WORK = re.compile(r"([a-z0-9_]+)(?::([0-9]{1,9}))?(@shared)?")
#: As many as the runtime takes (ENTRIES_MAX in runtime/src/host/interfere.c).
MOST = 64
#: Something of every kind: computation, every level of the memory, kernel objects that a core has
#: for itself, and objects that cores share.
DEFAULT = (
    "matmul:20,memory_stream:256,memory_stream:32768,pointer_chase:1024,pointer_chase:65536,"
    "pipe:4,mq_posix:4,semaphore_sysv:4,flock:4,futex:64@shared,spin:64@shared,pipe:4@shared"
)


@frozen(order=True)
class SetWork:
    """A fragment of one size; ``shared``: its object is one for all cores."""

    fragment: str
    size: int
    shared: bool = False

    @property
    def text(self) -> str:
        return f"{self.fragment}:{self.size}" + "@shared" * self.shared

    @property
    def line(self) -> str:
        """For the runtime."""
        return f"{self.fragment} {self.size} {'shared' if self.shared else 'local'}"


@frozen
class WorkList:
    """Fragments: ``matmul:20,pipe:4@shared``; without a size the middle one."""

    def parse(self, value: Any) -> tuple[SetWork, ...]:
        listed = rules.items(value, "a list of fragments", "matmul:20,pipe:4@shared")
        found = tuple(dict.fromkeys(rules.each(listed, self._one)))
        if len(found) > MOST:
            raise refuse(f"{len(found)} fragments", f"at most {MOST} at a time")
        return found

    def _one(self, value: Any) -> SetWork:
        match = _WORK.fullmatch(str(value))
        known = load_catalog().fragments
        fragment = known.get(match[1]) if match else None
        if match is None or fragment is None:
            name = str(value).partition(":")[0].partition("@")[0]
            raise refuse(f"no fragment is called {shown(name)}", nearest(name, known))
        sizes = fragment.sizes
        size = int(match[2]) if match[2] else sizes[len(sizes) // 2]
        if size not in sizes:
            listed = ", ".join(map(str, sizes))
            raise refuse(f"{fragment.name} has no size {size}", f"one of {listed}")
        if match[3] and fragment.kind is Kind.NS:
            raise refuse(f"{fragment.name} has no object that cores could share", "drop @shared")
        return SetWork(fragment.name, size, bool(match[3]))

    @staticmethod
    def plain(works: tuple[SetWork, ...]) -> list[str]:
        return [work.text for work in works]


@frozen(kw_only=True)
class InterfereSpec:
    """What is set beside what."""

    name: str = keyed(rules.Name(), "--name NAME", "Name of the results.", default="interfere")
    works: tuple[SetWork, ...] = keyed(
        WorkList(),
        "--works LIST",
        "Fragments, each a victim and an aggressor: matmul:20,pipe:4@shared.  [12 of all kinds]",
        default=WorkList().parse(DEFAULT),
    )
    cpus: tuple[int, ...] | None = keyed(
        rules.Cpus(),
        "--cpus LIST",
        "CPUs to use: the victim's first, then the aggressors'.  [all]",
        default=None,
    )
    policy: str = keyed(
        rules.Choice(("fifo", "other")),
        "--policy fifo|other",
        "Scheduling policy; other needs no permission and marks every result.",
        default="fifo",
    )
    seconds: float = keyed(
        rules.Seconds("1", "3600"), "--seconds S", "Length of a run.", default=30.0
    )
    repeats: int = keyed(
        rules.Whole(2, 9999),
        "--repeats N",
        "Times all of it is run, each time by new processes.",
        default=6,
    )
    seed: int = keyed(
        rules.Whole(0, 2**62), "--seed N", "Seed of everything that is random.", default=1
    )


def resolved(spec: InterfereSpec, allowed: Sequence[int]) -> InterfereSpec:
    """With the machine's CPUs.

    Raises:
        UsageError: There are not two of them, or it asks for one that is not there.
    """
    cpus = spec.cpus or tuple(allowed)
    for cpu in cpus:
        if cpu not in allowed:
            known = ",".join(map(str, allowed))
            raise UsageError(f"--cpus: there is no CPU {cpu} to use", f"use some of {known}")
    if len(cpus) < 2:
        raise UsageError(
            "interference needs a CPU for the victim and one for the aggressor",
            "give two with --cpus",
        )
    return evolve(spec, cpus=cpus)


@frozen(order=True)
class InterfereKey:
    """A run: which repeat."""

    repeat: int

    @property
    def text(self) -> str:
        return f"{self.repeat:04d}"

    @classmethod
    def parse(cls, text: str) -> InterfereKey:
        if not (text.isascii() and text.isdigit()):
            raise UsageError(f"{shown(text)} names no run", "a run is called 0001")
        return cls(int(text))


def plan(spec: InterfereSpec) -> list[InterfereKey]:
    """Every run."""
    return [InterfereKey(repeat) for repeat in range(1, spec.repeats + 1)]
