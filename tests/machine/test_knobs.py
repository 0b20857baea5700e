"""Knobs on made-up machines: which files shall hold what, and why there is nothing to turn."""

import re
from pathlib import Path

import pytest
from helpers.row_cases import named

from deadbeat.base.model.errors import UsageError
from deadbeat.machine.settings.knob import all_knobs
from deadbeat.machine.settings.making import MAKES
from deadbeat.machine.settings.profile import all_profiles, find_profile, turns
from deadbeat.machine.settings.tuning_plan import plan
from deadbeat.machine.targets.fake import FakeTarget

CPU = "/sys/devices/system/cpu"
ONLINE = {f"{CPU}/online": "0-3\n", "/proc/cmdline": "root=/dev/sda1 ro quiet\n"}
THP = "/sys/kernel/mm/transparent_hugepage"
VM = "/proc/sys/vm"
KERNEL = "/proc/sys/kernel"
MODULE = "/sys/module"
TRACING = "/sys/kernel/tracing"
CLOCK = "/sys/devices/system/clocksource/clocksource0"
CHECK = "/sys/devices/system/machinecheck"
FAIR = "/sys/kernel/debug/sched/fair_server"
NET = "/sys/class/net/eth0"
_BUSY = "/proc/sys/net/core/busy"
_PREEMPT = "/sys/kernel/debug/sched/preempt"
_KFENCE = f"{MODULE}/kfence/parameters/sample_interval"


def of(folder: str, **texts: str) -> dict[str, str]:
    """Files of a folder."""
    return {f"{folder}/{name}": text for name, text in texts.items()}


def each_cpu(name: str, *texts: str, cpus: tuple[int, ...] = (0, 1, 2, 3)) -> dict[str, str]:
    return {f"{CPU}/cpu{cpu}/{name}": text for cpu, text in zip(cpus, texts, strict=False)}


def siblings(*lists: str) -> dict[str, str]:
    return each_cpu("topology/thread_siblings_list", *lists)


def tuned(folder: str, **values: str) -> list[tuple[str, str]]:
    return list(of(folder, **values).items())


