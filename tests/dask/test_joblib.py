"""Models whose data fit into memory, with a cluster behind joblib."""

import joblib
import numpy as np
from sklearn.model_selection import GridSearchCV

import softwood
from tests.dask.models import table


def test_forests_and_searches(client):
    X, y = table()
    forest = softwood.KernelForestClassifier(6, bandwidth=0.2, max_depth=4, random_state=0, n_jobs=2)
    alone = forest.fit(X, y > 0).predict_proba(X)
    tree = softwood.KernelTreeRegressor(bandwidth=0.2, random_state=0)
    search = GridSearchCV(tree, {"max_depth": [1, 4]}, cv=3)
    best = search.fit(X, y).cv_results_["mean_test_score"]
    with joblib.parallel_config("dask"):
        np.testing.assert_array_equal(forest.fit(X, y > 0).predict_proba(X), alone)
        np.testing.assert_array_equal(search.fit(X, y).cv_results_["mean_test_score"], best)
