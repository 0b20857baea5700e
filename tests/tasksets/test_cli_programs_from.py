"""Truth: --programs-from as a person types it, on the fake executor."""

import json
import shutil
from pathlib import Path

import pytest
from helpers.answers import Capture, answer
from helpers.campaigns import TINY_OPTIONS

from deadbeat.cli.main import main

FROM = ("contention", "--no-figures", "--executor", "fake:name=elsewhere", "--programs-from")


pytestmark = pytest.mark.usefixtures("in_a_folder")


@pytest.fixture
def tiny(in_a_folder: None, capsys: Capture) -> Path:
    assert main(TINY_OPTIONS) == 0
    capsys.readouterr()
    return Path("runs/tiny")


def refused(capsys: Capture, *arguments: str, status: int = 2) -> str:
    """The one line of an error."""
    assert main(arguments) == status
    out, err = capsys.readouterr()
    (line,) = [line for line in err.splitlines() if line.startswith("deadbeat: error:")]
    assert out == ""
    return line


def test_it_runs_and_says_whose_programs(tiny: Path, capsys: Capture) -> None:
    assert main((*FROM, "tiny")) == 0
    out, err = capsys.readouterr()
    assert "programs of tiny, calibrated on simulated" in err
    assert "costs come from another platform: read" in err
    assert "programs of tiny, calibrated on simulated" in out
    assert "foreign costs" in out
    page = Path("runs/tiny-2/report.html").read_text()
    assert "of tiny, calibrated on simulated" in page
    states = answer(capsys, "list")
    assert [(each["name"], each["programs_from"], each["state"]) for each in states] == [
        ("tiny", None, "finished"),
        ("tiny-2", "tiny", "finished"),
    ]
    shown = answer(capsys, "show", "tiny-2")
    assert shown["origin"]["from"] == "tiny"
    again = answer(capsys, "page", "tiny-2", "--no-figures")
    assert again["rows"] == shown["rows"]


def test_programs_of_programs_lead_back_to_the_first_platform(tiny: Path, capsys: Capture) -> None:
    assert main((*FROM, "tiny")) == 0
    capsys.readouterr()
    third = ("contention", "--no-figures", "--executor", "fake:name=third", "--programs-from")
    found = answer(capsys, *third, "tiny-2", "--name", "third")
    assert found["origin"]["from"] == "tiny-2"
    assert found["origin"]["original_platform"]["name"] == "simulated"
    for suffix in ("c", "json", "sha256"):
        name = f"programs/batch-000.{suffix}"
        assert Path("runs/third", name).read_bytes() == (tiny / name).read_bytes()


def test_the_same_command_continues_it(tiny: Path, capsys: Capture) -> None:
    broken = ("contention", "--no-figures", "--programs-from", "tiny", "--executor")
    assert main((*broken, "fake:name=elsewhere,interrupt-after=3")) == 130
    assert "3 of 8 runs are kept in runs/tiny-2" in capsys.readouterr().err
    line = refused(capsys, *broken, "fake:name=third", status=3)
    assert "was begun on elsewhere" in line and "not on third" in line
    found = answer(capsys, *broken, "fake:name=elsewhere")
    assert (found["name"], found["done"], found["state"]) == ("tiny-2", 8, "finished")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--seed", "2"), "--seed"),
        (("--cores", "1", "--duration", "2"), "--cores, --duration"),
        (("--quick",), "--quick"),
        (("--set", "split=true"), "--set split"),
        (("--set", "step=0.5"), "--step"),
        (("--file", "some.toml"), "--file"),
        (("--calibration", "some.json"), "--calibration"),
    ],
)
def test_what_contradicts_the_stored_programs_is_refused_by_name(
    tiny: Path, capsys: Capture, options: tuple[str, ...], named: str
) -> None:
    Path("some.toml").write_text("seed = 2\n")
    line = refused(capsys, *FROM, "tiny", *options)
    assert f"{named} and --programs-from exclude each other" in line
    assert not Path("runs/tiny-2").exists()


