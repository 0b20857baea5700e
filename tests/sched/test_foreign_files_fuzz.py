"""Truth: a file of another tool, whatever happened to it on the way, is an answer or a line."""

import json
import random
import re
import resource
import time
from pathlib import Path

import pytest
from helpers import seldom
from helpers.answers import Capture

from deadbeat.cli.main import main

FOREIGN = Path(__file__).parents[1] / "pools/foreign"
SIMSO = """<simulation cycles_per_ms="1000000" etm="wcet"><sched overhead="0"/>
<processors><processor name="CPU 1" cl_overhead="0" cs_overhead="0" speed="1.0"/></processors>
<tasks><task WCET="2.25" activationDate="0.5" deadline="9" name="a" period="10" ACET="0"/>
<task WCET="2" activationDate="0" deadline="20" name="b" period="20" task_type="Periodic"/>
</tasks></simulation>"""
FILES = [
    *(file.read_bytes() for file in sorted(FOREIGN.glob("3*")) if "tla" not in file.name),
    *(file.read_bytes() for file in sorted(FOREIGN.glob("4[0-8]-[!crx]*"))),
    *(file.read_bytes() for file in sorted(FOREIGN.glob("4*-rt-app-*"))),
    (FOREIGN / "44-cheddar.xmlv3").read_bytes(),
    SIMSO.encode(),
]
NUMBERS = ["-1", "0", "-0", "1.5", "1e-99", "1e99", "1e999999999", "inf", "nan", "1/3", "1/0"]
NUMBERS += [
    "0x1f",
    "1_0",
    "²",
    "x",
    "[]",
    "{}",
    "null",
    "true",
    "",
    "9" * 400,
    "-" + "9" * 25,
    str(1 << 60),
    str(1 << 63),
    "100000000",
]
OPENED = ("(", "[", "{", "<a>", '{"a":', "<task>", "=>", ",", "\x1b[2J", "\0", " ")
BEGINNINGS = (
    *('<?xml version="1.0" encoding="martian"?>', '<?xml version="1.0" encoding="utf-16"?>'),
    *('<!DOCTYPE a [<!ENTITY b "cc">]>', "\ufeff", "\x1f\x8b", "\0"),
)
ENTITIES = ("&b;", "&#0;", "&#xD800;", "<![CDATA[", "<!--", "--", "/*", '"', "\\")
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "cp037", "latin-1")


def spoilt(data: bytes, draw: random.Random) -> bytes:
    """In one of the ways in which files get lost; mostly such that it still is of its kind."""
    text = data.decode(errors="replace")
    lines, place = text.split("\n"), draw.randrange(len(text) + 1)
    word = draw.choice([*re.finditer(r"[A-Za-z_]+", text)] or [re.search("", text)])
    digits = draw.choice([*re.finditer(r"\d+(?:\.\d+)?", text)] or [word])
    match draw.choice("nnnnwwwdD+<&^~%"):
        case "n":
            text = text[: digits.start()] + draw.choice(NUMBERS) + text[digits.end() :]
        case "w":
            other = draw.choice([*re.findall(r"[A-Za-z_]+", text), *NUMBERS])
            text = text[: word.start()] + other + text[word.end() :]
        case "d":
            del lines[draw.randrange(len(lines))]
            text = "\n".join(lines)
        case "D":
            lines += draw.choices(lines, k=draw.choice((1, 2, 40)))
            text = "\n".join(lines)
        case "+":
            text = text[:place] + draw.choice(OPENED) * draw.choice((1, 30, 3000)) + text[place:]
        case "<":
            text = draw.choice(BEGINNINGS) + text
        case "&":
            text = text[:place] + draw.choice(ENTITIES) + text[place:]
        case "^":
            text = text[:place]
        case "~":
            return text.encode(draw.choice(ENCODINGS), errors="replace")
        case _:
            at = draw.randrange(len(data) + 1)
            return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
    return text.encode(errors="replace")


