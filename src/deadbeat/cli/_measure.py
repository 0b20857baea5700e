"""Carries out what a command measures: progress, interrupts, and how to go on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from deadbeat.base.experiment.base import Experiment, Outcome
from deadbeat.base.kinds import KINDS
from deadbeat.base.kinds.base import MADE_UP, Begin, Begun, ExperimentKind
from deadbeat.base.kinds.registry import kind_of
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.platform import target_option
from deadbeat.base.model.specification import Layer, names_in_file
from deadbeat.base.model.words import Json, inside
from deadbeat.base.report.lines import echo
from deadbeat.base.report.machines import CaseVerdict, Verdicted
from deadbeat.base.store.files import read_toml
from deadbeat.base.store.place import point_latest
from deadbeat.cli._errors import explain_error
from deadbeat.cli._options import budget_seconds, to_repeat, with_options, words_typed
from deadbeat.cli._output import agree, print_shown, say
from deadbeat.cli._progress import Watch
from deadbeat.cli._runs import drawn
from deadbeat.cli._signals import Reported
from deadbeat.machine.targets.base import LOCAL
from deadbeat.machine.targets.guarded import found
from deadbeat.machine.targets.run import run
from deadbeat.sched.core import core
from deadbeat.tasksets.contention.spec import VERB

#: What a file of a campaign that does not say its mode has a section of.
_SECTIONS = {"grid": "profile", "stress": "stress"}
#: Command -> the mode that files of it have.
_MODES = {verb.replace(" --", "-"): mode for mode, verb in VERB.items()}


@frozen(kw_only=True)
class Order:
    """What a command that measures is asked, whichever kind it is of.

    Attributes:
        retries: Whether the command has ``--retry``.
        fail_on: What it is to fail on.
    """

    kind: ExperimentKind
    begin: Begin
    figures: bool | None = None
    retries: bool = False
    fail_on: str | None = None


@frozen(kw_only=True)
class Ended:
    """What became of an experiment.

    Attributes:
        notes: What is said before the answer.
        kept: What is stored where a time budget left something undone, in words; "": nothing was.
        then: As of `Begun`.
    """

    path: Path
    shown: Shown
    notes: tuple[str, ...] = ()
    kept: str = ""
    then: Callable[[], None] | None = None

    def status(self, fail_on: str | None) -> int:
        """Exit status of the command; where it is that of ``--fail-on``, says why."""
        if self.shown.empty:
            return DeadbeatError.exit_status
        bad = sorted(_failed(self.shown.cases, fail_on), key=lambda case: -case.weight)
        if bad:
            more = f", and {len(bad) - 1} more" if len(bad) > 1 else ""
            say(f"--fail-on {fail_on}: {bad[0].message} ({bad[0].name}){more}")
            return 1
        if fail_on == "requirement" and not any(_named(self.shown.cases, fail_on)):
            say("--fail-on requirement: there is none (write [requirement.ID] in --file FILE)")
            return DeadbeatError.exit_status
        unknown = [*_failed(self.shown.cases, fail_on, "undecided")]
        if unknown:
            more = f", and {len(unknown) - 1} more" if unknown[1:] else ""
            text = f"{unknown[0].message} ({unknown[0].name}): undecided"
            say(f"--fail-on {fail_on}: {text}{more}")
            return DeadbeatError.exit_status
        return self.shown.status


def measure(
    command: str,
    name: str,
    asked: Layer,
    given: Mapping[str, Json],
    /,
    *,
    series: Callable[[Order, str], Ended] | None = None,
    named: str = "",
    file: Path | None,
    time_budget: str | None,
    runs: Path,
    fresh: bool,
    figures: bool | None,
    as_json: bool,
    retry: bool | None = None,
    simulated: bool = False,
    target: str | None = None,
    cross: str | None = None,
    quick: bool | None = None,
    quick_s: float | None = None,
    fail_on: str | None = None,
    junit: Path | None = None,
    annotations: bool = False,
    **_others: object,
) -> int:
    """Measures what a command asks for; returns the exit status.

    Args:
        name: Row of `KINDS`.
        asked: What of the specification was typed. ``given``: options of this command alone.
        named: Name of the result where nothing gives one; "": that of the kind.
        series: What measures on several machines; None: ``target`` is one.
        retry: None: the command has no such option.
        quick_s: Time that is promised.
    """
    written = written_in(file, command)
    given_name = "name" in asked.values
    if named and "name" not in {*written.values, *asked.values}:
        asked.put("name", named, "--name")
    begin = Begin(
        runs=runs,
        written=written.values,
        typed=asked.values,
        names={**written.names, **asked.names},
        named=given_name,
        fresh=fresh,
        retry_failed=bool(retry),
        retry_invalid=bool(retry),
        simulated=simulated,
        target=target,
        cross=cross,
        budget_s=quick_s if time_budget is None else budget_seconds(time_budget),
        given={**given, "quick": quick},
        words=words_typed(command),
        as_json=as_json,
        say=say,
        agree=partial(agree, yes=bool(given.get("yes"))),
    )
    _check_beside(begin)
    wanted = Order(
        kind=kind_of(name),
        begin=begin,
        figures=figures,
        retries=retry is not None,
        fail_on=fail_on,
    )
    found = series(wanted, command) if series else measured(wanted)
    shown = found.shown
    if as_json:
        for note in found.notes:
            say(note)
    shown = evolve(shown, lines=(*found.notes, *shown.lines))
    print_shown(shown, as_json=as_json, command=command, junit=junit, annotations=annotations)
    if found.kept and not as_json:
        again = to_repeat(begin.words)
        echo(f"the time is over, {found.kept} are kept; continue with: {again}")
    if found.then is not None:
        found.then()
    return found.status(fail_on)


def measured(asked: Order) -> Ended:
    """An experiment that is measured as far as it is asked, or was before, and what it says.
    Raises Reported: it was interrupted, after it was said what is kept."""
    begin = asked.begin
    with begin.held:
        begun, outcome = carried_out(asked.kind, begin)
        experiment = begun.experiment
        try:
            say("summarise and draw")
            shown = _there(report(asked.kind, begun, asked.figures), begin)
        except KeyboardInterrupt:
            _say_kept(experiment, begin.words)
            raise Reported from None
    over = outcome is not None and not outcome.complete and begin.budget_s is not None
    # Whether anything counts, whether what it is to fail on is so, and the kind's own verdicts; of
    # these what it was not asked to fail on does not.
    fail_on = asked.fail_on
    doubts = shown.document.findings if shown.document else ()
    text = " ".join([shown.headline, *(f"{each.severity}: {each.message}" for each in doubts)])
    wanted = {"has-valid-runs": shown.empty}
    judged = fail_on == "requirement"  # each is a case of its own
    if fail_on and not (judged and any(_named(shown.cases, fail_on))):
        wanted[f"no-{fail_on}"] = judged or any(_failed(shown.cases, fail_on))
    cases = [
        Verdicted(name=name, verdict="failed", message=text)
        if failed
        else Verdicted(name=name, verdict="passed", message="")
        for name, failed in wanted.items()
    ] + [
        evolve(case, verdict="skipped")
        if case.verdict in ("failed", "undecided") and not case.group.endswith(f".{fail_on}")
        else case
        for case in shown.cases
    ]
    return Ended(
        path=experiment.store.path,
        shown=evolve(shown, cases=cases),
        notes=tuple(_notes(asked, outcome, shown)) if outcome else (),
        kept=experiment.kept() if over else "",
        then=begun.then,
    )


def answered(kind: ExperimentKind, begin: Begin, figures: bool | None) -> Path:
    """The folder of a finished experiment: one that answers already what is asked, or a new one.

    Raises:
        Reported: It was interrupted, after it was said what is kept.
        DeadbeatError: No run of it counts.
    """
    reasons: list[str] = []
    with begin.held:
        begun, outcome = carried_out(kind, evolve(begin, keep=not begin.fresh))
        path = begun.experiment.store.path
        if outcome is not None:
            say("summarise and draw")
            report(kind, begun, figures)
            reasons = [why for _, why in sorted((k.text, w) for k, w in outcome.failed.items())]
            if not outcome.complete:
                kept = f"{outcome.done} of {outcome.planned} {begun.experiment.unit} are kept"
                say(f"{path.name}: the time is over, {kept}: the same command continues")
    state = kind.state_of(path)
    if state.done == state.invalid:
        why = ": ".join([f"{path}: no run has a result that counts", *reasons[:1]])
        raise DeadbeatError(why, "see deadbeat show")
    return path


def _notes(asked: Order, outcome: Outcome[Any], shown: Shown) -> Iterator[str]:
    """What went on beside, what has no result, and how to measure it again."""
    words = asked.begin.words
    if outcome.beside:
        yield outcome.beside
    if outcome.failed:
        first, reason = min((key.text, reason) for key, reason in outcome.failed.items())
        lacking = f"{len(outcome.failed)} of {outcome.planned} runs have no result"
        option = ("--retry",) if asked.retries else ()
        them = "them and the invalid ones" if shown.invalid and option else "them"
        yield f"{lacking}, for example {first}: {reason}"
        yield f"measure {them} again: {to_repeat(words, *option)}"
    elif shown.invalid and asked.retries:
        yield f"measure the invalid ones again: {to_repeat(words, '--retry')}"


#: Commands that take a target beside those of kinds.
_OF_TARGETS = ("doctor", "tune")
#: A step that asks the same again, in more detail.
_MORE = re.compile(r"deadbeat \w+ --(repeats|duration|sets|trace|try|deadline)\b")


def _there(shown: Shown, begin: Begin) -> Shown:
    """``shown`` with what to do next as it was asked, and on its target."""
    option = target_option(begin.target)
    if shown.document is None or begin.simulated:
        return shown
    there = rf"deadbeat ({'|'.join((*_OF_TARGETS, *KINDS))})\b(?!.*--target)"
    steps = []
    for step, why in shown.document.steps:
        own, program, _ = step.partition(" -- ")
        again = _MORE.match(step) and step.split()[1] == begin.words[0]
        if again and ("--" in begin.words or not program):
            steps.append((with_options(begin.words, shlex.split(own)[2:]), why))
        else:
            steps.append((f"{step}{option}" if re.match(there, step) else step, why))
    return evolve(shown, document=evolve(shown.document, steps=steps))


def _check_beside(begin: Begin) -> None:
    """Raises UsageError where a program beside is not here, or nothing real is beside it."""
    words = begin.typed.get("beside", begin.written.get("beside"))
    if not isinstance(words, list | tuple) or not words or not isinstance(words[0], str):
        return  # what is wrong with it is said with all the others
    executor = str(begin.given.get("executor") or "hardware")
    if begin.simulated or executor.partition(":")[0] != "hardware":
        made_up = "--simulated" if begin.simulated else f"--executor {executor}"
        raise UsageError(f"{made_up} and --beside exclude each other", "drop one")
    if begin.target not in (None, LOCAL):
        raise UsageError(
            f"--beside and --target {begin.target} exclude each other: the program would run here,"
            " beside nothing",
            "start it there, then measure",
        )
    found(words[0])


def _failed(
    cases: Iterable[Verdicted], word: str | None, verdict: CaseVerdict = "failed"
) -> Iterator[Verdicted]:
    """What failed of what ``--fail-on`` names."""
    return (case for case in _named(cases, word) if case.verdict == verdict)


def _named(cases: Iterable[Verdicted], word: str | None) -> Iterator[Verdicted]:
    return (case for case in cases if case.group.endswith(f".{word}"))


def carried_out(kind: ExperimentKind, begin: Begin) -> tuple[Begun, Outcome[Any] | None]:
    """Begins or continues, and measures; None: a finished one is kept, which answers it already.

    Raises:
        Reported: It was interrupted, after it was said what is kept.
        BuildError: What simulates is not there.
    """
    experiment: Experiment[Any, Any] | None = None
    try:
        begun = kind.begin(begin)
        experiment = begun.experiment
        if kind.simulates:
            core()
        path = experiment.store.path
        if begin.keep and kind.state_of(path).state == "finished":
            return begun, None
        point_latest(path.parent, path.name)
        so_far = begun.so_far or partial(kind.picture, path)
        with Watch(path.name, unit=experiment.unit, so_far=so_far) as watch:
            left_s, beside = begin.left_s, begun.beside
            return begun, run(experiment, on_event=watch, beside=beside, budget_s=left_s)
    except KeyboardInterrupt:
        _say_kept(experiment, begin.words)
        raise Reported from None


def _say_kept(experiment: Experiment[Any, Any] | None, words: Sequence[str]) -> None:
    """Says what is kept of an interrupted experiment; None: it was not begun."""
    if experiment is None:
        say("interrupted before anything was measured")
        return
    kept = f"{experiment.kept()} are kept in {experiment.store.path}"
    say(f"interrupted: {kept}; continue with: {to_repeat(words, retrying=True)}")


def report(kind: ExperimentKind, begun: Begun, figures: bool | None) -> Shown:
    """Everything derived, and where it is; figures as `drawn` has it.
    Raises DeadbeatError: it cannot be derived; what was measured is kept."""
    path = begun.experiment.store.path
    draw = drawn(path, figures)
    with summarising(path, kind):
        return begun.report(draw) if begun.report is not None else kind.report(path, draw)


@contextmanager
def summarising(path: Path, kind: ExperimentKind) -> Iterator[None]:
    """Says of whatever fails in the block that the runs in ``path`` are kept, and how to repeat it.
    Raises DeadbeatError: the block failed."""
    try:
        yield
    except Exception as error:
        if not kind.folder.holds(path):
            raise DeadbeatError(f"{path} was removed meanwhile", "repeat the command") from None
        again = shlex.join(["deadbeat", "page", str(path)])
        message, hint = explain_error(error)
        failed = DeadbeatError(
            f"all runs are kept in {path}, but their summary failed: {message}",
            "; ".join(filter(None, [hint, f"summarise them with: {again}"])),
            getattr(error, "details", ()),
        )
        failed.exit_status = getattr(error, "exit_status", failed.exit_status)
        raise failed from error


def written_in(file: Path | None, verb: str) -> Layer:
    """What a file asks for. Raises UsageError: it is of another command."""
    if file is None:
        return Layer()
    values = read_toml(file)
    if verb == "run":
        values |= inside(values.pop("program", {}))
    modes = [mode for section, mode in _SECTIONS.items() if section in values]
    own = _MODES.get(verb, verb)
    guessed = modes[0] if len(modes) == 1 and own in _SECTIONS.values() else own
    mode = values.pop("mode", guessed)
    if mode != own:
        theirs, ours = (VERB.get(str(each), str(each)) for each in (mode, own))
        hint = f"deadbeat {theirs} --file {shlex.quote(str(file))}"
        raise UsageError(f"{file} is of deadbeat {theirs}, not of deadbeat {ours}", hint)
    return Layer(values, names_in_file(file, values))


def say_simulated(kind: str) -> None:
    """Says that a platform is made up."""
    if kind in MADE_UP:
        say(MADE_UP[kind])
