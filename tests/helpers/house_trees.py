"""Trees of one house with those that it may import, and what of its tests works there.

A tree has an environment of its own, so that programs which its tests start see no more.
"""

import ast
import shutil
import venv
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import houses

from helpers.installs import link

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"


#: They start the command line, or build what is not of the package.
WHOLE = ("test_core.py", "test_summarise.py", "test_hostile.py", "test_truth.py")


def alone(house: str) -> list[Path]:
    """Files of its tests that import no other house, nor the command line."""
    paths = sorted({*(TESTS / house).glob("test_*.py")} - {TESTS / house / each for each in WHOLE})
    return [path for path in paths if {houses.house_of(each) for each in reach(path)} <= may(house)]


def may(house: str) -> set[str]:
    """The house, those that it may import, and those in turn."""
    found, todo = {house}, [house]
    while todo:
        more = {*houses.MAY[todo.pop()]} - found
        found |= more
        todo += more
    return found


def reach(path: Path) -> set[str]:
    """Modules of the product that a file of tests imports, and its helpers, by any way."""
    found, seen, todo = set[str](), {path}, [path]
    while todo:
        for name in _imported(todo.pop()):
            if name == "deadbeat" or name.startswith("deadbeat_papers"):
                found.add("cli")  # what `import deadbeat` offers
                continue
            if name.startswith("deadbeat."):
                found.add(_longest(name.removeprefix("deadbeat."), _product()))
                continue
            helper = _helpers().get(_longest(name, _helpers()))
            if helper and helper not in seen:
                seen.add(helper)
                todo.append(helper)
    return found


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)


def _longest(name: str, known: Collection[str]) -> str:
    """The module that it is in; "" of none."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


@cache
def _product() -> frozenset[str]:
    return frozenset({*houses.modules()} - {""})


@cache
def _helpers() -> dict[str, Path]:
    """What tests import of each other, by the names that it has there."""
    found = dict[str, Path]()
    for path in TESTS.rglob("*.py"):
        found[".".join(path.relative_to(TESTS).with_suffix("").parts)] = path
        found.setdefault(path.stem, path)
    return found


def lay(house: str, folder: Path, packages: Iterable[str]) -> Path:
    """A tree of the house in ``folder``, with these packages; returns its Python. The core is
    there for those that may import `sched`."""
    for entry in ROOT.iterdir():
        if entry.name not in ("src", "tests", "runs") and not entry.name.startswith("."):
            (folder / entry.name).symlink_to(entry)
    shutil.copytree(TESTS, folder / "tests", ignore=shutil.ignore_patterns("__pycache__", "golden"))
    (folder / "tests/golden").symlink_to(TESTS / "golden")
    root = ROOT / "src/deadbeat"
    own_files = (path for path in root.rglob("*") if path.is_file())
    for path in (path for path in own_files if "__pycache__" not in path.parts):
        name = path.relative_to(root)
        if name.stem == "__init__" or _house(name) in may(house):
            target = folder / "src/deadbeat" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    if "sched" in may(house):
        core = find_spec("deadbeat.sched._core")
        assert core and core.origin
        shutil.copy(core.origin, folder / "src/deadbeat/sched")
    venv.create(folder / ".venv", with_pip=False, symlinks=True)
    (own,) = (folder / ".venv").glob("lib/python*/site-packages")
    (own / "tree.pth").write_text(f"{folder / 'src'}\n")
    (own / "deadbeat-0.dist-info").mkdir()
    (own / "deadbeat-0.dist-info/METADATA").write_text("Name: deadbeat\nVersion: 0\n")
    link(folder / ".venv", *packages)
    return folder / ".venv/bin/python"


def _house(name: Path) -> str:
    """The house of a file of the product, which may be data."""
    return houses.house_of(".".join(name.with_suffix("").parts)) if name.suffix != ".typed" else ""


def modules_of(house: str) -> list[str]:
    return [f"deadbeat.{name}" for name in houses.modules() if houses.house_of(name) == house]
