"""Rows of the paper: task sets, grids and random mixes, on made-up machines."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.pages import Page
from helpers.programs import ROOT, command_of
from helpers.seed_rows import Row, says, statements, table
from helpers.sshd import Sshd

from deadbeat.tasksets.store.jobfile import read_job_table

SIMULATED = ("--simulated", "--no-figures")
QUICK = (*SIMULATED, "--quick", "--duration", "0.1", "--name", "c")
GRID = (*QUICK, "--sets", "1", "--sync-share", "0,1", "--contended-ratio", "0,1")
RANDOM = (*QUICK, "--sets", "4")
#: On a real machine, as short as it can be.
HERE = ("--no-figures", "--cores", "2", "--sets", "3", "--duration", "0.2", "--name", "c",
        "--set", "calibration.seconds=10", "--set", "calibration.prices=0")  # fmt: skip
Sets = list[dict[str, str]]


def surfaces(page: str) -> dict[str, list[float]]:
    """The heights of each surface of a page: rows of a synchronisation share."""
    charts = json.loads(Page(Path(page).read_text(encoding="utf-8")).scripts[1])["charts"]
    heats = {each["name"]: each["panels"][-1]["heat"] for each in charts}
    return {name: [cell["value"] for cells in heat["cells"] for cell in cells]
            for name, heat in heats.items() if heat}  # fmt: skip


def has(name: str, *values: float) -> Callable[[Sets], bool]:
    """Whether the sets have these values of a column, and no other."""
    return lambda sets: {float(each[name]) for each in sets} == {*values}


def near(real: str, asked: str, most: float) -> Callable[[Sets], bool]:
    """Whether what the sets got is what was asked of them."""
    return lambda sets: all(abs(float(each[real]) - float(each[asked])) <= most for each in sets)


@pytest.mark.parametrize(
    ("more", "fits"),
    [
        pytest.param(GRID, [has("cores", 1, 2)], id="cores"),
        pytest.param(GRID, [has("tasks", 5), has("cores", 2)], id="tasks"),
        pytest.param(
            QUICK,
            [has("sync_share", 0, 1), has("contended_ratio", 0, 1),
             near("sync_share_real", "sync_share", 0.02)],
            id="shares",
        ),
        pytest.param(GRID, [has("deadline_factor", 2, 10), has("utilisation", 0.1, 0.2, 0.5, 1)],
                     id="deadlines"),
        pytest.param(
            (*RANDOM, "--cores", "2", "--tasks-per-core", "3"),
            [lambda sets: all(abs(float(each["utilisation"]) - 0.8) < 0.02 for each in sets)],
            id="utilisation",
        ),
    ],
)  # fmt: skip
def test_sets(row: Row, more: tuple[str, ...], fits: list[Callable[[Sets], bool]]) -> None:
    row.run(*more)
    sets = table("runs/c/sets.csv")
    assert sets and all(each(sets) for each in fits)


def shown(row: Row) -> list[Any]:
    """The tasks of every set of the campaign."""
    keys = [each["key"] for each in table("runs/c/sets.csv")]
    found = [row.main("show", "c", "--task-set", key, "--json") for key in keys]
    return [task for each in found for task in json.loads(each)["results"]["tasks"]]


def test_model(row: Row) -> None:
    """Segments of both kinds, objects that are shared or a core's own, costs that sum up to C;
    how slowdown, delay ratio and misses of random sets are distributed."""
    row.run(*RANDOM, "--cores", "2,random", "--executor", "fake:cores=4")
    tasks = shown(row)
    segments = [segment for task in tasks for segment in task["segments"]]
    assert {segment["kind"] for segment in segments} == {"NS", "SY"}
    objects = {str(use["object"]) for segment in segments for use in segment["uses"]}
    assert {"None", "own"} < objects
    assert all(task["period_ns"] == task["deadline_ns"] for task in tasks)
    groups = table("runs/c/summary.csv")
    assert [each["group"] for each in groups] == ["M=2", "random"]
    sets = [float(each["delay_ratio_mean"]) for each in table("runs/c/sets.csv")
            if each["group"] == "M=2"]  # fmt: skip
    assert float(groups[0]["delay_ratio_max"]) == pytest.approx(max(sets))
    assert min(sets) <= float(groups[0]["delay_ratio_p50"]) <= max(sets)
    says(Path("runs/c/report.html").read_text(encoding="utf-8"), "SIMULATED", "sets that miss|miss")


def test_grid(row: Row) -> None:
    """A point's delay ratio is the mean of its sets', its miss ratio that of their jobs."""
    row.run(*QUICK, "--sets", "2", "--set", "tasks.deadline_factor=1", "--executor", "fake")
    points, sets = table("runs/c/summary.csv"), table("runs/c/sets.csv")
    assert len(points) == 18
    axes = ("cores", "sync_share", "contended_ratio")
    for point in points:
        mine = [each for each in sets if all(each[axis] == point[axis] for axis in axes)]
        ratios = [float(each["delay_ratio_mean"] or 0) for each in mine]
        if point["delay_ratio_mean"] and all(ratios):
            mean = sum(ratios) / len(ratios)
            assert float(point["delay_ratio_mean"]) == pytest.approx(mean, rel=1e-6)
        missed = sum(int(each["deadline_misses"]) for each in mine)
        released = sum(int(each["released"]) for each in mine)
        assert float(point["deadline_miss_ratio"]) == pytest.approx(missed / released, abs=1e-6)
    assert max(float(point["deadline_miss_ratio"]) for point in points) > 0.1


def test_segments(row: Row) -> None:
    row.run(*RANDOM, "--random")
    counts = {len(task["segments"]) for task in shown(row)}
    assert max(counts) <= 4 and len(counts) > 1


def test_distribution(row: Row) -> None:
    Path("own.txt").write_text("100us 3\n400us 1\n", encoding="utf-8")
    row.run(*QUICK, "--random", "--sets", "12", FILE="own.txt")
    assert {round(task["wcet_ns"], -5) for task in shown(row)} == {100_000, 400_000}


def test_packing(row: Row) -> None:
    """Costs of fragments sum up to C within 1 %."""
    row.run(*SIMULATED, "--sets", "1", "--duration", "0.1", "--name", "c")
    tasks = shown(row)
    assert len(tasks) > 18
    assert all(abs(task["cost_ns"] / task["wcet_ns"] - 1) < 0.01 for task in tasks)


@pytest.mark.slow
@pytest.mark.hardware
def test_memory(row: Row) -> None:
    """By fragments that the made-up machine does not have."""
    row.run("--random", *HERE, "--sync-share", "0")
    used = [use["fragment"] for task in shown(row) for segment in task["segments"]
            for use in segment["uses"]]  # fmt: skip
    memory = {"dijkstra", "pointer_chase", "memory_stream"}
    assert 0 < sum(each in memory for each in used) < len(used)


def test_fragments(row: Row) -> None:
    """Kernels of several scales; objects that a core has alone, and ones that all share."""
    found = row.answer()["fragments"]
    kernels = [each for each in found if each["kind"] == "NS"]
    objects = [each for each in found if each["kind"] == "SY"]
    assert len(kernels) >= 20 and all(len(each["sizes"]) >= 3 for each in kernels)
    assert {"mutex", "semaphore", "queue"} <= {each["resource_class"] for each in objects}
    alone = {each["name"] for each in objects if not each["parallel"]}
    assert len(objects) >= 20
    assert alone == {"mmap_unmap", "mq_sysv", "mutex_ceiling", "signal_realtime"}


def test_calibration(row: Row) -> None:
    """A cost on each core for each size of each fragment, which sets are then made of."""
    row.run("--simulated", "--out", "map.json", "--duration", "100s")
    costs = json.loads(Path("map.json").read_text(encoding="utf-8"))["costs"]
    assert len(costs) > 40 and all(len(cores) == 2 for cores in costs.values())
    assert all(cost["first_ps"] > 0 for cores in costs.values() for cost in cores)
    row.main("contention", "--random", *RANDOM, "--calibration", "map.json",
             "--set", "calibration.pool=full")  # fmt: skip
    used = {f"{use['fragment']}/{use['size']}" for task in shown(row)
            for segment in task["segments"] for use in segment["uses"]}  # fmt: skip
    assert used <= costs.keys()


def test_cold(row: Row) -> None:
    """Means of every fragment on each core, warm and cold, with how many uses each is of."""
    lines = row.run("--simulated").splitlines()
    says("\n".join(lines[:2]), "mean", r"warm n +warm first", r"cold n +cold first")
    rows = [line.replace(",", "").split() for line in lines[2:] if re.match(r"\S+/\d+ ", line)]
    assert {each[1] for each in rows} == {"0", "1"}
    assert len(rows) > 80 and all(float(each[-1]) > float(each[3]) > 0 for each in rows)


def test_set(row: Row) -> None:
    row.main("contention", "--random", *RANDOM)
    key = table("runs/c/sets.csv")[0]["key"]
    says(row.run(RUN="c", KEY=key), r"t0 on core 0, priority \d+: C = [\d.]+ µs, T = .*, D = ",
         r"\|[·▒█|]+\|", "segment  fragment +size", r"0 (NS|SY) +\w+")  # fmt: skip


def test_tables(row: Row) -> None:
    row.main("contention", *GRID)
    row.run(RUN="c", DIR="out")
    for name in ("summary.csv", "sets.csv"):
        stored = [{**row, "label": "SIMULATED"} for row in table(f"runs/c/{name}")]
        assert table(f"out/{name}") == stored
    assert len(list(Path("runs/c/jobs").glob("*.jobs"))) == len(table("runs/c/sets.csv"))


@pytest.mark.slow
def test_page(row: Row) -> None:
    """Five values an axis: a surface of each number of cores, and how the sets are spread."""
    axes = ("--sync-share", "0,0.25,0.5,0.75,1", "--contended-ratio", "0,0.25,0.5,0.75,1")
    row.main("contention", *GRID, *axes)
    row.run("--no-figures", RUN="c")
    heights = surfaces("runs/c/report.html")
    for cores in (1, 2):
        found = [float(each["slowdown_mean"]) for each in table("runs/c/summary.csv")
                 if each["cores"] == str(cores)]  # fmt: skip
        assert heights[f"slowdown-m{cores:03}"] == pytest.approx(found, rel=1e-4)
    assert heights["slowdown-m002"][-1] == pytest.approx(1.6, rel=0.05)
    page = Page(Path("runs/c/report.html").read_text(encoding="utf-8")).data()
    (counts,) = (each[6] for each in page["distributions"] if each[:4] == [2, 1, 1, "slowdown"])
    assert sum(counts) == int(table("runs/c/summary.csv")[-1]["jobs"]) > 100


def test_identical(row: Row) -> None:
    row.main("contention", *GRID)
    row.run(*SIMULATED, "--name", "again", RUN="c")
    first, again = ({each["key"]: each["set_id"] for each in table(f"runs/{name}/sets.csv")}
                    for name in ("c", "again"))  # fmt: skip
    assert first == again and len(first) >= 8


def kernels(row: Row) -> None:
    """A, the same programs on a machine that is A's like (C), and one that contends more (B)."""
    row.main("contention", *GRID, "--sets", "2", "--executor", "fake", "--name", "A")
    for name, machine in (("B", "fake:contention=3,salt=1"), ("C", "fake:salt=2")):
        again = ("--programs-from", "A", "--no-figures", "--executor", machine)
        row.main("contention", *again, "--name", name)


