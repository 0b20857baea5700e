"""Truth: first-use review. Every line of help stands on its own; one name means one thing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import click
import pytest
from helpers.answers import Capture

from deadbeat.cli._help import OPTIONS, PLACED, VERBS
from deadbeat.cli.main import main, root

#: A line that begins so leans on the line above it, or has no verb and no noun of its own.
_LEANING = re.compile(
    r"(the same|same\b|likewise|of\b|so many|as\b|its\b|their\b|also\b|else\b|beside\b|"
    r"what (it|is|was)\b|who wins|where (it|they)\b|highest\.|lowest\.|longest [a-z]\.|"
    r"shortest [a-z]\b|n/m|m:|rho:|alpha|values of|runs of\b)",
    re.IGNORECASE,
)
#: Words that carry no meaning of their own.
_SMALL = frozenset(
    "a an and are as at be by each every for from has in into is it its no none not of on only or"  # noqa: SIM905  a list of words
    " that the their this to up use used what which who with without first least most"
    " shortest longest".split()
)
#: Same name, different idea, and why that may be.
_EXCEPTIONS = {
    "--fail-on": "what can fail differs by verb",
    "--list": "what there is to list differs by verb",
    "--force": "what is overridden differs by verb",
    "--out": "what is written differs by verb",
    "--format": "what is written differs by verb",
    "--trace": "a flag that is on in load and off in latency",
    "--priorities": "assigned to measured tasks or to simulated ones",
    "--metrics": "figures",
    "--preset": "presets differ by verb",
    "--policy": "of the kernel, or of the simulator",
    "--deadlines": "kind of deadlines",
}


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, *path, name)
        else:
            yield " ".join((*path, name)), found


def options() -> Iterator[tuple[str, click.Option]]:
    for words, command in commands(root):
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                yield words, parameter


def test_every_line_of_help_stands_on_its_own() -> None:
    leaning = []
    for words, option in options():
        text = option.help or ""
        if _LEANING.match(text) or not text[:1].isupper() or not re.search(r"[.?\]]$", text):
            leaning.append(f"{words} {option.opts[0]}: {text}")
        if len(re.findall(r"[A-Za-z]{2,}", text.partition("  [")[0])) < 2:
            leaning.append(f"{words} {option.opts[0]}: {text}")
    assert leaning == []


def test_one_name_means_one_thing() -> None:
    """The same form of value everywhere, and texts that share a word."""
    found: dict[str, list[tuple[str, bool, set[str]]]] = defaultdict(list)
    for words, option in options():
        said = {
            word.lower().rstrip("s")
            for word in re.findall(r"[A-Za-z]{3,}", option.help or "")
            if word.lower() not in _SMALL
        }
        found[option.opts[-1]].append((words, bool(option.is_flag), said))
    odd = []
    for name, uses in found.items():
        if name in _EXCEPTIONS:
            continue
        first, *others = uses
        for other in others:
            if other[1] != first[1] or not other[2] & first[2]:
                odd.append(f"{name}: {first[0]} and {other[0]}")
    assert odd == []


def test_placeholders_name_what_they_stand_for() -> None:
    """A folder is a FOLDER everywhere; nothing is left to click's own words."""
    metavars = {(words, each.opts[0]): each.metavar for words, each in options()}
    values = {key: value for key, value in metavars.items() if value is not None}
    assert [key for key, value in values.items() if re.search(r"\b(DIR|PATH)\b", value)] == []
    bare = [
        f"{words} {option.opts[0]}"
        for words, option in options()
        if not option.is_flag and option.metavar is None
    ]
    assert bare == []


def test_no_words_of_the_parser_in_help(capsys: Capture) -> None:
    for words, command in commands(root):
        everything = "--help-all" if "--help-all" in _help(command) else "--help"
        assert main((*words.split(), everything)) == 0
        told = capsys.readouterr().out
        assert not re.search(r"INTEGER|FLOAT|TEXT|RANGE|<=x|x>=|fake", told), words


def _help(command: click.Command) -> str:
    return command.get_help(click.Context(command))


def test_help_fits_about_two_screens_and_says_where_the_rest_is(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(("profile", "--help")) == 0
    told = capsys.readouterr().out
    assert len(told.splitlines()) <= 68
    assert "--help-all" in told and "--slot-periods" not in told
    assert main(("profile", "--help-all")) == 0
    assert "--slot-periods" in capsys.readouterr().out
    for title in ("Begin with", "What to vary", "Task sets", "Length", "Machine", "Output"):
        assert f"\n{title}:\n" in told


def test_verbs_stand_under_titles(capsys: Capture) -> None:
    assert main(("--help",)) == 0
    told = capsys.readouterr().out
    for title in VERBS:
        assert f"\n{title}:\n" in told
    listed = [name for verbs in VERBS.values() for name in verbs.split()]
    assert len(listed) == len(set(listed))


def test_the_tables_name_options_once() -> None:
    listed = [name for names in OPTIONS.values() for name in names.replace("|", " ").split()]
    assert len(listed) == len(set(listed)) == len(PLACED)
