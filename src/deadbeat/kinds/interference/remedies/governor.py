"""The highest frequency throughout."""

from __future__ import annotations

from collections.abc import Sequence

from deadbeat.kinds.interference.remedy import Impossible, Remedy, RemedyChange, Situation
from deadbeat.model.tuning import Setting

_GOVERNOR = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"


def _reads(cpus: Sequence[int]) -> tuple[str, ...]:
    return tuple(_GOVERNOR.format(cpu) for cpu in cpus)


def _plan(situation: Situation) -> RemedyChange | Impossible:
    held = {cpu: situation.text(_GOVERNOR.format(cpu)) for cpu in situation.cpus}
    missing = [cpu for cpu, governor in held.items() if governor is None]
    if missing:
        path = _GOVERNOR.format(missing[0])
        return Impossible(f"no frequency can be chosen here: {path}: {situation.why(path)}")
    if all(governor == "performance" for governor in held.values()):
        return Impossible("the governor is performance already, in every run")
    return RemedyChange(
        settings=tuple(Setting(_GOVERNOR.format(cpu), "performance") for cpu in situation.cpus),
        words="frequency governor performance (was "
        + ", ".join(sorted({str(governor) for governor in held.values()}))
        + ")",
    )


REMEDY = Remedy(
    name="governor",
    title="frequency governor performance",
    claim="no round begins at a low frequency",
    source="Raju and Govindarajulu 2016, figure 1.7 (governor performance)",
    order=3,
    reads=_reads,
    plan=_plan,
)
