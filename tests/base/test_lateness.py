"""One vocabulary of lateness: a cause is a row, with the words of every kind that can see it."""

import attrs
import pytest
from latencies.test_load_page import summary as load_summary
from latencies.test_report_latency import split_run
from program.test_own_program import recorded

from deadbeat.base.model import lateness
from deadbeat.base.model.lateness import (
    CAUSES,
    LateCause,
    LateJob,
    MissCause,
    cause_named,
    spoken,
    word_of,
)
from deadbeat.base.report.document import Table
from deadbeat.latencies.latency.split import cause_line, causes_table, every_cause
from deadbeat.latencies.latency.summarise import summarise_latency
from deadbeat.latencies.load.document import load_document
from deadbeat.latencies.load.lost import cause_of
from deadbeat.program.run.traced import answer, traced
from deadbeat.tasksets.contention.kind import _LATE

#: What the kernel's events say of a wake-up (`test_path_split`) -> its cause.
TOLD = {
    "the timer's interrupt came 85.0 us late: interrupt 25 (virtio1) ran for 80.0 us": "interrupt",
    "73.0 us ready without its CPU: softirq NET_RX ran for 70.0 us": "interrupt",
    "9.0 us ready without its CPU: local timer ran for 9.0 us, softirq RCU ran for 1.0 us":
        "interrupt",
    "298.0 us ready without its CPU: multipathd (321, real-time 99) ran for 297.5 us, of the same"
    " or a higher priority": "preempted",
    "88.0 us ready without its CPU: vm (400, fair) was not preempted for 87.5 us: in the kernel, or"
    " the host did not let the CPU run": "late wake-up",
    "9.0 ms ready without its CPU: sh (1, fair) ran for 9.0 us, although the thread goes before: RT"
    " bandwidth control, the fair server or core scheduling may let it": "throttled",
    "88.5 us ready without its CPU: thing (40) ran for 88.5 us; no event says which came first":
        "not seen",
    "30.0 us ready without its CPU: unknown who had it; no event there for 25.0 us": "not seen",
    "the timer's interrupt came 400.0 us late: the CPU was idle: it left its idle state that"
    " slowly, or a host stopped the CPU; no event there for 390.0 us": "late timer",
    "the timer's handler took 49.5 us until it woke the thread: other timers, a lock, or firmware"
    " (an SMI) or the hardware stopped the CPU": "late timer",
    "the timer's interrupt came 31000.0 us late: the host did not let the machine run: no event on"
    " any CPU for 30900.0 us": "stolen",
    "the thread took 702.5 us from getting its CPU to reading the clock: it was preempted: a ran"
    " for 700.0 us": "preempted",
    "the thread took 55.5 us from getting its CPU to reading the clock: it slept in between (state"
    " D): a ran for 50.0 us": "waited",
    "the thread took 55.5 us from getting its CPU to reading the clock: leaving the kernel, page"
    " faults, or the hardware stopped the CPU": "late wake-up",
    "nothing stands out; the longest part: 3.0 us ready without its CPU: it was idle": "not seen",
    "unknown: some of its kernel events are missing": "not seen",
    "": "not seen",
}  # fmt: skip


@pytest.mark.parametrize("sentence", TOLD)
def test_every_sentence_of_a_wake_up_has_its_word(sentence: str) -> None:
    assert word_of(sentence) == TOLD[sentence]


def test_each_word_of_today_and_before_means_one_cause() -> None:
    words = [word for each in CAUSES for word in (each.word, *each.was)]
    assert len(words) == len({*words})
    for each in CAUSES:
        assert all((each.sentence, each.evidence, each.cure))
        assert all(spoken(word) == each.word for word in (each.word, *each.was))
    job = {"run": "r", "job": 1, "task": 0, "response_ns": 9, "deadline_ns": 5, "parts_ns": {}}
    assert LateJob(**job, cause="core held", holder="db-hog").cause == "preempted"


def test_a_new_cause_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the evidence that names it: the other words come from the row, in every kind."""
    sun = LateCause(word="flare", sentence="the sun did it", evidence="a counter", cure="a roof",
                    takes=lateness.WAITING, shown_by="of the sun")  # fmt: skip
    monkeypatch.setattr(lateness, "CAUSES", (sun, *CAUSES))
    job = LateJob(run="r", job=1, task=0, response_ns=9, deadline_ns=5, parts_ns={}, cause="flare")
    assert Table(name="x", columns=_LATE, rows=[job]).texts()[0][2] == "flare"

    worst = attrs.evolve(split_run().split[0].worst, cause="a flare of the sun")
    run = split_run()
    run = attrs.evolve(run, split=(attrs.evolve(run.split[0], worst=worst),))
    cells = summarise_latency([run]).cells
    assert ": flare: a flare of the sun" in cause_line(causes_table(cells).rows[0])
    assert [(each.cause, each.misses) for each in every_cause(cells)] == [("flare", 1)]

    shown = cause_of("flare", 0.5, "shown", "a counter says so")
    document = load_document(attrs.evolve(load_summary(), causes=(shown,)))
    assert "Main cause: the sun did it: 50 % of the lost time." in document.answer
    assert cause_named("flare").takes == lateness.WAITING

    found = traced(recorded(), {})
    mine = [MissCause(task="control", cause="flare", by="", misses=15, most_ns=9_000, of=15)]
    _, why = answer(attrs.evolve(found, causes=tuple(mine)))
    assert why == "All 15 late jobs flare: up to 9 µs."
