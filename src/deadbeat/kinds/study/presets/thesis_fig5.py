"""Figure 5 of the thesis: how often jobs migrate under each approach."""

from collections.abc import Iterator
from itertools import product

import attrs

from deadbeat.kinds.study.judge import Conclusion, Evidence, larger
from deadbeat.kinds.study.presets import Preset
from deadbeat.kinds.study.presets._approaches import (
    ABOUT,
    CLUSTERED,
    GLOBAL,
    LOOSE,
    MEANS,
    PARTITIONED,
    SOURCES,
    TIES,
    label,
    migrates_more,
    migration_ratio,
    migrations,
    spec,
)
from deadbeat.kinds.study.results import Results

_TITLE = "Figure 5: migrations by approach, 4 processors"


def _high_above_80(results: Results) -> Iterator[Evidence]:
    for source, ties, per_job in product(SOURCES, TIES, (False, True)):
        name, here = label(GLOBAL, ties), results.source == source
        above, below = (
            migrations(results, name, here & mask, "of jobs", per_job=per_job)
            for mask in (results.load > 800, results.load <= 800)
        )
        words = {
            "distribution": source,
            "ties": ties,
            "unit": "per 1000 jobs" if per_job else "per schedulable set",
        }
        found = larger("above 80 %", above, "up to 80 %", below, words)
        yield Evidence(
            variant=words,
            holds=found.holds and above.value >= 2 * below.value,
            figures=found.figures,
        )


def _none(results: Results) -> Iterator[Evidence]:
    for source, ties in product(SOURCES, TIES):
        name = label(PARTITIONED, ties)
        here = (results.source == source) & results.yes(name)
        moved = int(
            results.figure(name, "migrations")[here].sum()
            + results.figure(name, "task_migrations")[here].sum()
        )
        yield Evidence(
            variant={"distribution": source, "ties": ties},
            holds=moved == 0 and bool(here.any()),
            figures=f"{moved} migrations in {int(here.sum())} schedulable sets",
        )


def _half(results: Results) -> Iterator[Evidence]:
    """The thesis names no range; its sentence follows one about utilisations above 70 %."""
    for name, low in (("all", 0), ("above 70 %", 700)):
        for item in migration_ratio(CLUSTERED, GLOBAL, 1 / 3, 2 / 3, low=low)(results):
            yield attrs.evolve(item, variant={"utilisation": name, **item.variant})


PRESET = Preset(
    name="thesis-fig5",
    title=_TITLE,
    about=ABOUT,
    build=lambda: spec("thesis-fig5", _TITLE, metrics=True),
    charts=("migrations",),
    conclusions=(
        Conclusion(
            id="partitioned-never-migrates",
            says="Under the partitioned approach jobs do not migrate",
            confirmed="not one migration in its schedulable sets",
            check=_none,
        ),
        Conclusion(
            id="global-migrates-at-high-load",
            says="The migration rate of the global approach is very high above 80 % utilisation",
            confirmed=f"at least twice that up to 80 %, and {MEANS}",
            check=_high_above_80,
        ),
        Conclusion(
            id="clustered-half-of-global",
            says="The migration rate of clustered is half that of global",
            confirmed="between a third and two thirds of it",
            check=_half,
        ),
        Conclusion(
            id="loose-over-clustered",
            says="Loose clustered migrates more than clustered",
            confirmed=f"more migrations, {MEANS}",
            check=migrates_more(LOOSE, CLUSTERED),
        ),
        Conclusion(
            id="loose-little-more-at-high-load",
            says="Above 80 % the migration rate of loose clustered is only a little higher",
            confirmed="at most 1.25 times that of clustered",
            check=migration_ratio(LOOSE, CLUSTERED, 0.0, 1.25, low=800),
        ),
        Conclusion(
            id="loose-below-global",
            says="Loose clustered keeps a lower migration rate than global (expected)",
            confirmed=f"fewer migrations, {MEANS}",
            check=migrates_more(GLOBAL, LOOSE),
        ),
    ),
)
