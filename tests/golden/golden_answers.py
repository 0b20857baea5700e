"""The frozen commands, and the program that renews their goldens.

    python tests/golden/golden_answers.py                        what differs, row by row
    python tests/golden/golden_answers.py --like load            of rows with that in their names
    python tests/golden/golden_answers.py ROW...                 renew rows whose words changed
    python tests/golden/golden_answers.py --decision 0020 ROW... renew rows changed on purpose

A row whose skeleton changed (a number, a key, a label) is renewed with the number of the decision
record that says why, and of which the manifest keeps a note. A new row needs none.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.aa import cells_of, draw_sessions, read_pool, verdicts
from helpers.goldens import (
    ANSWERS,
    HERE,
    MANIFEST,
    Row,
    checksum,
    differences,
    golden,
    play,
    skeleton,
    unpack,
)
from helpers.judges import judge_of, options_of

import deadbeat

QUIET = ("--no-figures", "--json")
SAME = ("--runs", "runs", "--json")
NEW = ("--runs", "runs", *QUIET)
CAMPAIGNS = (
    *("profile", "stress", "many", "precision", "failed", "unfinished", "sim"),
    "m-profile",
)
MATRICES = (
    *("latency", "periodic", "imported", "imported-text", "imported-osadl", "imported-jitter"),
    "m-latency",
)
LOADS = ("load", "load-periodic", "m-load")
STUDIES = ("study", "thesis-fig2")
EVERY = (*CAMPAIGNS, *MATRICES, *LOADS, "breakdown", "damaged", *STUDIES)
SIDES = ("latency", "latency-b")
#: What takes a second or more, or resembles another row.
SLOW = {
    *("show-many", "report-many", "observe-simulated"),
    *("study-thesis-fig4", "profile-precision"),
    *("verdicts-loaded-vm", "show-imported-text", "profile-sim"),
    *("profile-simulated", "compare-many", "report-stress"),
    *("verdicts-latency-vm-busy", "verdicts-latency-made-up-stalls", "verdicts-load-made-up-rare"),
    *("compare-latency-cpus", "compare-latency-metric", "compare-other-programs"),
    *("study-stored-thesis-fig2", "profile-file"),
}


def _rows() -> list[Row]:
    def row(name: str, *words: str, **more: Any) -> Row:
        return Row(name, words, slow=name in SLOW, **more)

    rows = [row("runs", "list", *SAME, folders=EVERY)]
    for name in (*CAMPAIGNS, *MATRICES, *LOADS, "breakdown"):
        rows.append(row(f"show-{name}", "show", name, *SAME, folders=(name,)))
        written = (f"runs/{name}/*.csv", f"runs/{name}/report.html")
        written += ("runs/profile/sets.json",) * (name == "profile")
        rows.append(row(f"report-{name}", "page", name, *NEW, folders=(name,), files=written))
    rows.append(row("show-damaged", "show", "damaged", *SAME, folders=("damaged",)))
    for name in ("profile", "m-profile", "m-latency"):
        rows.append(row(f"why-{name}", "why", name, *SAME, folders=(name,)))
    rows.append(Row("predict", (), call=prediction, slow=True))
    rows += [*_comparisons(row), *_runs(row), *_machine(row), *_scheduling(row)]
    return rows


def prediction() -> Any:
    """The task sets of the made-up machine predicted from their prices, on more cores too."""
    fragments = "matmul,pointer_chase,atomic_line"
    with tempfile.TemporaryDirectory() as runs:
        sets = {"cores": 2, "sets": 20, "deadline_factor": 2, "contended_ratio": "0,1"}
        deadbeat.ask(
            "contention",
            random=True,
            name="s",
            fragments=fragments,
            simulated=True,
            runs=runs,
            **sets,
        )
        found = deadbeat.ask("predict", "s", cores="4,8", runs=runs)
    del found["results"]["report"]
    return dict(found)


def _comparisons(row: Any) -> list[Row]:
    def compare(name: str, *words: str, files: tuple[str, ...] = ()) -> Row:
        folders = tuple(word for word in words if not word.startswith("-") and "=" not in word)
        return row(name, "compare", *words, *NEW, folders=folders, files=files)

    compared = ("runs/compare*/*.csv", "runs/compare*/*.html")
    return [
        compare("compare-profile", "profile", "profile-b", files=compared),
        row("compare-profile-aa", "compare", "profile", "profile-b", "--aa", "profile-aa", *NEW,
            folders=("profile", "profile-b", "profile-aa")),
        compare("compare-many", "many", "many-b"),
        compare("compare-stress", "stress", "stress-b", files=compared),
        compare("compare-latency", *SIDES, files=compared),
        row("compare-latency-aa", "compare", *SIDES, "--aa", "latency-aa", *NEW,
            folders=(*SIDES, "latency-aa")),
        compare("compare-latency-cpus", *SIDES, "--per-cpu"),
        compare("compare-latency-metric", *SIDES, "--metric=p99", "--fail-on=undecided"),
        compare("compare-load", "load", "load-b", files=compared),
        compare("compare-other-programs", "profile", "many"),
        compare("compare-kinds", "profile", "latency"),
        compare("compare-hardened", "plain", "hardened"),
        *(Row(f"verdicts-{name}", (), slow=f"verdicts-{name}" in SLOW,
              call=lambda name=name: pool_verdicts(name)) for name in POOLS),
        row("observe-many", "observe", "1..6", "--from", "many", *NEW, folders=("many",)),
        row("observe-kernels", "observe", "7..9", "--from", "many", "many-b", *NEW,
            folders=("many", "many-b")),
        row("observe-stress", "observe", "all", "--from", "stress", "profile", *NEW,
            folders=("stress", "profile")),
        row("observe-simulated", "observe", "1", "6", "--quick", "--simulated", *NEW),
    ]  # fmt: skip


POOLS = ("vm", "loaded-vm", "latency-vm", "latency-vm-busy", "latency-made-up-stalls",
         "load-made-up", "load-made-up-rare")  # fmt: skip


def pool_verdicts(name: str) -> Any:
    """Verdicts of a few comparisons drawn from a recorded pool, without and with an effect."""
    kinds = {"latency": "latency", "load": "interference"}
    kind = kinds.get(name.partition("-")[0], "contention")
    pool = read_pool(HERE.parent / "pools" / "aa" / f"{name}.json")
    judge = judge_of(options_of(kind, ungated=True), cells_of(pool))
    asked = {"comparisons": 10, "seed": 11, "judge": judge}
    found = {
        "nothing": verdicts(pool, **asked),
        "half again": verdicts(pool, **asked, effect=lambda cell: 0.5),
        "a tenth, gated": verdicts(pool, **asked, effect=lambda cell: 0.1, repeats=1),
    }
    if len(pool.sides) >= 3:
        found["sessions, gated"] = verdicts(pool, **asked, repeats=1, drawing=draw_sessions)
    return {question: dict(sorted(rates.verdicts.items())) for question, rates in found.items()}


def _runs(row: Any) -> list[Row]:
    made_up = ("--simulated", *NEW)
    small = ("--sync-share=0,0.5", "--contended-ratio=0,1", "--duration=60ms", "--set=pool=quick")
    study = ("--processors=2", "--tasks=4,6", "--utilisation=0.6,0.9", "--policy=g-edf,p-edf")
    written = ("runs/*/*.csv",)
    return [
        row("profile-simulated", "contention", "--quick", *made_up),
        row("profile-small", "contention", "--cores=1,2", "--sets=2", *small, *made_up,
            files=written),
        row("profile-precision", "contention", "--cores=1,2", *small, "--precision=0.1",
            "--set=sets-min=5", "--set=sets-max=8", *made_up),
        row("profile-sim", "contention", "--cores=1,2", "--sets=2", *small, *NEW,
            "--executor=sim:cores=2"),
        row("profile-file", "contention", "--file=examples/contention.toml", "--sets=1",
            "--cores=1,2", "--duration=60ms", *made_up),
        row("stress-simulated", "contention", "--random", "--quick", "--sets=5", *made_up,
            files=written),
        row("stress-file", "contention", "--random", "--file=examples/random-sets.toml", "--sets=5",
            "--cores=2", "--duration=60ms", *made_up),
        row("breakdown-simulated", "breakdown", "--quick", "--cores=2", "--sets=2", "--set=steps=3",
            *made_up, files=written),
        row("latency-simulated", "latency", "--quick", *made_up, files=("runs/*/latency.csv",)),
        row("latency-file", "latency", "--file=examples/latency.toml", "--duration=1s",
            "--repeats=2", *made_up),
        row("latency-import", "import", "imports/osadl.json", *NEW),
        row("load-simulated", "load", "--quick", *made_up, files=written),
        row("load-periodic-simulated", "load", "--set=form=periodic", "--set=normal=0,2",
            "--repeats=3", "--remedies=none", *made_up),
        row("study-sweep", "sched", "study", *study, "--test=gfb,rta-edf", "--sets=12",
            "--set=metrics=true", *NEW, files=(*written, "runs/*/report.html")),
        *(row(f"study-{name}", "sched", "study", name, "--sets=1", *NEW)
          for name in ("thesis-fig1", "thesis-fig4")),
        *(row(f"study-stored-{name}", "sched", "study", *words, *NEW, folders=(name,),
              files=written)
          for name, words in {
              "study": (*study, "--test=gfb,rta-edf", "--sets=12", "--set=metrics=true"),
              "thesis-fig2": ("thesis-fig2", "--sets=3"),
          }.items()),
        row("calibrate-simulated", "contention", "--calibrate", *made_up[:-2], "--json",
            "--out=c.json"),
        row("selftest-simulated", "doctor", "--prove", "--simulated", "--json"),
    ]  # fmt: skip


def _machine(row: Any) -> list[Row]:
    def doctor(tree: str, *words: str) -> Row:
        name = "-".join(("doctor", tree, *(word.strip("-").split("=")[-1] for word in words)))
        return row(name, "doctor", *words, "--json", tree=tree)

    def tune(name: str, *words: str, tree: str = "vm") -> Row:
        return row(f"tune-{name}", "tune", *words, "--root=tree", "--json", tree=tree)

    return [
        *(doctor(tree) for tree in ("vm", "pass", "fail", "bare")),
        doctor("fail", "--only=kernel", "--only=memory"),
        row("tune-list", "list", "knobs", "--json"),
        tune("status", "status"),
        *(tune(f"plan-{tree}", "apply", "realtime", "--dry-run", tree=tree)
          for tree in ("vm", "pass")),
        row("explain", "list", "findings", "--json"),
        row("explain-one", "show", "load-starved", "--json"),
        row("fragments", "list", "fragments", "--simulated", *SAME),
    ]  # fmt: skip


def _scheduling(row: Any) -> list[Row]:
    rows = [row(f"sched-{what}", "list", what, "--json") for what in ("policies", "tests")]
    for name in ("dhall", "ties", "vehicle", "sporadic-not-sync"):
        file = f"examples/sched/{name}.json"
        rows += [
            row(f"sched-analyze-{name}", "sched", "analyze", file, "--simulate", "--json",
                volatile=("seconds",)),
            row(f"sched-convert-{name}", "sched", "convert", file, "-"),
            *(row(f"sched-simulate-{name}-{policy}", "sched", "simulate", file,
                  f"--policy={policy}", "--ties=all", "--json")
              for policy in ("g-edf", "g-fp", "p-edf")),
        ]  # fmt: skip
    drawn = ("sched", "generate", "--count=3", "--tasks=5", "--processors=2", "--utilisation=1.5")
    rows += [
        row("sched-generate", *drawn),
        row("sched-generate-others", *drawn, "--set=deadlines=constrained", "--set=offsets=uniform",
            "--utilisations=uniform", "--periods=log-uniform", "--set=period-min=10",
            "--set=period-max=99"),
        row("sched-simulate-costs", "sched", "simulate", "examples/sched/vehicle.json",
            "--set=cost-context-switch=1", "--set=cost-migration=2", "--json"),
    ]  # fmt: skip
    return rows


ROWS = _rows()


def renew(names: Sequence[str], decision: str, like: str = "") -> int:
    """Say what differs in the rows ``names``, and renew them; without names: in all whose name
    contains ``like``, and add new rows."""
    kept = json.loads(MANIFEST.read_text(encoding="utf-8")) if MANIFEST.exists() else {}
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        stored = unpack(Path(folder) / "stored")
        for row in (r for r in ROWS if (r.name in names if names else like in r.name)):
            work = Path(folder) / row.name
            work.mkdir()
            then = golden(row.name) if row.name in kept else None
            answer = play(row, stored, work, None if names else then)
            if then is not None:
                for line in differences(answer, then):
                    print(f"{row.name}{line}")
                if not names:
                    continue
                if differences(skeleton(answer), skeleton(then)):
                    if not decision:
                        print(f"{row.name}: not only words changed: --decision", file=sys.stderr)
                        status = 1
                        continue
                    kept[row.name]["decision"] = decision
            kept.setdefault(row.name, {"decision": ""})["skeleton"] = checksum(answer)
            text = json.dumps(answer, indent=1, sort_keys=True, ensure_ascii=False)
            (ANSWERS / f"{row.name}.json").write_text(f"{text}\n", encoding="utf-8")
    MANIFEST.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--decision", default="", metavar="NUMBER")
    parser.add_argument("--like", default="", metavar="TEXT")
    asked = parser.parse_args()
    sys.exit(renew(asked.rows, asked.decision, asked.like))
