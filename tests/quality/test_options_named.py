"""Truth: the command set: every command and option that a text names is one that parses."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from deadbeat.cli._gone import COMMANDS as GONE
from deadbeat.cli.commands import root

ROOT = Path(__file__).parents[2]
VERBS = tomllib.loads((ROOT / "src/deadbeat/cli/verbs/deadbeat.toml").read_text())
#: Of every command; of programs that texts name beside deadbeat.
EVERY = {"--help", "--version", "--debug", "--quiet", "--no-color"}
FOREIGN = {
    "--cap-add", "--cyclic", "--fsys-tarfile", "--no-optional-locks", "--no-thread",
    "--occurrence", "--porcelain", "--security-opt", "--short", "--state", "--temp-path", "--type",
    "--ulimit", "--wildcards",
}  # fmt: skip
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
COMMAND = re.compile(r"(?<![\w/.-])(?:\.venv/bin/)?deadbeat ([a-z][a-z-]*(?: [^\s`;|>)\"]+)*)")
END = re.compile(r"(?<=\w)[,.:;](?:\s|$)|  ")


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the first words name, and the others."""
    command: click.Command = root
    while words and isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            break
        command, words = found, words[1:]
    return command, words


def options_of(command: click.Command) -> set[str]:
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)}


def taken(verb: str, command: click.Command) -> set[str]:
    """What a verb takes, with any of its modes."""
    found = EVERY | options_of(command)
    for option, mode in VERBS["modes"].get(verb, {}).items():
        found |= {option, *options_of(command_of(mode.split())[0])}
    return found


def texts() -> Iterator[tuple[str, str]]:
    """Every string of the sources that people may read, and every line of the pages."""
    for file in (ROOT / "src/deadbeat").rglob("*.py"):
        tree = ast.parse(file.read_text())
        joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
        parts = {id(value) for node in joined for value in node.values}
        parts |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        whole = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if id(node) not in parts
        ]
        for node in (*joined, *whole):
            values = node.values if isinstance(node, ast.JoinedStr) else [node]
            made = (v.value if isinstance(v, ast.Constant) else "{}" for v in values)
            yield f"{file.name}:{node.lineno}", "".join(map(str, made))
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "src/deadbeat").rglob("*.toml")]
    for file in (*pages, ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        if file.parent.name != "decisions":
            for line in file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
                yield file.name, line


def wrong(text: str) -> Iterator[str]:
    """What ``text`` names that is no command, or no option of it."""
    for found in COMMAND.findall(text):
        words = END.split(found)[0].split()
        command, rest = command_of(words)
        said = " ".join(words)
        if command is root:
            first = rest[1:2] or [""]
            if rest[0] in GONE and (first[0].startswith(("--", "{")) or first[0].isupper()):
                yield said
        elif not isinstance(command, click.Group):
            own = rest[: rest.index("--")] if "--" in rest else rest
            plain = re.sub(r"'[^']*'", "", " ".join(own))
            if {*OPTION.findall(plain)} - taken(words[0], command):
                yield said


def test_every_command_of_a_text_parses() -> None:
    found = [f"{where}: {said}" for where, text in texts() for said in wrong(text)]
    assert found == []


def test_every_option_of_a_sentence_is_one_of_a_command() -> None:
    known = EVERY | FOREIGN
    for name in VERBS["verbs"]:
        known |= options_of(command_of([name])[0])
        group = command_of([name])[0]
        if isinstance(group, click.Group):
            for each in group.list_commands(click.Context(group)):
                known |= options_of(command_of([name, each])[0])
    sentences = [
        (w, t)
        for w, t in texts()
        if w.partition(":")[0] != "__main__.py" and ".py:" in w and " " in t
    ]
    found = [(w, option) for w, t in sentences for option in OPTION.findall(t)]
    assert len(found) > 100
    assert [each for each in found if each[1] not in known] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("deadbeat latency --quik", "latency --quik"),
        ("see deadbeat report NAME", "report NAME"),
        ("deadbeat contention --random --sets 3", None),
        ("deadbeat run --name x -- ./program --old", None),
        ("what deadbeat reads", None),
    ],
)
def test_a_wrong_one_is_seen(text: str, said: str | None) -> None:
    assert next(wrong(text), None) == said
