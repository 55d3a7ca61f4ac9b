"""Classifiers for river."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.core.estimators import documented
from softwood.core.tables import is_missing_value
from softwood.stream.following import as_sets, share_scores
from softwood.stream.forest import StreamForestClassifier as _StreamForestClassifier
from softwood.stream.hoeffding import HoeffdingTreeClassifier as _HoeffdingTreeClassifier
from softwood.stream.river.base import RiverModel, base, like
from softwood.stream.smooth_step import SmoothStepTreeClassifier as _SmoothStepTreeClassifier
from softwood.stream.soft_hoeffding import SoftHoeffdingTreeClassifier as _SoftHoeffdingTreeClassifier

if TYPE_CHECKING:
    import pandas as pd


@documented
class _RiverClassifier(RiverModel, base.MiniBatchClassifier):
    """A classifier with river's methods."""

    _has_tails = False

    def _set_up(self) -> None:
        super()._set_up()
        self._codes: dict[Hashable, int] = {}

    @property
    def _multiclass(self) -> bool:
        return True

    def _scores(self, predictions: np.ndarray, codes: np.ndarray) -> np.ndarray:
        return share_scores(predictions, codes.astype(np.int64))

    def predict_set_one(self, x: dict, coverage: float = 0.9, *, allow_empty: bool = False) -> set:
        """Labels that contain that of a row with this probability; needs `follow_errors`.

        Parameters
        ----------
        coverage : float, default=0.9
            One of the coverages that are followed.
        allow_empty : bool, default=False
            If False, the set contains the most probable label at least.

        Returns
        -------
        set
            Labels seen so far. All of them as long as there are too few rows, and none before the first.
        """
        with self._lock:
            _, high = self._followed.bounds(self._followed.place(coverage))
            shares = self.predict_proba_one(x)
        found = as_sets(np.array([list(shares.values())]), high, allow_empty=allow_empty)[0]
        return {label for label, is_in in zip(shares, found.tolist(), strict=True) if is_in}

    def learn_one(self, x: dict, y: Any, w: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        y : hashable
            The label.
        w : float, default=1.0
            Weight of the row.
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
        """Probabilities of the labels seen so far; empty before the first.

        Returns
        -------
        dict
            Probabilities of the labels seen so far. Empty before the first.
        """
        with self._lock:
            if self._growth is None:
                return {}
            return dict(zip(self._codes, self._outputs_of(x), strict=True))

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = None) -> None:
        """Learn the rows of a frame, as `learn_one` does one after the other.

        Parameters
        ----------
        y : pandas.Series
            The labels.
        w : array-like of shape (n_rows,) or None, default=None
            Weights of the rows.
        """
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
            matrix = None if end == begin or self._growth is None else self._places.read_numbers(X.iloc[begin:end])
            if matrix is None:
                end = max(end, begin + 1)
                for i, x in enumerate(X.iloc[begin:end].to_dict(orient="records"), begin):
                    self.learn_one(x, labels[i], weights[i])
            else:
                codes = np.array([self._codes[label] for label in labels[begin:end]], dtype=np.int64)
                self._learn_block(matrix, codes, weights[begin:end])
            begin = end

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Probabilities of the labels seen so far, a column for each.

        Returns
        -------
        pandas.DataFrame
            A column for each label seen so far.
        """
        import pandas as pd

        with self._lock:
            if self._growth is None:
                return pd.DataFrame(index=X.index)
            labels = pd.Index(self._codes, dtype="object")
            return pd.DataFrame(self._outputs_of_many(X), index=X.index, columns=labels)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Most probable label of each row.

        Returns
        -------
        pandas.Series
            The labels.
        """
        import pandas as pd

        with self._lock:
            if self._growth is None:
                return pd.Series([None] * len(X), index=X.index, dtype="object")
            labels = list(self._codes)
            return pd.Series([labels[k] for k in self._outputs_of_many(X).argmax(axis=1)], index=X.index)


HoeffdingTreeClassifier = like(_HoeffdingTreeClassifier, _RiverClassifier)
SmoothStepTreeClassifier = like(_SmoothStepTreeClassifier, _RiverClassifier)
SoftHoeffdingTreeClassifier = like(_SoftHoeffdingTreeClassifier, _RiverClassifier)
StreamForestClassifier = like(_StreamForestClassifier, _RiverClassifier)
