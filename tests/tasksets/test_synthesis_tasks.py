"""The truth is what each task was asked for: shares of its own, critical or filling its core."""

from fractions import Fraction
from pathlib import Path

import pytest
from attrs import evolve

from deadbeat.base.model.errors import SynthesisError, UsageError
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.emit import task_set_id
from deadbeat.tasksets.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.tasksets.model.tasks import Access, Kind, Task, TaskSet
from deadbeat.tasksets.store.serial import structure, to_plain
from deadbeat.tasksets.synthesis import Synthesiser, SynthesisParameters, seed_for

FRAGMENTS = example_fragments()
CATALOG = Catalog(fragments={fragment.name: fragment for fragment in FRAGMENTS})
CALIBRATION = example_calibration(example_entries(FRAGMENTS))
SYNTHESISER = Synthesiser(CATALOG, CALIBRATION)
HALF, TENTH, ONE, ZERO = Fraction(1, 2), Fraction(1, 10), Fraction(1), Fraction(0)
#: Fragments whose finest use costs far less than a per cent of these tasks.
FINE = {"wcet_min_ns": 2_000_000, "wcet_max_ns": 4_000_000}


def parameters(**others: object) -> SynthesisParameters:
    values = {"cores": 2, "tasks": 4, "sync_share": HALF, "contended_ratio": HALF, **others}
    return SynthesisParameters(**values)


def synthesise(seed: int, **others: object) -> TaskSet:
    return SYNTHESISER.synthesise(parameters(**others), seed_for(7, 2, seed))


def cost_ps(task: Task, kind: Kind) -> int:
    return sum(segment.cost_ps for segment in task.segments if segment.kind is kind)


def accesses(task_set: TaskSet, task: Task) -> set[Access]:
    uses = [use for segment in task.segments for use in segment.uses]
    return {task_set.resources[use.resource].access for use in uses if use.resource is not None}


def test_each_task_has_its_own_shares():
    shares = (Fraction(0), Fraction(1, 5), Fraction(7, 10), Fraction(1))
    ratios = (HALF, Fraction(0), Fraction(1), HALF)
    for seed in range(20):
        made = synthesise(seed, sync_shares=shares, contended_ratios=ratios, **FINE)
        for task, share in zip(made.tasks, shares, strict=True):
            assert abs(Fraction(cost_ps(task, Kind.SY), task.cost_ps) - share) < Fraction(1, 100)
        found = [accesses(made, task) for task in made.tasks]
        assert found[:3] == [set(), {Access.PAR}, {Access.CON}]
        assert made.sync_share == Fraction(19, 40)
        assert made.contended_ratio == HALF
        assert abs(made.sync_share_real - 19 / 40) < 0.01
        # Of those that synchronise: 0, 1 and about 1/2.
        assert 1 / 3 < made.contended_ratio_real < 2 / 3


def test_own_ratios_meet_each_task_on_average():
    ratios = (Fraction(1, 5), Fraction(4, 5))
    real = [[], []]
    for seed in range(300):
        made = synthesise(seed, tasks=2, sync_share=Fraction(1), contended_ratios=ratios, **FINE)
        for index, task in enumerate(made.tasks):
            costs = CALIBRATION.job_costs_ps(task)
            contended = whole = 0
            for segment, costs_ps in zip(task.segments, costs, strict=True):
                for use, use_ps in zip(segment.uses, costs_ps, strict=True):
                    whole += use_ps
                    if made.resources[use.resource].access is Access.CON:
                        contended += use_ps
            real[index].append(contended / whole)
    for found, ratio in zip(real, ratios, strict=True):
        # The standard deviation of one is at most 1/2 of a use's share; 300 of them.
        assert abs(sum(found) / len(found) - ratio) < 0.04


def test_one_value_for_all_is_the_common_value_but_for_bindings():
    common = synthesise(3)
    listed = synthesise(3, sync_shares=(HALF,) * 4)
    assert task_set_id(listed) == task_set_id(common)
    assert listed.sync_share == common.sync_share
    bound = synthesise(3, contended_ratios=(HALF,) * 4)
    assert [t.cost_ps for t in bound.tasks] == [t.cost_ps for t in common.tasks]


