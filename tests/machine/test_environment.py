"""The environment against what proc(5), the kernel's documentation and real machines show."""

import json
from datetime import UTC, datetime

import pytest
from machines import ARM_BOARD, CPU, RT_KERNEL, VIRTUAL_MACHINE, replaced

from deadbeat.machine.host.environment import (
    core_kinds,
    environment_of,
    platform_from_environment,
    read_environment,
)
from deadbeat.machine.host.kernel import kernel_config
from deadbeat.machine.host.machine import read_machine
from deadbeat.machine.host.values import is_unknown, parse_cpu_list
from deadbeat.machine.targets import FakeTarget, LocalTarget

NOW = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
MACHINES = {"vm": VIRTUAL_MACHINE, "board": ARM_BOARD, "rt": RT_KERNEL, "nothing": {}}


def environment(files):
    return read_environment(files.get, now=NOW)


def platform(files, **changes):
    arguments = {"cpus": [0], "toolchain": "gcc 12.2", "flags": "-O2", "kind": "hardware"}
    return platform_from_environment(environment(files), **{**arguments, **changes})


@pytest.mark.parametrize("name", MACHINES)
def test_it_is_plain_json_with_the_same_keys_everywhere(name):
    found = environment(MACHINES[name])
    assert json.loads(json.dumps(found)) == found
    assert found.keys() == environment(VIRTUAL_MACHINE).keys()


def test_a_virtual_machine():
    found = environment(VIRTUAL_MACHINE)
    assert found["time"] == "2026-11-21T12:30:00.000+00:00"
    assert found["kernel"] == "6.18.44 #1 SMP PREEMPT_DYNAMIC @0"
    assert found["machine"] == "x86_64"
    assert found["soc"] == "Intel(R) Xeon(R) Processor (family 6 model 167 stepping 1)"
    assert (found["cpus_online"], found["cpus_allowed"], found["isolated"]) == ([0, 1], [0, 1], [])
    assert found["nohz_full"] == f"unknown: {CPU}/nohz_full cannot be read"
    assert found["governor"] == "none: no cpufreq driver"
    assert found["frequency_khz"] == {"0": 2700000, "1": 2700125}
    assert (found["virtual"], found["clocksource"]) == (True, "tsc")
    assert (found["rt_runtime_us"], found["rt_period_us"]) == (950000, 1000000)
    assert found["fair_server_runtime_ns"]["1"].endswith("default is 50 ms per second")
    assert is_unknown(found["throttle_counts"]["0"]["core"])
    assert is_unknown(found["thermal"])
    retbleed = "Mitigation: Enhanced IBRS"
    assert found["mitigations"] == {"meltdown": "Not affected", "retbleed": retbleed}
    assert found["memory"] == {
        "total_kb": 24684096,
        "available_kb": 24271524,
        "swap_total_kb": 0,
        "transparent_hugepage": "madvise",
    }
    assert found["loadavg"] == [0.06, 0.1, 0.07]
    assert found["limits"] == {
        "rtprio": {"soft": 0, "hard": 0},
        "memlock_bytes": {"soft": 8388608, "hard": -1},
        "rttime_us": {"soft": -1, "hard": -1},
    }
    assert found["cgroup"] == {
        "version": 1,
        "path": "/",
        "folder": "/sys/fs/cgroup/cpu",
        "rt_runtime_us": 950000,
        "rt_period_us": 1000000,
        "cfs_quota_us": -1,
    }


def test_ticks_leave_guest_time_out_because_it_is_part_of_user_time():
    found = environment(VIRTUAL_MACHINE)
    assert found["steal_ticks"] == {"0": 4, "1": 3}
    assert found["total_ticks"]["0"] == 2283 + 48 + 713 + 127907 + 15 + 0 + 34 + 4


def test_caches_and_topology():
    found = environment(VIRTUAL_MACHINE)["topology"]["1"]
    assert (found["core"], found["package"], found["siblings"]) == (1, 0, [1])
    assert found["caches"][1] == {
        "level": 3,
        "type": "Unified",
        "size_bytes": 480 * 2**20,
        "line_bytes": 64,
        "ways": 16,
        "shared_cpus": [0, 1],
    }


