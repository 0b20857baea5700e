"""Truth: text that is no event is passed over, text that is one comes back as it was written."""

import struct
from pathlib import Path
from tempfile import TemporaryDirectory

from helpers.runs import RunTask, job_table, ran
from hypothesis import given
from hypothesis import strategies as st

from deadbeat.base.model.errors import DataError
from deadbeat.base.model.traces import TraceEvent
from deadbeat.machine.targets.marks import HEAD_BYTES, Writer, create, read
from deadbeat.machine.trace.jobs import extract
from deadbeat.machine.trace.parse import parse_line
from deadbeat.machine.trace.why import Span, add_up
from deadbeat.program.run.results import tasks_of
from deadbeat.program.run.spec import ProgramSpec

word = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=40)
pieces = st.sampled_from(
    ["a-1", " [000] ", "d..2. ", "1.000001: ", "sched_switch: ", "prev_comm=", "prev_pid=1 ",
     "==> ", "next_comm=x ", "next_pid=", "=", " ", "\t", "[action=", "]", "9" * 30,
     "\u0663.\u0664: ", "\n"]
)  # fmt: skip


SPAN = Span(cpu=0, release_ns=0, start_ns=0, finish_ns=1000)


@given(st.lists(st.one_of(pieces, word), max_size=30).map("".join))
def test_no_text_is_too_strange(text: str) -> None:
    for line in text.splitlines():
        found = parse_line(line, epoch_ns=0)
        assert found is None or found.name
    table = job_table([RunTask()], [[ran(0, 0, 900)]])
    trace = extract(table, text, {1: 0})
    (job,) = trace.jobs
    assert add_up(job.events, lambda pid, _: pid == 1, SPAN).seen in (True, False)
    assert job.totals.ran_ns + job.totals.unknown_ns <= 900


name = st.text("abcdefghij/0123456789:_-. ", min_size=1, max_size=15).filter(
    lambda text: text == text.strip()
)
number = st.integers(0, 10**9)


switches = st.tuples(
    name, number, name, number, st.integers(0, 999), st.integers(0, 10**12), st.sampled_from("RSDI")
)


@given(switches)
def test_what_the_kernel_prints_comes_back(drawn: tuple[str, int, str, int, int, int, str]) -> None:
    own, pid, other, next_pid, cpu, at_us, state = drawn
    line = (
        f"{own:>16}-{pid:<7} [{cpu:03d}] d..2. {at_us // 10**6}.{at_us % 10**6:06d}: sched_switch:"
        f" prev_comm={own} prev_pid={pid} prev_prio=29 prev_state={state} ==> next_comm={other}"
        f" next_pid={next_pid} next_prio=120"
    )
    assert parse_line(line, epoch_ns=0) == TraceEvent(
        at_ns=at_us * 1000,
        cpu=cpu,
        name="sched_switch",
        thread=own,
        pid=pid,
        fields={
            "prev_comm": _value(own), "prev_pid": pid, "prev_prio": 29, "prev_state": state,
            "next_comm": _value(other), "next_pid": next_pid, "next_prio": 120,
        },
    )  # fmt: skip


def _value(text: str) -> int | str:
    digits = text.removeprefix("-")
    return int(text) if digits.isdecimal() else text


event = st.builds(
    TraceEvent,
    at_ns=st.integers(-2000, 2000),
    cpu=st.integers(0, 2),
    name=st.sampled_from(
        ["sched_switch", "sched_waking", "sched_migrate_task", "irq_handler_entry",
         "irq_handler_exit", "softirq_entry", "softirq_exit", "gap", "other"]
    ),
    thread=st.sampled_from(["db-t0", "x"]),
    pid=st.integers(0, 3),
    interrupt=st.booleans(),
    fields=st.dictionaries(
        st.sampled_from(
            ["pid", "comm", "prio", "prev_pid", "prev_comm", "prev_state", "next_pid", "next_comm",
             "next_prio", "target_cpu", "dest_cpu", "orig_cpu"]
        ),
        st.one_of(st.integers(0, 3), st.sampled_from(["R", "S", "db-t0"])),
    ),
)  # fmt: skip


@given(st.lists(event, max_size=40))
def test_any_events_add_up_to_the_job(events: list[TraceEvent]) -> None:
    found = add_up(events, lambda pid, _: pid == 1, SPAN)
    assert found.ran_ns + found.ready_ns + found.asleep_ns + found.unknown_ns == 1000
    assert sum(share.ready_ns for share in found.threads) <= found.ready_ns
    assert sum(share.slept_ns for share in found.threads) <= found.asleep_ns
    assert found.roused_ns <= found.ready_ns
    assert sum(found.interrupts_ns.values()) <= found.ran_ns
    assert all(ns > 0 for ns in found.interrupts_ns.values())
    for share in found.threads:
        assert share.instead_ns <= share.ready_ns
        assert share.longest_ns <= share.slept_ns <= share.sleeps * share.longest_ns


def whole(jobs: int, capacity: int = 8) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "marks")
        create(path, capacity)
        writer = Writer(str(path))
        writer.declare(1, "task\x1b[31m", 10**6, 0)
        for job in range(1, jobs + 1):
            writer.add(1, job * 10**6, job * 10**6 + 5, job * 10**6 + 99, 0)
        return path.read_bytes()


def test_what_was_written_is_read() -> None:
    found = read(whole(10), "x")
    assert (len(found.records), found.dropped) == (8, 2)
    assert [task.name for task in found.tasks] == ["task?[31m"]
    assert found.records["finish"][0] == 10**6 + 99


FILE = whole(5)
PLACES = st.one_of(st.integers(0, 199), st.integers(HEAD_BYTES, len(FILE) - 8))
NUMBERS = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**31, 2**62, 2**63]))


@given(st.lists(st.tuples(PLACES, NUMBERS), max_size=4), st.integers(0, len(FILE) + 40))
def test_any_file_is_read_or_refused(changes: list[tuple[int, int]], length: int) -> None:
    data = bytearray(FILE)
    for place, number in changes:
        struct.pack_into("=Q", data, place, number)
    for end in (len(data), length):
        try:
            found = read(bytes(data[:end]).ljust(end, b"\0"), "x")
        except DataError as error:
            assert "\n" not in str(error)
        else:
            for task in tasks_of(found, ProgramSpec(command=("x",))):
                assert task.response.total > 0 and task.skipped >= 0
