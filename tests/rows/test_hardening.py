"""Rows of the article on preemption and hardening: latency results, stored, simulated or booted."""

import re
from pathlib import Path

import pytest
from helpers.seed_rows import Row, kernel_here, says, stated, stored


def test_hour(row: Row) -> None:
    """The plan says what it takes in full; one second of each is run."""
    row.run("--simulated", "--no-figures", "--time-budget", "1s", status=None)
    found = re.search(r"([\d,]+) runs: .* times (\d+) s", row.err)
    assert found
    hours = int(found[1].replace(",", "")) * int(found[2])
    short = ("--simulated", "--no-figures", "--name", "short", "--repeats", "1")
    answer = row.answer(*short, "--duration", "1s")
    assert {each["load"] for each in answer["rows"]} >= {"idle", "cpu-100", "mixed-100"}
    assert all(each["cycles"] >= 900 for each in answer["rows"])
    row.takes(hours)


def test_load(row: Row) -> None:
    """What was asked beside what was reached, as counted."""
    out = row.run("--simulated", "--no-figures", "--duration", "1s", "--repeats", "2")
    says(out, "cpu 100 %", "cpu 50 %")
    half, full = (rf"cpu {share} % [^\n]* 100 %\n" for share in (50, 100))
    says(row.main("show", "latency"), "load reached", half, full)


def test_circumstances(row: Row) -> None:
    """Temperature, load and priority: beside the figures, run by run."""
    stored("seen")
    row.run("--no-figures", RUN="seen")
    page = Path("runs/seen/report.html").read_text(encoding="utf-8")
    for wanted in ("Temperature", "41 to 45 °C", "SCHED_FIFO 90", "load reached", r">50 %<"):
        says(page, wanted)


def test_throughput(row: Row) -> None:
    """What the loads got done beside the latencies: four fifths of it, for wake-ups as late."""
    stored("A")
    stored("B", rate=4.0)
    (found,) = row.answer()["comparisons"]
    (rate,) = (each for each in found["metrics"] if each["metric"] == "rate")
    assert rate["verdict"] == "worse" and -0.22 < rate["effect"] < -0.18


#: Picture -> what it says of a system whose wake-ups are five times as late.
LARGER = "B is larger under 3 of 3 loads than A"
PICTURES = {
    "preemption": (r"A has the lowest maximum .* under every load", r"B +cpu 100 % +3 ms"),
    "bsp": (f"Maximum .*{LARGER}", r"packages +64 +549"),
    "hardening": (f"Maximum .*{LARGER}", r"cpu 100 % +maximum of one run .* 5 \[5, 5\]"),
    "hardening-average": (f"Average.*{LARGER}", "took 6 h", r"cpu 100 % +average .* 5 \[5, 5\]"),
}


@pytest.mark.parametrize("picture", PICTURES)
def test_picture(row: Row, picture: str) -> None:
    stored("A", preemption="full", packages=64)
    stored("B", scale=5.0, preemption="none", packages=549)
    says(row.run(), "SIMULATED", *PICTURES[picture])
    assert Path(f"runs/plot-{picture}/{picture}.png").stat().st_size > 10_000


def test_cpus(row: Row) -> None:
    """A histogram for each CPU, and whether any two differ by more than chance."""
    stored("seen")
    says(row.run(RUN="seen"), "No two differ by more than chance", r"CPU 0 +3,000", r"CPU 1 +3,000")
    assert Path("runs/plot-per-cpu/per-cpu.png").stat().st_size > 10_000


def test_inventory(row: Row) -> None:
    found = {each["name"]: each for each in row.answer()["inventory"]}
    wanted = {"packages", "boot", "processes", "services-active", "services-running"}
    assert wanted <= found.keys()
    assert found["processes"]["value"] > 10
    assert all(each["value"] is not None or each["basis"] for each in found.values())


@pytest.mark.slow
@pytest.mark.hardware
def test_models(row: Row) -> None:
    """One kernel that boots with each model; instructions are counted, so figures repeat."""
    kernel_here("cloud-amd64")
    few = ("--kernels", "6.12-cloud-amd64", "--quick", "--seeds", "1", "--loads", "idle")
    says(row.run(*few, "--no-figures"), "full against .*none +VIRTUAL-TIME", r"p99 +[\d.]+ us")
    row.seen = "needs QEMU and kernels (lab fetch)"


#: Observation or statement -> results that confirm it, that refute it, that lack what it needs.
STATED = {
    "rt-below-150us": ("l-rt", "l-late", "l-none-low"),
    "stronger-preemption": ("l-none l-rt", "l-rt l-none-low"),
    "minimal-system": ("l-big l-mini", "l-mini l-big-fast"),
    "hardening-small": ("l-rt l-hard", "l-rt l-harder", "l-rt l-hard-full"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", STATED)
def test_statement(row: Row, what: str) -> None:
    stated(row, what, *STATED[what])
