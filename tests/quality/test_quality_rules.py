"""Every rule of tests/quality on a text that breaks it, and on the nearest one that does not."""

import pytest
import quality_rules as rules

EXECUTOR = "src/deadbeat/tasksets/executors/x.py"
HOME = "/ho" + "me/someone/x"
REGISTRY = "https://py" + "pi.org/simple"


@pytest.mark.parametrize(
    "back",
    [
        "from deadbeat.cli import a",
        "from . import a",
        "from .a import name",
        "def f():\n    from deadbeat.cli.a import name",
        "if TYPE_CHECKING:\n    import deadbeat.cli.a",
        "import_module('deadbeat.cli.a')",
        "import_module(f'{__package__}.a').name",
    ],
)
def test_a_cycle_is_found(back):
    there = {"src/deadbeat/cli/a.py": "from deadbeat.cli.b import c"}
    assert len(rules.cycle({**there, "src/deadbeat/cli/b.py": back})) == 3
    assert rules.cycle({**there, "src/deadbeat/cli/b.py": "from deadbeat.cli import b, c"}) == []


@pytest.mark.parametrize(
    ("path", "source", "count"),
    [
        ("src/deadbeat_papers/x.py", "from deadbeat.base.model.errors import UsageError", 1),
        ("src/deadbeat_papers/x.py", "from deadbeat import UsageError", 0),
        (EXECUTOR, "from deadbeat_papers import thesis", 1),
        ("src/deadbeat/cli/x.py", "import_module('deadbeat_papers.thesis')", 1),
    ],
)
def test_publications_stand_outside(path, source, count):
    assert len(rules.publication_violations(path, source)) == count


#: Rule -> where it holds, where it does not, what breaks it, and what resembles that.
TEXTS = {
    rules.print_violations: (
        EXECUTOR,
        ("src/deadbeat/cli/profile.py", "src/deadbeat/build/__main__.py"),
        ("print('x')", "import sys\nsys.exit(1)", "raise SystemExit", "raise SystemExit(2)",
         "exit()"),
        ("'print(x)'\nfingerprint(1)\n# exit()",),
    ),
    rules.process_violations: (
        EXECUTOR,
        ("src/deadbeat/machine/targets/local.py", "src/deadbeat/build/native.py"),
        (
            "import subprocess", "from subprocess import run", "import multiprocessing.pool",
            "import os\nos.fork()", "import os\nos.execvp('x', [])",
            "import os\nstart = os.posix_spawn",
            "from concurrent.futures import ProcessPoolExecutor",
        ),
        ("import os\nos.getpid()\nfrom concurrent.futures import ThreadPoolExecutor",),
    ),
    rules.write_violations: (
        EXECUTOR,
        tuple(f"src/deadbeat/{package}/x.py" for package in ("base/store", "build", "base/report")),
        (
            "open(path, 'w')", "open(path, mode='ab')", "path.open('x')", "path.open(mode='r+')",
            "gzip.open(path, 'wb')", "path.write_text('x')", "path.write_bytes(b'')",
            "os.open(path, os.O_CREAT | os.O_WRONLY)", "figure.savefig(path)",
        ),
        (
            "open(path)", "open(path, 'rb')", "path.open()", "executor.open(requests, settings)",
            "os.open(path, os.O_RDONLY)", "os.open(os.devnull, os.O_WRONLY)",
            "session.open('water')",
        ),
    ),
    rules.home_violations: (
        "docs/x.md",
        (),
        (HOME, f"fine\nsee {HOME}\n", "/ro" + "ot/x", "cd '/wo" + "rk/x'"),
        ("the home/ folder", "teamwork/x", "src/home/x", "~/x", "at root / x"),
    ),
    rules.registry_violations: (
        "requirements.lock", (), (REGISTRY, "--index" + "-url x"), ("attrs==26.1.0",),
    ),
    rules.os_conditional_violations: (
        "runtime/src/x.c",
        ("runtime/port/linux/x.c",),
        ("#ifdef __linux__", "# if defined(_WIN32)", "  #ifndef __APPLE__",
         "#elif defined __linux__"),
        ("#ifndef DEADBEAT_LINUX_H\n#ifdef __x86_64__\n#include <linux/futex.h>\n// #if linux?",),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, (_, _, broken, _) in TEXTS.items() for text in broken]
)
def test_what_breaks_a_rule_is_found_where_it_holds(rule, text):
    path, elsewhere, _, _ = TEXTS[rule]
    assert len(rule(path, f"\n{text}\n")) == 1
    assert [rule(other, text) for other in elsewhere] == [[]] * len(elsewhere)


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, (_, _, _, fine) in TEXTS.items() for text in fine]
)
def test_what_resembles_it_is_fine(rule, text):
    assert rule(TEXTS[rule][0], text) == []


