"""Tuning on the stream: a pool of models, of which the one with the lowest estimated loss predicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from softwood.base import read_weights, rows_with_weight
from softwood.core.estimators import documented
from softwood.core.parameters import check_count, check_number, parameter_error
from softwood.fitted import FittedModel
from softwood.stream.base import StreamModel
from softwood.stream.evaluation.measures import LEAST_PROBABILITY

# Larger errors count as this one: their squares are no floats.
LARGEST_ERROR = 1e150


def _is_pool_of_classifiers(pool: ModelPool) -> bool:
    first = _first_model(pool)
    return first is not None and is_classifier(first)


def _first_model(pool: ModelPool) -> StreamModel | None:
    """The first model of the list, None if there is none."""
    if not isinstance(pool.models, Sequence) or len(pool.models) == 0:
        return None
    return pool.models[0] if isinstance(pool.models[0], StreamModel) else None


@documented
class Turns:
    """Which models of a pool learn, by their losses so far.

    Parameters
    ----------
    train_share : float
        Part of the pool that learns a row: at least two models, the best one and another.
    window : float
        Number of rows after which a loss has faded to about a third.
    period : int
        Number of rows between two decisions.

    Attributes
    ----------
    models_ : list of estimators
        The models of the pool.
    losses_ : ndarray of shape (n_models,)
        Estimated losses. They are inf for models that have not learned yet.
    n_trained_ : ndarray of shape (n_models,)
        Number of rows that each model has learned.
    """

    models: Sequence[Any]
    train_share: float
    window: float
    period: int

    def _start_turns(self, models: list[Any], state: np.random.RandomState) -> None:
        check_number(self, "train_share", self.train_share, low=0, open_low=True, high=1)
        check_number(self, "window", self.window, low=1)
        check_count(self, "period", self.period)
        self.models_ = models
        self.losses_ = np.full(len(models), np.inf)
        self.n_trained_ = np.zeros(len(models), dtype=np.int64)
        self._state = state
        self._n_in_period = 0
        self._choose()

    def _choose(self) -> None:
        """Choose the models that learn the next period.

        Half of them are those with the lowest losses, the best first, and the others are drawn.
        """
        n = len(self.models_)
        n_train = max(min(2, n), round(self.train_share * n))
        order = np.argsort(self.losses_, kind="stable")
        best = order[: (n_train + 1) // 2]
        others = self._state.permutation(order[(n_train + 1) // 2 :])
        # Models that have not learned at all come before others, so that all are known soon.
        others = others[np.argsort(self.n_trained_[others] > 0, kind="stable")]
        self._learners = np.concatenate([best, others[: n_train - len(best)]])

    def _add_losses(self, k: int, row_losses: Iterable[float]) -> None:
        """Add the losses of rows that model `k` has learned."""
        loss, n, least = self.losses_[k], int(self.n_trained_[k]), 1.0 / self.window
        for row_loss in row_losses:
            # A plain mean at first, so that the first row does not count for long.
            part = max(least, 1.0 / (n + 1))
            loss = row_loss if n == 0 else (1.0 - part) * loss + part * row_loss
            n += 1
        self.losses_[k], self.n_trained_[k] = loss, n

    def _count_rows(self, n_rows: int) -> None:
        """Count rows of a period, which ends with the last of them at the latest; then choose the next learners."""
        self._n_in_period += n_rows
        if self._n_in_period == self.period:
            self._n_in_period = 0
            self._choose()

    def _best_model(self) -> Any:
        """The model that had the lowest estimated loss at the last decision."""
        return self.models_[self._learners[0]]


@documented
class ModelPool(Turns, BaseEstimator):
    """A pool of stream models with different settings, tuned on the stream (Gunasekara et al. 2022).

    Every `period` rows the pool decides which models learn: a half of them, one half of these being the models with the
    lowest estimated loss, the others drawn at random, so that every model keeps its chance. Predictions come
    from the model that had the lowest estimated loss at the last decision. Losses (cross-entropy, or squared error) are
    those of predictions made before learning, faded over about `window` rows.

    Parameters
    ----------
    models : sequence of estimators
        Stream models of this package, all classifiers or all regressors. They are cloned.
    random_state : int, RandomState instance or None
        Seed of the draws.

    Attributes
    ----------
    best_model_ : estimator
        The model that predicts: the one with the lowest estimated loss at the last decision.
    nbytes_ : int
        Memory of all growing models in bytes.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted. Only of classifiers.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of `X`. Only if `X` is a data frame whose column names are all strings.

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

    Examples
    --------
    >>> from softwood.stream import SEA, HoeffdingTreeClassifier, ModelPool
    >>> X, y = SEA(seed=0).take(3_000)
    >>> grid = {"grace_period": [50, 200], "leaf_prediction": ["mc", "nba"]}
    >>> pool = ModelPool.from_grid(HoeffdingTreeClassifier(), grid)
    >>> pool.partial_fit(X, y, classes=[0, 1]).score(X, y) > 0.9
    True
    >>> pool.best_model_.get_params()["grace_period"] in (50, 200)
    True
    """

    def __init__(
        self,
        models: Sequence[Any],
        *,
        train_share: float = 0.5,
        window: float = 1000.0,
        period: int = 100,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.models = models
        self.train_share = train_share
        self.window = window
        self.period = period
        self.random_state = random_state

    @classmethod
    def from_grid(
        cls, model: Any, grid: Mapping | Sequence[Mapping], *, n_models: int | None = None, random_state: Any = 0,
        **options: Any,
    ) -> Self:  # fmt: skip
        """A pool of one model with all settings of a grid, or with `n_models` of them drawn at random.

        Parameters
        ----------
        model : estimator
            The model whose parameters are set.
        grid : dict or sequence of dict
            Values of parameters, as scikit-learn's `ParameterGrid` takes them.
        n_models : int or None, default=None
            Number of settings to draw without repetition. None uses all.
        random_state : int, RandomState instance or None, default=0
            Seed of the draws, here and in the pool.
        **options : dict
            Other parameters of the pool.

        Returns
        -------
        ModelPool
            The pool, which has learned nothing yet.
        """
        settings = list(ParameterGrid(grid))
        if n_models is not None and n_models < len(settings):
            drawn = check_random_state(random_state).choice(len(settings), n_models, replace=False)
            settings = [settings[k] for k in np.sort(drawn)]
        models = [clone(model).set_params(**setting) for setting in settings]
        return cls(models, random_state=random_state, **options)

    # Learning

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn rows one after the other; see the models for the parameters."""
        self._learn_all(X, y, classes, sample_weight)
        return self

    def test_then_train(self, X: Any, y: Any, *, classes: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Learn rows; returns the pool's prediction for each before it was learned, as the models do.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Predicted targets or class probabilities before each row was learned.
        """
        return self._learn_all(X, y, classes, sample_weight)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, and learn all rows once, in their order."""
        before = dict(self.__dict__)
        self.__dict__.pop("models_", None)
        try:
            self._start()
            first = clone(self.models[0])
            X, y, sample_weight, _ = rows_with_weight(X, y, sample_weight)
            first._reset(y)
            self._learn(X, y, getattr(first, "classes_", None), sample_weight)
        except Exception:
            self.__dict__ = before
            raise
        return self

    def _learn_all(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> np.ndarray:
        """Learn, from the first row or from where the stream has come to; nothing has changed if a check fails."""
        before = dict(self.__dict__)
        try:
            if not hasattr(self, "models_"):
                self._start()
            return self._learn(X, y, classes, sample_weight)
        except Exception:
            self.__dict__ = before
            raise

    def _start(self) -> None:
        if not isinstance(self.models, Sequence) or len(self.models) == 0:
            raise parameter_error(self, "models", "a list of at least one stream model", self.models)
        kinds = {isinstance(model, StreamModel) and is_classifier(model) for model in self.models}
        if len(kinds) > 1 or not all(isinstance(model, StreamModel) for model in self.models):
            raise parameter_error(self, "models", "stream models, all classifiers or all regressors", self.models)
        for model in self.models:
            model._new_growth(1, 2, 0)  # an error now if a parameter is wrong, rather than in mid-stream
        state = check_random_state(self.random_state)
        if not isinstance(self.random_state, int | np.integer):
            # Its own draws: others may draw from the same generator.
            state = np.random.RandomState(state.randint(np.iinfo(np.int32).max))
        self._classes: np.ndarray | None = None
        self._start_turns([clone(model) for model in self.models], state)

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> np.ndarray:
        self._check_rows(X, y, classes, sample_weight)
        if not hasattr(X, "iloc") and not hasattr(X, "get_column"):
            X = np.asarray(X)
        y = column_or_1d(np.asarray(y))
        weights = read_weights(sample_weight, len(y))
        parts = []
        begin = 0
        while begin < len(y):
            end = min(len(y), begin + self.period - self._n_in_period)
            rows = slice(begin, end)
            part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
            parts.append(self._learn_part(part, y[rows], weights[rows]))
            self._count_rows(end - begin)
            begin = end
        return np.concatenate(parts)

    def _check_rows(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        """All rows before the first is learned: models read them period by period, and some later than others."""
        is_first = not any(hasattr(model, "growth_") for model in self.models_)
        # before the first row each model may want another thing; later all have the same columns and classes
        checked = [clone(model) for model in self.models_] if is_first else [self.best_model_]
        for model in checked:
            if is_classifier(model):
                model._read_class_list(classes)
                self._classes = model.classes_
            _, codes, weights = model._read_rows(X, y, sample_weight)
            if is_first:
                model._row_weights(codes, weights)

    def _learn_part(self, X: Any, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Rows of one period; returns the predictions of the model that was best before."""
        first: np.ndarray | None = None
        for k in self._learners:
            model = self.models_[k]
            known = {} if self._classes is None or hasattr(model, "growth_") else {"classes": self._classes}
            prediction = model.test_then_train(X, y, sample_weight=weights, **known)
            first = prediction if first is None else first
            self._add_losses(k, self._row_losses(model, prediction, y)[weights > 0].tolist())
        assert first is not None
        return first

    @staticmethod
    def _row_losses(model: Any, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
        if prediction.ndim == 1:
            return np.minimum(np.abs(prediction - y), LARGEST_ERROR) ** 2
        codes = np.searchsorted(model.classes_, y)
        return -np.log(np.maximum(prediction[np.arange(len(y)), codes], LEAST_PROBABILITY))

    # Answers

    @property
    def best_model_(self) -> Any:
        """The model that had the lowest estimated loss at the last decision."""
        check_is_fitted(self, "models_")
        return self._best_model()

    def _as_fitted(self) -> FittedModel:
        return FittedModel.of(self.best_model_)

    @property
    def classes_(self) -> np.ndarray:
        """Class labels."""
        return self.best_model_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return self.best_model_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns, if they have names."""
        return self.best_model_.feature_names_in_

    @property
    def nbytes_(self) -> int:
        """Bytes of all growing trees."""
        check_is_fitted(self, "models_")
        return sum(model.nbytes_ for model in self.models_ if hasattr(model, "growth_"))

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the best model.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted labels or targets.
        """
        return self.best_model_.predict(X)

    @available_if(_is_pool_of_classifiers)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of the best model.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Class probabilities, columns in the order of ``classes_``.
        """
        return self.best_model_.predict_proba(X)

    @available_if(_is_pool_of_classifiers)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the class probabilities of the best model; -inf for 0.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Logarithms, -inf for a probability of 0.
        """
        return self.best_model_.predict_log_proba(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, or R², of the best model.

        Returns
        -------
        float
            The score; 1 is the best.
        """
        return self.best_model_.score(X, y, sample_weight)

    def __sklearn_tags__(self) -> Tags:
        first = _first_model(self)
        return super().__sklearn_tags__() if first is None else get_tags(first)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "models_")
