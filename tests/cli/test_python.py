"""Truth: docs/reference/python.md: the verbs from Python, and what a notebook shows of a result."""

import ast
import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from helpers.answers import Capture

import deadbeat
from deadbeat.base.kinds.base import OpenedResult
from deadbeat.base.model.errors import UsageError
from deadbeat.base.report.document import CellMap, Document, Table, said
from deadbeat.base.report.notebook import glance

NOTEBOOK = Path(__file__).parents[2] / "docs/examples/first-look.ipynb"
MADE_UP: dict[str, Any] = {"simulated": True, "figures": False}
VERBS: dict[str, dict[str, Any]] = {
    "latency": {"loads": ["idle", "cpu:50"], "duration": "0.2s", "repeats": 2},
    "load": {"normal": [0, 4], "repeats": 1, "duration": 0.5},
    "contention": {"quick": True, "cores": "1,2", "duration": 0.1, "sets": 1},
    "breakdown": {"quick": True, "sets": 1, "duration": 0.1, "steps": 3},
}


pytestmark = pytest.mark.usefixtures("in_a_folder")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_a_function_and_every_result_opens_alike(verb: str, capsys: Capture) -> None:
    found = getattr(deadbeat, verb)(**VERBS[verb], **MADE_UP, name="tiny")
    assert capsys.readouterr() == ("", "")
    assert isinstance(found, OpenedResult) and found.path == Path("runs/tiny")
    assert found.headline and found.shown.state == "finished" and found.simulated
    assert any("SIMULATED" in label.upper() for label in found.labels)
    assert len(found.to_pandas()) == len(found.rows) > 0
    assert list(found.columns) == list(found.rows[0])
    assert found.figures and "SIMULATED" in found._repr_html_()
    again = deadbeat.open("runs/tiny")
    assert again.headline == found.headline and again.rows == found.rows


def test_what_a_command_refuses_a_function_refuses_with_the_near_word() -> None:
    with pytest.raises(UsageError, match="did you mean --loads"):
        deadbeat.latency(lods="idle")
    with pytest.raises(UsageError, match="did you mean cpu"):
        deadbeat.latency(loads=["cpux"], simulated=True)
    assert not Path("runs").exists()


def test_progress_is_told_where_it_is_asked_for(capsys: Capture) -> None:
    deadbeat.latency(**VERBS["latency"], **MADE_UP, progress=True)
    out, err = capsys.readouterr()
    assert out == "" and "4 of 4 runs" in err


def test_an_interrupted_function_is_an_interrupt_and_goes_on(monkeypatch: pytest.MonkeyPatch):
    asked = {**VERBS["contention"], "figures": False}
    with pytest.raises(KeyboardInterrupt):
        deadbeat.contention(**asked, executor="fake:interrupt-after=2")
    found = deadbeat.contention(**asked, executor="fake")
    assert found.shown.state == "finished"


def test_figures_are_files_of_the_kind_their_name_says(tmp_path: Path) -> None:
    found = deadbeat.load(**VERBS["load"], **MADE_UP)
    figure = next(iter(found.figures.values()))
    assert figure.save(tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    assert figure._repr_html_().startswith("<img alt=")
    with pytest.raises(UsageError, match="gif is not a format"):
        figure.save(tmp_path / "a.gif")
    assert not (tmp_path / "a.gif").exists()


EVIL = "<script>alert(1)</script>"


def test_a_notebook_shows_hostile_names_as_text() -> None:
    table = Table(name="t", columns=[said("x", lambda row: row)], rows=[EVIL], title=EVIL)
    cells = CellMap(
        title=EVIL, columns=[EVIL], rows=[EVIL], cells=[[EVIL]], strength=[[1]], corner=EVIL
    )
    document = Document(title=EVIL, kind="load", sections=(), labels=[EVIL], answer=[EVIL])
    for picture in (table, cells):
        shown = glance(evolve(document, picture=picture))
        assert "<script" not in shown and shown.count("&lt;script&gt;") >= 4


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell in one namespace; the last line of a cell is what it shows."""
    small = {"latency": {"loads": ["idle", "cpu"]}, "contention": {"cores": "1,2", "sets": 1}}
    for verb, less in small.items():
        monkeypatch.setattr(deadbeat, verb, partial(getattr(deadbeat, verb), **less))
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert all(not cell.get("outputs") for cell in cells)
    names: dict[str, Any] = {}
    shown = []
    for cell in cells:
        if cell["cell_type"] == "code":
            body = ast.parse("".join(cell["source"])).body
            last = body.pop() if isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), "cell", "exec"), names)
            if isinstance(last, ast.Expr):
                shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
    assert len(shown) == 5
    assert all(hasattr(each, "_repr_html_") for each in shown)
    shutil.rmtree("notebook-runs")
