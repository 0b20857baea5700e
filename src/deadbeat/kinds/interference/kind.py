"""What commands do with the folder of a load test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deadbeat.experiment.folders import choose_folder, state_of_folder
from deadbeat.kinds.base import ExperimentKind, Shown, Stored
from deadbeat.kinds.interference.document import COLUMNS, load_document, summary_dict, write_load
from deadbeat.kinds.interference.plan import planned_keys
from deadbeat.kinds.interference.spec import LoadSpec, read_spec
from deadbeat.kinds.interference.summarise import summary_of
from deadbeat.model.load import LoadKey, LoadSummary
from deadbeat.model.platform import Platform
from deadbeat.model.specification import plain_of
from deadbeat.store.load import LoadStore
from deadbeat.store.place import LOAD_TEST, REPORT_FILE, FolderState, Place


def state_of(path: Path) -> FolderState:
    """State of the load test in ``path``; damage is a state, not an error. A run that failed is
    measured again with the same command, so none counts as failed for good."""

    def planned(store: LoadStore) -> tuple[Sequence[LoadKey], str]:
        return planned_keys(store), read_spec(store.spec).form

    return state_of_folder(path, LoadStore.open, planned)


def lacking(store: LoadStore, *, retry_invalid: bool = False) -> int:
    """Runs of a load test that have no result yet; or an invalid one, where that is retried."""
    return len(store.lacking(planned_keys(store), retry_invalid=retry_invalid))


def choose(
    runs: Path,
    spec: LoadSpec,
    platform: Platform,
    changes: Mapping[str, str],
    *,
    fresh: bool = False,
    retry: bool = False,
) -> Place:
    """Where ``spec`` (resolved) is to be run on ``platform`` with these remedies; as
    `choose_place`."""

    def differs(store: LoadStore) -> Iterator[str]:
        gone, new = sorted({*store.changes} - {*changes}), sorted({*changes} - {*store.changes})
        words = [f"{', '.join(gone)} no longer"] if gone else []
        words += [f"{', '.join(new)} now"] if new else []
        if words:
            yield f"was begun where other remedies were possible: {'; '.join(words)}"

    return choose_folder(
        runs,
        spec.name,
        LOAD_TEST,
        open_store=LoadStore.open,
        state_of=state_of,
        asked=plain_of(spec),
        spec_of=lambda store: plain_of(read_spec(store.spec)),
        platform=platform,
        differs=differs,
        fresh=fresh,
        retry=retry,
    )


def write(
    store: LoadStore, *, figures: bool, failed: Mapping[str, str] | None = None
) -> tuple[LoadSummary, Shown]:
    """Everything derived, and where it is.

    Args:
        failed: Runs of this invocation without a result, and why.
    """
    summary, page = write_load(store, summary_of(store), figures=figures)
    return summary, Shown(
        plain=_plain(summary, store.path, failed or {}),
        document=load_document(summary),
        lines=(f"report: {page}",),
    )


def _plain(summary: LoadSummary, path: Path, failed: Mapping[str, str]) -> dict[str, Any]:
    more = {"path": str(path), "report": str(path / REPORT_FILE), "failed": dict(failed)}
    return summary_dict(summary, **more)


def _show(path: Path) -> Shown:
    summary, state = summary_of(LoadStore.open(path)), state_of(path)
    return Shown(
        plain=_plain(summary, path, {}),
        document=load_document(summary),
        lines=(f"{state.state}: {state.done} of {state.planned} runs",),
    )


def _report(path: Path, figures: bool) -> Shown:
    return write(LoadStore.open(path), figures=figures)[1]


def _open(path: Path) -> Stored[LoadStore, LoadSummary]:
    store = LoadStore.open(path)
    summary = summary_of(store)
    columns = [column for column in COLUMNS if column.raw]
    rows = [{column.key: column.of(cell) for column in columns} for cell in summary.cells]
    return Stored(store=store, summary=summary, rows=rows)


KIND = ExperimentKind(
    name="load", folder=LOAD_TEST, state_of=state_of, show=_show, report=_report, open=_open
)
