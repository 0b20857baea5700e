"""Truth: what a load test may be asked, and what is wrong with what it may not."""

import attrs
import pytest

from deadbeat.base.model.errors import DataError, UsageError
from deadbeat.base.model.specification import plain_of
from deadbeat.latencies.load.engine import LoadRequest
from deadbeat.latencies.load.model import LoadKey
from deadbeat.latencies.load.remedies import RemedyChange
from deadbeat.latencies.load.spec import (
    LoadSpec,
    cells,
    plan,
    preset,
    read_spec,
    resolve,
    seconds_of,
    specify,
)

MS = 1_000_000


def test_nothing_asked_is_the_papers_experiment() -> None:
    spec = resolve(specify({}), (0, 1))
    assert spec.normal == (0, 1, 2, 3, 4)
    assert (spec.form, spec.policy, spec.priority) == ("back-to-back", "fifo", 99)
    assert (spec.round, spec.deadline, spec.period) == (10 * MS, 15 * MS, None)
    assert spec.remedies == ("pin", "smt", "governor", "preemption", "rt-bandwidth")


def test_the_periodic_form_has_a_period_of_twice_the_budget_which_is_its_deadline() -> None:
    spec = resolve(specify({"form": "periodic", "round": "3ms"}), (0, 1))
    assert (spec.round, spec.period, spec.deadline) == (3 * MS, 6 * MS, 6 * MS)


