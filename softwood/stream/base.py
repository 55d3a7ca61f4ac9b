"""What all stream models share: tables in blocks, learning row by row, predictions at any time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from softwood.base import ClassifierBase, RegressorBase, TreeEstimator, read_weights, rows_with_weight
from softwood.core.columns import Columns
from softwood.core.estimators import estimator
from softwood.core.parameters import is_real, parameter_error
from softwood.core.tables import refuse_masked
from softwood.core.targets import find_classes, read_labels
from softwood.fitted import FittedModel
from softwood.stream.encoding import read_growing_table
from softwood.stream.fitted import fitted_stream
from softwood.stream.following import FollowedErrors, as_sets, error_scores, share_scores
from softwood.stream.growing.events import SplitEvent
from softwood.stream.growing.tree import GrowingTree
from softwood.trees.tree import SoftTree


def _in_order(array: np.ndarray) -> np.ndarray:
    """The array, or a copy if it is not as the loops take it."""
    return array if array.flags.c_contiguous and array.flags.aligned else np.array(array, order="C")


@estimator
class StreamModel(FollowedErrors, TreeEstimator):
    """A tree or forest that learns from a stream, block by block.

    Parameters
    ----------
    categorical_features : "from_dtype", array-like of bool, int or str, or None
        Columns to treat as categories: a mask, numbers or names of columns. "from_dtype" selects the text and category
        columns of data frames. None selects no columns. New categories may appear at any time.

    Attributes
    ----------
    growth_ : object
        The model in the form in which it learns.
    n_samples_seen_ : int
        Number of rows that have been learned.
    log_ : list of SplitEvent
        Every split of the present model, and every test that was replaced, in order.
    nbytes_ : int
        Memory of the growing model in bytes.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column in the decisions; they add up to 1.

    Arguments of methods
    --------------------
    X : array-like or data frame of shape (n_rows, n_features_in)
        The rows, in their order if they are learned. nan, None and the like are missing values.
    y : array-like of shape (n_rows,)
        Labels or targets.
    classes : array-like of shape (n_classes,) or None
        All labels that may occur. Needed in the first call; the same, or None, in later ones.
    sample_weight : array-like of shape (n_rows,) or None
        Weights of the rows.
    """

    categorical_features: Sequence[Any] | np.ndarray | Literal["from_dtype"] | None = "from_dtype"

    growth_: GrowingTree = field(init=False)

    def _new_growth(self, n_features: int, n_outputs: int, seed: int) -> GrowingTree:
        """A family's first leaf, or first tree; checks the parameters."""
        raise NotImplementedError

    def _codes(self, y: Any) -> np.ndarray:
        """Targets as the loops take them, (n,): int64 numbers of classes, or float64 targets."""
        raise NotImplementedError

    def _n_outputs(self) -> int:
        raise NotImplementedError

    def _row_weights(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weights of rows with what the model adds to them."""
        return weights

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, and learn all rows once, in their order."""
        with self._unchanged_by_errors():
            X, y, sample_weight, _ = rows_with_weight(X, y, sample_weight)
            self._reset(y)
            self._learn(X, y, sample_weight, None)
        return self

    @contextmanager
    def _unchanged_by_errors(self) -> Iterator[None]:
        """Put all attributes back if a check fails; an interrupt leaves what has been learned."""
        before = dict(self.__dict__)
        try:
            yield
        except Exception:
            self.__dict__ = before
            raise

    def _reset(self, y: Any) -> None:
        """Forget what was learned; all that `fit` reads from the targets before it learns."""
        self._refuse_none(y)
        for name in ("growth_", "columns_"):
            if hasattr(self, name):
                delattr(self, name)
        if self._errors is not None:
            self._errors = self._errors.emptied()

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None, *, cv: int | None = None, by: Any = None) -> Self:
        """Raise an error: models on streams follow their errors, see `follow_errors`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            Not used.
        y : array-like of shape (n_rows,)
            Not used.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Not used.
        cv : int or None, default=None
            Not used.
        by : int, str or None, default=None
            Not used.

        Returns
        -------
        estimator
            Never.
        """
        raise TypeError(
            f"{type(self).__name__} follows its errors on the stream. Call follow_errors() in place of calibrate."
        )

    def _calibration(self) -> Any:
        _ = self._grown
        return self._as_calibration()

    def _scores(self, predictions: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Scores of rows for intervals or sets, (n,)."""
        raise NotImplementedError

    def _refuse_none(self, y: Any) -> None:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")

    def _learn(self, X: Any, y: Any, sample_weight: Any, out: str | None) -> np.ndarray | None:
        """Check everything, then learn; nothing has changed if a check fails.

        Parameters
        ----------
        out : "predictions": return what was predicted for each row before it was learned
        """
        has_begun = self._has_begun
        (matrix, columns, arrivals), codes, weights = self._read_rows(X, y, sample_weight)
        if not has_begun:
            seed = int(check_random_state(getattr(self, "random_state", None)).randint(np.iinfo(np.int32).max))
            growth = self._new_growth(arrivals.count(0), self._n_outputs(), seed)
        else:
            growth = self.growth_
        predictions = np.empty((len(matrix), growth.n_outputs)) if out or self._errors is not None else None
        n_before = growth.n_rows
        with growth.lock:  # columns and tree change together for threads that predict
            self.growth_, self.columns_ = growth, columns
            if arrivals:
                self._learn_with_arrivals(matrix, codes, weights, predictions, arrivals)
            else:
                growth.learn(matrix, codes, weights, predictions)
            if self._errors is not None and predictions is not None:
                rows = np.flatnonzero(weights > 0)[0 if n_before else 1 :]  # nothing was known before the first row
                self._errors.add(self._scores(predictions[rows], codes[rows]))
        return predictions

    def _learn_with_arrivals(
        self,
        matrix: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray,
        predictions: np.ndarray | None,
        arrivals: list[int],
    ) -> None:
        """Learn rows, of which some bring new columns: the last ones of the matrix, with the rows `arrivals`."""
        growth, columns = self.growth_, self.columns_
        n_known = len(columns.names) - len(arrivals)
        # Columns of new categories come with their first row, so that it makes no difference in which part that is.
        begins = sorted({0, *arrivals})
        n_there = n_known
        try:
            for begin, end in zip(begins, [*begins[1:], len(matrix)], strict=True):
                n_columns = n_known + sum(row <= begin for row in arrivals)
                self._add_columns(growth, columns, n_there, n_columns)
                n_there, rows = n_columns, slice(begin, end)
                part = np.ascontiguousarray(matrix[rows, :n_there])
                growth.learn(part, codes[rows], weights[rows], None if predictions is None else predictions[rows])
        finally:  # also after an interrupt the tree has all columns
            self._add_columns(growth, columns, n_there, len(columns.names))

    def _read_rows(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[tuple[np.ndarray, Columns, list[int]], np.ndarray, np.ndarray]:
        """Rows as `_read_part` returns them, targets as the loops take them, and weights; all checked."""
        self._refuse_none(y)
        if sample_weight is None and getattr(self, "class_weight", None) is None:
            rows = self._read_part(X, True)
            check_consistent_length(rows[0], y)
            return rows, self._codes(y), np.ones(len(rows[0]))
        check_consistent_length(X, y)
        codes = self._codes(y)
        weights = self._row_weights(codes, read_weights(sample_weight, len(codes)))
        return self._read_part(X, weights > 0), codes, weights  # other rows have no effect

    def _read_part(self, X: Any, learn: bool | np.ndarray) -> tuple[np.ndarray, Columns, list[int]]:
        """Rows as `read_growing_table` returns them, but quicker in the usual case.

        There, scikit-learn's checks take longer than learning a row.
        """
        is_known = hasattr(self, "growth_") if learn is False else self._has_begun
        if is_known:
            is_plain = type(X) is np.ndarray and X.dtype == np.float64 and X.size > 0 and _in_order(X) is X
            if is_plain and X.ndim == 2 and X.shape[1] == self.n_features_in_ == len(self.columns_.names):
                has_names = hasattr(self, "feature_names_in_") or self.columns_.is_category.any() or self.columns_.dates
                with np.errstate(over="ignore", invalid="ignore"):
                    is_finite = np.isfinite(X.sum())
                if not has_names and is_finite:
                    return X, self.columns_, []
        known = self.columns_ if is_known else None
        matrix, columns, arrivals = read_growing_table(
            self, X, categorical_features=self.categorical_features, columns=known, learn=learn
        )
        return _in_order(matrix), columns, arrivals

    @staticmethod
    def _add_columns(growth: GrowingTree, columns: Columns, begin: int, end: int) -> None:
        """Add the encoded columns from `begin` to `end` to the tree."""
        growth.widen(end, growth.n_outputs)
        for at in range(begin, end):
            source = columns.source[at]
            if columns.categories[source] is not None:
                others = np.flatnonzero(columns.source[:at] == source)
                growth.mark_category(at, int(others[0]) if len(others) else None)

    # Properties

    @property
    def _has_begun(self) -> bool:
        """Whether a row has been learned. Rows of weight 0 before it have no effect on the model."""
        return hasattr(self, "growth_") and self.growth_.n_rows > 0

    @property
    def _grown(self) -> GrowingTree:
        """The growing tree or forest, or an error before the first row."""
        check_is_fitted(self, "growth_")
        return self.growth_

    @property
    def _finished(self) -> SoftTree:
        growth = self._grown
        with growth.lock:
            return growth.snapshot()

    @property
    def n_samples_seen_(self) -> int:
        """Rows that have been learned."""
        return self._grown.n_rows

    @property
    def nbytes_(self) -> int:
        """Bytes of the growing tree."""
        return self._grown.nbytes

    @property
    def log_(self) -> list[SplitEvent]:
        """Audit log of the present tree: every split, and every test that was replaced, in order."""
        return list(self._grown.log)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column of X in the decisions, (n_features_in,); adds up to 1."""
        return self.columns_.add_up(self._grown.importances())

    # Predictions

    def _as_fitted(self) -> FittedModel:
        return fitted_stream(self)

    def _matrix(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "growth_")
        return self._read_part(X, learn=False)[0]

    def _read_points(self, X: Any, **conditions: Any) -> tuple[np.ndarray, np.ndarray | None]:
        matrix, widths = super()._read_points(X, **conditions)
        center = self._finished.center
        if center is not None:
            matrix = np.where(np.isnan(matrix), center, matrix)
        return matrix, widths

    def _gradient(self, X: Any, **conditions: Any) -> np.ndarray:
        growth = self._grown
        with growth.lock:
            return growth.input_gradient(super()._read_points(X, **conditions)[0])

    def _outputs(self, X: Any) -> np.ndarray:
        growth = self._grown
        with growth.lock:
            return growth.predict(self._matrix(X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "growth_")


@estimator
class StreamClassifierBase(StreamModel, ClassifierBase):
    """A classifier on a stream.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes, by label. "balanced" gives all classes the same total weight, from the rows of the
        stream so far. None gives every class the weight 1.
    """

    _has_tails: ClassVar[bool] = False

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn rows one after the other."""
        with self._unchanged_by_errors():
            self._read_class_list(classes)
            self._learn(X, y, sample_weight, None)
        return self

    def test_then_train(self, X: Any, y: Any, *, classes: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Learn as `partial_fit` does; returns the class probabilities of each row before it was learned.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities before each row was learned, columns in the order of ``classes_``.
        """
        with self._unchanged_by_errors():
            self._read_class_list(classes)
            predictions = self._learn(X, y, sample_weight, "predictions")
        assert predictions is not None
        return predictions

    def _read_class_list(self, classes: Any) -> None:
        is_first = not hasattr(self, "growth_")
        if classes is None:
            if is_first:
                raise ValueError(
                    f"classes must be given in the first call to partial_fit of {type(self).__name__}: a stream's "
                    "first rows may lack some."
                )
            return
        if not is_first and np.array_equal(classes, self.classes_):  # the usual case, without the other checks
            return
        found, _ = find_classes(read_labels(classes, "classes"), "classes")
        if len(found) == 0:
            raise ValueError("classes must hold at least one label.")
        if is_first:
            self.classes_ = found
            self._class_mass = np.zeros(len(found))
        elif not np.array_equal(found, self.classes_):
            raise ValueError(f"classes is {found!r}, but the calls before this one had {self.classes_!r}.")

    def _reset(self, y: Any) -> None:
        super()._reset(y)
        labels = read_labels(y)
        self.classes_, _ = find_classes(labels)
        check_classification_targets(labels)
        self._class_mass = np.zeros(len(self.classes_))

    def _codes(self, y: Any) -> np.ndarray:
        if hasattr(self, "growth_") and type(y) is np.ndarray and y.ndim == 1 and y.dtype == self.classes_.dtype:
            # Comparing with the known classes is enough of a check.
            labels = y
        else:
            labels = read_labels(y)
        try:
            codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
            unknown = self.classes_[codes] != labels
        except TypeError:  # labels of another type, or of several
            known = set(self.classes_.tolist())
            unknown = np.array([label not in known for label in labels.tolist()])
        if np.any(unknown):
            first = labels[unknown].tolist()[0]
            raise ValueError(
                f"y holds {first!r}, which is none of the classes {self.classes_!r} of the first call to partial_fit."
            )
        return codes.astype(np.int64, copy=False)

    def _n_outputs(self) -> int:
        return len(self.classes_)

    def _row_weights(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        wanted = getattr(self, "class_weight", None)
        if wanted is None:
            return weights
        if isinstance(wanted, dict):
            if not all(is_real(factor) and factor >= 0 for factor in wanted.values()):
                raise parameter_error(self, "class_weight", "a dict of numbers of at least 0", wanted)
            factors = np.array([float(wanted.get(label, 1.0)) for label in self.classes_.tolist()])
            return weights * factors[codes]
        if not isinstance(wanted, str) or wanted != "balanced":
            raise parameter_error(self, "class_weight", "a dict, 'balanced' or None", wanted)
        # By the rows of the stream so far, this one included.
        rows = np.zeros((len(codes), len(self.classes_)))
        rows[np.arange(len(codes)), codes] = weights
        mass = self._class_mass + np.cumsum(rows, axis=0)
        self._class_mass = mass[-1]
        own = mass[np.arange(len(codes)), codes]
        present = (mass > 0).sum(axis=1)
        return np.where(own > 0, weights * mass.sum(axis=1) / (present * np.where(own > 0, own, 1.0)), 0.0)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, columns in the order of ``classes_``."""
        return self._outputs(X)

    def _scores(self, predictions: np.ndarray, codes: np.ndarray) -> np.ndarray:
        return share_scores(predictions, codes)

    def predict_set(self, X: Any, coverage: float = 0.9, *, allow_empty: bool = False, **conditions: Any) -> np.ndarray:
        """Sets of classes that contain the class of a row with this probability; needs `follow_errors`.

        Parameters
        ----------
        coverage : float, default=0.9
            One of the coverages that are followed.
        allow_empty : bool, default=False
            If False, a set contains the most probable class at least.
        **conditions : dict
            No further arguments are taken.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), bool
            Which classes are in the set of each row, columns in the order of ``classes_``. All are, as long as there
            are too few rows.
        """
        _, high = self._followed.bounds(self._followed.place(coverage))
        return as_sets(self._outputs(X, **conditions), high, allow_empty=bool(allow_empty))

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each row."""
        outputs = self._outputs(X)
        return self.classes_[outputs.argmax(axis=1)]


@estimator
class StreamTree(StreamModel):
    """A single tree that learns from a stream.

    Attributes
    ----------
    tree_ : SoftTree
        The tree as it is now.
    """

    @property
    def tree_(self) -> SoftTree:  # type: ignore[override]
        """The tree as it is now, a `SoftTree` of its own."""
        return self._finished


@estimator
class StreamRegressorBase(StreamModel, RegressorBase):
    """A regressor on a stream."""

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn rows one after the other."""
        with self._unchanged_by_errors():
            self._learn(X, y, sample_weight, None)
        return self

    def test_then_train(self, X: Any, y: Any, *, sample_weight: Any = None) -> np.ndarray:
        """Learn as `partial_fit` does; returns the prediction for each row before it was learned.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predictions before each row was learned.
        """
        with self._unchanged_by_errors():
            predictions = self._learn(X, y, sample_weight, "predictions")
        assert predictions is not None
        return predictions[:, 0]

    def _codes(self, y: Any) -> np.ndarray:
        if hasattr(self, "growth_") and type(y) is np.ndarray and y.ndim == 1 and y.dtype == np.float64 and len(y):
            with np.errstate(over="ignore", invalid="ignore"):
                is_finite = np.isfinite(y.sum())
            if is_finite:  # enough of a check
                return _in_order(y)
        refuse_masked(y, "y")
        targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        return _in_order(column_or_1d(targets, warn=True))

    def _scores(self, predictions: np.ndarray, codes: np.ndarray) -> np.ndarray:
        return error_scores(predictions, codes)

    def predict_interval(self, X: Any, coverage: float = 0.9, **conditions: Any) -> np.ndarray:
        """Intervals that contain the target with this probability; needs `follow_errors`.

        Parameters
        ----------
        coverage : float, default=0.9
            One of the coverages that are followed.
        **conditions : dict
            No further arguments are taken.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Lower and upper ends; infinite as long as there are too few rows.
        """
        bounds = self._followed.bounds(self._followed.place(coverage))
        return self._outputs(X, **conditions) + np.array(bounds)

    def _n_outputs(self) -> int:
        return 1

    @property
    def n_outputs_(self) -> int:  # type: ignore[override]
        """Number of targets, which is 1."""
        check_is_fitted(self, "growth_")
        return 1

    def predict(self, X: Any) -> np.ndarray:
        """Predicted target of each row.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted targets.
        """
        return self._outputs(X)[:, 0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags
