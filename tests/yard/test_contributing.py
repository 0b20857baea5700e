"""CONTRIBUTING.md is the truth here: its worked example must do what the page says."""

import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from helpers.checks import case
from helpers.row_cases import cases_of

from deadbeat.machine.settings.check import all_checks
from deadbeat.machine.settings.facts import gather
from deadbeat.machine.settings.knob import all_knobs
from deadbeat.machine.settings.profile import turns
from deadbeat.machine.settings.rows import row_of, rows
from deadbeat.machine.settings.tuning_plan import plan
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.tasksets.catalog import load_catalog
from deadbeat.tasksets.model.tasks import Entry, Kind

ROOT = Path(__file__).resolve().parents[2]
SECTION = "## Add a fragment in ten minutes"


def section() -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    start = text.index(SECTION)
    following = text.find("\n## ", start + 1)
    return text[start : following if following > 0 else len(text)]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", section(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The example in a pool folder of its own, under the name the page gives it."""
    found = re.search(r"Save this as `fragments/(ns/\w+\.c)`", section())
    path = tmp_path / found[1]
    path.parent.mkdir()
    path.write_text(blocks("c")[0], encoding="utf-8")
    return path


def try_fragment(path: Path) -> subprocess.CompletedProcess[str]:
    tool: list[str | Path] = [
        sys.executable,
        ROOT / "tools/try_fragment.py",
        path.stem,
        path.parents[1],
    ]
    return subprocess.run(tool, capture_output=True, text=True, check=False)


def substitution() -> tuple[str, str]:
    """The mistake of step 3, as the page's own sed command makes it."""
    found = re.search(r"sed -i 's/(.+?)/(.+?)/' ", section())
    return found[1], found[2]


def test_catalog_reads_the_example(example: Path) -> None:
    catalog = load_catalog(example.parents[1])
    fragment = catalog.fragment("isqrt")
    assert fragment.kind is Kind.NS
    assert catalog.entries("quick") == (Entry("isqrt", 4),)
    assert len(catalog.entries()) == len(fragment.sizes) == 5


def test_example_passes_all_trials(example: Path) -> None:
    done = try_fragment(example)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all trials passed\n")
    assert done.stdout.count("refused: 0 is not the root of") == 5


def test_mistake_passes_until_the_known_answer_is_checked(example: Path) -> None:
    right, wrong = substitution()
    source = example.read_text(encoding="utf-8")
    assert source.count(right) == 1
    example.write_text(source.replace(right, wrong), encoding="utf-8")
    assert try_fragment(example).returncode == 0

    beginning = "    const struct isqrt *state = context->memory;\n    for"
    assert source.count(beginning) == 1
    with_known_answer = source.replace(beginning, blocks("c")[1] + beginning)
    example.write_text(with_known_answer.replace(right, wrong), encoding="utf-8")
    done = try_fragment(example)
    assert done.returncode == 1
    assert "WRONG: the root of 49 or of 2^64 - 1 is wrong" in done.stdout

    example.write_text(with_known_answer, encoding="utf-8")
    assert try_fragment(example).returncode == 0


def test_example_that_breaks_the_front_matter_is_refused(example: Path) -> None:
    source = example.read_text(encoding="utf-8")
    example.write_text(source.replace('kind = "NS"', 'kind = "NX"'), encoding="utf-8")
    done = try_fragment(example)
    assert done.returncode == 3
    assert "ns/isqrt.c:3: kind" in done.stderr


def test_example_has_the_project_layout(example: Path) -> None:
    formatter = Path(sys.executable).with_name("clang-format")
    style = f"--style=file:{ROOT / '.clang-format'}"
    argv: list[str | Path] = [formatter, style, "--dry-run", "-Werror", example]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_files_that_the_page_names_exist() -> None:
    named = set(re.findall(r"\b(?:tests|tools|docs|runtime|fragments)/[\w/.]+\w", section()))
    named -= {"fragments/ns/NAME.c", "fragments/sy/NAME.c", "fragments/ns/isqrt.c"}
    assert len(named) >= 4
    missing = sorted(name for name in named if not (ROOT / name).exists())
    assert missing == []


PAGE = Path(__file__).parents[2] / "docs/howto/add-a-check.md"


def block(language: str) -> str:
    text = PAGE.read_text(encoding="utf-8")
    (found,) = re.findall(rf"^ *```{language}\n(.*?)^ *```", text, re.M | re.S)
    return textwrap.dedent(found)


def test_the_row_of_the_page_is_a_check_and_a_knob(monkeypatch: pytest.MonkeyPatch) -> None:
    row = row_of("memory.laptop-mode", tomllib.loads(block("toml"))["laptop-mode"])
    assert row.source.startswith("Linux Documentation/admin-guide/sysctl/vm.rst")
    monkeypatch.setattr("deadbeat.machine.settings.check.rows", lambda: {**rows(), row.id: row})
    monkeypatch.setattr("deadbeat.machine.settings.knob.rows", lambda: {**rows(), row.id: row})
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
