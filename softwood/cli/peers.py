"""Models of scikit-learn for tables with text, dates and missing cells."""

from __future__ import annotations

from typing import Any

import sklearn.ensemble
import sklearn.tree
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline, make_pipeline

from softwood.core.encoding import read_table

PEER_CLASSES = {
    "sklearn-tree": (sklearn.tree, "DecisionTree"),
    "sklearn-forest": (sklearn.ensemble, "RandomForest"),
    "sklearn-boosting": (sklearn.ensemble, "HistGradientBoosting"),
}


class TableEncoder(TransformerMixin, BaseEstimator):
    """Columns of numbers as softwood's models have them, with zeros and ones for categories."""

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn categories and parts of dates."""
        _, self.columns_ = read_table(self, X, reset=True, dates="parts")
        return self

    def transform(self, X: Any) -> Any:
        """The matrix, nan where missing."""
        return read_table(self, X, reset=False, columns=self.columns_)[0]


def make_peer(name: str, task: str, seed: int) -> Pipeline:
    """A model of scikit-learn with its defaults."""
    module, family = PEER_CLASSES[name]
    side = "Classifier" if task == "classification" else "Regressor"
    return make_pipeline(TableEncoder(), getattr(module, family + side)(random_state=seed))
