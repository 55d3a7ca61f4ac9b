"""Kernel trees that are fully grown and share points exactly, for tests of growing and not of choosing."""

from functools import partial

import softwood

KernelTreeClassifier = partial(softwood.KernelTreeClassifier, max_leaf_nodes=None, cutoff=1e-6)
KernelTreeRegressor = partial(softwood.KernelTreeRegressor, max_leaf_nodes=None, cutoff=1e-6)
