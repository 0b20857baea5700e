"""Truth: a campaign that was never broken off. However often one is, the results are the same, and
points stop where they stopped there."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from helpers import seldom
from helpers.campaigns import begin, broken_off, essence, run, tiny_spec, tiny_stress
from helpers.precision import precise_spec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deadbeat.tasksets.contention.plan import offered
from deadbeat.tasksets.executors.simulated import FakeExecutor, Faults
from deadbeat.tasksets.store.campaign import CampaignStore

FORMS = {"grid": tiny_spec(), "stress": tiny_stress(), "precision": precise_spec(0.02)}
PLACES = ("before a run", "after a write")
Cuts = list[tuple[str, int]]
CUTS: list[tuple[str, Cuts]] = [
    *(("grid", [(place, after)]) for place in PLACES for after in (0, 4, 7)),
    ("grid", [("after a write", 1)] * 8),
    ("stress", [("after a write", 3), ("before a run", 2)]),
    *(("precision", [(place, 19)]) for place in PLACES),
]
MORE: list[tuple[str, Cuts]] = [
    *(("grid", [(place, after)]) for place in PLACES for after in (1, 2, 3, 5, 6)),
    *(("grid", [("after a write", step)] * 8) for step in (0, 2, 3)),
    *(("stress", [("after a write", after), ("before a run", 2)]) for after in (0, 6)),
    *(("precision", [(place, after)]) for place in PLACES for after in (0, 36)),
    ("precision", [("after a write", 5)] * 7),
]


def keys_of(form: str) -> list[str]:
    return [key.text for key in offered(FORMS[form], None)]


def faults(form: str) -> Faults:
    """At the same places of the plan."""
    keys = keys_of(form)
    return Faults(fail={keys[1]: 1, keys[4]: 99, keys[6]: 1})


def everything(store: CampaignStore) -> dict[str, Any]:
    return essence(store) | {"precision": store.load_precision()}


@cache
def uninterrupted(form: str) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        store = begin(Path(folder), FORMS[form])
        run(FORMS[form], store, executor=FakeExecutor(faults=faults(form)))
        return everything(store)


def resumed(folder: Path, form: str, cuts: Cuts) -> dict[str, Any]:
    return everything(broken_off(folder, cuts, FORMS[form], faults(form)))


def test_what_is_broken_off_is_there() -> None:
    assert len(keys_of("grid")) == 8
    assert uninterrupted("stress")["rows"][0]["group"] == "M=2"
    assert 36 <= len(uninterrupted("precision")["jobs"]) < len(keys_of("precision"))


@pytest.mark.parametrize(("form", "cuts"), [*CUTS, *seldom(*MORE)])
def test_crashes_change_nothing(tmp_path: Path, form: str, cuts: Cuts) -> None:
    assert resumed(tmp_path, form, cuts) == uninterrupted(form)


@pytest.mark.parametrize(("form", "last"), [("grid", 8), ("precision", 40)])
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_crashes_change_nothing(form: str, last: int, data: st.DataObject) -> None:
    cut = st.tuples(st.sampled_from(PLACES), st.integers(0, last))
    with TemporaryDirectory() as folder:
        cuts = data.draw(st.lists(cut, max_size=6))
        assert resumed(Path(folder), form, cuts) == uninterrupted(form)
