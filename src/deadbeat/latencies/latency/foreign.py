"""Results of other tools as runs of a matrix: what their files say, and what they do not.

Each format is a module of `deadbeat.latencies.latency.formats` with an ``IMPORTER``.
"""

from __future__ import annotations

import pkgutil
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from math import isclose, isfinite
from typing import Any

from attrs import evolve, field, frozen

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.rules import duration_text
from deadbeat.base.model.words import Json, seconds_text
from deadbeat.base.store.texts import Text, json_within
from deadbeat.latencies.gaps import FoundGaps
from deadbeat.latencies.latency import formats
from deadbeat.latencies.latency.model import (
    ASSUMED,
    UNKNOWN,
    Circumstances,
    CpuLatency,
    LatencyKey,
    LatencyRun,
    LoadPoint,
    LoadReport,
    load_named,
)

_INTERVAL_MAX_NS, _PERIODS_LATE_MAX = 10**12, 10**6
#: What no latency reaches; sums of 10^9 of them still are whole numbers of 64 bits.
_LONGEST_NS = 10**16 * 3
_NOT_RECORDED = (
    "read from a file: what else ran, load, temperature, steal and the like are not known;"
    " priority and policy are as asked for, not as read back"
)
#: What reading a damaged file raises.
_DAMAGE = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, RecursionError)
#: For values without a unit: times that real-time systems wake up late at best: less than this many
#: microseconds, and more than this many nanoseconds.
_LEAST = 500


class UnknownFormatError(UsageError):
    """A file is in none of the formats that can be read."""


@frozen
class ForeignFile:
    """Part of a file that is to be read: a JSON object, or lines without indentation."""

    lines: str = ""
    json: Any = None

    @classmethod
    def parts(cls, text: str) -> tuple[list[ForeignFile], str]:
        """The JSON objects in ``text``, then its other lines; and what is wrong with the first
        object that is damaged."""
        objects, lines, damage = json_within(text)
        return [*(cls(json=each) for each in objects), cls(lines)], damage

    @classmethod
    def of(cls, text: str) -> ForeignFile:
        """The first part of ``text``."""
        return cls.parts(text)[0][0]

    def has(self, *patterns: str) -> bool:
        """Whether there is a line of each of these forms."""
        return all(re.search(f"^(?:{each})$", self.lines, re.M) for each in patterns)

    def last(self, pattern: str) -> re.Match[str] | None:
        """The last line of a form."""
        found = deque(re.finditer(f"^(?:{pattern})$", self.lines, re.M), maxlen=1)
        return found[0] if found else None


@frozen(kw_only=True)
class Foreign:
    """What a run in a file, or a person who imports it, says. None and "": it does not.

    Attributes:
        cpus: What each thread saw; what follows from the interval is not in it yet.
        threads: Whether their numbers are of threads on unknown CPUs.
        skips: Whether periods that passed while a wake-up was late were skipped, as cyclictest
            does; else the next sleep begins after a late wake-up, and nothing is missed that is
            not in ``cpus``.
        cycles: Wake-ups that were asked for of each thread.
        unit_ns: Unit of latencies, as a person says it.
        usual: What the tool does by default: ``interval_ns``, ``priority``.
        gaps: What a tool found that looks at a clock instead; it has no ``cpus``.
        load: Its name in the file. ``notes``: what was assumed, a clause each.
    """

    engine: str = "cyclictest"
    cpus: tuple[CpuLatency, ...] = ()
    gaps: FoundGaps | None = None
    threads: bool = False
    skips: bool = True
    interval_ns: int | None = None
    seconds: float | None = None
    cycles: int | None = None
    priority: int | None = None
    policy: str = ""
    unit_ns: int | None = None
    usual: Mapping[str, int] = field(factory=dict)
    load: str = ""
    started: str = ""
    version: str = ""
    host: str = ""
    kernel: str = ""
    cmdline: str = ""
    notes: tuple[str, ...] = ()

    @property
    def numbers(self) -> set[int]:
        """The CPUs, or threads, that it speaks of."""
        gaps = self.gaps.cpus if self.gaps else ()
        return {each.cpu for each in self.cpus} | {
            each.cpu for each in gaps if each.cpu is not None
        }


