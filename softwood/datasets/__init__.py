"""Data sets: tabular sets by name, and seeded toy sets.

`load_dataset` reads a named set from the folder given by the environment variable ``SOFTWOOD_DATA``, or from OpenML;
`available` lists the names. `toy_classification` and `toy_regression` generate small synthetic sets in one or two
dimensions, so that a whole model can be drawn. This package does not use other parts of softwood.
"""

from softwood.datasets.synthetic import TOY_CLASSIFICATION, TOY_REGRESSION, toy_classification, toy_regression
from softwood.datasets.tabular import Dataset, available, load_dataset

__all__ = [
    "TOY_CLASSIFICATION",
    "TOY_REGRESSION",
    "Dataset",
    "available",
    "load_dataset",
    "toy_classification",
    "toy_regression",
]
