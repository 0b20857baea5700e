"""Truth: the files of a machine as proc(5) has them, and a run for each thing that can be wrong."""

from typing import Any

import attrs
import pytest
from helpers.latencies import load_of, seen_of
from helpers.latency_series import run_of

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.histogram import Histogram
from deadbeat.latencies.latency.circumstances import circumstances, judge
from deadbeat.latencies.latency.engines import Request
from deadbeat.latencies.latency.model import Circumstances, CpuLatency, LateWakeUp
from deadbeat.machine.host.proc import tasks_of
from deadbeat.machine.host.snapshot import COMMANDS, parse, take
from deadbeat.machine.host.values import Unknown
from deadbeat.machine.targets.fake import FakeTarget

CPU = "/sys/devices/system/cpu"
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def stat(busy: int, idle: int, steal: int) -> str:
    line = f"{busy} 0 0 {idle} 0 0 0 {steal} 0 0"
    return f"cpu  {line}\ncpu0 {line}\ncpu1 {line}\nintr 1\n"


def interrupts(timer: int, disk: int) -> str:
    return (
        "           CPU0       CPU1\n"
        f"  36:   {disk}   0   PCI-MSIX  virtio1-req.0\n"
        f" LOC:   {timer}   7   Local timer interrupts\n"
        " ERR:   0\n"
    )


def machine(*, busy: int = 0, steal: int = 0, later: bool = False, **files: str) -> FakeTarget:
    moment = int(later)
    content = {
        "/proc/stat": stat(100 + busy, 1000 + 100 * moment - busy - steal, 5 + steal),
        "/proc/interrupts": interrupts(50 + 40 * moment, 3 + 2 * moment),
        CLOCK: "tsc\n",
        f"{CPU}/cpu0/cpufreq/scaling_cur_freq": "2000000\n",
        f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "3\n",
        f"{CPU}/cpu0/thermal_throttle/package_throttle_count": f"{4 + moment}\n",
        "/sys/class/thermal/thermal_zone0/temp": f"{45000 + 3000 * moment}\n",
        "/proc/pressure/cpu": f"some avg10=0.00 avg60=0.00 avg300=0.00 total={70 + moment}\n",
        **files,
    }
    log = "[1.0] boot\n" + "[9.0] sched: DL replenish lagged too much\n" * moment
    processes = task(1, "init", 0, 0) + load_process(10 + 20 * moment)
    outputs = {"log": log, "tasks": TASKS, "dma": " 2000000000\n", "processes": processes}
    return FakeTarget(files=content, outputs=outputs)


