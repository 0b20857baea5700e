"""``deadbeat predict``: task sets from the prices of their result, and measured programs."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve

from deadbeat.base.kinds.registry import find
from deadbeat.base.kinds.shown import Shown
from deadbeat.base.model.errors import UsageError
from deadbeat.base.report.document import Table, csv_of
from deadbeat.base.report.html import write_page
from deadbeat.base.report.paper import Words, write_charts
from deadbeat.base.store.files import atomic_write, write_json
from deadbeat.cli._output import say
from deadbeat.cli.compare.answer import new_folder
from deadbeat.cli.derived import kept
from deadbeat.cli.sched_analyze import analyze
from deadbeat.program.run.forecast import forecast
from deadbeat.tasksets.prediction.document import SETS, document, plain
from deadbeat.tasksets.prediction.engine import predict as predicted
from deadbeat.tasksets.prediction.engine import read_cases, read_prices

PAGE, TABLE, ANSWER = "predict.html", "predictions.csv", "predictions.json"


def predict(
    *,
    result: str,
    scale: str,
    design: Path | None,
    cores: tuple[int, ...] | None,
    hold: int | None,
    out: Path | None,
    figures: bool | None,
    runs: Path,
) -> Shown:
    if (file := Path(result)).is_file() and not (runs / result).is_dir():
        return analyze(file, processors=None, simulate=False, model=None, sensitivity=False,
                       priorities="given")  # fmt: skip
    kind, path = find(runs, result)
    if kind.name != "run" and (scale or design):
        option = "--scale" if scale else "--design"
        raise UsageError(f"{option} is of measured programs", "deadbeat run -- ./program first")
    if kind.name == "run":
        made, answer = forecast(path, cores or (), scale, design)
        assert isinstance(made.picture, Table)
        columns, rows = made.picture.columns, made.picture.rows
    else:
        cases, stored = read_cases(runs, result), read_prices(runs, result)
        say(f"replaying {len(cases.cases)} task sets")
        found = predicted(stored, cases, cores or (), hold=hold)
        made, answer, columns, rows = (
            document(found, cases.platform),
            plain(found),
            SETS,
            found.sets,
        )
    folder = new_folder(out, runs, [path.resolve().name], verb="predict")
    if figures:
        write_charts(
            folder / "figures",
            made.charts,
            Words(labels=", ".join(made.labels), caption=f"{made.title}."),
        )
    page = write_page(folder / PAGE, made)
    atomic_write(folder / TABLE, csv_of(columns, rows))
    write_json(folder / ANSWER, answer)
    shown = Shown(
        kind="predict",
        headline=" ".join(made.answer),
        plain={**answer, "report": str(page)},
        document=evolve(made, details=str(folder / TABLE)),
        page=page,
    )
    return kept(shown, folder, "predict", [path])
