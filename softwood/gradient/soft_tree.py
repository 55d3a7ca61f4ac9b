"""Soft decision trees (İrsoy, Yıldız, Alpaydın 2012): oblique sigmoid gates, grown node by node."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Self

from sklearn.utils import Bunch

from softwood.base import ClassifierBase, Fit, RegressorBase
from softwood.core.parameters import check_number, parameter
from softwood.gradient.base import Training, ValidatedTree
from softwood.gradient.finishing import finish
from softwood.gradient.growing import GrownTree, SoftRules, grow_soft_tree, lone_root
from softwood.gradient.loops.soft_split import IDENTITY
from softwood.gradient.refining import refine, refit_values

__all__ = ["SoftTreeClassifier", "SoftTreeRegressor"]


@dataclass(kw_only=True, eq=False, repr=False)
class _SoftTree(SoftRules, ValidatedTree):
    """What classifier and regressor share."""

    validation_fraction: float = parameter(0.2, check_number, low=0.0, open_low=True, high=0.9)

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
        """A fitted copy with crisp gates: every row follows a single path, given by the signs of the gates.

        Parameters
        ----------
        X, y, sample_weight : rows on which the loss of accuracy is measured

        Returns
        -------
        The copy. If rows are given, its ``hardening_`` has the scores of both trees, ``soft`` and ``crisp``, and the
        ``loss``, which is soft minus crisp.
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
    """Soft decision tree for classification.

    Each gate ``sigmoid(w @ x + b)`` sends a row to both children, with probabilities; the outputs of all leaves are
    averaged with these and pass a softmax. The tree grows leaf by leaf: the gate of a leaf and the values of its two
    new leaves are trained by online gradient descent while the rest of the tree is frozen. The split is kept if it
    lowers the loss on validation rows.

    Inputs are standardised internally; the gates of ``tree_`` are in the units of the columns. A missing value counts
    as the mean of its column. A category is encoded as a column of zeros and ones.

    Parameters
    ----------
    init : "hard", "paper" or "random", default="hard"
        Initial gate of a split. "hard": centred on the best axis-aligned test; "paper": the same test, with a bias of 1
        whatever its threshold; "random": small random numbers.
    init_slope : float, default=1.0
        Steepness of the initial gate, per standard deviation.
    learning_rate : float, default=1.0
        Initial step length of the first descent; every further descent begins with half the one before.
    n_learning_rates : int, default=6
        Maximum number of descents for a split, of which the best is kept. Two in a row without a better result end
        the search.
    learning_rate_decay : float, default=0.9
        Factor by which the step length shrinks in one pass over the rows.
    max_iter : int, default=25
        Maximum number of passes in a descent.
    n_iter_no_change : int, default=5
        A descent ends after this many passes without a smaller loss.
    select : "validation" or "training", default="validation"
        Rows whose loss selects the best pass and the best descent. The paper uses the training rows.
    validation_fraction : float, default=0.2
        Fraction of the rows set aside for validation, unless validation rows are passed to `fit`.
    growth : "breadth" or "depth", default="breadth"
        Order in which leaves are split: level by level, or the left subtree first, as in the paper.
    max_depth : int, default=None
    max_leaf_nodes : int, default=None
        Growth ends when the tree has this many leaves.
    min_gain : float, default=0.01
        A split is kept if it lowers the validation loss by more than this fraction. The paper uses 0, which gives
        larger trees.
    l1_regularization, l2_regularization : float, default=0.0
        Penalties on the weights of the gates, not on the biases, for standardised inputs. `l1_regularization` sets many
        weights to 0.
    refine : bool, default=True
        After growth, train all gates and values together with Adam while the validation loss falls. For real targets,
        the values are then fitted to all rows, unless validation rows are passed to `fit`. Not in the paper.
    refine_max_iter : int, default=200
        Maximum number of passes of `refine`.
    refine_learning_rate : float, default=0.01
        Initial learning rate of `refine`. It is reduced when the validation loss stops falling.
    categorical_features : "from_dtype", None, or columns by name, number or mask, default="from_dtype"
        Columns to treat as categories; "from_dtype" selects the text and category columns of data frames.
    dates : "parts", "days" or "error", default="parts"
        What a column of dates becomes: days since the first training date, and hour, weekday and month where they vary;
        days alone; or an error. Durations become days.
    handle_unknown : "missing" or "error", default="missing"
        How `predict` treats categories that were not seen in `fit`: as missing values, or with an error.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    random_state : int or RandomState, default=None
        Determines the validation rows, the order of the rows and random gates.
    verbose : int, default=0
        1 prints progress about once a second, 2 after every step.

    Attributes
    ----------
    tree_ : SoftTree
        The fitted tree. Its values are log probabilities up to a constant (``tree_.link`` is "softmax").
    history_ : list of dicts
        A dict for each step. ``stage`` is "grow" for splits that were tried and "refine" for joint passes;
        ``iteration`` counts within the stage, 0 being the state before it. Then ``train_loss`` (of splits),
        ``validation_loss`` and ``n_leaves``; for splits also ``node``, ``depth``, ``learning_rate`` of the best
        descent, ``validation_loss_before`` and ``kept``.
    n_iter_ : int
        Number of training steps, over all stages.
    columns_ : Columns
        How the table was encoded as a matrix.
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
    """Soft decision tree for regression, with the squared error; `y` may have several columns.

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
