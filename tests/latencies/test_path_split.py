"""The truth is events written by hand, in the kernel's own words."""

import json

import pytest
from helpers.wake_ups import cpu, result
from hypothesis import given, settings
from hypothesis import strategies as st

from deadbeat.base.model.traces import TraceEvent
from deadbeat.build.native import NO_TASK_SETS, link_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.latencies.latency.cyclictest import CyclictestEngine
from deadbeat.latencies.latency.engines import Measured, Request, SimulatedEngine
from deadbeat.latencies.latency.prober import ProberEngine, cpu_latency, with_worst
from deadbeat.machine.host.machine import Machine, read_machine
from deadbeat.machine.targets import Conversation, FakeTarget
from deadbeat.machine.trace.paths import PATH_PARTS, PathSplit, WorstTraced
from deadbeat.machine.trace.reasons import Moments
from deadbeat.machine.trace.wakeups import Traced, kept_worst, split_path, wake_ups
from deadbeat.machine.trace.why import running_at, stretch

S = 10**9
GUEST, BARE = Machine(virtual=True), Machine(virtual=False)
DUE = 100 * S  # of the first wake-up
THREAD = Traced(cpu=1, thread=77, start_ns=DUE)
SWITCH = (
    "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state=R ==> "
    "next_comm={} next_pid={} next_prio={}"
)


def line(at_ns: int, event: str, *, who: str = "<idle>", pid: int = 0, cpu: int = 1) -> str:
    at_us = at_ns // 1000
    return f"{who:>16}-{pid:<7} [{cpu:03d}] d.h1. {at_us // 10**6}.{at_us % 10**6:06d}: {event}"


def expired(at_ns: int, who: str = "<idle>", pid: int = 0) -> str:
    text = f"hrtimer_expire_entry: hrtimer=00000000b268af35 function=hrtimer_wakeup now={at_ns}"
    return line(at_ns, text, who=who, pid=pid)


def waking(at_ns: int, who: str = "<idle>", pid: int = 0) -> str:
    text = "sched_waking: comm=db-probe1 pid=77 prio=9 target_cpu=001"
    return line(at_ns, text, who=who, pid=pid)


def switched(at_ns: int, before: tuple[str, int, int] = ("swapper/1", 0, 120)) -> str:
    return line(at_ns, SWITCH.format(*before, "db-probe1", 77, 9), who=before[0], pid=before[1])


def to(at_ns: int, after: tuple[str, int, int], *, cpu: int = 1) -> str:
    return line(at_ns, SWITCH.format("swapper/1", 0, 120, *after), cpu=cpu)


def mark(at_ns: int, due_ns: int, latency_ns: int) -> str:
    text = f"tracing_mark_write: due={due_ns} latency={latency_ns}"
    return line(at_ns, text, who="db-probe1", pid=77)


def text_of(*lines: str) -> str:
    return "# tracer: nop\n#\n" + "".join(f"{one}\n" for one in lines)


def woken(
    expired_us: int, waking_us: int, switched_us: int, *who: tuple[str, int, int]
) -> tuple[str, str, str]:
    """Timer, waking and switch at these times after DUE; ``who`` had the CPU, or it was idle."""
    times, name = [DUE + 1000 * us for us in (expired_us, waking_us, switched_us)], who and who[0]
    return expired(times[0], *name[:2]), waking(times[1], *name[:2]), switched(times[2], *who)


def usual(due_ns: int = DUE) -> list[str]:
    """1.3 us to the handler, 1.2 to the waking, 3 to the switch, 0.7 to the thread's reading."""
    return [
        expired(due_ns + 1300),
        waking(due_ns + 2000),
        switched(due_ns + 5000),
        mark(due_ns + 7000, due_ns, 6200),
    ]


def parts_of(split: PathSplit) -> dict[str, int | None]:
    return {name: histogram.max_ns for name, histogram in split.parts.items()}


