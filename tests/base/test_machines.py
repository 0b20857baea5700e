"""Truth: docs/howto/use-in-ci.md; OpenMetrics as the Prometheus client reads them."""

import csv
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.answers import Capture
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import deadbeat
from deadbeat.base.report.document import keys_of
from deadbeat.base.report.machines import Verdicted, annotated, junit, openmetrics
from deadbeat.cli.main import main
from deadbeat.latencies.latency.summarise import LATENCY_COLUMNS as LATENCY
from deadbeat.latencies.load.document import COLUMNS as LOAD_TEST
from deadbeat.latencies.primitives.document import COLUMNS as PRIMITIVES
from deadbeat.program.run.document import COLUMNS as PROGRAM
from deadbeat.sched.study.results import COLUMNS as STUDY
from deadbeat.tasksets.breakdown.document import columns as columns_of
from deadbeat.tasksets.breakdown.results import CellResult
from deadbeat.tasksets.interfere.document import COLUMNS as INTERFERE
from deadbeat.tasksets.model.figures import STRESS_COLUMNS, SUMMARY_COLUMNS

HOWTO = Path(__file__).parents[2] / "docs/howto/use-in-ci.md"
LOAD = (
    *("load", "--simulated", "--no-figures"),
    *("--set", "normal=0,4", "--repeats", "1", "--duration", "0.5"),
)
MADE = {
    "latency": "latency --simulated --no-figures --loads idle --duration 0.2s",
    "load": " ".join(LOAD),
    "profile": "contention --quick --simulated --no-figures --sets 1",
    "stress": "contention --random --quick --simulated --no-figures --sets 3",
    "breakdown": "breakdown --quick --simulated --no-figures --sets 1",
    "study": "sched study --processors 2 --tasks 4,6 --utilisation 0.6 --policy g-edf,p-edf"
    " --sets 3 --no-figures",
}


pytestmark = pytest.mark.usefixtures("in_a_folder")


def counts(path: Path) -> dict[str, int]:
    """What a JUnit file says of itself, which must be what it holds."""
    (suite,) = ElementTree.parse(path).getroot().findall("testsuite")
    tags = {"tests": "testcase", "failures": "failure", "skipped": "skipped"}
    found = {name: len(suite.findall(f".//{tag}")) for name, tag in tags.items()}
    assert {name: int(suite.attrib[name]) for name in found} == found
    return found


@pytest.mark.parametrize("kind", MADE)
def test_the_figures_of_every_kind_are_open_metrics(kind: str, capsys: Capture) -> None:
    assert main((*MADE[kind].split(), "--name", "tiny")) == 0
    capsys.readouterr()
    assert main(("export", "tiny", "--as", "openmetrics")) == 0
    families = list(text_string_to_metric_families(capsys.readouterr().out))
    samples = [sample for family in families for sample in family.samples]
    assert {sample.labels["run"] for sample in samples} == {"tiny"}
    assert {sample.labels["simulated"] for sample in samples} == {"true"}
    assert main(("export", "tiny", "--as", "csv", "--out", "tables")) == 0
    for file in Path("tables").iterdir():
        lines = [*csv.DictReader(file.read_text().splitlines())]
        assert lines and {line["label"] for line in lines} == {"SIMULATED"}, file
    rows = deadbeat.open("runs/tiny").rows
    assert max(len(family.samples) for family in families) == len(rows), "a sample for each row"


def test_times_are_seconds_and_names_and_labels_are_escaped() -> None:
    evil = 'a"b\\\n'
    rows = [{"load": evil, "p99.9_ns": 1_500_000, "left": None, "nan": float("nan")}]
    (family,) = text_string_to_metric_families(openmetrics("latency", rows, ("load",), {}))
    (sample,) = family.samples
    assert (family.name, family.unit) == ("deadbeat_latency_p99_9_seconds", "seconds")
    assert sample.labels == {"load": evil} and sample.value == 0.0015


COLUMNS = (INTERFERE, LATENCY, LOAD_TEST, PRIMITIVES, PROGRAM, STUDY)
#: What a word of a column's name would mean as a unit.
WORDS = {
    *("ns", "us", "ms", "ps", "s", "sec", "seconds", "minutes", "hours", "days"),
    *("bytes", "kb", "mb", "mib", "khz", "mhz", "hz", "ppm", "percent"),
}


