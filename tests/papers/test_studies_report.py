"""Truth: values whose axes are plain to see, and what a small study prints."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.studies import made_up, small

from deadbeat.cli.main import main
from deadbeat.sched.study.charts import framed
from deadbeat_papers.thesis.charts import critical


def test_an_axis_is_made_from_the_values_not_from_their_intervals() -> None:
    limits = framed([10.0, 20.0])
    assert -1 < limits[0] <= 0 and 20 < limits[1] < 40
    assert framed([]) is None


def test_the_pointer_says_where_a_cell_lies_and_how_many_sets_failed() -> None:
    results = made_up(small(), lambda _, cell, number: cell.tasks < 6 or number < 5)
    (chart,) = critical(results)
    heat = chart.panels[0].heat
    assert heat.cells[1][0].hover == "U/m 0.6, n 6\n7 of 12 not schedulable"
    assert (heat.cells[0][0].text, heat.cells[1][0].text, heat.high) == ("0", "7", 12.0)


def test_many_tasks_are_more_than_ten_a_processor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Section 2.4 of the thesis; at n = 10 m sets fail that its sentence does not speak of."""
    words = ["sched", "study", "thesis-grid", "--sets", "1", "--no-figures", "--json"]
    assert main([*words, "--runs", str(tmp_path)]) == 0
    found: Any = json.loads(capsys.readouterr().out)["results"]
    judged = {each["id"]: each for each in found["conclusions"]}
    texts = [each["figures"] for each in judged["none-with-many-tasks"]["evidence"]]
    # 4 platforms with 7 values of U to 0.9 m, and 2 above
    assert [text.split(" sets ")[0].rpartition(" of ")[2] for text in texts] == ["28", "8"]
    looked = {each["variant"].get("m") for each in judged["same-pattern"]["evidence"]}
    assert looked == {"2", "6"}


def test_a_figure_of_migrations_answers_with_migrations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sched", "study", "thesis-fig5", "--sets", "1", "--no-figures"]
    assert main([*words, "--runs", str(tmp_path)]) == 0
    head, *rows = capsys.readouterr().out.split("\nscheduler or test")[1].splitlines()
    assert "migrations a set" in head and "slack by period" in head
    migrations = {row.split("  ")[0]: row.split("]")[1].split()[0] for row in rows[:4]}
    assert migrations["partitioned"] == "0" and migrations["global"] != "0"


@pytest.mark.slow  # the whole figure, twice
def test_figure_4_with_costs_of_migrations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Partitioned tasks do not migrate: they are as schedulable as without; others are not."""
    yes = []
    for number, more in enumerate(([], ["--set", "scheduler={costs={migration_across=50}}"])):
        words = ["sched", "study", "thesis-fig4", "--sets", "1", "--no-figures", "--json", *more]
        assert main([*words, "--name", f"s{number}", "--runs", str(tmp_path)]) == 0
        answers = json.loads(capsys.readouterr().out)["results"]["answers"]
        yes.append({each["label"]: each["schedulable"] for each in answers})
    free, dear = yes
    assert dear["partitioned"] == free["partitioned"]
    assert dear["clustered"] == free["clustered"], "within clusters nothing costs more"
    assert dear["global"] < free["global"]
    assert dear["loose clustered"] < free["loose clustered"]
