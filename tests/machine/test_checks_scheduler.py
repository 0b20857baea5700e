"""What the scheduler grants: made-up machines for every check of the family."""

import re
from collections.abc import Mapping

import pytest
from helpers.checks import Case, Cases, Thread, case, config, outcome, window

from deadbeat.machine.settings.readiness import WORKLOADS

RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
PERIOD = "/proc/sys/kernel/sched_rt_period_us"
ONLINE = {"/sys/devices/system/cpu/online": "0-1\n"}
ISOLATED = "/sys/devices/system/cpu/isolated"
MIGRATION = "/proc/sys/kernel/timer_migration"
FAIR = "/sys/kernel/debug/sched/fair_server/cpu1/runtime"
FEATURES = "/sys/kernel/debug/sched/features"
LOCKED = {"/sys/kernel/security/lockdown": "none [integrity] confidentiality\n"}
NEW = {"/proc/version": "Linux version 6.18.1 (x) #1 SMP PREEMPT_DYNAMIC\n"}
OLD = {"/proc/version": "Linux version 6.1.0-53-rt-amd64 (x) #1 SMP PREEMPT_RT\n"}
RUNNER = Thread(tid=900, name="control", policy=1, priority=80, cpus="1", locked_kb=100)
MULTIPATHD = Thread(tid=910, name="multipathd", policy=2, priority=99)
DEADLINE = Thread(tid=920, name="edf", policy=6)


def limits(runtime: int, period: int = 1_000_000) -> dict[str, str]:
    return {RUNTIME: f"{runtime}\n", PERIOD: f"{period}\n", **ONLINE}


def admitted(
    reserved: str,
    kernel: Mapping[str, str],
    *,
    runtime: int = 950_000,
    tasks: int | None = None,
    says: str,
) -> Case:
    """Two CPUs, and what a deadline task has reserved (runtime/deadline/period); "": there is none.

    Args:
        tasks: How many deadline tasks there are, where chrt does not show each.
    """
    held = [DEADLINE] * (bool(reserved) if tasks is None else tasks)
    told = f"pid 920's runtime/deadline/period parameters: {reserved}\n" if reserved else "\n"
    outputs = {**window(*held), "deadline-tasks": told}
    return case({**kernel, **limits(runtime)}, outputs=outputs, says=says)


V2 = "/sys/fs/cgroup"


def grouped(path: str, *lines: str, says: str) -> Case:
    """A process in the control group ``path`` of version 2, and the files of its groups."""
    files = {
        "/proc/cmdline": "quiet\n",
        "/proc/self/cgroup": f"0::{path}\n",
        "/proc/self/mountinfo": f"30 23 0:26 / {V2} rw shared:9 - cgroup2 cgroup2 rw\n",
    }
    told = "".join(f"{line}\n" for line in ("none", *lines))
    return case(files, outputs={"group-rt-runtime": told, **config("RT_GROUP_SCHED=y")}, says=says)


def divided(
    partitions: str = "",
    *,
    isolated: str = "",
    runtime: int = 950_000,
    rt_cpus: tuple[int, ...] = (2, 3),
    says: str = "",
    **files: str,
) -> Case:
    """Four CPUs, and what divides them; ``files``: path -> content."""
    there = {**limits(runtime), **files, "/sys/devices/system/cpu/online": "0-3\n"}
    return case({**there, ISOLATED: f"{isolated}\n"}, rt_cpus=rt_cpus, says=says,
                outputs={"cpuset-partitions": partitions})  # fmt: skip


