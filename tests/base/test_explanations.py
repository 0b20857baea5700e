"""Truth: the findings the code can raise; each must lead to a text, and no text is for nothing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from deadbeat.base.model.finding import SEVERITIES, explanations, finding
from deadbeat.base.model.words import LABELLED
from deadbeat.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
#: Kinds of platform are findings too: they are not written as literals.
KINDS = {*LABELLED}


def raised() -> set[str]:
    """Identifiers in calls of Finding(...), as written; of an f-string what precedes its value."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    made = r"\b(?:Finding\(\s*id=|finding\(\s*|problem\(|not_counted\()"
    written = rf'(?:{made}|@(?:machine|results)\(\s*)"([a-z0-9-]*)'
    calls = [re.findall(written, text) for text in texts]
    return {name for found in calls for name in found} | KINDS


def test_every_finding_has_its_paragraph() -> None:
    assert len(raised()) > 20
    missing = sorted(name for name in raised() if name not in explanations())
    assert missing == [], "write what it does to the numbers in src/deadbeat/base/findings"


def test_no_paragraph_is_for_nothing() -> None:
    assert sorted(explanations().keys() - raised()) == []
    assert all(e.title and e.wrong and e.check for e in explanations().values())


def test_severity_and_cure_are_those_of_the_page() -> None:
    found = finding("latency-short", "a minute")
    assert (found.severity, found.message) == ("info", "a minute")
    assert found.cure.startswith("see what is shown")
    assert "severity" not in explanations()["latency-short"].wrong
    other = finding("latency-short", "a minute", severity="warning", cure="", where="x")
    assert (other.severity, other.cure, other.where) == ("warning", "", "x")
    assert {each.severity for each in explanations().values()} <= {*SEVERITIES}


def test_what_is_no_finding_has_no_paragraph() -> None:
    assert "no-such-finding" not in explanations()


def test_explain_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "steal"]) == 0
    assert "hypervisor" in capsys.readouterr().out
    assert main(["list", "findings"]) == 0
    listed = capsys.readouterr().out
    assert [name for name in explanations() if name not in listed] == []


def test_the_generated_pages_are_those_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools/docs.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_explanations_are_in_plain_words() -> None:
    """Words that a native reader stumbled over do not come back."""
    stumbling = re.compile(
        r"\bbeside\b|\btells\b|\btold of\b|so many\b|counts? nowhere|surely|lacking|set beside"
    )
    found = [
        (each.id, match[0])
        for each in explanations().values()
        for text in (each.title, each.wrong, each.check)
        for match in stumbling.finditer(text)
    ]
    assert found == []