def test_difference(row: Row) -> None:
    """Worse where the price of sharing is 2.5 times as high; of A against its like, equal."""
    kernels(row)
    says(row.run("--aa", "C"), "WORSE: B against A", r"price +worse +2\.5 times")
    page = Path("runs/compare-A-B/compare.html").read_text(encoding="utf-8")
    says(page, "M = 1", "M = 2")
    assert "WORSE" not in row.main("compare", "A", "C", "--ungated")


@pytest.mark.slow
def test_distributions(row: Row) -> None:
    kernels(row)
    row.run()
    names = {path.name for path in Path("runs").glob("compare-A-B/figures/*.png")}
    assert {f"distribution-misses-m-{cores}.png" for cores in (1, 2)} <= names


def test_deadline_factors(row: Row) -> None:
    few = (*QUICK, "--cores", "4", "--sets", "12", "--executor", "fake:cores=4,contention=4")
    row.run(*few)
    points = {float(each["deadline_factor"]): float(each["deadline_miss_ratio"])
              for each in table("runs/c/summary.csv")}  # fmt: skip
    assert [*points] == [*range(2, 11)]
    assert points[2] > points[5] > points[10]


def test_environment(row: Row) -> None:
    row.main("contention", *GRID)
    row.run("--no-figures", RUN="c")
    page = Path("runs/c/report.html").read_text(encoding="utf-8")
    known = {"soc": "formula", "cpus": "0, 1", "kernel": "none", "preemption": "unknown",
             "governor": "none", "toolchain": "none"}  # fmt: skip
    says(page, *(f'<th scope="row">{name}</th><td>{text}<' for name, text in known.items()))


