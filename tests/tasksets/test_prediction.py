"""Truth: made-up predictions with known noise, and the made-up machine from command to page."""

import json
import math
import random
from pathlib import Path

import attrs
import pytest
from helpers.answers import validator

import deadbeat
from deadbeat.base.model.errors import UsageError
from deadbeat.base.stats.intervals import Interval, fewest, quantile
from deadbeat.tasksets.prediction.document import answer, charts, plain
from deadbeat.tasksets.prediction.engine import predict, read_cases, read_prices
from deadbeat.tasksets.prediction.results import (
    Predictions,
    SetPrediction,
    difficulty,
    halves,
    with_intervals,
)
from deadbeat.tasksets.prices.rates import Covered

ALL = Covered(exact=1.0, alike=0.0)


def made_up(count: int, *, noise: float, bias: float = 1.0, seed: int = 1) -> list[SetPrediction]:
    """Sets whose measurements are off by known noise."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        predicted = 1.0 + draw.random()
        off = math.exp(noise * (0.05 + math.log(predicted)) * draw.gauss(0, 1))
        found.append(
            SetPrediction(
                key=f"set-{number}",
                cores=2,
                role="calibration" if number % 2 else "held-out",
                predicted=predicted,
                plain=1.0,
                covered=ALL,
                measured=predicted * off * bias,
                error=0.005,
            )
        )
    return found


def predictions(sets: list[SetPrediction], **more: object) -> Predictions:
    held, scale = with_intervals(sets)
    found = Predictions(
        result="sets",
        figure="slowdown",
        rivals=1,
        labels=(),
        findings=(),
        sets=held,
        scale=scale,
    )
    return attrs.evolve(found, **more)


# ---------- intervals ----------


def test_the_quantile_is_the_ninth_of_nine_and_none_of_eight() -> None:
    assert fewest(0.9) == 9
    assert quantile([*range(9)], 0.9) == 8
    assert quantile([*range(8)], 0.9) is None
    assert quantile([*range(99)], 0.9) == 89  # the 90th


def test_stated_intervals_hold_their_share_whatever_the_noise() -> None:
    """400 held-out sets of 20 draws each: 90 % and a little, of binomial noise below 0.4 %."""
    for noise in (0.02, 0.2, 1.0):
        held = judged = 0
        for seed in range(20):
            found = predictions(made_up(800, noise=noise, seed=seed))
            held, judged = held + found.held, judged + len(found.judged)
        assert judged == 8000
        assert 0.885 <= held / judged <= 0.915


def test_a_model_that_is_wrong_has_wide_intervals_that_still_hold() -> None:
    right, wrong = (predictions(made_up(400, noise=0.1, bias=bias)) for bias in (1.0, 1.5))
    assert right.scale is not None
    assert wrong.scale > 3 * right.scale
    assert wrong.held >= 0.85 * len(wrong.judged)


def test_few_sets_state_no_interval() -> None:
    found = predictions(made_up(16, noise=0.1))
    assert found.scale is None
    assert found.coverage is None
    assert all(each.interval is None for each in found.sets)
    assert "no interval is stated" in answer(found)[0]


def test_what_is_not_known_makes_an_interval_wider() -> None:
    (one,) = made_up(1, noise=0.0)
    other = attrs.evolve(one, covered=Covered(exact=0.8, alike=0.0))
    assert difficulty(other) > difficulty(one) + 0.1
    noisy = attrs.evolve(one, error=0.2)
    assert difficulty(noisy) > difficulty(one) + 0.1


def test_sets_of_one_seed_are_in_one_half() -> None:
    seeds = {f"set-{number}": number % 20 for number in range(60)}
    chosen = halves(seeds)
    assert len(chosen) == 30
    for seed in range(20):
        assert len({key in chosen for key, own in seeds.items() if own == seed}) == 1


# ---------- words ----------


def test_the_verdict_counts_what_was_held_out() -> None:
    sets = [
        *(each for each in made_up(40, noise=0.0) if each.role == "calibration"),
        *(
            attrs.evolve(each, measured=each.predicted / off)
            for each, off in zip(made_up(8, noise=0.0)[::2], (1.0, 1.02, 0.95, 1.3), strict=True)
        ),
    ]
    found = predictions(sets)
    first, *rest = answer(found)
    assert first.startswith("Of 4 held-out task sets 3 are predicted within 10 % (worst 30 %);")
    assert "hold 1 of 4" in first
    assert any("The model (mean error 9." in each for each in rest)


def test_a_model_that_does_not_beat_a_guess_is_said_so() -> None:
    draw = random.Random(3)
    sets = [
        attrs.evolve(each, predicted=1.0 + draw.random(), measured=1.5 + 0.01 * draw.random())
        for each in made_up(60, noise=0.0)
    ]
    told = " ".join(answer(predictions(sets)))
    assert "Guessing the mean of the other half" in told
    good = " ".join(answer(predictions(made_up(60, noise=0.02))))
    assert "beats the mean of the other half" in good
    assert "not shown" not in good


def test_measured_predicted_and_extrapolated_never_look_alike() -> None:
    sets = made_up(40, noise=0.1)
    beyond = [
        attrs.evolve(
            sets[0], cores=cores, role=role, measured=None, error=None, range=Interval(1.0, 9.0)
        )
        for cores, role in ((1, "predicted"), (16, "extrapolated"))
    ]
    found = predictions([*sets, *beyond])
    extrapolated = [each for each in found.sets if each.role == "extrapolated"]
    assert all(each.interval is None for each in extrapolated)
    told = answer(found)
    assert any(each.startswith("EXTRAPOLATED: slowdown") and "16 cores" in each for each in told)
    assert any(each.startswith("Predicted: slowdown") and "1 core." in each for each in told)
    drawn = {chart.name: chart for chart in charts(found)}
    assert "EXTRAPOLATED" in drawn["cores"].title
    looks = {each.label.split(",")[0]: each.look for each in drawn["cores"].panels[0].curves}
    assert looks.keys() == {"measured", "predicted", "EXTRAPOLATED"}
    assert len(set(looks.values())) == 3
    both = {each.label: each.look for each in drawn["predicted"].panels[0].curves}
    assert both["measured, held out"] == looks["measured"]
    assert both["predicted, stated 90 % interval"] == looks["predicted"]


def test_a_set_that_is_not_predicted_counts_nowhere() -> None:
    sets = made_up(40, noise=0.1)
    refused = attrs.evolve(sets[0], key="refused", predicted=None)
    found = predictions([*sets, refused])
    assert found.refused == 1
    assert len(found.judged) == 20
    assert plain(found)["refused"] == 1


# ---------- from the command to the page ----------


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Task sets of the made-up machine, which contends by a formula of its own."""
    folder = tmp_path_factory.mktemp("runs")
    deadbeat.contention(
        random=True, cores="2", sets=24, contended_ratio="0,1", deadline_factor="2",
        fragments="matmul,pointer_chase,atomic_line", simulated=True, runs=folder, name="sets",
    )  # fmt: skip
    return folder