def cause(*lines: str, latency_ns: int, machine: Machine = GUEST) -> str:
    """Of a wake-up at DUE with these events before its mark."""
    text = text_of(*lines, mark(DUE + latency_ns, DUE, latency_ns))
    (split,) = split_path(text, [THREAD], machine=machine)
    assert sum(int(split.worst.parts[part]) for part in PATH_PARTS) == latency_ns
    return str(split.worst.cause)


def test_the_parts_of_a_wake_up_sum_to_its_latency() -> None:
    (split,) = split_path(text_of(*usual()), [THREAD])
    # the kernel cuts the times of events to microseconds: the middle of theirs is taken
    assert parts_of(split) == {"interrupt": 1300, "wake_up": 1200, "switch": 3000, "exit": 700}
    assert (split.latency.max_ns, split.left_out, split.unavailable) == (6200, 0, "")
    assert {part: split.worst.parts[part] for part in PATH_PARTS} == parts_of(split)
    assert (split.worst.due_ns, split.worst.latency_ns) == (0, 6200)


def test_wake_ups_of_several_threads_are_told_apart() -> None:
    other = Traced(cpu=0, thread=78, start_ns=DUE)
    mine, another = split_path(text_of(*usual(), *usual(DUE + 10**6)), [THREAD, other])
    assert mine.latency.total == 2
    assert "lack its wake-up" in another.unavailable


@settings(max_examples=60)
@given(times=st.lists(st.integers(0, 20_000), min_size=4, max_size=4))
def test_the_parts_sum_to_the_latency_whatever_the_order_of_events(times: list[int]) -> None:
    at, to_waking, to_switch, latency = times
    events = [expired(DUE + at), waking(DUE + to_waking), switched(DUE + to_switch)]
    found = wake_ups(text_of(*events, mark(DUE + 30_000, DUE, latency)), [77])[77]
    (wake,) = found
    if wake.moments is not None:
        parts = wake.moments.parts()
        assert sum(parts.values()) == latency
        assert all(part >= 0 for part in parts.values())
    else:
        assert at > latency or to_waking // 1000 * 1000 > latency


def test_a_switch_that_the_kernel_does_not_report_leaves_the_exit_within_the_switch() -> None:
    lines = usual()
    del lines[2]
    (split,) = split_path(text_of(*lines), [THREAD])
    assert parts_of(split) == {"interrupt": 1300, "wake_up": 1200, "switch": 3700, "exit": None}
    assert sum(int(split.worst.parts[part]) for part in PATH_PARTS) == 6200


@pytest.mark.parametrize("missing", [0, 1])
def test_a_wake_up_without_its_timer_or_waking_is_left_out_and_has_no_cause(missing: int) -> None:
    lines = usual()
    del lines[missing]
    (split,) = split_path(text_of(*lines), [THREAD], lost=9)
    assert (split.left_out, split.lost, split.parts["switch"].total) == (1, 9, 0)
    assert str(split.worst.cause).startswith("unknown: some of its kernel events")
    assert split.worst.parts == {}


def test_the_expiry_of_an_earlier_timer_is_not_that_of_the_wake_up() -> None:
    lines = [expired(DUE - 500_000), *usual()[1:]]
    (split,) = split_path(text_of(*lines), [THREAD])
    assert split.left_out == 1


def test_an_interrupt_handler_that_delays_the_timers_is_named() -> None:
    said = cause(
        line(DUE - 5000, "irq_handler_entry: irq=25 name=virtio1-input.0"),
        line(DUE + 80_000, "irq_handler_exit: irq=25 ret=handled"),
        *woken(85, 86, 88),
        latency_ns=90_000,
    )
    assert said == (
        "the timer's interrupt came 85.0 us late: interrupt 25 (virtio1-input.0) ran for 80.0 us"
    )


