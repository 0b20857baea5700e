"""Background loads: what each is made of, and what is recorded of one that runs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from attrs import evolve, field, frozen

from deadbeat.latencies.latency.model import IDLE, LoadPoint, LoadReport
from deadbeat.machine.targets.base import Target

#: What makes them: that program, or the runtime's own verb ``load``, which knows the same options.
STRESS_NG, OWN = "stress-ng", "deadbeat"
#: What their processes are called: ``stress-ng-vm``, ``db-load-vm``.
PROCESSES = {STRESS_NG: "stress-ng", OWN: "db-load"}


@frozen(kw_only=True)
class LoadProfile:
    """One kind of load; loads.toml has its attributes.

    Attributes:
        least: Name of a rate of ``throughput`` -> least value per worker. Far below what the
            slowest board does: it tells a load from none.
    """

    words: str
    judged: bool = False
    computes: bool = False
    least: Mapping[str, float] = field(factory=dict)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of workers (``--vm N`` begins N of kind ``vm``): each must work."""
        return tuple(re.findall(r"--(\S+) N\b", self.words))

    def commands(self, percent: int, cpus: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
        """Options of each program that is started; at 0 % there is none.

        One program has all CPUs, and N is one a CPU at full strength, its share below: see
        `strengths`. Where CPU time is judged each CPU has one, pinned: two workers that share two
        CPUs may leave one idle.
        """
        groups = [(cpu,) for cpu in cpus if percent] if self.judged else [cpus]
        count = 1 if self.judged else len(cpus) * percent // 100
        given = {"N": str(count), "P": str(percent)}
        words = [given.get(word, word) for word in self.words.split()]
        return tuple(("--taskset", ",".join(map(str, each)), *words) for each in groups)


_TABLE = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
#: Every profile by its name, as in `LoadPoint`.
LOADS = {name: LoadProfile(**row) for name, row in tomllib.loads(_TABLE).items()}


def strengths(profile: LoadProfile, cpus: int) -> tuple[int, ...]:
    """The percentages that a load has on that many CPUs: the ones that give whole workers.

    Any where it is a share of time; else 25 and 50 % of two CPUs would be the same load.
    """
    return tuple(each for each in range(1, 101) if profile.judged or cpus * each % 100 == 0)


@frozen
class MadeUpLoads:
    """Loads of a made-up machine with these CPUs, of which ``point`` runs: each does what was asked
    of it. See `StressLoads`."""

    cpus: tuple[int, ...]
    point: LoadPoint = IDLE

    def start(self, target: Target, point: LoadPoint, *, seconds: float) -> MadeUpLoads:
        return evolve(self, point=point)

    def begin(self) -> None: ...

    def end(self) -> LoadReport:
        return LoadReport(
            asked=self.point.percent,
            judged=LOADS[self.point.profile].judged,
            achieved={str(cpu): self.point.percent / 100 for cpu in self.cpus},
        )

    def stop(self) -> None: ...