def load_process(ticks: int) -> str:
    """It, and a child of it that has ended: half of the time each."""
    half = str(ticks // 2)
    return f"900 (stress-ng-cpu) S {'0 ' * 10}{half} 0 {half} 0 0 0\n"


def task(number: int, name: str, priority: int, policy: int) -> str:
    # proc_pid_stat(5): state is the 3rd field, rt_priority the 40th, policy the 41st.
    rest = ["S", *["0"] * 36, str(priority), str(policy), "0", "0"]
    assert len(rest) >= 39
    return f"{number} ({name}) {' '.join(rest)}\n"


TASKS = (
    task(1, "init", 0, 0)
    + task(18, "migration/0", 99, 1)
    + task(700, "odd) (name", 95, 1)
    + task(701, "below", 50, 2)
)


def test_what_a_machine_did_between_two_looks() -> None:
    before, after = take(machine(), first=True), take(machine(busy=25, steal=5, later=True))
    seen = circumstances(before, after, cpus=(0, 1))
    assert seen.busy_share == {"0": 0.25, "1": 0.25}
    assert seen.load_share == 0.1  # 20 ticks of 100 on each of two CPUs
    assert seen.steal_share == {"0": 0.05, "1": 0.05}
    assert seen.temperature_mc == {"thermal_zone0": (45000, 48000)}
    assert seen.frequency_khz == {"0": (2000000, 2000000)}
    assert seen.throttled == {"0": 1}
    assert seen.interrupts == {
        "0": {"LOC Local timer interrupts": 40, "36 PCI-MSIX virtio1-req.0": 2},
        "1": {},
    }
    assert seen.pressure_us == {"cpu": 1}
    assert seen.stalls == ("[9.0] sched: DL replenish lagged too much",)
    assert seen.dma_latency_us == 2_000_000_000 and seen.clocksource == ("tsc", "tsc")
    assert [one.name for one in seen.realtime_tasks] == ["migration/0", "odd) (name", "below"]
    assert "pressure io" in seen.missing and "ticks" not in seen.missing


ARM = {
    "cooling_device0/type": "thermal-cpufreq-0\n",
    "cooling_device1/type": "pwm-fan\n",
    "cooling_device1/cur_state": "3\n",
    "thermal_zone0/trip_point_0_temp": "85000\n",
    "thermal_zone0/trip_point_0_type": "passive\n",
    "thermal_zone0/trip_point_1_temp": "55000\n",
    "thermal_zone0/trip_point_1_type": "active\n",
}


def board(*, hot: bool, log: str) -> FakeTarget:
    """An Arm board: no counters of throttling, a cooling device on the frequency, and a fan."""
    files = {f"/sys/class/thermal/{name}": text for name, text in ARM.items()}
    files["/sys/class/thermal/cooling_device0/cur_state"] = f"{2 * hot}\n"
    files["/sys/class/thermal/thermal_zone0/temp"] = f"{86_000 if hot else 60_000}\n"
    files[f"{CPU}/cpu0/cpufreq/scaling_max_freq"] = f"{1_200_000 if hot else 1_800_000}\n"
    return FakeTarget(files=files, outputs={"log": log})


def test_a_board_that_cools_by_its_frequency_is_seen_to_be_throttled() -> None:
    log = "[0.0] Linux version 6.1\n"
    before = take(board(hot=False, log=log), first=True)
    seen = circumstances(before, take(board(hot=True, log=log)), cpus=(0,))
    assert seen.cooling == {"cooling_device0 thermal-cpufreq-0": (0, 2)}
    assert seen.limit_khz == {"0": (1_800_000, 1_200_000)}
    assert seen.trip_mc == {"thermal_zone0": 85_000}
    names = [problem.id for problem in problems(circumstances=seen)]
    assert names == ["throttled", "hot"]
    cool = circumstances(before, before, cpus=(0,))
    assert problems(circumstances=cool) == () and "rt throttling" not in cool.missing


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ("[0.0] Linux version 6\n[7] sched: RT throttling activated\n", "once a boot, and has"),
        ("[900.0] something\n", "beginning of its log is gone"),
    ],
)
def test_throttling_that_the_kernel_would_not_tell_again_is_not_known(log: str, why: str) -> None:
    once = take(board(hot=False, log=log), first=True)
    seen = circumstances(once, once, cpus=(0,))
    assert why in seen.missing["rt throttling"] and seen.stalls == ()


def test_what_cannot_be_read_has_its_reason_and_no_figure() -> None:
    before = take(FakeTarget(refused={"/proc/stat": "denied: Permission denied"}), first=True)
    seen = circumstances(before, before, cpus=(0,))
    assert "denied" in seen.missing["ticks"] and "program" in seen.missing["log"]
    assert seen.busy_share == {} and seen.realtime_tasks is None
    assert seen.dma_latency_us is None and seen.throttled == {}
    assert problems(circumstances=seen) == ()


def test_the_costly_looks_are_taken_once() -> None:
    assert isinstance(take(machine()).realtime, Unknown)
    assert set(COMMANDS) == {"log", "processes"}
    assert isinstance(parse(machine().read_many((), {})).ticks, Unknown)


def test_realtime_tasks_are_those_with_a_realtime_policy() -> None:
    found = [one for one in tasks_of(TASKS + task(9, "dl", 0, 6)) if one.realtime]
    assert [(one.tid, one.policy_name, one.priority) for one in found] == [
        (18, "fifo", 99),
        (700, "fifo", 95),
        (701, "rr", 50),
        (9, "deadline", 0),
    ]


GOOD = CpuLatency(
    cpu=0, expected=3000, cycles=3000, missed=0, raw=Histogram.of([5000] * 3000),
    policy="fifo", priority=90, placed=0, clock_cost_ps=30_000,
)  # fmt: skip
ASKED = Request(cpus=(0,), seconds=3.0)


