"""Truth: the paper's observations as a person asks for them, on made-up machines."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture, answer
from helpers.campaigns import TINY_OPTIONS

from deadbeat.cli.main import main

#: A 16-core machine on which contention grows with the cores as the fake executor's formula says.
MANY = (
    *("contention", "--quick", "--no-figures", "--executor", "fake:cores=16", "--name", "many"),
    *("--cores", "1,4,8,16", "--sets", "2", "--duration", "0.1", "--set", "mix=random"),
)
MADE_UP = "no verdict: a made-up machine"
#: The least that two kernels can be compared with.
LEAST = (*MANY, "--cores", "1,8", "--sync-share", "0,1", "--contended-ratio", "0,1")


pytestmark = pytest.mark.usefixtures("in_a_folder")


def observed(capsys: Capture, *words: str, status: int = 0) -> Any:
    return answer(capsys, "observe", *words, status=status)["observations"]


def test_two_cores_show_the_first_and_say_what_the_others_need(capsys: Capture) -> None:
    simulated = ("--quick", "--simulated", "--no-figures")
    found = observed(capsys, "1..5", "7-9", *simulated)
    assert {f"{each['number']}{each['part']}": each["verdict"] for each in found} == {
        "1": MADE_UP,
        "2": MADE_UP,
        "3": "needs >= 8 cores",
        "4": "needs >= 16 cores",
        "5": "needs >= 16 cores",
        "5a": "needs >= 8 cores",
        "7": "needs >= 8 cores",
        "7a": "needs results of 2 kernels",
        "8": "needs >= 8 cores",
        "8a": "needs >= 8 cores",
        "9": "needs results of 2 kernels",
        "9a": "needs results of 2 kernels",
    }
    assert "(from M = 2; assumes that more cores never help)" in found[1]["because"]
    assert all("SIMULATED" in each["labels"] for each in found)
    assert "cold costs" in found[0]["labels"]
    assert found[0]["runs"] == ["observe-quick"]
    assert found[0]["figures"] and found[0]["criterion"] and found[0]["statement"]
    # asked again, nothing is run; on another machine it is
    main(("observe", "1", *simulated))
    assert "answers it already" in capsys.readouterr().err
    assert main(("observe", "1", "--quick", "--no-figures", "--executor", "fake:name=b")) == 0
    assert Path("runs/observe-quick-2/report.html").exists()


def test_an_interrupted_campaign_is_continued(capsys: Capture) -> None:
    words = ("observe", "1", "--quick", "--no-figures", "--executor")
    assert main((*words, "fake:interrupt-after=50")) == 130
    err = capsys.readouterr().err
    assert "50 of 108 runs are kept in runs/observe-quick; continue with: deadbeat observe 1" in err
    assert err.count("interrupted") == 1
    assert main((*words, "fake")) == 0
    out, err = capsys.readouterr()
    assert "50 of 108 task sets done" in err
    assert out.startswith("1. Tasks are generated as the parameters ask: NO VERDICT")


def test_a_balanced_map_answers_what_it_can_and_the_rest_is_measured(capsys: Capture) -> None:
    """The result of ``make run``; what no setting can mend is said before the mix."""
    balanced = ["mix=balanced" if word == "mix=random" else word for word in LEAST]
    assert main(balanced) == 0
    judged = observed(capsys, "1", "2", "--from", "many")
    assert [each["verdict"] for each in judged] == [MADE_UP, "not judged: another mix"]
    because = "the paper picks objects at random, many each equally often: deadbeat contention"
    assert judged[1]["because"] == f"{because} --set mix=random"
    assert not Path("runs/observe-quick").exists(), "nothing is run unasked"
    small = ("contention", "--quick", "--simulated", "--no-figures", "--sets", "2", "--name", "two")
    assert main(small) == 0
    judged = observed(capsys, "2-9", "--from", "two")
    verdicts = {f"{each['number']}{each['part']}": each["verdict"] for each in judged}
    assert [verdicts[name] for name in ("3", "4", "5", "8")] == [
        f"needs >= {cores} cores" for cores in (8, 16, 16, 8)
    ]
    assert verdicts["2"] == "not judged: another mix"
    assert verdicts["7a"] == "needs results of 2 kernels"
    (nine,) = (each for each in judged if f"{each['number']}{each['part']}" == "9")
    assert nine["because"].endswith("deadbeat contention --random on each of 2 kernels")
    assert main(("observe", "five", "--from", "two")) == 2
    assert '"five" is neither an observation nor a result (1 to 9' in capsys.readouterr().err
    more = ("--simulated", "--no-figures", "--from", "many", "--quick")
    found = observed(capsys, "1", "2", *more)
    assert [each["runs"] for each in found] == [["many"], ["observe-quick"]]
    assert main(("observe", "2", "--from", "many")) == 2
    assert "not run: what these results lack; --quick" in capsys.readouterr().err


def test_what_it_takes_is_said_before(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("deadbeat.cli.observe.answered", refuse)
    assert main(("observe", "1", "6", "--no-figures")) == 130
    err = capsys.readouterr().err
    assert "2 campaigns in all, about " in err
    assert "3 min 20 s of it to calibrate with cold caches" in err


def test_as_many_uses_as_the_paper_has_take_long_and_that_is_said(capsys: Capture) -> None:
    words = ("contention", "--calibrate", "--table", "--simulated")
    assert main((*words, "--uses", "1000")) == 0
    told = capsys.readouterr()
    assert "1,000 uses of each fragment: about 50 min" in told.err
    assert "0 refused, 2500 s" in told.out, "of 20 uses in 50 s"
    assert main(words) == 0
    assert "the paper's means are of 1,000: --uses, about 50 min" in capsys.readouterr().out


def test_each_given_campaign_gets_its_verdict(capsys: Capture) -> None:
    assert main(TINY_OPTIONS) == 0
    assert main((*TINY_OPTIONS, "--name", "other")) == 0
    found = observed(capsys, "1", "--from", "tiny", "other")
    assert [each["runs"] for each in found] == [["tiny"], ["other"]]
    found = observed(capsys, "1", "--from", "tiny,other", "--from", "tiny")
    assert [each["runs"] for each in found] == [["tiny"], ["other"]]


def test_each_is_judged_also_beside_one_with_foreign_costs(capsys: Capture) -> None:
    assert main(TINY_OPTIONS) == 0
    far = ("contention", "--no-figures", "--executor", "fake:name=far", "--programs-from", "tiny")
    assert main((*far, "--name", "far")) == 0
    found = observed(capsys, "1", "--from", "far", "tiny")
    assert [(each["runs"], "foreign costs" in each["labels"]) for each in found] == [
        (["far"], True),
        (["tiny"], False),
    ]


def test_a_machine_without_any_result_is_an_error(capsys: Capture) -> None:
    every = ",".join(
        f"fail=m00{m}-s{s:04d}-c{c:04d}-r{r:04d}*9"
        for m in (1, 2)
        for s in (0, 500, 1000)
        for c in (0, 500, 1000)
        for r in range(6)
    )
    assert main(("observe", "1", "--quick", "--no-figures", "--executor", f"fake:{every}")) == 3
    assert "no run has a result that counts" in capsys.readouterr().err


@pytest.mark.slow
def test_mode_2_and_shielding_are_run_where_they_can_be(capsys: Capture) -> None:
    found = observed(capsys, "6", "--quick", "--no-figures", "--simulated")
    assert (found[0]["verdict"], found[0]["runs"]) == (
        MADE_UP,
        ["observe-quick", "observe-random-quick"],
    )
    many = ("--quick", "--no-figures", "--executor", "fake:cores=16")
    found, _ = observed(capsys, "5", *many)
    assert (found["verdict"], found["runs"]) == (MADE_UP, ["observe-shielding-quick"])
    assert "critical tasks on 4 of 16 cores" in found["because"]


def renamed(path: Path, kernel: str, preemption: str) -> None:
    """The campaign as if it had run on that kernel of a real machine."""
    file = path / "origin.json" if (path / "origin.json").exists() else path / "calibration.json"
    plain = json.loads(file.read_text())
    plain["platform"] |= {"kernel": kernel, "preemption": preemption, "kind": "hardware"}
    file.write_text(json.dumps(plain))
    assert main(("page", path.name, "--no-figures")) == 0


@pytest.mark.slow
def test_kernels_are_compared_by_the_same_programs(capsys: Capture) -> None:
    assert main(LEAST) == 0
    again = ("contention", "--no-figures", "--executor", "fake:cores=16", "--programs-from", "many")
    for name in ("newer", "realtime"):
        assert main((*again, "--name", name)) == 0
    found = observed(capsys, "7", "8", "--from", "many", "newer", status=2)
    assert {each["verdict"] for each in found} == {"needs results of 2 kernels"}
    renamed(Path("runs/many"), "5.15.0", "full")
    renamed(Path("runs/newer"), "6.12.1", "full")
    renamed(Path("runs/realtime"), "6.12.1", "rt")
    found = observed(capsys, "7", "8", "--from", "many", "newer", "realtime")
    # the made-up machine is the same under every name: nothing differs
    assert [each["verdict"] for each in found] == ["undecided"] * 4
    assert [each["runs"] for each in found] == [["many", "newer"]] * 2 + [["newer", "realtime"]] * 2


def test_a_refuted_observation_fails_a_ci_run(capsys: Capture) -> None:
    assert main((*LEAST, "--executor", "fake:contention=3", "--cores", "1,2")) == 0
    renamed(Path("runs/many"), "6.12.1", "full")
    asked = ("--fail-on", "not-confirmed", "--junit", "o.xml", "--from", "many")
    assert main(("observe", "2", *asked)) == 1
    assert "--fail-on not-confirmed: 2. " in capsys.readouterr().err
    assert 'failures="1"' in Path("o.xml").read_text(encoding="utf-8")


def test_two_cores_are_replayed_as_sixteen(capsys: Capture) -> None:
    """The prices of a made-up machine, on cores that it does not have."""
    assert main((*TINY_OPTIONS, "--cores", "2")) == 0
    words = ("observe", "2", "--quick", "--no-figures", "--executor")
    (found,) = observed(capsys, *words[1:], "replay:tiny,cores=4")
    assert found["labels"] == ["EXTRAPOLATED", "SIMULATED"]
    assert found["verdict"] == MADE_UP, "the prices are of a formula"
    assert "replayed slowdown" in found["because"]
    assert [path.name for path in Path("runs").glob("observe-*")] == ["observe-replayed-quick"]
    text = Path("runs/observe-replayed-quick/report.html").read_text(encoding="utf-8")
    assert "EXTRAPOLATED" in text and "SIMULATED" in text
    for wrong, line in (
        ("replay:none", "none"),
        ("replay:tiny,cores=0", "cores are 1 to 64"),
        ("replay:tiny,end=up", '"end=up" is unknown'),
        ("replay:tiny,cores=16,topology=ryzen", "names 9 machines"),
        ("replay:tiny,cores=16,topology=i7-6700k", "has 8 CPUs, not 16"),
    ):
        assert main((*words, wrong)) == 2
        assert line in capsys.readouterr().err
