"""Test cases of rows without code: their ``passes`` and ``fails`` on machines of their form."""

import re
from collections.abc import Mapping

from deadbeat.machine.settings.check import all_checks
from deadbeat.machine.settings.facts import ONLINE
from deadbeat.machine.settings.rows import Row
from deadbeat.machine.targets.readings import is_pattern
from helpers.checks import Case, Cases, case, config, has_code

CPUS = {ONLINE: "0-1\n"}
PROC = {"/proc/cmdline": "quiet\n"}
SYSTEM = {**CPUS, **PROC}
DENIED = "denied: Permission denied"
BOOT = "[0.0] Linux version 6.1\n"


def row_cases() -> Cases:
    """Every check that is a row without code."""
    return {each.id: cases_of(each.row) for each in all_checks() if not has_code(each)}


def cases_of(row: Row) -> Mapping[str, Case]:
    """At least one for each status."""
    if row.log:
        return _logged(row)
    if row.having or row.without:
        return _built(row)
    return _absent(row) if row.none else _held(row)


def named(pattern: str, number: int = 0) -> str:
    """A path that ``pattern`` matches."""
    return re.sub(r"\[0-9\]\*|\*", str(number), pattern)


def _logged(row: Row) -> dict[str, Case]:
    return {
        "pass": case(outputs={"dmesg": f"{BOOT}[1.0] fine\n"}),
        **{
            f"fail {line}": case(outputs={"dmesg": f"{BOOT}{line}\n[8] b\n"}, says=f"{line} |")
            for line in row.fails
        },
        "unknown wrapped": case(
            outputs={"dmesg": "[9.0] fine\n"}, says="lines of it were overwritten"
        ),
    }


def _built(row: Row) -> dict[str, Case]:
    name = row.having or row.without[-1]
    there, lacking = config("A=y", f"{name}=y"), config("A=y", f"HAVE_{name}=y")
    good, bad = (there, lacking) if row.having else (lacking, there)
    return {
        "pass": case(outputs=good),
        "fail": case(outputs=bad, says=name),
        "unknown": case(says="kernel-config: no such program"),
        "unknown empty": case(outputs=config(), says="no option is set"),
    }


def _absent(row: Row) -> dict[str, Case]:
    path = named(row.files[0])
    return {"pass": case(CPUS), "fail": case({**CPUS, path: ""}, says=path)}


def _held(row: Row) -> dict[str, Case]:
    """What a file, or each of several, may hold and what not."""
    path = row.files[0]
    passes, fails = (row.passes, row.fails) if not row.spares_rt else (("1",), ("0,00000003",))
    beside = named(path.replace("*", row.skip.split("|")[0], 1), 1) if row.skip else named(path, 0)
    found = {
        **{f"pass {t}": case(_files(path, beside, t, fails[0], row)) for t in passes},
        **{
            f"fail {t}": case(_files(path, beside, t, passes[0], row), says=_found(row, t))
            for t in fails
        },
        "unknown": case(says=row.lacking),
        "unknown denied": case(SYSTEM, refused={named(path): DENIED}, says="denied"),
    }
    if row.good or row.spares_rt:
        says = "does not say" if row.pattern else "what"
        found["unknown strange"] = case({**SYSTEM, path: "what\n"}, says=says)
    if row.unset:
        found["pass not built"] = case(outputs=config("SMP=y"), says="is not set")
    if row.missing:
        found["pass missing"] = case(PROC, says=row.missing)
    return found


def _found(row: Row, text: str) -> str:
    """How a number is told; "": no number."""
    if row.pattern or not row.good:
        return ""
    if row.shown:
        return f"{row.shown.format(text)} |"
    folder, _, name = row.path.rpartition("/")
    return f"{'.' if folder.startswith('/proc/sys') else '/'}{name} = {text} |"


def _files(path: str, beside: str, text: str, other: str, row: Row) -> dict[str, str]:
    """``text`` in the file; of a pattern in the second one, and ``other`` where it passes too."""
    if not is_pattern(path):
        return {**SYSTEM, path: f"{text}\n"}
    first = other if row.skip or text in row.fails else text
    return {beside: f"{first}\n", named(path, 1): f"{text}\n"}
