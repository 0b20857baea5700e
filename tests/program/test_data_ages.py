"""Truth: messages that carry when they were born (tests/programs/chains), recorded with
what they said of themselves (tests/golden/channels)."""

import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import asdict, evolve
from helpers.answers import Capture
from helpers.made_recordings import FUTEX, MS, Made
from helpers.recorded import ROOT, recorded
from test_injected_causes import tracefs  # noqa: F401 - a fixture

from deadbeat.cli.main import main
from deadbeat.program.derive.records import RecordKind
from deadbeat.program.run import experiment
from deadbeat.program.run.results import FIRST, ProgramStore

TRUTH = json.loads((ROOT / "tests/golden/channels/truth.json").read_text())
#: Recording -> the kinds of its two links.
PIPELINES = {
    "drops": ("sampled", "sampled"),
    "events": ("woken", "sampled"),
    "single": ("queued", "sampled"),
    "mixed": ("sampled", "woken"),
    "pipes": ("woken", "sampled"),
    "bounded": ("woken", "sampled"),
}
#: Recording -> sender, receiver and messages of each link.
ODDITIES = {
    # one sends by turns to two sockets that it is not connected to, another to one of them
    "unconnected": {("one", "left"): 100, ("one", "right"): 100, ("two", "left"): 200},
    # the reader gets its end of a pipe by SCM_RIGHTS
    "passed": {("giver", "getter"): 200},
    "restarted": {("first", "middle#1"): 100, ("first", "middle#2"): 100,
                  ("middle#1", "last"): 100, ("middle#2", "last"): 100},
    # a connection of 15 ms for each message
    "requests": {("client", "server"): 100},
    # 64 bytes are read 24 at a time
    "partial": {("putter", "taker"): 200},
    "counter": {("signaller", "waiter"): 200},
    "sysv": {("putter", "taker"): 200},
    "priority": {("plain", "taker"): 200, ("urgent", "taker"): 100},
    # no call names what is moved: by wake-ups
    "splice": {("putter", "mover"): 200, ("mover", "taker"): 200},
}  # fmt: skip
#: Records that kernels before 6.3 do not write.
LATER = (RecordKind.SENT, RecordKind.TAKEN, RecordKind.READY)


