"""Security hardening that may cost latency: what is on here, and where its cost lands.

What to expect is expectation, from the sources; what it does cost is measured, by comparing two
matrices of latency between which only it differs (``deadbeat doctor --hardening-cost A B``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from attrs import evolve, field, frozen

from deadbeat.host.kernel import arguments, kernel_config
from deadbeat.host.values import Read, Unknown, gathered, stripped
from deadbeat.model.readiness import Severity
from deadbeat.settings import sources
from deadbeat.settings.facts import CONFIG, Facts
from deadbeat.targets.base import Target

When = Literal["build", "boot", "run time"]

_VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"
_CMDLINE = "/proc/cmdline"
_YES = ("1", "on", "y", "yes", "true", "")
_COMMIT = "commit 6471384af2a6 (init_on_alloc, init_on_free)"
_SEED = "Savoir-faire Linux, Linux for real-time systems"


@frozen(kw_only=True)
class Sight:
    """What states are told from.

    Attributes:
        config: Build options without CONFIG_; None: not shown.
        cmdline: The kernel's command line; None: not shown.
        read: Of the files of an option.
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
        on: None: not known.
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
    """One option.

    Attributes:
        name: Short and stable.
        when: When it can be changed.
        lands: Which code pays.
        expected: What it is expected to cost a real-time task.
        source: Of that expectation.
        severity: Of a check that finds it on; None: there is none, as it costs next to nothing or
            is another family's.
        state: Tells it.
        reads: Files that ``state`` reads besides the configuration and the command line.
        how: How it is switched off.
        arguments: Words of the command line that switch it.
    """

    name: str
    title: str
    when: When
    lands: str
    expected: str
    source: str
    state: Callable[[Sight], HardeningState]
    severity: Severity | None = None
    reads: tuple[str, ...] = ()
    how: str = ""
    arguments: tuple[str, ...] = ()


def sight_of(read: Read) -> Sight:
    """Of a machine behind a reader of files."""
    config, _ = kernel_config(read)
    return Sight(config=config or None, cmdline=stripped(read, _CMDLINE), read=read)


def sight_of_facts(facts: Facts) -> Sight:
    """Of what was gathered; whoever asks has the reads of the options among what is read."""
    config = facts.config() if facts.get(CONFIG) is not None else None
    return Sight(config=config, cmdline=facts.get(_CMDLINE), read=facts.get)


def states_of(target: Target) -> dict[str, str]:
    """As `states`, read in few round trips. TargetError where nothing at all could be read."""
    return gathered(target, lambda read: states(sight_of(read)))


def states(sight: Sight) -> dict[str, str]:
    """Every option by name: ``on: ...``, ``off: ...`` or ``unknown: ...``; for records."""
    return {option.name: option.state(sight).words for option in OPTIONS}


@frozen(kw_only=True)
class HardeningDifference:
    """An option whose state differs between two platforms.

    Attributes:
        states: Of either, as recorded.
    """

    option: Hardening
    states: tuple[str, str]


@frozen(kw_only=True)
class Differences:
    """What differs in hardening between two platforms.

    Attributes:
        known: Options that are on on one side only, or in another way.
        unknown: Names of options that one side did not record, or could not tell.
    """

    known: tuple[HardeningDifference, ...] = field(factory=tuple)
    unknown: tuple[str, ...] = field(factory=tuple)


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> Differences:
    """Options that differ between two records of `states`."""
    known, open_ = [], []
    for option in OPTIONS:
        pair = (before.get(option.name, ""), after.get(option.name, ""))
        words = [text.partition(":")[0] for text in pair]
        if not {*words} <= {"on", "off"}:
            open_.append(option.name)
        # What a file holds is a value; what the configuration says is only where the state is from.
        elif words[0] != words[1] or (words[0] == "on" and option.reads and pair[0] != pair[1]):
            known.append(HardeningDifference(option=option, states=pair))
    return Differences(known=tuple(known), unknown=tuple(open_))


