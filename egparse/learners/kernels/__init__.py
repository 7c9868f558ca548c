"""Kernels between examples, one family a file, for learners in the dual."""

from __future__ import annotations

from egparse.learners.kernels.string_kernel import StringKernel
from egparse.learners.kernels.tree_kernel import Tree, TreeKernel
from egparse.learners.kernels.vector_kernels import Gaussian, Linear, Polynomial

__all__ = ["Gaussian", "Linear", "Polynomial", "StringKernel", "Tree", "TreeKernel"]
