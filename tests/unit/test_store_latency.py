"""Truth: what was committed is what is loaded; what is damaged is named in one line."""

from pathlib import Path

import attrs
import pytest
from helpers.latencies import made_up_runs

from deadbeat.model.errors import DeadbeatError
from deadbeat.model.examples import example_platform
from deadbeat.model.finding import Finding
from deadbeat.model.latency import IDLE, Circumstances, LatencyKey, PathSplit, WorstTraced
from deadbeat.store.latency import LatencyStore


@pytest.fixture
def store(tmp_path: Path) -> LatencyStore:
    return LatencyStore.create(tmp_path / "m", {"name": "m"}, example_platform())


def test_a_run_comes_back_as_it_went(store: LatencyStore) -> None:
    (run,) = made_up_runs(loads=[IDLE], repeats=1)
    split = PathSplit(
        cpu=0, parts={"interrupt": run.cpus[0].raw}, worst=WorstTraced(cause="x", exit=3)
    )
    run = attrs.evolve(
        run,
        split=(split,),
        problems=(Finding(id="steal", severity="warning", message="2 %"),),
        circumstances=Circumstances(missing={"temperature": "no such file"}),
    )
    store.keep(run)
    again = LatencyStore.open(store.path)
    assert (again.spec, again.platform) == ({"name": "m"}, example_platform())
    (found,) = again.runs()
    assert found == run
    assert found.cpus[0].raw.counts.tolist() == run.cpus[0].raw.counts.tolist()
    assert found.split[0].parts["interrupt"].buckets.tolist() == run.cpus[0].raw.buckets.tolist()


def test_a_run_is_never_replaced_and_a_failure_is_forgotten_once_it_is_measured(
    store: LatencyStore,
) -> None:
    (run,) = made_up_runs(loads=[IDLE], repeats=1)
    store.fail(run.key, "busy")
    other = LatencyKey(IDLE, "prober", 7)
    store.fail(other, "lost")
    store.keep(run)
    assert store.failed() == {other: "lost"}
    with pytest.raises(DeadbeatError, match="counts: it is not measured again"):
        store.keep(run)
