"""Truth: the files of tracefs (Documentation/trace/ftrace.rst), played by a folder whose mkdir,
rmdir, mount and unshare are scripts; refusals are scripted one by one."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve
from helpers.campaigns import begin, run, tiny_spec
from helpers.runs import RunTask, Slot, job_table, ran

from deadbeat.base.model import jobs as j
from deadbeat.base.model.jobs import JobTable
from deadbeat.base.model.traces import GAP, JobTrace, RunTrace
from deadbeat.base.store.files import read_json
from deadbeat.machine.host.values import cpu_mask
from deadbeat.machine.targets.fake import Conversation, FakeTarget
from deadbeat.machine.targets.local import LocalProcess, LocalTarget
from deadbeat.machine.trace import jobs as kernel
from deadbeat.machine.trace import session as tracing
from deadbeat.machine.trace.jobs import extract, worst_jobs
from deadbeat.machine.trace.parse import parse_line
from deadbeat.machine.trace.session import EVENTS, Tracer
from deadbeat.tasksets.contention.late import late_of
from deadbeat.tasksets.executors.base import RunOutcome
from deadbeat.tasksets.executors.scheduled import SimExecutor
from deadbeat.tasksets.executors.session import HardwareSession
from deadbeat.tasksets.executors.simulated import FakeSession
from deadbeat.tasksets.store.jobfile import write_job_table

SWITCH = (
    "          <idle>-0       [001] d..2. 24435.748429: sched_switch: prev_comm=swapper/1"
    " prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my prog next_pid=7 next_prio=20"
)
MKDIR = r"""#!/bin/sh
set -e
case $1 in *instances/*) ;; *) exec /bin/mkdir "$@" ;; esac
/bin/mkdir "$1"
cd "$1"
echo 1 > tracing_on; echo local > trace_clock; echo 3 > tracing_cpumask; : > trace
for cpu in 0 1; do
    /bin/mkdir -p per_cpu/cpu$cpu
    echo 7 > per_cpu/cpu$cpu/buffer_size_kb
    printf 'entries: 3\noverrun: 2\ncommit overrun: 0\ndropped events: 1\n' > per_cpu/cpu$cpu/stats
done
for event in EVENTS; do /bin/mkdir -p events/$event; echo 0 > events/$event/enable; done
"""
# As the kernel: no instance goes while one of its files is open.
RMDIR = r"""#!/bin/sh
case $1 in *instances/deadbeat-*) ;; *) exit 1 ;; esac
[ -z "$(find /proc/[0-9]*/fd -lname "$1/tracing_on" 2>/dev/null)" ] || exit 1
exec rm -r "$1"
"""


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts a script in front of a command for everything the tests start."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def put(name: str, text: str) -> None:
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)

    put("mkdir", MKDIR.replace("EVENTS", " ".join(EVENTS)))
    put("rmdir", RMDIR)
    return put


@pytest.fixture
def tracefs(tmp_path: Path, commands: object) -> Path:
    """A mounted tracefs whose own settings are odd ones."""
    place = tmp_path / "tracing"
    (place / "instances").mkdir(parents=True)
    (place / "trace_clock").write_text("x86-tsc\n")
    (place / "tracing_on").write_text("odd\n")
    (place / "buffer_size_kb").write_text("4711\n")
    return place


@pytest.fixture
def target(tmp_path: Path) -> Iterator[LocalTarget]:
    (tmp_path / "work").mkdir()
    with LocalTarget(folder=tmp_path / "work") as made:
        yield made


def content(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
    }


def test_an_instance_is_set_up_used_and_gone(target: LocalTarget, tracefs: Path) -> None:
    before = content(tracefs)
    with Tracer(target, cpus=(0, 1), place=str(tracefs)) as tracer:
        assert tracer.unavailable == ""
        (instance,) = (tracefs / "instances").iterdir()
        assert (instance / "trace_clock").read_text() == "mono"
        assert (instance / "tracing_cpumask").read_text() == "3"
        assert (instance / "tracing_on").read_text() == "0"
        assert (instance / "per_cpu/cpu1/buffer_size_kb").read_text() == "32768"
        assert all((instance / f"events/{event}/enable").read_text() == "1" for event in EVENTS)
        tracer.start()
        assert (instance / "tracing_on").read_text() == "1"
        (instance / "trace").write_text(f"# tracer: nop\n{SWITCH}\n")
        tracer.stop()
        assert (instance / "tracing_on").read_text() == "0"
        assert (tracer.lost, tracer.lost_cpus) == (6, (0, 1))
        assert SWITCH in tracer.text()
        assert not list(Path(target.folder).iterdir())
    assert content(tracefs) == before


def test_instances_of_the_dead_are_removed_and_no_others(target: LocalTarget, tracefs: Path):
    """Also where the number of a dead one belongs to another process by now."""
    for name in ("deadbeat-4194399", f"deadbeat-{os.getpid()}", "somebody-else"):
        (tracefs / "instances" / name).mkdir()
    with Tracer(target, cpus=(0,), place=str(tracefs)) as first:
        assert first.unavailable == ""
        (alive,) = {path.name for path in (tracefs / "instances").iterdir()} - {"somebody-else"}
        with Tracer(target, cpus=(0,), place=str(tracefs)) as second:
            assert second.unavailable == ""
            assert (tracefs / "instances" / alive).is_dir()


def test_where_it_is_not_mounted_it_is_mounted_in_a_namespace(
    target: LocalTarget, tracefs: Path, tmp_path: Path, commands: Callable[[str, str], None]
) -> None:
    said = tmp_path / "said"
    empty = tmp_path / "empty"
    commands("unshare", f'#!/bin/sh\necho "unshare $*" >> {said}\nshift\nexec "$@"\n')
    commands("mount", f'#!/bin/sh\necho "mount $4" >> {said}\nln -s {tracefs} "$4"\n')
    with Tracer(target, cpus=(0,), place=str(empty)) as tracer:
        assert tracer.unavailable == ""
        tracer.start()
    assert said.read_text().splitlines()[0] == "unshare -m true"
    assert said.read_text().splitlines()[-1] == f"mount {empty}"
    assert not list((tracefs / "instances").iterdir())


FAILS = "#!/bin/sh\necho {0!r} >&2\nexit 1\n"


@pytest.mark.parametrize(
    ("command", "words", "mounted", "reason"),
    [
        ("mkdir", "Operation not permitted", True, "an instance of event tracing is refused"),
        ("mkdir", "Device or resource busy", True, "Device or resource busy"),
        ("unshare", "unshare failed", False, "tracefs is not mounted, and must not be"),
        ("mount", "unknown filesystem type", False, "tracefs cannot be mounted"),
    ],
)
def test_a_refusal_is_told_and_nothing_stays(
    target: LocalTarget,
    tracefs: Path,
    commands: Callable[[str, str], None],
    tmp_path: Path,
    *,
    command: str,
    words: str,
    mounted: bool,
    reason: str,
) -> None:
    before = content(tracefs)
    if not mounted:
        commands("unshare", '#!/bin/sh\nshift\nexec "$@"\n')
    commands(command, FAILS.format(words))
    place = tracefs if mounted else tmp_path / "nowhere"
    with Tracer(target, cpus=(0,), place=str(place)) as tracer:
        assert reason in tracer.unavailable
        assert words in tracer.unavailable
        tracer.start()
        tracer.stop()
        assert tracer.text() == ""
    assert content(tracefs) == before


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("rm -r per_cpu", "no memory for a buffer of 256 KB"),
        ("rm -r events/sched", "event sched/sched_switch is refused"),
        ("rm trace_clock; /bin/mkdir trace_clock", "the clock mono is refused"),
    ],
)
def test_what_the_instance_refuses_is_told_and_it_is_removed(
    target: LocalTarget, tracefs: Path, commands: Callable[[str, str], None], line: str, reason: str
) -> None:
    commands("mkdir", MKDIR.replace("EVENTS", " ".join(EVENTS)) + line + "\n")
    with Tracer(target, cpus=(0, 1), place=str(tracefs)) as tracer:
        assert reason in tracer.unavailable
    assert not list((tracefs / "instances").iterdir())


def test_a_killed_user_leaves_nothing(target: LocalTarget, tracefs: Path) -> None:
    """The shell's input ends with whoever held it: that is all that kill -9 leaves to see."""
    tracer = Tracer(target, cpus=(0,), place=str(tracefs))
    tracer.start()
    process = tracer._process
    assert process.close(timeout=10).returncode == 0
    assert not list((tracefs / "instances").iterdir())


