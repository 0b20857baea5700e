"""Sources of apt, and how an emulator is found, with apt and dpkg scripted."""

from pathlib import Path

import pytest

from deadbeat.base.model.errors import TargetError, UsageError
from deadbeat.lab.apt import AptSource, Lab, complaints, debian_sources, host_sources
from deadbeat.lab.qemu import find_qemu
from deadbeat.machine.targets.base import Completed
from deadbeat.machine.targets.fake import FakeTarget

MIRROR = "http://mirror.example/debian"
STANZA = f"""\
# a comment
Types: deb deb-src
URIs: {MIRROR}
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc

Types: deb
URIs: {MIRROR}-security
Suites: bookworm-security
Components: main
Enabled: no
"""
LINES = f"""\
deb [ arch=amd64 signed-by=/keys/k.gpg ] {MIRROR} bookworm main non-free # ours
deb {MIRROR}-security bookworm-security main
deb-src {MIRROR} bookworm main
#deb {MIRROR} sid main
deb http://other.example/apt stable tools
"""


def etc(folder: Path, *, lines: str = "", stanzas: str = "") -> Path:
    (folder / "sources.list.d").mkdir(parents=True)
    (folder / "sources.list").write_text(lines)
    (folder / "sources.list.d" / "debian.sources").write_text(stanzas)
    return folder


def test_sources_of_both_formats_keep_their_keys(tmp_path):
    assert host_sources(etc(tmp_path / "one", lines=LINES)) == (
        AptSource(MIRROR, "bookworm", "/keys/k.gpg"),
        AptSource(f"{MIRROR}-security", "bookworm-security"),
    )
    first, second = host_sources(etc(tmp_path / "two", stanzas=STANZA))
    assert (first.suite, second.suite) == ("bookworm", "bookworm-updates")
    assert "\nSigned-By: \n -----BEGIN" in first.stanza("arm64")
    assert first.stanza("arm64").endswith("\n abc\n")
    assert "\nArchitectures: arm64\n" in first.stanza("arm64")


def test_other_suites_come_from_the_same_places(tmp_path):
    host = host_sources(etc(tmp_path, lines=LINES))
    assert debian_sources(host, ("sid", "trixie-security")) == (
        AptSource(MIRROR, "sid", "/keys/k.gpg"),
        AptSource(f"{MIRROR}-security", "trixie-security"),
    )
    assert debian_sources(host[:1], ("sid", "trixie-security"))[1:] == ()
    with pytest.raises(TargetError, match="no Debian suite"):
        debian_sources((), ("sid",))


def test_complaints_do_not_name_the_mirror():
    done = Completed(
        argv=(),
        returncode=100,
        stdout="",
        stderr=f"E: The repository '{MIRROR} old Release' does not have a Release file.\n"
        f"W: Failed to fetch {MIRROR}/dists/x  404  Not Found\nN: See apt-secure(8)\n",
    )
    first, second = complaints(done)
    assert "mirror" not in first + second
    assert second == "Failed to fetch debian/dists/x 404 Not Found"


