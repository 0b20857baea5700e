"""What ``deadbeat lab sweep`` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deadbeat.cli._options import words_typed
from deadbeat.cli._output import say
from deadbeat.cli.lab import Asked, asked_of
from deadbeat.cli.lab_fetch import got_kernels
from deadbeat.cli.plot import drawn_plot
from deadbeat.compare.plot import read_side
from deadbeat.kinds.base import Shown
from deadbeat.kinds.latency.sides import question
from deadbeat.kinds.latency.spec import LatencySpec
from deadbeat.lab.kernels import disk_needed
from deadbeat.lab.offers import MACHINES, Offer, newest, offers, version_key
from deadbeat.model.errors import DeadbeatError, UsageError
from deadbeat.model.latency import LoadPoint
from deadbeat.model.words import count_of, nearest, shown, size
from deadbeat_papers.figures.versions import LEAST, between, load_of, run_values

#: Kernels that are measured before it is looked where the next are needed.
_AT_ONCE = 12


def sweep(
    *,
    flavour: str,
    first: str,
    last: str,
    every: bool,
    preempt: str | None,
    load: str | None,
    **asked: Any,
) -> Shown:
    how = asked_of(words_typed("lab sweep"), **asked)
    wanted = _load(load, how.spec)
    row = _row(flavour or "amd64", first, last)
    # The oldest of all, and the newest of each series.
    first_ones = {each.name for each in (row[0], *newest(row))}
    begin = [each for each in row if every or each.name in first_ones]
    say(f"{count_of(len(row), 'package')}, {len(begin)} of them first")
    known: dict[str, Path | None] = {}
    values: dict[str, tuple[float, ...]] = {}
    names = [each.name for each in row]
    lacking: Sequence[Offer] = begin
    while lacking:
        for at in range(0, len(lacking), _AT_ONCE):
            _measure(lacking[at : at + _AT_ONCE], how, preempt, known)
            values |= _values(known, wanted)
        places = set(between(names, values, least=LEAST))
        lacking = [each for each in row if each.name in places]
        if lacking:
            say(f"a step lies between others: {', '.join(each.name for each in lacking)} next")
    paths = [path for each in row if (path := known.get(each.name))]
    if len(paths) < 2:
        raise DeadbeatError("fewer than two versions have a result", "their reasons stand above")
    folder = how.begin.runs / f"plot-{how.name}"
    figures, strip = bool(how.figures), f"{how.name}-"
    return drawn_plot("versions", paths, folder, figures=figures, strip=strip, load=wanted)


def _row(flavour: str, first: str, last: str) -> list[Offer]:
    """Every package of a flavour, oldest first."""
    debian = next((each for each in MACHINES if each in flavour), "")
    if not debian:
        raise UsageError(
            f"--flavour: {shown(flavour)} names no architecture", nearest(flavour, MACHINES)
        )
    known = offers(MACHINES[debian], say=say).kernels
    own = [each for each in known if each.flavour == flavour]
    if not own:
        raise UsageError(
            f"--flavour: there is no {shown(flavour)}",
            nearest(flavour, {each.flavour for each in known}),
        )
    low, high = version_key(first or "0"), version_key(last or "999")
    found = [each for each in own if low <= version_key(each.series) <= high]
    if len(found) < 2:
        raise UsageError(f"fewer than two packages from {first} to {last}", "deadbeat list kernels")
    return found


def _measure(
    wanted: Sequence[Offer],
    how: Asked,
    preempt: str | None,
    known: dict[str, Path | None],
) -> None:
    """Puts the result of each into ``known``; None where it cannot be had or measured."""
    download, stays = disk_needed([(each,) for each in wanted])
    if stays:
        say(f"{size(download)} to download, at most {size(stays)} stay on the disk")
    try:
        got = {each.name: each for each in got_kernels([(each,) for each in wanted]).kernels}
    except DeadbeatError as error:
        say(str(error))
        got = {}
    machines = {}
    for each in wanted:
        kernel = got.get(each.name)
        if kernel is not None and preempt and preempt not in kernel.preemption.choices:
            say(f"{each.name} cannot be booted with preempt={preempt}: left out")
        elif kernel is not None:
            words = f"preempt={preempt}" if preempt else ""
            machines[how.named(each.name)] = how.word(each.name, words)
    paths = how.measured(machines)
    known |= {each.name: paths.get(how.named(each.name)) for each in wanted}


def _values(
    known: Mapping[str, Path | None], load: LoadPoint | None
) -> dict[str, tuple[float, ...]]:
    """What steps are looked for in, of each run; none of what has no result."""
    sides = {name: read_side(path) for name, path in known.items() if path}
    asked = question(list(sides.values()), load=load) if sides else None
    return {
        name: run_values(sides[name], load_of(asked), asked.engine)
        if asked and name in sides
        else ()
        for name in known
    }


def _load(text: str | None, spec: LatencySpec) -> LoadPoint | None:
    if text is None:
        return None
    known = {each.text: each for each in spec.loads} | {each.profile: each for each in spec.loads}
    if text not in known:
        raise UsageError(f"--load: {shown(text)} is not measured", nearest(text, known))
    return known[text]
