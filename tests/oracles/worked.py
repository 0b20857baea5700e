"""Worked examples of independent tools for locks and richer task models (worked.jsonl).

All systems were made up for this; ``oracle`` names tool, version and call. ``system`` is in the
format of task-system files, but that locks are numbers, a larger ``priority`` is more urgent and,
of clustered OMLP, ``home`` is the cluster; ``arrivals``: releases in any d units are floor(d /
horizon) times the last k of ``steps``, plus the k of the last step [d', k] with d' <= d mod
horizon. Of ``expected``, lists are in the order of the tasks, null: not bounded; ``accepted``: all
are within their deadlines by that analysis; ``observed_at_least``: worst responses of simulations,
so any sound bound is at least this.
"""

import json
from fnmatch import fnmatch
from pathlib import Path
from typing import Any


def worked(kind: str) -> list[dict[str, Any]]:
    """The examples of an analysis; ``*`` stands for anything."""
    text = Path(__file__).with_name("worked.jsonl").read_text(encoding="utf-8")
    examples = [json.loads(line) for line in text.splitlines()]
    found = [each for each in examples if fnmatch(each["id"], f"{kind}-[0-9]*")]
    assert found, kind
    return found
