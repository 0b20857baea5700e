"""Names of categories below a panel on paper: their turn, and the room they need, in inches."""

from __future__ import annotations

import math

from deadbeat.base.report.charts import Heat, Panel

#: Names of more categories are turned upright, each as wide as this; a letter of one, inches.
_FEW, _CATEGORY, _LETTER = 8, 0.22, 0.075
#: Likewise of stretches on rows, up to what a viewer scrolls.
_FEW_STRETCHES, _STRETCH, _WIDEST = 120, 0.03, 80.0


def width(panel: Panel) -> float:
    """Width of a panel with many categories or stretches; 0: it has few, and may stand beside
    others."""
    count = len(panel.categories)
    stretches = sum(len(layer.rows) for layer in panel.spans)
    if stretches > _FEW_STRETCHES:
        return min(_STRETCH * stretches, _WIDEST)
    return _CATEGORY * count if count > _FEW else 0.0


def turn(panel: Panel) -> int:
    """By how many degrees names of categories are turned that would run into each other."""
    if sum(map(len, panel.categories)) <= 34:
        return 0
    return 25 if len(panel.categories) <= _FEW else 90


def below(panel: Panel) -> float:
    """Inches that turned names of categories need below those that are not."""
    if panel.heat:
        return _LETTER * max(map(len, panel.heat.x)) if upright(panel.heat) else 0.0
    if not (angle := turn(panel)):
        return 0.0
    return max(0.35, _LETTER * max(map(len, panel.categories)) * math.sin(math.radians(angle)))


def upright(heat: Heat) -> bool:
    """Whether the names below a heat map stand, because they are long."""
    return sum(map(len, heat.x)) > 80


def beside(panel: Panel, panel_width: float) -> float:
    """Inches that names need left of their panel: the rows of a heat map, or the first category,
    turned by a little."""
    if panel.heat:
        return 0.55 + _LETTER * max(map(len, panel.heat.y))
    if turn(panel) != 25:
        return 0.0
    first = _LETTER * len(panel.categories[0]) * math.cos(math.radians(25))
    return 0.1 + first - 0.5 * panel_width / len(panel.categories) * 0.9