def test_an_undeclared_import_is_found():
    source = "import os\nimport numpy.typing\nfrom scipy import stats\nimport deadbeat.base.model"
    found = rules.dependency_violations(EXECUTOR, source, ["numpy"])
    assert found == [f"{EXECUTOR}:3: scipy is not a declared dependency"]


MAKEFILE = "X := 1\nrun: setup ## go\n\ttrue\ntest:\n\ttrue\nsetup:\n"


def test_readme_commands():
    assert rules.make_targets(MAKEFILE) == {"run", "test", "setup"}
    assert rules.readme_violations("`make run` `make test`", MAKEFILE) == []
    assert rules.readme_violations("`make run`", MAKEFILE) == ["README lacks `make test`"]
    assert rules.readme_violations("make run, make test, make fun", MAKEFILE) == [
        "README names `make fun`, no target"
    ]


def test_links():
    text = "[a](../README.md#x) [b](https://x.org) ![c](images/x.png) [d](#here) [e](y.md)"
    existing = {"README.md", "docs/images/x.png"}
    assert rules.link_violations("docs/x.md", text, existing) == [
        "docs/x.md: links to y.md, which is not there"
    ]


def test_headings_that_links_name():
    pages = {
        "a.md": "# A b: `c`\n[x](#a-b-c) [y](d/b.md#one) [z](d/b.md#two) [w](https://x.org#no)",
        "d/b.md": '## One\n```\n# two\n```\n<a id="three"></a> [u](../a.md#a) [v](#three)',
    }
    assert rules.anchor_violations(pages) == [
        "a.md: links to d/b.md#two, which has no such heading",
        "d/b.md: links to ../a.md#a, which has no such heading",
    ]


def test_a_page_that_no_index_lists_is_found():
    pages = {
        "docs/README.md": "[h](howto/README.md)",
        "docs/howto/README.md": "[a](a.md)",
        "docs/howto/a.md": "",
        "docs/howto/b.md": "",
        "CHANGELOG.md": "",
    }
    assert rules.unlisted_pages(pages) == ["docs/howto/README.md does not list docs/howto/b.md"]


def test_changelog_and_licence():
    assert rules.changelog_violations("# Changelog\n\n## [Unreleased]\n") == []
    assert rules.changelog_violations("# Changelog\n\n## [1.0.0]\n") != []
    for count, found in ((25, 0), (26, 1)):
        line = f"\n## [Unreleased]\n\n- {'word ' * (count - 1)}\n  [end](a/long-path.md) –\n"
        assert len(rules.changelog_violations(line)) == found
    licence = "Apache License\nVersion 2.0\nEND OF TERMS"
    assert rules.licence_violations(licence, '[project]\nlicense = "Apache-2.0"') == []
    assert rules.licence_violations(licence, '[project]\nlicense = "MIT"') != []
    assert rules.licence_violations("Apache License", '[project]\nlicense = "Apache-2.0"') != []


def test_a_record_of_a_decision_is_short():
    for count, found in ((120, 0), (121, 1)):
        text = f"# 0001 A title\n\nDate: 2026-11-21.\n\n{'word ' * count}"
        assert len(rules.decision_violations("x", text)) == found


PYPROJECT = """
[build-system]
requires = ["hatchling==1.0"]
[project]
dependencies = ["attrs>=26.1,<27"]
[project.optional-dependencies]
dev = ["pytest>=9.2"]
"""
RUN_LOCK = "# x\nattrs==26.1\nhatchling==1.0\nother==1\n"
DEV_LOCK = RUN_LOCK + "pytest==9.2\n"
DECISION = "attrs hatchling pytest"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((PYPROJECT, RUN_LOCK, DEV_LOCK, DECISION), None),
        ((PYPROJECT.replace(">=26.1,<27", ""), RUN_LOCK, DEV_LOCK, DECISION), "any version"),
        ((PYPROJECT.replace("26.1,", "26.2,"), RUN_LOCK, DEV_LOCK, DECISION), ".lock: attrs"),
        ((PYPROJECT, "hatchling==1.0", DEV_LOCK, DECISION), "requirements.lock: attrs"),
        ((PYPROJECT, RUN_LOCK, RUN_LOCK, DECISION), "requirements-dev.lock: pytest"),
        ((PYPROJECT, RUN_LOCK, DEV_LOCK.replace("other==1", "other==2"), DECISION), "other"),
        ((PYPROJECT, RUN_LOCK, DEV_LOCK, "attrs hatchling"), "no reason for pytest"),
    ],
)
def test_locks(arguments, complaint):
    found = rules.lock_violations(*arguments)
    assert found == [] if complaint is None else complaint in " ".join(found)