def test_lists_alone_keep_streams_of_the_others():
    before = synthesise(5, sync_shares=(TENTH, HALF, HALF, HALF))
    after = synthesise(5, sync_shares=(TENTH, HALF, HALF, Fraction(0)))
    assert before.tasks[:3] == tuple(
        evolve(task, segments=old.segments)
        for task, old in zip(after.tasks[:3], before.tasks[:3], strict=True)
    )


def test_shielding_leaves_the_critical_tasks_as_they_are():
    for seed in range(10):
        everywhere = synthesise(seed, cores=2, tasks=4)
        shielded = synthesise(seed, cores=2, tasks=4, critical_cores=1)
        assert [
            (t.wcet_ns, t.period_ns, t.priority, t.seed) for t in everywhere.tasks if t.core == 0
        ] == [(t.wcet_ns, t.period_ns, t.priority, t.seed) for t in shielded.tasks if t.core == 0]


def test_a_deadline_factor_moves_only_critical_tasks():
    first, second = (
        synthesise(1, critical_cores=1, deadline_factor=Fraction(factor)) for factor in (2, 10)
    )
    for one, other in zip(first.tasks, second.tasks, strict=True):
        assert one.segments == other.segments or one.critical
        assert (one.period_ns == other.period_ns) is not one.critical
        assert one.wcet_ns == other.wcet_ns


def test_stored_task_sets_without_the_word_critical_are_critical():
    made = synthesise(1)
    plain = to_plain(made)
    for task in plain["tasks"]:
        del task["critical"]
    assert structure(plain, TaskSet, path=Path("old"), what="", hint="") == made
    shielded = synthesise(1, critical_cores=1)
    again = structure(to_plain(shielded), TaskSet, path=Path("new"), what="", hint="")
    assert again == shielded
    everything = evolve(shielded, tasks=tuple(evolve(t, critical=True) for t in shielded.tasks))
    assert task_set_id(everything) == task_set_id(shielded)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("sync_shares", (HALF,), "sync_shares: expected one for each of 4 tasks, found 1"),
        ("sync_shares", (HALF, HALF, HALF, Fraction(2)), "sync_shares[3]: expected 0 to 1"),
        ("sync_shares", (0.5,) * 4, "sync_shares: expected a tuple of exact fractions"),
        ("contended_ratios", [HALF] * 4, "contended_ratios: expected a tuple"),
        ("critical_cores", 3, "critical_cores: expected 0 to 2"),
        ("critical_cores", True, "critical_cores: expected a whole number"),
        ("fill_utilisation", Fraction(11, 10), "fill_utilisation: expected 1/1000 to 1"),
        ("periods", "harmonic", "periods: only works with a utilisation"),
        ("utilisation", 0.5, "utilisation: expected an exact fraction"),
    ],
)
def test_each_wrong_value_is_named(name, value, expected):
    with pytest.raises(UsageError) as caught:
        parameters(**{name: value})
    assert expected in caught.value.message


def test_segments_max_follows_the_tasks():
    mixed = (Fraction(0), Fraction(1), HALF, Fraction(1))
    with pytest.raises(UsageError, match="segments_max: expected 2 to"):
        parameters(sync_shares=mixed, segments_max=1)
    parameters(sync_shares=(Fraction(0), Fraction(1)) * 2, segments_max=1)


def test_each_task_keeps_its_own_bounds():
    for method in ("uunifast-discard", "fixed-sum"):
        for seed in range(10):
            made = synthesise(
                seed,
                utilisation=HALF,
                utilisation_method=method,
                utilisation_mins=(TENTH, ZERO, ZERO, Fraction(1, 5)),
                utilisation_maxs=(Fraction(1, 5), ONE, HALF, Fraction(1, 4)),
            )
            used = [float(task.utilisation) for task in made.tasks]
            assert 0.0999 < used[0] < 0.2001
            assert 0.1999 < used[3] < 0.2501
            assert abs(used[0] + used[2] - 0.5) < 1e-5
            assert abs(used[1] + used[3] - 0.5) < 1e-5


