"""Truth: docs/howto/measure-latency.md: what is invalid is measured again."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from helpers.answers import Capture, answer_of
from helpers.latencies import made_up_runs
from helpers.load_tests import begun
from helpers.scripted_loads import ScriptedLoads

from deadbeat.base.experiment.base import Experiment, Outcome
from deadbeat.base.model.errors import DataError, DeadbeatError
from deadbeat.base.model.finding import Finding
from deadbeat.base.model.platform import example_platform
from deadbeat.cli._options import to_repeat
from deadbeat.cli.main import main
from deadbeat.latencies.latency.engines import SimulatedEngine
from deadbeat.latencies.latency.model import IDLE, LatencyKey, LatencyRun, LoadPoint
from deadbeat.latencies.latency.runner import MatrixExperiment, MatrixMachine
from deadbeat.latencies.latency.spec import read_spec as read_latency
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.latency.summarise import summarise_latency
from deadbeat.latencies.load.engine import LoadRequest, SimulatedLoad
from deadbeat.latencies.load.model import Seen
from deadbeat.latencies.load.runner import LoadExperiment, look
from deadbeat.latencies.load.spec import LoadSpec, resolve, specify
from deadbeat.latencies.load.store import LoadStore
from deadbeat.latencies.load.summarise import summary_of
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.run import run as carry_out

BAD = (Finding(id="steal", severity="invalid", message="12 % stolen"),)
HALF = LatencyKey(LoadPoint("cpu", 50), "simulated", 0)
MATRIX = ["latency", "--simulated", "--no-figures", "--loads", "idle,cpu:50", "--duration", "0.2s",
          "--repeats", "2", "--name", "m"]  # fmt: skip


def loads(*, died: bool) -> MatrixMachine:
    running = ScriptedLoads(
        tuple(example_platform().cpus), died={"cpu-050": "gone"} if died else {}
    )
    return MatrixMachine(
        target=FakeTarget(), engines={"simulated": SimulatedEngine()}, loads=running
    )


def measured(experiment: Experiment[Any, Any]) -> Outcome[Any]:
    return carry_out(experiment, on_event=lambda _: None)


@pytest.fixture
def matrix(tmp_path: Path, capsys: Capture) -> LatencyStore:
    """A finished matrix of four runs, of which the two at half load are invalid."""
    words = [*MATRIX, "--runs", str(tmp_path)]
    assert main(words) == 0
    store = LatencyStore.open(tmp_path / "m")
    for key in store.committed():
        store.run_path(key).unlink()
    spec = read_latency(store.spec)
    assert measured(MatrixExperiment(spec, loads(died=True), store=store)).invalid == 2
    assert main(["page", "m", "--no-figures", "--runs", str(tmp_path)]) == 0
    capsys.readouterr()
    return store


def test_the_option_measures_the_invalid_runs_again_and_keeps_what_was_before(
    matrix: LatencyStore, capsys: Capture
) -> None:
    where = ["--runs", str(matrix.path.parent)]
    before = {path.name: path.read_bytes() for path in (matrix.path / "runs").iterdir()}
    assert main(["list", *where]) == 0
    assert "2 invalid" in capsys.readouterr().out
    assert main([*MATRIX, *where, "--retry"]) == 0
    told = capsys.readouterr()
    assert "continue" in told.err and "2 of 4 runs done" in told.err
    assert matrix.invalid() == set() and not (matrix.path.parent / "m-2").exists()
    for key in matrix.committed():
        name = f"{key.text}.json"
        if key.load == IDLE:
            assert matrix.run_path(key).read_bytes() == before[name]
            continue
        aside = matrix.path / "set-aside" / f"{key.text}.1.json"
        assert aside.read_bytes() == before[name]
        (replaced,) = matrix.load(key).replaced
        assert [problem.id for problem in replaced.problems] == ["load-died"]


def test_without_the_option_the_cure_names_it_and_nothing_is_begun(
    matrix: LatencyStore, capsys: Capture
) -> None:
    where = ["--runs", str(matrix.path.parent)]
    (finding,) = [
        each for each in summarise_latency(matrix.runs()).findings
        if each.id == "latency-no-valid-run"
    ]  # fmt: skip
    assert "--retry" in finding.cure
    matrix.run_path(LatencyKey(IDLE, "simulated", 1)).unlink()
    assert main([*MATRIX, *where]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "ones again" in line]
    assert line.startswith("measure the invalid ones again: deadbeat latency")
    assert line.endswith("--retry")
    assert main([*MATRIX, *where]) == 2 and len(matrix.invalid()) == 2
    assert main([*MATRIX, *where, "--fresh"]) == 0 and matrix.invalid() == set()
    # now there are none: nothing is measured, nothing is refused
    assert main([*MATRIX, *where, "--retry"]) == 0
    assert "4 of 4 runs done" in capsys.readouterr().err


def test_a_run_that_is_invalid_again_is_counted_once(matrix: LatencyStore) -> None:
    spec = read_latency(matrix.spec)
    for times in (1, 2):
        machine = loads(died=True)
        measured(MatrixExperiment(spec, machine, store=matrix, retry_invalid=True))
        assert len(matrix.load(HALF).replaced) == times
    kept = sorted(path.name for path in (matrix.path / "set-aside").iterdir())
    assert kept == [f"cpu-050.simulated.000{n}.{m}.json" for n in range(2) for m in (1, 2)]
    assert summarise_latency(matrix.runs()).invalid_runs == 2


class Killed(LatencyStore):
    """Dies between setting a run aside and writing the new one."""

    def to_plain(self, run: LatencyRun) -> dict[str, Any]:
        raise KeyboardInterrupt


def test_a_kill_leaves_the_old_run_or_the_new_one(matrix: LatencyStore) -> None:
    old = matrix.run_path(HALF).read_bytes()
    new = attrs.evolve(matrix.load(HALF), problems=())
    with pytest.raises(KeyboardInterrupt):
        Killed(matrix.path, spec=matrix.spec, platform=matrix.platform).keep(new)
    assert matrix.run_path(HALF).read_bytes() == old and HALF in matrix.invalid()
    matrix.keep(new)
    assert [path.name for path in (matrix.path / "set-aside").iterdir()] == [f"{HALF.text}.1.json"]
    assert len(matrix.load(HALF).replaced) == 1
    with pytest.raises(DeadbeatError, match="counts: it is not measured again"):
        matrix.keep(new)


def test_a_damaged_run_is_named_before_anything_is_measured_again(matrix: LatencyStore) -> None:
    path = matrix.run_path(HALF)
    path.write_text(path.read_text().replace('"interval_ns"', '"interval"'))
    with pytest.raises(DataError, match="is damaged"):
        spec, machine = read_latency(matrix.spec), loads(died=False)
        MatrixExperiment(spec, machine, store=matrix, retry_invalid=True)


def test_a_run_without_the_record_is_read_as_one_that_was_not_repeated(tmp_path: Path) -> None:
    (run,) = made_up_runs(loads=[IDLE], repeats=1)
    store = LatencyStore.create(tmp_path / "m", {"name": "m"}, example_platform())
    path = store.keep(run)
    plain = json.loads(path.read_text())
    del plain["run"]["replaced"]
    path.write_text(json.dumps(plain))
    assert store.load(run.key) == run


# --- load tests -----------------------------------------------------------------------------------

ASKED = {"normal": "0,4", "seconds": "0.3", "repeats": "2", "remedies": "pin", "deadline": "30ms"}
OPTIONS = {("duration" if key == "seconds" else key): text for key, text in ASKED.items()}
LOAD = ["load", "--simulated", "--no-figures", *(f"--set={k}={v}" for k, v in OPTIONS.items())]


class Meddled(SimulatedLoad):
    """Somebody lifts the RT bandwidth in the runs of one condition."""

    def run(self, ask: LoadRequest) -> Seen:
        if ask.key.condition == "pin":
            self._held["/proc/sys/kernel/sched_rt_runtime_us"] = "-1"
        return super().run(ask)


def load_spec(**more: str) -> LoadSpec:
    return resolve(specify({**ASKED, **more}), SimulatedLoad().cpus())


@pytest.fixture
def load_test(tmp_path: Path, capsys: Capture) -> LoadStore:
    """A finished load test whose pinned runs are invalid."""
    spec, engine = load_spec(), Meddled()
    possible, _ = look(spec, engine)
    store = begun(tmp_path / "load", spec, engine)
    measured(LoadExperiment(spec, engine, possible, store=store))
    assert main(["page", "load", "--no-figures", "--runs", str(tmp_path)]) == 0
    capsys.readouterr()
    return store


def test_a_load_test_measures_its_invalid_runs_again(load_test: LoadStore, capsys: Capture) -> None:
    where = ["--runs", str(load_test.path.parent)]
    pinned = {key for key in load_test.committed() if key.condition == "pin"}
    assert load_test.invalid() == pinned and {key.normal for key in pinned} == {0, 4}
    many = len(pinned)
    assert main(["list", "--json", *where]) == 0
    (row,) = answer_of(capsys.readouterr().out)
    assert (row["kind"], row["state"], row["invalid"]) == ("load", "finished", many)
    assert main(["list", *where]) == 0
    assert f"{many} invalid" in capsys.readouterr().out
    assert main([*LOAD, *where, "--retry"]) == 0
    told = capsys.readouterr()
    assert f"{row['done'] - many} of {row['planned']} runs done" in told.err
    assert load_test.invalid() == set() and not (load_test.path.parent / "load-2").exists()
    assert not any(cell.invalid for cell in summary_of(load_test).cells)
    assert len(list((load_test.path / "set-aside").iterdir())) == many


def test_another_deadline_is_refused_in_the_units_it_is_typed_in(
    load_test: LoadStore, capsys: Capture
) -> None:
    asked = ["--set=deadline=20ms" if "deadline=" in word else word for word in LOAD]
    words = [*asked, "--retry", "--runs", str(load_test.path.parent)]
    assert main(words) == 2
    assert "begun with other parameters: deadline (30 ms there, 20 ms now)" in (
        capsys.readouterr().err
    )


def test_nothing_to_retry_is_said(tmp_path: Path, capsys: Capture) -> None:
    for words, noun in ((MATRIX, "latency matrix m"), (LOAD, "load test load")):
        assert main([*words, "--retry", "--runs", str(tmp_path)]) == 2
        assert f"there is no {noun} in {tmp_path} to retry" in capsys.readouterr().err


def test_what_was_interrupted_while_it_retried_goes_on_retrying() -> None:
    words = ["latency", "--fresh", "--retry"]
    assert to_repeat(words) == "deadbeat latency"
    assert to_repeat(words, retrying=True) == "deadbeat latency --retry"
