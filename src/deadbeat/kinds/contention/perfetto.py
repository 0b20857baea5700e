"""The recorded events around the worst jobs as a trace that ui.perfetto.dev opens.

A process for each run; in it a track for each CPU with the threads that had it, one for its
interrupts, and one for each task with its worst jobs. Times are since the run's origin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deadbeat.model.errors import UsageError
from deadbeat.model.results import RunKey
from deadbeat.model.traces import JobTrace, LateJob
from deadbeat.report.perfetto import TraceRecord, record, span, trace_text
from deadbeat.report.perfetto import named as naming
from deadbeat.store.campaign import CampaignStore
from deadbeat.trace.timeline import timeline

#: First track of the CPUs, of their interrupts, and of the tasks.
_CPUS, _INTERRUPTS, _TASKS = 0, 10_000, 20_000


def perfetto(store: CampaignStore, jobs: Sequence[LateJob]) -> str:
    """Those of ``jobs`` whose events are kept.

    Raises:
        UsageError: Of none. DataError: A file of the campaign is damaged.
    """
    runs = dict.fromkeys(job.run for job in jobs if job.traced)
    if not runs:
        hint = "run it with --causes where the kernel can be traced: deadbeat doctor"
        raise UsageError(f"no events of the worst jobs of {store.path.name} are kept", hint)
    return trace_text(
        each
        for process, run in enumerate(runs, start=1)
        for each in _run(store, process, run, [job for job in jobs if job.run == run])
    )


def _run(
    store: CampaignStore, process: int, run: str, jobs: Sequence[LateJob]
) -> Iterator[TraceRecord]:
    key = RunKey.parse(run)
    trace, table = store.traces.load(key), store.table(key)
    yield record("M", process, 0, "process_name", args={"name": f"run {run}"})
    named: dict[int, str] = {}
    wanted = {job.job: job for job in jobs}
    every = trace.jobs if trace else ()
    until: dict[int, int] = {}
    for begin_ns, end_ns, track, name in sorted({one for kept in every for one in _pieces(kept)}):
        begin = max(begin_ns, until.get(track, begin_ns))  # what is kept of two jobs may overlap
        if begin <= end_ns:
            until[track] = end_ns
            named.setdefault(track, _track(track))
            yield span(process, track, name, begin, end_ns)
    for kept in every:
        late = wanted.get(kept.job)
        if late is None:
            continue
        track = _TASKS + late.task
        named.setdefault(track, f"task t{late.task}")
        release_ns = int(table.jobs["release_ns"][kept.job])
        yield span(
            process, track, f"job {kept.job}: {late.cause}", release_ns,
            release_ns + late.response_ns,
            deadline_us=late.deadline_ns / 1e3, evidence=late.evidence,
        )  # fmt: skip
        deadline_us = (release_ns + late.deadline_ns) / 1e3
        yield record("i", process, track, "deadline", ts=deadline_us, s="t")
    for track, name in named.items():
        yield from naming(process, track, name)


def _pieces(kept: JobTrace) -> Iterator[tuple[int, int, int, str]]:
    """Begin, end, track and name of what each CPU did around a job."""
    last_ns = max((event.at_ns for event in kept.events), default=0)
    lines = timeline(kept.events, lambda _pid, _name: False, until_ns=last_ns)
    for cpu, slices in lines.slices.items():
        for each in slices:
            yield each.begin_ns, each.end_ns, _CPUS + cpu, each.thread.text
    for cpu, handlers in lines.handlers.items():
        for handler in handlers:
            yield handler.begin_ns, handler.end_ns, _INTERRUPTS + cpu, handler.text


def _track(track: int) -> str:
    return f"CPU {track}" if track < _INTERRUPTS else f"CPU {track - _INTERRUPTS} interrupts"
