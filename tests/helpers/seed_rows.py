"""Rows of docs/reference/seeds.toml: each test runs the command of the rows that name it, reads the
answer, and what it saw must be the state that is written there."""

import csv
import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from attrs import define, evolve, field

from deadbeat.base.model.platform import example_platform
from deadbeat.build.native import cache_root
from deadbeat.cli.main import main
from deadbeat.latencies.latency.model import LoadPoint
from deadbeat.latencies.latency.store import LatencyStore
from helpers.answers import Capture, answer_of
from helpers.latencies import made_up_runs, seen_of
from helpers.pages import Page

ROOT = Path(__file__).parents[2]
SOURCES = tomllib.loads((ROOT / "docs/reference/seeds.toml").read_text(encoding="utf-8"))


def system(processors: int, *tasks: tuple[int, ...]) -> str:
    """A task system for FILE: each task C, T and, if given, D and its offset."""
    names = ("wcet", "period", "deadline", "offset")
    rows = [dict(zip(names, task, strict=False)) for task in tasks]
    return json.dumps({"processors": processors, "tasks": rows})


def says(text: str, *patterns: str) -> None:
    """Every pattern is found, each behind the one before."""
    at = 0
    for pattern in patterns:
        found = re.compile(pattern, re.S).search(text, at)
        assert found, f"{pattern!r} is not in (behind character {at}):\n{text}"
        at = found.end()


def chart(name: str) -> Any:
    """A figure of the page of `deadbeat compare A B`: what is drawn."""
    page = Page(Path("runs/compare-A-B/compare.html").read_text(encoding="utf-8"))
    return next(each for each in page.data()["charts"] if each["name"] == name)


def table(path: str) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    return list(csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines()))


@define
class Row:
    """The rows that name a test.

    Attributes:
        command: Theirs.
        written: Their states by the table.
        seen: Their state by the test: it works, unless the test says what that needs or takes.
        ran: Whether the command was run as it stands there.
    """

    test: str
    command: str
    written: tuple[str, ...]
    capture: Capture
    seen: str = "works"
    ran: bool = False
    status: int = field(default=0, init=False)
    err: str = field(default="", init=False)

    def run(self, *more: str, status: int | None = 0, **fill: str) -> str:
        """Standard output of the command: its placeholders filled, ``more`` options behind it.

        A task system for FILE is written into a file."""
        words = self.command
        for name, value in fill.items():
            if value.startswith("{"):
                Path("system.json").write_text(value, encoding="utf-8")
            filled = "system.json" if value.startswith("{") else value
            words, found = re.subn(rf"(?<!\w){re.escape(name)}\b", filled, words)
            assert found, f"{self.command}: no {name}"
        self.ran = True
        words, dashes, program = words.partition(" -- ")
        return self.main(*shlex.split(words), *more, *shlex.split(dashes + program), status=status)

    def main(self, *words: str, status: int | None = 0) -> str:
        """Standard output of any other command, which prepares the row's or reads what it left."""
        self.capture.readouterr()
        self.status = main(words)
        out, self.err = self.capture.readouterr()
        assert status in (None, self.status), f"{words}: {self.status}\n{out}\n{self.err}"
        return out

    def answer(self, *more: str, status: int | None = 0, **fill: str) -> Any:
        """What the command prints with ``--json``; see `run`."""
        return answer_of(self.run(*more, "--json", status=status, **fill))

    def takes(self) -> None:
        """What it takes in full, by its own plan."""
        self.run("--simulated", "--no-figures", "--time-budget", "1s", status=None)
        found = re.search(r"([\d,]+) runs: .* times (\d+) s", self.err)
        assert found
        self.seen = f"works, {int(found[1].replace(',', '')) * int(found[2]) / 3600:.0f} hours"

    def keep(self, state: str) -> None:
        """For tools/seedrows.py."""
        name = re.sub(r"\W", "_", self.test)
        text = json.dumps({"test": self.test, "state": state})
        Path(os.environ["DEADBEAT_ROWS"], name).write_text(text, encoding="utf-8")


