"""What the kernel was told at boot, against the documents of its parameters."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from helpers.checks import Case, Cases, case, config, outcome

from deadbeat.machine.host.cmdline import boot_cpus, cpus_listed
from deadbeat.machine.host.values import cpus_text
from deadbeat.machine.settings.facts import gather
from deadbeat.machine.targets.fake import FakeTarget

CPU = "/sys/devices/system/cpu"
RCU = "/sys/module/rcupdate/parameters"
PATIENCE = "/sys/module/rcutree/parameters/nohz_full_patience_delay"
FLAGS = "flags\t\t: fpu tsc constant_tsc nonstop_tsc tsc_adjust\n"
NEW = {"/proc/version": "Linux version 6.12.1 (x)"}


def boot(words: str, **files: str) -> dict[str, str]:
    """Four CPUs that were booted with ``words``; ``isolated`` and ``nohz_full`` as sysfs."""
    named = {f"{CPU}/{name}": text for name, text in files.items()}
    return {"/proc/cmdline": words, f"{CPU}/online": "0-3", f"{CPU}/isolated": "\n", **named}


def counted(sockets: int, release: str) -> dict[str, str]:
    """A processor with a steady counter, on so many sockets."""
    ids = "".join(f"physical id : {n}\n" for n in range(sockets))
    return {**boot(""), "/proc/cpuinfo": FLAGS + ids, "/proc/version": f"Linux version {release}"}


def idle(driver: str, words: str = "") -> Case:
    return case({**boot(words), f"{CPU}/cpuidle/current_driver": driver})


def words(
    good: str, *bad: str, says: str = "", rt_cpus: tuple[int, ...] = (2, 3)
) -> Mapping[str, Case]:
    """A check of the command line alone."""
    return {
        "pass": case(boot(good), rt_cpus=rt_cpus),
        "fail": case(boot("quiet=1 root=/dev/vda"), rt_cpus=rt_cpus),
        **{f"fail {each}": case(boot(each), rt_cpus=rt_cpus, says=says) for each in bad},
        "unknown": case(refused={"/proc/cmdline": "denied: no"}, rt_cpus=rt_cpus),
    }


def expedited(after: str, normal: str) -> dict[str, str]:
    names = ("rcu_normal_after_boot", "rcu_normal", "rcu_expedited")
    return {f"{RCU}/{n}": v for n, v in zip(names, (after, normal, "0"), strict=True)}


CASES: Cases = {
    "cmdline.isolation": {
        "pass": case(boot("", isolated="2-3"), rt_cpus=(2, 3)),
        "fail": case(boot("", isolated="2"), rt_cpus=(2, 3), says="may run on CPU 3"),
        "fail guessed": case(boot(""), rt_cpus=None, says="CPUs 1-3 (assumed)"),
        "unknown": case({"/proc/cmdline": ""}),
        "unknown alone": case(boot("", online="0"), rt_cpus=(0,), says="none is left"),
    },
    "cmdline.managed-irq": words("isolcpus=managed_irq,domain,2-3", "isolcpus=2-3"),
    "cmdline.nohz-full": {
        "pass": case(boot("", nohz_full="2-3"), rt_cpus=(2, 3), workload="compute"),
        "pass mixed": case(boot("")),
        "pass periodic": case(boot(""), workload="periodic"),
        "fail": case(boot("", nohz_full="(null)"), workload="compute"),
        "fail periodic": case(boot("", nohz_full="1"), workload="periodic"),
        "fail off": case(boot("nohz=off", nohz_full="1"), workload="compute", says="keeps its"),
        "fail not built": case(boot("nohz_full=1"), outputs=config("HZ=250"), says="without NO_HZ"),
    },
    "cmdline.rcu-nocbs": {
        **words("rcu_nocbs=2-3", "rcu_nocbs=0-1", says="CPUs 2-3"),
        "pass all": case(boot("rcu_nocbs=all")),
        "fail default": case(
            boot("rcu_nocbs=0"), outputs=config("RCU_NOCB_CPU=y", "RCU_NOCB_CPU_DEFAULT_ALL=y")
        ),
    },
    "cmdline.rcu-nocb-poll": {
        "pass": case(boot("rcu_nocbs=1 rcu_nocb_poll")),
        "pass none": case(boot(""), says="nothing is offloaded"),
        "fail": case(boot("rcu_nocbs=1")),
    },
    "cmdline.irqaffinity": words("irqaffinity=0-1", "irqaffinity=0-2", says="to CPU 2"),
    "cmdline.skew-tick": {
        **words("skew_tick=1", "skew_tick=0"),
        "pass alone": case(boot("", online="0")),
    },
    "cmdline.tsc": {
        "pass": case({**boot("tsc=reliable"), "/proc/cpuinfo": "flags : tsc\n"}),
        "pass arm": case({**boot(""), "/proc/cpuinfo": "Features : fp\n"}, says="x86"),
        "fail": case({**boot(""), "/proc/cpuinfo": "flags : tsc\n"}),
        "fail large": case(counted(5, "6.12.1")),
        "unknown": case(boot("")),
        "pass 5.16": case(counted(2, "5.16.0")),
        "fail three sockets": case(counted(3, "6.5.0")),
        "pass 6.6": case(counted(4, "6.6.0")),
    },
    "cmdline.watchdogs": {
        "pass": case(boot("nowatchdog")),
        "pass parts": case(
            boot("nosoftlockup nmi_watchdog=0") | {"/proc/sys/kernel/watchdog": "1"}
        ),
        "pass not built": case(boot("")),
        "fail": case(
            boot("nosoftlockup") | {"/proc/sys/kernel/watchdog": "0"}, says="nmi_watchdog"
        ),
    },
    "cmdline.max-cstate": {
        "pass": idle("acpi_idle", "processor.max_cstate=1"),
        "pass intel": idle("intel_idle", "intel_idle.max_cstate=0"),
        "pass poll": idle("acpi_idle", "idle=poll"),
        "pass guest": idle("haltpoll"),
        "fail": idle("acpi_idle"),
        "fail deep": idle("intel_idle", "intel_idle.max_cstate=6"),
        "unknown": case(boot("")),
    },
    "cmdline.idle-poll": {
        "pass": case(boot("")),
        "fail": case({**boot("idle=poll"), "/proc/cpuinfo": "flags : tsc\n"}),
        "fail guest": case(
            {**boot("idle=poll"), "/proc/cpuinfo": "flags : tsc hypervisor\n"}, says="guest"
        ),
    },
    "cmdline.pstate": {
        "pass": case(boot("intel_pstate=disable")),
        "pass driver": case({**boot(""), f"{CPU}/cpu0/cpufreq/scaling_driver": "acpi-cpufreq\n"}),
        "fail": case({**boot(""), f"{CPU}/amd_pstate/status": "active"}, says="amd_pstate active"),
        "unknown": case(boot(""), says="no frequency driver"),
    },
    "cmdline.threadirqs": {
        **words("threadirqs"),
        "pass rt": case({**boot(""), "/sys/kernel/realtime": "1"}),
    },
    "cmdline.irqpoll": {
        "pass": case(boot("quiet -- irqpoll")),
        "fail": case(boot("quiet irqpoll"), says="irqpoll"),
        "unknown": case(refused={"/proc/cmdline": "denied: no"}),
    },
    "cmdline.kthread-cpus": {
        **words("kthread_cpus=0-1", "kthread_cpus=0-3"),
        "pass isolated": case(boot("", isolated="2-3"), rt_cpus=(2, 3)),
        "fail not known": case(
            boot("kthread_cpus=0"),
            outputs={"dmesg": 'Unknown kernel command line parameters "kthread_cpus=0", will'},
            says="not known to this kernel",
        ),
    },
    "cmdline.rcu-expedited": {
        "pass": case({**boot(""), **expedited("1", "0")}),
        "pass rt": case({**boot(""), "/sys/kernel/realtime": "1"}),
        "fail": case({**boot(""), **expedited("0", "0")}),
        "unknown": case(boot("")),
    },
    "cmdline.rcu-patience": {
        "pass": case({**boot("", nohz_full="1"), PATIENCE: "1000"}),
        "pass none": case(boot("")),
        "fail": case({**boot("", nohz_full="1"), PATIENCE: "0"}),
        "unknown": case(boot("", nohz_full="1")),
    },
    "cmdline.serial-console": {
        "pass": case({**boot(""), "/sys/class/tty/console/active": "tty0\n"}),
        "fail": case({**boot(""), "/sys/class/tty/console/active": "ttyAMA0"}, says="ttyAMA0"),
    },
    "cmdline.quiet": {
        **words("quiet", "loglevel=7", "quiet loglevel=7"),
        "fail": case(boot("root=/dev/vda")),
        "pass 4": case(boot("loglevel=4")),
        "fail 5": case(boot("loglevel=5")),
    },
    "cmdline.unknown": {
        "pass": case(NEW, outputs={"dmesg": "[0.0] Command line: quiet"}),
        "fail": case(
            outputs={
                "dmesg": '[0.0] Unknown kernel command line parameters "isolcpu=1 nohz_ful=1",'
                " will be passed to user space."
            },
            says="isolcpu=1, nohz_ful=1",
        ),
        "unknown": case(NEW),
        "pass 5.14": case(
            {"/proc/version": "Linux version 5.14.0"}, outputs={"dmesg": "Command line: x"}
        ),
    },
    "cmdline.lists-agree": {
        "pass": case(boot("isolcpus=managed_irq,2-3 nohz_full=2-3 rcu_nocbs=2,3")),
        "pass last": case(boot("isolcpus=2-3 rcu_nocbs=0-N")),
        "fail other": case(boot("isolcpus=2-3 nohz_full=1-2"), says="isolcpus: 2-3"),
        "fail beyond": case(
            boot("isolcpus=domain,4-7 nohz_full=4-7"), says="there is no CPU 4-7 (the last is 3)"
        ),
        "fail some": case(boot("isolcpus=2-9999999"), says="there is no CPU 4-9999999"),
        "fail": case(boot("isolcpus=2-3 rcu_nocbs=0-1"), says="isolcpus: 2-3, rcu_nocbs: 0-1"),
        "fail flags": case(boot("isolcpus=2,domain"), says="drops it: 'domain' is no list"),
        "fail kept": case(boot("nohz_full=0-3"), says="CPU 0, which boots, stays"),
    },
    "cmdline.housekeeping": {
        "pass": case(boot("", isolated="1-3"), says="housekeeping: 0"),
        "fail": case(boot("", isolated="0-1"), says="CPU 0 has duties"),
        "fail none": case(boot("", isolated="0-3"), says="no CPU is left"),
        "fail interrupts": case(boot("irqaffinity=2", isolated="2-3"), says="isolated CPUs 2"),
    },
}


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        # kernel-parameters.rst, "cpu lists"
        ("1-4", {1, 2, 3, 4}),
        ("0-7:2/4", {0, 1, 4, 5}),
        ("ALL:1/2", {0, 2, 4, 6}),
        ("1 3", {1, 3}),
        ("0,2-3,7", {0, 2, 3, 7}),
        ("2-N", {2, 3, 4, 5, 6, 7}),
        ("N", {7}),
        ("all", set(range(8))),
        ("", set()),
        ("1,rubbish,3", {1}),
    ],
)
def test_lists_of_cpus_at_boot_are_read_as_the_kernel_reads_them(text: str, cpus: set[int]) -> None:
    assert cpus_listed(text, 8).cpus == cpus


TABLE = Path(__file__).parents[1] / "pools/foreign/boot-words.tsv"
ROWS = [row.split("\t") for row in TABLE.read_text().splitlines() if not row.startswith("#")]


def named(cpus: frozenset[int] | None) -> str:
    return "-" if cpus is None else cpus_text(cpus)


@pytest.mark.parametrize("row", ROWS, ids=[row[6] for row in ROWS])
def test_boot_words_come_to_what_the_kernel_makes_of_them(row: list[str]) -> None:
    cpus, *wanted, line, dropped = row
    made = boot_cpus(line.replace("\\t", "\t"), int(cpus))
    lists = (made.isolated, made.tickless, made.managed, made.offloaded, made.irqs)
    assert [named(each) for each in lists] == wanted
    assert (" | ".join(word for word, _ in made.dropped) or "-") == dropped


def test_a_kernel_without_full_tickless_drops_the_whole_word() -> None:
    made = boot_cpus("isolcpus=nohz,managed_irq,2 nohz_full=2", 4, {"NO_HZ": "y", "NR_CPUS": "3"})
    assert made.managed == made.tickless == frozenset()
    assert [why for _, why in made.dropped] == ["the kernel is built without NO_HZ_FULL"] * 2
    assert boot_cpus("isolcpus=3", 8, {"NR_CPUS": "3"}).isolated == frozenset()


def test_words_of_the_command_line() -> None:
    line = 'dyndbg="file a.c +p" console=tty0 console=ttyS0 rcu-nocbs=1 quiet -- quiet loglevel=9'
    facts = gather(FakeTarget(files={"/proc/cmdline": line}), [])
    assert facts.arguments("console") == ["tty0", "ttyS0"]
    assert facts.argument("rcu_nocbs") == "1"
    assert facts.argument("dyndbg") == "file a.c +p"
    assert facts.argument("quiet") == ""
    assert facts.argument("loglevel") is None
    assert facts.argument("a.c") is None


@pytest.mark.parametrize(
    ("id", "cure"),
    [
        ("cmdline.isolation", "boot with isolcpus=managed_irq,domain,2-3"),
        ("cmdline.managed-irq", "boot with isolcpus=managed_irq,domain,2-3"),
        ("cmdline.nohz-full", "boot with nohz_full=1"),
        ("cmdline.rcu-nocbs", "boot with rcu_nocbs=2-3"),
        ("cmdline.irqaffinity", "boot with irqaffinity=0-1"),
    ],
)
def test_the_cure_has_the_cpus_filled_in(id: str, cure: str) -> None:
    assert outcome(id, CASES[id]["fail"]).cure.startswith(cure)
    assert outcome(id, CASES[id]["pass"]).cure == ""
