"""Booting, with a script in place of QEMU: what goes in, what comes out, and what goes wrong."""

import base64
import threading

import pytest
from helpers.machines import AnyKernel, payload_of, scripted_emulator

from deadbeat.base.model.errors import DataError, TargetError, UsageError
from deadbeat.lab.boot import HEADER_BYTES, boot, command_line, exported, machine_options
from deadbeat.lab.guest import kvm_refused, require_room
from deadbeat.lab.job import ImageFile, Job, image

FILES = {"/tmp/probe.out": b"done 0 1\n", "look/proc/version": b"Linux version 6.12\0\n", "/e": b""}
HANDS_OVER = "shared.write(payload); console.write('up\\n')"


# --- the archive


def entries(archive: bytes) -> list[tuple[str, int, bytes]]:
    """Name, mode and content, as the kernel's buffer-format.rst reads the format "newc"."""
    found, at = [], 0
    while True:
        assert archive[at : at + 6] == b"070701" and at % 4 == 0
        fields = [int(archive[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        mode, size, name_bytes = fields[1], fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_bytes]
        begins = -(-(at + 110 + name_bytes) // 4) * 4
        assert name[-1:] == b"\0" and fields[12] == 0
        if name == b"TRAILER!!!\0":
            return found
        found.append((name[:-1].decode(), mode, archive[begins : begins + size]))
        at = -(-(begins + size) // 4) * 4


def test_an_archive_is_what_the_kernel_reads():
    made = image({"/init": ImageFile(b"\x7fELF", True), "/etc/a b": ImageFile(b"text")})
    assert entries(made) == [
        ("etc", 0o40755, b""),
        ("etc/a b", 0o100644, b"text"),
        ("init", 0o100755, b"\x7fELF"),
    ]
    assert len(made) % 512 == 0


def test_equal_files_make_equal_bytes():
    one = image({"/b": ImageFile(b"1"), "/a/c": ImageFile(b"2")})
    assert one == image({"/a/c": ImageFile(b"2"), "/b": ImageFile(b"1")})
    assert one != image({"/a/c": ImageFile(b"2"), "/b": ImageFile(b"1", True)})


# --- a job


def test_a_job_is_lines_of_words():
    job = Job().sleep(5).run("probe", ("/init", "probe"), limit_ns=9).keep("/tmp/x")
    assert job.text == b"sleep 5\nrun probe 9 - /init probe\nkeep /tmp/x\n"


@pytest.mark.parametrize("word", ["a b", "a\nkeep /etc/shadow", "", "\t"])
def test_a_word_that_would_be_two_is_refused(word):
    with pytest.raises(UsageError, match="no word of a job"):
        Job().keep(word)


# --- what comes out


def test_what_was_handed_over_comes_back():
    assert exported(payload_of(FILES) + b"\0" * 99, b"") == FILES


def test_the_console_is_the_fall_back():
    whole = payload_of(FILES)
    head, body = whole[:HEADER_BYTES].rstrip(b"\0"), whole[HEADER_BYTES:]
    lines = [base64.b64encode(body[i : i + 57]) for i in range(0, len(body), 57)]
    text = b"\r\n".join([b"booting", head.strip(), *lines, b"deadbeat-guest end", b"off"])
    assert exported(b"\0" * 128, text) == FILES
    for nothing in (text.replace(b"deadbeat-guest end", b""), b"Linux version 6.12\n"):
        assert exported(b"\0" * 1024, nothing) is None


@pytest.mark.parametrize("at", [HEADER_BYTES + 1, HEADER_BYTES + 20, -1])
def test_a_damaged_byte_is_found(at):
    memory = bytearray(payload_of(FILES))
    memory[at] ^= 1
    with pytest.raises(DataError, match="checksum"):
        exported(bytes(memory), b"")


def test_less_than_promised_is_found():
    with pytest.raises(DataError, match="bytes, not"):
        exported(payload_of(FILES)[:-3], b"")


# --- a boot


def booted(folder, script, *, initramfs=b"", retries=0, a=b"1", **how):
    return boot(
        scripted_emulator(folder, script, a=a),
        AnyKernel(),
        initramfs=initramfs,
        retries=retries,
        **how,
    )


def test_a_boot_gives_files_and_console(tmp_path):
    found = booted(tmp_path, HANDS_OVER)
    assert (found.files, found.console, found.attempts) == ({"/a": b"1"}, "up\n", 1)


def test_the_emulator_is_told_all(tmp_path):
    script = "console.write(words + '|' + image.decode()); shared.write(payload)"
    how = {"cmdline": "preempt=full", "seed": 7, "cpus": 2, "memory": 256}
    said = booted(tmp_path, script, initramfs=b"i", **how).console
    wanted = (
        *("-icount shift=0,sleep=off", "-accel tcg,thread=single", "-seed 7", "-smp 2", "-m 256"),
        *("-kernel /boot/vmlinux", "preempt=full -- init", "-nodefaults", "|i"),
    )
    assert [each for each in wanted if each not in said] == []


def test_modes_differ_in_their_accelerator():
    words = {
        mode: " ".join(machine_options(AnyKernel(), seed=1, cpus=1, memory=1, mode=mode))
        for mode in ("virtual-time", "functional", "kvm")
    }
    assert "-icount" not in words["functional"] and "thread=multi" in words["functional"]
    assert "-accel kvm" in words["kvm"]
    assert "clock=vm" in words["virtual-time"]


def test_arm_has_its_own_console():
    for machine in ("aarch64", "arm"):
        assert command_line(AnyKernel(machine=machine)).startswith("console=ttyAMA0 ")


def test_what_dies_once_is_booted_again(tmp_path):
    once = tmp_path / "once"
    script = f"""
        import os
        if not os.path.exists({str(once)!r}):
            open({str(once)!r}, "w").close()
            os.abort()
        shared.write(payload)
    """
    found = booted(tmp_path, script, retries=1)
    assert (dict(found.files), found.attempts) == ({"/a": b"1"}, 2)


def test_a_kernel_that_does_not_boot_is_told_with_its_last_words(tmp_path):
    said = "a\\nb\\r\\n[ 1.0] Kernel panic - not syncing: \\x1b[1mno init\\nCall Trace:\\n"
    script = f"console.write('{said}')"
    with pytest.raises(TargetError) as caught:
        booted(tmp_path, script, retries=1)
    assert caught.value.message == (
        "6.12-amd64: it ended without a result; its console ends: [ 1.0] Kernel panic -"
        " not syncing: [1mno init (2 boots)"
    )


def test_an_emulator_that_fails_says_why(tmp_path):
    script = "sys.exit('qemu: could not load kernel')"
    with pytest.raises(TargetError, match=r"with status 1; the emulator said: qemu: could not"):
        booted(tmp_path, script)


@pytest.mark.parametrize(("hangs", "limit_s"), [("time.sleep(600)", 0.03), ("while 1: pass", 0.3)])
def test_a_machine_that_hangs_is_ended(tmp_path, hangs, limit_s):
    with pytest.raises(TargetError, match=f"did not end within {limit_s} s of processor time, or"):
        booted(tmp_path, hangs, timeout_s=limit_s)


def test_a_busy_host_does_not_end_a_boot(tmp_path):
    """What waits for others takes no processor time."""
    script = "time.sleep(1.1); shared.write(payload)"
    found = booted(tmp_path, script, timeout_s=1)
    assert found.files == {"/a": b"1"}


def test_a_boot_that_nobody_wants_is_ended(tmp_path):
    stop = threading.Event()
    stop.set()
    with pytest.raises(TargetError, match="it was given up"):
        booted(tmp_path, "time.sleep(60)", stop=stop)


# --- what virtual time has room for


def test_processors_share_one_stream_in_virtual_time():
    with pytest.raises(UsageError, match="4 CPUs do the work of one") as caught:
        require_room("virtual-time", 2.0, 4, what="load cpu-050")
    assert "at most 25 % of each" in caught.value.hint
    require_room("virtual-time", 1.0, 4, what="load cpu-025")
    require_room("virtual-time", 1.0, 1, what="load cpu-100")
    require_room("functional", 4.0, 4, what="load cpu-100")


# --- whether KVM works is decided by a boot


def test_kvm_is_tried_where_there_is_a_device_for_the_machine(tmp_path):
    (program := tmp_path / "program").write_bytes(b"\x7fELF")
    asked = {}

    def booted(qemu, kernel, **more):
        asked.update(more)
        if kernel.name == "dies":
            raise TargetError("6.12: KVM internal error. Suberror: 1")

    def why(name="x", device=program, machine="x86_64"):
        kernel = AnyKernel(name=name)
        return kvm_refused(None, kernel, program, booted=booted, device=device, machine=machine)

    assert "missing" in why(device=tmp_path / "kvm") and "for aarch64" in why(machine="aarch64")
    assert not asked
    assert why() == "" and (asked["mode"], asked["retries"]) == ("kvm", 0)
    assert asked["timeout_s"] <= 30
    assert why("dies") == "KVM does not boot it here: 6.12: KVM internal error. Suberror: 1"
