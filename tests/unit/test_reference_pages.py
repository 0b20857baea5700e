"""Truth: the columns in code; the reference pages must name each of them."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import attrs
import pytest

from deadbeat.kinds.contention.spec import SECTIONS, CampaignSpec, spec_dict, specify
from deadbeat.model import jobs as j
from deadbeat.model.results import STRESS_COLUMNS, SUMMARY_COLUMNS
from deadbeat.store.campaign import CAMPAIGN_FILE, FOLDERS
from deadbeat.store.summary import SET_COLUMNS

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
        ("`sets.csv`", SET_COLUMNS),
        ("A group: `summary.csv` of a stress campaign", STRESS_COLUMNS),
    ],
)
def test_every_column_is_explained_in_order(heading: str, columns: tuple[str, ...]) -> None:
    page = (REFERENCE / "metrics.md").read_text(encoding="utf-8")
    assert first_cells(page, heading) == list(columns)


def test_every_file_and_field_is_explained() -> None:
    page = (REFERENCE / "files.md").read_text(encoding="utf-8")
    for name in (CAMPAIGN_FILE, *(f"{folder}/" for folder in FOLDERS)):
        assert name in page
    for dtype in (j.TASK_DTYPE, j.SLOT_DTYPE, j.PROBE_DTYPE, j.JOB_DTYPE):
        assert dtype.names is not None
        for field in dtype.names:
            assert f"`{field}`" in page, field


@pytest.mark.parametrize("section", ["", *SECTIONS])
def test_every_key_of_a_campaign_file_is_explained_in_order(section: str) -> None:
    page = (REFERENCE / "campaign-file.md").read_text(encoding="utf-8")
    kind = SECTIONS.get(section, CampaignSpec)
    heading = f"[{section}]" if section else "Top level"
    assert first_cells(page, heading) == list(attrs.fields_dict(kind))


@pytest.mark.parametrize("section", ["run", "tasks", "calibration", "stress"])
def test_the_defaults_of_a_campaign_file_are_those_of_the_code(section: str) -> None:
    page = (REFERENCE / "campaign-file.md").read_text(encoding="utf-8")
    plain = spec_dict(specify({"mode": "stress"} if section == "stress" else {}))[section]
    (text,) = [
        part for part in re.split(r"^## ", page, flags=re.M) if part.startswith(f"[{section}]")
    ]
    rows = re.findall(r"^\| `(\w+)` \| `?([^|`]*)`? \|", text, flags=re.M)
    told = {key: value.strip() for key, value in rows if value.strip() and key in plain}
    words = {None: {"auto", "none", "as `sets`", "as"}, (): {"all"}}
    for key, value in told.items():
        default = plain[key]
        if isinstance(default, list):
            default = tuple(default) if len(default) != 1 else default[0]
        if default in words:
            assert value.split(" ")[0] in words[default], key
        else:
            assert value in {str(default), str(default).lower(), _rounded(default)}, key
    assert len(told) >= 3


def _rounded(value: object) -> str:
    """``9/10`` as a person writes it."""
    try:
        return f"{float(Fraction(str(value))):g}"
    except ValueError:
        return str(value).split(":")[0]
