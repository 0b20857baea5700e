"""Slowdown and breakdown of whole task sets, from who slows whom pair by pair."""
