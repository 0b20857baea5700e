"""Truth: the columns in code; the reference pages must name each of them."""

import ast
import re
from pathlib import Path

import attrs
import pytest

from deadbeat.base.model import jobs as j
from deadbeat.base.store.place import CAMPAIGN_FILE
from deadbeat.latencies.latency.engines import ENGINES
from deadbeat.latencies.latency.loads import LOADS
from deadbeat.latencies.latency.model import Circumstances, CpuLatency, LatencyRun, LoadReport
from deadbeat.latencies.latency.spec import LatencySpec
from deadbeat.tasksets.model.figures import STRESS_COLUMNS, SUMMARY_COLUMNS, SetFigures
from deadbeat.tasksets.store.campaign import FOLDERS

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


ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/latency.md").read_text(encoding="utf-8")
VALIDITY = ROOT / "src/deadbeat/latencies/latency/validity.py"


def section(heading: str) -> str:
    (text,) = [part for part in re.split(r"^## ", PAGE, flags=re.M) if part.startswith(heading)]
    return text


def first_cells(heading: str) -> list[str]:
    cells = re.findall(r"^\| (`[^|]*)\|", section(heading), flags=re.M)
    return re.findall(r"`([\w-]+)`", " ".join(cells))


def test_every_key_is_explained() -> None:
    """Those with an option stand in the table that tools/docs.py writes, the others below it."""
    named = set(re.findall(r"`(\w+)`", section("Keys")))
    assert {*attrs.fields_dict(LatencySpec)} <= named


def test_every_problem_is_explained() -> None:
    told = set(first_cells("Is a run"))
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in (*(ROOT / "src/deadbeat/latencies/latency").rglob("*.py"), VALIDITY)
    )
    raised = set(re.findall(r'(?:problem\(\s*|Finding\(name=)"([\w-]+)"', sources))
    assert len(raised) > 20
    assert raised <= told


def test_what_does_not_count_is_marked() -> None:
    """A call that names a problem and says `invalid`, anywhere in its arguments."""
    invalid = set()
    for path in (*(ROOT / "src/deadbeat/latencies/latency").rglob("*.py"), VALIDITY):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("problem"):
                said = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                name = node.args[0]
                if "invalid" in said and isinstance(name, ast.Constant):
                    invalid.add(name.value)
    rows = re.findall(r"^\| `([\w-]+)` \| [^|]* \| (yes|no) \|", PAGE, flags=re.M)
    assert len(invalid) > 4
    assert invalid <= {name for name, counts in rows if counts == "no"}


def test_every_engine_and_load_is_explained_with_its_command() -> None:
    assert set(ENGINES) == set(first_cells("Engines"))
    for name, profile in LOADS.items():
        (row,) = re.findall(rf"^\| `{name}[^|]*\| ([^|]*)\|", section("Loads"), flags=re.M)
        words = profile.commands(100, (0, 1, 2))[0]
        for option in (word for word in words if word.startswith("--") and word != "--taskset"):
            assert option in row, name


def test_every_circumstance_is_explained() -> None:
    assert sorted(first_cells("`circumstances`")) == sorted(attrs.fields_dict(Circumstances))


def test_every_key_of_a_run_is_explained() -> None:
    text = section("Files")
    for kind in (LatencyRun, CpuLatency, LoadReport):
        for name in attrs.fields_dict(kind):
            assert f"`{name}`" in text, name