def test_what_a_killed_shell_left_is_removed_though_its_user_lives(
    target: LocalTarget, tracefs: Path
) -> None:
    with Tracer(target, cpus=(0,), place=str(tracefs)) as tracer:
        process = tracer._process
        process.kill()
        assert list((tracefs / "instances").iterdir())
        tracer.start()
        assert tracer.unavailable
        assert not list((tracefs / "instances").iterdir())


def test_a_shell_that_had_to_be_killed_leaves_nothing(
    target: LocalTarget, tracefs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracer = Tracer(target, cpus=(0,), place=str(tracefs))
    assert tracer.unavailable == ""
    monkeypatch.setattr(tracing, "_PATIENCE_S", 0.05)
    process = tracer._process
    assert isinstance(process, LocalProcess)
    os.kill(process.pid, signal.SIGSTOP)
    tracer.close()
    assert not list((tracefs / "instances").iterdir())


def test_only_the_cpus_that_lost_events_are_named(
    target: LocalTarget, tracefs: Path, commands: Callable[[str, str], None]
) -> None:
    none = "printf 'overrun: 0\\ndropped events: 0\\n' > per_cpu/cpu0/stats\n"
    commands("mkdir", MKDIR.replace("EVENTS", " ".join(EVENTS)) + none)
    with Tracer(target, cpus=(0, 1), place=str(tracefs)) as tracer:
        tracer.start()
        tracer.stop()
        assert (tracer.lost, tracer.lost_cpus) == (3, (1,))


class WithinReadOnly(LocalTarget):
    """Everything it starts sees a folder read-only."""

    place = ""

    def start(self, argv: Sequence[str]) -> LocalProcess:
        script = 'mount -o bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
        return super().start(("unshare", "-m", "sh", "-c", script, self.place, *argv))


@pytest.mark.skipif(
    subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0,
    reason="no namespace for mounts",
)
def test_a_read_only_tracefs_is_told(tmp_path: Path, tracefs: Path) -> None:
    with WithinReadOnly(folder=tmp_path) as target:
        target.place = str(tracefs)
        with Tracer(target, cpus=(0,), place=str(tracefs)) as tracer:
            assert "is read-only" in tracer.unavailable


def test_debugfs_is_not_looked_into() -> None:
    """To look for tracefs there mounts it, for everybody and for good."""
    target = FakeTarget(conversations={"sh": Conversation(greeting=("ready",))})
    with Tracer(target, cpus=(0,)) as tracer:
        assert tracer.unavailable == ""
    assert not any("debug" in word for argv in target.calls for word in argv)


def scripted(answer: Callable[[str], tuple[str, ...]], *greeting: str) -> FakeTarget:
    return FakeTarget(conversations={"sh": Conversation(greeting=greeting, answer=answer)})


def test_a_shell_that_dies_in_between_is_told() -> None:
    def die(line: str) -> tuple[str, ...]:
        raise EOFError

    with Tracer(scripted(die, "ready"), cpus=(0,)) as tracer:
        tracer.start()
        assert "ended without a word" in tracer.unavailable
        tracer.stop()
        assert tracer.text() == ""


def test_an_answer_that_is_none_of_ours_is_told() -> None:
    with Tracer(scripted(lambda line: ("?",), "ready"), cpus=(0,)) as tracer:
        tracer.start()
        assert tracer.unavailable == "?"


def test_a_target_without_a_shell_has_no_tracing() -> None:
    with Tracer(FakeTarget(), cpus=(0,)) as tracer:
        assert "no program sh" in tracer.unavailable


@pytest.mark.parametrize(
    ("cpus", "mask"), [((0,), "1"), ((0, 1, 3), "b"), ((32, 0), "1,00000001"), ((), "0")]
)
def test_a_mask_is_written_as_the_kernel_reads_it(cpus: tuple[int, ...], mask: str) -> None:
    assert cpu_mask(cpus) == mask


def test_a_line_of_the_kernel() -> None:
    found = parse_line(SWITCH, epoch_ns=24_435_000_000_000)
    assert (found.at_ns, found.cpu, found.name) == (748_429_000, 1, "sched_switch")
    assert (found.thread, found.pid) == ("<idle>", 0)
    assert found.fields == {
        "prev_comm": "swapper/1", "prev_pid": 0, "prev_prio": 120, "prev_state": "R",
        "next_comm": "my prog", "next_pid": 7, "next_prio": 20,
    }  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        " irq/9-acpi-44     [000] d.h1   10.000001: softirq_entry: vec=9 [action=RCU]",
        " irq/9-acpi-44     (     44) [000] d.h1 10.000001: softirq_entry: vec=9 [action=RCU]",
        " irq/9-acpi-44     [000] 10.000001000: softirq_entry: vec=9 [action=RCU]",
    ],
)
def test_other_layouts_of_a_line(line: str) -> None:
    """With the option record-tgid, with irq-info off, and with nanoseconds."""
    found = parse_line(line, epoch_ns=0)
    assert (found.at_ns, found.thread, found.pid) == (10_000_001_000, "irq/9-acpi", 44)
    assert found.fields == {"vec": 9, "action": "RCU"}


