#!/usr/bin/env python3
"""Changes a house a little at a time, and says which test cases notice.

    tools/mutate.py TARGET TESTS... [--seed N] [--seconds S] [--most N] [--enough N] [--slowest S]
    tools/mutate.py TARGET TESTS... --keep     and write tests/quality/caught/TARGET.txt
    tools/mutate.py TARGET TESTS... --again    those of that file: exit 1 where fewer are caught

TARGET is a house of tools/houses.py, or a package or module below deadbeat. A mutant is one change:
another comparison, a number one larger, ``and`` for ``or``, a condition negated, a filter of a
comprehension dropped, ``passed`` for ``failed``, a call dropped, another text in an error. Each
runs, in this process, against the test cases that call the function it is in, those that call
little else first, until ENOUGH noticed it. The seed orders mutants; the first MOST are tried.

What is found is written as it goes, a line of JSON per case and per mutant, into
build/mutate/TARGET.*.jsonl: after an interruption, or when the seconds are over, the same command
goes on. What a case calls is asked again when its file, a helper or a source has changed; a mutant
is tried again when any of these has. Cases that take longer than SLOWEST seconds, that fail without
any change, or that are marked slow, statistical, hardware or browser are left out: keep them.

Printed in the end: mutants that no case catches, how many cases a smallest cover needs, test
functions outside that cover, and a digest of the caught set. Before and after tests are deleted it
must be the same.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import importlib
import json
import pkgutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from itertools import groupby, pairwise
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol
from houses import MAY, house_of, modules

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "tests/quality/caught"
#: Cases that no mutant is tried with.
LEFT_OUT = "not slow and not statistical and not hardware and not browser"
#: Seconds for a case with nothing wrong, which may build what others use, and with a mutant.
PATIENCE_S, SHORT_S = 120, 20
#: Seconds of preparing for a case alone: what takes longer may be kept for others.
QUICK_S = 0.05
_COMPARISONS: dict[str, type[ast.cmpop]] = {
    "Lt": ast.LtE, "LtE": ast.Lt, "Gt": ast.GtE, "GtE": ast.Gt, "Eq": ast.NotEq, "NotEq": ast.Eq,
    "In": ast.NotIn, "NotIn": ast.In, "Is": ast.IsNot, "IsNot": ast.Is,
}  # fmt: skip
_OPERATORS = {
    "And": ast.Or, "Or": ast.And, "Add": ast.Sub, "Sub": ast.Add, "Mult": ast.FloorDiv,
    "Div": ast.Mult, "FloorDiv": ast.Mult, "BitAnd": ast.BitOr, "BitOr": ast.BitAnd,
}  # fmt: skip
_NAMES = {"passed": "failed", "failed": "passed"}
Edit = Callable[[], None]


def edits(node: Any) -> Iterator[tuple[str, Edit]]:  # noqa: PLR0912  a row per kind of node
    """Yield what may be changed in a node, and how."""

    def put(name: str, value: object, at: int | None = None) -> Edit:
        if at is None:
            return lambda: setattr(node, name, value)
        return lambda: getattr(node, name).__setitem__(slice(at, at + 1), value)

    match node:
        case ast.Compare():
            for k, op in enumerate(node.ops):
                turned = _COMPARISONS[type(op).__name__]
                yield f"{type(op).__name__} to {turned.__name__}", put("ops", [turned()], k)
            sides = [each for side in (node.left, *node.comparators) for each in _members(side)]
            for each in sides:
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield f"{each.value!r} to another", partial(setattr, each, "value", "~")
        case ast.Constant(value=bool()):
            yield f"{node.value!r} negated", put("value", not node.value)
        case ast.Constant(value=int() | float() as number):
            yield f"{number!r} + 1", put("value", number + 1)
        case ast.BoolOp() | ast.BinOp() if type(node.op).__name__ in _OPERATORS:
            other = _OPERATORS[type(node.op).__name__]
            yield f"{type(node.op).__name__} to {other.__name__}", put("op", other())
        case ast.UnaryOp(op=ast.Not()):
            yield "not dropped", put("operand", ast.UnaryOp(ast.Not(), node.operand))
        case ast.Call(func=ast.Name(id="verdict")):
            yield "verdict negated", put("args", [ast.UnaryOp(ast.Not(), node.args[0])], 0)
        case ast.If() | ast.IfExp() | ast.While():
            yield "if negated", put("test", ast.UnaryOp(ast.Not(), node.test))
        case ast.Expr(value=ast.Call()):
            yield "call dropped", put("value", ast.Constant(None))
        case ast.Raise(exc=ast.Call() as call):
            for text in _texts(call):
                yield f"{text.value!r} to another", partial(setattr, text, "value", "~")
        case ast.comprehension():
            for k, _ in enumerate(node.ifs):
                yield "filter dropped", put("ifs", [], k)
        case ast.Name() if node.id in _NAMES:
            yield f"{node.id} to {_NAMES[node.id]}", put("id", _NAMES[node.id])


def _texts(call: ast.expr) -> Iterator[ast.Constant]:
    """The first text of a call that has a letter."""
    for each in ast.walk(call):
        match each:
            case ast.Constant(value=str() as text) if any(map(str.isalpha, text)):
                yield each
                return


def _members(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]


def places(module: ast.Module) -> Iterator[tuple[ast.AST, Place]]:
    """Yield every node that runs when a function is called, and those of tables of the module.

    Not those of decorators, annotations and bodies of classes: they have run before any case.
    """

    def functions(body: list[ast.stmt], path: str) -> Iterator[tuple[ast.AST, Place]]:
        for child in body:
            if isinstance(child, ast.ClassDef):
                yield from functions(child.body, f"{path}{child.name}.")
            elif isinstance(child, ast.FunctionDef):
                line = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                place = Place(f"{path}{child.name}()", f"{path}{child.name}", line)
                for statement in child.body:
                    yield from ((node, place) for node in ast.walk(statement))

    yield from functions(module.body, "")
    for child in module.body:
        if isinstance(child, ast.Assign | ast.AnnAssign) and child.value:
            name = child.targets[0] if isinstance(child, ast.Assign) else child.target
            place = Place(ast.unparse(name), "", child.lineno)
            yield from ((node, place) for node in ast.walk(child.value))


class Place(NamedTuple):
    """``label``: of a person; ``called``: the function as a profiler names it, "" of a table."""

    label: str
    called: str
    line: int


class Mutant(NamedTuple):
    """The ``edit``-th change of the ``node``-th place of a module.

    ``key`` is the same as long as the function around it is.
    """

    key: str
    module: ModuleType
    place: Place
    line: int
    node: int
    edit: int

    def matters_to(self, calls: Collection[str]) -> bool:
        """Whether a case with these calls may notice it; of a table: any that calls its module."""
        called = f"{self.module.__name__}:{self.place.called}"
        return called in calls or (called[-1] == ":" and any(c.startswith(called) for c in calls))

    def swap(self) -> Callable[[], None]:
        """Put the change in place, everywhere; returns what undoes it."""
        tree = parsed(self.module)
        node = next(each for at, (each, _) in enumerate(places(tree)) if at == self.node)
        list(edits(node))[self.edit][1]()
        ast.fix_missing_locations(tree)
        file = str(self.module.__file__)
        if self.place.called:
            changed = _code(compile(tree, file, "exec"), self.place)
            function = _function_of(self.module, self.place.called)
            assert changed is not None
            assert function is not None
            return _exchange(function, changed)
        value = next(
            each.value
            for each in tree.body
            if isinstance(each, ast.Assign | ast.AnnAssign) and each.lineno == self.place.line
        )
        assert value is not None
        old = getattr(self.module, self.place.label)
        new = eval(compile(ast.Expression(value), file, "eval"), dict(vars(self.module)))
        holders = [m for m in list(sys.modules.values()) if vars(m).get(self.place.label) is old]
        _put(holders, self.place.label, new)
        return lambda: _put(holders, self.place.label, old)


def parsed(module: ModuleType) -> ast.Module:
    return ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))


def mutants(module: ModuleType) -> Iterator[Mutant]:
    """Yield every change of a module whose place can be reached."""
    seen: Counter[str] = Counter()
    for at, (node, place) in enumerate(places(parsed(module))):
        for k, (label, _) in enumerate(edits(node)):
            name = f"{module.__name__}:{place.label}: {label}"
            seen[name] += 1
            line = getattr(node, "lineno", getattr(getattr(node, "target", None), "lineno", 0))
            if _reached(module, place):
                yield Mutant(f"{name} #{seen[name]}", module, place, line, at, k)


def _reached(module: ModuleType, place: Place) -> bool:
    if not place.called:
        return hasattr(module, place.label)
    found = _function_of(module, place.called)
    return found is not None and found.__code__.co_firstlineno == place.line


def _function_of(module: ModuleType, path: str) -> FunctionType | None:
    found: Any = module
    for name in path.split("."):
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
    for inside in ("fget", "__func__", "func", "__wrapped__"):
        found = getattr(found, inside, found)
    return found if isinstance(found, FunctionType) else None


def _code(whole: CodeType, place: Place) -> CodeType | None:
    """The code of a function within that of its module."""
    for each in whole.co_consts:
        if isinstance(each, CodeType):
            if each.co_qualname == place.called and each.co_firstlineno == place.line:
                return each
            if found := _code(each, place):
                return found
    return None


def _put(modules: list[ModuleType], name: str, value: object) -> None:
    for each in modules:
        setattr(each, name, value)


def _exchange(function: FunctionType, changed: CodeType) -> Callable[[], None]:
    before = function.__code__
    twins = dict(zip(before.co_consts, changed.co_consts, strict=False))
    made = [c for c in twins if isinstance(c, CodeType) and c.co_name[0] != "<"]
    inside = [
        (each, each.__code__)
        for each in (gc.get_objects() if made else ())
        if isinstance(each, FunctionType) and each.__code__ in made
    ]

    def back() -> None:
        function.__code__ = before
        for each, code in inside:
            each.__code__ = code

    function.__code__ = changed
    for each, code in inside:
        if isinstance(twin := twins[code], CodeType):
            each.__code__ = twin
    return back


def _forget(modules: Iterable[ModuleType]) -> None:
    """Empty the caches of the target: what a mutant computed must not outlive it."""
    for each in [value for module in modules for value in list(vars(module).values())]:
        if clear := getattr(each, "cache_clear", None):
            clear()


def modules_of(target: str) -> list[ModuleType]:
    """The modules of a house, or of a package or module below deadbeat (or of any other name)."""
    if target in MAY:
        names = [f"deadbeat.{each}".rstrip(".") for each in modules() if house_of(each) == target]
    else:
        top = importlib.import_module(target)
        inside = pkgutil.walk_packages(getattr(top, "__path__", ()), f"{target}.")
        names = [target, *(each.name for each in inside)]
    found = [importlib.import_module(each) for each in names if not each.endswith("__main__")]
    return [each for each in found if str(each.__file__).endswith(".py")]


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


@cache
def _text(path: Path) -> str:
    return _digest(path.read_text(encoding="utf-8"))


class Lines:
    """A file of lines of JSON, each with the digest of what it rests on; only appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            with suppress(ValueError):  # the last one may have been cut
                row = json.loads(line)
                self.rows[row["name"]] = row

    def get(self, name: str, digest: str) -> dict[str, Any] | None:
        row = self.rows.get(name)
        return row if row and row["digest"] == digest else None

    def add(self, name: str, digest: str, **more: object) -> dict[str, Any]:
        row = self.rows[name] = {"name": name, "digest": digest, **more}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        return row


