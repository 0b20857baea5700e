"""The truth is the task-set model: exact sums, and the effect each parameter may and may not have.

Costs are those of ``base.model.examples``; every draw is seeded, so a verdict never changes.
"""

from collections.abc import Iterable
from fractions import Fraction
from statistics import mean, pstdev

import pytest
from attrs import evolve

from deadbeat.base.model.errors import SynthesisError, UsageError
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.model.calibration import Calibration, ParallelRatio
from deadbeat.tasksets.model.examples import example_calibration, example_entries, example_fragments
from deadbeat.tasksets.model.tasks import Access, Kind, TaskSet
from deadbeat.tasksets.synthesis import Synthesiser, SynthesisParameters, seed_for, synthesise
from deadbeat.tasksets.synthesis.generator import contended_uses
from deadbeat.tasksets.synthesis.stream import Stream

FRAGMENTS = example_fragments()
CATALOG = Catalog(fragments={fragment.name: fragment for fragment in FRAGMENTS})
CALIBRATION = example_calibration(example_entries(FRAGMENTS))
SYNTHESISER = Synthesiser(CATALOG, CALIBRATION)


def parameters(rho: object = "1/2", alpha: object = "1/2", **others: object) -> SynthesisParameters:
    values = {"cores": 2, "tasks": 2, **others}
    return SynthesisParameters(
        sync_share=Fraction(str(rho)), contended_ratio=Fraction(str(alpha)), **values
    )


def with_sy_costs(costs_ns: dict[str, tuple[int, int]]) -> Calibration:
    """The example calibration with only these SY entries, at (first, repeat) ns."""
    costs = {
        text: cost
        for text, cost in CALIBRATION.costs.items()
        if CATALOG.fragments[text.split("/")[0]].kind is Kind.NS
    }
    for text, (first, repeat) in costs_ns.items():
        known = CALIBRATION.costs[text]
        costs[text] = tuple(
            evolve(cost, first_ps=first * 1000, again_ps=first * 1000, repeat_ps=repeat * 1000)
            for cost in known
        )
    return evolve(CALIBRATION, costs=costs)


def sy_accesses(task_set: TaskSet) -> list[Access]:
    return [
        task_set.resources[use.resource].access
        for task in task_set.tasks
        for segment in task.segments
        for use in segment.uses
        if use.resource is not None
    ]


def programs(task_set: TaskSet) -> list[object]:
    """Everything about the tasks but the bindings."""
    return [
        (
            evolve(task, segments=()),
            [
                (s.kind, s.budget_ps, s.cost_ps, [(u.entry, u.repeats) for u in s.uses])
                for s in task.segments
            ],
        )
        for task in task_set.tasks
    ]


def drawn(task_set: TaskSet) -> list[object]:
    return [
        (t.core, t.wcet_ns, t.period_ns, t.deadline_ns, t.offset_ns, t.priority, t.seed)
        for t in task_set.tasks
    ]


def sy_classes(task_set: TaskSet) -> set[str]:
    return {resource.fragment for resource in task_set.resources}


def seeds(count: int) -> Iterable[int]:
    return (seed_for(7, 2, replica) for replica in range(count))


def test_a_task_set_does_not_depend_on_those_before_it():
    fresh = Synthesiser(CATALOG, CALIBRATION).synthesise(parameters("1/10", "1"), 9)
    used = Synthesiser(CATALOG, CALIBRATION)
    for seed in range(5):
        used.synthesise(parameters("9/10", "0"), seed)
    assert used.synthesise(parameters("1/10", "1"), 9) == fresh


def test_round_robin_and_timing():
    factor = Fraction(7, 3)
    task_set = SYNTHESISER.synthesise(
        parameters(cores=3, tasks=7, deadline_factor=factor), seed_for(1, 3, 0)
    )
    assert [task.core for task in task_set.tasks] == [0, 1, 2, 0, 1, 2, 0]
    for task in task_set.tasks:
        assert task.deadline_ns == task.period_ns
        assert abs(task.period_ns - factor * task.wcet_ns) <= Fraction(1, 2)
        assert 0 <= task.offset_ns < task.period_ns


def test_alpha_flips_bindings_and_nothing_else():
    ratios = [Fraction(tenths, 10) for tenths in range(11)]
    for seed in seeds(20):
        sets = [SYNTHESISER.synthesise(parameters("1/2", ratio), seed) for ratio in ratios]
        assert all(programs(task_set) == programs(sets[0]) for task_set in sets)
        before = [Access.PAR] * len(sy_accesses(sets[0]))
        assert sy_accesses(sets[0]) == before
        for task_set in sets:
            now = sy_accesses(task_set)
            assert all(
                old is Access.PAR or new is Access.CON for old, new in zip(before, now, strict=True)
            )
            before = now
        assert set(before) == {Access.CON}


