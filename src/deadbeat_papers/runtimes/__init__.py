"""The benchmark of parallel real-time runtimes of a thesis (chapter 6, section 4): its figures."""

from deadbeat_papers.runtimes.presets import ALL, FIGURES

PRIMITIVES = (*FIGURES, ALL)
