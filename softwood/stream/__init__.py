"""Streams: trees that learn from endless, drifting streams, and what goes with them.

Models learn row by row, in compiled loops: `SoftHoeffdingTreeClassifier`, `HoeffdingTreeClassifier`,
`SmoothStepTreeClassifier`, `StreamForestClassifier` and their regressors, with scikit-learn's `partial_fit`;
`softwood.stream.river` has the same models for river. `ModelPool` tunes them on the stream, `prequential` tests and
trains, detectors such as `ADWIN` give alarms, and generators such as `SEA` make streams with drift. Names are loaded on
first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softwood.stream.adapting import Adaptation, adaptation
    from softwood.stream.drift import ADWIN, DDM, DriftDetector, PageHinkley
    from softwood.stream.evaluation.comparison import PrequentialComparison, compare_prequential
    from softwood.stream.evaluation.prequential import prequential
    from softwood.stream.evaluation.results import PrequentialResult
    from softwood.stream.forest import StreamForestClassifier, StreamForestRegressor
    from softwood.stream.generators import LED, SEA, Agrawal, Hyperplane, OversampledClasses, RandomRBF, Stream
    from softwood.stream.growing.events import DriftEvent, SplitEvent
    from softwood.stream.hoeffding import HoeffdingTreeClassifier, HoeffdingTreeRegressor
    from softwood.stream.pool import ModelPool
    from softwood.stream.smooth_step import SmoothStepTreeClassifier, SmoothStepTreeRegressor
    from softwood.stream.soft_hoeffding import SoftHoeffdingTreeClassifier, SoftHoeffdingTreeRegressor
    from softwood.stream.transparency import DecisionRule, ImportantFeatures, decision_rules, important_features

_HOME = {
    "ADWIN": "drift",
    "DDM": "drift",
    "LED": "generators",
    "SEA": "generators",
    "Adaptation": "adapting",
    "Agrawal": "generators",
    "DecisionRule": "transparency",
    "DriftDetector": "drift",
    "DriftEvent": "growing.events",
    "HoeffdingTreeClassifier": "hoeffding",
    "HoeffdingTreeRegressor": "hoeffding",
    "Hyperplane": "generators",
    "ImportantFeatures": "transparency",
    "ModelPool": "pool",
    "OversampledClasses": "generators",
    "PageHinkley": "drift",
    "PrequentialComparison": "evaluation.comparison",
    "PrequentialResult": "evaluation.results",
    "RandomRBF": "generators",
    "SmoothStepTreeClassifier": "smooth_step",
    "SmoothStepTreeRegressor": "smooth_step",
    "SoftHoeffdingTreeClassifier": "soft_hoeffding",
    "SoftHoeffdingTreeRegressor": "soft_hoeffding",
    "SplitEvent": "growing.events",
    "Stream": "generators",
    "StreamForestClassifier": "forest",
    "StreamForestRegressor": "forest",
    "adaptation": "adapting",
    "compare_prequential": "evaluation.comparison",
    "decision_rules": "transparency",
    "important_features": "transparency",
    "prequential": "evaluation.prequential",
}

__all__ = [
    "ADWIN",
    "DDM",
    "LED",
    "SEA",
    "Adaptation",
    "Agrawal",
    "DecisionRule",
    "DriftDetector",
    "DriftEvent",
    "HoeffdingTreeClassifier",
    "HoeffdingTreeRegressor",
    "Hyperplane",
    "ImportantFeatures",
    "ModelPool",
    "OversampledClasses",
    "PageHinkley",
    "PrequentialComparison",
    "PrequentialResult",
    "RandomRBF",
    "SmoothStepTreeClassifier",
    "SmoothStepTreeRegressor",
    "SoftHoeffdingTreeClassifier",
    "SoftHoeffdingTreeRegressor",
    "SplitEvent",
    "Stream",
    "StreamForestClassifier",
    "StreamForestRegressor",
    "adaptation",
    "compare_prequential",
    "decision_rules",
    "important_features",
    "prequential",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'softwood.stream' has no attribute {name!r}")
    value = getattr(import_module(f"softwood.stream.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
