"""An emulator and a kernel really fetched from this machine's own mirror."""

from pathlib import Path

import pytest

from deadbeat.base.model.errors import TargetError
from deadbeat.lab.apt import host_sources
from deadbeat.lab.kernels import fetch, fetched
from deadbeat.lab.offers import chosen, offers
from deadbeat.lab.qemu import OLDEST, find_qemu


@pytest.mark.slow
def test_a_kernel_and_an_emulator_of_this_machines_mirror(tmp_path, monkeypatch):
    monkeypatch.setenv("DEADBEAT_CACHE", str(tmp_path))
    try:
        known = offers("x86_64").kernels
    except TargetError as error:
        pytest.skip(f"no mirror of Debian: {error}")
    series = {each.label for each in known}
    assert {"6.1-cloud-amd64", "6.12-cloud-amd64"} <= series
    words = ("6.1-cloud-amd64", "6.12-cloud-amd64")
    got = fetch([one for word in words for one in chosen(word, known)])
    assert [each.label for each in got.kernels] == list(words)
    assert fetched() == got.kernels
    for kernel in got.kernels:
        assert kernel.image.read_bytes()[:4] == b"\x7fELF"
        assert kernel.preemption.choices == ("none", "voluntary", "full")
        assert "\nCONFIG_PREEMPT_DYNAMIC=y\n" in kernel.config.read_text()
        places = [source.uri.split("/")[2] for source in host_sources(Path("/etc/apt"))]
        assert not any(place in str(kernel.facts) for place in places)
    qemu = find_qemu("x86_64")
    assert qemu.version >= (OLDEST, 0, 0)
    # What was fetched works without a network.
    assert offers("x86_64").kernels == known