class Trial:
    """A plugin of pytest: asks what cases call, then tries those that matter with each mutant."""

    def __init__(self, asked: argparse.Namespace, chosen: Mapping[str, bool]) -> None:
        self.asked, self.chosen = asked, chosen
        self.ends = time.monotonic() + asked.seconds
        self.modules = modules_of(asked.target)
        name = asked.target.replace(" ", "-")
        self.cases = Lines(ROOT / f"build/mutate/{name}.cases.jsonl")
        self.tried = Lines(ROOT / f"build/mutate/{name}.mutants.jsonl")
        #: Mutant -> the cases that noticed it; those of this run, and of others before it.
        self.found: dict[Mutant, list[str]] = {}
        self.left_out: dict[str, str] = {}
        self.functions: set[str] = set()
        self.wanted = self.unasked = 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        sources = {Path(str(each.__file__)) for each in self.modules}
        shared = (ROOT / "tests").glob("**/conftest.py"), (ROOT / "tests/helpers").glob("*.py")
        below = (ROOT / "src").rglob("*.py")
        every = sources.union(below, *shared)
        base = _digest(*(_text(each) for each in sorted(every)))
        rows: dict[pytest.Item, dict[str, Any]] = {}
        for path, items in groupby(session.items, key=lambda item: item.path):
            rows |= self.file(list(items), _digest(base, _text(path)))
        for item in session.items:
            if item not in rows:
                self.unasked += 1
            elif why := rows[item]["why"]:
                self.left_out[item.nodeid] = why
        if self.unasked:
            return True
        usable = [item for item, row in rows.items() if not row["why"]]
        self.functions = {_function(item.nodeid) for item in usable}
        usable.sort(key=lambda item: len(rows[item]["calls"]))
        for mutant in self.drawn():
            self.judge(mutant, [(item, rows[item]) for item in usable])
        return True

    def file(self, items: list[pytest.Item], digest: str) -> dict[pytest.Item, dict[str, Any]]:
        """What the cases of a file call of the target; nothing where there is no time left.

        What is prepared for a case may serve those after it: it counts for these as well.
        """
        if all(self.cases.get(item.nodeid, digest) for item in items):
            return {item: self.cases.rows[item.nodeid] for item in items}
        if time.monotonic() > self.ends:
            return {}
        names = {str(each.__file__): each.__name__ for each in self.modules}
        seen: set[CodeType] = set()
        prepared: set[CodeType] = set()
        prepared_s = 0.0

        def note(frame: Any, event: str, _: object) -> None:
            if event == "call" and frame.f_code.co_filename in names:
                seen.add(frame.f_code)

        rows = {}
        for item, following in pairwise([*items, None]):
            assert item is not None
            seen.clear()
            _forget(self.modules)
            sys.setprofile(note)
            try:
                fine, setup_s, took_s = passes(item, following, PATIENCE_S)
            finally:
                sys.setprofile(None)
            if not fine:
                item.session._setupstate.teardown_exact(following)
            prepared |= seen if setup_s > QUICK_S else set()
            prepared_s = max(prepared_s, setup_s)
            why = "" if fine else "fails without any change"
            if fine and took_s + prepared_s > self.asked.slowest:
                why = f"takes {took_s + prepared_s:.1f} s"
            calls = {
                f"{names[each.co_filename]}:{each.co_qualname.partition('.<locals>')[0]}"
                for each in seen | prepared
            }
            rows[item] = self.cases.add(item.nodeid, digest, why=why, calls=sorted(calls))
        return rows

    def drawn(self) -> list[Mutant]:
        """The mutants to try: those that were named, or the first in the order of the seed."""
        every = [each for module in self.modules for each in mutants(module)]
        if self.chosen:
            return [each for each in every if each.key in self.chosen]
        every.sort(key=lambda each: _digest(str(self.asked.seed), each.key))
        return every[: self.asked.most]

    def judge(self, mutant: Mutant, cases: list[tuple[pytest.Item, dict[str, Any]]]) -> None:
        """Try one mutant, unless that was done already, or there is no time left."""
        self.wanted += 1
        chosen = {item: row["digest"] for item, row in cases if mutant.matters_to(row["calls"])}
        resting = (f"{item.nodeid} {digest}" for item, digest in chosen.items())
        digest = _digest(str(self.asked.enough), *resting)
        row = self.tried.get(mutant.key, digest)
        if row is None and time.monotonic() < self.ends:
            row = self.tried.add(mutant.key, digest, caught=self.noticed(mutant, list(chosen)))
            print("caught" if row["caught"] else "missed", mutant.key, flush=True)
        if row is not None:
            self.found[mutant] = row["caught"]

    def noticed(self, mutant: Mutant, items: list[pytest.Item]) -> list[str]:
        """The cases that fail with a mutant in place, so many as are enough."""
        try:
            undo = mutant.swap()
        except Exception as error:
            return [f"it is refused: {type(error).__name__}"]
        found: list[str] = []
        for item, following in pairwise([*items, None]):
            assert item is not None
            _forget(self.modules)
            if not passes(item, following, SHORT_S)[0]:
                found.append(item.nodeid)
                with suppress(Exception):  # what the mutant broke may not be undone
                    item.session._setupstate.teardown_exact(following)
            if len(found) == self.asked.enough:
                break
        undo()
        _forget(self.modules)
        for item in items[:1]:
            with suppress(Exception):
                item.session._setupstate.teardown_exact(None)
        return found


