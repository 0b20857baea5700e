"""Truth: campaigns of the made-up machine that differ by a known amount; the refusals asked for."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.answers import Capture, answer_of
from helpers.campaigns import begin, run, tiny_spec
from helpers.terminal import Terminal

from deadbeat.base.model.comparison import ComparisonResult, Lineup
from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.finding import Finding
from deadbeat.cli.compare.results import compare_results
from deadbeat.cli.main import main
from deadbeat.tasksets.contention.observe import COMPARABLE, CampaignSubject, observe, read_campaign
from deadbeat.tasksets.executors.simulated import FakeExecutor, Faults
from deadbeat.tasksets.store.campaign import CampaignStore

GRID = {"grid": {"sync_share": [1], "contended_ratio": [0, 1], "replicas": 8}, "cores": [2]}
#: What 0.75 instead of 0.6 adds where everything is shared: 1.76 / 1.61.
WORSE = FakeExecutor(contention=0.75, salt=1)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Campaigns of the same programs, and some of others."""
    folder = tmp_path_factory.mktemp("runs")
    for name, executor in {
        "a": FakeExecutor(),
        "again": FakeExecutor(salt=1),
        "worse": WORSE,
        "better": FakeExecutor(contention=0.4, salt=1),
        "half": FakeExecutor(faults=Faults(lose_after=5)),
        "elsewhere": FakeExecutor(name="other"),
    }.items():
        made(folder, name, executor)
    made(folder, "seeded", FakeExecutor(), {"seed": 9})
    made(folder, "longer", FakeExecutor(), {"run": {"seconds": 0.2}})
    return folder


def made(folder: Path, name: str, executor: Any, *layers: Any) -> None:
    spec = tiny_spec(GRID, {"name": name}, *layers)
    store = begin(folder, spec)
    try:
        run(spec, store, executor)
    except Exception as error:
        assert "lost" in str(error)


def copied(runs: Path, folder: Path, *names: str, kind: str = "simulated") -> None:
    for name in names:
        shutil.copytree(runs / name, folder / name)
        path = folder / name / "calibration.json"
        path.write_text(path.read_text("utf-8").replace('"simulated"', f'"{kind}"'), "utf-8")


def view(runs: Path, name: str) -> CampaignSubject:
    return read_campaign(runs / name)


def compared(
    runs: Path, *names: str, aa: tuple[str, ...] = (), partial: bool = False, **how: bool
) -> ComparisonResult:
    views, repeats = (tuple(view(runs, name) for name in group) for group in (names, aa))
    lineup = Lineup(subjects=views, repeats=repeats, partial=partial)
    return compare_results(COMPARABLE, lineup, **how)


def finding_of(result: ComparisonResult, id: str) -> Finding:
    (finding,) = [each for each in result.findings if each.id == id]
    return finding


def test_known_effects_are_found_where_they_are(runs: Path) -> None:
    found = compared(runs, "a", "again", "better", "worse")
    assert [each.verdict for each in found.comparisons] == ["equal", "better", "worse"]
    assert [each["name"] for each in found.campaigns] == ["a", "again", "better", "worse"]
    assert (found.verdict, found.differences, found.labels) == ("worse", (), ("simulated",))
    cells = found.comparisons[-1].metrics[0].cells
    assert [cell.verdict for cell in cells] == ["equal", "worse"]
    exact = (1.01 + 0.75) / (1.01 + 0.6) - 1
    assert cells[1].effect == pytest.approx(exact, abs=0.002)
    assert cells[1].pairs == 8
    assert compared(runs, "a", "elsewhere").differences == ("name: simulated | other",)


def test_other_programs_are_refused_with_what_differs(runs: Path) -> None:
    with pytest.raises(UsageError) as caught:
        compared(runs, "a", "seeded")
    assert "16 of 16 task sets differ (m002-s1000-c0000-r0000, " in caught.value.message
    assert caught.value.details == ("seed: 1 | 9 (a | seeded)",)
    assert "--programs-from a" in caught.value.hint


def test_an_unfinished_campaign_is_refused(runs: Path) -> None:
    with pytest.raises(UsageError) as caught:
        compared(runs, "a", "half")
    assert caught.value.message == "half is unfinished: 11 of 16 programs are not run yet"
    assert "--partial" in caught.value.hint and "--retry" not in caught.value.hint


