"""Conclusions on made-up results whose answer is known."""

import re

import attrs
import numpy as np
import pytest
from helpers.studies import made_up, small

from deadbeat.base.model.conclusion import Conclusion, Evidence, deciding, judge
from deadbeat.base.report.document import records
from deadbeat.sched.study.charts import region
from deadbeat.sched.study.chunks import NOT_GENERATED, REFUTED, UNDECIDED, YES
from deadbeat.sched.study.preset import presets
from deadbeat.sched.study.results import StudyResults, answered, columns_of
from deadbeat.sched.study.spec import StudySpec
from deadbeat_papers.thesis.region import LOADS
from deadbeat_papers.thesis.telling import ordered


def _verdicts(results: StudyResults) -> dict[str, tuple[str, tuple[str, ...]]]:
    preset = presets()[results.spec.preset]
    judged = [judge(each, results) for each in preset.conclusions]
    return {item.conclusion.id: (item.verdict, item.on) for item in judged if item}


def _preset(name: str, **changes: object) -> StudySpec:
    return attrs.evolve(presets()[name].build(), **changes)


def test_the_grids_conclusions_on_a_world_made_as_the_thesis_says() -> None:
    def answer(label, cell, number):
        hard = cell.load / 1000 + 0.4 * cell.processors / cell.tasks + 0.01 * cell.processors
        if label == "gfb":
            return hard + number / 60 < 1.0
        return hard + number / 60 < 1.4 or cell.tasks > 10 * cell.processors

    results = made_up(_preset("thesis-grid"), answer)
    results.rows["largest"] = np.where(results.yes("g-edf"), 0.5, 0.95)
    found = _verdicts(results)
    assert found == dict.fromkeys(
        (
            "more-processors-simulated",
            "more-processors-equation",
            "more-utilisation",
            "more-tasks",
            "none-with-many-tasks",
            "simulation-finds-more",
            "heavy-tasks",
            "same-pattern",
            "parameters-matter",
        ),
        ("confirmed", ()),
    )


def test_the_grids_conclusions_on_a_world_of_coins() -> None:
    coins = np.random.default_rng(7).random(1_000_000) < 0.5
    at = iter(coins)
    results = made_up(_preset("thesis-fig2"), lambda label, cell, number: bool(next(at)))
    found = _verdicts(results)
    # One platform says nothing of processors; and in no set a task is heavy.
    assert "more-processors-simulated" not in found
    for counted in ("none-with-many-tasks", "simulation-finds-more"):
        assert found.pop(counted)[0] == "not confirmed"
    assert {verdict for verdict, _ in found.values()} == {"undecided"}


def test_the_grids_conclusions_on_a_world_made_the_other_way() -> None:
    def answer(label, cell, number):
        easy = cell.load / 1000 + 0.04 * cell.processors - 0.005 * cell.tasks
        return easy + number / 90 > (0.9 if label == "gfb" else 1.1)

    results = made_up(_preset("thesis-grid"), answer)
    results.rows["largest"] = np.where(results.yes("g-edf"), 0.95, 0.5)
    found = _verdicts(results)
    assert found.pop("parameters-matter")[0] == "confirmed", "whichever way"
    assert {verdict for verdict, _ in found.values()} == {"not confirmed"}
    results = made_up(_preset("thesis-grid"), lambda label, cell, number: number % 2 == 0)
    assert _verdicts(results)["parameters-matter"][0] == "not confirmed"


@pytest.mark.parametrize("name", sorted(presets()))
def test_not_confirmed_is_never_for_want_of_sets(name: str) -> None:
    """Of a set a cell, in a world of coins: what ``not confirmed`` has is shown, or counted."""
    coins = iter(np.random.default_rng(3).random(1_000_000) < 0.5)

    results = made_up(_preset(name, sets=1), lambda label, cell, number: bool(next(coins)))
    results.rows["largest"] = 0.5
    for each in presets()[name].conclusions:
        found = judge(each, results)
        for item in found.evidence if found else ():
            assert item.holds is not None or found.verdict != "not confirmed"
            assert item.holds is not False or re.search(
                r"opposite|turns back|differ by at most|beyond all U|"
                r"[1-9]\d* of \d+ sets not|not schedulable: [1-9]",
                item.figures,
            ), (each.id, item.figures)


