"""Settings of growing trees: parameters, checked, as the loops take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from softwood.core.parameters import check_choice, check_count, check_flag, check_integer, check_number
from softwood.stream.growing.arrays import Limits
from softwood.stream.loops.layout import ADAPTIVE, GINI, IGNORED, INFO_GAIN, MODEL, PLAIN, UNLIKELY, Settings

CLASS_LEAVES = {"mc": PLAIN, "nb": MODEL, "nba": ADAPTIVE}
REAL_LEAVES = {"mean": PLAIN, "model": MODEL, "adaptive": ADAPTIVE}
CRITERIA = {"info_gain": INFO_GAIN, "gini": GINI}
UNSEEN = {"ignored": IGNORED, "unlikely": UNLIKELY}
# Range of merits in Hoeffding's bound in bits; 0: the logarithm of the number of classes.
MERIT_RANGES = {"test": 1.0, "classes": 0.0}


def _or_none(none: float, check: Callable[..., Any], owner: Any, name: str, value: Any) -> float:
    """A number in place of None."""
    return none if value is None else check(owner, name, value)


def _named(numbers: Mapping[str, float], owner: Any, name: str, value: Any) -> float:
    """The number of a choice."""
    return numbers[check_choice(owner, name, value, numbers)]


def _leaf_prediction(owner: Any, name: str, value: Any) -> float:
    return _named(CLASS_LEAVES if is_classifier(owner) else REAL_LEAVES, owner, name, value)


_positive = partial(check_number, low=0, open_low=True)
_from_0 = partial(check_number, low=0)
_from_1 = partial(check_number, low=1)
_share = partial(check_number, low=0, high=1)
_probability = partial(check_number, low=0, open_low=True, high=1)

CHECKS: dict[str, Callable[[Any, str, Any], float]] = {
    "grace_period": _from_1,
    "delta": _probability,
    "tau": _from_0,
    "max_depth": partial(_or_none, np.inf, partial(check_integer, low=0, or_none=True)),
    "min_branch_fraction": partial(check_number, low=0, high=0.5),
    "max_share_to_split": _share,
    "split_criterion": partial(_named, CRITERIA),
    "leaf_prediction": _leaf_prediction,
    "model_selector_decay": _share,
    "learning_rate": _positive,
    "gamma": _positive,
    "alpha": _share,
    "batch_size": check_count,
    "scaler_memory": partial(_or_none, np.inf, _from_1),
    "bias": check_flag,
    "min_share": _share,
    "weigh_by_share": check_flag,
    "leaf_init": _from_0,
    "gate_init": _from_0,
    "alpha_learning_rate": _from_0,
    "alpha_pull": _from_0,
    "recheck_period": partial(_or_none, np.inf, _from_1),
    "outlier_limit": partial(_or_none, 0.0, _from_1),
    "count_period": _from_0,
    "merit_range": partial(_named, MERIT_RANGES),
    "drift_delta": partial(_or_none, 0.0, _probability),
    "unseen_values": partial(_named, UNSEEN),
    "inherited_weight": _from_0,
    "restart_rise": partial(_or_none, np.inf, _from_0),
}


def read_settings(owner: Any, parameters: Mapping[str, Any], **fixed: float) -> Settings:
    """Settings from parameters of the same names, checked; all others are 0.

    Parameters
    ----------
    owner : whose parameters they are, for errors
    parameters : those that are no settings are ignored
    fixed : settings that do not follow from a parameter of the same name
    """
    wanted = [name for name in CHECKS if name in parameters and name not in fixed]
    read = {name: CHECKS[name](owner, name, parameters[name]) for name in wanted}
    return Settings(**{name: float(value) for name, value in (read | fixed).items()})


def read_limits(model: Any) -> Limits:
    """Limits of nodes and memory, checked."""
    inner = check_integer(model, "max_inner_nodes", model.max_inner_nodes, low=0, or_none=True)
    size = _or_none(np.inf, _positive, model, "max_size", model.max_size)
    return Limits(np.inf if inner is None else inner, size * 2**20)
