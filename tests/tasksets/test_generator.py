"""Truth: the generator as the paper has it (sections 3.3 and 4.1, Figure 2): a set to look at, its
WCETs by the user's own distribution, tasks free of cores, runs long enough for jobs."""

import json
import re
import subprocess
from collections import Counter
from fractions import Fraction
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Any

import attrs
import pytest
from helpers.answers import Capture, answer
from helpers.campaigns import TINY_OPTIONS, example_catalog, tiny_spec, tiny_stress
from scipy.stats import chisquare

import deadbeat
from deadbeat.base.model.errors import SynthesisError, UsageError
from deadbeat.base.model.jobs import SLOT_TOGETHER
from deadbeat.cli.main import main
from deadbeat.sched.files import load_task_system
from deadbeat.tasksets.catalog import Catalog
from deadbeat.tasksets.contention import drawn_set
from deadbeat.tasksets.contention.plan import parameters, plan, resolve, set_seed, synthesised
from deadbeat.tasksets.contention.runner import run_length_s
from deadbeat.tasksets.contention.spec import read_spec, spec_dict, specify
from deadbeat.tasksets.executors.base import Costing
from deadbeat.tasksets.executors.simulated import FakeExecutor
from deadbeat.tasksets.executors.tables import RunTiming, plan_slots, releases_in
from deadbeat.tasksets.model.results import Point, RunKey
from deadbeat.tasksets.model.tasks import Kind
from deadbeat.tasksets.synthesis import Synthesiser
from deadbeat.tasksets.synthesis.distributions import WcetRule, Weighted
from deadbeat.tasksets.synthesis.outlines import outlines
from deadbeat.tasksets.synthesis.parameters import SynthesisParameters

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    assert main((*TINY_OPTIONS, "--runs", str(folder))) == 0
    return folder


def drawn(runs: Path, key: str, run: str = "tiny") -> dict[str, Any]:
    found: dict[str, Any] = deadbeat.ask("show", run, task_set=key, runs=runs)["results"]
    return found


# ---------- Figure 2 ----------


def test_the_costs_of_every_drawn_task_sum_to_its_wcet(runs: Path) -> None:
    keys = [path.stem for path in (runs / "tiny/jobs").glob("*.jobs")]
    assert len(keys) == 8
    for key in keys:
        for task in drawn(runs, key)["tasks"]:
            uses = [use for segment in task["segments"] for use in segment["uses"]]
            assert sum(use["cost_ns"] for use in uses) == pytest.approx(task["wcet_ns"], rel=0.01)
            assert all((use["object"] is None) == (segment["kind"] == "NS")
                       for segment in task["segments"] for use in segment["uses"])  # fmt: skip


@pytest.mark.parametrize(("ratio", "mark"), [("c1000", "█"), ("c0000", "▒")])
def test_a_bar_shows_what_meets_other_cores(runs: Path, capsys: Capture, ratio: str, mark: str):
    words = ("show", "tiny", "--runs", str(runs), "--task-set", f"m002-s1000-{ratio}-r0000")
    assert main(words) == 0
    bars = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert [bar.replace("|", "") for bar in bars] == [60 * mark] * 2


def test_a_set_that_is_not_there_is_named(runs: Path) -> None:
    with pytest.raises(UsageError, match="--task-set: tiny has no task set"):
        drawn(runs, "m002-s0500-c0500-r0000")


