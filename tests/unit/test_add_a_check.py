"""Truth: the page on adding a check; what it shows works as it says."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest
from helpers.checks import case

from deadbeat.settings.check import Check
from deadbeat.settings.facts import gather
from deadbeat.targets.fake import FakeTarget

PAGE = Path(__file__).parents[2] / "docs/howto/add-a-check.md"


def blocks() -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return [textwrap.dedent(b) for b in re.findall(r"^ *```python\n(.*?)^ *```", text, re.M | re.S)]


def test_the_check_of_the_page_works_on_its_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    code, machines = blocks()
    family = ModuleType("a_family")
    # attrs and dataclasses of a module look it up by its name.
    monkeypatch.setitem(sys.modules, "a_family", family)
    exec(code, vars(family))
    (made,) = [
        value.deadbeat_checks
        for value in vars(family).values()
        if hasattr(value, "deadbeat_checks")
    ]
    assert isinstance(made, Check)
    cases = eval(f"{{{machines}}}", {"case": case})[made.id]
    assert list(cases) == ["pass", "fail", "unknown"]
    for status, given in cases.items():
        assert made.run(gather(FakeTarget(files=given.files), made.reads)).status == status
