"""Loan applications, accepted by rules that change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from softwood.compiled.stream import fill_applications
from softwood.core.parameters import check_count, check_flag, check_integer, check_number, parameter_error
from softwood.stream.generators.base import Stream

_N_FUNCTIONS = 10


class Agrawal(Stream):
    """Loan applications of nine features, in two classes by one of ten functions.

    Equal in distribution to ``Agrawal`` of river, with its numbers of the functions and its ways: a perturbed house
    value falls to 0, or rises to ``100 000 * (9 - zipcode)`` where it is below; perturbed commissions end at 75 000.

    Parameters
    ----------
    function : int, default=0
        Number of the function, in [0, 9]; with drift, of the first one.
    perturbation : float, default=0.0
        Numbers are moved by up to this share of their ranges once the class is known, in [0, 1].
    balanced : bool, default=False
        Whether classes alternate, 1 first. Rare classes then take time: samples are drawn until the class is right.
    drift_every : int or None, default=None
        Number of samples after which the next function comes, and after the last one the first. None means no drift.
    functions : sequence of int or None, default=None
        The functions one after the other, in place of all ten from `function` on. Needs `drift_every`.
    drift_width : int or None, default=None
        Number of samples that a change takes, in [1, drift_every]. None means a jump. Sample ``t`` (from 0 on) near a
        change at ``p`` comes from the new function with probability ``1 / (1 + exp(-4 (t + 1/2 - p) / width))``, as in
        ``ConceptDriftStream`` of river.
    seed : int or None, default=None
        Seed of the random numbers.

    References
    ----------
    Agrawal, Imielinski and Swami, "Database mining: a performance perspective", IEEE Transactions on Knowledge and
    Data Engineering 5(6), 1993.

    Examples
    --------
    >>> from softwood.stream.generators import Agrawal
    >>> stream = Agrawal(functions=(0, 2), drift_every=500, seed=0)
    >>> stream.feature_names
    ('salary', 'commission', 'age', 'elevel', 'car', 'zipcode', 'hvalue', 'hyears', 'loan')
    >>> X, y = stream.take(1000)
    >>> age = X[:, 2]
    >>> rule = (age < 40) | (age >= 60)
    >>> bool((rule[:500] == y[:500]).all()), bool((rule[500:] == y[500:]).all())
    (True, False)
    """

    def __init__(
        self,
        function: int = 0,
        perturbation: float = 0.0,
        balanced: bool = False,
        drift_every: int | None = None,
        functions: Sequence[int] | None = None,
        drift_width: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.function = function
        self.perturbation = perturbation
        self.balanced = balanced
        self.drift_every = drift_every
        self.functions = functions
        self.drift_width = drift_width
        self.seed = seed
        check_count(self, "function", function, low=0, high=_N_FUNCTIONS - 1)
        check_number(self, "perturbation", perturbation, low=0, high=1)
        check_flag(self, "balanced", balanced)
        check_integer(self, "drift_every", drift_every, low=1, or_none=True)
        self._sequence = self._check_drifts()
        self.n_features = 9
        self.feature_names = ("salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan")
        self.classes = np.arange(2)
        self._open(2)

    def _check_drifts(self) -> np.ndarray:
        """The functions one after the other, (n_functions,) int64."""
        if self.drift_every is None:
            for name in ("functions", "drift_width"):
                if getattr(self, name) is not None:
                    raise parameter_error(self, name, "None where 'drift_every' is None", getattr(self, name))
            return np.array([self.function], dtype=np.int64)
        check_integer(self, "drift_width", self.drift_width, low=1, high=self.drift_every, or_none=True)
        if self.functions is None:
            return (self.function + np.arange(_N_FUNCTIONS)) % _N_FUNCTIONS
        if not np.iterable(self.functions) or len(self.functions) == 0:
            raise parameter_error(self, "functions", "a sequence of ints in the range [0, 9], or None", self.functions)
        return np.array([check_count(self, "functions", f, low=0, high=_N_FUNCTIONS - 1) for f in self.functions])

    def _rewind(self) -> None:
        self._row_seed = self._generators[0].integers(2**64, dtype=np.uint64)

    def _make(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        X = np.empty((n, 9))
        y = np.empty(n, dtype=np.int64)
        functions = self._sequence[self._concepts(n) % len(self._sequence)]
        perturbation, balanced = float(self.perturbation), bool(self.balanced)
        fill_applications(X, y, functions, perturbation, balanced, self._row_seed, self._position)
        return X, y

    def _concepts(self, n: int) -> np.ndarray:
        """How many changes each of the next samples has behind it, (n,) int64."""
        if self.drift_every is None:
            return np.zeros(n, dtype=np.int64)
        times = np.arange(self._position, self._position + n)
        if self.drift_width is None:
            return times // self.drift_every
        nearest = (2 * times + 1 + self.drift_every) // (2 * self.drift_every)
        chance = expit(4 * (times + 0.5 - nearest * self.drift_every) / self.drift_width)
        is_new = self._generators[1].random(n) < chance
        return np.maximum(nearest - 1 + is_new, 0)
