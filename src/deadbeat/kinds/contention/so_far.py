"""What a campaign shows while it is measured: the mean slowdown so far, of every point or group."""

from __future__ import annotations

from statistics import mean

from attrs import define, field

from deadbeat.executors.metrics import job_columns
from deadbeat.kinds.contention.figures import run_figures
from deadbeat.kinds.contention.plan import group_of
from deadbeat.kinds.contention.screen import strength_of
from deadbeat.kinds.contention.spec import CampaignSpec
from deadbeat.model.results import RunKey
from deadbeat.report.document import CellMap
from deadbeat.store.campaign import CampaignStore


@define
class CampaignSoFar:
    """Remembers slowdown and missed jobs of every run."""

    store: CampaignStore
    spec: CampaignSpec
    _seen: dict[tuple[str, ...], list[tuple[float, int]]] = field(factory=dict)
    _read: set[RunKey] = field(factory=set)

    def __call__(self) -> CellMap:
        new = self.store.committed() - self._read
        self._read |= new
        for key in sorted(new):
            table = self.store.table(key)
            found = run_figures(table, job_columns(table)).of_set
            if found.slowdown_mean is not None:
                known = self._seen.setdefault(self._place(key), [])
                known.append((found.slowdown_mean, found.deadline_misses))
        return self._groups() if self.spec.stress is not None else self._grid()

    def _place(self, key: RunKey) -> tuple[str, ...]:
        group, point = group_of(self.spec, key), key.point
        if group is not None:
            return (group.name,)
        alpha, rho = point.contended_ratio_milli / 1000, point.sync_share_milli / 1000
        return f"{point.cores}", f"{rho:g}", f"{alpha:g}"

    def _groups(self) -> CellMap:
        found = self._seen
        return CellMap(
            title="slowdown so far",
            corner="group",
            columns=("sets", "mean", "worst", "missed jobs"),
            rows=[name for (name,) in found],
            cells=[
                (
                    str(len(known)),
                    f"{mean(s for s, _ in known):.2f}",
                    f"{max(s for s, _ in known):.2f}",
                    str(sum(missed for _, missed in known)),
                )
                for known in found.values()
            ],
            strength=[(0, 0, 0, 0)] * len(found),
        )

    def _grid(self) -> CellMap:
        """The points of the M with the largest slowdown so far."""
        found = {place: mean(s for s, _ in known) for place, known in self._seen.items()}
        cores = max(found, key=found.__getitem__)[0] if found else ""
        rows = sorted({rho for _, rho, _ in found}, key=float)
        columns = sorted({alpha for _, _, alpha in found}, key=float)
        cells = [[found.get((cores, rho, alpha)) for alpha in columns] for rho in rows]
        return CellMap(
            title=f"mean slowdown so far, M = {cores}; ρ: sync, α: shared",
            corner="ρ \\ α",
            columns=columns,
            rows=rows,
            cells=[["·" if v is None else f"{v:.2f}" for v in line] for line in cells],
            strength=[
                [0 if v is None or v < 1.05 else strength_of(v) for v in line] for line in cells
            ],
        )
