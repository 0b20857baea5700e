"""Observations 5 and 6: what random task sets show of one machine."""

from __future__ import annotations

from deadbeat import Evidence, all_hold
from deadbeat_papers.claims import claims
from deadbeat_papers.observations.base import (
    Campaigns,
    PublishedObservation,
    Row,
    number,
    undecided,
)
from deadbeat_papers.observations.campaigns import CRITICAL_CORES, SHIELDED_CORES
from deadbeat_papers.observations.grid import value

#: Slowdown that `deadbeat selftest` accepts of tasks that share nothing. The campaign's own null
#: sets are no measure here: they are the sets that are judged.
BOUND = 1.02


def decide_5(given: Campaigns) -> list[Evidence]:
    result = given.results[0]
    shielded = [row for row in result.rows if (number(row.get("critical_cores")) or 0) > 0]
    fitting = [row for row in shielded if (number(row["cores"]) or 0) >= SHIELDED_CORES]
    if not fitting:
        because = f"{result.name} has no group with critical cores at M = {SHIELDED_CORES}"
        return undecided(f"{because} (stress --critical-cores)")
    row = max(fitting, key=lambda one: (one["critical_cores"] == CRITICAL_CORES, one["cores"]))
    found = value(row, "slowdown")
    if found is None:
        return undecided(f"{row['group']} has no task set")
    above = found.above(BOUND)
    contended = number(row.get("contended_ratio_real")) or 0.0
    if above and contended:
        because = f"slowdown {found} in {row['group']}, but its critical tasks contend with one"
        because += f" another (alpha = {contended:.2f}): run it with --contended-ratio 0"
        return undecided(because)
    return [
        Evidence(
            holds=above,
            figures=f"critical tasks on {row['critical_cores']} of {row['cores']} cores,"
            f" computation on the others: slowdown {found} against each of them alone",
            details=(
                ("smallest slowdown that counts", f"{BOUND:.3f}"),
                ("deadline misses of the critical tasks", _misses(row)),
                *_without(result.rows, row),
            ),
        )
    ]


def _misses(row: Row) -> str:
    ratio = number(row.get("deadline_miss_ratio"))
    high = number(row.get("deadline_miss_ci_high"))
    if ratio is None:
        return "not measured"
    return f"{100 * ratio:.2f} %" + (f" (at most {100 * high:.2f} %)" if high is not None else "")


def _without(rows: tuple[Row, ...], shielded: Row) -> tuple[tuple[str, str], ...]:
    """The same draws with contending tasks on all cores, where the campaign holds them."""
    for row in rows:
        same = row["cores"] == shielded["cores"] and not number(row.get("critical_cores"))
        found = value(row, "slowdown") if same else None
        if found is not None:
            return (("slowdown of the same draws without shielding", str(found)),)
    return ()


LEAST_SETS = 30
_QUANTITIES = ("delay_ratio_p50", "delay_ratio_p95", "slowdown_p50", "slowdown_p95")


def decide_6(given: Campaigns) -> list[Evidence]:
    result = given.results[0]
    rows = result.rows
    planned = [number(row.get("task_sets")) or 0 for row in rows]
    known = [all(number(row.get(name)) is not None for name in _QUANTITIES) for row in rows]
    enough: bool | None = True if rows and min(planned) >= LEAST_SETS else None
    return [
        Evidence(
            holds=all_hold([enough, all(known)]),
            figures=f"{int(sum(planned))} task sets in {len(rows)} distribution"
            f"{'s' if len(rows) != 1 else ''}: {'; '.join(map(_words, rows))}",
            details=tuple(figure for row in rows for figure in _figures(row)),
        )
    ]


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


OBSERVATIONS = claims(__file__, globals(), PublishedObservation)["observations"]
