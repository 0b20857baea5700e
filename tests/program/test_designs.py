"""Truth: a program that counted its own misses, and every design of small made-up ones."""

import json
import os
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from helpers.answers import Capture, answer_of
from helpers.recorded import recorded

from deadbeat.base.model.platform import example_platform
from deadbeat.base.store.folder import OwnedFolder
from deadbeat.cli.main import main
from deadbeat.program.derive.placer import Placing
from deadbeat.program.derive.replica import Replica, ReplicaThread
from deadbeat.program.derive.tasks import DerivedTask
from deadbeat.program.run import experiment
from deadbeat.program.run.designs import DesignSearch
from deadbeat.program.run.results import ProgramStore
from deadbeat.program.run.whatif import Foreseen, foreseen, limits_of
from deadbeat.sched.program import COMPUTE, LOCK, OP, UNLOCK
from deadbeat.tasksets.prices.stage import save_prices
from deadbeat.tasksets.prices.table import PriceBatch, StoredPrices
from deadbeat.tasksets.prices.works import PriceWork

MS = 1_000_000
#: What tests/programs/strangers/studio.c said: jobs, misses, and worst response in ms.
SAID = {
    "control": (600, 600, 3077),
    "planner": (300, 169, 120),
    "logger": (150, 146, 366),
    "vision": (75, 2, 64),
    "comms": (60, 2, 65),
    "health": (30, 0, 9),
}


def studio(monkeypatch: pytest.MonkeyPatch, *options: str, name: str = "studio") -> None:
    shutil.copy("/bin/true", name)
    monkeypatch.setattr(experiment, "watched", recorded("strangers"))
    monkeypatch.setenv("COLUMNS", "120")
    assert main(("run", "--yes", *options, "--", f"./{name}")) == 0