def answered(words: list[str], capsys: Capture) -> int:
    """The status of one command on a spoilt file, after what holds for each."""
    began = time.process_time()
    status = main(words)
    took = time.process_time() - began
    out, err = capsys.readouterr()
    assert status in (0, 1, 2), err
    assert "unexpected:" not in err and "Literal(" not in err
    if status == 2:
        assert not out
        assert err.splitlines()[-1].startswith(("deadbeat: error: ", "  ")), err
    assert took < 5, (took, words)
    return status


@pytest.mark.parametrize("count", [250, *seldom((20_000,))])
def test_a_spoilt_file_is_an_answer_or_a_line(count: int, tmp_path: Path, capsys: Capture) -> None:
    draw, seen = random.Random(count), set()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count):
        data = draw.choice(FILES)
        for _ in range(draw.choice((1, 1, 2, 4))):
            data = spoilt(data, draw)
        path = tmp_path / f"a{draw.choice(('', '', '.xml', '.json', '.csv'))}"
        path.write_bytes(data)
        command = ("analyze", "simulate", "convert")[number % 3]
        to = ["-"] if command == "convert" else []
        seen.add((command, answered(["sched", command, str(path), *to], capsys)))
        path.unlink()
    assert len(seen) == 6  # each command has answers and lines
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + (400 << 10)


MAST = (FOREIGN / "45-mast.txt").read_text()
LOCK = '{"tasks": {"a": {"phases": {"p": {"lock": "m", "run": 1, "unlock": "m", "loop": 9'
ONE = '{"processors": 1, "tasks": [{"wcet": 1, "period": 3'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MAST.replace("2.5,", "1e999999999,", 1), '"1e999999999" is not a whole number'),
        (MAST.replace("=> 2.5", "= 2.5", 1), "is not MAST's grammar"),
        (MAST.replace("=> 2.5", "=> 2 5", 1), "is not MAST's grammar"),
        ('{"tasks": {"a": {"lock": [], "run": 1, "timer": {"period": 9}}}}', "lock [] (write"),
        ('{"tasks": {"a": {"instance": 9000000000, "run": 1, "sleep": 9}}}', "65535 tasks"),
        (LOCK + "0" * 9 + "}}}}}", "loop 9000000000 with locks"),
        ('{"tasks": {"a": {"run": 0.5, "sleep": 9}}}', "run 0.5"),
        (ONE + "".join(f', "k{i}": 1' for i in range(20_000)) + "}]}", "20000 unknown keys"),
        (ONE + ', "a' + " " * 100_000 + 'b": 1}]}', "unknown key"),
        ("wcet," * 100_000 + "\n1,2\n", "100001 columns"),
        ("wcet,period,a" + " " * 100_000 + "b\n1,2,3\n", "unknown column"),
        (json.dumps({"a": 1}) + "/* " * 100_000, "not JSON"),
        ('{"a": ' + '"\\' * 100_000, "not JSON"),
    ],
    ids=range(13),
)  # fmt: skip
def test_what_was_slow_or_a_defect_is_a_line(
    text: str, said: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "a").write_text(text)
    began = time.process_time()
    assert main(["sched", "convert", "--processors", "1", str(tmp_path / "a"), "-"]) == 2
    assert time.process_time() - began < 3
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("end", ["-- the end", "-- the end\n", "\n" * 100_000], ids=range(3))
def test_a_file_of_mast_may_end_in_comments_and_blanks(
    end: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "a").write_text(MAST + end)
    assert main(["sched", "convert", str(tmp_path / "a"), "-"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tasks"]) == 1


def test_the_longest_periods_are_simulated(tmp_path: Path, capsys: Capture) -> None:
    task = {"wcet": 3, "period": 1 << 60, "suspension": 1}
    (tmp_path / "a").write_text(json.dumps({"processors": 1, "tasks": [task]}))
    assert main(["sched", "simulate", "--policy", "p-fp", str(tmp_path / "a")]) == 0
    assert "error" not in capsys.readouterr().err
