"""Truth: what the commands answered before their packages were merged; see golden_answers.py."""

import json
from pathlib import Path

import pytest
from golden_answers import ROWS
from helpers.goldens import ANSWERS, MANIFEST, Row, checksum, differences, golden, play, unpack

DECISIONS = Path(__file__).parents[2] / "docs" / "decisions"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("stored"))


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row.name, marks=[pytest.mark.slow] * row.slow) for row in ROWS]
)
def test_the_answer_is_the_same(row: Row, stored: Path, tmp_path: Path) -> None:
    then = golden(row.name)
    told = differences(play(row, stored, tmp_path, then), then)
    assert not told, f"{len(told)} differences: " + "\n".join(told[:20])


def test_a_golden_changes_only_with_a_decision() -> None:
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
    files = {path.stem for path in ANSWERS.glob("*.json")} - {MANIFEST.stem}
    assert files == manifest.keys() == {row.name for row in ROWS}
    for name, kept in manifest.items():
        assert checksum(golden(name)) == kept["skeleton"], f"{name} was edited by hand"
        if kept["decision"]:
            assert list(DECISIONS.glob(f"{kept['decision']}-*.md")), f"{name}: no such decision"