def test_softirqs_before_the_switch_are_named() -> None:
    said = cause(
        expired(DUE + 1000),
        waking(DUE + 2000),
        line(DUE + 3000, "softirq_entry: vec=3 [action=NET_RX]"),
        line(DUE + 73_000, "softirq_exit: vec=3 [action=NET_RX]"),
        switched(DUE + 75_000, ("ksoftirqd/1", 20, 120)),
        latency_ns=76_000,
    )
    assert said == "73.0 us ready without its CPU: softirq NET_RX ran for 70.0 us"


def test_a_thread_of_higher_priority_is_named() -> None:
    said = cause(
        to(DUE - 9000, ("multipathd", 321, 0)),
        *woken(1, 2, 300, ("multipathd", 321, 0)),
        latency_ns=301_000,
    )
    assert said == (
        "298.0 us ready without its CPU: multipathd (321, real-time 99) ran for 297.5 us, of the "
        "same or a higher priority"
    )


def test_a_fair_thread_that_is_not_preempted_is_named() -> None:
    said = cause(
        to(DUE - 9000, ("stress-ng-vm", 400, 120)),
        line(DUE + 1000, "local_timer_entry: vector=236", who="stress-ng-vm", pid=400),
        expired(DUE + 1000, "stress-ng-vm", 400),
        waking(DUE + 2000, "stress-ng-vm", 400),
        line(DUE + 3000, "local_timer_exit: vector=236", who="stress-ng-vm", pid=400),
        switched(DUE + 90_000, ("stress-ng-vm", 400, 120)),
        latency_ns=91_000,
    )
    assert said.startswith(
        "88.0 us ready without its CPU: stress-ng-vm (400, fair) was not preempted for 87.5 us: "
        "in a part of the kernel that cannot be, or of a kernel that does not preempt"
    )
    assert said.endswith("; no event there for 87.0 us")


def test_an_idle_cpu_and_a_silent_machine_are_said() -> None:
    said = cause(
        to(DUE - 900_000, ("swapper/1", 0, 120)),
        to(DUE - 800_000, ("swapper/0", 0, 120), cpu=0),
        *woken(400, 401, 403),
        to(DUE + 404_000, ("bash", 5, 120), cpu=0),
        latency_ns=404_000,
    )
    assert said == (
        "the timer's interrupt came 400.0 us late: the CPU was idle: it left its idle state that "
        "slowly, or the host did not let the CPU run; no event there nor on any other CPU for "
        "400.0 us"
    )


def stopped(
    who: tuple[str, int, int],
    *,
    other: tuple[str, int, int] = ("bash", 5, 120),
    machine: Machine = GUEST,
) -> str:
    """The cause where two CPUs had no event for 31 ms."""
    return cause(
        to(DUE - 9000, who),
        to(DUE - 9000, other, cpu=0),
        *woken(31_000, 31_001, 31_003, who),
        to(DUE + 31_004_000, ("bash", 6, 120), cpu=0),
        latency_ns=31_004_000,
        machine=machine,
    )


LOAD, LAZY = ("stress-ng-cpu", 400, 120), ("swapper/0", 0, 120)


def test_busy_cpus_without_an_event_for_longer_than_a_tick_were_stopped_from_below() -> None:
    """On bare metal there is no host: Documentation/trace/hwlat_detector.rst names SMIs."""
    late = "the timer's interrupt came 31000.0 us late: "
    silent = ": no event on any CPU for 31000.0 us"
    assert stopped(LOAD) == f"{late}the host did not let the machine run{silent}"
    bare = "firmware (an SMI) or the hardware stopped the machine"
    assert stopped(LOAD, machine=BARE) == late + bare + silent
    assert stopped(LOAD, machine=Machine()) == f"{late}a host, {bare}{silent}"


def test_a_cpu_that_may_go_without_a_tick_is_no_witness_of_a_machine_that_stood_still() -> None:
    """NO_HZ_IDLE and nohz_full stop it: Documentation/timers/no_hz.rst."""
    assert "the CPU was idle" in stopped(("swapper/1", 0, 120))
    assert "ran with interrupts off" in stopped(LOAD, other=LAZY)
    for lazy in (0, 1):
        said = stopped(LOAD, machine=Machine(virtual=False, tickless=frozenset({lazy})))
        assert "stress-ng-cpu (400, fair) ran with interrupts off" in said