def rows_of(test: str) -> list[list[str]]:
    """Place, what, command, test, state and day of each row that names the test."""
    name, _, which = test.partition("::")
    parts = [each["rows"] for each in SOURCES.values() if each["tests"] == f"tests/rows/{name}"]
    return [row for part in parts for row in part if row[3] == which]


LOADS = (LoadPoint("cpu", 0), LoadPoint("cpu", 50), LoadPoint("cpu", 100))
HEAT = {"busy_share": {"0": 0.5}, "temperature_mc": {"zone0": [41_000, 45_000]}}


def stored(
    name: str, *, scale: float = 1.0, packages: int = 1, rate: float = 5.0, **platform: Any
) -> None:
    """A latency result of a machine ``scale`` times as slow as another, its inventory, and
    what its loads do a second."""
    asked = {"name": name, "loads": ["idle", "cpu:50", "cpu:100"], "cpus": [0, 1]}
    machine = evolve(example_platform(), **platform)
    store = LatencyStore.create(Path("runs", name), asked, machine)
    for run in made_up_runs(loads=LOADS, scale=scale, repeats=6, seconds=0.5):
        work = evolve(run.load, throughput={"hdd written B/s": rate + run.key.repeat % 2 / 100})
        store.keep(evolve(run, circumstances=seen_of(HEAT), load=work))
    item = {"name": "packages", "title": "packages", "value": packages, "unit": "", "basis": "dpkg"}
    text = json.dumps(
        {"kind": "doctor", "results": {"inventory": [{**item, "text": str(packages)}]}}
    )
    Path("runs", name, "doctor.json").write_text(text, encoding="utf-8")


#: The shortest measurement of `deadbeat lab run`.
LAB = ("--quick", "--seeds", "1", "--loads", "idle", "--no-figures")


def kernel_here(flavour: str) -> None:
    """Skips where the laboratory has no such kernel: nothing is fetched by a test."""
    if not list(cache_root().glob(f"lab/kernels/*-{flavour}/image")):
        pytest.skip(f"no kernel here: deadbeat lab fetch 6.12-{flavour}")


def judged(row: Row, names: str, part: str = "") -> str:
    """The verdict of the command on made-up boards of tests/papers/test_statement_table.py."""
    made = run_path(str(ROOT / "tests/papers/test_statement_table.py"))["FOLDERS"]
    for name in names.split():
        if not Path("runs", name).exists():
            made[name](Path("runs"), name)
    first, _, rest = names.partition(" ")
    fill, more = {"RUN": names}, ()
    if " A B" in row.command:
        fill = {"A": first, "B": rest} if rest else {"A B": first}
    elif "--from" not in row.command:
        fill, more = {}, ("--from", *names.split())
    found = row.answer(*more, status=None, **fill)
    if "statements" in found:
        return found["statements"][0]["verdict"]
    return next(x["verdict"] for x in found["observations"] if f"{x['number']}{x['part']}" == part)


def statements(lacking: Mapping[str, str]) -> Callable[[Row, str], None]:
    """A test of each observation or statement: the results that confirm and that refute it
    in tests/papers/statements.txt, and those that lack what a measurement needs: its state."""

    @pytest.mark.slow
    @pytest.mark.parametrize("what", lacking)
    def test_statement(row: Row, what: str) -> None:
        cases = (ROOT / "tests/papers/statements.txt").read_text(encoding="utf-8").splitlines()
        parts = [[part.strip() for part in case.split("|")] for case in cases]
        for verdicts in (("confirmed",), ("not confirmed", "depends")):
            names = next(x[1] for x in parts if x[0] == what and x[2] in verdicts)
            assert judged(row, names, what) in verdicts
        needs = [judged(row, names, what) for names in lacking[what].split("; ") if names]
        assert all(each.startswith("needs ") for each in needs), needs
        row.seen = " and ".join([*needs[:1], *(each[6:] for each in needs[1:])]) or "works"

    return test_statement
