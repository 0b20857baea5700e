"""`deadbeat compare`: results of one kind beside each other.

What a kind measures and what forbids a comparison is said by its `Comparable`; everything else,
from the refusals to the findings, is the same for all kinds.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from deadbeat.base.kinds.registry import find, kind_of
from deadbeat.base.model.comparison import (
    Comparable,
    Comparison,
    ComparisonResult,
    Lineup,
    Subject,
    Vocabulary,
)
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import Finding, finding
from deadbeat.base.model.observations import Metric, Observations
from deadbeat.base.model.platform import IMPORTED, UNDISTURBED, differing_platforms
from deadbeat.base.model.words import LAB, Json, beside_label, shortened
from deadbeat.base.verdicts.engine import FALSE_ALARMS, CompareOptions, compare_tables
from deadbeat.base.verdicts.pairs import IN_TURNS
from deadbeat.base.verdicts.words import size_text, some, words_list
from deadbeat.cli.compare.trend import change_points

MIXED_LABEL = "simulated and measured"
UNGATED_LABEL = "ungated: no A/A repeats"
#: The verdict of several comparisons is the first of these that occurs.
_WORST_FIRST = ("worse", "undecided", "equal", "better")


def compare_results(
    kind: Comparable[Any],
    lineup: Lineup,
    *,
    metrics: Sequence[Metric] = (),
    ungated: bool = False,
    allow_mixed: bool = False,
) -> ComparisonResult:
    """Compares the baseline with each of the other subjects. ``metrics``: the ones asked for, with
    the effects that matter; empty: all of the kind. ``ungated``: decide what was measured without
    repeats of the baseline too; ``allow_mixed``: compare a simulated result with a measured one;
    both are labelled. Raises UsageError: they cannot be compared: what differs, and how to mend it;
    DataError: a file is damaged."""
    metrics = tuple(metrics) or kind.metrics
    virtual = {each.kind for each in lineup.every} == {"virtual-time"}
    foreign = [each.platform.get("fingerprint") == IMPORTED for each in lineup.every]
    words = (virtual and kind.lab_words) or (any(foreign) and kind.elsewhere_words) or kind.words
    if not foreign[0]:
        words = evolve(words, once_more=kind.words.once_more)
    _require_comparable(lineup, words, allow_mixed=allow_mixed)
    aligned = kind.align(lineup)
    baseline, *others = lineup.subjects
    first, *rest = aligned.tables
    tables, repeats = rest[: len(others)], rest[len(others) :]
    both = {cell.of for table in tables for cell in {*first.cells} & {*table.cells}}
    metrics = tuple(each for each in metrics if not each.apart or each.name in both)
    if not metrics:
        raise UsageError(
            "nothing that was asked for was measured on both sides", "name another --metric"
        )
    options = CompareOptions(
        metrics=metrics,
        words=words,
        lost_max=_minimum(metrics, kind, rare=True),
        cells_alike=kind.cells_alike,
        lacking_max=kind.lacking_max,
        ungated=ungated,
    )
    comparisons, findings = [], list(aligned.findings)
    for subject, table in zip(others, tables, strict=True):
        own = evolve(options, undisturbed=_undisturbed(baseline, subject))
        found = compare_tables(first, table, repeats, options=own)
        found = evolve(found, reason=found.reason + _left_out(baseline, subject))
        comparisons.append(found)
        if not repeats and not own.undisturbed:
            findings.append(_no_repeat(own, where=subject.name))
        findings += _lost_and_gated(found, words)
        findings += _cells_alone(first, table)
        findings += _of_repeats(first, table, repeats)
    trend = change_points(lineup.subjects, aligned.tables[: len(others) + 1], metrics)
    verdicts = {comparison.verdict for comparison in comparisons}
    lines = [*_differences(baseline, others), *aligned.differences]
    return ComparisonResult(
        campaigns=tuple(map(_facts, lineup.subjects)),
        comparisons=tuple(comparisons),
        differences=tuple(lines),
        findings=tuple(dict.fromkeys(findings)),
        labels=tuple(_labels(lineup, ungated=ungated)),
        verdict=next(verdict for verdict in _WORST_FIRST if verdict in verdicts),
        parameters={
            **({"of": kind.of} if kind.of else {}),
            "metrics": [metric.name for metric in metrics],
            "minimum_effect": _minimum(metrics, kind, rare=False),
            "minimum_miss": _minimum(metrics, kind, rare=True),
            "aa": [each.name for each in lineup.repeats],
            "ungated": ungated,
            **aligned.parameters,
            **({"settings": dict(baseline.settings)} if baseline.settings else {}),
            "false_alarms": FALSE_ALARMS,
            "metric_level": FALSE_ALARMS / 2,
            "cell_level": options.cell_level,
        },
        trend=trend,
        remedies=aligned.remedies,
        look=kind.look,
    )


def _minimum(metrics: Sequence[Metric], kind: Comparable[Any], *, rare: bool) -> float:
    asked = [metric.minimum for metric in metrics if metric.rare == rare]
    return asked[0] if asked else kind.minimum(rare=rare)


def _undisturbed(*every: Subject) -> str:
    """Why no session can have drifted from the other; "": it can."""
    kinds = sorted({each.kind for each in every})
    if {*kinds} <= {*UNDISTURBED}:
        return f"{' and '.join(kinds)}: there is no host that could drift"
    turns = {each.turns for each in every}
    alike = len(turns) == 1 and "" not in turns
    return IN_TURNS if alike else ""


def _left_out(one: Subject, two: Subject) -> str:
    """``; left out as invalid: 20 of 25 runs of a``; "" where none is."""
    parts = [
        f"{each.stored - each.counted} of {each.stored} runs of {each.name}"
        for each in (one, two)
        if each.stored > each.counted
    ]
    return f"; left out as invalid: {', '.join(parts)}" if parts else ""


def _require_comparable(lineup: Lineup, words: Vocabulary, *, allow_mixed: bool) -> None:
    every = lineup.every
    _require_distinct(every, words)
    # Settings that move figures by themselves.
    baseline, *others = every
    if wrong := [
        f"{name}: {value} ({baseline.name}) | {each.settings.get(name)} ({each.name})"
        for each in others
        for name, value in baseline.settings.items()
        if value != each.settings.get(name)
    ]:
        raise UsageError(
            f"the {words.results} were measured in different ways, and the figures depend on each"
            " of these settings",
            "measure both with the same options",
            tuple(wrong),
        )
    made_up = [each for each in every if each.made_up]
    if not allow_mixed and len({each.made_up for each in every}) > 1:
        one = made_up[0]
        rest = next(each for each in every if each.kind != one.kind)
        raise UsageError(
            f"{one.name} is {one.kind}, the other {words.one} is {rest.made_up or 'measured'}:"
            " neither says anything about the other's machine",
            f"{words.mixed}--set allow-mixed=true compares the two all the same, and labels it",
        )
    # Times of a real machine, of virtual time and of an emulator are no times of one another.
    clocks = {each.kind for each in every if not each.made_up}
    if len(clocks) > 1 and not clocks.isdisjoint(LAB):
        sides = ", ".join(f"{each.name} ({each.kind})" for each in every)
        raise UsageError(
            f"the {words.results} were measured by different clocks, and no figure of one says"
            f" anything of another: {sides}",
            "compare virtual time with virtual time, and machines with machines",
        )
    open_ = [f"{each.name} is unfinished: {each.left}" for each in every if each.left]
    if open_ and not lineup.partial:
        raise UsageError(
            "; ".join(open_),
            "repeat the command that began it: it continues; deadbeat compare --partial takes what"
            " is there, and labels it",
        )
    baseline = lineup.subjects[0]
    for repeat in lineup.repeats:
        if other := repeat.elsewhere(baseline):
            raise UsageError(
                f"--aa {repeat.name} is not a repeat of {baseline.name}: another"
                f" {', another '.join(other)}",
                words.once_more,
            )


def _require_distinct(every: Sequence[Subject], words: Vocabulary) -> None:
    seen: set[str] = set()
    for each in every:
        place = str(Path(each.path).resolve())
        if place in seen:
            raise UsageError(
                f"{each.name} is named twice: a {words.one} compared with itself differs in"
                " nothing",
                f"name another {words.one}",
            )
        seen.add(place)
        if not each.counted:
            raise UsageError(
                f"{each.name} has no run that counts: there is nothing to compare",
                "deadbeat show says why; repeat the command that began it",
            )


def _facts(subject: Subject) -> dict[str, Json]:
    platform = subject.platform
    return {
        "name": subject.name,
        "path": subject.path,
        **{key: platform.get(key) for key in ("kernel", "preemption", "fingerprint")},
        "platform": platform.get("name"),
        "kind": subject.kind,
        "labels": list(subject.labels),
        "runs": subject.counted,
        "created_at": subject.created_at,
    }


def _labels(lineup: Lineup, *, ungated: bool) -> Iterator[str]:
    """What must show on every figure; with the names where it does not hold for all."""
    every = lineup.every
    if 0 < sum(bool(each.made_up) for each in every) < len(every):
        yield MIXED_LABEL
    if ungated and not lineup.repeats and not _undisturbed(*every):
        yield UNGATED_LABEL
    open_ = [each.name for each in every if each.left]
    if open_:
        yield f"partial: {words_list(open_)} unfinished"
    known = [(each.name, (*each.labels, *beside_label(each.beside))) for each in every]
    for label in dict.fromkeys(label for _, labels in known for label in labels):
        own = [name for name, labels in known if label in labels]
        yield label if len(own) == len(every) else f"{label} ({', '.join(own)})"


def _differences(baseline: Subject, others: Sequence[Subject]) -> Iterator[str]:
    for subject in others:
        prefix = f"{subject.name}: " if len(others) > 1 else ""
        lines = differing_platforms(baseline.platform, subject.platform)
        if subject.beside != baseline.beside:
            sides = (shlex.join(each.beside).replace(" | ", "|") for each in (baseline, subject))
            lines.append(f"beside: {' | '.join(shortened(side) or 'none' for side in sides)}")
        yield from (prefix + line for line in lines)


def _no_repeat(options: CompareOptions, *, where: str) -> Finding:
    effect = (
        f"is guessed from within the {options.words.results} (--ungated)"
        if options.ungated
        else "is not known, and nothing is decided"
    )
    return finding(
        "no-aa-repeat",
        "no repeat of the baseline was given: how far two sessions differ here without any"
        f" change {effect}",
        severity="serious" if options.ungated else "warning",
        cure=options.words.once_more,
        where=where,
    )


def _lost_and_gated(comparison: Comparison, words: Vocabulary) -> Iterator[Finding]:
    """More was lost on one side; what differs in nothing differs by more than what matters."""
    capped = (line for metric in comparison.metrics for line in metric.capped)
    lost = list(dict.fromkeys(line for line in capped if line != words.no_repeats))
    if lost:
        yield finding(
            "survivors-differ",
            f"more was lost on one side: {'; '.join(lost)}: what is left does not show how"
            f" the {words.results} compare",
            cure=words.find_lost,
            where=comparison.other,
        )
    for metric in comparison.metrics:
        if metric.gate is not None and metric.gate > metric.minimum:
            gate, minimum = (size_text(metric.metric, x) for x in (metric.gate, metric.minimum))
            yield finding(
                "gate-above-minimum",
                f"{metric.metric.words}: repeated {words.results} may"
                f" differ by {gate} here, more than the minimum effect of {minimum}",
                cure=f"a quieter machine, more {words.of(metric.metric).more}, or more repeats of"
                " the baseline (--aa)",
                where=comparison.other,
            )


def _cells_alone(one: Observations, two: Observations) -> Iterator[Finding]:
    for mine, theirs in ((one, two), (two, one)):
        if alone := sorted(cell for cell in {*mine.cells} - {*theirs.cells} if not cell.of):
            yield finding(
                "latency-cells-alone",
                f"{len(alone)} cells were measured in {mine.name} alone"
                f" ({some([cell.group for cell in alone])}): they are not compared",
                where=theirs.name,
            )


def _of_repeats(
    one: Observations, two: Observations, repeats: Sequence[Observations]
) -> Iterator[Finding]:
    """Cells compared that a repeat of the baseline never measured."""
    compared = set(one.cells) & set(two.cells)
    for repeat in repeats:
        if lacking := sorted(compared - set(repeat.cells)):
            yield finding(
                "aa-lacks-cells",
                f"--aa {repeat.name} lacks {len(lacking)} of {len(compared)} cells"
                f" ({some([cell.group for cell in lacking])}): it says nothing on how sessions"
                " move these, nor all cells together",
                cure=f"repeat the whole command of {one.name}, not a part of it",
                where=repeat.name,
            )


def found(runs: Path, name: str) -> tuple[Comparable[Any], Path]:
    """The kind and the folder of what ``name`` means; UsageError where it means nothing that can be
    compared."""
    kind, path = find(runs, name)
    if kind.comparable is None:
        raise kind.folder.no_campaign(path)
    return kind.comparable, path


def all_found(runs: Path, names: Sequence[str]) -> tuple[Comparable[Any], tuple[Path, ...]]:
    """The kind that all ``names`` are of, and their folders; campaigns where there is no name.
    Raises UsageError: one means nothing, or is of another kind."""
    places = [found(runs, name) for name in names]
    first = places[0][0] if places else kind_of("contention").comparable
    assert first is not None
    for name, (kind, _) in zip(names, places, strict=True):
        if kind is not first:
            raise UsageError(
                f"{name} is a {kind.noun}, the other is a {first.noun}: they have nothing in"
                " common",
                "compare results of the same command",
            )
    return first, tuple(path for _, path in places)
