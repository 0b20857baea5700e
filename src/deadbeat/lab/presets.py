"""Questions that the lab answers with one word: which kernels, with which words, beside what.

Every row can be typed as options of ``deadbeat lab run``, too. The first variant is the baseline.
"""

from __future__ import annotations

from attrs import frozen


@frozen
class Variant:
    """One kernel with one command line.

    Attributes:
        name: Of its result. ``kernel``: as ``deadbeat lab list`` names it.
        words: For its command line.
        services: Words for the runtime's ``load``: processes beside what measures; "" for none.
    """

    name: str
    kernel: str
    words: str = ""
    services: str = ""


@frozen(kw_only=True)
class LabPreset:
    """A question.

    Attributes:
        title: It, in a line.
        variants: What is compared, the baseline first.
        also: Another baseline, and what is compared with it too, by their names.
        ranked: Its variants are single changes of the baseline, told in the order of their effect.
    """

    title: str
    variants: tuple[Variant, ...]
    also: tuple[str, ...] = ()
    ranked: bool = False

    @property
    def kernels(self) -> tuple[str, ...]:
        """What must be fetched."""
        return tuple(dict.fromkeys(each.kernel for each in self.variants))


#: The one series whose packages have all five models.
_ALL, _ALL_RT = "6.18-amd64", "6.18-rt-amd64"
_REALTIME, _PLAIN = "6.12-rt-amd64", "6.12-amd64"
#: Hardening that Debian's kernels have on, switched off.
_SOFT = (
    "init_on_alloc=0 init_on_free=0 mitigations=off randomize_kstack_offset=off"
    " page_alloc.shuffle=0 vsyscall=xonly"
)
#: What the kernel self-protection project advises, as far as a boot can change it.
_HARD = (
    ("init_on_alloc", "init_on_alloc=1"),
    ("init_on_free", "init_on_free=1"),
    ("page_poison", "page_poison=1"),
    ("slab_nomerge", "slab_nomerge"),
    ("slub_debug", "slub_debug=FZ"),
    ("randomize_kstack_offset", "randomize_kstack_offset=on"),
    ("page_alloc.shuffle", "page_alloc.shuffle=1"),
    ("mitigations", "mitigations=auto"),
    # Without mitigations, page table isolation is off whatever is asked for.
    ("pti", "mitigations=auto nospectre_v1 nospectre_v2 pti=on"),
    ("kfence", "kfence.sample_interval=100"),
)
#: All at once; poisoning of pages would switch off that they are initialised.
_HARDEST = (
    "init_on_alloc=1 init_on_free=1 slab_nomerge slub_debug=FZ randomize_kstack_offset=on"
    " page_alloc.shuffle=1 mitigations=auto pti=on kfence.sample_interval=100"
)
#: Boot options that people try for latency: name, and words that turn it away from the default.
#: Huge pages are not among them: a kernel with so little memory has them off, whatever it is told.
_OPTIONS = (
    ("mitigations-off", "mitigations=off"),
    ("init_on_alloc-off", "init_on_alloc=0"),
    ("init_on_free-on", "init_on_free=1"),
    ("randomize_kstack_offset-off", "randomize_kstack_offset=off"),
    ("threadirqs-on", "threadirqs"),
    ("nohz-off", "nohz=off"),
    ("highres-off", "highres=off"),
    ("audit-off", "audit=0"),
    ("apparmor-off", "apparmor=0"),
    ("cgroup_memory-off", "cgroup_disable=memory"),
    ("watchdogs-off", "nowatchdog nosoftlockup"),
    ("rcu_expedited-on", "rcupdate.rcu_expedited=1"),
    ("rcu_nocbs-on", "rcu_nocbs=all"),
    ("psi-off", "psi=0"),
)
#: 71 processes more, as the vendor's image of the publication had beside a minimal one's 100: most
#: wait for a timer, some compute one percent of a CPU.
_SERVICES = "--timer 60 --timer-freq 20 --cpu 11 --cpu-load 1"

PRESETS = {
    "preemption": LabPreset(
        title="What do none, voluntary, full and lazy preemption and PREEMPT_RT do to latency?",
        variants=(
            *(
                Variant(word, _ALL, f"preempt={word}")
                for word in ("none", "voluntary", "full", "lazy")
            ),
            Variant("rt", _ALL_RT),
        ),
    ),
    "hardening": LabPreset(
        title="What does hardening against attacks cost a PREEMPT_RT kernel?",
        variants=(
            Variant("soft", _REALTIME, _SOFT),
            *(Variant(name, _REALTIME, f"{_SOFT} {words}") for name, words in _HARD),
            Variant("all", _REALTIME, _HARDEST),
        ),
        ranked=True,
    ),
    "userland": LabPreset(
        title="What do the processes of a service-heavy system do to latency?",
        variants=(
            Variant("minimal", _REALTIME),
            Variant("services", _REALTIME, services=_SERVICES),
            Variant("minimal-full", _PLAIN, "preempt=full"),
            Variant("services-full", _PLAIN, "preempt=full", _SERVICES),
        ),
        also=("minimal-full", "services-full"),
    ),
    "options": LabPreset(
        title="Which boot option changes latency most?",
        variants=(
            Variant("default", _PLAIN, "preempt=full"),
            *(Variant(name, _PLAIN, f"preempt=full {words}") for name, words in _OPTIONS),
        ),
        ranked=True,
    ),
}
