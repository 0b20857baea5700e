"""Where prices are kept: a file in the folder of whatever measured them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import nlargest
from pathlib import Path

import attrs

from deadbeat.model.errors import DataError, DeadbeatError
from deadbeat.model.platform import Platform
from deadbeat.prices.table import StoredPrices
from deadbeat.store.files import read_json, write_json
from deadbeat.store.folder import OwnedFolder
from deadbeat.store.place import entries
from deadbeat.store.serial import structure, to_plain

PRICES_FILE = "prices.json"
_HINT = "delete the file and repeat the command: prices are measured again"
#: Earlier results that are asked for prices, the newest.
_EARLIER = 8


def load_prices(folder: Path) -> StoredPrices | None:
    """Those of a folder; None: it has none.

    Raises:
        DataError: Damaged or of another format.
    """
    path = folder / PRICES_FILE
    if not path.is_file():
        return None
    now = path.stat()
    return _loaded(path, (now.st_ino, now.st_size, now.st_mtime_ns))


@lru_cache(maxsize=16)  # an experiment asks for the same file once per group
def _loaded(path: Path, _identity: tuple[int, ...]) -> StoredPrices:
    plain = read_json(path, what="prices", hint=_HINT)
    found = structure(plain, StoredPrices, path=path, what="prices", hint=_HINT)
    cores = {core for batch in found.batches for work in batch.works for core in work.cores}
    if not cores <= {*range(len(found.platform.cpus))}:
        raise DataError(f"prices {path} are damaged: they are of cores that there are not", _HINT)
    return found


def save_prices(store: OwnedFolder, prices: StoredPrices) -> None:
    with store.lock():
        plain = to_plain(attrs.evolve(prices, platform=attrs.evolve(prices.platform, details={})))
        write_json(store.path / PRICES_FILE, plain)


def earlier_prices(
    runs: Path, platform: Platform, policy: str, cpus: Sequence[int], *, but: Path
) -> Iterator[StoredPrices]:
    """Prices of the same machine, kernel, policy, toolchain and CPUs in other folders of ``runs``,
    the newest first; a damaged file is none."""
    files = [path / PRICES_FILE for path in entries(runs) if path.name != but.name]
    known = [(path.stat().st_mtime, path) for path in files if path.is_file()]
    for _, path in nlargest(_EARLIER, known):
        try:
            found = load_prices(path.parent)
        except DeadbeatError:
            continue
        if found is not None and found.fits(platform, policy, cpus):
            yield found