def test_from_the_command_to_the_page(runs: Path) -> None:
    envelope = deadbeat.ask("predict", "sets", cores="1,5", runs=runs)
    validator().validate(envelope)
    found = envelope["results"]
    assert envelope["headline"].startswith("Simulated: of ")
    assert found["labels"] == ["SIMULATED"]
    assert found["judged"] + found["calibrating"] == 24
    roles = {row["role"] for row in found["rows"]}
    assert roles == {"calibration", "held-out", "predicted", "extrapolated"}
    for row in found["rows"]:
        assert (row["measured"] is None) == (row["role"] in ("predicted", "extrapolated"))
        assert row["exact"] + row["alike"] + row["lacking"] == pytest.approx(1.0)
        assert (row["range"] is None) == (row["role"] != "extrapolated")
    page = Path(found["report"]).read_text()
    assert "SIMULATED" in page
    assert "EXTRAPOLATED" in page
    stored = json.loads(Path(found["report"]).with_name("predictions.json").read_text())
    assert stored["rows"] == found["rows"]
    again = predict(read_prices(runs, "sets"), read_cases(runs, "sets"))
    assert plain(again)["rows"] == found["rows"][:24]


@pytest.mark.slow
def test_breakdown_utilisations_are_predicted_too(runs: Path) -> None:
    deadbeat.breakdown(
        sets=2, cores="2", sync_share="1", contended_ratio="0,1", steps=3,
        fragments="matmul,atomic_line", simulated=True, runs=runs, name="search",
    )  # fmt: skip
    found = predict(read_prices(runs, "search"), read_cases(runs, "search"))
    assert found.figure == "breakdown"
    assert len(found.sets) == 4
    free, contended = (
        [each for each in found.sets if point in each.key] for point in ("c0000", "c1000")
    )
    # a step of the search is 0.13: what the made-up host's noise moves
    assert all(each.predicted == pytest.approx(each.plain, abs=0.13) for each in free)
    assert all(each.predicted < each.plain - 0.3 for each in contended)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("matrix", "has no task sets"),
        ("nothing", "nothing"),
    ],
)
def test_what_is_asked_in_vain_is_named(runs: Path, word: str, said: str) -> None:
    works = {"works": "matmul:20", "repeats": 2, "fresh": True}
    deadbeat.interfere(**works, simulated=True, runs=runs, name="matrix")
    with pytest.raises(UsageError, match=said):
        deadbeat.ask("predict", word, runs=runs)


@pytest.mark.parametrize("cores", ["0", "two", "2000"])
def test_core_counts_are_refused_by_their_rule(runs: Path, cores: str) -> None:
    with pytest.raises(UsageError, match="--cores"):
        deadbeat.ask("predict", "sets", cores=cores, runs=runs)