def test_no_host_is_blamed_where_there_is_none() -> None:
    for at in (40, 80):  # of the waking, and so whose part is the longest
        events = (*woken(1, at, 90)[:2], switched(DUE + 90_000, LOAD))
        said = cause(to(DUE - 9000, LOAD), *events, latency_ns=91_000, machine=BARE)
        assert "host" not in said
        assert "firmware (an SMI) or the hardware stopped the CPU" in said


MULTIPATHD = ("multipathd", 321, 0)


def preempting(
    at_ns: int, after: tuple[str, int, int], who: tuple[str, int, int], state: str = "R"
) -> str:
    text = SWITCH.replace("prev_state=R", f"prev_state={state}").format(*who, *after)
    return line(at_ns, text, who=who[0], pid=who[1])


PROBE = ("db-probe1", 77, 9)


@pytest.mark.parametrize(
    ("taker", "called"),
    [
        (MULTIPATHD, "multipathd (321, real-time 99)"),
        (("deadline", 322, -1), "deadline (322, deadline)"),  # include/linux/sched/prio.h
        (("migration/1", 22, 0), "migration/1 (22, real-time 99)"),
    ],
)
def test_who_took_the_cpu_after_the_waking_is_named(taker: tuple[str, int, int], called: str):
    said = cause(
        to(DUE - 9000, LOAD),
        *woken(1, 2, 795, LOAD)[:2],
        preempting(DUE + 3000, taker, LOAD),
        switched(DUE + 795_000, taker),
        latency_ns=797_000,
    )
    assert said == (
        f"793.0 us ready without its CPU: {called} ran for 792.0 us, of the same or a higher "
        "priority"
    )


def test_all_that_took_much_of_the_time_are_named() -> None:
    said = cause(
        to(DUE - 9000, LOAD),
        *woken(1, 2, 0, LOAD)[:2],
        preempting(DUE + 102_000, MULTIPATHD, LOAD),
        preempting(DUE + 402_000, ("irq/9", 9, 5), MULTIPATHD),
        switched(DUE + 602_000, ("irq/9", 9, 5)),
        latency_ns=603_000,
    )
    assert (
        "multipathd (321, real-time 99) ran for 300.0 us, irq/9 (9, real-time 94) ran for" in said
    )
    assert "stress" not in said


def test_a_fair_thread_that_got_the_cpu_meanwhile_is_not_called_unpreemptible() -> None:
    """The fair server (Linux 6.12) and RT throttling let lower threads go first."""
    said = cause(
        to(DUE - 9000, MULTIPATHD),
        *woken(1, 2, 0, MULTIPATHD)[:2],
        preempting(DUE + 3000, LOAD, MULTIPATHD),
        switched(DUE + 50_003_000, LOAD),
        latency_ns=50_004_000,
    )
    assert "stress-ng-cpu (400, fair) ran for 50000.0 us, although the thread goes before" in said
    assert "fair server" in said


def test_a_runner_of_unknown_priority_is_not_said_to_be_lower() -> None:
    said = cause(
        line(DUE - 9000, "local_timer_entry: vector=236", who="thing", pid=40),
        line(DUE - 8000, "local_timer_exit: vector=236", who="thing", pid=40),
        expired(DUE + 1000, "thing", 40),
        waking(DUE + 2000, "thing", 40),
        latency_ns=91_000,
    )
    assert said.startswith(
        "88.5 us ready without its CPU: thing (40) ran for 88.5 us; no event says"
    )


