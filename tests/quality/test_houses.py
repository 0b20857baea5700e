"""What one must read to change one thing: tools/houses.py counts it, [closures] of budget.toml
bounds it."""

import re
import sys
import tomllib
from pathlib import Path

import houses
import pytest
from helpers.house_trees import TESTS, alone

import deadbeat

ROOT = Path(__file__).resolve().parents[2]
BUDGET = tomllib.loads((ROOT / "tests/quality/budget.toml").read_text())
BOUNDS, ALONE = BUDGET["closures"], BUDGET["alone"]
#: A bound that equals today's lines would make every added line edit it.
SLACK = 1.03
DEADBEAT = ROOT / "src/deadbeat"
#: Folders of tests of no house: answers, packages beside, the repository itself, rows of sources.
OTHER_TESTS = {"golden", "freertos", "papers", "quality", "rows", "yard"}
PACKAGE = ROOT / "packages/deadbeat-sched"

pytestmark = pytest.mark.xdist_group("quality")


def test_each_house_imports_what_it_may() -> None:
    assert houses.wrong(houses.every_import(houses.modules())) == []


def test_what_a_house_drags_in_is_bounded() -> None:
    texts = houses.modules()
    found = houses.rows(texts, houses.every_import(texts))
    assert found.keys() == BOUNDS.keys()
    assert {name: n for name, n in found.items() if n > BOUNDS[name] * SLACK} == {}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("from deadbeat.machine.targets.base import Target\n", ["machine.targets.base"]),
        ("def f():\n    from deadbeat.machine.targets import base\n", ["machine.targets.base"]),
        ("import deadbeat.machine.targets.base\n", ["machine.targets.base"]),
        ("from deadbeat.base.model.words import Json\n", []),
    ],
)
def test_an_import_against_the_table_is_found(text: str, wrong: list[str]) -> None:
    texts = {"base.store.one": text, "machine.targets.base": "\n" * 7}
    texts |= {"machine.targets": "", "base.model.words": "\n"}
    imports = houses.every_import(texts)
    assert [each.other for each in houses.wrong(imports)] == wrong


@pytest.mark.parametrize("typed", [True, False])
def test_an_import_for_types_is_named_apart(typed: bool) -> None:
    condition = "TYPE_CHECKING" if typed else "READY"
    text = f"if {condition}:\n    from deadbeat.machine import proc\n"
    texts = {"base.one": text, "machine.proc": "import deadbeat.machine.far\n"}
    texts["machine.far"] = "\n" * 5
    imports = houses.every_import(texts)
    assert [each.typed for each in imports] == [typed, False]
    dragged = houses.closure({"base.one"}, imports)
    assert houses.lines_of(dragged, texts) == 2 + 6 * (not typed)


def test_a_folder_of_no_house_is_told() -> None:
    with pytest.raises(ValueError, match="src/deadbeat/elsewhere is no house"):
        houses.house_of("elsewhere.one")


def test_no_house_hides_a_public_name() -> None:
    """What is imported below `deadbeat.latency` would stand in place of the function."""
    files = [*DEADBEAT.glob("*.py"), *DEADBEAT.glob("*/*.py")]  # a folder that left has none
    below = {path.relative_to(DEADBEAT).parts[0].removesuffix(".py") for path in files}
    assert {*dir(deadbeat)} & below == set()


def test_each_folder_of_tests_is_a_house_or_known() -> None:
    found = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    assert found - OTHER_TESTS == {*houses.MAY} - {"lab's kinds"}


def test_as_many_files_of_tests_stand_alone() -> None:
    """A file that now needs another house, or the command line, is not seen by house trees."""
    assert {house: len(alone(house)) for house in ALONE} == ALONE


def test_the_wheel_of_sched_holds_what_its_modules_import() -> None:
    """All of the house but studies and what draws, which need `report`."""
    texts = houses.modules()
    drawing = {"sched.drawing", "sched.page"}
    room = {each for each in texts if each.split(".")[0] == "sched"}
    library = room - drawing - {each for each in room if each.startswith("sched.study")}
    needed = houses.closure(library, houses.every_import(texts))
    needed |= {each.rpartition(".")[0] for each in needed} - {""}
    needed |= {each.rpartition(".")[0] for each in needed} - {""}
    listed = re.findall(r"^  (\S+)\.py$", (PACKAGE / "CMakeLists.txt").read_text(), re.M)
    assert {each.replace("/", ".").removesuffix(".__init__") for each in listed} == needed
    outside = {
        name
        for each in needed
        for name in re.findall(r"^ *(?:from|import) (\w+)", texts[each], re.M)
        if name not in sys.stdlib_module_names
    }
    assert outside == {"attrs", "deadbeat", "numpy"}


@pytest.mark.parametrize("page", ["reference/houses.md", "explanation/architecture.md"])
def test_a_page_names_what_there_is(page: str) -> None:
    named = re.findall(r"`([\w-]+(?:/[\w.-]+)+)`", (ROOT / "docs" / page).read_text())
    assert len(named) > 10
    known = (path for each in named for path in (ROOT / each, DEADBEAT / each) if path.exists())
    assert len({*known}) == len({each for each in named if "ID" not in each})
