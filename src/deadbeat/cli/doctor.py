"""``deadbeat doctor``: is this machine ready for real-time work, and what to change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from attrs import evolve

from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import BuildError, DataError, UsageError
from deadbeat.base.model.platform import LOCAL
from deadbeat.base.report.lines import echo
from deadbeat.base.report.machines import CaseVerdict, Verdicted, openmetrics
from deadbeat.base.store.files import free_bytes
from deadbeat.base.store.texts import read_text, shown
from deadbeat.build.toolchain import Toolchain, check_static
from deadbeat.cli._output import Part, say, table
from deadbeat.machine.host.recorded import KernelFiles
from deadbeat.machine.host.values import cpus_text
from deadbeat.machine.settings import doctor_summary as summary
from deadbeat.machine.settings.doctor import DoctorReport, examine, of_families
from deadbeat.machine.settings.doctor_page import doctor_document, write_doctor
from deadbeat.machine.settings.facts import ONLINE, gather
from deadbeat.machine.settings.readiness import SEVERITIES, Severity
from deadbeat.machine.targets.opening import open_target


def doctor(
    *,
    workload: str | None,
    rt_cpus: tuple[int, ...] | None,
    only: tuple[str, ...],
    show_all: bool,
    fail_on: Severity | None,
    html: bool,
    out: Path | None,
    target: str | None,
    config: Path | None,
    cmdline: Path | None,
    pid: int | None,
) -> Shown:
    files = {name: path for name, path in (("config", config), ("cmdline", cmdline)) if path}
    checks = of_families(only) if only else None
    # The last folder of a page is made, but not a whole path that may be mistyped.
    if out is not None:
        if not out.absolute().parent.parent.is_dir():
            raise UsageError(
                f"--out: there is no folder {out.parent.parent}", "name one that is there"
            )
        free_bytes(out.parent, option="--out")
    if files and target:
        raise UsageError(f"--{next(iter(files))} and --target exclude each other", "drop one")
    if pid is not None and files:
        raise UsageError(f"--pid and --{next(iter(files))} exclude each other", "drop one")
    if pid is None and checks == of_families(["process"]):
        raise UsageError("--only process needs a process", "name it with --pid")
    with _kernel_files(files) if files else open_target(target) as machine:
        if not files and rt_cpus is not None:
            online = gather(machine, [ONLINE]).cpu_list(ONLINE)
            strange = [cpu for cpu in rt_cpus if cpu not in online]
            if strange:
                raise UsageError(
                    f"--rt-cpus: CPU {cpus_text(strange)} is not online here",
                    f"online: {cpus_text(online)}",
                )
        report = examine(
            machine, workload=workload or "mixed", rt_cpus=rt_cpus, checks=checks, pid=pid
        )
    page = write_doctor(report, out or Path("doctor.html")) if html or out else None
    document = doctor_document(report)
    if report.target.address == LOCAL:
        document = evolve(document, steps=[*_lacking(), *document.steps])
    whole = show_all or bool(only) or pid is not None
    return Shown(
        kind="doctor",
        headline=summary.sentence(report),
        cases=list(_cases(report, fail_on)),
        metrics=lambda: _metrics(report),
        plain={
            **summary.as_json(report),
            **({"files": {name: shown(path) for name, path in files.items()}} if files else {}),
            "page": str(page) if page else None,
        },
        document=document,
        page=page,
        whole=whole,
        parts=list(_parts(report, every=show_all)) if whole else [],
        status=_status(report, fail_on),
    )


def _lacking() -> Iterator[tuple[str, str]]:
    """What to install before anything can be measured here: measured programs are compiled."""
    try:
        check_static(Toolchain.find())
    except BuildError as error:
        yield error.hint, f"{error.message}; deadbeat compiles what it measures with"


def _kernel_files(files: Mapping[str, Path]) -> KernelFiles:
    """The machine that ``config`` and ``cmdline`` describe."""
    texts = {
        name: read_text(path, what=f"--{name}", hint="give the file of the kernel").text
        for name, path in files.items()
    }
    if "config" in texts and not re.search(r"^(# )?CONFIG_\w+[ =]", texts["config"], re.M):
        raise DataError(
            f"--config {shown(files['config'])} has no line CONFIG_...=",
            "give the kernel's .config, /boot/config-RELEASE or a copy of /proc/config.gz",
        )
    if re.search(r"^CONFIG_\w+=", texts.get("cmdline", ""), re.M):
        raise DataError(
            f"--cmdline {shown(files['cmdline'])} is a build configuration",
            "give it to --config; a command line is what /proc/cmdline holds",
        )
    name = " and ".join(shown(path) for path in files.values())
    return KernelFiles(texts.get("config"), texts.get("cmdline"), name=name)


def _cases(report: DoctorReport, least: Severity | None) -> Iterator[Verdicted]:
    """A case for each check; what is less grave than asked for does not fail."""
    failing = report.failing(least or "info")
    for result in report.results:
        passed: CaseVerdict = "skipped" if result.status == "unknown" else "passed"
        yield Verdicted(
            name=result.id,
            group=f"doctor.{result.id.partition('.')[0]}",
            verdict="failed" if result in failing else passed,
            message=f"{result.severity}: {summary.reading(result)} {summary.cure(result)}".strip(),
        )


def _metrics(report: DoctorReport) -> str:
    """Which checks fail; what is not known has no sample."""
    known = [each for each in report.results if each.status != "unknown"]
    return openmetrics(
        "check",
        [{"id": k.id, "severity": k.severity, "failed": int(k.status == "fail")} for k in known],
        ("id", "severity"),
        {},
    )


def _status(report: DoctorReport, least: Severity | None) -> int:
    if least is None:
        return 0
    failing, unknown = report.failing(least), report.failing(least, "unknown")
    if unknown:
        say(f"--fail-on {least}: {summary.severities(unknown)} could not be read: they do not fail")
    if failing:
        grave = min(failing, key=lambda result: SEVERITIES.index(result.severity))
        fail = f"{summary.severities(failing)} fail"
        say(f"--fail-on {least}: {fail}; {grave.id}: {summary.reading(grave)}")
    return 1 if failing else 0


def _parts(report: DoctorReport, *, every: bool) -> Iterator[Part]:
    yield from summary.labels(report)
    yield from (f"{name + ':':<17}{value}" for name, value in summary.facts(report))
    yield ""
    for group in summary.groups(report.results):
        yield f"{group.title} ({group.name}): {group.counts}"
        for result in group.results:
            if every or result.status != "pass":
                # A line, and for what fails the cure below it.
                status = {"fail": "FAIL", "pass": "pass", "unknown": "?"}[result.status]
                head = f"  {status:<5}{result.severity:<7} {result.id}  {summary.reading(result)}"
                yield partial(echo, head, " " * 13)
                if cure := summary.cure(result):
                    yield partial(echo, f"{' ' * 15}do: {cure}", " " * 4)
        yield ""
    if report.inventory:
        columns = summary.INVENTORY_COLUMNS
        rows = summary.inventory_rows(report)
        yield table(columns, rows, title="Inventory", numeric=columns[1:2])
    on = [option for option, state in report.hardening if state.on]
    if on:
        yield table(
            ("hardening that is on", "cost lands on", "expected"),
            [(option.title, option.lands, option.expected) for option in on],
        )
        yield "To measure what it costs here: deadbeat compare WITHOUT WITH, two latency results"
    yield summary.sentence(report)
