"""Another machine's kernel by its files, against what its configuration and command line say: built
without what its command line asks for."""

import gzip
import json
import re
from pathlib import Path

import pytest

from deadbeat.cli.main import main
from deadbeat.machine.targets.local import LocalTarget

CONFIG = """\
CONFIG_NR_CPUS=4
CONFIG_PREEMPT=y
# CONFIG_PREEMPT_RT is not set
CONFIG_HZ=250
CONFIG_DEBUG_PREEMPT=y
CONFIG_PROVE_LOCKING=y
"""
CMDLINE = "console=ttymxc0,115200 root=/dev/mmcblk0p2 isolcpus=3 nohz_full=3 rcu_nocbs=3\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.config").write_text(CONFIG)
    (tmp_path / "config.gz").write_bytes(gzip.compress(CONFIG.encode()))
    (tmp_path / "a.cmdline").write_text(CMDLINE)
    monkeypatch.chdir(tmp_path)

    def reads(*_: object, **__: object) -> None:
        raise AssertionError("facts of this machine")

    monkeypatch.setattr(LocalTarget, "run", reads)
    monkeypatch.setattr(LocalTarget, "read_text", reads)
    return tmp_path


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, dict[str, dict[str, str]]]:
    assert main(["doctor", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return found["headline"], {check["id"]: check for check in found["results"]["checks"]}


@pytest.mark.parametrize("config", ["a.config", "config.gz"])
def test_both_files(folder: Path, capsys: pytest.CaptureFixture[str], config: str) -> None:
    headline, checks = asked(capsys, "--config", config, "--cmdline", "a.cmdline")
    assert config in headline and "a.cmdline" in headline
    for name, words in {
        "kernel.preempt-rt": "CONFIG_PREEMPT_RT is not set",
        "cmdline.nohz-full": "nohz_full=3 ignored: the kernel is built without NO_HZ_FULL",
        "cmdline.rcu-nocbs": "rcu_nocbs=3 ignored: the kernel is built without RCU_NOCB_CPU",
        "kernel.lockdep": "CONFIG_PROVE_LOCKING=y",
        "kernel.debug": "CONFIG_DEBUG_PREEMPT=y",
    }.items():
        check = checks[name]
        assert check["status"] == "fail"
        assert f"{check['found']} {check['reason']}".startswith(words)
    for name in ("power.governor", "watchdogs.psi", "memory.swap", "scheduler.rt-throttling"):
        assert checks.get(name, {"status": "unknown"})["status"] == "unknown"


def test_one_file_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, checks = asked(capsys, "--config", "a.config")
    assert checks["kernel.preempt-rt"]["status"] == "fail"
    assert checks["cmdline.threadirqs"]["status"] == "unknown"
    _, checks = asked(capsys, "--cmdline", "a.cmdline")
    assert checks["kernel.preempt-rt"]["status"] == "unknown"
    assert checks["cmdline.threadirqs"]["status"] == "fail"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--config", "a.cmdline"), "has no line CONFIG_"),
        (("--cmdline", "a.config"), "is a build configuration"),
        (("--config", "nothing"), "cannot read --config nothing"),
        (("--config", "a.config", "--target", "ssh://board"), "exclude each other"),
    ],
)
def test_what_is_no_such_file_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    assert main(["doctor", *words]) in (2, 3)  # of use, of data
    assert says in capsys.readouterr().err


def told(check: dict[str, str]) -> str:
    return f"{check['status']} {check['severity']} {check['found']} – {check['reason']}"


