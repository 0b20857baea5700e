"""``lab run --rootfs``: what a system's files become, and what its machine is seen to hold."""

from __future__ import annotations

import tarfile

import pytest
from helpers.machines import AnyKernel

from deadbeat.cli.main import main
from deadbeat.host.recorded import inventory_of, recorded_target
from deadbeat.lab.guest import Guest
from deadbeat.lab.job import Job
from deadbeat.lab.rootfs import Rootfs


@pytest.fixture
def system(tmp_path):
    """A folder where only links lead to the first process, a program for 64-bit Arm."""
    (tmp_path / "image/usr/lib").mkdir(parents=True)
    (tmp_path / "image/usr/sbin").mkdir()
    (tmp_path / "image/sbin").symlink_to("usr/sbin")
    (tmp_path / "image/usr/sbin/init").symlink_to("../lib/systemd")
    (tmp_path / "image/usr/lib/systemd").write_bytes(b"\x7fELF" + bytes(14) + b"\xb7\0")
    return tmp_path / "image"


def test_a_folder_and_its_tar_file_are_one_system_that_starts_first(system, tmp_path):
    with tarfile.open(tmp_path / "image.tar.xz", "w:xz") as tar:
        tar.add(system, arcname=".")
    found = Rootfs.read(tmp_path / "image.tar.xz")
    assert found.facts == {"name": "image.tar.xz", "sha256": Rootfs.read(system).sha256}
    assert (found.machine, found.label) == ("aarch64", "image")
    given = {}
    (tmp_path / "program").write_bytes(b"ours")
    booted = lambda qemu, kernel, **more: given.update(more)  # noqa: E731
    guest = Guest(
        qemu=None, kernel=AnyKernel(), program=tmp_path / "program", rootfs=found, booted=booted
    )
    guest.run(Job().log("x"), seed=1, seconds=1)
    assert given["initramfs"].startswith(found.archive)
    assert b"become /sbin/init\nsleep 40000000000\nlog x\n" in given["initramfs"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("no", "No such file"), ("x", "no tar"), ("usr/lib", "has no /sbin/init")],
)
def test_what_is_no_system_is_refused_in_a_line(system, capsys, name, words):
    (system / "x").write_text("x" * 999)
    assert main(["lab", "run", "--kernels", "6.12-amd64", "--rootfs", str(system / name)]) == 2
    assert words in capsys.readouterr().err


def test_what_there_is_in_a_machine_is_counted():
    stat = "{} ({}) S {} 0 0 0 0 {} 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0"
    rows = {1: ("systemd", 0, 0), 2: ("kthreadd", 0, 0x200000), 9: ("dbus-daemon", 1, 0)}
    files = {
        f"/proc/{pid}/stat": stat.format(pid, name, parent, flags) + "\n"
        for pid, (name, parent, flags) in rows.items()
    }
    files |= {"/proc/modules": "ext4 1\n", "/proc/timer_list": "x\n #0: <0>, tick\n #1: <0>, y\n"}
    seen = {f"look{path}": text.encode() for path, text in files.items()}
    counts = {"processes": 2, "kernel_threads": 1, "timers": 2, "modules": 1}
    for service in ("dbus-daemon", "dbus"):
        target = recorded_target(seen, "look", name="x", kind="virtual-time")
        assert inventory_of(target) == {**counts, "services": [service]}
        seen["look/sys/fs/cgroup/system.slice/dbus.service/cgroup.procs"] = b"9\n"