def passes(
    item: pytest.Item, following: pytest.Item | None, patience_s: int
) -> tuple[bool, float, float]:
    """Run a case; returns whether it passes, and the seconds of its preparation and its own."""
    signal.setitimer(signal.ITIMER_REAL, patience_s, 1)
    try:
        reports = runtestprotocol(item, log=False, nextitem=following)
    except TimeoutError:  # between the parts of a case
        return False, 0, 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    took = {each.when: each.duration for each in reports}
    fine = not any(each.failed for each in reports)
    return fine, took.get("setup", 0), took.get("call", 0)


def cover(caught: Mapping[str, list[str]]) -> list[str]:
    """Choose few cases that catch all that is caught: again and again the one that adds most."""
    open_, chosen = {key: cases for key, cases in caught.items() if cases}, []
    while open_:
        best, _ = Counter(case for cases in open_.values() for case in cases).most_common(1)[0]
        chosen.append(best)
        open_ = {key: cases for key, cases in open_.items() if best not in cases}
    return chosen


def _function(case: str) -> str:
    return case.partition("[")[0]


def _late(*_: object) -> None:
    raise TimeoutError("a mutant does not end")


def kept_file(target: str) -> Path:
    return KEPT / f"{target.replace(' ', '-')}.txt"


def read_kept(path: Path) -> dict[str, bool]:
    """Mutant -> whether it was caught, of a file that --keep wrote."""
    lines = path.read_text(encoding="utf-8").splitlines()
    words = [each.partition(" ") for each in lines if each[0] != "#"]
    return {key: word == "caught" for word, _, key in words}