@pytest.mark.parametrize(("state", "went"), [("R+", "it was preempted: "), ("D", "it slept in")])
def test_a_thread_that_lost_its_cpu_before_it_read_the_clock_names_who_took_it(
    state: str, went: str
) -> None:
    said = cause(
        *usual()[:3],
        preempting(DUE + 6000, MULTIPATHD, PROBE, state),
        switched(DUE + 706_000, MULTIPATHD),
        latency_ns=708_000,
    )
    assert said.startswith("the thread took 702.5 us from getting its CPU to reading the clock: ")
    assert went in said
    assert said.endswith("multipathd (321, real-time 99) ran for 700.0 us")


def elsewhere(text: str) -> str:
    return text.replace("[001]", "[000]")


def test_a_timer_that_the_kernel_moved_to_another_cpu_is_followed_there() -> None:
    """get_nohz_timer_target: those of CPUs without a tick expire on one that has it."""
    said = cause(
        to(DUE - 9000, ("swapper/1", 0, 120)),
        to(DUE - 9000, ("cat", 8, 120), cpu=0),
        elsewhere(expired(DUE + 85_000, "cat", 8)),
        elsewhere(waking(DUE + 86_000, "cat", 8)),
        switched(DUE + 88_000),
        latency_ns=90_000,
        machine=BARE,
    )
    assert said.startswith(
        "the timer's interrupt came 85.0 us late, on CPU 0, to which the kernel had moved it: "
        "cat (8, fair) ran with interrupts off"
    )


def test_cpus_where_timers_may_expire_are_traced_too() -> None:
    files = {
        "/sys/devices/system/cpu/online": "0-7\n",
        "/sys/devices/system/cpu/nohz_full": "2-7\n",
        "/proc/cpuinfo": "flags : fpu\n",
    }
    found = read_machine(FakeTarget(files=files))
    assert found.virtual is False
    assert found.timer_cpus((4, 5)) == (0, 1, 4, 5)
    assert found.timer_cpus((1,)) == (1,)
    files["/proc/sys/kernel/timer_migration"] = "0\n"
    assert read_machine(FakeTarget(files=files)).timer_cpus((4, 5)) == (4, 5)
    del files["/sys/devices/system/cpu/nohz_full"]  # a kernel without NO_HZ_FULL
    assert read_machine(FakeTarget(files=files)).timer_cpus((4, 5)) == (4, 5)
    assert read_machine(FakeTarget()).virtual is None


def test_the_time_of_a_cpu_is_shared_out_to_whoever_had_it() -> None:
    def switch(at_ns: int, before: int, after: int) -> TraceEvent:
        fields: dict[str, int | str] = {"prev_pid": before, "next_pid": after}
        fields |= {"prev_comm": "a", "next_comm": "b", "prev_prio": 120, "next_prio": 120}
        return TraceEvent(
            at_ns=at_ns, cpu=1, name="sched_switch", thread="a", pid=before, fields=fields
        )

    events = [switch(5, 1, 2), switch(20, 2, 3), switch(50, 3, 2), switch(90, 2, 1)]
    found = stretch(events, 1, 10, 80).threads
    assert [(each.thread.pid, each.ns, each.kept_ns) for each in found] == [(2, 40, 10), (3, 30, 0)]
    assert stretch([], 1, 10, 80).threads == ()


def test_a_usual_wake_up_is_not_blamed_on_anything() -> None:
    (split,) = split_path(text_of(*usual()), [THREAD])
    assert str(split.worst.cause).startswith(
        "nothing stands out; the longest part: 3.0 us ready without its CPU: it was idle"
    )


def test_another_cpu_that_was_busy_meanwhile_is_no_silent_machine() -> None:
    busy = [to(DUE + at * 1000, ("bash", 5, 120), cpu=0) for at in range(0, 400, 10)]
    said = cause(
        to(DUE - 900_000, ("bash", 9, 120)), *busy, *woken(400, 401, 403), latency_ns=404_000
    )
    assert "bash (9, fair) ran with interrupts off, or the host did not let the CPU run" in said
    assert said.endswith("; no event there for 400.0 us")


