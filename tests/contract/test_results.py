"""What fitted models say: predictions, shares, paths, slopes, importances; and that they always say the same."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.contract.specs import SPECS, every, every_classifier, over_ways
from tests.models import answer, assert_same_model, trees_of


@every_classifier
def test_the_most_probable_class_is_predicted(spec):
    model, (X, _) = spec.fitted(), spec.table(seed=1)
    found = model.predict_proba(X)
    assert found.shape == (120, 3)
    assert found.min() >= 0.0
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.array_equal(model.predict(X), model.classes_[found.argmax(axis=1)])
    logs = model.predict_log_proba(X)
    assert np.array_equal(logs == -np.inf, found == 0)
    assert np.exp(logs) == pytest.approx(found)


@every
@pytest.mark.parametrize("missing", [False, True])
def test_leaves_share_each_row(spec, missing):
    """Shares of leaves add up to 1 in each tree, and to those of nodes above; paths and leaves are read off them."""
    model, (X, _) = spec.fitted(), spec.table(seed=1)
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
        assert np.isfinite(answer(model, X)).all()
    shares, trees = model.memberships(X).toarray(), trees_of(model)
    path, leaves = model.decision_path(X), model.apply(X)
    ends = np.cumsum([0, *(tree.n_nodes for tree in trees)])
    if isinstance(path, tuple):  # as scikit-learn's forests
        path, pointer = path
        assert pointer.tolist() == ends.tolist()
    if hasattr(model, "forest_"):
        assert leaves.shape == (len(X), len(trees))
    assert shares.shape == path.shape == (len(X), ends[-1])
    assert leaves.dtype.kind == "i"
    np.testing.assert_array_equal(path.toarray() > 0, shares > 0)
    for tree, begin, end, found in zip(trees, ends, ends[1:], leaves.reshape(len(X), -1).T, strict=False):
        own, is_leaf = shares[:, begin:end], tree.children_left < 0
        np.testing.assert_allclose(own[:, is_leaf].sum(axis=1), 1.0)
        inner = np.flatnonzero(~is_leaf)
        below = own[:, tree.children_left[inner]] + own[:, tree.children_right[inner]]
        np.testing.assert_allclose(below, own[:, inner], atol=1e-12)
        np.testing.assert_array_equal(found, np.where(is_leaf, own, -1.0).argmax(axis=1))
    assert isinstance(model.decision_path(X), tuple) == hasattr(model, "forest_")


@every
def test_the_finished_trees_say_what_the_model_says(spec):
    X, y = spec.table()
    own = {"leaf_prediction": "mc" if spec.is_classifier else "mean"} if "leaf_prediction" in spec.parameters else {}
    model = spec.make(**own).fit(X, y)
    said = model.decision_function(X) if hasattr(model, "decision_function") else answer(model, X)
    matrix = model._matrix(X)
    finished = model.forest_ if hasattr(model, "forest_") else model.tree_
    np.testing.assert_allclose(finished.predict(matrix).reshape(said.shape), said, rtol=1e-12, atol=1e-12)
    assert model.get_n_leaves() == sum(tree.n_leaves for tree in trees_of(model))


@every
def test_importances(spec):
    X, y = spec.table(n=200)
    model = spec.make().fit(X, y)
    found = model.feature_importances_
    assert found.shape == (4,)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0)
    assert found.argmax() in (0, 1)
    assert found[:2].sum() > found[2:].sum()
    if spec.name != "KernelBoostingClassifier":
        constant = spec.make().fit(X, np.full(200, y[0]))
        assert constant.feature_importances_.tolist() == [0, 0, 0, 0] or constant.get_n_leaves() > 1


@over_ways(SPECS)
def test_same_seed_same_bits(spec, way):
    X, y = spec.table()
    assert_same_model(*(spec.make(**way).fit(X, y) for _ in range(2)))
    if "random_state" in spec.parameters:
        assert_same_model(*(spec.make(**way, random_state=np.random.RandomState(3)).fit(X, y) for _ in range(2)))


@every
def test_looking_changes_nothing(spec):
    X, y = spec.table()
    model = spec.make().fit(X, y)
    before = dict(vars(model))

    def look():
        paths = model.decision_path(X)
        found = [model.predict(X), answer(model, X), model.memberships(X).toarray(), model.apply(X)]
        found += [(paths[0] if isinstance(paths, tuple) else paths).toarray(), model.input_gradient(X)]
        return [*found, model.feature_importances_, trees_of(model)[0].value, np.array(model.score(X, y)), repr(model)]

    for one, other in zip(look(), look(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert vars(model).keys() == before.keys()
    assert all(before[name] is value for name, value in vars(model).items())


@every
def test_several_threads_may_predict(spec):
    X, _ = spec.table(n=2000, seed=1)
    model = spec.fitted()
    expected = answer(model, X)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: answer(model, X), range(8)):
            np.testing.assert_array_equal(found, expected)


def test_one_row_is_predicted_as_among_many():
    for spec in SPECS:
        model, (X, _) = spec.fitted(), spec.table(n=5, seed=1)
        rows = np.concatenate([answer(model, X[i : i + 1]) for i in range(5)])
        np.testing.assert_allclose(rows, answer(model, X), rtol=1e-12, atol=1e-12)