def test_a_run_without_programs_is_refused(tiny: Path, capsys: Capture) -> None:
    shutil.rmtree(tiny / "programs")
    assert "tiny holds no programs" in refused(capsys, *FROM, "tiny")


def test_an_unfinished_run_is_not_continued_with_its_own_programs(capsys: Capture) -> None:
    assert main((*TINY_OPTIONS, "--executor", "fake:interrupt-after=3")) == 130
    capsys.readouterr()
    assert "with programs of itself" in refused(capsys, *FROM, "tiny")
    assert main((*FROM, "tiny", "--fresh")) == 0
    assert Path("runs/tiny-2/report.html").exists()


def test_cpus_may_be_chosen_and_must_exist(tiny: Path, capsys: Capture) -> None:
    assert "CPU 7 " in refused(capsys, *FROM, "tiny", "--cpus", "0,7")
    assert "2 asked" in refused(capsys, *FROM, "tiny", "--cpus", "1")
    assert main((*FROM, "tiny", "--cpus", "1,0")) == 0
    assert json.loads(Path("runs/tiny-2/campaign.json").read_text())["spec"]["cpus"] == [1, 0]


def test_a_stress_campaign_is_run_elsewhere_by_its_own_verb(capsys: Capture) -> None:
    few = ("--quick", "--sets", "4", "--duration", "0.1", "--no-figures")
    assert main(("contention", "--random", *few, "--simulated", "--name", "random")) == 0
    capsys.readouterr()
    line = refused(capsys, *FROM, "random")
    assert (
        "random is a stress campaign (use deadbeat contention --random --programs-from random)"
        in line
    )
    elsewhere = (
        "contention",
        "--random",
        "--no-figures",
        "--executor",
        "fake:name=elsewhere",
        "--programs-from",
    )
    assert "--sets and --programs-from" in refused(capsys, *elsewhere, "random", "--sets", "9")
    found = answer(capsys, *elsewhere, "random")
    assert (found["name"], found["done"], found["origin"]["from"]) == ("random-2", 4, "random")
    sets = [json.loads(Path(f"runs/{name}/sets.json").read_text())["sets"]
            for name in ("random", "random-2")]  # fmt: skip
    assert [row["set_id"] for row in sets[0]] == [row["set_id"] for row in sets[1]]
    small = ("contention", "--random", "--executor", "fake:cores=1", "--programs-from")
    assert "--programs-from random: 2 asked" in refused(capsys, *small, "random")


def test_a_campaign_that_stopped_when_it_was_known_is_run_as_far_as_it_was_built(capsys: Capture):
    known = (
        *("contention", "--quick", "--simulated", "--no-figures", "--name", "known"),
        *("--precision", "0.05", "--set", "sets-min=5", "--set", "sets-max=20", "--cores", "2"),
        *("--sync-share", "1", "--contended-ratio", "0,1", "--duration", "0.1"),
        *("--set", "mix=random"),
    )
    assert main((*known, "--executor", "fake:interrupt-after=3")) == 130
    capsys.readouterr()
    assert "known holds the programs of 10 of 40 task sets" in refused(
        capsys, *FROM, "known", "--name", "early"
    )
    assert main(known) == 0
    capsys.readouterr()
    found = answer(capsys, *FROM, "known")
    assert (found["name"], found["done"], found["state"]) == ("known-2", 10, "finished")


def test_the_latest_may_be_named_and_is_still_the_same_when_continued(tiny: Path, capsys: Capture):
    words = ("contention", "--no-figures", "--programs-from", "latest", "--executor")
    assert main((*words, "fake:name=elsewhere,interrupt-after=3")) == 130
    assert Path("runs/latest").resolve().name == "tiny-2"
    found = answer(capsys, *words, "fake:name=elsewhere")
    assert (found["name"], found["done"], found["origin"]["from"]) == ("tiny-2", 8, "tiny")
    found = answer(capsys, *words, "fake:name=elsewhere")
    assert (found["name"], found["origin"]["from"]) == ("tiny-3", "tiny-2")
