"""Kernel machines for vectors: kernels, and learners in the dual that predict by them."""

from __future__ import annotations

from egparse.experiments.kernels.vector_kernels import Gaussian, Linear, Polynomial

__all__ = ["Gaussian", "Linear", "Polynomial"]
