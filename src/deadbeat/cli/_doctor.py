"""What ``deadbeat doctor`` does; apart from its options, so that ``--help`` imports none of it."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from deadbeat.cli._hardening import print_cost
from deadbeat.cli._options import choice
from deadbeat.cli._output import print_json, print_table, say
from deadbeat.cli._rt_cpus import rt_cpus
from deadbeat.host.values import cpus_text
from deadbeat.model.errors import UsageError
from deadbeat.model.readiness import SEVERITIES, WORKLOADS, CheckResult, Severity
from deadbeat.model.words import nearest, shown
from deadbeat.report.doctor_page import write_doctor
from deadbeat.settings import doctor_words as words
from deadbeat.settings.doctor import DoctorReport, examine, families, of_families
from deadbeat.settings.facts import gather
from deadbeat.settings.reading_values import ONLINE
from deadbeat.store.campaign import free_bytes
from deadbeat.targets.base import Target
from deadbeat.targets.local import LocalTarget

#: Where stdout is no terminal, lines are not cut: programs read them.
_ENDLESS = 10_000


def doctor(options: Mapping[str, Any]) -> int:
    """Examines this machine; returns the exit status."""
    if options["hardening_cost"]:
        return print_cost(options)
    workload = choice("--workload", options["workload"], WORKLOADS, "mixed")
    least = _severity(options["fail_on"])
    only = _families(options["only"])
    asked = rt_cpus(options["rt_cpus"])
    _require_folder(options["out"])
    with LocalTarget() as target:
        _require_online(target, asked)
        checks = of_families(only) if only else None
        diagnosis = examine(target, workload=workload, rt_cpus=asked, checks=checks)
    page = _write(diagnosis, options)
    if options["as_json"]:
        print_json({**words.as_json(diagnosis), "page": str(page) if page else None})
    else:
        _print(diagnosis, every=options["show_all"])
        if page:
            click.echo(f"report: {page}")
    return _status(diagnosis, least)


def _severity(text: str | None) -> Severity | None:
    if text is None:
        return None
    found = choice("--fail-on", text, SEVERITIES, SEVERITIES[0])
    return next(severity for severity in SEVERITIES if severity == found)


def _families(names: Sequence[str]) -> tuple[str, ...]:
    known = families()
    wrong = [name for name in names if name not in known]
    if wrong:
        raise UsageError(
            f"--only: there is no family {', '.join(map(shown, wrong))}", nearest(wrong[0], known)
        )
    return tuple(names)


def _require_folder(out: Path | None) -> None:
    """The last folder of a page is made, but not a whole path that may be mistyped."""
    if out is None:
        return
    if not out.absolute().parent.parent.is_dir():
        raise UsageError(f"--out: there is no folder {out.parent.parent}", "name one that is there")
    free_bytes(out.parent, option="--out")


def _require_online(target: Target, asked: Sequence[int] | None) -> None:
    if asked is None:
        return
    online = gather(target, [ONLINE]).cpu_list(ONLINE)
    strange = [cpu for cpu in asked if cpu not in online]
    if strange:
        raise UsageError(
            f"--rt-cpus: CPU {cpus_text(strange)} is not online here",
            f"online: {cpus_text(online)}",
        )


def _write(diagnosis: DoctorReport, options: Mapping[str, Any]) -> Path | None:
    if not options["html"] and options["out"] is None:
        return None

    return write_doctor(diagnosis, options["out"] or Path("doctor.html"))


def _status(diagnosis: DoctorReport, least: Severity | None) -> int:
    if least is None:
        return 0
    failing, unknown = diagnosis.failing(least), diagnosis.unknown(least)
    if unknown:
        say(f"--fail-on {least}: {words.severities(unknown)} could not be told: they do not fail")
    if failing:
        grave = min(failing, key=lambda result: SEVERITIES.index(result.severity))
        say(f"--fail-on {least}: {words.severities(failing)} fail; {grave.id}: {words.told(grave)}")
    return 1 if failing else 0


def _print(diagnosis: DoctorReport, *, every: bool) -> None:
    for label in words.labels(diagnosis):
        click.echo(label)
    for name, value in words.facts(diagnosis):
        click.echo(f"{name + ':':<17}{value}")
    click.echo()
    for group in words.groups(diagnosis.results):
        click.echo(f"{group.title} ({group.name}): {group.counts}")
        for result in group.results:
            if every or result.status != "pass":
                _tell(result)
        click.echo()
    if diagnosis.inventory:
        print_table(
            words.INVENTORY_COLUMNS, words.inventory_rows(diagnosis), title="Inventory",
            numeric=words.INVENTORY_COLUMNS[1:2],
        )  # fmt: skip
    on = [(option, state) for option, state in diagnosis.hardening if state.on]
    if on:
        print_table(
            ("hardening that is on", "cost lands on", "expected"),
            [(option.title, option.lands, option.expected) for option, _ in on],
        )
        click.echo("What it does cost here: deadbeat doctor --hardening-cost WITHOUT WITH")
    click.echo(words.sentence(diagnosis))
    if tuning := words.tuning(diagnosis):
        click.echo(" ".join(tuning))


def _tell(result: CheckResult) -> None:
    """A line, and for what fails the cure below it; wrapped on a terminal."""
    for line in _lines(result):
        click.echo(line)


def _lines(result: CheckResult) -> Iterator[str]:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _ENDLESS
    status = {"fail": "FAIL", "pass": "pass", "unknown": "?"}[result.status]
    head = f"  {status:<5}{result.severity:<7} {result.id}  {words.told(result)}"
    yield from textwrap.wrap(head, width, subsequent_indent=" " * 15) or [head]
    if cure := words.cure(result):
        indent = " " * 15
        text = f"{indent}do: {cure}"
        yield from textwrap.wrap(text, width, subsequent_indent=f"{indent}    ")
