"""What a study may be: presets on the thesis's grid, sweeps as written, every error at once."""

import json
from pathlib import Path

import attrs
import pytest
from helpers.studies import made_up, small

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.report.document import records
from deadbeat.base.store.files import read_toml
from deadbeat.sched.study.charts import charts
from deadbeat.sched.study.preset import specify
from deadbeat.sched.study.results import answered, columns_of
from deadbeat.sched.study.spec import digest, read_spec, spec_dict


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
