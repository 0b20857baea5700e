"""Rows of the article on preemption and hardening: latency results, stored, simulated or booted."""

import re
import subprocess
from pathlib import Path

import pytest
from helpers.seed_rows import LAB, Row, kernel_here, says, statements, stored


def test_hour(row: Row) -> None:
    """The plan says what it takes in full; one second of each is run."""
    row.takes()
    short = ("--simulated", "--no-figures", "--name", "short", "--repeats", "1")
    answer = row.answer(*short, "--duration", "1s")
    assert {each["load"] for each in answer["rows"]} >= {"idle", "cpu-100", "mixed-100"}
    assert all(each["cycles"] >= 900 for each in answer["rows"])


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
    """One kernel that boots with each model, and says so."""
    kernel_here("cloud-amd64")
    found = row.answer("--kernels", "6.12-cloud-amd64", *LAB)
    assert [each["preemption"] for each in found["campaigns"]] == ["none", "full"]
    (p99,) = found["comparisons"][0]["metrics"][0]["cells"]
    assert 1000 < p99["baseline"] < 100_000 > p99["other"] > 1000  # ns, in virtual time


@pytest.mark.slow
@pytest.mark.hardware
def test_hardened(row: Row) -> None:
    """Each measure alone and all of them against none, by their effect: all cost most."""
    kernel_here("rt-amd64")
    out = row.run(*LAB)
    effects = dict(re.findall(r"^(\S+) +[\d.]+ µs .*? ([+-][\d.]+)%", out, re.M))
    assert len(effects) == 12 and float(effects["soft"]) == 0
    assert float(effects["all"]) >= float(effects["mitigations"]) > 1


@pytest.mark.slow
@pytest.mark.hardware
def test_rootfs(row: Row, tmp_path: Path) -> None:
    """A system that starts eight processes beside one that starts none: what runs in each."""
    kernel_here("cloud-amd64")
    Path("init.c").write_text(
        "#include <unistd.h>\n"
        "int main(void) { for (int i = 0; i < 7 && fork(); i++); for (;;) pause(); }\n"
    )
    Path("root/sbin").mkdir(parents=True)
    subprocess.run(["gcc", "-static", "-o", "root/sbin/init", "init.c"], check=True)
    subprocess.run(["tar", "cf", "image.tar", "-C", "root", "."], check=True)
    out = row.run("--kernels", "6.12-cloud-amd64", *LAB, **{"IMAGE.tar": "image.tar"})
    says(out, r"amd64: .*\b1 processes", r"amd64-image: .*\b9 processes")


#: Statement -> results that lack what it needs here.
test_statement = statements({
    "rt-below-150us": "l-none-low", "stronger-preemption": "", "minimal-system": "",
    "hardening-small": "l-rt l-hard-full",
})  # fmt: skip
