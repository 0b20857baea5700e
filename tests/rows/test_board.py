"""Rows of the Cortex-A8 study: two kernels, a board, and cores of their own."""

import json
import re
from pathlib import Path

import pytest
from helpers.seed_rows import Row, kernel_here, says, stated, stored, table

LAB = ("--quick", "--seeds", "1", "--loads", "idle", "--no-figures")


@pytest.mark.slow
@pytest.mark.hardware
def test_interrupt(row: Row) -> None:
    """From the interrupt of a device's timer, whose counter says when it was due."""
    kernel_here("cloud-amd64")
    out = row.run(*LAB, "--kernels", "6.12-cloud-amd64")
    says(out, "hpet", r"\d+\.\d")
    row.seen = "needs QEMU and kernels (lab fetch)"


def test_two_kernels(row: Row) -> None:
    stored("A", preemption="rt")
    stored("B", scale=5.0, preemption="full")
    says(row.run(), "600 µs on A and 3 ms on B: 5 times as late", r"median .* 5 \[5, 5\]")
    assert Path("runs/plot-two-kernels/two-kernels.png").stat().st_size > 10_000


def test_day(row: Row) -> None:
    row.run("--simulated", "--no-figures", "--time-budget", "1s", status=None)
    found = re.search(r"([\d,]+) runs: .* times (\d+) s", row.err)
    assert found
    load = row.answer("--simulated", "--no-figures", "--duration", "2s", "--name", "s")["rows"][0]
    assert load["load"] == "mixed-100" and load["cycles"] >= 5 * 1900
    row.takes(int(found[1].replace(",", "")) * int(found[2]))


@pytest.mark.slow
@pytest.mark.hardware
def test_arm(row: Row) -> None:
    kernel_here("armmp")
    says(row.run(*LAB), "VIRTUAL-TIME", r"\d+\.\d")
    row.seen = "needs QEMU and kernels (lab fetch)"


def test_features(row: Row) -> None:
    """The five things that the patch does, of a kernel that has them and one that has not."""
    names = ("PREEMPT_RT", "HIGH_RES_TIMERS", "RT_MUTEXES", "IRQ_FORCED_THREADING", "FUTEX_PI")
    states = []
    for text in ("y", "n"):
        Path("config").write_text("".join(f"CONFIG_{name}={text}\n" for name in names))
        Path("cmdline").write_text("threadirqs\n" if text == "y" else "highres=off\n")
        found = row.answer("--config", "config", "--cmdline", "cmdline", status=None)["checks"]
        states.append({each["id"]: each["status"] for each in found})
    wanted = {"kernel.preempt-rt", "kernel.high-res-timers", "cmdline.threadirqs"}
    assert {name for name in states[0] if states[0][name] == "pass" != states[1][name]} >= wanted


def test_own_core(row: Row) -> None:
    """Critical tasks on a core of their own are slowed down less than all are without one."""
    few = ("--no-figures", "--quick", "--cores", "2", "--sets", "4", "--duration", "0.1")
    row.run(*few, "--sync-share", "1", "--contended-ratio", "1", "--name", "own",
            "--executor", "fake:contention=3")  # fmt: skip
    (own,) = table("runs/own/summary.csv")
    assert own["critical_cores"] == "1" and float(own["slowdown_mean"]) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("what", ["forty-times"])
def test_statement(row: Row, what: str) -> None:
    stated(row, what, "hedera-rt hedera", "hedera-rt hedera-900", "hedera-rt hedera-none")


def test_domains(row: Row) -> None:
    """By hand: U = 0.35 + 0.14 on one processor, where EDF reaches 1; clock 0.49 / 0.7."""
    tasks = [("rt/control", 2, 10), ("rt/io", 3, 20), ("rest/log", 14, 100)]
    rows = [{"name": name, "wcet": wcet, "period": period} for name, wcet, period in tasks]
    found = row.answer(FILE=json.dumps({"processors": 1, "tasks": rows}))["budget"]
    assert found["demand"] == pytest.approx({"rt": 0.35, "rest": 0.14})
    assert found["fits"] and found["clock"] == pytest.approx(0.7)


@pytest.mark.slow
def test_spare(row: Row) -> None:
    """A core that is 70 % full: without contention deadlines hold, with it they do not. Fewer sets
    leave that open."""
    out = row.run("--simulated", "--no-figures", "--quick", "--sets", "30", "--duration", "0.1")
    says(out, "with 30 % of each core spare", r"ρ = 1, α = 1 .* fail ", r"α = 0 .* pass ")
