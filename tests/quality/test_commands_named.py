"""Truth: what the tool tells its user to type can be typed: each option belongs to its command."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click

from deadbeat.cli.commands import root

SOURCE = Path(__file__).parents[2] / "src"


def texts() -> Iterator[tuple[str, str]]:
    """Where a text stands, and the text; a value within it is ``X``."""
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if not re.search(r"\bdeadbeat [a-z\"'{]", source):
            continue
        for node in ast.walk(ast.parse(source)):
            at = f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.JoinedStr):
                parts = (p.value if isinstance(p, ast.Constant) else "X" for p in node.values)
                yield at, "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield at, node.value


def command_of(words: list[str]) -> click.Command | None:
    """The command that ``words`` begin with."""
    found: click.Command = root
    for word in words:
        if not isinstance(found, click.Group):
            break
        deeper = found.get_command(click.Context(found), word)
        if deeper is None:
            return None
        found = deeper
    return None if isinstance(found, click.Group) else found


def test_options_of_commands_that_are_told_exist() -> None:
    wrong, seen = [], 0
    for at, text in texts():
        for match in re.finditer(r"\bdeadbeat ((?:[a-z]+ ?)+)([^;:,()`\n]*)", text):
            command = command_of(match[1].split())
            rest = re.split(r" (?:and|or|with) ", match[2])[0]
            if command is None:
                continue
            known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
            known |= {"--help", "-h", "--help-all"}
            for option in re.findall(r"(?<!\S)--[a-z][a-z-]+", rest):
                seen += 1
                if option not in known:
                    wrong.append(f"{at}: deadbeat {match[1].strip()} has no {option}")
    assert seen > 20
    assert not wrong, "\n".join(wrong)
