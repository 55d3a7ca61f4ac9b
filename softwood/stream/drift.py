"""Drift detectors: they get the values of a stream one by one, such as the errors of a model, and report changes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np

from softwood.compiled import stream as compiled
from softwood.core.arrays import is_within, require_array
from softwood.core.estimators import documented
from softwood.core.parameters import check_choice, check_count, check_number
from softwood.stream.loops import drift as loops
from softwood.stream.loops.drift import DRIFT, LAST, N_ALARMS, N_DDM, N_PAGE_HINKLEY, WARNING

# Larger values count as this one: squares of their sums are still floats.
LARGEST = 1e100
# Above sums of squares of any values.
LARGEST_SUM = 1e250
# Far above any number of values, far below where floats are no longer whole.
LARGEST_COUNT = 2.0**50
MODES = {"up": loops.UP, "down": loops.DOWN, "both": loops.BOTH}


@documented
class DriftDetector:
    """What all detectors share; use `ADWIN`, `PageHinkley` or `DDM`.

    A detector restarts with the first value after an alarm, as river's do: on the same values and with the same
    parameters, alarms come at the same values as those of river's detectors of the same names.

    Attributes
    ----------
    drift_detected : bool
        Whether the last value gave an alarm.
    n_detections : int
        Number of alarms so far.
    """

    _update: ClassVar[Callable[[np.ndarray, float], int]]
    _scan: ClassVar[Callable[[np.ndarray, np.ndarray, np.ndarray], None]]
    _state: np.ndarray
    _n_settings: ClassVar[int]

    def _first_state(self) -> np.ndarray:
        """The vector of a detector that has seen nothing; checks the parameters."""
        raise NotImplementedError

    def reset(self) -> None:
        """Forget all values and alarms."""
        self._state = self._first_state()

    def restore(self, state: np.ndarray) -> None:
        """Continue from the state of a detector with the same parameters; raise a ValueError if it is not one.

        Parameters
        ----------
        state : ndarray
            State of a detector with the same parameters.
        """
        first = self._first_state()
        require_array("state", state, np.float64, first.shape)
        if not np.array_equal(state[2 : self._n_settings], first[2 : self._n_settings]):
            raise ValueError("The state of a detector does not fit its parameters.")
        if not self._is_right(state):
            raise ValueError("The state of a detector is damaged.")
        self._state = state

    def _is_right(self, state: np.ndarray) -> bool:
        """Whether the loops can go on with this state."""
        known = state[self._n_settings :]
        # The lowest sum is infinite before the first value.
        are_sums = np.all((known > -np.inf) & ((known < LARGEST_SUM) | (known == np.inf)))
        return bool(are_sums) and state[LAST] in (0.0, 1.0, 2.0) and _are_counts(state[N_ALARMS], known[0])

    def get_params(self) -> dict[str, Any]:
        """Parameters by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def clone(self) -> Self:
        """A detector with the same parameters that has seen nothing."""
        return type(self)(**self.get_params())

    # Learning

    def update(self, x: float) -> None:
        """Add the next value, a finite number.

        Parameters
        ----------
        x : float
            The value, a finite number.
        """
        type(self)._update(self._state, self._read(x))

    def update_many(self, values: Any) -> np.ndarray:
        """Add values (n,) one after the other.

        Parameters
        ----------
        values : array-like of shape (n,)
            The values, finite numbers.

        Returns
        -------
        ndarray of shape (n,)
            True where there was an alarm.
        """
        read = np.array(values, dtype=np.float64)
        if read.ndim != 1:
            raise ValueError(f"values must be a sequence of numbers, got an array of shape {read.shape}.")
        for x in (read.min(), read.max()) if len(read) else ():
            self._read(x)
        found = np.zeros(len(read), dtype=np.int64)
        type(self)._scan(self._state, np.clip(read, -LARGEST, LARGEST), found)
        return found == DRIFT

    def _read(self, x: Any) -> float:
        value = float(x)
        if not np.isfinite(value):
            raise ValueError(f"{type(self).__name__} takes finite numbers, got {x!r}.")
        return min(max(value, -LARGEST), LARGEST)

    # Looking at it

    @property
    def drift_detected(self) -> bool:
        """Whether the last value gave an alarm."""
        return bool(self._state[LAST] == DRIFT)

    @property
    def n_detections(self) -> int:
        """Number of alarms so far."""
        return int(self._state[N_ALARMS])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.get_params().items())})"