@frozen(kw_only=True)
class Importer:
    """A format.

    Attributes:
        engine: Who measured wake-up latencies; "": it is of no such tool.
        fits: Whether part of a file has its structure. ``read``: what a run in it says, beside
            what a person does; raises whatever a damaged one leads to, or UsageError.
        begins: Where runs begin in lines of that structure, the first one included or not.
        refuses: Whether all that has the structure is refused.
        hint: How to write one that can be read.
    """

    name: str
    engine: str = ""
    fits: Callable[[ForeignFile], bool]
    read: Callable[[ForeignFile, Foreign], Foreign]
    begins: Callable[[str], Iterable[int]] = lambda lines: ()
    refuses: bool = False
    hint: str = ""

    def runs(self, source: ForeignFile) -> list[ForeignFile]:
        """A part for each run in ``source``; what stands before the first is the first one's."""
        places = [*sorted(set(self.begins(source.lines)))[1:], len(source.lines)]
        each = (source.lines[at:end] for at, end in pairwise((0, *places)))
        return [evolve(source, lines=lines) for lines in each] if source.lines else [source]

    def take(self, source: ForeignFile, name: str, user: Foreign = Foreign()) -> Foreign:
        """What the file ``name`` says; DataError where it is damaged."""
        try:
            found = self.read(source, user)
        except UsageError as error:
            raise UsageError(f"{name} {error.message}", error.hint or self.hint) from None
        except _DAMAGE as error:
            said = str(error).strip()
            why = said.splitlines()[0][:100] if said else type(error).__name__
            raise DataError(f"{name} is damaged {self.name}: {why}", self.hint) from error
        if not (found.cpus or found.gaps):
            raise DataError(f"{name} holds no figures of any CPU", f"is it of {self.name}?")
        return found


@cache
def all_importers() -> tuple[Importer, ...]:
    """Every format, by the name of its module."""
    found = sorted(each.name for each in pkgutil.iter_modules(formats.__path__))
    made = (import_module(f"{formats.__name__}.{name}").IMPORTER for name in found)
    return tuple(each for each in made if isinstance(each, Importer))


def foreign_engines() -> tuple[str, ...]:
    """Engines with results that can be read."""
    return tuple(sorted({each.engine for each in all_importers()} - {""}))


def importer_of(text: str) -> Importer | None:
    """The format that ``text`` has the structure of."""
    parts, _ = ForeignFile.parts(text)
    return next((each for part in parts for each in all_importers() if each.fits(part)), None)


def read_foreign(text: Text, user: Foreign = Foreign()) -> tuple[Foreign, ...]:
    """What each run in a file of another tool says, beside what a person does.

    Raises:
        UsageError: It is of none of the known formats, of several, or without wake-up latency.
        DataError: It is damaged.
    """
    parts, damage = ForeignFile.parts(text.text)
    fitting = [(each, part) for part in parts for each in all_importers() if each.fits(part)]
    objects = [(importer, part) for importer, part in fitting if not part.lines]
    if damage and (objects or not fitting):
        raise DataError(f"{text.name} is damaged JSON: {damage}", "copy it once more")
    notes = text.notes
    if {importer.engine for importer, _ in objects} >= {each.engine for each, _ in fitting[-1:]}:
        if objects != fitting:  # the same once more, for people
            notes += ("the lines beside its JSON are left out",)
        fitting = objects or fitting
    names = dict.fromkeys(importer.name for importer, _ in fitting)
    if not names:
        known = ", ".join(each.name for each in all_importers() if not each.refuses)
        raise UnknownFormatError(f"{text.name} is in no known format", f"one of: {known}")
    if len(names) > 1:
        raise UsageError(
            f"{text.name} is of several tools: {', '.join(names)}", "write a file of each"
        )
    runs = [(each, run) for each, part in fitting for run in each.runs(part)]
    found = [importer.take(run, text.name, user) for importer, run in runs]
    many = len(found)
    return tuple(
        evolve(
            each,
            notes=(
                *notes,
                *([f"run {place} of {many} in it, kept as a repeat"] if many > 1 else ()),
                *each.notes,
            ),
        )
        for place, each in enumerate(found, start=1)
    )


