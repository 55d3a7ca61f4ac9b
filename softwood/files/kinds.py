"""The kinds of objects that a file may hold: the registry.

A class that a file names is one of these or is refused. Modules are imported when a kind is needed, so a file without
models for river does not need river.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from softwood.files import estimators, records, streams


@dataclass(frozen=True)
class Kind:
    """A kind of objects.

    Attributes
    ----------
    name : in files; never changed
    home, class_name : module and name of the class
    state : function of an object that returns its state
    build : function of the class and a state that returns the object; an error of its constructor is one of the file
    """

    name: str
    home: str
    class_name: str
    state: Callable[[Any], dict[str, Any]] = records.record_state
    build: Callable[[Any, dict[str, Any]], Any] = records.build_record

    def load_class(self) -> type:
        """The class."""
        return getattr(import_module(self.home), self.class_name)


class Kinds:
    """A registry of kinds, by name and by class.

    Parameters
    ----------
    kinds : in any order
    """

    def __init__(self, kinds: list[Kind]) -> None:
        self.by_name = {kind.name: kind for kind in kinds}
        self._by_class = {(kind.home, kind.class_name): kind for kind in kinds}

    def of(self, value: Any) -> Kind | None:
        """The kind of an object; None if there is none, as for objects of derived classes."""
        return self._by_class.get((type(value).__module__, type(value).__qualname__))

    def state_of(self, value: Any) -> tuple[str, dict[str, Any]] | None:
        """Name of the kind of an object, and its state; None if it is of no kind that is known."""
        kind = self.of(value)
        return None if kind is None else (kind.name, kind.state(value))

    def builder(self, name: str) -> Callable[[dict[str, Any]], Any] | None:
        """Function that makes an object of the kind of this name from its state; None if there is no such kind."""
        kind = self.by_name.get(name)
        return None if kind is None else partial(kind.build, kind.load_class())


def _pairs(
    home: str, families: str, prefix: str = "",
    state: Callable[[Any], dict[str, Any]] = estimators.estimator_state,
    build: Callable[[Any, dict[str, Any]], Any] = estimators.build_estimator,
) -> list[Kind]:  # fmt: skip
    """Kinds of a classifier and a regressor of each family."""
    names = [family + side for family in families.split() for side in ("Classifier", "Regressor")]
    return [Kind(prefix + name, home, name, state, build) for name in names]


_RECORDS = [
    Kind("columns", "softwood.core.columns", "Columns", records.columns_state, records.build_columns),
    Kind("kernel", "softwood.kernel.data.kernels", "Kernel", build=records.build_kernel),
    Kind(
        "reading",
        "softwood.kernel.prediction",
        "PredictionKernels",
        records.prediction_kernels_state,
        records.build_prediction_kernels,
    ),
    Kind("scaling", "softwood.gradient.data", "Scaling"),
    Kind("staged tree", "softwood.gradient.one_stage_training", "StagedTree"),
    Kind("random state", "numpy.random.mtrand", "RandomState", records.random_state, records.build_random),
    Kind("kernel shapes", "softwood.trees.nodes", "KernelShapes"),
    Kind("SoftTree", "softwood.trees.tree", "SoftTree"),
    Kind("SoftForest", "softwood.trees.forest", "SoftForest"),
    Kind("errors", "softwood.uncertainty.calibration", "ErrorCalibration"),
    Kind("shares", "softwood.uncertainty.calibration", "ShareCalibration"),
    Kind("spread", "softwood.uncertainty.spread", "Spread"),
    Kind("leaf targets", "softwood.uncertainty.leaves", "LeafTargets"),
    Kind("groups", "softwood.uncertainty.groups", "Groups"),
    *(
        Kind(f"loss.{name}", "softwood.core.losses", name, records.loss_state, records.build_loss)
        for name in records.LOSSES
    ),
]
_BATCH = [
    *_pairs("softwood.kernel.tree", "KernelTree"),
    *_pairs("softwood.kernel.forest", "KernelForest KernelExtraTrees"),
    *_pairs("softwood.kernel.boosting", "KernelBoosting"),
    *_pairs("softwood.gradient.soft_tree", "SoftTree"),
    _pairs("softwood.gradient.discriminant", "LinearDiscriminantTree")[0],
    *_pairs("softwood.gradient.one_stage", "OneStageTree"),
    *_pairs("softwood.gradient.budding", "BuddingTree"),
    *_pairs("softwood.gradient.end_to_end", "EndToEndTree"),
    *_pairs("softwood.gradient.one_stage_forest", "OneStageForest"),
    *_pairs("softwood.softened", "Softened"),
]
_STREAMS = [
    Kind("adaptive scores", "softwood.stream.adaptive_scores", "AdaptiveScores"),
    *_pairs("softwood.stream.hoeffding", "HoeffdingTree", "stream."),
    *_pairs("softwood.stream.soft_hoeffding", "SoftHoeffdingTree", "stream."),
    *_pairs("softwood.stream.smooth_step", "SmoothStepTree", "stream."),
    *_pairs("softwood.stream.forest", "StreamForest", "stream."),
    *_pairs(
        "softwood.stream.river", "HoeffdingTree SoftHoeffdingTree SmoothStepTree StreamForest", "river.",
        streams.river_state, streams.build_river,
    ),
    *_pairs("softwood.stream.river", "ModelPool", "river.", streams.river_pool_state, streams.build_river_pool),
    *(
        Kind(f"growth.{name}", f"softwood.stream.growing.{home}", name, streams.growth_state, streams.build_growth)
        for home, name in (
            ("hoeffding", "HoeffdingClassTree"),
            ("hoeffding", "HoeffdingRealTree"),
            ("soft", "SoftClassTree"),
            ("soft", "SoftRealTree"),
        )
    ),
    Kind(
        "growth.GrowingForest", "softwood.stream.growing.forest", "GrowingForest",
        streams.forest_state, streams.build_forest_growth,
    ),
    *(
        Kind(prefix + name, home, name, streams.detector_state, streams.build_detector)
        for prefix, home in (("detector.", "softwood.stream.drift"), ("river detector.", "softwood.stream.river"))
        for name in ("ADWIN", "PageHinkley", "DDM")
    ),
    Kind("stream.ModelPool", "softwood.stream.pool", "ModelPool", streams.pool_state, streams.build_pool),
]  # fmt: skip

KINDS = Kinds([*_RECORDS, *_BATCH, *_STREAMS])
