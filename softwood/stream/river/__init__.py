"""The stream models for river: `learn_one`, `predict_one`, `learn_many` and so on, in river's pipelines and checks.

A row is a dict. Features may appear, disappear and come in any order. Values that are not numbers, such as text, are
categories; the first 255 categories of a feature are learned, and later ones count as none of these. Labels may appear
for the first time at any moment. A block of rows is learned as the same rows one by one.

Parameters are those of the classes of the same name in `softwood.stream`, with river's `seed` in place of
`random_state`.
"""

from __future__ import annotations

from softwood.stream.river.classifiers import (
    HoeffdingTreeClassifier,
    SmoothStepTreeClassifier,
    SoftHoeffdingTreeClassifier,
    StreamForestClassifier,
)
from softwood.stream.river.detectors import ADWIN, DDM, PageHinkley
from softwood.stream.river.pool import ModelPoolClassifier, ModelPoolRegressor
from softwood.stream.river.regressors import (
    HoeffdingTreeRegressor,
    SmoothStepTreeRegressor,
    SoftHoeffdingTreeRegressor,
    StreamForestRegressor,
)

__all__ = [
    "ADWIN",
    "DDM",
    "HoeffdingTreeClassifier",
    "HoeffdingTreeRegressor",
    "ModelPoolClassifier",
    "ModelPoolRegressor",
    "PageHinkley",
    "SmoothStepTreeClassifier",
    "SmoothStepTreeRegressor",
    "SoftHoeffdingTreeClassifier",
    "SoftHoeffdingTreeRegressor",
    "StreamForestClassifier",
    "StreamForestRegressor",
]

# Pickles, files and error messages name the public module.
for _name in __all__:
    globals()[_name].__module__ = __name__
