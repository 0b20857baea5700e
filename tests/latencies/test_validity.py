"""Truth: measurement.md "Host state": invalid is only what did not measure what it claims.

Stored runs are judged by the same rule, whatever the version that wrote them called invalid.
"""

from pathlib import Path
from typing import Any

import attrs
import pytest
from helpers.answers import Capture, answer_of
from helpers.latencies import load_of, made_up_runs, seen_of
from helpers.loads import back_to_back, run_of

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.platform import example_platform
from deadbeat.cli.main import main
from deadbeat.latencies.latency.model import IDLE, LatencyRun, LoadPoint
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.latency.summarise import summarise_latency
from deadbeat.latencies.latency.validity import beside_latency
from deadbeat.latencies.load.model import LoadRun
from deadbeat.latencies.load.validity import beside_load, judged_load

FULL = LoadPoint("cpu", 100)
#: Asked for 100 %, all CPUs busy.
BUSY = {"asked": 100, "judged": True, "achieved": {"0": 1.0, "1": 1.0}, "died": ""}


def old(name: str) -> Finding:
    """As older versions stored it."""
    return Finding(id=name, severity="invalid", message="as it was told then")


def typed(changes: dict[str, Any]) -> dict[str, Any]:
    return changes | {
        "circumstances": seen_of(changes["circumstances"]),
        "load": load_of(changes["load"]),
    }


def made(point: LoadPoint = FULL, **changes: Any) -> LatencyRun:
    (run,) = made_up_runs(loads=[point], repeats=1)
    return attrs.evolve(
        run, **typed({"circumstances": {}, "load": BUSY, "problems": (), **changes})
    )


def stored(folder: Path, run: LatencyRun) -> LatencyStore:
    store = LatencyStore.create(folder / "m", {"name": "m"}, example_platform())
    store.keep(run)
    return store


IDLE_BUSY = {"asked": 0, "judged": True, "achieved": {"0": 0.9, "1": 0.8}, "died": ""}
SHARED = {"load_share": 0.4}


@pytest.mark.parametrize(
    ("given", "names"),
    [
        *(({"problems": (old(name),)}, [name])
          for name in ("steal", "throttled", "rt-throttled", "missed-periods")),
        ({"load": IDLE_BUSY, "problems": (old("not-idle"),)}, ["other-work"]),
        # the host took what the load lacks
        ({"load": {**BUSY, "achieved": {"0": 0.7, "1": 0.7}},
          "circumstances": {"steal_share": {"0": 0.3, "1": 0.3}},
          "problems": (old("load-not-reached"), old("steal"))}, ["steal"]),
        ({"problems": (old("too-few-cycles"),)}, []),
    ],
)  # fmt: skip
def test_a_stored_run_beside_which_something_else_happened_counts_again(
    tmp_path: Path, given: dict[str, Any], names: list[str]
) -> None:
    run = made(**given)
    store = stored(tmp_path, run)
    read = store.load(run.key)
    assert read.valid and store.invalid() == set()
    assert sorted(each.id for each in read.problems) == names
    assert summarise_latency(store.runs()).invalid_runs == 0


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"problems": (old("wrong-priority"),)}, "wrong-priority"),
        ({"problems": (old("cpu-missing"), old("steal"))}, "cpu-missing"),
        ({"problems": (old("clock-changed"),)}, "clock-changed"),
        ({"circumstances": SHARED, "problems": (old("load-starved"),)}, "load-starved"),
        ({"load": {**BUSY, "died": "gone"}, "problems": (old("load-died"),)}, "load-died"),
        *(({"load": load, "problems": (old("load-not-reached"),)}, "load-not-reached")
          for load in ({**BUSY, "achieved": {"0": 0.2, "1": 0.2}}, {})),
    ],
)  # fmt: skip
def test_a_stored_run_that_measured_something_else_stays_invalid(
    tmp_path: Path, given: dict[str, Any], name: str
) -> None:
    run = made(**given)
    store = stored(tmp_path, run)
    first = store.load(run.key).problems[0]
    assert (first.id, first.severity) == (name, "invalid")
    assert store.invalid() == {run.key}


