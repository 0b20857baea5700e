#!/usr/bin/env python3
"""What one must read of src to change one thing: what each house drags in, by its imports.

    tools/houses.py            lines that houses drag in, and imports that no house may have
    tools/houses.py --once     functions of a module alone that are called once, a line each

A house is a folder of src/deadbeat, and its rooms are those in it; `MAY` says what it may import.
Imports within functions count as much as others; those under TYPE_CHECKING are of readers alone,
and are named apart. What is loaded by its name in a string is no import: a house without the other
one says so, and goes on.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[1] / "src"


#: House -> houses that it may import, beside its own.
MAY = {
    "base": (),
    "machine": ("base",),
    "sched": ("base",),
    "build": ("base", "machine"),
    "tasksets": ("base", "machine", "sched", "build"),
    "latencies": ("base", "machine", "build"),
    "program": ("base", "machine", "build", "sched"),
    "lab": ("base", "machine", "build"),
    "lab's kinds": ("base", "machine", "build", "lab", "tasksets", "latencies"),
    "cli": (
        *("base", "machine", "sched", "build", "tasksets", "latencies", "program", "lab"),
        "lab's kinds",
    ),
}
#: What is of another house than its folder: what runs task sets, and measures latency, in machines
#: of the lab, and the package itself.
ELSEWHERE = {
    **{"lab.executor": "lab's kinds", "lab.latency": "lab's kinds"},
    **{"": "cli", "__main__": "cli"},
}
#: Rooms whose closures are shown, too.
ROOMS = ("tasksets.contention", "latencies.latency", "program.run", "sched.study", "base.report")


class Import(NamedTuple):
    """``module`` imports ``other`` at a line; ``typed``: for types alone."""

    module: str
    other: str
    line: int
    typed: bool


def modules(source: Path = SOURCE) -> dict[str, str]:
    """Name below deadbeat, "" of itself -> text of each module."""
    root = source / "deadbeat"
    texts = {}
    for path in sorted(root.rglob("*.py")):
        parts = [
            part for part in path.relative_to(root).with_suffix("").parts if part != "__init__"
        ]
        texts[".".join(parts)] = path.read_text(encoding="utf-8")
    return texts


def imports_of(module: str, text: str, known: Collection[str]) -> Iterator[Import]:
    """Imports of modules that are ``known``, all of the product."""

    def walk(nodes: Iterable[ast.AST], typed: bool) -> Iterator[Import]:
        for node in nodes:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                yield from walk(node.body, True)
                yield from walk(node.orelse, typed)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                for name in _named(node):
                    for other in (name, name.rpartition(".")[0]):
                        if other in known and other != module:
                            yield Import(module, other, node.lineno, typed)
                            break
            else:
                yield from walk(ast.iter_child_nodes(node), typed)

    yield from walk(ast.parse(text).body, False)


def _named(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """What it imports, below deadbeat. The project has no relative imports."""
    names = [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{name}" for name in names]
    for name in names:
        if name.startswith("deadbeat."):
            yield name.removeprefix("deadbeat.")


def every_import(texts: Mapping[str, str]) -> list[Import]:
    return [
        each for name, text in texts.items() for each in imports_of(name, text, {*texts} - {""})
    ]


def house_of(module: str) -> str:
    """Raises ValueError: its folder is no house."""
    found = ELSEWHERE.get(module, module.partition(".")[0])
    if found not in MAY:
        raise ValueError(f"src/deadbeat/{found} is no house: `MAY` of tools/houses.py lists them")
    return found


def closure(begin: set[str], imports: Iterable[Import]) -> set[str]:
    """These modules, and all that they import, and those in turn."""
    edges: dict[str, set[str]] = {}
    for each in imports:
        if not each.typed:
            edges.setdefault(each.module, set()).add(each.other)
    found, todo = {*begin}, [*begin]
    while todo:
        more = edges.get(todo.pop(), set()) - found
        found |= more
        todo += more
    return found


def rows(texts: Mapping[str, str], imports: Iterable[Import]) -> dict[str, int]:
    """Lines that each house, and some of its rooms, drag in."""
    parts = {name: {each for each in texts if house_of(each) == name} for name in MAY}
    for room in ROOMS:
        parts[room] = {each for each in texts if f"{each}.".startswith(f"{room}.")}
    return {name: lines_of(closure(mine, imports), texts) for name, mine in parts.items()}


def lines_of(names: Iterable[str], texts: Mapping[str, str]) -> int:
    return sum(texts[name].count("\n") for name in names)


def wrong(imports: Iterable[Import]) -> list[Import]:
    """Those that their house may not have."""
    return [
        each
        for each in imports
        if (own := house_of(each.module)) != (other := house_of(each.other))
        and other not in MAY[own]
    ]


def called_once(texts: Mapping[str, str]) -> Iterator[str]:
    """Functions of a module alone that nothing but one call names."""
    for name, text in texts.items():
        tree = ast.parse(text)
        used = Counter(each.id for each in ast.walk(tree) if isinstance(each, ast.Name))
        calls = Counter(
            each.func.id
            for each in ast.walk(tree)
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
        )
        plain = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
        for each in (one for one in plain if one.name[0] == "_" and not one.decorator_list):
            if used[each.name] == calls[each.name] == 1:
                yield f"{name}:{each.lineno} {each.name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--once", action="store_true")
    asked, texts = parser.parse_args(), modules()
    if asked.once:
        print(*called_once(texts), sep="\n")
        return
    imports = every_import(texts)
    for name, lines in rows(texts, imports).items():
        print(f"{name:19} {lines:7,}")
    for each in wrong(imports):
        word = " for types" * each.typed
        print(f"{each.module}:{each.line} imports {each.other}{word}")
    print(f"{len(list(called_once(texts)))} functions of a module alone are called once")


if __name__ == "__main__":
    main()
