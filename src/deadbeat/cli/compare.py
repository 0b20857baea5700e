"""``deadbeat compare``: campaigns of the identical programs, latencies or load tests together."""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from deadbeat.cli._options import choice
from deadbeat.cli._output import Part, say, table
from deadbeat.compare.kinds import all_found
from deadbeat.compare.page import write_comparison
from deadbeat.compare.results import compare_results
from deadbeat.compare.words import (
    bound_text,
    cell_text,
    count_text,
    interval_text,
    p_text,
    size_text,
    verdict_text,
    words_list,
)
from deadbeat.kinds.base import Shown
from deadbeat.kinds.interference.words import effects_beside, effects_beside_columns
from deadbeat.model.comparison import Comparable, Comparison, ComparisonResult, Lineup
from deadbeat.model.errors import UsageError
from deadbeat.model.observations import Metric
from deadbeat.model.words import nearest, shown
from deadbeat.report.canvas import FORMATS
from deadbeat.report.terminal import finding_line
from deadbeat.store.campaign import free_bytes
from deadbeat.store.family import numbered
from deadbeat.store.files import write_json

FAIL_ON = {
    "worse": {"worse"},
    "different": {"worse", "better"},
    "undecided": {"undecided", "worse"},
}
#: Cells that are told one by one; all of them are in the page and in the JSON.
_CELLS_TOLD = 10
#: Longest name of a folder made up from those of the results.
_NAME_MAX = 120
_COLUMNS = ("metric", "verdict", "effect [95 %]", "p", "gate", "least", "cells")
#: Columns of a terminal from which on a row is one line.
_WIDE = 120
#: What no line of a narrow column but the effect's, and then of this, may exceed.
_SIZE_MAX, _EFFECT_MAX = len("12.3 %"), len("[-12.34, +12.34]")


def compare(
    *,
    campaigns: tuple[str, ...],
    aa: tuple[str, ...],
    metric: tuple[str, ...],
    minimum_effect: str | None,
    minimum_miss: str | None,
    fail_on: tuple[str, ...],
    ungated: bool,
    per_cpu: bool,
    allow_mixed: bool,
    partial: bool,
    out: Path | None,
    figures: bool,
    runs: Path,
) -> Shown:
    kind, paths = all_found(runs, [*campaigns, *aa])
    if per_cpu and not kind.per_cpu:
        raise UsageError("--per-cpu is of latency matrices", f"no cell of a {kind.noun} is a CPU")
    metrics = asked_metrics(kind, metric, minimum_effect, minimum_miss)
    failing = failing_verdicts(fail_on)
    if len(campaigns) < 2:
        several = kind.words.results
        raise UsageError(
            f"two {several} are needed: the baseline, and what is compared with it"
            if campaigns
            else f"no {several} are named",
            "deadbeat compare A B; deadbeat runs lists them",
        )
    own = [path.resolve().name for path in paths[: len(campaigns)]]
    folder = new_folder(out, runs, own)
    sides = tuple(map(kind.read, paths))
    subjects, repeats = sides[: len(campaigns)], sides[len(campaigns) :]
    result = compare_results(
        kind,
        Lineup(subjects=subjects, repeats=repeats, per_cpu=per_cpu, partial=partial),
        metrics=metrics,
        ungated=ungated,
        allow_mixed=allow_mixed,
    )
    page = write_comparison(
        result,
        folder,
        formats=FORMATS if figures else (),
        overlays=functools.partial(kind.overlays, subjects),
    )
    write_json(folder / "comparison.json", result.plain())
    reasons = list(_failures(result, failing))
    for reason in reasons:
        say(f"--fail-on: {reason}")
    return Shown(
        plain={**result.plain(), "report": str(page)},
        parts=[*_parts(result), f"report: {page}"],
        status=1 if reasons else 0,
    )


def asked_metrics(
    kind: Comparable[Any], names: Sequence[str], effect: str | None, miss: str | None
) -> tuple[Metric, ...]:
    """The metrics asked for, with the effects that matter; every wrong one is named."""
    known = {metric.name: metric for metric in kind.metrics}
    wrong = [
        f"--metric: {shown(name)} is not a metric: {nearest(name, list(known))}"
        for name in dict.fromkeys(names)
        if name not in known
    ]
    minimum = {}
    for option, text, rare in (("--minimum-effect", effect, False), ("--minimum-miss", miss, True)):
        try:
            minimum[rare] = kind.minimum(rare=rare) if text is None else float(text)
        except ValueError:
            minimum[rare] = -1.0
        if not 0 < minimum[rare] <= 1:
            wrong.append(f"{option}: {shown(text)} is not in (0, 1]: 0.02 is two per cent")
    if wrong:
        raise UsageError(
            wrong[0] if len(wrong) == 1 else f"{len(wrong)} problems:",
            details=tuple(wrong) if len(wrong) > 1 else (),
        )
    # In the order of what is known, however they were named.
    return tuple(
        evolve(metric, minimum=minimum[metric.rare])
        for metric in kind.metrics
        if not names or metric.name in names
    )


def failing_verdicts(words: Sequence[str]) -> set[str]:
    return set().union(*(FAIL_ON[choice("--fail-on", word, tuple(FAIL_ON), "")] for word in words))


def _failures(result: ComparisonResult, failing: set[str]) -> Iterator[str]:
    """Why the comparison fails; a metric without a vote in the verdict may be what is undecided."""
    for comparison in result.comparisons:
        name = f"{comparison.other} against {comparison.baseline}"
        if comparison.verdict in failing:
            yield f"{name} is {comparison.verdict}"
        elif "undecided" in failing and comparison.undecided:
            words = {each.metric.name: each.metric.words for each in comparison.metrics}
            open_ = words_list([words[metric] for metric in comparison.undecided])
            yield f"{name} is undecided in {open_}"


