"""Truth: issue 2 and measurement.md: what makes a run doubtful becomes a visible finding."""

from typing import Any

import attrs
import numpy as np
import pytest
from helpers.rows import cells_from, sets_from
from helpers.runs import calibration, key

from deadbeat.base.model.finding import Finding
from deadbeat.tasksets.contention.findings import CampaignEvidence, collect_findings
from deadbeat.tasksets.model.calibration import Calibration
from deadbeat.tasksets.model.results import NoiseFacts
from deadbeat.tasksets.store.campaign import SessionRecord
from deadbeat.tasksets.store.origin import Origin

QUIET_MACHINE: dict[str, Any] = {
    "kernel": "6.1.0",
    "preemption": "full",
    "cpus_online": [0, 1, 2],
    "governor": {"0": "performance", "1": "performance", "2": "performance"},
    "clocksource": "tsc",
    "steal_ticks": {"0": 10, "1": 10, "2": 10},
    "total_ticks": {"0": 1000, "1": 1000, "2": 1000},
    "rt_runtime_us": -1,
    "rt_period_us": 1_000_000,
    "throttle_counts": {"0": {"core": 3, "package": 5}, "1": {"core": 3, "package": 5}},
    "virtual": False,
}
AFTER = QUIET_MACHINE | {"total_ticks": {"0": 11_000, "1": 11_000, "2": 11_000}}
ROW: dict[str, Any] = {"cores": 2, "task_sets": 5}
SET: dict[str, Any] = {
    "key": key().text,
    "realtime": True,
    "tasks_without_solo": 0,
    "sync_share_real": 0.5,
    "left_out": 0,
    "released": 80,
    "alone_released": 20,
}


def evidence(**changes: Any) -> CampaignEvidence:
    """A campaign that nothing can be said against, but for ``changes``."""
    parts: dict[str, Any] = {
        "calibration": calibration(),
        "sessions": (SessionRecord(number=1, before=QUIET_MACHINE, after=AFTER),),
        "rows": [ROW],
        "sets": [SET] * 5,
        "failed": {},
        "solo_cost_ratios": {key(): np.array([1.0, 0.99])},
        "noise": NoiseFacts(smallest_effect=0.01),
    }
    parts |= changes
    cells, sets = cells_from(parts.pop("rows")), sets_from(parts.pop("sets"))
    return CampaignEvidence(cells=cells, sets=sets, **parts)


def session(
    before: dict[str, Any] | None = None, after: dict[str, Any] | None = None
) -> CampaignEvidence:
    record = SessionRecord(
        number=1, before=QUIET_MACHINE | (before or {}), after=AFTER | (after or before or {})
    )
    return evidence(sessions=(record,))


def big_little() -> Calibration:
    """Of a machine whose cores have different capacities (sysfs cpu_capacity)."""
    made = calibration()
    topology = {
        str(cpu): {"capacity": str(1024 >> at)} for at, cpu in enumerate(made.platform.cpus)
    }
    details = {**made.platform.details, "topology": topology}
    return attrs.evolve(made, platform=attrs.evolve(made.platform, details=details))


def only(found: tuple[Finding, ...]) -> Finding:
    assert [finding.id for finding in found] == [found[0].id]
    return found[0]


def test_a_quiet_machine_has_no_finding() -> None:
    assert collect_findings(evidence()) == ()


