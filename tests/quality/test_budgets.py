"""What only gets smaller: untyped rows, words of the documentation.

Bounds: budget.toml.
"""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path, PurePath

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
BUDGET = tomllib.loads((Path(__file__).parent / "budget.toml").read_text())
#: A mapping whose values nobody can check.
_UNTYPED = re.compile(r"(?:dict|Mapping|MutableMapping|defaultdict)\[str, (?:Any|object)\]")
_ALIAS = re.compile(r"_?[A-Z][a-z]\w*")

pytestmark = pytest.mark.xdist_group("quality")


@cache
def modules() -> dict[PurePath, str]:
    return {path.relative_to(SOURCE): path.read_text() for path in SOURCE.rglob("*.py")}


def test_the_documentation_gets_no_longer() -> None:
    """`tools/docs.py` says which words it writes."""
    asked = [sys.executable, "tools/docs.py", "--words"]
    found = subprocess.run(asked, cwd=SOURCE.parent, capture_output=True, text=True, check=True)
    counted = json.loads(found.stdout)
    assert counted["by_hand"] > counted["generated"] > 10_000
    assert {kind: n for kind, n in counted.items() if n > BUDGET["words"][kind]} == {}


def hints(tree: ast.AST) -> Iterator[ast.expr]:
    """Annotations of parameters and results."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own = node.args
            every = [*own.args, *own.kwonlyargs, *own.posonlyargs, own.vararg, own.kwarg]
            yield from (each.annotation for each in every if each and each.annotation)
            if node.returns:
                yield node.returns


def untyped_in(texts: Mapping[str, str]) -> int:
    """Untyped mappings in the signatures of modules (by their names); an alias counts wherever it
    is used."""
    trees = {name: ast.parse(text) for name, text in texts.items()}
    aliases: set[tuple[str, str]] = set()
    known: dict[str, set[str]] = {name: set() for name in trees}

    def count(name: str, node: ast.AST) -> int:
        return sum(
            bool(isinstance(each, ast.Subscript) and _UNTYPED.fullmatch(ast.unparse(each)))
            or (isinstance(each, ast.Name) and each.id in known[name])
            for each in ast.walk(node)
        )

    for _ in range(3):  # an alias of an alias
        for name, tree in trees.items():
            for node in ast.iter_child_nodes(tree):
                if isinstance(node, ast.ImportFrom):
                    from_there = {
                        each.name for each in node.names if (node.module, each.name) in aliases
                    }
                    known[name] |= from_there
                elif (made := _assigned(node)) and count(name, made[1]):
                    aliases.add((name, made[0]))
                    known[name].add(made[0])
    return sum(count(name, hint) for name, tree in trees.items() for hint in hints(tree))


def _assigned(node: ast.AST) -> tuple[str, ast.expr] | None:
    """Name and value of what may be an alias."""
    target = value = None
    if isinstance(node, ast.Assign):
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AnnAssign):
        target, value = node.target, node.value or node.annotation
    shaped = isinstance(value, ast.Subscript | ast.BinOp | ast.Name)
    named = isinstance(target, ast.Name) and _ALIAS.fullmatch(target.id)
    return (target.id, value) if shaped and named else None


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("def f(a: dict[str, Any]) -> Mapping[str, object]: ...", 2),
        ("Row = Mapping[str, Any]\ndef f(a: Row, *more: list[Row]) -> int: ...", 2),
        ("Row: TypeAlias = dict[str, Any]\nRows = list[Row]\ndef f(a: Rows | None): ...", 1),
        ("def f(a: dict[str, int]) -> dict[int, Any]: ...", 0),
    ],
)
def test_an_alias_of_an_untyped_mapping_counts_at_each_use(text: str, count: int) -> None:
    assert untyped_in({"one": text}) == count


def test_an_alias_that_is_imported_counts_too() -> None:
    of = "from one import Row\ndef f(a: Row) -> None: ..."
    other = "Row = int\ndef f(a: Row) -> None: ..."
    assert untyped_in({"one": "Row = Mapping[str, Any]", "two": of, "three": other}) == 1


def test_untyped_mappings_get_fewer() -> None:
    named = {".".join(path.with_suffix("").parts): text for path, text in modules().items()}
    assert untyped_in(named) <= BUDGET["untyped_signatures"]
