"""Truth: what a load says of itself; scripted programs that run, refuse or die."""

import attrs
import pytest

from deadbeat.base.model.errors import TargetError
from deadbeat.base.model.platform import Platform, differing_platforms, example_platform
from deadbeat.base.store.files import tool_version
from deadbeat.latencies.latency.kind import loaded_otherwise
from deadbeat.latencies.latency.loads import LOADS, strengths
from deadbeat.latencies.latency.model import IDLE, PROFILES, LoadPoint
from deadbeat.latencies.latency.observe import differing_loads, matrix_of
from deadbeat.latencies.latency.stress import (
    Look,
    StressLoads,
    Worker,
    asked_of,
    did,
    makers_of,
    workers_of,
)
from deadbeat.machine.targets.base import Completed
from deadbeat.machine.targets.fake import Conversation, FakeTarget

STAT = "cpu  0 0 0 0\ncpu0 {0} 0 0 {1} 0 0 0 0 0 0\ncpu1 {0} 0 0 {1} 0 0 0 {2} 0 0\n"
RUNTIME = "/fake/runtime"


def machine(
    conversation: Conversation | None = None, *, installed: str = "version 0.15.06 (gcc)"
) -> FakeTarget:
    there = Completed(argv=("sh",), returncode=0 if installed else 127, stdout=installed, stderr="")
    return FakeTarget(
        files={"/proc/stat": STAT.format(0, 0, 0)},
        commands={"sh": there},
        conversations={RUNTIME: conversation or Conversation()},
    )


def loads() -> StressLoads:
    return StressLoads((0, 1), program=lambda _: RUNTIME, sleep=lambda _: None)


def test_every_profile_describes_itself() -> None:
    assert set(LOADS) == set(PROFILES)
    for name, profile in LOADS.items():
        commands = profile.commands(100, (0, 3))
        assert commands, name
        asked = " ".join(word for argv in commands for word in argv)
        assert "0,3" in asked or {"0", "3"} <= {argv[1] for argv in commands}, name
        # Nothing real-time, nothing endless outside its folder.
        assert "sched" not in asked and "--all" not in asked
    assert LOADS["cpu"].commands(0, (0, 1)) == ()
    assert "--vm 1 " in " ".join(LOADS["memory"].commands(25, (0, 1, 2, 3))[0])


@pytest.mark.parametrize("cpus", [1, 2, 3, 4, 8])
def test_every_strength_of_a_load_that_is_offered_is_another_one(cpus: int) -> None:
    for profile in LOADS.values():
        offered = strengths(profile, cpus)
        made = {profile.commands(each, tuple(range(cpus))) for each in offered}
        assert len(made) == len(offered) and offered[-1] == 100
        assert profile.judged or profile.computes or profile.least
    assert strengths(LOADS["io"], 2) == (50, 100)
    assert strengths(LOADS["io"], 1) == (100,)
    assert strengths(LOADS["cpu"], 1) == tuple(range(1, 101))


def test_every_kind_of_worker_of_a_load_is_known() -> None:
    for profile in LOADS.values():
        commands = profile.commands(100, (0, 1))
        assert asked_of(commands, profile.kinds) == dict.fromkeys(profile.kinds, 2)
        counted = [w for argv in commands for w in argv if w.startswith("--") and w.count("-") == 2]
        assert set(counted) - {"--taskset"} == {f"--{kind}" for kind in profile.kinds}
        assert all(name.split()[0] in profile.kinds for name in profile.least)


def process(
    number: int, parent: int, title: str, *, ticks: int = 0, switches: int = 0, written: int = -1
) -> str:
    """As grep prints the files of proc(5); the name in stat is cut off after 15 letters."""
    name = title.split(maxsplit=1)[0][:15]
    lines = [
        f"stat:{number} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 9",
        f"cmdline:{title}",
        f"status:voluntary_ctxt_switches:\t{switches}",
        "status:nonvoluntary_ctxt_switches:\t1",
    ]
    lines += [f"io:write_bytes: {written}"] if written >= 0 else []
    return "".join(f"/proc/{number}/{line}\n" for line in lines)


