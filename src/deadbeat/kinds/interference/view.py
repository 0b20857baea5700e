"""A load test's folder -> its summary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deadbeat.host.kernel import release_of
from deadbeat.kinds.interference.plan import plan
from deadbeat.kinds.interference.remedy import RemedyChange
from deadbeat.kinds.interference.scene import SceneMachine
from deadbeat.kinds.interference.spec import read_spec, spec_dict
from deadbeat.kinds.interference.summarise import summarise_load
from deadbeat.model.load import LoadRun
from deadbeat.model.load_summary import LoadSummary
from deadbeat.model.platform import Platform
from deadbeat.store.load import LoadStore


def machine_of(platform: Platform) -> SceneMachine:
    """What causes are inferred from; what was not recorded is not known."""
    details = platform.details
    servers = details.get("fair_server_runtime_ns")
    read = [n for n in servers.values() if isinstance(n, int)] if isinstance(servers, dict) else []
    topology = details.get("topology")
    siblings = {
        cpu: len(each["siblings"])
        for cpu, each in (topology.items() if isinstance(topology, dict) else ())
        if isinstance(each, dict) and isinstance(each.get("siblings"), list)
    }
    virtual = details.get("virtual")
    return SceneMachine(
        kernel=release_of(platform.kernel),
        fair_server=max(read) / 1e9 if read else None,
        siblings=siblings,
        scaling=None if platform.governor == "unknown" else platform.governor != "none",
        virtual=virtual if isinstance(virtual, bool) else None,
    )


def summary_of(store: LoadStore, runs: Iterable[LoadRun] | None = None) -> LoadSummary:
    """Everything there is of it so far.

    Args:
        runs: All that are stored, where they are read already.

    Raises:
        DataError: A file of it is damaged.
    """
    spec = read_spec(store.spec)
    assert spec.round is not None
    assert spec.deadline is not None
    changes = {name: RemedyChange(words=words) for name, words in store.changes.items()}
    return summarise_load(
        store.runs() if runs is None else runs,
        name=store.path.resolve().name,
        spec=spec_dict(spec),
        machine=machine_of(store.platform),
        platform=_facts(store.platform),
        deadline_ns=spec.deadline,
        period_ns=spec.period,
        round_ns=spec.additions * store.unit_ps // 1_000_000 if spec.additions else spec.round,
        changes=store.changes,
        impossible=store.impossible,
        planned=len(plan(spec, changes)),
    )


def _facts(platform: Platform) -> dict[str, str]:
    details: dict[str, Any] = platform.details
    return {
        "machine": platform.name,
        "processor": platform.soc,
        "kernel": platform.kernel,
        "preemption model": platform.preemption,
        "governor": platform.governor,
        "CPUs": ", ".join(map(str, platform.cpus)),
        "virtual": _yes_no(details.get("virtual")),
    }


def _yes_no(value: object) -> str:
    return {"True": "yes", "False": "no"}.get(str(value), "unknown")
