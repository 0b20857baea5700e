"""Statements of other publications on latency, load and misses, judged from stored results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve, frozen

from deadbeat import Conclusion, Evidence, Interval, Judgement, LackingError, all_hold, judge
from deadbeat_papers.claims import MADE_UP, VERDICTS, claims


@frozen(kw_only=True)
class StatedResult:
    """A stored result: what ``show --json`` says of it, and its kind."""

    name: str
    kind: str
    plain: Any

    @property
    def labels(self) -> tuple[str, ...]:
        own = self.plain.get("labels") or ()
        return tuple(own) or ("simulated",) * (self.plain.get("kind") == "simulated")


@frozen(kw_only=True)
class Statement(Conclusion[Sequence[StatedResult]]):
    """A statement about ``results`` results of a kind. ``source``: the publication."""

    title: str
    source: str
    kind: str
    results: int = 1


def _above(found: Interval, bound: float) -> bool | None:
    return True if found.low > bound else False if found.high <= bound else None


def _not(known: bool | None) -> bool | None:
    return None if known is None else not known


def _rows(result: StatedResult) -> list[tuple[tuple[str, str], Any]]:
    """Rows of all CPUs together, by load and engine."""
    rows = result.plain["rows"]
    return [((row["load"], row["engine"]), row) for row in rows if row["cpu"] == "all"]


def _ends(row: Any, figure: str) -> Interval | None:
    low, high = row[f"raw_{figure}_low_ns"], row[f"raw_{figure}_high_ns"]
    return None if low is None or high is None else Interval(low, high)


def below(results: Sequence[StatedResult], *, limit_us: float) -> Iterable[Evidence]:
    """One sample at the limit refutes it; whether longer measuring finds one, the spread of the
    maxima of the runs says."""
    limit_ns = 1000 * limit_us
    rows = _rows(results[0])
    load, worst = max(rows, key=lambda pair: pair[1]["raw_max_ns"])
    maxima = [_ends(row, "max_of_a_run") for _, row in rows]
    held = [None if one is None or one.high >= limit_ns else True for one in maxima]
    yield Evidence(
        holds=False if worst["raw_max_ns"] >= limit_ns else all_hold(held),
        figures=f"the latest wake-up took {worst['raw_max_ns'] / 1000:.1f} us, under {load[0]}",
    )


def _ratios(
    results: Sequence[StatedResult], figure: str
) -> list[tuple[tuple[str, str], Interval | None]]:
    """Second over first, by load; both ends of both intervals."""
    one, two = (dict(_rows(each)) for each in results)
    both = [load for load in one if load in two]
    if not both:
        names = " and ".join(each.name for each in results)
        raise LackingError("needs the same loads", f"{names} have no load in common")
    found: list[tuple[tuple[str, str], Interval | None]] = []
    for load in both:
        first, second = _ends(one[load], figure), _ends(two[load], figure)
        known = first and second and first.low > 0
        found.append(
            (load, Interval(second.low / first.high, second.high / first.low))
            if known and first and second
            else (load, None)
        )
    return found


def small(results: Sequence[StatedResult], *, most: float) -> Iterable[Evidence]:
    ratios = _ratios(results, "mean")
    held = [None if found is None else _not(_above(found, most)) for _, found in ratios]
    worst, found = max(ratios, key=lambda pair: pair[1].high if pair[1] else 0.0)
    yield Evidence(
        holds=all_hold(held),
        figures=f"mean of {results[1].name} over {results[0].name}, the largest under {worst[0]}:"
        f" {_text(found)}",
    )


def times(results: Sequence[StatedResult], *, factor: float) -> Iterable[Evidence]:
    ratios = _ratios(results, "max_of_a_run")
    worst, found = max(ratios, key=lambda pair: pair[1].high if pair[1] else 0.0)
    yield Evidence(
        holds=None if found is None else _above(found, factor),
        figures=f"maximum of a run of {results[1].name} over {results[0].name}, the largest under"
        f" {worst[0]}: {_text(found)}",
    )


def _text(found: Interval | None) -> str:
    return "no interval" if found is None else f"{found.low:.2f} to {found.high:.2f} times"


def threads(results: Sequence[StatedResult], *, rate: float) -> Iterable[Evidence]:
    plain = results[0].plain
    cores = len(plain["spec"]["cpus"])
    every = [
        (each["normal"] + 1, each["failures_per_s"])
        for each in plain["cells"]
        if each["condition"] == "plain"
    ]
    known = [(n, Interval(f["low"], f["high"])) for n, f in every if f["low"] is not None]
    few = [_not(_above(found, rate)) for count, found in known if count <= cores]
    many = [_above(found, 0.0) for count, found in known if count > cores]
    if not few or not many:
        because = f"{results[0].name} has no load on either side of {cores} threads"
        raise LackingError("needs more loads", because)
    begins = True if True in many else False if set(many) == {False} else None
    first = min((count for count, found in known if found.low > 0), default=None)
    yield Evidence(
        holds=all_hold([*few, begins]),
        figures=f"{cores} cores; certain failures from {first} threads on"
        if first
        else f"{cores} cores; no certain failure with up to {max(c for c, _ in known)} threads",
    )


def missed(
    results: Sequence[StatedResult], *, deadline: float, low: float, high: float
) -> Iterable[Evidence]:
    rows = [row for row in results[0].plain["rows"] if row["deadline_factor"] == deadline]
    if not rows:
        because = f"{results[0].name} has no group with D = {deadline:g} C"
        raise LackingError(f"needs D = {deadline:g} C", because)
    for row in rows:
        ends = row["deadline_miss_ci_low"], row["deadline_miss_ci_high"]
        found = None if None in ends else Interval(*ends)
        outside = found and (found.high < low or found.low > high)
        inside = found and low <= found.low and found.high <= high
        yield Evidence(
            holds=True if inside else False if outside else None,
            figures=f"{row['group']}: {100 * (row['deadline_miss_ratio'] or 0):.1f} % of the jobs"
            + (f" [{100 * found.low:.1f}, {100 * found.high:.1f}]" if found else ""),
            variant={"group": str(row["group"])},
        )


def judged(statement: Statement, results: Sequence[StatedResult]) -> Judgement:
    """The verdict, or what is lacking; none of what a formula made."""
    if wrong := [each for each in results if each.kind != statement.kind]:
        because = f"{wrong[0].name} is of {wrong[0].kind}"
    elif len(results) != statement.results:
        because = f"{len(results)} given: {statement.confirmed.partition(';')[0]}"
    else:
        labels = tuple(dict.fromkeys(label for each in results for label in each.labels))
        found = judge(statement, results)
        assert found is not None
        made_up = any(label.lower() == "simulated" for label in labels)
        verdict = MADE_UP if made_up and found.verdict in VERDICTS else found.verdict
        return evolve(found, verdict=verdict, labels=labels)
    verb = "contention --random" if statement.kind == "stress" else statement.kind
    needs = f"needs {statement.results} of deadbeat {verb}"
    evidence = (Evidence(holds=None, figures=because),)
    return Judgement(conclusion=statement, verdict=needs, evidence=evidence)


def plain_of(found: Judgement) -> dict[str, object]:
    statement: Any = found.conclusion
    return {
        "id": statement.id,
        "title": statement.title,
        "source": statement.source,
        "statement": statement.says,
        "criterion": statement.confirmed,
        "verdict": found.verdict,
        "because": [each.figures for each in found.evidence],
        "labels": list(found.labels),
    }


def lines_of(found: Judgement) -> Iterator[str]:
    plain: Any = plain_of(found)
    marks = "".join(f"   {label.upper()}" for label in found.labels)
    yield f"{plain['title']}: {found.verdict.upper()}{marks}"
    yield from (f"  {line}" for line in plain["because"])
    yield f"  criterion: {plain['criterion']}"


STATEMENTS = {each.id: each for each in claims(__file__, globals(), Statement)["statements"]}