def _told(on: bool, basis: str) -> HardeningState:
    return HardeningState(on, f"{'on' if on else 'off'}: {basis}")


def _unknown(reason: str) -> HardeningState:
    return HardeningState(None, str(Unknown(reason)))


def _switch(argument: str, *default: str) -> Callable[[Sight], HardeningState]:
    """On the command line, else as one of the build options says; without any of them: off."""

    def state(sight: Sight) -> HardeningState:
        asked = sight.argument(argument)
        if asked is not None:
            return _told(asked.lower() in _YES, f"{argument}={asked}" if asked else argument)
        if sight.cmdline is None:
            return _unknown(f"{_CMDLINE} is not shown")
        if not default:
            return _told(False, f"{argument} is not on the command line")
        return _any_built(*default)(sight)

    return state


def _any_built(*names: str) -> Callable[[Sight], HardeningState]:
    def state(sight: Sight) -> HardeningState:
        values = {name: sight.option(name) for name in names}
        if None in values.values():
            return _unknown("the kernel does not show how it was built")
        there = [name for name, value in values.items() if value not in ("n", "0")]
        if there:
            return _told(True, f"CONFIG_{there[0]}={values[there[0]]}")
        return _told(False, f"CONFIG_{names[0]} is not set")

    return state


def _needs(
    option: str, state: Callable[[Sight], HardeningState]
) -> Callable[[Sight], HardeningState]:
    """Off where the kernel was built without ``option``, whatever the command line says."""

    def both(sight: Sight) -> HardeningState:
        if sight.option(option) == "n":
            return _told(False, f"CONFIG_{option} is not set")
        return state(sight)

    return both


def _file(path: str, on: Callable[[str], bool]) -> Callable[[Sight], HardeningState]:
    def state(sight: Sight) -> HardeningState:
        text = stripped(sight.read, path)
        if text is None:
            return _unknown(f"{path} cannot be read")
        return _told(on(text), f"{path.rpartition('/')[2]} is {text}")

    return state


def _slab_debug(sight: Sight) -> HardeningState:
    asked = [sight.argument(name) for name in ("slab_debug", "slub_debug")]
    given = next((value for value in asked if value is not None), None)
    if given is not None:
        return _told(given != "-", f"slab_debug={given}")
    if sight.cmdline is None:
        return _unknown(f"{_CMDLINE} is not shown")
    return _any_built("SLUB_DEBUG_ON")(sight)


def _slab_unmerged(sight: Sight) -> HardeningState:
    for name in ("slab_nomerge", "slub_nomerge"):
        if sight.argument(name) is not None:
            return _told(True, name)
    merged = sight.option("SLAB_MERGE_DEFAULT")
    if merged is None or sight.cmdline is None:
        return _unknown("the kernel does not show how it was built and booted")
    return _told(merged == "n", f"CONFIG_SLAB_MERGE_DEFAULT={merged}")


def _kfence(sight: Sight) -> HardeningState:
    path = "/sys/module/kfence/parameters/sample_interval"
    text = stripped(sight.read, path)
    if text is not None:
        return _sampling(sight.option("KFENCE_STATIC_KEYS"), text)
    if sight.option("KFENCE") == "n":
        return _told(False, "CONFIG_KFENCE is not set")
    return _unknown(f"{path} cannot be read")


def _sampling(static_keys: str | None, interval: str) -> HardeningState:
    """Only with static keys does a sample change code, for which every CPU is interrupted."""
    state = _told(interval != "0", f"sample_interval is {interval} ms")
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


def _iommu(sight: Sight) -> HardeningState:
    if sight.argument("iommu") in ("pt", "off") or sight.argument("iommu.passthrough") == "1":
        return _told(False, "iommu is passed through")
    return _switch("iommu.strict", "IOMMU_DEFAULT_DMA_STRICT")(sight)


