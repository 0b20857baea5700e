"""Whether two campaigns ran the identical programs, and what else differs between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from deadbeat.compare.standing import Standing, standing_of
from deadbeat.kinds.contention.view import CampaignView
from deadbeat.model.errors import UsageError
from deadbeat.model.finding import Finding
from deadbeat.model.results import RunKey
from deadbeat.settings.standing import TUNED

_KEYS_SHOWN, _PARAMETERS_SHOWN, _TUNED_SHOWN = 3, 8, 12
#: Parameters that say how a campaign was carried out, not what it measured; an earlier version had
#: [quiet].
_OWN = ("name", "preset", "cpus", "calibration", "quiet")
#: Settings under which the same program is another measurement.
_HOW = ("policy", "overrun", "layout", "seconds", "slot_periods", "warmup_jobs", "split")
#: What of a machine is set side by side; what changes from minute to minute is not.
_PLATFORM = ("name", "kind", "machine", "soc", "kernel", "preemption", "governor", "toolchain")
_DETAILS = (
    "cmdline",
    "clocksource",
    "cpus_online",
    "isolated",
    "nohz_full",
    "rt_runtime_us",
    "rt_period_us",
    "frequency_khz",
    "fair_server_runtime_ns",
    "virtual",
)


def require_identical(
    baseline: CampaignView, other: CampaignView, *, partial: bool = False
) -> tuple[Finding, ...]:
    """What to know of the pairing of two campaigns of the identical programs.

    Args:
        partial: Also campaigns that are unfinished; a finding says so.

    Raises:
        UsageError: They are not: how many programs differ, which first, and which parameters. Or
            one is unfinished.
        DataError: A file is damaged.
    """
    for view in (baseline, other):
        require_runs(view)
    if baseline.store.path.resolve() == other.store.path.resolve():
        raise UsageError(
            f"{name_of(other)} is compared with itself", "name another campaign of its programs"
        )
    one, two = standing_of(baseline), standing_of(other)
    mine, theirs = _set_ids(baseline), _set_ids(other)
    shared = sorted(mine.keys() & theirs.keys())
    changed = [key for key in shared if mine[key] != theirs[key]]
    alone = one.planned ^ two.planned
    if changed or alone or not shared:
        raise _refusal(baseline, other, changed, shared=len(shared))
    _require_executables(baseline, other, shared)
    sides = ((baseline, one), (other, two))
    if not partial:
        _require_finished(sides)
    return (*_unfinished(sides), *_unpaired(sides), *_other_settings(baseline, other))


def unfinished(view: CampaignView) -> bool:
    """Whether runs of the campaign are still to come."""
    return bool(standing_of(view).left)


def require_runs(view: CampaignView) -> None:
    """Raises UsageError for a campaign without a single finished run."""
    if not view.keys:
        raise UsageError(
            f"{view.store.path} has no finished run: there is nothing to compare",
            "repeat the command that began it, or name another campaign",
        )


def name_of(view: CampaignView) -> str:
    return view.store.path.resolve().name


def _set_ids(view: CampaignView) -> dict[RunKey, str]:
    """Identifier of every planned task set; from the results where the plan does not record it."""
    ids = {key: found for key, found in view.store.set_ids().items() if found}
    missing = [key for key in view.keys if key not in ids]
    return ids | {key: view.store.table(key).set_id for key in missing}


def programs_from(view: CampaignView) -> str:
    """The command that runs the programs of ``view``."""
    verb = "stress" if view.store.spec.get("mode") == "stress" else "profile"
    return f"deadbeat {verb} --programs-from {name_of(view)}"


def _own_programs(view: CampaignView) -> str:
    return f"run the baseline's own programs: {programs_from(view)}"


def _refusal(
    baseline: CampaignView, other: CampaignView, changed: list[RunKey], *, shared: int
) -> UsageError:
    one, two = name_of(baseline), name_of(other)
    parameters = spec_differences(baseline, other)
    mine, theirs = standing_of(baseline).planned, standing_of(other).planned
    if mine & theirs:
        every = len(mine | theirs)
        parts = [f"{len(changed)} of {shared} task sets differ ({_some(changed)})"]
        parts = parts if changed else []
        parts += [
            f"{len(keys)} of {every} task sets are planned in {name} alone ({_some(sorted(keys))})"
            for name, keys in ((one, mine - theirs), (two, theirs - mine))
            if keys
        ]
        parts = parts or ["no task set was built on both sides yet"]
        message = f"{one} and {two} are not of the same programs: {'; '.join(parts)}"
    else:
        message = f"{one} and {two} have no program in common"
    told = [f"{line} ({one} | {two})" for line in parameters[:_PARAMETERS_SHOWN]]
    if len(parameters) > _PARAMETERS_SHOWN:
        told.append(f"and {len(parameters) - _PARAMETERS_SHOWN} more parameters")
    if not parameters:
        told.append(
            "the parameters are the same: each was calibrated by itself, so the same seed made"
            " other task sets"
        )
    return UsageError(message, _own_programs(baseline), tuple(told))


def _some(keys: list[RunKey]) -> str:
    """The first of them."""
    names = ", ".join(key.text for key in keys[:_KEYS_SHOWN])
    return names + (", ..." if len(keys) > _KEYS_SHOWN else "")


def _require_executables(baseline: CampaignView, other: CampaignView, shared: list[RunKey]) -> None:
    """Raises UsageError where the same task sets were built into other executables."""
    mine, theirs = _executables(baseline), _executables(other)
    both = [key for key in shared if key in mine and key in theirs]
    wrong = [
        key
        for key in both
        # Only programs of the same task sets can be the same file.
        if mine[key][1] == theirs[key][1] and mine[key][0] != theirs[key][0]
    ]
    if wrong:
        one, two = name_of(baseline), name_of(other)
        raise UsageError(
            f"{one} and {two} have the same task sets in other executables: {len(wrong)} of"
            f" {len(both)} runs ({_some(wrong)}); compiler, flags, runtime or fragments differ",
            _own_programs(baseline),
            tuple(line for line in platform_differences(baseline, other) if "toolchain" in line),
        )


def _executables(view: CampaignView) -> dict[RunKey, tuple[str, tuple[RunKey, ...]]]:
    """Run -> hash of its executable, and all the runs in it; only those that are stored."""
    found: dict[RunKey, tuple[str, tuple[RunKey, ...]]] = {}
    for program in view.store.programs():
        if program.elf is not None:
            digest = _digest(program.elf)
            found |= dict.fromkeys(program.keys, (digest, program.keys))
    return found


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


Sides = tuple[tuple[CampaignView, Standing], tuple[CampaignView, Standing]]


def _require_finished(sides: Sides) -> None:
    """Raises UsageError where a campaign still has runs to come."""
    open_ = [_left(view, found) for view, found in sides if found.left]
    if open_:
        raise UsageError(
            "; ".join(open_),
            f"repeat the command that began {'it: it continues' if len(open_) < 2 else 'each'};"
            " deadbeat compare --partial takes what is there, and labels it",
        )


def _left(view: CampaignView, found: Standing) -> str:
    most = "" if found.decided else "up to "
    return (
        f"{name_of(view)} is unfinished: {most}{len(found.left)} of {len(found.planned)} programs"
        " are not run yet"
    )


def _unfinished(sides: Sides) -> Iterator[Finding]:
    paired = len(sides[0][1].done & sides[1][1].done)
    for view, found in sides:
        if found.left:
            yield Finding(
                id="campaign-unfinished",
                severity="serious",
                message=f"{_left(view, found)}: compared are {paired} programs",
                cure="repeat the command that began it, it continues; then compare again",
                where=name_of(view),
            )


def _unpaired(sides: Sides) -> Iterator[Finding]:
    """Programs that are over but have no result on both sides."""
    (baseline, one), (other, two) = sides
    paired, planned = one.done & two.done, one.planned
    if not paired:
        raise UsageError(
            f"{name_of(baseline)} and {name_of(other)} have the same programs but no run with a"
            " result on both sides",
            "deadbeat show tells why runs failed; repeat the command with --retry-failed",
        )
    failed = one.failed | two.failed
    if failed:
        lacking = [f"{len(s.failed)} in {name_of(view)}" for view, s in sides if s.failed]
        names = " and ".join(name_of(view) for view, s in sides if s.failed)
        yield Finding(
            id="unpaired-runs",
            severity="warning" if len(failed) * 5 > len(planned) else "info",
            message=f"{len(failed)} of {len(planned)} programs failed"
            f" ({', '.join(lacking)}): compared are {len(paired)}",
            cure=f"deadbeat show tells why; repeat the command of {names} with --retry-failed",
        )
    once = (one.done & two.unwanted) | (two.done & one.unwanted)
    if once:
        yield Finding(
            id="unpaired-runs",
            severity="info",
            message=f"{len(once)} programs ran on one side only, since the other knew their points"
            f" well enough before (--precision): compared are {len(paired)}",
        )


def _other_settings(baseline: CampaignView, other: CampaignView) -> Iterator[Finding]:
    one, two = name_of(baseline), name_of(other)
    different = [
        f"run.{key}: {mine_} | {theirs_}"
        for key in _HOW
        if (mine_ := _run(baseline).get(key)) != (theirs_ := _run(other).get(key))
    ]
    if different:
        yield Finding(
            id="run-settings-differ",
            severity="serious",
            message=f"{one} and {two} were run with other settings: {'; '.join(different)}",
            cure="run both with the same settings; the difference may be theirs",
        )


def _run(view: CampaignView) -> Mapping[str, Any]:
    found = view.store.spec.get("run")
    return found if isinstance(found, Mapping) else {}


def spec_differences(baseline: CampaignView, other: CampaignView) -> list[str]:
    """``path: A's value | B's value`` for every parameter that makes a task set or a run."""
    mine, theirs = (
        {key: value for key, value in view.store.spec.items() if key not in _OWN}
        for view in (baseline, other)
    )
    return list(_differing(mine, theirs, ""))


def _differing(one: Mapping[str, Any], two: Mapping[str, Any], path: str) -> Iterator[str]:
    for key in sorted(one.keys() | two.keys()):
        a, b = one.get(key), two.get(key)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            yield from _differing(a, b, f"{path}{key}.")
        elif a != b:
            yield f"{path}{key}: {_short(a, 'not set')} | {_short(b, 'not set')}"


def platform_of(view: CampaignView) -> Mapping[str, Any]:
    """Where the campaign ran, as stored in its summary; empty if it is not known."""
    found = view.summary.meta.get("platform")
    return found if isinstance(found, Mapping) else {}


def platform_differences(baseline: CampaignView, other: CampaignView) -> list[str]:
    """``what: A's value | B's value`` for what the machines and kernels differ in."""
    return differing_platforms(platform_of(baseline), platform_of(other))


def differing_platforms(one: Mapping[str, Any], two: Mapping[str, Any]) -> list[str]:
    """The same of two platforms as JSON values."""
    rows = [(key, one.get(key), two.get(key)) for key in _PLATFORM]
    details = [side.get("details") or {} for side in (one, two)]
    rows += [(key, details[0].get(key), details[1].get(key)) for key in _DETAILS]
    rows.append(("flags", one.get("flags"), two.get("flags")))
    rows.append(("cpus", one.get("cpus"), two.get("cpus")))
    found = [f"{key}: {_short(a)} | {_short(b)}" for key, a, b in rows if a != b]
    return found + _tuned_differently(*(side.get(TUNED) for side in details))


def _tuned_differently(one: Any, two: Any) -> list[str]:
    """The same of settings that were tuned on purpose, where both sides know theirs."""
    if not isinstance(one, list) or not isinstance(two, list):
        return []
    sides = [dict(str(each).split(" = ", 1) for each in side) for side in (one, two)]
    paths = [
        path
        for path in sorted(sides[0].keys() | sides[1].keys())
        if sides[0].get(path) != sides[1].get(path)
    ]
    lines = [
        f"{path}: {' | '.join(_short(side.get(path), 'not tuned') for side in sides)}"
        for path in paths[:_TUNED_SHOWN]
    ]
    more = len(paths) - len(lines)
    return [*lines, f"tuned: and {more} more settings"] if more else lines


def _short(value: Any, nothing: str = "not known") -> str:
    text = nothing if value is None else str(value)
    return text if len(text) <= 100 else text[:97] + "..."