@pytest.mark.parametrize(
    ("edges", "most", "verdict"),
    [
        ({2: 900, 4: 750, 6: 650, 8: 550}, 2, "confirmed"),
        ({2: 500, 4: 650, 6: 750, 8: 800}, 1, "not confirmed"),
        ({2: 990, 4: 990, 6: 990, 8: 990}, 1, "undecided"),
    ],
)
def test_the_region_that_tests_leave_undecided(edges, most: int, verdict: str) -> None:
    """Tests accept all up to an edge of U, simulation ``most`` of three above it."""

    def answer(label, cell, number):
        accepted = cell.load <= edges[cell.processors]
        return accepted or (label == "g-edf" and number % 3 < most)

    results = made_up(_preset("thesis-region"), answer)
    found = _verdicts(results)
    if verdict == "undecided":
        assert found.pop("starts")[0] == "not confirmed", "it starts nowhere"
    assert {each for each, _ in found.values()} == {verdict}
    regions = {it.processors: it for it in results.regions()}
    for m, edge in edges.items():
        value, (low, high) = regions[m].edge()
        assert low <= value <= high
        assert edge == 990 or (1000 * low >= edge and 1000 * high <= edge + 50)
        every = regions[m].accepted | regions[m].refuted | regions[m].between
        assert (every == (results.processors == m)).all()
    (chart,) = region(results)
    lines = {line.label: line.y for line in chart.panels[-1].curves}
    assert lines["between"] == tuple(100.0 * (x > edges[8]) for x in LOADS)
    assert lines["accepted by a test"] == tuple(100.0 * (x <= edges[8]) for x in LOADS)


def test_a_set_that_a_test_refutes_is_not_undecided() -> None:
    results = made_up(_preset("thesis-region", sets=1), lambda *_: False)
    results.rows["t8"][:5] = REFUTED
    first = next(results.regions())
    assert (first.refuted.sum(), first.between[:5].any()) == (5, False)
    assert not list(made_up(small(), lambda *_: True).regions()), "no test that refutes"


def test_one_unschedulable_set_at_ten_tasks_a_processor_is_enough() -> None:
    last = ("g-edf (index)", 48, 990, 29)
    results = made_up(
        _preset("thesis-fig2"),
        lambda label, cell, number: (label, cell.tasks, cell.load, number) != last,
    )
    verdict, on = _verdicts(results)["none-with-many-tasks"]
    assert (verdict, on) == ("depends", ("ties", "utilisation"))


def test_an_accepted_set_that_misses_refutes_that_simulation_finds_more() -> None:
    results = made_up(
        _preset("thesis-fig2"), lambda label, cell, number: label != "gfb" or number == 0
    )
    assert _verdicts(results)["simulation-finds-more"][0] == "confirmed"
    results.rows["s0.answer"][0] = 0
    assert _verdicts(results)["simulation-finds-more"] == ("depends", ("ties",))


def test_partitioned_finds_most_only_where_sets_it_cannot_place_do_not_count() -> None:
    """Next fit places every second set; what it places is schedulable under it alone."""

    def answer(label, cell, number):
        partitioned, fits = label.startswith("partitioned"), (cell.tasks + number) % 2 == 0
        if partitioned:
            return {"answer": YES if fits else 0, "placed": fits}
        return {"answer": YES if not fits or cell.tasks % 3 == 0 else 0, "placed": True}

    found = _verdicts(made_up(_preset("thesis-fig4"), answer))
    assert found["partitioned-most"] == ("depends", ("denominator",))


def test_clustered_over_global_above_70_percent_only() -> None:
    def answer(label, cell, number):
        return label.startswith("clustered") or cell.load <= 700

    found = _verdicts(made_up(_preset("thesis-fig4"), answer))
    assert found["clustered-over-global-above-70"] == ("confirmed", ())
    everywhere = made_up(_preset("thesis-fig4"), lambda label, *_: label.startswith("clustered"))
    assert _verdicts(everywhere)["clustered-over-global-above-70"][0] == "not confirmed"


def test_loose_helps_mainly_above_80_percent_only_where_it_gains_less_below() -> None:
    def above(label, cell, number):
        return label.startswith("loose") or (label.startswith("clustered") and cell.load <= 800)

    found = _verdicts(made_up(_preset("thesis-fig4"), above))
    assert found["loose-helps-at-high-load"] == ("confirmed", ())
    everywhere = made_up(_preset("thesis-fig4"), lambda label, *_: label.startswith("loose"))
    assert _verdicts(everywhere)["loose-helps-at-high-load"][0] == "undecided"
    below = made_up(
        _preset("thesis-fig4"),
        lambda label, cell, number: label.startswith("loose") and cell.load <= 800,
    )
    assert _verdicts(below)["loose-helps-at-high-load"][0] == "not confirmed"


