"""What commands do with the folder of a search for the breakdown utilisation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deadbeat.kinds.base import ExperimentKind, Shown, Stored
from deadbeat.kinds.breakdown.document import breakdown_document, summary_dict, write_breakdown
from deadbeat.kinds.breakdown.results import Breakdown, row, summarise
from deadbeat.kinds.breakdown.search import lacking, planned
from deadbeat.kinds.breakdown.spec import BreakdownSpec, from_plain, to_plain
from deadbeat.model.errors import DeadbeatError
from deadbeat.store.campaign import BreakdownStore, CampaignStore
from deadbeat.store.place import (
    BREAKDOWN,
    REPORT_FILE,
    FolderState,
    Place,
    choose_place,
    other_parameters,
    stage,
)


def state_of(path: Path) -> FolderState:
    """State of the search in ``path``; damage is a state, not an error."""
    try:
        store = BreakdownStore.open(path)
        spec = from_plain(store.spec)
        left, failed, harm = lacking(spec, store), store.failed(), store.damaged_run()
    except DeadbeatError as error:
        return FolderState(name=path.name, path=path, state="damaged", problem=str(error))
    return FolderState(
        name=path.name,
        path=path,
        state="damaged" if harm else stage(path, complete=not left),
        preset=spec.preset,
        planned=planned(spec),
        done=planned(spec) - left,
        failed=len(failed),
        problem=harm.message if harm else "",
        cure=harm.hint if harm else "",
    )


def choose(runs: Path, spec: BreakdownSpec, *, fresh: bool) -> Place:
    """Where ``spec`` (resolved) is to be run; as `choose_place`."""

    def differs(path: Path) -> Iterator[str]:
        kept = to_plain(from_plain(BreakdownStore.open(path).spec))
        yield from other_parameters(kept, to_plain(spec))

    name = spec.name
    return choose_place(runs, name, BREAKDOWN, state_of=state_of, differs=differs, fresh=fresh)


def write(store: CampaignStore, *, figures: bool) -> tuple[Breakdown, Shown]:
    """Everything derived, and where it is."""
    found, page = write_breakdown(store, draw=figures)
    shown = Shown(
        plain=_plain(found, store.path),
        document=breakdown_document(found),
        lines=(f"report: {page}",),
    )
    return found, shown


def _plain(found: Breakdown, path: Path) -> dict[str, Any]:
    return {**summary_dict(found), "path": str(path), "report": str(path / REPORT_FILE)}


def _show(path: Path) -> Shown:
    found = summarise(BreakdownStore.open(path))
    return Shown(plain=_plain(found, path), document=breakdown_document(found))


def _report(path: Path, figures: bool) -> Shown:
    return write(BreakdownStore.open(path), figures=figures)[1]


def _open(path: Path) -> Stored[BreakdownStore, Breakdown]:
    store = BreakdownStore.open(path)
    found = summarise(store)
    return Stored(store=store, summary=found, rows=[row(cell) for cell in found.cells])


KIND = ExperimentKind(
    name="breakdown", folder=BREAKDOWN, state_of=state_of, show=_show, report=_report, open=_open
)
