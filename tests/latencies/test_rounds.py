"""The truth is what this machine does: rounds end by themselves, and with whoever started them."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from attrs import evolve
from helpers.hardware import LOCK_WAIT, MS, processes_of, stands_above
from helpers.loads import request
from helpers.processes import is_alive, until

from deadbeat.base.model.errors import TargetError
from deadbeat.base.model.tuning import Setting
from deadbeat.build.native import NO_TASK_SETS, link_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.latencies.load.engine import REASON, HardwareLoad, LoadRequest
from deadbeat.latencies.load.model import Seen
from deadbeat.machine.settings.tune import refuse_unsettled
from deadbeat.machine.targets.local import LocalTarget

pytestmark = pytest.mark.hardware

CPUS = tuple(sorted(os.sched_getaffinity(0)))
UNITS, UNIT_PS = 10_000, 300_000
SPEC = {"seconds": 0.3, "additions": UNITS * 1000, "cpus": CPUS}


def ask(**more: object) -> LoadRequest:
    return request(SPEC, UNIT_PS, **{"threads": 1, **more})


def seen(asked: LoadRequest) -> Seen:
    engine = HardwareLoad(LocalTarget(), lock_wait=LOCK_WAIT)
    try:
        return engine.run(asked)
    finally:
        engine.close()


def test_rounds_follow_one_another_and_the_thread_has_what_was_asked() -> None:
    found = seen(ask(pin=CPUS[-1], threads=2, normal_cpus=CPUS[:1]))
    assert (found.policy, found.priority, found.cpu) == ("fifo", 99, CPUS[-1])
    rounds = found.rounds
    assert len(rounds) > 3
    assert (rounds.release_ns[1:] == rounds.finish_ns[:-1]).all()
    assert (rounds.cpu_start == CPUS[-1]).all()
    assert rounds.moves.sum() == 0
    # the work was done: an addition takes at least a tenth of a nanosecond anywhere
    assert (rounds.cpu_ns > UNITS * 100).all()
    assert rounds.release_ns[-1] < found.window_ns[1] <= rounds.finish_ns[-1]
    assert len(found.normal_units) == 2
    # on one CPU they wait behind the real-time thread: that is what a load test is for
    assert len(CPUS) == 1 or all(units > 0 for units in found.normal_units)


def test_releases_lie_a_period_apart_and_those_that_pass_are_counted() -> None:
    relaxed = seen(ask(period=40 * MS)).rounds
    assert (relaxed.release_ns % (40 * MS) == 0).all()
    assert (relaxed.start_ns >= relaxed.release_ns).all()
    # a round of over a millisecond cannot be done every half
    hurried = seen(ask(period=MS // 2)).rounds
    assert (hurried.skipped >= 1).all()
    steps = (hurried.release_ns[1:] - hurried.release_ns[:-1]) // (MS // 2)
    assert (steps == hurried.skipped[:-1] + 1).all()


def test_without_the_real_time_thread_only_the_ordinary_ones_work() -> None:
    found = seen(ask(condition="reference"))
    assert len(found.rounds) == 0
    assert found.policy == ""
    assert found.normal_units[0] > 0


def test_hundreds_of_ordinary_threads_come_up_and_are_gone_in_time() -> None:
    found = seen(ask(threads=300, seconds=0.1))
    assert len(found.normal_units) == 300
    assert len(found.rounds) > 3


def test_without_permission_an_ordinary_policy_does() -> None:
    found = seen(ask(policy="other", seconds=0.1))
    assert (found.policy, found.priority) == ("other", 0)


def test_one_unit_costs_what_a_thousand_additions_can() -> None:
    engine = HardwareLoad(LocalTarget(), lock_wait=LOCK_WAIT)
    try:
        assert 50_000 < engine.unit_ps(CPUS, policy="other", priority=99) < 50_000_000
    finally:
        engine.close()


STAT_INTERVAL = Path("/proc/sys/vm/stat_interval")


@pytest.mark.skipif(not os.access(STAT_INTERVAL, os.W_OK), reason="settings need root")
def test_settings_hold_for_a_block_and_belong_to_whoever_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEADBEAT_STATE", str(tmp_path / "journal"))
    before = STAT_INTERVAL.read_text()
    setting = Setting(str(STAT_INTERVAL), str(int(before) + 3))
    engine = HardwareLoad(LocalTarget(), lock_wait=LOCK_WAIT)
    try:
        with engine.holding([setting], reason=f"{REASON}, test"):
            assert STAT_INTERVAL.read_text().strip() == setting.value
            with pytest.raises(TargetError, match=r"has changed .*stat_interval for itself"):
                refuse_unsettled(engine.standing())  # by this process, which lives
        assert STAT_INTERVAL.read_text() == before
        assert engine.standing() == ()
    finally:
        engine.close()


def test_a_result_without_a_place_is_one_line() -> None:
    engine = HardwareLoad(LocalTarget(), lock_wait=LOCK_WAIT)
    engine.close()
    with pytest.raises(TargetError):
        engine.run(ask(seconds=0.1))


def _started(
    target: LocalTarget, *, seconds: float, units: int = UNITS, unit_ps: int = UNIT_PS
) -> tuple[subprocess.Popen[bytes], int]:
    """Guardian and real-time thread, which has computed for a tenth of a second."""
    program = link_program(Toolchain.find(), NO_TASK_SETS)
    copy = f"{target.folder}/rounds"
    target.put(program, copy)
    words = {
        "--cpus": ",".join(map(str, CPUS)), "--seconds-ns": str(round(seconds * 1e9)),
        "--normal": str(2 * len(CPUS)), "--priority": "99", "--units": str(units),
        "--unit-ps": str(unit_ps), "--out": f"{target.folder}/out",
        "--lock-wait-ns": str(round(LOCK_WAIT * 1e9)),
    }  # fmt: skip
    argv = [copy, "rounds", *(word for pair in words.items() for word in pair)]
    guardian = subprocess.Popen(argv, stdout=subprocess.DEVNULL)

    def begun() -> list[int]:
        return [
            pid
            for pid in processes_of(target.folder)
            if _name(pid) == "db-rounds0" and _computed_s(pid) >= 0.1
        ]

    (thread,) = until(begun)
    return guardian, thread


def test_a_killed_guardian_leaves_no_thread_of_the_highest_priority() -> None:
    with LocalTarget() as target:
        guardian, thread = _started(target, seconds=20.0)
        assert os.sched_getscheduler(thread) == os.SCHED_FIFO
        assert os.sched_getparam(thread).sched_priority == 99
        assert len(processes_of(target.folder)) == 5 + 2 * len(CPUS)
        guardian.kill()
        guardian.wait()
        until(lambda: not processes_of(target.folder))


def test_a_round_without_an_end_is_given_up_by_the_thread_itself() -> None:
    """It would take minutes; that a unit takes a picosecond is a lie that keeps bounds short."""
    endless = evolve(ask(seconds=0.1, additions=10**12), unit_ps=1)
    with pytest.raises(TargetError, match="a round: it had not ended long after"):
        seen(endless)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sleepers",
    [("rounds", "normal"), ("rounds",), ("watch",)],
    ids=["watch alone", "watch and ordinary threads", "threads alone"],
)
def test_with_guardian_and_coordinator_stopped_the_rest_ends_everything(sleepers: tuple[str, ...]):
    with LocalTarget() as target:
        guardian, thread = _started(target, seconds=0.3, units=10**9, unit_ps=1)
        coordinator = int(_stat(thread)[1])
        others = [pid for pid in processes_of(target.folder) if pid != guardian.pid]
        stopped = [guardian.pid, coordinator]
        stopped += [
            pid for pid in others if _name(pid).startswith(tuple("db-" + s for s in sleepers))
        ]
        watch = next(pid for pid in others if _name(pid) == "db-watch0")
        assert stands_above(watch)
        # the watch kills who is stopped too, all but the guardian; the threads end by themselves
        workers = [pid for pid in others if watch not in stopped or pid not in stopped]
        # what sees stops lives as long as the coordinator
        workers = [pid for pid in workers if _name(pid) != "db-stops"]
        assert workers
        try:
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            until(lambda: not any(is_alive(pid) for pid in workers))
        finally:
            guardian.kill()
            guardian.wait()
        until(lambda: not processes_of(target.folder))


def _computed_s(pid: int) -> float:
    try:
        return sum(map(int, _stat(pid)[11:13])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat behind the name: state, parent, ..."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