def new_folder(out: Path | None, runs: Path, names: Sequence[str]) -> Path:
    """A folder that is not there yet, or an empty one."""
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(f"--out: {out} is not an empty folder", "name a new one")
        free_bytes(out, option="--out")
        return out
    name = "-".join(["compare", *names])[:_NAME_MAX]
    number = 1
    while (runs / numbered(name, number)).exists():
        number += 1
    return runs / numbered(name, number)


# -- in the terminal


def _parts(result: ComparisonResult) -> Iterator[Part]:
    """Verdict first, then what it rests on."""
    marks = "   ".join(map(_mark, result.labels))
    for comparison in result.comparisons:
        yield (
            f"{comparison.verdict.upper()}: {comparison.other} against {comparison.baseline}:"
            f" {comparison.reason}{'   ' + marks if marks else ''}"
        )
    for comparison in result.comparisons:
        yield from _comparison(comparison)
    if result.remedies:
        columns = effects_beside_columns([str(campaign["name"]) for campaign in result.campaigns])
        yield table(
            columns,
            effects_beside(result.remedies),
            title="remedies, each against runs of its own test without it",
            numeric=columns[2:],
            whole=columns[:1],
        )
    if result.differences:
        yield f"what differs ({result.comparisons[0].baseline} | the other):"
        yield from (f"    {line}" for line in result.differences)
    else:
        yield "what differs: nothing that was recorded of the machines and kernels"
    for finding in result.findings:
        if finding.id != "gate-above-minimum":  # told above, with what would decide it
            yield finding_line(finding)


def _mark(label: str) -> str:
    """Loud, but for the names of results."""
    for sign in ("(", ":"):
        if sign in label:
            head, _, names = label.partition(sign)
            return f"{head.upper()}{sign}{names}"
    return label.upper()


def _comparison(comparison: Comparison) -> Iterator[Part]:
    yield from metric_parts(comparison)
    cells = [cell for metric in comparison.metrics for cell in metric.cells]
    several = len({cell.deadline_factor for cell in cells}) > 1
    decisive = [cell for cell in cells if cell.verdict in ("worse", "better")]
    decisive.sort(key=lambda cell: -abs(cell.effect or 0.0))
    for cell in decisive[:_CELLS_TOLD]:
        yield (
            f"    {cell.verdict} at {cell_text(cell, factor=several)}: {cell.metric.words}"
            f" {interval_text(cell)}, {cell.pairs} pairs, p (Holm) {p_text(cell.p_holm)}"
        )
    if len(decisive) > _CELLS_TOLD:
        yield f"    and {len(decisive) - _CELLS_TOLD} more cells"
    yield from (f"gate: {each}" for each in dict.fromkeys(m.gate_basis for m in comparison.metrics))
    yield from (f"to decide {line}" for line in comparison.needs)


def metric_parts(comparison: Comparison) -> Iterator[Part]:
    """A row per metric, what the columns are, and the minimum effects."""
    narrow = sys.stdout.isatty() and shutil.get_terminal_size().columns < _WIDE
    columns = [_broken(name, " [") for name in _COLUMNS] if narrow else list(_COLUMNS)
    rows = []
    minimums: dict[str, list[str]] = {}
    for metric in comparison.metrics:
        sizes = (metric.gate, metric.smallest_effect)
        row = [
            metric.metric.words,
            verdict_text(metric),
            interval_text(metric),
            p_text(metric.p_holm),
            *("?" if size is None else size_text(metric.metric, size) for size in sizes),
            count_text(metric),
        ]
        rows.append(_narrow_row(row) if narrow else row)
        text = bound_text(metric.metric, metric.minimum)
        minimums.setdefault(text, []).append(metric.metric.words)
    title = f"{comparison.other} against {comparison.baseline}, each cell counted once"
    yield table(columns, rows, title=title, numeric=columns[2:6], whole=columns[2:6])
    yield (
        "p: after Holm over the metrics; gate: how far results differ here without a reason;"
        " least: the smallest effect that could have been shown"
    )
    told = (
        f"{text} of {words_list(names)}" if len(minimums) > 1 else text
        for text, names in minimums.items()
    )
    yield f"minimum effect: {'; '.join(told)}"


def _narrow_row(row: Sequence[str]) -> list[str]:
    """Broken where a line would be, and nowhere else: a number stays whole."""
    metric, verdict, effect, p, *sizes, cells = row
    short = [text.replace("more than ", "> ") for text in (effect, *sizes)]
    lines = short[0].replace(" [", "\n[").split("\n")
    return [
        _broken(metric, " "),
        _broken(verdict, ", "),
        "\n".join(
            _broken(line, ", ", keep=",") if len(line) > _EFFECT_MAX else line for line in lines
        ),
        _short_p(p),
        *(_broken(text, " ") if len(text) > _SIZE_MAX else text for text in short[1:]),
        _broken(cells, ", "),
    ]


def _short_p(text: str) -> str:
    """At most five characters: ``0.012``, ``1e-03``, ``<1e-6``."""
    if text.startswith("<"):
        return "<1e-6"
    return text if len(text) < len("0.0012") else f"{float(text):.0e}"


def _broken(text: str, at: str, *, keep: str = "") -> str:
    """A new line at each ``at``, of which a bracket stays; a comma only with ``keep``."""
    return text.replace(at, keep + "\n" + at.strip(" ,"))
