"""Late jobs by what they are: one that finished, or a row of jobs of a task that never did.

A row stood behind one job of its task. Its response is known from below: had its first job been
started, it would have been when that job finished, at the earliest, or not within its slot. All
of that is core wait, and the cause of it is that of the job it stood behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deadbeat.kinds.contention.blame import Run, blame, event_facts
from deadbeat.kinds.contention.causes import has_split, in_us
from deadbeat.model.traces import PARTS, JobTrace, LateJob
from deadbeat.trace.jobs import Lateness


def blame_late(run: Run, late: Lateness, traces: Mapping[int, JobTrace]) -> LateJob:
    """What ``late`` is put down to; ``traces`` are those of its run, by job."""
    if late.finished:
        return blame(run, late.job, traces.get(late.job))
    if late.blocker in (late.job, -1):
        return _of_nobody(run, late)
    return _behind(run, late, traces.get(late.blocker))


def _behind(run: Run, late: Lateness, trace: JobTrace | None) -> LateJob:
    """The row stood behind an earlier job of its task."""
    columns, response = run.columns, late.until_ns - int(run.columns.release_ns[late.job])
    words = f"{_row(late)} skipped: job {late.blocker} of its task"
    if not columns.finished[late.blocker]:
        words += f" still ran {in_us(response)} later, when its slot ended"
        return _late_job(run, late, "core held", words, parts_ns=_waited(response))
    took = late.until_ns - int(columns.release_ns[late.blocker])
    words += f" took {in_us(took)} and finished {in_us(response)} after this release"
    if not has_split(run.table, columns)[late.blocker]:
        return _late_job(run, late, "core held", words, parts_ns=_waited(response))
    before = blame(run, late.blocker, trace)
    words += f"; that one: {before.cause}" + (f": {before.holder}" if before.holder else "")
    words += f" ({before.evidence})" if before.evidence else ""
    return _late_job(
        run, late, "core held", words, parts_ns=_waited(response), trace=trace, behind=before
    )


def _of_nobody(run: Run, late: Lateness) -> LateJob:
    """Started and not finished, or nothing of its task ran before it in its slot."""
    words = (
        "started, and not finished when its slot ended"
        if late.blocker == late.job
        else f"{_row(late)} never started, and no job of its task before them in their slot"
    )
    return _late_job(run, late, "unknown", words, parts_ns={})


def _row(late: Lateness) -> str:
    return f"{late.skipped} release{'s in a row' if late.skipped > 1 else ''}"


def _waited(response_ns: int) -> dict[str, int]:
    return {part: response_ns if part == "core_wait" else 0 for part in PARTS}


def _late_job(
    run: Run,
    late: Lateness,
    cause: str,
    words: str,
    *,
    parts_ns: dict[str, int],
    trace: JobTrace | None = None,
    behind: LateJob | None = None,
) -> LateJob:
    task = int(run.columns.task[late.job])
    facts: dict[str, Any] = {"behind": late.blocker} if late.blocker >= 0 else {}
    if behind is not None:
        facts |= {"behind_cause": behind.cause, "behind_holder": behind.holder}
    return LateJob(
        run=run.text,
        job=late.job,
        task=task,
        response_ns=late.until_ns - int(run.columns.release_ns[late.job]),
        deadline_ns=int(run.table.tasks[task]["deadline_ns"]),
        parts_ns=parts_ns,
        cause=cause,
        holder="its own previous job" if cause == "core held" else "",
        evidence=words,
        traced=behind is not None and behind.traced,
        finished=False,
        skipped=late.skipped,
        details={**facts, **event_facts(trace)},
    )
