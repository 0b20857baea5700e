"""Slow twins of the bounds of rate-monotonic priorities, registered beside the others."""

import math
from itertools import product

from oracles.schedulability import Finding, Question, accepts, total, twin


def _rate_monotonic(question: Question) -> bool:
    """One processor, D = T, and priorities that follow periods whatever decides between equals."""
    if question.m != 1 or question.blocking or any(t.deadline != t.period for t in question.tasks):
        return False
    return question.priorities != "given" or all(
        a.priority > b.priority
        for a, b in product(question.tasks, question.tasks)
        if a.period < b.period
    )


@twin("ll-rm")
def ll_rm(question: Question) -> Finding:
    if not _rate_monotonic(question):
        return Finding("not applicable")
    n = len(question.tasks)
    return accepts((1 + total([task.utilisation for task in question.tasks]) / n) ** n <= 2)


@twin("hyperbolic")
def hyperbolic(question: Question) -> Finding:
    if not _rate_monotonic(question):
        return Finding("not applicable")
    return accepts(math.prod(task.utilisation + 1 for task in question.tasks) <= 2)
