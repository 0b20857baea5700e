"""The rules of docs/explanation/architecture.md on this repository; each is also shown to bite."""

import re
import subprocess
import tomllib
from collections.abc import Callable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
import quality_rules as rules

ROOT = Path(__file__).resolve().parents[2]
#: One worker reads the sources once for all rules.
pytestmark = pytest.mark.xdist_group("quality")

#: Single places that may break a rule, and why. One that no longer does must go.
EXCEPTIONS = {
    ("process", "src/deadbeat/base/store/texts.py"): "zstd: Python before 3.14 cannot unpack it",
    (
        "write",
        "src/deadbeat/machine/targets/marks.py",
    ): "memory of a running program, no result",
    ("process", "src/deadbeat/sched/build.py"): "builds the core of a clone",
    ("write", "src/deadbeat/cli/importing.py"): "a pipe as a file, which goes",
    ("write", "src/deadbeat/tasksets/emit/tree.py"): "sources for another build system, no result",
    (
        "write",
        "src/deadbeat/machine/targets/fake.py",
    ): "get() copies a file to this host",
    (
        "write",
        "src/deadbeat/machine/targets/ssh.py",
    ): "get() copies a file to this host",
}

SOURCE_RULES: dict[str, Callable[[str, str], list[str]]] = {
    "print": rules.print_violations,
    "native": rules.native_violations,
    "process": rules.process_violations,
    "write": rules.write_violations,
}
TEXT_RULES: dict[str, Callable[[str, str], list[str]]] = {
    "home": rules.home_violations,
    "registry": rules.registry_violations,
    "os": rules.os_conditional_violations,
}


@cache
def tracked() -> dict[str, str]:
    """Path -> text of every file git knows; pictures and other binaries map to ""."""
    listing = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    texts = {}
    for name in listing.stdout.decode().split("\0"):
        path = ROOT / name
        if name and path.is_file():
            data = path.read_bytes()
            texts[name] = "" if b"\0" in data else data.decode("utf-8")
    return texts


#: What may lie in the root.
TOP = {
    *(".ci", ".clang-format", ".containerignore", ".gitignore", "CHANGELOG.md", "CMakeLists.txt"),
    *("CONTRIBUTING.md", "Containerfile", "LICENSE", "Makefile", "README.md", "bench", "core"),
    *("debian", "docs", "examples", "fragments", "jvm", "packages", "pyproject.toml"),
    *("requirements.lock", "requirements-bench.lock", "requirements-dev.lock", "runtime", "src"),
    *("tests", "tools"),
}


def sources() -> dict[str, str]:
    return {
        path: text
        for path, text in tracked().items()
        if path.startswith("src/deadbeat/") and path.endswith(".py")
    }


def markdown() -> dict[str, str]:
    return {path: text for path, text in tracked().items() if path.endswith(".md")}


@pytest.mark.parametrize("rule", SOURCE_RULES)
def test_sources_keep_the_rule(rule):
    assert len(sources()) > 20
    found = {path: SOURCE_RULES[rule](path, text) for path, text in sources().items()}
    allowed = {path for name, path in EXCEPTIONS if name == rule}
    assert [line for path, lines in found.items() if path not in allowed for line in lines] == []
    assert {path for path in allowed if not found[path]} == set(), "exceptions without a use"


def test_nothing_lies_in_the_root_that_does_not_belong_there():
    assert {path.partition("/")[0] for path in tracked()} == TOP


def test_no_modules_import_each_other():
    modules = ("src/*.py", "src/*/_core.pyi")
    python = {p: t for p, t in tracked().items() if any(fnmatch(p, each) for each in modules)}
    assert rules.cycle(python) == []


def test_publications_use_public_names_and_nothing_rests_on_them():
    both = {p: t for p, t in tracked().items() if p.startswith("src/") and p.endswith(".py")}
    assert any(path.startswith("src/deadbeat_papers/") for path in both)
    found = {path: rules.publication_violations(path, text) for path, text in both.items()}
    assert [line for lines in found.values() for line in lines] == []


@pytest.mark.parametrize("rule", TEXT_RULES)
def test_files_keep_the_rule(rule):
    found = [line for path, text in tracked().items() for line in TEXT_RULES[rule](path, text)]
    assert found == []


def test_imports_are_declared_dependencies():
    project = tomllib.loads(tracked()["pyproject.toml"])["project"]
    extras = project["optional-dependencies"]
    # pandas is offered where it is installed, see decision 0002.
    declared = [
        *rules.names_of(project["dependencies"]),
        *rules.names_of(extras["plots"]),
        "pandas",
    ]
    found = [
        line
        for path, text in sources().items()
        for line in rules.dependency_violations(path, text, declared)
    ]
    assert found == []


def test_readme_names_commands_that_exist():
    assert rules.readme_violations(tracked()["README.md"], tracked()["Makefile"]) == []


def test_links_lead_somewhere():
    existing = set(tracked())
    found = [
        line
        for path, text in markdown().items()
        for line in rules.link_violations(path, text, existing)
    ]
    assert found == []


def test_links_lead_to_headings():
    assert rules.anchor_violations(markdown()) == []


def test_every_page_is_listed():
    assert rules.unlisted_pages(markdown()) == []


def test_changelog_licence_and_locks():
    files = tracked()
    decision = files["docs/decisions/0002-dependencies.md"]
    assert rules.changelog_violations(files["CHANGELOG.md"]) == []
    records = [path for path in files if path.startswith("docs/decisions/0")]
    assert [line for path in records for line in rules.decision_violations(path, files[path])] == []
    assert rules.licence_violations(files["LICENSE"], files["pyproject.toml"]) == []
    assert (
        rules.lock_violations(
            files["pyproject.toml"],
            files["requirements.lock"],
            files["requirements-dev.lock"],
            decision,
        )
        == []
    )


def test_pages_that_messages_name_are_there():
    """A hint that sends somebody to a page that does not exist was found by a newcomer."""
    files = tracked()
    named = {
        (path, page)
        for path, text in files.items()
        if path.startswith(("src/", "runtime/", "tools/"))
        for page in re.findall(r"docs/[a-z0-9/-]+\.md", text)
    }
    assert named
    assert [(path, page) for path, page in named if page not in files] == []
