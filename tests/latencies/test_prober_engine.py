"""The truth is the result file's own figures, and the words of the program's protocol."""

import json

import pytest
from helpers.wake_ups import counted, cpu, result

from deadbeat.base.model.errors import DataError, TargetError
from deadbeat.build.native import NO_TASK_SETS, link_program
from deadbeat.build.toolchain import Toolchain
from deadbeat.latencies.latency.engines import Request
from deadbeat.latencies.latency.model import LateWakeUp
from deadbeat.latencies.latency.prober import ProberEngine, cpu_latency, parsed, problems_of
from deadbeat.machine.targets import Conversation, FakeTarget


def machine(text: str, *lines: str, stderr: str = "") -> FakeTarget:
    """One on which the program says ``lines`` and leaves ``text``."""
    program = link_program(Toolchain.find(), NO_TASK_SETS)
    end = Conversation(greeting=lines, answer=lambda _: (), stderr=stderr)
    return FakeTarget(files={"/fake/wake-ups": text}, conversations={f"/fake/{program.name}": end})


def test_every_wake_up_and_every_missed_period_is_in_the_corrected_histogram() -> None:
    seen = cpu_latency(cpu(), 10**6)
    assert (seen.expected, seen.cycles, seen.missed) == (6, 4, 2)
    assert (seen.raw.total, seen.raw.max_ns, seen.raw.sum_ns) == (4, 2_500_000, 2_507_500)
    assert (seen.corrected.total, seen.corrected.sum_ns) == (6, 4_507_500)
    assert seen.corrected.above(400_000) == 3
    assert seen.worst[0] == LateWakeUp(due_ns=2_000_000, latency_ns=2_500_000, missed=2)
    assert (seen.block_ns, seen.block_maxima[2:4]) == (10**6, (2_500_000, 1_500_000))
    assert (seen.policy, seen.priority, seen.placed, seen.switches) == ("fifo", 90, 3, (4, 1))


def test_a_thread_that_measured_nothing_has_no_figures() -> None:
    empty = counted([])
    seen = cpu_latency(cpu(cycles=0, raw=empty, omitted=empty, worst=[], blocks=[]), 10**6)
    assert (seen.raw.total, seen.raw.min_ns, seen.raw.max_ns, seen.raw.mean_ns) == (
        0,
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is damaged"),
        ('{"version": 1', "is damaged"),
        ('{"version": 2}', "of another version"),
        ("[]", "of another version"),
    ],
)
def test_a_damaged_result_says_so(text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        parsed(text)


def test_a_missing_key_is_named() -> None:
    plain = cpu()
    del plain["missed"]
    with pytest.raises(DataError, match="missed"):
        cpu_latency(plain, 10**6)


def test_what_the_program_saw_go_wrong_is_a_problem_each() -> None:
    plain = result(cpu(early=2), cpu(), held="refused: Permission denied", stopped=True)
    names = [(problem.id, problem.severity) for problem in problems_of(plain)]
    assert names == [
        ("idle-not-held", "warning"),
        ("clock-behind", "warning"),
        ("ended-early", "warning"),
    ]
    assert list(problems_of(result(cpu(), held="system"))) == []


def test_a_run_asks_for_what_was_requested_and_reads_what_was_written() -> None:
    target = machine(json.dumps(result(cpu())), "threads 0 77", "done 0 5000000")
    request = Request(cpus=(3,), seconds=0.005, priority=80, dma_latency="system")
    measured = ProberEngine(worst=7).measure(target, request)
    assert [c.cpu for c in measured.cpus] == [3]
    assert (measured.problems, measured.split) == ((), ())
    words = target.calls[-1]
    given = dict(zip(words[2::2], words[3::2], strict=True))
    assert words[1] == "probe"
    expected = {
        "--cpus": "3",
        "--policy": "fifo",
        "--priority": "80",
        "--seconds-ns": "5000000",
        "--interval-ns": "1000000",
        "--dma-latency": "0",
        "--worst": "7",
        "--until-eof": "1",
        "--out": "/fake/wake-ups",
    }
    assert expected.items() <= given.items()
    assert not target.processes[-1].running


def test_without_a_real_time_policy_there_is_no_priority() -> None:
    target = machine(json.dumps(result(cpu())), "threads 0 77", "done 0 5000000")
    ProberEngine().measure(target, Request(cpus=(3,), seconds=1, policy="other"))
    assert target.calls[-1][target.calls[-1].index("--priority") :][:2] == ("--priority", "0")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("error busy 4711",), "another deadbeat measurement has this machine \\(process 4711\\)"),
        (("error probe a measuring process died",), "a measuring process died"),
        (("threads 0 7", "error guardian the bound was exceeded"), "the bound was exceeded"),
    ],
)
def test_a_program_that_gives_up_says_why(lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(TargetError, match=said):
        ProberEngine().measure(machine("", *lines), Request(cpus=(0,), seconds=1))


@pytest.mark.parametrize(
    "plain",
    [
        {"version": 1},
        {"version": 1, "interval_ns": 1, "cpus": 5},
        result(cpu(block_periods="x")),
        result(cpu(), held=7) | {"interval_ns": "y"},
    ],
)
def test_a_program_that_leaves_something_else_is_an_error_of_the_target(plain: object) -> None:
    target = machine(json.dumps(plain), "threads 0 77", "done 0 5000000")
    with pytest.raises((TargetError, DataError), match=r"makes no sense|is damaged"):
        ProberEngine().measure(target, Request(cpus=(3,), seconds=1))
