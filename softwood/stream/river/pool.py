"""Pools of models for river: of models with different settings, the one with the lowest estimated loss predicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from softwood.core.estimators import documented
from softwood.core.parameters import parameter_error
from softwood.fitted import FittedModel
from softwood.stream.evaluation.measures import LEAST_PROBABILITY
from softwood.stream.pool import LARGEST_ERROR, Turns
from softwood.stream.river.base import base
from softwood.stream.river.classifiers import HoeffdingTreeClassifier
from softwood.stream.river.regressors import HoeffdingTreeRegressor


@documented
class _RiverPool(Turns):
    """What both pools share.

    Parameters
    ----------
    seed : int or None
        Seed of the draws.

    Attributes
    ----------
    best_model : estimator
        The model that predicts: the one with the lowest estimated loss at the last decision.
    losses : list of float
        Estimated losses of the models. They are inf for models that have not learned yet.
    """

    _model_base: type

    def __init__(
        self,
        models: Sequence[Any],
        train_share: float = 0.5,
        window: float = 1000.0,
        period: int = 100,
        seed: int | None = None,
    ) -> None:
        if not isinstance(models, Sequence) or len(models) == 0:
            raise parameter_error(self, "models", "a list of at least one model of river's kind", models)
        for model in models:
            if not isinstance(model, self._model_base):
                raise parameter_error(self, "models", f"a list of {self._model_base.__name__.lower()}s", model)
        self.models, self.train_share, self.window, self.period = models, train_share, window, period
        self.seed = seed
        self._start_turns([model.clone() for model in models], np.random.RandomState(seed))

    @property
    def best_model(self) -> Any:
        """The model that had the lowest estimated loss at the last decision; it predicts."""
        return self._best_model()

    def _as_fitted(self) -> FittedModel:
        return FittedModel.of(self.best_model)

    @property
    def losses(self) -> list[float]:
        """Estimated losses of the models, inf for those that have not learned yet."""
        return self.losses_.tolist()

    def _loss(self, model: Any, x: dict, y: Any) -> float:
        """Loss of a model's prediction for a row."""
        raise NotImplementedError

    def learn_one(self, x: dict, y: Any) -> None:
        """Learn a row by the models whose turn it is.

        Parameters
        ----------
        x : dict
            The features.
        y : hashable or float
            The label or target.
        """
        for k in self._learners.tolist():
            model = self.models_[k]
            loss = self._loss(model, x, y)
            model.learn_one(x, y)
            self._add_losses(k, [loss])
        self._count_rows(1)

    def predict_one(self, x: dict) -> Any:
        """Prediction of the best model.

        Parameters
        ----------
        x : dict
            The features.

        Returns
        -------
        hashable or float
            The predicted label or target.
        """
        return self.best_model.predict_one(x)


@documented
class ModelPoolClassifier(_RiverPool, base.Classifier):
    """A pool of classifiers with different settings, tuned on the stream (Gunasekara et al. 2022).

    Every `period` rows the pool decides which models learn: a half of them, one half of these being the models with the
    lowest estimated loss, the others drawn at random, so that every model keeps its chance. Predictions come from the
    model that had the lowest estimated loss at the last decision. Losses are the cross-entropy of predictions made
    before learning, faded over about `window` rows.

    Parameters
    ----------
    models : sequence of classifiers
        Classifiers for river that predict probabilities. They are cloned.

    Examples
    --------
    >>> from softwood.stream.river import HoeffdingTreeClassifier, ModelPoolClassifier
    >>> pool = ModelPoolClassifier([HoeffdingTreeClassifier(grace_period=n) for n in (50, 200, 800)], seed=0)
    >>> for k in range(500):
    ...     pool.learn_one({"a": k % 7, "b": k % 3}, k % 7 > 3)
    >>> pool.predict_one({"a": 5, "b": 0})
    True
    """

    _model_base = base.Classifier

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {"models": [HoeffdingTreeClassifier(grace_period=n) for n in (20, 100)]}

    @property
    def _multiclass(self) -> bool:
        return all(model._multiclass for model in self.models)

    def _loss(self, model: Any, x: dict, y: Any) -> float:
        return -math.log(max(model.predict_proba_one(x).get(y, 0.0), LEAST_PROBABILITY))

    def predict_proba_one(self, x: dict) -> dict:
        """Probabilities of the best model.

        Parameters
        ----------
        x : dict
            The features.

        Returns
        -------
        dict
            Probabilities of the labels.
        """
        return self.best_model.predict_proba_one(x)


@documented
class ModelPoolRegressor(_RiverPool, base.Regressor):
    """A pool of regressors with different settings, tuned on the stream (Gunasekara et al. 2022).

    Every `period` rows the pool decides which models learn: a half of them, one half of these being the models with the
    lowest estimated loss, the others drawn at random, so that every model keeps its chance. Predictions come from the
    model that had the lowest estimated loss at the last decision. Losses are the squared errors of predictions made
    before learning, faded over about `window` rows.

    Parameters
    ----------
    models : sequence of regressors
        Regressors for river. They are cloned.

    Examples
    --------
    >>> from softwood.stream.river import HoeffdingTreeRegressor, ModelPoolRegressor
    >>> pool = ModelPoolRegressor([HoeffdingTreeRegressor(grace_period=n) for n in (50, 200)], seed=0)
    >>> for k in range(500):
    ...     pool.learn_one({"a": k % 7}, 2.0 * (k % 7))
    >>> round(pool.predict_one({"a": 5}))
    10
    """

    _model_base = base.Regressor

    @classmethod
    def _unit_test_params(cls) -> Any:
        yield {"models": [HoeffdingTreeRegressor(grace_period=n) for n in (20, 100)]}

    def _loss(self, model: Any, x: dict, y: Any) -> float:
        return min(abs(model.predict_one(x) - float(y)), LARGEST_ERROR) ** 2
