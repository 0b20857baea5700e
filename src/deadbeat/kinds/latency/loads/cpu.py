"""Computation, for a share of every CPU's time."""

from __future__ import annotations

from deadbeat.kinds.latency.load import LoadProfile


def _commands(percent: int, cpus: tuple[int, ...], seconds: float) -> tuple[tuple[str, ...], ...]:
    """One a CPU, pinned: two workers that share two CPUs may leave one idle."""
    return tuple(
        ("stress-ng", "--taskset", str(cpu), "--cpu", "1", "--cpu-load", str(percent))
        for cpu in cpus
        if percent
    )


LOAD = LoadProfile(
    name="cpu",
    title="Computing",
    stresses="the scheduler's switch to the woken task, caches, frequency and heat",
    program="stress-ng",
    package="stress-ng",
    commands=_commands,
    judged=True,
    kinds=("cpu",),
)
