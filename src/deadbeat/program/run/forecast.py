"""More of a measured program than there is: other numbers of cores and instances, other execution
times; which thread misses first, and how much more each figure may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from attrs import asdict, evolve, frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.specification import read
from deadbeat.base.model.words import Json, count_of, nearest, shown, time_text
from deadbeat.base.report.building import CurvePoint, aside, curve
from deadbeat.base.report.charts import BLACK, Chart, Mark, Panel
from deadbeat.base.report.document import (
    Column,
    Document,
    FactList,
    Figures,
    Section,
    Sentence,
    Table,
    machine_facts,
)
from deadbeat.program.derive.replica import Replica, replica, with_dearer_locks, without_faults
from deadbeat.program.derive.tasks import derive
from deadbeat.program.run.designed import designed
from deadbeat.program.run.results import FIRST, PRICES, ProgramStore, worst_run
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.traced import how, offer, time_column
from deadbeat.program.run.whatif import Foreseen, foreseen, from_worst, limits_of

#: Factors that are looked at, and steps of a search between two of them.
_FACTORS, _STEPS = (1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2, 3, 4, 6, 10, 20, 64), 8


@frozen(kw_only=True)
class TimeScale:
    """``factor`` times the CPU time of a ``thread``, of sections of a ``lock``, of both, of all."""

    factor: float
    thread: str = ""
    lock: str = ""

    def of(self, program: Replica) -> Replica:
        return program.scaled(self.factor, thread=self.thread, lock=self.lock)


@frozen(kw_only=True)
class ProgramVariant:
    """A program of ``instances`` on ``cores`` CPUs: what each thread comes to, by simulation.
    ``utilisation``: what it asks for, which may be more than there is."""

    cores: int
    instances: int
    utilisation: float
    threads: dict[str, Foreseen]

    @property
    def misses(self) -> int:
        return sum(each.misses for each in self.threads.values())

    @property
    def first(self) -> str:
        """The thread that misses first; "": none does."""
        late = {name: each.first_ns for name, each in self.threads.items() if each.misses}
        return min(late, key=late.__getitem__, default="")

    @property
    def worst(self) -> str:
        """The thread with the longest response."""
        return max(self.threads, key=lambda name: self.threads[name].max_ns, default="")


@frozen(kw_only=True)
class Room:
    """How much ``what`` may be so that no deadline is missed: ``factor`` times what was recorded,
    ``now_ns`` at most. None: any up to ``looked`` times, 0: nothing, of what was looked at."""

    what: str
    now_ns: float
    factor: float | None
    looked: float = _FACTORS[-1]

    @property
    def most_ns(self) -> float | None:
        return None if self.factor is None else self.factor * self.now_ns


def scales_of(words: str, program: Replica) -> tuple[list[TimeScale], tuple[int, ...]]:
    """``logger.C=0.5,map_lock=2,C=1.2,instances=1..4`` as scales, and numbers of instances."""
    threads = {each.task.name for each in program.threads}
    locks = {name for name, _ in program.locks}
    scales, instances = [], (1,)
    for word in filter(None, words.split(",")):
        what, _, text = word.strip().rpartition("=")
        first, dots, last = text.partition("..")
        try:
            if what == "instances":
                instances = (*range(int(first), int(last if dots else first) + 1),)
                continue
            factor = float(text)
        except ValueError:
            raise UsageError(f"--scale: {shown(word)} is no NAME=FACTOR", "logger.C=0.5") from None
        if not 0 < factor <= 1000:
            raise UsageError(f"--scale: {shown(word)} is not in (0, 1000]", "logger.C=0.5")
        for thread in ("", *threads):  # any name may have a full stop
            part = what.removeprefix(f"{thread}.") if thread else what
            if part in ("C", *locks) and (part != what or not thread):
                lock = part if part in locks else ""
                scales.append(TimeScale(factor=factor, thread=thread, lock=lock))
                break
        else:
            known = ["C", *(f"{name}.C" for name in sorted(threads)), *sorted(locks)]
            raise UsageError(f"--scale: no {shown(what)} in it", nearest(what, known))
    if not instances or not 0 < instances[0] <= instances[-1] <= 64:
        raise UsageError("--scale: instances are 1 to 64", "instances=2 or instances=1..4")
    return scales, instances


def forecast(
    path: Path, cores: Sequence[int], words: str, design: Path | None = None
) -> tuple[Document, dict[str, Json]]:
    """What a stored program would do otherwise: for people, and as values."""
    store = ProgramStore.open(path)
    # designs are made of the first run
    tried = design is not None and FIRST in store.committed()
    run = store.load(FIRST) if tried else worst_run(store)
    if run and run.traced and not any(task.deadline_ns for task in run.traced.known):
        again = f"measure or import it with --deadline {offer(run.traced)}"
        raise UsageError(f"no thread of {path.name} has a known deadline", again)
    recording = store.events(run.key) if run else None
    if recording is None or run is None or run.traced is None:
        raise UsageError(f"no events of {path.name} are kept", "deadbeat run -- PROGRAM keeps them")
    derived = derive(recording, deadlines=dict(read(ProgramSpec, store.spec).deadline))
    machine = store.platform.cpus
    recorded = evolve(replica(recording, derived), limits=limits_of(store.platform))
    was = foreseen(freed(recorded, machine)[0], machine)
    if design is not None:
        every = {*machine, *range(max(cores, default=0))}
        recorded, memory = designed(recorded, design, sorted(every))
        recorded = without_faults(recorded) if memory else recorded
    recorded, pinned = freed(recorded, machine)
    if design is not None and (start := from_worst(recorded, machine)[0]) is not None:
        cpu = (machine[start],)
        threads = (
            evolve(t, was_on=cpu if len(t.task.cpus) > 1 else t.was_on) for t in recorded.threads
        )
        recorded = evolve(recorded, threads=tuple(threads))
    program = recorded
    scales, instances = scales_of(words, program)
    for each in scales:
        program = each.of(program)
    numbers = [(*machine,)] if not cores else [tuple(range(number)) for number in cores]
    variants = [_variant(program.times(many), cpus, many) for cpus in numbers for many in instances]
    measured = {task.name: task.response_max_ns for task in run.traced.tasks}
    one = program.times(instances[0])
    rooms = list(_rooms(one, numbers[0], recorded.times(instances[0])))
    lines = [*_sentences(variants), *_growth(one, numbers[0], variants[0])]
    more = [each for each in numbers if len(each) > len(machine)]
    if more and program.locks:
        lines += _dearer(one, more, store)
    if others := ", ".join(f"{each.task.name} ({how(each.task)})" for each in program.beside):
        lines.append(f"Beside it, of other programs, and simulated too: {others}.")
    if cores and pinned:
        lines.append(f"Pinned as recorded, on any number of cores: {', '.join(pinned)}.")
    model = ", ".join(
        f"{name} {time_text(each.max_ns)} for {time_text(measured[name] or 0)}"
        for name, each in was.items()
        if each.jobs and measured.get(name)
    )
    columns = (
        Column(key="what", heading="figure", words=True),
        time_column("now_ns", "largest now"),
        time_column("most_ns", "may be", value=lambda room: room.most_ns or None),
        Column(key="factor", heading="times", words=True, value=_factor),
    )
    title = "So that every deadline is met, each by itself"
    rooms_table = Table(name="rooms", columns=columns, rows=rooms, terminal=True, title=title)
    sentence = f"As it is, worst responses simulated for measured: {model}."
    table = _table(variants)
    assumed = not isinstance(store.platform.details.get("rt_group_sched"), bool)
    lacks = (*program.lacks, *program.assumed, *_LACKS, *[_ASSUMED] * assumed)
    document = Document(
        title=f"{path.name} predicted",
        kind="predict",
        product="deadbeat predict",
        source="the recorded jobs, which run again in a simulator",
        labels=("SIMULATED",),
        head=machine_facts(asdict(store.platform)),
        answer=lines,
        picture=table,
        below=(sentence, rooms_table, *(f"not in it: {line}" for line in lacks)),
        sections=(
            Section(
                "answer",
                "Who misses",
                (
                    Sentence(" ".join(lines), answer=True),
                    Figures(list(_charts(variants, one))),
                    table,
                ),
                "Answer",
            ),
            Section("rooms", "How much more it may be", (rooms_table,)),
            Section(
                "how",
                "How far to believe it",
                (Sentence(sentence), FactList([("not in it", line) for line in lacks])),
            ),
        ),
    )
    return document, {
        "result": path.name,
        "labels": ["simulated"],
        "variants": [{**asdict(each), "first": each.first} for each in variants],
        "rooms": [{**asdict(each), "most_ns": each.most_ns} for each in rooms],
        "model": {name: each.max_ns for name, each in was.items()},
        "measured": measured,
    }


def _charts(variants: Sequence[ProgramVariant], program: Replica) -> Iterator[Chart]:
    """The longest response of every thread that has a deadline, as a part of it."""
    known = ((each.task.name, each.task.deadline_ns) for each in program.threads)
    limits = {name: limit for name, limit in known if limit}
    if not limits:
        return
    curves = []
    for look, each in enumerate(variants):
        label = count_of(each.cores, "core")
        label += f", {each.instances} instances" * (each.instances > 1)
        points = [
            CurvePoint(
                place + aside(look, len(variants)), 100 * each.threads[name].max_ns / limits[name]
            )
            for place, name in enumerate(limits)
            if each.threads[name].max_ns
        ]
        curves.append(curve(label, points, look=look, kind="errors"))
    panel = Panel(
        title="",
        x_label="",
        y_label="longest response, % of the deadline",
        curves=tuple(curves),
        categories=tuple(limits),
        marks=(Mark(axis="y", at=100.0, label="deadline", look=BLACK),),
        y_log=True,
    )
    caption = "Simulated from the recorded jobs."
    yield Chart(name="foreseen", title="Who misses", caption=caption, panels=(panel,))


def freed(program: Replica, machine: Sequence[int]) -> tuple[Replica, list[str]]:
    """The program with every thread that may use all of the ``machine`` on all of any other, too;
    and what those are that may not."""
    pinned = {
        each.task.name: ", ".join(map(str, each.task.cpus))
        for each in program.threads
        if each.task.cpus and not {*each.task.cpus} >= {*machine}
    }
    threads = tuple(
        each if each.task.name in pinned else evolve(each, task=evolve(each.task, cpus=()))
        for each in program.threads
    )
    words = [f"{name} (CPU {cpus})" for name, cpus in pinned.items()]
    return evolve(program, threads=threads), words


#: Of a machine that does not say whether it throttles.
_ASSUMED = "whether its kernel throttles real-time threads: to 0.95 of each second is assumed"
#: What the simulator leaves out.
_LACKS = ("interrupts, and what cores share: memory and caches",)


def _variant(program: Replica, cpus: Sequence[int], instances: int) -> ProgramVariant:
    begin = min(
        (int(each.releases[0]) for each in program.threads if each.releases[0] >= 0), default=0
    )
    return ProgramVariant(
        cores=len(cpus),
        instances=instances,
        utilisation=sum(
            each.task.demand(each.spent_ns, len(each.ends), max(program.end_ns - begin, 1))
            for each in program.threads
        ),
        threads=foreseen(program, cpus),
    )


def _sentences(variants: Sequence[ProgramVariant]) -> Iterator[str]:
    for each in variants:
        where = f"Simulated on {count_of(each.cores, 'core')}"
        where += f", {each.instances} instances" * (each.instances > 1)
        longest = time_text(each.threads[each.worst].max_ns)
        text = f"no deadline is missed; worst response {longest} ({each.worst})"
        if each.misses:
            mine = each.threads[each.first]
            text = (
                f"{each.first} misses first, {mine.misses:,} of {mine.jobs:,} deadlines;"
                f" {each.misses:,} misses in all"
            )
        yield f"{where}, U {each.utilisation:.2f}: {text}."


def _most(program: Replica, cpus: Sequence[int], scale: TimeScale) -> float | None:
    """The largest factor with which no deadline is missed, up to the first with which one is; None:
    any that was looked at, 0: none. More work need not be worse, so it is looked for from 1 on."""

    def holds(factor: float) -> bool:
        return not any(
            each.misses
            for each in foreseen(evolve(scale, factor=factor).of(program), cpus).values()
        )

    met, last = holds(1.0), 1.0
    for step in _FACTORS:
        factor = step if met else 1 / step
        if holds(factor) != met:
            low, high = min(last, factor), max(last, factor)
            for _ in range(_STEPS):
                middle = (low * high) ** 0.5
                low, high = (middle, high) if holds(middle) else (low, middle)
            return low
        last = factor
    return None if met else 0.0


def _rooms(program: Replica, cpus: Sequence[int], recorded: Replica) -> Iterator[Room]:
    """For each thread and each lock of the ``program``, which is the ``recorded`` one scaled."""

    def room(what: str, now: float, scaled: float, scale: TimeScale) -> Room:
        found, times = _most(program, cpus, scale), scaled / (now or 1)
        factor = None if found is None else found * times
        return Room(what=what, now_ns=now, factor=factor, looked=_FACTORS[-1] * times)

    for each, was in zip(program.threads, recorded.threads, strict=True):
        name, now, scaled = (each.task.name, *(float(x.compute_ns.max()) for x in (was, each)))
        yield room(f"C of {name}", now, scaled, TimeScale(factor=1, thread=name))
    for number, (name, _) in enumerate(program.locks):
        now, scaled = (
            max(float(each.sections_ns(number).max(initial=0)) for each in one.threads)
            for one in (recorded, program)
        )
        if now:
            yield room(f"sections of {name}", now, scaled, TimeScale(factor=1, lock=name))


def _dearer(
    program: Replica, numbers: Iterable[Sequence[int]], store: ProgramStore
) -> Iterator[str]:
    """What more cores may cost, by prices of sharing and by how public machines grow."""
    prices = import_module(PRICES)
    sharing = prices.sharing_of(store.path, store.platform)
    if not sharing:
        yield "What locks cost on more cores is not in it: deadbeat contention measures prices."
    for cpus in numbers if sharing else ():
        ends = prices.dearer(len(cpus), len(store.platform.cpus))
        found = [
            foreseen(
                with_dearer_locks(program, {w: ns * (end - 1) for w, ns in sharing.items()}), cpus
            )
            for end in ends
        ]
        misses = [sum(each.misses for each in one.values()) for one in found]
        longest = [time_text(max(each.max_ns for each in one.values())) for one in found]
        yield (
            f"Where locks cost {ends[0]:.2g} to {ends[1]:.2g} times as much, as on 91 % of public"
            f" machines with {len(cpus)} cores: {misses[0]:,} to {misses[1]:,} misses, worst"
            f" {longest[0]} to {longest[1]}."
        )


def _growth(program: Replica, cpus: Sequence[int], now: ProgramVariant) -> Iterator[str]:
    """Who misses first where all take longer."""
    if now.misses:
        return
    factor = _most(program, cpus, TimeScale(factor=1))
    if not factor:
        yield f"With {_FACTORS[-1]:g} times its execution times none is missed."
        return
    then = _variant(program.scaled(factor * 1.001), cpus, now.instances)
    if then.first:
        yield (
            f"With {factor:.3g} times its execution times {then.first} misses first, at U"
            f" {then.utilisation:.2f}."
        )


def _table(variants: Sequence[ProgramVariant]) -> Table:
    rows = [
        (each, name, found)
        for each in variants
        for name, found in each.threads.items()
        if len(variants) == 1 or name == (each.first or each.worst)
    ]
    columns = (
        Column(key="cores", heading="cores", value=lambda row: row[0].cores),
        Column(key="instances", heading="instances", value=lambda row: row[0].instances),
        Column(key="thread", heading="thread", words=True, value=lambda row: row[1]),
        *(Column(key=key, heading=key, value=_of(key)) for key in ("jobs", "misses")),
        *(
            time_column(key, heading, value=_of(key))
            for key, heading in (("p50_ns", "median"), ("p99_ns", "99 %"), ("max_ns", "worst"))
        ),
    )
    title = "Responses" + ", of who misses first or takes longest" * (len(variants) > 1)
    return Table(name="variants", columns=columns, rows=rows, terminal=True, title=title)


def _of(key: str) -> Callable[[tuple[ProgramVariant, str, Foreseen]], int]:
    return lambda row: getattr(row[2], key)


def _factor(room: Room) -> str:
    if room.factor is None:
        return f"any up to {room.looked:.3g}"
    return f"{room.factor:.3g}" if room.factor else "no value of it meets the deadlines"