@pytest.mark.parametrize(
    ("words", "id", "says"),
    [
        # kernel/sched/isolation.c
        ("isolcpus=0-1 nohz_full=0-1", "housekeeping", "fail high .*CPU 0 has duties"),
        (
            "isolcpus=managed_irq,domain,4-15 irqaffinity=0-8",
            "housekeeping",
            "fail high .*interrupts are sent to isolated CPUs 4-8",
        ),
        ("isolcpus=4-15 irqaffinity=0-8", "irqaffinity", "fail .*may go to CPUs 4-8"),
        ("isolcpus=4-15 irqaffinity=0-3", "irqaffinity", "pass"),
        ("isolcpus=4-15 irqaffinity=0-3", "housekeeping", "pass"),
        ("isolcpus=nohz,domain,managed_irq,2-7 compute", "nohz-full", "pass .*2-7"),
        ("isolcpus=nohz,domain,2-7", "lists-agree", "pass .*isolcpus: 2-7, nohz_full: 2-7"),
        ("nohz_full=2-7 nohz=off compute", "nohz-full", "fail .*every CPU keeps its tick"),
        ("isolcpus=1-3 isolcpus=2-3", "isolation", "pass .*1-3"),
        ("isolcpus=1-3 isolcpus=2-3", "lists-agree", "fail high isolcpus=2-3 .*earlier word"),
        ("isolcpus=2-3,managed_irq,domain nohz_full=2-3", "lists-agree", "fail high .*is no list"),
        ("isolcpus=2-3,managed_irq,domain nohz_full=2-3", "managed-irq", "fail"),
        ("isolcpus=2-3,managed_irq,domain nohz_full=2-3", "isolation", "fail .*none .*CPUs 2-3"),
        ("quiet", "isolation", "fail .*any CPU"),
        ("quiet", "irqaffinity", "fail .*any CPU"),
        ("nr_cpus=2 isolcpus=1-3", "lists-agree", "fail .*there is no CPU 2-3"),
        ("isolcpus=0-N", "isolation", "unknown"),
        ("skew_tick=1", "skew-tick", "pass"),
        ("isolcpus=1", "skew-tick", "fail"),
        ("tsc=reliable", "tsc", "pass"),
        ("idle=poll", "idle-poll", "fail"),
        ("idle=poll", "max-cstate", "pass"),
        ("nosoftlockup nmi_watchdog=0", "watchdogs", "pass"),
        ("rcupdate.rcu_normal_after_boot=1", "rcu-expedited", "pass"),
        ("rcutree.kthread_prio=50", "rcu-priority", "fail"),
        ("isolcpus=2-3 -- nohz_full=3", "lists-agree", "pass .*isolcpus: 2-3 –"),
    ],
)
def test_boot_words_decide(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, id: str, says: str
) -> None:
    line, compute, _ = words.partition(" compute")
    (folder / "b.cmdline").write_text(f"root=/dev/sda1 {line}\n")
    more = ("--workload", "compute") if compute else ()
    _, checks = asked(capsys, "--cmdline", "b.cmdline", *more)
    assert re.match(says, told(checks[f"cmdline.{id}"])), told(checks[f"cmdline.{id}"])


@pytest.mark.parametrize(
    ("options", "id", "says"),
    [
        ("PREEMPT=y PREEMPT_RT_FULL=y PREEMPT_RT_BASE=y", "preempt-rt", "pass .*RT_FULL"),
        ("PREEMPT=y PREEMPT_RT_FULL=y PREEMPT_RT_BASE=y", "preemption", "pass .*rt"),
        ("PREEMPT=y PREEMPT_RT_BASE=y PREEMPT_RTB=y", "preempt-rt", "fail fatal .*RT_BASE"),
        ("IRQ_PIPELINE=y DOVETAIL=y EVL=y", "preempt-rt", "fail low co-kernel EVL, DOVETAIL"),
        ("IPIPE=y XENOMAI=y", "preempt-rt", "fail low co-kernel XENOMAI, IPIPE"),
        ("DOVETAIL=y PREEMPT_RT=y", "preempt-rt", "pass"),
        ("EVL=y DEBUG_IRQ_PIPELINE=y DEBUG_DOVETAIL=y", "debug", "fail high .*DEBUG_DOVETAIL"),
        ("HZ=100", "high-res-timers", "fail"),
        ("HZ=100", "tick", "pass .*periodic"),
    ],
)
def test_build_options_decide(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, id: str, says: str
) -> None:
    (folder / "b.config").write_text("".join(f"CONFIG_{each}\n" for each in options.split()))
    _, checks = asked(capsys, "--config", "b.config")
    assert re.match(says, told(checks[f"kernel.{id}"])), told(checks[f"kernel.{id}"])


def test_threads_of_interrupts_of_a_kernel_built_with_preempt_rt(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "b.config").write_text("CONFIG_PREEMPT_RT=y\n")
    _, checks = asked(capsys, "--config", "b.config", "--cmdline", "a.cmdline")
    assert checks["cmdline.threadirqs"]["status"] == "pass"
