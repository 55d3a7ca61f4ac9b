"""The complete soft tree with smooth-step gates, trained on a stream: what soft Hoeffding trees are compared to."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from softwood.loops.stream_layout import ALPHA, HAS_BIAS
from softwood.parameters import check_count, check_flag
from softwood.stream.growth import GrowingTree, Limits, new_settings
from softwood.stream.model import StreamClassifierBase, StreamModel, StreamRegressorBase
from softwood.stream.soft_growth import SoftClassTree, SoftRealTree
from softwood.stream.soft_hoeffding import soft_settings

__all__ = ["SmoothStepTreeClassifier", "SmoothStepTreeRegressor"]

# A deeper complete tree has more leaves than any stream can train.
DEEPEST = 12


class _SmoothStepTree(StreamModel):
    """What classifier and regressor share."""

    def __init__(
        self,
        *,
        depth: int = 7,
        gamma: float = 1.0,
        learning_rate: float = 0.01,
        bias: bool = False,
        batch_size: int = 1,
        scaler_memory: float | None = None,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
    ) -> None:
        self.depth = depth
        self.gamma = gamma
        self.learning_rate = learning_rate
        self.bias = bias
        self.batch_size = batch_size
        self.scaler_memory = scaler_memory
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _new_growth(self, n_features: int, n_outputs: int, seed: int) -> GrowingTree:
        is_class = is_classifier(self)
        settings = soft_settings(self, new_settings(), is_class)
        settings[ALPHA] = 1.0
        settings[HAS_BIAS] = check_flag(self, "bias", self.bias)
        depth = check_count(self, "depth", self.depth, high=DEEPEST)
        tree = (SoftClassTree if is_class else SoftRealTree)(settings, Limits(max_inner=0), n_features, n_outputs)
        tree.complete(depth, np.random.RandomState(seed))
        return tree


class SmoothStepTreeClassifier(_SmoothStepTree, StreamClassifierBase):
    """Complete soft tree for classes (ST; one tree of the tree ensemble layer, Hazimeh et al. 2020), on a stream.

    All gates are smooth steps of oblique sums, from the first row on; the tree does not grow.

    Parameters
    ----------
    depth : of the tree, up to 12
    gamma, learning_rate, bias, batch_size, scaler_memory, class_weight, categorical_features, random_state : see
        `SoftHoeffdingTreeClassifier`

    Examples
    --------
    >>> from softwood.stream import SEA, SmoothStepTreeClassifier
    >>> X, y = SEA(seed=0).take(5_000)
    >>> model = SmoothStepTreeClassifier(depth=5, random_state=0)
    >>> model.partial_fit(X[:4000], y[:4000], classes=[0, 1]).score(X[4000:], y[4000:]) > 0.95
    True
    """

    def __init__(
        self,
        *,
        depth: int = 7,
        gamma: float = 1.0,
        learning_rate: float = 0.01,
        bias: bool = False,
        batch_size: int = 1,
        scaler_memory: float | None = None,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            depth=depth, gamma=gamma, learning_rate=learning_rate, bias=bias, batch_size=batch_size,
            scaler_memory=scaler_memory, categorical_features=categorical_features, random_state=random_state,
        )  # fmt: skip
        self.class_weight = class_weight


class SmoothStepTreeRegressor(_SmoothStepTree, StreamRegressorBase):
    """Complete soft tree for real targets, on a stream.

    Parameters are those of `SmoothStepTreeClassifier`, which see.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.stream import SmoothStepTreeRegressor
    >>> X = np.random.default_rng(0).uniform(size=(5000, 3))
    >>> model = SmoothStepTreeRegressor(depth=5, random_state=0).partial_fit(X, np.sin(6 * X[:, 0]))
    >>> model.score(X, np.sin(6 * X[:, 0])) > 0.8
    True
    """
