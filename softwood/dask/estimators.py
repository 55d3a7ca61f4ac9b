"""The estimators of `softwood.dask`: the local ones, with rows in the parts of a Dask collection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Literal

from distributed import Client
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from softwood.core.compatibility import with_callbacks
from softwood.core.estimators import estimator
from softwood.core.parameters import check_choice, parameter_error
from softwood.dask.chunks import columns_of, is_lazy, read_chunks
from softwood.dask.encoding import Reader, as_given, describe
from softwood.dask.predicting import predict_lazily
from softwood.dask.session import Session
from softwood.dask.source import ClusterSource
from softwood.kernel import boosting, forest, tree
from softwood.kernel.base import KernelModel


@estimator
class _OnCluster:
    """What the estimators share: reading parts of rows on a cluster, lazy predictions, and `to_local`.

    Parameters
    ----------
    growth : {"node", "level"}
        On a cluster only "level" is possible: trees grow level by level from histograms of exact sums. The model
        depends neither on the order of the rows nor on how they are divided among the workers. ``max_depth=None``
        means 12.
    client : distributed.Client or None
        The cluster. None means the current client of this process.

    Attributes
    ----------
    traffic_ : dict
        How often the fit waited for results (``exchanges``), and how many ``bytes`` of results it received.
    """

    growth: Literal["node", "level"] = "level"
    client: Client | None = None

    traffic_: dict[str, int] = field(init=False)

    @with_callbacks
    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model on the cluster.

        Parameters
        ----------
        X : Dask array, Dask frame, or list of futures or delayed parts
            The rows. Text and category columns of frames are categories. Missing values are allowed everywhere.
        y : Dask array, Dask series, or list of futures or delayed parts
            Labels or targets, divided as `X` is. A classifier also takes a matrix of class probabilities; trees and
            forests take a matrix of targets.
        sample_weight : Dask array, Dask series, list of futures or delayed parts, or None, default=None
            Weights of the rows. A weight of 2 has the same effect as repeating the row.

        Returns
        -------
        estimator
            The fitted estimator itself.
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
        """Predictions as of the local estimator: lazy for a Dask array or frame, at once for other tables.

        Parameters
        ----------
        X : Dask array, Dask frame, array-like or data frame
            The rows to predict.
        measurement_error : dict, array-like or None, default=None
            Known errors of the cells of `X`: a dict from columns to numbers or to arrays of shape (n_rows,), or an
            array of shape (n_rows, n_features_in). They replace the `measurement_error` of the constructor in these
            columns.

        Returns
        -------
        Dask array, Dask series or ndarray
            Predicted labels or targets.
        """
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
        """Class probabilities, lazy for a Dask array or frame.

        Parameters
        ----------
        X : Dask array, Dask frame, array-like or data frame
            The rows to predict.
        measurement_error : dict, array-like or None, default=None
            Known errors of the cells of `X`: a dict from columns to numbers or to arrays of shape (n_rows,), or an
            array of shape (n_rows, n_features_in). They replace the `measurement_error` of the constructor in these
            columns.

        Returns
        -------
        Dask array, Dask frame or ndarray of shape (n_rows, n_classes)
            Class probabilities.
        """
        return self._lazy("predict_proba", X, measurement_error)

    def predict_log_proba(self: Any, X: Any, **conditions: Any) -> Any:
        """Logarithms of the class probabilities, lazy for a Dask array or frame.

        Parameters
        ----------
        X : Dask array, Dask frame, array-like or data frame
            The rows to predict.
        **conditions : dict
            Further arguments of `predict`, such as `measurement_error` of kernel models.

        Returns
        -------
        Dask array, Dask frame or ndarray of shape (n_rows, n_classes)
            Logarithms, -inf for a probability of 0.
        """
        return self._lazy("predict_log_proba", X, **conditions)


@estimator
class KernelTreeClassifier(_Probabilities, _OnCluster, tree.KernelTreeClassifier):
    """`softwood.KernelTreeClassifier` on a Dask cluster, with ``growth="level"``."""


@estimator
class KernelTreeRegressor(_OnCluster, tree.KernelTreeRegressor):
    """`softwood.KernelTreeRegressor` on a Dask cluster, with ``growth="level"``."""


@estimator
class KernelForestClassifier(_Probabilities, _OnCluster, forest.KernelForestClassifier):
    """`softwood.KernelForestClassifier` on a Dask cluster, with ``growth="level"``."""


@estimator
class KernelForestRegressor(_OnCluster, forest.KernelForestRegressor):
    """`softwood.KernelForestRegressor` on a Dask cluster, with ``growth="level"``."""


@estimator
class KernelExtraTreesClassifier(_Probabilities, _OnCluster, forest.KernelExtraTreesClassifier):
    """`softwood.KernelExtraTreesClassifier` on a Dask cluster, with ``growth="level"``."""


@estimator
class KernelExtraTreesRegressor(_OnCluster, forest.KernelExtraTreesRegressor):
    """`softwood.KernelExtraTreesRegressor` on a Dask cluster, with ``growth="level"``."""


@estimator
class KernelBoostingClassifier(_Probabilities, _OnCluster, boosting.KernelBoostingClassifier):
    """`softwood.KernelBoostingClassifier` on a Dask cluster, with ``growth="level"``."""

    def decision_function(self, X: Any, measurement_error: Any = None) -> Any:
        """Raw scores, lazy for a Dask array or frame.

        Parameters
        ----------
        X : Dask array, Dask frame, array-like or data frame
            The rows to predict.

        Returns
        -------
        Dask array, Dask frame or ndarray
            Raw scores.
        """
        return self._lazy("decision_function", X, measurement_error)


@estimator
class KernelBoostingRegressor(_OnCluster, boosting.KernelBoostingRegressor):
    """`softwood.KernelBoostingRegressor` on a Dask cluster, with ``growth="level"``."""
