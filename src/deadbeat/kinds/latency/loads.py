"""Background loads: what each is made of, and what is recorded of one that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve, field, frozen

from deadbeat.model.latency import IDLE, LoadPoint, LoadReport
from deadbeat.targets.base import Target

#: What makes them: that program, or the runtime's own verb ``load``, which knows the same options.
STRESS_NG, OWN = "stress-ng", "deadbeat"
#: What their processes are called: ``stress-ng-vm``, ``db-load-vm``.
PROCESSES = {STRESS_NG: "stress-ng", OWN: "db-load"}
#: Percent and CPUs -> the options of each program that is started; at 0 % there is none.
Commands = Callable[[int, tuple[int, ...]], tuple[tuple[str, ...], ...]]


@frozen(kw_only=True)
class LoadProfile:
    """One kind of load.

    Attributes:
        commands: What is started.
        kinds: Kinds of workers (``--vm N`` begins N of kind ``vm``): each must work.
        judged: Whether its share of CPU time is what was asked for, so that it can be missed.
        computes: Whether its workers together want at least the percentage of all CPUs' time.
        least: What its workers together must do a second, for each of them, else it is no such
            load: name of a rate of ``throughput`` -> least value per worker. Far below what the
            slowest board does: it tells a load from none.
    """

    commands: Commands
    kinds: tuple[str, ...]
    judged: bool = False
    computes: bool = False
    least: Mapping[str, float] = field(factory=dict)


def _on_each(percent: int, cpus: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
    """One a CPU, pinned: two workers that share two CPUs may leave one idle."""
    return tuple(
        ("--taskset", str(cpu), "--cpu", "1", "--cpu-load", str(percent)) for cpu in cpus if percent
    )


def _on_all(words: str) -> Commands:
    """One program on all CPUs: its options, with N for the processes of each kind.

    N is one a CPU at full strength, its share below: see `strengths`.
    """

    def commands(percent: int, cpus: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
        count = str(len(cpus) * percent // 100)
        options = (count if word == "N" else word for word in words.split())
        return (("--taskset", ",".join(map(str, cpus)), *options),)

    return commands


#: Every profile by its name, as in `LoadPoint`.
LOADS = {
    "cpu": LoadProfile(commands=_on_each, kinds=("cpu",), judged=True),
    "memory": LoadProfile(
        commands=_on_all("--vm N --vm-bytes 64m --stream N"), kinds=("vm", "stream"), computes=True
    ),
    "io": LoadProfile(
        commands=_on_all("--hdd N --hdd-bytes 32m --iomix N --iomix-bytes 32m"),
        kinds=("hdd", "iomix"),
        # Nothing goes to a disk where the files are in memory (tmpfs).
        least={"hdd written B/s": 4096.0},
    ),
    "timer": LoadProfile(
        commands=_on_all("--timer N --timer-freq 5000 --timerfd N --itimer N"),
        kinds=("timer", "timerfd", "itimer"),
        # A tenth of --timer-freq.
        least={"timer switches/s": 500.0},
    ),
    "scheduler": LoadProfile(
        commands=_on_all("--switch N --futex N --fork N --yield N"),
        kinds=("switch", "futex", "fork", "yield"),
        computes=True,
        least={"switch switches/s": 100.0, "futex switches/s": 100.0},
    ),
    "mixed": LoadProfile(
        commands=_on_all(
            "--cpu N --cpu-load 50 --vm N --vm-bytes 32m --hdd N --hdd-bytes 16m"
            " --timer N --timer-freq 1000 --switch N"
        ),
        kinds=("cpu", "vm", "hdd", "timer", "switch"),
        computes=True,
        least={"timer switches/s": 100.0, "switch switches/s": 100.0},
    ),
    # What tells kernels apart in a guest: long paths through memory management and files. Its files
    # are in memory there, so that nothing is asked of a disk.
    "kernel": LoadProfile(
        commands=_on_all("--fork N --hdd N --hdd-bytes 8m"), kinds=("fork", "hdd"), computes=True
    ),
}


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
