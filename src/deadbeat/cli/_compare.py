"""What ``deadbeat compare`` does; apart from its options, so that ``--help`` imports none of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import click

from deadbeat.cli._compare_kinds import Answer, Ask, all_found, found
from deadbeat.cli._compare_table import interval_text, p_text, print_metrics
from deadbeat.cli._output import print_json, print_table, say
from deadbeat.compare.decide import Options
from deadbeat.compare.words import (
    cell_text,
    metric_text,
    words_list,
)
from deadbeat.kinds.interference.words import effects_beside, effects_beside_columns
from deadbeat.model.comparison import (
    CellComparison,
    Comparison,
    ComparisonResult,
)
from deadbeat.model.errors import UsageError
from deadbeat.model.words import nearest, shown
from deadbeat.store.campaign import free_bytes
from deadbeat.store.family import numbered
from deadbeat.store.files import write_json
from deadbeat.store.place import LOAD_TEST, MATRIX

FAIL_ON = {
    "worse": {"worse"},
    "different": {"worse", "better"},
    "undecided": {"undecided", "worse"},
}
#: Cells that are told one by one; all of them are in the page and in the JSON.
_CELLS_TOLD = 10
#: Longest name of a folder made up from those of the campaigns.
_NAME_MAX = 120


def compare(options: Mapping[str, Any]) -> int:
    """Compares what the command line names; returns the exit status."""
    runs, names = options["runs"], options["campaigns"]
    kind, folders = all_found(runs, [*names, *options["aa"]])
    if options["per_cpu"] and not kind.per_cpu:
        raise UsageError(
            "--per-cpu is of latency matrices",
            "a cell of a load test is a number of ordinary threads"
            if kind.place is LOAD_TEST
            else "campaigns are compared per point or group",
        )
    asked = asked_options(
        options,
        kind.metrics,
        minimum_effect=kind.minimum_effect,
        minimum_miss=kind.minimum_miss,
    )
    failing = failing_verdicts(options["fail_on"])
    if len(names) < 2:
        raise UsageError(
            f"two {kind.several} are needed: the baseline, and what is compared with it"
            if names
            else f"no {kind.several} are named",
            "deadbeat compare A B; deadbeat runs lists them",
        )
    paths = folders[: len(names)]
    folder = new_folder(options["out"], runs, [path.resolve().name for path in paths])
    answer = kind.compare(
        Ask(
            paths=paths,
            repeats=folders[len(names) :],
            options=asked,
            per_cpu=options["per_cpu"],
            allow_mixed=options["allow_mixed"],
            partial=options["partial"],
        )
    )
    page = _write(answer, folder, figures=options["figures"])
    return _conclude(answer.result, page, failing, as_json=options["as_json"])


def find_matrix(runs: Path, name: str) -> Path:
    """The folder of the matrix ``name``; UsageError where it is none."""
    kind, path = found(runs, name)
    if kind.place is not MATRIX:
        raise UsageError(
            f"{name} is a {kind.place.noun}, beside it a {MATRIX.noun} is named: they have nothing"
            " in common",
            "name matrices (deadbeat latency); deadbeat runs lists them",
        )
    return path


def _conclude(result: ComparisonResult, page: Path, failing: set[str], *, as_json: bool) -> int:
    """Tells the result; returns the exit status."""
    if as_json:
        print_json({**attrs.asdict(result), "report": str(page)})
    else:
        _tell(result)
        click.echo(f"report: {page}")
    reasons = list(_failures(result, failing))
    for reason in reasons:
        say(f"--fail-on: {reason}")
    return 1 if reasons else 0


def _failures(result: ComparisonResult, failing: set[str]) -> Iterator[str]:
    """Why the comparison fails; a metric without a vote in the verdict may be what is undecided."""
    for comparison in result.comparisons:
        name = f"{comparison.other} against {comparison.baseline}"
        if comparison.verdict in failing:
            yield f"{name} is {comparison.verdict}"
        elif "undecided" in failing and comparison.undecided:
            open_ = words_list([metric_text(metric) for metric in comparison.undecided])
            yield f"{name} is undecided in {open_}"


def asked_options(options: Mapping[str, Any], known: Sequence[str], **defaults: float) -> Options:
    """The options of the statistics; every wrong one is named.

    Args:
        known: The metrics there are.
        defaults: ``minimum_effect`` and ``minimum_miss`` where they are not asked for.
    """
    wrong = []
    metrics = tuple(dict.fromkeys(options["metric"])) or tuple(known)
    for metric in metrics:
        if metric not in known:
            wrong.append(f"--metric: {shown(metric)} is not a metric: {nearest(metric, known)}")
    bounds = {}
    for option, default in defaults.items():
        try:
            bounds[option] = default if options[option] is None else float(options[option])
        except ValueError:
            bounds[option] = -1.0
        if not 0 < bounds[option] <= 1:
            name = f"--{option.replace('_', '-')}"
            wrong.append(f"{name}: {shown(options[option])} is not in (0, 1]: 0.02 is two per cent")
    if wrong:
        raise UsageError(
            wrong[0] if len(wrong) == 1 else f"{len(wrong)} problems:",
            details=tuple(wrong) if len(wrong) > 1 else (),
        )
    # In the order of what is known, however they were named.
    return Options(
        metrics=tuple(metric for metric in known if metric in metrics),
        minimum_effect=bounds["minimum_effect"],
        minimum_miss=bounds["minimum_miss"],
        resamples=options["resamples"],
        seed=options["seed"],
        ungated=options["ungated"],
    )


def failing_verdicts(words: Sequence[str]) -> set[str]:
    unknown = [word for word in words if word not in FAIL_ON]
    if unknown:
        raise UsageError(
            f"--fail-on: {shown(unknown[0])} is not a choice", nearest(unknown[0], list(FAIL_ON))
        )
    return set().union(*(FAIL_ON[word] for word in words))


def _write(answer: Answer, folder: Path, *, figures: bool) -> Path:
    """Page, figures and ``comparison.json``; returns the page's path."""
    from deadbeat.compare.page import write_comparison  # noqa: PLC0415  heavy
    from deadbeat.report.canvas import FORMATS  # noqa: PLC0415  heavy

    page = write_comparison(
        answer.result,
        answer.summaries,
        folder,
        formats=FORMATS if figures else (),
        extra=answer.extra(),
    )
    write_json(folder / "comparison.json", attrs.asdict(answer.result))
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
        names = [str(campaign["name"]) for campaign in result.campaigns]
        columns = effects_beside_columns(names)
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
        if finding.id == "gate-above-minimum":
            continue  # told above, with what would decide it
        cure = f" ({finding.cure})" if finding.cure else ""
        click.echo(f"{finding.severity}: {finding.message}{cure}")


def _mark(label: str) -> str:
    """Loud, but for the names of campaigns."""
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
        click.echo(_cell_line(cell, factor=several))
    if len(decisive) > _CELLS_TOLD:
        click.echo(f"    and {len(decisive) - _CELLS_TOLD} more cells")
    for basis in dict.fromkeys(metric.gate_basis for metric in comparison.metrics):
        click.echo(f"gate: {basis}")
    for line in comparison.needs:
        click.echo(f"to decide {line}")


def _cell_line(cell: CellComparison, *, factor: bool) -> str:
    return (
        f"    {cell.verdict} at {cell_text(cell, factor=factor)}: {metric_text(cell.metric)}"
        f" {interval_text(cell.metric, cell.effect, cell.low, cell.high)}, {cell.pairs} pairs,"
        f" p (Holm) {p_text(cell.p_holm)}"
    )