def test_a_set_goes_to_the_laboratory_with_its_locks(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    key, out = "m002-s1000-c1000-r0000", tmp_path / "set.json"
    words = ("export", "tiny", "--runs", str(runs), "--as", "task-system", "--out", str(out))
    names = {use["fragment"] for task in drawn(runs, key)["tasks"]
             for part in task["segments"] for use in part["uses"]}  # fmt: skip
    monkeypatch.setattr(drawn_set, "LOCKS", dict.fromkeys(names, "inherit"))
    assert main((*words, "--task-set", key)) == 0
    assert "SIMULATED: lengths of sections are derived" in capsys.readouterr().out
    # what a request costs more is a price's: of an operation, however many a call holds
    prices = answer(capsys, "show", "tiny", "--runs", str(runs))["prices"]
    more = {
        name: max(
            ceil((price["high_ns"] or price["shared_ns"]) - price["alone_ns"])
            for price in prices
            if price["object"] == name and price["others"] == 1 and price["shared_ns"]
        )
        for name in names
    }
    found = load_task_system(out).system
    assert {lock.protocol for lock in found.locks} == {"inherit"}
    for made, task in zip(found.tasks, drawn(runs, key)["tasks"], strict=True):
        held = sum(each.count * each.length for each in made.sections)
        assert task["cost_ns"] <= held and made.home == task["core"]
        alone, path, wake_up = map(int, re.findall(r" (\d+) ", made.source))
        assert made.wcet == alone + path + wake_up and alone >= held and path > wake_up > 0
        assert path == sum(
            each.count * more[each.lock.rpartition("-")[0]] for each in made.sections
        )
    assert main(words) == 2


# ---------- the user's own WCETs ----------

OWN = "# measured\n150us 1\n200us 3.5\n400us, 2  # with a comma\n"


def weighted(text: str, folder: Path) -> Weighted:
    (folder / "wcets.txt").write_text(text)
    found = WcetRule(("uniform",)).parse(str(folder / "wcets.txt"))
    assert isinstance(found, Weighted)
    return found


def test_ten_thousand_draws_pass_chi_squared(tmp_path: Path) -> None:
    own = weighted(OWN, tmp_path)
    asked = SynthesisParameters(
        cores=1, tasks=1000, sync_share=Fraction(0), contended_ratio=Fraction(0), distribution=own
    )
    drawn = Counter(each.wcet_ns for seed in range(10) for each in outlines(asked, seed))
    assert drawn.keys() == {150_000, 200_000, 400_000}
    seen = [drawn[ns] for ns in sorted(drawn)]
    for weights, likely in (([1, 3.5, 2], True), ([1.3, 3.5, 2], False)):
        asked_for = [10_000 * weight / sum(weights) for weight in weights]
        assert bool(chisquare(seen, asked_for).pvalue > 0.01) is likely


def test_a_result_holds_the_values_and_the_hash_of_their_file(tmp_path: Path) -> None:
    own = weighted(OWN, tmp_path)
    assert own.sha256 == sha256(OWN.encode()).hexdigest()
    spec = tiny_spec({"tasks": {"distribution": own}})
    plain = spec_dict(spec)
    assert plain["tasks"]["distribution"] == {  # type: ignore[index, call-overload]
        "lines": ["150000ns 1", "200000ns 7/2", "400000ns 2"], "sha256": own.sha256
    }  # fmt: skip
    assert read_spec(json.loads(json.dumps(plain))) == spec
    assert parameters(spec, plan(spec)[0]).distribution == own
    drawn = tiny_stress({"stress": {"distribution": [str(tmp_path / "wcets.txt"), "normal"]}})
    assert read_spec(json.loads(json.dumps(spec_dict(drawn)))) == drawn
    assert {parameters(drawn, key).distribution for key in plan(drawn)} <= {own, "normal"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("900us 1\n", "900us is not within wcet_min to wcet_max, 100us to 500us"),
        ("200us 1\n300us many\n", 'line 2 is "300us many"'),
        ("200 1\n", "is not a length of time"),
        ("200us 0\n", "out of range"),
        ("# nothing\n", "0 values found"),
        (None, "is not a choice (one of uniform, "),
    ],
)
def test_what_is_no_distribution_is_refused(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "wcets.txt"
    if text is not None:
        file.write_text(text)
    for made, table in ((tiny_spec, "tasks"), (tiny_stress, "stress")):
        with pytest.raises(UsageError, match=f"{table}.distribution.*{re.escape(said)}"):
            made({table: {"distribution": str(file)}})


# ---------- tasks free of cores ----------


@pytest.mark.parametrize("made", [tiny_spec, tiny_stress])
def test_a_drawn_number_of_tasks_fills_its_range(made: Any) -> None:
    table = {"grid": {"replicas": 40}} if made is tiny_spec else {"stress": {"sets": 40}}
    spec = made({"task_count": "random:4..12", **table}, cores=4)
    drawn = {key: parameters(spec, key).tasks for key in plan(spec)}
    assert set(drawn.values()) == set(range(4, 13))
    assert read_spec(json.loads(json.dumps(spec_dict(spec)))) == spec
    # alpha and deadline keep the set
    assert len({(set_seed(spec, key), tasks) for key, tasks in drawn.items()}) == len(
        {set_seed(spec, key) for key in drawn}
    )
    assert "task_count" not in spec_dict(made())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"task_count": "random:3..12"}, "N = 3 is below M = 4: every core needs a task"),
        ({"task_count": 5, "tasks": {"per_core": 2}}, "together with a number of tasks per core"),
    ],
)
def test_a_number_of_tasks_that_cannot_be_is_one_line(asked: dict[str, Any], said: str) -> None:
    for made in (tiny_spec, tiny_stress):
        cores = {"cores": [4]} if made is tiny_spec else {"stress": {"cores": "4"}}
        with pytest.raises(UsageError, match=f"^task_count: {said}"):
            made(cores, asked, cores=4)