Case = tuple[str, dict[str, str], list[tuple[str, str]]]
#: What is given, what the machine has, and what comes of it with CPUs 2 and 3 for real-time tasks;
#: "" stands for the first file that the machine has.
CASES: list[Case] = [
    ("busy-poll", {}, []),
    ("busy-poll=20", {f"{_BUSY}_read": "0", f"{_BUSY}_poll": "0"},
     [("", "20"), (f"{_BUSY}_poll", "20")]),
    ("clocksource", of(CLOCK, current_clocksource="hpet", available_clocksource="tsc hpet"),
     [("", "tsc")]),
    ("clocksource", of(CLOCK, current_clocksource="hpet", available_clocksource="hpet"), []),
    ("console", {f"{KERNEL}/printk": "7\t4\t1\t7"}, [("", "3 4 1 7")]),
    ("console", {f"{KERNEL}/printk": "1\t4\t1\t7"}, []),
    ("console=5", {f"{KERNEL}/printk": "1\t4\t1\t7"}, [("", "5 4 1 7")]),
    ("dirty-pages", of(VM, dirty_ratio="20", dirty_background_ratio="10", dirty_bytes="0"),
     tuned(VM, dirty_background_ratio="3", dirty_ratio="10")),
    ("dirty-pages", of(VM, dirty_ratio="0", dirty_background_ratio="10", dirty_bytes="1048576"),
     []),
    ("fair-server", {f"{FAIR}/cpu{c}/runtime": "50000000" for c in range(4)},
     [(f"{FAIR}/cpu2/runtime", "0"), (f"{FAIR}/cpu3/runtime", "0")]),
    ("fixed-frequency",
     {**each_cpu("cpufreq/scaling_min_freq", "800000", "800000", cpus=(2, 10)),
      **each_cpu("cpufreq/scaling_max_freq", "3000002", "3000010", cpus=(2, 10))},
     [("", "3000002"), (f"{CPU}/cpu10/cpufreq/scaling_min_freq", "3000010")]),
    ("governor",
     {**each_cpu("cpufreq/scaling_governor", "powersave", "powersave"),
      **each_cpu("cpufreq/scaling_available_governors", *["performance powersave"] * 2)},
     [("", "performance"), (f"{CPU}/cpu1/cpufreq/scaling_governor", "performance")]),
    ("governor=schedutil",
     of(f"{CPU}/cpu0/cpufreq", scaling_governor="powersave",
        scaling_available_governors="powersave"), []),
    ("governor", of(f"{CPU}/cpu0/cpufreq", scaling_governor="userspace"), []),
    ("huge-pages",
     {**of(THP, enabled="[always] madvise never", defrag="[always] never"),
      f"{THP}/khugepaged/defrag": "1"},
     [*tuned(THP, enabled="never", defrag="never"), (f"{THP}/khugepaged/defrag", "0")]),
    ("hung-task", {f"{KERNEL}/hung_task_timeout_secs": "120"}, [("", "600")]),
    ("hung-task", {f"{KERNEL}/hung_task_timeout_secs": "0"}, []),
    ("idle-states",
     {path: text
      for state, us in enumerate(("0", "2", "133"))
      for path, text in (*each_cpu(f"cpuidle/state{state}/latency", us, us, cpus=(1, 2)).items(),
                         *each_cpu(f"cpuidle/state{state}/disable", *"00", cpus=(1, 2)).items())},
     [(f"{CPU}/cpu2/cpuidle/state2/disable", "1")]),
    ("idle-states=1000", of(f"{CPU}/cpu2/cpuidle/state0", latency="0", disable="0"), []),
    ("irq-affinity", {f"/proc/irq/{n}/smp_affinity_list": cpus
                      for n, cpus in (("1", "0-3"), ("2", "1"), ("10", "3"))},
     [("", "0-1"), ("/proc/irq/10/smp_affinity_list", "0-1")]),
    ("irq-affinity", {"/proc/irq/2/smp_affinity_list": "1"}, []),
    ("kfence", {_KFENCE: "100", "/proc/version": "Linux 6.1.0"}, [("", "0")]),
    ("kfence", {_KFENCE: "100", "/proc/version": "Linux 5.15.0"}, []),
    ("machine-checks", of(f"{CHECK}/machinecheck0", check_interval="300", ignore_ce="0"),
     tuned(f"{CHECK}/machinecheck0", check_interval="0", ignore_ce="1")),
    ("packet-steering",
     {f"{NET}/queues/{name}": cpus for name, cpus in (
         ("rx-0/rps_cpus", "f"), ("rx-1/rps_cpus", "00,00000000"), ("tx-0/xps_cpus", "4"))},
     [("", "3"), (f"{NET}/queues/tx-0/xps_cpus", "3")]),
    ("preemption", {_PREEMPT: "none (voluntary) full"}, [("", "full")]),
    ("preemption=lazy", {_PREEMPT: "none (voluntary) full"}, []),
    ("rt-bandwidth", of(KERNEL, sched_rt_runtime_us="950000", sched_rt_period_us="1000000"),
     [("", "-1")]),
    ("rt-bandwidth=2000000",
     of(KERNEL, sched_rt_runtime_us="950000", sched_rt_period_us="1000000"), []),
    ("smt=off", {f"{CPU}/smt/control": "on", **siblings("0")}, [("", "off")]),
    ("smt", siblings("0", "1-2", "1-2", "3"), [(f"{CPU}/cpu1/online", "0")]),
    ("smt", siblings("0,3", "1-2", "1-2", "0,3"), []),
    ("smt", siblings("0-1", "0-1", "2-3", "2-3"), []),
    ("stat-interval", {f"{VM}/stat_interval": "60"}, []),
    ("stat-interval=10", {f"{VM}/stat_interval": "60"}, [("", "10")]),
    ("tracing",
     {**of(TRACING, set_event="sched:sched_switch\nirq:irq_handler_entry", current_tracer="nop"),
      f"{TRACING}/instances/a/set_event": "",
      **of(f"{TRACING}/instances/b", set_event="sched:sched_waking", current_tracer="function")},
     [("", ""), *tuned(f"{TRACING}/instances/b", set_event="", current_tracer="nop")]),
    ("tracing", of(TRACING, set_event="", current_tracer="nop"), []),
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": "0"}, [("", "1")]),
    ("turbo", {f"{CPU}/cpufreq/boost": "1"}, [("", "0")]),
    ("watchdogs", of(KERNEL, watchdog="1", soft_watchdog="1", nmi_watchdog="0"),
     [(f"{KERNEL}/soft_watchdog", "0")]),
]  # fmt: skip
#: Those without a function.
PLAIN = [each.name for each in all_knobs().values() if not (each.boot or each.name in MAKES)]
BOOT = {
    "boot-isolation": ["isolcpus=managed_irq,domain,2-3", "rcu_nocbs=2-3", "irqaffinity=0-1"],
    "boot-no-tick": ["nohz_full=2-3"],
    "boot-nosmt": ["nosmt"],
}


