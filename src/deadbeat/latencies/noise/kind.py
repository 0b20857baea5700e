"""Noise that other tools found, as a kind of results: read from files, measured nowhere here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import attrs
from attrs import frozen

from deadbeat.base.experiment import fields
from deadbeat.base.experiment.base import FolderExperiment
from deadbeat.base.experiment.folders import RunFolders
from deadbeat.base.kinds.base import Begin, Begun
from deadbeat.base.kinds.table import TableKind
from deadbeat.base.model import rules
from deadbeat.base.model.comparison import (
    Aligned,
    Comparable,
    ComparedLook,
    Lineup,
    Subject,
    Vocabulary,
)
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.grouping import grouped
from deadbeat.base.model.observations import Cell as Where
from deadbeat.base.model.observations import Metric, Observation, Observations
from deadbeat.base.model.run import StoredRun
from deadbeat.base.model.specification import keyed, plain_of, read
from deadbeat.base.model.words import Json, count_of, seconds_text, time_text
from deadbeat.base.report.document import (
    Column,
    Document,
    Lines,
    Section,
    Sentence,
    Table,
    machine_facts,
)
from deadbeat.base.store.folder import EXPERIMENT_FILE
from deadbeat.base.store.place import FolderKind
from deadbeat.base.store.runfolder import RunFolder, run_converter
from deadbeat.latencies.gaps import CAUSES, CpuGaps, FoundGaps, GapRun

WHAT = "A thread looked at a clock without a pause: a gap is no wake-up latency."


@frozen(kw_only=True)
class NoiseSpec:
    """Which runs were read."""

    name: str = fields.name("Name of the folder.", "noise")
    imported: tuple[str, ...] = keyed(
        rules.NAMES, "LIST", "Runs read from files of other tools.", default=()
    )


@frozen(order=True)
class NoiseKey:
    """One run of a tool beside one load: ``text`` is its file name."""

    load: str
    tool: str
    repeat: int

    @property
    def text(self) -> str:
        return f"{self.load}.{self.tool}.{self.repeat:04d}"

    @classmethod
    def parse(cls, text: str) -> NoiseKey:
        """The key called ``text``. UsageError where none is."""
        load, tool, repeat = (*text.split("."), "", "")[:3]
        if load and tool and repeat.isdigit():
            return cls(load, tool, int(repeat))
        raise UsageError(f"{text}: no run is called so", "a name is unknown.hwlatdetect.0001")


@frozen(kw_only=True)
class NoiseRun(StoredRun):
    """One run of another tool, read from a file."""

    key: NoiseKey
    gaps: FoundGaps
    version: str = ""
    notes: tuple[str, ...] = ()


class NoiseStore(RunFolder[NoiseKey, NoiseRun]):
    """The folder of what was read."""

    KIND, NOUN = "noise", "noise result"
    KEY, RUN = NoiseKey, NoiseRun
    CONVERTER = run_converter(NoiseKey)


class NoiseExperiment(FolderExperiment[NoiseKey, NoiseRun]):
    """Which lacks no run."""

    def seconds(self, runs: int) -> float:
        return 0.0


FOLDERS = RunFolders(
    kind=FolderKind(EXPERIMENT_FILE, "noise result", "noise"),
    store=NoiseStore,
    read=partial(read, NoiseSpec),
    planned=lambda store: [*map(NoiseKey.parse, read(NoiseSpec, store.spec).imported)],
)


def begin(asked: Begin) -> Begun:
    """Keeps what ``deadbeat import`` has read.

    Raises:
        UsageError: Something is asked for that only wake-up latencies have.
    """
    for key, name in (("deadlines", "limits"), *((k, k) for k in ("interval", "priority", "unit"))):
        if key in asked.typed or asked.given.get(key):
            raise UsageError(f"{name} is of wake-ups: the files hold none", f"leave {name} out")
    brought: Sequence[GapRun] = asked.given["brought"]
    place, name, platform = asked.given["place"]
    runs = [
        NoiseRun(
            key=NoiseKey(each.load, each.tool, each.repeat),
            started=each.started,
            gaps=each.gaps,
            version=each.version,
            notes=each.notes,
        )
        for each in brought
    ]
    spec = NoiseSpec(name=name, imported=tuple(run.key.text for run in runs))
    store = NoiseStore.create(place.emptied(), plain_of(spec), platform)
    for each, run in zip(brought, runs, strict=True):
        store.keep(run)
        if run.notes:
            asked.say(f"read from {each.file}: {'; '.join(run.notes)}")
    asked.say(f"{count_of(len(runs), 'result')} in {place.path}")
    return Begun(experiment=NoiseExperiment(store=store, planned=[run.key for run in runs]))


# ---------- what it comes to ----------


@frozen(kw_only=True)
class NoiseRow:
    """All runs of one CPU under one load by one tool."""

    load: str
    tool: str
    hardware: bool
    threshold_ns: int | None
    runs: int
    seen: CpuGaps

    @property
    def longest(self) -> str | None:
        """``143``, ``≥ 256``, in microseconds."""
        if self.seen.longest_ns is None:
            return "none" if self.seen.gaps == 0 else None
        return f"{'≥ ' * self.seen.at_least}{self.seen.longest_ns / 1000:,.5g}"

    @property
    def share(self) -> float | None:
        """Noise, of the time looked, in parts per million."""
        noise, looked = self.seen.noise_ns, self.seen.looked_ns
        return None if noise is None or not looked else 1e6 * noise / looked


@frozen
class NoiseSummary:
    """All of a folder."""

    cells: tuple[NoiseRow, ...]
    notes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


def summarise(store: NoiseStore) -> NoiseSummary:
    runs = list(store.runs())
    each = [(run, cpu) for run in runs for cpu in run.gaps.cpus]
    found = grouped(each, lambda pair: (pair[0].key.load, pair[0].key.tool, pair[1].cpu))
    rows = (
        NoiseRow(
            load=load,
            tool=tool,
            hardware=pairs[0][0].gaps.hardware,
            threshold_ns=max((run.gaps.threshold_ns or 0 for run, _ in pairs)) or None,
            runs=len(pairs),
            seen=_together([cpu for _, cpu in pairs]),
        )
        for (load, tool, _), pairs in found.items()
    )
    order = sorted(
        rows, key=lambda row: (row.load, row.tool, -1 if row.seen.cpu is None else row.seen.cpu)
    )
    return NoiseSummary(tuple(order), tuple(dict.fromkeys(n for run in runs for n in run.notes)))


def _together(seen: Sequence[CpuGaps]) -> CpuGaps:
    def total(name: str) -> int | None:
        values = [getattr(each, name) for each in seen]
        return None if None in values else sum(values)

    top = max(seen, key=lambda each: (each.at_least, each.longest_ns or 0))
    return CpuGaps(
        cpu=top.cpu,
        looked_ns=total("looked_ns"),
        longest_ns=max(
            (each.longest_ns for each in seen if each.longest_ns is not None), default=None
        ),
        at_least=top.at_least,
        gaps=total("gaps"),
        noise_ns=total("noise_ns"),
        causes={
            name: sum(each.causes.get(name, 0) for each in seen)
            for name in dict.fromkeys(name for each in seen for name in each.causes)
        },
    )


def _answer(found: NoiseSummary) -> str:
    known = [row for row in found.cells if row.seen.longest_ns is not None]
    if not known:
        tools = " and ".join(dict.fromkeys(row.tool for row in found.cells))
        return f"No gap was found by {tools}. {WHAT}"
    worst = max(known, key=lambda row: (row.seen.at_least, row.seen.longest_ns or 0))
    on = [
        row.seen.cpu
        for row in known
        if row.seen.longest_ns == worst.seen.longest_ns and row.seen.cpu is not None
    ]
    where = f" (CPU {on[0]})" if on else ""
    of = "of the hardware" if worst.hardware else "of any cause"
    longest = time_text(worst.seen.longest_ns) + " or more" * worst.seen.at_least
    return f"Longest gap {of}: {longest}{where}, by {worst.tool}. {WHAT}"


def _seconds(value: int) -> str:
    return seconds_text(value / 1e9)


def _place(row: NoiseRow) -> int | str:
    return "all" if row.seen.cpu is None else row.seen.cpu


def _causes(row: NoiseRow) -> str | None:
    known = row.seen.causes
    return ", ".join(f"{name} {known[name]:,}" for name in CAUSES if name in known) or None


_PPM = "{:,.4g}".format
COLUMNS = (
    Column(key="load", heading="load"),
    Column(key="tool", heading="tool", words=True),
    Column(key="cpu", heading="CPU", value=_place),
    Column(key="longest_us", heading="longest gap, µs", value=lambda row: row.longest),
    Column(key="gaps", heading="gaps", value=lambda row: row.seen.gaps),
    Column(key="threshold_ns", heading="from", format=time_text),
    Column(key="noise_ppm", heading="noise, ppm", value=lambda row: row.share, format=_PPM),
    Column(key="causes", heading="interfered", value=_causes, long=True),
    Column(
        key="looked_ns", heading="looked", value=lambda row: row.seen.looked_ns, format=_seconds
    ),
)


def rows(found: NoiseSummary) -> list[dict[str, Json]]:
    own = ("load", "tool", "hardware", "threshold_ns", "runs")
    return [{k: getattr(row, k) for k in own} | attrs.asdict(row.seen) for row in found.cells]


def document(found: NoiseSummary, store: NoiseStore) -> Document:
    table = Table(name="noise", columns=COLUMNS, rows=found.cells, terminal=True)
    parts = (Sentence(_answer(found), answer=True, terminal=True), Lines(found.notes))
    return Document(
        title=store.path.name,
        kind="noise",
        source="the stored runs",
        head=machine_facts(attrs.asdict(store.platform), kernel=store.platform.kernel),
        answer=(_answer(found),),
        picture=table,
        sections=(Section("answer", "What the file leaves open", parts, "Notes"),)
        if found.notes
        else (),
    )


# ---------- compared ----------


@frozen(kw_only=True)
class NoiseSubject(Subject):
    """A result as it is compared."""

    runs: tuple[NoiseRun, ...]


def _subject(path: Path) -> NoiseSubject:
    store = NoiseStore.open(path)
    return FOLDERS.subject(NoiseSubject, store, runs=tuple(store.runs()))


def _observed(run: NoiseRun) -> Iterator[Observation]:
    longest = [each.longest_ns for each in run.gaps.cpus if each.longest_ns is not None]
    open_ended = any(each.at_least for each in run.gaps.cpus)
    known = [each for each in run.gaps.cpus if each.noise_ns is not None and each.looked_ns]
    looked = sum(each.looked_ns or 0 for each in known)
    values = {
        "longest": max(longest) if longest and not open_ended else None,
        "noise": 1e6 * sum(each.noise_ns or 0 for each in known) / looked if known else None,
    }
    for metric, value in values.items():
        yield Observation(
            run=run.key.text,
            cell=Where(f"{run.key.load} {run.key.tool}"),
            block=f"{run.key.repeat:04d}",
            metric=metric,
            value=value,
        )


def align(lineup: Lineup) -> Aligned:
    """Each run is an observation, of all its CPUs."""
    tables = (
        Observations(name=each.name, rows=(seen for run in each.runs for seen in _observed(run)))
        for each in lineup.every
    )
    return Aligned(tables=tuple(tables))


COMPARABLE = Comparable(
    of="noise",
    noun="noise result",
    words=Vocabulary(
        results="noise results",
        one="noise result",
        find_lost="look at their files",
        lost="of the runs have no figure",
        rare="longer runs would show more",
    ),
    metrics=(
        Metric(name="longest", title="Longest gap", unit="ns", minimum=0.1),
        Metric(name="noise", title="Noise", unit="ppm", minimum=0.1),
    ),
    read=_subject,
    align=align,
    look=ComparedLook(called="Noise", groups=("By tool", "load and tool")),
)

KIND = TableKind(
    name="noise",
    folders=FOLDERS,
    summarise=summarise,
    answer=lambda found: [_answer(found)],
    document=document,
    plain=lambda found, store: {"rows": rows(found), "notes": list(found.notes)},
    rows=rows,
    columns=COLUMNS,
).kind(begin, keys=("load", "tool", "cpu"), comparable=COMPARABLE)
