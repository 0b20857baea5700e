"""``deadbeat list``: what can be named, and what ``show`` says of a name that is no result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import attrs
import click

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import Explanation, explanations
from deadbeat.base.model.published import offered
from deadbeat.base.model.words import nearest, shown
from deadbeat.cli._help import COMMON, Titled
from deadbeat.cli._output import table
from deadbeat.sched.core import is_built

#: What ``show`` finds by name beside results and findings: its kind, and what gives all of them.
_NAMED = {
    "scheduling policy": "sched.simulator:policies",
    "schedulability test": "sched.analysis:tests",
    "fragment": "tasksets.catalog:load_catalog",
    "knob": "machine.settings.knob:all_knobs",
    "profile of tune": "machine.settings.profile:all_profiles",
    "kernel": "lab.kernels:fetched",
}


def explain(finding: str | None) -> Shown:
    known = {**explanations(), **_rules()}
    if finding is None:
        return Shown(
            plain={"findings": [{"id": each.id, "title": each.title} for each in known.values()]},
            parts=[table(("finding", "title"), [(each.id, each.title) for each in known.values()])],
        )
    found = known.get(finding)
    if found is None:
        raise UsageError(f"there is no finding {shown(finding)}", nearest(finding, list(known)))
    text = f"{found.title} ({found.id})\n\n{found.wrong}\n\nWhat to do: {found.check}"
    plain = attrs.asdict(found, filter=attrs.filters.exclude("severity", "cure"))
    return Shown(plain=plain, parts=[text])


def _rules() -> dict[str, Explanation]:
    """Faults of a program that need no miss."""
    found = import_module("deadbeat.program.derive.rules").RULES.values()
    return {
        each.name: Explanation(
            id=each.name,
            title=f"A real-time thread {each.title}",
            wrong=each.why,
            check=f"{each.cure[0].upper()}{each.cure[1:]}.",
        )
        for each in found
    }


def named(word: str) -> Shown | None:
    """A finding, a row of what ``_NAMED`` lists, or a term; None: nothing has that name."""
    if word in explanations() or word in _rules():
        return explain(word)
    for kind, rows in _rows():
        if word in rows:
            facts = attrs.asdict(rows[word], value_serializer=_value)
            lines = [f"{key.replace('_', ' ')}: {value}" for key, value in facts.items() if value]
            return Shown(kind=kind, plain=facts, parts=[f"{word} ({kind})", *lines])
    if (found := import_module("deadbeat.base.report.html").term(word)) is not None:
        return Shown(kind="term", plain={"term": found[0], "meaning": found[1]}, parts=[*found])
    return None


def _rows() -> Iterator[tuple[str, Mapping[str, attrs.AttrsInstance]]]:
    for kind, place in _NAMED.items():
        if place.startswith("sched.") and not is_built():
            continue  # a name is not worth a minute of building
        module, _, name = place.partition(":")
        found = getattr(import_module(f"deadbeat.{module}"), name)()
        found = getattr(found, "fragments", found)
        yield kind, found if isinstance(found, Mapping) else {each.label: each for each in found}


def names() -> list[str]:
    """Everything that `named` knows, for a shell."""
    return [*explanations(), *_rules(), *(name for _, rows in _rows() for name in rows)]


def _value(_: object, __: object, value: Any) -> Any:
    """A value as JSON and people read it; code is none."""
    if callable(value):
        return None
    if isinstance(value, tuple | list | frozenset):
        return ", ".join(map(str, value))
    return value if isinstance(value, bool | int | float | dict) else str(value or "")


def _command(words: tuple[str, ...]) -> tuple[str, Titled]:
    """The command of a verb, or of a mode: ``contention --random``.
    Raises UsageError: there is none."""
    root = click.get_current_context().find_root().command
    group, ctx, left, path = root, click.Context(root), " ".join(words).split(), ""
    while isinstance(group, click.Group) and left:
        verb = left[0]
        if group.get_command(ctx, verb) is None:
            inside = [path for path in _paths(root) if path.endswith(f" {verb}")]
            hint = f"deadbeat {inside[0]}" if inside else nearest(verb, group.list_commands(ctx))
            raise UsageError(f"there is no verb {verb}", hint)
        name, command, left = group.resolve_command(ctx, left)
        group, path = command or group, f"{path} {name}".strip()
    if not isinstance(group, Titled):
        raise UsageError(f"deadbeat {path} is a group", f"deadbeat {path} --help")
    return path, group


def keys(verb: tuple[str, ...]) -> Shown:
    """Every key of a verb, with the option that sets it, where help has one; of none the verbs
    that have keys."""
    if not verb:
        return _with_keys()
    path, command = _command(verb)
    rows = [
        {"key": key, "option": option, "value": metavar, "text": text}
        for key, option, metavar, text in command.table()
    ]
    columns = ("key", "value", "option", "meaning")
    cells = [(row["key"], row["value"], row["option"], row["text"]) for row in rows]
    return Shown(
        plain={"verb": path, "keys": rows},
        headline=f"{len(rows)} keys of deadbeat {path}: --set KEY=VALUE",
        parts=[table(columns, cells), "--set KEY=VALUE sets one; a TOML file has many (--file)"],
    )


def _paths(root: click.Command) -> Iterator[str]:
    """Every verb, as one types it: ``latency``, ``sched analyze``."""
    assert isinstance(root, click.Group)
    ctx = click.Context(root)
    for name in root.list_commands(ctx):
        command = root.get_command(ctx, name)
        group = command if isinstance(command, click.Group) else None
        yield from (f"{name} {word}" for word in group.list_commands(ctx)) if group else [name]


def _with_keys() -> Shown:
    root = click.get_current_context().find_root().command
    found = [path for path in _paths(root) if _command((path,))[1].sets]
    return Shown(
        plain={"verbs": found},
        headline=f"{len(found)} verbs have keys",
        parts=["\n".join(f"deadbeat list keys {path}" for path in found)],
    )


def options() -> Shown:
    """The options that every verb that measures has."""
    _, command = _command(("latency",))
    _, more = _command(("contention",))
    known = {**more.known, **command.known}
    rows = [
        (known[name].metavar or "", name, known[name].help or "")
        for name in COMMON
        if name in known
    ]
    return Shown(
        plain=[{"option": name, "value": value, "text": text} for value, name, text in rows],
        parts=[table(("option", "meaning"), [(f"{n} {v}".strip(), t) for v, n, t in rows])],
    )


def studies() -> Shown:
    """Name, size and title of every preset of ``sched study``."""
    presets = import_module("deadbeat.sched.study.preset").presets
    known = [(preset, preset.build().total) for preset in presets().values()]
    plain = [
        {
            "name": preset.name,
            "sets": total,
            "title": preset.title,
            "about": preset.about,
            "conclusions": [item.id for item in preset.conclusions],
        }
        for preset, total in known
    ]
    columns = ["preset", "sets", "title", "conclusions"]
    rows = [[p.name, str(total), p.title, str(len(p.conclusions))] for p, total in known]
    return Shown(plain=plain, parts=[table(columns, rows, numeric=["sets", "conclusions"])])


def statements() -> Shown:
    """What ``observe`` judges, and what ``--from`` must be for it."""
    observed = offered("observations").OBSERVATIONS
    stated = offered("statements").STATEMENTS
    rows = [[f"{each.number}{each.part}", each.title, each.wants] for each in observed]
    rows += [[f"--of {name}", each.title, each.wants] for name, each in stated.items()]
    columns = ["statement", "says", "--from"]
    return Shown(
        plain=[dict(zip(columns, row, strict=True)) for row in rows],
        parts=[table(columns, rows), "deadbeat observe STATEMENT --from RESULT..."],
    )
