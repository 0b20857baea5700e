"""Being here puts this folder on the import path: tests share ``helpers``."""

import signal

import pytest

# A suite started in the background of a script inherits SIGINT as ignored, and so would every
# program that a test interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several workers, one has all tests that take the machine's lock, and one builds."""
    for item in items:
        if item.get_closest_marker("hardware"):
            item.add_marker(pytest.mark.xdist_group("hardware"))
        elif item.path.name == "test_core.py":
            item.add_marker(pytest.mark.xdist_group("core"))