def test_doctor(row: Row) -> None:
    """What the kernel's own files say of the clock, of the time of real-time priorities, and of
    CPUs that others may run on."""
    found = {each["id"]: each["found"] for each in row.answer()["checks"]}
    for check, path in {
        "clock.source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "scheduler.rt-bandwidth": "/proc/sys/kernel/sched_rt_runtime_us",
        "cmdline.isolation": "/sys/devices/system/cpu/isolated",
    }.items():
        assert found[check].startswith(Path(path).read_text().strip() or "none")


PAPER = ("--no-figures", "--executor", "fake:cores=16")


@pytest.mark.parametrize(
    ("planned", "more"),
    [
        pytest.param(
            "19,360 task sets",
            ("--sync-share", "0,1", "--contended-ratio", "1"),
            id="1",
            marks=pytest.mark.slow,
        ),
        pytest.param("17,000 task sets", (), id="2"),
    ],
)
def test_as_measured(row: Row, planned: str, more: tuple[str, ...]) -> None:
    """The plan is the paper's; on fewer points every task has its 200 jobs, or a set its second."""
    row.run(*PAPER, "--time-budget", "1s", "--name", "all", status=None)
    says(row.err, planned, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 cores")
    row.run(*PAPER, *more, "--sets", "1", "--cores", "4", "--name", "c")
    sets = table("runs/c/sets.csv")
    if more:
        assert all(int(each["jobs"]) >= 200 * int(each["tasks"]) for each in sets)
    else:
        releases = read_job_table(Path("runs/c", sets[0]["file"])).jobs["release_ns"]
        assert 0.5e9 < max(releases) < 1e9
    row.seen = "needs 16 cores"


def test_three_kernels(row: Row) -> None:
    row.main("contention", "--random", *QUICK, "--sets", "5", "--name", "first")
    row.run(*SIMULATED, "--name", "again", RUN="first")
    first, again = ([each["set_id"] for each in table(f"runs/{name}/sets.csv")]
                    for name in ("first", "again"))  # fmt: skip
    assert sorted(first) == sorted(again) and len({*first}) == 5
    row.seen = "needs three kernels on 16 cores"


def test_why(row: Row) -> None:
    row.main("contention", *GRID, "--causes")
    says(row.run(RUN="c"), "the worst jobs", r"own work .*wake up \d+ µs, execution \d+ µs")


@pytest.mark.slow
@pytest.mark.hardware
def test_program(row: Row) -> None:
    """The tree builds with make alone, and its program, like any other, runs under perf."""
    if shutil.which("perf") is None:
        pytest.skip("no perf here")
    row.main("contention", "--random", *HERE, "--quick")
    row.run(RUN="c", DIR="tree")
    built = subprocess.run(["make", "-C", "tree", "check"], capture_output=True, check=False)
    assert built.returncode == 0, built.stderr
    says(row.main("show", "tree/records.jobs"), r"of [1-9]\d+ deadlines missed")
    perf = ["perf", "stat", "-x", ",", "-e", "task-clock", "tree/task-set"]
    counted = subprocess.run(perf, capture_output=True, text=True, check=True).stderr
    clock = re.search(r"^([\d.]+),[^,]*,task-clock", counted, re.M)
    assert clock and float(clock[1]) > 10  # ms
    row.main("export", "c", "--as", "c", "--port", "template", "--out", "port")
    subprocess.run(["make", "-C", "port"], capture_output=True, check=True)
    assert subprocess.run(["port/task-set"], capture_output=True, check=False).returncode < 0


@pytest.mark.slow
@pytest.mark.hardware
def test_own_program(row: Row) -> None:
    """A program that marks nothing becomes tasks, and a twin that the generator's runs measure."""
    source = ROOT / "tests/programs/relative.c"
    (program,) = command_of(source, Path.cwd())
    found = row.answer("--duration", "3s", "--name", "p", **{"./program": program})
    (worker,) = (each for each in found["tasks"] if each["name"] == "worker")
    assert worker["kind"] == "relative" and 150 < worker["jobs"] <= 250  # 2 s, 8 ms + 1.75 ms
    assert worker["c_mean_ns"] == pytest.approx(1_750_000, rel=0.3)
    row.main("export", "p", "--as", "c", "--out", "twin.c")
    says(Path("twin.c").read_text(encoding="utf-8"), rf'"worker", 1, 50, .* {worker["jobs"]}, jobs')


@pytest.mark.slow
def test_kernels(row: Row) -> None:
    """What Debian's archives have; asks them, once a day."""
    out = row.run(status=None)
    if row.status:
        pytest.skip("the archives cannot be asked")
    names = {line.split()[0] for line in out.splitlines()[1:]}
    assert {"6.1-amd64", "6.12-amd64", "6.12-rt-amd64"} <= names
    assert not any(name.startswith("5.15") for name in names)
    row.seen = "out of reach: no package of 5.15, 6.1 stands in"


#: Observation or statement -> results that lack what it needs here.
test_statement = statements({
    "1": "", "2": "", "3": "four", "4": "four", "5": "shield-8", "5a": "four", "6": "",
    "7": "four mode-1-old; old old-again", "8": "plain old", "9": "m-plain m-old",
    "misses-at-2c": "new-2c; rt-8", "misses-at-10c": "old-10c new-10c rt-2c",
    "branch-misses": "rt-2c", "cache-misses": "rt-2c", "context-switches": "",
})  # fmt: skip


def test_global_lock(row: Row) -> None:
    """Behind one lock a core's own object costs what a shared one does; without, nothing."""
    few = ("--simulated", "--no-figures", "--repeats", "3", "--duration", "2")
    rows = row.answer(*few, "--set", "aggressors=others")["rows"]
    slowed = {(each["victim"], each["aggressor"]): each["value"] for each in rows}
    assert slowed["futex:8", "futex:8@global"] == pytest.approx(1, rel=0.05)
    assert slowed["futex:8@global", "futex:8@global"] > 1.5 < slowed[("futex:8@shared",) * 2]


def test_all(row: Row) -> None:
    """Generated, built, run, collected, drawn and judged."""
    found = row.answer(*SIMULATED)["observations"]
    assert {each["number"] for each in found} >= {*range(1, 7)}
    for each in Path("runs").glob("observe*"):
        assert table(f"{each}/summary.csv") and (each / "report.html").exists()


@pytest.mark.slow
def test_surfaces(row: Row) -> None:
    """By the prices of two cores: labelled, and judged as far as they can be."""
    row.main("contention", *GRID, "--set", "grid.mix=random", "--cores", "2")
    found = row.answer("--quick", "--no-figures", RUN="c", status=None)["observations"]
    assert {each["number"] for each in found} == {1, 2, 3, 4, 5}
    assert all("EXTRAPOLATED" in each["labels"] for each in found if each["runs"])
    heights = surfaces("runs/observe-replayed-quick/report.html")
    slowdowns, misses = ([heights[f"{name}-m{cores:03}"][-1] for cores in (1, 4, 8, 16)]
                         for name in ("slowdown", "deadline_miss_ratio"))  # fmt: skip
    assert slowdowns == sorted(slowdowns) and slowdowns[0] == pytest.approx(1, abs=0.01)
    assert slowdowns[2] > 1.5 and misses[0] == 0 < misses[3]
    row.seen = "needs 16 cores"


def test_resolution(row: Row) -> None:
    row.run(*SIMULATED, "--cores", "1", "--sets", "1", "--duration", "0.05", "--name", "c")
    points = {(each["sync_share"], each["contended_ratio"]) for each in table("runs/c/summary.csv")}
    assert len(points) == 121


@pytest.mark.slow
@pytest.mark.hardware
def test_counters(row: Row) -> None:
    """A task that waits for its next release is switched to once a job at least."""
    row.run(*HERE, "--quick")
    sets = table("runs/c/sets.csv")
    assert all(float(each["counter_context_switches_per_job"]) >= 1 for each in sets)
    if sets[0]["counter_cache_misses_per_job"]:
        pytest.skip("the processor's counters are here")
    row.seen = "needs a PMU"


@pytest.mark.slow
@pytest.mark.hardware
def test_over_ssh(row: Row, sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are built here, and run where a login leads to."""
    monkeypatch.setenv("DEADBEAT_SSH_CONFIG", str(sshd.config))
    row.run(*HERE, "--random", "--quick", **{"ssh://board": sshd.word})
    says((sshd.folder / "log").read_text(), "Accepted publickey")
    assert all(int(each["jobs"]) > 10 for each in table("runs/c/sets.csv"))
    says(next(Path("runs/c/sessions").glob("*before*")).read_text(), sshd.word)


@pytest.mark.slow
@pytest.mark.xdist_group("machine")
def test_rtos(row: Row) -> None:
    """On FreeRTOS, too, what is contended is slower and what is private is not. Its memory holds
    every fragment that it can run."""
    for program in ("qemu-system-riscv64", "riscv64-linux-gnu-gcc"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    few = ("--sets", "1", "--sync-share", "1", "--contended-ratio", "0,1", "--duration", "0.1")
    row.run("--no-figures", *few, "--cores", "2", "--name", "c")
    private, contended = (float(each["slowdown_mean"]) for each in table("runs/c/summary.csv"))
    assert private == pytest.approx(1, abs=0.01) and contended > 1.03
