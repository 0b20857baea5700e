"""A command that speaks the format of primitives (docs/reference/primitives-format.md)."""

from __future__ import annotations

import json

from attrs import evolve

from deadbeat.kinds.primitives.runtimes import EXTERNAL, External, known_to_external
from deadbeat.kinds.primitives.spec import PrimitivesSpec
from deadbeat.model.errors import UsageError
from deadbeat.targets.base import Target

_VERSION = 1
_PROBE_S = 60.0


def of(spec: PrimitivesSpec, name: str) -> External:
    """The one of that name.

    Raises:
        UsageError: There is none.
    """
    for each in spec.external:
        if each.name == name:
            return each
    raise UsageError(f"nobody says what {EXTERNAL}:{name} is", f"give --external {name}=COMMAND")


def probed(external: External, target: Target) -> External:
    """With what it does, as it lists itself.

    Raises:
        UsageError: It does not start, or its list is not understood.
    """
    who = f"{EXTERNAL}:{external.name}"
    done = target.run((*external.argv, "--list"), timeout=_PROBE_S)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        words = lines[-1] if lines else "it said nothing"
        hint = f"try it: {external.command} --list"
        raise UsageError(f"{who} ended with status {done.returncode}: {words[:200]}", hint)
    try:
        plain = json.loads(done.stdout)
        if plain["version"] != _VERSION:
            raise ValueError(f"version {plain['version']}, not {_VERSION}")
        return evolve(external, does=known_to_external(plain["primitives"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        hint = "see docs/reference/primitives-format.md"
        raise UsageError(f"{who}: what it lists is not understood: {error}", hint) from error
