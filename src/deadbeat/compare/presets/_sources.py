"""Whose figures the presets are after."""

SAVOIR_FAIRE = "Savoir-faire Linux, Linux for real-time systems: evaluation and security, figure"
HEDERA = "Hedera Innovations, Real-Time Embedded Linux Study on ARM Cortex-A8"