def test_an_unfinished_campaign_is_compared_on_request_and_labelled(runs: Path) -> None:
    found = compared(runs, "a", "half", partial=True)
    assert finding_of(found, "campaign-unfinished").message.endswith("only 5 programs are compared")
    assert not [item for item in found.findings if item.id == "unpaired-runs"]
    assert found.labels == ("partial: half unfinished", "simulated")
    assert sum(cell.pairs for cell in found.comparisons[0].metrics[0].cells) == 5


def test_labels_name_the_campaigns_they_hold_for(runs: Path, capsys: Capture) -> None:
    assert answer(runs, "a", "half", "--partial") == 0
    assert "   PARTIAL: half unfinished   SIMULATED\n" in capsys.readouterr().out
    again = ("contention", "--programs-from", "a", "--no-figures", "--runs", str(runs))
    assert main([*again, "--name", "abroad", "--executor", "fake:name=other"]) == 0
    capsys.readouterr()
    assert compared(runs, "a", "again", "abroad").labels == ("simulated", "foreign costs (abroad)")
    assert answer(runs, "a", "abroad") == 0
    assert "   SIMULATED   FOREIGN COSTS (abroad)\n" in capsys.readouterr().out


def test_cells_without_data_are_never_equal(runs: Path, tmp_path: Path) -> None:
    """Both sides are the same but for the cell that one of them never reached."""
    copied(runs, tmp_path, "a", "again")
    for path in (tmp_path / "again/jobs").glob("*-c1000-*"):
        path.unlink()
    (comparison,) = compared(tmp_path, "a", "again", partial=True).comparisons
    assert comparison.verdict == "undecided"
    assert "1 of 2 cells have no data" in comparison.reason
    slowdown = comparison.metrics[0]
    assert [(cell.verdict, cell.pairs) for cell in slowdown.cells] == [
        ("equal", 8),
        ("undecided", 0),
    ]
    assert slowdown.verdict == "undecided" and not slowdown.no_worse
    (need,) = comparison.needs
    assert need.startswith("slowdown, delay ratio and miss ratio: 1 of 2 cells have no program")


def test_failed_runs_are_told_and_the_rest_compared(runs: Path, tmp_path: Path) -> None:
    copied(runs, tmp_path, "a")
    faults = Faults(fail={f"m002-s1000-c1000-r000{n}": 99 for n in range(4)})
    made(tmp_path, "ill", FakeExecutor(faults=faults))
    found = compared(tmp_path, "a", "ill")
    finding = finding_of(found, "unpaired-runs")
    assert finding.severity == "warning"
    assert finding.message == ("4 of 16 programs failed (4 in ill): only 12 are compared")
    assert "the command of ill with --retry" in finding.cure


@pytest.mark.slow
def test_programs_that_the_other_never_planned_are_refused(tmp_path: Path, capsys: Capture) -> None:
    quick = (
        "contention",
        "--random",
        "--quick",
        "--executor",
        "fake",
        "--no-figures",
        "--runs",
        str(tmp_path),
    )
    for name, sets, cores in (("q1", "4", "1"), ("q2", "6", "1,2")):
        assert main([*quick, "--name", name, "--sets", sets, "--cores", cores]) == 0
    capsys.readouterr()
    assert answer(tmp_path, "q1", "q2") == 2
    told = capsys.readouterr().err
    assert "q1 and q2 are not of the same programs: 8 of 12 task sets are planned in q2" in told
    assert "stress.sets: 4 | 6" in told and "stress.cores: " in told
    assert "--retry" not in told
    assert "deadbeat contention --random --programs-from q1" in told

    profiled = ("contention", "--quick", "--executor", "fake", "--no-figures", "--name", "p")
    assert main((*profiled, "--runs", str(tmp_path))) == 0
    assert main(("compare", "p", "q1", "--runs", str(tmp_path))) == 2
    assert "p is of profile, q1 of stress: they have no" in capsys.readouterr().err


def test_nothing_in_common_is_refused(runs: Path, tmp_path: Path) -> None:
    copied(runs, tmp_path, "a", "half")
    for path in (tmp_path / "half/jobs").iterdir():
        (tmp_path / "a/jobs" / path.name).unlink()
    with pytest.raises(UsageError, match="no run with a result on both sides"):
        compared(tmp_path, "a", "half", partial=True)