def test_rho_keeps_what_it_can():
    shares = [Fraction(tenths, 10) for tenths in range(11)]
    for seed in seeds(20):
        sets = [SYNTHESISER.synthesise(parameters(share, "1"), seed) for share in shares]
        assert all(drawn(task_set) == drawn(sets[0]) for task_set in sets)
        allowed = sy_classes(sets[-1])
        assert all(sy_classes(task_set) <= allowed for task_set in sets)


def test_ends_of_both_axes():
    for seed in seeds(20):
        quiet = SYNTHESISER.synthesise(parameters(0, 1), seed)
        assert (quiet.sync_share_real, quiet.contended_ratio_real, quiet.resources) == (0, 0, ())
        assert {s.kind for t in quiet.tasks for s in t.segments} == {Kind.NS}
        loud = SYNTHESISER.synthesise(parameters(1, 0), seed)
        assert (loud.sync_share_real, loud.contended_ratio_real) == (1, 0)
        assert {s.kind for t in loud.tasks for s in t.segments} == {Kind.SY}
        assert all(resource.core is not None for resource in loud.resources)


def test_par_is_bound_to_the_tasks_own_core():
    for seed in seeds(20):
        task_set = SYNTHESISER.synthesise(parameters(1, "1/2", cores=2, tasks=4), seed)
        for task in task_set.tasks:
            for use in (use for segment in task.segments for use in segment.uses):
                resource = task_set.resources[use.resource]
                assert resource.fragment == use.entry.fragment
                assert resource.core in (None, task.core)
        used = {u.resource for t in task_set.tasks for s in t.segments for u in s.uses}
        assert used == set(range(len(task_set.resources)))


def test_realised_figures_are_the_ratios_of_costs():
    for seed in seeds(20):
        task_set = SYNTHESISER.synthesise(parameters("3/10", "2/5"), seed)
        cost = dict.fromkeys(("all", Access.CON, Access.PAR), 0)
        for task in task_set.tasks:
            for segment, costs in zip(task.segments, CALIBRATION.job_costs_ps(task), strict=True):
                total = 0
                for use, use_ps in zip(segment.uses, costs, strict=True):
                    total += use_ps
                    if use.resource is not None:
                        cost[task_set.resources[use.resource].access] += use_ps
                assert segment.cost_ps == total
                cost["all"] += total
        sync = cost[Access.CON] + cost[Access.PAR]
        assert task_set.sync_share_real == sync / cost["all"]
        assert task_set.contended_ratio_real == cost[Access.CON] / sync


@pytest.mark.parametrize("rho", ["1/10", "1/2", "9/10"])
def test_realised_sync_share_is_unbiased(rho):
    real = [SYNTHESISER.synthesise(parameters(rho), s).sync_share_real for s in seeds(400)]
    assert abs(mean(real) - Fraction(rho)) < 4 * pstdev(real) / 20
    assert pstdev(real) < 0.005


def test_realised_sync_share_is_unbiased_where_sync_is_coarse():
    # C_sy is 2 to 10 us and a use costs 4: most tasks get one or none, more or less.
    coarse = Synthesiser(CATALOG, with_sy_costs({"mutex/1": (4000, 3500)}))
    real = [coarse.synthesise(parameters("1/50"), s).sync_share_real for s in seeds(1000)]
    assert abs(mean(real) - 0.02) < 4 * pstdev(real) / 1000**0.5


@pytest.mark.parametrize("rho", ["1/10", "1"])
@pytest.mark.parametrize("alpha", ["1/10", "1/2", "4/5"])
def test_realised_contended_ratio_is_unbiased_and_near(rho, alpha):
    real = [
        SYNTHESISER.synthesise(parameters(rho, alpha), s).contended_ratio_real for s in seeds(400)
    ]
    assert abs(mean(real) - Fraction(alpha)) < 4 * pstdev(real) / 20
    assert pstdev(real) < 0.12


def test_contended_uses_meet_the_ratio_within_one_use():
    costs = [[5, 1, 9, 4], [2, 2, 30], [], [7]]
    flat = [cost for task in costs for cost in task]
    for seed in range(200):
        for hundredths in range(0, 101, 5):
            ratio = Fraction(hundredths, 100)
            flags = contended_uses(Stream(seed), costs, ratio)
            contended = sum(cost for cost, flag in zip(flat, flags, strict=True) if flag)
            assert abs(contended - ratio * sum(flat)) < max(flat)


def test_every_task_turns_contended_at_the_same_pace():
    costs = [[1] * 40, [3] * 20, [10] * 10]
    for seed in range(50):
        flags = iter(contended_uses(Stream(seed), costs, Fraction(1, 2)))
        shares = [mean([next(flags) for _ in task]) for task in costs]
        assert all(0.39 <= share <= 0.61 for share in shares)


