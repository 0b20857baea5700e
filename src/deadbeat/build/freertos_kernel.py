"""The source of the FreeRTOS kernel: fetched once, as the crate that vendors it, and verified.

Nothing of it is kept in the project. A fetched kernel lies in the compile cache and is used from
there without a network.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from deadbeat.build.cargo import call_cargo
from deadbeat.build.native import cache_root, kept
from deadbeat.model.errors import BuildError

VERSION = "V11.2.0"
CRATE, CRATE_VERSION = "freertos-next", "0.12.0"
#: SHA-256 over names and contents of the files below its FreeRTOS-Kernel folder.
DIGEST = "519f18fde1c5662504f07939123f6fc776fcb11eb80e2ce28d94143d66a82696"
_FOLDER = "FreeRTOS-Kernel"
_HINT = "cargo 1.85 or newer (rustup, or Debian 13's) and a network are needed, once"
_MANIFEST = f"""[package]
name = "deadbeat-kernel"
version = "0.0.0"
edition = "2021"
[lib]
path = "lib.rs"
[dependencies]
{CRATE} = "={CRATE_VERSION}"
"""


def kernel_sources(*, cargo: str = "cargo") -> Path:
    """Folder of the kernel's source (with ``tasks.c``), in the cache; fetched where it is not.

    Raises:
        BuildError: There is no cargo, no network, or what came is not what is expected.
    """
    place = cache_root() / "freertos" / f"{VERSION}-{DIGEST[:16]}"
    failing = f"the FreeRTOS kernel cannot be kept in {place.parent}"
    return kept(place, lambda made: _fetched(made.parent, cargo).replace(made), failing)


def _fetched(folder: Path, cargo: str) -> Path:
    """The kernel as it came into ``folder``, verified."""
    (folder / "Cargo.toml").write_text(_MANIFEST)
    (folder / "lib.rs").touch()
    what = f"fetch the FreeRTOS kernel (crate {CRATE} {CRATE_VERSION})"
    call_cargo(("vendor", "--quiet", "vendor"), folder, what, hint=_HINT, cargo=cargo)
    fetched = folder / "vendor" / CRATE / _FOLDER
    if not fetched.is_dir():
        raise BuildError(f"crate {CRATE} {CRATE_VERSION} came without the kernel", _HINT)
    _verify(fetched)
    return fetched


def _verify(folder: Path) -> None:
    found = digest_of(folder)
    if found != DIGEST:
        raise BuildError(
            f"crate {CRATE} {CRATE_VERSION} holds another FreeRTOS kernel than expected"
            f" ({found[:16]} instead of {DIGEST[:16]})",
            "its registry changed what must not change: find out why before you use it",
        )


def digest_of(folder: Path) -> str:
    """SHA-256 over names and contents of all files below ``folder``."""
    digest = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        for data in (path.relative_to(folder).as_posix().encode(), path.read_bytes()):
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
    return digest.hexdigest()
