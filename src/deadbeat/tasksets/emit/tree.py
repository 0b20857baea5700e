"""Writes task sets as a C tree that builds with nothing of deadbeat installed."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from deadbeat.base.model.errors import UsageError
from deadbeat.base.model.published import offered
from deadbeat.base.model.refused import refusal
from deadbeat.build.native import index_source, native_root
from deadbeat.tasksets.catalog import CORE_PORT

#: Port -> words of ``requires`` that it has. Objects that outlive a killed program are on none.
PORTS: dict[str, frozenset[str]] = {
    "posix": CORE_PORT
    | {
        *("condition-variable", "eventfd", "file-lock", "mutex-without-protocol", "pipe"),
        *("priority-ceiling", "robust-mutex", "rwlock", "signal", "socket", "virtual-memory"),
    },
    "template": CORE_PORT,
    "freertos": CORE_PORT,
}
#: What a host alone needs; the program that takes any job, where a tree has one of its own.
_NOT_COPIED = {"port_host.c", "port_load.c", "job.c"}
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_FUNCTION = re.compile(r"^[a-z_0-9 ]*?[ *](port_[a-z_]+)\(", re.MULTILINE | re.IGNORECASE)


def tree_files(
    port: str, *, tables: str, settings: str, fragments: Sequence[str], facts: Mapping[str, str]
) -> dict[str, bytes]:
    """Path below the tree -> content: the same for the same task sets, whatever the machine.

    Args:
        port: One of `PORTS`.
        tables: C text of the task sets. ``settings``: for ``db_core_defaults``.
        fragments: Their names.
        facts: What the page on porting says of them, by the name of its gap.
    """
    root = native_root()
    runtime = root / "runtime"
    own = runtime / "port" / port
    if not own.is_dir():
        own = offered(port, "executors").PORT
    kept = (each for each in own.rglob("*") if each.is_file() and each.name not in _NOT_COPIED)
    files = {f"port/{each.relative_to(own)}": each for each in kept}
    for folder in ("core", "program"):
        files |= {
            f"{folder}/{each.name}": each for each in (runtime / "src" / folder).glob("*.[ch]")
        }
    for name in fragments:
        files[f"fragments/{name}.c"] = next((root / "fragments").glob(f"*/{name}.c"))
    include = runtime / "include"
    # The runtime's public headers that these include, and those that they include.
    sources = files.values()
    found: set[Path] = set()
    left = [path for path in sources if path.suffix in (".c", ".h")]
    always = [include / "deadbeat" / "tables.h", include / "deadbeat" / "core.h"]
    left += always
    while left:
        for name in _INCLUDE.findall(left.pop().read_text()):
            headers_header = include / name
            if headers_header.is_file() and headers_header not in found:
                found.add(headers_header)
                left.append(headers_header)
    for header in found | set(always):
        files[f"include/{header.relative_to(include)}"] = header
    files["Makefile"] = runtime / "emit" / "Makefile"
    content = {name: path.read_bytes() for name, path in files.items()}
    core = (include / "deadbeat" / "port_core.h").read_text()
    page = (runtime / "emit" / "PORTING.md").read_text()
    more = {"port": port, "core_count": str(len(_FUNCTION.findall(core)))}
    for gap, text in {**facts, **more}.items():
        page = page.replace("{" + gap + "}", text)
    content |= {
        "PORTING.md": page.encode(),
        "tables.c": tables.encode(),
        "settings.c": settings.encode(),
        "index.c": index_source(fragments).encode(),
    }
    return dict(sorted(content.items()))


def write_tree(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes ``files`` below ``folder``, all or nothing.
    Raises UsageError: there is something at ``folder`` already, or it cannot be written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--out: {folder} exists and is not an empty folder", "name another")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as made:
            part = Path(made) / "tree"
            for name, content in files.items():
                path = part / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            part.replace(folder)
    except OSError as error:
        text = f"--out: {folder} cannot be written"
        raise UsageError(*refusal(text, error, "name a folder that can be")) from error
