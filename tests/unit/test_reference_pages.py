"""Truth: the columns in code; the reference pages must name each of them."""

import re
from pathlib import Path

import pytest

from deadbeat.model import jobs as j
from deadbeat.model.figures import STRESS_COLUMNS, SUMMARY_COLUMNS, SetFigures
from deadbeat.store.campaign import CAMPAIGN_FILE, FOLDERS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
#: Ends and quantiles, which the page explains for all figures at once.
ENDS = re.compile(r"(_ci)?_(low|high)$")
QUANTILES = re.compile(r"(?<=slowdown)_(p\d+|max|error)$|(?<=delay_ratio)_(p\d+|max|error)$")


@pytest.mark.parametrize(
    "columns",
    [SUMMARY_COLUMNS, SetFigures.columns("profile"), STRESS_COLUMNS],
    ids=["point", "set", "group"],
)
def test_every_column_is_explained(columns: tuple[str, ...]) -> None:
    page = (REFERENCE / "campaign.md").read_text(encoding="utf-8")
    (section,) = [
        part for part in re.split(r"^## ", page, flags=re.M) if part.startswith("Columns")
    ]
    named = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]*)\|", section, re.M))))
    named |= {re.sub("_(mean|ratio)$", "", each) for each in named}
    left_out = {
        each
        for each in columns
        if not {each, stem := ENDS.sub("", each), QUANTILES.sub("", stem)} & named
    }
    assert {each for each in left_out if not each.startswith("counter_")} == set()


def test_every_file_and_field_is_explained() -> None:
    page = (REFERENCE / "files.md").read_text(encoding="utf-8")
    for name in (CAMPAIGN_FILE, *(f"{folder}/" for folder in FOLDERS)):
        assert name in page
    for dtype in (j.TASK_DTYPE, j.SLOT_DTYPE, j.PROBE_DTYPE, j.JOB_DTYPE):
        assert dtype.names is not None
        for field in dtype.names:
            assert f"`{field}`" in page, field
