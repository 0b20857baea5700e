"""A load test's directory. Layout: docs/reference/load.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cattrs.gen.typeddicts import make_dict_structure_fn

from deadbeat.base.model.words import Json
from deadbeat.base.store.place import LOAD_FILE
from deadbeat.base.store.runfolder import RunFolder, run_converter
from deadbeat.latencies.load.model import Gaps, LoadKey, LoadMachine, LoadRun, Rounds
from deadbeat.latencies.load.validity import judged_load
from deadbeat.machine.trace.paths import Takers

#: A thousand additions that take a second: no machine is so slow.
UNIT_MAX_PS = 10**12


class LoadStore(RunFolder[LoadKey, LoadRun]):
    """One load test's directory; `deadbeat.latencies.load.spec.read_spec` reads its ``spec``.

    Attributes:
        unit_ps: What a thousand additions took undisturbed; the work of a round rests on it.
        impossible: Remedy -> why it was not tried.
        changes: Remedy -> what it did, in words.
    """

    KIND, NOUN, HEAD = "load", "load test", LOAD_FILE
    KEY, RUN = LoadKey, LoadRun
    CONVERTER = run_converter(LoadKey)

    @property
    def unit_ps(self) -> int:
        return int(self.facts["unit_ps"])

    @property
    def impossible(self) -> dict[str, str]:
        return dict(self.facts["impossible"])

    @property
    def changes(self) -> dict[str, str]:
        return dict(self.facts["changes"])

    @classmethod
    def has_facts(cls, plain: Mapping[str, Json]) -> bool:
        unit_ps = plain.get("unit_ps")
        known = all(are_words(plain.get(name)) for name in ("changes", "impossible"))
        return known and isinstance(unit_ps, int) and 1 <= unit_ps <= UNIT_MAX_PS

    def judged(self, run: LoadRun) -> LoadRun:
        return judged_load(run)


def are_words(plain: Any) -> bool:
    return isinstance(plain, dict) and all(isinstance(each, str) for each in plain.values())


# Versions before wrote further keys.
for _kept in (LoadMachine, Takers):
    LoadStore.CONVERTER.register_structure_hook(
        _kept, make_dict_structure_fn(_kept, LoadStore.CONVERTER, _cattrs_forbid_extra_keys=False)
    )
for _columns in (Rounds, Gaps):
    LoadStore.CONVERTER.register_unstructure_hook(_columns, lambda columns: columns.to_json())
    LoadStore.CONVERTER.register_structure_hook(_columns, lambda plain, wanted: wanted(**plain))
