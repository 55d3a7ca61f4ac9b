"""Soft decision trees (İrsoy, Yıldız, Alpaydın 2012): oblique sigmoid gates, grown node by node."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Self

from sklearn.utils import Bunch

from softwood.base import ClassifierBase, Fit, RegressorBase
from softwood.gradient.finishing import finish
from softwood.gradient.growing import GrownTree, SoftRules, grow_soft_tree, lone_root
from softwood.gradient.model import Training, ValidatedTree
from softwood.gradient.refining import refine, refit_values
from softwood.loops.soft_split import IDENTITY
from softwood.parameters import check_number, parameter

__all__ = ["SoftTreeClassifier", "SoftTreeRegressor"]


@dataclass(kw_only=True, eq=False, repr=False)
class _SoftTree(SoftRules, ValidatedTree):
    """What classifier and regressor share."""

    validation_fraction: float = parameter(0.2, check_number, low=0.0, open_low=True, high=0.9)

    def _train(self, fit: Fit, data: Training, rules: Self) -> None:
        tree = lone_root(data.train, data.link)
        stages = fit.steps("stage", 2 if rules.refine else 1)
        refits = data.link == IDENTITY and not data.is_given

        def results(tree: GrownTree) -> dict[str, Any]:
            finished = finish(tree, data.train, data.mass, data.link, data.scaling, data.targets)
            return {"history_": list(stages.history), "tree_": finished}

        def refined() -> dict[str, Any]:
            twin = copy.copy(tree)
            if refits:
                refit_values(twin, data.everything())
            return results(twin)

        arguments = data.train, data.validation, data.link, rules, data.seed
        try:
            with stages.stage("grow", "trial") as steps:
                grow_soft_tree(*arguments, tree=tree, steps=steps, snapshot=lambda: results(tree))
            if rules.refine and not stages.is_stopped:
                with stages.stage("refine", "pass", rules.refine_max_iter) as steps:
                    refine(tree, *arguments, steps=steps, snapshot=refined)
                if refits:
                    refit_values(tree, data.everything())
        finally:
            self.__dict__.update(results(tree))

    def harden(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """A copy that reads the tree crisply: every row follows one path, by the signs of the gates.

        Parameters
        ----------
        X, y, sample_weight : rows to measure on what that costs

        Returns
        -------
        fitted copy; with rows given it has ``hardening_``: the ``score`` of both, ``soft`` and ``crisp``, and the
        ``loss``, soft less crisp
        """
        _ = self._finished
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together.")
        crisp = copy.copy(self)
        crisp.tree_ = self.tree_.crisp()
        if X is not None:
            scores = [float(model.score(X, y, sample_weight)) for model in (self, crisp)]
            crisp.hardening_ = Bunch(soft=scores[0], crisp=scores[1], loss=scores[0] - scores[1])
        return crisp


@dataclass(kw_only=True, eq=False, repr=False)
class SoftTreeClassifier(ClassifierBase, _SoftTree):
    """Soft decision tree for classes: gates ``sigmoid(w @ x + b)``, all paths with their probabilities.

    The tree grows leaf by leaf. A leaf's gate and the values of its two new leaves are trained by online gradient
    descent while the rest of the tree is frozen; the split stays if it lowers the loss of validation rows. Inputs are
    standardised inside; the finished ``tree_`` has gates in the units of the columns. The outputs of the tree pass a
    softmax. A missing value counts as the column's mean, a category is a column of 0 and 1.

    Parameters
    ----------
    init : "hard", "paper" or "random", default="hard"
        First gate of a split: centred on the best axis-aligned test; with the paper's bias of 1, whatever the threshold
        is; or small random numbers.
    init_slope : float, default=1.0
        Steepness of the first gate, per standard deviation.
    step : float, default=1.0
        Length of the first step of the first descent; each of the next descents begins with half of it.
    n_learning_rates : int, default=6
        Descents for a split, of which the best is kept. Two in a row that are no better end the search.
    learning_rate_decay : float, default=0.9
        Factor by which steps get shorter in a pass over the rows.
    max_iter : int, default=25
        Passes of a descent.
    n_iter_no_change : int, default=5
        Passes without a better loss that end a descent.
    select : "validation" or "training", default="validation"
        The rows whose loss chooses among descents and passes. The paper chooses by training rows.
    validation_fraction : float, default=0.2
        Part of the rows that decides which splits stay, unless `fit` is given rows for it.
    growth : "breadth" or "depth", default="breadth"
        Order of splits: level by level, or left subtree first, as in the paper.
    max_depth : int, default=None
    max_leaf_nodes : int, default=None
        Growth ends when there are so many leaves.
    min_gain : float, default=0.01
        A split stays if it lowers the validation loss by more than this part. The paper has 0, and larger trees.
    l1_regularization, l2_regularization : float, default=0.0
        Penalties on the weights of gates (not on biases), in units of standardised inputs; `l1` makes many of them 0.
    refine : bool, default=True
        After growth train all gates and values together, with Adam, as long as the validation loss falls; then, for
        real targets, fit the values to all rows, unless `fit` is given rows to validate on. Not in the paper.
    refine_max_iter : int, default=200
        Most passes of `refine`.
    refine_learning_rate : float, default=0.01
        First learning rate of `refine`; it gets smaller when no pass is better any more.
    categorical_features : "from_dtype", None, or columns by name, number or mask, default="from_dtype"
        Columns to be taken as categories; "from_dtype" takes the text and category columns of data frames.
    handle_unknown : "missing" or "error", default="missing"
        What a category is at predict time that was not there at fit time: a missing value, or an error.
    class_weight : dict or "balanced", default=None
        Weights of classes.
    random_state : int or RandomState, default=None
        Validation part and order of rows.
    verbose : int, default=0
        1 prints the progress about once a second, 2 after each trial.

    Attributes
    ----------
    tree_ : SoftTree
        The finished tree; its values are logarithms of probabilities up to a constant (``tree_.link`` is "softmax").
    history_ : list of dicts
        Every split that was tried: node, depth, step, losses, whether it was kept.
    refine_losses_ : list of float
        Validation loss before and after each joint pass.
    columns_ : Columns
        How the table became a matrix.
    feature_importances_ : (n_features_in,) array
    classes_ : (n_classes,) array

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from softwood import SoftTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SoftTreeClassifier(random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.93)
    True
    """


@dataclass(kw_only=True, eq=False, repr=False)
class SoftTreeRegressor(RegressorBase, _SoftTree):
    """Soft decision tree for real targets, with the squared error; the target may be a matrix.

    Parameters are those of `SoftTreeClassifier` without `class_weight`. Attributes are the same, with ``n_outputs_``
    in place of ``classes_``; the values of the tree are in the units of the target.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import SoftTreeRegressor
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> model = SoftTreeRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.98)
    True
    """
