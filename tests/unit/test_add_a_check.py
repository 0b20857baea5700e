"""Truth: the page on adding a setting; the row it shows works as it says."""

import re
import textwrap
import tomllib
from pathlib import Path

import pytest
from helpers.checks import case
from helpers.row_cases import cases_of

from deadbeat.settings.check import all_checks
from deadbeat.settings.facts import gather
from deadbeat.settings.knob import all_knobs
from deadbeat.settings.profile import turns
from deadbeat.settings.rows import row_of, rows
from deadbeat.settings.tuning_plan import plan
from deadbeat.targets.fake import FakeTarget

PAGE = Path(__file__).parents[2] / "docs/howto/add-a-check.md"


def block(language: str) -> str:
    text = PAGE.read_text(encoding="utf-8")
    (found,) = re.findall(rf"^ *```{language}\n(.*?)^ *```", text, re.M | re.S)
    return textwrap.dedent(found)


def test_the_row_of_the_page_is_a_check_and_a_knob(monkeypatch: pytest.MonkeyPatch) -> None:
    row = row_of("memory.laptop-mode", tomllib.loads(block("toml"))["laptop-mode"])
    assert row.source.startswith("Linux Documentation/admin-guide/sysctl/vm.rst")
    monkeypatch.setattr("deadbeat.settings.check.rows", lambda: {**rows(), row.id: row})
    monkeypatch.setattr("deadbeat.settings.knob.rows", lambda: {**rows(), row.id: row})
    (made,) = [check for check in all_checks() if check.id == row.id]
    typed = eval(f"{{{block('python')}}}", {"case": case})[row.id]
    assert list(typed) == ["pass", "fail", "unknown"]
    for status, given in (*typed.items(), *cases_of(row).items()):
        target = FakeTarget(files=given.files, refused=given.refused)
        assert made.run(gather(target, made.reads)).status == status.split()[0]
    all_knobs.cache_clear()
    try:
        files = {row.path: "5\n", "/sys/devices/system/cpu/online": "0-1\n"}
        turned = plan(FakeTarget(files=files), turns(["laptop-mode"]), rt_cpus=(1,))
    finally:
        all_knobs.cache_clear()
    assert [(each.path, each.value) for each in turned.settings] == [(row.path, "0")]


@pytest.mark.parametrize(
    ("plain", "complaint"),
    [
        ({"titel": "x"}, "titel"),
        ({"severity": "grave"}, "severity"),
        ({"good": "about 3"}, "no condition on a number"),
    ],
)
def test_a_wrong_row_is_named(plain: dict[str, str], complaint: str) -> None:
    good = tomllib.loads(block("toml"))["laptop-mode"]
    with pytest.raises(ValueError, match=complaint):
        row_of("memory.laptop-mode", {**good, **plain})
