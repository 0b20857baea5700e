"""Several latency matrices in one picture: made-up machines of a known ratio."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from helpers.latencies import made_up_runs

from deadbeat.base.model.comparison import Lineup
from deadbeat.base.model.errors import DataError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.platform import example_platform
from deadbeat.base.report.charts import Chart
from deadbeat.latencies.latency.model import IDLE, LatencyRun, LoadPoint
from deadbeat.latencies.latency.observe import align, read_matrix
from deadbeat.latencies.latency.sides import differing_cpus, sides_charts
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.latency.summarise import summarise_latency
from deadbeat.latencies.latency.summary import CellSummary

HALF, MIXED = LoadPoint("cpu", 50), LoadPoint("mixed", 100)


def runs(**more: Any) -> list[LatencyRun]:
    return made_up_runs(**{"loads": (IDLE, HALF, MIXED), "repeats": 4, "seconds": 0.25, **more})


def drawn(*sides: list[LatencyRun]) -> dict[str, Chart]:
    return {each.name: each for each in sides_charts(zip("abc", sides, strict=False))}


def test_only_loads_and_engines_with_a_valid_run_on_every_side_are_drawn() -> None:
    bad = Finding(id="died", severity="invalid", message="x")
    died = [evolve(r, problems=(bad,)) if r.key.load == MIXED else r for r in runs(scale=5.0)]
    found = drawn(runs(), died)
    assert list(found) == [
        "against-load-simulated",
        *("cpus-simulated-idle", "cpus-simulated-cpu-050"),
    ]
    maximum, one_run, mean = found["against-load-simulated"].panels  # nothing of their work
    assert maximum.categories == ("idle", "cpu 50 %")
    for panel in (one_run, mean):
        one, two = (each for each in panel.curves if each.label)
        assert [b / a for a, b in zip(one.y, two.y, strict=True)] == pytest.approx([5, 5], rel=0.01)
        assert one.x != two.x, "beside each other"
    other = [evolve(r, key=evolve(r.key, engine="prober")) for r in runs()]
    assert drawn(runs(), other) == {}


def cpus_of(factor: float, repeats: int = 4) -> CellSummary:
    """Each CPU of the made-up machine draws from one distribution; one is ``factor`` as late."""
    cell = summarise_latency(runs(loads=(HALF,), repeats=repeats)).cells[0]

    def slowed() -> Iterator[Any]:
        for row in cell.cpus:
            times = factor if row.cpu == 1 else 1.0
            quantities = (
                evolve(each, runs_ns=tuple(v * times for v in each.runs_ns if v is not None))
                for each in row.raw.quantities
            )
            yield evolve(row, raw=evolve(row.raw, quantities=tuple(quantities)), corrected=None)

    return evolve(cell, cpus=tuple(slowed()))


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (cpus_of(1.0), "no two CPUs differ by more than chance (5 % for all 1 pairs together)."),
        (cpus_of(1.5), "later on average: CPU 1 than CPU 0 (5 % for all 1 pairs together)."),
        (cpus_of(0.5), "later on average: CPU 0 than CPU 1 (5 % for all 1 pairs together)."),
        (cpus_of(1.5, repeats=2), "fewer than three runs do not say whether CPUs differ."),
    ],
)
def test_cpus_that_differ_are_named_and_others_are_not(cell: CellSummary, told: str) -> None:
    assert differing_cpus(cell) == told


ITEM = '{"title": "packages", "value": 64, "text": "%s"}'
UNKNOWN = '{"title": "boot", "value": null, "text": "not known", "basis": "no systemd"}'


@pytest.fixture
def matrices(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in ("a", "b")]
    for path, count in zip(paths, (64, 549), strict=True):
        store = LatencyStore.create(path, {"name": path.name}, example_platform())
        for run in runs(loads=(IDLE,)):
            store.keep(run)
        items = f'"inventory": [{ITEM % count}, {UNKNOWN}]'
        (path / "doctor.json").write_text(f'{{"kind": "doctor", "results": {{{items}}}}}')
    return paths


def differences(paths: list[Path]) -> tuple[str, ...]:
    return align(Lineup(subjects=tuple(map(read_matrix, paths)), repeats=())).differences


def test_what_two_systems_consist_of_is_compared(matrices: list[Path]) -> None:
    assert differences(matrices) == ("packages: 64 | 549",)
    assert read_matrix(matrices[0]).inventory["boot"] == "not known: no systemd"
    for content in ("{}", '{"inventory": {}}', '{"inventory": [1]}', "[]"):
        (matrices[1] / "doctor.json").write_text(content)
        assert differences(matrices) == (), "of one side alone nothing is known"
    (matrices[1] / "doctor.json").write_text("x")
    with pytest.raises(DataError, match=r"doctor\.json"):
        read_matrix(matrices[1])
