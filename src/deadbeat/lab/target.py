"""A machine of the lab as a target that cannot be talked to: a program is booted with all its
input, and what it wrote is read when the machine is off; the same programs run on every kernel."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from deadbeat.base.model.errors import DataError, TargetError, UsageError
from deadbeat.base.model.refused import refusal
from deadbeat.base.model.rules import RefusedError, Whole
from deadbeat.base.model.words import inside
from deadbeat.base.store.files import atomic_write, read_json, storing, write_json
from deadbeat.build.native import verb_program
from deadbeat.build.toolchain import toolchain_for
from deadbeat.lab.apt import lab_folder
from deadbeat.lab.boot import MODES
from deadbeat.lab.guest import Guest, kvm_refused, require_room
from deadbeat.lab.job import PROGRAM, WARM_UP_NS, ImageFile, Job, files_below
from deadbeat.lab.kernels import Kernel, fetch, here
from deadbeat.lab.offers import MACHINES, chosen, offers
from deadbeat.lab.qemu import find_qemu
from deadbeat.lab.rootfs import Rootfs
from deadbeat.machine.host.recorded import INVENTORY, PLATFORM, recorded_target
from deadbeat.machine.targets.base import ClosedAfterwards, Completed, Process, Readings
from deadbeat.machine.targets.fake import FakeTarget

#: Environment and words of the first process.
_HANDED_ON = ("/proc/1/environ", "/proc/1/cmdline")
#: Words that x86 heeds and hands on all the same (Linux: cmdline_find_option).
_HEEDED = re.compile(
    r"nokaslr|nopti|pti=|(no)?spectre_v2|(no)?spec_store_bypass_disable|mem_encrypt="
    r"|clearcpuid=|no(387|fxsr|xsave)"
)
_LOOK, _FOLDER, _COMMANDS = "look", "/deadbeat", "/commands"
#: A program of unknown length ends after this, in the machine's time.
_LONGEST_S = 3600.0
#: Verbs that keep all CPUs busy.
_CROWDED = ("rounds", "interfere", "price")
_KEYS = (
    *("preempt", "cores", "memory", "mode", "machine", "seed", "parallel"),
    *("extra", "rootfs", "services", "cmdline"),
)
_NUMBERS = {
    "cores": Whole(1, 64),
    "memory": Whole(128, 65536),
    "seed": Whole(0, 2**31),
    "parallel": Whole(0, 1_000_000),
}
#: Length of a turn in parallel time, ns: half of it moves no slowdown of a mutex by 3 %.
_TURN = "500"
#: Then the kernel leaves the timer that ends turns to us: not used, readable, its interrupt masked.
_PARALLEL = ["noapic", "hpet=disable", "iomem=relaxed"]


def look(guest: Guest, *, name: str, folder: Path | None = None) -> FakeTarget:
    """The machine as its kernel shows it, from a boot of its own; it can only be read.

    Args:
        folder: Folder of the lab, which keeps what was seen in virtual time.

    Raises:
        TargetError: The kernel does not boot.
    """
    parameters = filter(None, map(_parameter, guest.words.split()))
    job = Job().read(_LOOK, (*PLATFORM, *INVENTORY, *_HANDED_ON, *parameters))
    files, boot_s = _seen(guest, job, folder or lab_folder())
    found = recorded_target(files, _LOOK, name=name, kind=guest.kind)
    found.boot_s = boot_s
    config = guest.kernel.config
    release = found.read_text("/proc/sys/kernel/osrelease")
    if config is not None and release:
        found.files[f"/boot/config-{release.strip()}"] = config.read_bytes()
    return found


def _seen(guest: Guest, job: Job, folder: Path) -> tuple[Mapping[str, bytes], float]:
    """What a boot for ``job`` hands over, in virtual time always the same; and its seconds."""
    facts = f"{guest.facts} {job.lines}".encode()
    path = folder / "looks" / f"{sha256(facts + guest.program.read_bytes()).hexdigest()}.json"
    if guest.kind == "virtual-time" and path.is_file():
        with suppress(DataError, KeyError, ValueError):  # then it is looked at again
            kept = read_json(path, what="look", hint="remove it")
            texts = inside(kept, "files").items()
            files = {name: str(text).encode("latin-1") for name, text in texts}
            return files, float(str(kept["boot_s"]))
    began = time.monotonic()
    files = dict(guest.run(job, seed=1, seconds=1).files)
    boot_s = time.monotonic() - began
    if guest.kind == "virtual-time":
        found = {name: content.decode("latin-1") for name, content in files.items()}
        with storing(path):
            path.parent.mkdir(exist_ok=True)
            write_json(path, {"boot_s": boot_s, "files": found})
    return files, boot_s


def ignored_words(seen: FakeTarget, words: str) -> tuple[str, ...]:
    """Words for a command line of which the kernel made nothing: the ones that it handed on to its
    first process, and parameters of modules that it does not have."""
    handed_on = {word for path in _HANDED_ON for word in (seen.read_text(path) or "").split("\0")}
    return tuple(
        word
        for word in words.split()
        if (word in handed_on and not _HEEDED.match(word))
        or ((path := _parameter(word)) and seen.read_text(path) is None)
    )


def _parameter(word: str) -> str:
    """Where the kernel shows ``MODULE.NAME=VALUE``; "" of another word."""
    module, dot, name = word.partition("=")[0].partition(".")
    return f"/sys/module/{module}/parameters/{name}".replace("-", "_") if dot else ""


class GuestTarget(ClosedAfterwards):
    """A machine of the lab; see :class:`deadbeat.machine.targets.base.Target`.

    Args:
        seen: What its kernel shows.
        seed: Seed of every boot.
    """

    folder = _FOLDER

    @property
    def ignored(self) -> tuple[str, ...]:
        """Words for its command line of which its kernel made nothing."""
        return ignored_words(self.seen, self.guest.words)

    def __init__(self, guest: Guest, seen: FakeTarget, *, seed: int = 1) -> None:
        self.name, self.kind, self.address = seen.name, seen.kind, seen.address
        self.facts, self.boot_s = {"lab": guest.facts}, seen.boot_s
        self.guest, self.seen, self.seed = guest, seen, seed
        self._files: dict[str, ImageFile] = {}
        self._made: dict[str, bytes] = {}

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        """Boots it for a command alone."""
        with self.start(argv) as process:
            return process.close()

    def start(self, argv: Sequence[str]) -> GuestProcess:
        """A program that is booted when the first line is asked for, or it is closed."""
        return GuestProcess(self, tuple(argv))

    def boot(self, argv: Sequence[str], lines: Sequence[str]) -> Mapping[str, bytes]:
        """What a boot handed over that ran ``argv``, of what was `put` there, with ``lines`` as its
        input.

        Raises:
            TargetError: It did not boot.
        """
        if argv[0] not in self._files:
            machine = self.guest.kernel.machine if tuple(argv) == ("uname", "-m") else ""
            status = b"0" if machine else b"127"
            return {"/tmp/program.out": machine.encode(), "/tmp/program.status": status}
        if argv[1] in _CROWDED:
            require_room(self.guest.mode, self.guest.cpus, self.guest.cpus, what=f"verb {argv[1]}")
        outs = [value for key, value in itertools.pairwise(argv) if key == "--out"]
        outs += [line.split(" ", 3)[3] for line in lines if line.startswith("run ")]
        lengths = [value for key, value in itertools.pairwise(argv) if key == "--seconds-ns"]
        busy = 3 * int(lengths[-1]) / 1e9 if lengths else 10.0
        job = Job().sleep(WARM_UP_NS)
        if self.guest.turn_ns:
            job = job.parallel(self.guest.cpus, self.guest.turn_ns)
        job = job.run("program", argv, limit_ns=round(_LONGEST_S * 1e9), given=_COMMANDS)
        for path in outs:
            job = job.keep(path)
        text = "".join(f"{line}\n" for line in lines)
        files = {**self._files, _COMMANDS: ImageFile(text.encode())}
        found = self.guest.run(job, seed=self.seed, seconds=busy, more=files).files
        self._made |= {path: found[path] for path in outs if path in found}
        return found

    def put(self, source: Path, destination: str) -> None:
        """A file of every boot from now on."""
        try:
            content, mode = source.read_bytes(), source.stat().st_mode
        except OSError as error:
            raise TargetError(*refusal(f"{source} cannot be read", error)) from error
        self._files[destination] = ImageFile(content, bool(mode & 0o100))

    def get(self, source: str, destination: Path) -> None:
        """A file that a boot handed over."""
        if source not in self._made:
            raise TargetError(f"the machine handed over no {source}", "its program says why")
        atomic_write(destination, self._made.pop(source))

    def read_text(self, path: str) -> str | None:
        made = self._made.get(path)
        return self.seen.read_text(path) if made is None else made.decode(errors="replace")

    def read_many(
        self, paths: Sequence[str], commands: Mapping[str, str] | None = None
    ) -> Readings:
        return self.seen.read_many(paths, commands)

    def close(self) -> None:
        self._files.clear()
        self._made.clear()


class GuestProcess(Process):
    """A program of a boot; see :class:`deadbeat.machine.targets.base.Process`.

    One that is talked to (``serve``) boots again for each line it is sent: what a task set gives
    does not depend on those before it.
    """

    def __init__(self, target: GuestTarget, argv: tuple[str, ...]) -> None:
        self._target, self._argv = target, argv
        self._served = argv[1:2] == ("serve",)
        self._said: list[str] | None = ["ready 2 0"] if self._served else None
        self._errors, self._status = "", 0

    def write_line(self, line: str) -> None:
        self._said = self._boot([line])

    def read_line(self, timeout: float | None = None) -> str | None:
        if self._said is None:
            self._said = self._boot([])
        return self._said.pop(0) if self._said else None

    def _boot(self, lines: Sequence[str]) -> list[str]:
        found = self._target.boot(self._argv, lines)
        texts = {
            what: found.get(f"/tmp/program.{what}", b"").decode(errors="replace")
            for what in ("out", "err", "status")
        }
        self._errors = texts["err"]
        self._status = int(texts["status"]) if texts["status"].strip().isdigit() else 1
        said = texts["out"].splitlines()
        return [line for line in said if not (self._served and line.startswith("ready "))]

    def close(self, timeout: float = 5.0) -> Completed:
        if self._said is None:
            self._said = self._boot([])
        rest = "".join(f"{line}\n" for line in self._said)
        return Completed(argv=self._argv, returncode=self._status, stdout=rest, stderr=self._errors)

    def kill(self) -> None:
        """There is nothing to end: the machine is off."""

    def stderr(self) -> str:
        return self._errors


def lab_target(word: str) -> GuestTarget:
    """A kernel of the lab by ``lab:KERNEL,preempt=MODEL,cores=N,memory=MB,mode=MODE,machine=ARCH``;
    ``cmdline=WORDS`` comes last.

    Raises:
        UsageError: There is no such kernel, or option.
        TargetError: It does not boot.
    """
    # The kernel of a word, and its options.
    head, _, options_words = word.partition(",cmdline=")
    name, *options = head.partition(":")[2].split(",")
    given = {"cores": "1", "memory": "512", "seed": "1", "parallel": "0", "cmdline": options_words}
    for option in options:
        key, equals, value = option.partition("=")
        if option == "parallel":
            equals = value = _TURN
        if key not in _KEYS or not equals or not value:
            raise UsageError(f"{word}: {option!r} is unknown", f"one of {', '.join(_KEYS)}")
        given[key] = value
    try:
        cores, memory, seed, turn_ns = (rule.parse(given[key]) for key, rule in _NUMBERS.items())
    except RefusedError as error:
        raise UsageError(f"{word}: {error}", "lab:6.12-amd64,cores=4,parallel") from None
    machine = MACHINES.get(given.get("machine", "amd64"), "")
    mode = next((each for each in MODES if each == given.get("mode", "virtual-time")), None)
    if turn_ns:
        if (mode, machine) != ("virtual-time", "x86_64"):
            raise UsageError(f"{word}: parallel is for virtual time on amd64", "drop it")
        mode = "parallel-time"
    if not name or not machine or mode is None:
        raise UsageError(f"{word}: no such machine", "lab:6.12-amd64,cores=1")
    preempt, services = given.get("preempt", ""), given.get("services", "").split()
    if (path := Path(name)).is_file():
        kernel = Kernel.of_file(path)
    elif found := here(name):
        kernel = found
    else:
        got = fetch(chosen(name, offers(machine).kernels))
        if not got.kernels:
            reason = next(iter(got.refused.values()), "")
            raise TargetError(f"{name} cannot be had: {reason}", "deadbeat list kernels")
        kernel = got.kernels[0]
    if preempt and preempt not in kernel.preemption.choices:
        known = ", ".join(kernel.preemption.choices) or kernel.preemption.default
        raise UsageError(f"{word}: {kernel.label} has no preempt={preempt}", f"it has {known}")
    preemption = [f"preempt={preempt}"] * bool(preempt)
    system = Rootfs.read(Path(given["rootfs"])) if "rootfs" in given else None
    if system:
        system.require_machine(kernel.machine, kernel.name)
    words = given["cmdline"].split()
    guest = Guest(
        qemu=find_qemu(kernel.machine),
        kernel=kernel,
        program=verb_program(toolchain_for(kernel.machine)),
        words=" ".join([*preemption, *_PARALLEL * bool(turn_ns), *words]),
        mode=mode,
        cpus=cores,
        turn_ns=turn_ns,
        memory=memory,
        preset=Job().start("services", (PROGRAM, "load", *services)) if services else Job(),
        extra=files_below(Path(given["extra"]) if "extra" in given else None),
        rootfs=system,
    )
    if mode == "kvm" and (why := kvm_refused(guest.qemu, kernel, guest.program)):
        raise TargetError(why, "leave the mode out: virtual time needs no KVM")
    label = "-".join(filter(None, [kernel.label, preempt]))
    return GuestTarget(guest, look(guest, name=label), seed=seed)
