"""Runs of load tests whose figures are known, and a summary of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from deadbeat.latencies.load.engine import LoadRequest
from deadbeat.latencies.load.lost import SceneMachine
from deadbeat.latencies.load.model import Gaps, LoadKey, LoadRun, LoadSummary, Rounds
from deadbeat.latencies.load.remedies import RemedyChange
from deadbeat.latencies.load.spec import LoadSpec
from deadbeat.latencies.load.summarise import summarise_load

MS = 1_000_000
SECOND = 1_000_000_000
SPEC = {"policy": "fifo", "priority": 99, "form": "back-to-back"}


def request(spec: Mapping[str, Any], unit_ps: int = 1000, **more: Any) -> LoadRequest:
    """Of a `LoadSpec`'s fields, a condition, a number of threads, and what a remedy changes."""
    change = {name: more.pop(name) for name in ("pin", "normal_cpus") if name in more}
    key = LoadKey(more.pop("threads"), more.pop("condition", "plain"), 1)
    asked, remedy = LoadSpec(**{**spec, **more}), RemedyChange(**change)
    return LoadRequest(spec=asked, key=key, change=remedy, unit_ps=unit_ps)


def back_to_back(
    lengths_ns: Sequence[int], *, waits_ns: Mapping[int, int] | None = None, moves: int = 0
) -> Rounds:
    """Rounds one after the other: CPU time of each, and by its number how long it waited."""
    rows, now = [], 0
    for number, length in enumerate(lengths_ns):
        waited = (waits_ns or {}).get(number, 0)
        finish = now + length + waited
        switches = int(waited > 0)
        moved = int(number < moves)
        rows.append([now, now, finish, length, waited, 0, switches, 0, moved, moved, 0])
        now = finish
    return Rounds.of_rows(rows)


def waits(*pairs: tuple[int, int]) -> Gaps:
    """Gaps at moments (ns) of lengths (ns) in which the thread was ready and did not run."""
    return Gaps.of_rows([[at, length, length, 1, 0, 0] for at, length in pairs])


def run_of(
    rounds: Rounds,
    *,
    normal: int = 4,
    condition: str = "plain",
    repeat: int = 1,
    window_ns: tuple[int, int] = (0, SECOND),
    units: Sequence[int] = (),
    **more: Any,
) -> LoadRun:
    return LoadRun(
        key=LoadKey(normal, condition, repeat),
        started="2026-01-01T00:00:00.000+00:00",
        window_ns=window_ns,
        sampled_ns=window_ns,
        rounds=rounds,
        normal_units=tuple(units),
        policy="fifo",
        priority=99,
        cpu=-1,
        unit_ps=1000,
        kind="hardware",
        **more,
    )


def summary_of_runs(
    runs: Sequence[LoadRun], *, machine: SceneMachine | None = None, **more: Any
) -> LoadSummary:
    """``more``: of `LoadSummary`."""
    names = ("machine", "processor", "kernel", "preemption model")
    given = {"name": "test", "spec": SPEC, "platform": dict.fromkeys(names, "none")}
    times = {"deadline_ns": 15 * MS, "period_ns": None, "round_ns": 10 * MS}
    asked = LoadSummary(**{**given, **times, "planned": len(runs), **more})
    return summarise_load(runs, asked, machine or SceneMachine())
