"""Whether two campaigns ran the identical programs, and what else differs between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from deadbeat.analysis.view import CampaignView
from deadbeat.model.errors import UsageError
from deadbeat.model.results import Finding, RunKey

_FROM = "run the baseline's own programs: deadbeat profile --programs-from {name}"
_KEYS_SHOWN, _PARAMETERS_SHOWN = 3, 8
#: Parameters that say how a campaign was carried out, not what it measured.
_OWN = ("name", "preset", "cpus", "calibration", "quiet")
#: Settings under which the same program is another measurement.
_HOW = ("policy", "overrun", "layout", "seconds", "solo_seconds", "windows", "warmup_jobs", "split")
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


def require_identical(baseline: CampaignView, other: CampaignView) -> tuple[Finding, ...]:
    """What to know of the pairing of two campaigns of the identical programs.

    Raises:
        UsageError: They are not: how many programs differ, which first, and which parameters.
        DataError: A file is damaged.
    """
    for view in (baseline, other):
        require_runs(view)
    if baseline.store.path.resolve() == other.store.path.resolve():
        raise UsageError(
            f"{name_of(other)} is compared with itself", "name another campaign of its programs"
        )
    mine, theirs = _set_ids(baseline), _set_ids(other)
    shared = sorted(mine.keys() & theirs.keys())
    changed = [key for key in shared if mine[key] != theirs[key]]
    if changed or not shared:
        raise _refusal(baseline, other, changed, len(shared))
    _require_executables(baseline, other, shared)
    return tuple(_pairing(baseline, other, mine, theirs))


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


def _refusal(
    baseline: CampaignView, other: CampaignView, changed: list[RunKey], shared: int
) -> UsageError:
    one, two = name_of(baseline), name_of(other)
    parameters = spec_differences(baseline, other)
    if changed:
        names = ", ".join(key.text for key in changed[:_KEYS_SHOWN])
        more = ", ..." if len(changed) > _KEYS_SHOWN else ""
        message = (
            f"{one} and {two} are not of the same programs: {len(changed)} of {shared} task sets"
            f" differ ({names}{more})"
        )
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
    return UsageError(message, _FROM.format(name=one), tuple(told))


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
        names = ", ".join(key.text for key in wrong[:_KEYS_SHOWN])
        one, two = name_of(baseline), name_of(other)
        raise UsageError(
            f"{one} and {two} have the same task sets in other executables: {len(wrong)} of"
            f" {len(both)} runs ({names}{', ...' if len(wrong) > _KEYS_SHOWN else ''}); compiler,"
            " flags, runtime or fragments differ",
            _FROM.format(name=one),
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


def _pairing(
    baseline: CampaignView,
    other: CampaignView,
    mine: Mapping[RunKey, str],
    theirs: Mapping[RunKey, str],
) -> Iterator[Finding]:
    one, two = name_of(baseline), name_of(other)
    both = set(baseline.keys) & set(other.keys)
    planned = mine.keys() | theirs.keys()
    if not both:
        raise UsageError(
            f"{one} and {two} have the same programs but no run with a result on both sides",
            "repeat their commands with --retry-failed",
        )
    missing = len(planned) - len(both)
    if missing:
        lacking = [
            f"{len(planned) - len(view.keys)} in {name_of(view)}"
            for view in (baseline, other)
            if len(view.keys) < len(planned)
        ]
        yield Finding(
            id="unpaired-runs",
            severity="warning" if missing * 5 > len(planned) else "info",
            message=f"{missing} of {len(planned)} programs lack a result ({', '.join(lacking)}):"
            f" compared are the other {len(both)}",
            cure="repeat the commands of the campaigns with --retry-failed",
        )
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
            yield f"{path}{key}: {_short(a)} | {_short(b)}"


def platform_of(view: CampaignView) -> Mapping[str, Any]:
    """Where the campaign ran, as stored in its summary; empty if it is not known."""
    found = view.summary.meta.get("platform")
    return found if isinstance(found, Mapping) else {}


def platform_differences(baseline: CampaignView, other: CampaignView) -> list[str]:
    """``what: A's value | B's value`` for what the machines and kernels differ in."""
    one, two = platform_of(baseline), platform_of(other)
    rows = [(key, one.get(key), two.get(key)) for key in _PLATFORM]
    details = [side.get("details") or {} for side in (one, two)]
    rows += [(key, details[0].get(key), details[1].get(key)) for key in _DETAILS]
    rows.append(("flags", one.get("flags"), two.get("flags")))
    rows.append(("cpus", one.get("cpus"), two.get("cpus")))
    return [f"{key}: {_short(a)} | {_short(b)}" for key, a, b in rows if a != b]


def _short(value: Any) -> str:
    text = "not known" if value is None else str(value)
    return text if len(text) <= 100 else text[:97] + "..."
