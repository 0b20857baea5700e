"""Rows of the Cortex-A8 study: two kernels, a board, and cores of their own."""

import json
from pathlib import Path

import pytest
from helpers.seed_rows import LAB, Row, chart, kernel_here, says, statements, stored, table


@pytest.mark.slow
@pytest.mark.hardware
def test_interrupt(row: Row) -> None:
    """From the interrupt of a device's timer, whose counter says when it was due."""
    kernel_here("cloud-amd64")
    found = row.answer("--kernels", "6.12-cloud-amd64", *LAB)["rows"]
    assert {each["engine"] for each in found} == {"hpet"}
    assert all(100 < each["corrected_p50_ns"] < 100_000 for each in found)


def test_two_kernels(row: Row) -> None:
    stored("A", preemption="rt")
    stored("B", scale=5.0, preemption="full")
    says(row.run(), "WORSE: B against A", r"p50 +worse +5.0 times \[5.0, 5.0\]")
    (histograms,), (tails,) = (
        chart(f"{name}-cpu-100-simulated")["panels"] for name in ("latencies", "tails")
    )
    assert [each["label"] for each in histograms["curves"]] == ["A (n = 6,000)", "B (n = 6,000)"]
    for each in histograms["curves"]:  # shares: both have the area of all wake-ups
        assert sum(y for y in each["y"] if y > min(each["y"])) == pytest.approx(1e6, rel=0.01)
    assert [max(each["y"]) for each in tails["curves"]] == pytest.approx([600, 3000], rel=1e-2)


def test_day(row: Row) -> None:
    row.takes()
    load = row.answer("--simulated", "--no-figures", "--duration", "2s", "--name", "s")["rows"][0]
    assert load["load"] == "mixed-100" and load["cycles"] >= 5 * 1900


@pytest.mark.slow
@pytest.mark.hardware
def test_arm(row: Row) -> None:
    kernel_here("armmp")
    found = row.answer(*LAB)
    assert found["labels"] == ["VIRTUAL-TIME"] and found["rows"][0]["cycles"] == 500
    assert 1000 < found["rows"][0]["corrected_p50_ns"] < 100_000
    says(Path(found["path"], "latency.json").read_text(), '"armv7')


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
    few = (*few, "--sync-share", "1", "--contended-ratio", "1", "--executor", "fake:contention=3")
    row.run(*few, "--name", "own")
    row.main("contention", "--random", *few, "--name", "all")
    own, others = (table(f"runs/{name}/summary.csv")[0] for name in ("own", "all"))
    assert own["critical_cores"] == "1" and float(own["slowdown_mean"]) < 1.1
    assert float(others["slowdown_mean"]) == pytest.approx(4, rel=0.05)


test_statement = statements({"forty-times": "hedera-rt hedera-none"})


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