def test_a_measured_run_has_the_tasks_and_jobs_that_were_asked(runs: Path) -> None:
    words = ("--name", "five", "--tasks", "5", "--cores", "2", "--jobs", "60")
    assert main((*TINY_OPTIONS, "--runs", str(runs), *words)) == 0
    found = deadbeat.open(runs / "five")
    for each in found.summary.sets:
        assert [task["core"] for task in drawn(runs, each.key, "five")["tasks"]] == [0, 1, 0, 1, 0]
        jobs = found.jobs(each.key)
        counted = Counter(jobs["task"][jobs["counted"] & ~jobs["solo"]].tolist())
        assert [counted[task] >= 60 for task in range(6)] == 5 * [True] + [False]


# ---------- run length by jobs ----------


@pytest.mark.parametrize("cores", [1, 4, 8, 16])
def test_every_task_of_the_paper_has_200_jobs_in_the_announced_time(cores: int) -> None:
    machine, grid = FakeExecutor(cores=16), {"sync_share": [0], "contended_ratio": [0]}
    asked = specify({"preset": "paper", "cores": [cores], "grid": grid})
    spec = resolve(asked, machine.describe()).spec
    costs = machine.calibrate(example_catalog(), Costing(pool="full", seconds=1))
    synthesiser = Synthesiser(example_catalog(), costs)
    lengths_s = []
    for key in plan(spec):
        made = synthesised(spec, synthesiser, key)
        slots = plan_slots(made, spec.run.settings)
        together = slots[slots["kind"] == SLOT_TOGETHER]
        for task in map(RunTiming.of, made.tasks):
            assert (
                sum(
                    slot["start_ns"] <= release and release + task.deadline_ns <= slot["end_ns"]
                    for slot in together
                    for release in releases_in(task, slot)
                )
                >= 200
            )
        lengths_s.append(slots[-1]["end_ns"] / 1e9)
    announced_s = run_length_s(spec, cores)
    assert max(lengths_s) <= announced_s <= 2 * sum(lengths_s) / len(lengths_s)
    without = attrs.evolve(spec, run=attrs.evolve(spec.run, jobs=0))
    assert run_length_s(without, cores) < announced_s


# ---------- costs: Table 4 ----------


def test_the_table_of_fragment_means_is_warm_and_cold(tmp_path: Path) -> None:
    found = deadbeat.ask(
        "contention --calibrate", simulated=True, table=True, duration="2s", out=tmp_path / "c.json"
    )["results"]
    rows = {(row["fragment"], row["core"]): row for row in found["means"]}
    assert {entry for entry, _ in rows} == found["costs"].keys()
    for (entry, core), row in rows.items():
        own = found["costs"][entry][core]
        assert (row["warm_n"], row["warm_first"]) == (own["samples"], own["first_ps"] / 1000)
        assert row["cold_n"] > 0
        assert row["cold_first"] > row["warm_first"] >= row["warm_repeat"]


