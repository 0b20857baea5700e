"""Which folder a load test lives in: continued while it lacks runs, else the next of its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from deadbeat.loadtest.plan import plan
from deadbeat.loadtest.remedy import Change
from deadbeat.loadtest.spec import LoadSpec, read_spec, spec_dict
from deadbeat.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.model.platform import Platform
from deadbeat.model.specification import differences
from deadbeat.readiness.standing import differently_tuned
from deadbeat.store.family import entries, family, numbered
from deadbeat.store.load import LOAD_FILE, LoadStore

#: Written last: a load test with it is finished.
REPORT_FILE = "report.html"


@frozen(kw_only=True)
class Place:
    """The folder to work in; ``store``: what is to be continued there."""

    path: Path
    store: LoadStore | None


@frozen(kw_only=True)
class LoadState:
    """A load test as a list shows it.

    Attributes:
        state: ``finished``, ``measured`` (all runs, no report), ``unfinished`` or ``damaged``.
        preset: The form of its rounds.
        planned, done, failed: Runs; 0 where damaged. One that failed is measured again with the
            same command, so none counts as failed for good.
        problem: What is damaged.
    """

    name: str
    path: Path
    state: str
    preset: str = ""
    planned: int = 0
    done: int = 0
    failed: int = 0
    problem: str = ""


def is_load(path: Path) -> bool:
    """Whether ``path`` is the folder of a load test."""
    return (path / LOAD_FILE).is_file()


def load_tests(runs: Path) -> list[Path]:
    """Folders of load tests under ``runs``, the one begun first first."""
    found = [path for path in entries(runs) if is_load(path)]
    return sorted(found, key=lambda path: ((path / LOAD_FILE).stat().st_mtime_ns, path.name))


def find_load(runs: Path, text: str) -> Path | None:
    """The folder of the load test that ``text`` names, a path or a name under ``runs``; None: it
    names none."""
    for path in (runs / text, Path(text)):
        if is_load(path):
            return path.resolve() if path.is_symlink() else path
    return None


def state_of(path: Path) -> LoadState:
    """State of the load test in ``path``; damage is a state, not an error."""
    try:
        store = LoadStore.open(path)
        missing, spec = lacking(store), read_spec(store.spec)
        done = len(store.committed())
    except DeadbeatError as error:
        return LoadState(name=path.name, path=path, state="damaged", problem=str(error))
    ended = "finished" if (path / REPORT_FILE).is_file() else "measured"
    return LoadState(
        name=path.name,
        path=path,
        state="unfinished" if missing else ended,
        preset=spec.form,
        planned=done + missing,
        done=done,
    )


def lacking(store: LoadStore) -> int:
    """Runs of a load test that have no result yet."""
    spec = read_spec(store.spec)
    changes = {name: Change(words=words) for name, words in store.changes.items()}
    return len(set(plan(spec, changes)) - store.committed())


def choose(
    runs: Path,
    spec: LoadSpec,
    platform: Platform,
    changes: Mapping[str, str],
    *,
    fresh: bool = False,
) -> Place:
    """Where ``spec`` (resolved) is to be run on a platform with these remedies.

    Raises:
        UsageError: The last of its name is unfinished, and was begun with other parameters, on
            another machine, with other settings of it, or where other remedies were possible.
        DataError: It is damaged.
    """
    known = family(runs, spec.name)
    last = max(known, default=0)
    begin = Place(path=runs / numbered(spec.name, last + 1), store=None)
    if fresh or not last or not is_load(known[last]):
        return begin
    state = state_of(known[last])
    if state.state == "damaged":
        message = f"{known[last]} cannot be continued: {state.problem}"
        raise DataError(message, "begin anew with --fresh")
    if state.state == "finished":
        return begin
    store = LoadStore.open(known[last])
    hint = "repeat its command to continue it, or choose --name NAME, or --fresh"
    changed = differences(store.spec, spec_dict(spec))
    if changed:
        raise UsageError(
            f"{store.path} is unfinished and was begun with other parameters: {', '.join(changed)}",
            hint,
        )
    for what in _elsewhere(store, platform, changes):
        raise UsageError(f"{store.path} is unfinished and was begun {what}", hint)
    return Place(path=known[last], store=store)


def _elsewhere(store: LoadStore, platform: Platform, changes: Mapping[str, str]) -> Iterator[str]:
    """How the machine differs from the one a load test was begun on."""
    there = store.platform
    if (there.name, there.machine, there.kernel) != (
        platform.name,
        platform.machine,
        platform.kernel,
    ):
        yield f"on another machine or kernel: {there.name}, {there.kernel}"
    tuning = differently_tuned(there, platform)
    if tuning:
        yield f"with other settings of the machine: {tuning}"
    if there.fingerprint != platform.fingerprint:
        yield "with other hardware, frequency policy or toolchain"
    gone, new = sorted({*store.changes} - {*changes}), sorted({*changes} - {*store.changes})
    words = [f"{', '.join(gone)} no longer"] if gone else []
    words += [f"{', '.join(new)} now"] if new else []
    if words:
        yield f"where other remedies were possible: {'; '.join(words)}"