def test_an_arm_board():
    found = environment(ARM_BOARD)
    assert found["machine"] == "aarch64"
    assert found["soc"] == "Raspberry Pi 4 Model B Rev 1.4"
    assert (found["isolated"], found["nohz_full"]) == ([2, 3], [2, 3])
    assert is_unknown(found["cpus_allowed"])
    assert found["governor"] == {**dict.fromkeys("012", "performance"), "3": "ondemand"}
    assert found["frequency_khz"]["3"] == 1499997
    assert found["frequency_policy"]["boost"] == "0"
    basis = "/proc/device-tree/model is Raspberry Pi 4 Model B Rev 1.4"
    assert (found["virtual"], found["virtual_basis"]) == (False, basis)
    assert found["thermal"] == [{"zone": "cpu-thermal", "millidegrees": 48686}]
    assert found["topology"]["0"]["midr"] == "0x00000000410fd083"
    assert found["topology"]["0"]["caches"] == f"unknown: {CPU}/cpu0/cache cannot be read"
    assert is_unknown(found["cgroup"])


def test_kinds_of_cores_are_told_by_what_the_machine_shows_of_them():
    assert core_kinds(environment(VIRTUAL_MACHINE), [0, 1]) == (0, 0)
    assert core_kinds(environment({}), [0, 1, 2]) == (0, 0, 0)  # all equal as far as is known
    for name, text in (
        ("cpu_capacity", "446\n"),
        ("cpufreq/scaling_max_freq", "3600000\n"),
        ("cache/index1/size", "512K\n"),
        ("regs/identification/midr_el1", "0x410fd034\n"),
    ):
        other = replaced(VIRTUAL_MACHINE, {f"{CPU}/cpu1/{name}": text})
        assert core_kinds(environment(other), [1, 0, 1]) == (0, 1, 0), name


def test_a_realtime_kernel_with_control_groups_of_version_2():
    found = environment(RT_KERNEL)
    assert (found["preemption"], found["virtual"]) == ("rt", False)
    assert found["rt_runtime_us"] == -1
    assert found["nohz_full"] == []
    assert found["throttle_counts"] == {"0": {"core": 7, "package": 9}}
    assert found["cgroup"] == {
        "version": 2,
        "path": "/user.slice/session-1.scope",
        "folder": "/sys/fs/cgroup/user.slice/session-1.scope",
        "cpu_max": "max 100000",
    }
    assert not found["fair_server_runtime_ns"]["0"].endswith("per second")


def test_a_machine_that_shows_nothing_is_unknown_all_over():
    found = environment({})
    for key, value in found.items():
        if key not in ("time", "virtual_basis", "preemption_basis"):
            leaves = [value]
            while leaves:
                leaf = leaves.pop()
                if isinstance(leaf, dict):
                    leaves += leaf.values()
                else:
                    assert is_unknown(leaf), f"{key}: {leaf!r}"


def test_a_container_shows_a_part_of_the_hierarchy():
    files = {
        "/proc/self/cgroup": "1:cpu:/docker/abc/inner\n",
        "/proc/self/mountinfo": "9 1 0:2 /docker/abc /sys/fs/cgroup/cpu rw - cgroup x rw,cpu\n",
        "/sys/fs/cgroup/cpu/inner/cpu.rt_runtime_us": "0\n",
    }
    found = environment(files)["cgroup"]
    assert (found["folder"], found["rt_runtime_us"]) == ("/sys/fs/cgroup/cpu/inner", 0)


def test_the_root_group_of_version_2_has_no_cpu_max():
    files = replaced(RT_KERNEL, {"/proc/self/cgroup": "0::/\n"})
    assert environment(files)["cgroup"]["cpu_max"] == "none: root group"


def told(version, config=None):
    """What /proc/version and the configuration say."""
    return {"/proc/version": f"Linux version {version}\n", "/proc/config.gz": config}


BOOT = "/boot/config-6.18.44"
DYNAMIC = "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n"
UNDECIDED = "unknown: /proc/version does not decide it"


