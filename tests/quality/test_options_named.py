"""Truth: the command set: every option that a sentence of the sources names is one of a command."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

from deadbeat.cli.commands import root

ROOT = Path(__file__).parents[2]
VERBS = tomllib.loads((ROOT / "src/deadbeat/cli/verbs/deadbeat.toml").read_text())
#: Of every command; of programs that texts name beside deadbeat.
EVERY = {"--help", "--version", "--debug", "--quiet", "--no-color"}
FOREIGN = {
    "--cap-add", "--cyclic", "--exclude-perf", "--format", "--fsys-tarfile", "--no-optional-locks",
    "--no-thread", "--occurrence", "--porcelain", "--security-opt", "--short", "--state",
    "--temp-path", "--type", "--ulimit", "--unshallow", "--wildcards",
}  # fmt: skip
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


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


def texts() -> Iterator[tuple[str, str]]:
    """Every string of the sources that people may read; docstrings are not among them."""
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
