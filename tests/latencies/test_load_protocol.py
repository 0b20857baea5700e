"""Truth: the text that runtime/src/host/rounds.c writes."""

import re
from typing import Any

import pytest
from helpers.loads import request

from deadbeat.base.model.errors import DataError
from deadbeat.latencies.load.engine import LoadRequest, Seen, SimulatedLoad, parse
from deadbeat.latencies.load.runner import Beside, problems
from deadbeat.machine.targets.fake import FakeTarget

WHOLE = """rounds 1
window 50000000 1050000000
sampled 50010000 1050020000
placed fifo 99 -1
unit 260000
round 0 17 10000000 9990000 5 0 1 0 1 1 0
round 10000000 10000020 20000000 9980000 0 0 0 1 1 0 2
gap 1234567 51690158 51679998 1 0 1
normal 0 2006992
normal 1 1921440
lost 3
end 2
"""
SPEC = {"seconds": 1.0, "additions": 10_000, "cpus": (0, 1)}


def test_a_whole_result() -> None:
    seen = parse(WHOLE)
    assert seen.window_ns == (50_000_000, 1_050_000_000)
    assert (seen.policy, seen.priority, seen.cpu, seen.unit_ps) == ("fifo", 99, -1, 260_000)
    assert seen.rounds.response_ns.tolist() == [10_000_000, 10_000_000]
    assert seen.rounds.skipped.tolist() == [0, 2]
    assert seen.gaps.delay_ns.tolist() == [51_679_998]
    assert seen.normal_units == (2_006_992, 1_921_440)
    assert seen.gaps_lost == 3


def test_a_run_without_the_real_time_thread() -> None:
    seen = parse("rounds 1\nwindow 0 1\nsampled 0 1\nnormal 0 5\nlost 0\nend 0\n")
    assert (seen.policy, seen.priority, len(seen.rounds)) == ("", None, 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        WHOLE.replace("rounds 1", "rounds 2"),
        WHOLE.replace("end 2", "end 3"),
        WHOLE.replace("end 2\n", ""),
        WHOLE.replace("gap 1234567", "gap x"),
        WHOLE.replace("round 0 17", "round 17"),
        *(WHOLE[:length] for length in range(5, len(WHOLE) - 7, 23)),
    ],
)
def test_half_a_result_is_none(text: str) -> None:
    with pytest.raises(DataError, match="damaged"):
        parse(text)


def test_each_of_several_real_time_threads_has_its_rounds() -> None:
    other = "placed fifo 99 -1\nunit 260000\nround 0 5 60 7 8 0 0 1 1 0 0\nlost 0\nend 1\n"
    found = parse(WHOLE + other + "placed fifo 99 -1\nunit 260000\nlost 0\nend 0\n")
    assert found.rounds.finish_ns.tolist() == [10_000_000, 20_000_000]
    assert [each.finish_ns.tolist() for each in found.others] == [[60], []]
    with pytest.raises(DataError, match="damaged"):
        parse(WHOLE + other.replace("end 1", "end 2"))


def ask(**more: object) -> LoadRequest:
    return request(SPEC, **{"threads": 2, **more})


def names(asked: LoadRequest, seen: Seen, machine: dict[str, object] | None = None) -> list[str]:
    return [f"{p.severity} {p.id}" for p in problems(asked, seen, machine or {})]


def test_a_run_is_judged_by_what_the_thread_really_had() -> None:
    seen = parse(WHOLE.replace("window 50000000", "window 90000000").replace("lost 3", "lost 0"))
    inside = parse(WHOLE.replace("window 50000000", "window 0").replace("lost 3", "lost 0"))
    assert names(ask(), inside) == []
    assert names(ask(), seen) == ["invalid too-few-rounds"]
    assert names(ask(priority=50), inside) == ["invalid wrong-priority"]
    assert names(ask(policy="other"), inside) == ["invalid wrong-priority"]
    assert names(ask(pin=1), inside) == ["invalid wrong-placement"]
    assert names(ask(condition="reference"), parse(WHOLE)) == ["warning gaps-lost"]


def test_ordinary_threads_that_never_ran_are_a_result_only_where_their_cpu_was_taken() -> None:
    text = WHOLE.replace("window 50000000", "window 0").replace("lost 3", "lost 0")
    idle = parse(re.sub(r"^normal (\d+) \d+$", r"normal \1 0", text, flags=re.M))
    assert idle.normal_units and not any(idle.normal_units)
    assert names(ask(), idle) == ["invalid load-not-reached"]
    assert names(ask(cpus=(0,)), idle) == []
    assert names(ask(normal_cpus=(0,)), idle) == []
    assert names(ask(pin=0, normal_cpus=(1,)), idle)[-1] == "invalid load-not-reached"
    assert names(ask(cpus=(0,), condition="reference"), idle) == ["invalid load-not-reached"]


@pytest.mark.parametrize(
    ("key", "much", "little", "id"),
    [("steal_share", 0.02, 0.001, "steal"), ("others_ready", 2, 1, "other-work")],
)
def test_stolen_time_and_other_work_are_warnings(key: str, much: Any, little: Any, id: str) -> None:
    inside = parse(WHOLE.replace("window 50000000", "window 0").replace("lost 3", "lost 0"))
    found = [names(ask(), inside, {key: value}) for value in (much, little, None)]
    assert found == [[f"warning {id}"], [], []]


def machine_between(before: str, after: str) -> dict[str, object]:
    """What is recorded around a run, from /proc/stat before and after it."""
    machine = SimulatedLoad()
    given = [FakeTarget(files={"/proc/stat": text}) for text in (before, after)]
    machine.read = lambda paths: given.pop(0).read_many(paths)  # type: ignore[method-assign]
    watcher = Beside(machine, (0, 1))
    return watcher.ends()


def test_what_is_read_around_a_run() -> None:
    stat = "cpu0 10 0 10 80 0 0 0 {} 0 0\ncpu1 10 0 10 {} 0 0 0 0 0 0\nprocs_running 4\n"
    found = machine_between(stat.format(0, 80), stat.format(20, 160))
    assert found["steal_ticks"] == 20
    assert found["steal_ticks_by_cpu"] == {"0": 20, "1": 0}
    assert found["steal_share"] == 0.2
    assert found["others_ready"] == 3
    assert found["frequency_khz"] is None
    assert "no such file" in str(found["frequency_unknown"])
    assert machine_between("", "")["steal_share"] is None
    assert machine_between("", "")["others_ready"] is None