@pytest.mark.parametrize("line", ["", "# tracer: nop", "CPU:1 [LOST 37 EVENTS]", "a-b [c] 1.2: d:"])
def test_whatever_is_no_event_is_none(line: str) -> None:
    assert parse_line(line, epoch_ns=0) is None


#: Thread 5 is that of task 0.
THREADS = {number: "db-t0" if number == 5 else f"other-{number}" for number in range(10)}


def sched(at_us: int, before: int, after: int, *, cpu: int = 0) -> str:
    return (
        f"{THREADS[before]:>16}-{before:<7} [00{cpu}] d..2. 0.{at_us:06d}: sched_switch:"
        f" prev_comm={THREADS[before]} prev_pid={before} prev_prio=1 prev_state=S ==>"
        f" next_comm={THREADS[after]} next_pid={after} next_prio=1"
    )


def test_the_worst_jobs_get_their_own_events() -> None:
    task = RunTask(deadline_ns=1_000_000)
    jobs = [ran(i * 1_000_000, i * 1_000_000, i * 1_000_000 + 1000 * (i + 1)) for i in range(40)]
    table = job_table([task], [jobs])
    assert [late.job for late in worst_jobs(table, 3)] == [39, 38, 37]
    lines = [
        sched(1, 5, 6),
        sched(2, 8, 9, cpu=1),
        sched(38_900, 6, 7),
        sched(39_010, 7, 5),
        sched(39_011, 1, 2, cpu=1),
        "garbage 39.9",
        sched(39_500, 5, 7),
    ]
    trace = extract(table, "\n".join(lines), {5: 0}, lost=4, count=1)
    (job,) = trace.jobs
    assert (job.job, job.lost) == (39, 4)
    # who had the CPU before, then what lies within the margins, on its CPU or about its thread
    assert [e.at_ns // 1000 for e in job.events] == [1, 38_900, 39_010]


def test_a_job_keeps_no_more_events_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "EVENTS_PER_JOB", 10)
    table = job_table([RunTask()], [[ran(0, 0, 900_000)]])
    lines = [sched(i, 5, 6) for i in range(1, 101)]
    lines += [f" db-t0-5 [000] d..2. 0.000{i}: irq_handler_entry: irq=1" for i in range(200, 300)]
    (job,) = extract(table, "\n".join(lines), {5: 0}, count=1).jobs
    real = [event for event in job.events if event.name != GAP]
    assert 0 < len(real) <= 10
    assert (job.lost, job.left_out) == (0, 200 - len(real))


