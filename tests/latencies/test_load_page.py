"""Truth: a summary whose figures are known; page and figures show them, and nothing else."""

from pathlib import Path

import attrs
from helpers.loads import MS, back_to_back, run_of, summary_of_runs

from deadbeat.base.model.finding import Finding
from deadbeat.base.report.document import Table, keys_of
from deadbeat.base.report.html import page
from deadbeat.base.stats.estimate import Estimate
from deadbeat.latencies.load.charts import load_charts
from deadbeat.latencies.load.document import COLUMNS, load_document
from deadbeat.latencies.load.model import Cause, Rounds
from deadbeat.latencies.load.remedies import REMEDIES
from deadbeat.latencies.load.words import headline, ranged, threshold, without_causes


def summary(**more: object):  # type: ignore[no-untyped-def]
    runs = []
    for repeat in (1, 2, 3):
        for normal in (0, 4):
            lengths = [10 * MS] * 50 + [30 * MS] * (normal // 2) * (repeat % 2 + 1)
            rounds = back_to_back(lengths)
            runs.append(run_of(rounds, normal=normal, repeat=repeat, units=[7] * normal))
            fine = back_to_back([10 * MS] * 60)
            runs.append(run_of(fine, normal=normal, condition="all", repeat=repeat))
        runs.append(run_of(Rounds(), condition="reference", repeat=repeat, units=[10] * 4))
    return summary_of_runs(runs, impossible={"smt": "no <SMT> here"}, **more)  # type: ignore[arg-type]


def test_the_headline_is_the_first_number_that_misses_and_the_most() -> None:
    text = headline(summary())
    assert text.startswith("Deadlines are missed from 4 ordinary threads on; with 4 of them 3.33")
    assert "With all remedies possible here: 0.00" in text
    fine = summary_of_runs([run_of(back_to_back([10 * MS] * 9), repeat=n) for n in (1, 2, 3)])
    assert "fewer than 1.00 occasions of failure per second" in headline(fine)


def test_what_a_failure_is_stands_beside_what_it_is_in_the_paper() -> None:
    ours = summary()
    assert threshold(ours) == "A failure is a round over 15 ms."
    faster = threshold(attrs.evolve(ours, alone_ns=5_400_000))
    assert faster.endswith("took 5.4 ms undisturbed, so this deadline is 2.8 rounds long.")
    spec = {**ours.spec, "additions": 900_000_000}
    length = {"round_ns": 270 * MS, "alone_ns": 275 * MS}
    theirs = attrs.evolve(ours, spec=spec, deadline_ns=2000 * MS, **length)
    assert "over 2000 ms, as in the paper" in threshold(theirs)
    assert "270 ms alone" in threshold(theirs)


def test_the_row_of_a_cell() -> None:
    parts = load_document(summary()).parts()
    table = next(p for p in parts if isinstance(p, Table) and p.name == "load-table")
    rows = [[c.text(row) for c in table.shown(terminal=False)] for row in table.rows]
    row = next(row for row in rows if row[:2] == ["as it is", "4"])
    assert row[2:5] == ["5", "160", "10"]
    assert row[8] == "30.000"
    assert row[12].startswith("30.0 ")
    assert len(table.shown(terminal=True)) == 9


def test_nothing_took_its_time_only_where_that_was_measured() -> None:
    def run(normal: int, *, invalid: bool = False):  # type: ignore[no-untyped-def]
        found = [Finding(id="steal", severity="invalid", message="the host")] if invalid else []
        return run_of(back_to_back([10 * MS] * 9), normal=normal, problems=tuple(found))

    def said(*runs) -> str:  # type: ignore[no-untyped-def]
        told = summary_of_runs(runs)
        assert without_causes(told) in page(load_document(told))
        return without_causes(told)

    assert said(run(0, invalid=True)) == "Not known: no run without a remedy counts."
    assert said(run(0, invalid=True), run(4)).startswith("Not known: what a round takes alone")
    assert said(run(0), run(4)) == (
        "Nothing took a noticeable share of its time with 4 ordinary threads."
    )
    assert said(run(0), run(4, invalid=True)).endswith("With 4 it is not known: no run counts.")


def test_a_cause_is_the_main_one_where_less_is_unexplained() -> None:
    def cause(name: str, share: float) -> Cause:
        certainty = "unknown" if name == "unknown" else "shown"
        return Cause(name=name, title=name, share=share, certainty=certainty, evidence="")

    def answer(unknown: float) -> list[str]:
        causes = (cause("unknown", unknown), cause("throttled", 0.16))
        return list(load_document(attrs.evolve(summary(), causes=causes)).answer)

    assert "Main cause: throttled: 16 % of the lost time." in answer(0.1)
    assert "Cause: throttled: 16 % of the lost time; 82 % unexplained." in answer(0.82)


def test_a_round_that_was_not_as_long_as_asked_stands_in_title_and_answer() -> None:
    """first-use.md, row 9: "rounds of 10 ms" that took 5.21 ms."""
    real = load_document(attrs.evolve(summary(), alone_ns=5_210_000))
    assert isinstance(real.picture, Table)
    assert "rounds of 5.21 ms" in real.picture.title
    assert any("this deadline is 2.9 rounds long" in line for line in real.answer)


def test_every_column_and_remedy_is_explained() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "load.md").read_text("utf-8")
    ends = {f"{name}{end}" for name in keys_of(COLUMNS) for end in ("_low", "_high")}
    for name in (*({*keys_of(COLUMNS)} - ends), *REMEDIES):
        assert f"`{name}`" in page, name


def test_an_interval_is_written_beside_its_value() -> None:
    assert ranged(Estimate(value=1.0, low=0.5, high=1.5)) == "1.00 [0.50, 1.50]"
    assert ranged(Estimate(value=-0.001, low=-1.0, high=1.0)) == "0.00 [-1.00, 1.00]"
    assert ranged(Estimate(value=1.0)) == "1.00"
    assert ranged(None) == "-"


def test_a_mark_is_explained_where_the_figure_has_one() -> None:
    def caption(*lengths: int) -> str:
        runs = [run_of(back_to_back([n * MS for n in lengths]), repeat=r) for r in (1, 2)]
        (chart,) = [c for c in load_charts(summary_of_runs(runs)) if c.name == "load-failures"]
        return chart.caption

    assert "Arrows" in caption(10, 10)
    assert "Arrows" not in caption(10, 20)
