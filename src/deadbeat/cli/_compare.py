"""What ``deadbeat compare`` does; apart from its options, so that ``--help`` imports none of it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from deadbeat.cli._output import print_json, print_table, say
from deadbeat.compare.kinds import all_found
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
from deadbeat.kinds.interference.words import effects_beside, effects_beside_columns
from deadbeat.model.comparison import Comparable, Comparison, ComparisonResult, Lineup
from deadbeat.model.errors import UsageError
from deadbeat.model.observations import Metric
from deadbeat.model.words import nearest, shown
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


def compare(options: Mapping[str, Any]) -> int:
    """Compares what the command line names; returns the exit status."""
    runs, names = options["runs"], options["campaigns"]
    kind, paths = all_found(runs, [*names, *options["aa"]])
    if options["per_cpu"] and not kind.per_cpu:
        raise UsageError("--per-cpu is of latency matrices", f"no cell of a {kind.noun} is a CPU")
    metrics = asked_metrics(options, kind)
    failing = failing_verdicts(options["fail_on"])
    if len(names) < 2:
        several = kind.words.results
        raise UsageError(
            f"two {several} are needed: the baseline, and what is compared with it"
            if names
            else f"no {several} are named",
            "deadbeat compare A B; deadbeat runs lists them",
        )
    own = [path.resolve().name for path in paths[: len(names)]]
    folder = new_folder(options["out"], runs, own)
    subjects = tuple(map(kind.read, paths))
    result = compare_results(
        kind,
        Lineup(
            subjects=subjects[: len(names)],
            repeats=subjects[len(names) :],
            per_cpu=options["per_cpu"],
            partial=options["partial"],
        ),
        metrics=metrics,
        ungated=options["ungated"],
        allow_mixed=options["allow_mixed"],
    )
    overlays = partial(kind.overlays, subjects[: len(names)])
    page = _write(result, folder, overlays, figures=options["figures"])
    if options["as_json"]:
        print_json({**result.plain(), "report": str(page)})
    else:
        _tell(result)
        click.echo(f"report: {page}")
    reasons = list(_failures(result, failing))
    for reason in reasons:
        say(f"--fail-on: {reason}")
    return 1 if reasons else 0


def asked_metrics(options: Mapping[str, Any], kind: Comparable[Any]) -> tuple[Metric, ...]:
    """The metrics asked for, with the effects that matter; every wrong one is named."""
    known = {metric.name: metric for metric in kind.metrics}
    wrong = [
        f"--metric: {shown(name)} is not a metric: {nearest(name, list(known))}"
        for name in dict.fromkeys(options["metric"])
        if name not in known
    ]
    minimum = {}
    for option, rare in (("minimum_effect", False), ("minimum_miss", True)):
        try:
            text = options[option]
            minimum[rare] = kind.minimum(rare=rare) if text is None else float(text)
        except ValueError:
            minimum[rare] = -1.0
        if not 0 < minimum[rare] <= 1:
            name = f"--{option.replace('_', '-')}"
            wrong.append(f"{name}: {shown(options[option])} is not in (0, 1]: 0.02 is two per cent")
    if wrong:
        raise UsageError(
            wrong[0] if len(wrong) == 1 else f"{len(wrong)} problems:",
            details=tuple(wrong) if len(wrong) > 1 else (),
        )
    # In the order of what is known, however they were named.
    return tuple(
        evolve(metric, minimum=minimum[metric.rare])
        for metric in kind.metrics
        if not options["metric"] or metric.name in options["metric"]
    )


def failing_verdicts(words: Sequence[str]) -> set[str]:
    unknown = [word for word in words if word not in FAIL_ON]
    if unknown:
        raise UsageError(
            f"--fail-on: {shown(unknown[0])} is not a choice", nearest(unknown[0], list(FAIL_ON))
        )
    return set().union(*(FAIL_ON[word] for word in words))


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


def _write(result: ComparisonResult, folder: Path, overlays: Any, *, figures: bool) -> Path:
    """Page, figures and ``comparison.json``; returns the page's path."""
    from deadbeat.compare.page import write_comparison  # noqa: PLC0415  heavy
    from deadbeat.report.canvas import FORMATS  # noqa: PLC0415  heavy

    formats = FORMATS if figures else ()
    page = write_comparison(result, folder, formats=formats, overlays=overlays)
    write_json(folder / "comparison.json", result.plain())
    return page


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


def _tell(result: ComparisonResult) -> None:
    """Verdict first, then what it rests on."""
    marks = "   ".join(map(_mark, result.labels))
    for comparison in result.comparisons:
        click.echo(
            f"{comparison.verdict.upper()}: {comparison.other} against {comparison.baseline}:"
            f" {comparison.reason}{'   ' + marks if marks else ''}"
        )
    for comparison in result.comparisons:
        _tell_comparison(comparison)
    if result.remedies:
        columns = effects_beside_columns([str(campaign["name"]) for campaign in result.campaigns])
        print_table(
            columns,
            effects_beside(result.remedies),
            title="remedies, each against runs of its own test without it",
            numeric=columns[2:],
            whole=columns[:1],
        )
    if result.differences:
        click.echo(f"what differs ({result.comparisons[0].baseline} | the other):")
        for line in result.differences:
            click.echo(f"    {line}")
    else:
        click.echo("what differs: nothing that was recorded of the machines and kernels")
    for finding in result.findings:
        if finding.id != "gate-above-minimum":  # told above, with what would decide it
            cure = f" ({finding.cure})" if finding.cure else ""
            click.echo(f"{finding.severity}: {finding.message}{cure}")


def _mark(label: str) -> str:
    """Loud, but for the names of results."""
    for sign in ("(", ":"):
        if sign in label:
            head, _, names = label.partition(sign)
            return f"{head.upper()}{sign}{names}"
    return label.upper()


def _tell_comparison(comparison: Comparison) -> None:
    print_metrics(comparison)
    cells = [cell for metric in comparison.metrics for cell in metric.cells]
    several = len({cell.deadline_factor for cell in cells}) > 1
    decisive = [cell for cell in cells if cell.verdict in ("worse", "better")]
    decisive.sort(key=lambda cell: -abs(cell.effect or 0.0))
    for cell in decisive[:_CELLS_TOLD]:
        click.echo(
            f"    {cell.verdict} at {cell_text(cell, factor=several)}: {cell.metric.words}"
            f" {interval_text(cell)}, {cell.pairs} pairs, p (Holm) {p_text(cell.p_holm)}"
        )
    if len(decisive) > _CELLS_TOLD:
        click.echo(f"    and {len(decisive) - _CELLS_TOLD} more cells")
    for basis in dict.fromkeys(metric.gate_basis for metric in comparison.metrics):
        click.echo(f"gate: {basis}")
    for line in comparison.needs:
        click.echo(f"to decide {line}")


def print_metrics(comparison: Comparison) -> None:
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
    print_table(columns, rows, title=title, numeric=columns[2:6], whole=columns[2:6])
    click.echo(
        "p: after Holm over the metrics; gate: how far results differ here without a reason;"
        " least: the smallest effect that could have been shown"
    )
    told = (
        f"{text} of {words_list(names)}" if len(minimums) > 1 else text
        for text, names in minimums.items()
    )
    click.echo(f"minimum effect: {'; '.join(told)}")


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
