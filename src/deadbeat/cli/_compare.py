"""What ``deadbeat compare`` does; apart from its options, so that ``--help`` imports none of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from deadbeat.cli._output import print_json, say
from deadbeat.compare.kinds import all_found
from deadbeat.compare.page import write_comparison
from deadbeat.compare.results import compare_results
from deadbeat.compare.words import words_list
from deadbeat.model.comparison import Comparable, ComparisonResult, Lineup
from deadbeat.model.errors import UsageError
from deadbeat.model.observations import Metric
from deadbeat.model.words import nearest, shown
from deadbeat.report.canvas import FORMATS
from deadbeat.report.document import Document
from deadbeat.report.terminal import finding_line, print_parts
from deadbeat.store.campaign import free_bytes
from deadbeat.store.family import numbered
from deadbeat.store.files import write_json

FAIL_ON = {
    "worse": {"worse"},
    "different": {"worse", "better"},
    "undecided": {"undecided", "worse"},
}
#: Longest name of a folder made up from those of the results.
_NAME_MAX = 120


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
    formats = FORMATS if options["figures"] else ()
    page, document = write_comparison(result, folder, formats=formats, overlays=overlays)
    write_json(folder / "comparison.json", result.plain())
    if options["as_json"]:
        print_json({**result.plain(), "report": str(page)})
    else:
        _tell(result, document)
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


def _tell(result: ComparisonResult, document: Document) -> None:
    """Verdict first, then what it rests on."""
    marks = "   ".join(map(_mark, result.labels))
    for comparison in result.comparisons:
        click.echo(
            f"{comparison.verdict.upper()}: {comparison.other} against {comparison.baseline}:"
            f" {comparison.reason}{'   ' + marks if marks else ''}"
        )
    for section in document.sections:
        print_parts(section.parts)
    for finding in result.findings:
        if finding.id != "gate-above-minimum":  # told above, with what would decide it
            click.echo(finding_line(finding))


def _mark(label: str) -> str:
    """Loud, but for the names of results."""
    return re.sub(r"^[^(:]*", lambda found: found[0].upper(), label)