def test_slow_handlers_and_slow_exits_are_told_apart() -> None:
    slow = cause(*woken(1, 50, 52), latency_ns=53_000)
    assert slow.startswith("the timer's handler took 49.5 us until it woke the thread: ")
    late = cause(*woken(1, 2, 4), latency_ns=60_000)
    assert late.startswith("the thread took 55.5 us from getting its CPU to reading the clock: ")


def test_of_handlers_within_one_another_the_inner_one_counts() -> None:
    def event(at_ns: int, what: str, **fields: int | str) -> TraceEvent:
        return TraceEvent(at_ns=at_ns, cpu=1, name=what, thread="x", pid=1, fields=fields)

    events = [
        event(0, "softirq_entry", vec=1, action="TIMER"),
        event(30, "irq_handler_entry", irq=9, name="acpi"),
        event(70, "irq_handler_exit", irq=9),
        event(90, "softirq_exit", vec=1),
    ]
    found = stretch(events, 1, 10, 100).handlers
    assert found == {"softirq TIMER": 40, "interrupt 9 (acpi)": 40}
    assert stretch(events, 1, 75, 85).handlers == {"softirq TIMER": 10}
    assert stretch(events[:1], 1, 10, 100).handlers == {"softirq TIMER": 90}


def test_who_has_a_cpu_is_what_the_events_say_last() -> None:
    fields: dict[str, int | str] = {"prev_comm": "a", "prev_pid": 1, "prev_prio": 120}
    fields |= {"next_comm": "b", "next_pid": 2, "next_prio": 49}
    switch = TraceEvent(at_ns=10, cpu=1, name="sched_switch", thread="a", pid=1, fields=fields)
    later = TraceEvent(at_ns=20, cpu=1, name="sched_waking", thread="c", pid=3)
    before, after = running_at([switch], 1, 5), running_at([switch], 1, 10)
    assert (before.text, after.text) == ("a (1, fair)", "b (2, real-time 50)")
    assert running_at([], 1, 5) is None
    unreported = running_at([switch, later], 1, 25)
    assert unreported.text == "c (3)"


def test_a_kept_trace_tells_the_wake_up_it_was_kept_for() -> None:
    worse = [*usual(DUE + 10**6)[:3], mark(DUE + 10**6 + 7000, DUE + 10**6, 6900)]
    text = text_of(*usual(), *worse)
    assert kept_worst(text, THREAD, DUE, 6200).latency_ns == 6200
    missing = kept_worst(text, THREAD, DUE + 5 * 10**6, 9000)
    assert (missing.due_ns, missing.latency_ns) == (5 * 10**6, 9000)
    assert str(missing.cause).startswith("unknown: ")


def test_moments_without_a_switch_have_no_exit() -> None:
    moments = Moments(due_ns=0, expired_ns=10, waking_ns=30, switched_ns=None, read_ns=100)
    assert moments.parts() == {"interrupt": 10, "wake_up": 20, "switch": 70}
    assert moments.spans()["switch"] == (30, 100)


# --- the engine ---------------------------------------------------------------------------------


def machine(shell: Conversation, trace: str = "") -> FakeTarget:
    plain = result(cpu(cpu=1, start_ns=DUE))
    program = f"/fake/{link_program(Toolchain.find(), NO_TASK_SETS).name}"
    prober = Conversation(
        greeting=("threads 0 77", f"late 0 {DUE} 6200", "done 0 5"), answer=lambda _: ()
    )
    return FakeTarget(
        files={"/fake/wake-ups": json.dumps(plain), "/fake/trace": trace},
        conversations={program: prober, "sh": shell},
    )


SHELL = Conversation(greeting=("ready /instance",), answer=lambda line: ("ok 0",))
REFUSED = Conversation(greeting=("no tracefs is not mounted",), answer=lambda line: ())


def measured_options(target: FakeTarget) -> list[dict[str, str]]:
    runs = [call for call in target.calls if call[1:2] == ("probe",)]
    return [dict(zip(call[2::2], call[3::2], strict=True)) for call in runs]