class Debian:
    """A machine whose apt has QEMU 7.2, and 10.0.2 in backports."""

    def __init__(self, *, backports: bool = True, dies: str = "") -> None:
        self.backports, self.dies = backports, dies
        self.target = FakeTarget(commands={"env": self.env, "dpkg-deb": self.unpack})
        self.target.commands["dpkg"] = self.done("amd64\n")

    def done(self, stdout: str = "", stderr: str = "", returncode: int = 0) -> Completed:
        return Completed(argv=(), returncode=returncode, stdout=stdout, stderr=stderr)

    def env(self, argv: tuple[str, ...]) -> Completed:
        if argv[-1] == "--version":
            return self.done("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2~bpo12+1)\n")
        if self.dies and self.dies in argv:
            return self.done(stderr="E: Unable to locate it", returncode=100)
        if "madison" in argv:
            new = f" qemu-system-x86 | 1:10.0.2+ds-2~bpo12+1 | {MIRROR} bookworm-backports/main"
            old = f" qemu-system-x86 | 1:7.2+dfsg-7 | {MIRROR} bookworm/main amd64 Packages\n"
            return self.done((f"{new} amd64 Packages\n" if self.backports else "") + old)
        if "install" in argv:
            assert argv[-1] == "qemu-system-x86/bookworm-backports"
            return self.done(
                "Inst seabios [1.0] (1.16.3-2 Debian:12/oldstable [all])\n"
                "Inst qemu-system-x86 (1:10.0.2+ds-2~bpo12+1 Debian Backports:x [amd64])\n"
            )
        if "download" in argv:
            for name in ("seabios_1.16.3-2_all", "qemu-system-x86_1%3a10.0.2+ds-2~bpo12+1_amd64"):
                (Path(argv[2]) / f"{name}.deb").touch()
        return self.done()

    def unpack(self, argv: tuple[str, ...]) -> Completed:
        root = Path(argv[3])
        for each in ("bin/qemu-system-x86_64", "bin/qemu-system-i386", "share/seabios/bios.bin"):
            (root / "usr" / each).parent.mkdir(parents=True, exist_ok=True)
            (root / "usr" / each).touch()
        (root / "usr/lib/x86_64-linux-gnu/qemu").mkdir(parents=True, exist_ok=True)
        return self.done()


def test_the_hosts_own_is_taken_where_it_is_new_enough(tmp_path):
    version = Completed(
        argv=(), returncode=0, stdout="QEMU emulator version 11.1.0 (x)\n", stderr=""
    )
    target = FakeTarget(commands={"qemu-system-riscv64": version})
    found = find_qemu("riscv64", lab=Lab(target=target, folder=tmp_path))
    assert found.command == ("qemu-system-riscv64",)
    assert found.identification == "QEMU 11.1.0"
    with pytest.raises(UsageError, match="the lab emulates no riscv32"):
        find_qemu("riscv32", lab=Lab(target=target, folder=tmp_path))


def test_one_is_fetched_from_backports_once(tmp_path):
    debian, told = Debian(), []
    here = etc(tmp_path / "etc", lines=LINES)
    folder = tmp_path / "lab"
    folder.mkdir()
    lab = Lab(target=debian.target, folder=folder, etc=here)
    found = find_qemu("x86_64", lab=lab, say=told.append)
    assert told == ["fetching QEMU 1:10.0.2+ds-2~bpo12+1 for x86_64: 2 packages"]
    assert found.version == (10, 0, 2)
    assert found.options == ("-L", str(folder / "qemu/x86_64/usr/share/seabios"))
    assert found.command[0] == "env" and "QEMU_MODULE_DIR=" in found.command[1]
    assert not (folder / "qemu/x86_64/usr/bin/qemu-system-i386").exists()
    assert list((folder / "qemu/packages").iterdir()) == []
    download = next(call for call in debian.target.calls if "download" in call)
    assert download[-2:] == ("seabios=1.16.3-2", "qemu-system-x86:amd64=1:10.0.2+ds-2~bpo12+1")
    assert find_qemu("x86_64", lab=lab) == found
    assert sum("download" in call for call in debian.target.calls) == 1


@pytest.mark.parametrize(
    ("debian", "words"),
    [
        (Debian(backports=False), "the newest is 1:7.2"),
        (Debian(dies="download"), "cannot be fetched: Unable to locate it"),
        (Debian(dies="install"), "does not go with this system: Unable to locate it"),
    ],
)
def test_what_cannot_be_had_is_told_in_a_line(tmp_path, debian, words):
    with pytest.raises(TargetError, match=words):
        there = etc(tmp_path / "e", lines=LINES)
        find_qemu("x86_64", lab=Lab(target=debian.target, folder=tmp_path, etc=there))