@pytest.mark.parametrize(
    ("load", "share", "counted", "reached"),
    [
        (BUSY, 0.11, 0, None),
        (BUSY, 0.96, 1, 0.96),
        (IDLE_BUSY, 0.0, 1, None),
    ],
)
def test_a_run_without_its_load_decides_nothing(  # noqa: PLR0917  rows and fixtures
    tmp_path: Path, capsys: Capture, load: Any, share: float, counted: int, reached: float | None
) -> None:
    """Whatever else kept the CPUs busy, and though a version before let it count."""
    starved = Finding(id="load-starved", severity="warning", message="as it was told then")
    run = made(FULL if load is BUSY else IDLE, load=load, circumstances={"load_share": share})
    stored(tmp_path, attrs.evolve(run, problems=(starved,)))
    assert main(("show", "m", "--runs", str(tmp_path), "--json")) == 0
    rows = answer_of(capsys.readouterr().out)["rows"]
    assert {(row["runs"], row["achieved"]) for row in rows} == {(counted, reached)}


def test_what_was_measured_first_counts_though_it_was_set_aside(tmp_path: Path) -> None:
    """Older versions measured a run again for what else ran beside it: a selection."""
    store = stored(
        tmp_path, made(problems=(old("wrong-priority"),), started="2026-11-01T00:00:00Z")
    )
    for started, problems in (
        ("2026-11-02T00:00:00Z", (old("wrong-priority"),)),
        ("2026-11-03T00:00:00Z", ()),
    ):
        store.keep(made(started=started, problems=problems))
    (key,) = store.committed()
    assert store.load(key).started == "2026-11-03T00:00:00Z"
    aside = store.path / "set-aside" / f"{key.text}.2.json"
    aside.write_text(aside.read_text().replace("wrong-priority", "steal"))
    assert store.load(key).started == "2026-11-02T00:00:00Z" and store.invalid() == set()


def load_run(**changes: Any) -> LoadRun:
    return attrs.evolve(run_of(back_to_back([10_000_000] * 3)), **changes)


@pytest.mark.parametrize("name", ["other-load", "steal", "too-few-rounds"])
def test_a_stored_load_run_beside_other_work_counts_again(name: str) -> None:
    run = judged_load(load_run(problems=(old(name),)))
    assert run.valid
    assert not judged_load(load_run(problems=(old(name), old("setting-lost")))).valid


def test_a_stored_load_run_without_a_round_does_not_count() -> None:
    run = load_run(problems=(old("too-few-rounds"),), window_ns=(0, 0))
    assert not judged_load(run).valid


def test_what_ran_beside_runs_is_one_sentence() -> None:
    busy = made(IDLE, load=IDLE_BUSY, circumstances={"steal_share": {"0": 0.031}})
    shared = made(circumstances={"load_share": 0.89})
    quiet = made(circumstances={"load_share": 0.97})
    wrong = made(problems=(old("wrong-priority"),), circumstances=SHARED)
    assert beside_latency([quiet, wrong]) == ""
    assert beside_latency([busy, shared, quiet, wrong]) == (
        "2 of 3 runs were disturbed by other work (up to 1.7 CPUs), the host took time from 1"
        " (up to 3.1 % of a CPU); they count"
    )


def test_what_ran_beside_load_runs_is_one_sentence() -> None:
    runs = [
        load_run(machine={"foreign_cpus": 0.22, "steal_share": 0.001}),
        load_run(machine={"foreign_cpus": 0.05, "steal_share": None}),
        load_run(machine={"foreign_cpus": 1.0}, problems=(old("setting-lost"),)),
    ]
    assert beside_load(runs) == (
        "1 of 2 runs were disturbed by other work (up to 22 % of a CPU); they count"
    )
    stolen = [load_run(machine={"steal_share": 0.02})]
    assert beside_load(stolen).startswith("the host took time from 1 of 1 run (up to 2 %")
