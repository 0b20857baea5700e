"""Whether KVM works is decided by a boot."""

from __future__ import annotations

import pytest
from helpers.machines import AnyKernel

from deadbeat.lab.boot import Booted
from deadbeat.lab.guest import kvm_works
from deadbeat.model.errors import TargetError


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program"
    path.write_bytes(b"\x7fELF")
    return path


def test_a_kernel_that_boots_works(program):
    asked = {}

    def booted(qemu, kernel, **more):
        asked.update(more)
        return Booted(files={}, console="")

    given = {"booted": booted, "device": program, "machine": "x86_64"}
    assert kvm_works(None, AnyKernel(), program, **given) == (True, "")
    assert (asked["mode"], asked["retries"]) == ("kvm", 0)
    assert asked["timeout_s"] <= 30


def test_the_device_alone_says_nothing(program):
    def dies(qemu, kernel, **more):
        raise TargetError("6.12: KVM internal error. Suberror: 1")

    works, why = kvm_works(
        None, AnyKernel(), program, booted=dies, device=program, machine="x86_64"
    )
    assert not works
    assert why == "KVM does not boot it here: 6.12: KVM internal error. Suberror: 1"


def test_without_device_or_of_another_machine_nothing_is_booted(program, tmp_path):
    assert kvm_works(None, AnyKernel(), program, device=tmp_path / "kvm", machine="x86_64")[1]
    works, why = kvm_works(None, AnyKernel(), program, device=program, machine="aarch64")
    assert not works
    assert "for aarch64" in why
