"""Estimators that only read tables."""

from sklearn.base import BaseEstimator

from softwood.core.encoding import read_table
from softwood.stream.encoding import read_growing_table


class Reader(BaseEstimator):
    """An estimator that only reads its table."""

    def __init__(self, categorical_features="from_dtype", handle_unknown="missing"):
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown

    def learn(self, X):
        matrix, self.columns_ = read_table(self, X, reset=True, **self.get_params())
        return matrix

    def read(self, X):
        return read_table(self, X, reset=False, columns=self.columns_)[0]


class GrowingReader(BaseEstimator):
    """An estimator that only reads a stream of tables."""

    def __init__(self, categorical_features="from_dtype"):
        self.categorical_features = categorical_features

    def read(self, X, learn=True):
        matrix, columns, self.arrivals = read_growing_table(
            self,
            X,
            categorical_features=self.categorical_features,
            columns=getattr(self, "columns_", None),
            learn=learn,
        )
        if learn:
            self.columns_ = columns
        return matrix
