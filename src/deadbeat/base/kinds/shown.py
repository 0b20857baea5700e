"""What a command answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:  # what has no document needs none of it
    from deadbeat.base.model.errors import UsageError
    from deadbeat.base.model.finding import Finding
    from deadbeat.base.report.document import Document, Table
    from deadbeat.base.report.machines import Verdicted


@frozen(kw_only=True)
class Shown:
    """What a command answers, or says of a folder.

    Attributes:
        plain: For ``--json``: the results, without what the next four say.
        kind: Sort of answer: a kind of experiment, or the command.
        state: How far an experiment is.
        headline: The answer in a sentence or two.
        unsaid: Raised instead where there is nothing for a person to read.
        document: Shows a result: its first screen, with the path of its ``page`` if that is
            there; its tables and sentences before that where it is wanted ``whole``, or has no
            short answer.
        parts: What follows: lines, or what prints one; then ``tables`` and ``lines``.
        doubts: What makes the answer doubtful, where no document says so; ``findings``: the ones
            are printed here.
        status: Exit status of the command.
        empty: Nothing counts: the question of a measurement has no answer.
        invalid: Runs that count nowhere.
        cases: What passed or failed, for a CI's own format. ``--fail-on WORD`` is about those of a
            group that ends with ``.WORD``.
        metrics: The figures as OpenMetrics text.
    """

    plain: Any
    kind: str = ""
    state: str = ""
    headline: str = ""
    unsaid: UsageError | None = None
    document: Document | None = None
    page: Path | None = None
    whole: bool = False
    parts: Sequence[str | Callable[[], None]] = ()
    tables: Sequence[Table] = ()
    findings: Sequence[Finding] = ()
    doubts: Sequence[Finding] = ()
    lines: Sequence[str] = ()
    status: int = 0
    empty: bool = False
    invalid: int = 0
    cases: Sequence[Verdicted] = ()
    metrics: Callable[[], str] | None = None
