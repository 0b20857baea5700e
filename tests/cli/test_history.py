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
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile, ZipInfo

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
    assert [row["name"] for row in found["results"] if row["p"]] == ["board-4"]
    assert {row["series"] for row in found["results"]} == {1, 2}
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
    assert [row["series"] for row in found["results"]] == [1] * 7 + [2] * 4 + [3] * 4
    assert not found["changes"]
    text = answer("list", "--history", "--runs", str(nights))
    assert "series 3 has other settings than 2: priority (80 there, 20 now)" in text
    assert "2 series of 8 results: too few" in text


def test_what_is_kept_is_made_again(nights: Path) -> None:
    words = ("list", "--history", "--csv", "--runs", str(nights))
    first, kept = answer(*words), nights / ".history.sqlite"
    with sqlite3.connect(kept) as table:
        assert table.execute("SELECT count(*) FROM results").fetchone() == (16,)
        table.execute("UPDATE figures SET value = 7 WHERE result = 'lab-1' AND metric = 'p99'")
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
    (nights / "lab-2/latency.json").write_text('{"format": 1, "spec": [], "platform": 3}')
    rows = results("list", "--history", "--runs", str(nights))["results"]
    found = {row["name"]: row for row in rows}
    assert len(found) == 16 and found["board-1"]["value"]
    assert "is damaged" in found["board-2"]["note"]
    assert found["lab-2"]["note"] and str(nights) not in str(rows)
    assert "unfinished: 1 of 1 runs are missing" in found["board-3"]["note"]
    alone = {name for name in found if found[name]["series"] is None}
    assert alone == {"board-2", "board-3", "lab-2"}
    text = answer("list", "--history", "--runs", str(nights))
    assert text.count("is damaged") == 2 and "3 results in no series" in text
    out = str(nights.with_name("out"))
    assert "16 results, 2 machines" in answer("page", "--all", out, "--runs", str(nights))


def test_results_without_a_date_are_in_no_series(nights: Path) -> None:
    for number in range(8):
        (run,) = (nights / f"board-{number}/runs").iterdir()
        text = json.loads(run.read_text())
        text["run"]["started"] = ""
        run.write_text(json.dumps(text))
    found = results("list", "--history", "--runs", str(nights))
    assert not found["changes"]
    dated = [bool(row["date"] and row["series"]) for row in found["results"]]
    assert dated == [True] * 8 + [False] * 8


def test_a_drift_is_no_step(nights: Path) -> None:
    for number in range(8):
        (run,) = (nights / f"lab-{number}/runs").iterdir()
        text = json.loads(run.read_text())
        (cpu,) = text["run"]["cpus"]
        for side in ("raw", "corrected"):
            cpu[side]["max_ns"] = 60_000 + 4_000 * number + 100 * (number % 3)
        run.write_text(json.dumps(text))
    found = results("list", "--history", "max", "--machine", STRANGE, "--runs", str(nights))
    (step,) = found["changes"]
    assert step["drifts"] and step["before"] < 62_000 and step["after"] > 86_000
    words = ("list", "--history", "max", "--machine", STRANGE, "--runs", str(nights))
    assert "lab-7 drifts: 60.7 us at first, 89.0 us now" in answer(*words)


