"""Profiles: files with a list of knobs; those of deadbeat, or a person's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from attrs import frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.words import Json, count_of, nearest, shown
from deadbeat.base.store.files import read_toml
from deadbeat.machine.settings.knob import Knob, all_knobs

_KEYS = ("title", "why", "knobs")


@frozen
class Turn:
    """A knob, and the value it is turned to.

    Attributes:
        exact: Also where what is there is as good.
    """

    knob: Knob
    value: str
    exact: bool = False


@frozen
class Profile:
    """A named list of knobs.

    Attributes:
        name: ``realtime``, or the path of the file.
        title, why: What it is for; one line, and a paragraph.
        words: Its knobs as written: ``stat-interval=10``.
    """

    name: str
    title: str
    why: str
    words: tuple[str, ...]


def all_profiles() -> dict[str, Profile]:
    """Name -> profile of every file of ``readiness/profiles``."""
    folder = files("deadbeat.machine.settings").joinpath("profiles")
    texts = {
        each.name.removesuffix(".toml"): each.read_text(encoding="utf-8")
        for each in folder.iterdir()
        if each.name.endswith(".toml")
    }
    return {name: _profile(name, tomllib.loads(text)) for name, text in sorted(texts.items())}


def find_profile(text: str) -> Profile:
    """The profile of that name, or in that file: a path, or a name that ends in ``.toml``.
    Raises UsageError: there is none, or it is not written as it should be."""
    if "/" in text or text.endswith(".toml"):
        hint = "deadbeat list knobs shows the profiles"
        what = ("a profile", "a profile is a TOML file", hint)
        return _profile(text, read_toml(Path(text), *what, limit=1 << 16))
    known = all_profiles()
    if text not in known:
        raise UsageError(
            f"there is no profile {shown(text)}",
            f"{nearest(text, known)}; or the path of a file of your own",
        )
    return known[text]


def _profile(name: str, table: Mapping[str, Json]) -> Profile:
    faults = [
        f"{shown(key)} is unknown: {nearest(key, _KEYS)}" for key in table if key not in _KEYS
    ]
    faults += [
        f"{key} is not text" for key in ("title", "why") if not isinstance(table.get(key, ""), str)
    ]
    words: Any = table.get("knobs")
    if not isinstance(words, list) or not words or not all(isinstance(w, str) for w in words):
        faults.append('knobs is not a list such as ["governor", "stat-interval=10"]')
        words = []
    if not faults:
        faults = [each for word in words for each in _faults(word)]
    if faults:
        raise UsageError(
            f"profile {name}: {count_of(len(faults), 'fault')}",
            "nothing was changed",
            tuple(faults),
        )
    why = " ".join(str(table.get("why", "")).split())
    return Profile(name, str(table.get("title", name)), why, tuple(words))


def turns(words: Sequence[str], exact: Sequence[str] = ()) -> list[Turn]:
    """Knobs and values of ``NAME`` and ``NAME=VALUE``; a person's word comes before a profile's.

    Args:
        exact: Values of a person; they come after those of the profile.

    Raises:
        UsageError: All that cannot be understood.
    """
    faults = [each for word in (*words, *exact) for each in _faults(word)]
    names = [word.partition("=")[0] for word in exact]
    faults += [f"{name} is given twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    if faults:
        raise UsageError(
            f"--knob: {count_of(len(faults), 'fault')}",
            "deadbeat list knobs names them",
            tuple(faults),
        )
    made = [_turn(word, exact=False) for word in words]
    made += [_turn(word, exact="=" in word) for word in exact]
    last = {turn.knob.name: turn for turn in made}
    return [turn for turn in made if last[turn.knob.name] is turn]


def _turn(word: str, *, exact: bool) -> Turn:
    name, _, value = word.partition("=")
    knob = all_knobs()[name]
    return Turn(knob, value or knob.value, exact)


def _faults(word: str) -> list[str]:
    name, equals, value = word.partition("=")
    if name not in all_knobs():
        near = nearest(name, all_knobs())
        hint = near if near.startswith("did you mean") else "deadbeat list knobs names them"
        return [f"there is no knob {shown(name)}: {hint}"]
    knob = all_knobs()[name]
    if equals and not (value and knob.allows(value)):
        return [f"{name}: {shown(value)} is not possible: {knob.possible}"]
    return []
