"""Truth: the columns in code; the reference pages must name each of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deadbeat.model import jobs as j
from deadbeat.model.figures import MEASURES, STRESS_COLUMNS, SUMMARY_COLUMNS, SetFigures
from deadbeat.store.campaign import CAMPAIGN_FILE, FOLDERS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def first_cells(page: str, heading: str) -> list[str]:
    """Code words of the first column of the tables below ``## heading``."""
    section = re.split(r"^## ", page, flags=re.M)
    (text,) = [part for part in section if part.startswith(heading)]
    cells = re.findall(r"^\| (`[^|]*)\|", text, flags=re.M)
    return re.findall(r"`(\w+)`", " ".join(cells))


@pytest.mark.parametrize(
    ("heading", "columns"),
    [
        ("A point: `summary.csv`", SUMMARY_COLUMNS),
        ("`sets.csv`", SetFigures.columns("profile")),
        ("A group: `summary.csv` of a stress campaign", STRESS_COLUMNS),
    ],
)
def test_every_column_is_explained_in_order(heading: str, columns: tuple[str, ...]) -> None:
    page = (REFERENCE / "metrics.md").read_text(encoding="utf-8")
    more = {column for measure in MEASURES for column in measure.columns}
    assert first_cells(page, heading) == [each for each in columns if each not in more]
    assert set(first_cells(page, "More figures")) == more


def test_every_file_and_field_is_explained() -> None:
    page = (REFERENCE / "files.md").read_text(encoding="utf-8")
    for name in (CAMPAIGN_FILE, *(f"{folder}/" for folder in FOLDERS)):
        assert name in page
    for dtype in (j.TASK_DTYPE, j.SLOT_DTYPE, j.PROBE_DTYPE, j.JOB_DTYPE):
        assert dtype.names is not None
        for field in dtype.names:
            assert f"`{field}`" in page, field
