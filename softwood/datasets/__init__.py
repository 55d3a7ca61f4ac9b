"""Data to learn from: tabular sets by name, and seeded toy sets.

`load` reads a named set from the folder that the environment variable ``SOFTWOOD_DATA`` points to, or from OpenML;
`available` says which names there are. `toy_classification` and `toy_regression` draw small synthetic sets in one or
two dimensions, where the whole model can be drawn. This package uses nothing else of softwood.
"""

from softwood.datasets.synthetic import (
    TOY_CLASSIFICATION,
    TOY_REGRESSION,
    toy_classification,
    toy_regression,
)
from softwood.datasets.tabular import Dataset, available, load

__all__ = [
    "TOY_CLASSIFICATION",
    "TOY_REGRESSION",
    "Dataset",
    "available",
    "load",
    "toy_classification",
    "toy_regression",
]
