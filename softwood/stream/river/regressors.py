"""Regressors for river."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.core.estimators import documented
from softwood.stream.following import error_scores
from softwood.stream.forest import StreamForestRegressor as _StreamForestRegressor
from softwood.stream.hoeffding import HoeffdingTreeRegressor as _HoeffdingTreeRegressor
from softwood.stream.river.base import RiverModel, base, like
from softwood.stream.smooth_step import SmoothStepTreeRegressor as _SmoothStepTreeRegressor
from softwood.stream.soft_hoeffding import SoftHoeffdingTreeRegressor as _SoftHoeffdingTreeRegressor

if TYPE_CHECKING:
    import pandas as pd


@documented
class _RiverRegressor(RiverModel, base.MiniBatchRegressor):
    """A regressor with river's methods."""

    def _scores(self, predictions: np.ndarray, codes: np.ndarray) -> np.ndarray:
        return error_scores(predictions, codes)

    def predict_interval_one(self, x: dict, coverage: float = 0.9) -> tuple[float, float]:
        """Interval that contains the target with this probability; needs `follow_errors`.

        Parameters
        ----------
        coverage : float, default=0.9
            One of the coverages that are followed.

        Returns
        -------
        tuple of float
            Lower and upper end; infinite as long as there are too few rows.
        """
        with self._lock:
            low, high = self._followed.bounds(self._followed.place(coverage))
            center = self.predict_one(x)
        return center + low, center + high

    def predict_interval_many(self, X: pd.DataFrame, coverage: float = 0.9) -> np.ndarray:
        """Intervals of the rows of a frame, as `predict_interval_one`.

        Parameters
        ----------
        coverage : float, default=0.9
            One of the coverages that are followed.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Lower and upper ends.
        """
        bounds = self._followed.bounds(self._followed.place(coverage))
        return self.predict_many(X).to_numpy()[:, None] + np.array(bounds)

    def learn_one(self, x: dict, y: float, w: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        y : float
            The target.
        w : float, default=1.0
            Weight of the row.
        """
        target = float(y)
        if not np.isfinite(target):
            raise ValueError(f"y must be a finite number, got {y!r}.")
        self._learn_row(x, target, w, 1)

    def predict_one(self, x: dict) -> float:
        """Predicted target; 0 before the first row.

        Returns
        -------
        float
            The predicted target.
        """
        with self._lock:
            return 0.0 if self._growth is None else self._outputs_of(x)[0]

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: Any = None) -> None:
        """Learn the rows of a frame, as `learn_one` does one after the other.

        Parameters
        ----------
        y : pandas.Series
            The targets.
        w : array-like of shape (n_rows,) or None, default=None
            Weights of the rows.
        """
        targets = np.array(y, dtype=np.float64)
        if not np.all(np.isfinite(targets)):
            raise ValueError("y must hold finite numbers.")
        weights = self._check_block(X, targets, w)
        with self._lock:
            matrix = None if self._growth is None else self._places.read_numbers(X)
            if matrix is None:
                for i, x in enumerate(X.to_dict(orient="records")):
                    self.learn_one(x, targets[i], weights[i])
            else:
                self._learn_block(matrix, targets, weights)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predicted target of each row.

        Returns
        -------
        pandas.Series
            The predicted targets.
        """
        import pandas as pd

        if self._growth is None:
            return pd.Series(np.zeros(len(X)), index=X.index)
        return pd.Series(self._outputs_of_many(X)[:, 0], index=X.index)


HoeffdingTreeRegressor = like(_HoeffdingTreeRegressor, _RiverRegressor)
SmoothStepTreeRegressor = like(_SmoothStepTreeRegressor, _RiverRegressor)
SoftHoeffdingTreeRegressor = like(_SoftHoeffdingTreeRegressor, _RiverRegressor)
StreamForestRegressor = like(_StreamForestRegressor, _RiverRegressor)
