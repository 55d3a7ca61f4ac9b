"""The budget of measurement errors: what the error of each column costs, and which sensor to improve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length

from softwood.base import read_weights
from softwood.core.extras import require
from softwood.core.parameters import check_choice, check_integer, parameter_error
from softwood.core.targets import read_classes
from softwood.kernel.base import KernelModel
from softwood.kernel.data.kernels import Kernel
from softwood.kernel.data.measurement_errors import read_errors

_OWNER = "error_budget"
_SMALLEST_PROBABILITY = 1e-15
# Variances of the error, in units of the present one, at which the loss of measured rows is simulated.
_LARGER = (1.5, 2.0, 2.5, 3.0)
# Factors on the error of a column: without it, and halved.
_FACTORS = np.array([0.0, 0.5])

RowLosses = Callable[[np.ndarray, "np.ndarray | None"], np.ndarray]


@dataclass(frozen=True, eq=False, repr=False)
class ErrorBudget:
    """What the measurement error of each column costs; `error_budget` makes it.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns with measurement errors.
    errors : ndarray of shape (n_columns,)
        Mean half-width of the error of each column, in the units of the column.
    cost : ndarray of shape (n_columns,)
        By how much the mean loss would fall if the column had no measurement error.
    cost_error : ndarray of shape (n_columns,)
        Standard error of `cost`, of the rows and of the simulation together.
    gain : ndarray of shape (n_columns,)
        By how much the mean loss would fall if the measurement error of the column were half as large.
    gain_error : ndarray of shape (n_columns,)
        Standard error of `gain`.
    loss : float
        Mean loss with all errors.
    loss_without_errors : float
        Mean loss if no column had a measurement error.
    loss_name : str
        Name of the loss.
    """

    columns: tuple[str, ...]
    errors: np.ndarray
    cost: np.ndarray
    cost_error: np.ndarray
    gain: np.ndarray
    gain_error: np.ndarray
    loss: float
    loss_without_errors: float
    loss_name: str

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each column, the one that gains most by a halved error first.

        Returns
        -------
        DataFrame
            ``error``, ``cost``, ``cost_error``, ``gain`` and ``gain_error``; the index has the names of the columns.
        """
        pandas = require("pandas", None, "A table as a data frame")
        names = ("error", "cost", "cost_error", "gain", "gain_error")
        values = (self.errors, self.cost, self.cost_error, self.gain, self.gain_error)
        frame = pandas.DataFrame(dict(zip(names, values, strict=True)), index=list(self.columns))
        return frame.iloc[self.order]

    @property
    def order(self) -> np.ndarray:
        """Numbers of the columns, the one that gains most by a halved error first."""
        return np.argsort(-self.gain, kind="stable")

    def __str__(self) -> str:
        width = max(len("column"), *map(len, self.columns))
        lines = [
            f"{self.loss_name}: {self.loss:.4g} with the measurement errors, {self.loss_without_errors:.4g} without",
            f"{'column':{width}s} {'error':>10s} {'cost':>10s} {'±':>8s} {'halved':>10s} {'±':>8s}",
        ]
        lines += [
            f"{self.columns[j]:{width}s} {self.errors[j]:10.4g} {self.cost[j]:10.4g} {self.cost_error[j]:8.2g} "
            f"{self.gain[j]:10.4g} {self.gain_error[j]:8.2g}"
            for j in self.order
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        best = self.columns[int(self.order[0])]
        return f"<ErrorBudget of {len(self.columns)} columns, a halved error gains most in {best!r}>"


def error_budget(
    model: Any,
    X: Any,
    y: Any,
    *,
    measurement_error: Any = None,
    sample_weight: Any = None,
    loss: Literal["auto", "squared_error", "absolute_error", "log_loss", "zero_one"] | Callable = "auto",
    rows: Literal["accurate", "measured"] = "accurate",
    n_repeats: int = 10,
    random_state: Any = 0,
) -> ErrorBudget:
    """What the measurement error of each column costs, and what halving it would gain: which sensor to improve.

    Readings are simulated, and the model predicts them with the errors they have. The cost of a column is the mean loss
    with all errors less that without the error of this column. The gain is the same for an error half as large.

    Parameters
    ----------
    model : fitted kernel tree, forest, extra trees or boosting
        The model that predicts. It is not fitted again: a model fitted to better readings could gain more. Of a
        pipeline, pass the last step and the rows that it gets, with errors in their units.
    X : array-like or data frame of shape (n_rows, n_features_in)
        Rows that the model has not been fitted to.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        Their labels or targets. For classifiers also class probabilities.
    measurement_error : dict, array-like or None, default=None
        Errors of the columns or of single cells, as in `predict`; they replace those of the constructor in these
        columns. Functions are those of the values in `X`.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        Weights of the rows. They count in all means.
    loss : {"auto", "squared_error", "absolute_error", "log_loss", "zero_one"} or callable, default="auto"
        Loss of a row. "auto" is the loss that a boosting regressor minimises (of counts, half the Poisson deviance up
        to a constant), and "squared_error" for all others: of a classifier, the sum over the classes of the squared
        differences of probabilities, the Brier score. Also "absolute_error" for regressors, "log_loss" and "zero_one"
        (the part of wrong labels) for classifiers, or a function of `y` and the predictions, targets or class
        probabilities, that returns a loss for each row.
    rows : {"accurate", "measured"}, default="accurate"
        What the values in `X` are. "accurate": values without errors, from which readings are simulated. "measured":
        readings that already have the errors. The loss is then simulated for larger errors of each column, and a
        parabola in the variance of the error, through the present loss, is extrapolated to the smaller ones.
    n_repeats : int, default=10
        Number of simulated readings of each row.
    random_state : int, RandomState or None, default=0
        Seed of the simulation.

    Returns
    -------
    ErrorBudget
        A table of the columns that have errors.

    Notes
    -----
    A model with ``prediction_kernel=None`` predicts without the errors of the constructor, here too.

    "measured" extrapolates, so its results vary more. It is as good as "accurate" while the error of a column is small
    beside the spread of its values and to steps of the target, and only a rough guide otherwise. With "accurate" for
    values that have errors, costs are those of doing the measurement twice, which is about the same if the errors are
    small.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import KernelForestRegressor
    >>> from softwood.explanations import error_budget
    >>> X = np.random.default_rng(0).uniform(size=(400, 3))
    >>> y = X[:, 0] + 4 * X[:, 1]
    >>> model = KernelForestRegressor(20, measurement_error=[0.2, 0.2, 0.2], random_state=0).fit(X[:200], y[:200])
    >>> budget = error_budget(model, X[200:], y[200:])
    >>> budget.to_frame().index[0]
    'x[1]'
    """
    if not isinstance(model, KernelModel):
        hint = ""
        if hasattr(model, "steps"):
            hint = " Of a pipeline, pass its last step, and rows and errors in the units of the columns that it gets."
        elif hasattr(model, "best_estimator_"):
            hint = " Pass its best_estimator_."
        raise TypeError(
            f"error_budget takes a fitted kernel tree, kernel forest, kernel extra trees or kernel boosting, whose "
            f"predict takes measurement errors. Got {model!r}.{hint}"
        )
    check_choice(_OWNER, "rows", rows, ("accurate", "measured"))
    check_integer(_OWNER, "n_repeats", n_repeats, low=1)
    matrix = model._matrix(X)
    weights = read_weights(sample_weight, len(matrix))
    check_consistent_length(matrix, np.asarray(y), weights)
    if not weights.sum() > 0:
        raise ValueError("sample_weight must leave a row with a weight above 0.")
    simulated = _Simulation.of(model, matrix, measurement_error, _row_losses(model, loss, y), weights)
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=int(n_repeats))
    measure = simulated.from_accurate if rows == "accurate" else simulated.from_measured
    base, without, falls = measure(seeds.tolist())
    total = weights.sum()
    means = np.tensordot(falls, weights, axes=(2, 0)) / total  # (n_columns, 2)
    spread = falls - means[:, :, None]
    deviations = np.sqrt(np.tensordot(spread**2, weights**2, axes=(2, 0))) / total
    columns = model.columns_
    return ErrorBudget(
        tuple(columns.inputs[columns.source[k]] for k in simulated.errors),
        np.array([weights @ error / total for error in simulated.errors.values()]),
        means[:, 0], deviations[:, 0], means[:, 1], deviations[:, 1],
        float(base @ weights / total), float(without @ weights / total),
        _name_of(model, loss),
    )  # fmt: skip


