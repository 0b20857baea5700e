"""Words of a narrator in sources only get fewer. Bounds: budget.toml."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
BOUNDS = tomllib.loads((Path(__file__).parent / "budget.toml").read_text())["narrator"]
WORDS = ("told", "nobody", "somebody", "so many", "anew", "whose")
#: Docstrings that begin so say what a value belongs to, not what it is.
STARTS = ("Of", "As", "Those")
READ = {".py", ".toml", ".md", ".sh"}

pytestmark = pytest.mark.xdist_group("quality")


def starts(source: str) -> Iterator[str]:
    """First words of the docstrings of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (ast.get_docstring(node) or "").split()[:1]


def counted(text: str, *, python: bool) -> Counter[str]:
    """Every bounded word in ``text``, and beginnings of docstrings."""
    flat = " ".join(text.lower().split())
    found = Counter({word: len(re.findall(rf"\b{word}\b", flat)) for word in WORDS})
    if python:
        found.update(f'"""{word}' for word in starts(text) if word in STARTS)
    return found


def test_a_word_is_counted_once_and_across_lines() -> None:
    text = '"""Of so\nmany."""\ntold = "Told: retold"\n\ndef f():\n    """Often anew."""\n'
    found = +counted(text, python=True)
    assert found == {"so many": 1, "told": 2, "anew": 1, '"""Of': 1}


def test_words_of_a_narrator_get_fewer() -> None:
    found: Counter[str] = Counter()
    for path in SOURCE.rglob("*"):
        if path.suffix in READ:
            found += counted(path.read_text(encoding="utf-8"), python=path.suffix == ".py")
    assert {word: count for word, count in found.items() if count > BOUNDS.get(word, 0)} == {}
