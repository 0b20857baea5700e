"""Truth: first-use review. Every line of help stands on its own; one name means one thing."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
from helpers.answers import Capture
from helpers.campaigns import TINY_OPTIONS

from deadbeat.cli._help import VERBS, row_of
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
    "--machine": "kind of kernels, or name of results",
    "--force": "what is overridden differs by verb",
    "--out": "what is written differs by verb",
    "--format": "what is written differs by verb",
    "--trace": "a flag that is on in load and off in latency",
    "--priorities": "assigned to measured tasks or to simulated ones",
    "--metrics": "figures",
    "--preset": "presets differ by verb",
    "--policy": "of the kernel, or of the simulator",
    "--deadlines": "kind of deadlines",
    "--keep": "every sample, or what led to misses",
    "--openmetrics": "printed, or written while a process is watched",
}


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command that help names, and what its modes make of it."""
    context = click.Context(group)
    modes = row_of(str(group.name)).get("modes", {})
    assert isinstance(modes, Mapping)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, *path, name)
            continue
        yield " ".join((*path, name)), found
        for mode in modes.get(name, ()):
            _, other, _ = group.resolve_command(context, [name, *mode.split()])
            assert other is not None
            yield f"{name} {mode}", other


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


def test_the_command_set_fits_in_ones_head() -> None:
    """21 verbs, 29 with sub-verbs, 133 names of options; the rest are keys."""
    context = click.Context(root)
    verbs = [root.get_command(context, name) for name in root.list_commands(context)]
    below = [each.list_commands(context) for each in verbs if isinstance(each, click.Group)]
    assert len(verbs) <= 21
    assert len(verbs) - len(below) + sum(map(len, below)) <= 29
    assert len({option.opts[-1] for _, option in options()}) <= 133


#: What every verb that measures has; and the verbs.
EVERYWHERE = (
    *("--quick", "--name", "--fresh", "--retry", "--json", "--runs", "--target", "--time-budget"),
    *("--fail-on", "--junit", "--seed", "--file", "--set", "--figures"),
)
MEASURING = (
    *("latency", "load", "contention", "contention --random", "breakdown", "primitives"),
    *("interfere", "run"),
)


@pytest.mark.parametrize("verb", MEASURING)
def test_every_verb_that_measures_reaches_as_far(verb: str) -> None:
    command = dict(commands(root))[verb]
    lacking = {*EVERYWHERE} - {name for each in command.params for name in each.opts}
    assert lacking == ({"--seed"} if verb == "run" else set())  # nothing of a program is random


@pytest.mark.parametrize("words", [words for words, _ in commands(root)])
def test_help_is_a_screen(words: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main((*words.split(), "--help")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert [line for line in lines if len(line) > 80] == []
    assert not re.search(r"INTEGER|FLOAT|TEXT|RANGE|<=x|x>=|fake", "\n".join(lines))


def test_a_key_is_set_by_its_path_its_option_or_the_old_spelling(
    capsys: Capture, in_a_folder: Path
) -> None:
    keys = ("tasks.wcet_min=10us", "wcet-min=10us")
    for more in (*(("--set", key) for key in keys), ("--set", "wcet-min=10us")):
        assert main((*TINY_OPTIONS, "--fresh", *more)) == 0
        assert ("--set wcet-min=VALUE" in capsys.readouterr().err) == (more[0] == "--wcet-min")
        found = json.loads((Path("runs") / "latest" / "campaign.json").read_text())
        assert found["spec"]["tasks"]["wcet_min"] == "10000ns"


def test_verbs_stand_under_titles(capsys: Capture) -> None:
    assert main(("--help",)) == 0
    told = capsys.readouterr().out
    for title in VERBS:
        assert f"\n{title}:\n" in told
    listed = [name for verbs in VERBS.values() for name in verbs.split()]
    assert len(listed) == len(set(listed))
