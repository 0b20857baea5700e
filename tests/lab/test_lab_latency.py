"""Truth: a machine that a script stands for, whose prober wrote what it says; and which matrices
may be compared."""

import json
import subprocess
from pathlib import Path

import pytest
from attrs import evolve, frozen
from helpers.machines import AnyKernel, scripted_emulator
from helpers.matrices import matrix

from deadbeat.base.model.comparison import Lineup
from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.build.native import native_root
from deadbeat.cli.compare.results import compare_results
from deadbeat.cli.main import main
from deadbeat.lab.boot import Booted
from deadbeat.lab.guest import Guest
from deadbeat.lab.latency import job_of, require_possible, run_of
from deadbeat.lab.target import GuestTarget, look
from deadbeat.latencies.latency.engines import make_engine
from deadbeat.latencies.latency.model import LatencyRun
from deadbeat.latencies.latency.observe import COMPARABLE
from deadbeat.latencies.latency.spec import LatencySpec, keys, resolve, specify
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.machine.host.recorded import recorded_target
from deadbeat.machine.targets import FakeTarget, opening

STAT = "cpu  0 0 {busy} {idle} 0 0 0 0 0 0\ncpu0 0 0 {busy} {idle} 0 0 0 0 0 0\nprocs_running 1\n"
LOAD = "7 (db-load-cpu) R 6 6 0 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 0 0 0"
PARENT = "6 (db-load) S 1 6 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0"


def probed(latency_ns: int) -> bytes:
    counts = {"counts": [[10, 200]], "min_ns": 10, "max_ns": latency_ns, "sum_ns": 200 * 10}
    nothing = {"counts": [], "min_ns": -1, "max_ns": 0, "sum_ns": 0}
    cpu = {
        **{"cpu": 0, "thread": 9, "start_ns": 0, "end_ns": 1, "expected": 200, "cycles": 200},
        **{"missed": 0, "early": 0, "policy": "fifo", "priority": 90, "placed": 0},
        **{"voluntary": 200, "involuntary": 0, "cpu_ns": 1000, "clock_cost_ps": 20000},
        **{"raw": counts, "omitted": nothing, "worst": [[5, latency_ns, 0]]},
        **{"block_periods": 1, "blocks": [latency_ns]},
    }
    return json.dumps(
        {"version": 1, "interval_ns": 1000000, "held": "held", "cpus": [cpu]}
    ).encode()


def handed_over(*, busy: int = 20, latency_ns: int = 4000, load: str = "0") -> dict[str, bytes]:
    """What a machine hands over whose CPU was ``busy`` for so many of 40 ticks."""
    files = {"/tmp/wake-ups": probed(latency_ns), "/tmp/load0.status": f"{load}\n".encode()}
    for at, ticks in (("before", 0), ("after", busy)):
        files |= {
            f"{at}/proc/stat": STAT.format(busy=ticks, idle=100 + (40 - ticks) * (at == "after")),
            f"{at}/proc/uptime": f"{20 + 0.4 * (at == 'after'):.2f} 0\n",
            f"{at}/proc/6/stat": PARENT,
            f"{at}/proc/6/cmdline": "/init\0load\0--temp-path\0/tmp\0--quiet\0",
            f"{at}/proc/7/stat": LOAD.format(ticks=ticks),
            f"{at}/proc/7/cmdline": "db-load-cpu\0",
            f"{at}/proc/7/status": f"voluntary_ctxt_switches:\t{ticks}\n",
            f"{at}/log": "Linux version 6.12\n",
        }  # fmt: skip
    return {k: v if isinstance(v, bytes) else v.encode() for k, v in files.items()}


@frozen
class Machine:
    """A guest that hands over the same whatever is asked; see `Guest.run`."""

    files: dict[str, bytes]

    def __call__(self, *_: object, **options: object) -> Booted:
        seed = options["seed"]
        assert isinstance(seed, int)
        own = {**self.files, "/tmp/wake-ups": probed(4000 + seed)}
        return Booted(files=self.files if seed < 0 else own, console="")


