"""Truth: a document whose rows are known; each renderer shows them, and names stay text."""

import csv
import io
import re
from pathlib import Path

import pytest
from attrs import frozen
from helpers.answers import Capture
from helpers.pages import HOSTILE, Page

from deadbeat.base.model.finding import Finding, counts_text, ordered
from deadbeat.base.report.document import (
    Column,
    Document,
    FactList,
    Findings,
    Lines,
    Note,
    Remark,
    Remarks,
    Section,
    Sentence,
    Subsection,
    Table,
    csv_of,
    records,
    said,
    texts_table,
)
from deadbeat.base.report.html import page
from deadbeat.base.report.terminal import print_document, print_findings
from deadbeat.cli.main import main


@frozen
class Interval:
    value: float
    low: float
    high: float


ROWS = ({"name": "a", "rate": Interval(1.5, 1.0, 2.0), "seed": 7}, {"name": HOSTILE, "rate": None,
        "seed": 8})  # fmt: skip
COLUMNS = (
    Column(key="name", heading="name"),
    Column(
        key="rate",
        heading="rate",
        unit="1/s",
        format=lambda e: f"{e.value} [{e.low}, {e.high}]",
        terminal=lambda e: f"{e.value}",
        interval=True,
    ),
    Column(key="seed"),
    said("half", lambda row: row["seed"] / 2, terminal=False),
)


def table(**more: object) -> Table:
    return Table(name="t", columns=COLUMNS, rows=ROWS, terminal=True, **more)  # type: ignore[arg-type]


def document(*parts: object) -> Document:
    section = Section("answer", HOSTILE, parts)  # type: ignore[arg-type]
    return Document(title=HOSTILE, kind="load", sections=(section,), labels=(HOSTILE,),
                    noise=HOSTILE, about=HOSTILE, head=((HOSTILE, HOSTILE),), source=HOSTILE,
                    product=HOSTILE, data_files=HOSTILE)  # fmt: skip


EVERY = (
    Sentence(HOSTILE, answer=True, terminal=True),
    Note(HOSTILE),
    Lines([HOSTILE, [HOSTILE]], terminal=True),
    Lines([[HOSTILE]], heads=[HOSTILE]),
    table(title=HOSTILE, note=HOSTILE, hint=HOSTILE),
    texts_table("x", (HOSTILE,), [(HOSTILE,)]),
    FactList([(HOSTILE, HOSTILE)] * 9),
    FactList([(HOSTILE, HOSTILE)], terms=True),
    Remarks([Remark(kind="info", label=HOSTILE, text=HOSTILE, detail=HOSTILE, cure=HOSTILE)]),
    Findings([Finding(id="steal", severity="serious", message=HOSTILE, cure=HOSTILE)]),
    Subsection(HOSTILE, [Sentence(HOSTILE)], folded=True),
)


def test_a_column_is_declared_once_for_files_pages_and_terminals() -> None:
    assert [column.title for column in table().shown(terminal=False)] == [
        "name", "rate (1/s)", "half",
    ]  # fmt: skip
    assert table().texts()[0] == ["a", "1.5 [1.0, 2.0]", "3.5"]
    assert table().texts()[1][1] == "–"
    assert table().texts(terminal=True)[0] == ["a", "1.5"]
    assert next(records(COLUMNS, ROWS)) == {
        "name": "a", "rate": 1.5, "rate_low": 1.0, "rate_high": 2.0, "seed": 7,
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(csv_of(COLUMNS, ROWS))))
    assert (rows[0]["rate_high"], rows[1]["rate"], rows[1]["name"]) == ("2", "", HOSTILE)


def test_order_and_rows_may_be_chosen() -> None:
    chosen = table(order=("half", "name"), printed=lambda row: row["seed"] > 7)
    assert chosen.texts()[0] == ["3.5", "a"]
    assert chosen.texts(terminal=True) == [[HOSTILE]]


@pytest.mark.parametrize("part", EVERY, ids=lambda part: type(part).__name__)
def test_names_stay_text_in_every_part(part: object) -> None:
    shown = Page(page(document(part)))
    calm = Page(page(document(Sentence("calm"))))
    assert shown.text.count("hacked()") > calm.text.count("hacked()")
    assert len(shown.scripts) == len(calm.scripts)
    assert not [tag for tag, _ in shown.elements if tag == "img"]
    assert not [name for _, own in shown.elements for name in own if name.startswith("on")]


def test_a_finding_leads_to_its_explanation_and_lesser_ones_are_folded() -> None:
    light = Finding(id="few-sets", severity="info", message="few")
    grave = Finding(id="steal", severity="serious", message="much")
    text = page(document(Findings([light, grave, grave])))
    assert text.count('id="why-steal"') == 1
    assert "1 finding more, none serious" in text
    assert text.index("much") < text.index("<details>") < text.index("</span> few")
    assert ordered([light, grave]) == [grave, light]
    assert counts_text([light, grave, light]) == "1 serious, 2 info"


def test_a_terminal_has_the_tables_first_and_the_answer_last(capsys: Capture) -> None:
    print_document(document(Sentence("the answer", terminal=True), table(title="the table")))
    out = capsys.readouterr().out
    assert out.index("the table") < out.index("the answer")
    print_findings([Finding(id="x", severity="info", message="a"),
                    Finding(id="y", severity="warning", message="b", cure="c")])  # fmt: skip
    assert capsys.readouterr().out == "warning: b (c)\n"


@pytest.mark.parametrize(
    ("words", "figure"),
    [
        ("interfere --quick", "chart-interference"),
        ("primitives --quick --tests event,lock", "chart-"),
        ("load --quick", "chart-load-failures"),
        ("latency --quick", "chart-"),
    ],
)
def test_the_first_figure_is_beside_the_answer_and_nothing_is_there_twice(
    words: str, figure: str, tmp_path: Path
) -> None:
    verb, *more = words.split()
    assert main((verb, "--simulated", "--no-figures", *more, "--runs", str(tmp_path))) == 0
    page = (tmp_path / f"{verb}-quick" / "report.html").read_text(encoding="utf-8")
    head, _, body = page.partition("<nav")
    (first,) = re.findall(r'<figure class="chart" id="([^"]+)"', head)[:1]
    assert first.startswith(figure)
    figures = re.findall(r'<figure class="chart" id="([^"]+)"', page)
    assert len(figures) == len(set(figures))
    sentences = re.findall(r'<p class="sentence">(.*?)</p>', head)
    assert sentences
    assert not [sentence for sentence in sentences if sentence in body.partition("<script")[0]]
    links = re.findall(r'<a href="#([\w-]+)">', page)
    assert links and all(f'<section id="{link}"' in body for link in links)


def test_a_small_screen_leaves_out_what_a_terminal_does(tmp_path: Path) -> None:
    words = ("interfere", "--simulated", "--quick", "--no-figures", "--runs", str(tmp_path))
    assert main(words) == 0
    page = (tmp_path / "interfere-quick" / "report.html").read_text(encoding="utf-8")
    heads = dict(
        reversed(pair)
        for pair in re.findall(r'<th scope="col"(?: class="([^"]*)")?[^>]*>([^<]+)</th>', page)
    )
    assert "aside" in heads["slots"] and "aside" not in heads["slowdown"]
    assert re.search(r"@media \(max-width: 34rem\) \{[^}]*\.aside \{ display: none; \}", page)
