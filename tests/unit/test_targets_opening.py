"""Truth: a word opens its machine, anything else is refused in a line; what is asked of another
machine is read there, and said of it."""

import json
from collections.abc import Iterator

import pytest

from deadbeat.cli.main import main
from deadbeat.model.errors import UsageError
from deadbeat.targets import opening
from deadbeat.targets.base import is_here
from deadbeat.targets.opening import open_target
from tests.helpers.pretend import PretendedTarget

BOARD = "pretend://board"


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[PretendedTarget]]:
    monkeypatch.setitem(opening.SCHEMES, "pretend", "tests.helpers.pretend:PretendedTarget")
    PretendedTarget.made.clear()
    yield PretendedTarget.made
    assert all(each.closed for each in PretendedTarget.made)


@pytest.mark.parametrize("word", [None, "local"])
def test_no_word_is_this_machine(word: str | None) -> None:
    with open_target(word) as target:
        assert is_here(target) and target.address == "local"


@pytest.mark.parametrize("word", ["", "board", "telnet://board", "ssh", "$(id)", "a\nb"])
def test_another_word_is_refused_in_a_line(word: str) -> None:
    with pytest.raises(UsageError, match="names no machine") as caught:
        open_target(word)
    assert "\n" not in str(caught.value) and "ssh://" in caught.value.hint


def test_the_doctor_reads_the_target_and_names_it(
    pretended: list[PretendedTarget], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--target", BOARD, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["results"]
    assert found["target"]["address"] == BOARD
    (target,) = pretended
    assert target.asked == ["run sh"]  # one round trip
    cures = [each["cure"] for each in found["checks"] if each["cure"]]
    assert cures and all(cure.startswith(f"on {found['target']['name']}: ") for cure in cures)
    assert main(["doctor", "--target", BOARD]) == 0
    shown = capsys.readouterr().out
    assert f"deadbeat latency --quick --target {BOARD}" in shown