@documented
class ADWIN(DriftDetector):
    """Adaptive windowing (Bifet and Gavaldà 2007).

    A window over the last values, of any length, loses its oldest values as soon as their mean differs from that of the
    others. It is kept in buckets whose number grows with the logarithm of the length.

    Parameters
    ----------
    delta : float
        Allowed probability of a false alarm. Smaller values give later alarms.
    clock : int
        Number of values between two checks of the window.
    max_buckets : int
        Number of buckets of each size. More buckets give more places at which the window may be cut.
    min_window_length : int
        Smallest length of both parts of a cut window.
    grace_period : int
        Length of the window up to which there is no alarm.
    mode : {"up", "down", "both"}
        Which changes of the mean give an alarm. River's detector has "both".

    Attributes
    ----------
    width : int
        Length of the window.
    total : float
        Sum of the values in the window.
    estimation : float
        Mean of the values in the window; 0 if it is empty.
    variance : float
        Variance of the values in the window; 0 if it is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.stream import ADWIN
    >>> errors = np.random.default_rng(0).random(2000) < np.repeat([0.1, 0.4], 1000)
    >>> detector = ADWIN()
    >>> np.flatnonzero(detector.update_many(errors))
    array([1055])
    >>> detector.width, round(detector.estimation, 2)
    (944, 0.44)
    """

    _update = staticmethod(compiled.update_adwin)
    _scan = staticmethod(compiled.scan_adwin)
    _n_settings = loops.A_TOTAL

    def __init__(
        self,
        delta: float = 0.002,
        clock: int = 32,
        max_buckets: int = 5,
        min_window_length: int = 5,
        grace_period: int = 10,
        mode: Literal["up", "down", "both"] = "both",
    ) -> None:
        self.delta = delta
        self.clock = clock
        self.max_buckets = max_buckets
        self.min_window_length = min_window_length
        self.grace_period = grace_period
        self.mode = mode
        self.reset()

    def _first_state(self) -> np.ndarray:
        most = check_count(self, "max_buckets", self.max_buckets, low=2, high=1000)
        state = np.zeros(loops.A_FIRST_BUCKET + 2 * loops.N_LEVELS * (most + 1))
        state[loops.A_DELTA] = check_number(self, "delta", self.delta, low=0, open_low=True, high=1)
        state[loops.A_CLOCK] = check_count(self, "clock", self.clock)
        state[loops.A_BUCKETS] = most
        state[loops.A_LEAST] = check_count(self, "min_window_length", self.min_window_length)
        state[loops.A_GRACE] = check_count(self, "grace_period", self.grace_period, low=0)
        state[loops.A_MODE] = MODES[check_choice(self, "mode", self.mode, MODES)]
        return state

    def _is_right(self, state: np.ndarray) -> bool:
        counts = state[loops.A_COUNTS : loops.A_FIRST_BUCKET]
        used = np.flatnonzero(counts)
        sums = np.append(state[loops.A_FIRST_BUCKET :], state[[loops.A_TOTAL, loops.A_SQUARES]])
        return bool(
            state[LAST] in (0.0, 2.0)
            and _are_counts(state[N_ALARMS], state[loops.A_TICK], *counts)
            and counts.max() <= state[loops.A_BUCKETS]
            and counts[-1] == 0.0
            and state[loops.A_LEVELS] == (used[-1] + 1.0 if len(used) else 0.0)
            and state[loops.A_WIDTH] == counts @ 2.0 ** np.arange(loops.N_LEVELS)
            and is_within(sums, -LARGEST_SUM, LARGEST_SUM)
        )

    @property
    def width(self) -> int:
        """Length of the window."""
        return int(self._state[loops.A_WIDTH])

    @property
    def total(self) -> float:
        """Sum of the values in the window."""
        return float(self._state[loops.A_TOTAL])

    @property
    def estimation(self) -> float:
        """Mean of the values in the window; 0 if it is empty."""
        return self.total / self.width if self.width else 0.0

    @property
    def variance(self) -> float:
        """Variance of the values in the window; 0 if it is empty."""
        return float(self._state[loops.A_SQUARES]) / self.width if self.width else 0.0


