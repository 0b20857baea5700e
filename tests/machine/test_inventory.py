"""What a system consists of, with systemd and without; each line says how it was counted."""

import pytest
from helpers.checks import Thread, window

from deadbeat.machine.settings.facts import Facts, gather
from deadbeat.machine.settings.inventory import READS, Item, inventory
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.targets.readings import Reading

DAEMON = Thread(tid=30, name="syslogd")
GETTY = Thread(tid=31, name="getty")
NO_SYSTEMD = Reading(None, "failed: systemd does not run here")
DF = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/root 60000 15800 9 30% /\n"
BOARD: dict[str, str | Reading] = {
    **window(DAEMON, GETTY),
    "services": NO_SYSTEMD,
    "startup": NO_SYSTEMD,
    "started": "/etc/rc5.d 11\n",
    "packages": "opkg 64\n",
    "root-size": DF,
}
DESKTOP: dict[str, str | Reading] = {
    **window(),
    "services": "state running\nactive 35\nrunning 16\ntimers 3\n",
    "startup": "Startup finished in 2.5s (kernel) + 1min 4.9s (userspace) = 1min 7.4s \n",
    "packages": "dpkg 549\n",
    "root-size": DF,
}


def facts_of(outputs: dict[str, str | Reading]) -> Facts:
    return gather(FakeTarget(outputs=outputs), READS)


def lines(outputs: dict[str, str | Reading]) -> dict[str, Item]:
    return {item.name: item for item in inventory(facts_of(outputs))}


def test_a_board_without_systemd_is_counted_all_the_same() -> None:
    found = lines(BOARD)
    assert found["processes"].text == "4"
    assert found["kernel-threads"].text == "1"
    assert found["services-active"].text == "11"
    assert "rc5.d" in found["services-active"].basis
    # The shell of the fake and the daemon are children of process 1, the prompt is no service.
    assert found["services-running"].text == "2"
    assert (found["packages"].text, found["packages"].basis) == ("64", "records of opkg")
    assert found["image"].text == "15.8 MB"
    assert found["boot"].text == "0.1 s"
    assert found["boot"].basis == "start of getty after the kernel's"


def test_systemd_is_asked_where_it_runs() -> None:
    found = lines(DESKTOP)
    assert [found[f"services-{kind}"].text for kind in ("active", "running")] == ["35", "16"]
    assert found["boot"].text == "67.4 s"
    assert "systemd-analyze" in found["boot"].basis


@pytest.mark.parametrize(("told", "seconds"), [("= 905ms", "0.9 s"), ("= 12.044s", "12.0 s")])
def test_every_form_of_systemd_analyze_is_read(told: str, seconds: str) -> None:
    found = lines({**DESKTOP, "startup": f"Startup finished in 1s {told} \n"})
    assert found["boot"].text == seconds


def test_the_log_tells_the_boot_where_there_is_no_prompt() -> None:
    log = "[    1.250000] Run /sbin/init as init process\n"
    assert lines({**BOARD, **window(DAEMON), "dmesg": log})["boot"].text == "1.2 s"


def test_what_cannot_be_counted_says_why() -> None:
    found = lines({})
    assert {item.value for item in found.values()} == {None}
    assert all(item.text == "not known" and item.basis for item in found.values())
    assert "no such program" in found["packages"].basis


def test_facts_are_what_files_and_options_say() -> None:
    files = {
        "/proc/cpuinfo": "model name\t: A\nmicrocode\t: 0x1\n\nmodel name\t: A\nmicrocode\t: 0x2\n",
        "/sys/devices/system/cpu/online": "0-1\n",
        "/sys/devices/system/cpu/vulnerabilities/mds": "Vulnerable: no microcode\n",
        "/sys/devices/system/cpu/vulnerabilities/srbds": "Mitigation: TSX disabled\n",
        "/sys/kernel/tracing/available_tracers": "hwlat nop\n",
    }
    target = FakeTarget(files=files, outputs={"kernel-config": "CONFIG_HZ=250\n"})
    found = {i.name: i.text for i in inventory(gather(target, READS))}
    assert [found[n] for n in ("processor", "microcode", "hz")] == ["A", "0x1 / 0x2", "250"]
    assert [found[n] for n in ("vulnerable", "graphics", "tracers")] == ["mds", "none", "hwlat nop"]
    assert found["huge-pages"] == "not known"


def test_numbers_that_are_none_are_not_guessed() -> None:
    assert lines({**BOARD, "packages": "dpkg many\n"})["packages"].value is None
    assert lines({**BOARD, "root-size": "nothing\n"})["image"].value is None
    assert lines({**DESKTOP, "startup": "Bootup is not yet finished\n"})["boot"].value is None


def test_this_machine_is_counted() -> None:
    with LocalTarget() as target:
        found = {i.name: i for i in inventory(gather(target, READS))}
    uptime = found["uptime"].value
    assert isinstance(uptime, float) and uptime > 0
    assert found["image"].known