def problems(
    *,
    load: dict[str, Any] | None = None,
    circumstances: dict[str, Any] | Circumstances | None = None,
    request: dict[str, Any] | None = None,
    cpus: tuple[CpuLatency, ...] = (),
    **cpu: Any,
) -> tuple[Finding, ...]:
    seen = circumstances or {"clocksource": ["tsc", "tsc"]}
    run = attrs.evolve(
        run_of(*(cpus or (attrs.evolve(GOOD, **cpu),))),
        seconds=ASKED.seconds,
        load=load_of(load or loaded(50, 0.52)),
        circumstances=seen if isinstance(seen, Circumstances) else seen_of(seen),
    )
    return judge(run, attrs.evolve(ASKED, **(request or {})))


def test_a_run_as_it_should_be_has_no_problem() -> None:
    assert problems() == ()


def loaded(asked: int, achieved: float, *, judged: bool = True, died: str = "") -> dict[str, Any]:
    return {"asked": asked, "judged": judged, "achieved": {"0": achieved}, "died": died}


def named(**more: Any) -> dict[str, Any]:
    return {"asked": 100, "judged": False, "achieved": {"0": 0.9}, "died": "", **more}


def seen(**circumstances: Any) -> dict[str, Any]:
    return {"circumstances": circumstances}


def workers(*of_b: int) -> dict[str, Any]:
    return {"load": named(workers={"a": [2, 2, 2], "b": [2, *of_b]})}


def alone(name: str, policy: str, priority: int) -> dict[str, Any]:
    return seen(realtime_tasks=[{"name": name, "policy": policy, "priority": priority}])


WRITTEN = {"throughput": {"hdd written B/s": 10.0}, "least": {"hdd written B/s": 99}}
INVALID = [
    ({"load": loaded(50, 0.2)}, "load-not-reached"),
    ({"load": loaded(25, 0.151)}, "load-not-reached"),
    ({"load": loaded(10, 0.06)}, "load-not-reached"),
    (workers(1, 1), "load-not-reached"),
    (workers(2, 0), "load-not-reached"),
    ({"load": named(**WRITTEN)}, "load-not-reached"),
    # nothing but the load was kept from it, and it did nothing
    (seen(load_share=0) | {"load": named(computes=True, achieved={"0": 0.0})}, "load-not-reached"),
    ({"load": loaded(50, 0.5, died="killed")}, "load-died"),
    (seen(clocksource=["tsc", "hpet"]), "clock-changed"),
    ({"policy": "other"}, "wrong-policy"),
    ({"priority": 1}, "wrong-priority"),
    ({"placed": 1}, "wrong-cpu"),
    ({"placed": -1}, "wrong-cpu"),
    ({"cpu": 1, "placed": 1}, "cpu-missing"),
    ({"cycles": 1000}, "too-few-cycles"),
]
WARNINGS = [
    (workers(2, 1), "load-not-reached"),
    ({"load": named(workers=None)}, "load-unknown"),
    ({"load": {"asked": 50, "judged": True, "achieved": {}}}, "load-unknown"),
    ({"load": loaded(50, 0.7)}, "other-work"),
    ({"load": loaded(50, 0.9)}, "other-work"),
    ({"load": loaded(0, 0.2)}, "other-work"),
    # the measuring thread took what the load could not have: 0.3 + 0.65 of a CPU
    (seen(load_share=0.3) | {"load": loaded(100, 0.3), "cpu_ns": 1_950_000_000}, "load-starved"),
    (seen(steal_share={"0": 0.01}), "steal"),
    (seen(throttled={"0": 2}), "throttled"),
    (seen(throttled={"1": 2}), "throttled"),
    (seen(limit_khz={"0": [9, 8, 9]}), "throttled"),
    (seen(cooling={"a": [0, 2, 0]}), "throttled"),
    (seen(trip_mc={"z": 80}, temperature_mc={"z": [70, 80]}), "hot"),
    (seen(stalls=["[9] sched: RT throttling activated"]), "rt-throttled"),
    (seen(frequency_khz={"0": [800, 2000]}), "frequency-moved"),
    (seen(stalls=["rcu stall"]), "stall"),
    (seen(clocksource=["hpet", "hpet"]), "slow-clock"),
    ({"policy": "", "priority": None, "placed": None}, "thread-unverified"),
    ({"cycles": 2800}, "too-few-cycles"),
    ({"cycles": 1600}, "too-few-cycles"),
    ({"cycles": 2990, "missed": 10}, "missed-periods"),
    ({"clock_cost_ps": 3_000_000}, "slow-clock"),
    ({"raw": Histogram.of([1000] * 3000, resolution_ns=1000)}, "coarse-clock"),
    ({"raw": Histogram(overflow=1, overflow_from_ns=5)}, "overflow"),
    ({"request": {"seconds": 0.5}}, "short"),
    (alone("a", "fifo", 99), "other-realtime-task"),
    (seen(dma_latency_us=0) | {"request": {"dma_latency": "system"}}, "dma-latency-held"),
]


