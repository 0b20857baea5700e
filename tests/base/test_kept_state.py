"""Truth: `list` says what the folders say; a kept state of a finished result only saves time."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture, answer
from helpers.kinds import KINDS, MORE_KINDS

from deadbeat.base.kinds.registry import kind_of
from deadbeat.cli.main import main

COMMANDS = {**{kind: words for kind, (words, _) in KINDS.items()}, **MORE_KINDS}
TINY, STATE = Path("runs/tiny"), Path("runs/tiny/state.json")

pytestmark = pytest.mark.usefixtures("in_a_folder")


@pytest.mark.parametrize("kind", COMMANDS)
def test_what_is_kept_is_what_would_be_read(kind: str, capsys: Capture) -> None:
    def listed() -> tuple[Any, str]:
        capsys.readouterr()
        found = answer(capsys, "list")
        assert main(("list",)) == 0
        name, kind, *_ = re.split("  +", capsys.readouterr().out.splitlines()[1])
        return found, f"{name} {kind}"

    assert main(COMMANDS[kind]) == 0
    kept = listed()
    STATE.unlink()
    assert listed() == kept


def changed(name: str, value: Any) -> Callable[[], None]:
    def change() -> None:
        STATE.write_text(json.dumps(json.loads(STATE.read_text()) | {name: value}))

    return change


def run() -> Path:
    return min(TINY.glob("runs/*.json"))


@pytest.mark.parametrize(
    ("change", "state", "read"),
    [
        (lambda: None, "finished", False),
        (lambda: run().write_bytes(run().read_bytes()[:-9]), "damaged", True),
        (lambda: run().write_bytes(b"!" * len(run().read_bytes())), "damaged", True),
        ((TINY / "report.html").unlink, "measured", True),
        (lambda: run().unlink(), "unfinished", True),
        (lambda: STATE.write_text("{"), "finished", True),
        (lambda: STATE.write_text("[]"), "finished", True),
        (changed("kind", "latency"), "finished", True),
        (changed("tool", "0.0.1"), "finished", True),
        (changed("planned", "many"), "finished", True),
        (changed("own", None), "finished", True),
        (changed("files", None), "finished", True),
    ],
)
def test_a_folder_that_changed_is_read(
    change: Callable[[], None],
    state: str,
    read: bool,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(COMMANDS["load"]) == 0
    change()
    asked: list[str] = []
    monkeypatch.setattr(
        "deadbeat.cli.stored.kind_of", lambda name: asked.append(name) or kind_of(name)
    )
    capsys.readouterr()
    (row,) = answer(capsys, "list")
    assert (row["state"], asked) == (state, ["load"] * read)
