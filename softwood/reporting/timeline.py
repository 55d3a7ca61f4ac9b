"""The time line of a stream model: splits of the audit log, and measures window by window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from softwood.core.parameters import parameter_error
from softwood.stream.adapting import Adaptation
from softwood.stream.evaluation.results import PrequentialResult
from softwood.stream.growing.events import SplitEvent

# Entries of the log that a page shows: the last ones.
MOST_EVENTS = 2000


def check_history(history: Any) -> None:
    """Raise an error if `history` is not what `adaptation` or `prequential` returns."""
    if history is not None and not isinstance(history, Adaptation | PrequentialResult):
        raise parameter_error("report", "history", "what adaptation or prequential returns, or None", history)


def timeline(log: Sequence[SplitEvent], names: Sequence[str], history: Any) -> dict[str, Any]:
    """What the page shows of a stream.

    Parameters
    ----------
    log : the audit log, oldest first
    names : of the encoded columns
    history : `Adaptation` or `PrequentialResult` of the run, or None
    """
    shown = log[-MOST_EVENTS:]
    windows: list[dict[str, Any]] = []
    if isinstance(history, Adaptation):
        ends = history.n_samples
        windows = [_curve("cross-entropy", ends, history.loss), _curve("nodes", ends, history.n_nodes)]
    elif isinstance(history, PrequentialResult):
        ends = history.curves["n_samples"]
        windows = [
            _curve(name.replace("_", " "), ends, values)
            for name, values in history.curves.items()
            if name != "n_samples"
        ]
    return {
        "nEvents": len(log),
        "events": [
            {
                "kind": event.kind,
                "rows": int(event.n_samples),
                "node": int(event.node),
                "column": str(names[event.feature]) if event.feature < len(names) else "",
                "threshold": _finite(event.threshold),
                "merit": _finite(event.merit),
                "second": _finite(event.second_merit),
                "bound": _finite(event.bound),
            }
            for event in shown
        ],
        "curves": windows,
    }


def _curve(name: str, ends: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    return {"name": name, "rows": [int(n) for n in ends], "values": [_finite(value) for value in values]}


def _finite(value: Any) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None