@pytest.mark.parametrize(
    ("given", "name", "seriousness"),
    [(*row, word) for word, rows in (("invalid", INVALID), ("warning", WARNINGS)) for row in rows],
)
def test_each_problem_has_its_name_and_its_weight(
    given: dict[str, Any], name: str, seriousness: str
) -> None:
    (problem,) = problems(**given)
    assert (problem.id, problem.severity) == (name, seriousness)
    assert problem.message and "\n" not in problem.message


@pytest.mark.parametrize(
    "given",
    [
        {"load": loaded(100, 0.3, judged=False)},
        {"load": loaded(25, 0.21)},
        {"load": loaded(75, 0.66)},
        {"load": named(workers={"hdd": [2, 2, 2]}, least={"hdd written B/s": 99})},
        {"load": named(throughput={"timer switches/s": 9.0}, least={"timer switches/s": 9.0})},
        seen(load_share=0.95) | {"load": named(computes=True)},
        {"clock_cost_ps": None},
        seen(dma_latency_us=0),
        seen(limit_khz={"0": [8, 9]}, cooling={"a": [0, -1]}),
        seen(trip_mc={"z": 80}, temperature_mc={"y": [90], "z": [79]}),
        alone("x", "rr", 50),
        alone("migration/1", "fifo", 99),
        seen(frequency_khz={"0": []}, steal_share={"0": 0.001}),
    ],
)
def test_what_is_not_known_or_not_wrong_is_no_problem(given: dict[str, Any]) -> None:
    assert problems(**given) == ()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "0.32 CPUs"),  # asked 50 %, 52 % busy, of which the load had 20 %
        ({"load": named(computes=True)}, "0.70 CPUs"),
    ],
)
def test_a_load_that_others_starve_is_told_with_them(given: dict[str, Any], told: str):
    found = problems(circumstances={"load_share": 0.2}, **given)
    assert [(each.id, each.severity) for each in found] == [
        ("load-starved", "warning" if given else "invalid"),
        ("other-work", "warning"),
    ]
    assert "the load had 20.0 %" in found[0].message and told in found[1].message


def test_what_the_host_took_the_load_could_not_have() -> None:
    stolen = {"steal_share": {"0": 0.3}}
    found = problems(load=loaded(100, 0.65), circumstances=stolen)
    assert [each.id for each in found] == ["steal"]


MS = 1_000_000


@pytest.mark.parametrize(
    ("late", "stood"),
    [
        (((500, 300), (520, 290)), True),
        (((500, 2130), (501, 2129)), True),
        (((500, 300), (900, 300)), False),  # one after the other
        (((500, 300), (500, 5)), False),  # one CPU alone
        (((500, 190), (500, 190)), False),
        (((500, 300),), False),  # nothing is known of the others
    ],
)
def test_what_stood_still_on_all_cpus_does_not_count(
    late: tuple[tuple[int, int], ...], stood: bool
) -> None:
    """CPUs with a wake-up each: due, and late, in ms."""
    cpus = tuple(
        attrs.evolve(
            GOOD,
            cpu=number,
            placed=number,
            worst=(LateWakeUp(due_ns=due * MS, latency_ns=by * MS),),
        )
        for number, (due, by) in enumerate(late)
    )
    found = {
        each.id: each.severity
        for each in problems(cpus=cpus, request={"cpus": tuple(range(len(cpus)))})
    }
    assert ("stood-still" in found) == stood
    assert found.get("stood-still", "invalid") == "invalid"


def test_what_invalidates_comes_first() -> None:
    found = problems(load=loaded(0, 0.2), priority=1)
    assert [problem.severity for problem in found] == ["invalid", "warning"]
