"""A derived task set against what the program says it did: a row a figure, by the issue's bars."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Row = Mapping[str, Any]
Bar = tuple[float, float]

#: Jobs, or sections, in progress where the recording begins or ends: only one side counts them.
EDGE = 1
#: Figure of a task -> share and amount that it may be off by, whichever is more.
BARS: Mapping[str, Bar] = {
    "period_ns": (0.001, 0),
    "min_gap_ns": (0.03, 20_000),  # of a relative sleep: C and the sleep
    "jobs": (0.01, EDGE),
    "c_mean_ns": (0.03, 20_000),
    "c_max_ns": (0.05, 40_000),
    "charged_mean_ns": (0.01, 0),  # of all the thread's CPU time
    "suspension_mean_ns": (0.10, 20_000),
}
SECTION_BARS: Mapping[str, Bar] = {"count": (0, EDGE), "mean_ns": (0.05, 10_000)}
#: A program says the last two only of SCHED_DEADLINE.
EXACT = ("policy", "priority", "cpus", "runtime_ns", "deadline_ns")


class Difference(NamedTuple):
    """``bar``: what ``found`` may be off by, in words; ``met``: it is not more."""

    task: str
    figure: str
    wanted: Any
    found: Any
    met: bool
    bar: str = "exact"

    def __str__(self) -> str:
        return (
            f"{self.task}: {self.figure} is {self.found}, by the program {self.wanted} ({self.bar})"
        )


def differences(truth: Row, derived: Row) -> Iterator[Difference]:
    """Every figure that the program states, and each task, chain and section that only one has."""
    wanted, found = ({task["name"]: task for task in one["tasks"]} for one in (truth, derived))
    for name, task in wanted.items():
        yield _equal(name, "task", "there", "there" if name in found else "missing")
        if name in found:
            yield from _task(name, task, found[name])
    for name in sorted(found.keys() - wanted):
        yield _equal(name, "kind", "none", found[name]["kind"])
    links = [{(link["from"], link["to"]) for link in one["chains"]} for one in (truth, derived)]
    for pair in sorted(links[0] | links[1]):
        words = ["linked" if pair in each else "not linked" for each in links]
        yield _equal(" -> ".join(pair), "chain", *words)


def unmet(truth: Row, derived: Row) -> list[str]:
    """Only what is off by more than its bar, in words."""
    return [str(row) for row in differences(truth, derived) if not row.met]


def _task(name: str, task: Row, found: Row) -> Iterator[Difference]:
    if found.get("warm_up"):  # said apart
        task = {**task, "c_max_ns": task.get("c_max_warm_ns")}
    right = found["kind"] in (task["kind"], task.get("also"))
    unsure = f" (unsure: {found['unsure']})" if found.get("unsure") else ""
    yield Difference(name, "kind", task["kind"], found["kind"] + unsure, right)
    for key, bar in BARS.items():
        if task.get(key) or key == "suspension_mean_ns":
            yield _close(name, key, task[key], found.get(key), bar)
    yield from (_equal(name, key, task[key], found.get(key)) for key in EXACT if key in task)
    if found.get("charged_share"):  # all its charges over its CPU time
        yield _close(name, "charged_share", 1.0, found["charged_share"], (0.01, 0))
    if task["sections"] is not None:
        yield from _sections(name, task["sections"], list(found.get("sections") or ()))


def _sections(name: str, wanted: list[Row], left: list[Row]) -> Iterator[Difference]:
    """Pairs sections by their line where the site names one, else by length."""
    for section in wanted:
        what = f"section of {section['lock']} at line {section['line']}"
        sites = [str(one.get("site", "")).rstrip(")").rpartition(":") for one in left]
        lines = [line if file else str(section["line"]) for file, _, line in sites]
        near = [one for one, at in zip(left, lines, strict=True) if at == str(section["line"])]
        yield _equal(name, what, "there", "there" if near else "missing")
        if near:
            best = min(near, key=lambda one: abs(one["mean_ns"] - section["mean_ns"]))
            left.remove(best)
            for key, bar in SECTION_BARS.items():
                if not section[key]:  # not measured
                    continue
                yield _close(name, f"{key} of {what}", section[key], best[key], bar)
    for one in left:
        yield _equal(name, f"section of {one['lock']} at {one.get('site')}", "missing", "there")


def _equal(task: str, figure: str, wanted: Any, found: Any) -> Difference:
    plain = [list(one) if isinstance(one, tuple) else one for one in (wanted, found)]
    return Difference(task, figure, wanted, found, plain[0] == plain[1])


def _close(task: str, figure: str, wanted: float, found: float | None, bar: Bar) -> Difference:
    met = found is not None and abs(found - wanted) <= max(bar[0] * wanted, bar[1])
    return Difference(task, figure, wanted, found, met, f"within {100 * bar[0]:g} % or {bar[1]:g}")