def test_utilisation_keeps_timing_across_shares_and_ratios():
    def timing(**others: object) -> list[tuple[int, int, int]]:
        made = synthesise(4, utilisation=HALF, periods="harmonic", **others)
        return [(task.wcet_ns, task.period_ns, task.offset_ns) for task in made.tasks]

    same = timing()
    assert timing(sync_share=TENTH) == same
    assert timing(contended_ratio=Fraction(1)) == same
    assert timing(sync_shares=(TENTH,) * 4) == same


def test_utilisation_of_critical_cores_does_not_depend_on_their_number():
    everywhere = synthesise(4, utilisation=HALF)
    shielded = synthesise(4, utilisation=HALF, critical_cores=1, distribution="log-uniform")
    for one, other in zip(everywhere.tasks, shielded.tasks, strict=True):
        if other.critical:
            assert (one.wcet_ns, one.period_ns) == (other.wcet_ns, other.period_ns)
        else:
            assert abs(other.utilisation - Fraction(9, 20)) < Fraction(1, 10**4)


def test_everything_wrong_with_utilisation_at_once():
    with pytest.raises(UsageError) as caught:
        parameters(
            utilisation=Fraction(11, 10),
            utilisation_method="uunifast",
            utilisation_min=Fraction(1, 2),
            utilisation_max=Fraction(2, 5),
            periods="harmonc",
            period_min_ns=0,
            deadline_factor=Fraction(2),
            distribution="normal",
        )
    for expected in (
        "utilisation: expected 1/1000 to 1, found 11/10",
        "utilisation_method: 'uunifast' is unknown; did you mean 'uunifast-discard'?",
        "utilisation_min: expected 0 to 2/5",
        "periods: 'harmonc' is unknown; did you mean 'harmonic'?",
        "period_min_ns: expected 1 to",
        "deadline_factor: with utilisation T is drawn",
        "distribution: with utilisation C follows",
    ):
        assert expected in caught.value.message


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"utilisation_max": Fraction(1, 5)}, "2 tasks on a core reach 0.02 to 0.4, found 0.5"),
        ({"utilisation_min": Fraction(3, 10)}, "2 tasks on a core reach 0.6 to"),
        ({"tasks": 3, "utilisation_max": Fraction(2, 5)}, "1 task on a core reach"),
        (
            {"period_max_ns": 500_000, "utilisation_max": TENTH},
            "a task must have at least 0.2 and at most 0.1; lower",
        ),
        ({"utilisation_maxs": (TENTH,) * 3}, "utilisation_maxs: expected one for each of 4"),
        ({"utilisation_mins": (ONE + 1,) * 4}, "utilisation_mins[0]: expected 0 to 1"),
        (
            {"utilisation_mins": (ZERO, HALF, ZERO, ZERO), "utilisation_max": Fraction(2, 5)},
            "task 1 must have at least 0.5 and at most 0.4; lower",
        ),
        (
            {"utilisation_maxs": (TENTH, ONE, TENTH, ONE)},
            "2 tasks on core 0 reach 0.02 to 0.2, found 0.5",
        ),
        (
            {"tasks": 300, "utilisation": ONE, "utilisation_method": "fixed-sum"},
            "tasks: fixed-sum is for up to 128 on a core, found 150",
        ),
    ],
)
def test_sums_that_cannot_be_are_refused(others, expected):
    with pytest.raises(UsageError) as caught:
        parameters(**{"utilisation": HALF, **others})
    assert expected in caught.value.message


def test_harmonic_periods_that_are_not_found_are_said():
    with pytest.raises(SynthesisError, match="no harmonic periods") as caught:
        synthesise(
            1,
            tasks=20,
            utilisation=HALF,
            periods="harmonic",
            wcet_min_ns=400_000,
            wcet_max_ns=400_100,
            period_max_ns=100_000_000,
        )
    assert "log-uniform" in caught.value.hint
