"""What comparisons of repeated commands share: those of latency matrices and of load tests.

Their unit is the run, their cells are what the command visits in every repeat, runs of the same
repeat are paired and share a block, and a repeat of the whole command is an A/A repeat. What a kind
measures, and which settings must agree for it, is said by a `Way`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import attrs
from attrs import frozen

from deadbeat.compare.decide import FALSE_ALARMS, Options, compare_sides
from deadbeat.compare.findings import lost_and_gated, no_repeat
from deadbeat.compare.identity import differing_platforms
from deadbeat.compare.sides import Cell, Side
from deadbeat.compare.vocabulary import Vocabulary
from deadbeat.model.comparison import Comparison, ComparisonResult
from deadbeat.model.errors import UsageError
from deadbeat.model.finding import Finding

_WORST_FIRST = ("worse", "undecided", "equal", "better")
#: What a repeat of the baseline must share with it beside its settings.
_PLACE = ("fingerprint", "kernel", "preemption")
_CELLS_NAMED = 3


class Run(Protocol):
    """A run of either kind."""

    @property
    def started(self) -> str: ...
    @property
    def policy(self) -> str: ...
    @property
    def valid(self) -> bool: ...


class Repeated(Protocol):
    """What a repeated command left, as a comparison reads it.

    Attributes:
        name, path: Of its folder.
        kind: Of where it ran: ``hardware``, ``emulated`` or ``simulated``.
        runs: Those that are compared, invalid ones included.
        settings: What must agree for figures to be of the same question.
        platform: Where it was measured, as JSON values.
        planned: Every run there should be.
        left: Runs still to come, or failed.
        cells: What the command visits in every repeat, in words.
    """

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def runs(self) -> Sequence[Run]: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...
    @property
    def platform(self) -> Mapping[str, Any]: ...
    @property
    def planned(self) -> Sized: ...
    @property
    def left(self) -> int: ...
    @property
    def cells(self) -> Set[str]: ...


R = TypeVar("R", bound=Repeated)


def _itself(group: str) -> str:
    return group


@frozen(kw_only=True)
class Way(Generic[R]):
    """How one kind of results is compared.

    Attributes:
        of: Its name in the answer.
        words: For what is compared.
        side: Its valid runs as plain figures.
        planned: Every cell it should have, those without a valid run included.
        place: Group of a figure's cell -> which of `Repeated.cells` it belongs to.
    """

    of: str
    words: Vocabulary
    side: Callable[[R], Side]
    planned: Callable[[R], Iterable[Cell]]
    place: Callable[[str], str] = _itself


def compare_repeated(
    results: Sequence[R],
    repeats: Sequence[R],
    *,
    way: Way[R],
    options: Options,
    findings: Sequence[Finding] = (),
    parameters: Mapping[str, Any],
) -> ComparisonResult:
    """Compares the first of ``results`` with each of the others; `require_comparable` comes first.

    Args:
        repeats: Further results of the baseline's command on its machine and kernel (A/A).
        options: Of the statistics; ``words`` and ``few_blocks`` are set here.
        findings: What else the reader must know.
        parameters: What the kind adds to the parameters of the answer.
    """
    baseline, others = results[0], results[1:]
    every = [*results, *repeats]
    comparisons = []
    told = list(findings)
    for result in others:
        own = attrs.evolve(
            options,
            words=way.words,
            few_blocks=True,
            simulated=_simulated(baseline) and _simulated(result),
            same_machine=_same(baseline, result, "fingerprint"),
        )
        found = _compared(baseline, result, repeats, way, own)
        found = attrs.evolve(found, reason=found.reason + _left_out(baseline, result))
        comparisons.append(found)
        told += _of_comparison(baseline, found, own, repeats)
        told += _of_repeats(baseline, result, repeats)
    verdicts = {comparison.verdict for comparison in comparisons}
    return ComparisonResult(
        campaigns=tuple(map(_facts, results)),
        comparisons=tuple(comparisons),
        differences=tuple(_differences(baseline, others)),
        findings=tuple(dict.fromkeys(told)),
        labels=tuple(_labels(every, ungated=options.ungated and not repeats)),
        verdict=next(verdict for verdict in _WORST_FIRST if verdict in verdicts),
        parameters={
            "of": way.of,
            "metrics": list(options.metrics),
            "minimum_effect": options.minimum_effect,
            "minimum_miss": options.minimum_miss,
            "resamples": options.resamples,
            "seed": options.seed,
            "aa": [each.name for each in repeats],
            "ungated": options.ungated,
            **parameters,
            "settings": dict(baseline.settings),
            "false_alarms": FALSE_ALARMS,
            "metric_level": FALSE_ALARMS / 2,
            "cell_level": options.cell_level,
        },
    )


def _compared(
    baseline: R, result: R, repeats: Sequence[R], way: Way[R], options: Options
) -> Comparison:
    """Of what both measured."""
    places = baseline.cells & result.cells
    one, two = (_within(way.side(each), places, way) for each in (baseline, result))
    planned = sorted(
        {
            cell
            for each in (baseline, result)
            for cell in way.planned(each)
            if way.place(cell.group) in places
        }
    )
    return compare_sides(one, two, list(map(way.side, repeats)), options=options, planned=planned)


def _within(side: Side, places: Set[str], way: Way[R]) -> Side:
    """Without what only one of two results measured; a cell whose runs are invalid stays."""
    kept = {key: run for key, run in side.runs.items() if way.place(run.cell.group) in places}
    return attrs.evolve(side, runs=kept)


def _left_out(one: Repeated, two: Repeated) -> str:
    """``; left out as invalid: 20 of 25 runs of a``; "" where none is."""
    told = [
        f"{count} of {len(each.runs)} runs of {each.name}"
        for each in (one, two)
        if (count := sum(not run.valid for run in each.runs))
    ]
    return f"; left out as invalid: {', '.join(told)}" if told else ""


def _simulated(result: Repeated) -> bool:
    return result.kind == "simulated"


def _same(baseline: Repeated, result: Repeated, name: str) -> bool:
    return bool(baseline.platform.get(name) == result.platform.get(name))


# -- what cannot be compared


def require_comparable(
    results: Sequence[Repeated],
    repeats: Sequence[Repeated],
    *,
    words: Vocabulary,
    allow_mixed: bool,
    partial: bool,
) -> None:
    """Raises UsageError where results cannot be compared, with what differs and how to mend it.

    Args:
        allow_mixed: Also simulated beside measured.
        partial: Also unfinished ones.
    """
    baseline, every = results[0], [*results, *repeats]
    _require_distinct(every, words)
    _require_alike(baseline, every, words)
    if not allow_mixed and len({_simulated(each) for each in every}) > 1:
        names = ", ".join(each.name for each in every if _simulated(each))
        raise UsageError(
            f"{names} is simulated, the other {words.one} is measured: they say nothing of each"
            " other's machine",
            "--allow-mixed compares the two all the same, and labels it",
        )
    open_ = [each for each in every if each.left]
    if open_ and not partial:
        raise UsageError(
            "; ".join(f"{each.name} is unfinished: {each.left} of {len(each.planned)} runs are"
                      " missing" for each in open_),
            "repeat the command that began it: it continues; deadbeat compare --partial takes what"
            " is there, and labels it",
        )  # fmt: skip
    for repeat in repeats:
        other = [name for name in _PLACE if not _same(baseline, repeat, name)]
        if other:
            raise UsageError(
                f"--aa {repeat.name} is no repeat of {baseline.name}: another"
                f" {', another '.join(other)}",
                "repeat the baseline's command where the baseline ran, under another --name",
            )


def _require_distinct(every: Sequence[Repeated], words: Vocabulary) -> None:
    seen: set[str] = set()
    for each in every:
        place = str(Path(each.path).resolve())
        if place in seen:
            raise UsageError(
                f"{each.name} is named twice: a {words.one} compared with itself differs in"
                " nothing",
                "name another run of its command",
            )
        seen.add(place)
        if not any(run.valid for run in each.runs):
            raise UsageError(
                f"{each.name} has no run that counts: there is nothing to compare",
                "deadbeat show tells why; the command that began it measures them again with"
                " --retry-invalid",
            )


def _require_alike(baseline: Repeated, every: Sequence[Repeated], words: Vocabulary) -> None:
    """Settings that move figures by themselves."""
    wrong = [
        f"{name}: {baseline.settings.get(name)} ({baseline.name}) |"
        f" {each.settings.get(name)} ({each.name})"
        for each in every[1:]
        for name in baseline.settings
        if baseline.settings.get(name) != each.settings.get(name)
    ]
    if wrong:
        raise UsageError(
            f"the {words.results} were measured in different ways: {words.figure} depends on each"
            " of these",
            "measure both with the same options",
            tuple(wrong),
        )


# -- what the reader must know


def _facts(result: Repeated) -> dict[str, Any]:
    return {
        "name": result.name,
        "path": result.path,
        **{key: result.platform.get(key) for key in ("kernel", "preemption", "fingerprint")},
        "platform": result.platform.get("name"),
        "kind": result.kind,
        "labels": [result.kind] if result.kind in ("simulated", "emulated") else [],
        "runs": sum(run.valid for run in result.runs),
        "created_at": min((run.started for run in result.runs), default=None),
    }


def _labels(every: Sequence[Repeated], *, ungated: bool) -> Iterator[str]:
    simulated = [each.name for each in every if _simulated(each)]
    if simulated and len(simulated) < len(every):
        yield "simulated beside measured"
    elif simulated:
        yield "simulated"
    emulated = [each.name for each in every if each.kind == "emulated"]
    if emulated:
        yield "emulated" if len(emulated) == len(every) else f"emulated ({', '.join(emulated)})"
    if ungated and len(simulated) < len(every):
        yield "ungated: no A/A repeats"
    open_ = [each.name for each in every if each.left]
    if open_:
        yield f"partial: {', '.join(open_)} unfinished"
    if any(run.policy == "other" for each in every for run in each.runs):
        yield "policy other"


def _differences(baseline: Repeated, others: Sequence[Repeated]) -> Iterator[str]:
    for result in others:
        prefix = f"{result.name}: " if len(others) > 1 else ""
        lines = differing_platforms(baseline.platform, result.platform)
        yield from (prefix + line for line in lines)


def _of_comparison(
    baseline: Repeated, comparison: Comparison, options: Options, repeats: Sequence[Repeated]
) -> Iterator[Finding]:
    if not repeats and not options.simulated:
        cure = f"repeat the command of {baseline.name} under another --name, then --aa NAME"
        yield no_repeat(options, where=comparison.other, cure=cure)
    yield from lost_and_gated(comparison, options.words, more="--repeats")


def _of_repeats(baseline: Repeated, result: Repeated, repeats: Sequence[R]) -> Iterator[Finding]:
    """Cells compared that a repeat of the baseline never measured."""
    compared = baseline.cells & result.cells
    for repeat in repeats:
        lacking = sorted(compared - repeat.cells)
        if lacking:
            more = ", ..." if len(lacking) > _CELLS_NAMED else ""
            yield Finding(
                id="aa-lacks-cells",
                severity="warning",
                message=f"--aa {repeat.name} lacks {len(lacking)} of {len(compared)} cells"
                f" ({', '.join(lacking[:_CELLS_NAMED])}{more}): it says nothing on how sessions"
                " move these, nor all cells together",
                cure=f"repeat the whole command of {baseline.name}, not a part of it",
                where=repeat.name,
            )
