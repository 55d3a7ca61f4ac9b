"""Predictions of a fitted forest out of the bag, one tree and one row after the other."""

import numpy as np
from sklearn.base import is_classifier

from softwood.kernel.data.row_keys import row_numbers
from softwood.kernel.growing.bagging import Draws, tree_seed


def unseen_predictions(model, X, weights=None, **conditions):
    """What each tree predicts for each row that it has not seen, (n_trees, n, n_outputs); nan for the others.

    A row is seen if one of the same content is among the rows drawn; rows of weight 0 have no predictions.
    """
    weights = np.ones(len(X)) if weights is None else weights
    kept = np.flatnonzero(weights > 0)
    order = np.argsort(row_numbers(X[kept], model._seed_), kind="stable")
    draws = Draws(weights[kept], np.arange(len(kept)), order, model._n_draws(weights[kept]))
    out = []
    for number, tree in enumerate(model.estimators_):
        masses = draws.masses(tree_seed(model._seed_, number))
        bag = {tuple(X[k]) for k in kept[masses > 0]}
        found = (tree.predict_proba if is_classifier(tree) else tree.predict)(X, **conditions).reshape(len(X), -1)
        for i in range(len(X)):
            if tuple(X[i]) in bag or weights[i] == 0:
                found[i] = np.nan
        out.append(found)
    return np.array(out)


def mean_of_unseen(each):
    """Mean over the trees that have a prediction, (n, n_outputs); nan where there are none."""
    out = np.full(each.shape[1:], np.nan)
    for i in range(each.shape[1]):
        known = each[~np.isnan(each[:, i, 0]), i]
        if len(known):
            out[i] = known.mean(axis=0)
    return out