@documented
class PageHinkley(DriftDetector):
    """Test of Page and Hinkley (1954): the values have moved away from their mean so far for long enough.

    Parameters
    ----------
    min_instances : int
        Number of values before which there is no alarm.
    delta : float
        Difference from the mean that is tolerated.
    threshold : float
        Sum of larger differences that gives an alarm.
    alpha : float
        Factor by which the sums fade with each value.
    mode : {"up", "down", "both"}
        Which changes of the mean give an alarm.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.stream import PageHinkley
    >>> values = np.random.default_rng(0).normal(np.repeat([0.0, 1.0], 1000), 1.0)
    >>> np.flatnonzero(PageHinkley(mode="up").update_many(values))
    array([1048])
    """

    _update = staticmethod(compiled.update_page_hinkley)
    _scan = staticmethod(compiled.scan_page_hinkley)
    _n_settings = loops.P_N

    def __init__(
        self,
        min_instances: int = 30,
        delta: float = 0.005,
        threshold: float = 50.0,
        alpha: float = 1 - 0.0001,
        mode: Literal["up", "down", "both"] = "both",
    ) -> None:
        self.min_instances = min_instances
        self.delta = delta
        self.threshold = threshold
        self.alpha = alpha
        self.mode = mode
        self.reset()

    def _first_state(self) -> np.ndarray:
        state = np.zeros(N_PAGE_HINKLEY)
        compiled.clear_page_hinkley(state)
        state[loops.P_LEAST] = check_count(self, "min_instances", self.min_instances, low=0)
        state[loops.P_DELTA] = check_number(self, "delta", self.delta, low=0)
        state[loops.P_THRESHOLD] = check_number(self, "threshold", self.threshold, low=0)
        state[loops.P_FADING] = check_number(self, "alpha", self.alpha, low=0, high=1)
        state[loops.P_MODE] = MODES[check_choice(self, "mode", self.mode, MODES)]
        return state


@documented
class DDM(DriftDetector):
    """Drift detection method of Gama et al. (2004): the rate of errors has risen well above its lowest.

    Parameters
    ----------
    warm_start : int
        Number of values up to which there is no alarm.
    warning_threshold : float
        Number of standard deviations above the lowest rate that gives a warning.
    drift_threshold : float
        Number of standard deviations above the lowest rate that gives an alarm.

    Attributes
    ----------
    warning_detected : bool
        Whether the last value gave a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.stream import DDM
    >>> errors = np.random.default_rng(0).random(2000) < np.repeat([0.1, 0.4], 1000)
    >>> np.flatnonzero(DDM().update_many(errors))
    array([1041])
    """

    _update = staticmethod(compiled.update_ddm)
    _scan = staticmethod(compiled.scan_ddm)
    _n_settings = loops.D_N

    def __init__(self, warm_start: int = 30, warning_threshold: float = 2.0, drift_threshold: float = 3.0) -> None:
        self.warm_start = warm_start
        self.warning_threshold = warning_threshold
        self.drift_threshold = drift_threshold
        self.reset()

    def _first_state(self) -> np.ndarray:
        state = np.zeros(N_DDM)
        compiled.clear_ddm(state)
        state[loops.D_LEAST] = check_count(self, "warm_start", self.warm_start, low=0)
        state[loops.D_WARNING] = check_number(self, "warning_threshold", self.warning_threshold, low=0)
        state[loops.D_DRIFT] = check_number(self, "drift_threshold", self.drift_threshold, low=0)
        return state

    def _read(self, x: Any) -> float:
        value = super()._read(x)
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"DDM takes errors in the range [0, 1], got {x!r}.")
        return value

    @property
    def warning_detected(self) -> bool:
        """Whether the last value gave a warning."""
        return bool(self._state[LAST] == WARNING)


def _are_counts(*numbers: float) -> bool:
    return all(0.0 <= number <= LARGEST_COUNT and number == np.floor(number) for number in numbers)
