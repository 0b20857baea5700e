"""The thesis's whole experiment with global EDF: m = 2, 4, 6 and 8 (section 2.4)."""

from deadbeat.kinds.study.presets import Preset
from deadbeat.kinds.study.presets._grid import CONCLUSIONS, spec

_TITLE = "Global EDF on 2, 4, 6 and 8 processors, simulation beside equation (1)"

PRESET = Preset(
    name="thesis-grid",
    title=_TITLE,
    about="n from m + 2 to 10 m and U from 0.6 m to 0.99 m, nine values each, 30 sets a cell: 9,720"
    " sets where the thesis says approximately 10,000; exponential utilisations, T in [10, 250],"
    " LCM below 100,000, implicit deadlines, synchronous. Ties by index; --ties names others.",
    build=lambda: spec("thesis-grid", _TITLE, (2, 4, 6, 8), ("index",)),
    charts=("critical", "curves"),
    conclusions=CONCLUSIONS,
)
