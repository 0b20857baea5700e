"""``deadbeat lab``: kernels in virtual machines. What its commands do: `lab`."""

from __future__ import annotations

from deadbeat.cli._options import (
    FIGURES,
    RUNS,
    OneOf,
    Verbs,
    arg,
    one_of,
    opt,
    whole,
)

group = Verbs(
    name="lab",
    help="""Compare kernels without hardware: each is booted in QEMU, in virtual time.

Start with: deadbeat lab run --kernels 6.12-amd64,6.12-rt-amd64""",
)

_MACHINE = opt(
    "--machine amd64|arm64|riscv64", "Architecture of the kernels.  [amd64]", default="amd64"
)
#: Of `run` and `sweep`.
_MEASURED = (
    opt("--cmdline WORDS", "Further words for the kernel's command line.", default=""),
    opt("--seeds N", "Seeds of the machine, a boot each.  [3]", type=whole(1, 999), default=3),
    opt("--seed N", "Seed of the first boot.  [1]", type=whole(0, 2**31), default=1),
    opt("--loads LIST", "Background loads, as of deadbeat latency.  [mixed]"),
    opt("--duration TIME", "Measuring time of each boot, in the machine's time.  [2s]"),
    opt("--interval TIME", "Period of the measuring threads.  [1ms]"),
    opt("--priority N", "Priority of the measuring threads, 1 to 99.  [90]"),
    opt("--limits LIST", "Report how often latency exceeds each limit: 100us,1ms."),
    opt("--smp N", "CPUs of the virtual machine.  [1]", type=whole(1, 64), default=1, to="cpus"),
    opt("--memory MB", "Memory of the machine.  [512]", type=whole(128, 65536), default=512),
    opt(
        "--mode NAME",
        "Time of the machine: virtual-time; functional (means nothing) or kvm.  [virtual-time]",
        type=OneOf("virtual-time", "functional", "kvm"),
        default="virtual-time",
    ),
    opt("--fresh", "Begin anew instead of continuing."),
    opt("--retry", "Boot again for runs that are invalid, too."),
    FIGURES,
    RUNS,
)

group.add(
    "lab_fetch:fetch",
    "Fetch kernels from Debian's packages, and the emulator.",
    arg("names", "NAME...", nargs=-1, required=True),
    _MACHINE,
)
group.add(
    "lab_fetch:listed",
    "List the kernels that are here and those to be had.",
    _MACHINE,
    opt("--all", "Print every release, not only the newest of each series.", to="show_all"),
    name="list",
)

group.add(
    "lab:run",
    "Measure wake-up latency of kernels in virtual machines, and compare.",
    opt("--kernels LIST", "Kernels, by the names that deadbeat lab list shows.", default=""),
    opt(
        "--preset NAME",
        "Compare what answers a question: preemption, hardening, userland or options.",
        type=one_of("lab.presets:PRESETS"),
    ),
    opt("--kernel FILE", "A kernel of your own: bzImage, Image or vmlinux."),
    opt("--initrd-extra FOLDER", "Add the files in FOLDER to the machine."),
    opt(
        "--preempt LIST",
        "Boot each kernel with these preemption models, as far as it has them: none,full.",
        default="",
    ),
    opt(
        "--campaign FILE",
        "Run the task sets of a campaign file (profile or stress) instead, the same on each.",
    ),
    _MACHINE,
    opt("--name NAME", "Beginning of the names of the results.  [lab]", default="lab"),
    *_MEASURED,
)
group.add(
    "lab_sweep:sweep",
    "Measure a kernel's packaged versions, and find where latency changed.",
    opt("--flavour NAME", "Kernels to sweep: amd64, rt-amd64, cloud-arm64.  [amd64]", default=""),
    opt("--since SERIES", "Leave out older series: 6.1.", default="", to="first"),
    opt("--until SERIES", "Leave out newer series: 6.18.", default="", to="last"),
    opt("--every", "Measure every package, not only where a step is."),
    opt(
        "--preempt none|voluntary|full|lazy",
        "Boot with this preemption model; kernels without it are left out.  [their default]",
    ),
    opt("--load LOAD", "Load in which steps are looked for.  [the last of --loads]"),
    opt("--name NAME", "Beginning of the names of the results.  [sweep]", default="sweep"),
    *_MEASURED,
)
