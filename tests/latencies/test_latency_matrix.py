"""Truth: what a matrix says it will do; run on the made-up machine, in no time."""

import json
from collections import Counter
from pathlib import Path

import attrs
import pytest
from helpers.answers import Capture
from helpers.latencies import made_up_runs
from helpers.scripted_loads import ScriptedLoads

from deadbeat.base.experiment.base import RunDone, RunFailed, Started
from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.base.model.platform import example_platform
from deadbeat.cli.main import main
from deadbeat.latencies.latency.engines import Measured, SimulatedEngine, unsplit
from deadbeat.latencies.latency.model import LatencyKey, LoadPoint, LoadReport
from deadbeat.latencies.latency.runner import (
    MatrixExperiment,
    MatrixMachine,
    looking,
    without_engine,
)
from deadbeat.latencies.latency.spec import (
    ALL_LOADS,
    LatencySpec,
    estimate,
    keys,
    read_spec,
    resolve,
    spec_dict,
    specify,
    visits,
)
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.run import run

SMALL = {"loads": "idle,cpu:50,memory", "repeats": 3, "duration": "0.2s", "engines": "simulated"}


def small(**more: object) -> LatencySpec:
    spec = specify({**SMALL, **more})
    return resolve(spec, engines={"simulated": ""}, cpus=(0, 1))


def machine(loads: ScriptedLoads | None = None, engine: object = None) -> MatrixMachine:
    engines = {"simulated": engine or SimulatedEngine()}
    return MatrixMachine(target=FakeTarget(), engines=engines, loads=loads or ScriptedLoads((0, 1)))  # type: ignore[arg-type]


def begun(tmp_path: Path, spec: LatencySpec) -> LatencyStore:
    return LatencyStore.create(tmp_path / "m", spec_dict(spec), example_platform())


# --- the specification ----------------------------------------------------------------------------


def test_a_specification_survives_its_plain_form() -> None:
    spec = small(cpus="1", trace=True, policy="other", dma_latency="system")
    assert read_spec(json.loads(json.dumps(spec_dict(spec)))) == spec
    assert specify({}).loads == ALL_LOADS
    assert small(policy="other").real_priority == 0


def test_every_problem_is_told_at_once() -> None:
    wrong = {
        "loads": "foo,cpu:300,memory:0,idle,0",
        "engines": "cyclist",
        "cpus": "1,1",
        "duration": "1y",
        "interval": "3",
        "priority": 100,
        "policy": "rr",
        "repeats": 0,
        "bogus": 1,
    }
    with pytest.raises(UsageError) as error:
        specify(wrong, names={"duration": "--duration"})
    told = "\n".join(error.value.details)
    for key in ("loads[0]", "loads[1]", "loads[2]", *(set(wrong) - {"loads", "duration"})):
        assert key in told
    assert "--duration" in told


@pytest.mark.parametrize(
    ("layer", "key"),
    [
        ({"duration": "0.1s", "interval": "10ms"}, "duration"),
        ({"duration": "2.5s", "engines": "cyclictest"}, "duration"),
        ({"interval": "1234567ns", "engines": "cyclictest"}, "interval"),
        ({"duration": "30d", "repeats": 100}, "repeats"),
    ],
)
def test_values_must_fit_each_other(layer: dict[str, object], key: str) -> None:
    with pytest.raises(UsageError) as error:
        specify(layer)
    assert key in str(error.value)


def test_a_long_duration_is_cut_into_runs_that_are_at_least_as_long() -> None:
    spec = specify({"duration": "1001s", "repeats": 2, "loads": "idle", "engines": "simulated"})
    assert (spec.segments, spec.seconds, spec.blocks) == (4, 251, 8)
    assert len(keys(spec)) == 8
    days = specify({"duration": "3d", "repeats": 1, "loads": "idle", "engines": "simulated"})
    assert days.segments * days.seconds == 3 * 86400