def test_migrations_and_slack_as_the_thesis_says() -> None:
    rates = {"global": 40, "partitioned": 0, "clustered": 20, "loose": 22}
    slack = {"global": 0.6, "partitioned": 0.3, "clustered": 0.4, "loose": 0.65}

    def answer(label, cell, number):
        approach = label.split()[0]
        noise = 1 + 0.01 * ((cell.tasks + number) % 3)
        high = 3 if cell.load > 800 and approach == "global" else 1
        figures = {"jobs": 100, "migrations": round(10 * high * rates[approach] * noise)}
        return {"answer": YES, **figures, "slack_share_mean": slack[approach] * noise}

    results = made_up(_preset("thesis-fig5"), answer)
    found = _verdicts(results)
    # Half of the global rate up to 80 %, but not where the global rate is three times as high.
    assert found.pop("clustered-half-of-global")[0] in ("depends", "not confirmed")
    assert {verdict for verdict, _ in found.values()} == {"confirmed"}
    results = made_up(_preset("thesis-fig6"), answer)
    assert {verdict for verdict, _ in _verdicts(results).values()} == {"confirmed"}


def test_only_loose_has_more_slack_than_global_where_no_other_has() -> None:
    slack = {"global": 0.5, "partitioned": 0.3, "clustered": 0.6, "loose": 0.65}

    def answer(label, cell, number):
        noise = 1 + 0.01 * ((cell.tasks + number) % 3)
        return {"answer": YES, "jobs": 100, "slack_share_mean": slack[label.split()[0]] * noise}

    found = _verdicts(made_up(_preset("thesis-fig6"), answer))
    assert found["only-loose-above-global"][0] == "not confirmed"


def test_what_decides_is_what_alone_turns_the_answer() -> None:
    evidence = [
        Evidence(variant={"ties": ties, "sets": sets, "law": law}, holds=holds, figures="")
        for ties, sets, law, holds in (
            ("a", "all", "x", True),
            ("b", "all", "x", False),
            ("a", "few", "x", True),
            ("b", "few", "x", False),
        )
    ]
    assert deciding(evidence) == ("ties",)
    crossed = [
        Evidence(variant={"ties": "a", "sets": "all"}, holds=True, figures=""),
        Evidence(variant={"ties": "b", "sets": "few"}, holds=False, figures=""),
    ]
    assert deciding(crossed) == ("ties", "sets")


def test_a_conclusion_without_evidence_is_left_out() -> None:
    nothing = Conclusion(id="x", says="x", confirmed="x", check=lambda results: ())
    assert judge(nothing, made_up(small(), lambda *_: True)) is None


def test_the_denominator_and_those_who_differ_are_printed() -> None:
    results = made_up(small(), lambda label, cell, number: label == "g-edf" or number < 4)
    found = ordered(results, "g-edf", "p-edf", results.everything, {})
    assert found.holds
    assert "100.0 % [92.6, 100.0] of 48" in found.figures
    assert "only g-edf 32, only p-edf 0" in found.figures
    back = ordered(results, "p-edf", "g-edf", results.everything, {})
    assert not back.holds
    assert "the opposite" in back.figures


def test_undecided_and_missing_sets_are_counted_and_in_no_share() -> None:
    results = made_up(small(), lambda label, cell, number: number % 2 == 0)
    results.rows["s0.answer"][:3] = UNDECIDED
    results.rows["generated"][5] = False
    for name in ("s0.answer", "s1.answer", "t0"):
        results.rows[name][5] = NOT_GENERATED
    assert results.count("g-edf", results.everything).total == 48 - 3 - 1
    assert results.count("p-edf", results.everything).total == 48 - 1
    rows = list(records(columns_of(results.spec), answered(results)))
    first = rows[0]
    assert (first["label"], first["sets"]) == ("g-edf", 12)
    assert (first["undecided"], first["not_generated"], first["decided"]) == (3, 1, 8)
    assert first["schedulable"] == 4
    assert sum(row["decided"] for row in rows if row["label"] == "gfb") == 47