def test_no_use_of_a_task_turns_contended_first():
    counts = [0] * 5
    for seed in range(2000):
        flags = contended_uses(Stream(seed), [[7] * 5], Fraction(2, 5))
        counts = [count + flag for count, flag in zip(counts, flags, strict=True)]
    # 4.5 standard deviations of a count are 99.
    assert all(abs(count - 800) < 99 for count in counts)


def test_contended_uses_have_the_exact_mean():
    costs = [[5, 1, 9, 4], [2, 2, 30], [7]]
    flat = [cost for task in costs for cost in task]
    ratio = Fraction(3, 10)
    real = []
    for seed in range(4000):
        flags = contended_uses(Stream(seed), costs, ratio)
        real.append(sum(cost for cost, flag in zip(flat, flags, strict=True) if flag))
    assert abs(mean(real) - ratio * sum(flat)) < 4 * pstdev(real) / 4000**0.5


def test_cost_has_no_bias():
    errors = [
        Fraction(task.cost_ps, 1000 * task.wcet_ns) - 1
        for rho in ("0", "1/2", "1")
        for seed in seeds(200)
        for task in SYNTHESISER.synthesise(parameters(rho), seed).tasks
    ]
    assert abs(mean(map(float, errors))) < 0.0002


def test_classes_are_few_and_cover_the_pool():
    counts = []
    seen: set[str] = set()
    for seed in seeds(200):
        classes = sy_classes(SYNTHESISER.synthesise(parameters(1), seed))
        counts.append(len(classes))
        seen |= classes
    assert set(counts) == {1, 2, 3}
    assert seen == {fragment.name for fragment in FRAGMENTS if fragment.kind is Kind.SY}


def test_packing_is_diverse_and_moderate():
    segments = [
        segment
        for seed in seeds(200)
        for task in SYNTHESISER.synthesise(parameters("1/2"), seed).tasks
        for segment in task.segments
    ]
    uses = [len(segment.uses) for segment in segments]
    assert 2 <= mean(uses) <= 6
    assert max(uses) <= 6
    entries = {use.entry for segment in segments for use in segment.uses}
    affordable = {entry for entry in example_entries(FRAGMENTS) if str(entry) != "matmul/128"}
    assert affordable <= entries


def test_segment_counts_cover_one_to_the_cap():
    for rho, fewest in (("0", 1), ("1/2", 2)):
        counts = {
            len(task.segments)
            for seed in seeds(200)
            for task in SYNTHESISER.synthesise(parameters(rho, segments_max=5), seed).tasks
        }
        assert counts == set(range(fewest, 6))


def test_uniform_priorities():
    task_set = SYNTHESISER.synthesise(parameters(tasks=6, priority_high=70), 1)
    assert {task.priority for task in task_set.tasks} == {70}


def test_random_priorities_cover_the_band():
    priorities = {
        task.priority
        for seed in seeds(20)
        for task in SYNTHESISER.synthesise(
            parameters(tasks=8, priorities="random", priority_low=62, priority_high=65), seed
        ).tasks
    }
    assert priorities == {62, 63, 64, 65}


@pytest.mark.parametrize(("tasks", "levels"), [(2, 2), (20, 20), (30, 20)])
def test_rate_monotonic_priorities(tasks, levels):
    task_set = SYNTHESISER.synthesise(
        parameters("1/2", tasks=tasks, priorities="rate-monotonic"), 5
    )
    by_period = sorted(task_set.tasks, key=lambda task: task.period_ns)
    priorities = [task.priority for task in by_period]
    assert priorities == sorted(priorities, reverse=True)
    assert priorities[0] == 79
    assert len(set(priorities)) == levels
    assert min(priorities) >= 60


def test_spin_locks_need_equal_priorities_on_a_core():
    mixed = parameters(1, tasks=4, priorities="rate-monotonic")
    alone = parameters(1, tasks=2, priorities="rate-monotonic")
    assert not any("spin_lock" in sy_classes(SYNTHESISER.synthesise(mixed, s)) for s in seeds(100))
    assert any("spin_lock" in sy_classes(SYNTHESISER.synthesise(alone, s)) for s in seeds(100))
    with pytest.raises(SynthesisError, match="0 SY fragments"):
        SYNTHESISER.synthesise(evolve(mixed, fragments=("spin_lock",)), 1)


def test_a_class_without_parallel_form_is_used_only_alone_and_contended():
    serial = {
        name: evolve(fragment, parallel=name != "mutex")
        for name, fragment in CATALOG.fragments.items()
    }
    synthesiser = Synthesiser(Catalog(fragments=serial), CALIBRATION)
    for seed in seeds(50):
        assert "mutex" not in sy_classes(synthesiser.synthesise(parameters(1, 1), seed))
    only = synthesiser.synthesise(parameters(1, 1, fragments=("mutex",)), 1)
    assert [(r.fragment, r.core) for r in only.resources] == [("mutex", None)]
    with pytest.raises(SynthesisError, match="0 SY fragments"):
        synthesiser.synthesise(parameters(1, "1/2", fragments=("mutex",)), 1)


