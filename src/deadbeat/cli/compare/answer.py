"""``deadbeat compare``: campaigns of the identical programs, latencies or load tests together."""

from __future__ import annotations

import functools
import itertools
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from deadbeat.base.kinds.base import Begin
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.comparison import Comparable, ComparisonResult, Lineup, Subject
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.observations import Metric
from deadbeat.base.model.words import nearest, shown
from deadbeat.base.report.document import Document
from deadbeat.base.report.machines import Verdicted
from deadbeat.base.report.paper import FORMATS
from deadbeat.base.report.terminal import finding_line, print_parts
from deadbeat.base.store.files import free_bytes, write_json
from deadbeat.base.store.place import numbered
from deadbeat.base.verdicts.words import verdict_line, words_list
from deadbeat.cli._measure import answered
from deadbeat.cli._options import words_typed
from deadbeat.cli._output import Part, say
from deadbeat.cli._signals import interruptible
from deadbeat.cli.compare.page import OVERLAID, write_comparison
from deadbeat.cli.compare.results import all_found, compare_results
from deadbeat.cli.derived import kept
from deadbeat.program.run.kind import KIND

FAIL_ON = {
    "worse": {"worse"},
    "different": {"worse", "better"},
    "undecided": {"undecided", "worse"},
}
#: Longest name of a folder made up from those of the results.
_NAME_MAX = 120


def compare(
    *,
    campaigns: tuple[str, ...],
    aa: tuple[str, ...] = (),
    metric: tuple[str, ...] = (),
    minimum_effect: float | None = None,
    minimum_miss: float | None = None,
    fail_on: tuple[str, ...] = (),
    ungated: bool = False,
    per_cpu: bool = False,
    allow_mixed: bool = False,
    partial: bool = False,
    out: Path | None = None,
    figures: bool | None = None,
    show_all: bool = False,
    runs: Path,
) -> Shown:
    if (programs := _programs(campaigns, runs)) is not None:
        campaigns = (_in_turns(*programs, runs=runs, figures=figures),)
    kind, paths = all_found(runs, [*campaigns, *aa])
    if per_cpu and not kind.per_cpu:
        raise UsageError("--per-cpu is of latency matrices", f"no cell of a {kind.noun} is a CPU")
    metrics = asked_metrics(kind, metric, minimum_effect, minimum_miss)
    failing = set[str]().union(*(FAIL_ON[word] for word in fail_on))
    turns = len(campaigns) == 1 and kind.changes is not None and kind.changes(paths[0])
    if len(campaigns) < 2 and not turns:
        raise UsageError(
            "two results are needed: the baseline, and what is compared with it",
            "deadbeat compare A B; deadbeat list results lists them",
        )
    own = [path.resolve().name for path in paths[: len(campaigns)]]
    folder = new_folder(out, runs, own)
    sides = tuple(map(kind.read, paths))
    subjects, repeats = sides[: len(campaigns)], sides[len(campaigns) :]
    subjects = turns or subjects
    result = compare_results(
        kind,
        Lineup(subjects=subjects, repeats=repeats, per_cpu=per_cpu, partial=partial),
        metrics=metrics,
        ungated=ungated,
        allow_mixed=allow_mixed,
    )
    page, document = write_comparison(
        result,
        folder,
        formats=FORMATS if figures else (),
        overlays=functools.partial(kind.overlays, _overlaid(subjects)),
    )
    write_json(folder / "comparison.json", result.plain(), indent=None)
    reasons = list(_failures(result, failing))
    for reason in reasons:
        say(f"--fail-on: {reason}")
    shown = Shown(
        kind="compare",
        headline=" ".join(map(verdict_line, result.comparisons)),
        doubts=result.findings,
        cases=list(_cases(result, failing or FAIL_ON["worse"])),
        plain={**result.plain(), "report": str(page)},
        document=None if show_all else evolve(document, labels=tuple(map(_mark, result.labels))),
        page=page,
        parts=[*_parts(result, document), f"page: {page}"] if show_all else [],
        status=1 if reasons else 0,
    )
    return kept(shown, folder, "compare", paths)


def _overlaid(subjects: Sequence[Subject]) -> Sequence[Subject]:
    """The baseline, and the last of the others."""
    return (subjects[0], *subjects[1:][1 - OVERLAID :])


def _programs(names: Sequence[str], runs: Path) -> list[list[str]] | None:
    """Two commands of programs, unless they are names of results."""
    commands = [shlex.split(name) for name in names]
    programs = len(names) == 2 and all(
        words and os.access(words[0], os.X_OK) and Path(words[0]).is_file() for words in commands
    )
    return commands if programs and not any((runs / name).is_dir() for name in names) else None


def _in_turns(old: list[str], new: list[str], *, runs: Path, figures: bool | None) -> str:
    """Name of a result in which both programs were measured in turns."""
    name = f"{Path(old[0]).stem}-against-{Path(new[0]).stem}"
    begin = Begin(
        runs=runs,
        typed={"command": old, "against": new, "name": name},
        words=words_typed("compare"),
        say=say,
        agree=say,
    )
    with interruptible():
        return answered(KIND, begin, figures).name


def asked_metrics(
    kind: Comparable[Any], names: Sequence[str], effect: float | None, miss: float | None
) -> tuple[Metric, ...]:
    """The metrics asked for in the order of the kind, with the effects that matter."""
    known = [metric.name for metric in kind.metrics]
    for name in names:
        if name not in known:
            raise UsageError(f"--metric: {shown(name)} is not a metric", nearest(name, known))
    for option, size in (("--minimum-effect", effect), ("--minimum-miss", miss)):
        if size is not None and not 0 < size <= 1:
            raise UsageError(f"{option}: {size:g} is not in (0, 1]", "0.02 is two per cent")
    return tuple(
        evolve(metric, minimum=(miss if metric.rare else effect) or metric.minimum)
        for metric in kind.metrics
        if not names or metric.name in names
    )


def _cases(result: ComparisonResult, failing: set[str]) -> Iterator[Verdicted]:
    """A case for each metric of each comparison."""
    for comparison in result.comparisons:
        for each in comparison.metrics:
            failed, open_ = each.verdict in failing, each.verdict == "undecided"
            yield Verdicted(
                name=each.metric.name,
                group=f"compare.{comparison.baseline}.{comparison.other}",
                verdict="failed" if failed else "skipped" if open_ else "passed",
                message=f"{each.metric.words}: {each.verdict}; {comparison.reason}",
            )


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


def new_folder(
    out: Path | None, runs: Path, names: Sequence[str], *, verb: str = "compare"
) -> Path:
    """A folder that is not there yet, or an empty one."""
    if out is not None:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError(f"--out: {out} is not an empty folder", "name a new one")
        free_bytes(out, option="--out")
        return out
    name = "-".join([verb, *names])[:_NAME_MAX]
    places = (runs / numbered(name, number) for number in itertools.count(1))
    return next(place for place in places if not os.path.lexists(place))


# -- in the terminal


def _parts(result: ComparisonResult, document: Document) -> Iterator[Part]:
    """Verdict first, then what it rests on."""
    marks = "   ".join(map(_mark, result.labels))
    for comparison in result.comparisons:
        yield f"{verdict_line(comparison)}{'   ' + marks if marks else ''}"
    for section in document.sections:
        yield functools.partial(print_parts, section.parts)
    for finding in result.findings:
        if finding.id != "gate-above-minimum":  # reported above, with what would decide it
            yield finding_line(finding)


def _mark(label: str) -> str:
    """Loud, but for the names of results."""
    return re.sub(r"^[^(:]*", lambda found: found[0].upper(), label)