@pytest.mark.parametrize(("word", "machine", "wanted"), CASES)
def test_a_knob_writes_what_it_should(
    word: str, machine: dict[str, str], wanted: list[tuple[str, str]]
) -> None:
    target = FakeTarget(files=ONLINE | {path: f"{text}\n" for path, text in machine.items()})
    (item,) = plan(target, turns((), [word]), rt_cpus=(2, 3)).items
    expected = [(path or next(iter(machine)), value) for path, value in wanted]
    assert [(each.path, each.value) for each in item.settings] == expected
    assert bool(item.missing) == (not expected)
    assert len(item.missing.splitlines()) < 2


@pytest.mark.parametrize("name", PLAIN)
def test_a_knob_without_code_writes_its_value_into_all_its_files(name: str) -> None:
    knob = all_knobs()[name]
    files = {named(path, 2): "7\n" for path in knob.paths or (knob.path,)}
    word = f"{name}={knob.value}" if knob.value else name
    (item,) = plan(FakeTarget(files=ONLINE | files), turns((), [word]), rt_cpus=(2, 3)).items
    filled = {"{others}": "0-1", "{others_mask}": "3"}
    value = filled.get(knob.writes, knob.writes) or knob.value
    assert [(each.path, each.value) for each in item.settings] == [(path, value) for path in files]


@pytest.mark.parametrize("name", BOOT)
def test_a_knob_of_the_boot_gives_words(name: str) -> None:
    planned = plan(FakeTarget(files=ONLINE), turns([name]), rt_cpus=(2, 3))
    assert planned.settings == ()
    assert planned.boot is not None
    assert list(planned.boot.add) == BOOT[name]
    assert planned.boot.whole == " ".join(["root=/dev/sda1 ro quiet", *BOOT[name]])


