"""Doctor and tune agree: a check that fails passes once the knob that cures it has been turned."""

import re
from collections.abc import Sequence

import pytest
import test_knobs as t
from helpers.row_cases import cases_of

from deadbeat.base.model.tuning import Setting
from deadbeat.machine.settings.check import all_checks
from deadbeat.machine.settings.doctor import examine
from deadbeat.machine.settings.doctor_summary import Advice, advised
from deadbeat.machine.settings.knob import all_knobs
from deadbeat.machine.settings.profile import turns
from deadbeat.machine.settings.rows import rows
from deadbeat.machine.settings.tuning_plan import merged, plan
from deadbeat.machine.targets.fake import FakeTarget

RT = (2, 3)
CPU, KERNEL, VM, THP = t.CPU, t.KERNEL, t.VM, t.THP
CPUS = range(4)
#: A machine on which all that can be turned stands wrong.
BAD = {
    f"{CPU}/online": "0-3",
    f"{CPU}/present": "0-3",
    f"{CPU}/isolated": "",
    f"{CPU}/smt/active": "1",
    f"{CPU}/smt/control": "on",
    f"{CPU}/cpuidle/current_driver": "intel_idle",
    "/proc/cmdline": "root=/dev/sda1 ro",
    "/proc/version": "Linux version 6.12.0 (gcc) #1 SMP PREEMPT_DYNAMIC",
    "/proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel\nflags : constant_tsc tsc\n",
    "/proc/swaps": "Filename Type Size Used Priority\n/dev/sda2 partition 1048576 0 -2\n",
    f"{t.CLOCK}/current_clocksource": "hpet",
    f"{t.CLOCK}/available_clocksource": "tsc hpet acpi_pm",
    "/proc/irq/default_smp_affinity": "f",
    "/proc/irq/9/smp_affinity_list": "3",
    f"{KERNEL}/sched_rt_runtime_us": "950000",
    f"{KERNEL}/sched_rt_period_us": "1000000",
    f"{KERNEL}/timer_migration": "1",
    f"{KERNEL}/watchdog": "1",
    f"{KERNEL}/soft_watchdog": "1",
    f"{KERNEL}/nmi_watchdog": "1",
    f"{KERNEL}/watchdog_cpumask": "0-3",
    f"{VM}/compaction_proactiveness": "20",
    f"{VM}/compact_unevictable_allowed": "1",
    f"{VM}/dirty_ratio": "20",
    f"{VM}/dirty_background_ratio": "10",
    f"{VM}/dirty_bytes": "0",
    f"{VM}/swappiness": "60",
    f"{THP}/enabled": "[always] madvise never",
    f"{THP}/defrag": "[always] defer defer+madvise madvise never",
    f"{THP}/khugepaged/defrag": "1",
    "/sys/kernel/debug/sched/preempt": "none (voluntary) full",
    "/sys/devices/virtual/workqueue/cpumask": "f",
    "/sys/devices/virtual/workqueue/writeback/cpumask": "f",
    f"{t.MODULE}/kfence/parameters/sample_interval": "100",
    f"{t.MODULE}/pcie_aspm/parameters/policy": "default performance [powersave]",
    f"{t.NET}/queues/rx-0/rps_cpus": "f",
    f"{t.NET}/queues/tx-0/xps_cpus": "f",
    "/sys/bus/pci/devices/0000:01:00.0/link/l1_aspm": "1",
    f"{CPU}/intel_pstate/no_turbo": "0",
    **{
        f"{t.TRACING}{place}/{name}": text
        for place in ("", "/instances/mine")
        for name, text in (("set_event", "sched:sched_switch"), ("current_tracer", "function"))
    },
    **{f"{t.FAIR}/cpu{c}/runtime": "50000000" for c in CPUS},
    **{f"{CPU}/cpu{c}/cpufreq/scaling_governor": "powersave" for c in CPUS},
    **{f"{CPU}/cpu{c}/cpufreq/scaling_min_freq": "800000" for c in CPUS},
    **{f"{CPU}/cpu{c}/cpufreq/scaling_max_freq": "3000000" for c in CPUS},
    **{f"{CPU}/cpu{c}/cpuidle/state{s}/latency": f"{s * 60}" for c in CPUS for s in range(3)},
    **{f"{CPU}/cpu{c}/cpuidle/state{s}/disable": "0" for c in CPUS for s in range(3)},
    **{f"{CPU}/cpu{c}/power/pm_qos_resume_latency_us": "0" for c in CPUS},
    **{f"{CPU}/cpu{c}/topology/thread_siblings_list": f"{c % 2},{c % 2 + 2}" for c in CPUS},
    **{f"{t.CHECK}/machinecheck{c}/check_interval": "300" for c in CPUS},
    **{f"{t.CHECK}/machinecheck{c}/ignore_ce": "0" for c in CPUS},
}
OUTPUTS = {
    "kernel-config": "CONFIG_KFENCE=y\nCONFIG_NUMA_BALANCING=y\nCONFIG_RCU_NOCB_CPU=y\n"
    "CONFIG_RT_GROUP_SCHED=y\n",
    "dmesg": "",
}
#: What the other file of two alternatives says.
MORE = {
    "energy-bias": {f"{CPU}/cpu{c}/power/energy_perf_bias": "6" for c in CPUS},
    "energy-preference": {
        f"{CPU}/cpu{c}/cpufreq/energy_performance_preference": "balance_power" for c in CPUS
    },
}
#: What a check reads that a made-up machine cannot show: what the boot made of its words, where
#: interrupts went, all slab caches at once.
UNSEEN = {
    ("boot-isolation", "cmdline.isolation"),
    ("boot-no-tick", "cmdline.nohz-full"),
    ("boot-nosmt", "power.smt"),
    ("boot-preempt", "kernel.preemption"),
    ("boot-rcu-normal", "cmdline.rcu-expedited"),
    ("irq-affinity", "interrupts.placement"),
    ("slab-partial", "kernel.slub-partial"),
}
#: Rows that have a failing case of their own.
ROWS = {
    row.set.name: row
    for row in rows().values()
    if row.set and row.fails and row.set.path in ("", row.path)
}
OWN = {(name, row.id) for name, row in ROWS.items()}
CURES = {(name, id) for name, knob in all_knobs().items() for id in knob.cures}