def every_key() -> Iterator[str]:
    for columns in COLUMNS:
        yield from keys_of(columns)
    yield from (*SUMMARY_COLUMNS, *STRESS_COLUMNS, *columns_of(CellResult))


@pytest.mark.parametrize("key", sorted({*every_key()}))
def test_the_unit_of_every_column_is_a_base_unit_and_ends_its_name(key: str) -> None:
    """first-use.md, row 12: bytes per ns were exported as 10^-9 "per_seconds"."""
    (family,) = text_string_to_metric_families(openmetrics("x", [{key: 3}], (), {}))
    factors = {"ns": 1e-9, "hours": 3600.0}
    words = re.sub("bytes_per_ns|per_s(?=_|$)", "", key).split("_")
    units = [word for word in words if word in WORDS]
    factor = 1e9 if "bytes_per_ns" in key else factors.get("".join(units), 1.0)
    assert family.samples[0].value == pytest.approx(3 * factor)
    assert not {*family.name.split("_")} & WORDS - {"seconds", "bytes", "percent"}
    assert bool(family.unit) == bool(units or re.search("per_n?s(_|$)", key))


def test_bytes_per_nanosecond_are_bytes_per_second() -> None:
    (family,) = text_string_to_metric_families(openmetrics("x", [{"bytes_per_ns": 0.0873}], (), {}))
    assert (family.name, family.unit) == ("deadbeat_x_bytes_per_second", "bytes_per_second")
    assert family.samples[0].value == 8.73e7


def test_what_xml_cannot_hold_is_replaced(tmp_path: Path) -> None:
    case = Verdicted(name="a\x1b[31m<b>", verdict="failed", message="\x00 & ]]>")
    (tmp_path / "j.xml").write_text(junit("s", [case], {"p": "\x07"}), encoding="utf-8")
    assert counts(tmp_path / "j.xml") == {"tests": 1, "failures": 1, "skipped": 0}


def test_an_annotation_is_one_line_whatever_it_says() -> None:
    cases = [
        Verdicted(name="a,b:c", verdict="failed", message="50 % worse\n::error::injected"),
        Verdicted(name="fine", verdict="passed"),
    ]
    (line,) = annotated(cases)
    assert line == "::error title=deadbeat%3A a%2Cb%3Ac::50 %25 worse%0A::error::injected"


def test_the_doctor_fails_what_is_as_grave_as_asked_for(tmp_path: Path, capsys: Capture) -> None:
    words = ("doctor", "--only", "kernel", "--junit", "d.xml")
    status = main((*words, "--fail-on", "info"))
    every = counts(tmp_path / "d.xml")
    capsys.readouterr()
    assert (status == 1) == (every["failures"] > 0)
    fatal = main((*words, "--fail-on", "fatal", "--annotations"))
    few = counts(tmp_path / "d.xml")
    assert few["failures"] <= every["failures"] and (fatal == 1) == (few["failures"] > 0)
    assert capsys.readouterr().err.count("::error ") == few["failures"]
    assert main(("doctor", "--only", "kernel", "--openmetrics")) == 0
    (family,) = text_string_to_metric_families(capsys.readouterr().out)
    assert family.name == "deadbeat_check_failed"