def test_a_machine_without_what_is_asked_is_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="CPU 7 cannot be used"):
        resolve(specify({"cpus": "7"}), engines={"simulated": ""}, cpus=(0, 1))
    missing = {"cyclictest": "not installed (Debian: rt-tests)"}
    with pytest.raises(UsageError, match="rt-tests"):
        resolve(specify({"engines": "cyclictest"}), engines=missing, cpus=(0,))
    with pytest.raises(UsageError, match="nothing here can measure"):
        resolve(specify({}), engines=missing, cpus=(0,))
    other = {"cyclictest": "", "prober": ""}
    assert resolve(specify({"policy": "other"}), engines=other, cpus=(0,)).engines == ("prober",)
    for wrong, cpus, has in [("io:25", (0, 1), "50, 100"), ("idle,timer:50", (0,), "100")]:
        with pytest.raises(UsageError, match=f"has {has} %"):
            resolve(specify({"loads": wrong}), engines={"prober": ""}, cpus=cpus)
    both = resolve(specify({}), engines={"simulated": "", **missing}, cpus=(0,))
    assert both.engines == ("simulated",)


# --- the plan -------------------------------------------------------------------------------------


def test_every_block_visits_each_cell_once_in_an_order_of_its_own_and_engines_take_turns() -> None:
    known = {"cyclictest": "", "simulated": ""}
    spec = resolve(specify({"repeats": 8}), engines=known, cpus=(0,))
    order = visits(spec)
    blocks = [order[i : i + 10] for i in range(0, len(order), 10)]
    assert all(sorted(v[0].load for v in block) == sorted(ALL_LOADS) for block in blocks)
    assert len({tuple(v[0].load.text for v in block) for block in blocks}) > 1
    for load in ALL_LOADS:
        turns = [tuple(k.engine for k in v) for v in order if v[0].load == load]
        assert turns[0] == turns[1][::-1] and turns[::2] == [turns[0]] * 4
        assert turns[1::2] == [turns[1]] * 4
    counts = Counter(key.text for key in keys(spec))
    assert len(counts) == 160 and set(counts.values()) == {1}
    assert visits(spec) == order


# --- running --------------------------------------------------------------------------------------


def test_a_matrix_is_measured_and_then_lacks_nothing(tmp_path: Path) -> None:
    spec, loads, told = small(), ScriptedLoads((0, 1)), []
    store = begun(tmp_path, spec)
    result = run(MatrixExperiment(spec, machine(loads), store=store), on_event=told.append)
    assert (result.planned, result.done, result.failed) == (9, 9, {})
    assert not loads.running and not store.lacking(keys(spec))
    counted = [event for event in told if isinstance(event, Started | RunDone)]
    assert [event.done for event in counted] == list(range(10))
    # where one is continued this is told before anything is measured
    assert counted[0].eta_s == estimate(spec, runs=9).seconds > 0
    stored = store.load(LatencyKey(LoadPoint("cpu", 50), "simulated", 1))
    assert stored.kind == "simulated" and stored.load.achieved == {"0": 0.5, "1": 0.5}
    assert "ticks" in stored.circumstances.missing


def test_the_time_of_the_measuring_threads_is_no_load() -> None:
    (run,) = made_up_runs(loads=[LoadPoint("cpu", 50)], repeats=1, cpus=(0,), seconds=2.0)
    cpu = attrs.evolve(run.cpus[0], cpu_ns=200_000_000)
    said = LoadReport(asked=50, achieved={"0": 0.62, "1": 0.5})
    told = without_engine(said, (cpu,), seconds=2.0)
    assert told == LoadReport(asked=50, achieved={"0": 0.52, "1": 0.5})
    assert without_engine(said, run.cpus, seconds=2.0) == said


def test_a_long_run_is_looked_at_while_it_lasts_and_a_short_one_is_not() -> None:
    target = FakeTarget(files={"/proc/stat": "cpu0 1 0 0 9 0 0 0 0 0 0\n"})
    with looking(target, seconds=60.0) as seen:
        pass
    assert seen == []
    with looking(target, seconds=1.0, every_s=0.001) as seen:
        while len(seen) < 2:
            pass
    assert seen[0].ticks[0].busy == 1


