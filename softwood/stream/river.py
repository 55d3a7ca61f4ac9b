"""The stream models for river: `learn_one`, `predict_one`, `learn_many` and so on, in river's pipelines and checks.

A row is a dict. Features may appear, disappear and come in any order; text and other things that are no numbers are
categories (of the first 255 of a feature; later ones count as none of these); labels may be seen for the first time at
any moment. A block of rows is learned as the same rows one by one.

Parameters are those of the classes of the same name in `softwood.stream`, with river's `seed` in place of
`random_state`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Sequence
from numbers import Number
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.base import read_weights
from softwood.core.columns import MAX_CATEGORIES, is_missing_value
from softwood.core.extras import require
from softwood.fitted import FittedModel
from softwood.stream.drift import ADWIN as _ADWIN
from softwood.stream.drift import DDM as _DDM
from softwood.stream.drift import PageHinkley as _PageHinkley
from softwood.stream.fitted import fitted_river
from softwood.stream.forest import StreamForestClassifier as _StreamForestClassifier
from softwood.stream.forest import StreamForestRegressor as _StreamForestRegressor
from softwood.stream.growing.forest import GrowingForest
from softwood.stream.growing.rows import OneRow
from softwood.stream.growing.threads import ThreadLock
from softwood.stream.growing.tree import DriftEvent, GrowingTree, SplitEvent
from softwood.stream.hoeffding import HoeffdingTreeClassifier as _HoeffdingTreeClassifier
from softwood.stream.hoeffding import HoeffdingTreeRegressor as _HoeffdingTreeRegressor
from softwood.stream.river_pool import ModelPoolClassifier, ModelPoolRegressor
from softwood.stream.smooth_step import SmoothStepTreeClassifier as _SmoothStepTreeClassifier
from softwood.stream.smooth_step import SmoothStepTreeRegressor as _SmoothStepTreeRegressor
from softwood.stream.soft_hoeffding import SoftHoeffdingTreeClassifier as _SoftHoeffdingTreeClassifier
from softwood.stream.soft_hoeffding import SoftHoeffdingTreeRegressor as _SoftHoeffdingTreeRegressor
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree

if TYPE_CHECKING:
    import pandas as pd

base = require("river.base", "river", "Learning as river's models do")

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

# Parameters of the scikit-learn classes that have no meaning for dicts, or another name.
LEFT_OUT = ("self", "categorical_features", "class_weight", "random_state")
# What counts as a number in a dict; numpy's truth values are not among Python's numbers.
NUMBERS = (Number, np.bool_)


class FeaturePlaces:
    """Columns of the features of dicts, in the order of arrival; new ones of the same row are sorted by name.

    So the order of a dict does not matter.
    """

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.categories: dict[Hashable, dict[Hashable, int]] = {}
        self.names: list[str] = []
        self._category_columns: dict[Hashable, np.ndarray] = {}  # of all categories of a feature
        self._take_all: Callable[[dict], tuple] | None = None  # the values of all numbers
        self._n_taken = 0

    def __len__(self) -> int:
        return len(self.names)

    @staticmethod
    def check(x: dict) -> None:
        """An error that names the feature if a row cannot be learned."""
        for key, value in x.items():
            try:
                if is_missing_value(value):
                    continue
                if not isinstance(value, NUMBERS):
                    hash(value)
                    continue
                number = float(value)  # type: ignore[arg-type]
            except (TypeError, ValueError, OverflowError) as error:
                what = f"Feature {key!r} is {type(value).__name__}, neither a number nor a category"
                raise ValueError(f"{what}: {error}.") from error
            if math.isinf(number):
                raise ValueError(f"Feature {key!r} is infinite; only finite numbers and missing values are taken.")

    def copy(self) -> FeaturePlaces:
        """A copy that can learn without changing this one."""
        new = FeaturePlaces()
        new.numbers, new.names = dict(self.numbers), list(self.names)
        new.categories = {key: dict(known) for key, known in self.categories.items()}
        return new

    def learn(self, x: dict) -> list[tuple[int, int | None]]:
        """Take in what is new in a row; returns the new columns of categories, each with an older one or None."""
        new: list[tuple[int, int | None]] = []
        for key in sorted(x, key=lambda k: (type(k).__name__, str(k))):
            value = x[key]
            if is_missing_value(value):
                continue
            if isinstance(value, NUMBERS):
                if key not in self.numbers:
                    self.numbers[key] = len(self.names)
                    self.names.append(str(key))
                continue
            known = self.categories.setdefault(key, {})
            if value not in known and len(known) < MAX_CATEGORIES:
                new.append((len(self.names), next(iter(known.values()), None)))
                known[value] = len(self.names)
                self.names.append(f"{key}={value}")
        return new

    def _all_numbers(self, x: dict) -> Sequence:
        """The values of all features that are numbers."""
        if self._take_all is None or self._n_taken != len(self.numbers):
            if len(self.numbers) < 2:
                return [x[key] for key in self.numbers]
            self._take_all, self._n_taken = itemgetter(*self.numbers), len(self.numbers)
        return self._take_all(x)

    def read(self, x: dict, row: np.ndarray) -> bool:
        """Fill a row of the matrix, nan where missing; False if the dict holds something that is not known."""
        if len(x) == len(self.numbers) == len(row):
            # All features are numbers and there: the usual case.
            try:
                values = self._all_numbers(x)
                total = sum(values)
                if total - total == 0.0:  # neither nan nor infinity among them, nor text
                    row[:] = values
                    return True
            except (KeyError, TypeError, ValueError, OverflowError):
                pass
        row[:] = np.nan
        is_known = True
        for key, value in x.items():
            if is_missing_value(value):
                continue
            if isinstance(value, NUMBERS):
                at = self.numbers.get(key)
                if at is None:
                    is_known = False
                else:
                    row[at] = value
                continue
            known = self.categories.get(key, {})
            columns = self._category_columns.get(key)
            if columns is None or len(columns) != len(known):
                columns = self._category_columns[key] = np.fromiter(known.values(), np.int64, len(known))
            row[columns] = 0.0
            at = known.get(value)
            if at is not None:
                row[at] = 1.0
            elif len(known) < MAX_CATEGORIES:
                is_known = False
        if np.isinf(row).any():
            self.check(x)
        return is_known


def _read_weight(w: Any) -> float:
    """The weight of a row, checked."""
    try:
        weight = float(w) if isinstance(w, NUMBERS) else math.nan  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):  # a number that is no real one, or larger than any float
        weight = math.nan
    if not 0.0 <= weight < math.inf:
        raise ValueError(f"w must be a finite number of at least 0, got {w!r}.")
    return weight


class _RiverModel:
    """What classifiers and regressors share."""

    _estimator_class: type
    _growth: GrowingTree | GrowingForest | None
    _places: FeaturePlaces

    def _set_up(self) -> None:
        self._places = FeaturePlaces()
        self._growth = None
        self._lock = ThreadLock()

    def _set_rows(self) -> None:
        """Make room for a row to learn, and for one to predict, when there are other columns or classes."""
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
        """Make room for the new features of a row, and for classes; nothing has changed if that is not possible."""
        self._places.check(x)
        places = self._places.copy()
        new = places.learn(x)
        places.read(x, np.empty(len(places)))
        growth = self._make_growth(len(places), n_outputs) if self._growth is None else self._growth
        growth.widen(len(places), n_outputs)
        for column, sibling in new:
            growth.mark_category(column, sibling)
        self._growth, self._places = growth, places
        self._set_rows()

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
                self._places.read(x, self._learned.values)
            assert growth is not None
            row = self._learned
            row.targets[0] = code
            row.weights[0] = weight
            growth.learn_row(row)
        return True

    def _reads(self, x: dict) -> bool:
        """Read a row; False if there is something new in it, or something that has to be told by name."""
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

    def _matrix(self, X: pd.DataFrame) -> np.ndarray | None:
        """The rows of a frame of numbers whose columns are known, or None."""
        if not all(kind.kind in "biuf" for kind in X.dtypes):
            return None
        if not all(column in self._places.numbers for column in X.columns):
            return None
        matrix = np.full((len(X), len(self._places)), np.nan)
        values = X.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(values).any():
            name = X.columns[int(np.argmax(np.isinf(values).any(axis=0)))]
            raise ValueError(f"Feature {name!r} is infinite; only finite numbers and missing values are taken.")
        matrix[:, [self._places.numbers[column] for column in X.columns]] = values
        return matrix

    def _check_block(self, X: pd.DataFrame, y: Any, w: Any) -> np.ndarray:
        """The weights of a block; an error before its first row is learned if there is anything wrong with it."""
        if len(y) != len(X):
            raise ValueError(f"X has {len(X)} rows, but y has {len(y)}.")
        if not X.columns.is_unique:
            raise ValueError(f"The column {X.columns[X.columns.duplicated()][0]!r} is there twice.")
        for column, kind in X.dtypes.items():
            if kind.kind == "O" or (
                kind.kind == "f" and np.isinf(X[column].to_numpy(np.float64, na_value=np.nan)).any()
            ):
                for value in X[column].tolist():
                    self._places.check({column: value})
        return read_weights(w, len(X))

    def _outputs_of_many(self, X: pd.DataFrame) -> np.ndarray:
        """Outputs for the rows of a frame, (n, n_outputs)."""
        assert self._growth is not None
        with self._lock:
            matrix = self._matrix(X)
            if matrix is None:
                matrix = np.empty((len(X), len(self._places)))
                for i, x in enumerate(X.to_dict(orient="records")):
                    self._places.read(x, matrix[i])
            return self._growth.predict(matrix)

    # Looking at it

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


class _RiverClassifier(_RiverModel, base.MiniBatchClassifier):  # type: ignore[name-defined]
    """A classifier with river's methods."""

    def _set_up(self) -> None:
        super()._set_up()
        self._codes: dict[Hashable, int] = {}

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict, y: Any, w: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        x : the features; None and nan are missing values
        y : the label
        w : weight
        """
        try:
            code = self._codes.get(y)
        except TypeError as error:
            raise ValueError(f"y must be a label, got {y!r}: {error}.") from error
        if code is not None:
            self._learn_row(x, code, w, len(self._codes))
            return
        if is_missing_value(y):
            raise ValueError(f"y must be a label, got {y!r}.")
        with self._lock:
            code = len(self._codes)
            if self._learn_row(x, code, w, code + 1):
                self._codes[y] = code

    def predict_proba_one(self, x: dict) -> dict:
        """Probabilities of the labels seen so far; empty before the first."""
        with self._lock:
            if self._growth is None:
                return {}
            return dict(zip(self._codes, self._outputs_of(x), strict=True))

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = None) -> None:
        """Learn the rows of a frame, as `learn_one` does one after the other."""
        labels = y.tolist() if hasattr(y, "tolist") else list(y)
        for label in labels:
            try:
                is_wrong = is_missing_value(label) or hash(label) is None
            except (TypeError, ValueError) as error:
                raise ValueError(f"y must hold labels, got {label!r}.") from error
            if is_wrong:
                raise ValueError("y must hold labels, and none may be missing.")
        weights = self._check_block(X, labels, w)
        with self._lock:
            self._learn_rows(X, labels, weights)

    def _learn_rows(self, X: pd.DataFrame, labels: list, weights: np.ndarray) -> None:
        """Learn rows that have been checked."""
        begin = 0
        while begin < len(X):
            # Up to the next label that has not been there: it changes what rows before it must not see.
            end = begin
            while end < len(X) and labels[end] in self._codes:
                end += 1
            matrix = None if end == begin or self._growth is None else self._matrix(X.iloc[begin:end])
            if matrix is None:
                end = max(end, begin + 1)
                for i, x in enumerate(X.iloc[begin:end].to_dict(orient="records"), begin):
                    self.learn_one(x, labels[i], weights[i])
            else:
                assert self._growth is not None
                codes = np.array([self._codes[label] for label in labels[begin:end]], dtype=np.int64)
                self._growth.learn(matrix, codes, weights[begin:end], None)
            begin = end

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Probabilities of the labels seen so far, a column for each."""
        import pandas as pd

        with self._lock:
            if self._growth is None:
                return pd.DataFrame(index=X.index)
            labels = pd.Index(self._codes, dtype="object")
            return pd.DataFrame(self._outputs_of_many(X), index=X.index, columns=labels)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Most probable label of each row."""
        import pandas as pd

        with self._lock:
            if self._growth is None:
                return pd.Series([None] * len(X), index=X.index, dtype="object")
            labels = list(self._codes)
            return pd.Series([labels[k] for k in self._outputs_of_many(X).argmax(axis=1)], index=X.index)


class _RiverRegressor(_RiverModel, base.MiniBatchRegressor):  # type: ignore[name-defined]
    """A regressor with river's methods."""

    def learn_one(self, x: dict, y: float, w: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        x : the features; None and nan are missing values
        y : the target
        w : weight
        """
        target = float(y)
        if not np.isfinite(target):
            raise ValueError(f"y must be a finite number, got {y!r}.")
        self._learn_row(x, target, w, 1)

    def predict_one(self, x: dict) -> float:
        """Predicted target; 0 before the first row."""
        with self._lock:
            return 0.0 if self._growth is None else self._outputs_of(x)[0]

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = None) -> None:
        """Learn the rows of a frame, as `learn_one` does one after the other."""
        targets = np.array(y, dtype=np.float64)
        if not np.all(np.isfinite(targets)):
            raise ValueError("y must hold finite numbers.")
        weights = self._check_block(X, targets, w)
        with self._lock:
            matrix = None if self._growth is None else self._matrix(X)
            if matrix is None:
                for i, x in enumerate(X.to_dict(orient="records")):
                    self.learn_one(x, targets[i], weights[i])
            else:
                assert self._growth is not None
                self._growth.learn(matrix, targets, weights, None)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predicted target of each row."""
        import pandas as pd

        if self._growth is None:
            return pd.Series(np.zeros(len(X)), index=X.index)
        return pd.Series(self._outputs_of_many(X)[:, 0], index=X.index)


def _like(estimator_class: type, family: type) -> type:
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
    return type(name, (family,), {
        "__init__": __init__,
        "__doc__": f"`softwood.stream.{name}` for river, with the same parameters; `seed` is its `random_state`.",
        "__module__": __name__,
        "__qualname__": name,
        "_estimator_class": estimator_class,
    })  # fmt: skip


HoeffdingTreeClassifier = _like(_HoeffdingTreeClassifier, _RiverClassifier)
HoeffdingTreeRegressor = _like(_HoeffdingTreeRegressor, _RiverRegressor)
SmoothStepTreeClassifier = _like(_SmoothStepTreeClassifier, _RiverClassifier)
SmoothStepTreeRegressor = _like(_SmoothStepTreeRegressor, _RiverRegressor)
SoftHoeffdingTreeClassifier = _like(_SoftHoeffdingTreeClassifier, _RiverClassifier)
SoftHoeffdingTreeRegressor = _like(_SoftHoeffdingTreeRegressor, _RiverRegressor)
StreamForestClassifier = _like(_StreamForestClassifier, _RiverClassifier)
StreamForestRegressor = _like(_StreamForestRegressor, _RiverRegressor)


# Detectors


class ADWIN(_ADWIN, base.DriftDetector):  # type: ignore[name-defined]
    """`softwood.stream.ADWIN` as a detector of river's, for its ensembles."""


class PageHinkley(_PageHinkley, base.DriftDetector):  # type: ignore[name-defined]
    """`softwood.stream.PageHinkley` as a detector of river's."""


class DDM(_DDM, base.BinaryDriftAndWarningDetector):  # type: ignore[name-defined]
    """`softwood.stream.DDM` as a detector of river's."""