def test_measuring_verbs_and_compare_write_their_cases(tmp_path: Path) -> None:
    assert main((*LOAD, "--name", "a", "--fail-on", "misses", "--junit", "l.xml")) == 1
    found = counts(tmp_path / "l.xml")
    assert found["failures"] >= 2 and found["tests"] > found["failures"]
    text = (tmp_path / "l.xml").read_text(encoding="utf-8")
    assert re.search(r"\d+ of \d+ rounds missed, allowed: 0; longest [\d.]+ ms, deadline", text)
    latency = ("latency", "--simulated", "--quick", "--no-figures", "--limits", "1us,1s")
    assert main((*latency, "--fail-on", "misses", "--junit", "y.xml")) == 1
    bad = ElementTree.parse(tmp_path / "y.xml").findall(".//testcase[failure]")
    assert bad[0].attrib["name"] == "no-misses"
    assert all(" 1 µs" in case.attrib["name"] for case in bad[1:]) and len(bad) > 1
    message = bad[1].find("failure")
    assert message is not None and "allowed 1.0 µs" in message.attrib["message"]
    assert main((*latency, "--fresh", "--junit", "y.xml")) == 0
    assert counts(tmp_path / "y.xml")["failures"] == 0
    assert main((*LOAD, "--name", "b")) == 0
    assert main(("compare", "a", "b", "--no-figures", "--junit", "c.xml")) == 0
    assert counts(tmp_path / "c.xml")["tests"] >= 3


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        (
            "load --set normal=4 --repeats 1 --remedies none",
            1,
            r"misses: \d+ of \d+ rounds missed, .*",
        ),
        ("latency --quick --limits 1us", 1, r"misses: latest wake-up .* \(.* CPU 0 1 µs\), and .*"),
        ("latency --quick --limits 1s", 0, ""),
        (
            "run --deadline 300us -- made-up",
            1,
            r"misses: \d+ of 2,000 jobs, allowed: 0 \(made up\)",
        ),
        ("interfere --quick", 1, r"slowed: [\d.]+ times as long \(.*\), allowed: .* beside .*"),
        ("primitives --repeats 1 --tests event", 0, ""),
    ],
)
def test_a_status_of_1_has_its_reason(words: str, status: int, reason: str, capsys: Capture):
    verb, *more = words.split()
    word = {"interfere": "slowed", "primitives": "invalid"}.get(verb, "misses")
    asked = ("--simulated", "--no-figures", "--fail-on", word)
    assert main((verb, *asked, *more)) == status
    said = [line for line in capsys.readouterr().err.splitlines() if "--fail-on" in line]
    assert len(said) == status
    assert re.fullmatch(f"deadbeat: --fail-on {reason}", said[0]) if status else not reason


def test_the_reason_is_the_worst_and_quiet_leaves_annotations_alone(capsys: Capture) -> None:
    words = ("latency", "--simulated", "--quick", "--no-figures", "--limits", "1us")
    asked = ("--fail-on", "misses", "--annotations")
    assert main((*words, *asked)) == 1
    said = capsys.readouterr().err.splitlines()
    late = [float(x) for line in said for x in re.findall(r"^::error .*wake-up ([\d.]+) µs", line)]
    (why,) = [line for line in said if "--fail-on" in line]
    assert f"latest wake-up {max(late)} µs" in why and f"and {len(late) - 1} more" in why
    assert main(("-q", *words, "--fresh", *asked)) == 1
    quiet = capsys.readouterr().err.splitlines()
    assert len(quiet) == len(late) + 2 and all(
        line.startswith(("::error ", "deadbeat: --fail-on misses: ")) for line in quiet
    )


def typed(line: str) -> list[str]:
    """The words of a line of the guide, with a made-up machine to measure."""
    words = [str(Path(word).expanduser()) for word in shlex.split(line.partition(" > ")[0])]
    return [*words, "--simulated"] if words[0] in ("latency", "run") else words


def test_the_workflow_of_the_guide_runs_again_and_again(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(Path.cwd()))
    text = HOWTO.read_text(encoding="utf-8")
    once, *job = map(typed, re.findall(r"^\s+(?:- run: )?deadbeat (.+)$", text, re.M))
    table = text[text.index("    [program]") : text.index("`--junit FILE`")]
    Path("deadbeat.toml").write_text(table.replace('"control"', '"made up"').replace("    ", ""))
    assert main(once) == 0 and len(job) == 8
    began = []
    for _ in range(2):
        for words in job:
            # This machine may fail the check of the first line; the others are of a made-up one.
            assert main(words) in ((0, 1) if words[0] == "doctor" else (0,)), words
        statement = json.loads(Path("evidence/statement.json").read_text())
        assert statement["predicate"]["passedTests"] == ["R-17"]
        began.append(Path("results/candidate/latency.json").stat().st_mtime_ns)
        assert {path.name for path in Path("results").iterdir()} >= {"baseline", "candidate"}
        assert not list(Path("results").glob("candidate-*"))
    assert began[0] != began[1], "the second job compared what the first measured"


def test_quiet_says_why_it_fails(capsys: Capture) -> None:
    words = ("latency", "--simulated", "--quick", "--no-figures", "--limits", "1us")
    assert main(("-q", *words, "--fail-on", "misses")) == 1
    out, err = capsys.readouterr()
    (why,) = err.splitlines()
    assert why.startswith("deadbeat: --fail-on misses: ") and "allowed" in why
    assert re.search(r"^Later than 1 µs: (up to )?[1-9][\d,]* of 18,000 wake-ups\.$", out, re.M)