def hold(machine: dict[str, str], settings: Sequence[Setting]) -> dict[str, str]:
    """What the kernel would make of the settings."""
    after = dict(machine)
    for each in settings:
        text = after.get(each.path, "")
        plain = re.sub(r"[\[\]()]", "", text).split()
        marks = "()" if "(" in text else "[]"
        if each.form == "selected" and each.value in plain:
            after[each.path] = " ".join(
                f"{marks[0]}{word}{marks[1]}" if word == each.value else word for word in plain
            )
        else:
            after[each.path] = each.value
            # kernel/watchdog.c: kernel.watchdog reads as either of the two
            both = (after.get(f"{KERNEL}/soft_watchdog"), after.get(f"{KERNEL}/nmi_watchdog"))
            after[f"{KERNEL}/watchdog"] = str(int(both != ("0", "0")))
        if offline := re.fullmatch(rf"{CPU}/cpu(\d+)/online", each.path):
            rest = [c for c in CPUS if c != int(offline[1])]
            after[f"{CPU}/online"] = ",".join(map(str, rest))
    return after


def status(machine: dict[str, str], id: str) -> str:
    target = FakeTarget(
        files={path: f"{text}\n" for path, text in machine.items()}, outputs=OUTPUTS
    )
    checks = [check for check in all_checks() if check.id == id]
    (result,) = examine(target, rt_cpus=RT, checks=checks, workload="compute").results
    return result.status


def test_every_check_that_a_knob_names_is_there() -> None:
    assert {id for _, id in CURES} <= {check.id for check in all_checks()}
    assert UNSEEN <= CURES


@pytest.mark.parametrize("name", ROWS)
def test_a_knob_cures_what_its_row_shows_as_failing(name: str) -> None:
    row = ROWS[name]
    failing = next(given for word, given in cases_of(row).items() if word.startswith("fail"))
    machine = {**failing.files, f"{CPU}/online": "0-3"}
    planned = plan(FakeTarget(files=machine), turns((), [name]), rt_cpus=RT)
    after = hold(machine, planned.settings)
    assert (status(machine, row.id), status(after, row.id)) == ("fail", "pass")


@pytest.mark.parametrize(("name", "id"), sorted(CURES - UNSEEN - OWN))
def test_a_knob_cures_the_checks_that_it_names(name: str, id: str) -> None:
    machine = {**BAD, **MORE.get(name, {})}
    if name == "smt":
        siblings = enumerate(("0", "1-2", "1-2", "3"))  # CPU 0 cannot go offline
        machine |= {f"{CPU}/cpu{c}/topology/thread_siblings_list": text for c, text in siblings}
    target = FakeTarget(files={path: f"{text}\n" for path, text in machine.items()})
    planned = plan(target, turns([name]), rt_cpus=RT)
    after = hold(machine, planned.settings)
    if planned.boot is not None:
        after["/proc/cmdline"] = planned.boot.whole
    assert (status(machine, id), status(after, id)) == ("fail", "pass")


def test_what_fails_leads_to_the_profile_that_cures_it() -> None:
    advice = advised(["kernel.preempt-rt", "memory.swap", "memory.merging"], workload="mixed")
    assert advice == Advice(
        profile="realtime", knobs=("swappiness", "ksm"), checks=("memory.swap", "memory.merging")
    )
    compute = advised(["power.fixed-frequency"], workload="compute")
    assert (compute.profile, compute.knobs) == ("compute", ("fixed-frequency",))


def test_what_no_profile_cures_leads_to_none() -> None:
    # By words for the boot, by what has to be asked for by name, and by nothing.
    failing = ["cmdline.irqaffinity", "power.smt-siblings", "scheduler.rt-bandwidth", "x"]
    assert advised(failing, workload="mixed") is None


def test_words_come_after_what_is_there_and_before_what_is_for_the_first_process() -> None:
    line = merged(
        "BOOT_IMAGE=/vmlinuz initrd=/i root=/dev/sda1 ro quiet -- --verbose", ["a=1", "b"]
    )
    assert line.whole == "root=/dev/sda1 ro quiet a=1 b -- --verbose"
    assert (line.add, line.replaced, line.already) == (("a=1", "b"), (), ())


def test_a_word_of_the_same_name_goes_whatever_its_dashes() -> None:
    line = merged("isolcpus=1 skew-tick=0 rcu_nocbs=2-3 quiet", ["isolcpus=2-3", "skew_tick=1"])
    assert line.whole == "rcu_nocbs=2-3 quiet isolcpus=2-3 skew_tick=1"
    assert line.replaced == ("isolcpus=1", "skew-tick=0")


def test_what_is_there_already_stays_where_it_is() -> None:
    line = merged("nosmt quiet", ["nosmt", "nosmt"])
    assert (line.whole, line.add, line.already) == ("nosmt quiet", (), ("nosmt",))


def test_blanks_in_quotes_are_part_of_a_word() -> None:
    line = merged('dyndbg="file a.c +p" quiet\n', ["dyndbg=x"])
    assert line.whole == "quiet dyndbg=x"
    assert line.replaced == ('dyndbg="file a.c +p"',)
