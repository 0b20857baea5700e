"""What ``--programs-from RUN`` means to the verbs that run a campaign."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from deadbeat.cli._output import say
from deadbeat.executors.base import Executor
from deadbeat.kinds.contention.place import LATEST, find_campaign, state_of
from deadbeat.kinds.contention.plan import Resolved, resolve
from deadbeat.kinds.contention.programs import cpus_for, origin_of, stored_spec
from deadbeat.model.errors import UsageError
from deadbeat.model.rules import Cpus, Name, RefusedError
from deadbeat.model.specification import usage
from deadbeat.store.campaign import CampaignStore
from deadbeat.store.origin import Origin

OPTION = "--programs-from"
#: Paths of a specification that do not change what is run: these alone may be given beside it.
_FREE = ("name", "cpus", "mode")
#: Options of the verbs that are no part of the specification and contradict it.
_OTHERS = {"campaign_file": "--campaign", "calibration_file": "--calibration"}


@frozen(kw_only=True)
class Borrowed:
    """A campaign that runs another's programs.

    Attributes:
        source: The campaign whose programs they are.
        resolved: The new campaign's specification on this machine.
        origin: Whose programs, with their hashes, and where they run.
    """

    source: CampaignStore
    resolved: Resolved
    origin: Origin


def check_options(options: Mapping[str, Any], names: Mapping[str, str]) -> None:
    """Refuses, by name, every option that contradicts the stored programs.

    Raises:
        UsageError: There is one.
    """
    wrong = sorted({option for path, option in names.items() if path not in _FREE})
    if options.get("quick"):
        wrong = ["--quick" if option == "--preset" else option for option in wrong]
    wrong += [option for key, option in _OTHERS.items() if options.get(key) is not None]
    if wrong:
        raise UsageError(
            f"{', '.join(wrong)} and {OPTION} exclude each other: the programs and how they are run"
            " are those of the campaign it names",
            f"drop {'them' if len(wrong) > 1 else 'it'}; --name and --cpus may be given",
        )


def open_source(runs: Path, text: str, mode: str = "profile") -> CampaignStore:
    """The campaign whose programs are to be run.

    Raises:
        UsageError: There is none of that name, or it is of the other mode.
        DataError: It is damaged.
    """
    store = CampaignStore.open(find_campaign(runs, text))
    origin = store.load_origin()
    if text == LATEST and origin is not None and state_of(store.path).state != "finished":
        # the link went on to the very campaign that the repeated command is to continue
        store = CampaignStore.open(find_campaign(runs, origin.name))
    found = store.spec.get("mode", "profile")
    if found != mode:
        raise UsageError(
            f"{OPTION}: {store.path.resolve().name} is a {found} campaign",
            f"use deadbeat {found} {OPTION} {text}",
        )
    return store


def choose_cpus(
    source: CampaignStore, layer: Mapping[str, Any], make: Callable[[], Executor]
) -> tuple[int, ...]:
    """CPUs to run on: those given, else those of ``source`` where they exist, else as many others.

    Args:
        make: Makes an executor with every CPU there is.
    """
    given = layer.get("cpus")
    with closing(make()) as every:
        available = every.describe().cpus
    found: tuple[int, ...] | None = (
        None if given is None else _value(Cpus(shared=True), given, "--cpus")
    )
    return found or cpus_for(source, available)


def borrow(
    source: CampaignStore, executor: Executor, layer: Mapping[str, Any], cpus: tuple[int, ...]
) -> Borrowed:
    """The programs of ``source``, to be run on ``executor``.

    Raises:
        UsageError: They cannot run there.
        DataError: One of them is damaged.
    """
    platform = executor.describe()
    given = layer.get("name")
    name = None if given is None else _value(Name(), given, "--name")
    spec = stored_spec(source, name=name, cpus=cpus)
    of = f"{OPTION} {source.path.resolve().name}"
    here = {"cores": of, "stress.cores": of, "cpus": "--cpus", "name": "--name"}
    resolved = resolve(spec, platform, names=here)
    origin = origin_of(source, resolved.spec, platform)
    return Borrowed(source=source, resolved=resolved, origin=origin)


def announce(borrowed: Borrowed) -> None:
    """Says whose programs run, and what that means for their costs."""
    origin = borrowed.origin
    made = origin.original
    say(f"programs of {origin.name}, calibrated on {made.name} ({made.soc}, {made.kernel})")
    if not origin.same_hardware:
        say("costs are of another platform: read slowdown, not delay ratio as absolute")


def _value(rule: Any, value: Any, option: str) -> Any:
    try:
        return rule.parse(value)
    except RefusedError as error:
        raise usage(
            tuple(attrs.evolve(problem, path=option) for problem in error.problems)
        ) from None
