"""Rows of the article on preemption and hardening: latency results, stored, simulated or booted."""

import subprocess
from pathlib import Path

import pytest
from helpers.seed_rows import LAB, Row, chart, kernel_here, says, statements, stored


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


#: Picture -> panels of latency against load that it has, and what is said of a system whose
#: wake-ups are five times as late.
PICTURES = {
    "preemption": (("Maximum", "Maximum of one run"), r"max worse: 5.0 times .*preemption +full"),
    "bsp": (("Maximum", "Mean"), r"packages +64 +549"),
    "hardening": (("Maximum", "Maximum of one run"), r"\(init_on_alloc\) +off: .* on: "),
    "hardening-average": (("Maximum", "Mean"), r"mean worse: 5.0 times"),
}


@pytest.mark.parametrize("picture", PICTURES)
def test_picture(row: Row, picture: str) -> None:
    states = ({"hardening": {"init-on-alloc": f"{x}: init_on_alloc"}} for x in ("off", "on"))
    stored("A", preemption="full", packages=64, details=next(states))
    stored("B", scale=5.0, preemption="none", packages=549, details=next(states))
    titles, told = PICTURES[picture]
    says(row.run("--all"), told)
    says(row.main("show", "compare-A-B"), "SIMULATED")
    drawn = {each["title"]: each for each in chart("against-load-simulated")["panels"]}
    for panel in (drawn[title] for title in titles):
        assert panel["categories"] == ["idle", "cpu 50 %", "cpu 100 %"]
        one, two = (each for each in panel["curves"] if each["label"])
        assert (one["label"], two["label"]) == ("A", "B")
        assert two["y"] == pytest.approx([5 * each for each in one["y"]], rel=1e-2)
    assert max(drawn["Maximum"]["curves"][-1]["y"]) == pytest.approx(3000, rel=1e-2)  # us


def test_cpus(row: Row) -> None:
    """A histogram for each CPU, and whether any two differ by more than chance."""
    stored("A")
    stored("B", scale=5.0)
    row.run()
    panels = chart("cpus-simulated-cpu-050")["panels"]
    assert [each["title"] for each in panels] == [f"{x}: 6,000 wake-ups, 6 runs, 3 s" for x in "AB"]
    for panel in panels:
        assert [each["label"][:5] for each in panel["curves"]] == ["CPU 0", "CPU 1"]
        assert sum(y for y in panel["curves"][0]["y"] if y >= 1) == 3000
    page = Path("runs/compare-A-B/compare.html").read_text(encoding="utf-8")
    says(page, "B: no two CPUs differ by more than chance")


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
    found = row.answer(*LAB)["comparisons"]
    effects = {each["other"]: each["metrics"][0]["effect"] for each in found}
    assert len(effects) == 11 and {each["baseline"] for each in found} == {"lab-soft"}
    assert effects["lab-all"] >= effects["lab-mitigations"] > 0.01


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
