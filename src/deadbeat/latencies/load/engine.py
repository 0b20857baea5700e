"""What runs the threads of a load test: a target, by the runtime's verb ``rounds``, or a made-up
machine.

The made-up one says nothing of any other: its fair server takes 50 ms of every second from the
real-time thread where ordinary threads crowd every CPU, its CPUs have SMT siblings in pairs, and
its frequency governor begins low.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

from attrs import evolve, field, frozen

from deadbeat.base.model.errors import DataError, TargetError
from deadbeat.base.model.platform import LOCAL, Platform, example_platform
from deadbeat.base.model.tuning import JournalEntry, Setting
from deadbeat.build.programs import LOCK_WAIT_S, VerbEngine
from deadbeat.latencies.load.model import REFERENCE, TRACED, Gaps, LoadKey, Rounds, Seen
from deadbeat.latencies.load.remedies import GOVERNOR, SERVER, SIBLINGS, RemedyChange
from deadbeat.latencies.load.spec import LoadSpec
from deadbeat.machine.host.kernel import PREEMPT, RT_PERIOD, RT_RUNTIME
from deadbeat.machine.settings.journal import Journal
from deadbeat.machine.settings.tune import applied
from deadbeat.machine.targets.base import Target
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.keeper import process_on
from deadbeat.machine.targets.readings import Readings
from deadbeat.machine.trace.paths import Takers
from deadbeat.machine.trace.session import Tracer
from deadbeat.machine.trace.why import takers_of

#: With it begins the reason of every setting that a load test changes.
REASON = "deadbeat load"
#: Beyond the window: start-up, the wait for the machine's lock, and the guardian's own bound.
_PATIENCE_S = 60.0
_CALIBRATION_S = 0.5
#: From runtime/src/host/rounds.c: what the round that is running at the end of a window may take.
_TAIL_ROUNDS = 4


@frozen(kw_only=True)
class LoadRequest:
    """One run of a resolved specification.

    Attributes:
        change: What its condition does.
        unit_ps: What a unit of work takes undisturbed.
    """

    spec: LoadSpec
    key: LoadKey
    change: RemedyChange = field(factory=RemedyChange)
    unit_ps: int

    @property
    def real_time(self) -> bool:
        """False: without the real-time thread."""
        return self.key.condition != REFERENCE

    @property
    def cpus(self) -> tuple[int, ...]:
        """CPUs that all threads may use."""
        assert self.spec.cpus is not None
        return self.spec.cpus

    @property
    def normal_cpus(self) -> tuple[int, ...]:
        """CPUs the ordinary threads keep to."""
        return self.cpus if self.change.normal_cpus is None else self.change.normal_cpus

    @property
    def priority(self) -> int:
        """Priority of the real-time thread; 0 for an ordinary one."""
        return self.spec.priority if self.spec.policy == "fifo" else 0

    @property
    def units(self) -> int:
        """Work of a round, thousands of additions."""
        spec = self.spec
        return max(
            spec.additions // 1000 if spec.additions else spec.round_ns * 1000 // self.unit_ps, 1
        )


class HardwareLoad(VerbEngine):
    """Real threads on a target.

    ``process``: on the machine: its CPU time, with that of its children that have ended, is the
    test's own; None: not known. ``address``: address of the machine.
    """

    def __init__(
        self, target: Target, *, cross: str | None = None, lock_wait: float = LOCK_WAIT_S
    ) -> None:
        super().__init__(target, cross=cross, lock_wait=lock_wait)
        self.kind, self.address = target.kind, target.address
        # it waits for the program, and that for its threads
        self.process = process_on(target)

    def unit_ps(self, cpus: Sequence[int], *, policy: str, priority: int) -> int:
        """What a thousand additions take undisturbed: fastest of many stretches, of half a second.

        Args:
            policy, priority: Set for the real-time thread: what refuses it refuses this.

        Raises:
            TargetError: It cannot be measured: permission, a machine that is in use.
        """
        options = {
            "--seconds-ns": str(round(_CALIBRATION_S * 1e9)),
            "--cpus": _list(cpus),
            "--priority": str(priority if policy == "fifo" else 0),
        }
        for line in self._machine.converse("unit", policy, options, timeout=_PATIENCE_S):
            word, _, number = line.partition(" ")
            if word == "unit":
                with self._machine.understood():
                    return int(number)
        raise TargetError("the program did not say what a unit of work costs", "")

    def read(self, paths: Sequence[str]) -> Readings:
        return self._target.read_many(paths)

    def holding(
        self, settings: Sequence[Setting], *, reason: str
    ) -> AbstractContextManager[object]:
        """The settings, for a block: journalled, written, read back, and put back at its end.
        Raises TargetError: one is not possible here, or was not back at the end."""
        return applied(self._target, settings, reason=reason) if settings else nullcontext()

    def standing(self) -> tuple[JournalEntry, ...]:
        """Changed settings that have not been put back, whoever changed them."""
        return Journal(self._target).status()

    def run(self, ask: LoadRequest) -> Seen:
        """One run. The caller sleeps meanwhile.

        Raises:
            RunError: It has no result; others may.
            TargetError: No run of this kind is possible here.
        """
        options = {
            "--cpus": _list(ask.cpus),
            "--seconds-ns": str(round(ask.spec.seconds * 1e9)),
            "--normal": str(ask.key.normal),
            "--real-time": str(ask.change.realtime * ask.real_time),
            "--priority": str(ask.priority),
            "--pin": str(-1 if ask.change.pin is None else ask.change.pin),
            "--units": str(ask.units),
            "--unit-ps": str(ask.unit_ps),
            "--period-ns": str(ask.spec.period or 0),
        }
        if ask.change.normal_cpus is not None:
            options["--normal-cpus"] = _list(ask.normal_cpus)
        tail_s = (
            (_TAIL_ROUNDS + ask.change.realtime + ask.key.normal) * ask.units * ask.unit_ps / 1e12
        )
        timeout = ask.spec.seconds + tail_s + _PATIENCE_S
        measure = partial(self.written, "rounds", ask.spec.policy, options, timeout=timeout)
        if ask.key.condition != TRACED:
            return parse(measure())
        with Tracer(self._target, cpus=ask.cpus) as tracer:
            tracer.start()
            written = measure()
            tracer.stop()
            text = tracer.text()
            trace: Takers = {"unavailable": tracer.unavailable}
            if not tracer.unavailable:
                trace = {**takers_of(text), "lost_events": tracer.lost}
        return evolve(parse(written), trace=trace)

    def close(self) -> None:
        self._machine.close()


def _list(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))


def parse(text: str) -> Seen:
    """The result of the runtime's verb ``rounds`` (host/rounds.c). DataError where the text
    is not whole."""
    head, *tracks = re.split(r"(?m)^(?=placed )", text)
    first, *others = tracks or [""]
    try:
        seen = _seen(_rows(head + first))
        return evolve(seen, others=tuple(_rounds(_rows(each)) for each in others))
    except (KeyError, IndexError, ValueError) as error:
        hint = "repeat the command to measure this run again"
        raise DataError(f"the result of a run is damaged: {error!r}", hint) from error


def _rows(text: str) -> dict[str, list[list[str]]]:
    rows: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        word, *rest = line.split()
        rows.setdefault(word, []).append(rest)
    return rows


def _rounds(rows: dict[str, list[list[str]]]) -> Rounds:
    table = [list(map(int, row)) for row in rows.get("round", [])]
    (end,) = rows["end"]
    if int(end[0]) != len(table):
        raise ValueError(f"{len(table)} of {end[0]} rounds")
    return Rounds.of_rows(table)


def _seen(rows: dict[str, list[list[str]]]) -> Seen:
    if rows["rounds"] != [["1"]]:
        raise ValueError(f"format {rows['rounds']}")
    gaps = [list(map(int, row)) for row in rows.get("gap", [])]
    placed = rows.get("placed", [None])[0]
    (begin, over), (first, last) = (map(int, rows[name][0]) for name in ("window", "sampled"))
    return Seen(
        window_ns=(begin, over),
        sampled_ns=(first, last),
        rounds=_rounds(rows),
        gaps=Gaps.of_rows(gaps),
        gaps_lost=int(rows["lost"][0][0]),
        normal_units=tuple(int(row[1]) for row in rows.get("normal", [])),
        policy=placed[0] if placed else "",
        priority=int(placed[1]) if placed else None,
        cpu=int(placed[2]) if placed else None,
        unit_ps=int(rows["unit"][0][0]) if placed else None,
    )


# ---------- a made-up machine ----------

UNIT_PS = 250_000
_CPUS = (0, 1, 2, 3)
_WARMUP_NS = 50_000_000
_SECOND_NS = 1_000_000_000
_SERVER_NS = 50_000_000
#: A busy sibling makes a round so much longer, a low frequency so much, a move so much.
_SMT, _SLOW, _MOVE_NS = 1.25, 1.08, 60_000


_FILES = {
    RT_RUNTIME: "950000\n",
    RT_PERIOD: "1000000\n",
    PREEMPT: "none voluntary (full)\n",
    **{SIBLINGS.format(cpu): f"{cpu & ~1}-{cpu | 1}\n" for cpu in _CPUS},
    **{GOVERNOR.format(cpu): "schedutil\n" for cpu in _CPUS},
    **{GOVERNOR.format(cpu).replace("governor", "cur_freq"): "2400000\n" for cpu in _CPUS},
    **{SERVER.format(cpu): "50000000\n" for cpu in _CPUS},
}


class SimulatedLoad:
    """See the module; its methods are those of `HardwareLoad`."""

    kind = "simulated"
    process: int | None = None
    address = LOCAL

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def cpus(self) -> tuple[int, ...]:
        return _CPUS

    def describe(self) -> Platform:
        pairs = {str(cpu): {"siblings": [cpu & ~1, cpu | 1]} for cpu in _CPUS}
        return evolve(
            example_platform(len(_CPUS)),
            name="simulated",
            soc="formula",
            fingerprint=f"simulated:simulated:{len(_CPUS)}",
            kernel="6.12.0 simulated",
            governor="schedutil",
            details={"topology": pairs, "virtual": False},
        )

    def unit_ps(self, cpus: Sequence[int], *, policy: str, priority: int) -> int:
        return UNIT_PS

    def read(self, paths: Sequence[str]) -> Readings:
        held = {path: f"{value}\n" for path, value in self._held.items()}
        return FakeTarget(files={**_FILES, **held}).read_many(paths)

    @contextmanager
    def holding(self, settings: Sequence[Setting], *, reason: str) -> Iterator[None]:
        self._held = {setting.path: setting.value for setting in settings}
        try:
            yield
        finally:
            self._held = {}

    def standing(self) -> tuple[JournalEntry, ...]:
        return ()

    def run(self, ask: LoadRequest) -> Seen:
        """Rounds made up from the seed and the key: the same again for the same."""
        draw = random.Random(f"{ask.spec.seed} {ask.key.text}")
        low, high = _WARMUP_NS, _WARMUP_NS + round(ask.spec.seconds * _SECOND_NS)
        window = (low, high)
        if not ask.real_time:
            units = self._normal(ask, draw, high - low, 0)
            return Seen(window_ns=window, sampled_ns=window, normal_units=units)
        rounds, gaps = self._rounds(ask, draw, high)
        others = [  # who comes later than there are CPUs has none
            self._rounds(ask, draw, high)[0] if each < len(ask.cpus) else []
            for each in range(1, ask.change.realtime)
        ]
        taken_ns = sum(row[3] for each in (rounds, *others) for row in each)
        return Seen(
            window_ns=window,
            sampled_ns=window,
            rounds=Rounds.of_rows(rounds),
            gaps=Gaps.of_rows(gaps),
            others=tuple(map(Rounds.of_rows, others)),
            normal_units=self._normal(ask, draw, high - low, taken_ns),
            policy=ask.spec.policy,
            priority=ask.priority,
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
        rounds: list[list[int]] = []
        gaps: list[list[int]] = []
        now, due = 0, draw.randrange(_SECOND_NS // 2)
        served = not any("fair_server" in path for path in self._held)
        crowded = served and ask.key.normal >= len(ask.normal_cpus)
        pin, period_ns = ask.change.pin, ask.spec.period or 0
        cpu = ask.cpus[0] if pin is None else pin
        while now < end:
            release = now
            cpu_ns, moved = self._length(ask, draw), 0
            if pin is None and len(ask.cpus) > 1 and ask.key.normal and draw.random() < 0.03:
                cpu, moved = draw.choice([c for c in ask.cpus if c != cpu]), 1
                cpu_ns += _MOVE_NS
            waited = 0
            if crowded and now + cpu_ns > due:
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
        share = max(left, 0) * 1000 / UNIT_PS / ask.key.normal
        return tuple(round(share * draw.uniform(0.98, 1.0)) for _ in range(ask.key.normal))


LoadEngine = HardwareLoad | SimulatedLoad