def test_a_search_shows_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    subprocess.run([*git, "init", "-q"], check=True)
    for number in range(3):
        (tmp_path / "say").write_text(f"#!/bin/sh\necho v {10 + number}\n")
        (tmp_path / "say").chmod(0o755)
        subprocess.run([*git, "add", "say"], check=True)
        subprocess.run([*git, "commit", "-qm", f"number {number}"], check=True)
    runs = ("--runs", str(tmp_path / "runs"))
    main(("bisect", "HEAD~2..HEAD", "--metric", "stdout:v", "--for", "1s", *runs, "--", "./say"))
    (row,) = results("list", "--history", *runs)["results"]
    headline = json.loads(answer("show", row["name"], "--json", *runs))["headline"]
    assert headline and headline in row["note"]
    assert row["kind"] == "bisect" and row["machine"] and row["date"] and row["series"] is None


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
    assert "16 results, 2 machines, 1 change" in answer(*gallery)
    page = Page(out / "index.html")
    files = [out / unquote(link) for link in page.links if link[0] != "#"]
    assert len(files) == 16 and all(each.is_file() for each in files)
    assert STRANGE in page.texts and "a&b <i>#1" in page.texts and not {"b", "i"} & {*page.tags}
    assert page.tags.count("polyline") == 2 and page.tags.count("circle") == 1
    assert any("board-4 changed: " in text for text in page.texts)
    assert not any("http" in link for link in page.links)
    drawn = (out / "results/lab-1.html").read_text()
    assert drawn.count('<script src="plotly.js">') == 1 and (out / "results/plotly.js").is_file()
    assert len(drawn) < 100_000
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


def test_a_step_begins_where_values_say(nights: Path) -> None:
    """Ranks of levels that are far apart are as clear one result before it."""
    us = 430.0, 431.1, 429.4, 441.3, 434.4, 427.6, 453.6, 655.1, 640.4, 665.1, 630.6, 642.4, 687.6
    for number, value in enumerate(us):
        folder = nights / f"q{number:02d}"
        shutil.copytree(nights / "lab-0", folder)
        (run,) = (folder / "runs").iterdir()
        text = json.loads(run.read_text())
        (cpu,) = text["run"]["cpus"]
        for side in ("raw", "corrected"):
            cpu[side]["max_ns"] = round(1000 * value)
        text["run"]["started"] = f"2027-01-{number + 1:02d}T00:00:00+00:00"
        run.write_text(json.dumps(text))
    for number in range(8):
        shutil.rmtree(nights / f"lab-{number}")
    shutil.copytree(nights / "q12", nights / "q12-again")  # is no more evidence
    found = results("list", "--history", "max", "--machine", STRANGE, "--runs", str(nights))
    (step,) = found["changes"]
    assert step["name"] == "q07" and not step["drifts"]
    series = {row["name"]: row["series"] for row in found["results"]}
    assert series["q12"] == 1 and series["q12-again"] is None


def test_a_machine_is_contributed_as_one_archive(nights: Path, tmp_path: Path) -> None:
    packed, lab = tmp_path / "board-1.zip", tmp_path / "lab"
    answer("export", "board-1", "--as", "archive", "--out", str(packed), "--runs", str(nights))
    answer("import", str(packed), "--runs", str(lab))
    there = results("list", "--history", "--runs", str(nights))["results"]
    rows = results("list", "--history", "--runs", str(lab))["results"]
    same = next(row for row in there if row["name"] == "board-1")
    assert [{**row, "series": 0} for row in rows] == [{**same, "series": 0}]
    with ZipFile(packed) as archive:
        assert not any("report" in name or ".lock" in name for name in archive.namelist())


def test_a_damaged_archive_leaves_nothing(
    nights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = next((nights / "board-1/runs").glob("*.json"))
    run.write_text(run.read_text()[:-20])
    packed, lab = tmp_path / "board-1.zip", tmp_path / "lab"
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
    assert "12 results in no series" in text


@pytest.mark.parametrize(
    "name", ("x/../../out", "/abs/latency.json", "y/latency.json", "x/link", "../latency.json")
)
def test_an_archive_writes_nothing_elsewhere(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed, runs = tmp_path / "evil.zip", tmp_path / "below/runs"
    member = ZipInfo(name)
    member.external_attr = (0o120777 if "link" in name else 0o100644) << 16
    with ZipFile(packed, "w") as archive:
        archive.writestr("x/latency.json", "{}")
        archive.writestr(member, "/etc")
    assert main(("import", str(packed), "--runs", str(runs))) == 3
    said = capsys.readouterr().err
    assert f'is no archive of one result: it holds "{name}"' in said or "is damaged" in said
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == ["evil.zip"]
