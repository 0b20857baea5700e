"""``show``, ``report``, ``why``, ``runs``: what is stored; ``explain`` and ``version``."""

from __future__ import annotations

import platform
from functools import partial
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path

import attrs
from attrs import evolve

from deadbeat.cli._output import say, table
from deadbeat.cli._runs import check_own
from deadbeat.cli.derived import found
from deadbeat.kinds.base import ExperimentKind, Shown
from deadbeat.kinds.contention.emitting import SUFFIX, TaskOfRun, read_run
from deadbeat.kinds.contention.place import LATEST
from deadbeat.kinds.registry import all_kinds, find
from deadbeat.kinds.study.preset import presets
from deadbeat.model.errors import UsageError
from deadbeat.model.finding import explanations
from deadbeat.model.words import Json, nearest, shown
from deadbeat.report.machines import openmetrics
from deadbeat.store.derived import DERIVED, state_of
from deadbeat.store.files import atomic_write, storing
from deadbeat.store.place import FolderState, beheaded


def show(run: str, runs: Path) -> Shown:
    if run.endswith(SUFFIX):
        return _show_jobs(Path(run))
    if (derived := found(runs, run)) is not None:
        return derived
    kind, path = find(runs, run)
    return evolve(kind.show(path), metrics=lambda: _metrics(kind, path))


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def _show_jobs(path: Path) -> Shown:
    found = read_run(path)
    rows = [[_cell(value) for value in attrs.astuple(each)] for each in found.tasks]
    counted, missed = (
        sum(getattr(each, key) for each in found.tasks) for key in ("jobs", "missed")
    )
    told = "not known" if found.slowdown is None else f"{found.slowdown:.3f}"
    headline = f"slowdown {told}, {missed} of {counted} deadlines missed"
    if not found.realtime:
        headline += "; measured without real-time priorities"
    names = [each.name for each in attrs.fields(TaskOfRun)]
    columns = [name.replace("_us", " [us]").replace("_", " ") for name in names]
    parts = [table(columns, rows, numeric=columns), headline]
    return Shown(plain=attrs.asdict(found), headline=headline, parts=parts)


def _metrics(kind: ExperimentKind, path: Path) -> str:
    found = kind.open(path)
    labels = {"run": path.name, "simulated": str(found.simulated).lower()}
    return openmetrics(found.shown.kind or kind.name, found.rows, kind.keys, labels)


def report(run: str, runs: Path, figures: bool, datadir: Path | None) -> Shown:
    kind, path = find(runs, run)
    check_own(path)
    if datadir is None:
        return kind.report(path, figures)
    if kind.samples is None:
        message = f"{path.name} is a {kind.folder.noun}: it has no files of single samples"
        raise UsageError(message, "--datadir takes primitives that were measured with --keep")
    files = kind.samples(path, datadir)
    return evolve(kind.report(path, figures), parts=[f"{datadir / each.name}" for each in files])


def why(run: str, runs: Path, worst: int, perfetto: Path | None) -> Shown:
    kind, path = find(runs, run)
    if perfetto is not None:
        if kind.perfetto is None:
            message = f"no events of {path.name} are kept: it is a {kind.folder.noun}"
            raise UsageError(message, "--perfetto takes profile, stress, latency and load")
        text = kind.perfetto(path, worst)
        with storing(perfetto):
            atomic_write(perfetto, text)
    if kind.why is None and perfetto is not None:
        return kind.show(path)
    if kind.why is None:
        raise kind.folder.no_campaign(path)
    return kind.why(path, worst)


def runs(runs: Path) -> Shown:
    latest = (runs / LATEST).resolve().name
    known = [
        (kind.name, state)
        for kind in all_kinds()
        for state in map(kind.state_of, kind.folder.folders(runs))
    ]
    known += map(state_of, DERIVED.folders(runs))
    plain = [{**_plain(kind, state, latest), **state.facts()} for kind, state in known]
    rows = [_row(kind, state, latest) for kind, state in known]
    for state in beheaded(runs):
        plain.append(_plain("unknown", state, latest))
        rows.append(_row("", state, latest))
    if not rows:
        return Shown(
            plain=plain, parts=[partial(say, f"nothing in {runs} yet: deadbeat latency --quick")]
        )
    columns = ["name", "state", "asked for", "runs", "failed", "note"]
    return Shown(plain=plain, parts=[table(columns, rows, numeric=columns[3:])])


def _plain(kind: str, state: FolderState, latest: str) -> dict[str, Json]:
    """What all kinds have."""
    names = ("name", "state", "preset", "planned", "done", "failed", "problem")
    return {
        "kind": kind,
        "path": str(state.path),
        "latest": state.name == latest,
        **{name: getattr(state, name) for name in names},
    }


def _row(kind: str, state: FolderState, latest: str) -> list[str]:
    damaged = state.state == "damaged"  # nobody knows how much there is of it
    invalid = kind and not damaged and "invalid" in state.facts()
    return [
        state.name + " (latest)" * (state.name == latest),
        state.state + (f": {state.problem}" if state.problem else ""),
        state.words(kind) if kind else "",
        "" if damaged or not state.planned else f"{state.done} of {state.planned}",
        "" if damaged or not state.planned else str(state.failed),
        f"{state.invalid} invalid" if invalid else "",
    ]


def explain(finding: str | None) -> Shown:
    known = explanations()
    if finding is None:
        width = max(map(len, known))
        return Shown(
            plain={"findings": [{"id": each.id, "title": each.title} for each in known.values()]},
            parts=[f"{each.id:<{width}}  {each.title}" for each in known.values()],
        )
    found = known.get(finding)
    if found is None:
        raise UsageError(f"there is no finding {shown(finding)}", nearest(finding, list(known)))
    text = f"{found.title} ({found.id})\n\n{found.wrong}\n\nWhat to do: {found.check}"
    plain = attrs.asdict(found, filter=attrs.filters.exclude("severity", "cure"))
    return Shown(plain=plain, parts=[text])


def version() -> Shown:
    packages = ("attrs", "cattrs", "click", "matplotlib", "numpy", "rich")
    plain = {
        "deadbeat": version_of("deadbeat"),
        "python": platform.python_version(),
        "packages": {name: version_of(name) for name in packages if find_spec(name)},
    }
    return Shown(plain=plain, parts=[f"deadbeat {version_of('deadbeat')}"])


def study_presets() -> Shown:
    """Name, size and title of every preset of ``sched study``."""
    known = [(preset, preset.build().total) for preset in presets().values()]
    plain = [
        {
            "name": preset.name,
            "sets": total,
            "title": preset.title,
            "about": preset.about,
            "conclusions": [item.id for item in preset.conclusions],
        }
        for preset, total in known
    ]
    columns = ["preset", "sets", "title", "conclusions"]
    rows = [[p.name, str(total), p.title, str(len(p.conclusions))] for p, total in known]
    return Shown(plain=plain, parts=[table(columns, rows, numeric=["sets", "conclusions"])])
