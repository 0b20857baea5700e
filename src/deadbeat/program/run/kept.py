"""What is kept of a process that is watched for days: counts, and a run of each window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from attrs import asdict, evolve, frozen

from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.model.lateness import MissCause, causes_words, counted
from deadbeat.base.model.specification import read
from deadbeat.base.model.words import Json, count_of, duration, time_text
from deadbeat.base.report.document import Column, Table, records
from deadbeat.base.report.machines import label_text
from deadbeat.base.store.files import atomic_write
from deadbeat.machine.targets.base import Target
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.program.derive.late import Late
from deadbeat.program.derive.lives import lives
from deadbeat.program.derive.recorder import read_events, recorded_from
from deadbeat.program.derive.records import Recording
from deadbeat.program.derive.shim import with_variables
from deadbeat.program.derive.tasks import derive
from deadbeat.program.run.keeping import KEPT, STATE, keep_maps, planned_threads
from deadbeat.program.run.results import ProgramKey, ProgramRun, ProgramStore
from deadbeat.program.run.spec import ProgramSpec
from deadbeat.program.run.traced import LATE, time_column, traced

#: As keep.h has them.
_SUB_BITS, _BUCKETS, _WATCHED = 5, 1248, 64
_TALLY = np.dtype(
    [
        ("name", "S64"),
        *((name, "<u8") for name in ("deadline_ns", "jobs", "misses", "worst_ns", "sum_ns")),
        ("bucket", "<u8", _BUCKETS),
    ]
)
_STATE = np.dtype(
    [
        ("magic", "S8"),
        *(
            (n, "<u8")
            for n in ("watched_ns", "starts", "windows", "only_counted", "lost", "threads")
        ),
        ("thread", _TALLY, _WATCHED),
    ]
)


@frozen(kw_only=True)
class KeptThread:
    """A thread in all the time that it was watched; quantiles by buckets of 3 %."""

    name: str
    deadline_ns: int
    jobs: int
    misses: int
    p50_ns: int
    p99_ns: int
    p9999_ns: int
    max_ns: int


@frozen(kw_only=True)
class KeptLate:
    """A late job in a window: when it is from, the run that has it, and the job."""

    when: str
    run: str
    late: Late


@frozen(kw_only=True)
class KeptCounts:
    """``only_counted``: misses without a window; ``lost``: events of the watch; ``causes``: of the
    misses in windows, but for those that are ``unread`` still, as ``late`` has them one by one;
    ``blank``: windows that do not reach back to their miss."""

    seconds: float
    starts: int
    windows: int
    only_counted: int
    lost: int
    threads: tuple[KeptThread, ...]
    causes: tuple[MissCause, ...]
    late: tuple[KeptLate, ...] = ()
    unread: int = 0
    blank: int = 0


def _quantile(tally: np.void, share: float) -> int:
    buckets = tally["bucket"]
    place = int(np.searchsorted(np.cumsum(buckets), share * int(buckets.sum())))
    shift = max((place >> _SUB_BITS) - 1, 0)
    return min(((place - (shift << _SUB_BITS)) + 1) << shift, int(tally["worst_ns"]))


def kept_of(store: ProgramStore, runs: Sequence[ProgramRun]) -> KeptCounts | None:
    """What is kept in a result; None: nothing is watched for it."""
    path = store.path / KEPT / STATE
    data = path.read_bytes() if path.is_file() else b""
    if len(data) < _STATE.itemsize:
        return None
    state = np.frombuffer(data, _STATE, 1)[0]
    threads = [
        KeptThread(
            name=each["name"].decode(errors="replace"),
            deadline_ns=int(each["deadline_ns"]),
            jobs=int(each["jobs"]),
            misses=int(each["misses"]),
            p50_ns=_quantile(each, 0.5),
            p99_ns=_quantile(each, 0.99),
            p9999_ns=_quantile(each, 0.9999),
            max_ns=int(each["worst_ns"]),
        )
        for each in state["thread"][: int(state["threads"])]
    ]
    return KeptCounts(
        seconds=int(state["watched_ns"]) / 1e9,
        starts=int(state["starts"]),
        windows=int(state["windows"]),
        only_counted=int(state["only_counted"]),
        lost=int(state["lost"]),
        threads=tuple(threads),
        causes=tuple(_pooled(runs)),
        late=tuple(_late(runs)),
        blank=sum(bool(run.missed_at and run.traced and not run.traced.misses) for run in runs),
        unread=len([*(store.path / KEPT).glob("*.facts")]),
    )


def _late(runs: Sequence[ProgramRun]) -> Iterator[KeptLate]:
    for run in runs:
        for late in run.traced.late if run.missed_at and run.traced else ():
            yield KeptLate(when=run.missed_at[:19], run=run.key.text, late=late)


def _pooled(runs: Sequence[ProgramRun]) -> Iterator[MissCause]:
    """Why jobs in windows were late, all of them."""
    rows: dict[str, list[tuple[str, str, int, int]]] = defaultdict(list)
    for run in runs:
        for each in run.traced.causes if run.missed_at and run.traced else ():
            rows[each.task].append((each.cause, each.by, each.most_ns, each.misses))
    for task, mine in rows.items():
        yield from counted(task, mine)


def answer(found: KeptCounts) -> Iterator[str]:
    """How long it was watched, what was missed, and why."""
    yield f"Watched for {duration(found.seconds)}."
    judged = [each for each in found.threads if each.deadline_ns]
    for each in sorted(judged, key=lambda each: -each.misses)[:3]:
        of = f"{each.misses:,} of {count_of(each.jobs, 'deadline')}"
        ends = f"({time_text(each.deadline_ns)} from wake-up); worst {time_text(each.max_ns)}."
        yield f"{each.name} missed {of} {ends}"
        mine = [cause for cause in found.causes if cause.task == each.name]
        if mine:
            yield f"In windows: {causes_words(mine)}."
    unread = f", {found.unread} not looked at yet: the same command does that" * (found.unread > 0)
    yield f"{count_of(found.windows, 'window')} kept{unread}."
    if found.blank:
        yield (
            f"{found.blank} of them do not have their miss: the rings were too small for it"
            " (a thread that reads its own CPU time fills them)."
        )
    if found.only_counted:
        yield f"{found.only_counted:,} more misses are only counted: too many, or no room."
    if found.lost:
        yield f"{count_of(found.lost, 'event')} lost: jobs around them are not counted."


def tables(found: KeptCounts) -> Iterator[Table]:
    """Its threads, and all late jobs that are in windows, which is a file."""
    yield table(found)
    columns = (
        Column(key="when", heading="when", words=True),
        Column(key="run", heading="run", words=True),
        *LATE,
    )
    mine = [{"when": row.when, "run": row.run, **asdict(row.late)} for row in found.late]
    yield Table(name="late", columns=columns, rows=mine, page=False)


def table(found: KeptCounts) -> Table:
    columns = (
        Column(key="name", heading="thread", words=True),
        time_column("deadline_ns", "deadline", value=lambda each: each.deadline_ns or None),
        Column(key="jobs", heading="jobs"),
        Column(key="misses", heading="missed"),
        time_column("p50_ns", "median"),
        time_column("p99_ns", "99 %"),
        time_column("p9999_ns", "99.99 %"),
        time_column("max_ns", "worst"),
    )
    title = "All jobs while it was watched; response times from wake-up"
    return Table(name="kept", columns=columns, rows=found.threads, terminal=True, title=title)


def rows(found: KeptCounts | None) -> list[dict[str, Json]]:
    """Threads that are watched, for a collector."""
    return [*records(table(found).columns, found.threads)] if found else []


def as_watched(found: KeptCounts, runs: Sequence[ProgramRun]) -> tuple[ProgramRun, ...]:
    """All that was counted, as one run: windows alone are of misses."""
    learned = [run for run in runs if run.traced and not run.missed_at][-1:]
    counts = {each.name: each for each in found.threads}
    return tuple(
        evolve(
            run,
            traced=evolve(
                run.traced,
                seconds=found.seconds,
                tasks=tuple(
                    evolve(task, jobs=each.jobs, misses=each.misses, response_max_ns=each.max_ns)
                    for task in run.traced.tasks
                    if (each := counts.get(task.name))
                ),
            ),
        )
        for run in learned
        if run.traced
    )


def late_lines(runs: Sequence[ProgramRun], worst: int) -> tuple[str, ...]:
    """The worst late jobs of all windows, with the time of day."""
    rows = sorted(_late(runs), key=lambda row: -row.late.response_ns)
    return tuple(
        f"{row.when} {late.task}: response {time_text(late.response_ns)}; {late.cause}"
        f"{f' ({late.by})' if late.by else ''} {time_text(late.ns)} (run {row.run})"
        for row in rows[:worst]
        for late in [row.late]
    ) or ("No window has a late job.",)


def _numbers(lines: Sequence[tuple[str, str]], word: str) -> list[int]:
    return next(([*map(int, rest.split())] for each, rest in lines if each == word), [])


def _recording(facts: Path, target: Target) -> tuple[Recording, list[tuple[str, str]]]:
    """A window, and what the keeper said of it."""
    text = facts.read_text(errors="replace").splitlines()
    lines = [(word, rest) for word, _, rest in (line.partition(" ") for line in text)]
    begin, end = _numbers(lines, "window")
    events = read_events(facts.with_suffix(".events"))
    not_seen = (facts.parent / "not-seen").read_text().splitlines()
    found = recorded_from(
        lines,
        np.array(events[events["ns"] >= begin]),
        not_seen,
        target=target,
        begin_ns=begin,
        end_ns=end,
    )
    names = planned_threads(facts.parent)
    threads = tuple(
        evolve(each, cpu_ns=-1, sampled_ns=0, name=names.get(each.tid, each.name))
        for each in found.threads
    )
    maps = (facts.parent / "maps").read_text(errors="replace")
    return lives(with_variables(evolve(found, threads=threads), maps, target)), lines


def _until(store: ProgramStore) -> int:
    """When the last window ended of which there is a run, on the recorder's clock, ns."""
    windows = [run.key for run in store.runs() if run.missed_at]
    last = store.events(windows[-1]) if windows else None
    return last.end_ns if last else 0


