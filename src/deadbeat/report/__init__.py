"""Summaries as one self-contained HTML page, figures on paper, and rows for a terminal."""

from deadbeat.report.headline import CoreAnswer, Headline, headline
from deadbeat.report.table import (
    NOTE,
    STRESS_NOTE,
    TERMINAL_COLUMNS,
    terminal_columns,
    terminal_sections,
)
from deadbeat.report.write import write_figures, write_report

__all__ = [
    "NOTE",
    "STRESS_NOTE",
    "TERMINAL_COLUMNS",
    "CoreAnswer",
    "Headline",
    "headline",
    "terminal_columns",
    "terminal_sections",
    "write_figures",
    "write_report",
]
