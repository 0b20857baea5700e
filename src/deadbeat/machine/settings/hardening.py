"""Security hardening that may cost latency: what is on here, and where its cost lands.

What to expect is expectation, from the sources; what it does cost is measured, by comparing two
matrices of latency between which only it differs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from attrs import evolve, frozen

from deadbeat.base.model.words import Json
from deadbeat.machine.host.cmdline import arguments
from deadbeat.machine.host.kernel import kernel_config
from deadbeat.machine.host.values import Read, Unknown, gathered, stripped
from deadbeat.machine.settings.facts import CONFIG, Facts
from deadbeat.machine.settings.readiness import Severity
from deadbeat.machine.settings.rows import read_rows
from deadbeat.machine.targets.base import Target

When = Literal["build", "boot", "run time"]

_VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"
_CMDLINE = "/proc/cmdline"
_YES = ("1", "on", "y", "yes", "true", "")


@frozen(kw_only=True)
class Sight:
    """What states are read from.

    Attributes:
        config: Build options without CONFIG_; None: not shown.
        cmdline: The kernel's command line; None: not shown.
        read: Reads the files of an option.
    """

    config: Mapping[str, str] | None
    cmdline: str | None
    read: Read

    def option(self, name: str) -> str | None:
        """``y``, ``n``, a value; None: not known."""
        return None if self.config is None else self.config.get(name, "n")

    def argument(self, name: str) -> str | None:
        """The last value of a word of the command line; None: not there."""
        return next(reversed(arguments(self.cmdline or "", name)), None)


@frozen
class HardeningState:
    """Whether an option is on.

    Attributes:
        words: What tells it: ``on: init_on_free=1``, ``off: CONFIG_... is not set``.
        severity, lands, expected: In place of the option's own, where the kernel's build decides.
    """

    on: bool | None
    words: str
    severity: Severity | None = None
    lands: str = ""
    expected: str = ""


@frozen(kw_only=True)
class Hardening:
    """One option, a table of ``hardening.toml``.

    Attributes:
        when: When it can be changed.
        lands: Which code pays.
        expected: What it is expected to cost a real-time task.
        source: Source of that expectation.
        severity: Severity when a check finds it on; None: no check, as it costs next to nothing or
            is another family's.
        arguments: Words of the command line that switch it.
        needs: Build option without which it is off, whatever the command line says.
        file, on: File that tells it, and the pattern of a text that means on.
        switch: Words of the command line, of which the first that is there tells it: ``off`` is
            the value that means off; "": any but yes.
        built: Build options, of which one means on; where no ``switch`` is given.
        unbuilt: A build option that means on where it is missing; likewise.
        unclear: Why it is not known where no ``switch`` is given.
        reads: Files that its function reads besides the configuration and the command line.
    """

    name: str
    title: str
    when: When
    lands: str
    expected: str
    source: str
    severity: Severity | None = None
    how: str = ""
    arguments: tuple[str, ...] = ()
    needs: str = ""
    file: str = ""
    on: str = ""
    switch: tuple[str, ...] = ()
    off: str = ""
    built: tuple[str, ...] = ()
    unbuilt: str = ""
    unclear: str = ""
    reads: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return (self.file,) if self.file else self.reads

    def state(self, sight: Sight) -> HardeningState:
        if self.needs and sight.option(self.needs) == "n":
            return _known(False, f"CONFIG_{self.needs} is not set")
        found = _STATES[self.name](sight) if self.name in _STATES else None
        if found is not None:
            return found
        if self.file:
            text = stripped(sight.read, self.file)
            if text is None:
                return _unknown(f"{self.file} cannot be read")
            on = re.search(self.on, text) is not None
            return _known(on, f"{self.file.rpartition('/')[2]} is {text}")
        if self.switch:
            return self._switched(sight)
        return _built(sight, self.built)

    def _switched(self, sight: Sight) -> HardeningState:
        """On the command line, else as one of the build options says; without any of them: off."""
        for word in self.switch:
            asked = sight.argument(word)
            if asked is not None:
                on = asked != self.off if self.off else asked.lower() in _YES
                return _known(on, f"{word}={asked}" if asked else word)
        if sight.cmdline is None:
            return _unknown(f"{_CMDLINE} is not shown")
        if self.unclear:
            return _unknown(self.unclear)
        if self.built or self.unbuilt:
            return _built(sight, self.built or (self.unbuilt,), without=bool(self.unbuilt))
        return _known(False, f"{self.switch[0]} is not on the command line")


def sight_of(read: Read) -> Sight:
    """Sight of a machine behind a reader of files."""
    config, _ = kernel_config(read)
    return Sight(config=config or None, cmdline=stripped(read, _CMDLINE), read=read)


def sight_of_facts(facts: Facts) -> Sight:
    """Sight of what was gathered; the caller's reads contain those of the options."""
    config = facts.config() if facts.get(CONFIG) is not None else None
    return Sight(config=config, cmdline=facts.get(_CMDLINE), read=facts.get)


