"""What a study may be: presets on the thesis's grid, sweeps as written, every error at once."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import attrs
import pytest
from helpers.studies import made_up, small

from deadbeat.kinds.study.charts import charts
from deadbeat.kinds.study.chunks import chunk_count, pieces
from deadbeat.kinds.study.preset import Preset, find_preset, presets, specify
from deadbeat.kinds.study.results import answered, columns_of
from deadbeat.kinds.study.spec import cell_seed, digest, read_spec, spec_dict
from deadbeat.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.model.published import nearest_preset, published
from deadbeat.report.document import records
from deadbeat.store.files import read_toml


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
        for piece in pieces(spec, number)
        for k in range(piece.count)
    ]
    assert found == [(cell, k) for cell in range(len(spec.cells)) for k in range(spec.sets)]


def test_a_sweep_as_written() -> None:
    spec = specify(
        {"processors": "2,4", "tasks": "8..20:4", "utilisation": "0.5..0.99:0.05"},
        {
            "distribution": "randfixedsum,uniform:low=0.1:high=0.6",
            "policies": "g-edf,c-edf:cluster-size=2",
        },
        {"ties": "index,reverse", "tests": "gfb", "sets": 7, "generator": {"period_high": 100}},
    )
    assert {cell.processors for cell in spec.cells} == {2, 4}
    assert sorted({cell.tasks for cell in spec.cells}) == [8, 12, 16, 20]
    assert sorted({cell.load for cell in spec.cells}) == list(range(500, 951, 50))
    assert list(spec.sources) == ["randfixedsum", "uniform:low=0.1:high=0.6"]
    assert [(s.low, s.high, s.period_high) for s in spec.sources.values()] == [
        (0.0, 1.0, 100),
        (0.1, 0.6, 100),
    ]
    assert list(spec.contenders) == [
        "g-edf (index)",
        "g-edf (reverse)",
        "c-edf:cluster-size=2 (index)",
        "c-edf:cluster-size=2 (reverse)",
    ]
    assert spec.total == 2 * 4 * 10 * 2 * 7


def test_hyper_period_and_periods_are_axes() -> None:
    """Each law with each bound; a law without a bound once."""
    spec = small(periods="lcm-limited,log-uniform", lcm_limit="1000,100000")
    law = "randfixedsum:periods=lcm-limited:lcm-limit"
    assert {label: (it.periods, it.bound) for label, it in spec.sources.items()} == {
        f"{law}=1000": ("lcm-limited", 1000),
        f"{law}=100000": ("lcm-limited", 100_000),
        "randfixedsum:periods=log-uniform": ("log-uniform", None),
    }
    assert len(spec.cells) == 3 * len(small().cells)
    assert small(lcm_limit="1000").sources["randfixedsum"].bound == 1000
    results = made_up(spec, lambda label, cell, number: cell.source.endswith("=1000"))
    rows = list(records(columns_of(spec), answered(results)))
    assert {(row["periods"], row["lcm_limit"], row["share"]) for row in rows} == {
        ("lcm-limited", 1000, 1.0), ("lcm-limited", 100_000, 0.0), ("log-uniform", None, 0.0)
    }  # fmt: skip
    chart = next(chart for chart in charts(results) if chart.name == "hyper-periods")
    (panel,) = chart.panels
    assert {(each.x, each.y) for each in panel.curves} == {((1000, 100_000), (1.0, 0.0))}


def test_every_problem_is_told_at_once_under_the_name_that_was_written() -> None:
    with pytest.raises(UsageError) as caught:
        specify(
            {
                "processors": "2.5",
                "tasks": "20..8",
                "sets": "many",
                "policies": "g-edf:size",
                "x": 1,
            },
            names={
                "tasks": "--tasks",
                "processors": "--processors",
                "utilisation": "--utilisation",
            },
        )
    text = str(caught.value)
    for part in (
        "x: unknown key",
        "--utilisation: missing",
        "--processors[0]: 2.5 is not a whole number",
        '--tasks: "20..8" is not an ascending range',
        'sets: "many" is not a whole number',
        'policies: "size" is not KEY=VALUE',
    ):
        assert part in text


def test_what_no_core_knows_is_told_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        specify(
            {"processors": 3, "tasks": 8, "utilisation": 0.5, "tests": "gbf,gfb,tardiness"},
            {"policies": "g-efd,c-edf", "ties": "indx", "distribution": "normal:low=0.9:high=0.1"},
        )
    text = str(caught.value)
    for part in (
        'no policy "g-efd"',
        'no tie rule "indx"',
        'no test "gbf"',
        "does not divide 3",
        "no verdict",
    ):
        assert part in text
    assert "normal" in text


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


def test_the_digest_is_of_what_is_computed() -> None:
    spec = small()
    plain = digest(spec_dict(spec))
    assert digest(spec_dict(attrs.evolve(spec, name="other"))) == plain
    for changed in (
        attrs.evolve(spec, seed=2),
        attrs.evolve(spec, sets=13),
        attrs.evolve(spec, cells=spec.cells[::-1]),
        attrs.evolve(spec, contenders=dict(reversed(list(spec.contenders.items())))),
    ):
        assert digest(spec_dict(changed)) != plain


@pytest.mark.parametrize(
    ("key", "value"),
    [("sets", 0), ("sets", "9"), ("preset", 0.5), ("tests", [1e308]), ("tests", "gfb"),
     ("cells", [["2", 4, 600, "x"]]), ("cells", [[2, 4, 600, "none such"]]), ("seed", 2**63),
     ("contender_order", []), ("source_order", {}), ("budget", None)],
)  # fmt: skip
def test_a_wrong_value_of_a_stored_study_is_told(key: str, value: object) -> None:
    plain = json.loads(json.dumps(spec_dict(small()))) | {key: value}
    with pytest.raises(DataError, match=r"study file runs/s/study\.json is damaged: "):
        read_spec(plain, Path("runs/s/study.json"))


def test_a_damaged_specification_is_told(tmp_path) -> None:
    plain = spec_dict(small())
    del plain["cells"]
    with pytest.raises(DataError, match=r"study file study\.json is damaged"):
        read_spec(plain)
    file = tmp_path / "s.toml"
    file.write_text("processors = [2\n")
    with pytest.raises(UsageError, match="not TOML"):
        read_toml(file)


@pytest.mark.parametrize("text", ["nan", "inf", "0.5,nan", "1e999"])
def test_a_number_that_is_none_is_told(text) -> None:
    asked = {"processors": 4, "tasks": 8, "utilisation": text, "policies": "g-edf"}
    with pytest.raises(UsageError, match="is not a number"):
        specify(asked)


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
            [sys.executable, "-m", "deadbeat", "sched", "study", *words, "--json"],
            env=os.environ | {"PYTHONPATH": str(tmp_path)}, cwd=tmp_path,
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        found: dict[str, object] = json.loads(done.stdout)
        return found

    assert "mine" in json.dumps(deadbeat("--list"))
    told = json.dumps(deadbeat("mine", "--no-figures", "--runs", str(tmp_path / "runs")))
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
