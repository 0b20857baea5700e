"""Truth: docs/howto/measure-latency.md: what verbs say of a matrix, also of one that is none."""

from pathlib import Path

import attrs
import pytest
from helpers.answers import Capture, answer_of
from helpers.latencies import made_up_runs

from deadbeat.base.model.finding import Finding
from deadbeat.base.model.histogram import Histogram
from deadbeat.base.model.platform import example_platform
from deadbeat.base.report.document import Table
from deadbeat.cli.main import main
from deadbeat.latencies.latency.charts import load_charts
from deadbeat.latencies.latency.document import latency_document, matrix_table, paper_words
from deadbeat.latencies.latency.histograms import histogram_charts, tail_charts
from deadbeat.latencies.latency.kind import KIND
from deadbeat.latencies.latency.model import LatencyRun, LoadPoint
from deadbeat.latencies.latency.spec import load_word, resolve, spec_dict, specify
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.latencies.latency.summarise import summarise_latency
from deadbeat.latencies.latency.words import sentence, tail_sentences, without_run
from deadbeat.machine.trace.paths import PATH_PARTS, PathSplit, WorstTraced

LOADS = (LoadPoint("cpu", 0), LoadPoint("memory", 100))
SPLIT = {part: Histogram.of([1000, 3000]) for part in PATH_PARTS}
WORST = WorstTraced(
    **{
        "interrupt": 1000,
        "wake_up": 2000,
        "switch": 90_000,
        "exit": 500,
        "latency_ns": 93_500,
        "cause": "stress-ng ran for 88 µs, of the same or a higher priority",
    }
)
INVALID = Finding(id="wrong-priority", severity="invalid", message="it had 50")


def stored(folder: Path, runs: list[LatencyRun], *, name: str = "m") -> Path:
    """A matrix of these runs."""
    spec = resolve(
        specify(
            {
                "name": name,
                "loads": [load_word(load) for load in dict.fromkeys(r.key.load for r in runs)],
                "repeats": len({run.key.repeat for run in runs}),
                "engines": "simulated",
                "trace": any(run.split for run in runs),
            }
        ),
        engines={"simulated": ""},
        cpus=(0, 1),
    )
    store = LatencyStore.create(folder / name, spec_dict(spec), example_platform())
    for run in runs:
        store.keep(run)
    return store.path


def split_runs(*splits: PathSplit) -> list[LatencyRun]:
    return [attrs.evolve(run, split=splits) for run in made_up_runs(loads=LOADS, repeats=2)]


def test_why_and_show_tell_the_split_and_the_cause_of_the_worst_wake_up(
    tmp_path: Path, capsys: Capture
) -> None:
    made = PathSplit(cpu=0, parts=SPLIT, worst=WORST)
    stored(tmp_path, split_runs(made, PathSplit(cpu=1, unavailable="no tracefs")))
    assert main(("why", "m", "--runs", str(tmp_path))) == 0
    told = capsys.readouterr().out
    assert "The worst wake-up was not traced. Of " in told
    assert "4 preempted" in told.splitlines()[0]
    assert "93.5 µs" in told and "stress-ng ran for 88 µs" in told
    assert "mean of all traced wake-ups" in told and "not split: no tracefs" in told
    assert main(("show", "m", "--runs", str(tmp_path))) == 0
    shown = capsys.readouterr().out
    line = (
        "worst traced wake-up under load idle, CPU 0, simulated: 93.5 µs: preempted: stress-ng ran"
    )
    assert line in shown
    for verb in ("why", "show"):
        assert main((verb, "m", "--json", "--runs", str(tmp_path))) == 0
        first, *_ = answer_of(capsys.readouterr().out)["causes"]
        assert (first["load"], first["cpu"], first["latency_ns"]) == ("idle", 0, 93_500)
        assert first["parts_ns"]["switch"] == 90_000 and first["cause"] == "preempted"


def test_why_of_a_matrix_without_a_trace_names_the_option_and_of_one_that_failed_the_reason(
    tmp_path: Path, capsys: Capture
) -> None:
    stored(tmp_path, made_up_runs(loads=LOADS, repeats=1), name="plain")
    assert main(("why", "plain", "--runs", str(tmp_path))) == 2
    assert "measure with --trace" in capsys.readouterr().err
    stored(tmp_path, split_runs(PathSplit(cpu=0, unavailable="locked down")), name="locked")
    assert main(("why", "locked", "--runs", str(tmp_path))) == 2
    assert "(locked down)" in capsys.readouterr().err
    made = PathSplit(cpu=0, parts=SPLIT, worst=WORST)
    stored(tmp_path, doubted(split_runs(made), 0, 1), name="void")
    assert main(("why", "void", "--runs", str(tmp_path))) == 2
    assert "its traced runs are invalid: deadbeat show void" in capsys.readouterr().err
    assert main(("show", "locked", "--runs", str(tmp_path))) == 0
    assert "not split: locked down" in capsys.readouterr().out


def doubted(runs: list[LatencyRun], *repeats: int) -> list[LatencyRun]:
    """The same, those of these repeats invalid."""
    return [
        attrs.evolve(run, problems=(INVALID,) if run.key.repeat in repeats else ()) for run in runs
    ]


