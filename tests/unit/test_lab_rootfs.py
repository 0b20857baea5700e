"""``lab run --rootfs``: what a system's files become, and what its machine is seen to hold."""

import tarfile

import pytest
from helpers.machines import AnyKernel

from deadbeat.cli.main import main
from deadbeat.host.recorded import inventory_of, recorded_target
from deadbeat.lab.guest import Guest
from deadbeat.lab.job import Job
from deadbeat.lab.qemu import Qemu
from deadbeat.lab.rootfs import Rootfs
from deadbeat.model.errors import UsageError


@pytest.fixture
def system(tmp_path):
    """A folder with a program for 64-bit Arm, which a link names as the first process."""
    (tmp_path / "image/sbin").mkdir(parents=True)
    (tmp_path / "image/sbin/init").symlink_to("systemd")
    (tmp_path / "image/sbin/systemd").write_bytes(b"\x7fELF" + bytes(14) + b"\xb7\0")
    return tmp_path / "image"


def test_a_folder_and_its_tar_file_are_one_system_that_starts_first(system):
    with tarfile.open(path := system.with_name("image.tar.xz"), "w:xz") as tar:
        tar.add(system, arcname=".")
    found, given = Rootfs.read(path), {}
    with pytest.raises(UsageError, match="is for aarch64"):
        found.require_machine("x86_64", "6.12-amd64")
    assert found.sha256 == Rootfs.read(system).sha256
    booted = lambda qemu, kernel, **more: given.update(more)  # noqa: E731
    guest = Guest(qemu=Qemu(machine="", program="x"), kernel=AnyKernel(machine="aarch64"),
                  program=system / "sbin/systemd", booted=booted,
                  rootfs=found)  # fmt: skip
    assert guest.facts["rootfs"] == {"name": path.name, "sha256": found.sha256}
    guest.run(Job().log("x"), seed=1, seconds=1)
    assert given["initramfs"].startswith(found.archive)
    assert b"become /sbin/init\nsleep 40000000000\nlog x\n" in given["initramfs"]


@pytest.mark.parametrize(
    ("name", "words"), [("no", "No such file"), ("sbin/init", "no tar"), ("etc", "no /sbin/init")]
)
def test_what_is_no_system_is_refused_in_a_line(system, capsys, name, words):
    (system / "etc").mkdir()
    assert main(["lab", "run", "--kernels", "6.12-amd64", "--rootfs", str(system / name)]) == 2
    assert words in capsys.readouterr().err


def test_what_there_is_in_a_machine_is_counted():
    stat = "{} ({}) S {} 0 0 0 0 {} 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0\n"
    files = {"/proc/1/stat": stat.format(1, "systemd", 0, 0), "/proc/modules": "ext4 1\n"}
    files |= {f"/proc/{n}/stat": stat.format(n, f"x{n}", 1, n << 20) for n in (2, 8)}
    files |= {"/proc/timer_list": "x\n #0: <0>, tick\n #1: <0>, y\n"}
    seen = {f"look{path}": text.encode() for path, text in files.items()}
    counts = {"processes": 2, "kernel_threads": 1, "timers": 2, "modules": 1}
    for service in ("x8", "dbus"):
        target = recorded_target(seen, "look", name="x", kind="virtual-time")
        assert inventory_of(target) == {**counts, "services": [service]}
        seen["look/sys/fs/cgroup/system.slice/dbus.service/cgroup.procs"] = b"9\n"
