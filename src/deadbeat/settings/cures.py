"""What ``deadbeat tune`` could do about checks that fail."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from deadbeat.settings.profile import all_profiles, turns


@frozen(kw_only=True)
class Advice:
    """A profile, and what of it would help.

    Attributes:
        profile: Its name.
        knobs: Those that turn while the machine runs and cure one of the checks.
        checks: Those that they cure, in the order in which they failed.
    """

    profile: str
    knobs: tuple[str, ...]
    checks: tuple[str, ...]


def advised(failing: Iterable[str], *, workload: str) -> Advice | None:
    """The profile for ``workload`` against the checks of the ids ``failing``; None: it has no cure.

    Only what comes back exactly: profiles have nothing else, and boot words are left out.
    """
    name = "compute" if workload == "compute" else "realtime"
    wrong = list(failing)
    knobs = [turn.knob for turn in turns(all_profiles()[name].words) if turn.knob.settings]
    helping = [knob for knob in knobs if set(knob.cures) & set(wrong)]
    if not helping:
        return None
    cured = {id for knob in helping for id in knob.cures}
    return Advice(
        profile=name,
        knobs=tuple(knob.name for knob in helping),
        checks=tuple(id for id in wrong if id in cured),
    )
