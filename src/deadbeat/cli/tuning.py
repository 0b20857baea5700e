"""What ``deadbeat tune`` does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import DeadbeatError, UsageError
from deadbeat.base.model.platform import target_option
from deadbeat.base.model.tuning import Applied
from deadbeat.base.model.words import Json, count_of
from deadbeat.cli._output import Part, say, table
from deadbeat.machine.settings.journal import STATE_FOLDER, Journal
from deadbeat.machine.settings.knob import all_knobs
from deadbeat.machine.settings.profile import all_profiles, find_profile, turns
from deadbeat.machine.settings.tune import holder_of, refuse_held
from deadbeat.machine.settings.tuning_plan import Plan, plan, preview
from deadbeat.machine.targets.base import Target, is_here
from deadbeat.machine.targets.opening import open_target
from deadbeat.machine.targets.readings import is_pattern
from deadbeat.machine.targets.rooted import RootedTarget

_OUTCOMES: tuple[Any, ...] = ("applied", "already", "skipped", "refused", "left", "planned")


@contextmanager
def _opened(root: Path | None, word: str | None) -> Iterator[tuple[Target, Journal]]:
    """The target ``word`` to read from, and the journal of its settings, which lies there."""
    with open_target(word) as target:
        if root is None:
            yield target, Journal(target)
            return
        # The whole path of ``root`` on the target.
        tree = str(root.resolve()) if is_here(target) else str(root)
        usable = tree.isprintable() and not is_pattern(tree) and tree.startswith("/")
        if not usable or target.run(("test", "-d", tree)).returncode != 0:
            there = "" if is_here(target) else f" of {target.name}, from / on"
            raise UsageError(f"--root: {root} is not a usable folder", f"name a folder{there}")
        folder = os.environ.get("DEADBEAT_STATE") or tree + STATE_FOLDER
        yield RootedTarget(target, tree), Journal(target, folder=folder, root=tree)


def listed() -> Shown:
    profiles, knobs = all_profiles().values(), all_knobs().values()
    names = ("name", "title", "why", "source", "irreversible", "note")
    rows = [
        {name: getattr(knob, name) for name in names}
        | {"default": knob.value, "values": knob.possible, "at_boot": bool(knob.boot)}
        for knob in knobs
    ]
    parts = [
        table(("profile", "for"), [(each.name, each.title) for each in profiles]),
        "",
        table(
            ("knob", "default", "what it does"),
            [(knob.name, knob.value or "", knob.title) for knob in knobs],
        ),
        "deadbeat show NAME says what a profile changes, why a knob helps and what it costs",
    ]
    plain = {"profiles": [attrs.asdict(each) for each in profiles], "knobs": rows}
    return Shown(plain=plain, parts=parts)


def status(root: Path | None, target: str | None) -> Shown:
    with _opened(root, target) as (_, journal):
        standing = journal.status()
        owned = [(each, holder_of(each.reason, journal.target.read_text)) for each in standing]
    changes = [
        {**attrs.asdict(e), "reason": o.reason, "process": o.process, "running": o.lives}
        for e, o in owned
    ]
    rows = [(e.path, e.old, e.now, e.stand, e.time, owner.words) for e, owner in owned]
    words = f"{count_of(len(standing), 'change')} in the journal {journal.folder}"
    columns = ("file", "before", "now", "state", "since", "by")
    return Shown(
        plain={"journal": journal.folder, "changes": changes},
        headline=words,
        parts=_table(columns, rows, words),
    )


def revert(*, force: bool, root: Path | None, target: str | None) -> Shown:
    with _opened(root, target) as (_, journal):
        if not force:
            refuse_held(journal.status(), journal.target.read_text)
        returned = journal.revert(force=force)
    rows = [
        (each.path, each.old, each.now, _with_reason(each.result, each.reason)) for each in returned
    ]
    results = [each.result for each in returned]
    words = ", ".join(f"{results.count(each)} {each}" for each in dict.fromkeys(results))
    words = words or "nothing was changed: there is nothing to put back"
    return Shown(
        plain={"changes": [attrs.asdict(each) for each in returned]},
        headline=words,
        parts=_table(("file", "before", "now", "result"), rows, words),
        status=DeadbeatError.exit_status
        * any(not each.settled and each.result != "moved" for each in returned),
    )


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], words: str) -> list[Part]:
    drawn: list[Part] = [table(columns, rows)] if rows else []
    return [*drawn, lambda: say(words)]


def _with_reason(result: str, reason: str) -> str:
    return f"{result}: {reason}" if reason else result


def apply(
    *,
    profile: str | None,
    knobs: tuple[str, ...],
    rt_cpus: tuple[int, ...] | None,
    dry_run: bool,
    accept_irreversible: bool,
    root: Path | None,
    target: str | None,
) -> Shown:
    if profile is None and not knobs:
        raise UsageError(
            "neither a profile nor a knob is given",
            f"profiles: {', '.join(all_profiles())}; deadbeat list knobs names the knobs",
        )
    turned = turns(find_profile(profile).words if profile else (), knobs)
    with _opened(root, target) as (machine, journal):
        planned = plan(machine, turned, rt_cpus=rt_cpus)
        if dry_run:
            done = preview(machine, planned)
        else:
            if planned.refused and not accept_irreversible:
                raise UsageError(
                    "not everything of this can be put back",
                    "nothing was changed; with --accept-irreversible it is done all the same",
                    tuple(
                        f"{each.knob.name}: {each.knob.irreversible}" for each in planned.refused
                    ),
                )
            reason = " ".join(["deadbeat tune apply", *filter(None, [profile]), *knobs])
            done = journal.apply(planned.settings, reason=reason, keep=planned.keep)
    done = attrs.evolve(done, changes=(*done.changes, *planned.left))
    # What a profile has and this machine lacks is no failure; what was asked for by name is.
    named = {word.partition("=")[0] for word in knobs}
    lacking = {each.knob.name for each in planned.items if each.missing and not each.good}
    lacking |= {planned.knob_of(each.path) for each in done.those("skipped")}
    option = target_option(target)
    parts = [f"{len(done.those(each))} {each}" for each in _OUTCOMES if done.those(each)]
    text = ", ".join(parts) or "nothing to turn"
    if any(each.reason == "Permission denied" for each in done.those("refused")):
        text += " (as root?)"
    if done.those("applied"):
        words = f"{text}; deadbeat tune revert{option} puts everything back"
    else:
        words = f"{text}; nothing was changed"
    return Shown(
        plain=_plain(planned, done, dry_run=dry_run),
        headline=words,
        parts=[*_parts(planned, done), lambda: say(words)],
        status=DeadbeatError.exit_status * bool(done.those("refused") or lacking & named),
    )


def _plain(planned: Plan, done: Applied, *, dry_run: bool) -> dict[str, Json]:
    rows = [{"knob": planned.knob_of(each.path), **attrs.asdict(each)} for each in done.changes]
    return {
        "session": None if dry_run else done.session,
        "rt_cpus": list(planned.rt_cpus),
        "changes": rows,
        "not_here": [
            {"knob": each.knob.name, "reason": each.missing, "as_good": each.good}
            for each in planned.items
            if each.missing
        ],
        "irreversible": [
            {"knob": each.knob.name, "what": each.knob.irreversible} for each in planned.refused
        ],
        "boot": None if planned.boot is None else attrs.asdict(planned.boot),
    }


def _parts(planned: Plan, done: Applied) -> Iterator[Part]:
    if done.changes:
        rows = [
            (
                planned.knob_of(each.path),
                *(each.path, each.old, each.wanted),
                _with_reason(each.outcome, each.reason),
            )
            for each in done.changes
        ]
        columns = ("knob", "file", "before", "wanted", "outcome")
        yield table(columns, rows, spare=("file",))
    for item in planned.items:
        if item.missing:
            yield f"{'left' if item.good else 'not here'}: {item.knob.name}: {item.missing}"
    for item in planned.refused:
        yield f"cannot be put back: {item.knob.name}: {item.knob.irreversible}"
    if any("cpu" in each.lower() for item in planned.items for each in item.knob.reads):
        cpus = ", ".join(map(str, planned.rt_cpus))
        guessed = "" if planned.asked else " (assumed; --rt-cpus names them)"
        known = f"{cpus}{guessed}" if cpus else "not known: which are online could not be read"
        yield f"CPUs for real-time tasks: {known}"
    boot = planned.boot
    if boot is None or not boot.add:
        return
    yield "\nOnly a boot sets these; add them to the kernel's command line yourself:"
    yield f"  {' '.join(boot.add)}"
    if boot.replaced:
        yield f"in place of\n  {' '.join(boot.replaced)}"
    if boot.whole is None:
        yield "to what is there now, which could not be read (/proc/cmdline)"
    else:
        yield f"which makes the whole line\n  {boot.whole}"