ROOT = process(10, 9, "stress-ng --timer 2 --timerfd 1 --hdd 1 --temp-path /fake --quiet")
STRANGE = process(20, 9, "stress-ng --timer 1 --temp-path /fakes --quiet") + process(
    21, 20, "stress-ng-timer [run]", ticks=9
)


def working(factor: int) -> dict[int, Worker]:
    text = (
        ROOT
        + process(11, 10, "stress-ng-timer [run]", ticks=3 * factor, switches=900 * factor)
        + process(12, 10, "stress-ng-timer [run]", ticks=7)
        + process(13, 10, "stress-ng-timerfd [run]", switches=3 * factor)
        + process(14, 10, "stress-ng-hdd [wait]", written=0)
        + process(15, 14, "stress-ng-hdd [run]", ticks=50 * factor, written=4096 * factor)
        + STRANGE
    )
    return workers_of(text, "/fake")


def test_workers_are_told_apart_by_kind_and_load_and_count_with_their_descendants() -> None:
    found = working(1)
    assert {number: worker.kind for number, worker in found.items()} == {
        11: "timer", 12: "timer", 13: "timerfd", 14: "hdd",
    }  # fmt: skip
    assert found[14] == Worker(kind="hdd", ticks=50, switches=2, written=4096)
    assert found[11].written is None


def test_a_worker_that_stands_still_or_is_not_there_is_seen() -> None:
    asked = {"timer": 2, "timerfd": 1, "hdd": 1, "switch": 1}
    before, after = Look(workers=working(1), uptime_s=5.0), Look(workers=working(3), uptime_s=7.0)
    workers, throughput = did(asked, before, after, least={"switch switches/s": 100.0})
    assert workers == {
        "timer": (2, 2, 1), "timerfd": (1, 1, 1), "hdd": (1, 1, 1), "switch": (1, 0, 0),
    }  # fmt: skip
    assert throughput == {
        "timer CPU s/s": 0.03, "timer switches/s": 900.0, "timerfd switches/s": 3.0,
        "hdd CPU s/s": 0.5, "hdd written B/s": 4096.0, "switch switches/s": 0.0,
    }  # fmt: skip
    assert did(asked, Look(), after, least={})[0] is None
    assert did({}, Look(workers={}), Look(workers={}), least={}) == ({}, {})


def test_a_load_runs_under_the_guard_is_counted_and_ends() -> None:
    target = machine()
    load = loads().start(target, LoadPoint("cpu", 50), seconds=9.0)
    assert len(target.processes) == 2 and all(p.running for p in target.processes)
    first = target.calls[-2]
    assert first[:2] == (RUNTIME, "guard") and first[first.index("--bound-ns") + 1] == "9000000000"
    assert "--temp-path /fake" in " ".join(first) and "--taskset 0" in " ".join(first)
    load.begin()
    target.files["/proc/stat"] = STAT.format(60, 40, 100).encode()
    said = load.end()
    assert (said.asked, said.judged, said.died) == (50, True, "")
    assert said.achieved == {"0": 0.6, "1": 0.3}
    assert said.workers is None  # the fake has no processes to look at
    assert said.commands[1].startswith("stress-ng --taskset 1")
    load.stop()
    load.stop()
    assert not any(process.running for process in target.processes)


def test_the_idle_machine_starts_nothing_and_needs_nothing() -> None:
    target = machine()
    load = loads().start(target, IDLE, seconds=1.0)
    load.begin()
    said = load.end()
    assert said.commands == () and said.workers == {} and not target.processes


def test_stress_ng_makes_the_loads_where_it_is_installed_else_deadbeat() -> None:
    there, bare = machine(), machine(installed="")
    assert makers_of(there) == makers_of(there, "stress-ng") == "stress-ng 0.15.06"
    assert makers_of(there, "deadbeat") == makers_of(bare) == f"deadbeat {tool_version()}"
    with pytest.raises(TargetError, match="no stress-ng") as refused:
        makers_of(bare, "stress-ng")
    assert "apt-get install" in refused.value.hint