@dataclass(frozen=True)
class _Simulation:
    """Losses of simulated readings.

    Attributes
    ----------
    matrix : (n, p) encoded rows
    errors : half-widths (n,) by column of the matrix, of the columns that have errors
    is_informed : whether the model predicts with the errors
    losses : loss of each row, of rows and half-widths of their cells
    """

    model: KernelModel
    matrix: np.ndarray
    errors: dict[int, np.ndarray]
    is_informed: bool
    losses: RowLosses

    @classmethod
    def of(
        cls, model: KernelModel, matrix: np.ndarray, given: Any, losses: RowLosses, weights: np.ndarray
    ) -> _Simulation:
        """Read the errors of the constructor, replaced by those given."""
        kernels = model._prediction_kernels_
        stored = model.measurement_error if kernels.is_crisp else kernels.measurement_error
        errors = {
            **read_errors(model, stored, model.columns_, matrix),
            **read_errors(model, given, model.columns_, matrix),
        }
        known = {k: np.where(np.isnan(matrix[:, k]), 0.0, error) for k, error in sorted(errors.items())}
        known = {k: error for k, error in known.items() if np.any(error * weights > 0)}
        if not known:
            expected = "above 0 for a column of X, here or in the constructor"
            raise parameter_error(_OWNER, "measurement_error", expected, given)
        is_informed = given is not None or not kernels.is_crisp
        return cls(model, matrix, known, is_informed, losses)

    def from_accurate(self, seeds: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Losses (n,) with all errors and with none, and by how much less they are with `_FACTORS` on each column.

        The last array is (n_columns, 2, n_rows).
        """
        n, k = len(self.matrix), len(self.errors)
        base, falls = np.zeros(n), np.zeros((k, len(_FACTORS), n))
        for seed in seeds:
            noise = self._noise(seed)
            now = self._loss(np.ones(k), noise, np.ones(k))
            base += now / len(seeds)
            for j in range(k):
                for level, factor in enumerate(_FACTORS):
                    factors = np.where(np.arange(k) == j, factor, 1.0)
                    falls[j, level] += (now - self._loss(factors, noise, factors)) / len(seeds)
        return base, self._loss(np.zeros(k), None, np.zeros(k)), falls

    def from_measured(self, seeds: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `from_accurate`, extrapolated from larger errors, of each column alone and of all together."""
        n, k = len(self.matrix), len(self.errors)
        base = self._loss(np.ones(k), None, np.zeros(k))
        rises = np.zeros((k + 1, len(_LARGER), n))
        chosen = np.vstack([np.eye(k, dtype=bool), np.ones(k, dtype=bool)])
        for seed in seeds:
            noise = self._noise(seed)
            for j, which in enumerate(chosen):
                for level, variance in enumerate(_LARGER):
                    errors, added = np.where(which, np.sqrt(variance), 1.0), np.where(which, np.sqrt(variance - 1), 0.0)
                    rises[j, level] += (self._loss(errors, noise, added) - base) / len(seeds)
        falls = -np.einsum("fl,jln->jfn", _extrapolation(), rises)
        return base, base - falls[-1, 0], falls[:-1]

    def _loss(self, errors: np.ndarray, noise: np.ndarray | None, added: np.ndarray) -> np.ndarray:
        """Losses with these factors on the columns' errors, of rows to which the noise with other factors is added."""
        matrix, spec = self.matrix, None
        if noise is not None and np.any(added):
            matrix = matrix.copy()
            for j, (k, error) in enumerate(self.errors.items()):
                matrix[:, k] += added[j] * error * noise[j]
        if self.is_informed:
            source = self.model.columns_.source
            keys = self.model.columns_.keys or range(len(self.model.columns_.inputs))
            spec = {
                keys[source[k]]: factor * error for (k, error), factor in zip(self.errors.items(), errors, strict=True)
            }
        return self.losses(matrix, self.model._cell_widths(matrix, spec))

    def _noise(self, seed: int) -> np.ndarray:
        """Differences of readings from true values, in half-widths, (n_columns, n_rows)."""
        rng = np.random.default_rng(seed)
        kernels = self.model._prediction_kernels_.kernels
        return np.array([-_draw(kernels[k], rng.random(len(self.matrix))) for k in self.errors])


def _draw(kernel: Kernel, uniform: np.ndarray) -> np.ndarray:
    """True values minus their reading, in half-widths, at these values of the kernel's distribution function."""
    return np.interp(uniform, kernel.cdf, kernel.edges)


def _extrapolation() -> np.ndarray:
    """Weights of the losses at `_LARGER` for the loss at `_FACTORS`, all less the present loss: a least-squares fit."""
    away, wanted = np.array(_LARGER) - 1.0, _FACTORS**2 - 1.0
    return np.column_stack([wanted, wanted**2]) @ np.linalg.pinv(np.column_stack([away, away**2]))


def _name_of(model: KernelModel, loss: Any) -> str:
    """The name of a loss: what "auto" means, and the names of functions."""
    if callable(loss):
        return getattr(loss, "__name__", type(loss).__name__)
    if loss == "auto":
        loss = "squared_error" if is_classifier(model) else getattr(model, "loss", "squared_error")
    return "Brier score" if loss == "squared_error" and is_classifier(model) else loss


def _row_losses(model: KernelModel, loss: Any, y: Any) -> RowLosses:
    """The loss of each row, as a function of encoded rows and half-widths of their cells."""
    for_classes, for_reals = ("squared_error", "log_loss", "zero_one"), ("squared_error", "absolute_error")
    if callable(loss):
        targets = np.asarray(y)
        return lambda matrix, widths: _checked(loss(targets, _predicted(model, matrix, widths)), len(targets))
    check_choice(_OWNER, "loss", loss, ("auto", *(for_classes if is_classifier(model) else for_reals)))
    if is_classifier(model):
        shares = read_classes(y, model.classes_, "The 'y' parameter of error_budget").matrix()
        if loss == "log_loss":
            return lambda matrix, widths: (
                -(shares * np.log(np.maximum(model._predict_matrix(matrix, widths), _SMALLEST_PROBABILITY))).sum(axis=1)
            )
        if loss == "zero_one":
            return lambda matrix, widths: (
                1.0 - shares[np.arange(len(shares)), model._predict_matrix(matrix, widths).argmax(axis=1)]
            )
        return lambda matrix, widths: ((model._predict_matrix(matrix, widths) - shares) ** 2).sum(axis=1)
    reals = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y").reshape(len(np.asarray(y)), -1)
    own, name = getattr(model, "_loss_", None), getattr(model, "loss", "squared_error")
    if loss == "auto":
        loss = name
    if own is not None and loss not in for_reals:
        own.check_targets(reals[:, 0])
        return lambda matrix, widths: own.row_losses(reals[:, 0], model._finished.predict(matrix, widths=widths))

    def differences(matrix: np.ndarray, widths: np.ndarray | None) -> np.ndarray:
        predicted = model._predict_matrix(matrix, widths).reshape(len(reals), -1)
        if predicted.shape != reals.shape:
            expected = f"of shape ({len(reals)}, {predicted.shape[1]}), as the predictions, with loss={loss!r}"
            raise parameter_error(_OWNER, "y", expected, f"an array of shape {reals.shape}")
        return predicted - reals

    if loss == "absolute_error":
        return lambda matrix, widths: np.abs(differences(matrix, widths)).sum(axis=1)
    return lambda matrix, widths: (differences(matrix, widths) ** 2).sum(axis=1)


def _predicted(model: KernelModel, matrix: np.ndarray, widths: np.ndarray | None) -> np.ndarray:
    """Predictions in the shape in which users get them."""
    found = model._predict_matrix(matrix, widths)
    return found[:, 0] if found.ndim == 2 and getattr(model, "_is_flat_", False) and found.shape[1] == 1 else found


def _checked(losses: Any, n: int) -> np.ndarray:
    array = np.asarray(losses, dtype=np.float64)
    if array.shape != (n,):
        raise parameter_error(_OWNER, "loss", f"a function that returns a loss for each of {n} rows", array.shape)
    return array