@pytest.mark.usefixtures("in_a_folder")
def test_an_overloaded_cpu_is_simulated_as_it_was(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six threads ask for 1.2 of a CPU, of which throttling leaves 0.95."""
    studio(monkeypatch)
    capsys.readouterr()
    told = json.loads(Path("runs/studio/program.json").read_text())  # of where the test runs
    told["platform"]["details"] |= {"rt_runtime_us": 950_000, "rt_group_sched": True}
    Path("runs/studio/program.json").write_text(json.dumps(told))
    assert main(("predict", "studio", "--out", "out")) == 0
    assert "U 1.20: control misses first, 599 of 599" in capsys.readouterr().out
    (found,) = json.loads(Path("out/predictions.json").read_text())["variants"]
    for name, (jobs, misses, worst) in SAID.items():
        each = found["threads"][name]
        assert abs(each["misses"] / each["jobs"] - misses / jobs) < 0.03, name
        assert each["max_ns"] == pytest.approx(worst * MS, rel=0.45 if name == "logger" else 0.2)


@pytest.mark.hardware
@pytest.mark.usefixtures("in_a_folder")
def test_a_design_lasts_by_a_script(capsys: Capture) -> None:
    """The kernel says how threads run, of which two have one name; systemd reads the unit."""
    source = Path(__file__).parents[1] / "programs/strangers/loads.c"
    subprocess.run(("cc", "-O2", "-pthread", "-o", "loads", str(source)), check=True)
    loads = "control:20:100:0:1", "logger:20:100:0:-1", "logger:20:100:0:-1"
    assert main(("run", "--name", "studio", "--", "./loads", "0.6", *loads)) == 0
    Path("d.toml").write_text(
        '[threads.control]\npolicy = "fifo"\npriority = 7\ncpus = [0]\n'
        '[threads."logger#2"]\npolicy = "deadline"\n'
        'runtime = "1ms"\ndeadline = "9ms"\nperiod = "9ms"\n'
        '[locks]\n"*" = "inherit"\n[process]\nmemory = "locked"\ntimer_slack = "7ns"\n'
    )
    words = ("export", "studio", "--design", "d.toml", "--as")
    assert main((*words, "systemd", "--out", "unit.conf")) == 0
    assert main((*words, "chrt", "--out", "place.sh")) == 0
    assert Path("unit.conf.sh").read_text() == Path("place.sh").read_text()
    unit = Path("unit.conf").read_text()
    assert "PTHREAD_PRIO_INHERIT" in unit and "LimitMEMLOCK=infinity\nTimerSlackNSec=7ns" in unit
    with subprocess.Popen(("./loads", "60", *loads), stdout=subprocess.DEVNULL) as program:
        try:
            subprocess.run(("sh", "./place.sh", str(program.pid)), check=True)
            folders = Path(f"/proc/{program.pid}/task").iterdir()
            folders = sorted(folders, key=lambda each: int(each.name))[1:]
            assert [(each / "comm").read_text().strip() for each in folders] == [
                each.partition(":")[0] for each in loads
            ]
            control, first, second = (int(each.name) for each in folders)
            assert os.sched_getscheduler(control) == os.SCHED_FIFO
            assert os.sched_getparam(control).sched_priority == 7
            assert os.sched_getaffinity(control) == {0}
            assert os.sched_getscheduler(second) == 6  # SCHED_DEADLINE
            assert os.sched_getscheduler(first) == os.SCHED_OTHER
            assert Path(f"/proc/{first}/timerslack_ns").read_text() == "7\n"
        finally:
            program.kill()
    if shutil.which("systemd-analyze"):
        Path("x.service.d").mkdir()
        shutil.move("unit.conf", "x.service.d/unit.conf")
        Path("x.service").write_text("[Service]\nExecStart=/bin/true\n")
        done = subprocess.run(
            ("systemd-analyze", "verify", "./x.service"),
            check=False,
            capture_output=True,
            text=True,
        )
        assert "unit.conf" not in done.stderr
    none = subprocess.run(("sh", "./place.sh", "1"), check=False, capture_output=True, text=True)
    assert (none.returncode, none.stderr) == (1, "process 1 has no thread control\n")
    capsys.readouterr()
    Path("d.toml").write_text(
        '[threads.control]\npolicy = "deadline"\n'
        'runtime = "9ms"\ndeadline = "2ms"\nperiod = "9ms"\n'
    )
    assert main(("predict", "studio", "--design", "d.toml")) == 2
    assert "threads.control: its runtime is above its deadline" in capsys.readouterr().err
    assert main(("export", "studio", "--as", "chrt", "--out", "x.sh")) == 2
    assert "no change of studio helped" in capsys.readouterr().err
    assert main(("export", "studio", "--as", "csv", "--design", "d.toml", "--out", "x")) == 2
    assert "--design is of --as chrt and systemd" in capsys.readouterr().err


@pytest.mark.hardware
@pytest.mark.usefixtures("in_a_folder")
def test_memory_and_timers_are_held(capsys: Capture) -> None:
    """The program counts its page faults, and says the slack of its timers."""
    source = Path(__file__).parents[1] / "programs/tries/held.c"
    subprocess.run(("cc", "-O2", "-o", "held", str(source)), check=True)
    Path("both.toml").write_text('[process]\nmemory = "locked"\ntimer_slack = "7ns"\n')
    changes = "memory,malloc,slack,design:both.toml"
    assert main(("run", "--yes", "--try", changes, "--repeats", "1", "--", "./held")) == 0
    assert "try malloc: malloc gives no memory back" in capsys.readouterr().err
    said = {}
    for path in Path("runs/held/output").iterdir():
        words = path.read_text().split()
        said[path.stem] = (int(words[1]), int(words[3]))
    assert {name: (faults > 100, slack) for name, (faults, slack) in said.items()} == {
        "0001": (True, 50_000),
        "0001-memory": (False, 50_000),
        "0001-malloc": (False, 50_000),
        "0001-slack": (True, 1),
        "0001-design_both": (False, 7),
    }
    assert main(("predict", "held", "--design", "runs/held/design-both.toml")) == 0
    Path("bad.toml").write_text('[process]\nmemory = "most"\n')
    assert main(("predict", "held", "--design", "bad.toml")) == 2
    assert 'process.memory: "most" is neither locked nor heap' in capsys.readouterr().err
    assert main(("run", "--try", "design", "--", "./held")) == 2
    assert "design:FILE, as --try best writes them" in capsys.readouterr().err
    words = ("run", "--yes", "--name", "none", "--try", "design:none.toml", "--", "./held")
    assert main(words) == 2
    assert "none.toml" in capsys.readouterr().err and not Path("runs/none").exists()


@pytest.mark.usefixtures("in_a_folder")
def test_what_runs_beside_a_program_is_in_its_prediction(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tests/programs/strangers/loads.c: a 6.5 ms every 20 ms at FIFO 40, b 5 ms every 50 at 70,
    and, another process, 10 ms every 30 at 60, on one CPU. It said: a late 20 times, b never."""
    studio(monkeypatch, name="loads")
    assert main(("predict", "loads", "--out", "out")) == 0
    said = capsys.readouterr().out
    assert "when plc (FIFO 60, 35% of a CPU), another program, runs: evenly is assumed" in said
    (found,) = json.loads(Path("out/predictions.json").read_text())["variants"]
    assert found["threads"]["a"]["misses"] in (19, 20)  # one job was cut by the end
    assert found["threads"]["a"]["max_ns"] == pytest.approx(22.0 * MS, rel=0.02)
    # above both, it has no miss; below, where it was before, the same; alone, none
    for priority, cpu, misses in ((90, 1, False), (40, 1, True), (40, 0, False)):
        Path("d.toml").write_text(
            f'[threads.a]\npolicy = "fifo"\npriority = {priority}\ncpus = [{cpu}]\n'
        )
        out = f"out-{priority}-{cpu}"
        assert main(("predict", "loads", "--design", "d.toml", "--out", out)) == 0
        (found,) = json.loads(Path(out, "predictions.json").read_text())["variants"]
        assert bool(found["threads"]["a"]["misses"]) == misses


@pytest.mark.usefixtures("in_a_folder")
def test_locks_cost_more_on_more_cores(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of prices has 39.9 us for sharing a mutex: on 4 times the CPUs 0.95 squared to 2
    squared times that, in each of control's sections and of logger's."""
    studio(monkeypatch)
    work = PriceWork(object="mutex_normal", size=1, operations=1, cores=(0, 1))
    slots = (  # 10 calls of 100 ns each, alone; then both in a window of 400 us
        *((0, 0, core, 1, 1000, 10, 0, 0, 60_000, 60_000) for core in (0, 1)),
        (0, 0, -1, 2, 400_000, 10, 400_000, 10, 60_000, 60_000),
    )
    batch = PriceBatch(works=(work,), errors=("",), slots=slots)
    here = ProgramStore.open(Path("runs/studio")).platform
    cores = 4 * len(here.cpus)
    words = ("predict", "studio", "--cores", str(cores))
    assert main(words) == 0
    assert "deadbeat contention measures prices" in capsys.readouterr().out
    Path("runs/prices").mkdir()
    prices = StoredPrices(platform=here, policy="fifo", batches=(batch,))
    save_prices(OwnedFolder(Path("runs/prices")), prices)
    assert main((*words, "--out", "out")) == 0
    said = capsys.readouterr().out
    found = re.search(
        rf"cost 0.9 to 4 times as much, as on 91 % of public machines with {cores} cores:"
        r" ([0-9,]+) to ([0-9,]+) misses",
        said,
    )
    assert found
    (variant,) = json.loads(Path("out/predictions.json").read_text())["variants"]
    low, high = (int(word.replace(",", "")) for word in found.groups())
    assert low <= sum(each["misses"] for each in variant["threads"].values()) < high


@pytest.mark.usefixtures("in_a_folder")
def test_a_design_is_as_good_as_from_the_worst_begin(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two light threads before a heavy one on two CPUs (Dhall 1978; loads.c). With one light thread
    on CPU 0 alone the other one stays before the heavy one where it begins there: in five turns
    40 % of its deadlines were missed; with both there none."""
    studio(monkeypatch, "--try", "best:2", "--repeats", "1", name="light")
    out, said = capsys.readouterr()
    assert "All 66 late jobs were preempted by a" in out  # none in time says what is usual
    assert "CPU 0 of a; CPU 0 of b (" in said or "CPU 1 of a; CPU 1 of b (" in said
    Path("one.toml").write_text("[threads.b]\ncpus = [0]\n")
    assert main(("predict", "light", "--design", "one.toml", "--out", "out")) == 0
    (found,) = json.loads(Path("out/predictions.json").read_text())["variants"]
    assert found["threads"]["heavy"]["misses"] > 50


@pytest.mark.usefixtures("in_a_folder")
def test_designs_are_tried_written_and_predicted(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No single change is enough for it; several together are."""
    studio(monkeypatch, "--try", "best:2", "--repeats", "1")
    assert "try best (root): " in capsys.readouterr().err
    assert Path("runs/studio/designs.csv").read_text().startswith("name,today,best,best_2")
    assert main(("show", "studio", "--json")) == 0
    found = {each["name"]: each for each in answer_of(capsys.readouterr().out)["tried"]}
    assert {"best", "best:2"} <= found.keys() and len(found) >= 3  # and the best single one
    assert [each["expected"]["misses"] for name, each in found.items() if "best" in name] == [0, 0]
    needs = found["best:2"]["needs"]
    assert 1 < len(needs) <= len(found["best"]["needs"]) and max(n for _, n in needs) > 0
    for file in ("best", "best-2"):
        assert main(("predict", "studio", "--design", f"runs/studio/{file}.toml")) == 0
        assert "no deadline is missed" in capsys.readouterr().out


@pytest.mark.usefixtures("in_a_folder")
def test_what_a_design_must_not_say(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    studio(monkeypatch)
    capsys.readouterr()
    for text, says in (
        ("[threads.controll]\ncpus = [0]", "threads.controll: there is none of this name (did you"),
        ("[threads.control]\ncpus = [7]", "threads.control.cpus: [7] is no list of its CPUs (one"),
        ("[threads.control]\ncpus = 0", "threads.control.cpus: 0 is no list of its CPUs"),
        ("[threads.control]\npolicy = 'fifo'\npriority = 150", "150 is out of range"),
        ("[threads.control]\npriority = 5", "a priority is of fifo and rr, and they need one"),
        ("[threads.control]\npolicy = 'deadline'", "a reservation has runtime, deadline and"),
        ("[threads.control]\nprio = 5", "threads.control.prio: there is none of this name"),
        ("[locks]\nm = 'ceiling'", 'locks.m: "ceiling" is neither none nor inherit'),
        ("[lock]\nm = 'inherit'", "lock: there is none of this name (did you mean locks?)"),
        ("threads = 3", "threads: it is no table"),
        ("[threads", "not TOML"),
    ):
        Path("design.toml").write_text(text)
        assert main(("predict", "studio", "--design", "design.toml")) == 2, text
        err = capsys.readouterr().err
        assert "design.toml: " in err and says in err and err.count("\n") == 1, err


@pytest.mark.parametrize(
    ("kernel", "runtime_us", "grouped", "limits"),
    [
        ("6.18.1 #1 SMP", 950_000, False, (0, 0, 50, 1000)),
        ("6.18.1 #1 SMP", 950_000, True, (950, 1000, 50, 1000)),
        ("6.1.0-18-amd64", 900_000, False, (900, 1000, 0, 0)),
        ("6.1.0-18-amd64", -1, False, (0, 0, 0, 0)),
        ("unknown", None, None, (950, 1000, 0, 0)),
    ],
)
def test_what_real_time_threads_leave_to_others(
    kernel: str, runtime_us: int | None, grouped: bool | None, limits: tuple[int, ...]
) -> None:
    """Throttling is of kernels before 6.12, and of those with RT_GROUP_SCHED; later ones have the
    fair server."""
    details = {"rt_runtime_us": runtime_us, "rt_group_sched": grouped}
    platform = evolve(example_platform(), kernel=kernel, details=details)
    assert limits_of(platform) == tuple(MS * each for each in limits)


def made_up(draw: random.Random, threads: int, most: int) -> tuple[Replica, list[DerivedTask]]:
    """A program of periodic threads that share up to two locks, on two CPUs."""
    locks, made = draw.randint(0, 2), list[ReplicaThread]()
    for number in range(threads):
        period = draw.choice([5, 8, 10, 20, 25, 40]) * MS
        longest = int(draw.uniform(0.1, 1.6 / threads) * period)
        held = int(longest * draw.uniform(0.1, 0.7)) if locks and draw.random() < 0.8 else 0
        lock, jobs, ops = draw.randrange(locks or 1), most * MS // period, list[Any]()
        for _ in range(jobs):
            spent = int(longest * draw.uniform(0.7, 1))
            inside = min(held, spent)
            section = [(LOCK, lock, 0), (COMPUTE, 0, inside), (UNLOCK, lock, 0)] * bool(held)
            ops += [(COMPUTE, 0, spent - inside), *section]
        task = DerivedTask(
            name=f"t{number}", tid=number + 1, kind="periodic", policy="fifo", jobs=jobs,
            priority=10 + number, cpus=draw.choice([(0,), (1,), (0, 1)]), period_ns=period,
            deadline_ns=period, charged_mean_ns=0.85 * longest, charged_max_ns=longest,
        )  # fmt: skip
        each = ReplicaThread(
            task=task,
            releases=np.arange(jobs) * period,
            ends=np.arange(1, jobs + 1) * (4 if held else 1),
            ops=np.array(ops, OP),
            overhead=np.zeros(jobs),
        )
        made.append(each)
    names = tuple((f"l{number}", "none") for number in range(locks))
    program = Replica(threads=tuple(made), locks=names, end_ns=most * MS)
    return program, [each.task for each in made]


@pytest.mark.parametrize(
    ("threads", "seeds"),
    [(3, range(4)), pytest.param(4, range(100, 130), marks=pytest.mark.slow)],
)
def test_the_search_finds_the_best_of_all_designs(threads: int, seeds: range) -> None:
    for seed in seeds:
        program, tasks = made_up(random.Random(seed), threads, 800)

        def simulate(
            placings: tuple[Placing, ...], inherit: bool, _memory: bool, of: Replica = program
        ) -> dict[str, Foreseen]:
            return foreseen(of, (0, 1), placings=placings, inherit=inherit)

        searches = [
            DesignSearch(
                tasks, tasks, (0, 1), simulate, locks=bool(program.locks), ns=program.end_ns
            )
            for _ in range(2)
        ]
        found, every = (
            search.search(3, seconds)
            for search, seconds in zip(searches, (2.0 if threads < 4 else 5.0, 1e9), strict=True)
        )
        best, least = (min(search.known.values()) for search in searches)
        assert every.proved and found.looked <= every.looked and best <= least, seed
