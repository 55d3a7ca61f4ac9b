"""The complete soft tree with smooth-step gates, trained on a stream: what soft Hoeffding trees are compared to."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.base import is_classifier

from softwood.core.estimators import estimator
from softwood.core.parameters import check_count
from softwood.stream.base import StreamClassifierBase, StreamRegressorBase
from softwood.stream.growing.arrays import Limits
from softwood.stream.growing.soft import SoftClassTree, SoftRealTree
from softwood.stream.growing.tree import GrowingTree
from softwood.stream.settings import read_settings
from softwood.stream.soft_hoeffding import SoftStreamTree

# A deeper complete tree has more leaves than any stream can train.
DEEPEST = 12


@estimator
class _SmoothStepTree(SoftStreamTree):
    """What classifier and regressor share.

    Parameters
    ----------
    max_depth : int
        Depth of the tree, at most 12.
    """

    max_depth: int = 7
    bias: bool = False

    _leading: ClassVar[tuple[str, ...]] = ("max_depth", "learning_rate", "gamma")

    def _new_growth(self, n_features: int, n_outputs: int, seed: int) -> GrowingTree:
        is_class = is_classifier(self)
        settings = read_settings(self, vars(self), alpha=1.0, max_depth=0.0)
        depth = check_count(self, "max_depth", self.max_depth, high=DEEPEST)
        tree = (SoftClassTree if is_class else SoftRealTree)(settings, Limits(max_inner=0), n_features, n_outputs)
        tree.complete(depth, np.random.RandomState(seed))
        return tree


@estimator
class SmoothStepTreeClassifier(_SmoothStepTree, StreamClassifierBase):
    """Complete soft tree for classes (ST; one tree of the tree ensemble layer, Hazimeh et al. 2020), on a stream.

    The tree has all its gates from the first row on and does not grow. Each gate is a smooth step of a weighted sum
    of the features.

    Examples
    --------
    >>> from softwood.stream import SEA, SmoothStepTreeClassifier
    >>> X, y = SEA(seed=0).take(5_000)
    >>> model = SmoothStepTreeClassifier(max_depth=5, random_state=0)
    >>> model.partial_fit(X[:4000], y[:4000], classes=[0, 1]).score(X[4000:], y[4000:]) > 0.95
    True
    """


@estimator
class SmoothStepTreeRegressor(_SmoothStepTree, StreamRegressorBase):
    """Complete soft tree for real targets, on a stream.

    The tree has all its gates from the first row on and does not grow. Each gate is a smooth step of a weighted sum
    of the features. It is trained on the squared error of the target, standardised by its running mean and deviation.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.stream import SmoothStepTreeRegressor
    >>> X = np.random.default_rng(0).uniform(size=(5000, 3))
    >>> model = SmoothStepTreeRegressor(max_depth=5, random_state=0).partial_fit(X, np.sin(6 * X[:, 0]))
    >>> model.score(X, np.sin(6 * X[:, 0])) > 0.8
    True
    """