def test_deadbeat_makes_the_same_load_with_the_same_options() -> None:
    target = machine()
    load = StressLoads((0, 1), "deadbeat 1.0", program=lambda _: RUNTIME, sleep=lambda _: None)
    running = load.start(target, LoadPoint("io", 50), seconds=1.0)
    running.begin()
    said = running.end()
    running.stop()
    words = " ".join(LOADS["io"].commands(50, (0, 1))[0])
    assert said.commands == (f"db-load {words}",)
    assert f" -- {RUNTIME} load {words} --temp-path /fake --quiet" in " ".join(target.calls[-1])


def dying(line: str) -> Conversation:
    def die(_: str) -> tuple[str, ...]:
        raise EOFError

    return Conversation(answer=die, stderr=line, returncode=2)


def test_a_load_that_dies_says_its_last_words() -> None:
    said = "stress-ng: error: out of memory\ndeadbeat guard: ended\n"
    target = machine(dying(said))
    load = loads().start(target, LoadPoint("memory", 100), seconds=1.0)
    load.begin()
    assert load.end().died == ""
    for process in target.processes:
        process.write_line("die")
    assert load.end().died == "stress-ng: error: out of memory"
    load.stop()


@pytest.mark.parametrize(
    ("status", "stderr", "words"),
    [
        (137, "deadbeat guard: ended\n", "stress-ng was killed by SIGKILL"),
        (-9, "", "its guard was killed by SIGKILL"),
        (137, "stress-ng: info: bye\n", "stress-ng was killed by SIGKILL"),
        (0, "", "it ended without a word, with status 0"),
    ],
)
def test_a_load_that_was_killed_names_the_signal(status: int, stderr: str, words: str) -> None:
    target = machine(attrs.evolve(dying(stderr), returncode=status))
    load = loads().start(target, LoadPoint("memory", 100), seconds=1.0)
    load.begin()
    target.processes[0].write_line("die")
    assert load.end().died == words
    assert load.end().died == words  # asked again, as every run beside it does
    load.stop()


def test_a_load_that_ends_at_once_is_refused_and_leaves_nothing() -> None:
    target = machine(dying("stress-ng: cannot\n"))

    def settle(_: float) -> None:
        target.processes[0].write_line("die")

    with pytest.raises(TargetError, match="cpu-050 ended at once: stress-ng: cannot"):
        StressLoads((0, 1), program=lambda _: RUNTIME, sleep=settle).start(
            target, LoadPoint("cpu", 50), seconds=1.0
        )
    assert not any(process.running for process in target.processes)


def test_loads_of_another_program_begin_another_folder_and_are_named_where_two_are_compared():
    def made(**details: str) -> Platform:
        return attrs.evolve(example_platform(), details=details)

    older, newer = made(loads_by="stress-ng 0.15"), made(loads_by="stress-ng 0.18")
    ours, unknown = made(loads_by="deadbeat 1.0"), made()
    assert [*loaded_otherwise(older, ours)] == ["was begun with loads by stress-ng"]
    assert not [*loaded_otherwise(older, newer), *loaded_otherwise(unknown, ours)]
    sides = [attrs.asdict(each) for each in (older, ours, unknown)]
    told = ["loads_by: stress-ng 0.15 | deadbeat 1.0"]
    assert differing_platforms(sides[0], sides[1]) == told
    assert differing_platforms(sides[0], sides[2]) == []
    named = zip("abc", sides, strict=True)
    one, two, three = (matrix_of((), name=n, path=n, platform=p) for n, p in named)
    (found,) = differing_loads((one, two, three))
    assert "a by stress-ng 0.15, b by deadbeat 1.0" in found.message
    assert not [*differing_loads((one, one, three))]
