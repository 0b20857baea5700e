"""Truth: `deadbeat show --json` of the same results; the levels that files were made of."""

import csv
import io
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from helpers.kinds import KINDS, MORE_KINDS

from deadbeat.cli.main import main

#: Centre of the latencies of each night, us: the kernel of the fifth is slower; another machine's.
NIGHTS, STEADY = (20, 20.4, 19.8, 20.2, 27, 26.6, 27.2, 26.9), (35,) * 8
STRANGE = "<b>lab</b>"


def answer(*words: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        assert main(words) == 0
    return out.getvalue()


def results(*words: str) -> Any:
    return json.loads(answer(*words, "--json"))["results"]


def night(draw: random.Random, number: int, centre: float, machine: str) -> str:
    """What cyclictest --json wrote of a night."""
    counts: dict[int, int] = {}
    for _ in range(2000):
        us = max(1, round(draw.gauss(centre, centre / 8)))
        counts[us] = counts.get(us, 0) + 1
    mean = sum(us * count for us, count in counts.items()) / 2000
    began = datetime(2026, 3, 1, 2, tzinfo=UTC) + timedelta(days=number)
    release = "6.6.3-rt" if number > 3 else "6.1.0-rt"
    histogram = {str(us): counts[us] for us in sorted(counts)}
    thread = {"histogram": histogram, "cycles": 2000, "min": min(counts), "max": max(counts),
              "avg": mean, "cpu": 1, "node": 0}  # fmt: skip
    return json.dumps({
        "file_version": 1, "cmdline:": "cyclictest -q -p80 --interval=500 -D 1m -h 400",
        "rt_test_version:": "2.40", "start_time": f"{began:%a, %d %b %Y %H:%M:%S +0000}",
        "sysinfo": {"nodename": machine, "release": release, "version": "#1", "realtime": 1},
        "resolution_in_ns": 0, "thread": {"0": thread},
    })  # fmt: skip


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, draw = tmp_path_factory.mktemp("nights"), random.Random(4)
    for machine, centres in (("board", NIGHTS), (STRANGE, STEADY)):
        for number, centre in enumerate(centres):
            name = f"{'lab' if machine == STRANGE else machine}-{number}"
            file = folder / f"{name}.json"
            file.write_text(night(draw, number, centre, machine))
            main(("import", str(file), "--load", "idle", "--runs", str(folder / "runs")))
    return folder / "runs"


@pytest.fixture
def nights(imported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(imported, tmp_path / "runs", symlinks=True))


def test_values_are_those_of_show(tmp_path: Path) -> None:
    runs, names = ("--runs", str(tmp_path)), ("latency", "run", "interfere", "profile")
    wanted: dict[tuple[str, str], dict[str, float]] = {}
    for name in names:
        words = MORE_KINDS.get(name) or KINDS[name][0]
        main((*words, *runs, "--name", name))
    rows = {name: results("show", name, *runs)["rows"] for name in names}
    wanted["latency", "max"] = {
        f"{row['load']} simulated": row["corrected_max_of_a_run_ns"]
        for row in rows["latency"] if row["cpu"] == "all"
    }  # fmt: skip
    wanted["run", "deadline_miss_ratio"] = {
        row["name"]: row["misses"] / row["jobs"] for row in rows["run"]
    }
    wanted["interfere", "slowdown"] = {
        f"{row['victim']} beside {row['aggressor']}": row["value"]
        for row in rows["interfere"]
        if row["place"] == "all other cores" and "sleep" not in row["aggressor"]
    }
    wanted["profile", "slowdown"] = {
        "M = {cores}, rho = {sync_share:g}, alpha = {contended_ratio:g}".format(**row):
        row["slowdown_mean"] for row in rows["profile"]
    }  # fmt: skip
    for (name, metric), figures in wanted.items():
        text = answer("list", "--history", metric, "--csv", *runs)
        cells = {
            row["cell"].partition(", D")[0]: float(row["value"])
            for row in csv.DictReader(io.StringIO(text))
            if row["name"] == name
        }
        assert {each: cells[each] for each in figures} == pytest.approx(figures, rel=1e-8), name
        worst = [row for row in results("list", "--history", metric, *runs)["results"]
                 if row["name"] == name]  # fmt: skip
        assert worst[0]["value"] == pytest.approx(max(cells.values())) and len(worst) == 1


def test_a_change_is_found_where_there_is_one(nights: Path) -> None:
    found = results("list", "--history", "--runs", str(nights))
    (step,) = found["changes"]
    assert step["name"] == "board-4" and step["before"] < 27_000 and step["after"] > 30_000
    assert [row["name"] for row in found["results"] if row["changed"]] == ["board-4"]
    assert all(each["judged"] for each in found["series"]) and len(found["series"]) == 2
    dates = [row["date"] for row in found["results"] if row["machine"] == "board"]
    assert dates == [f"2026-03-0{day}T02:00:00Z" for day in range(1, 9)]
    text = answer("list", "--history", "p99", "--machine", "board", "--runs", str(nights))
    assert "8 results: board-4 changed: 25" in text and "kernel 6.1.0-rt | 6.6.3-rt" in text
    assert "lab" not in text


def test_few_results_and_other_settings_show_no_change(nights: Path) -> None:
    for number in range(4, 8):
        head = nights / f"board-{number}/latency.json"
        head.write_text(head.read_text().replace('"priority": 80', '"priority": 20'))
    shutil.rmtree(nights / "lab-0")
    found = results("list", "--history", "--runs", str(nights))
    assert [each["judged"] for each in found["series"]] == [True, False, False]
    assert not found["changes"]
    text = answer("list", "--history", "--runs", str(nights))
    assert "series 3 has other settings than 2: priority (80 there, 20 now)" in text
    assert "2 series of fewer than 6 results" in text


def test_what_is_kept_is_made_again(nights: Path) -> None:
    words = ("list", "--history", "--csv", "--runs", str(nights))
    first, kept = answer(*words), nights / ".history.sqlite"
    with sqlite3.connect(kept) as table:
        assert table.execute("SELECT count(*) FROM result").fetchone() == (16,)
        table.execute("UPDATE figure SET value = 7 WHERE result = 'lab-1' AND metric = 'p99'")
    assert ",7," in answer(*words), "nothing is read again"
    os.utime(nights / "lab-1/latency.json")
    assert answer(*words) == first, "what was written since is"
    for damage in (b"", b"no table", kept.read_bytes()[:5000]):
        kept.write_bytes(damage)
        assert answer(*words) == first
    kept.unlink()
    both = [subprocess.Popen([sys.executable, "-m", "deadbeat", *words], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for _ in range(2)]  # fmt: skip
    assert [each.communicate()[0] for each in both] == [first, first]
    shutil.rmtree(nights / "lab-1")
    assert len(answer(*words).splitlines()) == len(first.splitlines()) - 1


def test_nothing_is_written_in_a_strangers_folder(nights: Path) -> None:
    own = answer("list", "--history", "--csv", "--runs", str(nights))
    (nights / ".history.sqlite").unlink()
    if os.geteuid() == 0:
        os.chown(nights, 4711, 4711)
    else:
        nights.chmod(0o555)
    assert answer("list", "--history", "--csv", "--runs", str(nights)) == own
    assert not list(nights.glob(".*"))
    nights.chmod(0o755)


def test_what_cannot_be_read_is_a_line(nights: Path) -> None:
    run = next((nights / "board-2/runs").iterdir())
    run.write_bytes(run.read_bytes()[:200])
    next((nights / "board-3/runs").iterdir()).unlink()
    (nights / "board-5/latency.json").unlink()
    (nights / "lab-2/latency.json").write_text('{"format": 1, "spec": [], "platform": 3}')
    rows = results("list", "--history", "--runs", str(nights))["results"]
    found = {row["name"]: row for row in rows}
    assert len(found) == 16 and found["board-1"]["value"]
    assert "is damaged" in found["board-2"]["problem"]
    assert "holds runs" in found["board-5"]["problem"]
    assert found["lab-2"]["problem"] and str(nights) not in str(rows)
    assert "runs are missing" in found["board-3"]["left"] and not found["board-3"]["counts"]
    assert answer("list", "--history", "--runs", str(nights)).count("damaged") >= 2


def test_figures_and_machines_are_named(nights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (("p9",), 'no result has a figure "p9" (did you mean p99'),
        (("--machine", "bord"), 'no result is of "bord" (did you mean board'),
    ):
        assert main(("list", "--history", *words, "--runs", str(nights))) == 2
        assert said in capsys.readouterr().err


class Page(HTMLParser):
    """The links and texts of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name == "href" and value]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_gallery_can_be_published(nights: Path, tmp_path: Path) -> None:
    (nights / "board-0").rename(nights / "a&b <i>#1")
    out = tmp_path / "out"
    gallery = ("page", "--all", str(out), "--runs", str(nights))
    assert "16 results of 2 machines; 1 change" in answer(*gallery)
    page = Page(out / "index.html")
    files = [out / unquote(link) for link in page.links if link[0] != "#"]
    assert len(files) == 16 and all(each.is_file() for each in files)
    assert STRANGE in page.texts and "a&b <i>#1" in page.texts and not {"b", "i"} & {*page.tags}
    assert page.tags.count("polyline") == 2 and page.tags.count("circle") == 1
    assert any("board-4 changed: " in text for text in page.texts)
    assert not any("http" in link for link in page.links)
    before = {each: each.stat().st_mtime_ns for each in files}
    shutil.rmtree(nights / "lab-1")
    os.utime(nights / "lab-2/latency.json")
    answer(*gallery)
    after = {each: each.stat().st_mtime_ns for each in files if each.is_file()}
    changed = {each.stem for each in before if after.get(each) != before[each]}
    assert changed == {"lab-1", "lab-2"} and out / "results/lab-1.html" not in after


def test_a_gallery_leaves_other_folders_alone(nights: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text("mine")
    for folder in (tmp_path / "site", nights, tmp_path / "site/index.html"):
        assert main(("page", "--all", str(folder), "--runs", str(nights))) == 2
    assert (tmp_path / "site/index.html").read_text() == "mine"
    assert not (nights / "index.html").exists()


def test_a_machine_is_contributed_as_one_archive(nights: Path, tmp_path: Path) -> None:
    packed, lab = tmp_path / "board-1.tar.gz", tmp_path / "lab"
    answer("export", "board-1", "--as", "archive", "--out", str(packed), "--runs", str(nights))
    answer("import", str(packed), "--runs", str(lab))
    assert main(("import", str(packed), "--name", "twice", "--runs", str(lab))) == 2
    there = results("list", "--history", "--runs", str(nights))["results"]
    rows = results("list", "--history", "--runs", str(lab))["results"]
    same = next(row for row in there if row["name"] == "board-1")
    assert [{**row, "series": 0} for row in rows] == [{**same, "series": 0}]
    with tarfile.open(packed) as archive:
        assert {(each.uid, each.uname) for each in archive} == {(0, "")}


def test_a_damaged_archive_leaves_nothing(
    nights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = next((nights / "board-1/runs").glob("*.json"))
    run.write_text(run.read_text()[:-20])
    packed, lab = tmp_path / "board-1.tar.gz", tmp_path / "lab"
    answer("export", "board-1", "--as", "archive", "--out", str(packed), "--runs", str(nights))
    assert main(("import", str(packed), "--runs", str(lab))) == 3
    assert "ask who sent it" in capsys.readouterr().err
    assert [*lab.glob("*")] == []


def test_unknown_machines_are_not_compared(tmp_path: Path) -> None:
    """Histograms of cyclictest name none."""
    draw = random.Random(4)
    for number in range(12):
        file = tmp_path / f"{number:02d}.txt"
        first = 10 + 20 * (number > 5)
        counts = {us: draw.randint(300, 400) * (first <= us < first + 30) for us in range(100)}
        mean = sum(us * count for us, count in counts.items()) // sum(counts.values())
        lines = [f"{us:06d} {count:06d}" for us, count in counts.items()]
        ends = [f"Total: {sum(counts.values()):09d}", f"Min Latencies: {first:05d}"]
        ends += [f"Avg Latencies: {mean:05d}", f"Max Latencies: {first + 29:05d}"]
        ends += ["Histogram Overflows: 00000"]
        text = ["# Histogram", *lines, *(f"# {each}" for each in ends), ""]
        file.write_text("\n".join(text))
        words = ("--load", "idle", "--duration", "10s", "--interval", "1ms", "--priority", "90")
        answer("import", str(file), *words, "--runs", str(tmp_path / "runs"))
    assert results("list", "--history", "--runs", str(tmp_path / "runs"))["changes"] == []
    text = answer("list", "--history", "--runs", str(tmp_path / "runs"))
    assert "12 results of unknown machines: not compared" in text


def evil() -> Iterator[tuple[str, tarfile.TarInfo]]:
    for name in ("x/../../out", "/abs/latency.json", "y/latency.json"):
        yield name, tarfile.TarInfo(name)
    link = tarfile.TarInfo("x/link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    yield "link", link


@pytest.mark.parametrize("member", [each for _, each in evil()], ids=[name for name, _ in evil()])
def test_an_archive_writes_nothing_elsewhere(
    member: tarfile.TarInfo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed, runs = tmp_path / "evil.tar", tmp_path / "below/runs"
    with tarfile.open(packed, "w") as archive:
        archive.addfile(tarfile.TarInfo("x/latency.json"))
        archive.addfile(member)
    assert main(("import", str(packed), "--runs", str(runs))) == 3
    assert "is no archive of one result" in capsys.readouterr().err
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == ["evil.tar"]
