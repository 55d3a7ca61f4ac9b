"""Results of a prequential evaluation: scores, curves, and how sure these are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import t as student

from softwood.core.extras import require
from softwood.core.parameters import check_number, parameter_error
from softwood.stream.evaluation.measures import MEASURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False, eq=False)
class PrequentialResult:
    """Result of `prequential`.

    Attributes
    ----------
    scores : dict of str to float
        Each measure over all rows that were scored.
    curves : dict of str to ndarray of shape (n_windows,)
        ``n_samples``, the row at which each window ends, and each measure over the rows of the window. nan where it is
        not defined.
    n_samples : int
        Number of rows of the stream that were tested and learned.
    n_unscored : int
        Number of rows that were learned only, since the model could not predict yet.
    seconds : float
        Time that the model took to test and to train. Reading the stream and measuring are left out.
    latency : dict of str to float, or None
        Time of a row in microseconds: percentiles ``p50``, ``p95``, ``p99`` to 1 % and the exact ``max``. None if it
        was not asked for.
    memory : ndarray of shape (n_windows,) or None
        Size of the model in bytes at the end of each window. None if it was not asked for.
    classes : ndarray of shape (n_classes,) or None
        Labels known so far. None for a regressor.
    interrupted : bool
        Whether the user stopped the run before the stream ended.
    baselines : dict of dict
        Scores of predictions from the labels alone: "no_change" (the last one) and "majority" (the most frequent one so
        far; for targets, their mean).
    window : int
        Number of rows of a window.
    """

    scores: dict[str, float]
    curves: dict[str, np.ndarray]
    n_samples: int
    n_unscored: int
    seconds: float
    latency: dict[str, float] | None = None
    memory: np.ndarray | None = None
    classes: np.ndarray | None = None
    interrupted: bool = False
    baselines: dict[str, dict[str, float]] = field(default_factory=dict)
    window: int = 1

    def interval(self, measure: str, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of a score, from how it varies between windows (the method of batch means).

        Rows of a stream are not independent, so the windows are treated as independent: they should be long compared
        with the range over which rows are correlated. Learning and drifts make the interval wider.

        Parameters
        ----------
        measure : str
            Name of the measure.
        level : float, default=0.95
            Probability that the interval contains the score.

        Returns
        -------
        low : float
            Lower end; nan with fewer than two whole windows.
        high : float
            Upper end; nan with fewer than two whole windows.
        """
        if measure not in self.scores:
            raise parameter_error("interval", "measure", f"one of {', '.join(map(repr, self.scores))}", measure)
        half = half_width(self.whole_windows(measure), level)
        return self.scores[measure] - half, self.scores[measure] + half

    def whole_windows(self, measure: str) -> np.ndarray:
        """Values of a measure in the windows that have all their rows; where it is not defined is left out.

        Parameters
        ----------
        measure : str
            Name of the measure.

        Returns
        -------
        ndarray of shape (n_whole,)
            The values.
        """
        ends = np.diff(self.curves["n_samples"], prepend=0)
        values = self.curves[measure][ends == self.window]
        return values[~np.isnan(values)]

    @property
    def samples_per_second(self) -> float:
        """Rows that the model tests and learns in a second."""
        return self.n_samples / self.seconds if self.seconds > 0 else np.nan

    def to_frame(self) -> Any:
        """The curves as a pandas DataFrame, one row for each window."""
        pandas = require("pandas", None, "A table as a data frame")
        return pandas.DataFrame(self.curves | ({} if self.memory is None else {"memory": self.memory}))

    def plot(self, ax: Axes | None = None, measures: str | Iterable[str] | None = None) -> Axes:
        """Draw measures over the stream, window by window.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.
        measures : str, iterable of str or None, default=None
            Names of measures. None draws the first one and all that are of its scale.

        Returns
        -------
        matplotlib Axes
            The axes that were drawn into.
        """
        names = list(self.scores)
        if measures is None:
            scale = MEASURES[names[0]].scale
            wanted = [name for name in names if MEASURES[name].scale == scale]
        else:
            wanted = [measures] if isinstance(measures, str) else list(measures)
            for name in wanted:
                if name not in names:
                    raise parameter_error("plot", "measures", f"some of {', '.join(map(repr, names))}", name)
        if ax is None:
            ax = require("matplotlib.pyplot", "plots", "Drawing curves").subplots()[1]
        for name in wanted:
            ax.plot(self.curves["n_samples"], self.curves[name], label=measure_title(name))
        ax.set_xlabel("rows")
        if len(wanted) == 1:
            ax.set_ylabel(measure_title(wanted[0]))
        else:
            ax.legend()
        return ax

    def __repr__(self) -> str:
        notes = [f"{self.n_samples:,} rows"]
        if self.n_unscored:
            notes.append(f"{self.n_unscored:,} not scored")
        notes.append(f"{self.samples_per_second:,.0f} rows/s")
        if self.interrupted:
            notes.append("interrupted")
        beside = "".join(f"{measure_title(name):>12}" for name in self.baselines)
        lines = [f"PrequentialResult: {', '.join(notes)}", f"{'':16}{'all rows':>12}{'last window':>14}{beside}"]
        for name, value in self.scores.items():
            last = self.curves[name][-1] if len(self.curves[name]) else np.nan
            others = "".join(
                f"{scores[name]:12.4f}" if name in scores else f"{'':12}" for scores in self.baselines.values()
            )
            lines.append(f"  {measure_title(name):14}{value:12.4f}{last:14.4f}{others}".rstrip())
        if self.latency is not None:
            times = ", ".join(f"{name} {value:.1f}" for name, value in self.latency.items())
            lines.append(f"  {'µs per row':14}  {times}")
        if self.memory is not None and len(self.memory):
            lines.append(f"  {'bytes':14}  {self.memory[-1]:,}, at most {self.memory.max():,}")
        return "\n".join(lines)


def half_width(values: np.ndarray, level: float) -> float:
    """Half of the confidence interval of a mean by Student's distribution; nan with fewer than two values."""
    level = check_number("interval", "level", level, low=0, high=1)
    if len(values) < 2:
        return np.nan
    return float(student.ppf(0.5 + 0.5 * level, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))


def measure_title(name: str) -> str:
    """Name of a measure or baseline as it is shown."""
    shown = {"auroc": "AUROC", "r2": "R²", "mae": "MAE", "rmse": "RMSE", "kappa_m": "kappa M"}
    return shown.get(name, name.replace("_", " "))
