"""What the journal of changed settings says to whoever is about to measure a machine; pure.

A change that is meant to last (``deadbeat tune apply``) is recorded with the results. One that a
process holds for a while (a remedy of a load test) must not be measured by anybody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from deadbeat.model.errors import TargetError
from deadbeat.model.platform import Platform
from deadbeat.model.tuning import Standing
from deadbeat.settings.journal import Journal
from deadbeat.settings.owner import owner_of
from deadbeat.targets.base import Target

#: Key of a platform's details: what was tuned on purpose, or why that is not known.
TUNED = "tuned"
#: Nothing of such a change is left.
_OVER = ("back", "reset")


def refuse_unsettled(standing: Sequence[Standing]) -> None:
    """Lets nobody measure what another measurement has changed for itself.

    Raises:
        TargetError: One that was killed left a setting changed, or one holds it right now.
    """
    held = [
        (each, owner)
        for each in standing
        for owner in (owner_of(each.reason),)
        if owner.process is not None and each.stand not in _OVER
    ]
    if not held:
        return
    first, owner = next((pair for pair in held if pair[1].lives), held[0])
    more = f" and {len(held) - 1} more" if len(held) > 1 else ""
    if owner.lives:
        raise TargetError(
            f"{owner.reason} has changed {first.path}{more} for itself (process {owner.process})",
            "wait for it to end",
        )
    raise TargetError(
        f"{first.path}{more} was left changed by a measurement that was killed ({owner.reason}):"
        f" {first.now}, and {first.old} before",
        "deadbeat tune revert puts everything back",
    )


def tuned(standing: Sequence[Standing]) -> list[str]:
    """What is changed on purpose, in words."""
    return sorted(
        f"{each.path} = {each.now} (was {each.old}): {each.reason}"
        for each in standing
        if each.stand not in (*_OVER, "gone") and owner_of(each.reason).process is None
    )


def with_tuning(platform: Platform, target: Target) -> Platform:
    """``platform`` with what was tuned on purpose.

    Raises:
        TargetError: See `refuse_unsettled`.
    """
    try:
        standing = Journal(target).status()
    except TargetError as error:
        found: Any = f"unknown: {error}"
    else:
        refuse_unsettled(standing)
        found = tuned(standing)
    return attrs.evolve(platform, details={**platform.details, TUNED: found})


def differently_tuned(then: Platform, now: Platform) -> str:
    """What differs between what two platforms were tuned to, in words; "" where nothing does, or
    where it is not known."""
    before, after = then.details.get(TUNED), now.details.get(TUNED)
    if not isinstance(before, list) or not isinstance(after, list) or before == after:
        return ""
    gone = [f"no longer {each}" for each in before if each not in after]
    new = [f"now {each}" for each in after if each not in before]
    return "; ".join([*gone, *new])


def elsewhere(there: Platform, here: Platform) -> Iterator[str]:
    """Why what was begun on one platform is not continued on another, as predicates; nothing where
    it may be."""
    begun = (there.name, there.machine, there.kernel)
    if begun != (here.name, here.machine, here.kernel):
        yield f"was begun on another machine or kernel: {there.name}, {there.kernel}"
    elif there.fingerprint != here.fingerprint:
        yield "was begun with other hardware, frequency policy or toolchain"
    if tuning := differently_tuned(there, here):
        yield f"was begun with other settings of the machine: {tuning}"