CASES: Cases = {
    "scheduler.rt-bandwidth": {
        "pass": case(limits(950_000), says="95 %"),
        "pass same": case(limits(1_000_000), workload="compute"),
        "pass new kernel, nothing": case({**NEW, **limits(0)}, outputs=config("SMP=y")),
        "fail": case({**OLD, **limits(950_000)}, workload="compute",
                     says="50000 us of each 1000000"),
        "fail new kernel": case({**NEW, **limits(950_000)}, workload="compute",
                                outputs=config("RT_GROUP_SCHED=y"), says="50000 us of each"),
        "unknown": case(refused={RUNTIME: "denied: Permission denied"}),
        "pass 6.12": case(
            {"/proc/version": "Linux version 6.12.0 (x)\n", **limits(950_000)},
            workload="compute",
            outputs=config("SMP=y"),
        ),
        "pass share": case(limits(949_999), says="above 94 %"),
    },
    "scheduler.fair-server": {
        "pass": case({**NEW, FAIR: "0\n"}),
        "pass old kernel": case(OLD, says="none before Linux 6.12"),
        "pass periodic": case({**NEW, FAIR: "50000000\n"}, workload="periodic", says="50 ms"),
        "fail": case({**NEW, FAIR: "50000000\n"}, says="50 ms of each second on CPU 1"),
        "unknown": case({**NEW, **LOCKED}, refused={FAIR: "denied: Operation not permitted"},
                        says="locked down (integrity); assume that the kernel's default is 50 ms"),
        "unknown 6.12": case({"/proc/version": "Linux version 6.12.0 (x)\n"}),
    },
    "scheduler.group-rt-runtime": {
        "pass": case(outputs={"group-rt-runtime": "/sys/fs/cgroup/cpu/cpu.rt_runtime_us 950000\n"}),
        "pass not built": case(outputs={"group-rt-runtime": "none\n", **config("SMP=y")}),
        "pass switched off": case({"/proc/cmdline": "rt_group_sched=0\n"}, outputs={
            "group-rt-runtime": "none\n", **config("RT_GROUP_SCHED=y")}),
        "pass root": grouped("/", f"{V2}/cgroup.controllers cpu memory", says="the root group"),
        "fail": case(outputs={"group-rt-runtime": "/sys/fs/cgroup/cpu/a/cpu.rt_runtime_us 0\n"},
                     says="/sys/fs/cgroup/cpu/a/cpu.rt_runtime_us 0"),
        "fail container": grouped("/", f"{V2}/cgroup.type domain", f"{V2}/cgroup.controllers cpu",
                                  says=f"{V2} |"),
        "unknown": case(outputs={"group-rt-runtime": "none\n"}),
    },
    "scheduler.timer-migration": {
        "pass": case({**OLD, MIGRATION: "0\n"}, says="= 0 | as wanted"),
        "fail": case({**OLD, MIGRATION: "1\n"}, says="= 1 | timers of other CPUs"),
        "unknown": case(NEW, refused={MIGRATION: "denied: Permission denied"}, says="denied"),
        "fail 6.9": case(
            {"/proc/version": "Linux version 6.9.0 (x)\n", MIGRATION: "1\n"},
            says="= 1 | high-resolution timers",
        ),
    },
    "scheduler.deadline-admission": {
        "pass": case({**OLD, **limits(950_000)}, outputs=window(), says="190 %"),
        "fail": admitted("9/9/9", OLD, says="100 of 190 %"),
        "pass fair server half": admitted("900001/1000000/1000000", NEW, says="90 of 180 %"),
        "fail fair server half": admitted("900002/1000000/1000000", NEW, says="90 of 180 %"),
        "pass off, some": admitted("2000/10000/10000", OLD, runtime=-1, says="20 of 200 %"),
        "unknown": admitted("", OLD, tasks=1, says="chrt does not say"),
        "pass 1 us": admitted("", OLD, runtime=1, says="0 % of a CPU can be"),
    },
    "scheduler.deadline-partition": {
        "pass": divided(isolated="2-3", says="CPU 2-3 |"),
        "pass admission off": divided(runtime=-1, says="no pinned task is refused"),
        "fail": divided(says="domains: CPU 0-3 | sched_setattr refuses"),
        "fail one of a root": divided("root 2-3\n", rt_cpus=(3,)),
        "unknown": case({**limits(950_000), ISOLATED: "\n"}),
        "fail nothing granted": divided(runtime=0),
    },
    "scheduler.rt-affinity": {
        "pass": case(ONLINE, outputs=window(RUNNER), says="control (fifo 80)"),
        "pass deadline": case(ONLINE, outputs=window(DEADLINE)),
        "fail": case(ONLINE, outputs=window(RUNNER, MULTIPATHD), says="multipathd (rr 99) |"),
        "unknown": case(ONLINE, outputs={"window": window()["window"]}),
    },
    "scheduler.rt-runtime-share": {
        "pass": case({FEATURES: "NO_RT_RUNTIME_SHARE WAKEUP_PREEMPTION\n"}),
        "fail": case({FEATURES: "RT_RUNTIME_SHARE WAKEUP_PREEMPTION\n"}),
        "unknown": case(LOCKED, refused={FEATURES: "denied: Operation not permitted"},
                        says="locked down (integrity)"),
        "unknown in the log": case(outputs={"dmesg": "Kernel is locked down from Kconfig"},
                                   says="locked down (on)"),
    },
    "scheduler.hrtick-deadline": {
        "pass": case({FEATURES: "NO_HRTICK HRTICK_DL\n"}),
        "fail": case({FEATURES: "HRTICK NO_HRTICK_DL\n"}, says="NO_HRTICK_DL |"),
        "fail before 5.12": case({FEATURES: "NO_HRTICK NO_DOUBLE_TICK\n"}, says="NO_HRTICK |"),
        "unknown": case(says="debugfs: root only"),
    },
}  # fmt: skip


