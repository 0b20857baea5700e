"""Truth: a file is a task system or a DeadbeatError, whatever bytes it has."""

import json

from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from deadbeat.base.model.errors import DeadbeatError
from deadbeat.base.model.systems import TaskSystem, TimedTask
from deadbeat.sched.documents import schema
from deadbeat.sched.files import FORMATS, parse_task_system
from deadbeat.sched.tasksystems import csv_text, task_system_text

TIME_MAX = 1 << 60
SCHEMA = Draft202012Validator(schema())
QUICK = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])

times = st.integers(1, 50) | st.integers(1, TIME_MAX)
names = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=12)
tasks = st.builds(
    TimedTask,
    wcet=times,
    period=times,
    deadline=times,
    offset=st.just(0) | st.integers(0, TIME_MAX),
    name=names,
    priority=st.just(0) | st.integers(-TIME_MAX, TIME_MAX),
    home=st.none() | st.just(0),
    budget=st.none() | times,
    server_period=st.none() | times,
    server_deadline=st.none() | times,
)
systems = st.builds(
    TaskSystem,
    processors=st.integers(1, 1024),
    tasks=st.lists(tasks, min_size=1, max_size=5).map(tuple),
    name=names,
    unit=names,
)


def value_or_error(data: bytes, kind: str | None) -> TaskSystem | None:
    try:
        return parse_task_system(data, source="f", kind=kind).system
    except DeadbeatError as error:
        assert all("\n" not in line for line in (error.message, error.hint, *error.details))
        return None


@QUICK
@given(systems)
def test_round_trip(system):
    assert parse_task_system(task_system_text(system).encode(), source="f").system == system
    # a cell of a table has no blanks at its ends
    bare = evolve(system, tasks=tuple(evolve(e, name=e.name.strip()) for e in system.tasks))
    assert parse_task_system(csv_text(bare).encode(), source="f", kind="csv").system == bare


@QUICK
@given(st.binary(max_size=300), st.sampled_from([None, *FORMATS]))
def test_any_bytes(data, kind):
    value_or_error(data, kind)


words = st.sampled_from(
    [
        "processors",
        "tasks",
        "wcet",
        "period",
        "deadline",
        "offset",
        "name",
        "home",
        "perod",
        "",
        "x",
    ]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=5)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=6),
    max_leaves=25,
)
documents = st.fixed_dictionaries({"processors": scalars, "tasks": values}) | values


@QUICK
@given(documents)
def test_any_json(document):
    """What is taken is what the published schema allows, but for homes beyond the processors."""
    system = value_or_error(json.dumps(document).encode(), "json")
    allowed = SCHEMA.is_valid(document)
    assert allowed or system is None
    if allowed and system is None:
        assert any(task.get("home", 0) >= document["processors"] for task in document["tasks"])


pieces = st.sampled_from(
    [
        *("{", "}", "[", "]", ",", ":", '"', "1", "0", "-", "1e999", "NaN", "true", "null", "\n"),
        *('"tasks"', '"processors"', '"wcet"', '"period"', "wcet", "period", "# processors: 2\n"),
        *(";", "\t", "#", "<simulation>", "</simulation>", "<tasks>", "</tasks>", "<processors>"),
        *("</processors>", "<processor/>", '<task WCET="1" period="2" deadline="', '"/>', "1e99"),
        *("é", "\ufeff", "\u2028", "\x00", "\r"),
    ]
)


@QUICK
@given(st.lists(pieces, max_size=25).map("".join), st.sampled_from([None, *FORMATS]))
def test_any_pieces_of_the_formats(text, kind):
    value_or_error(text.encode(), kind)
