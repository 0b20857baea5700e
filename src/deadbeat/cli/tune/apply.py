"""``deadbeat tune apply``: change settings, after writing down what they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import click
from attrs import evolve

from deadbeat.cli._options import json_option
from deadbeat.cli._output import print_json, print_table, say
from deadbeat.cli._rt_cpus import rt_cpus as numbers
from deadbeat.cli.tune._machine import boot_lines, opened, root_option
from deadbeat.model.errors import UsageError
from deadbeat.model.tuning import Applied
from deadbeat.settings.profile import Turn, all_profiles, find_profile, turns
from deadbeat.settings.tuning_plan import Plan, plan, preview
from deadbeat.targets.base import Target

_COLUMNS = ("knob", "file", "before", "wanted", "outcome")


@click.command()
@click.argument("profile", required=False)
@click.option(
    "--knob",
    "knobs",
    metavar="NAME[=VALUE]",
    multiple=True,
    help="Turn this knob (deadbeat tune list), to VALUE; may be repeated.",
)
@click.option(
    "--rt-cpus",
    metavar="LIST",
    help="CPUs meant for real-time tasks: 2-3.  [the isolated ones, else all but the first]",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be changed.")
@click.option(
    "--accept-irreversible",
    is_flag=True,
    help="Also turn knobs of which something cannot be put back; it is printed which.",
)
@root_option
@json_option
def command(
    *,
    profile: str | None,
    knobs: tuple[str, ...],
    rt_cpus: str | None,
    dry_run: bool,
    accept_irreversible: bool,
    root: Path | None,
    as_json: bool,
) -> int:
    """Change settings of this machine: those of PROFILE, and knobs by name.

    PROFILE is one of deadbeat's (deadbeat tune list) or a TOML file. Before a setting is touched,
    what it was is written to the journal; deadbeat tune revert puts it back, also after a crash.
    What only a boot can set is printed as words for the kernel's command line.

    Exit status 1: something was refused, or a knob asked for by name is not possible here.
    """
    turned, cpus = _turned(profile, knobs), numbers(rt_cpus)
    with opened(root) as (target, journal):
        planned = plan(target, turned, rt_cpus=cpus)
        if not dry_run:
            _refuse(planned, accepted=accept_irreversible)
        done = (
            _preview(target, planned)
            if dry_run
            else journal.apply(planned.settings, reason=_reason(profile, knobs), keep=planned.keep)
        )
    done = _with_left(done, planned)
    status = _status(planned, done, named={word.partition("=")[0] for word in knobs})
    if as_json:
        print_json(_answer(planned, done, dry_run=dry_run))
        return status
    _print(planned, done)
    say(_summary(done))
    return status


_OUTCOMES: tuple[Any, ...] = ("applied", "already", "skipped", "refused", "left", "planned")


def _status(planned: Plan, done: Applied, *, named: set[str]) -> int:
    """What a profile has and this machine lacks is no failure; what was asked for by name is."""
    lacking = {each.knob.name for each in planned.items if each.missing and not each.good}
    lacking |= {planned.knob_of(each.path) for each in done.those("skipped")}
    return int(bool(done.those("refused") or lacking & named))


def _summary(done: Applied) -> str:
    parts = [f"{len(done.those(each))} {each}" for each in _OUTCOMES if done.those(each)]
    text = ", ".join(parts) or "nothing to turn"
    if any(each.reason == "Permission denied" for each in done.those("refused")):
        text += " (as root?)"
    if done.those("applied"):
        return f"{text}; deadbeat tune revert puts everything back"
    return f"{text}; nothing was changed"


def _turned(profile: str | None, knobs: tuple[str, ...]) -> list[Turn]:

    if profile is None and not knobs:
        raise UsageError(
            "neither a profile nor a knob is given",
            f"profiles: {', '.join(all_profiles())}; deadbeat tune list names the knobs",
        )
    return turns(find_profile(profile).words if profile else (), knobs)


def _reason(profile: str | None, knobs: tuple[str, ...]) -> str:
    return " ".join(["deadbeat tune apply", *filter(None, [profile]), *knobs])


def _refuse(planned: Plan, *, accepted: bool) -> None:

    if planned.refused and not accepted:
        raise UsageError(
            "not everything of this can be put back",
            "nothing was changed; with --accept-irreversible it is done all the same",
            tuple(f"{each.knob.name}: {each.knob.irreversible}" for each in planned.refused),
        )


def _with_left(done: Applied, planned: Plan) -> Applied:

    return evolve(done, changes=(*done.changes, *planned.left))


def _preview(target: Target, planned: Plan) -> Applied:
    """As if it had been applied, with what the files hold now."""
    return preview(target, planned)


def _answer(planned: Plan, done: Applied, *, dry_run: bool) -> dict[str, Any]:

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


def _print(planned: Plan, done: Applied) -> None:

    if done.changes:
        rows = [
            (
                planned.knob_of(each.path),
                each.path,
                each.old,
                each.wanted,
                f"{each.outcome}: {each.reason}" if each.reason else each.outcome,
            )
            for each in done.changes
        ]
        print_table(_COLUMNS, rows, whole=("knob", "file"))
    for item in planned.items:
        if item.missing:
            click.echo(f"{'left' if item.good else 'not here'}: {item.knob.name}: {item.missing}")
    for item in planned.refused:
        click.echo(f"cannot be put back: {item.knob.name}: {item.knob.irreversible}")
    if any("cpu" in each.lower() for item in planned.items for each in item.knob.reads):
        cpus = ", ".join(map(str, planned.rt_cpus))
        guessed = "" if planned.asked else " (assumed; --rt-cpus names them)"
        known = f"{cpus}{guessed}" if cpus else "not known: which are online could not be read"
        click.echo(f"CPUs for real-time tasks: {known}")
    boot = planned.boot
    if boot is not None and boot.add:
        click.echo("\n".join(boot_lines(boot.add, boot.replaced, boot.whole)))
