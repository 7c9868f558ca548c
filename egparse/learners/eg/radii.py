"""How far the features of an example's structures lie apart, and the learning rates that are proven
by that.

Let psi_iy = F_i' (z_i - y) for a structure y of example i. The dual has the quadratic part
|sum_i sum_y alpha_iy psi_iy|^2 / (2C), whose matrix A has the entries psi_iy . psi_jz / C, the
greatest of them |A| = max_iy |psi_iy|^2 / C (Collins et al. 2008, section 5.1).
"""

from __future__ import annotations

import math

import numpy as np

from egparse.errors import EgparseError
from egparse.learners.problem import Problem
from egparse.types import Floats


def largest_entry(radii: Floats, c: float) -> float:
    """|A|, from the max_y |psi_iy|^2 of the examples, (n,).

    Raises:
        EgparseError: it is not finite.
    """
    bound = float(radii.max(initial=0.0)) / c
    if not math.isfinite(bound):
        raise EgparseError(
            f"exponentiated gradient: expected finite features, got norms of {bound}"
        )
    return bound


def squared_radii(problem: Problem) -> Floats:
    """For each example an upper bound of max_y |F_i' (z_i - y)|^2, (n,), at the cost of one visit
    to an example for each of its parts. v is 0 afterwards.

    We use |F'(z - y)| <= sum_r |z_r - y_r| |f_r|. One argmax bounds the right-hand side over all y:
    if part r occurs at most m_r times in a structure, |z_r - y_r| - z_r <= ((|z_r - m_r| - z_r) /
    m_r) y_r, which is linear in y. The bound is exact if different structures share no part.
    """
    problem.reset()
    radii = np.empty(len(problem.part_starts) - 1)
    for i in range(len(radii)):
        norms, gold = _part_norms(problem, i), problem.gold(i).copy()
        out, slopes = np.empty_like(norms), np.ones_like(norms)
        for r in np.flatnonzero(gold).tolist():
            count = _max_count(problem, i, r, out)
            slopes[r] = (abs(gold[r] - count) - gold[r]) / count if count > 0 else -1.0
        radii[i] = (float(gold @ norms) + problem.argmax(i, slopes * norms, out)) ** 2
    return radii


def _part_norms(problem: Problem, i: int) -> Floats:
    """|f_r| of each part, (parts,); v must be 0 and is 0 again afterwards."""
    changes = np.zeros(int(problem.part_starts[i + 1] - problem.part_starts[i]))
    norms = np.empty_like(changes)
    for r in range(len(changes)):
        changes[r] = 1.0
        norms[r] = math.sqrt(max(0.0, problem.add(i, changes)))
        changes[r] = -1.0
        problem.add(i, changes)
        changes[r] = 0.0
    return norms


def _max_count(problem: Problem, i: int, r: int, out: Floats) -> float:
    """The greatest count of part r in a structure."""
    potentials = np.zeros_like(out)
    potentials[r] = 1.0
    return problem.argmax(i, potentials, out)
