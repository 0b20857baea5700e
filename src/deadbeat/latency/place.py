"""Which folder a latency matrix lives in: resumed while unfinished, a new number once finished."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from deadbeat.latency.plan import keys
from deadbeat.latency.spec import LatencySpec, read_spec, spec_dict
from deadbeat.model.errors import DataError, DeadbeatError, UsageError
from deadbeat.model.platform import Platform
from deadbeat.model.specification import differences
from deadbeat.readiness.standing import differently_tuned
from deadbeat.store.family import entries, family, numbered
from deadbeat.store.latency import LATENCY_FILE, LatencyStore

#: Written last: a matrix with it is finished.
REPORT_FILE = "report.html"
_CURE = "repeat its command to continue it, or choose --name NAME, or --fresh"


@frozen(kw_only=True)
class MatrixState:
    """A matrix as a list shows it.

    Attributes:
        state: ``finished``, ``measured`` (all runs, no report), ``unfinished`` or ``damaged``.
        planned, done, failed: Runs; 0 where damaged.
        invalid: Runs of those done that count nowhere.
        problem: What is damaged.
    """

    name: str
    path: Path
    state: str
    preset: str = ""
    planned: int = 0
    done: int = 0
    failed: int = 0
    invalid: int = 0
    problem: str = ""


@frozen(kw_only=True)
class Place:
    """The folder to work in; ``resumed``: it holds runs of this matrix already, or may."""

    path: Path
    resumed: bool


def is_matrix(path: Path) -> bool:
    """Whether ``path`` is the folder of a latency matrix."""
    return (path / LATENCY_FILE).is_file()


def matrices(runs: Path) -> list[Path]:
    """Folders of matrices under ``runs``, the one begun first first."""
    found = [path for path in entries(runs) if is_matrix(path)]
    return sorted(found, key=lambda path: ((path / LATENCY_FILE).stat().st_mtime_ns, path.name))


def find_matrix(runs: Path, text: str) -> Path | None:
    """The folder of the matrix that ``text`` names, a path or a name under ``runs``; None: it names
    none."""
    for path in (runs / text, Path(text)):
        if is_matrix(path):
            return path.resolve() if path.is_symlink() else path
    return None


def state_of(path: Path) -> MatrixState:
    """State of the matrix in ``path``; damage is a state, not an error."""
    try:
        store = LatencyStore.open(path)
        spec = read_spec(store.spec)
        done, failed, invalid = store.committed(), store.failed(), store.invalid()
    except DeadbeatError as error:
        return MatrixState(name=path.name, path=path, state="damaged", problem=str(error))
    planned = keys(spec)
    complete = all(key in done or key in failed for key in planned)
    ended = "finished" if (path / REPORT_FILE).is_file() else "measured"
    return MatrixState(
        name=path.name,
        path=path,
        state=ended if complete else "unfinished",
        preset=spec.preset,
        planned=len(planned),
        done=len(done),
        failed=len(failed),
        invalid=len(invalid),
    )


def choose(
    runs: Path,
    spec: LatencySpec,
    platform: Platform,
    *,
    fresh: bool = False,
    retry_failed: bool = False,
) -> Place:
    """Where ``spec`` (resolved) is to be measured on ``platform``.

    Args:
        fresh: Begin anew even where one could be continued.
        retry_failed: Take the last even when it is finished.

    Raises:
        UsageError: The one to continue was begun with other parameters, or on another machine or
            kernel, or with other settings of it.
        DataError: It is damaged.
    """
    known = family(runs, spec.name)
    last = max(known, default=0)
    begin = Place(path=runs / numbered(spec.name, last + 1), resumed=False)
    if not last:
        if retry_failed:
            hint = "deadbeat runs lists what there is"
            raise UsageError(f"there is no matrix {spec.name} in {runs} to retry", hint)
        return begin
    if fresh and not retry_failed:
        return begin
    path = known[last]
    if not is_matrix(path):
        return begin
    state = state_of(path)
    if state.state == "damaged":
        message = f"{path} cannot be continued: {state.problem}"
        raise DataError(message, "begin anew with --fresh")
    if state.state == "finished" and not retry_failed:
        return begin
    store = LatencyStore.open(path)
    changed = differences(spec_dict(read_spec(store.spec)), spec_dict(spec))
    if changed:
        raise UsageError(
            f"{path} is {state.state} and was begun with other parameters: {', '.join(changed)}",
            _CURE,
        )
    there = store.platform
    if (there.fingerprint, there.kernel) != (platform.fingerprint, platform.kernel):
        where = f"{there.name}, {there.kernel}"
        raise UsageError(f"{path} is {state.state} and was begun elsewhere: {where}", _CURE)
    tuning = differently_tuned(there, platform)
    if tuning:
        what = f"with other settings of the machine: {tuning}"
        raise UsageError(f"{path} is {state.state} and was begun {what}", _CURE)
    return Place(path=path, resumed=True)
