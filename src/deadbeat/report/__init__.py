"""Summaries as one self-contained HTML page, figures on paper, and rows for a terminal."""

from deadbeat.report.headline import CoreAnswer, Headline, headline
from deadbeat.report.stress_table import STRESS_TERMINAL_COLUMNS, stress_rows, stress_sentence
from deadbeat.report.table import TERMINAL_COLUMNS, rows_for_terminal
from deadbeat.report.write import write_figures, write_report

__all__ = [
    "STRESS_TERMINAL_COLUMNS",
    "TERMINAL_COLUMNS",
    "CoreAnswer",
    "Headline",
    "headline",
    "rows_for_terminal",
    "stress_rows",
    "stress_sentence",
    "write_figures",
    "write_report",
]