def test_what_makes_a_use_cold_meets_every_page_and_keeps_its_branches(tmp_path: Path) -> None:
    """Truth: the compiled program; each of 64 functions has 64 branches of its own."""
    source = ROOT / "runtime/src/core/bench_core.c"
    options = ("-std=gnu11", "-O2", f"-I{ROOT}/runtime/include", "-S", "-o", f"{tmp_path}/out.s")
    subprocess.run(["gcc", *options, str(source)], check=True)
    functions = re.split(r"^branches_\d+:$", (tmp_path / "out.s").read_text(), flags=re.M)[1:]
    assert len(functions) == 64
    for text in functions:
        assert len(re.findall(r"^\.L\d+:", text.partition(".cfi_endproc")[0], flags=re.M)) >= 64
    walk = re.search(r"page \* (\d+) \+ (\d+)\) % TLB_PAGES", source.read_text())
    pages = re.search(r"define TLB_PAGES (\d+)", source.read_text())
    assert walk and pages
    seen = [0]
    while len(seen) < int(pages[1]):
        seen.append((seen[-1] * int(walk[1]) + int(walk[2])) % int(pages[1]))
    assert len(set(seen)) == int(pages[1])


# ---------- memory share of computation ----------


@pytest.mark.parametrize("share", ["0", "1/4", "3/4", "1", None])
def test_computation_has_the_memory_share_that_was_asked(share: str | None) -> None:
    fragments = dict(example_catalog().fragments)
    fragments["pointer_chase"] = attrs.evolve(fragments["pointer_chase"], resource_class="memory")
    catalog = Catalog(fragments=fragments)
    costs = FakeExecutor(cores=2).calibrate(catalog, Costing(pool="full", seconds=1))
    half = Fraction(1, 2)
    plain = SynthesisParameters(cores=2, tasks=4, sync_share=half, contended_ratio=half)
    asked = attrs.evolve(plain, ns_memory_share=None if share is None else Fraction(share))
    synthesiser, found = Synthesiser(catalog, costs), []
    for seed in range(20):
        made, drawn = (synthesiser.synthesise(each, seed) for each in (asked, plain))
        spent = Counter[tuple[str, bool]]()
        for task, other in zip(made.tasks, drawn.tasks, strict=True):
            assert abs(task.cost_ps / 1000 - task.wcet_ns) <= 0.01 * task.wcet_ns
            assert (task.wcet_ns, task.offset_ns) == (other.wcet_ns, other.offset_ns)
            for segment, uses in zip(task.segments, costs.job_costs_ps(task), strict=True):
                for use, cost in zip(segment.uses, uses, strict=True):
                    spent[segment.kind, use.entry.fragment == "pointer_chase"] += cost
        found.append(spent[Kind.NS, True] / (spent[Kind.NS, True] + spent[Kind.NS, False]))
        assert (made == drawn) is (share is None)
    if share is not None:
        assert sum(found) / len(found) == pytest.approx(float(Fraction(share)), abs=0.01)
        assert max(found) - min(found) < 0.05


def test_a_memory_share_without_such_fragments_is_refused() -> None:
    costs = FakeExecutor(cores=1).calibrate(example_catalog(), Costing(pool="full", seconds=1))
    asked = parameters(tiny_spec({"tasks": {"ns_memory_share": "0.5"}}), RunKey(Point(1, 0, 0), 0))
    with pytest.raises(SynthesisError, match=r"class memory.* ns_memory_share is 0.5"):
        Synthesiser(example_catalog(), costs).synthesise(asked, 1)
    with pytest.raises(UsageError, match=r"tasks.ns_memory_share: .1.5. is out of range"):
        tiny_spec({"tasks": {"ns_memory_share": "1.5"}})
