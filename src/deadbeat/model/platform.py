"""What is measured: hardware, kernel, toolchain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen


@frozen(kw_only=True)
class Platform:
    """A machine as it stands.

    Attributes:
        name: Host name or the target's label.
        kind: ``hardware``, ``emulated`` or ``simulated``: shown wherever a figure of it is.
        machine: Architecture (``x86_64``).
        soc: Processor model.
        cpus: CPU numbers of the logical cores, in order.
        kernel: Release and version.
        preemption: none, voluntary, full, lazy, rt or unknown.
        governor: Frequency policy, or ``none`` where there is no driver.
        toolchain: Compiler identification.
        flags: Compiler flags of runtime and fragments.
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
    details: dict[str, Any] = field(factory=dict)


#: Key of ``details`` that holds what was tuned on purpose: lines ``path = value``.
TUNED = "tuned"
#: What of a machine is set side by side; what changes from minute to minute is not.
_COMPARED = ("name", "kind", "machine", "soc", "kernel", "preemption", "governor", "toolchain")
_DETAILS = (
    *("cmdline", "clocksource", "cpus_online", "isolated", "nohz_full", "rt_runtime_us"),
    *("rt_period_us", "frequency_khz", "fair_server_runtime_ns", "virtual"),
)
_TUNED_SHOWN, _TEXT_MAX = 12, 100


def differing_platforms(one: Mapping[str, object], two: Mapping[str, object]) -> list[str]:
    """``what: A's value | B's value`` for what two platforms, as JSON values, differ in."""
    details = [_mapping(side.get("details")) for side in (one, two)]
    rows = [(key, one.get(key), two.get(key)) for key in _COMPARED]
    rows += [(key, details[0].get(key), details[1].get(key)) for key in _DETAILS]
    rows += [(key, one.get(key), two.get(key)) for key in ("flags", "cpus")]
    found = [f"{key}: {shortened(a)} | {shortened(b)}" for key, a, b in rows if a != b]
    return found + _tuned_differently(*(side.get(TUNED) for side in details))


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
    paths = [
        path for path in sorted({*sides[0], *sides[1]}) if sides[0].get(path) != sides[1].get(path)
    ]
    lines = [
        f"{path}: {' | '.join(shortened(side.get(path), 'not tuned') for side in sides)}"
        for path in paths[:_TUNED_SHOWN]
    ]
    more = len(paths) - len(lines)
    return [*lines, f"tuned: and {more} more settings"] if more else lines


def _mapping(value: Any) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def shortened(value: Any, nothing: str = "not known") -> str:
    """A value in a line."""
    text = nothing if value is None else str(value)
    return text if len(text) <= _TEXT_MAX else text[: _TEXT_MAX - 3] + "..."
