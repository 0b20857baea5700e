"""What CPUs share, and how a price of sharing steps with it.

The price of a line that two CPUs pass between them is constant while they share as much, and steps
at the border of a core, of the last cache, of a socket: tables of 34 public machines, contributed
to nviennot/core-to-core-latency (machines.csv).
"""

from __future__ import annotations

import csv
import json
from functools import cache
from itertools import accumulate, combinations
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import inside, shown

#: What two CPUs share at most, from the nearest level.
LEVELS = ("core", "cache", "socket", "system")
_HINT = "this (of this machine), a file with what lscpu -e -J, lscpu -e or lscpu -p prints, or part"
_HINT += " of the name of a machine of prices/machines.csv"
_IDS = ("core", "package")
#: Quantile of the steps of several machines: of both ends of a range, and between.
_SHARES = {-1: 0.1, 0: 0.5, 1: 0.9}


@frozen(kw_only=True)
class SharedCpus:
    """CPUs in order; ``cpus``: core, last cache and socket of each. ``prices``: of machines by
    level, ns; None: there is no such pair. ``kind``, ``measured``, ``steps``: of the table: the
    family, mean prices of the pair (0, 1) and among the first 8 and 16 CPUs, ns, and flat or
    stepped."""

    name: str
    cpus: tuple[tuple[int, int, int], ...] = field(repr=False)
    prices: tuple[tuple[float | None, ...], ...] = field(default=(), repr=False)
    kind: str = ""
    measured: tuple[float | None, ...] = ()
    steps: str = ""

    def level(self, one: int, other: int) -> int:
        """Index of `LEVELS`."""
        pairs = zip(self.cpus[one], self.cpus[other], strict=True)
        return next((at for at, (a, b) in enumerate(pairs) if a == b), len(LEVELS) - 1)

    def factor(self, cores: int, bend: int = 0) -> float:
        """Mean price among the first ``cores`` CPUs over that of CPUs 0 and 1. ``bend``: -1, 1: at
        the ends that hold 80 % of the machines of ``prices``."""
        if cores < 2:
            return 1.0
        near = self.level(0, 1)
        pairs = (self.level(*pair) for pair in combinations(range(cores), 2))
        return float(np.mean([self._step(near, level, bend) for level in pairs]))

    def _step(self, near: int, level: int, bend: int) -> float:
        both = [(own[near], own[level]) for own in self.prices]
        logs = [np.log(to / of) for of, to in both if of and to]
        return float(np.exp(np.quantile(logs, _SHARES[bend]))) if logs and near != level else 1.0