@pytest.mark.parametrize(
    ("doubtful", "expected", "part"),
    [
        (session(after={"steal_ticks": {"0": 10, "1": 160, "2": 10}}), "steal", "1.5 % of the time"
         " of CPU 1"),
        (session({"rt_runtime_us": 950_000}), "rt-bandwidth", "950 ms of every 1000 ms"),
        (session({"cpus_online": [0, 1]}), "no-housekeeping-core", "M = 2 uses all 2"),
        (session({"cpus_online": 2}), "no-housekeeping-core", "M = 2 uses all 2"),
        (session({"governor": {"0": "powersave", "1": "performance"}}), "governor", "powersave"),
        (session({"governor": "schedutil"}), "governor", "schedutil"),
        (session({"virtual": True}), "virtual-machine", "virtual machine"),
        (session({"virtual": "kvm"}), "virtual-machine", "virtual machine"),
        (session(after={"kernel": "6.2.0"}), "kernel-changed", "6.1.0; 6.2.0"),
        (session({"clocksource": "hpet"}), "clocksource", "hpet"),
        (session(after={"throttle_counts": {"0": {"core": 4, "package": 5}}}), "throttled",
         "throttled 1 times"),
        (session({"throttle_counts": {"0": 1}}, {"throttle_counts": {"0": 8}}), "throttled",
         "throttled 7 times"),
        (evidence(sessions=()), "environment-not-recorded", "not recorded"),
        (evidence(sets=[SET] * 4 + [SET | {"realtime": False}]), "policy-other", "1 of 5"),
        (evidence(sets=[SET] * 4 + [SET | {"left_out": 40}]), "left-out", "7 % of the jobs"),
        (evidence(failed={key(): {"reason": "guardian"}}), "failed-runs", "1 run failed"),
        (evidence(rows=[ROW | {"task_sets": 0}]), "undecided-points", "the only point has"),
        (evidence(rows=[ROW | {"task_sets": 0}, ROW]), "undecided-points", "1 of 2 points has no"),
        (evidence(rows=[ROW | {"task_sets": 0}], sets=[]), "no-runs", "has no runs"),
        (evidence(rows=[ROW | {"task_sets": 1}]), "single-set", "nothing about other"),
        (evidence(rows=[ROW | {"task_sets": 4}]), "few-sets", "fewer than 5"),
        (evidence(solo_cost_ratios={key(): np.array([1.4, 1.5, np.nan, 1.0])}), "calibration",
         "40 % more than their C"),
        (evidence(sets=[SET | {"tasks_without_solo": 2}] * 5), "no-solo-reference", "10 tasks"),
        (evidence(sets=[SET | {"sync_share_real": None}] * 5), "no-program", "5 runs"),
        (evidence(noise=NoiseFacts()), "noise-floor-undecided", "unknown"),
        (evidence(calibration=None), "no-calibration", "is missing"),
        (evidence(calibration=big_little()), "unlike-cores", "2 kinds, by core 0, 1"),
    ],
)  # fmt: skip
def test_what_is_doubtful_is_found(doubtful: CampaignEvidence, expected: str, part: str) -> None:
    finding = only(collect_findings(doubtful))
    assert finding.id == expected
    assert part in finding.message
    assert "\n" not in finding.message + finding.cure


def test_a_killed_session_says_that_steal_is_not_known() -> None:
    killed = evidence(sessions=(SessionRecord(number=1, before=QUIET_MACHINE, after=None),))
    assert only(collect_findings(killed)).id == "session-not-closed"


def test_what_is_not_known_is_said_and_not_taken_as_good() -> None:
    unknown = dict.fromkeys(QUIET_MACHINE, "unknown: no such file")
    unknown |= {"throttle_counts": {"0": {"core": "unknown: no such file"}}}
    record = SessionRecord(number=1, before=unknown, after=unknown)
    finding = only(collect_findings(evidence(sessions=(record,))))
    assert finding.id == "environment-unknown"
    for fact in ("steal", "throttling", "RT bandwidth", "governor", "clock source", "virtual"):
        assert fact in finding.message


def test_an_empty_environment_breaks_nothing() -> None:
    record = SessionRecord(number=1, before={}, after={})
    assert [f.id for f in collect_findings(evidence(sessions=(record,)))] == ["environment-unknown"]


def test_a_simulation_is_labelled_and_its_machine_is_not_judged() -> None:
    simulated = attrs.evolve(
        session({"virtual": True, "governor": "powersave"}),
        calibration=calibration(kind="simulated"),
    )
    assert only(collect_findings(simulated)).id == "simulated"


