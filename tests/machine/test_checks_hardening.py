"""Hardening: what is on is told, and what it may cost; switching it off is never a cure."""

import pytest
from helpers.checks import Case, Cases, case, config, outcome

from deadbeat.machine.settings.hardening import OPTIONS, READS, differing, sight_of, states

WEAK = "/sys/devices/system/cpu/vulnerabilities/{}"
KFENCE = "/sys/module/kfence/parameters/sample_interval"
DENIED = "denied: Permission denied"


def booted(words: str, *options: str, says: str = "") -> Case:
    return case({"/proc/cmdline": f"quiet {words}\n"}, outputs=config("SMP=y", *options), says=says)


def weakness(name: str, good: str, bad: str) -> dict[str, Case]:
    return {
        "pass": case({WEAK.format(name): f"{good}\n"}),
        "fail": case({WEAK.format(name): f"{bad}\n"}, says=bad),
        "unknown": case(says="cannot be read"),
    }


CASES: Cases = {
    "hardening.init-on-alloc": {
        "pass": booted("", says="CONFIG_INIT_ON_ALLOC_DEFAULT_ON is not set"),
        "fail": booted("", "INIT_ON_ALLOC_DEFAULT_ON=y", says="every allocation"),
        "unknown": case({"/proc/cmdline": "quiet\n"}, says="how it was built"),
    },
    "hardening.init-on-free": {
        "pass": booted("init_on_free=1 init_on_free=0"),
        "fail": booted("init_on_free=on"),
        "unknown": case(outputs=config("SMP=y"), says="/proc/cmdline is not shown"),
    },
    "hardening.page-poisoning": {
        "pass": booted("", "PAGE_POISONING=y", says="not on the command line"),
        "fail": booted("page_poison=1", "PAGE_POISONING=y"),
    },
    "hardening.slab-debug": {
        "pass": booted(""),
        "fail": booted("slub_debug=FZP"),
    },
    "hardening.page-table-isolation": weakness("meltdown", "Not affected", "Mitigation: PTI"),
    "hardening.store-bypass": weakness(
        "spec_store_bypass",
        "Mitigation: Speculative Store Bypass disabled via prctl",
        "Mitigation: Speculative Store Bypass disabled",
    ),
    "hardening.stack-offset": {
        "pass": booted("randomize_kstack_offset=off", "RANDOMIZE_KSTACK_OFFSET=y"),
        "fail": booted("", "RANDOMIZE_KSTACK_OFFSET=y", "RANDOMIZE_KSTACK_OFFSET_DEFAULT=y"),
    },
    "hardening.stack-erase": {"pass": booted(""), "fail": booted("", "GCC_PLUGIN_STACKLEAK=y")},
    "hardening.slab-unmerged": {
        "pass": booted("", "SLAB_MERGE_DEFAULT=y"),
        "fail": booted("slab_nomerge", "SLAB_MERGE_DEFAULT=y"),
        "unknown": case({"/proc/cmdline": "quiet\n"}),
    },
    "hardening.kfence": {
        "pass": case({KFENCE: "0\n"}),
        "fail": case({KFENCE: "100\n"}, says="which this kernel does not show"),
        "fail static keys": case(
            {KFENCE: "100\n"},
            says="interrupts every CPU; expected: spikes",
            outputs=config("KFENCE=y", "KFENCE_STATIC_KEYS=y"),
        ),
        "fail no static keys": case(
            {KFENCE: "100\n"},
            outputs=config("KFENCE=y"),
            says="sample_interval is 100 ms | costs a timer; expected",
        ),
        "unknown": case(outputs=config("KFENCE=y"), refused={KFENCE: DENIED}),
    },
    "hardening.iommu-strict": {
        "pass": booted("iommu=pt iommu.strict=1"),
        "fail": booted("iommu.strict=1"),
    },
}

MACHINE = {
    "/proc/cmdline": "quiet init_on_free=1\n",
    "/proc/config.gz": "CONFIG_SMP=y\nCONFIG_AUDIT=y\n",
    WEAK.format("spectre_v2"): "Mitigation: Retpolines\n",
    "/sys/kernel/security/lockdown": "none [integrity] confidentiality\n",
    "/sys/devices/system/cpu/smt/control": "forceoff\n",
}


def test_every_option_has_a_state_and_a_reason() -> None:
    told = states(sight_of(MACHINE.get))
    assert {*told} == {option.name for option in OPTIONS}
    assert all(text.partition(": ")[0] in ("on", "off", "unknown") for text in told.values())
    assert told["init-on-free"] == "on: init_on_free=1"
    assert told["mitigations"] == "on: spectre_v2"
    assert told["lockdown"] == "on: integrity"
    assert told["no-hyper-threads"] == "on: control is forceoff"
    assert told["audit"].startswith("unknown: built in")
    assert told["bpf-jit"].startswith("unknown: /proc/sys")


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_an_option_reads_what_it_says_and_no_more(option) -> None:
    seen: list[str] = []
    option.state(sight_of(seen.append))
    general = {"/proc/cmdline", "/proc/config.gz", "/proc/sys/kernel/osrelease"}
    own = {p for p in seen if p not in general and not p.startswith(("/boot/", "/lib/"))}
    assert own == {*option.files}
    assert {*option.files} <= {*READS}


def test_samples_are_grave_where_they_interrupt_every_cpu() -> None:
    cases = CASES["hardening.kfence"]
    names = ("fail static keys", "fail no static keys", "fail")
    found = [outcome("hardening.kfence", cases[name]).severity for name in names]
    assert found == ["medium", "info", "medium"]


def test_the_cure_measures_before_it_switches_off() -> None:
    result = outcome("hardening.init-on-free", CASES["hardening.init-on-free"]["fail"])
    assert result.cure.startswith("keep it unless")
    assert "deadbeat compare WITHOUT WITH" in result.cure


def test_only_what_is_known_on_both_sides_differs() -> None:
    with_it = states(sight_of(MACHINE.get))
    without = states(sight_of({**MACHINE, "/proc/cmdline": "quiet\n"}.get))
    (found,) = differing(without, with_it)
    assert found.startswith("memory is cleared when freed (init_on_free): off: ")
    assert found.endswith(" | on: init_on_free=1")
    assert [*differing({}, with_it)] == []


def test_mitigations_that_act_in_another_way_differ() -> None:
    one = {option.name: "on: made up" for option in OPTIONS}
    other = {**one, "mitigations": "on: spectre_v2", "init-on-free": "on: from elsewhere"}
    (found,) = differing(one, other)
    assert found.endswith(": on: made up | on: spectre_v2")
