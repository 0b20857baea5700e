"""``python -m deadbeat.sched analyze FILE``: answers of the library where it is installed alone.

With numpy and attrs; ``deadbeat sched``, of the whole tool, says more and takes more options.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator

from deadbeat.base.model.errors import DeadbeatError
from deadbeat.sched.analysis import analyze
from deadbeat.sched.answer import answer_of
from deadbeat.sched.files import BYTES_MAX, load_task_system, parse_task_system
from deadbeat.sched.simulator import Scheduler, simulate
from deadbeat.sched.words import headline_of, proof_of, spoken_of, verdict_lines


def main(words: list[str] | None = None) -> int:
    """Runs the command of ``words``; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m deadbeat.sched")
    verbs = parser.add_subparsers(dest="verb", required=True)
    analyzed = verbs.add_parser("analyze", help="run schedulability tests")
    simulated = verbs.add_parser("simulate", help="simulate under one policy")
    simulated.add_argument("--policy", help="as in deadbeat.sched.policies()")
    for each in (analyzed, simulated):
        each.add_argument("file", metavar="FILE", help="task system: JSON, CSV or of another tool")
        each.add_argument("--processors", type=int, help="instead of the file's")
    asked = parser.parse_args(words)
    try:
        print(*_lines(asked), sep="\n")
    except DeadbeatError as error:
        print(f"deadbeat: error: {error}", file=sys.stderr)
        return error.exit_status
    return 0


def _lines(asked: argparse.Namespace) -> Iterator[str]:
    if asked.file == "-":
        data = sys.stdin.buffer.read(BYTES_MAX)
        loaded = parse_task_system(data, source="standard input", processors=asked.processors)
    else:
        loaded = load_task_system(asked.file, processors=asked.processors)
    yield from loaded.remarks
    if asked.verb == "analyze":
        analysis = analyze(loaded.system)
        yield headline_of(analysis)
        yield from (f"{name}: {proof_of(analysis, name)}" for name in spoken_of(analysis))
    else:
        policy = asked.policy or ("p-fp" if loaded.system.beyond else "g-edf")
        verdict = simulate(loaded.system, Scheduler(policy=policy))
        yield from verdict_lines(answer_of(loaded.system, verdict))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the core looks at no signal
    sys.exit(main())
