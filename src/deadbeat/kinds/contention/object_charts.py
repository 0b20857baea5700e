"""Which objects the slowed sets share, and how fast the host was meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import mean, median

from deadbeat.kinds.contention.overlap import Plan
from deadbeat.kinds.contention.samples import SetSample
from deadbeat.model.figures import SetFigures
from deadbeat.model.tasks import TaskSet
from deadbeat.report.building import CurvePoint, aside, curve
from deadbeat.report.charts import Chart, Mark, Panel

#: Part of a set's contended time from which on an object stands for the set.
_PART = 0.25
#: Marks of one object, and objects of one figure.
_MARKS, _OBJECTS = 200, 24


def shared_objects(task_set: TaskSet, plan: Plan) -> str:
    """``futex=0.62 pipe=0.38``: shares of the time inside contended objects, by fragment.

    Empty where nothing is contended.
    """
    inside: dict[str, float] = {}
    for resource, users in plan.items():
        name = task_set.resources[resource].fragment
        spent = (
            float((uses.high - uses.low).sum()) * task_set.tasks[uses.task].wcet_ns
            / task_set.tasks[uses.task].period_ns
            for uses in users
        )  # fmt: skip
        inside[name] = inside.get(name, 0.0) + sum(spent)
    whole = sum(inside.values())
    ordered = sorted(inside.items(), key=lambda item: (-item[1], item[0]))
    return " ".join(f"{name}={spent / whole:.2g}" for name, spent in ordered)


def _parts(item: SetFigures) -> list[tuple[str, float]]:
    """What a set shares, and how much of it."""
    pairs = (text.partition("=") for text in (item.shared_objects or "").split())
    return [(name, float(part)) for name, _, part in pairs]


def object_charts(made_of: Sequence[SetSample]) -> Iterator[Chart]:
    """Slowdown of the task sets by the object that they share, the worst object first."""
    found: dict[str, list[tuple[SetSample, float]]] = {}
    for sample in made_of:
        for item in sample.sets:
            slowdown = item.slowdown_mean
            for name, part in _parts(item) if slowdown else ():
                if part >= _PART and slowdown:
                    found.setdefault(name, []).append((sample, slowdown))
    ordered = sorted(found.items(), key=lambda item: -mean(value for _, value in item[1]))
    shown = ordered[:_OBJECTS]
    if len(shown) < 2:
        return

    def points(sample: SetSample, place: int) -> Iterable[CurvePoint]:
        for at, (name, every) in enumerate(shown):
            own = sorted((v for each, v in every if each is sample), reverse=True)[:_MARKS]
            for k, value in enumerate(own):
                x = at + aside(place, len(made_of)) + aside(k, len(own), room=0.5 / len(made_of))
                yield CurvePoint(x, value, text=f"{name}: {value:.3f}")

    left_out = len(ordered) - len(shown)
    more = f" {left_out} objects with less are left out." if left_out else ""
    yield Chart(
        name="objects",
        title="Which shared object goes with it",
        caption="A mark is a task set that spends a quarter or more of its contended time in"
        " the object; most share several, so this says what goes together, not why." + more,
        panels=(
            Panel(
                title="",
                x_label="object, by the mean over its sets",
                y_label="slowdown of a task set",
                categories=tuple(f"{name} ({len(every)})" for name, every in shown),
                curves=tuple(
                    curve(each.label, points(each, place), look=each.look, kind="points")
                    for place, each in enumerate(made_of)
                ),
                marks=(Mark(axis="y", at=1.0, label="no slowdown"),),
                y_log=True,
            ),
        ),
    )


def speed_charts(sets: Sequence[SetFigures]) -> Iterator[Chart]:
    """How fast the host computed while the sets ran, over the time of the run."""
    known = sorted(
        (each.began_ns, each.witness_ps) for each in sets if each.began_ns and each.witness_ps
    )
    if len(known) < 3:
        return
    first, usual = known[0][0], median(pace for _, pace in known)
    points = [CurvePoint((began - first) / 60e9, 100 * (usual / pace - 1)) for began, pace in known]
    yield Chart(
        name="host-speed",
        title="Speed of the host over the run",
        caption="Each mark is a task set: the median time of a fixed computation after its"
        " jobs, alone, against the median of all sets.",
        panels=(
            Panel(
                title="",
                x_label="minutes since the first set",
                y_label="faster or slower than usual (%)",
                curves=(curve("", points, kind="points"),),
                marks=(Mark(axis="y", at=0.0, label=""),),
                y_limits=_around([point.y for point in points]),
            ),
        ),
    )


def _around(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis, at least 5 % each way: noise must not fill it."""
    room = 0.05 * (max(values) - min(values))
    return min(-5.0, min(values) - room), max(5.0, max(values) + room)