def test_a_traced_run_is_another_than_the_one_that_counts() -> None:
    target = machine(SHELL, text_of(*usual()))
    request = Request(cpus=(1,), seconds=60, trace=True)
    measured = ProberEngine().measure(target, request)
    assert measured.split == ()
    measured = ProberEngine().trace(target, request, measured)
    counts, traced = measured_options(target)
    assert "--mark-file" not in counts
    assert traced["--mark-file"] == "/instance/trace_marker"
    assert (counts["--seconds-ns"], traced["--seconds-ns"]) == (str(60 * S), str(10 * S))
    assert parts_of(measured.split[0])["interrupt"] == 1300
    assert measured.problems == ()


def test_the_worst_of_a_long_run_has_its_cause_and_the_run_says_that_it_was_traced() -> None:
    heard: list[str] = []

    def answer(line: str) -> tuple[str]:
        heard.append(line)
        return ("ok 0",)

    shell = Conversation(greeting=("ready /instance",), answer=answer)
    target = machine(shell, text_of(*usual()))
    request = Request(cpus=(1, 2), seconds=60, break_ns=5000)
    measured = ProberEngine().measure(target, request)
    # the trace stays there until the run is over, which may be behind a network
    assert heard == ["on", "off", "save /fake/trace", "on", "forget /fake/trace"]
    (options,) = measured_options(target)
    assert (options["--break-ns"], options["--break-file"]) == ("5000", "/instance/tracing_on")
    assert measured.split[0].worst.latency_ns == 6200
    assert "another CPU" in measured.split[1].unavailable
    assert [finding.id for finding in measured.problems] == ["traced"]


@pytest.mark.parametrize("keep", [0, 5000])
def test_without_event_tracing_the_run_counts_and_says_why_it_has_no_split(keep: int) -> None:
    target = machine(REFUSED)
    request = Request(cpus=(1, 2), seconds=60, break_ns=keep)
    measured = ProberEngine().measure(target, request)
    if not keep:
        measured = ProberEngine().trace(target, request, measured)
    assert measured.cpus[0].cycles == 4
    assert [split.unavailable for split in measured.split] == ["tracefs is not mounted"] * 2
    assert measured.problems == ()
    assert len(measured_options(target)) == 1


def test_the_worst_of_the_run_that_counts_goes_before_that_of_the_traced_one() -> None:
    split = split_path(text_of(*usual()), [THREAD])
    kept = PathSplit(cpu=1, worst=WorstTraced(latency_ns=9, cause="x"))
    (joined,) = with_worst(split, (kept,))
    assert (joined.worst, joined.parts) == (kept.worst, split[0].parts)
    (alone,) = with_worst((PathSplit(cpu=1, unavailable="refused"),), (kept,))
    assert (alone.worst, alone.unavailable) == (kept.worst, "")
    none = PathSplit(cpu=1, unavailable="none was later")
    assert with_worst(split, (none,)) == split == with_worst(split, ())


def test_a_traced_run_that_fails_leaves_the_run_that_counts() -> None:
    target = machine(SHELL)
    request = Request(cpus=(1,), seconds=60, trace=True)
    measured = ProberEngine().measure(target, request)
    (program,) = (name for name in target.conversations if name != "sh")
    target.conversations[program] = Conversation(greeting=("error busy 9",))
    traced = ProberEngine().trace(target, request, measured)
    assert traced.cpus == measured.cpus
    assert "has this machine (process 9)" in traced.split[0].unavailable


def test_engines_that_split_no_path_say_so() -> None:
    measured = Measured(cpus=(cpu_latency(cpu(), 10**6),))
    request = Request(cpus=(3,), seconds=1, trace=True)
    for engine in (CyclictestEngine(), SimulatedEngine()):
        (split,) = engine.trace(FakeTarget(), request, measured).split
        assert split.cpu == 3
        assert split.unavailable
