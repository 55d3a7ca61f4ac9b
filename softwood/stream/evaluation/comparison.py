"""Several models on the same stream, in one pass, and the differences between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.core.extras import require
from softwood.core.parameters import parameter_error
from softwood.stream.evaluation.measures import MEASURES
from softwood.stream.evaluation.prequential import RunOptions, run_models
from softwood.stream.evaluation.results import PrequentialResult, half_width, measure_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OWNER = "compare_prequential"


@dataclass(frozen=True, repr=False, eq=False)
class PrequentialComparison(Mapping[str, PrequentialResult]):
    """What `compare_prequential` found: a mapping from the names of the models to their `PrequentialResult`.

    Attributes
    ----------
    results : dict of str to PrequentialResult
        The results by the names of the models.
    """

    results: dict[str, PrequentialResult]

    def __getitem__(self, name: str) -> PrequentialResult:
        return self.results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def _first(self) -> PrequentialResult:
        return next(iter(self.results.values()))

    def scores(self) -> dict[str, dict[str, float]]:
        """Scores by model, and those of the baselines."""
        return {name: result.scores for name, result in self.results.items()} | self._first.baselines

    def to_frame(self) -> Any:
        """Scores as a pandas DataFrame: a row for each model and baseline, a column for each measure, and rows/s."""
        pandas = require("pandas", None, "A table as a data frame")
        rows = [scores | {"samples_per_second": self._speed(name)} for name, scores in self.scores().items()]
        return pandas.DataFrame(rows, index=pandas.Index(self.scores(), name="model"))

    def _speed(self, name: str) -> float:
        return self.results[name].samples_per_second if name in self.results else np.nan

    def difference(self, first: str, second: str, measure: str, level: float = 0.95) -> tuple[float, float, float]:
        """How much larger a score of one model is than that of another, with a confidence interval.

        The interval is from the differences in the same windows, so what makes rows hard for both does not count; see
        `PrequentialResult.interval`.

        Parameters
        ----------
        first : str
            Name of a model.
        second : str
            Name of the model to compare it with.
        measure : str
            Name of the measure.
        level : float, default=0.95
            Probability with which the interval is to hold the difference.

        Returns
        -------
        difference : float
            The difference of the scores.
        low : float
            Lower end of the interval.
        high : float
            Upper end of the interval.
        """
        for name, value in (("first", first), ("second", second)):
            if value not in self.results:
                raise parameter_error("difference", name, f"one of {', '.join(map(repr, self.results))}", value)
        one, other = self.results[first], self.results[second]
        common = [name for name in one.scores if name in other.scores]
        if measure not in common:
            raise parameter_error("difference", "measure", f"one of {', '.join(map(repr, common))}", measure)
        is_whole = np.diff(one.curves["n_samples"], prepend=0) == one.window
        apart = (one.curves[measure] - other.curves[measure])[is_whole]
        half = half_width(apart[~np.isnan(apart)], level)
        difference = one.scores[measure] - other.scores[measure]
        return difference, difference - half, difference + half

    def plot(self, measure: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw a measure of all models over the stream, window by window.

        Parameters
        ----------
        measure : str or None, default=None
            Name of the measure. None draws the first one.
        ax : matplotlib Axes or None, default=None
            Axes to draw into. None creates a new figure.

        Returns
        -------
        matplotlib Axes
            The axes that were drawn into.
        """
        names = list(self._first.scores)
        measure = names[0] if measure is None else measure
        if measure not in names:
            raise parameter_error("plot", "measure", f"one of {', '.join(map(repr, names))}, or None", measure)
        if ax is None:
            ax = require("matplotlib.pyplot", "plots", "Drawing curves").subplots()[1]
        for name, result in self.results.items():
            if measure in result.curves:
                ax.plot(result.curves["n_samples"], result.curves[measure], label=name)
        ax.set(xlabel="rows", ylabel=measure_title(measure))
        ax.legend()
        return ax

    def __repr__(self) -> str:
        names = [name for name in MEASURES if any(name in scores for scores in self.scores().values())]
        width = max(map(len, self.scores()), default=0) + 2
        heads = "".join(f"{measure_title(name):>16}" for name in names)
        lines = [f"PrequentialComparison: {self._first.n_samples:,} rows", f"{'':{width}}{heads}{'rows/s':>12}"]
        for model, scores in self.scores().items():
            values = "".join(f"{scores[name]:16.4f}" if name in scores else f"{'':16}" for name in names)
            speed = f"{self._speed(model):12,.0f}" if model in self.results else ""
            lines.append(f"{model:{width}}{values}{speed}".rstrip())
        return "\n".join(lines)


def compare_prequential(models: Mapping[str, Any], stream: Any, **options: Any) -> PrequentialComparison:
    """Test several models on each row of a stream, and then train them on that row, in one pass.

    All models see the same rows, so a stream that can be read only once is enough, and windows can be compared.

    Parameters
    ----------
    models : mapping of str to model
        The models by name, each as in `prequential`; all classifiers or all regressors.
    stream : stream, tuple (X, y), data frame, path or iterable of pairs (x, y)
        The rows, as in `prequential`.
    **options : dict
        Other parameters of `prequential`. `on_window` is called for each model.

    Returns
    -------
    PrequentialComparison
        The results by the names of the models.

    Examples
    --------
    >>> from softwood.stream import SEA, HoeffdingTreeClassifier, SoftHoeffdingTreeClassifier, compare_prequential
    >>> models = {"soft": SoftHoeffdingTreeClassifier(random_state=0), "crisp": HoeffdingTreeClassifier()}
    >>> found = compare_prequential(models, SEA(seed=0), max_samples=10_000, measures="accuracy")
    >>> difference, low, high = found.difference("soft", "crisp", "accuracy")
    >>> low > 0
    True
    >>> sorted(found.scores())
    ['crisp', 'majority', 'no_change', 'soft']
    """
    if not isinstance(models, Mapping) or not models or not all(isinstance(name, str) for name in models):
        raise parameter_error(_OWNER, "models", "a mapping of names and models, at least one", models)
    try:
        chosen = RunOptions(**options)
    except TypeError as error:
        raise TypeError(str(error).replace("RunOptions.__init__", _OWNER)) from None
    results = run_models(dict(models), stream, chosen)
    if len({result.classes is None for result in results.values()}) > 1:
        raise parameter_error(_OWNER, "models", "all classifiers or all regressors", models)
    return PrequentialComparison(results)
