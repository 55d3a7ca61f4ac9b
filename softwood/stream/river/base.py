"""What classifiers and regressors for river share: rows as dicts, blocks of rows as frames."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.base import read_weights
from softwood.core.estimators import Documentation, documented
from softwood.core.extras import require
from softwood.fitted import FittedModel
from softwood.stream.encoding import NUMBERS, GrowingEncoder
from softwood.stream.fitted import fitted_river
from softwood.stream.following import FollowedErrors
from softwood.stream.growing.events import DriftEvent, SplitEvent
from softwood.stream.growing.forest import GrowingForest
from softwood.stream.growing.rows import OneRow
from softwood.stream.growing.threads import ThreadLock
from softwood.stream.growing.tree import GrowingTree
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree

if TYPE_CHECKING:
    import pandas as pd

base = require("river.base", "streams", "Learning as river's models do")

# Parameters of the scikit-learn classes that have no meaning for dicts, or another name.
LEFT_OUT = ("self", "categorical_features", "class_weight", "random_state")


def _read_weight(w: Any) -> float:
    """The weight of a row, checked."""
    try:
        weight = float(w) if isinstance(w, NUMBERS) else math.nan  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):  # a number that is no real one, or larger than any float
        weight = math.nan
    if not 0.0 <= weight < math.inf:
        raise ValueError(f"w must be a finite number of at least 0, got {w!r}.")
    return weight


@documented
class RiverModel(FollowedErrors):
    """What classifiers and regressors share.

    Attributes
    ----------
    n_nodes : int
        Number of nodes, of all trees.
    n_leaves : int
        Number of leaves, of all trees.
    height : int
        Depth of the deepest leaf.
    feature_names : list of str
        Names of the columns of the tree, ``name=category`` for categories.
    log : list of SplitEvent
        Every split of the present model, and every test that was replaced, in order.
    drifts : list of DriftEvent
        Alarms of the detectors of the tree or forest, in order.

    Arguments of methods
    --------------------
    x : dict
        The features. None and nan are missing values.
    X : pandas.DataFrame
        The rows.
    """

    _estimator_class: type
    _growth: GrowingTree | GrowingForest | None
    _places: GrowingEncoder

    def _set_up(self) -> None:
        self._places = GrowingEncoder()
        self._growth = None
        self._lock = ThreadLock()

    def _set_rows(self) -> None:
        """Make arrays for a row to learn and for one to predict, after a change of columns or classes."""
        assert self._growth is not None
        n_features, is_class = len(self._places), hasattr(self, "_codes")
        self._learned = OneRow.empty(n_features, 0, is_class=is_class)
        self._asked = OneRow.empty(n_features, self._growth.n_outputs, is_class=is_class)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_learned", "_asked")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._growth is not None:
            self._set_rows()

    def _estimator(self) -> Any:
        """The scikit-learn model with the same parameters."""
        names = set(inspect.signature(self._estimator_class).parameters)
        parameters = {
            "random_state" if name == "seed" else name: value
            for name, value in self._get_params().items()  # type: ignore[attr-defined]
        }
        return self._estimator_class(**{name: value for name, value in parameters.items() if name in names})

    def _make_growth(self, n_features: int, n_outputs: int) -> GrowingTree | GrowingForest:
        model = self._estimator()
        state = np.random.RandomState(getattr(self, "seed", None))
        return model._new_growth(n_features, n_outputs, int(state.randint(np.iinfo(np.int32).max)))

    def _take_in(self, x: dict, n_outputs: int) -> None:
        """Read a row, and add its new features and classes; nothing has changed if that is not possible."""
        self._places.check(x)
        places = self._places.copy()
        new, values = places.learn(x), np.empty(len(places))
        places.read(x, values)
        growth = self._make_growth(len(places), n_outputs) if self._growth is None else self._growth
        growth.widen(len(places), n_outputs)
        for column, sibling in new:
            growth.mark_category(column, sibling)
        self._growth, self._places = growth, places
        self._set_rows()
        self._learned.values[:] = values

    def _learn_row(self, x: dict, code: float, w: float, n_outputs: int) -> bool:
        """Learn a row, if it has a weight; nothing has changed if it cannot be learned.

        Returns
        -------
        whether the row was learned
        """
        weight = w if type(w) is float and 0.0 < w < math.inf else _read_weight(w)
        if weight == 0.0:
            self._places.check(x)
            return False
        with self._lock:
            growth = self._growth
            if growth is None or n_outputs != growth.n_outputs or not self._reads(x):
                self._take_in(x, n_outputs)
                growth = self._growth
            assert growth is not None
            if self._errors is not None and growth.n_rows:
                self._errors.add(self._scores(np.array([self._outputs_of(x)]), np.array([code])))
            row = self._learned
            row.targets[0] = code
            row.weights[0] = weight
            growth.learn_row(row)
        return True

    def _scores(self, predictions: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Scores of rows for intervals or sets, (n,)."""
        raise NotImplementedError

    def _learn_block(self, matrix: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
        """Learn rows without anything new in them."""
        growth = self._growth
        assert growth is not None
        predictions = None if self._errors is None else np.empty((len(matrix), growth.n_outputs))
        n_before = growth.n_rows
        growth.learn(matrix, codes, weights, predictions)
        if self._errors is not None and predictions is not None:
            rows = np.flatnonzero(weights > 0)[0 if n_before else 1 :]
            self._errors.add(self._scores(predictions[rows], codes[rows]))

    def _reads(self, x: dict) -> bool:
        """Read a row; False if there is something new in it. An error names a feature that cannot be read."""
        try:
            return self._places.read(x, self._learned.values)
        except (TypeError, ValueError, OverflowError):
            self._places.check(x)
            raise

    def _outputs_of(self, x: dict) -> list[float]:
        """Outputs for a row; what is not known in it is left out. The lock must be held."""
        assert self._growth is not None
        row = self._asked
        self._places.read(x, row.values)
        self._growth.predict_row(row)
        return row.outputs.tolist()

    def _check_block(self, X: pd.DataFrame, y: Any, w: Any) -> np.ndarray:
        """The weights of a block; an error before its first row is learned if there is anything wrong with it."""
        if len(y) != len(X):
            raise ValueError(f"X has {len(X)} rows, but y has {len(y)}.")
        if not X.columns.is_unique:
            raise ValueError(f"The column {X.columns[X.columns.duplicated()][0]!r} is there twice.")
        self._places.check_frame(X)
        return read_weights(w, len(X))

    def _outputs_of_many(self, X: pd.DataFrame) -> np.ndarray:
        """Outputs for the rows of a frame, (n, n_outputs)."""
        assert self._growth is not None
        with self._lock:
            return self._growth.predict(self._places.read_frame(X))

    # Properties

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return 0 if self._growth is None else self._growth.n_nodes

    @property
    def n_leaves(self) -> int:
        """Number of leaves, of all trees."""
        return 0 if self._growth is None else self._growth.n_nodes - self._growth.n_inner

    @property
    def height(self) -> int:
        """Depth of the deepest leaf."""
        return 0 if self._growth is None else self._growth.snapshot().max_depth

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of the tree, ``name=category`` for categories."""
        return list(self._places.names)

    @property
    def log(self) -> list[SplitEvent]:
        """Audit log of the present tree: every split, and every test that was replaced, in order."""
        return [] if self._growth is None else list(self._growth.log)

    @property
    def drifts(self) -> list[DriftEvent]:
        """Alarms of the detectors of the tree or forest, in order."""
        return [] if self._growth is None else list(self._growth.drifts)

    def _as_fitted(self) -> FittedModel:
        return fitted_river(self)

    def snapshot(self) -> SoftTree | SoftForest:
        """The tree as it is now, a `SoftTree` with columns as in `feature_names`; of a forest a `SoftForest`."""
        if self._growth is None:
            raise ValueError(f"{type(self).__name__} has not learned anything yet.")
        return self._growth.snapshot()


def like(estimator_class: type, family: type) -> type:
    """A river class with the parameters of a scikit-learn class, so that their lists are written once."""
    kept = []
    for name, parameter in inspect.signature(estimator_class).parameters.items():
        if name == "random_state":
            kept.append(parameter.replace(name="seed", annotation="int | None"))
        elif name not in LEFT_OUT:
            kept.append(parameter)
    signature = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *kept])

    def __init__(self: Any, *values: Any, **parameters: Any) -> None:
        arguments = signature.bind(self, *values, **parameters)
        arguments.apply_defaults()
        for name, value in arguments.arguments.items():
            if name != "self":
                setattr(self, name, value)
        self._set_up()
        # The parameters are checked now: river users expect an error here, not at the first row.
        self._estimator()._new_growth(1, 2, 0)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    name = estimator_class.__name__
    members = {
        "__init__": __init__,
        "__doc__": _document(estimator_class, family).write(kept),
        "__qualname__": name,
        "_estimator_class": estimator_class,
    }
    published = getattr(estimator_class, "as_published", None)
    if published is not None:
        members["as_published"] = classmethod(published.__func__)
    return type(name, (family,), members)


def _document(estimator_class: type, family: type) -> Documentation:
    """The documentation of a river class: parameters of the scikit-learn class, attributes of the river models."""
    known = Documentation.collect(estimator_class)
    parameters = {name: entry.replace("``drifts_``", "`drifts`") for name, entry in known.parameters.items()}
    if "random_state" in parameters:
        _, _, meaning = parameters["random_state"].partition("\n")
        parameters["seed"] = f"int or None\n{meaning}"
    text = known.text.replace("`random_state`", "`seed`")
    text += f"\n\nThis is `softwood.stream.{estimator_class.__name__}` with the methods of river's models."
    return Documentation(text, parameters, Documentation.collect(family).attributes)
