"""Task sets of a campaign as a C tree of their own, and the files that its programs leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from attrs import frozen

from deadbeat.base.model import jobs as j
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.specification import names_in_file
from deadbeat.base.model.words import Json, nearest, shown
from deadbeat.base.store.files import followed, read_toml
from deadbeat.tasksets.catalog import Catalog, lacking, load_catalog
from deadbeat.tasksets.contention.place import find_campaign
from deadbeat.tasksets.contention.plan import plan, resolve, synthesised
from deadbeat.tasksets.contention.spec import CampaignSpec, read_spec, specify
from deadbeat.tasksets.emit import emit_batch, task_set_id
from deadbeat.tasksets.emit.tree import PORTS, tree_files, write_tree
from deadbeat.tasksets.executors.metrics import job_columns
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.model.tasks import TaskSet
from deadbeat.tasksets.store.campaign import CampaignStore
from deadbeat.tasksets.store.jobfile import read_job_table
from deadbeat.tasksets.store.serial import given_calibration
from deadbeat.tasksets.synthesis import Synthesiser

_SETTINGS = """/* How the sets are measured: a campaign's settings. */
#include "deadbeat/core.h"

const struct db_core_options db_core_defaults = {{
    .policy = {policy},
    .seconds_ns = INT64_C({seconds_ns}),
    .jobs = {jobs},
    .slot_periods = {slot_periods},
    .warmup = {warmup},
    .solo = {solo},
    .late = {late},
    .period_ppm = 1000000,
}};
"""


@frozen(kw_only=True)
class _Source:
    """Where task sets come from: a folder of results, or a file of parameters."""

    name: str
    spec: CampaignSpec
    calibration: Calibration
    keys: tuple[RunKey, ...]
    task_set: Callable[[RunKey], TaskSet]


def emit_tree(
    campaign: str,
    out: Path,
    *,
    runs: Path,
    keys: Sequence[str],
    port: str,
    calibration: Path | None,
) -> tuple[list[str], list[tuple[str, str]]]:
    """Writes task sets of ``campaign`` (a result, or a TOML file of parameters) below ``out``;
    which files, and key and identifier of each set. ``keys``: keys of sets, as ``deadbeat show``
    names runs; none: the first one. ``calibration``: costs for a file of parameters; a stored
    campaign has its own. Raises UsageError: no such campaign, set or calibration; ``out`` is taken;
    a fragment does not run on ``port``."""
    catalog = load_catalog()
    planned = campaign.endswith(".toml")
    if calibration is not None and not planned:
        raise UsageError(f"--calibration: {campaign} has its own", "drop --calibration")
    costs = given_calibration(calibration)
    source = _planned(Path(campaign), costs, catalog) if planned else _stored(campaign, runs)
    chosen = [key_in(text, source.keys, source.name, "--task-set") for text in keys] or list(
        source.keys[:1]
    )
    sets = [source.task_set(key) for key in chosen]
    names = sorted({name for each in sets for name in _fragments(each)})
    # Raises UsageError where the port cannot run one of them, naming all.
    found = [catalog.fragment(name) for name in names]
    refused = [f"{each.name} {why}" for each in found if (why := lacking(each, PORTS[port]))]
    if refused:
        text = f"--port {port} cannot run this set: {'; '.join(refused)}"
        raise UsageError(text, "another --set, or draw the sets with --pool portable")
    run = source.spec.run.settings
    settings = _SETTINGS.format(
        policy="DB_POLICY_FIFO" if run.policy == "fifo" else "DB_POLICY_OTHER",
        seconds_ns=round(run.seconds * 1e9),
        jobs=run.jobs,
        slot_periods=run.slot_periods,
        warmup=run.warmup_jobs,
        solo=str(run.solo).lower(),
        late=str(run.overrun == "late").lower(),
    )
    platform = source.calibration.platform
    rows = ["| set | key | cores | tasks | fragments | identifier |", "|---|---|---|---|---|---|"]
    for number, (key, each) in enumerate(zip(chosen, sets, strict=True)):
        used = ", ".join(sorted(_fragments(each)))
        name = task_set_id(each)[:12]
        count = len(each.tasks)
        rows.append(f"| {number} | {key.text} | {each.cores} | {count} | {used} | {name} |")
    facts = {
        "sets": "a task set" if len(sets) == 1 else f"{len(sets)} task sets",
        "priorities": str(max(len({task.priority for task in each.tasks}) for each in sets)),
        "calibrated": f"{platform.name} ({platform.kind})",
        "table": "\n".join(rows),
    }
    files = tree_files(
        port,
        tables=emit_batch(sets),
        settings=settings,
        fragments=names,
        facts=facts,
    )
    write_tree(out, files)
    ids = [task_set_id(each) for each in sets]
    return list(files), [(key.text, name) for key, name in zip(chosen, ids, strict=True)]


def sets_in(store: CampaignStore, called: str) -> tuple[Calibration, tuple[RunKey, ...]]:
    """Costs and keys of the task sets in ``store``. Raises UsageError: there are none."""
    calibration, keys = store.load_calibration(), sorted(store.programs.keys())
    if calibration is None or not keys:
        raise UsageError(f"{called} holds no task sets yet", "measure it first")
    return calibration, tuple(keys)


def _stored(campaign: str, runs: Path) -> _Source:
    store = CampaignStore.open(find_campaign(runs, campaign))
    calibration, keys = sets_in(store, campaign)
    if calibration.platform.made_up:
        text = f"{campaign} was simulated: the fragments of its sets are made up"
        raise UsageError(text, "name a campaign that was measured, or a TOML file of parameters")
    return _Source(
        name=store.path.resolve().name,
        spec=read_spec(store.spec),
        calibration=calibration,
        keys=keys,
        task_set=store.programs.task_set,
    )


def _planned(file: Path, calibration: Calibration | None, catalog: Catalog) -> _Source:
    if calibration is None:
        text = f"{file} says what to draw, but not what fragments cost"
        raise UsageError(text, "add --calibration FILE of deadbeat contention --calibrate")
    values: Mapping[str, Json] = read_toml(file)
    names = names_in_file(file, values)
    if "stress" in values:
        values = {"mode": "stress", **values}
    spec = resolve(specify(values, names=names), calibration.platform, names=names).spec
    synthesiser = Synthesiser(catalog, calibration)
    return _Source(
        name=file.name,
        spec=spec,
        calibration=calibration,
        keys=plan(spec),
        task_set=partial(synthesised, spec, synthesiser),
    )


def key_in(text: str, keys: Sequence[RunKey], name: str, option: str) -> RunKey:
    """That of ``keys``, the sets of ``name``, which ``text`` says. Raises UsageError: none."""
    known = {key.text: key for key in keys}
    if text not in known:
        near = nearest(text, known)
        hint = near if near.startswith("did") else f"such as {', '.join(list(known)[:3])}"
        raise UsageError(f"{option}: {name} has no task set {shown(text)}", hint)
    return known[text]


def _fragments(task_set: TaskSet) -> set[str]:
    used = {use.entry.fragment for task in task_set.tasks for use in task.uses}
    return used | {each.fragment for each in task_set.resources}


SUFFIX = ".jobs"
#: Of a task, from its counted jobs beside the others: ``slowdown`` is against itself alone; what no
#: job tells is None.
OF_TASK = (
    *("task", "core", "cpu", "priority", "jobs", "missed"),
    *("slowdown", "delay_ratio", "longest_response_us"),
)


def read_run(path: Path) -> dict[str, Json]:
    """The run in ``path``; its slowdown is the mean over its tasks, ``measured_s`` the time of its
    slots, s. Raises UsageError: there is no such file; DataError: it is damaged."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}", "name a file that a task set's program wrote")
    table = read_job_table(followed(path))
    columns, flags = job_columns(table), int(table.header["flags"])
    every = range(len(table.tasks))
    tasks = []
    for n in every:
        row = table.tasks[n]
        mine = columns.counted & (columns.task == n)
        together, alone = mine & ~columns.solo, mine & columns.solo
        spans, solo = (columns.span_ns[each & columns.finished] for each in (together, alone))
        responses = columns.response_ns[together & columns.finished]
        task = (
            n,
            *(int(row[name]) for name in ("core", "cpu", "priority")),
            int(together.sum()),
            int((columns.missed & together).sum()),
            float(spans.mean() / solo.mean()) if len(spans) and len(solo) else None,
            float(spans.mean() / float(row["wcet_ns"])) if len(spans) else None,
            float(responses.max() / 1000) if len(responses) else None,
        )
        tasks.append(dict(zip(OF_TASK, task, strict=True)))
    known = [value for each in tasks if (value := each["slowdown"]) is not None]
    return {
        "file": str(path),
        "set_id": table.set_id,
        "realtime": bool(flags & j.RUN_REALTIME),
        "one_process": bool(flags & j.RUN_ONE_PROCESS),
        "measured_s": int(table.header["measured_ns"]) / 1e9,
        "slowdown": float(np.mean(known)) if known else None,
        "tasks": tasks,
    }
