"""Truth: docs/explanation/precision.md: when a point stops, what comes first, what is promised."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.campaigns import Log, begin, essence, run, tiny_spec
from helpers.precision import Drawn, finished, precise_spec
from helpers.rows import rows_of

from deadbeat.base.experiment.base import RunDone, Started
from deadbeat.base.model.errors import UsageError
from deadbeat.base.store.place import REPORT_FILE
from deadbeat.tasksets.contention.place import choose, state_of
from deadbeat.tasksets.contention.plan import offered, plan, programs_of, resolve
from deadbeat.tasksets.contention.precision import MeanEstimate, Sample
from deadbeat.tasksets.contention.spec import PrecisionSpec, read_spec, spec_dict, specify
from deadbeat.tasksets.contention.summarise import summarise
from deadbeat.tasksets.executors.simulated import FakeExecutor, Faults
from deadbeat.tasksets.model.results import Point, RunKey, point_text
from deadbeat.tasksets.store.campaign import CampaignStore

FLAT, WIDE = Point(2, 1000, 0), Point(2, 1000, 1000)
ASKED = PrecisionSpec(target=0.05, sets_min=10, sets_max=100)


def noisy(share: float, sets: int = 100, seed: int = 1) -> list[float]:
    return (1 + share * np.random.default_rng(seed).standard_normal(sets)).tolist()


# -- the rule


def test_a_point_that_is_known_gets_the_fewest_sets_and_no_more() -> None:
    found = Drawn(ASKED, {FLAT: noisy(0.01), WIDE: noisy(0.15)}).points()
    assert found[FLAT].sets == 10
    assert 10 < found[WIDE].sets < 100
    for point in found.values():
        assert point.stopped == "target reached"
        assert point.half_width <= 0.05


def test_a_point_that_stays_unknown_is_capped_and_says_so() -> None:
    found = Drawn(ASKED, {FLAT: noisy(0.01), WIDE: noisy(2.0)}).points()
    assert (found[WIDE].sets, found[WIDE].stopped) == (100, "most sets")
    assert found[WIDE].half_width > 0.05


def test_runs_without_a_result_are_no_sets() -> None:
    lost = [math.nan if n % 2 else value for n, value in enumerate(noisy(2.0))]
    found = Drawn(ASKED, {WIDE: lost}).points()
    assert (found[WIDE].sets, found[WIDE].stopped) == (50, "runs lost")
    assert Drawn(ASKED, {WIDE: [math.nan] * 100}).points()[WIDE].half_width is None


def test_looks_are_few_and_never_early(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    estimated = MeanEstimate.of

    def counted(metric: str, samples: list[Sample]) -> MeanEstimate | None:
        looks.append(len(samples))
        return estimated(metric, samples)

    monkeypatch.setattr(MeanEstimate, "of", counted)
    Drawn(ASKED, {WIDE: noisy(2.0)}).run()
    assert looks[0] == 10
    assert all(b >= math.ceil(a * 1.1) for a, b in pairwise(looks))


def test_what_is_broken_off_is_not_finished() -> None:
    design = Drawn(ASKED, {FLAT: noisy(0.01), WIDE: noisy(2.0)})
    record = design.run(most_runs=30).record()
    assert not record.complete
    stopped = {name: point.stopped for name, point in record.points.items()}
    assert stopped == {point_text(FLAT): "target reached", point_text(WIDE): "not finished"}


# -- the order


# -- rounds and programs


def test_a_round_holds_every_point_once() -> None:
    spec = precise_spec()
    keys = offered(spec, None)
    assert set(keys) == set(plan(spec))
    points = sorted({key.point for key in keys})
    for number in range(14):
        assert sorted(key.point for key in keys if key.replica == number) == points
    assert [key.replica for key in keys] == sorted(key.replica for key in keys)
    orders = [[key.point for key in keys if key.replica == number] for number in range(14)]
    assert len({tuple(order) for order in orders}) > 3


def test_programs_hold_whole_rounds_and_grow() -> None:
    keys = offered(precise_spec(), None)
    programs = programs_of(precise_spec(), keys)
    last = [max(key.replica for key in batch) for batch in programs]
    assert last == [4, 6, 9, 13]
    assert [key for batch in programs for key in batch] == list(keys)


# -- a campaign


def test_a_campaign_stops_when_it_is_known_and_lacks_nothing(tmp_path: Path) -> None:
    spec = precise_spec()
    store = finished(tmp_path, spec)
    record = store.load_precision()
    assert record is not None and record.complete
    assert record.planned == len(store.committed()) < len(plan(spec))
    state = state_of(store.path)
    assert (state.state, state.done) == ("measured", state.planned)
    assert state.planned == record.planned
    (store.path / REPORT_FILE).write_text("<html>")
    assert choose(tmp_path, spec).path.name == "tiny-2"


def test_the_summary_says_the_width_and_why(tmp_path: Path) -> None:
    store = finished(tmp_path, precise_spec())
    record = store.load_precision()
    summary = summarise(store)
    assert {row["stopped"] for row in rows_of(summary)} == {"target reached", "most sets"}
    for row in rows_of(summary):
        key = point_text(Point(row["cores"], 1000, int(row["contended_ratio"] * 1000)))
        assert row["half_width"] == pytest.approx(record.points[key].half_width)
        assert row["slowdown_ci_high"] is None  # fewer than 30 sets
    (finding,) = [each for each in summary.findings if each.id == "precision-not-reached"]
    assert "1 of 6 points" in finding.message and "m002-s1000-c0500" in finding.message


def test_a_fixed_design_has_no_such_columns(tmp_path: Path) -> None:
    store = begin(tmp_path, tiny_spec())
    run(tiny_spec(), store)
    rows = rows_of(summarise(store))
    assert {(row["half_width"], row["stopped"]) for row in rows} == {(None, None)}
    assert store.load_precision() is None


@pytest.mark.parametrize("metric", ["delay_ratio", "deadline_miss_ratio"])
def test_other_metrics(tmp_path: Path, metric: str) -> None:
    # no miss in 8 sets: at most 1 - 0.05 ** (1 / 8) = 0.312, half of it 0.156
    target = 0.16 if metric == "deadline_miss_ratio" else 0.2
    store = finished(tmp_path, precise_spec(target, metric=metric))
    record = store.load_precision()
    sets = {point.sets for point in record.points.values()}
    assert sets == ({8} if metric == "deadline_miss_ratio" else {5})


def test_the_time_may_be_over_first_and_the_next_session_goes_on(tmp_path: Path) -> None:
    spec = precise_spec()
    (tmp_path / "a").mkdir()
    whole = essence(finished(tmp_path / "a", spec))
    store, ticks = begin(tmp_path / "b", spec), iter(range(10**6))
    result = run(spec, store, budget_s=60_000, clock=lambda: 1000.0 * next(ticks))
    assert not result.complete and 0 < result.done < 30
    record = store.load_precision()
    assert record is not None and not record.complete
    assert state_of(store.path).state == "unfinished"
    assert run(spec, CampaignStore.open(store.path)).complete
    assert essence(store) == whole


def test_failed_runs_take_a_round(tmp_path: Path) -> None:
    spec = precise_spec()
    key = RunKey(Point(2, 1000, 500), 2)
    store = begin(tmp_path, spec)
    run(spec, store, executor=FakeExecutor(faults=Faults(fail={key.text: 9})))
    record = store.load_precision()
    assert record is not None and record.complete
    known = record.points[point_text(key.point)]
    assert (known.sets, known.stopped) == (13, "runs lost")
    assert state_of(store.path).state == "measured"


def test_progress_tells_points_and_estimates_the_rest(tmp_path: Path) -> None:
    log = Log()
    spec = precise_spec()
    run(spec, begin(tmp_path, spec), on_event=log)
    assert log.of(Started)[0].decided == (0, 6)
    done = log.of(RunDone)
    assert done[0].total == 30
    assert done[-1].decided is not None and done[-1].eta_s == 0
    known = [event.decided[0] for event in done]
    assert known == sorted(known) and 4 <= known[-1] <= 6


# -- the specification


def test_the_canonical_form_is_read_again() -> None:
    spec = precise_spec()
    assert read_spec(spec_dict(spec)) == spec
    assert spec.grid is not None and spec.grid.replicas == 14
    old = spec_dict(tiny_spec())
    del old["precision"]
    assert read_spec(old).precision is None


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        (({"grid": {"replicas": 3}, "precision": {"target": 0.1}},), "grid.replicas: a fixed"),
        (({"precision": {"target": 0.1}}, {"grid": {"replicas": 3}}), "grid.replicas: a fixed"),
        (({"precision": {"target": 0}},), "precision.target: 0 is out of range"),
        (({"precision": {"sets_min": 9}},), "precision.target: missing"),
        (({"precision": {"target": 0.1, "metric": "speed"}},), "precision.metric"),
        (({"precision": {"target": 0.1, "sets_min": 9, "sets_max": 8}},), "sets_min: 9 is above"),
        (({"precision": {"target": 0.1, "sets_max": "many"}},), "precision.sets_max"),
        (({"precision": {"target": 0.1, "sets_maks": 9}},), "precision.sets_maks: unknown key"),
        (({"precision": 0.1},), "precision: 0.1 is not a table"),
    ],
)
def test_bad_precisions_are_refused_by_name(layers: tuple[dict[str, object], ...], words: str):
    with pytest.raises(UsageError) as caught:
        specify({"preset": "quick"}, *layers)
    assert words in str(caught.value)


def test_a_precision_asked_later_replaces_a_fixed_number() -> None:
    spec = specify({"grid": {"replicas": 3}}, {"precision": {"target": "0.1"}})
    assert spec.precision == PrecisionSpec(target=0.1)
    assert spec.grid is not None and spec.grid.replicas == 200


def test_the_sets_of_a_campaign_that_stopped_are_all_that_others_may_run(tmp_path: Path) -> None:
    spec = precise_spec(0.5)
    store = finished(tmp_path, spec)
    keys = offered(spec, store.programs.keys())
    assert store.committed() <= set(keys) < set(plan(spec))


def test_a_group_of_a_stress_campaign_stops_when_it_is_known(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"target": 0.05, "sets_min": 8, "sets_max": 40}
    layer = {
        "mode": "stress",
        "preset": "quick",
        "precision": asked,
        "run": {"seconds": 0.1},
        "tasks": {"deadline_factor": "5,10"},
        "stress": {"cores": "2", "critical_cores": "0,1"},
    }
    spec = resolve(specify(layer), FakeExecutor(cores=2).describe()).spec
    store = finished(tmp_path, spec)
    record, summary = store.load_precision(), summarise(store)
    assert record is not None and record.complete
    assert set(record.points) == {
        f"M=2{critical} D={factor}" for critical in ("", " k=1") for factor in (5, 10)
    }
    assert state_of(store.path).planned == len(store.committed()) == record.planned < 160
    for row in rows_of(summary):
        point = record.points[f"{row['group']} D={row['deadline_factor']:g}"]
        assert row["task_sets"] == point.sets >= 8
        assert row["stopped"] == point.stopped
        assert row["half_width"] == pytest.approx(point.half_width)
