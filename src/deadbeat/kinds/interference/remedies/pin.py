"""The real-time thread on one CPU."""

from __future__ import annotations

from deadbeat.kinds.interference.remedy import Impossible, Remedy, RemedyChange, Situation


def _plan(situation: Situation) -> RemedyChange | Impossible:
    if len(situation.cpus) == 1:
        return Impossible(f"CPU {situation.home} is the only one: the thread is bound to it anyway")
    return RemedyChange(
        pin=situation.home, words=f"the real-time thread is bound to CPU {situation.home}"
    )


REMEDY = Remedy(
    name="pin",
    title="real-time thread bound to one CPU",
    claim="no time is lost in moves between CPUs",
    source="Raju and Govindarajulu 2016, section 5.2 (taskset)",
    order=1,
    reads=lambda _: (),
    plan=_plan,
)
