"""Base of the estimators of gradient-trained trees: training data, missing values, validation rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from softwood.base import BatchEstimator, Fit, as_counts
from softwood.core.compatibility import with_callbacks
from softwood.core.estimators import estimator
from softwood.core.parameters import check_number, checked, parameter
from softwood.core.targets import ClassTargets, RealTargets, read_classes, read_reals
from softwood.gradient.data import (
    LearningSet,
    Scaling,
    divide_rows,
    link_of,
    merge_rows,
    outputs_of,
    together,
    with_all_classes,
    with_mean_1,
)
from softwood.uncertainty.held_out import HeldOut


@dataclass(frozen=True)
class Training:
    """The data that a tree is trained on.

    Attributes
    ----------
    train, validation : training rows and validation rows
    link : see `softwood.gradient.loops.soft_split`
    scaling : of the inputs
    targets : the targets of all training data
    mass, validation_mass : total weights of both, before scaling to mean 1; a single row that is in both counts only
        in the first
    n_rows : number of the rows of `everything`, where a weight of 2 counts as two; see `as_counts`
    is_given : whether the user gave the validation rows; if not, they are a part of the training rows
    class_factors : (n_classes,) weights of the classes; None if there are none
    seed : seed of all random numbers of the training
    """

    train: LearningSet
    validation: LearningSet
    link: int
    scaling: Scaling
    targets: ClassTargets | RealTargets
    mass: float
    validation_mass: float
    n_rows: float
    is_given: bool
    class_factors: np.ndarray | None
    seed: int

    @property
    def is_class(self) -> bool:
        """Whether the targets are classes."""
        return isinstance(self.targets, ClassTargets)

    def parts(self) -> tuple[LearningSet, LearningSet]:
        """Training rows and validation rows, with a target for each class."""
        return with_all_classes(self.train, self.link), with_all_classes(self.validation, self.link)

    @property
    def has_parts(self) -> bool:
        """Whether the validation rows are a part of the user's training data."""
        return not self.is_given and self.validation_mass > 0.0

    def all_rows(self) -> LearningSet:
        """All rows of the user's training data."""
        if not self.has_parts:
            return self.train
        return together(self.train, self.validation, self.mass, self.validation_mass)

    def everything(self) -> LearningSet:
        """All rows of the user's training data, with a target for each class."""
        return with_all_classes(self.all_rows(), self.link)

    def mean_of_parts(self, train_loss: float, validation_loss: float) -> float:
        """Mean loss over training and validation rows, from the means over each."""
        total = self.mass + self.validation_mass
        return (self.mass * train_loss + self.validation_mass * validation_loss) / total

    @property
    def total_mass(self) -> float:
        """Weight of `everything`."""
        return self.mass if self.is_given else self.mass + self.validation_mass