def _window(
    store: ProgramStore, facts: Path, deadlines: Mapping[str, int], target: Target, before: int
) -> int:
    """Makes a run of a window, and says when it ended. Late jobs that ended ``before`` are in the
    window before it."""
    recording, lines = _recording(facts, target)
    derived = derive(recording, deadlines=deadlines)
    again = recording.begin_ns < before <= recording.end_ns  # else it is of another boot, or later
    since = before - recording.begin_ns if again else 0
    seen = traced(recording, deadlines, derived=derived, since=since)
    with store.lock():
        last = max((key.repeat for key in store.committed()), default=0)
        key = ProgramKey(last + 1)
        store.keep_seen(key, recording, derived, seen)
        at = datetime.fromtimestamp(_numbers(lines, "wall")[0] / 1e9, UTC).isoformat()
        store.keep(
            ProgramRun(
                key=key,
                started=at,
                seconds=(recording.end_ns - recording.begin_ns) / 1e9,
                status=None,
                tasks=(),
                traced=seen,
                missed_at=at,
                misses=_numbers(lines, "misses")[0],
            )
        )
    return recording.end_ns


def _write_causes(store: ProgramStore, runs: Sequence[ProgramRun]) -> None:
    """Lines for the keeper's file for a collector."""
    name = "deadbeat_misses_by_cause_total"
    many: dict[tuple[str, str], int] = defaultdict(int)
    for each in _pooled(runs):
        many[each.task, each.cause] += each.misses
    lines = [f"# HELP {name} Late jobs in windows by cause.", f"# TYPE {name} counter"]
    for (task, cause), count in sorted(many.items()):
        labels = {"process": store.path.name, "thread": task, "cause": cause}
        text = ",".join(f'{key}="{label_text(value)}"' for key, value in labels.items())
        lines.append(f"{name}{{{text}}} {count}")
    atomic_write(store.path / KEPT / "causes", "".join(f"{line}\n" for line in lines * bool(many)))


def absorb(path: Path, there: Target | None = None) -> Iterator[str]:
    """Makes runs of all windows in a result; says which it could not. ``there``: the machine that
    has the program's files; None: this one."""
    store, folder = ProgramStore.open(path), path / KEPT
    found, spec = kept_of(store, ()), read(ProgramSpec, store.spec)
    threads = found.threads if found else ()
    known = {each.name: each.deadline_ns for each in threads if each.deadline_ns}
    with ExitStack() as held:
        target = there or held.enter_context(LocalTarget())
        with suppress(DeadbeatError):  # another writes: next time
            keep_maps(store, target)
        before = _until(store)
        for facts in sorted(folder.glob("*.facts")):
            try:
                before = _window(store, facts, known | dict(spec.deadline), target, before)
            except (ValueError, LookupError, TypeError, DeadbeatError) as error:
                yield f"a window is not looked at: {facts.stem}: {error}"
                if isinstance(error, DeadbeatError):  # no room, or another writes: later
                    break
                facts.rename(facts.with_suffix(".bad"))
                continue
            facts.unlink()
            facts.with_suffix(".events").unlink(missing_ok=True)
    _write_causes(store, [*store.runs()])