def _mitigations(sight: Sight) -> HardeningState:
    names = ("spectre_v2", "retbleed", "spec_rstack_overflow", "mds", "srbds", "vmscape")
    texts = {name: stripped(sight.read, f"{_VULNERABILITIES}/{name}") for name in names}
    known = {name: text for name, text in texts.items() if text is not None}
    if not known:
        return _unknown(f"{_VULNERABILITIES} cannot be read")
    acting = [name for name, text in known.items() if text.startswith("Mitigation")]
    return _told(bool(acting), ", ".join(acting) if acting else "none acts")


def _audit(sight: Sight) -> HardeningState:
    asked = sight.argument("audit")
    if asked is not None:
        return _told(asked in ("1", "on"), f"audit={asked}")
    if sight.option("AUDIT") == "n":
        return _told(False, "CONFIG_AUDIT is not set")
    return _unknown("built in, and on where an audit daemon or systemd switched it on")


def _lockdown(sight: Sight) -> HardeningState:
    text = stripped(sight.read, "/sys/kernel/security/lockdown")
    if text is None and sight.option("SECURITY_LOCKDOWN_LSM") == "n":
        return _told(False, "CONFIG_SECURITY_LOCKDOWN_LSM is not set")
    found = re.search(r"\[(\w+)\]", text or "")
    if found is None:
        return _unknown("/sys/kernel/security/lockdown cannot be read")
    return _told(found[1] != "none", found[1])


def _vulnerability(name: str, words: str) -> Callable[[Sight], HardeningState]:
    return _file(f"{_VULNERABILITIES}/{name}", lambda text: words in text)


def _paths(*names: str) -> tuple[str, ...]:
    return tuple(f"{_VULNERABILITIES}/{name}" for name in names)


