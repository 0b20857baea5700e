"""How many seeded faults the tests catch: changes one thing at a time, and runs the tests over it.

    .venv/bin/python bench/faults.py --faults 100 --seed 1 'src/deadbeat/model/*.py' ...

Each argument is patterns of files, with commas between; as many faults are drawn from every one.
One run of the tests under ``coverage`` says which of them execute which line (kept in build/faults,
--again renews it); a fault is met by the quickest of those, in a process of its own, within a bound
on its time. No file is changed: the faulty module stands for the real one as it is imported.

Prints a line of JSON per fault, and at the end of each pattern. A fault that hangs is caught.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from time import monotonic
from typing import Any

ROOT = Path.cwd()
KEPT = ROOT / "build" / "faults"
QUICK = "not hardware and not browser and not slow and not statistical"
PYTEST = ("-p", "no:cacheprovider", "-p", "no:randomly", "-q", "-x", "--no-header", "--tb=no")
_COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
               ast.FloorDiv: ast.Mult, ast.Mod: ast.Add}  # fmt: skip


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What may go wrong at ``node``: the kind of fault and what stands in its place."""
    new: Any = copy.deepcopy(node)
    match node:
        case ast.Compare(ops=[one, *_]) if type(one) in _COMPARISONS:
            new.ops[0] = _COMPARISONS[type(one)]()
            yield "comparison", new
        case ast.BinOp() if type(node.op) in _ARITHMETIC and not _is_text(node):
            new.op = _ARITHMETIC[type(node.op)]()
            yield "arithmetic", new
        case ast.BoolOp():
            new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "and-or", new
        case ast.If() | ast.IfExp():
            new.test = ast.UnaryOp(ast.Not(), new.test)
            yield "negation", new
        case ast.Constant(value=bool()):
            new.value = not node.value
            yield "constant", new
        case ast.Constant(value=int() | float()):
            new.value = node.value + 1
            yield "constant", new
        case ast.Return(value=ast.expr()) if not _is_none(node.value):
            new.value = ast.Constant(None)
            yield "return-none", new
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            yield "dropped", ast.Pass()
        case ast.Call(args=[ast.expr() as one, ast.expr() as two, *_]):
            if ast.dump(one) != ast.dump(two):
                new.args[:2] = new.args[1::-1]
                yield "swapped", new


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(each, ast.JoinedStr) or isinstance(getattr(each, "value", 0), str)
               for each in (node.left, node.right))  # fmt: skip


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def places(tree: ast.Module) -> list[tuple[int, int, str]]:
    """Number in the walk, line and kind of every fault; those of annotations are left out."""
    hints: set[int] = set()
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if hint := getattr(node, name, None):
                hints |= {id(each) for each in ast.walk(hint)}
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            hints |= {id(each) for each in ast.walk(node)}
    return [
        (number, node.lineno, kind)
        for number, node in enumerate(ast.walk(tree))
        if id(node) not in hints
        for kind, _ in changes(node)
    ]


