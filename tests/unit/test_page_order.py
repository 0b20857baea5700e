"""Pages: the first figure stands beside the answer, and nothing stands there twice."""

import re
from pathlib import Path

import pytest

from deadbeat.cli.main import main


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
