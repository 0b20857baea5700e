"""Observation 6: random task sets give one figure of the whole."""

from __future__ import annotations

from deadbeat.observations.base import Evidence, Judgement, Observation, Row, number, verdict_of

LEAST_SETS = 30
_QUANTITIES = ("delay_ratio_p50", "delay_ratio_p95", "slowdown_p50", "slowdown_p95")


def _decide(evidence: Evidence) -> Judgement:
    result = evidence.results[0]
    rows = result.rows
    planned = [number(row.get("task_sets")) or 0 for row in rows]
    known = [all(number(row.get(name)) is not None for name in _QUANTITIES) for row in rows]
    enough: bool | None = True if rows and min(planned) >= LEAST_SETS else None
    return Judgement(
        verdict=verdict_of([enough, all(known)]),
        because=f"{int(sum(planned))} task sets in {len(rows)} distribution"
        f"{'s' if len(rows) != 1 else ''}: {'; '.join(map(_words, rows))}",
        figures=tuple(figure for row in rows for figure in _figures(row)),
    )


def _words(row: Row) -> str:
    return f"{row['group']} slowdown p50 {_text(row, 'slowdown_p50')}"


def _figures(row: Row) -> tuple[tuple[str, str], ...]:
    group = row["group"]
    return (
        (f"{group}: delay ratio p50, p95", _pair(row, "delay_ratio")),
        (f"{group}: slowdown p50, p95", _pair(row, "slowdown")),
        (f"{group}: deadline miss ratio", _text(row, "deadline_miss_ratio", ".2%")),
        (f"{group}: sets that missed anything", _text(row, "miss_set_share", ".0%")),
    )


def _pair(row: Row, metric: str) -> str:
    return f"{_text(row, f'{metric}_p50')}, {_text(row, f'{metric}_p95')}"


def _text(row: Row, column: str, form: str = ".3f") -> str:
    found = number(row.get(column))
    return "not measured" if found is None else format(found, form)


OBSERVATION = Observation(
    number=6,
    title="Mode 2 shows the whole in one figure",
    statement="Mode 2 enables large-scale randomized experiments across various parameters and can"
    " present the results in a single figure: an intuitive way to visualize the overall performance"
    " characteristics of the target system.",
    mode="stress",
    campaign="random",
    criterion=f"confirmed: every group of a stress campaign has at least {LEAST_SETS} task sets and"
    " the quantiles of delay ratio and slowdown over them; undecided: fewer sets. Whether the"
    " figure is intuitive is for whoever looks at it (report.html)",
    decide=_decide,
)