def _classes_at(calibration, *, cores):
    synthesiser = Synthesiser(CATALOG, calibration)
    asked = parameters("1/2", cores=cores, tasks=cores)
    return {name for seed in seeds(60) for name in sy_classes(synthesiser.synthesise(asked, seed))}


def test_every_number_of_cores_draws_from_the_same_classes():
    measured = ParallelRatio(ratio=1.4, low=1.2, high=1.6, rounds=60)
    noisy = ParallelRatio(ratio=1.4, low=0.9, high=1.9, rounds=60)
    alone, noise = "mutex", "event_fd"
    calibration = evolve(CALIBRATION, parallel_ratio={alone: measured, noise: noisy})
    one, two = (_classes_at(calibration, cores=cores) for cores in (1, 2))
    assert one == two
    assert alone not in one and noise in one
    assert one | {alone} == _classes_at(CALIBRATION, cores=2)


def test_named_fragments_restrict_their_kind():
    task_set = SYNTHESISER.synthesise(parameters("1/2", fragments=("mutex", "matmul", "crc_32")), 2)
    used = {u.entry.fragment for t in task_set.tasks for s in t.segments for u in s.uses}
    assert used == {"mutex", "matmul", "crc_32"}
    free = SYNTHESISER.synthesise(parameters("1/2", fragments=("mutex",)), 2)
    used = {u.entry.fragment for t in free.tasks for s in t.segments for u in s.uses}
    assert "mutex" in used and len(used) > 3
    with pytest.raises(UsageError, match="did you mean mutex"):
        SYNTHESISER.synthesise(parameters(fragments=("mutx",)), 2)


def test_refused_and_missing_entries_are_left_out():
    refused = {"mutex/1": "noise", "mutex/4": "noise"}
    calibration = example_calibration(example_entries(FRAGMENTS))
    costs = {name: cost for name, cost in calibration.costs.items() if name not in refused}
    calibration = evolve(calibration, costs=costs, refused=refused)
    task_set = synthesise(parameters(1, fragments=("mutex",)), CATALOG, calibration, 1)
    used = {str(u.entry) for t in task_set.tasks for s in t.segments for u in s.uses}
    assert used == {"mutex/16"}
    none = evolve(calibration, costs={}, refused={})
    with pytest.raises(SynthesisError, match="no NS fragment is calibrated"):
        synthesise(parameters(), CATALOG, none, 1)


def test_a_fragment_of_another_layout_is_left_out():
    other = dict(CATALOG.fragments)
    other["mutex"] = evolve(other["mutex"], modes=("shared-address-space",))
    synthesiser = Synthesiser(Catalog(fragments=other), CALIBRATION)
    for seed in seeds(50):
        assert "mutex" not in sy_classes(synthesiser.synthesise(parameters(1), seed))


def test_costs_of_the_tasks_core_count():
    slow = {
        text: (
            fast,
            evolve(
                fast,
                first_ps=2 * fast.first_ps,
                again_ps=2 * fast.again_ps,
                repeat_ps=2 * fast.repeat_ps,
            ),
        )
        for text, (fast, _) in CALIBRATION.costs.items()
    }
    calibration = evolve(CALIBRATION, costs=slow)
    synthesiser = Synthesiser(CATALOG, calibration)
    for seed in seeds(10):
        for task in synthesiser.synthesise(parameters("1/2"), seed).tasks:
            cost = sum(map(sum, calibration.job_costs_ps(task)))
            assert abs(cost - 1000 * task.wcet_ns) <= 10 * task.wcet_ns


def test_an_impossible_budget_is_refused_with_the_reason():
    hopeless = Synthesiser(CATALOG, with_sy_costs({"mutex/1": (80_000, 80_000)}))
    with pytest.raises(SynthesisError) as caught:
        hopeless.synthesise(parameters(1, wcet_min_ns=119_000, wcet_max_ns=121_000), 1)
    assert "mutex/1, costs 80000 ns" in caught.value.message
    assert "wcet_min_ns" in caught.value.hint


def test_a_calibration_of_nothing_is_refused():
    costs = dict(CALIBRATION.costs)
    costs["crc_32/64"] = tuple(evolve(cost, repeat_ps=0) for cost in costs["crc_32/64"])
    with pytest.raises(SynthesisError, match="crc_32/64 costs nothing"):
        synthesise(parameters(), CATALOG, evolve(CALIBRATION, costs=costs), 1)