def kept_text(asked: argparse.Namespace, trial: Trial) -> str:
    found = {each.key: bool(cases) for each, cases in trial.found.items()}
    told = f"# tools/mutate.py {asked.target} {' '.join(asked.tests)} --seed {asked.seed}"
    counts = f"# {sum(found.values())} of {len(found)} mutants caught"
    lines = (f"{'caught' if found[key] else 'missed'} {key}" for key in sorted(found))
    return "\n".join([told, counts, *lines]) + "\n"


def tell(trial: Trial) -> None:
    """Print what was found, and the cover."""
    caught = {each.key: cases for each, cases in trial.found.items() if cases}
    chosen = cover(caught)
    for each, cases in trial.found.items():
        if not cases:
            print(f"survives  {each.key} (line {each.line})")
    for case, why in trial.left_out.items():
        print(f"left out  {case}: {why}")
    for function in sorted(trial.functions - {_function(case) for case in chosen}):
        print(f"outside the cover  {function}")
    print(
        f"{len(trial.found)} mutants, {len(caught)} caught (digest {_digest(*sorted(caught))});"
        f" {len(chosen)} cases catch as many"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--enough", type=int, default=4)
    parser.add_argument("--slowest", type=float, default=1)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    signal.signal(signal.SIGALRM, _late)
    before = read_kept(kept_file(asked.target)) if asked.again else {}
    trial = Trial(asked, before)
    argv = [*asked.tests, "-q", "-p", "no:cacheprovider", "-m", LEFT_OUT]
    if status := pytest.main(argv, plugins=[trial]):
        return int(status)
    if trial.unasked:
        print(f"{trial.unasked} cases are not asked yet what they call: the same command goes on")
        return 3
    tell(trial)
    if len(trial.found) < trial.wanted:
        print(f"{trial.wanted - len(trial.found)} mutants are left: the same command goes on")
        return 3
    lost = [each.key for each, cases in trial.found.items() if before.get(each.key) and not cases]
    for key in lost:
        print(f"no more caught  {key}")
    if gone := before.keys() - {each.key for each in trial.found}:
        print(f"{len(gone)} mutants are of functions that have changed or gone")
    if asked.keep:
        KEPT.mkdir(exist_ok=True)
        kept_file(asked.target).write_text(kept_text(asked, trial), encoding="utf-8")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