def as_run(
    foreign: Foreign, load: LoadPoint | None, repeat: int, *, name: str, user: Foreign
) -> LatencyRun:
    """A run of what a file says; ``user`` and ``load`` serve where it says nothing."""
    # Refuse an option that contradicts the file: which of the two is right is unknown.
    pairs: tuple[tuple[str, float | None, float | None, float, Callable[[float], str]], ...] = (
        ("--priority", user.priority, foreign.priority, 0.0, "{:g}".format),
        ("--interval", user.interval_ns, foreign.interval_ns, 0.0, lambda n: duration_text(int(n))),
        ("--duration", user.seconds, foreign.seconds, 0.01, "{:g} s".format),
        ("--unit", user.unit_ns, foreign.unit_ns, 0.0, lambda n: duration_text(int(n))),
    )
    for option, asked, said, near, text in pairs:
        if asked is not None and said is not None and not isclose(asked, said, rel_tol=near):
            contradiction = f"{option} {text(asked)}: {name} says {text(said)}"
            raise UsageError(contradiction, f"leave {option} out, or say the same")
    notes = list(foreign.notes)

    def known(what: str, text: Callable[[int], str]) -> int | None:
        said = getattr(foreign, what)
        found = getattr(user, what) if said is None else said
        if found is None and what in foreign.usual:
            found = foreign.usual[what]
            notes.append(f"{what.removesuffix('_ns')} {text(found)}, the tool's own")
        return None if found is None else int(found)

    interval, priority = known("interval_ns", duration_text), known("priority", str)
    missing = [
        what for what, value in (("interval", interval), ("priority", priority)) if value is None
    ]
    if interval is None or priority is None:
        hint = " and ".join(f"--{what}" for what in missing)
        raise UsageError(f"{name} does not say its {' and its '.join(missing)}", f"give {hint}")
    if not 0 < interval <= _INTERVAL_MAX_NS:
        raise DataError(f"{name}: an interval of {interval} ns", "is the file damaged?")
    policy = foreign.policy or "fifo"
    seconds = foreign.seconds or user.seconds
    if any((cpu.raw.max_ns or 0) // interval > _PERIODS_LATE_MAX for cpu in foreign.cpus):
        raise DataError(f"{name}: a latency of more than a million periods", "is it damaged?")
    cpus = _expected(foreign, seconds, interval)
    point = load_of(foreign, load, name)
    if point == UNKNOWN:
        notes.append("the load is unknown")
    problems = [Finding(id="imported", severity="warning", message=_NOT_RECORDED)]
    problems += [Finding(id=ASSUMED, severity="warning", message=note) for note in notes]
    if foreign.threads:
        message = "numbers are of threads: the file does not say on which CPUs they ran"
        problems.append(Finding(id="latency-threads", severity="warning", message=message))
    return LatencyRun(
        key=LatencyKey(point, foreign.engine, repeat),
        started=foreign.started,
        seconds=seconds or max(cpu.expected * (cpu.interval_ns or interval) for cpu in cpus) / 1e9,
        interval_ns=interval,
        priority=priority if policy != "other" else 0,
        policy=policy,
        cpus=cpus,
        load=LoadReport(asked=max(point.percent, 0)),
        circumstances=Circumstances(missing={"all": f"read from {name}"}),
        problems=tuple(problems),
        engine_version=foreign.version,
    )


def load_of(foreign: Foreign, load: LoadPoint | None, name: str) -> LoadPoint:
    """The load of a file, in its own words, else as a person says it.
    Raises UsageError: a person says another one."""
    word = re.sub(r"[^a-z0-9]+", "-", foreign.load.lower()).strip("-")
    said = (load_named(word[:40]) or load_named(f"load-{word}"[:40])) if word else None
    if said is not None and load not in (None, said):
        raise UsageError(f"load {load.text}: {name} says {foreign.load}", "leave the load out")
    return said or load or UNKNOWN


def _expected(foreign: Foreign, seconds: float | None, interval_ns: int) -> tuple[CpuLatency, ...]:
    """Its CPUs with what follows from their intervals.

    A thread that never ran was to wake up as long as the longest other one.
    """
    found = []
    for cpu in foreign.cpus:
        period = cpu.interval_ns or interval_ns
        each = expecting(cpu, seconds=seconds or 0.0, interval_ns=period) if foreign.skips else cpu
        asked = [each.expected] if foreign.skips and seconds is not None else []
        asked += [] if foreign.cycles is None else [foreign.cycles]
        found.append(evolve(each, expected=min(asked, default=each.cycles + each.missed)))
    longest = max(cpu.expected * (cpu.interval_ns or interval_ns) for cpu in found)
    return tuple(
        cpu if cpu.cycles else evolve(cpu, expected=longest // (cpu.interval_ns or interval_ns))
        for cpu in found
    )


def expecting(cpu: CpuLatency, *, seconds: float, interval_ns: int) -> CpuLatency:
    """``cpu`` with what follows from the interval: expected and missed wake-ups, and ``corrected``.

    cyclictest skips the periods that passed while it was late, and does not say so: after a latency
    of k periods and a bit, k are skipped (``timerthread`` of cyclictest.c moves on to the next
    moment in the future). Each would have been served when the late one was. That fewer cycles than
    ``seconds`` allow are there otherwise only says that a thread began late.
    """
    corrected = with_missed(cpu.raw, interval_ns)
    if cpu.raw.exceeds_ns is not None and (cpu.raw.overflow_from_ns or 0) < interval_ns:
        # Whether any of them skipped a period is not known.
        found = evolve(cpu, expected=int(seconds * 1e9) // interval_ns)
        return evolve(found, missed=corrected.total - cpu.raw.total)
    # Each that overflowed skipped at least that many periods; how late they would have been is not
    # known, so neither is what is corrected.
    beyond = cpu.raw.overflow * (max(cpu.raw.overflow_from_ns or 0, 0) // interval_ns)
    if cpu.raw.overflow and not beyond:  # the latest of them did
        beyond = (cpu.raw.max_ns or 0) // interval_ns
    return evolve(
        cpu,
        expected=int(seconds * 1e9) // interval_ns,
        missed=corrected.total - cpu.raw.total + beyond,
        corrected=None if beyond else corrected,
    )


def with_missed(raw: Histogram, interval_ns: int) -> Histogram:
    """``raw`` and a value for every period that was skipped: latency - m x interval for the m-th.

    As HdrHistogram's correction of coordinated omission, for latencies that reach the interval; a
    latency counts as the least one of its bucket. What overflowed gets none.
    """
    skipped: Counter[int] = Counter()
    for low, count in zip(raw.lows_ns().tolist(), raw.counts.tolist(), strict=True):
        for value in range(low - interval_ns, -1, -interval_ns):
            skipped[value] += count
    return raw + Histogram.counted(skipped)


# ---------- what formats have in common ----------

#: A table that is shown again and again is shown every second.
_AGAIN_S = 5.0


def starts(*patterns: str) -> Callable[[str], list[int]]:
    """Where lines of any of these forms begin."""
    form = re.compile(f"^(?:{'|'.join(patterns)})$", re.M)
    return lambda lines: [found.start() for found in form.finditer(lines)]


def screens(table: str, length: str, row: re.Pattern[str]) -> Callable[[str], Iterator[int]]:
    """Where a run begins of a tool that may show its table again and again while it runs.

    The next table is of the same run if it is a moment later, and no CPU has fewer values.

    Args:
        table: Head of a table. ``length``: a line in it, with the time that passed.
        row: One of its rows: CPU, number of values.
    """

    def begins(lines: str) -> Iterator[int]:
        before, passed, again = dict[str, int](), -1.0, False
        places = [*starts(table)(lines), len(lines)]
        for at, end in pairwise(places):
            clock = re.search(f"^{length}$", lines[at:end], re.M)
            now = seconds_of(clock[1]) if clock else 0.0
            counts = {cpu: int(n) for cpu, n, *_ in row.findall(lines, at, end)}
            more = before.keys() <= counts.keys() and all(counts[c] >= before[c] for c in before)
            least = passed if again else passed + 1
            again = bool(before) and more and least <= now <= passed + _AGAIN_S
            if not again:
                yield at
            before, passed = counts, now

    return begins


def thread(
    number: int,
    counts: Mapping[int, int],
    *,
    step: int = 1000,
    cycles: int,
    least: float | None = None,
    greatest: float | None = None,
    mean: float | None = None,
    beyond: int = 0,
    interval_ns: int | None = None,
) -> CpuLatency:
    """A thread with latencies ``counts``, in units of ``step`` ns; those of its ``cycles``
    that are not among them overflowed, or have no histogram at all.

    Args:
        least, greatest, mean: From the source; None: from the counts, and unknown where a value
            overflowed; such values count as the end of the histogram in the mean.
        beyond: Where the histogram ends, if that is known.
    """
    inside = sum(counts.values())
    overflow = cycles - inside
    if overflow < 0 or min(counts.values(), default=1) <= 0:
        raise ValueError(f"{inside} values in the histogram of {cycles} cycles")
    if min(counts, default=0) < 0 or max([*counts, greatest or 0]) * step >= _LONGEST_NS:
        raise ValueError("a latency below 0 or above a year")
    raw = Histogram.counted(
        {value * step: count for value, count in counts.items()}, resolution_ns=step
    )
    low = raw.min_ns if least is None else round(least * step)
    # cut off below: what was called 16 us was less than 17
    known = None if overflow else raw.max_ns
    high = known if greatest is None else round(greatest * step)
    if cycles and low is not None and high is not None and low > high:
        raise ValueError("its least latency is above its greatest")
    raw = evolve(raw, min_ns=low if cycles else None, max_ns=high if cycles else None)
    if overflow:
        end = max([beyond, *(value + 1 for value in counts)]) * step
        if mean is not None and not isfinite(mean):
            raise ValueError("its mean is no number")
        total = raw.sum_ns + overflow * end if mean is None else round(mean * cycles * step)
        raw = evolve(
            raw,
            sum_ns=total,
            overflow=overflow,
            overflow_from_ns=end if counts else low,
        )
    return CpuLatency(
        cpu=number, expected=0, cycles=cycles, missed=0, raw=raw, interval_ns=interval_ns
    )


def in_order(threads: Mapping[str, Json]) -> list[tuple[int, Any]]:
    """The threads of a JSON object, by their numbers."""
    return sorted((int(number), values) for number, values in threads.items())


def counts_of(values: Any) -> dict[int, int]:
    """The histogram of a JSON object; empty: it has none."""
    return {int(value): int(count) for value, count in (values.get("histogram") or {}).items()}


def kernel_of(system: Mapping[str, Json]) -> str:
    """The kernel as ``uname`` has it."""
    return f"{system.get('release', '')} {system.get('version', '')}".strip()


def whole(text: str) -> int:
    """The number in a cell of a table; 0 of one without."""
    return int(text) if text.lstrip("-").isdigit() else 0


def seconds_of(clock: str) -> float:
    """The seconds of ``1 02:03:04`` or ``02:03:04``."""
    *days, time = clock.split()
    hours, minutes, seconds = map(int, time.split(":"))
    return float(86400 * int(days[0] if days else 0) + 3600 * hours + 60 * minutes + seconds)


def unit_of(
    user: Foreign, least: int, spans: Callable[[int], Iterator[float]]
) -> tuple[int, tuple[str, ...]]:
    """What a file counts in that does not say it, ns, and what was assumed: microseconds, as long
    as the figures do not contradict it.

    Args:
        least: The smallest latency.
        spans: For a unit, the seconds that each thread's wake-ups took if latencies are in it.

    Raises:
        UsageError: It may as well be nanoseconds.
    """
    if user.unit_ns is not None:
        return user.unit_ns, ()
    limit = 1.2 * user.seconds if user.seconds is not None else None
    taken = max(spans(1000), default=0.0)
    if limit is None or taken <= limit:
        if least < _LEAST:
            return 1000, ("latencies in microseconds",)
    elif max(spans(1)) <= limit:
        why = f"in microseconds its wake-ups took {seconds_text(taken)}"
        return 1, (f"latencies in nanoseconds: {why}, not {seconds_text(user.seconds or 0)}",)
    raise UsageError(
        "does not say its unit, and its figures do not look like microseconds",
        "give --set unit=ns (cyclictest -N) or --set unit=us",
    )