@pytest.mark.parametrize(
    ("text", "counts"),
    [("all", (0, 1, 2, 3, 4)), ("few", (0, 2, 4)), ("1..3", (1, 2, 3)), ("5", (5,))],
)
def test_numbers_of_ordinary_threads(text: str, counts: tuple[int, ...]) -> None:
    assert resolve(specify({"normal": text}), (0, 1)).normal == counts


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"form": "sideways"}, "form: .*not a choice"),
        ({"priority": "100"}, "priority: .*out of range"),
        ({"priority": "0"}, "priority: .*out of range"),
        ({"normal": "-1"}, "normal.*out of range"),
        ({"normal": "2000"}, "normal.*out of range"),
        ({"seconds": "0"}, "seconds: .*out of range"),
        ({"seconds": "20ms"}, "seconds: .*out of range"),
        ({"seconds": "0.1", "round": "50ms"}, "seconds: 0.1 s hold fewer than 3 rounds"),
        ({"round": "10"}, "round: .*unit"),
        ({"remedies": "prayer"}, '"prayer" is not a choice'),
        ({"period": "20ms"}, "period: rounds back to back have none"),
        ({"form": "periodic", "round": "5ms", "period": "5ms"}, "period: 5 ms is no longer"),
        ({"form": "periodic", "deadline": "1s"}, "deadline: 1000 ms is longer than the period"),
        ({"deadline": "10ms"}, "deadline: 10 ms is no longer than the round"),
        ({"cpus": "0,0"}, "cpus: .*twice"),
        ({"speed": "1"}, "speed: unknown key"),
        ({"repeats": "3", "remedy_repeats": "2"}, "remedy_repeats: 2 are fewer than the 3 of ev"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(values: dict[str, str], found: str) -> None:
    with pytest.raises(UsageError, match=found):
        specify(values)


def test_every_problem_is_said_at_once_by_the_names_the_person_used() -> None:
    with pytest.raises(UsageError) as caught:
        specify({"priority": "0", "remedies": "x"}, {"priority": "--priority"})
    assert len(caught.value.details) == 2
    assert caught.value.details[0].startswith("--priority: ")


def test_with_a_single_cpu_nobody_could_end_a_thread_of_the_highest_priority() -> None:
    with pytest.raises(UsageError, match=r"--priority: with 1 CPU nothing .*--priority 98"):
        resolve(specify({}), (3,))
    assert resolve(specify({"priority": "98"}), (3,)).priority == 98
    assert resolve(specify({"policy": "other"}), (3,)).priority == 99
    assert resolve(specify({"cpus": "3"}), (2, 3)).priority == 99


def test_the_papers_own_round_and_limit() -> None:
    """Truth: the paper's Load.c: nine loops of a million in a loop of a hundred; and its 2 s."""
    spec = resolve(specify(preset("paper", {})), (0, 1))
    assert (spec.additions, spec.deadline) == (900_000_000, 2000 * MS)
    ask = LoadRequest(spec=spec, key=LoadKey(0, "plain", 1), unit_ps=270_000)
    assert ask.units == 900_000
    assert (spec.repeats, spec.remedy_repeats) == (3, 8)
    assert specify(preset("paper", {"repeats": "10"})).remedy_repeats is None
    assert specify(preset("paper", {"remedies": "none"})).remedy_repeats is None
    timed = resolve(specify(preset("paper", {"round": "1s"})), (0, 1))
    assert (timed.additions, timed.round, timed.deadline) == (None, 1000 * MS, 2000 * MS)
    with pytest.raises(UsageError, match=r"--preset: .*use quick, paper"):
        preset("papr", {})


@pytest.mark.parametrize(
    "spec", [LoadSpec(), resolve(specify({"form": "periodic", "remedies": "none"}), (0, 1, 2))]
)
def test_a_specification_survives_its_plain_form(spec: LoadSpec) -> None:
    assert read_spec(plain_of(spec)) == spec


def test_a_damaged_specification_is_no_traceback() -> None:
    with pytest.raises(DataError, match="damaged"):
        read_spec({**plain_of(LoadSpec()), "repeats": "many"})


SPEC = resolve(specify({"normal": "0,2,4", "repeats": "3", "trace": False}), (0, 1))
TWO = {"pin": RemedyChange(pin=1, words="a"), "smt": RemedyChange(pin=1, words="b")}


def test_single_remedies_are_measured_at_the_most_threads_and_all_of_them_everywhere() -> None:
    found = cells(SPEC, TWO)
    assert [normal for normal, condition in found if condition == "plain"] == [0, 2, 4]
    assert [normal for normal, condition in found if condition == "all"] == [0, 2, 4]
    assert [normal for normal, condition in found if condition == "reference"] == [2, 4]
    assert {(4, "pin"), (4, "smt")} <= set(found)
    assert len(found) == len(set(found)) == 10


def test_the_traced_run_is_one_more_and_the_last() -> None:
    traced = resolve(specify({"normal": "0,2,4", "repeats": "3"}), (0, 1))
    keys = plan(traced, TWO)
    assert keys[:-1] == plan(SPEC, TWO)
    assert keys[-1] == LoadKey(4, "traced", 1)


def test_a_single_possible_remedy_is_not_measured_twice_under_two_names() -> None:
    found = cells(SPEC, {"pin": TWO["pin"]})
    assert [normal for normal, condition in found if condition == "pin"] == [0, 2, 4]
    assert "all" not in {condition for _, condition in found}


def test_every_block_visits_every_cell_in_an_order_of_its_own() -> None:
    keys = plan(SPEC, TWO)
    # 10 cells; the five with most ordinary threads (plain, all, pin, smt, reference) twice
    blocks = [keys[place : place + 15] for place in range(0, 45, 15)]
    orders = [[(key.normal, key.condition) for key in block] for block in blocks]
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    assert orders[0] != orders[1]
    assert len(set(keys)) == len(keys) == 45
    assert plan(SPEC, TWO) == keys
    told_apart = [key for key in keys if key.normal == 4]
    assert sorted(key.repeat for key in told_apart if key.condition == "pin") == [1, 2, 3, 4, 5, 6]
    assert {key.repeat for key in keys if key not in told_apart} == {1, 2, 3}


@pytest.mark.parametrize(("remedy_repeats", "runs"), [(None, 3), (3, 3), (4, 4), (8, 8)])
def test_remedies_are_told_apart_by_as_many_repeats_as_asked(remedy_repeats: int | None, runs: int):
    # None: of a load test that was begun before there was a choice
    keys = plan(attrs.evolve(SPEC, remedy_repeats=remedy_repeats), TWO)
    found = [key.repeat for key in keys if (key.normal, key.condition) == (4, "smt")]
    assert sorted(found) == list(range(1, runs + 1))


def test_nothing_is_repeated_for_remedies_that_nobody_asked_for() -> None:
    bare = resolve(specify({"normal": "0,4", "repeats": "3", "remedies": "none"}), (0, 1))
    assert bare.remedy_repeats == 3
    assert resolve(specify({"repeats": "3"}), (0, 1)).remedy_repeats == 6


@pytest.mark.parametrize("text", ["n002.plain.0001", "n016.rt-bandwidth.0123"])
def test_a_key_is_its_text(text: str) -> None:
    assert LoadKey.parse(text).text == text


@pytest.mark.parametrize("text", ["", "n2.plain.0001", "n002.plain", "n002.Plain.0001.json"])
def test_other_texts_are_no_key(text: str) -> None:
    with pytest.raises(UsageError):
        LoadKey.parse(text)


def test_the_papers_experiment_takes_about_a_quarter_of_an_hour_on_two_cpus() -> None:
    spec = resolve(specify(preset("paper", {})), (0, 1))
    for remedies in (("pin", "rt-bandwidth"), ("pin", "preemption", "rt-bandwidth")):
        runs = plan(spec, {name: RemedyChange(words="") for name in remedies})
        assert seconds_of(spec, len(runs)) <= 15 * 60
