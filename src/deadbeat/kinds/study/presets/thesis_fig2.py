"""Figure 2 of the thesis: global EDF on 4 processors, simulated and by equation (1)."""

from deadbeat.kinds.study.presets import Preset
from deadbeat.kinds.study.presets._grid import CONCLUSIONS, spec

_TITLE = "Figure 2: global EDF on 4 processors, simulation beside equation (1)"

PRESET = Preset(
    name="thesis-fig2",
    title=_TITLE,
    about="n from m + 2 to 10 m and U from 0.6 m to 0.99 m, nine values each, 30 sets a cell (2,430"
    " sets); exponential utilisations, T in [10, 250], LCM below 100,000, implicit deadlines,"
    " synchronous. Three tie rules, because the verdict of many sets depends on the rule.",
    build=lambda: spec(
        "thesis-fig2", _TITLE, (4,), ("index", "utilisation-desc", "utilisation-asc")
    ),
    charts=("critical", "curves"),
    conclusions=CONCLUSIONS,
)
