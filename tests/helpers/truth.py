"""What a derived task set says against what the program says it did, by the bars of the table in
docs of derivation: one `Difference` a figure, met or not, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

Row = Mapping[str, Any]

#: Jobs, or sections, in progress where the recording begins or ends: counted by one side alone.
EDGE = 1
#: Figure of a task -> share and amount that it may be off by, whichever is more.
BARS: Mapping[str, tuple[float, float]] = {
    "period_ns": (0.001, 0),
    "min_gap_ns": (0.03, 20_000),  # of a relative sleep: C and the sleep
    "jobs": (0.01, EDGE),
    "c_mean_ns": (0.03, 20_000),
    "c_max_ns": (0.05, 40_000),
    "suspension_mean_ns": (0.10, 20_000),
}
SECTION_BARS: Mapping[str, tuple[float, float]] = {"count": (0, EDGE), "mean_ns": (0.05, 10_000)}
#: What it may not be off by; a program says the last two only of SCHED_DEADLINE.
EXACT = ("policy", "priority", "cpus", "runtime_ns", "deadline_ns")


@frozen(kw_only=True)
class Difference:
    """``bar``: what ``found`` may be off by, in words; ``met``: it is not more."""

    task: str
    figure: str
    wanted: object
    found: object
    bar: str
    met: bool

    def __str__(self) -> str:
        return f"{self.task}: {self.figure} is {self.found}, the program says {self.wanted} ({self.bar})"


def differences(truth: Row, derived: Row) -> list[Difference]:
    """Every figure that the program states, and every task, chain and section that only one has."""
    found = {task["name"]: task for task in derived["tasks"]}
    wanted = {task["name"]: task for task in truth["tasks"]}
    rows = []
    for name, task in wanted.items():
        rows.append(_equal(name, "task", "there", "there" if name in found else "missing"))
        if name in found:
            rows += _task(name, task, found[name])
    invented = [name for name in found.keys() - wanted if found[name]["kind"] != "none"]
    rows += [_equal(name, "task", "none", found[name]["kind"]) for name in sorted(invented)]
    there, meant = (
        {(link["from"], link["to"]) for link in one["chains"]} for one in (derived, truth)
    )
    for one in sorted(there | meant):
        words = ["linked" if one in links else "not linked" for links in (meant, there)]
        rows.append(_equal(" -> ".join(one), "chain", *words))
    return rows


def unmet(truth: Row, derived: Row) -> list[str]:
    """Only what is off by more than its bar, in words."""
    return [str(row) for row in differences(truth, derived) if not row.met]


def _task(name: str, task: Row, found: Row) -> Iterator[Difference]:
    kinds = {task["kind"], task.get("also") or task["kind"]}
    unsure = f" (unsure: {found['unsure']})" if found.get("unsure") else ""
    yield Difference(
        task=name,
        figure="kind",
        wanted=task["kind"],
        found=found["kind"] + unsure,
        bar="exact",
        met=found["kind"] in kinds,
    )
    for figure, bar in BARS.items():
        if task.get(figure) or figure == "suspension_mean_ns":
            yield _close(name, figure, task.get(figure), found.get(figure), bar)
    yield from (_equal(name, each, task[each], found.get(each)) for each in EXACT if each in task)
    yield from _sections(name, task["sections"], list(found.get("sections") or ()))


def _sections(name: str, wanted: Sequence[Row], left: list[Row]) -> Iterator[Difference]:
    """Pairs sections by their line where the site names one, else by length."""
    for section in wanted:
        figure = f"section of {section['lock']} at line {section['line']}"
        here = [one for one in left if str(one.get("site", "")).endswith(f":{section['line']}")]
        near = here or [one for one in left if ":" not in str(one.get("site", ""))]
        if not near:
            yield _equal(name, figure, "there", "missing")
            continue
        best = min(near, key=lambda one: abs(one["mean_ns"] - section["mean_ns"]))
        left.remove(best)
        for key, bar in SECTION_BARS.items():
            yield _close(name, f"{key} of {figure}", section[key], best.get(key), bar)
    for one in left:
        yield _equal(name, f"section of {one['lock']} at {one.get('site')}", "none", "there")


def _equal(task: str, figure: str, wanted: object, found: object) -> Difference:
    plain = [list(one) if isinstance(one, list | tuple) else one for one in (wanted, found)]
    met = plain[0] == plain[1]
    return Difference(task=task, figure=figure, wanted=wanted, found=found, bar="exact", met=met)


def _close(
    task: str, figure: str, wanted: float | None, found: float | None, bar: tuple[float, float]
) -> Difference:
    """Found is off by at most a share of what is wanted, or an amount."""
    may = max(bar[0] * (wanted or 0), bar[1])
    return Difference(
        task=task,
        figure=figure,
        wanted=wanted,
        found=found,
        bar=f"within {100 * bar[0]:g} % or {bar[1]:g}",
        met=found is not None and abs(found - (wanted or 0)) <= may,
    )
