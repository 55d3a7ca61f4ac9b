"""Growth by levels: parameters that it does not take."""

from __future__ import annotations

from typing import Any

from softwood.core.parameters import parameter_error

__all__ = ["check_level"]


def check_level(estimator: Any) -> None:
    """Refuse parameters that growth by levels does not take."""

    def refuse(name: str, expected: str) -> None:
        raise parameter_error(estimator, name, f"{expected} with growth='level'", getattr(estimator, name))

    if getattr(estimator, "splitter", "hist") == "exact":
        refuse("splitter", "'auto' or 'hist'")
    if estimator.measurement_error is not None:
        refuse("measurement_error", "None")
    if getattr(estimator, "bandwidth_per_node", False):
        refuse("bandwidth_per_node", "False")
    if isinstance(estimator.max_leaf_nodes, str) and estimator.max_leaf_nodes == "small":
        refuse("max_leaf_nodes", "an int, 'auto' or None")
    if getattr(estimator, "warm_start", False):
        refuse("warm_start", "False")
    if getattr(estimator, "oob_score", False) is not False:
        refuse("oob_score", "False")
    if getattr(estimator, "_balances_draws", False):
        refuse("class_weight", "a dict, 'balanced' or None")
    if isinstance(estimator.bandwidth, str) and estimator.bandwidth in ("cv", "oob"):
        refuse("bandwidth", "a number, one per column, a dict by column, 'auto', 'silverman' or 'loo'")
    if hasattr(estimator, "max_iter"):
        if estimator.loss in ("absolute_error", "quantile"):
            refuse("loss", "'squared_error', 'poisson' or 'log_loss'")
        if not (isinstance(estimator.scoring, str) and estimator.scoring == "loss"):
            refuse("scoring", "'loss'")
        for name in ("prediction_kernel", "prediction_bandwidth"):
            if not (isinstance(getattr(estimator, name), str) and getattr(estimator, name) == "same"):
                refuse(name, "'same'")
