"""Kernel models on a Dask cluster (extra ``dask``), for more rows than one machine holds.

The estimators have the names and parameters of those in `softwood`, and `client`, the cluster. They take Dask arrays,
Dask frames, and lists of parts. Trees grow by levels from exact sums (``growth="level"``), so the number of parts and
of workers, and the order of the rows, do not change the model: it is that of the local fit. Importing softwood does not
import Dask; importing this package does.
"""

from softwood.core.extras import require

require("distributed", "dask", "softwood.dask")

from softwood.dask.estimators import (  # noqa: E402
    KernelBoostingClassifier,
    KernelBoostingRegressor,
    KernelExtraTreesClassifier,
    KernelExtraTreesRegressor,
    KernelForestClassifier,
    KernelForestRegressor,
    KernelTreeClassifier,
    KernelTreeRegressor,
)

__all__ = [
    "KernelBoostingClassifier",
    "KernelBoostingRegressor",
    "KernelExtraTreesClassifier",
    "KernelExtraTreesRegressor",
    "KernelForestClassifier",
    "KernelForestRegressor",
    "KernelTreeClassifier",
    "KernelTreeRegressor",
]
