"""Studies of installed packages: the thesis's grid, and a preset of one's own."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.published import nearest_preset, published
from deadbeat.sched.study.chunks import bounds, chunk_count, pieces
from deadbeat.sched.study.preset import Preset, find_preset, presets, specify
from deadbeat.sched.study.spec import cell_seed, read_spec, spec_dict


@pytest.mark.parametrize("name", sorted(presets()))
def test_a_preset_is_sound_and_survives_its_file(name: str) -> None:
    spec = presets()[name].build()
    assert spec.problems() == []
    assert spec.name == spec.preset == name
    assert read_spec(json.loads(json.dumps(spec_dict(spec)))) == spec
    ids = [item.id for item in presets()[name].conclusions]
    assert ids and len(set(ids)) == len(ids)
    assert all(item.says and item.confirmed for item in presets()[name].conclusions)


@pytest.mark.parametrize(("name", "m"), [("thesis-fig2", 4), ("thesis-fig3", 8)])
def test_the_whole_grid_is_about_ten_thousand_sets_and_shares_those_of_the_figures(name, m) -> None:
    grid, figure = presets()["thesis-grid"].build(), presets()[name].build()
    tasks, loads = ({getattr(cell, key) for cell in figure.cells} for key in ("tasks", "load"))
    assert {cell.processors for cell in grid.cells} == {2, 4, 6, 8} and grid.total == 10800
    assert {cell.processors for cell in figure.cells} == {m} and figure.sets == 30
    assert (min(tasks), max(tasks), min(loads), max(loads)) == (m + 2, 12 * m, 600, 990)
    assert len(figure.cells) == len(tasks) * len(loads) and set(figure.cells) < set(grid.cells)
    (source,) = figure.sources.values()
    assert (source.period_low, source.period_high, source.bound) == (10, 250, 100_000)
    assert (source.deadlines, source.offsets, figure.tests) == ("implicit", "zero", ("gfb",))
    seeds = [cell_seed(grid, cell) for cell in figure.cells]
    assert seeds == [cell_seed(figure, cell) for cell in figure.cells]


@pytest.mark.parametrize("name", ["thesis-fig4", "thesis-fig5", "thesis-fig6"])
def test_figures_4_to_6_are_450_sets_on_4_processors(name: str) -> None:
    spec = presets()[name].build()
    # Given the sum, what is independent and exponential or uniform has one law for equal bounds.
    bounds = {(source.low, source.high) for source in spec.sources.values()}
    assert len(bounds) == len(spec.sources)
    for source in spec.sources:
        cells = [cell for cell in spec.cells if cell.source == source]
        assert len(cells) * spec.sets == 450
        assert {cell.tasks for cell in cells} == set(range(6, 21))
        assert (min(c.load for c in cells), max(c.load for c in cells)) == (500, 990)
    assert {cell.processors for cell in spec.cells} == {4}
    usual = [spec.contenders[x] for x in ("global", "partitioned", "clustered", "loose clustered")]
    assert [it.policy for it in usual] == ["g-edf", "p-edf", "c-edf", "lc-edf"]
    assert {(it.partition, it.order, it.cluster_size) for it in usual} == {("next-fit", "file", 2)}


def test_every_set_is_in_one_chunk() -> None:
    spec = presets()["thesis-fig4"].build()
    found = [
        (piece.cell, piece.first + k)
        for number in range(chunk_count(spec))
        for sets in [bounds(spec, number)]
        for piece in pieces(spec, sets.start, sets.stop)
        for k in range(piece.count)
    ]
    assert found == [(cell, k) for cell in range(len(spec.cells)) for k in range(spec.sets)]


def test_a_preset_takes_only_what_leaves_its_grid_alone() -> None:
    spec = specify(
        {"preset": "thesis-fig2", "sets": "5", "seed": 9, "ties": "reverse", "name": "x"}
    )
    assert (spec.sets, spec.seed, spec.name, spec.preset) == (5, 9, "x", "thesis-fig2")
    assert {label: it.ties for label, it in spec.contenders.items()} == {"g-edf": "reverse"}
    with pytest.raises(UsageError, match="tasks: cannot change the preset thesis-fig2"):
        specify({"preset": "thesis-fig2", "tasks": "8"})
    with pytest.raises(UsageError, match="did you mean thesis-fig2"):
        find_preset("thesis-fi2")


PAGE = Path(__file__).parents[2] / "docs/reference/studies.md"


def blocks(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8").partition("## A preset of yours")[2]
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def installed(folder: Path, entries: str) -> None:
    """What makes a package of ``folder`` an installed one."""
    metadata = folder / "mine-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entries)


def test_a_preset_is_one_file_of_an_installed_package(tmp_path: Path) -> None:
    (source,), (project,) = blocks("python"), blocks("toml")
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    ((group, entries),) = tomllib.loads(project)["project"]["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {module}" for name, module in entries.items())]
    installed(tmp_path, "\n".join(lines))

    def deadbeat(*words: str) -> dict[str, object]:
        done = subprocess.run(
            [sys.executable, "-m", "deadbeat", *words, "--json"],
            env=os.environ | {"PYTHONPATH": str(tmp_path)}, cwd=tmp_path,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        found: dict[str, object] = json.loads(done.stdout)
        return found

    assert "mine" in json.dumps(deadbeat("list", "studies"))
    told = json.dumps(
        deadbeat("sched", "study", "mine", "--no-figures", "--runs", f"{tmp_path}/runs")
    )
    assert '"decided"' in told
    assert "confirmed" in told


def test_a_package_that_cannot_be_imported_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "[deadbeat.of-a-test]\nmine = broken_presets")
    (tmp_path / "broken_presets.py").write_text("import not_there_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DeadbeatError, match="presets of broken_presets cannot be loaded: Module"):
        published("of-a-test", Preset)


def test_an_installation_without_presets_says_so() -> None:
    assert published("of-nobody", Preset) == {}
    assert nearest_preset("x", ()) == "none is installed: set up again with make setup"
    assert nearest_preset("x", ("y",)) == "one of y"
