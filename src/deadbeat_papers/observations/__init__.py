"""The nine observations of a paper on contention: what each says, and what decides it."""

from deadbeat_papers.observations import grid, kernels, random_sets
from deadbeat_papers.observations.base import Campaign, Campaigns, PublishedObservation, judge

__all__ = ["OBSERVATIONS", "Campaign", "Campaigns", "PublishedObservation", "judge"]

#: In the order of their numbers.
OBSERVATIONS = (
    grid.OBSERVATION_1,
    grid.OBSERVATION_2,
    grid.OBSERVATION_3,
    grid.OBSERVATION_4,
    random_sets.OBSERVATION_5,
    random_sets.OBSERVATION_6,
    kernels.OBSERVATION_7,
    kernels.OBSERVATION_8,
    kernels.OBSERVATION_9,
)
