"""Names and seams that only get tidier: one meaning a class name, no kind that knows another."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from quality_rules import nodes

SOURCE = Path(__file__).resolve().parents[2] / "src"
KINDS = tuple(
    each.name
    for each in (SOURCE / "deadbeat/kinds").iterdir()
    if each.is_dir() and each.name[0] != "_"
)
#: A bound that may only fall: what is left of what the design wants gone.
SUPPRESSED_IMPORTS_MAX = 18


#: One worker reads the sources once for all rules.
pytestmark = pytest.mark.xdist_group("quality")


@cache
def modules() -> dict[Path, tuple[ast.AST, ...]]:
    return {path: nodes(path.read_text()) for path in SOURCE.rglob("*.py")}


def test_no_class_name_is_used_twice() -> None:
    places = defaultdict(list)
    for path, every in modules().items():
        for node in every:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(SOURCE)))
    assert len(places) > 300
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_kinds_import_no_other_kind() -> None:
    found = {}
    for path, every in modules().items():
        own = path.relative_to(SOURCE).parts
        if own[:2] != ("deadbeat", "kinds") or own[2] not in KINDS:
            continue
        for node in every:
            module = getattr(node, "module", None) if isinstance(node, ast.ImportFrom) else None
            other = re.match(r"deadbeat\.kinds\.(\w+)", module or "")
            if other and other[1] in KINDS and other[1] != own[2]:
                found["/".join(own[2:])] = other[1]
    assert found == {}


def test_what_is_to_go_does_not_grow() -> None:
    suppressed = sum(path.read_text().count("PLC0415") for path in modules())
    assert suppressed <= SUPPRESSED_IMPORTS_MAX