def spec_of(**layer: object) -> LatencySpec:
    given = {"loads": "cpu:50", "duration": "0.2s", "repeats": 2, "engines": ["prober"], **layer}
    return resolve(specify(given), engines={"prober": ""}, cpus=(0,))


def guest_of(tmp_path: Path, files: dict[str, bytes] | None = None, **more: object) -> Guest:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    qemu = scripted_emulator(tmp_path, "")
    machine = Machine(files or handed_over())
    return Guest(qemu=qemu, kernel=AnyKernel(), program=program, booted=machine, **more)


@pytest.fixture
def boots(tmp_path, monkeypatch) -> list[int]:
    """Seeds of the boots of machines that the words ``lab:...`` open."""
    seeds: list[int] = []
    monkeypatch.setitem(opening.SCHEMES, "lab", f"{__name__}:opened")
    monkeypatch.setattr(opened, "folder", tmp_path, raising=False)
    monkeypatch.setattr(opened, "seeds", seeds, raising=False)
    monkeypatch.chdir(tmp_path)
    return seeds


def opened(word: str) -> GuestTarget:
    """The machine of a word; it makes nothing of ``psy=0``."""
    words = word.partition(",cmdline=")[2]
    machine = Machine(handed_over())

    def booted(*given: object, **options: object) -> Booted:
        opened.seeds.append(options["seed"])
        return machine(*given, **options)

    guest = evolve(guest_of(opened.folder), words=words, booted=booted)
    files = {"at/proc/sys/kernel/osrelease": b"6.12.1", "at/proc/1/cmdline": b"/init\0psy=0"}
    return GuestTarget(guest, recorded_target(files, "at", name="x", kind="virtual-time"))


def measured(tmp_path: Path, files: dict[str, bytes]) -> LatencyRun:
    started = "2026-01-01T00:00:00Z"
    return run_of(files, spec_of(), keys(spec_of())[0], guest_of(tmp_path), started=started)


def test_a_job_loads_before_it_measures():
    lines = job_of(spec_of(), keys(spec_of())[0]).text.decode().splitlines()
    verbs = [line.split()[0] for line in lines]
    assert verbs[:3] == ["sleep", "start", "sleep"]
    assert verbs[-1] == "keep" and verbs.count("run") == 1
    started = next(line for line in lines if line.startswith("start"))
    assert started.startswith("start load0 /init load --taskset 0 --cpu 1 --cpu-load 50 ")
    assert "--cpus 0 --policy fifo --priority 90 --seconds-ns 200000000" in " ".join(lines)


def test_a_device_wakes_one_thread_and_only_where_there_is_one():
    of_device = evolve(spec_of(), engines=("hpet",))
    assert "--hpet 1\n" in job_of(of_device, keys(of_device)[0]).text.decode()
    assert make_engine("hpet").unavailable(FakeTarget()).startswith("no /dev/hpet")
    with pytest.raises(UsageError, match="wakes one thread"):
        resolve(evolve(of_device, cpus=(0, 1)), engines={"hpet": ""}, cpus=(0, 1))


def test_a_late_wake_up_by_a_device_is_known_across_the_end_of_its_counter(tmp_path):
    (tmp_path / "t.c").write_text(
        '#include "port_timer.c"\nint main(void) { static uint32_t at[64]; int ends[2], said = '
        "pipe(ends) || write(ends[1], ends, 8) != 8; struct port_timer t = {ends[0], at, -10, 30, "
        "10000000}; at[COUNTER / 4] = 25; /* 35 ticks after its first, 5 after its second */"
        "return said || port_timer_wait(&t, 0) != 350 || write(ends[1], ends, 8) != 8 || "
        "port_timer_wait(&t, 1) != 50; }"
    )
    runtime = native_root() / "runtime"
    words = ["-I", runtime / "include", "-I", runtime / "port/linux", "t.c", "-o", "t"]
    subprocess.run(["gcc", *words], check=True, cwd=tmp_path)
    assert subprocess.run([tmp_path / "t"], check=False, timeout=10).returncode == 0


def test_what_a_machine_hands_over_is_a_run(tmp_path):
    run = measured(tmp_path, handed_over())
    assert run.kind == "virtual-time"
    assert (run.cpus[0].cycles, run.cpus[0].worst[0].latency_ns) == (200, 4000)
    assert run.load.achieved == {"0": 0.5}
    assert run.load.workers == {"cpu": (1, 1, 1)}
    assert [each.id for each in run.problems] == ["short"]