class Interrupted:
    """Measures ``runs`` times, then the person presses Ctrl-C."""

    name, kind = "simulated", "simulated"

    def __init__(self, runs: int) -> None:
        self._left = runs
        self._engine = SimulatedEngine()

    def unavailable(self, target: object) -> str:
        return ""

    def version(self, target: object) -> str:
        return "made up"

    def measure(self, target: object, request: object) -> object:
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1
        return self._engine.measure(target, request)  # type: ignore[arg-type]


# How it goes on: test_every_kind.
def test_an_interrupt_leaves_no_load(tmp_path: Path) -> None:
    spec, loads = small(), ScriptedLoads((0, 1))
    store = begun(tmp_path, spec)
    with pytest.raises(KeyboardInterrupt):
        interrupted = machine(loads, Interrupted(4))
        run(MatrixExperiment(spec, interrupted, store=store), on_event=lambda _: None)
    assert not loads.running and len(store.committed()) == 4


def test_a_load_that_dies_makes_its_run_invalid_and_one_that_will_not_start_loses_it(
    tmp_path: Path,
) -> None:
    spec = small(repeats=1)
    loads = ScriptedLoads(
        (0, 1), died={"cpu-050": "out of memory"}, refused={"memory-100": "no vm"}
    )
    store, told = begun(tmp_path, spec), []
    result = run(MatrixExperiment(spec, machine(loads), store=store), on_event=told.append)
    assert {key.text: why for key, why in result.failed.items()} == {
        "memory-100.simulated.0000": "no vm"
    }
    assert result.invalid == 1 and not loads.running
    assert [type(event) for event in told].count(RunFailed) == 1
    (doubt,) = [event.doubt for event in told if isinstance(event, RunDone) and event.doubt]
    assert "out of memory" in doubt
    assert [key.text for key in store.lacking(keys(spec))] == ["memory-100.simulated.0000"]


class Tracing(Interrupted):
    """Notes whether its load was still judged when it traced."""

    def __init__(self, loads: ScriptedLoads) -> None:
        super().__init__(99)
        self._loads = loads
        self.traced: list[bool] = []

    def trace(self, target: object, request: object, measured: Measured) -> Measured:
        self.traced.append(self._loads.judging)
        assert self._loads.running
        return unsplit(measured, "made up")


def test_what_is_traced_lies_outside_of_what_is_judged_but_beside_the_load(tmp_path: Path) -> None:
    spec, loads = small(repeats=1, trace=True), ScriptedLoads((0, 1))
    store, engine = begun(tmp_path, spec), Tracing(loads)
    run(MatrixExperiment(spec, machine(loads, engine), store=store), on_event=lambda _: None)
    assert engine.traced == [False] * 3
    stored = store.load(LatencyKey(LoadPoint("cpu", 50), "simulated", 0))
    assert [split.unavailable for split in stored.split] == ["made up"] * 2


class Refusing(Interrupted):
    def measure(self, target: object, request: object) -> object:
        raise TargetError("SCHED_FIFO was refused", "run with sudo")


def test_an_engine_that_is_refused_loses_runs_not_the_matrix(tmp_path: Path) -> None:
    spec, loads = small(repeats=1), ScriptedLoads((0, 1))
    store = begun(tmp_path, spec)
    result = run(
        MatrixExperiment(spec, machine(loads, Refusing(0)), store=store), on_event=lambda _: None
    )
    assert result.done == 0 and len(result.failed) == 3 and not loads.running


# --- the command ----------------------------------------------------------------------------------


def test_runs_without_a_result_are_named(tmp_path: Path, capsys: Capture) -> None:
    spec = small(name="m", repeats=1)
    store = begun(tmp_path, spec)
    loads = ScriptedLoads((0, 1), refused={"memory-100": "no memory to load"})
    run(MatrixExperiment(spec, machine(loads), store=store), on_event=lambda _: None)
    assert main(["show", "m", "--runs", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "no result: memory-100.simulated.0000: no memory to load" in shown
    assert "measured: 2 of 3 runs, 1 failed" in shown
    again = ["--loads", "idle,cpu:50,memory", "--duration", "0.2s", "--repeats", "1"]
    words = ["latency", "--simulated", "--no-figures", "--name", "m", "--runs", str(tmp_path)]
    assert main([*words, *again, "--retry"]) == 0
    assert len(store.committed()) == 3 and store.failed() == {}
