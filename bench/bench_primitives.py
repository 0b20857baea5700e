"""What a sample of a primitive costs, and events against the tools of rt-tests, by turns."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from contextlib import closing
from math import exp, log
from pathlib import Path
from statistics import mean, stdev

from attrs import evolve
from common import report

from deadbeat.executors.hardware import HardwareExecutor
from deadbeat.kinds.primitives.cases import PrimitiveCase, PrimitiveKey, resolved
from deadbeat.kinds.primitives.engine import HardwarePrimitives
from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.model.histogram import from_counts
from deadbeat.model.specification import read
from deadbeat.targets.local import LocalTarget

#: Rounds of turns about, and milliseconds of each turn: as many events.
ROUNDS = int(os.environ.get("DEADBEAT_ROUNDS", "12"))
EVENTS = 1000
PRIORITY = 31
#: Their tool -> our variant of the same mechanism.
PEERS = {"ptsematest": "mutex", "pmqtest": "mq", "sigwaittest": "sigwait", "svsematest": "sysv"}
CPU = max(os.sched_getaffinity(0))


def sample_cost(target: LocalTarget) -> None:
    """In many processes; each is the fastest of many turns within one."""
    engine = HardwarePrimitives(target)
    spec = evolve(resolved(read(PrimitivesSpec, {}, {}), engine.machine()), seconds=0.02)
    key = PrimitiveKey(PrimitiveCase("clock", "", 0, "one"), 1)
    costs = [engine.run(spec, key).sample_cost_ps / 1000 for _ in range(10)]
    name = "cost of a sample above a bare loop with two clock reads"
    report(name, "<= 30 ns", max(costs), "ns", {"least": min(costs)})


def theirs(tool: str, folder: Path) -> float:
    """Mean latency, µs; they cut both ends of each off to whole µs."""
    out = folder / "peer.json"
    words = (tool, "-q", "-a", CPU, "-l", EVENTS, "-i", 1000, "-p", PRIORITY, f"--json={out}")
    subprocess.run([str(word) for word in words], check=True, capture_output=True, timeout=60)
    threads = json.loads(out.read_text())["thread"]
    return float(threads["0"]["receiver"]["avg"])


def ours(variant: str, executor: HardwareExecutor, folder: str, target: LocalTarget) -> float:
    """Mean latency, µs: same CPU, same priority of both, the handler pauses as theirs does."""
    out = f"{folder}/event"
    options = {
        "--primitive": "event",
        "--variant": variant,
        "--cpus": f"{CPU},{CPU}",
        "--priority": str(PRIORITY),
        "--second-priority": str(PRIORITY),
        "--period-ns": str(10**6),
        "--seconds-ns": str(EVENTS * 10**6),
        "--amount": "1",
        "--out": out,
    }
    for _ in executor.converse("primitive", "fifo", options, timeout=60):
        pass
    plain = json.loads(target.read_text(out) or "")
    found = from_counts(plain["threads"][1]["times"])
    return found.sum_ns / found.total / 1000


def main() -> None:
    """A busy hour meets both alike, and widens the ratio."""
    with closing(LocalTarget()) as target, tempfile.TemporaryDirectory() as name:
        sample_cost(target)
        executor = HardwareExecutor(target=target)
        for tool, variant in PEERS.items():
            if not shutil.which(tool):
                print(json.dumps({"name": tool, "missing": "install rt-tests"}))
                continue
            ratios = []
            for turn in range(ROUNDS):
                took = {}
                for side in sorted(("ours", "theirs"), reverse=bool(turn % 2)):
                    took[side] = (
                        ours(variant, executor, target.folder, target)
                        if side == "ours"
                        else theirs(tool, Path(name))
                    )
                ratios.append(log(took["ours"] / took["theirs"]))
            middle, error = mean(ratios), stdev(ratios) / len(ratios) ** 0.5
            more = {"low": exp(middle - 2.2 * error), "high": exp(middle + 2.2 * error)}
            name_ = f"event by {variant} against {tool}, mean latency"
            report(name_, "0.95 to 1.05", round(exp(middle), 4), "ratio", more)


if __name__ == "__main__":
    main()
