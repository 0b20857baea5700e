"""What is measured: hardware, kernel, toolchain."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from deadbeat.base.model.words import LAB, Json, inside

#: Kind of a platform with figures replayed from another's prices: nothing ran.
EXTRAPOLATED = "extrapolated"
#: Fingerprint of the machine of a trace that was imported.
IMPORTED = "imported"
#: Ends the name of its processor where those prices are of a made-up machine.
SIMULATED_PRICES = ", simulated prices"
#: Kinds of platform that nothing disturbs: a second measurement gives the same values.
UNDISTURBED = ("virtual-time", "parallel-time", "simulated", EXTRAPOLATED)

#: First word of its kernel where that is not Linux.
RTOS = "FreeRTOS"
#: In its kernel, where Linux runs it.
HOSTED_ON = " on Linux "


@frozen(kw_only=True)
class Platform:
    """A machine as it stands.

    Attributes:
        name: Host name or the target's label.
        kind: ``hardware``, or a word of `LABELLED`, shown wherever a figure of it is.
        machine: Architecture (``x86_64``).
        cpus: CPU numbers of the logical cores, in order.
        kernel: Release and version.
        preemption: none, voluntary, full, lazy, rt or unknown.
        governor: Frequency policy, or ``none`` where there is no driver.
        fingerprint: Hash of hardware, frequency policy and toolchain: a calibration belongs to it.
        details: Everything else that was recorded (topology, command line, clock, steal, ...).
    """

    name: str
    kind: str
    machine: str
    soc: str
    cpus: tuple[int, ...]
    kernel: str
    preemption: str
    governor: str
    toolchain: str
    flags: str
    fingerprint: str
    details: dict[str, Json] = field(factory=dict)

    @property
    def simulated(self) -> bool:
        """Whether a formula made its figures: it is made up, or replays prices of one that is."""
        return self.kind == "simulated" or self.soc.endswith(SIMULATED_PRICES)

    @property
    def loud(self) -> str:
        """``SIMULATED``, ``EXTRAPOLATED``; "" where it was measured."""
        return self.kind.upper() if self.made_up else ""

    @property
    def made_up(self) -> bool:
        """Whether nothing runs: it takes no time, and needs no files of fragments."""
        return self.kind in ("simulated", EXTRAPOLATED)

    @property
    def system(self) -> str:
        """Operating system: the first word of the kernel where that is none of Linux."""
        return RTOS if self.kernel.startswith(RTOS) else "Linux"

    @property
    def hosted(self) -> bool:
        """Whether another system runs on Linux: its figures are of both."""
        return self.system != "Linux" and HOSTED_ON in self.kernel


@frozen(kw_only=True)
class CpuCache:
    """A cache that a CPU uses; ``level`` and ``size_bytes`` None, ``cpus`` empty: unknown."""

    kind: str
    level: int | None
    size_bytes: int | None
    cpus: tuple[int, ...]

    @property
    def holds_data(self) -> bool:
        """Whether it is not one of instructions alone."""
        return self.kind != "Instruction"


@frozen(kw_only=True)
class CpuPlace:
    """What a CPU shares with others; ``siblings``: CPUs of its core, itself included. Empty:
    unknown."""

    siblings: tuple[int, ...] = ()
    caches: tuple[CpuCache, ...] = ()


def places_of(topology: object) -> dict[int, CpuPlace]:
    """Place of each CPU, as `host.environment` recorded it under ``topology``; what is missing is
    unknown."""

    def listed(value: Any) -> Sequence[Any]:
        return value if isinstance(value, list | tuple) else ()

    def numbers(value: Any) -> tuple[int, ...]:
        return tuple(each for each in listed(value) if isinstance(each, int))

    def whole(value: Any) -> int | None:
        return value if isinstance(value, int) else None

    return {
        int(cpu): CpuPlace(
            siblings=numbers(place.get("siblings")),
            caches=tuple(
                CpuCache(
                    kind=str(cache.get("type")),
                    level=whole(cache.get("level")),
                    size_bytes=whole(cache.get("size_bytes")),
                    cpus=numbers(cache.get("shared_cpus")),
                )
                for cache in map(inside, listed(place.get("caches")))
            ),
        )
        for cpu, place in inside(topology).items()
        if isinstance(place, Mapping) and cpu.isdecimal()
    }


#: Word for the machine that deadbeat itself runs on.
LOCAL = "local"
#: Key of ``details`` that holds the word of the target; not there of the machine that deadbeat ran
#: on.
TARGET = "target"
#: Key of ``details`` that holds what was tuned on purpose: lines ``path = value``.
TUNED = "tuned"
#: Key of ``details``: program and version that make background loads.
LOADED_BY = "loads_by"
#: What of a machine is set side by side; what changes from minute to minute is not.
_COMPARED = ("name", "kind", "machine", "soc", "kernel", "preemption", "governor", "toolchain")
_DETAILS = (
    *(TARGET, "cmdline", "clocksource", "cpus_online", "isolated", "nohz_full", "rt_runtime_us"),
    *("rt_period_us", "frequency_khz", "fair_server_runtime_ns", "virtual"),
)
_TUNED_SHOWN, _TEXT_MAX = 12, 100


def differing_platforms(one: Mapping[str, Json], two: Mapping[str, Json]) -> list[str]:
    """``what: A's value | B's value`` for what two platforms, as JSON values, differ in."""
    details = [inside(side, "details") for side in (one, two)]
    named = _COMPARED[1:] if machine_name(one) == machine_name(two) else _COMPARED
    rows = [(key, one.get(key), two.get(key)) for key in named]
    rows += [(key, details[0].get(key), details[1].get(key)) for key in _DETAILS]
    rows += [(key, one.get(key), two.get(key)) for key in ("flags", "cpus")]
    if all(LOADED_BY in side for side in details):  # older results do not say
        rows.append((LOADED_BY, details[0][LOADED_BY], details[1][LOADED_BY]))
    found = [f"{key}: {shortened(a)} | {shortened(b)}" for key, a, b in rows if a != b]
    return found + _tuned_differently(*(side.get(TUNED) for side in details))


def machine_name(platform: Mapping[str, Json]) -> Json:
    """Its name; of the laboratory one for all kernels, which it is named after."""
    lab = platform.get("kind") in LAB
    return "laboratory" if lab else platform.get("name")


def other_target(then: Mapping[str, Json], now: Mapping[str, Json]) -> Iterator[str]:
    """Why what was begun with the details ``then`` is not continued with those of ``now``, as a
    predicate; nothing where both are of the same target."""
    begun, here = (str(each.get(TARGET) or "this machine") for each in (then, now))
    if begun != here:
        yield f"was begun on {begun}, not on {here}"


def target_option(word: str | None) -> str:
    """What a command needs to be for the target ``word``: `` --target WORD``; "" of this
    machine."""
    return "" if word in (None, LOCAL) else f" --target {shlex.quote(str(word))}"


def difference_row(line: str) -> tuple[str, str, str]:
    """``what: A's value | B's value`` in three."""
    what, _, values = line.partition(": ")
    one, _, two = values.partition(" | ")
    return what, one, two


def _tuned_differently(one: Any, two: Any) -> list[str]:
    """The same of settings that were tuned on purpose, where both sides know theirs."""
    if not isinstance(one, list) or not isinstance(two, list):
        return []
    sides = [dict(str(each).partition(" = ")[::2] for each in side) for side in (one, two)]
    one, two = sides
    paths = [path for path in sorted({*one, *two}) if one.get(path) != two.get(path)]
    lines = [
        f"{path}: {' | '.join(shortened(side.get(path), 'not tuned') for side in sides)}"
        for path in paths[:_TUNED_SHOWN]
    ]
    more = len(paths) - len(lines)
    return [*lines, f"tuned: and {more} more settings"] if more else lines


def shortened(value: Any, nothing: str = "not known") -> str:
    """A value in a line."""
    text = nothing if value is None else str(value)
    return text if len(text) <= _TEXT_MAX else text[: _TEXT_MAX - 3] + "..."


def differently_tuned(then: Platform, now: Platform) -> str:
    """What differs between what two platforms were tuned to, in words; "" where nothing does, or
    where it is not known."""
    before, after = then.details.get(TUNED), now.details.get(TUNED)
    if not isinstance(before, list) or not isinstance(after, list) or before == after:
        return ""
    gone = [f"no longer {each}" for each in before if each not in after]
    new = [f"now {each}" for each in after if each not in before]
    return "; ".join([*gone, *new])


def elsewhere(there: Platform, here: Platform) -> Iterator[str]:
    """Why what was begun on one platform is not continued on another, as predicates; nothing where
    it may be."""
    yield from other_target(there.details, here.details)
    begun = (there.name, there.machine, there.kernel)
    if begun != (here.name, here.machine, here.kernel):
        yield f"was begun on another machine or kernel: {there.name}, {there.kernel}"
    elif there.fingerprint != here.fingerprint:
        yield "was begun with other hardware, frequency policy or toolchain"
    if tuning := differently_tuned(there, here):
        yield f"was begun with other settings of the machine: {tuning}"


def example_platform(cores: int = 2) -> Platform:
    return Platform(
        name="example",
        kind="simulated",
        machine="none",
        soc="invented",
        cpus=tuple(range(cores)),
        kernel="none",
        preemption="unknown",
        governor="none",
        toolchain="none",
        flags="",
        fingerprint="example",
    )
