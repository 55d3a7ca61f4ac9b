"""Soft Hoeffding trees: transparent tests and smooth gates, grown by Hoeffding's bound and trained by gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.loops.stream_layout import (
    ALPHA,
    ALPHA_RATE,
    BATCH,
    CRITERION,
    GAMMA,
    GATE_START,
    HAS_BIAS,
    INFO_GAIN,
    IS_CLASS,
    MAX_SHARE,
    MEMORY,
    PULL,
    RATE,
    RECHECK,
    STATISTICS_SHARE,
    VALUE_START,
    WEIGH_BY_SHARE,
)
from softwood.parameters import check_count, check_flag, check_number
from softwood.stream.growth import GrowingTree
from softwood.stream.hoeffding import growth_settings, size_limits
from softwood.stream.model import StreamClassifierBase, StreamModel, StreamRegressorBase
from softwood.stream.soft_growth import SoftClassTree, SoftRealTree

__all__ = ["SoftHoeffdingTreeClassifier", "SoftHoeffdingTreeRegressor"]


def soft_settings(model: Any, settings: np.ndarray, is_class: bool) -> np.ndarray:
    """Settings of gates and of gradient steps, checked."""
    settings[IS_CLASS] = is_class
    settings[RATE] = check_number(model, "learning_rate", model.learning_rate, low=0, open_low=True)
    settings[GAMMA] = check_number(model, "gamma", model.gamma, low=0, open_low=True)
    settings[BATCH] = check_count(model, "batch_size", model.batch_size)
    memory = model.scaler_memory
    settings[MEMORY] = np.inf if memory is None else check_number(model, "scaler_memory", memory, low=1)
    return settings