def test_serious_findings_come_first() -> None:
    found = collect_findings(
        evidence(noise=NoiseFacts(), failed={key(): {"reason": "x"}}, rows=[ROW | {"task_sets": 1}])
    )
    assert [finding.severity for finding in found] == ["serious", "warning", "info"]


def borrowed(**changes: Any) -> CampaignEvidence:
    """Programs of another campaign on the same hardware, or on one with ``changes``."""
    made = calibration()
    origin = Origin(
        name="there",
        elf={},
        source={},
        index={},
        original=made.platform,
        platform=attrs.evolve(made.platform, **changes),
    )
    return evidence(origin=origin, solo_cost_ratios={key(): np.array([1.5, 1.5])})


def test_foreign_programs_are_told_and_their_costs_not_judged() -> None:
    assert only(collect_findings(borrowed())).id == "foreign-programs"
    found = only(collect_findings(borrowed(fingerprint="another")))
    assert found.id == "foreign-costs" and "read the slowdown" in found.cure


GROUP: dict[str, Any] = {"cores": None, "task_sets": 200}


def stress(*rows: dict[str, Any]) -> CampaignEvidence:
    return evidence(mode="stress", rows=[GROUP | row for row in rows])


def test_a_quantile_of_few_random_sets_is_told() -> None:
    assert collect_findings(stress({}, {})) == ()
    (found,) = collect_findings(stress({"task_sets": 99}, {}))
    assert found.id == "thin-tail" and "1 of 2 groups have fewer than 100" in found.message
    assert not [f for f in collect_findings(evidence()) if f.id == "thin-tail"]


def test_shielded_groups_alone_say_nothing_of_what_is_saved() -> None:
    (found,) = collect_findings(stress({"critical_cores": 1}))
    assert found.id == "no-unshielded-group"
    assert collect_findings(stress({"critical_cores": 1}, {"critical_cores": None})) == ()


def test_sets_that_ask_more_than_a_core_has_are_told() -> None:
    (found,) = collect_findings(evidence(overloaded=(key(), key(replica=1))))
    assert (found.id, found.where) == ("overloaded", key().text)
    assert found.message.startswith("2 of 5 task sets ask for more than a core has")


def test_overload_under_late_is_told_to_have_had_long_slots() -> None:
    long = attrs.evolve(evidence(), overloaded=(key(),), long_slots=(key(),))
    told = collect_findings(long)
    assert [finding.id for finding in told] == ["overloaded", "long-slots"]
    assert "last 50 periods" in told[1].message


def test_little_steal_and_few_overlapped_jobs_are_no_finding() -> None:
    little = session(after={"steal_ticks": {"0": 10, "1": 60, "2": 10}})
    assert collect_findings(little) == ()
    assert collect_findings(evidence(sets=[SET | {"left_out": 2}] * 5)) == ()


def test_critical_tasks_that_contend_with_one_another_are_told() -> None:
    shielded = {"critical_cores": 2, "contended_ratio_real": 0.4, "group": "M=4 k=2"}
    (found,) = collect_findings(stress({}, shielded))
    assert found.id == "critical-tasks-contend" and "alpha = 0.40" in found.message
    assert collect_findings(stress({}, shielded | {"critical_cores": 1})) == ()
    assert collect_findings(stress({}, shielded | {"contended_ratio_real": 0.0})) == ()


def test_groups_are_called_groups_and_their_cores_known_by_their_sets() -> None:
    few = stress({"task_sets": 1})
    assert "the only group rests on one task set" in collect_findings(few)[0].message
    full = attrs.evolve(stress({}), sets=sets_from([SET | {"cores": 3}] * 5))
    (found,) = collect_findings(full)
    assert found.id == "no-housekeeping-core" and "M = 3 uses all 3" in found.message