def faulty(source: str, number: int, kind: str) -> str:
    """``source`` with one fault, as `places` counts them."""
    tree = ast.parse(source)
    wrong = list(ast.walk(tree))[number]
    (new,) = [each for name, each in changes(wrong) if name == kind]

    class Put(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return ast.copy_location(new, node) if node is wrong else super().visit(node)

    return ast.unparse(ast.fix_missing_locations(Put().visit(tree)))


def covering(tests: Sequence[str], *, again: bool) -> tuple[dict[str, Any], dict[str, float]]:
    """File -> line -> tests that execute it; test -> seconds it takes."""
    KEPT.mkdir(parents=True, exist_ok=True)
    data, times = KEPT / "coverage", KEPT / "times.xml"
    if again or not data.exists():
        rc = KEPT / "rc"
        rc.write_text("[run]\ndynamic_context = test_function\nsource = deadbeat\n")
        words = ("-m", "coverage", "run", f"--rcfile={rc}", f"--data-file={data}", "-m", "pytest")
        flags = [flag for flag in PYTEST if flag != "-x"]
        flags += ["-m", QUICK, f"--junitxml={times}"]
        subprocess.run([sys.executable, *words, *flags, *tests], check=False)
    import coverage  # noqa: PLC0415  the faulty process does without

    kept = coverage.CoverageData(str(data))
    kept.read()
    lines = {file: kept.contexts_by_lineno(file) for file in kept.measured_files()}
    taken: dict[str, float] = {}
    for case in ET.parse(times).iter("testcase"):
        module, function = case.get("classname", ""), case.get("name", "").partition("[")[0]
        name = f"{module.rpartition('.')[2]}.{function}"
        taken[name] = taken.get(name, 0) + float(case.get("time", 0))
    return lines, taken


def chosen(
    lines: Mapping[int, Sequence[str]], line: int, taken: Mapping[str, float], bound: float
) -> list[str]:
    """Tests that execute a line, else that execute anything of its file: the quickest first."""
    here = {test for test in lines.get(line, ()) if test in taken}
    here = here or {test for each in lines.values() for test in each if test in taken}
    tests, spent = [], 0.0
    for test in sorted(here, key=lambda test: taken[test]):
        if tests and spent + taken[test] > bound:
            break
        tests.append(test)
        spent += taken[test]
    return tests


def meet(file: Path, source: str, tests: Sequence[str], bound: float) -> tuple[str, float]:
    """Whether the tests catch the fault: caught, hung or missed; and the seconds it took."""
    found = {path.stem: path for path in (ROOT / "tests").rglob("test_*.py")}
    ids = [f"{found[module]}::{name}" for module, _, name in (t.rpartition(".") for t in tests)]
    module = ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
    begun = monotonic()
    with tempfile.NamedTemporaryFile("w", suffix=".py") as wrong:
        wrong.write(source)
        wrong.flush()
        words = [__file__, "--meet", module.removesuffix(".__init__"), str(file), wrong.name]
        try:
            done = subprocess.run(
                [sys.executable, *words, *PYTEST, "-m", QUICK, *ids],
                check=False, timeout=bound, capture_output=True, text=True, start_new_session=True,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "hung", monotonic() - begun
    no_import = "ERROR tests/" in done.stdout or "while loading conftest" in done.stderr
    if done.returncode not in (0, 1) and not no_import:
        raise RuntimeError(f"pytest ended with {done.returncode}: {' '.join(ids)}")
    return ("caught" if done.returncode else "missed"), monotonic() - begun


class Wrong(SourceFileLoader):
    """Loads ``text`` as the module of a file, and finds it before anybody else does."""

    text = ""

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name != self.name:
            return None
        inside = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            name, self.path, loader=self, submodule_search_locations=inside
        )

    def get_code(self, fullname: str) -> Any:
        return compile(self.text, self.path, "exec")


def _meet(module: str, path: str, text: str, *flags: str) -> int:
    """In a process of its own: the tests, with the faulty module."""
    import pytest  # noqa: PLC0415  after the module is in place

    wrong = Wrong(module, path)
    wrong.text = Path(text).read_text(encoding="utf-8")
    sys.meta_path.insert(0, wrong)
    return int(pytest.main(list(flags)))


def _files(patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns.split(",") for path in ROOT.glob(pattern))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("patterns", nargs="+", metavar="PATTERN")
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worth", type=float, default=10.0, help="seconds of tests per fault")
    parser.add_argument("--bound", type=float, default=120.0, help="seconds a fault may take")
    parser.add_argument("--tests", nargs="*", default=["tests/unit", "tests/property"])
    parser.add_argument("--again", action="store_true", help="find anew which tests cover what")
    asked = parser.parse_args()
    lines, taken = covering(asked.tests, again=asked.again)
    share, totals = -(-asked.faults // len(asked.patterns)), {"caught": 0, "hung": 0, "missed": 0}
    for pattern in asked.patterns:
        draw = random.Random(f"{asked.seed} {pattern}")
        files = {path: path.read_text(encoding="utf-8") for path in _files(pattern)}
        every = [(path, *place) for path in files for place in places(ast.parse(files[path]))]
        counts = dict.fromkeys(totals, 0)
        for path, number, line, kind in draw.sample(every, min(share, len(every))):
            tests = chosen(lines.get(str(path), {}), line, taken, asked.worth)
            ended, seconds = meet(path, faulty(files[path], number, kind), tests, asked.bound) if (
                tests) else ("missed", 0.0)  # fmt: skip
            counts[ended] += 1
            where = f"{path.relative_to(ROOT)}:{line}"
            row = {"fault": where, "kind": kind, "ended": ended, "tests": len(tests)}
            print(json.dumps({**row, "seconds": round(seconds, 1)}), flush=True)
        print(json.dumps({"pattern": pattern, "places": len(every), **counts}), flush=True)
        totals = {ended: totals[ended] + counts[ended] for ended in totals}
    print(json.dumps({"name": "faults caught", "seed": asked.seed, **totals}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(_meet(*sys.argv[2:]) if sys.argv[1:2] == ["--meet"] else main())