def parsed(mask: str, cpus: int) -> set[int] | None:
    """As lib/bitmap-str.c of Linux (bitmap_parse) takes a mask; None: EOVERFLOW or EINVAL."""
    chunks = mask.split(",")
    if len(chunks) > -(-cpus // 32) or not all(re.fullmatch("[0-9a-f]{1,8}", c) for c in chunks):
        return None
    bits = sum(int(chunk, 16) << 32 * place for place, chunk in enumerate(reversed(chunks)))
    return {cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1}


@pytest.mark.parametrize("cpus", [8, 32, 33, 64, 72, 256])
def test_the_kernel_takes_the_masks_of_a_machine_of_any_size(cpus: int) -> None:
    full = ",".join(["ffffffff"] * (cpus // 32) + ["ff"])
    files = {
        f"{CPU}/online": f"0-{cpus - 1}\n",
        "/proc/irq/default_smp_affinity": full,
        "/sys/devices/virtual/workqueue/cpumask": full,
        "/sys/devices/virtual/workqueue/writeback/cpumask": full,
        f"{NET}/queues/rx-0/rps_cpus": full,
        f"{NET}/queues/tx-0/xps_cpus": full,
    }
    names = ["default-irq-affinity", "packet-steering", "workqueues"]
    planned = plan(FakeTarget(files=files), turns(names), rt_cpus=(1, cpus - 1))
    masks = [each.value for each in planned.settings if each.form == "mask"]
    assert len(masks) == 5
    wanted = set(range(cpus)) - {1, cpus - 1}
    assert [parsed(mask, cpus) for mask in masks] == [wanted] * 5, masks


def test_every_knob_is_tried_and_says_what_it_is() -> None:
    tried = {word.partition("=")[0] for word, _, wanted in CASES if wanted}
    assert set(MAKES) <= tried <= set(all_knobs())
    for knob in all_knobs().values():
        assert not knob.boot or not (knob.paths or knob.name in MAKES), knob.name
        assert knob.title and knob.why and knob.source, knob.name
        assert not knob.value or knob.allows(knob.value), knob.name
        assert not knob.allows("\n"), knob.name


def test_a_machine_that_has_nothing_misses_every_knob_for_a_reason() -> None:
    planned = plan(FakeTarget(files=ONLINE), turns(list(all_knobs())), rt_cpus=(2,))
    runtime = [item for item in planned.items if not item.knob.boot]
    assert [item.knob.name for item in runtime if not item.missing or item.good] == []
    assert planned.settings == ()


def test_without_a_cpu_left_nothing_is_sent_to_the_others() -> None:
    machine = ONLINE | {"/proc/irq/default_smp_affinity": "f\n"}
    names = ["default-irq-affinity", "boot-isolation", "boot-no-tick"]
    planned = plan(FakeTarget(files=machine), turns(names), rt_cpus=(0, 1, 2, 3))
    assert (planned.settings, planned.boot) == ((), None)
    assert all("none is left" in item.missing for item in planned.items)


def test_managed_interrupts_are_told_and_left_alone() -> None:
    rows = "     CPU0 CPU1 CPU2 CPU3\n 36: 0 0 0 9 PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0\n"
    lists = {f"/proc/irq/{n}/smp_affinity_list": "0-3\n" for n in (36, 37, 41)}
    listed = "-r--r--r-- 1 root root 0 Nov 22 12:18 /proc/irq/41/smp_affinity\n"
    target = FakeTarget(
        files={**ONLINE, **lists, "/proc/interrupts": rows}, outputs={"irq-modes": listed}
    )
    planned = plan(target, turns((), ["irq-affinity"]), rt_cpus=(2, 3))
    assert [each.path for each in planned.settings] == ["/proc/irq/37/smp_affinity_list"]
    assert [(each.path, each.outcome, each.old) for each in planned.left] == [
        (f"/proc/irq/{n}/smp_affinity_list", "left", "0-3") for n in (36, 41)
    ]
    assert {planned.knob_of(path) for path in lists} == {"irq-affinity"}


def test_a_knob_whose_files_are_all_the_kernels_own_is_not_possible() -> None:
    rows = " CPU0 CPU1\n 36: 0 0 PCI-MSIX-0000:00:02.0 1-edge nvme0q1\n"
    target = FakeTarget(
        files={**ONLINE, "/proc/irq/36/smp_affinity_list": "0-3\n", "/proc/interrupts": rows}
    )
    (item,) = plan(target, turns((), ["irq-affinity"]), rt_cpus=(2, 3)).items
    assert (item.settings, item.refused, len(item.left)) == ((), False, 1)
    assert item.missing.startswith("none of 1 files: managed")


def test_a_cpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="CPU 4 is not online"):
        plan(FakeTarget(files=ONLINE), turns(["ksm"]), rt_cpus=(3, 4))


def test_two_knobs_do_not_fight_over_a_file() -> None:
    machine = ONLINE | {f"{CPU}/smt/control": "on\n", f"{CPU}/intel_pstate/no_turbo": "0\n"}
    same = turns((), ["turbo=off"])
    assert len(plan(FakeTarget(files=machine), [*same, *same]).settings) == 1
    with pytest.raises(UsageError, match=r"turbo wants .*no_turbo to hold 1, turbo 0"):
        plan(FakeTarget(files=machine), [*same, *turns((), ["turbo=on"])])


def test_profiles_are_whole_and_all_of_them_can_be_put_back() -> None:
    assert set(all_profiles()) == {"compute", "low-latency-network", "realtime"}
    risky = {"rt-bandwidth", "fair-server", "turbo", "tracing", "rcu-stall"}
    for profile in all_profiles().values():
        knobs = [turn.knob for turn in turns(profile.words)]
        assert len(knobs) == len(profile.words)
        assert [knob.name for knob in knobs if knob.irreversible] == []
        assert not risky & {knob.name for knob in knobs}
        names = [knob.name for knob in knobs]
        assert names.index("energy-preference") < names.index("governor")
        assert profile.title and profile.why


def test_a_word_of_a_person_comes_after_the_profile(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('title = "mine"\nknobs = ["swappiness=20", "ksm"]\n')
    profile = find_profile(str(file))
    found = turns(profile.words, ["swappiness=5", "stat-interval"])
    assert [(t.knob.name, t.value, t.exact) for t in found] == [
        ("ksm", "2", False),
        ("swappiness", "5", True),
        ("stat-interval", "10", False),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("knobs = [", "not TOML"),
        ("knobs = []", "knobs is not a list"),
        ("", "knobs is not a list"),
        ("knobs = [1]", "knobs is not a list"),
        ('knobs = ["ksn"]\n', 'there is no knob "ksn": did you mean ksm?'),
        ('knobs = ["ksm"]\ntitel = "x"', '"titel" is unknown: did you mean title?'),
        ('knobs = ["ksm=7", "swappiness=x"]', 'swappiness: "x" is not possible: 0 to 200'),
        ('knobs = ["workqueues=3"]', 'workqueues: "3" is not possible: no value'),
        ('knobs = ["ksm"]\ntitle = 3', "title is not text"),
    ],
)
def test_a_profile_that_is_wrong_says_where(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        find_profile(str(file))
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_profile_that_is_not_there_names_the_near_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean realtime"):
        find_profile("real-time")
    with pytest.raises(UsageError, match="No such file"):
        find_profile(str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match="directory"):
        find_profile(f"{tmp_path}/")