def test_where_events_were_left_out_stands_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest stretch of the thread's own stays whole; what is dropped is marked as such."""
    monkeypatch.setattr(kernel, "EVENTS_PER_JOB", 12)
    table = job_table([RunTask()], [[ran(0, 0, 900_000)]])
    lines = [sched(i, 5, 6) for i in range(1, 50)]
    lines += [sched(400, 6, 5)]
    (job,) = extract(table, "\n".join(lines), {5: 0}, count=1).jobs
    names = [(event.at_ns, event.name) for event in job.events]
    assert names[-2:] == [(49_000, "sched_switch"), (400_000, "sched_switch")]
    assert names[-3][1] == GAP
    assert [name for _, name in names].count(GAP) == 1


def test_the_totals_are_of_all_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "EVENTS_PER_JOB", 12)
    table = job_table([RunTask()], [[ran(0, 0, 900_000)]])
    lines = [sched(0, 6, 5)]
    for at in range(1, 900, 10):
        lines += [
            sched(at, 5, 6),
            f"         other-6-6       [000] d.{'h' if at > 800 else '.'}3. 0.{at + 5:06d}:"
            " sched_waking: comm=db-t0 pid=5 prio=1 target_cpu=000",
            sched(at + 7, 6, 5),
        ]
    (job,) = extract(table, "\n".join(lines), {5: 0}, count=1).jobs
    assert job.left_out > 250
    assert (job.totals.asleep_ns, job.totals.ready_ns) == (90 * 5000, 90 * 2000)
    assert job.totals.unknown_ns == 0
    shares = {share.name: share for share in job.totals.threads}
    assert shares["other-6"].ready_ns == 90 * 2000
    assert (shares["other-6"].sleeps, shares["interrupt"].sleeps) == (80, 10)
    assert shares["interrupt"].slept_ns == 50_000


