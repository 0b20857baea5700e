"""Truth: every run once, whatever interrupts; every setting back, whatever fails."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import attrs
import pytest
from attrs import evolve
from helpers.answers import Capture, answer
from helpers.load_tests import begun

from deadbeat.base.experiment.base import Event, RunDone, Started
from deadbeat.base.model.errors import RunError, TargetError, UsageError
from deadbeat.base.model.platform import Platform
from deadbeat.base.model.specification import plain_of
from deadbeat.base.model.tuning import JournalEntry, Setting, Stand
from deadbeat.base.store.place import Place
from deadbeat.cli.main import main
from deadbeat.latencies.load.engine import UNIT_PS, LoadRequest, SimulatedLoad
from deadbeat.latencies.load.kind import FOLDERS, other_remedies
from deadbeat.latencies.load.model import LoadKey, Seen
from deadbeat.latencies.load.runner import LoadExperiment, look
from deadbeat.latencies.load.spec import LoadSpec, plan, planned_keys, resolve, specify
from deadbeat.latencies.load.store import LoadStore
from deadbeat.machine.settings.tune import refuse_unsettled, tuned
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.readings import Readings
from deadbeat.machine.targets.run import run as carry_out


class Watched(SimulatedLoad):
    """Keeps what it was asked, and fails or is interrupted where it is told to."""

    def __init__(self, *, fails: str = "", stops_after: int = 10_000) -> None:
        super().__init__()
        self.asked: list[LoadRequest] = []
        self.held: list[dict[str, str]] = []
        self.holding_now = 0
        self._fails = fails
        self._stops_after = stops_after

    @contextmanager
    def holding(self, settings: Sequence[Setting], *, reason: str) -> Iterator[dict[str, str]]:
        with super().holding(settings, reason=reason) as held:
            self.holding_now += 1
            try:
                yield held
            finally:
                self.holding_now -= 1

    def run(self, ask: LoadRequest) -> Seen:
        if len(self.asked) >= self._stops_after:
            raise KeyboardInterrupt
        self.asked.append(ask)
        self.held.append(dict(self._held))
        assert self.holding_now == 1
        if ask.key.text == self._fails:
            raise RunError("it fell over")
        return super().run(ask)


SPEC = resolve(
    specify({"normal": "0,4", "seconds": "0.3", "repeats": "2", "remedies": "pin,governor"}),
    (0, 1, 2, 3),
)


def go(engine: SimulatedLoad, store: LoadStore) -> dict[LoadKey, str]:
    told: list[Event] = []
    changes = look(SPEC, engine)[0]
    outcome = carry_out(LoadExperiment(SPEC, engine, changes, store=store), on_event=told.append)
    done = [each.done for each in told if isinstance(each, Started | RunDone)]
    assert done == list(range(done[0], done[-1] + 1))
    return dict(outcome.failed)


def test_every_planned_run_is_stored_once_in_the_planned_order(tmp_path: Path) -> None:
    engine = Watched()
    store = begun(tmp_path / "a", SPEC, engine)
    assert go(engine, store) == {}
    keys = plan(SPEC, look(SPEC, engine)[0])
    assert tuple(ask.key for ask in engine.asked) == keys
    assert store.committed() == set(keys)
    assert go(engine, store) == {}
    assert len(engine.asked) == len(keys)


def test_a_condition_does_what_its_remedy_says_and_nothing_else(tmp_path: Path) -> None:
    engine = Watched()
    store = begun(tmp_path / "a", SPEC, engine)
    go(engine, store)
    for ask, held in zip(engine.asked, engine.held, strict=True):
        pinned, fast = ask.change.pin is not None, any("governor" in path for path in held)
        assert (pinned, fast) == {
            "plain": (False, False), "reference": (False, False), "pin": (True, False),
            "governor": (False, True), "all": (True, True), "traced": (False, False),
        }[ask.key.condition]  # fmt: skip
        assert ask.real_time == (ask.key.condition != "reference")
        assert ask.units == 10_000_000 * 1000 // UNIT_PS
        run = store.load(ask.key)
        assert ("CPU of the real-time thread" in run.applied) == pinned
        assert any("governor" in path for path in run.applied) == fast
    assert engine.holding_now == 0


class Refusing(SimulatedLoad):
    """Lets nobody touch a governor."""

    @contextmanager
    def holding(self, settings: Sequence[Setting], *, reason: str) -> Iterator[dict[str, str]]:
        if any("governor" in setting.path for setting in settings):
            raise TargetError("1 of 4 settings not possible here", "", ("cpu0: denied",))
        with super().holding(settings, reason=reason) as held:
            yield held


def test_what_the_machine_refuses_is_not_possible_and_says_why() -> None:
    changes, impossible = look(SPEC, Refusing())
    assert set(changes) == {"pin"}
    assert impossible == {"governor": "cpu0: denied"}


class Left(SimulatedLoad):
    """A machine on which a load test was killed: no process has the number 0."""

    def standing(self) -> tuple[JournalEntry, ...]:
        reason = "deadbeat load, n004.rt-bandwidth.0001 [process 0, started at tick 1]"
        return (change(reason=reason),)


def change(*, reason: str, stand: Stand = "applied") -> JournalEntry:
    return JournalEntry(
        path="/proc/sys/kernel/sched_rt_runtime_us", stand=stand, old="950000", now="-1",
        wanted="-1", reason=reason, session="a", time="", root="",
    )  # fmt: skip


def test_what_a_killed_test_left_must_be_put_back_first() -> None:
    found = r"sched_rt_runtime_us was left .*killed .*rt-bandwidth.*950000 .*deadbeat tune revert"
    with pytest.raises(TargetError, match=found):
        look(SPEC, Left())


def test_what_was_tuned_on_purpose_is_no_obstacle_and_is_recorded() -> None:
    lasting = change(reason="deadbeat tune apply realtime")
    refuse_unsettled([lasting, change(reason="x [process 0, started at tick 1]", stand="back")])
    assert tuned([lasting]) == [
        "/proc/sys/kernel/sched_rt_runtime_us = -1 (was 950000): deadbeat tune apply realtime"
    ]
    assert tuned([change(reason="deadbeat tune apply realtime", stand="reset")]) == []


def test_a_machine_that_was_tuned_or_lost_a_remedy_meanwhile_is_said_to_be(tmp_path: Path) -> None:
    """Whatever else may differ: test_store_place."""
    engine = Watched()
    words = {name: change.words for name, change in look(SPEC, engine)[0].items()}
    plain = engine.describe()

    def with_tuned(*lines: str) -> Platform:
        return attrs.evolve(plain, details={**plain.details, "tuned": list(lines)})

    LoadStore.create(
        tmp_path / "load", plain_of(SPEC), with_tuned("a = 1"), unit_ps=UNIT_PS, changes=words,
        impossible={},
    )  # fmt: skip
    assert choose(tmp_path, SPEC, with_tuned("a = 1"), words).resumed
    with pytest.raises(UsageError, match=r"other settings .*no longer a = 1; now b = 2"):
        choose(tmp_path, SPEC, with_tuned("b = 2"), words)
    with pytest.raises(UsageError, match="other remedies were possible: governor no longer"):
        choose(tmp_path, SPEC, with_tuned("a = 1"), {"pin": "x"})


def choose(runs: Path, spec: LoadSpec, platform: Platform, words: dict[str, str]) -> Place:
    return FOLDERS.choose(runs, spec, platform, differs=partial(other_remedies, words))


class Meddled(SimulatedLoad):
    """Somebody puts the governor back while runs are measured."""

    def run(self, ask: LoadRequest) -> Seen:
        seen = super().run(ask)
        for path in [path for path in self._held if "cpu2" in path]:
            del self._held[path]
        return seen


def test_a_setting_that_is_lost_while_a_run_is_measured_makes_it_invalid(tmp_path: Path) -> None:
    store = begun(tmp_path / "a", SPEC, Meddled())
    go(Meddled(), store)
    for run in store.runs():
        lost = run.key.condition in ("governor", "all")
        assert run.valid != lost
        assert [problem.id for problem in run.problems] == ["setting-lost"] * lost
        if lost:
            assert "cpu2/cpufreq/scaling_governor was set to performance" in run.problems[0].message
            assert "holds schedutil after the run" in run.problems[0].message


RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"


class Tuned(SimulatedLoad):
    """Somebody lifts the RT bandwidth while a run without a remedy is measured."""

    def run(self, ask: LoadRequest) -> Seen:
        seen = super().run(ask)
        self._held[RUNTIME] = "-1"
        return seen


def test_a_bandwidth_that_changes_meanwhile_makes_a_run_invalid(tmp_path: Path) -> None:
    store = begun(tmp_path / "a", SPEC, Tuned())
    go(Tuned(), store)
    for run in store.runs():
        assert [problem.id for problem in run.problems] == ["bandwidth-changed"]
        assert "from 950000 to -1" in run.problems[0].message


class Shared(SimulatedLoad):
    """Other work (CPUs of it), and a host that takes a share, beside runs of one second."""

    process = 7

    def __init__(self, *, foreign: float, stolen: float = 0.0) -> None:
        super().__init__()
        self._foreign, self._stolen, self._now = foreign, stolen, 0

    def read(self, paths: Sequence[str]) -> Readings:
        # 100 ticks a second on each of four CPUs; the test itself has 150 of them
        busy = round((150 + 100 * self._foreign) * self._now / 4)
        steal = round(100 * self._stolen * self._now)
        line = f"{busy} 0 0 {100 * self._now - busy - steal} 0 0 0 {steal} 0 0"
        files = {
            "/proc/stat": "".join(f"cpu{cpu} {line}\n" for cpu in range(4)),
            "/proc/7/stat": f"7 (deadbeat) S {'0 ' * 10}0 0 {150 * self._now} 0 20 0\n",
        }
        known = super().read([path for path in paths if path not in files])
        mine = FakeTarget(files={path: files[path] for path in paths if path in files})
        return evolve(known, files={**known.files, **mine.read_many(list(files)).files})

    def run(self, ask: LoadRequest) -> Seen:
        self._now += 1
        return super().run(ask)


@pytest.mark.parametrize(
    ("foreign", "stolen", "problems"),
    [
        (0.04, 0.0, []),
        (0.2, 0.0, [("other-work", "warning")]),
        (1.0, 0.0, [("other-work", "warning")]),
        (0.0, 0.02, [("steal", "warning")]),
        (0.0, 0.1, [("steal", "warning")]),
    ],
)
def test_other_work_beside_a_run_is_found(
    tmp_path: Path, foreign: float, stolen: float, problems: list[tuple[str, str]]
) -> None:
    engine = Shared(foreign=foreign, stolen=stolen)
    store = begun(tmp_path / "a", SPEC, engine)
    go(engine, store)
    for run in store.runs():
        assert [(each.id, each.severity) for each in run.problems] == problems
        assert run.machine["foreign_cpus"] == pytest.approx(foreign, abs=0.05)


def test_what_ran_beside_is_unknown_where_it_cannot_be_read(tmp_path: Path) -> None:
    store = begun(tmp_path / "a", SPEC, Watched())
    go(Watched(), store)
    assert {run.machine["foreign_cpus"] for run in store.runs()} == {None}


def test_a_run_that_fails_is_named_and_measured_again_by_the_same_command(tmp_path: Path) -> None:
    store = begun(tmp_path / "a", SPEC, Watched())
    key = plan(SPEC, look(SPEC, Watched())[0])[3]
    failing = Watched(fails=key.text)
    assert go(failing, store) == {key: "it fell over"}
    assert failing.holding_now == 0
    assert len(store.lacking(planned_keys(store))) == 1
    again = Watched()
    assert go(again, store) == {}
    assert [ask.key for ask in again.asked] == [key]


def test_an_interrupt_keeps_what_is_done_and_puts_settings_back(tmp_path: Path) -> None:
    store = begun(tmp_path / "a", SPEC, Watched())
    stopped = Watched(stops_after=5)
    with pytest.raises(KeyboardInterrupt):
        go(stopped, store)
    assert stopped.holding_now == 0
    assert len(store.committed()) == 5
    rest = Watched()
    go(rest, LoadStore.open(store.path))
    assert len(rest.asked) == len(plan(SPEC, look(SPEC, rest)[0])) - 5


def test_what_is_refused_is_refused_before_anything_is_said_or_made(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, policy: str, priority: int) -> int:
        raise TargetError(f"{policy} {priority} was refused")

    monkeypatch.setattr(SimulatedLoad, "unit_ps", refuse)
    assert main(("load", "--simulated", "--priority", "98", "--runs", str(tmp_path))) == 3
    assert capsys.readouterr() == ("", "deadbeat: error: fifo 98 was refused\n")
    assert not list(tmp_path.iterdir())


def test_failures_of_each_of_several_real_time_threads(tmp_path: Path, capsys: Capture) -> None:
    """Section 7 of the paper. Six threads of one priority on four CPUs, back to back under FIFO:
    two never have one, and nothing is left to the ordinary ones."""
    words = ["load", "--simulated", "--runs", str(tmp_path), "--no-figures", "--remedies", "none"]
    words += ["--repeats", "2", "--set", "normal=4", "--set", "realtime=1,2,6"]
    assert main(words) == 2, "nothing could end six threads of priority 99 on four CPUs"
    assert "--priority 98" in capsys.readouterr().err
    assert main([*words, "--priority", "98"]) == 0
    found = answer(capsys, "show", "load", "--runs", str(tmp_path))
    cells = {each["condition"]: each for each in found["cells"]}
    each = {name: cell["failures_each"] for name, cell in cells.items()}
    assert {name: len(values) for name, values in each.items()} == {
        "plain": 0, "realtime-2": 2, "realtime-6": 6, "reference": 0,
    }  # fmt: skip
    assert [value is None for value in each["realtime-6"]] == [False] * 4 + [True] * 2
    assert sum(each["realtime-2"]) == cells["realtime-2"]["failures_per_s"]["value"]
    lost = [cells[name]["work_lost"]["value"] for name in ("plain", "realtime-2", "realtime-6")]
    assert lost == sorted(lost) and lost[1] < 0.6 and lost[2] > 0.95
