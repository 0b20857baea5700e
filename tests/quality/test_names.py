"""Names and seams that only get tidier: one meaning a class name, no kind that knows another."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from quality_rules import nodes

from deadbeat.base.kinds import KINDS

SOURCE = Path(__file__).resolve().parents[2] / "src"
ROOMS = tuple(module.removesuffix(".kind") for module, *_ in KINDS.values())
#: A bound that may only fall: what is left of what the design wants gone.
SUPPRESSED_IMPORTS_MAX = 18


#: One worker reads the sources once for all rules.
pytestmark = pytest.mark.xdist_group("quality")


@cache
def modules() -> dict[Path, tuple[ast.AST, ...]]:
    files = (path for kind in ("*.py", "_core.pyi") for path in SOURCE.rglob(kind))
    return {path: nodes(path.read_text()) for path in files}


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
        own = ".".join(path.relative_to(SOURCE).parts[:3])
        for node in every if own in ROOMS else ():
            module = getattr(node, "module", None) if isinstance(node, ast.ImportFrom) else None
            other = ".".join((module or "").split(".")[:3])
            if other in ROOMS and other != own:
                found[str(path)] = other
    assert found == {}


def test_what_is_to_go_does_not_grow() -> None:
    suppressed = sum(path.read_text().count("PLC0415") for path in modules())
    assert suppressed <= SUPPRESSED_IMPORTS_MAX