def test_before_the_oldest_event_of_a_cpu_that_lost_some_nothing_is_known() -> None:
    table = job_table([RunTask()], [[ran(0, 0, 900_000)]])
    lines = [
        f"{'other-7':>16}-7       [001] d..3. 0.000100: sched_waking: comm=db-t0 pid=5 prio=1"
        " target_cpu=000",
        sched(600, 6, 5),
        sched(800, 5, 6),
    ]
    text = "\n".join(lines)
    (job,) = extract(table, text, {5: 0}, lost=1000, lost_cpus=(0,), count=1).jobs
    assert (job.totals.unknown_ns, job.totals.ran_ns, job.totals.asleep_ns) == (
        600_000,
        200_000,
        100_000,
    )
    assert job.events[0].name == GAP
    # the other CPU lost some: that says nothing about this one
    (job,) = extract(table, text, {5: 0}, lost=1000, lost_cpus=(1,), count=1).jobs
    assert job.totals.unknown_ns == 0


def test_each_line_is_parsed_once_however_many_jobs_it_is_of(monkeypatch: pytest.MonkeyPatch):
    parsed = 0
    whole = kernel.Trace._event

    def counted(self: Any, *words: Any) -> Any:
        nonlocal parsed
        parsed += 1
        return whole(self, *words)

    monkeypatch.setattr(kernel.Trace, "_event", counted)
    jobs = [[ran(1000 * task, 1000 * task, 5_000_000)] for task in range(4)]
    table = job_table([RunTask(core=task) for task in range(4)], jobs)
    lines = [sched(at, 5, 6) for at in range(100, 20_000, 100)]
    found = extract(table, "\n".join(lines), {5: 0, 6: 1, 7: 2, 8: 3}).jobs
    assert len(found) == 4
    assert parsed == 50  # until 5.05 ms


def test_a_session_extracts_jobs_that_count(tmp_path: Path) -> None:
    ms = 1_000_000
    jobs = [ran(0, 0, 900_000, counted=False), ran(2 * ms, 2 * ms, 2 * ms + 100, slot=1)]
    slots = (Slot(end=ms), Slot(start=2 * ms, end=3 * ms))
    table = job_table([RunTask(period_ns=ms, deadline_ns=ms)], [jobs], slots=slots)
    path = tmp_path / "a.jobs"
    write_job_table(path, table)
    session = HardwareSession.__new__(HardwareSession)
    session.threads = {}
    tracer: Any = SimpleNamespace(
        stop=lambda: None, text=lambda: "", unavailable="", lost=3, lost_cpus=()
    )
    session._tracer = tracer
    trace, known = session._trace_ends(path)
    assert [(one.job, one.lost) for one in trace.jobs] == [(1, 3)]
    assert known is not None and len(known.jobs) == 2


def test_a_run_is_as_bad_as_the_worst_of_its_jobs_that_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By which the store keeps its trace or not."""
    spec = tiny_spec({"run": {"causes": True}})
    store, plain = begin(tmp_path, spec), FakeSession.run

    def slow_warm_up(table: JobTable) -> JobTable:
        jobs = table.jobs.copy()
        warming = jobs["flags"] & j.JOB_COUNTED == 0
        assert warming.any()
        jobs["finish_ns"][warming] += 10**9
        return evolve(table, jobs=jobs)

    def traced(session: FakeSession, key: Any) -> RunOutcome:
        outcome = plain(session, key)
        assert outcome.table is not None
        trace = RunTrace(jobs=(JobTrace(job=0, events=()),))
        return evolve(outcome, table=slow_warm_up(outcome.table), trace=trace)

    monkeypatch.setattr(FakeSession, "run", traced)
    run(spec, store)
    kept = sorted((store.path / "traces").glob("m*.json"))
    severities = [read_json(path, what="trace", hint="")["severity"] for path in kept]
    assert len(severities) == 8
    assert all(tardiness < 10**8 for tardiness, _ in severities)


@pytest.mark.parametrize("executor", [None, SimExecutor(cores=2)])
def test_a_simulated_machine_says_why_nothing_was_traced(tmp_path: Path, executor: Any) -> None:
    spec = tiny_spec({"run": {"causes": True}})
    store = begin(tmp_path, spec)
    run(spec, store, executor=executor)
    assert late_of(store).unavailable == "a simulated machine has no kernel to trace"
