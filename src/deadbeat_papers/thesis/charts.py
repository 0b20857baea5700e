"""The figures of the thesis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from attrs import evolve

from deadbeat import (
    Chart,
    Curve,
    Heat,
    HeatCell,
    Mask,
    Panel,
    StudyResults,
    study_means,
    study_migrations,
    study_resting,
    study_sets,
    study_shares,
    study_word,
)

_U_AXIS = "total utilisation U by number of processors m"
_APPROACHES = ("global", "partitioned", "clustered", "loose clustered")
#: Name of a rule, and the sets of each case under it.
Cases = Iterable[tuple[str, dict[str, Mask]]]


def critical(results: StudyResults) -> Iterator[Chart]:
    """Figures 2 and 3: how many sets of a cell are not schedulable."""
    label = results.labels()[0]
    tests = [name for name in results.labels() if results.is_test(name)]
    for m in _values(results.processors):
        mask = results.processors == m
        panels = [
            _critical_panel(results, label, mask, f"a. simulated, {label}"),
            *(_critical_panel(results, name, mask, "b. equation (1)") for name in tests[:1]),
        ]
        yield Chart(
            name=f"critical-m{m}",
            title=f"Task sets that are not found schedulable, m = {m}",
            caption=f"Number of sets not found schedulable, of the {results.spec.sets} of a cell.",
            panels=tuple(panels),
        )


def _critical_panel(results: StudyResults, label: str, mask: Mask, title: str) -> Panel:
    loads, counts = _values(results.load[mask]), _values(results.tasks[mask])
    sets = results.spec.sets

    def cell(n: int, load: int) -> HeatCell:
        own = mask & (results.tasks == n) & (results.load == load)
        # `7`, or `7/28` where fewer than all sets are decided: coloured by the share of those.
        count = results.count(label, own)
        if not count.total:
            made = HeatCell(text="–", hover="no set is decided")
        else:
            failed = count.total - count.yes
            text = f"{failed}" if count.total == sets else f"{failed}/{count.total}"
            made = HeatCell(
                sets * (1 - count.share),
                "shown",
                text,
                f"{failed} of {count.total} not schedulable",
            )
        return evolve(made, hover=f"U/m {load / 1000:g}, n {n}\n{made.hover}")

    return Panel(
        title=title,
        x_label=_U_AXIS,
        y_label="tasks n",
        heat=Heat(
            cells=[[cell(n, load) for load in loads] for n in counts],
            x=[f"{load / 1000:g}" for load in loads],
            y=counts,
            low=0.0,
            high=float(sets),
            unit="sets not found schedulable",
        ),
    )


def _values(column: Iterable[int]) -> list[int]:
    return sorted({int(value) for value in column})


def utilisations(results: StudyResults, cases_of: Cases) -> Iterator[Chart]:
    """Figure 1: the distributions of task utilisations, and what they do to schedulability."""
    label, cases = results.labels()[0], list(cases_of)
    natural = cases[0][1]
    count = results.rows["bins"].shape[1]
    edges = tuple(k / count for k in range(count + 1))
    steps, tasks = [], []
    for look, (source, mask) in enumerate(natural.items()):
        bins = results.rows["bins"][mask & results.generated].sum(axis=0, dtype=np.int64)
        tasks.append(int(bins.sum()))
        share = (*(100.0 * bins / max(1, tasks[-1])).tolist(), 0.0)
        steps.append(Curve(label=source, kind="steps", look=look, x=edges, y=share))
    histogram = Panel(
        title="Task utilisations",
        x_label="utilisation u of a task",
        y_label="tasks (% of the case's)",
        curves=tuple(steps),
    )
    curves = [
        study_shares(results, rule, ((source, label, mask) for source, mask in masks.items()))
        for rule, masks in cases
    ]
    yield Chart(
        name="utilisations",
        title="Three distributions of task utilisations, 8 processors",
        caption=f"Left: {study_sets(tasks)} tasks a case. Others: {label};"
        f" {study_resting(curves)} sets a point; bands: 95 %, Wilson.",
        panels=(histogram, *curves),
    )


def approaches(results: StudyResults) -> Iterator[Chart]:
    """Figure 4, and the ways to balance the loose approach."""
    loose = [label for label in results.labels() if label.startswith("loose clustered")]
    for name, title, labels in (
        ("approaches", "Schedulable sets by approach, 4 processors", _APPROACHES),
        ("balances", "Loose clustered by its way to balance, and tie rule", ("clustered", *loose)),
    ):
        panels = [
            study_shares(
                results,
                f"utilisations {source}",
                ((name, name, results.source == source) for name in labels),
            )
            for source in results.spec.sources
        ]
        yield Chart(
            name=name,
            title=title,
            caption=f"{study_resting(panels)} sets a point, the same for all lines; bands:"
            " 95 %, Wilson. Not placed counts as not schedulable.",
            panels=tuple(panels),
        )


def migrations(results: StudyResults) -> Iterator[Chart]:
    """Figure 5, and by job."""
    yield from study_migrations(results, _APPROACHES)


def slack(results: StudyResults) -> Iterator[Chart]:
    """Figure 6, and over the sets that all approaches schedule: others are easier sets."""
    common = results.everything
    for label in _APPROACHES:
        common = common & results.yes(label)
    for source in results.spec.sources:
        here = results.source == source
        panels = tuple(
            study_means(
                results,
                (title, "slack by period, mean over jobs"),
                ((name, here & only) for name in _APPROACHES),
                lambda label, mask: results.mean(label, "slack_share_mean", mask),
            )
            for title, only in (
                ("Sets that the approach schedules", results.everything),
                ("Sets that all four schedule", common),
            )
        )
        yield Chart(
            name=f"slack-{study_word(source)}",
            title=f"Average slack, utilisations {source}",
            caption=f"{study_resting(panels)} sets a point. Bands: 95 % of the mean, cut at"
            " the axes.",
            panels=panels,
        )
