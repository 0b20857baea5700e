"""Parameters, a seed and a calibration to a task set: pure, seeded, exact in picoseconds."""

from deadbeat.tasksets.synthesis.generator import GENERATOR_VERSION, Synthesiser, synthesise
from deadbeat.tasksets.synthesis.parameters import SynthesisParameters
from deadbeat.tasksets.synthesis.stream import seed_for

__all__ = ["GENERATOR_VERSION", "SynthesisParameters", "Synthesiser", "seed_for", "synthesise"]
