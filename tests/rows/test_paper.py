"""Rows of the paper: task sets, grids and random mixes, on made-up machines."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.programs import ROOT, command_of
from helpers.seed_rows import Row, says, stated, table

SIMULATED = ("--simulated", "--no-figures")
QUICK = (*SIMULATED, "--quick", "--duration", "0.1", "--name", "c")
GRID = (*QUICK, "--sets", "1", "--sync-share", "0,1", "--contended-ratio", "0,1")
RANDOM = (*QUICK, "--sets", "4")
Sets = list[dict[str, str]]


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
    few = ("--random", "--cores", "1", "--sets", "4", "--sync-share", "0", "--duration", "0.1")
    row.run(*few, "--no-figures", "--name", "c", "--set", "calibration.seconds=10",
            "--set", "calibration.prices=0")  # fmt: skip
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
        assert table(f"out/{name}") == table(f"runs/c/{name}")
    assert len(list(Path("runs/c/jobs").glob("*.jobs"))) == len(table("runs/c/sets.csv"))


@pytest.mark.slow
def test_page(row: Row) -> None:
    """Five values an axis: a surface of each number of cores, and how the sets are spread."""
    axes = ("--sync-share", "0,0.25,0.5,0.75,1", "--contended-ratio", "0,0.25,0.5,0.75,1")
    row.main("contention", *GRID, *axes)
    row.run("--no-figures", RUN="c")
    page = Path("runs/c/report.html").read_text(encoding="utf-8")
    assert len(re.findall("surface", page)) > 4


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
    for what in ("kernel", "preemption", "governor", "processor|soc", "compiler|toolchain"):
        says(page, f'<th scope="row">{what}')


def test_doctor(row: Row) -> None:
    checks = {each["id"]: each for each in row.answer()["checks"]}
    assert {"power.governor", "clock.source", "scheduler.rt-throttling"} & checks.keys()


PAPER = ("--no-figures", "--executor", "fake:cores=16")


@pytest.mark.parametrize(
    ("planned", "more"),
    [
        pytest.param("19,360 task sets", ("--sync-share", "0,1", "--contended-ratio", "1"), id="1"),
        pytest.param("17,000 task sets", (), id="2"),
    ],
)
def test_as_measured(row: Row, planned: str, more: tuple[str, ...]) -> None:
    """The plan is the paper's; on fewer points every task has its 200 jobs."""
    row.run(*PAPER, "--time-budget", "1s", "--name", "all", status=None)
    says(row.err, planned, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 cores")
    row.run(*PAPER, *more, "--sets", "1", "--cores", "4", "--name", "c")
    sets = table("runs/c/sets.csv")
    least = 200 if more else 1  # Mode 2 runs for a second, however many jobs that are
    assert sets and all(int(each["jobs"]) >= least * int(each["tasks"]) for each in sets)
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
    says(row.run(RUN="c"), "the worst jobs", r"wake up \d+ µs, execution \d+ µs +execution")


@pytest.mark.slow
@pytest.mark.hardware
def test_program(row: Row) -> None:
    """The tree builds with make alone, and its program, like any other, under any profiler."""
    row.main("contention", *GRID)
    row.run(RUN="c", DIR="tree")
    made = subprocess.run(
        ["make", "check"], cwd="tree", capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    says(made.stdout + made.stderr, r"\d+ jobs")
    row.main("export", "c", "--as", "c", "--port", "template", "--out", "port")
    assert list(Path("port").rglob("*template*"))


@pytest.mark.slow
@pytest.mark.hardware
def test_own_program(row: Row) -> None:
    """A program that marks nothing becomes tasks, and a twin that the generator's runs measure."""
    source = ROOT / "tests/programs/relative.c"
    (program,) = command_of(source, Path.cwd())
    found = row.answer("--duration", "3s", **{"./program": program}, status=None)
    assert any(each["jobs"] > 10 for each in found["tasks"])
    row.main("export", "--as", "c", "--out", "twin.c")
    says(Path("twin.c").read_text(encoding="utf-8"), "pthread|clock_nanosleep")


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


#: Observation or statement -> results that confirm it, that refute it, that lack what it needs.
STATED = {
    "1": ("one", "slope"),
    "2": ("four", "steep"),
    "3": ("many", "flat", "four"),
    "4": ("many", "flat", "four"),
    "5": ("shield", "calm", "shield-8"),
    "5a": ("follow", "early", "four"),
    "6": ("mode-1 mode-2", "mode-1 against"),
    "7": ("old new old-again", "old worse old-again", "four mode-1-old", "old old-again"),
    "8": ("plain rt plain-again", "plain rt-worse plain-again", "plain old"),
    "9": ("m-plain m-rt", "m-plain m-rt-bad", "m-plain m-old"),
    "misses-at-2c": ("rt-2c", "rt-low-2c", "new-2c", "rt-8"),
    "misses-at-10c": (
        "old-10c new-10c rt-10c",
        "old-10c new-10c rt-bad-10c",
        "old-10c new-10c rt-2c",
    ),
    "branch-misses": ("figure-11", "turned", "rt-2c"),
    "cache-misses": ("figure-11", "turned", "rt-2c"),
    "context-switches": ("figure-11", "turned"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", STATED)
def test_statement(row: Row, what: str) -> None:
    stated(row, what, *STATED[what])


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
    page = Path("runs/observe-replayed-quick/report.html").read_text(encoding="utf-8")
    says(page, "EXTRAPOLATED")
    row.seen = "needs 16 cores"


def test_resolution(row: Row) -> None:
    row.run(*SIMULATED, "--cores", "1", "--sets", "1", "--duration", "0.05", "--name", "c")
    points = {(each["sync_share"], each["contended_ratio"]) for each in table("runs/c/summary.csv")}
    assert len(points) == 121


@pytest.mark.slow
@pytest.mark.hardware
def test_counters(row: Row) -> None:
    few = ("--cores", "2", "--sets", "3", "--duration", "0.2", "--no-figures", "--name", "c")
    short = ("--set", "calibration.seconds=8", "--set", "calibration.prices=0", "--quick")
    row.run(*few, *short)
    (sets, *_) = table("runs/c/sets.csv")
    assert float(sets["counter_context_switches_per_job"]) >= 0
    if sets["counter_cache_misses_per_job"]:
        pytest.skip("the processor's counters are here")
    row.seen = "needs a PMU"
