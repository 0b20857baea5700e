"""The nine observations of a paper on contention: what each says, and what decides it."""

from deadbeat_papers.observations import grid, kernels, random_sets
from deadbeat_papers.observations.base import Campaign, Campaigns, PublishedObservation, judge

__all__ = ["OBSERVATIONS", "Campaign", "Campaigns", "PublishedObservation", "judge"]

#: In the order of their numbers.
OBSERVATIONS: tuple[PublishedObservation, ...] = (
    *grid.OBSERVATIONS,
    *random_sets.OBSERVATIONS,
    *kernels.OBSERVATIONS,
)
