"""One specification on several machines, and how their results compare."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import evolve

from deadbeat.base.kinds.base import Begin
from deadbeat.base.kinds.registry import find
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.store.place import family
from deadbeat.cli._measure import Ended, Order, measured
from deadbeat.cli._options import to_repeat
from deadbeat.cli._output import say
from deadbeat.cli.compare.answer import compare
from deadbeat.cli.each import named, under
from deadbeat.machine.targets.opening import open_target, refuse_made_up, slug, targets_in
from deadbeat.machine.targets.run import in_series

#: Rows of a comparison that are printed.
_ROWS = 24


def measured_on(asked: Order, command: str) -> Ended:
    """Measures on each machine of ``--target`` what is lacking there, then compares with the first.

    Raises:
        UsageError: One names no machine, or what is asked cannot be measured.
        TargetError: One cannot be reached before anything is measured.
        Reported: It was interrupted, after it was said what is kept.
    """
    begin = asked.begin
    targets = targets_in(begin.target)
    if begin.simulated:
        refuse_made_up(begin.target, "--simulated")
    for word in targets:
        open_target(word).close()
    base = begin.typed.get("name") or begin.written.get("name") or command.rpartition(" ")[2]
    words = {f"{base}-{slug(word)}": word for word in targets}
    if len(words) < len(targets):
        raise UsageError("two machines would have results of one name", "measure one by one")

    def measure(name: str, first: Ended | None) -> Ended:
        own = begun_on(begin, name, words)
        own = own if first is None else asked.kind.follow(own, first.path)
        return measured(evolve(asked, begin=own))

    return _together(asked, *in_series(words, measure, say))


def begun_on(begin: Begin, name: str, words: Mapping[str, str]) -> Begin:
    """What is asked of one of several machines; one that has no folder yet has nothing to retry.
    ``words``: for all of them, by the names of their results."""
    again = bool(family(begin.runs, name))
    return evolve(
        begin.part(len(words) - [*words].index(name)),
        typed={**begin.typed, "name": name},
        names={**begin.names, "name": "--name"},
        target=words[name],
        keep=not begin.fresh,
        retry_failed=begin.retry_failed and again,
        retry_invalid=begin.retry_invalid and again,
    )


def _together(
    asked: Order, answers: Mapping[str, Ended], failed: Mapping[str, DeadbeatError]
) -> Ended:
    """The answer of a series: the comparison, where all is measured."""
    if not answers:
        raise next(iter(failed.values()))
    found = list(answers.values())
    kept = ", ".join(f"{each.kept} of {each.path.name}" for each in found if each.kept)
    paths = [each.path for each in found if not each.shown.empty]
    shown = beside(found)
    if not kept and len(paths) > 1:
        try:
            shown = answer(paths, runs=asked.begin.runs, figures=asked.figures)
        except UsageError as error:
            say(f"not compared: {error}")
    notes = [f"{each.path.name}: {note}" for each in found for note in each.notes]
    if failed:
        again = to_repeat(asked.begin.words)
        notes.append(f"no result of {', '.join(failed)}: repeat with: {again}")
    lacking = bool(failed) or any(each.shown.empty for each in found)
    cases = [named(each.path.name, case) for each in found for case in each.shown.cases]
    return Ended(
        path=found[0].path,
        shown=evolve(shown, empty=lacking, cases=cases, status=0),
        notes=tuple(notes),
        kept=kept,
    )


def beside(found: Sequence[Ended]) -> Shown:
    """Results beside each other that are not compared."""
    return Shown(
        kind="series",
        headline=" ".join(f"{each.path.name}: {each.shown.headline}" for each in found),
        plain={"campaigns": [each.shown.plain for each in found]},
        parts=under({each.path.name: each.shown for each in found}),
    )


def answer(
    paths: Sequence[Path],
    *,
    runs: Path,
    figures: bool | None,
    metrics: tuple[str, ...] = (),
    fail_on: tuple[str, ...] = (),
) -> Shown:
    """The comparison of all with the first; of one alone its own answer.

    Args:
        metrics: What latency matrices of the lab, with seeds as repeats, are compared by; none:
            by all.

    Raises:
        DeadbeatError: There is no result.
        UsageError: They cannot be compared.
    """
    if not paths:
        raise DeadbeatError("no boot gave a result that counts", "deadbeat show says why")
    if len(paths) == 1:
        return find(runs, str(paths[0]))[0].show(paths[0])
    names = tuple(map(str, paths))
    found = compare(
        campaigns=names, metric=metrics, partial=True, figures=figures, runs=runs, fail_on=fail_on
    )
    assert found.document is not None
    again = shlex.join(["deadbeat", "compare", *names, "--all"])
    steps = found.document.steps
    if metrics:
        steps = [(step.replace("--repeats", "--seeds"), why) for step, why in steps]
    return evolve(found, document=evolve(found.document, rows=_ROWS, details=again, steps=steps))
