"""The estimators of `softwood.dask`: the local ones, with rows in the parts of a Dask collection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

from sklearn.base import clone
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from softwood.core.parameters import check_choice, parameter_error
from softwood.dask.chunks import columns_of, is_lazy, read_chunks
from softwood.dask.predicting import predict_lazily
from softwood.dask.reading import Reader, as_given, describe
from softwood.dask.session import Session
from softwood.dask.source import ClusterSource
from softwood.kernel import boosting, forest, tree
from softwood.kernel.base import KernelModel

__all__ = [
    "KernelBoostingClassifier",
    "KernelBoostingRegressor",
    "KernelExtraTreesClassifier",
    "KernelExtraTreesRegressor",
    "KernelForestClassifier",
    "KernelForestRegressor",
    "KernelTreeClassifier",
    "KernelTreeRegressor",
]

_DOCUMENTATION = """

    The parameters are the same, and `client`.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client of this process.

    Attributes
    ----------
    traffic_ : dict
        How often the fit waited for results (``exchanges``), and how many ``bytes`` of results it received.
    """

Class = TypeVar("Class", bound=type)


@dataclass_transform(kw_only_default=True)
def _estimator(own: Class) -> Class:
    """A class with the constructor of its parameters, and the documentation that all of them share."""
    own.__doc__ = f"{own.__doc__}{_DOCUMENTATION}"
    decorate: Any = dataclass(kw_only=True, eq=False, repr=False)
    return decorate(own)


@dataclass(kw_only=True, eq=False, repr=False)
class _OnCluster:
    """What the estimators share: reading parts of rows on a cluster, lazy predictions, and `to_local`."""

    growth: str = "level"
    client: Any = None

    @with_callbacks
    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model on the cluster.

        Parameters
        ----------
        X : Dask array, Dask frame, or list of futures or delayed parts, (n_rows, n_features_in)
            Text and category columns of frames are categories; missing values are allowed everywhere.
        y : the same, (n_rows,) labels or targets, divided as `X` is
            A classifier also takes a matrix of class probabilities; trees and forests take a matrix of targets.
        sample_weight : the same, (n_rows,) weights
            A weight of 2 has the same effect as repeating the row.
        """
        with self._fitting(X, y, sample_weight) as fit:
            fit.worker._grow(fit, X, y, sample_weight)
        return self

    def _check_kernel_parameters(self: Any) -> None:
        if self.growth != "level":
            raise parameter_error(self, "growth", "'level' on a cluster", self.growth)
        super()._check_kernel_parameters()  # type: ignore[misc]

    @contextmanager
    def _read_parts(
        self: Any, X: Any, y: Any, sample_weight: Any, earlier: dict[str, Any] | None = None
    ) -> Iterator[ClusterSource]:
        """The rows on the cluster, once their columns and classes are known."""
        check_choice(self, "dates", self.dates, ("parts", "days", "error"))
        chunks = read_chunks(X, y, sample_weight, type(self).__name__, self.dates)
        with Session(self.client) as session:
            reader = self._local()
            found = ClusterSource(session, chunks, as_given).summary("read", describe, reader)
            if found.n_rows == 0 and sample_weight is not None:
                raise ValueError("sample_weight is zero for all rows; at least one must be above zero.")
            if found.n_rows == 0:
                raise ValueError("Found 0 rows in all parts of X while a minimum of 1 is required.")
            self._learn_columns(found, earlier or {})
            self._copy_results(reader)
            yield ClusterSource(session, chunks, Reader(reader, found.classes is not None and found.n_targets > 0))
            self.traffic_ = {"exchanges": session.n_exchanges, "bytes": session.n_bytes}

    def _learn_columns(self: Any, found: Any, earlier: dict[str, Any]) -> None:
        """Set the attributes that reading a whole table sets; `earlier` as in the local estimators."""
        self.__dict__.update({k: earlier[k] for k in ("n_features_in_", "feature_names_in_") if k in earlier})
        self.columns_ = columns_of(self, found.names, found.categories, earlier.get("columns_"))
        if found.classes is None:
            self.n_outputs_, self._is_flat_ = max(1, found.n_targets), found.n_targets == 0
        else:
            self.classes_ = found.classes
        if earlier:
            self._refuse_other_targets(earlier)

    def _local(self: Any) -> Any:
        """A local estimator with the same parameters."""
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        local = next(c for c in type(self).__mro__ if issubclass(c, KernelModel) and not issubclass(c, _OnCluster))
        return local(**parameters)

    def _copy_results(self: Any, other: Any) -> None:
        for name, value in vars(self).items():
            if name.endswith("_") and name != "traffic_":
                setattr(other, name, value)

    def to_local(self: Any) -> Any:
        """The fitted model as an ordinary estimator of softwood, with all its methods."""
        check_is_fitted(self)
        local = self._local()
        self._copy_results(local)
        return local

    def _lazy(self: Any, method: str, X: Any, measurement_error: Any = None) -> Any:
        local = self.to_local()
        further = {} if measurement_error is None else {"measurement_error": measurement_error}
        return predict_lazily(local, method, X, **further) if is_lazy(X) else getattr(local, method)(X, **further)

    def predict(self: Any, X: Any, measurement_error: Any = None) -> Any:
        """Predictions as of the local estimator: lazy for a Dask array or frame, at once for other tables."""
        return self._lazy("predict", X, measurement_error)

    def __sklearn_clone__(self: Any) -> Any:
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")  # a connection, which cannot be copied
        return type(self)(**{name: clone(value, safe=False) for name, value in parameters.items()}, client=client)

    def __getstate__(self: Any) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**state, "client": None}


