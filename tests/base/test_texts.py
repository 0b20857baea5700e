"""Truth: the same lines, packed, encoded, recorded and pasted as tools and people do it."""

import bz2
import gzip
import lzma
import math
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from deadbeat.base.model.errors import DataError
from deadbeat.base.store.texts import Text, json_within, read_text, shown, unindented

LINES = "# Histogram\n000003 001200\n# Max Latencies: 00058 µs\n"
ASCII = LINES.replace("µ", "u")


def zstd(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "zstd": zstd,
}
needs_zstd = pytest.mark.skipif(shutil.which("zstd") is None, reason="there is no zstd here")
PACKED = [pytest.param(name, marks=[needs_zstd] * (name == "zstd")) for name in PACKERS]


def read(tmp_path: Path, data: bytes, limit: int = 1 << 20) -> Text:
    path = tmp_path / "file"
    path.write_bytes(data)
    return read_text(path, what="result", hint="HINT", limit=limit)


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (LINES.encode(), ""),
        (LINES.encode("utf-8-sig"), ""),
        (LINES.encode("utf-16"), "read as UTF-16"),
        (b"\xfe\xff" + LINES.encode("utf-16-be"), "read as UTF-16"),
        (LINES.encode("utf-16-le"), "read as UTF-16-LE"),
        (LINES.encode("utf-16-be"), "read as UTF-16-BE"),
        (LINES.encode("utf-32"), "read as UTF-32"),
        (LINES.encode("utf-32-le"), "read as UTF-32-LE"),
        (LINES.encode("utf-32-be"), "read as UTF-32-BE"),
        (LINES.encode("latin-1"), "read as Latin-1"),
        (LINES.replace("\n", "\r\n").encode(), ""),
        (LINES.replace("\n", "\r\r\n").encode(), ""),
        (LINES.replace("\n", "\r").encode(), ""),
        (LINES.replace("\n", "\r\n").encode("utf-16"), "read as UTF-16"),
        (LINES.encode().replace(b"#", b"\0\0#"), ""),
    ],
)
def test_every_encoding_and_line_end(tmp_path: Path, data: bytes, note: str) -> None:
    assert read(tmp_path, data) == Text(str(tmp_path / "file"), LINES, (note,) * bool(note))


def test_utf_16_that_is_cut_within_a_character(tmp_path: Path) -> None:
    assert read(tmp_path, LINES.encode("utf-16")[:-1]).text == LINES[:-1]


@pytest.mark.parametrize("name", PACKED)
def test_packed_files(tmp_path: Path, name: str) -> None:
    pack = PACKERS[name]
    packed = pack(LINES.encode("utf-16"))
    assert read(tmp_path, packed).text == LINES
    assert read(tmp_path, packed).notes == (f"unpacked by {name}", "read as UTF-16")
    assert read(tmp_path, pack(packed)).text == LINES
    assert read(tmp_path, pack(LINES.encode()) * 2).text == LINES * 2
    with pytest.raises(DataError, match=f"is damaged {name} data: ") as caught:
        read(tmp_path, packed[:-9])
    assert caught.value.hint == "HINT"


@pytest.mark.parametrize("name", PACKED)
def test_a_file_that_unpacks_to_a_gigabyte_is_bounded(tmp_path: Path, name: str) -> None:
    bomb = PACKERS[name](bytes(64 << 20)) * 16
    begin = time.monotonic()
    with pytest.raises(DataError, match="unpacked, is larger than 1,048,576 bytes"):
        read(tmp_path, bomb)
    assert time.monotonic() - begin < 5


def test_what_is_no_text(tmp_path: Path) -> None:
    for path, says in (
        ("/dev/zero", "result /dev/zero is larger than 1,000,000 bytes"),
        ("/dev/null", "result /dev/null is empty"),
        (str(tmp_path), f"cannot read result {tmp_path}: Is a directory"),
        (str(tmp_path / "none"), "No such file or directory"),
        ("/bin/sh", "result /bin/sh is binary, not text"),
    ):
        with pytest.raises(DataError, match=says):
            read_text(path, what="result", hint="HINT", limit=1_000_000)
    for data, says in ((bytes(99), "empty"), (b" \n", "empty"), (bytes(range(256)), "binary")):
        with pytest.raises(DataError, match=f"result .*file is {says}"):
            read(tmp_path, data)


