"""Truth: issue 14: someone else's results never run or inject anything, in whatever shows them."""

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.answers import Capture
from helpers.kinds import KINDS
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import deadbeat
from deadbeat.base.kinds.registry import find
from deadbeat.base.store.files import cell
from deadbeat.cli.main import main

#: Markup, an escape sequence, a change of direction, a quote, a formula.
EVIL = "=x\"'><img src=x onerror=hacked()></script><script>hacked()</script>\x1b[31m\u202e"
#: Texts of a head that a page, a table or a caption shows.
TEXTS = ("soc", "kernel", "platform", "processor", "toolchain", "flags", "hostname", "preemption")


def spoiled(value: object, key: str = "") -> object:
    """With every text under one of TEXTS replaced."""
    if isinstance(value, dict):
        return {name: spoiled(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [spoiled(each) for each in value]
    return EVIL if isinstance(value, str) and key in TEXTS else value


def safe(text: str) -> bool:
    return "\x1b" not in text and "\u202e" not in text


def harmless(page: str) -> bool:
    return safe(page) and "<img src=x" not in page and "<script>hacked" not in page


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("in_a_folder")
def test_nothing_that_shows_a_result_carries_anything_out(kind: str, capsys: Capture) -> None:
    assert main(KINDS[kind][0]) == 0
    name = EVIL.replace("/", "")
    folder = Path("runs/tiny").rename(Path("runs", name))
    for file in folder.glob("*.json"):
        plain = json.loads(file.read_text())
        file.write_text(json.dumps(spoiled(plain)))
    (folder / "beside.log").write_text(f"{EVIL}\n../../etc/passwd\n")
    (folder / "runs.txt").symlink_to("/etc/passwd")
    capsys.readouterr()
    words = (("list",), ("show", name), ("page", name, "--no-figures"), ("show", name, "--json"))
    for command in (*words, ("why", name), ("compare", name, name, "--no-figures")):
        main(command)
        out, err = capsys.readouterr()
        assert safe(out) or json.loads(out), command
        assert "\x1b" not in out.replace("\\u001b", "") or command[-1] == "--json", command
        assert safe(err), command
    for page in (*folder.glob("*.html"), *Path("runs").glob("*/*.html")):
        assert harmless(page.read_text(encoding="utf-8")), page
    for file in folder.glob("*.csv"):
        for row in csv.reader(io.StringIO(file.read_text(encoding="utf-8"))):
            assert not any(text.startswith(("=", "@", "\t")) for text in row), file
    path = find(Path("runs"), name)[1]
    assert harmless(deadbeat.open(path)._repr_html_())
    assert main(("export", name, "--as", "openmetrics")) == 0
    assert list(text_string_to_metric_families(capsys.readouterr().out))
    if kind in ("latency", "load"):
        main((*KINDS[kind][0], "--name", "other", "--junit", "j.xml"))
        assert ElementTree.parse("j.xml").getroot().tag == "testsuites"
    assert "root:" not in "".join(page.read_text() for page in folder.glob("*.html"))


@pytest.mark.parametrize(
    ("value", "text"),
    [("=1+1", "'=1+1"), ("@x", "'@x"), ("-x", "'-x"), ("+1+cmd", "'+1+cmd"), ("-1.5", "-1.5"),
     (-2, "-2"), ("idle", "idle"), (-0.5, "-0.5")],
)  # fmt: skip
def test_a_text_is_no_formula(value: object, text: str) -> None:
    assert cell(value) == text
