"""Studies of a thesis on multiprocessor scheduling: its six figures, and its whole grid."""

from deadbeat_papers.thesis import approaches, grid, utilisations

PRESETS = (
    utilisations.FIGURE_1,
    grid.FIGURE_2,
    grid.FIGURE_3,
    approaches.FIGURE_4,
    approaches.FIGURE_5,
    approaches.FIGURE_6,
    grid.GRID,
)