def test_a_list_of_runs_shows_the_invalid_ones(tmp_path: Path, capsys: Capture) -> None:
    stored(tmp_path, doubted(made_up_runs(loads=LOADS, repeats=3), 0, 2))
    stored(tmp_path, doubted(made_up_runs(loads=LOADS[1:], repeats=1), 0), name="none")
    assert main(("show", "none", "--runs", str(tmp_path))) == 0
    shown = capsys.readouterr().out
    assert "\nNo valid run: memory 100 % (1 invalid).\n" in shown
    bad = doubted(made_up_runs(loads=LOADS[1:], repeats=1), 0)
    summary = summarise_latency(bad, name="m")
    both = summary.cells
    assert not any("*" in text for row in matrix_table(summary, cpus=False).texts() for text in row)
    two = (attrs.evolve(both[0], engine="cyclictest"), both[0])
    assert without_run(two) == (
        "No valid run: memory 100 % by cyclictest (1 invalid),"
        f" memory 100 % by {both[0].engine} (1 invalid)."
    )
    assert main(("list", "--runs", str(tmp_path))) == 0
    assert "4 invalid" in capsys.readouterr().out
    assert main(("list", "--json", "--runs", str(tmp_path))) == 0
    listed = answer_of(capsys.readouterr().out)
    assert [(each["done"], each["invalid"]) for each in listed] == [(6, 4), (1, 1)]


@pytest.mark.parametrize(
    ("invalid", "empty", "fails"),
    [((), False, set()), ((0,), False, {"invalid"}), ((0, 1), True, {"invalid"})],
)
def test_a_matrix_of_which_no_run_counts_is_a_failure(
    tmp_path: Path, invalid: tuple[int, ...], empty: bool, fails: set[str]
) -> None:
    path = stored(tmp_path, doubted(made_up_runs(loads=LOADS, repeats=2), *invalid))
    shown = KIND.report(path, False)
    bad = {case.group.rpartition(".")[2] for case in shown.cases if case.verdict == "failed"}
    assert (shown.empty, bad) == (empty, fails)


def test_the_command_fails_where_nothing_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    words = ("--loads", "idle,memory", "--repeats", "2", "--fresh", "--runs", str(tmp_path))
    command = ("latency", "--simulated", "--no-figures", *words)
    assert main(command) == 0
    monkeypatch.setattr("deadbeat.latencies.latency.runner.judge", lambda evidence: [INVALID])
    assert main(command) == 3


def test_what_is_no_campaign_is_called_what_it_is(tmp_path: Path, capsys: Capture) -> None:
    stored(tmp_path, made_up_runs(loads=LOADS, repeats=1))
    where = ("--runs", str(tmp_path))
    words = ("--set", "normal=0", "--remedies", "none", "--repeats", "1", "--name", "l1")
    assert main(("load", "--simulated", "--no-figures", *words, *where)) == 0
    capsys.readouterr()
    for command in (("why", "l1"), ("why",)):
        assert main((*command, *where)) == 2
        told = capsys.readouterr().err
        assert "l1 is a load test, not a campaign (deadbeat show l1" in told


def test_the_latest_wake_up_is_one_figure_in_every_sentence_and_no_tautology() -> None:
    """241.497 us: 241.5 once rounded, and 242 where that is rounded again."""
    (run,) = made_up_runs(loads=LOADS[:1], repeats=1)
    values = [5000] * 999 + [241_497]
    cpu = attrs.evolve(run.cpus[0], raw=Histogram.of(values), corrected=None, block_maxima=())
    cpu = attrs.evolve(cpu, expected=1000, cycles=1000, worst=())
    summary = summarise_latency([attrs.evolve(run, cpus=(cpu,))], name="m")
    (tail,) = tail_sentences(summary)
    assert "the latest was 241 µs late" in sentence(summary)
    assert "later than 241 µs" in tail and "It is the latest of 1,000 wake-ups" in tail
    assert "exceeded" not in tail


def test_a_load_without_a_valid_run_keeps_its_place_in_every_figure_and_is_named() -> None:
    runs = made_up_runs(loads=LOADS, repeats=2)
    runs = [
        attrs.evolve(run, problems=(INVALID,) if run.key.load == LOADS[1] else ()) for run in runs
    ]
    summary = summarise_latency(runs, name="m")
    (against,) = load_charts(summary)
    assert against.caption.startswith("No valid run: memory 100 % (2 invalid). ")
    for panel in against.panels:
        assert panel.categories == ("idle", "memory 100 %")
        assert all(abs(x) < 0.3 for curve in panel.curves for x in curve.x)
    for charts in (histogram_charts(summary), tail_charts(summary)):
        assert [chart.option for chart in charts] == ["idle", "memory 100 %"]
        (panel,) = charts[1].panels
        assert panel.empty == "no valid run" and "2 runs, none valid" in panel.title
        assert not any(len(curve.x) for curve in panel.curves)


def test_a_caption_says_of_what_its_numbers_are_and_that_a_made_up_machine_has_no_kernel() -> None:
    summary = summarise_latency(made_up_runs(loads=LOADS, repeats=2), name="m")
    caption = paper_words(summary, kernel=example_platform().kernel).caption
    assert caption.startswith("The whole of m: 16,000 wake-ups under 2 loads; every 1 ms")
    assert caption.endswith("CPUs 0, 1; no kernel: made up.")
    assert paper_words(summary, kernel="6.12.1").caption.endswith("; kernel 6.12.1.")


def test_the_screen_counts_the_wake_ups_that_late_ones_swallowed() -> None:
    """One figure everywhere: that of pictures and verdicts."""
    swallowed = Histogram.of([7_000_000] * 1000)
    (run,) = made_up_runs(loads=LOADS[:1], repeats=1)
    cpus = tuple(attrs.evolve(c, missed=1000, corrected=c.raw + swallowed) for c in run.cpus)
    summary = summarise_latency([attrs.evolve(run, cpus=cpus)], name="m")
    picture = latency_document(summary).picture
    assert isinstance(picture, Table)
    assert picture.note.endswith("2,000 wake-ups that late ones swallowed count, too.")
    (row,) = ({c.key: c.of(each) for c in picture.columns} for each in picture.rows)
    assert row["p99"] == "7,000.0"