OPTIONS: tuple[Hardening, ...] = (
    Hardening(
        name="init-on-alloc",
        title="memory is cleared when it is given out (init_on_alloc)",
        when="boot",
        lands="every allocation of pages and kernel objects; it scales with their size",
        expected="average up a little; the maximum up where a real-time path allocates or faults;"
        " next to none for one that locked and touched its memory",
        source=f"{_COMMIT}; {_SEED}",
        severity="info",
        state=_switch("init_on_alloc", "INIT_ON_ALLOC_DEFAULT_ON"),
        how="init_on_alloc=0 on the command line",
        arguments=("init_on_alloc",),
    ),
    Hardening(
        name="init-on-free",
        title="memory is cleared when it is given back (init_on_free)",
        when="boot",
        lands="munmap and exit of other tasks: caches lost, longer softirqs",
        expected="more than init_on_alloc: up to 7 % of throughput; in 6 hours of the comparison"
        " the maximum slightly up, the average unchanged",
        source=f"{_COMMIT}; {_SEED}",
        severity="low",
        state=_switch("init_on_free", "INIT_ON_FREE_DEFAULT_ON"),
        how="init_on_free=0 on the command line",
        arguments=("init_on_free",),
    ),
    Hardening(
        name="page-poisoning",
        title="free pages are filled with a pattern (page_poison)",
        when="boot",
        lands="every allocation and every release of a page",
        expected="high; for test kernels only",
        source=sources.KSPP,
        severity="high",
        state=_needs("PAGE_POISONING", _switch("page_poison")),
        how="page_poison=0 on the command line",
        arguments=("page_poison",),
    ),
    Hardening(
        name="slab-debug",
        title="kernel objects are checked (slab_debug)",
        when="boot",
        lands="every allocation and every release of a kernel object",
        expected="high; for test kernels only",
        source=f"{sources.KSPP}; {sources.KERNEL_CONFIGURATION}",
        severity="high",
        state=_slab_debug,
        how="leave slab_debug out of the command line, or slab_debug=-",
        arguments=("slab_debug", "slub_debug"),
    ),
    Hardening(
        name="mitigations",
        title="mitigations of speculation (Spectre v2, Retbleed, SRSO, MDS, ...)",
        when="boot",
        lands="entry into the kernel, context switch (IBPB), indirect calls",
        expected="a constant addition, below a microsecond to a few; most for loads of many system"
        " calls and for old CPUs",
        source="Linux Documentation/admin-guide/hw-vuln",
        state=_mitigations,
        reads=_paths("spectre_v2", "retbleed", "spec_rstack_overflow", "mds", "srbds", "vmscape"),
        how="mitigations=off on the command line: only where nothing foreign ever runs",
        arguments=("mitigations", "spectre_v2", "retbleed", "spec_rstack_overflow", "mds"),
    ),
    Hardening(
        name="page-table-isolation",
        title="page tables of kernel and users apart (PTI)",
        when="boot",
        lands="every entry into the kernel, and the TLB",
        expected="an addition to each entry",
        source="Linux Documentation/arch/x86/pti.rst",
        severity="info",
        state=_vulnerability("meltdown", "PTI"),
        reads=_paths("meltdown"),
        how="pti=off on the command line: only where nothing foreign ever runs",
        arguments=("pti", "nopti"),
    ),
    Hardening(
        name="no-hyper-threads",
        title="hardware threads off (nosmt)",
        when="run time",
        lands="nowhere",
        expected="the tail gets better; throughput is up to halved",
        source=f"{sources.CPU_ISOLATION}; Linux Documentation/admin-guide/hw-vuln",
        state=_file("/sys/devices/system/cpu/smt/control", lambda text: "off" in text),
        reads=("/sys/devices/system/cpu/smt/control",),
        arguments=("nosmt",),
    ),
    Hardening(
        name="store-bypass",
        title="no speculative store bypass (spec_store_bypass_disable=on)",
        when="boot",
        lands="all loads behind stores",
        expected="throughput of every task, real-time ones too",
        source="Linux Documentation/userspace-api/spec_ctrl.rst",
        severity="info",
        # "via prctl" is for tasks that ask for it.
        state=_file(
            f"{_VULNERABILITIES}/spec_store_bypass",
            lambda text: "disabled" in text and "prctl" not in text,
        ),
        arguments=("spec_store_bypass_disable",),
        reads=_paths("spec_store_bypass"),
        how="spec_store_bypass_disable=prctl on the command line",
    ),
    Hardening(
        name="stack-offset",
        title="the kernel's stack begins at random (randomize_kstack_offset)",
        when="boot",
        lands="every system call",
        expected="constant and small",
        source=sources.KSPP,
        severity="info",
        state=_needs(
            "RANDOMIZE_KSTACK_OFFSET",
            _switch("randomize_kstack_offset", "RANDOMIZE_KSTACK_OFFSET_DEFAULT"),
        ),
        arguments=("randomize_kstack_offset",),
        how="randomize_kstack_offset=off on the command line",
    ),
    Hardening(
        name="stack-erase",
        title="the kernel's stack is erased after each system call (STACKLEAK)",
        when="build",
        lands="the end of every system call: a memset",
        expected="an addition to each system call",
        source=sources.KSPP,
        severity="low",
        state=_any_built("KSTACK_ERASE", "GCC_PLUGIN_STACKLEAK"),
        how="build without KSTACK_ERASE, or sysctl -w kernel.stack_erasing=0",
    ),
    Hardening(
        name="compiled-checks",
        title="checks that the compiler adds (stack protector, FORTIFY, cleared stack, CFI)",
        when="build",
        lands="functions with buffers, indirect calls",
        expected="constant and small",
        source=sources.KSPP,
        state=_any_built(
            "STACKPROTECTOR_STRONG", "FORTIFY_SOURCE", "INIT_STACK_ALL_ZERO", "CFI", "CFI_CLANG"
        ),
    ),
    Hardening(
        name="copy-checks",
        title="copies to and from users are checked (hardened_usercopy)",
        when="boot",
        lands="read, write, send, receive",
        expected="small",
        source=sources.KSPP,
        state=_needs("HARDENED_USERCOPY", _switch("hardened_usercopy", "HARDENED_USERCOPY")),
        how="hardened_usercopy=off on the command line",
        arguments=("hardened_usercopy",),
    ),
    Hardening(
        name="slab-freelist",
        title="free lists of kernel objects are scrambled",
        when="build",
        lands="allocation of kernel objects",
        expected="small",
        source=sources.KSPP,
        state=_any_built("SLAB_FREELIST_HARDENED", "SLAB_FREELIST_RANDOM"),
    ),
    Hardening(
        name="slab-unmerged",
        title="kinds of kernel objects are kept apart (slab_nomerge)",
        when="boot",
        lands="allocation of kernel objects",
        expected="small; more cache is used",
        source=sources.KSPP,
        severity="info",
        state=_slab_unmerged,
        how="leave slab_nomerge out of the command line",
        arguments=("slab_nomerge", "slub_nomerge"),
    ),
    Hardening(
        name="page-shuffle",
        title="free pages in random order (page_alloc.shuffle)",
        when="boot",
        lands="allocation of pages",
        expected="small",
        source=sources.KSPP,
        state=_needs(
            "SHUFFLE_PAGE_ALLOCATOR",
            _file("/sys/module/page_alloc/parameters/shuffle", lambda text: text in ("Y", "1")),
        ),
        arguments=("page_alloc.shuffle",),
        reads=("/sys/module/page_alloc/parameters/shuffle",),
        how="page_alloc.shuffle=0 on the command line",
    ),
    Hardening(
        name="kfence",
        title="samples of kernel objects are guarded (KFENCE)",
        when="run time",
        lands="a timer; with KFENCE_STATIC_KEYS a switch in the code that interrupts every CPU",
        expected="with KFENCE_STATIC_KEYS spikes, once in each sample interval; without it small",
        source="Linux Documentation/dev-tools/kfence.rst; commit 4f612ed3f748 (Linux 5.16)",
        severity="medium",
        state=_kfence,
        reads=("/sys/module/kfence/parameters/sample_interval",),
        how="echo 0 > /sys/module/kfence/parameters/sample_interval",
    ),
    Hardening(
        name="iommu-strict",
        title="device addresses are given up at once (iommu.strict)",
        when="boot",
        lands="the end of every transfer of a device: a flush",
        expected="the tail of loads with much input and output",
        source=f"{sources.KERNEL_PARAMETERS} (iommu.strict)",
        severity="info",
        state=_iommu,
        how="iommu.strict=0 on the command line",
        arguments=("iommu", "iommu.strict", "iommu.passthrough"),
    ),
    Hardening(
        name="bpf-jit",
        title="constants of BPF programs are blinded (bpf_jit_harden)",
        when="run time",
        lands="BPF programs, none in the path of a timer",
        expected="none",
        source="Linux Documentation/admin-guide/sysctl/net.rst",
        state=_file("/proc/sys/net/core/bpf_jit_harden", lambda text: text != "0"),
        reads=("/proc/sys/net/core/bpf_jit_harden",),
    ),
    Hardening(
        name="hidden-kernel",
        title="addresses and events of the kernel are hidden (kptr_restrict, perf_event_paranoid)",
        when="run time",
        lands="nowhere",
        expected="none; but causes are harder to find",
        source=sources.SYSCTL_KERNEL,
        state=_file("/proc/sys/kernel/kptr_restrict", lambda text: text != "0"),
        reads=("/proc/sys/kernel/kptr_restrict",),
    ),
    Hardening(
        name="lockdown",
        title="the kernel is locked down, also against root",
        when="boot",
        lands="nowhere",
        expected="none; but no debugfs of the scheduler, function tracer or machine registers",
        source="kernel_lockdown(7)",
        state=_lockdown,
        reads=("/sys/kernel/security/lockdown",),
        arguments=("lockdown",),
    ),
    Hardening(
        name="audit",
        title="system calls are audited",
        when="boot",
        lands="every system call",
        expected="an addition to each; more where rules match",
        source="auditd(8)",
        state=_audit,
        how="audit=0 on the command line",
        arguments=("audit",),
    ),
)
#: What all of them read; their configuration and command line besides.
READS: tuple[str, ...] = (
    CONFIG, _CMDLINE, *dict.fromkeys(path for option in OPTIONS for path in option.reads),
)  # fmt: skip