@cache
def public_machines() -> tuple[SharedCpus, ...]:
    """The machines of the table, each with its own prices."""
    text = Path(__file__).with_name("machines.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    made = []
    for row in rows:
        # Places of CPUs in Linux's order: both threads of a core are `next` to each other, `half`
        # of all apart, or the first CPUs alone have one.
        count, siblings = int(row["cpus"]), row["siblings"]
        per_socket = int(row["cores_per_socket"])
        paired = {"none": 0, "next": count, "half": 0}.get(siblings) if siblings.isalpha() else None
        paired = int(siblings) if paired is None else paired
        sizes = [int(part) for part in row["cores_per_cache"].split("+")]
        ends = [*accumulate(sizes)]
        found = []
        for cpu in range(count):
            core = cpu % (count // 2) if siblings == "half" else cpu
            core = core // 2 if core < paired else core - paired // 2
            cache_of = sum(core >= end for end in ends) if len(ends) > 1 else core // sizes[0]
            found.append((core, cache_of, core // per_socket))
        made.append(
            SharedCpus(
                name=row["machine"],
                cpus=tuple(found),
                prices=(tuple(_number(row[f"{level}_ns"]) for level in LEVELS),),
                kind=row["kind"],
                measured=tuple(_number(row[f"{of}_ns"]) for of in ("pair", "first_8", "first_16")),
                steps=row["steps"],
            )
        )
    return tuple(made)


def _number(text: str) -> float | None:
    return float(text) if text else None


def among_others(name: str) -> SharedCpus:
    """A public machine with the prices of the others of its kind in place of its own; of all others
    where none of these has the level."""
    (own,) = (each for each in public_machines() if each.name == name)
    rest = [each for each in public_machines() if each is not own]
    alike = [each for each in rest if each.kind == own.kind]
    near, used = own.level(0, 1), {own.level(0, cpu) for cpu in range(1, min(16, len(own.cpus)))}
    known = all(any(p.prices[0][near] and p.prices[0][at] for p in alike) for at in used - {near})
    return evolve(own, prices=tuple(each.prices[0] for each in (alike if known else rest)))


def read_topology(text: str, here: object = None, *, cores: int = 2) -> SharedCpus:
    """``here``: ``topology`` of `environment_of` of this machine, for ``this``. Raises UsageError:
    ``text`` is none of what ``_HINT`` says, or has fewer CPUs than ``cores``."""
    named = [each for each in public_machines() if text.lower() in each.name.lower()]
    named = [each for each in named if text.lower() == each.name.lower()] or named
    every = tuple(each.prices[0] for each in public_machines())
    if text == "this":
        places = []
        for _, own in sorted(inside(here).items(), key=lambda p: int(p[0])):
            facts: Any = inside(own)
            core, socket = (
                int(facts[name]) if f"{facts.get(name)}".isdecimal() else 0 for name in _IDS
            )
            caches: Any = facts.get("caches") if isinstance(facts.get("caches"), list) else ()
            last: Any = max(caches, key=lambda each: each["level"], default={})
            sharing = last.get("shared_cpus") or ()
            siblings = facts.get("siblings") or ()
            mine = (min(siblings, default=core), min(sharing, default=-1 - socket), socket)
            places.append(mine)
        found = SharedCpus(name="this machine", cpus=tuple(places), prices=every)
    elif Path(text).is_file():
        found = SharedCpus(name=Path(text).name, cpus=tuple(_lscpu(Path(text))), prices=every)
    elif len(named) == 1:
        (found,) = named
    else:
        several = f"names {len(named)} machines, {named[0].name} first" if named else "is unknown"
        raise UsageError(f"topology: {shown(text)} {several}", _HINT)
    if len(found.cpus) < cores:
        message = f"topology: {found.name} has {len(found.cpus)} CPUs, not {cores}"
        raise UsageError(message, "replay fewer cores")
    return found


def _lscpu(path: Path) -> list[tuple[int, int, int]]:
    """CPUs that are online, in order, of any table that lscpu prints by CPU."""
    try:
        text = path.read_text(encoding="utf-8")
        if text.lstrip().startswith("{"):
            rows = [{k.lower(): f"{v}" for k, v in cpu.items()} for cpu in json.loads(text)["cpus"]]
        else:
            lines = [line.lstrip("# ") for line in text.splitlines() if line.strip()]
            start = next(at for at, line in enumerate(lines) if line.upper().startswith("CPU"))
            cut = "," if "," in lines[start] else None
            head = [name.lower() for name in lines[start].split(cut)]
            rows = [dict(zip(head, line.split(cut), strict=False)) for line in lines[start + 1 :]]
        found = []
        for row in rows:
            if row["core"].isdecimal():
                socket = int(row["socket"]) if row.get("socket", "").isdecimal() else 0
                joined = next((row[name] for name in row if ":" in name), "")
                caches = (
                    joined.split(":") if joined else [row.get(name, "") for name in ("l2", "l3")]
                )
                known = [each for each in caches if each.isdecimal()]
                place = (int(row["core"]), int(known[-1]) if known else -1 - socket, socket)
                found.append((int(row["cpu"]), place))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration):
        raise UsageError(f"topology: {path.name} is no table of CPUs by lscpu", _HINT) from None
    return [place for _, place in sorted(found)]
