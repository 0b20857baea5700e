"""What ``deadbeat targets`` does."""

from __future__ import annotations

import attrs

from deadbeat.catalog import load_catalog
from deadbeat.cli._output import table
from deadbeat.executors.abilities import RUNS_AS, Ability, abilities
from deadbeat.kinds.base import Shown
from deadbeat.model.errors import TargetError
from deadbeat.model.platform import target_option
from deadbeat.targets.opening import open_target

_WORDS = {True: "yes", False: "no", None: "?"}


def check(*, name: str, cross: str | None) -> Shown:
    try:
        with open_target(name) as target:
            found = abilities(target, load_catalog(), cross=cross)
    except TargetError as error:  # the answer, not a failure to give one
        found = [Ability("connection", False, error.message, error.hint, needed=True)]
    lacking = [each.what for each in found if each.needed and each.can is False]
    if lacking:
        sentence = f"{name} cannot be measured: {', '.join(lacking)}"
    else:
        other = any(each.found == RUNS_AS + "other" for each in found)
        quick = "deadbeat latency --quick" + " --policy other" * other
        sentence = f"{name} can be measured: {quick}{target_option(name)}"
    rows = [(each.what, _WORDS[each.can], each.found, each.cure) for each in found]
    return Shown(
        kind="targets",
        headline=sentence,
        plain={
            "target": name,
            "measures": not lacking,
            "abilities": [attrs.asdict(each) for each in found],
        },
        parts=[
            table(("what", "can", "found", "how to mend it"), rows, whole=("what", "can")),
            sentence,
        ],
        status=1 if lacking else 0,
    )