def test_standard_input_may_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match=r"cannot read result standard input: .* is closed"):
        read_text("-", what="result", hint="HINT")


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9\x1b.txt"))
    path.write_text(LINES)
    found = read_text(path, what="result", hint="HINT")
    assert found == Text(f"{tmp_path}/caf\ufffd\ufffd.txt", LINES)
    assert shown(path) == found.name


@pytest.mark.parametrize(
    ("recorded", "seen"),
    [
        ("a 1\nb 2\n\x1b[2Aa 3\nb 4\n", "a 3\nb 4\n"),
        ("long line\n\x1b[1Ashort\x1b[K\n", "short\n"),
        ("\x1b]0;title\a\x1b[1;31mred\x1b[0m\r\n", "red\n"),
        ("10 %\r20 %\x1b[0K\r\n", "20 %\n"),
        ("one\ntwo\n\x1bcthree\n", "one\ntwo\nthree\n"),
        ("one\ntwo\n\x1b[H\x1b[2Jthree\n", "one\ntwo\nthree\n"),
        ("one\n\x1bctwo\nthree\n\x1b[Hfour\x1b[K\x1b[9A", "one\nfour\nthree\n"),
        ("one\ntwo\n\x1b[Hthree\x1b[J", "three"),
        ("ab\b\bcd\x1b[3Ce", "cd   e"),
        ("a\x1b(Bb\x1b[?25lc\x1b[99999999999999999999Cd", "abc" + " " * (65536 - 3) + "d"),
        ("a\x1b[9999Bb\x1b[9999Ac", "abc"),
        ("a\x1b", "a"),
    ],
)  # fmt: skip
def test_what_a_terminal_shows_at_the_end(tmp_path: Path, recorded: str, seen: str) -> None:
    assert read(tmp_path, recorded.encode()).text.rstrip("\n") == seen.rstrip("\n")


def test_what_was_pasted() -> None:
    pasted = "see:\n  > " + "\n  > ".join(ASCII.splitlines()) + "  \n"
    assert unindented(pasted) == f"see:\n{ASCII}\n"
    logged = "".join(f"2026-03-03T09:00:00.1234567Z   {line}\n" for line in ASCII.splitlines())
    assert unindented(logged) == f"{ASCII}\n"


def test_json_among_other_lines() -> None:
    text = 'run 3:\n    {"a": -nan, "b": [inf, -Infinity,\n NaN], "c": "x -nan"}\ndone {}\n'
    (found,), lines, damage = json_within(text)
    assert (lines, damage) == ("run 3:\n\ndone {}\n\n", "")
    assert all(map(math.isnan, [found["a"], *found["b"]])) and found["c"] == "x -nan"
    assert json_within("no {object}\n{ a shell's }")[::2] == ([], "")
    for damaged in ('{"a": \n', '{"a":' * 100_000):
        none, _, damage = json_within(damaged)
        assert not none and ("Expecting" in damage or "nested" in damage)


def test_json_objects_one_after_another() -> None:
    found, lines, damage = json_within('{"a": 1}\n{"a": 2}\nand\n{"a": {\n"b": 3}}\n{"a":')
    assert found == [{"a": 1}, {"a": 2}, {"a": {"b": 3}}] and "and" in lines
    assert "Expecting value" in damage


@pytest.mark.parametrize("before", [
    "Mar  3 09:01:01 board1 cyclictest[1211]: ", "Mar 03 09:01:01.123456 board1 cyclictest[1]: ",
    "2026-03-03T09:01:01+0100 board1 cyclictest[1211]: ", "1772528411.203118 b.lan ct[1]: ",
    "Tue 2026-03-03 09:01:01 CET board1 latency.service[1]: ", "[   12.345678] board1 ct[7]: ",
    "2026-03-03T09:01:01.123456+01:00 board1 sh[1]:     ",
])  # fmt: skip
def test_what_a_log_puts_before_its_lines(before: str) -> None:
    lines = "T: 0 ( 1211) P:90 I:1000 C:  34210\n000003 000563\t000268\n\nMax CPUs = 4\n"
    logged = "".join(f"{before}{line}\n" for line in lines.splitlines())
    assert unindented(logged) == f"{lines}\n"
