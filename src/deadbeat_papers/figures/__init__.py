"""Figures of published evaluations of latency and of sweeps over versions, drawn from matrices of
one's own."""
