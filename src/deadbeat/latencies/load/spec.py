"""What ``deadbeat load`` is asked: checked whole, every problem at once; fitted to a machine; and
which runs that are, in which order.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence

import attrs
from attrs import frozen

from deadbeat.base.experiment import fields
from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.rules import (
    Choice,
    DurationNs,
    ListOf,
    Problem,
    Whole,
    ascending,
)
from deadbeat.base.model.specification import checked, keyed
from deadbeat.base.model.words import Json, count_of, shown
from deadbeat.base.store.folder import HEAD_HINT
from deadbeat.latencies.load.model import ALL, FORMS, PLAIN, REFERENCE, TRACED, LoadKey, several
from deadbeat.latencies.load.remedies import REMEDIES
from deadbeat.latencies.load.store import LoadStore
from deadbeat.machine.host.environment import require_usable

_MS = 1_000_000
#: Default length of a round: many in a second, and far longer than a switch of context.
AUTO_ROUND_NS = 10 * _MS
REPEATS_MAX = 1000
#: Most ordinary threads, as in runtime/src/host/rounds.c.
NORMAL_MAX = 1024
#: Most real-time threads, likewise.
REALTIME_MAX = 64
#: No thread preempts one of it.
PRIORITY_MAX = 99
#: Fewest rounds that a window must hold for its failures to be a rate.
ROUNDS_MIN = 3
#: The paper's additions of a round, and the time it may take (its Load.c, and below table 1.2).
PAPER_ADDITIONS, PAPER_LIMIT_NS = 900_000_000, 2_000 * _MS
#: Number that finds a remedy that ends a handful of failures a run (docs/reference/load.md).
PAPER_REMEDY_REPEATS = 8
#: Name -> what it asks for by default.
PRESETS: dict[str, dict[str, str]] = {
    "quick": {"normal": "few", "repeats": "3", "name": "load-quick"},
    "paper": {
        "additions": str(PAPER_ADDITIONS),
        "deadline": f"{PAPER_LIMIT_NS}ns",
        "seconds": "10",
        "repeats": "3",
        "remedy_repeats": str(PAPER_REMEDY_REPEATS),
        "name": "load-paper",
    },
}


#: Numbers of ordinary threads; ``all`` (None): 0 to twice the CPUs; ``few`` (empty): 0, as many as
#: CPUs, twice as many.
_COUNTS = ListOf(
    Whole(0, NORMAL_MAX).parse,
    "a list of numbers",
    "0,1,2 or 0..4, all or few",
    ascending,
    optional=True,
    named={"all": None, "few": ()},
)


_REMEDIES = ListOf(
    Choice(tuple(REMEDIES)).parse,
    "a list of remedies",
    "pin,governor",
    lambda found: tuple(name for name in REMEDIES if name in found),
    optional=True,
    named={"all": tuple(REMEDIES), "none": (), "": ()},
)


@frozen(kw_only=True)
class LoadSpec:
    """A load test, whole; None: resolved on the machine (`resolve`).

    Lengths are in ns, ``seconds`` in s.

    Attributes:
        normal: Empty: a few numbers of ordinary threads.
        additions: Work of a round as it is, instead; its time is measured, and reckoned at 1 ns
            each before.
        trace: One more run, counted nowhere, in which the kernel's events say who had the CPU.
    """

    name: str = fields.name("Name of the folder of results.", "load")
    seed: int = fields.SEED
    form: str = keyed(
        Choice(FORMS),
        "--form NAME",
        "How the real-time thread works: back-to-back (near 100 % of a CPU) or periodic.",
        default="back-to-back",
    )
    normal: tuple[int, ...] | None = keyed(
        _COUNTS,
        "--normal LIST",
        "Numbers of ordinary threads: 0..4, few, or all (0 to twice the CPUs).  [all]",
        default=None,
    )
    cpus: tuple[int, ...] | None = fields.cpus("CPUs to use, by all threads: 0-3.")
    seconds: float = fields.duration(
        "0.1", "600", "Measuring time of each run: 2s, 500ms or 1min.", 2.0
    )
    round: int | None = keyed(
        DurationNs(_MS // 10, 60_000 * _MS, auto=True),
        "--round TIME",
        "Work of a round (or period), as the time it takes undisturbed.  [10ms]",
        default=None,
    )
    additions: int | None = keyed(
        Whole(100_000, 10**11),
        "N",
        "Work of a round as a number of additions, instead of its time.",
        default=None,
    )
    deadline: int | None = keyed(
        DurationNs(_MS // 10, 600_000 * _MS, auto=True),
        "--deadline TIME",
        "Time a round may take.  [1.5 rounds; the period]",
        default=None,
    )
    period: int | None = keyed(
        DurationNs(_MS // 5, 600_000 * _MS, auto=True),
        "--period TIME",
        "Time between releases of the periodic form.  [two rounds]",
        default=None,
    )
    priority: int = fields.priority("Priority of the real-time thread, 1 to 99.", PRIORITY_MAX)
    policy: str = fields.policy("fifo", "other")
    realtime: tuple[int, ...] = keyed(
        ListOf(Whole(1, REALTIME_MAX).parse, "a list of numbers", "1,2,4", ascending),
        "",
        "Real-time threads of the same work and priority; what more than one do is measured, too.",
        default=(1,),
    )
    remedies: tuple[str, ...] = keyed(
        _REMEDIES,
        "--remedies LIST",
        "Remedies to try: pin,smt,governor,preemption,rt-bandwidth, all or none.  [all]",
        default=attrs.Factory(lambda: tuple(REMEDIES)),
    )
    repeats: int = fields.repeats("Times each combination is measured.", 5, most=REPEATS_MAX)
    remedy_repeats: int | None = keyed(
        Whole(1, 2 * REPEATS_MAX),
        "--remedy-repeats N",
        "Times each remedy is measured, under the most ordinary threads.  [twice --repeats]",
        default=None,
    )
    trace: bool = fields.flag(
        "--trace/--no-trace",
        "Record kernel events in one extra run, to name who had the CPU.  [yes]",
        default=True,
    )
    beside: tuple[str, ...] = fields.BESIDE

    @property
    def round_ns(self) -> int:
        """What a round takes undisturbed, as far as that is known without a machine."""
        return self.additions or self.round or AUTO_ROUND_NS

    def problems(self) -> Iterator[Problem]:
        """What is wrong between values that are each right."""
        round_ns, period_ns, deadline_ns = self.round_ns, self.period, self.deadline
        periodic = self.form == "periodic"
        if period_ns is not None and not periodic:
            yield Problem("period", "rounds back to back have none", "--form periodic")
        elif period_ns is not None and period_ns <= round_ns:
            message = f"{_ms(period_ns)} is no longer than the budget of {_ms(round_ns)}"
            yield Problem("period", message, "give a longer period or a smaller budget")
        elif periodic and deadline_ns is not None and deadline_ns > (period_ns or 2 * round_ns):
            yield Problem(
                "deadline",
                f"{_ms(deadline_ns)} is longer than the period of {_ms(period_ns or 2 * round_ns)}",
                "a release is skipped while the one before runs: at most the period",
            )
        if deadline_ns is not None and deadline_ns <= round_ns:
            message = f"{_ms(deadline_ns)} is no longer than the round of {_ms(round_ns)}"
            yield Problem("deadline", message, "no round could meet it, disturbed or not")
        if self.seconds * 1e9 < ROUNDS_MIN * (period_ns or round_ns * (2 if periodic else 1)):
            message = f"{self.seconds:g} s hold fewer than {ROUNDS_MIN} rounds"
            yield Problem("seconds", message, "give a longer window or a shorter round")
        if self.remedy_repeats is not None and self.remedy_repeats < self.repeats:
            message = f"{self.remedy_repeats} are fewer than the {self.repeats} of every cell"
            yield Problem("remedy_repeats", message, "give at least as many, or fewer repeats")


def _ms(ns: int) -> str:
    return f"{ns / _MS:g} ms"


def preset(name: Json, layer: Mapping[str, Json]) -> dict[str, Json]:
    """What a preset asks for, with what the person says otherwise.
    Raises UsageError: there is none of that name."""
    if name not in PRESETS:
        known = list(PRESETS)
        raise UsageError(f"--preset: {shown(name)} is not a choice", f"use {', '.join(known)}")
    found: dict[str, Json] = {**PRESETS[str(name)], **layer}
    if "round" in layer:
        found.pop("additions", None)
    distinct = "repeats" not in layer and layer.get("remedies") != "none"
    if not distinct and "remedy_repeats" not in layer:
        found.pop("remedy_repeats", None)
    return found


def specify(values: Mapping[str, Json], names: Mapping[str, str] | None = None) -> LoadSpec:
    """The specification of ``values`` (as typed, or canonical); ``names`` as `checked`."""
    return checked(LoadSpec, dict(values), names)


def read_spec(plain: Mapping[str, Json]) -> LoadSpec:
    """The specification of its canonical form. DataError where it is none."""
    try:
        return specify(plain)
    except (UsageError, TypeError) as error:
        raise DataError(
            f"the specification of the load test is damaged: {error}",
            "restore it from a backup, or start again with --fresh",
        ) from error


def resolve(
    spec: LoadSpec, allowed: Sequence[int], details: Mapping[str, Json] | None = None
) -> LoadSpec:
    """The specification on a machine with these CPUs; nothing in it is None but a period that
    rounds back to back do not have.

    Raises:
        UsageError: It names a CPU that is not there, or asks for a priority that nothing could end.
    """
    cpus = spec.cpus or tuple(allowed)
    require_usable(cpus, allowed, details)
    if (
        len(allowed) <= max(spec.realtime)
        and spec.policy == "fifo"
        and spec.priority == PRIORITY_MAX
    ):
        raise UsageError(
            f"--priority: with {count_of(len(allowed), 'CPU')} nothing could end"
            f" {count_of(max(spec.realtime), 'thread')} of priority 99",
            "--priority 98, which its guardian stands above",
        )
    round_ns = spec.round_ns
    counts = tuple(range(0, 2 * len(cpus) + 1, 1 if spec.normal is None else len(cpus)))
    period = (spec.period or 2 * round_ns) if spec.form == "periodic" else None
    return attrs.evolve(
        spec,
        cpus=cpus,
        normal=spec.normal or counts,
        round=round_ns,
        period=period,
        deadline=spec.deadline or period or round_ns * 3 // 2,
        remedy_repeats=spec.remedy_repeats or spec.repeats * (2 if spec.remedies else 1),
    )


# ---------- its runs ----------

#: Beside its window a run takes about so long: start-up, calibration, warm-up, files.
OVERHEAD_S = 0.4


def cells(spec: LoadSpec, possible: Collection[str]) -> list[tuple[int, str]]:
    """Ordinary threads and condition of the cells of a resolved specification, with these remedies.

    Without a remedy, and with all that are possible, at every number of ordinary threads; each
    alone at the highest; and the ordinary threads without the real-time one.
    """
    counts = spec.normal
    if not counts:
        raise DataError(
            "the specification of the load test names no number of ordinary threads", HEAD_HINT
        )
    found = [(count, PLAIN) for count in counts]
    if len(possible) > 1:
        found += [(count, ALL) for count in counts]
    elif possible:
        found += [(count, name) for count in counts[:-1] for name in possible]
    found += [(max(counts), name) for name in possible]
    found += [(count, several(k)) for k in spec.realtime if k > 1 for count in counts]
    return found + [(count, REFERENCE) for count in counts if count]


def plan(spec: LoadSpec, possible: Collection[str]) -> tuple[LoadKey, ...]:
    """All runs in order: blocks, each in a random order of its own, in which a cell stands once and
    one where remedies are compared as many times as it has more repeats, so that all of them
    spread over the whole time; the run that is traced is the last."""
    keys = []
    for block in range(1, spec.repeats + 1):
        runs = []
        for normal, condition in cells(spec, possible):
            # Repeats of a cell in a block, of 1 to the number of repeats.
            if normal != max(spec.normal or ()):
                repeats_in = range(block, block + 1)
            else:
                all_of_them = spec.remedy_repeats or spec.repeats
                first, last = (
                    all_of_them * number // spec.repeats for number in (block - 1, block)
                )
                repeats_in = range(first + 1, last + 1)
            runs += [LoadKey(normal, condition, repeat) for repeat in repeats_in]
        random.Random(f"{spec.seed} {block}").shuffle(runs)
        keys += runs
    if spec.trace and spec.normal:
        keys.append(LoadKey(max(spec.normal), TRACED, 1))
    return tuple(keys)


def planned_keys(store: LoadStore) -> tuple[LoadKey, ...]:
    """Every run that a stored load test should have."""
    return plan(read_spec(store.spec), store.changes)


def block_of(spec: LoadSpec, key: LoadKey) -> int:
    """The block of a run of `plan`: runs of a block were measured close together."""
    if key.normal != max(spec.normal or ()):
        return key.repeat
    return -(-key.repeat * spec.repeats // (spec.remedy_repeats or spec.repeats))


def seconds_of(spec: LoadSpec, runs: int) -> float:
    """About how long a number of runs takes."""
    return runs * (spec.seconds + OVERHEAD_S)
