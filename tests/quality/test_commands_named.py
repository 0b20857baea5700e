"""Truth: what the tool and its pages tell their reader to type can be typed, by today's names."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from deadbeat.cli.commands import root
from deadbeat.cli.main import main

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PAGES = [
    ROOT / "README.md",
    ROOT / "docs/coming-from.md",
    *(path for path in ROOT.glob("docs/*/*.md") if path.parent.name != "decisions"),
]


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
            shown = [each for each in command.params if not getattr(each, "hidden", False)]
            known = {name for each in shown for name in (*each.opts, *each.secondary_opts)}
            known |= {"--help", "-h", "--help-all"}
            for option in re.findall(r"(?<!\S)--[a-z][a-z-]+", rest):
                seen += 1
                if option not in known:
                    wrong.append(f"{at}: deadbeat {match[1].strip()} has no {option}")
    assert seen > 20
    assert not wrong, "\n".join(wrong)


def typed(page: str) -> Iterator[str]:
    """Commands of a page: lines of code, and code within a line, up to what a reader fills in."""
    text = re.sub(r"\\\n\s*", " ", page)
    prompt = r"^    (?:next: |sudo |\$ )?(?:\.venv/bin/)?deadbeat "
    lines = re.findall(rf"{prompt}([a-z].*)$", text, re.M)
    within = re.findall(r"`(?:sudo )?deadbeat ([a-z][^`]*)`", text)
    for command in (*lines, *(each.replace("\n", " ") for each in within)):
        bare = re.split(r" {3}| # | \| | > |;| -- |\.\.\.| \[| &$", command)[0].strip()
        if bare.count("'") % 2 == 0:
            yield bare


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_says_to_type_is_understood(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An old name is a hint on stderr, a wrong one an error."""
    found = {}
    for command in dict.fromkeys(typed(path.read_text(encoding="utf-8"))):
        status = main((*shlex.split(command), "--help"))
        said = capsys.readouterr().err
        if status or said:
            found[command] = said
    assert found == {}
