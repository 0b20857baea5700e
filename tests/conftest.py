"""Being here puts this folder on the import path: tests share ``helpers``."""

import os
import signal
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no fault of a test.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# No test of this process outlives a loss of power; programs that it starts write as always.
os.fsync = lambda _: None

# A suite started in the background of a script inherits SIGINT and SIGQUIT as ignored, by nohup
# SIGHUP, and so would every program that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here is an empty folder, and results go into its ``runs``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEADBEAT_RUNS", raising=False)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium with a profile of its own; see `helpers.chromium`."""
    made = import_module("helpers.chromium").chromium
    with made(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """Opens a page, which must be sound in the end; see `helpers.chromium`."""
    with import_module("helpers.chromium").opening(browser) as opened:
        yield opened


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server of SSH on this machine; see `helpers.sshd.Sshd`."""
    made = import_module("helpers.sshd").private_sshd
    with made(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several workers, one has all tests that take the machine's lock, and what a module
    prepares once (a build, a campaign, figures) is prepared once."""
    for item in items:
        if item.get_closest_marker("hardware"):
            item.add_marker(pytest.mark.xdist_group("hardware"))
        elif item.path.name == "test_core.py" or _has_module_fixture(item):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def _has_module_fixture(item: pytest.Item) -> bool:
    found = getattr(item, "_fixtureinfo", None)
    definitions = found.name2fixturedefs.values() if found else ()
    return any(each.scope == "module" for one in definitions for each in one)
