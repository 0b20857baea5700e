"""What a search among commits found, in words, as a table and a figure."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from statistics import fmean

import attrs
from attrs import define

from deadbeat.base.model.specification import read
from deadbeat.base.model.words import Json, capital, count_of
from deadbeat.base.report.document import (
    Column,
    Document,
    Section,
    Sentence,
    Table,
    machine_facts,
)
from deadbeat.base.report.machines import Verdicted
from deadbeat.base.store.serial import to_plain
from deadbeat.program.bisect.repository import Commit
from deadbeat.program.bisect.results import BisectRun, BisectStore
from deadbeat.program.bisect.search import ENDS, FIRST_BLOCKS, LOOK, NONE, Search, Shift
from deadbeat.program.bisect.spec import BisectSpec


@define(kw_only=True, eq=False, slots=False)
class Bisected:
    """All of a folder."""

    spec: BisectSpec
    commits: tuple[Commit, ...]
    runs: Sequence[BisectRun]
    labels: tuple[str, ...] = ()

    @cached_property
    def whole(self) -> Search:
        """What is known between both ends."""
        sign = 1 if self.spec.better == "less" else -1
        return Search(count=len(self.commits), runs=self.runs, sign=sign)

    @cached_property
    def search(self) -> Search:
        """What is known between the ends that are left."""
        return self.whole.narrowed()

    @property
    def unfit(self) -> dict[int, str]:
        return {int(place): why for run in self.runs for place, why in run.unfit.items()}

    @property
    def changes(self) -> bool:
        """Whether there is a change for the worse."""
        none, ended = self.search.chances[0], self.search.ended
        return ended == "proved" or bool(none <= NONE and ended != "wrong")

    @property
    def named(self) -> tuple[Commit, ...]:
        """Commits of which one is the change."""
        first, last, _ = self.search.likely
        return self.commits[first : last + 1] if self.changes else ()

    @cached_property
    def cells(self) -> list[dict[str, Json]]:
        """A row for each commit that was run. ``level``: beside the good end in the same blocks."""
        counts = Counter(place for run in self.runs for place in run.commits)
        off = {each: self.whole.differences(0, each, ENDS, LOOK) if each else [] for each in counts}
        return [
            {
                "place": place,
                "commit": self.commits[place].sha,
                "subject": self.commits[place].subject,
                "runs": counts[place],
                "level": math.expm1(fmean(off[place])) if off[place] else None,
                "chance": float(self.search.chances[place]) if place else 0.0,
            }
            for place in sorted(counts)
        ]


def summarise(store: BisectStore) -> Bisected:
    spec = read(BisectSpec, store.spec)
    return Bisected(spec=spec, commits=store.commits, runs=[*store.runs()])


def _effect(effect: Shift | None) -> str:
    """``+24.8 % [22.1, 27.5]``."""
    if effect is None:
        return "not known"
    value, low, high = (round(100 * each, 3) + 0.0 for each in attrs.astuple(effect))
    return f"{value:+.3g} % [{low:.3g}, {high:.3g}]"


def _chance(share: float) -> str:
    if 0.001 <= share <= 0.999:
        return f"{100 * share:.3g} %"
    return "> 99.9 %" if share > 0.5 else "< 0.1 %"


def answer(found: Bisected) -> list[str]:
    search, whole, what = found.search, found.whole.ends, found.spec.figure
    good, bad, effect = found.commits[0], found.commits[-1], _effect(whole)
    if not found.runs:
        return ["Nothing is measured yet."]
    if search.ended == "wrong":
        other = "less" if found.spec.better == "more" else "more"
        text = f"{what} of {bad} is the better one: {effect} beside {good}."
        return [text, f"To find what made it so: --set better={other}."]
    goes_on = [] if search.ended else ["It is not finished: the same command continues it."]
    if found.changes:
        return [_named(found), *goes_on, *_left_out(found)]
    change = 1 - float(search.chances[0])
    shows, text = whole is not None and whole.sign, f"No difference of {what} is shown between"
    early = not search.ended and len(found.runs) < FIRST_BLOCKS
    if early or (shows and change > 1 / 2):
        text = f"It is not decided whether {what} differs between"
    chance = f"; a change has {_chance(change)}" if shows else ""
    return [f"{text} {good} and {bad}: {effect}{chance}.", *goes_on, *_left_out(found)]


def _named(found: Bisected) -> str:
    search, names, ends = found.search, found.named, _effect(found.whole.ends)
    first, last, chance = search.likely
    head, size, sure = str(names[0]), "", "not proved"
    if len(names) > 1:
        between = f"after {found.commits[first - 1]}, up to {found.commits[last]},"
        head = f"One of {count_of(len(names), found.spec.noun)} {between}"
    if search.ended == "proved":
        size, sure = f" by {_effect(search.proof())}", f"proved in {search.turns} blocks"
    changes = f"changes {found.spec.figure}{size} ({_chance(chance)}; {sure})"
    return f"{head} {changes}; between the ends: {ends}."


def _left_out(found: Bisected) -> Iterator[str]:
    if found.unfit:
        place, why = min(found.unfit.items())
        count, name = count_of(len(found.unfit), found.spec.noun), found.commits[place].short
        yield f"Left out, as they cannot be measured: {count}, such as {name}: {why}."


COLUMNS = (
    Column(key="commit", heading="commit", words=True, format=lambda sha: Commit(sha, "").short),
    Column(key="subject", heading="subject", words=True, long=True, spare=True),
    Column(key="place", heading="place"),
    Column(key="runs", heading="runs"),
    Column(key="level", heading="beside good", format=lambda level: f"{100 * level:+.3g} %"),
    Column(key="chance", heading="first bad", format=_chance),
)


def summary_dict(found: Bisected, store: BisectStore) -> dict[str, Json]:
    search = found.search
    return {
        "range": found.spec.range,
        "metric": found.spec.metric,
        "ended": search.ended or None,
        "commits": [each.sha for each in found.named],
        "probability": search.likely[2] if found.changes else None,
        "no_change": float(search.chances[0]) if found.runs else None,
        "effect": to_plain(search.proof() if found.changes else None),
        "ends": to_plain(found.whole.ends),
        "left_out": {found.commits[place].sha: why for place, why in found.unfit.items()},
        "runs": sum(len(run.values) for run in found.runs),
        "rows": found.cells,
    }


def document(found: Bisected, store: BisectStore) -> Document:
    said, noun, (first, last, _) = answer(found), found.spec.noun, found.search.likely
    program = shlex.join(found.spec.command)
    table = Table(
        name="commits",
        columns=(attrs.evolve(COLUMNS[0], heading=noun), *COLUMNS[1:]),
        rows=found.cells,
        terminal=True,
        title=f"{capital(noun)}s that were run ({found.spec.figure})",
    )
    near = {first - 1, *range(first, last + 1), 0, len(found.commits) - 1}
    picture = attrs.evolve(
        table,
        rows=[row for row in found.cells if row["place"] in near],
        title=f"{capital(noun)}s that decide ({found.spec.figure}); all: deadbeat show",
    )
    parts = (Sentence(" ".join(said), answer=True, terminal=True), table)
    return Document(
        title=store.path.name,
        kind="bisect",
        source="the stored runs",
        about=f"Program: {program}, {found.commits[0]} to {found.commits[-1]}",
        head=machine_facts(attrs.asdict(store.platform), kernel=store.platform.kernel),
        answer=said,
        picture=picture,
        sections=(Section("answer", f"Which {noun}", parts, "Answer"),),
    )


def cases(found: Bisected) -> list[Verdicted]:
    """Whether there is a change for the worse."""
    return [
        Verdicted(
            name=found.spec.metric,
            group="bisect.change",
            verdict="failed" if found.changes else "passed",
            message=" ".join(answer(found)),
        )
    ]
