"""A test of a row is given the command that its row names, and what it saw is compared."""

import os
from collections.abc import Iterator

import pytest
from helpers.answers import Capture
from helpers.seed_rows import Row, rows_of


@pytest.fixture
def row(request: pytest.FixtureRequest, capsys: Capture, in_a_folder: None) -> Row:
    test = f"{request.path.name}::{request.node.name}"
    rows = rows_of(test)
    commands, states = {each[2] for each in rows}, {each[4] for each in rows}
    assert len(commands) == 1, f"rows of {test} name {sorted(commands)}"
    return Row(test, commands.pop(), tuple(sorted(states)), capsys)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Keeps what a test saw for tools/seedrows.py, or compares it with what is written."""
    row = getattr(item, "funcargs", {}).get("row")
    keep = bool(row and os.environ.get("DEADBEAT_ROWS"))
    try:
        outcome = yield
        if row:
            assert row.ran, f"{row.test} did not run: deadbeat {row.command}"
            wrong = f"seeds.toml says {row.written!r}, seen is {row.seen!r}: tools/seedrows.py"
            assert keep or {*row.written} == {row.seen}, wrong
    except Exception:
        if keep:
            row.keep("fails")
        raise
    if keep:
        row.keep(row.seen)
    return outcome
