"""A made-up machine: shows how a load test works and serves tests; it says nothing of any other.

Its fair server takes 50 ms of every second from the real-time thread where ordinary threads crowd
every CPU, its CPUs have SMT siblings in pairs, and its frequency governor begins low.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import attrs

from deadbeat.executors.simulated import FakeExecutor
from deadbeat.kinds.load.engine import LoadEngine, LoadRequest
from deadbeat.model.load import TRACED, Gaps, Rounds, Seen, Takers
from deadbeat.model.platform import Platform
from deadbeat.model.tuning import Setting
from deadbeat.targets.fake import FakeTarget
from deadbeat.targets.readings import Readings

UNIT_PS = 250_000
_CPUS = (0, 1, 2, 3)
_WARMUP_NS = 50_000_000
_SECOND_NS = 1_000_000_000
_SERVER_NS = 50_000_000
#: A busy sibling makes a round so much longer, a low frequency so much, a move so much.
_SMT, _SLOW, _MOVE_NS = 1.25, 1.08, 60_000
_RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"


def _files() -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {
        _RUNTIME: "950000\n",
        "/proc/sys/kernel/sched_rt_period_us": "1000000\n",
        "/sys/kernel/debug/sched/preempt": "none voluntary (full)\n",
    }
    for cpu in _CPUS:
        base = f"/sys/devices/system/cpu/cpu{cpu}"
        files[f"{base}/topology/thread_siblings_list"] = f"{cpu & ~1}-{cpu | 1}\n"
        files[f"{base}/cpufreq/scaling_governor"] = "schedutil\n"
        files[f"{base}/cpufreq/scaling_cur_freq"] = "2400000\n"
        files[f"/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"] = "50000000\n"
    return files


class SimulatedLoad(LoadEngine):
    """See the module."""

    kind = "simulated"

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def cpus(self) -> tuple[int, ...]:
        return _CPUS

    def describe(self) -> Platform:
        pairs = {str(cpu): {"siblings": [cpu & ~1, cpu | 1]} for cpu in _CPUS}
        details = {"topology": pairs, "virtual": False}
        return attrs.evolve(
            FakeExecutor(cores=len(_CPUS)).describe(),
            kernel="6.12.0 simulated",
            governor="schedutil",
            details=details,
        )

    def unit_ps(self, cpus: Sequence[int], *, policy: str, priority: int) -> int:
        return UNIT_PS

    def read(self, paths: Sequence[str]) -> Readings:
        held = {path: f"{value}\n" for path, value in self._held.items()}
        return FakeTarget(files={**_files(), **held}).read_many(paths)

    @contextmanager
    def holding(self, settings: Sequence[Setting], *, reason: str) -> Iterator[dict[str, str]]:
        self._held = {setting.path: setting.value for setting in settings}
        try:
            yield dict(self._held)
        finally:
            self._held = {}

    def run(self, ask: LoadRequest) -> Seen:
        """Rounds made up from the seed and the key: the same again for the same."""
        draw = random.Random(f"{ask.spec.seed} {ask.key.text}")
        low, high = _WARMUP_NS, _WARMUP_NS + round(ask.spec.seconds * _SECOND_NS)
        window = (low, high)
        if not ask.real_time:
            units = self._normal(ask, draw, high - low, 0)
            return Seen(window_ns=window, sampled_ns=window, normal_units=units)
        rounds, gaps = self._rounds(ask, draw, high)
        return Seen(
            window_ns=window,
            sampled_ns=window,
            rounds=Rounds.of_rows(rounds),
            gaps=Gaps.of_rows(gaps),
            normal_units=self._normal(ask, draw, high - low, sum(row[3] for row in rounds)),
            policy=ask.spec.policy,
            priority=ask.spec.priority if ask.spec.policy == "fifo" else 0,
            cpu=-1 if ask.change.pin is None else ask.change.pin,
            unit_ps=UNIT_PS,
            trace={
                "waited_ns": {"ordinary threads of this test": sum(gap[2] for gap in gaps)},
                "interrupted_ns": {},
                "switches": len(gaps),
                "lost_events": 0,
            }
            if ask.key.condition == TRACED
            else Takers(),
        )

    def _rounds(
        self, ask: LoadRequest, draw: random.Random, end: int
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Rows of rounds and of gaps."""
        rounds: list[list[int]] = []
        gaps: list[list[int]] = []
        now, due = 0, draw.randrange(_SECOND_NS // 2)
        pin, period_ns = ask.change.pin, ask.spec.period or 0
        cpu = ask.cpus[0] if pin is None else pin
        while now < end:
            release = now
            cpu_ns, moved = self._length(ask, draw), 0
            if pin is None and len(ask.cpus) > 1 and ask.key.normal and draw.random() < 0.03:
                cpu, moved = draw.choice([c for c in ask.cpus if c != cpu]), 1
                cpu_ns += _MOVE_NS
            waited = 0
            if self._crowded(ask) and now + cpu_ns > due:
                waited = round(_SERVER_NS * draw.uniform(0.97, 1.03))
                gaps.append([due, waited, waited, 1, cpu, cpu])
                due += _SECOND_NS
            finish = now + cpu_ns + waited
            next_due = finish
            skipped = 0
            if period_ns:
                periods = -(-(finish - release) // period_ns)
                skipped, next_due = periods - 1, release + periods * period_ns
            voluntary, involuntary = int(bool(period_ns)), int(waited > 0)
            row = [release, now, finish, cpu_ns, waited, voluntary, involuntary]
            rounds.append([*row, cpu, cpu, moved, skipped])
            now = next_due
        return rounds, gaps

    def _length(self, ask: LoadRequest, draw: random.Random) -> int:
        """CPU time of a round."""
        length = ask.units * UNIT_PS / 1000
        if ask.change.normal_cpus is None and ask.key.normal >= len(ask.cpus) // 2:
            length *= _SMT
        if not any(path.endswith("scaling_governor") for path in self._held):
            length *= _SLOW if draw.random() < 0.1 else 1.0
        return round(length * draw.uniform(1.0, 1.01))

    def _crowded(self, ask: LoadRequest) -> bool:
        """Whether ordinary threads wait where the real-time one runs."""
        if any("fair_server" in path for path in self._held):
            return False
        return ask.key.normal >= len(ask.normal_cpus)

    def _normal(
        self, ask: LoadRequest, draw: random.Random, length_ns: int, taken_ns: int
    ) -> tuple[int, ...]:
        """Work of each ordinary thread: an equal share of what is left of the CPUs they use."""
        if not ask.key.normal:
            return ()
        kept = ask.normal_cpus
        left = min(ask.key.normal, len(kept)) * length_ns
        if ask.key.normal >= len(kept):
            left -= taken_ns
        share = left * 1000 / UNIT_PS / ask.key.normal
        return tuple(round(share * draw.uniform(0.98, 1.0)) for _ in range(ask.key.normal))