def test_other_settings_of_the_same_programs_are_told(runs: Path) -> None:
    finding = finding_of(compared(runs, "a", "longer"), "run-settings-differ")
    assert "run.seconds: 0.1 | 0.2" in finding.message


def test_simulated_beside_measured_is_refused_or_labelled(runs: Path, tmp_path: Path) -> None:
    copied(runs, tmp_path, "a", "seeded")
    copied(runs, tmp_path, "worse", kind="hardware")
    with pytest.raises(UsageError, match="a is simulated, the other campaign is measured"):
        compared(tmp_path, "a", "worse")
    # also where the programs differ: those of the one cannot run where the other ran
    with pytest.raises(UsageError, match="is simulated") as caught:
        compared(tmp_path, "worse", "seeded")
    assert "deadbeat predict compares" in caught.value.hint


def test_ungated_is_on_the_command_line(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    copied(runs, tmp_path, "a", "worse", kind="own")
    finding = finding_of(compared(tmp_path, "a", "worse"), "no-aa-repeat")
    assert "(--programs-from)" in finding.cure and "--aa" in finding.cure
    assert answer(tmp_path, "a", "worse", "--fail-on", "worse") == 0
    assert "\nUNDECIDED: worse against a: no A/A repeats" in capsys.readouterr().out
    assert answer(tmp_path, "a", "worse", "--fail-on", "worse", "--ungated") == 1
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert second.startswith("WORSE: ") and "UNGATED: no A/A repeats" in first
    (page,) = tmp_path.glob("compare-a-worse-2/compare.html")
    assert "ungated: no A/A repeats" in page.read_text(encoding="utf-8")


def test_tasks_that_never_finish_reach_the_comparison(runs: Path) -> None:
    campaign = view(runs, "a")
    table = observe(campaign)
    sets = {each.key: each for each in campaign.view.summary.sets}
    for row in table.rows:
        own = sets[row.run]
        assert row.censored == 1 - own.jobs / own.released and not own.starved_tasks


def stored_programs(folder: Path, contents: str) -> None:
    for index in (folder / "programs").glob("*.json"):
        index.with_suffix(".elf").write_text(contents, encoding="utf-8")


def test_other_executables_of_the_same_sets_are_refused(runs: Path, tmp_path: Path) -> None:
    copied(runs, tmp_path, "a", "again")
    for name in ("a", "again"):
        stored_programs(tmp_path / name, "program")
    assert compared(tmp_path, "a", "again").verdict == "equal"
    stored_programs(tmp_path / "again", "of another compiler")
    with pytest.raises(UsageError, match="in other executables: 16 of 16 runs"):
        compared(tmp_path, "a", "again")


def test_the_page_is_never_written_over(runs: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert answer(runs, "a", "again", "--out", str(out)) == 0
    assert "again" in (out / "compare.html").read_text(encoding="utf-8")
    stored = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    assert stored["verdict"] == "equal"
    assert answer(runs, "a", "again", "--out", str(out)) == 2
    assert "is not an empty folder" in capsys.readouterr().err
    assert answer(runs, "a", "again", "--out", "/proc/x") == 3
    assert "/proc holds no files (choose another --out)" in capsys.readouterr().err
    for folder in ("compare-a-better", "compare-a-better-2"):
        assert answer(runs, "a", "better") == 0
        assert f"page: {runs / folder / 'compare.html'}" in capsys.readouterr().out
    assert answer(runs, "a", "compare-a-better") == 2
    assert "compare-a-better is made of other results" in capsys.readouterr().err


def test_levels_of_the_deadline_factor_are_cells(tmp_path: Path, capsys: Capture) -> None:
    several = {"tasks": {"deadline_factor": "2,5"}, "grid": {**GRID["grid"], "replicas": 2}}
    made(tmp_path, "a", FakeExecutor(), several)
    made(tmp_path, "b", FakeExecutor(contention=1.5), several)
    cells = compared(tmp_path, "a", "b").comparisons[0].metrics[0].cells
    assert [cell.deadline_factor for cell in cells] == [2.0, 5.0, 2.0, 5.0]
    assert answer(tmp_path, "a", "b", "--all") == 0
    assert re.search(r"alpha = 1, D/C = 5 +Slowdown", capsys.readouterr().out)


def answer(runs: Path, *words: str) -> int:
    return main(["compare", *words, "--runs", str(runs), "--no-figures"])


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 48)])
@pytest.mark.parametrize("others", [("worse",), ("worse", "better")])
def test_the_first_screen_is_verdict_table_and_steps(
    runs: Path, columns: int, rows: int, others: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    with monkeypatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("TERM", "xterm")
        patch.setattr(sys, "stdout", terminal)
        assert answer(runs, "a", *others, "--ungated") == 0
    shown = terminal.screen(columns, rows)
    told = " ".join(" ".join(shown).split())
    assert told.startswith(f"{', '.join(others)} against a ")
    assert "WORSE: worse against a: slowdown worse: " in told
    assert re.search(r"slowdown worse:? +\+", told) and "delay ratio" in told
    assert "page: " in told and "the same command with --all" in told and "…" not in told


@pytest.mark.parametrize(
    ("other", "fail_on", "status"),
    [
        ("worse", (), 0),
        ("worse", ("worse",), 1),
        ("better", ("worse",), 0),
        ("better", ("different",), 1),
        ("again", ("different",), 0),
        ("again", ("different", "undecided"), 1),
        ("worse", ("undecided",), 1),
    ],
)
def test_fail_on(runs: Path, other: str, fail_on: tuple[str, ...], status: int) -> None:
    words = [word for verdict in fail_on for word in ("--fail-on", verdict)]
    assert answer(runs, "a", other, *words) == status


def test_a_metric_that_is_undecided_fails_where_a_proof_is_asked_for(runs: Path, capsys: Capture):
    """No deadline is missed on either side: the slowdown is equal, but misses are not known."""
    assert answer(runs, "a", "again", "--json", "--fail-on", "undecided") == 1
    out, err = capsys.readouterr()
    assert "--fail-on: again against a is undecided in miss ratio\n" in err
    (comparison,) = answer_of(out)["comparisons"]
    assert comparison["verdict"] == "equal"
    assert comparison["rests_on"] == ["slowdown", "delay_ratio", "price"]
    assert comparison["undecided"] == ["deadline_miss_ratio"]
    assert comparison["metrics"][2]["verdict"] == "undecided"
    asked = ("--metric", "slowdown", "--metric", "delay_ratio")
    assert answer(runs, "a", "again", "--fail-on", "undecided", *asked) == 0


def test_what_is_too_rare_could_have_shown_nothing_that_is_known(runs: Path) -> None:
    """The error of differences that are all 0 is 0, which says nothing on how much they vary."""
    misses = compared(runs, "a", "again").comparisons[0].metrics[2]
    assert not misses.told
    assert misses.high > misses.minimum
    assert {misses.smallest_effect, *(cell.smallest_effect for cell in misses.cells)} == {None}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "two results are needed"),
        (("a",), "two results are needed"),
        (("a", "nix"), "there is no result nix"),
        (("a", "worse", "--metric", "slowdwn"), "did you mean slowdown?"),
        (("a", "worse", "--minimum-effect", "2 %"), "--minimum-effect"),
        (("a", "worse", "--set", "minimum-miss=nan"), "--minimum-miss: "),
        (("a", "worse", "--fail-on", "wrose"), "--fail-on: "),
        (("a", "worse", "--minimum-effect", "0"), "0 is not in (0, 1]"),
    ],
)
def test_bad_input_is_refused(runs: Path, capsys: Capture, words: tuple[str, ...], told: str):
    assert answer(runs, *words) == 2
    assert told in capsys.readouterr().err


def test_set_ids_are_those_of_the_task_sets(runs: Path) -> None:
    programs = CampaignStore.open(runs / "a").programs
    ids = programs.set_ids()
    assert {*ids} == programs.keys()
    assert ids == {key: programs.planned(key).set_id for key in ids}


def test_a_cell_that_the_other_lost_is_not_equal(runs: Path, tmp_path: Path) -> None:
    copied(runs, tmp_path, "a")
    faults = Faults(fail={f"m002-s1000-c1000-r000{n}": 99 for n in range(8)})
    made(tmp_path, "ill", FakeExecutor(faults=faults))
    found = compared(tmp_path, "a", "ill")
    assert found.verdict == "undecided"
    ids = ("survivors-differ", "unpaired-runs")
    assert [finding_of(found, each).severity for each in ids] == ["warning"] * 2