@estimator
class GradientModel(BatchEstimator):
    """An estimator whose tree is trained on standardised inputs, with rows set aside to validate.

    In training and in prediction, a missing value counts as the mean of its column, so it does not affect any gate.
    """

    _scaling_: Scaling = field(init=False)

    def _read_learning_data(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        X_val: Any,
        y_val: Any,
        sample_weight_val: Any,
        fraction: float,
        earlier: dict[str, Any],
    ) -> Training:
        """Training and validation rows: those given, or a part of the training rows."""
        matrix, targets, weights, class_factors = self._read_merged(X, y, sample_weight, earlier)
        n_rows = float(as_counts(weights).sum())
        given = self._read_validation_rows(X_val, y_val, sample_weight_val)
        outputs = outputs_of(targets)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        rng = np.random.default_rng([seed, 0])
        if given is None:
            labels = None if isinstance(targets, RealTargets) else _labels(outputs)
            (rows, weights), (held_out, validation_weights) = divide_rows(weights, labels, fraction, rng)
            validation_mass = float(validation_weights.sum())
            if len(held_out) == 0:  # a single row
                held_out, validation_weights = rows, weights
            validation = matrix[held_out], outputs[held_out], validation_weights
        else:
            rows = rng.permutation(len(matrix))
            weights = weights[rows]
            validation = self._with_outputs(*given, y_val, targets, rng)
            validation_mass = float(validation[2].sum())
        scaling = Scaling.of(matrix[rows], weights)
        self._scaling_ = scaling
        return Training(
            train=_learning_set(matrix[rows], outputs[rows], weights, scaling),
            validation=_learning_set(*validation, scaling),
            link=link_of(targets),
            scaling=scaling,
            targets=targets,
            mass=float(weights.sum()),
            validation_mass=validation_mass,
            n_rows=n_rows,
            is_given=given is not None,
            class_factors=class_factors,
            seed=seed,
        )

    def _read_merged(
        self, X: Any, y: Any, sample_weight: Any, earlier: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, ClassTargets | RealTargets, np.ndarray, np.ndarray | None]:
        """Encoded matrix, targets, weights and those of the classes, equal rows as one.

        `earlier` as in `_read_training_data`. The weights of the classes are factors of those of the rows, or None.

        All sums over rows are computed after merging, so that a weight and repeated rows give the same rounding.
        """
        matrix, targets, weights, kept = self._read_training_data(X, y, sample_weight, earlier)
        reals = _plain_reals(y)[kept] if isinstance(targets, RealTargets) else None
        rows, weights = merge_rows(matrix, targets.matrix() if reals is None else reals, weights)
        matrix = matrix[rows]
        targets = targets.take(rows) if reals is None else read_reals(reals[rows], weights)
        factors, by_class = self._class_weights(targets, weights), None
        weights = weights * factors
        counts = np.flatnonzero(weights > 0)
        if len(counts) == 0:
            raise ValueError("class_weight is zero for all classes of y.")
        if isinstance(factors, np.ndarray) and isinstance(targets, ClassTargets):
            by_class = np.zeros(len(targets.classes))
            by_class[targets.labels] = factors
        return matrix[counts], targets.take(counts), weights[counts], by_class

    def _keep_held_out(
        self,
        rows: LearningSet,
        predictions: np.ndarray,
        n_rows: float,
        targets: ClassTargets | RealTargets,
        class_factors: np.ndarray | None,
    ) -> None:
        """Keep predictions of rows by models that did not learn from them, for intervals and sets.

        Parameters
        ----------
        rows : standardised, with a target for each class
        predictions : in the user's units
        n_rows : how many rows they stand for, with the weights of their classes
        """
        weights = rows.weights * (n_rows / rows.weights.sum())
        if class_factors is not None:
            factors = class_factors[rows.targets.argmax(axis=1)]
            weights = np.divide(weights, factors, out=np.zeros_like(weights), where=factors > 0)
        truth = targets.in_units(rows.targets)
        found = HeldOut.of(self._scaling_.restore(rows.points), predictions, truth, weights)
        if found is not None:
            self._held_out_ = found

    def _with_outputs(
        self,
        matrix: np.ndarray,
        weights: np.ndarray,
        y: Any,
        targets: ClassTargets | RealTargets,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows given to validate on: encoded matrix, outputs and weights; equal rows as one, shuffled."""
        given: ClassTargets | RealTargets
        if isinstance(targets, RealTargets):
            reals = read_reals(y, np.ones(len(matrix)))
            if reals.scaled.shape[1] != targets.scaled.shape[1]:
                raise ValueError(f"y_val has {reals.scaled.shape[1]} targets, but y has {targets.scaled.shape[1]}.")
            scaled = _plain_reals(y) / targets.scale - targets.mean / targets.scale
            given = RealTargets(scaled, targets.mean, targets.scale, targets.is_flat)
        else:
            given = read_classes(y, targets.classes, "y_val")
        outputs = outputs_of(given)
        rows, weights = merge_rows(matrix, outputs, weights)
        weights = weights * self._class_weights(given.take(rows), weights)
        counts = rng.permutation(np.flatnonzero(weights > 0))
        if len(counts) == 0:
            raise ValueError("sample_weight_val and class_weight leave no row of X_val with a weight above zero.")
        rows = rows[counts]
        return matrix[rows], outputs[rows], weights[counts]

    def _matrix(self, X: Any) -> np.ndarray:
        matrix = super()._matrix(X)
        return self._scaling_.fill(matrix)

    def _fill_values(self) -> np.ndarray:
        return np.array(self._scaling_.center, dtype=np.float64)

    def _gradient(self, X: Any, **conditions: Any) -> np.ndarray:
        gradient = super()._gradient(X, **conditions)
        return np.where(np.isnan(super()._matrix(X))[:, None, :], 0.0, gradient)


@estimator
class ValidatedTree(GradientModel):
    """An estimator of one tree that is trained on some rows and validated on others.

    Parameters
    ----------
    validation_fraction : float
        Fraction of the rows set aside for validation, unless validation rows are passed to `fit`.

    Attributes
    ----------
    tree_ : SoftTree
        The fitted tree.
    n_iter_ : int
        Number of training steps, over all stages.
    """

    validation_fraction: float = parameter(0.25, check_number, low=0.0, open_low=True, high=0.9)

    history_: list[dict[str, Any]] = field(init=False)

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Train the tree.

        If the training is interrupted, the best tree so far is kept.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            The rows. Text and category columns of frames are categories. A missing value counts as the column's mean.
        X_val : array-like, data frame or None, default=None
            Validation rows, in place of a part of `X`. Gates and values are not trained on them.
        y_val : array-like or None, default=None
            Labels or targets of the validation rows.
        sample_weight_val : array-like or None, default=None
            Weights of the validation rows.
        """
        with self._fitting(X, y, sample_weight) as fit:
            rules = checked(self)
            data = fit.worker._read_learning_data(
                X, y, sample_weight, X_val, y_val, sample_weight_val, rules.validation_fraction,
                self._continued(fit.earlier, rules),
            )  # fmt: skip
            fit.worker._train(fit, data, rules)
        return self

    def _keep_validation(self, data: Training, predictions: np.ndarray) -> None:
        """Keep predictions of the validation rows by a tree that was not trained on them, for intervals and sets."""
        if data.validation_mass:  # 0 if there is a single row, which is in both parts
            n_rows = data.validation_mass * data.n_rows / data.total_mass
            self._keep_held_out(data.parts()[1], predictions, n_rows, data.targets, data.class_factors)

    def _continued(self, earlier: dict[str, Any], rules: Self) -> dict[str, Any]:
        """Results of the previous fit if this fit continues it (warm start); empty otherwise."""
        return {}

    @property
    def n_iter_(self) -> int:
        """Number of steps of the training, of all stages together; see ``history_``."""
        return sum({record["stage"]: record["iteration"] for record in self.history_}.values())

    def _train(self, fit: Fit, data: Training, rules: Self) -> None:
        """Train with `rules`, the checked parameters, and keep the results, also if the training is interrupted."""
        raise NotImplementedError


def _plain_reals(y: Any) -> np.ndarray:
    """Real targets in the user's units, already checked, (n, n_targets)."""
    values = np.asarray(y, dtype=np.float64)
    return values.reshape(len(values), -1)


def _labels(outputs: np.ndarray) -> np.ndarray:
    """The most probable class of each row, from the outputs of the loops."""
    return (outputs[:, 0] > 0.5).astype(np.int64) if outputs.shape[1] == 1 else outputs.argmax(axis=1)


def _learning_set(matrix: np.ndarray, outputs: np.ndarray, weights: np.ndarray, scaling: Scaling) -> LearningSet:
    points = np.ascontiguousarray(scaling.standardise(matrix))
    return LearningSet(points, np.ascontiguousarray(outputs), with_mean_1(weights))
