"""``deadbeat list kernels``, ``fetch`` and ``lab run`` on scripted packages and stored matrices."""

import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
import test_lab_latency
from attrs import evolve
from helpers.answers import answer_of
from helpers.machines import AnyKernel
from test_lab_kernels import Mirror

from deadbeat.base.model.errors import UsageError
from deadbeat.build.native import cache_root
from deadbeat.cli.lab import asked_of
from deadbeat.cli.main import main
from deadbeat.lab.guest import Guest
from deadbeat.lab.job import Job
from deadbeat.lab.kernels import expected, fetch
from deadbeat.lab.offers import chosen, offers
from deadbeat.lab.presets import PRESETS
from deadbeat.lab.qemu import Qemu
from deadbeat.lab.rootfs import Rootfs
from deadbeat.latencies.latency.store import LatencyStore
from deadbeat.machine.host.recorded import inventory_of, recorded_target

boots = test_lab_latency.boots
QEMU = "#!/bin/sh\necho QEMU emulator version 10.0.2\n"


@pytest.fixture
def lab(tmp_path, monkeypatch) -> Mirror:
    """A lab with some kernels here, an emulator that only says its version, and no network; what
    is compiled is that of all tests."""
    for compiled in ("libraries", "objects", "programs", "sources"):
        (cache_root() / compiled).mkdir(parents=True, exist_ok=True)
        (tmp_path / compiled).symlink_to(cache_root() / compiled)
    monkeypatch.setenv("DEADBEAT_CACHE", str(tmp_path))
    mirror = Mirror(tmp_path)
    known = offers("x86_64", now=time.time(), lab=mirror.lab).kernels
    wanted = [one for word in ("6.12-amd64", "6.12.90+deb13-amd64") for one in chosen(word, known)]
    fetch(wanted, lab=mirror.lab)
    program = mirror.folder / "qemu/x86_64/usr/bin/qemu-system-x86_64"
    program.parent.mkdir(parents=True)
    program.write_text(QEMU)
    program.chmod(0o755)
    return mirror


def test_the_list_tells_what_is_here_and_what_is_to_be_had(lab, capsys):
    assert main(["list", "kernels", "--json"]) == 0
    rows = answer_of(capsys.readouterr().out)["kernels"]
    assert [(row["release"], row["fetched"]) for row in rows] == [
        ("6.12.90+deb13-amd64", True),
        ("6.12.117+deb13-amd64", True),
        ("6.12.117+deb13-rt-amd64", False),
        ("7.3.4+deb13-amd64", False),
    ]
    assert rows[0]["models"] == ["none", "voluntary", "full"]
    assert rows[2]["models"] == ["rt"]
    assert rows[3]["models"] == ["full", "lazy"]
    assert "mirror.example" not in str(rows)
    assert main(["list", "kernels"]) == 0
    assert "none voluntary* full" in capsys.readouterr().out


def test_fetching_what_is_here_asks_nobody(lab, capsys):
    assert main(["lab", "fetch", "6.12-amd64"]) == 0
    told = capsys.readouterr()
    assert "all are here" in told.err
    assert "6.12.117+deb13-amd64" in told.out
    assert main(["lab", "fetch", "6.12-amd64x"]) == 2


@pytest.mark.parametrize(
    ("flavour", "release", "models"),
    [
        ("amd64", "5.10.0-46-amd64", ("voluntary",)),
        ("cloud-amd64", "6.17.13+deb13-cloud-amd64", ("none", "voluntary", "full", "lazy")),
        ("rt-arm64", "6.1.0-56-rt-arm64", ("rt",)),
        ("arm64", "7.3.4+deb13-arm64", ("lazy",)),
    ],
)
def test_models_of_kernels_that_are_not_here(flavour, release, models):
    assert expected(flavour, release).models == models


def test_every_variant_of_a_preset_has_a_name_of_its_own():
    for preset in PRESETS.values():
        names = [each.name for each in preset.variants]
        assert len(set(names)) == len(names)
        assert len(preset.variants) > 1


def test_a_preset_names_its_kernels_itself(lab, capsys):
    assert main(["lab", "run", "--preset", "preemption", "--kernels", "6.12-amd64"]) == 2
    assert "--preset names its kernels itself" in capsys.readouterr().err


def asked(runs: Path, **more: str) -> Any:
    given = dict.fromkeys(
        ("loads", "duration", "interval", "priority", "engine", "limits", "time_budget")
    )
    given |= {"cmdline": "", "seeds": 3, "seed": 1, "cpus": 1, "memory": 512, "runs": runs}
    given |= {"fresh": False, "retry": False, "figures": None, "mode": "virtual-time", **more}
    return asked_of(["lab", "run"], **given)


def test_a_variant_of_whose_words_the_kernel_makes_nothing_is_left_out(boots, tmp_path, capsys):
    how = asked(tmp_path, name="lab", cmdline="quiet", loads="cpu:50", duration="200ms")
    words = {"base": "", "one": "psy=0", "two": "psy=0 psi=0"}
    found = how.measured({name: how.word("x", word) for name, word in words.items()})
    assert found == {name: tmp_path / name for name in ("base", "two")} and len(boots) == 6
    told = capsys.readouterr().err
    assert "one: the kernel ignores psy=0 (all that it differs by: left out)\n" in told
    assert "deadbeat: two: the kernel ignores psy=0\n" in told


def test_each_kernel_and_model_has_a_matrix_and_all_are_compared(lab, boots, tmp_path, capsys):
    words = ["--kernels", "6.12-amd64", "--preempt", "none,full", "--loads", "cpu:50", "--seeds"]
    words += ["2", "--duration", "200ms", "--runs", str(tmp_path / "runs"), "--fail-on", "worse"]
    assert main(["lab", "run", *words]) == 0 and len(boots) == 4
    out = capsys.readouterr().out
    assert out.startswith("lab-6.12-amd64-full against lab-6.12-amd64-none   VIRTUAL-TIME")
    stores = [LatencyStore.open(tmp_path / f"runs/lab-6.12-amd64-{n}") for n in ("none", "full")]
    assert ["preempt=" in each.facts["lab"]["cmdline"] for each in stores] == [True, True]


def test_where_the_time_is_over_the_rest_is_left(boots, tmp_path, capsys):
    how = asked(tmp_path, name="lab", loads="cpu:50", time_budget="1s")
    how = evolve(how, begin=evolve(how.begin, started=0.0))
    assert how.measured({name: f"lab:{name}" for name in ("one", "two")}) == {} and not boots
    told = capsys.readouterr().err
    for name in ("one", "two"):
        assert f"{name}: the time is over, 0 of 3 boots are kept: the same command" in told


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
