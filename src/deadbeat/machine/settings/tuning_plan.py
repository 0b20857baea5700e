"""What knobs would change on a machine: files, boot words, and what is not possible there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from attrs import frozen

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.tuning import Applied, Change, Outcome, Setting
from deadbeat.machine.host.cmdline import command_words
from deadbeat.machine.host.values import UnreadError
from deadbeat.machine.settings.facts import Facts, gather
from deadbeat.machine.settings.knob import Knob
from deadbeat.machine.settings.making import NotHereError
from deadbeat.machine.settings.profile import Turn
from deadbeat.machine.targets.base import Target

#: Words that the boot loader adds by itself.
_LOADERS = ("BOOT_IMAGE", "initrd")


@frozen
class BootLine:
    """What is to be added to the command line, and what comes of it.

    Attributes:
        add: Words that are not there yet.
        replaced: Words that are there now and go, because one of ``add`` says something else.
        already: Words that are asked for and there.
        whole: The whole line afterwards, without what the boot loader adds by itself; None: the
            present one is not known.
    """

    add: tuple[str, ...]
    replaced: tuple[str, ...]
    already: tuple[str, ...]
    whole: str | None


def merged(present: str | None, words: Sequence[str]) -> BootLine:
    """The command line ``present`` (None: it could not be read) with ``words``.

    Of a name that ``words`` have, only that word stays; dashes and underscores of names are alike,
    as to the kernel. What follows ``--`` is for the first process and stays at the end.
    """
    line = command_words(present or "")
    end = line.index("--") if "--" in line else len(line)
    kernel = [word for word in line[:end] if _name_of(word) not in _LOADERS]
    wanted = list(dict.fromkeys(words))
    names = {_name_of(word) for word in wanted}
    kept = [word for word in kernel if word in wanted or _name_of(word) not in names]
    add = [word for word in wanted if word not in kernel]
    return BootLine(
        add=tuple(add),
        replaced=tuple(word for word in kernel if word not in kept),
        already=tuple(word for word in wanted if word in kernel),
        whole=None if present is None else " ".join([*kept, *add, *line[end:]]),
    )


def _name_of(word: str) -> str:
    return word.partition("=")[0].replace("-", "_")


@frozen(kw_only=True)
class Planned:
    """One knob on one machine.

    Attributes:
        settings: What it would write, in order.
        left: What it would write if the kernel let anybody.
        boot: Words for the kernel's command line.
        missing: Why there is nothing to turn; "" where there is.
        good: There is nothing to turn because what is there is as good.
    """

    knob: Knob
    value: str
    settings: tuple[Setting, ...] = ()
    left: tuple[Change, ...] = ()
    boot: tuple[str, ...] = ()
    missing: str = ""
    good: bool = False

    @property
    def refused(self) -> bool:
        """Whether it needs consent that what cannot be put back may stay."""
        return bool(self.knob.irreversible and self.settings)


@frozen(kw_only=True)
class Plan:
    """All knobs on one machine.

    Attributes:
        rt_cpus: CPUs meant for real-time tasks; ``asked``: whether the user named them.
        boot: The command line with the words of all knobs; None where no knob has one.
    """

    items: tuple[Planned, ...]
    rt_cpus: tuple[int, ...]
    asked: bool
    boot: BootLine | None

    @property
    def settings(self) -> tuple[Setting, ...]:
        """What is to be written, in order, each once."""
        found = (setting for item in self.items for setting in item.settings)
        return tuple(dict.fromkeys(found))

    @property
    def left(self) -> tuple[Change, ...]:
        """Changes that are left alone, as the kernel makes their files read-only."""
        return tuple(change for item in self.items for change in item.left)

    @property
    def refused(self) -> tuple[Planned, ...]:
        return tuple(item for item in self.items if item.refused)

    @property
    def keep(self) -> tuple[str, ...]:
        """Patterns of what changes beside the settings."""
        found = (each for item in self.items if item.settings for each in item.knob.keep)
        return tuple(dict.fromkeys(found))

    def knob_of(self, path: str) -> str:
        for item in self.items:
            paths = {*(s.path for s in item.settings), *(change.path for change in item.left)}
            if path in paths:
                return item.knob.name
        return ""


def plan(target: Target, turned: Sequence[Turn], *, rt_cpus: Sequence[int] | None = None) -> Plan:
    """What ``turned`` come to on ``target``; nothing is changed.

    Args:
        rt_cpus: CPUs meant for real-time tasks; None: see `facts.gather`.

    Raises:
        UsageError: Two knobs want one file to hold different values, or there is no such CPU.
        TargetError: Nothing could be read.
    """
    reads = dict.fromkeys(each for turn in turned for each in turn.knob.reads)
    facts = gather(target, reads, rt_cpus=rt_cpus)
    online = facts.cpu_list("/sys/devices/system/cpu/online") if facts.asked_cpus else []
    strange = [cpu for cpu in facts.chosen_cpus if cpu not in online]
    if facts.asked_cpus and strange:
        raise UsageError(
            f"--rt-cpus: CPU {strange[0]} is not online", f"use {', '.join(map(str, online))}"
        )
    items = tuple(_planned(turn, facts) for turn in turned)
    seen: dict[str, tuple[str, str]] = {}
    for item in items:
        for setting in item.settings:
            name, value = seen.setdefault(setting.path, (item.knob.name, setting.value))
            if value != setting.value:
                raise UsageError(
                    f"{name} wants {setting.path} to hold {value}, {item.knob.name}"
                    f" {setting.value}",
                    "turn one of the two",
                )
    words = [word for item in items for word in item.boot]
    present = facts.get("/proc/cmdline")
    return Plan(
        items=items,
        rt_cpus=facts.chosen_cpus,
        asked=facts.asked_cpus,
        boot=merged(present, words) if words else None,
    )


def _planned(turn: Turn, facts: Facts) -> Planned:
    knob, value = turn.knob, turn.value
    planned = partial(Planned, knob=knob, value=value)
    try:
        made = tuple(knob.settings(facts, value))
        words = knob.boot_words(facts)
    except (NotHereError, UnreadError) as error:
        return planned(missing=str(error))
    fixed = knob.fixed(facts)
    found = []
    for each in made:
        if each.path in fixed:
            old = " ".join((facts.get(each.path) or "").split())
            change = Change(
                path=each.path, outcome="left", old=old, wanted=each.value, reason=fixed[each.path]
            )
            found.append(change)
    left = tuple(found)
    made = tuple(each for each in made if each.path not in fixed)
    if left and not made:
        return planned(left=left, missing=f"none of {len(left)} files: {left[0].reason}")
    if knob.enough and not turn.exact:
        good = [each for each in made if knob.is_enough(facts.get(each.path), each.value)]
        if good == list(made):
            return planned(missing=f"{good[0].path} is as good already", good=True)
        made = tuple(each for each in made if each not in good)
    return planned(settings=made, left=left, boot=words)


def preview(target: Target, planned: Plan) -> Applied:
    """What applying would do, by what the files hold now; ``planned`` stands for ``applied``."""
    settings = planned.settings
    found = target.read_many([each.path for each in settings]).files if settings else {}
    changes = []
    for setting in settings:
        reading = found[setting.path]
        outcome: Outcome = "skipped"
        if reading.text is not None:
            outcome = "already" if setting.holds(reading.text) else "planned"
        old = " ".join((reading.text or "").split())
        changes.append(
            Change(
                path=setting.path,
                outcome=outcome,
                old=old,
                wanted=setting.value,
                reason=reading.reason,
            )
        )
    return Applied(session="", changes=tuple(changes))
