"""What one must read to change one thing: tools/houses.py counts it, [closures] of budget.toml
bounds it."""

import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import houses
import pytest
from helpers.house_trees import TABLE, TESTS, files, may, reach

ROOT = Path(__file__).resolve().parents[2]
BOUNDS = tomllib.loads((ROOT / "tests/quality/budget.toml").read_text())["closures"]
#: A bound that equals today's lines would make every added line edit it.
SLACK = 1.03
DEADBEAT = ROOT / "src/deadbeat"
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


def test_every_file_of_tests_has_one_house() -> None:
    """A file that has none, or two, needs a line of tests/houses.toml."""
    listed = [path for house in TABLE for kind in TABLE[house] for path in files(house, kind)]
    assert {*TESTS.rglob("test_*.py")} - {*listed} == set()
    assert [path for path, n in Counter(listed).items() if n > 1] == []
    patterns = [each for kinds in TABLE.values() for kind in kinds.values() for each in kind]
    assert [each for each in patterns if not [*TESTS.glob(each)]] == []


def test_a_house_may_be_called_like_a_folder() -> None:
    """pytest takes the second word of ``--house build`` for a path: without conftest.py."""
    told = subprocess.run(["make", "-n", "test", "HOUSE=build"], cwd=ROOT, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert "--house=build" in told.stdout


def test_what_stands_alone_imports_no_other_house() -> None:
    """A file that needs another house, or the command line, stands under ``whole``."""
    found = {
        str(path.relative_to(TESTS)): others
        for house in TABLE
        for path in files(house, "alone")
        if (others := {_house(module) for module in reach(path)} - may(house))
    }
    assert found == {}


def _house(module: str) -> str:
    return "papers" if module == "deadbeat_papers" else houses.house_of(module)


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
