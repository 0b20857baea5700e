"""``deadbeat lab run --campaign``: task sets on each kernel, with the programs of the first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deadbeat.cli._measure import carried_out, report, written_in
from deadbeat.cli._options import words_typed
from deadbeat.cli._output import say
from deadbeat.kinds.base import Begin
from deadbeat.kinds.contention.begin import finished
from deadbeat.kinds.contention.place import state_of
from deadbeat.kinds.registry import kind_of
from deadbeat.model.errors import UsageError
from deadbeat.model.specification import Layer
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.files import read_toml
from deadbeat.store.place import CAMPAIGN, family


def measured_campaigns(
    file: Path, sides: Sequence[tuple[str, str]], *, runs: Path, fresh: bool, figures: bool
) -> list[Path]:
    """Folders of the campaigns, all of the identical programs.

    Args:
        sides: The name of each, and what runs it (``--executor``).

    Raises:
        UsageError: The file is of no campaign.
        Told: It was interrupted.
    """
    values = read_toml(file)
    mode = str(values.get("mode") or ("stress" if "stress" in values else "profile"))
    if mode not in ("profile", "stress"):
        raise UsageError(f"{file} is of deadbeat {mode}", "the lab runs profile and stress")
    kind, paths = kind_of("campaign"), list[Path]()
    for name, executor in sides:
        say(f"{name}: {mode} on {executor.partition(':')[2]}")
        first = Layer() if paths else written_in(file, mode)
        begin = Begin(
            runs=runs,
            written=first.values,
            typed={"name": name, "mode": mode},
            names={**first.names, "name": "--name", "mode": "--campaign"},
            fresh=fresh,
            given={"executor": executor, "programs_from": str(paths[0]) if paths else None},
            words=words_typed("lab run"),
            say=say,
        )
        with begin.held:
            done = None if fresh else _finished(begin, paths[0] if paths else None)
            if done is not None:
                paths.append(done)
                continue
            begun, _ = carried_out(kind, begin)
            report(kind, begun, figures)
            paths.append(begun.experiment.store.path)
    return paths


def _finished(asked: Begin, first: Path | None) -> Path | None:
    """A campaign that needs nothing more; ``first``: whose programs it runs."""
    if first is None:
        return finished(asked)
    name = str(asked.typed["name"])
    for _, path in sorted(family(asked.runs, name).items(), reverse=True):
        if CAMPAIGN.holds(path) and state_of(path).state == "finished":
            origin = CampaignStore.open(path).load_origin()
            if origin is not None and origin.name == first.resolve().name:
                return path
    return None
