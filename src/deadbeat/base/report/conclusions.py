"""Published statements that were checked, on a page, in a terminal and as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from deadbeat.base.model.conclusion import VERDICTS, Judgement
from deadbeat.base.model.words import Json, capital, count_of, loud
from deadbeat.base.report.document import Lines, Part, Remark, Remarks, Subsection, Table, said

#: What stands for `Evidence.holds`.
_HOLDS = {True: "yes", False: "no", None: "unknown"}


def counted_verdicts(judgements: Sequence[Judgement]) -> str:
    """``Of 4 published statements: 3 confirmed, 1 depends.`` What is needed is not said."""
    counts = Counter(each.verdict.partition(":")[0] for each in judgements)
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    return f"Of {count_of(len(judgements), 'published statement')}: {words}."


def verdict_text(judgement: Judgement) -> str:
    """``depends on ties (SIMULATED)``."""
    on = f" on {', '.join(judgement.on)}" if judgement.on else ""
    labels = f" ({', '.join(loud(judgement.labels))})" if judgement.labels else ""
    return f"{judgement.verdict}{on}{labels}"


def held_text(judgement: Judgement) -> str:
    held = sum(item.holds is True for item in judgement.evidence)
    return f"holds in {held} of {len(judgement.evidence)} variants"


def conclusion_parts(judgement: Judgement) -> tuple[Part, ...]:
    held = f" {held_text(judgement).capitalize()}." if judgement.verdict in VERDICTS else ""
    said_of = Remark(
        kind=judgement.verdict.partition(":")[0].replace(" ", "-"),
        label=capital(verdict_text(judgement)),
        text=f"{judgement.conclusion.says}.",
        detail=f"Confirmed means: {judgement.conclusion.confirmed}.{held}",
    )
    figures = Table(
        name=f"conclusion-{judgement.conclusion.id}",
        columns=(
            said(
                "variant",
                lambda item: ", ".join(map(": ".join, item.variant.items())) or "as specified",
            ),
            said("holds", lambda item: _HOLDS[item.holds], words=True),
            said("figures", attrgetter("figures"), long=True),
        ),
        rows=judgement.evidence,
        dense=True,
    )
    return Remarks([said_of]), Subsection("Figures", (figures,), folded=len(judgement.evidence) > 3)


def _lines(judgement: Judgement) -> list[str]:
    """The verdict, and the first figures for and against it."""
    many = f", {held_text(judgement)}" if judgement.on else ""
    lines = [
        f"{verdict_text(judgement)}: {judgement.conclusion.says}",
        f"    confirmed means: {judgement.conclusion.confirmed}{many}",
    ]
    for wanted, mark in ((True, "holds"), (False, "does not hold"), (None, "unknown")):
        item = next((each for each in judgement.evidence if each.holds is wanted), None)
        if item is not None:
            variant = ", ".join(f"{name} {value}" for name, value in item.variant.items())
            lines.append(f"    {mark}{f' ({variant})' if variant else ''}: {item.figures}")
    return lines


def terminal_lines(judgements: Sequence[Judgement]) -> Part:
    """The lines of each, for a terminal alone."""
    return Lines([_lines(each) for each in judgements], terminal=True, page=False)


def plain_conclusions(judgements: Sequence[Judgement]) -> list[dict[str, Json]]:
    return [
        {
            "id": item.conclusion.id,
            "says": item.conclusion.says,
            "confirmed_means": item.conclusion.confirmed,
            "verdict": item.verdict,
            "on": list(item.on),
            **({"labels": list(loud(item.labels))} if item.labels else {}),
            "evidence": [
                {"variant": one.variant, "holds": one.holds, "figures": one.figures}
                for one in item.evidence
            ],
        }
        for item in judgements
    ]
