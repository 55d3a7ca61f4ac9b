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

from softwood.files import detectors, estimators, records, streams, trees
from softwood.files.errors import InvalidFileError
from softwood.files.values import damage

__all__ = ["KINDS", "Kinds"]


@dataclass(frozen=True)
class Kind:
    """A kind of objects.

    Attributes
    ----------
    name : in files, for ever
    home, class_name : module and name of the class
    state : function of an object that returns its state
    build : function of a state that returns the object, or raises an `InvalidFileError`
    """

    name: str
    home: str
    class_name: str
    state: Callable[[Any], dict[str, Any]]
    build: Callable[[type, dict[str, Any]], Any]

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
        return None if kind is None else partial(self._build, kind)

    @staticmethod
    def _build(kind: Kind, state: dict[str, Any]) -> Any:
        found = kind.load_class()
        try:
            return kind.build(found, state)
        except InvalidFileError as error:
            message = str(error)
            raise (error if message.startswith("in a ") else damage(f"in a {kind.name}: {message}")) from None


def _plain(home: str, class_name: str, state: Callable[[Any], dict], build: Callable[[dict], Any], name: str) -> Kind:
    return Kind(name, home, class_name, state, lambda _, found: build(found))


def _estimators(home: str, families: str, required: str, prefix: str = "") -> list[Kind]:
    """Kinds of a classifier and a regressor each; `required` are attributes that fitted ones have."""
    build = partial(estimators.build_estimator, required=tuple(required.split()))
    return [
        Kind(prefix + name, home, name, estimators.estimator_state, lambda kind, state: build(kind, state=state))
        for family in families.split()
        for name in (f"{family}Classifier", f"{family}Regressor")
        if name != "LinearDiscriminantTreeRegressor"
    ]


_TABLE = "columns_ n_features_in_ classes_|n_outputs_ classes_|_is_flat_ "
_RECORDS = [
    _plain("softwood.core.columns", "Columns", records.columns_state, records.build_columns, "columns"),
    _plain("softwood.kernel.data.kernels", "Kernel", records.kernel_state, records.build_kernel, "kernel"),
    _plain("softwood.kernel.prediction", "Reading", records.reading_state, records.build_reading, "reading"),
    _plain("softwood.gradient.data", "Scaling", records.scaling_state, records.build_scaling, "scaling"),
    _plain(
        "softwood.gradient.one_stage_training", "StagedTree", records.staged_state, records.build_staged, "staged tree"
    ),
    _plain("numpy.random.mtrand", "RandomState", records.random_state, records.build_random, "random state"),
    _plain("softwood.trees.tree", "KernelShapes", trees.shapes_state, trees.build_shapes, "kernel shapes"),
    _plain("softwood.trees.tree", "SoftTree", trees.tree_state, trees.build_tree, "SoftTree"),
    _plain("softwood.trees.forest", "SoftForest", trees.forest_state, trees.build_forest, "SoftForest"),
    *(
        _plain("softwood.core.losses", name, records.loss_state, partial(records.build_loss, name), f"loss.{name}")
        for name in records.LOSSES
    ),
]
_BATCH = [
    *_estimators("softwood.kernel.tree", "KernelTree", _TABLE + "tree_ bandwidths_ _reading_"),
    *_estimators(
        "softwood.kernel.forest", "KernelForest KernelExtraTrees", _TABLE + "forest_ bandwidths_ _reading_ _seed_"
    ),
    *_estimators("softwood.kernel.boosting", "KernelBoosting", _TABLE + "forest_ bandwidths_ _reading_ _loss_ n_iter_"),
    *_estimators("softwood.gradient.soft_tree", "SoftTree", _TABLE + "tree_ _scaling_"),
    *_estimators("softwood.gradient.discriminant", "LinearDiscriminantTree", _TABLE + "tree_ _scaling_"),
    *_estimators("softwood.gradient.one_stage", "OneStageTree", _TABLE + "tree_ _scaling_"),
    *_estimators("softwood.gradient.budding", "BuddingTree", _TABLE + "tree_ _scaling_"),
    *_estimators("softwood.gradient.end_to_end", "EndToEndTree", _TABLE + "tree_ _scaling_"),
    *_estimators("softwood.gradient.one_stage_forest", "OneStageForest", _TABLE + "forest_ _scaling_"),
    *_estimators("softwood.softened", "Softened", _TABLE + "tree_|forest_ bandwidths_"),
]
_STREAM = "columns_ n_features_in_ growth_"
_STREAMS = [
    *_estimators("softwood.stream.hoeffding", "HoeffdingTree", _STREAM, "stream."),
    *_estimators("softwood.stream.soft_hoeffding", "SoftHoeffdingTree", _STREAM, "stream."),
    *_estimators("softwood.stream.smooth_step", "SmoothStepTree", _STREAM, "stream."),
    *_estimators("softwood.stream.forest", "StreamForest", _STREAM, "stream."),
    *(
        Kind(f"river.{family}{side}", "softwood.stream.river", family + side, streams.river_state, streams.build_river)
        for family in ("HoeffdingTree", "SoftHoeffdingTree", "SmoothStepTree", "StreamForest")
        for side in ("Classifier", "Regressor")
    ),
    *(
        Kind(f"river.{name}", "softwood.stream.river", name, streams.river_pool_state, streams.build_river_pool)
        for name in ("ModelPoolClassifier", "ModelPoolRegressor")
    ),
    *(
        Kind(f"growth.{name}", f"softwood.stream.growing.{home}", name, streams.growth_state, streams.build_growth)
        for home, name in (
            ("hoeffding", "HoeffdingClassTree"),
            ("hoeffding", "HoeffdingRealTree"),
            ("soft", "SoftClassTree"),
            ("soft", "SoftRealTree"),
        )
    ),
    _plain(
        "softwood.stream.growing.forest",
        "GrowingForest",
        streams.forest_state,
        streams.build_forest_growth,
        "growth.GrowingForest",
    ),
    *(
        Kind(prefix + name, home, name, detectors.detector_state, detectors.build_detector)
        for prefix, home in (("detector.", "softwood.stream.drift"), ("river detector.", "softwood.stream.river"))
        for name in ("ADWIN", "PageHinkley", "DDM")
    ),
    _plain("softwood.stream.pool", "ModelPool", streams.pool_state, streams.build_pool, "stream.ModelPool"),
]

KINDS = Kinds([*_RECORDS, *_BATCH, *_STREAMS])