@pytest.mark.parametrize(
    ("files", "model", "basis"),
    [
        ({}, "none", "default of /proc/config.gz"),
        ({"/sys/kernel/debug/sched/preempt": "none voluntary (full) lazy\n"}, "full", "debug"),
        ({"/proc/cmdline": "preempt=none quiet preempt=voluntary\n"}, "voluntary", "command line"),
        ({"/proc/config.gz": None}, "unknown: PREEMPT_DYNAMIC", "PREEMPT_DYNAMIC"),
        ({"/proc/config.gz": None, BOOT: "CONFIG_PREEMPT_LAZY=y\n"}, "lazy", BOOT),
        ({"/sys/kernel/realtime": "1\n"}, "rt", "/sys/kernel/realtime"),
        ({"/proc/version": "Linux version 6.18.1 #1 SMP PREEMPT_RT\n"}, "rt", "/proc/version"),
        ({"/proc/version": "Linux version 4.9.1-rt1 #1 SMP PREEMPT RT\n"}, "rt", "/proc/version"),
        (told("6.1.0 #1 SMP PREEMPT_DYNAMIC", DYNAMIC), "voluntary", "default of"),
        (told("5.15.1 #1 SMP PREEMPT x"), "full", "/proc/version"),
        (told("6.13.1 #1 SMP PREEMPT x"), UNDECIDED, "none of"),
        (told("5.15.1 #1 SMP x"), UNDECIDED, "none of"),
        ({"/proc/version": "Linux version 5.15.1 #1 SMP x\n"}, "none", "/proc/config.gz"),
        (
            told("5.15.1 #1 SMP x", "CONFIG_X=y\n"),
            f"{UNDECIDED}, and /proc/config.gz",
            "names none",
        ),
    ],
)
def test_preemption_model(files, model, basis):
    found = environment(replaced(VIRTUAL_MACHINE, files))
    assert found["preemption"].startswith(model)
    assert basis in found["preemption_basis"]


@pytest.mark.parametrize(
    ("files", "virtual"),
    [
        ({"/sys/hypervisor/type": "xen\n"}, True),
        ({"/sys/class/dmi/id/product_name": "KVM Virtual Machine\n"}, True),
        ({"/proc/device-tree/model": "linux,dummy-virt\0"}, True),
        ({"/proc/device-tree/compatible": "linux,dummy-virt\0"}, True),
        ({"/sys/class/dmi/id/sys_vendor": "ASUS\n"}, False),
    ],
)
def test_virtual_without_processor_flags(files, virtual):
    assert environment(files)["virtual"] is virtual


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-2,5\n", [0, 1, 2, 5]), ("", []), ("(null)", []), ("7", [7])]
)
def test_cpu_lists(text, cpus):
    assert parse_cpu_list(text) == cpus


def test_a_damaged_file_is_unknown_with_what_it_holds():
    files = {f"{CPU}/isolated": "a-b\n", "/proc/sys/kernel/sched_rt_runtime_us": "many\n"}
    found = environment(files)
    assert found["isolated"] == f"unknown: {CPU}/isolated holds 'a-b'"
    assert found["rt_runtime_us"].endswith("holds 'many'")


def test_cpus_come_from_proc_stat_where_sysfs_is_absent():
    assert environment({"/proc/stat": VIRTUAL_MACHINE["/proc/stat"]})["cpus_online"] == [0, 1]


def test_kernel_config_says_where_it_looked():
    assert kernel_config({}.get)[0] == {}
    assert "/proc/config.gz" in str(kernel_config({}.get)[1])


def test_platform():
    found = platform(VIRTUAL_MACHINE, cpus=[0, 1])
    assert (found.name, found.kind, found.cpus) == ("vm", "hardware", (0, 1))
    assert (found.preemption, found.governor) == ("none", "none")
    assert found.details == environment(VIRTUAL_MACHINE)
    assert platform(VIRTUAL_MACHINE, name="bench").name == "bench"


