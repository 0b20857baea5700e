"""The kernel's preemption model "none", where it can be chosen while it runs.

The paper's first advice; every other source on real-time Linux says the opposite (full preemption
or PREEMPT_RT). The model decides when the kernel itself may be interrupted, not whether one thread
takes a CPU from another that computes, so it should hardly matter here. It is measured.
"""

from __future__ import annotations

from deadbeat.kinds.interference.remedy import Impossible, Remedy, RemedyChange, Situation
from deadbeat.model.tuning import Setting

_MODEL = "/sys/kernel/debug/sched/preempt"
_REALTIME = "/sys/kernel/realtime"


def _plan(situation: Situation) -> RemedyChange | Impossible:
    if situation.text(_REALTIME) == "1":
        return Impossible("a PREEMPT_RT kernel has no other model while it runs")
    text = situation.text(_MODEL)
    if not text:
        return Impossible(
            f"the model cannot be chosen while this kernel runs: {_MODEL}: {situation.why(_MODEL)}"
        )
    if "(none)" in text:
        return Impossible("the model is none already, in every run: the advice is followed here")
    if "none" not in text.split():
        return Impossible(f"this kernel offers no such model: {_MODEL} holds {text}")
    return RemedyChange(
        settings=(Setting(_MODEL, "none", "selected"),),
        words=f"preemption model none (was {text})",
    )


REMEDY = Remedy(
    name="preemption",
    title="no forced preemption",
    claim="the kernel interrupts nobody; contradicted by every other source, so a hypothesis",
    source="Raju and Govindarajulu 2016, section 5.1",
    order=4,
    reads=lambda _: (_MODEL, _REALTIME),
    plan=_plan,
)