def test_the_feature_is_switched_on_by_the_name_that_this_kernel_has() -> None:
    cases = CASES["scheduler.hrtick-deadline"]
    names = ("fail", "fail before 5.12")
    cures = [outcome("scheduler.hrtick-deadline", cases[name]).cure for name in names]
    assert cures == [f"echo {word} > {FEATURES}" for word in ("HRTICK_DL", "HRTICK")]


def test_the_fair_server_is_graver_for_who_never_sleeps() -> None:
    files = {**NEW, FAIR: "50000000\n"}
    assert outcome("scheduler.fair-server", case(files)).severity == "medium"
    assert outcome("scheduler.fair-server", case(files, workload="compute")).severity == "high"


def test_no_realtime_time_at_all_is_fatal_and_has_its_own_cure() -> None:
    result = outcome("scheduler.rt-bandwidth", case({**OLD, **limits(0)}))
    assert (result.severity, result.cure) == (
        "fatal", "sysctl -w kernel.sched_rt_runtime_us=950000",
    )  # fmt: skip


def asked(given: Case) -> set[int]:
    """Values of sched_rt_runtime_us that the cures of all checks ask for together."""
    cures = " ".join(
        outcome(id, given).cure for id in ("scheduler.rt-bandwidth", "scheduler.deadline-admission")
    )
    return {int(value) for value in re.findall(r"sched_rt_runtime_us=(-?\d+)", cures)}


@pytest.mark.parametrize("kernel", [OLD, NEW])
@pytest.mark.parametrize("option", ["RT_GROUP_SCHED=y", "SMP=y"])
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("runtime", [-1, 0, 950_000])
@pytest.mark.parametrize("reserved", ["", "5/10/10", "99/100/10"])
def test_cures_of_the_limit_do_not_go_in_circles(
    kernel: Mapping[str, str], option: str, workload: str, runtime: int, reserved: str
) -> None:
    outputs = {
        **window(*([DEADLINE] if reserved else [])),
        **config(option),
        "deadline-tasks": f"parameters: {reserved}\n",
    }

    def machine(value: int) -> Case:
        return case({**kernel, **limits(value)}, workload=workload, outputs=outputs)

    for _ in range(3):
        wanted = asked(machine(runtime))
        if not wanted:
            return
        assert len(wanted) == 1, "two checks contradict each other"
        (runtime,) = wanted
    pytest.fail("no value satisfies both")
