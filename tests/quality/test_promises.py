"""What a how-to promises about deadbeat's own code: its blocks, applied word for word to a copy."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_COPIED = (
    *("src", "docs", "tools", "tests", "fragments", "bench", "examples", "runtime"),
    *("pyproject.toml", "CHANGELOG.md"),
)
#: An editable installation finds its own sources before any path.
_OWN_SOURCES = """import sys
sys.meta_path[:] = [each for each in sys.meta_path if "Redirecting" not in type(each).__name__]
"""
_BLOCK = re.compile(r"^( *)```diff\n(.*?)^ *```$", re.M | re.S)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in _COPIED:
        place = ROOT / name
        if place.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.so")
            shutil.copytree(place, tmp_path / name, ignore=ignored)
        else:
            shutil.copy(place, tmp_path / name)
    (tmp_path / "sitecustomize.py").write_text(_OWN_SOURCES)
    core = Path(str(import_module("deadbeat.sched._core").__file__))
    shutil.copy(core, tmp_path / "src/deadbeat/sched" / core.name)
    return tmp_path


def blocks(page: str) -> list[tuple[str, str, str]]:
    """File, text before and text after of every block of a page."""
    found = []
    for indent, block in _BLOCK.findall((ROOT / "docs/howto" / page).read_text()):
        head, *lines = [line.removeprefix(indent) for line in block.splitlines()]
        before = "\n".join(line[1:] for line in lines if line[:1] in " -")
        after = "\n".join(line[1:] for line in lines if line[:1] in " +")
        found.append((head.removeprefix("--- "), before, after))
    return found


def apply(tree: Path, page: str) -> list[str]:
    """The files that the page changes."""
    for name, before, after in blocks(page):
        text = (tree / name).read_text()
        assert text.count(before) == 1, (name, before)
        (tree / name).write_text(text.replace(before, after))
    return [name for name, *_ in blocks(page)]


def files_of(page: str) -> dict[str, str]:
    """Files whose whole text a page has, by their paths."""
    text = (ROOT / "docs/howto" / page).read_text()
    return dict(re.findall(r"^`(\S+)`:\n\n```python\n(.*?)^```$", text, re.M | re.S))


def run(tree: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=tree, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{tree}:{tree / 'src'}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def pytest_in(tree: Path, chosen: str, tests: Sequence[str]) -> None:
    quick = ("-q", "-p", "no:cacheprovider", "-m", "not slow", "-k", chosen)
    run(tree, "-m", "pytest", *quick, *tests)


def test_blocks_of_a_page_fit_the_sources() -> None:
    found = blocks("add-a-metric.md")
    assert len(found) == 2
    for name, before, after in found:
        assert (ROOT / name).read_text().count(before) == 1 and after != before
    ((name, text),) = files_of("add-an-importer.md").items()
    assert not (ROOT / name).exists() and "IMPORTER = " in text


_CAMPAIGN = (
    *("-m", "deadbeat", "contention", "--quick", "--simulated", "--sets", "2", "--duration", "0.1"),
    *("--sync-share", "0,1", "--contended-ratio", "0,1", "--no-figures"),
)


@pytest.mark.slow
def test_a_metric_is_two_files(tree: Path) -> None:
    changed = apply(tree, "add-a-metric.md")
    assert len(changed) == len(set(changed)) == 2
    run(tree, "tools/docs.py")
    assert "skipped_ratio_ci_low" in (tree / "docs/reference/campaign.md").read_text()
    for name in ("a", "b"):
        run(tree, *_CAMPAIGN, "--name", name)
    folder = tree / "runs" / "a"
    assert ",skipped_ratio," in (folder / "sets.csv").read_text()
    columns = "skipped_ratio,skipped_ratio_ci_low,skipped_ratio_ci_high"
    assert columns in (folder / "summary.csv").read_text()
    assert '"skipped_ratio": 0' in run(tree, "-m", "deadbeat", "show", "a", "--json")
    run(tree, "-m", "deadbeat", "page", "a", "--no-figures")
    assert "skipped %" in (folder / "report.html").read_text()
    answer = run(tree, "-m", "deadbeat", "compare", "a", "b", "--metric", "skipped_ratio", "--json")
    assert '"skipped_ratio"' in answer
    # Comparisons and pages change: one more metric shares their error, and has columns.
    pytest_in(tree, "(profile or stress) and not (compare or report) or not golden", _OF_CAMPAIGNS)


_OF_CAMPAIGNS = (
    *("tests/yard/test_reference_pages.py", "tests/tasksets/test_summarise.py"),
    *("tests/tasksets/test_report_page.py", "tests/tasksets/test_report_grids.py"),
    *("tests/tasksets/test_report_headline.py", "tests/tasksets/test_stress_summary.py"),
    *("tests/tasksets/test_metrics.py", "tests/golden/test_golden_answers.py"),
)


@pytest.mark.slow
def test_an_importer_is_one_file(tree: Path) -> None:
    ((name, text),) = files_of("add-an-importer.md").items()
    (tree / name).write_text(text)
    for name, end in (("w", "9=2"), ("v", "40=2")):
        (tree / f"{name}.txt").write_text(f"waker, times in us\ncpu 0: 3=970 4=28 {end}\n")
        words = ("--name", name, "--interval", "1ms", "--priority", "80", "--no-figures")
        run(tree, "-m", "deadbeat", "import", f"{name}.txt", *words)
    assert "Worst wake-up: 9 µs late" in run(tree, "-m", "deadbeat", "show", "w")
    assert "v against w" in run(tree, "-m", "deadbeat", "compare", "w", "v")
    tests = ("tests/latencies/test_latency_import.py", "tests/latencies/test_foreign_files.py")
    pytest_in(tree, "", tests)


_OF_SETTINGS = (
    *("tests/machine/test_checks_all.py", "tests/machine/test_checks_hardening.py"),
    *("tests/machine/test_checks_memory.py", "tests/machine/test_doctor.py"),
    *(
        "tests/machine/test_knobs.py",
        "tests/machine/test_knobs_cure.py",
        "tests/machine/test_inventory.py",
    ),
    *("tests/yard/test_reference_pages.py", "tests/golden/test_golden_answers.py"),
)


@pytest.mark.slow
def test_a_setting_is_a_row(tree: Path) -> None:
    page = (ROOT / "docs/howto/add-a-check.md").read_text()
    (row,) = re.findall(r"^```toml\n(.*?)^```$", page, re.M | re.S)
    with (tree / "src/deadbeat/machine/settings/checks/memory.toml").open("a") as file:
        file.write(f"\n{row}")
    for tool in ("tools/reads.py", "tools/docs.py"):
        run(tree, tool)
    assert "memory.laptop-mode" in (tree / "docs/reference/checks.md").read_text()
    assert "memory.laptop-mode" in run(tree, "-m", "deadbeat", "doctor", "--json")
    assert "laptop-mode" in run(tree, "-m", "deadbeat", "list", "knobs", "--json")
    # As nobody it would read the sources that are installed, which are others.
    chosen = "(doctor or tune or explain or not golden) and not an_ordinary_user"
    pytest_in(tree, chosen, _OF_SETTINGS)


#: Kind -> where its metrics stand, what a new one is of a run, and the command of `helpers.kinds`.
_FIGURES = {
    "contention": ("tasksets/contention/observe.py", "lambda seen: seen.jobs", "profile"),
    "breakdown": ("tasksets/breakdown/observe.py", "lambda seen: seen.jobs", "breakdown"),
    "latency": ("latencies/latency/observe.py", "lambda seen: seen.latencies.total", "latency"),
    "load": ("latencies/load/figures.py", "lambda seen: seen.count.released", "load"),
    "program": ("program/run/observe.py", "lambda seen: seen.jobs", "run"),
    "interfere": ("tasksets/interfere/kind.py", "lambda seen: 2 * seen.value", "interfere"),
    "primitives": (
        "latencies/primitives/observe.py",
        "lambda seen: seen.times.total",
        "primitives",
    ),
    "study": ("sched/study/observe.py", "lambda seen: seen.inside.size", "study"),
}


@pytest.mark.slow
def test_a_figure_in_any_kind_is_a_row(tree: Path) -> None:
    for name, of, _ in _FIGURES.values():
        path = tree / "src/deadbeat" / name
        row = f'Metric(name="new", title="A new one", minimum=0.1, column="new one", of={of})'
        text, many = re.subn(
            r"^METRICS = (.*?^\))$",
            rf"METRICS = (\1 + ({row},))",
            path.read_text(),
            flags=re.M | re.S,
        )
        assert many == 1, name
        path.write_text(text)
    script = (
        "from helpers.kinds import KINDS, MORE_KINDS; from deadbeat.cli.main import main;"
        "words = KINDS[sys.argv[1]][0] if sys.argv[1] in KINDS else MORE_KINDS[sys.argv[1]];"
        "sys.exit(main((*words, '--name', sys.argv[2])))"
    )
    for kind, (_, _, command) in _FIGURES.items():
        for name in (kind, f"{kind}-b"):
            run(tree, "-c", f"import sys; sys.path.insert(0, 'tests'); {script}", command, name)
        folder = tree / "runs" / kind
        figures = json.loads(run(tree, "-m", "deadbeat", "show", kind, "--json"))
        (first, *_) = figures["results"]["figures"]
        assert first["new"] > 0, kind
        assert ",new,new_low,new_high" in (folder / "figures.csv").read_text().splitlines()[0]
        assert "new one" in (folder / "report.html").read_text(), kind
        assert "new one" in run(tree, "-m", "deadbeat", "show", kind), kind
        words = ("compare", kind, f"{kind}-b", "--metric", "new", "--json", "--no-figures")
        assert '"new"' in run(tree, "-m", "deadbeat", *words)
