"""A data set as a long stream, in which one class after the other is frequent."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.core.columns import column_titles, find_column
from softwood.core.parameters import check_count, check_number, parameter_error
from softwood.core.tables import is_missing_value
from softwood.stream.generators.base import Stream, numbered_names

# a column of whole numbers that takes no more values than this is left alone by the noise
_FEW_VALUES = 20


class OversampledClasses(Stream):
    """Rows of a data set drawn with replacement, one class far more often than the others, another after each drift.

    The stream is cut into ``n_drifts + 1`` contexts of equal length. In each of them one class, drawn at random but
    never the one before, has the share `share`; the rest are rows of all other classes, as frequent as they are.

    With `noise`, numbers are jittered, so that a row seldom comes twice. This is a stand-in for the generative model
    (CTGAN) by which the paper on soft Hoeffding trees (section 5) makes streams of a million samples: it keeps the
    dependence between columns, but invents nothing that is not next to a row of the data.

    Parameters
    ----------
    X : array-like or data frame of shape (n_rows, n_features)
        Numbers, nan where missing.
    y : array-like of shape (n_rows,)
        Labels of at least two classes.
    n_drifts : int, default=10
        Number of drifts.
    share : float, default=0.75
        Probability of the frequent class, in [0, 1].
    n_samples : int, default=1000000
        Length of the stream.
    noise : float, default=0.0
        Standard deviation of the jitter, in standard deviations of the column.
    categorical_features : "auto", array-like of bool, int or str, or None, default="auto"
        Columns that get no jitter: a mask, numbers or names. "auto" selects columns of at most 20 different whole
        numbers. None selects no columns.
    seed : int or None, default=None
        Seed of the random numbers.

    Attributes
    ----------
    contexts : ndarray of shape (n_drifts + 1,)
        Code of the frequent class in each context.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.stream.generators import OversampledClasses
    >>> X, y = np.arange(9.0).reshape(-1, 1), np.array(["a", "b", "c"] * 3)
    >>> stream = OversampledClasses(X, y, n_drifts=1, n_samples=2000, seed=0)
    >>> stream.classes[stream.contexts].tolist()
    ['c', 'a']
    >>> for _, codes in stream.blocks(2000, block_size=1000):
    ...     print(np.bincount(codes))
    [118 112 770]
    [731 134 135]
    """

    n_samples: int
    _unprinted = ("X", "y")

    def __init__(
        self,
        X: Any,
        y: Any,
        n_drifts: int = 10,
        share: float = 0.75,
        n_samples: int = 1_000_000,
        noise: float = 0.0,
        categorical_features: Any = "auto",
        seed: int | None = None,
    ) -> None:
        self.X = X
        self.y = y
        self.n_drifts = n_drifts
        self.share = share
        self.n_samples = n_samples
        self.noise = noise
        self.categorical_features = categorical_features
        self.seed = seed
        check_count(self, "n_drifts", n_drifts, low=0)
        check_number(self, "share", share, low=0, high=1)
        check_count(self, "n_samples", n_samples)
        check_number(self, "noise", noise, low=0)
        self._read_rows()
        self._read_classes()
        self._jittered, self._scale = self._read_noise()
        self._open(4)

    def _read_rows(self) -> None:
        try:
            rows = np.ascontiguousarray(self.X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise parameter_error(self, "X", "a table of numbers", type(self.X).__name__) from error
        if rows.ndim != 2 or rows.size == 0:
            raise parameter_error(self, "X", "of shape (n_rows, n_features), with at least one of both", rows.shape)
        if np.isinf(rows).any():
            raise parameter_error(self, "X", "finite, or nan where a value is missing", np.inf)
        self._rows = rows
        self.n_features = rows.shape[1]
        names = getattr(self.X, "columns", None)
        self.feature_names = numbered_names(self.n_features) if names is None else tuple(str(name) for name in names)

    def _read_classes(self) -> None:
        labels = np.asarray(self.y)
        if labels.shape != self._rows.shape[:1]:
            raise parameter_error(self, "y", f"of shape {self._rows.shape[:1]}, as many as rows of X", labels.shape)
        if labels.dtype.kind in "fcO" and any(is_missing_value(label) for label in labels):
            raise parameter_error(self, "y", "without missing values", "a missing value")
        self.classes, self._codes = np.unique(labels, return_inverse=True)
        if len(self.classes) < 2:
            raise parameter_error(self, "y", "of at least two classes", self.classes.tolist())
        # rows in order of their classes: those of class c are self._by_class[starts[c] : starts[c] + counts[c]]
        self._by_class = np.argsort(self._codes, kind="stable")
        self._counts = np.bincount(self._codes)
        self._starts = np.cumsum(self._counts) - self._counts

    def _read_noise(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns with jitter, and its standard deviation in each."""
        left_alone = self._mask_of_categories()
        columns = [self._rows[~np.isnan(self._rows[:, j]), j] for j in range(self.n_features)]
        scale = np.array([self.noise * column.std() if column.size else 0.0 for column in columns])
        jittered = np.flatnonzero(~left_alone & (scale > 0))
        return jittered, scale[jittered]

    def _mask_of_categories(self) -> np.ndarray:
        wanted = self.categorical_features
        if wanted is None:
            return np.zeros(self.n_features, dtype=bool)
        if isinstance(wanted, str) and wanted == "auto":
            return np.array([_is_few_whole_numbers(column) for column in self._rows.T], dtype=bool)
        expected = "'auto', None, or columns by name, number or mask"
        if isinstance(wanted, str) or not np.iterable(wanted):
            raise parameter_error(self, "categorical_features", expected, wanted)
        mask = np.asarray(wanted)
        if mask.dtype == bool:
            if mask.shape != (self.n_features,):
                raise parameter_error(self, "categorical_features", f"a mask of shape ({self.n_features},)", mask.shape)
            return mask
        keys = column_titles(self.X)[1] if hasattr(self.X, "columns") else None
        mask = np.zeros(self.n_features, dtype=bool)
        for column in wanted:
            mask[find_column(self, "categorical_features", column, self.feature_names, keys)] = True
        return mask

    def _rewind(self) -> None:
        # a class is drawn by its distance from the one before, which is never 0
        n_classes = len(self.classes)
        units = self._generators[0].random(self.n_drifts + 1)
        distances = 1 + np.floor(units * (n_classes - 1)).astype(np.int64)
        distances[0] = np.floor(units[0] * n_classes)
        self.contexts = np.cumsum(distances) % n_classes

    def _make(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        _, sides, picks, jitter = self._generators
        times = np.arange(self._position, self._position + n)
        frequent = self.contexts[times * (self.n_drifts + 1) // self.n_samples]
        counts, starts = self._counts[frequent], self._starts[frequent]
        is_frequent = sides.random(n) < self.share
        # the other rows are numbered as if those of the frequent class were not there
        place = (picks.random(n) * np.where(is_frequent, counts, len(self._by_class) - counts)).astype(np.int64)
        place += np.where(is_frequent, starts, np.where(place >= starts, counts, 0))
        drawn = self._by_class[place]
        X = np.take(self._rows, drawn, axis=0)
        if len(self._jittered) > 0:
            noise = jitter.standard_normal((n, len(self._jittered)))
            noise *= self._scale
            if len(self._jittered) == self.n_features:
                X += noise  # far faster than by column
            else:
                X[:, self._jittered] += noise
        return X, self._codes[drawn].astype(np.int64, copy=False)


def _is_few_whole_numbers(column: np.ndarray) -> bool:
    values = np.unique(column[~np.isnan(column)])
    return bool(len(values) <= _FEW_VALUES and (values == np.floor(values)).all())