def test_platform_of_a_board_names_mixed_governors():
    found = platform(ARM_BOARD)
    assert found.governor == "cpu0 performance, cpu1 performance, cpu2 performance, cpu3 ondemand"
    assert found.preemption == "full"


def test_platform_of_a_machine_that_shows_nothing():
    found = platform({})
    assert (found.preemption, found.governor) == ("unknown", "unknown")


@pytest.mark.parametrize(
    "path",
    [f"/proc/{n}" for n in ("version", "cmdline", "stat", "meminfo")]
    + ["/proc/sys/kernel/osrelease", "/proc/sys/kernel/hostname"]
    + [f"{CPU}/cpu1/cpufreq/scaling_cur_freq"],
)
def test_the_fingerprint_ignores_kernel_and_moment(path):
    other = replaced(ARM_BOARD, {path: "cpu0 9 9 9 9 9 9 9 9 9 9\n6.6.1\n"})
    assert platform(other).fingerprint == platform(ARM_BOARD).fingerprint


@pytest.mark.parametrize(
    "files",
    [
        {"/proc/device-tree/model": "Another board\0"},
        {f"{CPU}/cpu3/cpufreq/scaling_governor": "performance\n"},
        {f"{CPU}/cpu0/cpufreq/scaling_max_freq": "1800000\n"},
        {f"{CPU}/cpufreq/boost": "1\n"},
        {f"{CPU}/online": "0-2\n"},
        {f"{CPU}/cpu0/topology/thread_siblings_list": "0-1\n"},
        {f"{CPU}/cpu0/cache/index0/level": "1\n"},
        {f"{CPU}/cpu2/regs/identification/midr_el1": "0x410fd034\n"},
    ],
)
def test_the_fingerprint_covers_hardware_and_frequency_policy(files):
    assert platform(replaced(ARM_BOARD, files)).fingerprint != platform(ARM_BOARD).fingerprint


@pytest.mark.parametrize("change", [{"toolchain": "gcc 13"}, {"flags": "-O3"}])
def test_the_fingerprint_covers_the_toolchain(change):
    assert platform(ARM_BOARD, **change).fingerprint != platform(ARM_BOARD).fingerprint


def test_this_machine_can_be_read():
    with LocalTarget() as target:
        assert environment_of(target, now=NOW).keys() == read_environment({}.get, now=NOW).keys()
        found = environment_of(target, now=NOW)
    assert found["cpus_online"]
    assert set(found["steal_ticks"]) == {str(cpu) for cpu in found["cpus_online"]}
    assert found["limits"]["rtprio"]["soft"] >= -1


def test_a_target_is_asked_twice_whatever_its_size():
    asked = []
    target = FakeTarget(files=VIRTUAL_MACHINE)
    read_many = target.read_many
    target.read_many = lambda paths, commands=None: (
        asked.append(paths) or read_many(paths, commands)
    )
    assert environment_of(target, now=NOW) == environment(VIRTUAL_MACHINE)
    assert len(asked) == 2  # the second time for what depends on the first


_DYNAMIC = "Linux version 6.12.1 #1 SMP PREEMPT_DYNAMIC x"


@pytest.mark.parametrize(
    ("files", "model", "kept_in"),
    [
        (
            {"/proc/version": _DYNAMIC, "/proc/cmdline": "quiet preempt=none\n"},
            "none",
            "in the kernel, which preemption model none lets run on to its next voluntary point",
        ),
        (
            {"/proc/version": _DYNAMIC, "/proc/cmdline": "preempt=lazy\n"},
            "lazy",
            "in a part of the kernel that cannot be",
        ),
        ({"/sys/kernel/realtime": "1\n"}, "rt", "in a part of the kernel that cannot be"),
        (
            {"/proc/version": _DYNAMIC},
            None,
            "in a part of the kernel that cannot be, or of a kernel that does not preempt",
        ),
    ],
)
def test_where_a_thread_is_not_preempted_depends_on_the_model(
    files: dict[str, str], model: str | None, kept_in: str
) -> None:
    machine = read_machine(FakeTarget(files=files))
    assert (machine.preemption, machine.kept_in) == (model, kept_in)