class _Probabilities:
    """Methods of classifiers."""

    def predict_proba(self: Any, X: Any, measurement_error: Any = None) -> Any:
        """Class probabilities, lazy for a Dask array or frame."""
        return self._lazy("predict_proba", X, measurement_error)

    def predict_log_proba(self: Any, X: Any, **conditions: Any) -> Any:
        """Logarithms of the class probabilities, lazy for a Dask array or frame."""
        return self._lazy("predict_log_proba", X, **conditions)


@_estimator
class KernelTreeClassifier(_Probabilities, _OnCluster, tree.KernelTreeClassifier):
    """`softwood.KernelTreeClassifier` on a Dask cluster, with ``growth="level"``."""


@_estimator
class KernelTreeRegressor(_OnCluster, tree.KernelTreeRegressor):
    """`softwood.KernelTreeRegressor` on a Dask cluster, with ``growth="level"``."""


@_estimator
class KernelForestClassifier(_Probabilities, _OnCluster, forest.KernelForestClassifier):
    """`softwood.KernelForestClassifier` on a Dask cluster, with ``growth="level"``."""


@_estimator
class KernelForestRegressor(_OnCluster, forest.KernelForestRegressor):
    """`softwood.KernelForestRegressor` on a Dask cluster, with ``growth="level"``."""


@_estimator
class KernelExtraTreesClassifier(_Probabilities, _OnCluster, forest.KernelExtraTreesClassifier):
    """`softwood.KernelExtraTreesClassifier` on a Dask cluster, with ``growth="level"``."""


@_estimator
class KernelExtraTreesRegressor(_OnCluster, forest.KernelExtraTreesRegressor):
    """`softwood.KernelExtraTreesRegressor` on a Dask cluster, with ``growth="level"``."""


@_estimator
class KernelBoostingClassifier(_Probabilities, _OnCluster, boosting.KernelBoostingClassifier):
    """`softwood.KernelBoostingClassifier` on a Dask cluster, with ``growth="level"``."""

    def decision_function(self, X: Any, measurement_error: Any = None) -> Any:
        """Raw scores, lazy for a Dask array or frame."""
        return self._lazy("decision_function", X, measurement_error)


@_estimator
class KernelBoostingRegressor(_OnCluster, boosting.KernelBoostingRegressor):
    """`softwood.KernelBoostingRegressor` on a Dask cluster, with ``growth="level"``."""
