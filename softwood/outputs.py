"""Names of the outputs of a model: of what it predicts, and of the scores that its trees add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softwood.core.losses import BinaryLogLoss, Loss, PoissonDeviance, SoftmaxLogLoss
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree

# From the mean or the sum of the trees to the predictions.
FINAL_LINKS = ("identity", "logistic", "softmax", "exp")

# What a score is, by the link that turns scores into predictions.
_SCALES = {
    "identity": "",
    "logistic": "log odds",
    "softmax": "before the softmax",
    "exp": "logarithm of the prediction",
}


@dataclass(frozen=True)
class Outputs:
    """The outputs of a model by name.

    Trees may add up to scores, from which a link makes the predictions. Two classes may have a single score. It is that
    of the second class; the score of the first class is its negative.

    Attributes
    ----------
    names : names of the predictions: classes, or numbers of targets; "" for a single target
    is_class : whether they are classes
    n_scores : number of outputs of the trees
    link : from the mean or sum of the trees to the predictions: "identity", "logistic", "softmax" or "exp"
    tree_link : link of a single tree, which belongs to the tree: its nodes predict probabilities
    """

    names: tuple[str, ...]
    is_class: bool
    n_scores: int
    link: str = "identity"
    tree_link: str = "identity"

    @classmethod
    def of(cls, classes: Sequence[Any] | np.ndarray | None, trees: SoftTree | SoftForest, link: str) -> Outputs:
        """The outputs of trees with these classes, or None for targets, and this final link."""
        if classes is not None:
            names = tuple(map(str, classes))
        else:
            n = 2 if link == "logistic" else trees.n_outputs
            names = ("",) if n == 1 else tuple(map(str, range(n)))
        # The mean over a forest is a mean of predictions, after the links of its trees.
        tree_link = trees.link if isinstance(trees, SoftTree) else "identity"
        return cls(names, classes is not None, trees.n_outputs, link, tree_link)

    @property
    def scores(self) -> tuple[str, ...]:
        """Names of the outputs of the trees: the class or target that each of them is the score of."""
        return self.names[-self.n_scores :]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the predictions as columns of a table, where targets need a name too."""
        if self.is_class:
            return self.names
        return tuple(f"prediction_{name}" if name else "prediction" for name in self.names)

    @property
    def score_columns(self) -> tuple[str, ...]:
        """Names of the outputs of the trees, as `columns`."""
        return self.columns[-self.n_scores :]

    @property
    def is_raw(self) -> bool:
        """Whether the outputs of the trees, before all links, are scores and not predictions."""
        return self.link != "identity" or self.tree_link != "identity"

    @property
    def quantity(self) -> str:
        """What the outputs of the trees are, before all links: "probability", "prediction" or "raw score"."""
        return "raw score" if self.is_raw else "probability" if self.is_class else "prediction"

    @property
    def scale(self) -> str:
        """How scores are related to predictions, in words; empty if they are the same."""
        return _SCALES[self.link if self.link != "identity" else self.tree_link]

    @property
    def nodes_have_probabilities(self) -> bool:
        """Whether the predictions of single nodes are class probabilities, and not parts of scores."""
        return self.is_class and self.link == "identity"

    def of_output(self, scores: np.ndarray, k: int) -> np.ndarray:
        """The scores (..., n_scores) of output `k`, (...). Their sign is that of this output, not of another class."""
        if scores.shape[-1] == len(self.names):
            return scores[..., k]
        return -scores[..., 0] if k == 0 and len(self.names) == 2 else scores[..., 0]

    @property
    def value_labels(self) -> tuple[str, ...] | None:
        """What the values of nodes are: for each score its class, or "score of" its class; None for targets."""
        if not self.is_class:
            return None
        return self.scores if self.nodes_have_probabilities else tuple(f"score of {name}" for name in self.scores)

    def node_labels(self, trees: SoftTree | SoftForest, number: int) -> tuple[str, ...] | None:
        """`value_labels` of one tree, which may add to a single one of the scores."""
        labels = self.value_labels
        if labels is None or isinstance(trees, SoftTree):
            return labels
        first = int(trees.output[number])
        return labels[first : first + trees.value.shape[1]]


def final_link(loss: Loss | None) -> str:
    """The link of a model that was fitted with this loss, or without one."""
    if isinstance(loss, BinaryLogLoss):
        return "logistic"
    if isinstance(loss, SoftmaxLogLoss):
        return "softmax"
    return "exp" if isinstance(loss, PoissonDeviance) else "identity"
