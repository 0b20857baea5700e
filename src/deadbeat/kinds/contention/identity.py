"""Whether two campaigns ran the identical programs, and what became of every program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from deadbeat.kinds.contention.facts import platform
from deadbeat.kinds.contention.plan import is_complete, plan
from deadbeat.kinds.contention.spec import read_spec
from deadbeat.kinds.contention.view import CampaignView
from deadbeat.model.errors import UsageError
from deadbeat.model.finding import Finding, finding
from deadbeat.model.platform import differing_platforms, shortened
from deadbeat.model.results import RunKey
from deadbeat.model.specification import differing
from deadbeat.model.words import inside
from deadbeat.store.programs import file_hash

_KEYS_SHOWN, _PARAMETERS_SHOWN = 3, 8
#: Parameters that say how a campaign was carried out, not what it measured; an earlier version had
#: [quiet].
_OWN = ("name", "preset", "cpus", "calibration", "quiet")
#: Settings under which the same program is another measurement.
_HOW = ("policy", "overrun", "layout", "seconds", "slot_periods", "warmup_jobs", "split")


@frozen(kw_only=True)
class ProgramStanding:
    """The programs of a campaign by what became of them; each is in one of the four.

    Attributes:
        done: They have a result.
        failed: They failed.
        left: They are not run yet: the campaign is unfinished.
        unwanted: Never run, since their point was known well enough (``--precision``).
        decided: Whether it is known that all of ``left`` will be run.
    """

    done: frozenset[RunKey]
    failed: frozenset[RunKey]
    left: frozenset[RunKey]
    unwanted: frozenset[RunKey]
    decided: bool

    @property
    def planned(self) -> frozenset[RunKey]:
        return self.done | self.failed | self.left | self.unwanted

    @property
    def left_text(self) -> str:
        """``3 of 10 programs are not run yet``; "": it is finished."""
        most = "" if self.decided else "up to "
        many = f"{most}{len(self.left)} of {len(self.planned)} programs"
        return f"{many} are not run yet" if self.left else ""


def standing_of(view: CampaignView) -> ProgramStanding:
    """What became of the programs of ``view``.

    Raises:
        DeadbeatError: Its parameters cannot be read, or a record is damaged.
    """
    store = view.store
    spec = read_spec(store.spec)
    done = frozenset(view.keys)
    failed = frozenset(store.failed()) - done
    others = (store.programs.keys() | frozenset(plan(spec))) - done - failed
    complete = is_complete(spec, store)
    return ProgramStanding(
        done=done,
        failed=failed,
        left=frozenset() if complete else others,
        unwanted=others if complete else frozenset(),
        decided=spec.precision is None,
    )


def name_of(view: CampaignView) -> str:
    return view.store.path.resolve().name


def require_identical(baseline: CampaignView, other: CampaignView) -> tuple[Finding, ...]:
    """What to know of the pairing of two campaigns of the identical programs.

    Raises:
        UsageError: They are not: how many programs differ, which first, and which parameters.
        DataError: A file is damaged.
    """
    one, two = standing_of(baseline), standing_of(other)
    mine, theirs = _set_ids(baseline), _set_ids(other)
    shared = sorted(mine.keys() & theirs.keys())
    changed = [key for key in shared if mine[key] != theirs[key]]
    if changed or one.planned ^ two.planned or not shared:
        raise _refusal(baseline, other, changed, shared=len(shared))
    _require_executables(baseline, other, shared)
    sides = ((baseline, one), (other, two))
    return (*_unfinished(sides), *_unpaired(sides), *_other_settings(baseline, other))


def _set_ids(view: CampaignView) -> dict[RunKey, str]:
    """Identifier of every planned task set; from the results where the plan does not record it."""
    ids = {key: found for key, found in view.store.programs.set_ids().items() if found}
    missing = [key for key in view.keys if key not in ids]
    return ids | {key: view.store.table(key).set_id for key in missing}


def _own_programs(view: CampaignView) -> str:
    verb = "stress" if view.store.spec.get("mode") == "stress" else "profile"
    return f"run the baseline's own programs: deadbeat {verb} --programs-from {name_of(view)}"


def _refusal(
    baseline: CampaignView, other: CampaignView, changed: list[RunKey], *, shared: int
) -> UsageError:
    one, two = name_of(baseline), name_of(other)
    kinds = [str(view.store.spec.get("mode", "profile")) for view in (baseline, other)]
    if kinds[0] != kinds[1]:
        message = f"{one} is of {kinds[0]}, {two} of {kinds[1]}: they have no program in common"
        return UsageError(message, _own_programs(baseline))
    parameters = _differing_specs(baseline, other)
    mine, theirs = standing_of(baseline).planned, standing_of(other).planned
    message = f"{one} and {two} have no program in common"
    if mine & theirs:
        differ = f"{len(changed)} of {shared} task sets differ ({_some(changed)})"
        parts = [differ] if changed else []
        parts += [
            f"{len(keys)} of {len(mine | theirs)} task sets are planned in {name} alone"
            f" ({_some(sorted(keys))})"
            for name, keys in ((one, mine - theirs), (two, theirs - mine))
            if keys
        ]
        parts = parts or ["no task set was built on both sides yet"]
        message = f"{one} and {two} are not of the same programs: {'; '.join(parts)}"
    told = [f"{line} ({one} | {two})" for line in parameters[:_PARAMETERS_SHOWN]]
    if len(parameters) > _PARAMETERS_SHOWN:
        told.append(f"and {len(parameters) - _PARAMETERS_SHOWN} more parameters")
    if not parameters:
        told.append(
            "the parameters are the same: each was calibrated by itself, so the same seed made"
            " other task sets"
        )
    return UsageError(message, _own_programs(baseline), tuple(told))


def _some(keys: Sequence[RunKey]) -> str:
    """The first of them."""
    names = ", ".join(key.text for key in keys[:_KEYS_SHOWN])
    return names + (", ..." if len(keys) > _KEYS_SHOWN else "")


def _require_executables(baseline: CampaignView, other: CampaignView, shared: list[RunKey]) -> None:
    """Raises UsageError where the same task sets were built into other executables."""
    mine, theirs = _executables(baseline), _executables(other)
    both = [key for key in shared if key in mine and key in theirs]
    # Only programs of the same task sets can be the same file.
    wrong = [k for k in both if mine[k][1] == theirs[k][1] and mine[k][0] != theirs[k][0]]
    if wrong:
        lines = differing_platforms(platform(baseline.summary), platform(other.summary))
        raise UsageError(
            f"{name_of(baseline)} and {name_of(other)} have the same task sets in other"
            f" executables: {len(wrong)} of {len(both)} runs ({_some(wrong)}); compiler, flags,"
            " runtime or fragments differ",
            _own_programs(baseline),
            tuple(line for line in lines if "toolchain" in line),
        )


def _executables(view: CampaignView) -> dict[RunKey, tuple[str, tuple[RunKey, ...]]]:
    """Run -> hash of its executable, and all the runs in it; only those that are stored."""
    found: dict[RunKey, tuple[str, tuple[RunKey, ...]]] = {}
    for program in view.store.programs.all():
        if program.elf is not None:
            digest = file_hash(program.elf)
            found |= dict.fromkeys(program.keys, (digest, program.keys))
    return found


Sides = tuple[tuple[CampaignView, ProgramStanding], tuple[CampaignView, ProgramStanding]]


def _unfinished(sides: Sides) -> Iterator[Finding]:
    paired = len(sides[0][1].done & sides[1][1].done)
    for view, found in sides:
        if found.left:
            yield finding(
                "campaign-unfinished",
                f"{name_of(view)} is unfinished ({found.left_text}): only {paired} programs"
                " are compared",
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
            "deadbeat show says why runs failed; repeat the command with --retry",
        )
    failed = one.failed | two.failed
    if failed:
        lacking = [f"{len(s.failed)} in {name_of(view)}" for view, s in sides if s.failed]
        names = " and ".join(name_of(view) for view, s in sides if s.failed)
        yield finding(
            "unpaired-runs",
            f"{len(failed)} of {len(planned)} programs failed"
            f" ({', '.join(lacking)}): only {len(paired)} are compared",
            severity="warning" if len(failed) * 5 > len(planned) else "info",
            cure=f"deadbeat show says why; repeat the command of {names} with --retry",
        )
    once = (one.done & two.unwanted) | (two.done & one.unwanted)
    if once:
        yield finding(
            "unpaired-runs",
            f"{len(once)} programs ran on one side only, because the other knew their"
            f" points well enough before (--precision): only {len(paired)} are compared",
        )


def _other_settings(baseline: CampaignView, other: CampaignView) -> Iterator[Finding]:
    mine, theirs = (inside(view.store.spec, "run") for view in (baseline, other))
    different = [
        f"run.{key}: {mine.get(key)} | {theirs.get(key)}"
        for key in _HOW
        if mine.get(key) != theirs.get(key)
    ]
    if different:
        yield finding(
            "run-settings-differ",
            f"{name_of(baseline)} and {name_of(other)} ran with different settings:"
            f" {'; '.join(different)}",
        )


def _differing_specs(baseline: CampaignView, other: CampaignView) -> list[str]:
    """``path: A's value | B's value`` for every parameter that makes a task set or a run."""
    mine, theirs = (
        {key: value for key, value in view.store.spec.items() if key not in _OWN}
        for view in (baseline, other)
    )
    return [
        f"{path}: {shortened(a, 'not set')} | {shortened(b, 'not set')}"
        for path, a, b in differing(mine, theirs)
    ]
