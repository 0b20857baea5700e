"""Figures of published evaluations of latency and of sweeps over versions, drawn from matrices of
one's own."""

from deadbeat_papers.figures.per_cpu import PER_CPU
from deadbeat_papers.figures.preemption import PREEMPTION
from deadbeat_papers.figures.two_kernels import TWO_KERNELS
from deadbeat_papers.figures.two_sides import TWO_SIDES
from deadbeat_papers.figures.versions import VERSIONS

PRESETS = (*TWO_SIDES, PER_CPU, PREEMPTION, TWO_KERNELS, *VERSIONS)