def test_a_load_that_never_ran_makes_a_run_invalid_and_one_that_died_says_why(tmp_path):
    files = {**handed_over(busy=0, load="2"), "/tmp/load0.err": b"cannot use --cpu\n"}
    run = measured(tmp_path, files)
    assert "load-not-reached" in [p.id for p in run.problems if p.severity == "invalid"]
    assert run.load.died == "status 2, cannot use --cpu"


def test_a_machine_that_measured_nothing_says_why(tmp_path):
    files = {"/tmp/probe.out": b"threads 0 1\nerror realtime-refused no\n"}
    with pytest.raises(TargetError, match="error realtime-refused no"):
        measured(tmp_path, files)


WORDS = ("--loads", "cpu:50", "--duration", "200ms", "--engine", "prober", "--repeats", "2")


def test_seeds_are_the_repeats_and_a_second_call_measures_nothing(boots):
    words = ["latency", *WORDS, "--seed", "5", "--target", "lab:a,lab:b,cores=1"]
    for _ in range(2):
        assert main(words) == 0
        assert sorted(boots) == [5, 5, 6, 6]
    (store, other) = map(
        LatencyStore.open, (Path("runs/latency-lab-a"), Path("runs/latency-lab-b-cores-1"))
    )
    worst = [run.cpus[0].worst[0].latency_ns for run in store.runs()]
    assert worst == [4005, 4006]
    assert (store.platform.kind, other.facts["lab"]["cpus"]) == ("virtual-time", 1)


@pytest.mark.parametrize(
    "more", [["--trace"], ["--set", "loads-by=stress-ng"], ["--engine", "cyclictest"]]
)
def test_what_a_boot_cannot_do_is_refused(boots, more):
    assert main(["latency", "--target", "lab:a", *more]) == 2
    assert not boots


def test_what_a_kernel_shows_is_looked_at_once(tmp_path):
    seen = Machine({"look/proc/sys/kernel/osrelease": b"6.12.1\xff", "/tmp/wake-ups": b""})
    calls: list[object] = []
    booted = lambda *given, **more: calls.append(given) or seen(*given, **more)  # noqa: E731
    guest = evolve(guest_of(tmp_path), booted=booted)
    first, again = (look(guest, name=name, folder=tmp_path) for name in ("a", "b"))
    assert first.files == again.files and first.boot_s == again.boot_s > 0
    look(evolve(guest, words="psi=0"), name="a", folder=tmp_path)
    assert len(calls) == 2


def test_loads_that_want_more_than_one_cpu_are_refused(tmp_path):
    require_possible(spec_of(), guest_of(tmp_path, cpus=2))
    with pytest.raises(UsageError, match="load cpu-050 wants 2 CPUs"):
        require_possible(spec_of(), guest_of(tmp_path, cpus=4))
    require_possible(spec_of(), guest_of(tmp_path, cpus=4, mode="functional"))


# --- comparisons


def sides(*kinds: str):
    made = [matrix(f"side{n}", n + 1) for n, _ in enumerate(kinds)]
    return tuple(
        evolve(each, kind=kind, path=f"/{n}")
        for n, (each, kind) in enumerate(zip(made, kinds, strict=True))
    )


@pytest.mark.parametrize(
    "kinds", [("virtual-time", "hardware"), ("emulated", "virtual-time"), ("hardware", "emulated")]
)
def test_clocks_are_not_mixed(kinds):
    with pytest.raises(UsageError, match="measured by different clocks"):
        compare_results(COMPARABLE, Lineup(subjects=sides(*kinds)))


def test_virtual_time_needs_no_repeats_of_the_baseline():
    found = compare_results(COMPARABLE, Lineup(subjects=sides("virtual-time", "virtual-time")))
    assert "no-aa-repeat" not in [each.id for each in found.findings]
    basis = {metric.gate_basis for each in found.comparisons for metric in each.metrics}
    assert basis == {"virtual-time: there is no host that could drift"}
