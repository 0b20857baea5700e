"""What the reader of any comparison must know of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from deadbeat.compare.decide import Options
from deadbeat.compare.vocabulary import Vocabulary
from deadbeat.compare.words import metric_text, size_text
from deadbeat.model.comparison import Comparison
from deadbeat.model.finding import Finding


class Judged(Protocol):
    """A run that may count nowhere."""

    @property
    def valid(self) -> bool: ...


def no_repeat(options: Options, *, where: str, cure: str) -> Finding:
    """No repeat of the baseline was given."""
    effect = (
        f"is guessed from within the {options.words.results} (--ungated)"
        if options.ungated
        else "is not known, and nothing is decided"
    )
    return Finding(
        id="no-aa-repeat",
        severity="serious" if options.ungated else "warning",
        message="no repeat of the baseline was given: how far two sessions differ here without"
        f" a reason {effect}",
        cure=cure,
        where=where,
    )


def lost_and_gated(comparison: Comparison, words: Vocabulary, *, more: str) -> Iterator[Finding]:
    """More was lost on one side; what differs in nothing differs by more than what matters.

    Args:
        more: What to have more of, in the words of the command.
    """
    lost = dict.fromkeys(
        line for metric in comparison.metrics for line in metric.capped if line != words.no_repeats
    )
    if lost:
        yield Finding(
            id="survivors-differ",
            severity="warning",
            message=f"more was lost on one side: {'; '.join(lost)}: what is left does not show how"
            f" the {words.results} compare",
            cure=words.find_lost,
            where=comparison.other,
        )
    for metric in comparison.metrics:
        if metric.gate is not None and metric.gate > metric.minimum:
            yield Finding(
                id="gate-above-minimum",
                severity="warning",
                message=f"{metric_text(metric.metric)}: {words.results} that differ in nothing may"
                f" differ by {size_text(metric.metric, metric.gate)} here, more than the minimum"
                f" effect of {size_text(metric.metric, metric.minimum)}",
                cure=f"a quieter machine, more {more}, or more repeats of the baseline (--aa)",
                where=comparison.other,
            )


def not_counted(name: str, runs: Sequence[Judged]) -> str:
    """How many runs count nowhere, in words; "" where all count."""
    invalid = sum(not run.valid for run in runs)
    return f"{invalid} of {len(runs)} runs of {name} do not count" if invalid else ""


def other_work_beside(name: str, text: str) -> Iterator[Finding]:
    """What else ran beside the runs of one side (`deadbeat.experiment.beside`); they count."""
    if text:
        yield Finding(
            id="other-work-beside",
            severity="info",
            message=f"{name}: {text}",
            cure="where one side has more of it the difference may be that; repeats of the"
            " baseline (--aa) in such an hour show how much it moves",
            where=name,
        )
