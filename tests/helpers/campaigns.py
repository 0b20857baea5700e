"""Campaigns on the fake executor: small ones, and ways to break them off."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from deadbeat.base.experiment.base import Event, Outcome, RunDone, RunFailed
from deadbeat.machine.targets.run import run as carry_out
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.contention.plan import resolve
from deadbeat.tasksets.contention.runner import CampaignExperiment
from deadbeat.tasksets.contention.spec import CampaignSpec, spec_dict, specify
from deadbeat.tasksets.contention.summarise import summarise
from deadbeat.tasksets.executors.base import RunOutcome, RunRequest, RunSettings
from deadbeat.tasksets.executors.simulated import FakeExecutor, FakeSession, Faults
from deadbeat.tasksets.model.examples import example_fragments
from deadbeat.tasksets.model.results import RunKey
from deadbeat.tasksets.store.campaign import CampaignStore
from helpers.rows import rows_of, sets_of

#: 1 and 2 cores, rho 0 and 1, alpha 0 and 1, one replica: eight runs in four blocks.
TINY: dict[str, Any] = {
    "name": "tiny",
    "preset": "quick",
    "grid": {"sync_share": [0, 1], "contended_ratio": [0, 1], "replicas": 1, "mix": "random"},
    "run": {"seconds": 0.1},
}
#: Random task sets: M = 2 and a random M, each with both k, at two deadline factors.
TINY_STRESS: dict[str, Any] = {
    "mode": "stress",
    "name": "tiny",
    "preset": "quick",
    "stress": {"cores": "2,random", "sets": 2, "critical_cores": "0,1", "per_task": True},
    "tasks": {"deadline_factor": "2,10"},
    "run": {"seconds": 0.1},
}
#: The first for a command line.
TINY_OPTIONS = (
    *("contention", "--quick", "--simulated", "--no-figures", "--name", "tiny", "--sets", "1"),
    *("--sync-share", "0,1", "--contended-ratio", "0,1", "--duration", "0.1", "--set=mix=random"),
)


def example_catalog() -> Catalog:
    return Catalog(fragments={fragment.name: fragment for fragment in example_fragments()})


def tiny_spec(*layers: Mapping[str, Any], cores: int = 2) -> CampaignSpec:
    return resolve(specify(TINY, *layers), FakeExecutor(cores=cores).describe()).spec


def tiny_stress(*layers: Mapping[str, Any], cores: int = 2) -> CampaignSpec:
    return resolve(specify(TINY_STRESS, *layers), FakeExecutor(cores=cores).describe()).spec


def begin(folder: Path, spec: CampaignSpec) -> CampaignStore:
    return CampaignStore.create(folder / spec.name, spec_dict(spec), spec.seed)


def run(
    spec: CampaignSpec,
    store: CampaignStore,
    executor: Any = None,
    on_event: Callable[[Event], None] = lambda event: None,
    **options: Any,
) -> Outcome[RunKey]:
    """One session."""
    when = {name: options.pop(name) for name in ("budget_s", "clock") if name in options}
    machine = executor or FakeExecutor()
    experiment = CampaignExperiment(spec, machine, store, example_catalog(), **options)
    return carry_out(experiment, on_event=on_event, **when)


def essence(store: CampaignStore) -> dict[str, Any]:
    """Everything of a campaign that must not depend on how often it was broken off."""
    summary = summarise(store)
    return {
        "rows": rows_of(summary),
        "sets": sets_of(summary),
        "distributions": summary.distributions,
        "failed": sorted(key.text for key in store.failed()),
        "jobs": {path.name: path.read_bytes() for path in sorted((store.path / "jobs").iterdir())},
        "programs": {path.name: path.read_bytes() for path in (store.path / "programs").iterdir()},
    }


class Crash(BaseException):
    """Ends a session as abruptly as a process can end without ending the test."""


@define
class Fuse:
    """Burns down by one at each use; raises Crash at the end; None never ends."""

    left: int | None

    def burn(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Crash
            self.left -= 1


@frozen
class CrashingExecutor:
    """A fake executor whose sessions crash before a run, when the fuse says so."""

    inner: FakeExecutor
    fuse: Fuse

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def open(
        self, requests: Sequence[RunRequest], settings: RunSettings, *, program: Path | None = None
    ) -> CrashingSession:
        return CrashingSession(self.inner.open(requests, settings, program=program), self.fuse)


@frozen
class CrashingSession:
    inner: FakeSession
    fuse: Fuse

    @property
    def source(self) -> str:
        return self.inner.source

    @property
    def program(self) -> None:
        return None

    def rest(self) -> None:
        self.inner.rest()

    def __enter__(self) -> CrashingSession:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, key: RunKey) -> RunOutcome:
        self.fuse.burn()
        return self.inner.run(key)


@define
class Log:
    """Keeps the events; crashes at one that follows a write to the store when the fuse says so."""

    fuse: Fuse = field(factory=lambda: Fuse(None))
    events: list[Event] = field(factory=list)

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, RunDone | RunFailed):
            self.fuse.burn()

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def broken_off(
    folder: Path, cuts: Sequence[tuple[str, int]], spec: CampaignSpec, faults: Faults
) -> CampaignStore:
    """Sessions that crash at the given places, then one that does not."""
    path, executor = begin(folder, spec).path, FakeExecutor(faults=faults)
    for place, after in cuts:
        before_run = Fuse(after if place == "before a run" else None)
        after_write = Fuse(after if place == "after a write" else None)
        crashing = CrashingExecutor(executor, before_run)
        with suppress(Crash):
            run(spec, CampaignStore.open(path), executor=crashing, on_event=Log(after_write))
    store = CampaignStore.open(path)
    run(spec, store, executor=executor)
    return store


def deadbeat(*arguments: str, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    environment = {key: text for key, text in os.environ.items() if key != "DEADBEAT_RUNS"}
    return subprocess.run(
        [sys.executable, "-m", "deadbeat", *arguments],
        cwd=cwd,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


def started(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """The command line in a process beside this one."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([sys.executable, "-m", "deadbeat", *arguments], **given)
