"""Soft decision trees (İrsoy, Yıldız, Alpaydın 2012): oblique sigmoid gates, grown node by node."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

from sklearn.utils import Bunch

from softwood.base import ClassifierBase, Fit, RegressorBase
from softwood.core.estimators import estimator
from softwood.core.parameters import check_number, parameter
from softwood.gradient.base import Training, ValidatedTree
from softwood.gradient.cross_selection import CrossSelection
from softwood.gradient.finishing import finish, predict_validation, scores_of_validation
from softwood.gradient.growing import GrownTree, SoftRules, grow_soft_tree, lone_root
from softwood.gradient.loops.soft_split import IDENTITY
from softwood.gradient.refining import refine, refit_values


@estimator
class _SoftTree(SoftRules, ValidatedTree):
    """What classifier and regressor share.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        Controls the validation rows, the order of the rows and random gates.

    Attributes
    ----------
    tree_ : SoftTree
        The fitted tree, with gates in the units of the columns.
    history_ : list of dict
        A dict for each step. ``stage`` is "grow" for splits that were tried and "refine" for joint passes.
        ``iteration`` counts within the stage, 0 being the state before it. Then ``train_loss`` (of splits),
        ``validation_loss`` and ``n_leaves``; for splits also ``node``, ``depth``, ``learning_rate`` of the best
        descent, ``validation_loss_before`` and ``kept``.
    """

    validation_fraction: float = parameter(0.2, check_number, low=0.0, open_low=True, high=0.9)

    _leading: ClassVar[tuple[str, ...]] = (
        "max_depth", "max_leaf_nodes", "min_gain", "learning_rate", "max_iter", "l1_regularization",
        "l2_regularization",
    )  # fmt: skip

    def _train(self, fit: Fit, data: Training, rules: Self) -> None:
        tree = lone_root(data.train, data.link)
        stages = fit.stages()
        refits = data.link == IDENTITY and not data.is_given

        def results(tree: GrownTree) -> dict[str, Any]:
            return {"history_": list(stages.history), "tree_": finish(tree, data)}

        def refined() -> dict[str, Any]:
            found = copy.copy(tree)
            if refits:
                refit_values(found, data.everything())
            return results(found)

        arguments = data.train, data.validation, data.link, rules, data.seed
        try:
            cross = CrossSelection(data.validation, data.link, tree.values[0]) if data.is_class else None
            with stages.stage("grow", "trial") as steps:
                grow_soft_tree(*arguments, tree=tree, cross=cross, steps=steps, snapshot=lambda: results(tree))
            grown = None if cross is None else scores_of_validation(tree, data)
            refines = rules.refine and not stages.is_stopped
            if refines:
                with stages.stage("refine", "pass", rules.refine_max_iter) as steps:
                    refine(tree, *arguments, steps=steps, snapshot=refined)
            if not stages.is_stopped:
                self._keep_validation(data, predict_validation(tree, data, cross, grown))
            if refines and refits:
                refit_values(tree, data.everything())
        finally:
            self.__dict__.update(results(tree))

    def harden(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """A fitted copy with crisp gates: every row follows a single path, given by the signs of the gates.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in), or None, default=None
            Rows on which the loss of accuracy is measured. None measures nothing.
        y : array-like or None, default=None
            Labels or targets of these rows.

        Returns
        -------
        estimator
            The copy. If rows are given, its ``hardening_`` has the scores of both trees, ``soft`` and ``crisp``, and
            the ``loss``, which is soft minus crisp.
        """
        _ = self._finished
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together.")
        crisp = copy.copy(self)
        crisp.tree_ = self.tree_.crisp()
        crisp._drop_scores()  # those of the soft tree
        if X is not None:
            scores = [float(model.score(X, y, sample_weight)) for model in (self, crisp)]
            crisp.hardening_ = Bunch(soft=scores[0], crisp=scores[1], loss=scores[0] - scores[1])
        return crisp


@estimator
class SoftTreeClassifier(ClassifierBase, _SoftTree):
    """Soft decision tree for classification.

    Each gate ``sigmoid(w @ x + b)`` sends a row to both children, with probabilities; the outputs of all leaves are
    averaged with these and pass a softmax. The tree grows leaf by leaf: the gate of a leaf and the values of its two
    new leaves are trained by online gradient descent while the rest of the tree is frozen. The split is kept if it
    lowers the loss on validation rows.

    Inputs are standardised internally; the gates of ``tree_`` are in the units of the columns. A missing value counts
    as the mean of its column. A category is encoded as a column of zeros and ones.

    Attributes
    ----------
    tree_ : SoftTree
        The fitted tree, with gates in the units of the columns. Its values are log probabilities up to a constant
        (``tree_.link`` is "softmax").

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from softwood import SoftTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SoftTreeClassifier(random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.93)
    True
    """


@estimator
class SoftTreeRegressor(RegressorBase, _SoftTree):
    """Soft decision tree for regression.

    Each gate ``sigmoid(w @ x + b)`` sends a row to both children, with probabilities; the values of all leaves are
    averaged with these. The tree grows leaf by leaf: the gate of a leaf and the values of its two new leaves are
    trained by online gradient descent on the squared error while the rest of the tree is frozen. The split is kept if
    it lowers the loss on validation rows. `y` may have several columns.

    Inputs are standardised internally; the gates of ``tree_`` are in the units of the columns, and its values in those
    of the target. A missing value counts as the mean of its column. A category is encoded as a column of zeros and
    ones.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import SoftTreeRegressor
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> model = SoftTreeRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.98)
    True
    """
