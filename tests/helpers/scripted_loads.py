"""Loads of a made-up machine that die or cannot be started."""

from __future__ import annotations

from attrs import evolve, field, frozen

from deadbeat.base.model.errors import TargetError
from deadbeat.latencies.latency.loads import MadeUpLoads
from deadbeat.latencies.latency.model import LoadPoint, LoadReport
from deadbeat.machine.targets.base import Target


@frozen
class ScriptedLoads:
    """Text of a load -> its last words while it is measured, or why it cannot be started.

    Attributes:
        running: Loads that were started and not stopped.
        judged: Those of which it is being counted what they achieve.
    """

    cpus: tuple[int, ...]
    died: dict[str, str] = field(factory=dict)
    refused: dict[str, str] = field(factory=dict)
    running: list[LoadPoint] = field(factory=list)
    judged: list[LoadPoint] = field(factory=list)

    @property
    def judging(self) -> bool:
        return bool(self.judged)

    def start(self, target: Target, point: LoadPoint, *, seconds: float) -> ScriptedLoad:
        if point.text in self.refused:
            raise TargetError(self.refused[point.text], "")
        self.running.append(point)
        return ScriptedLoad(self, point)


@frozen
class ScriptedLoad:
    loads: ScriptedLoads
    point: LoadPoint

    def begin(self) -> None:
        self.loads.judged.append(self.point)

    def end(self) -> LoadReport:
        self.loads.judged.remove(self.point)
        report = MadeUpLoads(self.loads.cpus, self.point).end()
        return evolve(report, died=self.loads.died.get(self.point.text, ""))

    def stop(self) -> None:
        if self.point in self.loads.running:
            self.loads.running.remove(self.point)
