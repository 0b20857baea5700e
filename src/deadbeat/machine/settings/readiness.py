"""Is a machine fit for real-time work: what a check found."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

Status = Literal["pass", "fail", "unknown"]
Severity = Literal["fatal", "high", "medium", "low", "info"]
#: Gravest first.
SEVERITIES: tuple[Severity, ...] = ("fatal", "high", "medium", "low", "info")
#: What the machine shall do: the sources disagree on some settings by it.
WORKLOADS = ("periodic", "compute", "mixed")


@frozen(kw_only=True)
class CheckResult:
    """What one check found.

    Attributes:
        id: Stable, family first: ``kernel.preempt-rt``.
        status: ``unknown``: could not be read, and ``reason`` says why; never a pass.
        reason: Why it passes, fails, or is not known: one line.
        found: Value as read; "" where nothing was.
        wanted: Value that passes, in words.
        severity: How bad a failure is. ``info``: recorded, worth knowing, changes no exit status.
        cure: What to type or change, one line; "" where nothing is to be done.
        read: What was read, and how.
    """

    id: str
    title: str
    status: Status
    reason: str
    found: str
    wanted: str
    severity: Severity
    source: str
    cure: str
    read: str = ""
