"""Observation 5: cores of their own do not keep interference from critical tasks."""

from __future__ import annotations

from deadbeat.observations.base import UNDECIDED, Evidence, Judgement, Observation, Row, number
from deadbeat.observations.base import verdict_of as verdict
from deadbeat.observations.campaigns import CRITICAL_CORES, SHIELDED_CORES
from deadbeat.observations.points import value

#: What `deadbeat selftest` accepts of tasks that share nothing. The campaign's own null sets are no
#: measure here: they are the sets that are judged.
LEAST = 0.02


def _decide(evidence: Evidence) -> Judgement:
    result = evidence.results[0]
    shielded = [row for row in result.rows if (number(row.get("critical_cores")) or 0) > 0]
    fitting = [row for row in shielded if (number(row["cores"]) or 0) >= SHIELDED_CORES]
    if not fitting:
        because = f"{result.name} has no group with critical cores at M = {SHIELDED_CORES}"
        return Judgement(verdict=UNDECIDED, because=f"{because} (stress --critical-cores)")
    row = max(fitting, key=lambda one: (one["critical_cores"] == CRITICAL_CORES, one["cores"]))
    found = value(row, "slowdown")
    if found is None:
        return Judgement(verdict=UNDECIDED, because=f"{row['group']} has no task set")
    bound = 1 + LEAST
    above = found.above(bound)
    contended = number(row.get("contended_ratio_real")) or 0.0
    if above and contended:
        because = f"slowdown {found} in {row['group']}, but its critical tasks contend with one"
        because += f" another (alpha = {contended:.2f}): run it with --contended-ratio 0"
        return Judgement(verdict=UNDECIDED, because=because)
    return Judgement(
        verdict=verdict([above]),
        because=f"critical tasks on {row['critical_cores']} of {row['cores']} cores, computation on"
        f" the others: slowdown {found} against each of them alone",
        figures=(
            ("smallest slowdown that counts", f"{bound:.3f}"),
            ("deadline misses of the critical tasks", _misses(row)),
            *_without(result.rows, row),
        ),
    )


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


OBSERVATION = Observation(
    number=5,
    title="Interference reaches critical tasks on cores of their own",
    statement="Techniques that mitigate cross-core interference are important: with up to 4 cores"
    " dedicated to critical tasks, computing workloads on at least 12 cores can already degrade"
    " them.",
    cores=SHIELDED_CORES,
    mode="stress",
    campaign="shielding",
    criterion=f"critical tasks that share no object (alpha = 0) alone on {CRITICAL_CORES} cores,"
    f" computation on the others (M = {SHIELDED_CORES}); confirmed: the interval of their mean"
    f" slowdown begins above {1 + LEAST}; not confirmed: it ends at or below",
    decide=_decide,
)
