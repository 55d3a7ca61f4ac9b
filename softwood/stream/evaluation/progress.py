"""Progress of a run, printed about once a second."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from softwood.stream.evaluation.records import Record
from softwood.stream.evaluation.results import PrequentialResult, measure_title


class Progress:
    """Prints the progress of a run, about once a second.

    Parameters
    ----------
    n_samples : rows of the stream, None if that is not known
    """

    def __init__(self, n_samples: int | None) -> None:
        self._n_samples = n_samples
        self._start = self._last = perf_counter()

    def show(self, record: Record) -> None:
        """Print the progress if it was not printed within the last second."""
        now = perf_counter()
        if now - self._last < 1.0:
            return
        self._last = now
        part = f" ({100 * record.n_samples / self._n_samples:.0f} %)" if self._n_samples else ""
        scores = {name: measure.get() for name, measure in record.current.items()}
        rate = record.n_samples / (now - self._start)
        print(f"{record.n_samples:,} rows{part}, {rate:,.0f} rows/s{_listed(scores)}", flush=True)

    def end(self, result: PrequentialResult) -> None:
        """Print the scores over all rows."""
        seconds = perf_counter() - self._start
        how = "stopped" if result.interrupted else "done"
        print(f"{result.n_samples:,} rows, {how} after {seconds:.1f} s{_listed(result.scores)}", flush=True)


def _listed(scores: dict[str, float]) -> str:
    known = {name: score for name, score in scores.items() if not np.isnan(score)}
    return "".join(f", {measure_title(name)} {score:.4f}" for name, score in known.items())
