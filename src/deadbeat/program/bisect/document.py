"""What a search among commits found, in words, as a table and a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import attrs
from attrs import define

from deadbeat.base.model.specification import read
from deadbeat.base.model.words import Json, count_of, duration
from deadbeat.base.report.charts import Chart, Curve, Panel
from deadbeat.base.report.document import (
    Column,
    Document,
    Figures,
    Lines,
    Section,
    Sentence,
    Table,
    machine_facts,
)
from deadbeat.base.report.machines import Verdicted
from deadbeat.program.bisect.repository import Commit
from deadbeat.program.bisect.results import (
    BisectRun,
    BisectStore,
    next_of,
    search_of,
    spent_s,
)
from deadbeat.program.bisect.search import NONE, PROOF, Search, Shift
from deadbeat.program.bisect.spec import BisectSpec, words_of

#: A proved effect that ends below this share of the whole leaves something to be found.
_REST = 0.8


@attrs.frozen(kw_only=True)
class CommitRow:
    """A commit that was run. ``level``: beside the good end; ``chance``: that it is the first."""

    place: int
    commit: str
    subject: str
    runs: int
    level: Shift | None
    chance: float


@define(kw_only=True, eq=False, slots=False)
class Bisected:
    """All of a folder.

    Attributes:
        why: How the search ended: ``proved``, ``equal``, ``wrong`` or ``over``; "": it goes on.
        search: What is known, at the end between the ends that were left; ``whole``: between all.
    """

    spec: BisectSpec
    commits: tuple[Commit, ...]
    runs: Sequence[BisectRun]
    search: Search
    why: str
    labels: tuple[str, ...] = ()

    @cached_property
    def whole(self) -> Shift | None:
        search = attrs.evolve(self.search, low=0, high=len(self.commits) - 1)
        return search.ends

    @property
    def unfit(self) -> dict[int, str]:
        return {int(place): why for run in self.runs for place, why in run.unfit.items()}

    @property
    def changes(self) -> bool:
        """Whether there is a change at all."""
        return self.why == "proved" or (bool(self.runs) and self.search.chances[0] <= NONE)

    @property
    def first_last(self) -> tuple[int, int]:
        first, last, _ = self.search.likely
        return first, last

    @property
    def proof(self) -> Shift | None:
        return self.search.proof(*self.first_last) if self.search.certain else None

    @cached_property
    def cells(self) -> tuple[CommitRow, ...]:
        counts: dict[int, int] = {}
        levels = attrs.evolve(self.search, low=0, high=len(self.commits) - 1).levels()
        for run in self.runs:
            for place in run.commits:
                counts[place] = counts.get(place, 0) + 1
        return tuple(
            CommitRow(
                place=place,
                commit=self.commits[place].sha,
                subject=self.commits[place].subject,
                runs=count,
                level=levels.get(place),
                chance=float(self.search.chances[place]) if place else 0.0,
            )
            for place, count in sorted(counts.items())
        )


def summarise(store: BisectStore) -> Bisected:
    spec, runs, commits = read(BisectSpec, store.spec), [*store.runs()], store.commits
    search = search_of(spec, len(commits), runs)
    why = next_of(spec, search, runs).why
    return Bisected(spec=spec, commits=commits, runs=runs, search=search, why=why)


def effect_words(effect: Shift | None) -> str:
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
    if not any(run.values for run in found.runs):
        return ["Nothing is measured yet."]
    what, ends = words_of(found.spec.metric), f"{found.commits[0]} and {found.commits[-1]}"
    whole = effect_words(found.whole)
    if found.why == "wrong":
        text = f"{what} of {found.commits[-1]} is the better one: {whole} beside"
        other = "less" if found.spec.better == "more" else "more"
        return [f"{text} {found.commits[0]}.", f"What made it so: --set better={other}."]
    if not found.changes:
        none, effect = float(found.search.chances[0]), found.whole
        shows = effect is not None and not effect.low <= 0 <= effect.high
        chance = f"; a change has {_chance(1 - none)}" * shows
        if shows and none < 1 / 2:
            said = f"Whether {what} differs between {ends} is not decided: {whole}{chance}."
        else:
            said = f"No difference of {what} is shown between {ends}: {whole}{chance}."
        return [said, *_more(found)]
    return [*_named(found, what), *_left_out(found)]


def _named(found: Bisected, what: str) -> Iterator[str]:
    first, last, chance = *found.first_last, found.search.likely[2]
    names = [str(each) for each in found.commits[first : last + 1]]
    turns = sum(run.kind == PROOF and {*run.commits} == {first - 1, last} for run in found.runs)
    if found.why == "proved":
        size = f"by {effect_words(found.proof)} ({_chance(chance)}; proved in {turns} blocks)"
        if len(names) == 1:
            yield f"{names[0]} changes {what} {size}."
        else:
            yield f"One of {len(names)} commits changes {what} {size}: {'; '.join(names)}."
        yield from _rest(found)
        return
    whole = effect_words(found.whole)
    if len(names) == 1:
        yield f"Likely {names[0]} changes {what} ({_chance(chance)}), not proved; all: {whole}."
    else:
        yield (
            f"{what} changes between {found.commits[first - 1]} and {found.commits[last]}"
            f" ({_chance(chance)}, {count_of(len(names), 'commit')}), not proved; all: {whole}."
        )
    yield from _more(found)


def _more(found: Bisected) -> Iterator[str]:
    """What decides it, where it is not finished."""
    if found.why == "over":
        yield f"{duration(found.spec.most)} are over: begin again with a longer --for."
    elif not found.why:
        yield "It is not finished: the same command continues it."


def _rest(found: Bisected) -> Iterator[str]:
    """Where more than this one changed."""
    proof, whole, (first, last) = found.proof, found.whole, found.first_last
    if proof is None or whole is None:
        return
    sign = found.search.sign
    most = max(sign * proof.low, sign * proof.high)
    if most < _REST * sign * whole.value and not proof.low <= whole.value <= proof.high:
        before, after = found.commits[first - 1].short, found.commits[last].short
        text = f"That is not all of {effect_words(whole)}: another change is in"
        yield f"{text} {found.commits[0].short}..{before} or {after}..{found.commits[-1].short}."


def _left_out(found: Bisected) -> Iterator[str]:
    if found.unfit:
        place, why = min(found.unfit.items())
        count, name = count_of(len(found.unfit), "commit"), found.commits[place].short
        yield f"Left out, as they cannot be measured: {count}, such as {name}: {why}."


COLUMNS = (
    Column(key="commit", heading="commit", words=True, format=lambda sha: Commit(sha, "").short),
    Column(key="subject", heading="subject", words=True, long=True, spare=True),
    Column(key="place", heading="place"),
    Column(key="runs", heading="runs"),
    Column(key="level", heading="beside good", format=effect_words, interval=True),
    Column(key="chance", heading="first bad", format=_chance),
)


def rows(found: Bisected) -> list[dict[str, Json]]:
    return [attrs.asdict(each) for each in found.cells]


def summary_dict(found: Bisected, store: BisectStore) -> dict[str, Json]:
    first, last = found.first_last
    named = found.changes and found.why != "wrong"
    return {
        "range": found.spec.range,
        "metric": found.spec.metric,
        "ended": found.why or None,
        "commits": [each.sha for each in found.commits[first : last + 1]] if named else [],
        "probability": found.search.likely[2] if named else None,
        "no_change": float(found.search.chances[0]) if found.runs else None,
        "effect": _plain(found.proof) if named else None,
        "ends": _plain(found.whole),
        "left_out": {found.commits[place].sha: why for place, why in found.unfit.items()},
        "runs": sum(len(run.values) for run in found.runs),
        "builds": sum(len(run.built) for run in found.runs),
        "seconds": spent_s(found.runs),
        "rows": rows(found),
    }


def _plain(effect: Shift | None) -> Any:
    return None if effect is None else attrs.asdict(effect)


def _charts(found: Bisected) -> tuple[Chart, ...]:
    known = [(each, each.level) for each in found.cells if each.level is not None]
    if not known:
        return ()
    chances = found.search.chances
    places = tuple(float(place) for place in range(1, len(found.commits)))
    names = tuple(map(str, found.commits[1:]))
    levels = Curve(
        label="beside the good end, %",
        x=tuple(float(each.place) for each, _ in known),
        y=tuple(100 * level.value for _, level in known),
        low=tuple(100 * level.low for _, level in known),
        high=tuple(100 * level.high for _, level in known),
        kind="errors",
        n=tuple(each.runs for each, _ in known),
        texts=tuple(names[each.place - 1] for each, _ in known),
    )
    sought = Curve(
        label="first bad commit, %",
        x=places,
        y=tuple(100 * float(chances[int(place)]) for place in places),
        kind="plain",
        texts=names,
    )
    return (
        Chart(
            name="commits",
            title=f"{words_of(found.spec.metric)} over commits",
            caption="Each commit that was run, beside the good end in the same blocks, with its"
            " 95 % interval; and the probability that a commit is the first bad one.",
            panels=(
                Panel(
                    title="Figure", x_label="commit", y_label="beside good (%)", curves=(levels,)
                ),
                Panel(title="Where", x_label="commit", y_label="probability (%)", curves=(sought,)),
            ),
        ),
    )


def document(found: Bisected, store: BisectStore) -> Document:
    said, charts = answer(found), _charts(found)
    table = Table(
        name="commits",
        columns=COLUMNS,
        rows=found.cells,
        terminal=True,
        title=f"Commits that were run ({words_of(found.spec.metric)})",
    )
    left = [f"{found.commits[place]}: {why}" for place, why in sorted(found.unfit.items())]
    parts = (Sentence(" ".join(said), answer=True, terminal=True), Figures(charts), table)
    lines = (Section("left-out", "Left out", (Lines(left),)),) if left else ()
    first, last = found.first_last
    near = {first - 1, *range(first, last + 1), 0, len(found.commits) - 1}
    picture = attrs.evolve(table, rows=[row for row in found.cells if row.place in near])
    return Document(
        title=store.path.name,
        kind="bisect",
        source="the stored runs",
        head=machine_facts(attrs.asdict(store.platform), kernel=store.platform.kernel),
        answer=said,
        picture=picture,
        sections=(Section("answer", "Which commit", parts, "Answer"), *lines),
    )


def cases(found: Bisected) -> list[Verdicted]:
    """Whether there is a change for the worse."""
    bad = found.changes and found.why != "wrong"
    return [
        Verdicted(
            name=found.spec.metric,
            group="bisect.change",
            verdict="failed" if bad else "passed",
            message=" ".join(answer(found)),
        )
    ]
