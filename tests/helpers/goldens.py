"""Frozen answers: what each command said of stored results before the packages were merged.

A row is a command; its golden is the JSON that it prints, its exit status and the data files that
it writes. Two answers are equal when their skeletons are (everything but prose), and their prose
has the same numbers: a sentence may be written better, what it says may not change unnoticed.
"""

import csv
import hashlib
import io
import json
import math
import re
import shutil
import tarfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from attrs import field, frozen

from deadbeat.cli.main import main
from deadbeat.machine.settings.knob import all_knobs
from deadbeat.machine.settings.rows import rows
from deadbeat.machine.targets.fake import FakeTarget
from deadbeat.machine.targets.local import LocalTarget
from deadbeat.machine.targets.readings import Reading, Readings
from helpers.answers import validator
from helpers.pages import Page
from helpers.trees import grow

HERE = Path(__file__).parents[1] / "golden"
ANSWERS = HERE / "answers"
#: name -> {"skeleton": checksum, "decision": number or ""}; see golden_answers.py.
MANIFEST = ANSWERS / "manifest.json"
EXAMPLES = Path(__file__).parents[2] / "examples"
#: Relative error of a number that is still the same.
CLOSE = 1e-6
#: So many values are told in short.
MANY = 7
#: A string of so many words is prose.
PROSE = 4
_VOLATILE = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"[\w.-]+\.(png|svg|pdf)\b"), "<figure>"),
)
#: Keys whose values say which build and moment made the answer.
_VOLATILE_KEYS = frozenset(
    {"tool", "version", "fingerprint", "boot_id", "wall_seconds", "seconds_taken"}
)
_BUILD = re.compile(r"deadbeat \d+\.\d+\.\d+\S*")
_NUMBER = re.compile(r"\d+(?:,\d{3})+|\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@frozen
class Row:
    """A command and what it is given.

    Attributes:
        name: Of the golden.
        words: After ``deadbeat``; the working directory is a fresh one.
        folders: Stored results below ``runs``.
        files: Patterns of the files it writes that belong to the answer.
        tree: Recorded machine that stands for this one.
        volatile: Keys that differ from one run of the command to the next.
        call: What is asked in place of a command.
        slow: Left to ``make test-all``.
    """

    name: str
    words: tuple[str, ...]
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tree: str = ""
    slow: bool = False
    volatile: tuple[str, ...] = ()
    call: Callable[[], Any] | None = field(default=None, eq=False)


def unpack(folder: Path) -> Path:
    """The stored results, recorded machines and files of other tools."""
    with tarfile.open(HERE / "folders.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return folder


@contextmanager
def settings_of(then: Any) -> Iterator[None]:
    """Only the checks, or the knobs, that a golden names: a new one changes none."""
    answer = then["answer"] if isinstance(then, Mapping) else {}
    results = answer.get("results") if isinstance(answer, Mapping) else {}
    tables = results if isinstance(results, Mapping) else {}
    ids = {each["id"] for each in tables.get("checks", ()) if "id" in each}
    families = {id.partition(".")[0] for id in ids}
    names = {each["name"] for each in tables.get("knobs", ())}
    kept = {
        id: row
        for id, row in rows().items()
        if id in ids or id.partition(".")[0] not in families
        if not names or row.set is None or row.set.name in names
    }
    with ExitStack() as stack:
        stack.callback(all_knobs.cache_clear)
        for user in ("check", "knob"):
            stack.enter_context(patch(f"deadbeat.machine.settings.{user}.rows", lambda: kept))
        all_knobs.cache_clear()
        yield


def play(row: Row, stored: Path, work: Path, then: Any = None) -> Any:
    """What the command answers now.

    Args:
        then: Its golden: of checks and knobs, only those that it names are there.
    """
    if row.call:
        return plain(row.call(), work, _VOLATILE_KEYS)
    runs = work / "runs"
    runs.mkdir()
    for name in row.folders:
        shutil.copytree(stored / name, runs / name)
    shutil.copytree(stored / "imports", work / "imports")
    shutil.copytree(EXAMPLES, work / "examples")
    trees = json.loads((stored / "trees.json").read_text(encoding="utf-8"))
    out, err = io.StringIO(), io.StringIO()
    with ExitStack() as stack:
        stack.enter_context(
            settings_of(then if row.words[0] in ("doctor", "tune", "list") else None)
        )
        stack.enter_context(chdir(work))
        stack.enter_context(patch.dict("os.environ", {"DEADBEAT_STATE": str(work / "state")}))
        if row.tree:
            stack.enter_context(machine(trees[row.tree]))
            if "--root=tree" in row.words:
                grow(work / "tree", trees[row.tree]["files"])
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        status = main(row.words)
    written = {
        str(path.relative_to(work)): _READERS.get(path.suffix, read)(path.read_text("utf-8"))
        for pattern in row.files
        for path in sorted(work.glob(pattern))
    }
    answer = read(out.getvalue())
    if isinstance(answer, dict) and "results" in answer:
        validator().validate(answer)
    if status:
        answer = [answer, *err.getvalue().splitlines()]
    told = {"status": status, "answer": answer, "files": written}
    return plain(told, work, _VOLATILE_KEYS.union(row.volatile))


def read(text: str) -> Any:
    """JSON, lines of JSON, or lines."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines()]
    except ValueError:
        return text.splitlines()


def taken_apart(html: str) -> Any:
    """What a page says, a line for each piece of text, and the data of its figures, in short."""
    page = Page(_BUILD.sub("deadbeat", html))
    found = (json.loads(text) for text in page.scripts if text[:1] == "{")
    return {"text": [text.strip() for text in page.words if text.strip()], "data": short([*found])}


def short(value: Any) -> Any:
    """Of many values their number, the first and the last, and of numbers the sum."""
    if isinstance(value, Mapping):
        return {key: short(item) for key, item in value.items()}
    if not isinstance(value, list) or (len(value) < MANY or isinstance(value[0], dict)):
        return [short(item) for item in value] if isinstance(value, list) else value
    numbers = [item for item in value if isinstance(item, int | float)]
    return {"n": len(value), "ends": [short(value[0]), short(value[-1])], "sum": math.fsum(numbers)}


_READERS = {".html": taken_apart}


def machine(tree: Mapping[str, Any]) -> ExitStack:
    """Has every local target read a recorded machine."""
    fake = FakeTarget(
        files=tree["files"],
        outputs={name: Reading(*output) for name, output in tree["outputs"].items()},
        refused=tree["refused"],
    )

    def read_many(_: object, paths: Any, commands: Any = None) -> Readings:
        return fake.read_many(paths, commands)

    def read_text(_: object, path: str) -> str | None:
        return fake.read_text(path)

    stack = ExitStack()
    stack.enter_context(patch.object(LocalTarget, "read_many", read_many))
    stack.enter_context(patch.object(LocalTarget, "read_text", read_text))
    return stack


def plain(value: Any, work: Path, volatile: Collection[str]) -> Any:
    """Without what differs from one run of the command to the next."""
    if isinstance(value, Mapping):
        return {
            str(key): "<volatile>" if key in volatile else plain(item, work, volatile)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(item, work, volatile) for item in value]
    if isinstance(value, str):
        text = value.replace(str(work), "<work>")
        for pattern, word in _VOLATILE:
            text = pattern.sub(word, text)
        return text
    return value


def is_prose(text: str) -> bool:
    return len(text.split()) >= PROSE


def skeleton(value: Any) -> Any:
    """Without prose, and with numbers of six digits."""
    if isinstance(value, Mapping):
        return {key: skeleton(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [skeleton(item) for item in value]
    if isinstance(value, str) and is_prose(value):
        return "<prose>"
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.6g}")
    return value


def checksum(value: Any) -> str:
    text = json.dumps(skeleton(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(now: Any, then: Any, at: str = "") -> list[str]:
    """Where an answer differs from its golden, a line each. A new key, or a new column of a CSV
    file, is an addition and no difference."""
    if at.endswith(".csv"):
        return differences(list(csv.DictReader(now)), list(csv.DictReader(then)), f"{at}:")
    if isinstance(now, Mapping) and isinstance(then, Mapping):
        lost = [f"{at}.{key}: is gone" for key in then.keys() - now.keys()]
        both = (differences(now[k], then[k], f"{at}.{k}") for k in then if k in now)
        return [*lost, *(line for lines in both for line in lines)]
    if isinstance(now, list) and isinstance(then, list):
        if len(now) != len(then):
            return [f"{at}: {len(now)} items, were {len(then)}"]
        pairs = enumerate(zip(now, then, strict=True))
        return [line for k, (a, b) in pairs for line in differences(a, b, f"{at}[{k}]")]
    return [] if _close(now, then) else [f"{at}: {now!r}, was {then!r}"]


def _close(now: Any, then: Any) -> bool:
    if isinstance(now, str) and isinstance(then, str) and is_prose(now) and is_prose(then):
        one, two = (Counter(_NUMBER.findall(text)) for text in (now, then))
        return one == two
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (now, then))
    if numbers and isinstance(now, float) | isinstance(then, float):
        both_nan = math.isnan(now) and math.isnan(then)
        return both_nan or math.isclose(now, then, rel_tol=CLOSE, abs_tol=1e-12)
    return type(now) is type(then) and bool(now == then)


def golden(name: str) -> Any:
    return json.loads((ANSWERS / f"{name}.json").read_text(encoding="utf-8"))
