"""Summaries as one self-contained HTML page, figures on paper, and rows for a terminal."""

from deadbeat.report.headline import CoreAnswer, Headline, headline
from deadbeat.report.table import TERMINAL_COLUMNS, rows_for_terminal, terminal_columns
from deadbeat.report.write import write_figures, write_report

__all__ = [
    "TERMINAL_COLUMNS",
    "CoreAnswer",
    "Headline",
    "headline",
    "rows_for_terminal",
    "terminal_columns",
    "write_figures",
    "write_report",
]