@pytest.fixture
def answer(in_a_folder: None, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Any:
    """JSON of `deadbeat run` of a recording, with more words."""

    def answered(name: str, *words: str, older: bool = False, **facts: Any) -> dict[str, Any]:
        first = recorded("channels")

        def watched(*of: Any) -> Any:
            found = first(*of)
            events = found.recording.events
            events = events[~np.isin(events["kind"], LATER)] if older else events
            changed = evolve(found.recording, **({"events": events} | facts))
            return evolve(found, recording=changed)

        shutil.copy("/bin/true", name)
        monkeypatch.setattr(experiment, "watched", watched)
        assert main(("run", "--json", "--fresh", *words, "--", f"./{name}")) == 0
        results: dict[str, Any] = json.loads(capsys.readouterr().out)["results"]
        return results

    return answered


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("name", PIPELINES)
def test_every_message_is_paired_and_its_age_is_what_it_says(
    name: str, older: bool, answer: Any
) -> None:
    truth = TRUTH[name]
    found = answer(name, older=older)
    links = {(link["from"], link["to"]): link for link in found["chains"]}
    one, two = links["sensor", "filter"], links["filter", "actuator"]
    assert (one["kind"], two["kind"]) == PIPELINES[name]
    lost = truth["sent"] + 1 - truth["taken"]  # the last one says that there are no more
    assert (lost > 90) is (name == "drops")
    assert (one["messages"], one["lost"]) == (truth["taken"], lost)
    assert (two["messages"], two["lost"]) == (truth["last"], 0)
    (path,) = found["paths"]
    assert (path["jobs"], path["releases"]) == (truth["jobs"], truth["reactions"])
    for ours, theirs in (("age_mean_ns", "age_mean"), ("reaction_mean_ns", "reaction_mean")):
        assert abs(path[ours] - truth[theirs]) <= 20_000 + truth[theirs] / 100
    for ours, theirs in (("age_max_ns", "age_max"), ("reaction_max_ns", "reaction_max")):
        assert abs(path[ours] - truth[theirs]) <= 30_000
    assert sum(stage["ns"] for stage in path["worst"]) == path["age_max_ns"]


@pytest.mark.parametrize("name", ODDITIES)
def test_what_is_hard_to_pair_is_paired(name: str, answer: Any) -> None:
    found = answer(name)
    links = {(link["from"], link["to"]): link["messages"] for link in found["chains"]}
    assert links == ODDITIES[name]
    assert not any("moved" in line for line in found["not_seen"])


def test_data_that_are_too_old_are_counted_and_fail_a_gate(answer: Any, capsys: Capture) -> None:
    found = answer("pipes", "--deadline", "actuator<-sensor=9ms")
    (path,) = found["paths"]
    old, jobs = (TRUTH["pipes"][name] for name in ("old", "jobs"))
    assert (path["deadline_ns"], path["misses"], old > 20) == (9_000_000, old, True)
    assert found["ages"] == {"actuator<-sensor": 9_000_000}
    assert main(("show", "pipes")) == 0
    said = capsys.readouterr().out
    assert f"{old} of {jobs} jobs of actuator used data of sensor older than 9 ms" in said
    assert "(usually " in said
    gated = ("run", "--fail-on", "misses", "--deadline", "1s,actuator<-sensor=9ms", "--fresh")
    assert main((*gated, "--name", "b", "--", "./pipes")) == 1
    said = capsys.readouterr()
    assert f"data older than 9 ms in {old} of {jobs} jobs (actuator<-sensor)" in said.err
    assert said.out.splitlines()[1].startswith(f"{old} of {jobs} jobs of actuator used data")
    assert "Else no deadline was missed" in said.out
    gated = (*gated[:-2], "1s,actuator<-sensor=9s", "--fresh", "--name", "c", "--", "./pipes")
    assert main(gated) == 0
    assert main(("why", "pipes")) == 0
    assert "sensor -> filter -> actuator: the oldest data, " in capsys.readouterr().out


def test_a_bound_stands_beside_what_was_measured(answer: Any, capsys: Capture) -> None:
    """Davare 2007, with deadlines of 10 ms for sensor and filter and 7 ms for actuator: a triggered
    run of 20 ms each 10 ms, and a sampled link."""
    (path,) = answer("bounded")["paths"]
    assert (path["age_bound_ns"], path["bound_by"]) == (
        pytest.approx(37e6, rel=0.01),
        "Davare 2007",
    )
    assert path["age_max_sending_ns"] < path["age_bound_ns"]
    assert main(("show", "bounded")) == 0
    assert "where all deadlines are met, 37 ms (Davare 2007)" in capsys.readouterr().out
    (plain,) = answer("pipes")["paths"]  # of ordinary threads nothing is proved
    assert (plain["age_bound_ns"], plain["bound_by"]) == (None, "")
    store = ProgramStore.open(Path("runs/bounded"))
    threads = store.events(FIRST).threads  # type: ignore[union-attr]
    ordinary = tuple(
        evolve(each, policy="other", priority=0) if each.name == "actuator" else each
        for each in threads
    )
    mixed = answer("bounded", threads=ordinary)
    assert mixed["proved"] and mixed["paths"][0]["age_bound_ns"] is None


def test_many_users_of_a_lock_are_no_endless_search(answer: Any, capsys: Capture) -> None:
    made, draw = Made(), random.Random(1)
    first = made.thread("source")
    users = [made.thread(f"t{n}") for n in range(12)]
    order = [draw.sample(range(12), 12) for _ in range(60)]
    woken = [k * 40 * MS + (2 + 2 * turn.index(0)) * MS for k, turn in enumerate(order, 1)]
    made.loop(first, [due - MS // 2 for due in woken], [MS] * 60)  # it wakes t0 meanwhile
    for n, tid in enumerate(users):
        places = [turn.index(n) for turn in order]
        due = [k * 40 * MS + (2 + 2 * place) * MS for k, place in enumerate(places, 1)]
        by = {"by": first, "what": FUTEX} if n == 0 else {}
        for begin, _ in made.loop(tid, due, [MS // 2] * 60, **by):
            made.add(begin + 1000, tid, RecordKind.GOT, 0x5000, 0x400, 0)
            made.add(begin + 2000, tid, RecordKind.UNLOCK, 0x5000, 0x400, 0)
    facts = asdict(made.recording(), recurse=False)
    found = answer("pipes", "--deadline", "t11<-source=5s", **facts)
    ways = [path["tasks"] for path in found["paths"] if path["deadline_ns"]]
    assert ["source", "t0", "t11"] in ways and {len(way) for way in ways} <= {3, 4}


def test_what_lay_in_a_queue_before_is_not_known(answer: Any, capsys: Capture) -> None:
    """A reader that takes one at a time, watched from the middle on."""
    (path,) = answer("single", "--deadline", "actuator<-sensor=10s", attached=True)["paths"]
    assert path["at_least"] and path["misses"] == 0
    assert main(("show", "single")) == 0
    said = capsys.readouterr().out
    assert "it is not known whether 10 s are kept" in said and "too old: " not in said
    assert "before recording began: data may be older" in said
    (drained,) = answer("mixed", attached=True)["paths"]  # it has read all there was
    assert not drained["at_least"]


@pytest.mark.parametrize("wrong", ["a<-=20ms", "<-a=20ms", "a<-a=20ms", "a->b=20ms"])
def test_data_are_of_two_threads(wrong: str, capsys: Capture) -> None:
    assert main(("run", "--deadline", wrong, "--", "/bin/true")) == 2
    assert "names no two threads (actuator<-sensor=20ms)" in capsys.readouterr().err


def test_a_silent_sender_makes_data_old(answer: Any, capsys: Capture) -> None:
    """The sensor of "pipes" has ended 60 ms before its readers: they use what they have."""
    (path,) = answer("pipes")["paths"]
    assert path["age_max_ns"] > 60_000_000 and path["age_max_sending_ns"] < 20_000_000
    assert main(("why", "pipes")) == 0
    assert "filter sent nothing newer for 6" in capsys.readouterr().out


def test_a_result_of_an_earlier_version_is_read(answer: Any, capsys: Capture) -> None:
    answer("pipes")
    Path("runs/pipes/summary.json").unlink()
    file = Path("runs/pipes/runs/0001.json")
    kept = json.loads(file.read_text())
    seen = kept["run"]["traced"]
    seen["end_to_end"] = [{"tasks": ["a", "b"], "jobs": 1, "share": 1.0}]
    del seen["paths"], seen["ages"]
    for link in seen["chains"]:
        link.clear() or link.update(from_="sensor", to="filter", share=1.0, max_ns=7)
    file.write_text(json.dumps(kept))
    assert main(("show", "pipes")) == 0
    assert "C: execution time of a job" in capsys.readouterr().out


def test_memory_that_processes_share_is_said(answer: Any) -> None:
    text = "7f00-7f10 rw-s 00000000 00:19 7  /dev/shm/pose\n"
    found = answer("pipes", maps={1: text, 2: text, 3: text.replace("rw-s", "r--s")})
    lines = [line for line in found["not_seen"] if "/dev/shm/pose: memory needs no call" in line]
    assert lines == ["what 1, 2 share in /dev/shm/pose: memory needs no call"]


def test_a_link_that_was_not_seen_is_no_young_age(answer: Any, capsys: Capture) -> None:
    """The filter never hears of the actuator."""
    found = answer("pipes", "--deadline", "filter<-actuator=9ms")
    assert [path for path in found["paths"] if path["deadline_ns"]] == []
    assert main(("show", "pipes")) == 0
    assert "It is not known how old data of actuator are as filter uses" in capsys.readouterr().out


LAST = """
import os, socket, sys, time
def at(ns):
    time.sleep(max(ns - time.monotonic_ns(), 0) / 1e9)
def name(text):
    open("/proc/self/comm", "w").write(text)
rx, tx = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
begin = time.monotonic_ns() + 100_000_000
if not os.fork():
    name("radar")
    for job in range(120):
        at(begin + job * 5_000_000)
        tx.send(b"x")
    if sys.argv[1] == "dies":
        os.abort()
    while time.monotonic_ns() < begin + 1_500_000_000:
        pass
    os._exit(0)
name("brake")
rx.setblocking(False)
for job in range(60):
    at(begin + 3_000_000 + job * 20_000_000)
    while True:
        try:
            rx.recv(400)
        except BlockingIOError:
            break
"""


@pytest.mark.hardware
@pytest.mark.usefixtures("tracefs")
@pytest.mark.parametrize("how", ["dies", "spins"])
def test_data_of_a_job_that_did_not_end_grow_old(
    how: str, in_a_folder: None, capsys: Capture
) -> None:
    """The sensor sends every 5 ms for 0.6 s, and its last job does not end."""
    Path("last.py").write_text(LAST)
    wanted = "radar=5s,brake=5s,brake<-radar=200ms"
    main(("run", "--deadline", wanted, "--fail-on", "misses", "--json", "--",
          sys.executable, "last.py", how))  # fmt: skip
    answer = json.loads(capsys.readouterr().out)
    (path,) = answer["results"]["paths"]
    # the last job of brake is not one yet; from 0.79 s on data are older than 0.2 s
    assert path["unknown"] == 0 and path["jobs"] >= 58
    assert path["misses"] >= 15 and path["age_max_ns"] > 500_000_000
    said = "A signal ended 1 of the program's processes." in answer["headline"]
    assert said == (how == "dies")


def test_options_that_do_nothing_are_refused(capsys: Capture) -> None:
    assert main(("run", "--around", "9s", "--", "true")) == 2
    assert "--around and --openmetrics need --keep misses" in capsys.readouterr().err