def states_of(target: Target) -> dict[str, str]:
    """`states`, read in few round trips. TargetError where nothing at all could be read."""
    return gathered(target, lambda read: states(sight_of(read)))


def states(sight: Sight) -> dict[str, str]:
    """Every option by name: ``on: ...``, ``off: ...`` or ``unknown: ...``; for records."""
    return {option.name: option.state(sight).words for option in OPTIONS}


def differing(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[str]:
    """``TITLE: state | state`` of options that differ between two records of `states`, as far as
    both sides know them."""
    for option in OPTIONS:
        one, two = (str(side.get(option.name, "")) for side in (before, after))
        words = [text.partition(":")[0] for text in (one, two)]
        # What a file holds is a value; what the configuration says is only where the state is from.
        other = words[0] != words[1] or (words[0] == "on" and option.files and one != two)
        if {*words} <= {"on", "off"} and other:
            yield f"{option.title}: {one} | {two}"


def _known(on: bool, basis: str) -> HardeningState:
    return HardeningState(on, f"{'on' if on else 'off'}: {basis}")


def _unknown(reason: str) -> HardeningState:
    return HardeningState(None, str(Unknown(reason)))


def _built(sight: Sight, names: tuple[str, ...], *, without: bool = False) -> HardeningState:
    """On where the kernel has one of ``names``; ``without``: where it has not."""
    values = {name: sight.option(name) for name in names}
    if None in values.values():
        return _unknown("the kernel does not show how it was built")
    there = [name for name, value in values.items() if value not in ("n", "0")]
    words = f"{there[0]}={values[there[0]]}" if there else f"{names[0]} is not set"
    return _known(bool(there) != without, f"CONFIG_{words}")


def _kfence(sight: Sight) -> HardeningState:
    path = "/sys/module/kfence/parameters/sample_interval"
    text = stripped(sight.read, path)
    if text is None:
        if sight.option("KFENCE") == "n":
            return _known(False, "CONFIG_KFENCE is not set")
        return _unknown(f"{path} cannot be read")
    # Only with static keys does a sample change code, for which every CPU is interrupted.
    static_keys = sight.option("KFENCE_STATIC_KEYS")
    state = _known(text != "0", f"sample_interval is {text} ms")
    if static_keys == "n":
        return evolve(state, severity="info", lands="a timer", expected="small: no CPU is stopped")
    if static_keys is None:
        return evolve(
            state,
            lands="a timer; where CONFIG_KFENCE_STATIC_KEYS is y, which this kernel does not show,"
            " also a switch in the code that interrupts every CPU",
        )
    return evolve(
        state,
        lands="a timer, and a switch in the code that interrupts every CPU",
        expected="spikes, once in each sample interval",
    )


def _iommu(sight: Sight) -> HardeningState | None:
    passed = sight.argument("iommu") in ("pt", "off") or sight.argument("iommu.passthrough") == "1"
    return _known(False, "iommu is passed through") if passed else None


def _mitigations(sight: Sight) -> HardeningState:
    names = ("spectre_v2", "retbleed", "spec_rstack_overflow", "mds", "srbds", "vmscape")
    texts = {name: stripped(sight.read, f"{_VULNERABILITIES}/{name}") for name in names}
    known = {name: text for name, text in texts.items() if text is not None}
    if not known:
        return _unknown(f"{_VULNERABILITIES} cannot be read")
    acting = [name for name, text in known.items() if text.startswith("Mitigation")]
    return _known(bool(acting), ", ".join(acting) if acting else "none acts")


def _lockdown(sight: Sight) -> HardeningState:
    text = stripped(sight.read, "/sys/kernel/security/lockdown")
    if text is None and sight.option("SECURITY_LOCKDOWN_LSM") == "n":
        return _known(False, "CONFIG_SECURITY_LOCKDOWN_LSM is not set")
    found = re.search(r"\[(\w+)\]", text or "")
    if found is None:
        return _unknown("/sys/kernel/security/lockdown cannot be read")
    return _known(found[1] != "none", found[1])


#: What tells an option where its row does not; None: the row does.
_STATES: Mapping[str, Callable[[Sight], HardeningState | None]] = {
    "iommu-strict": _iommu,
    "kfence": _kfence,
    "lockdown": _lockdown,
    "mitigations": _mitigations,
}
OPTIONS: tuple[Hardening, ...] = tuple(read_rows(Hardening, "hardening.toml"))
#: What all of them read; their configuration and command line besides.
READS: tuple[str, ...] = (
    CONFIG, _CMDLINE, *dict.fromkeys(path for option in OPTIONS for path in option.files),
)  # fmt: skip
