"""Hundreds of classes: leaves that know them soon, growth that goes on, and a tree that is deep enough."""

import numpy as np
import pytest

from softwood.stream import SoftHoeffdingTreeClassifier
from softwood.stream.river import SoftHoeffdingTreeClassifier as RiverTree


def many_classes(n_classes, n_each=200):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(n_classes), n_each))
    return np.column_stack([y + 0.1 * rng.normal(size=len(y)), y % 17]), y


@pytest.mark.parametrize(("n_classes", "least"), [(10, 0.99), (30, 0.99), (200, 0.98)])
def test_many_classes_are_learned(n_classes, least):
    X, y = many_classes(n_classes)
    model = SoftHoeffdingTreeClassifier(random_state=0)
    found = model.test_then_train(X, y, classes=np.arange(n_classes))
    last = slice(-len(y) // 5, None)
    assert (found[last].argmax(axis=1) == y[last]).mean() > least
    assert model.growth_.n_inner >= n_classes - 1
    np.testing.assert_allclose(model.tree_.predict(X[:50]), model.predict_proba(X[:50]), atol=1e-9)


def test_labels_that_come_one_after_the_other():
    X, y = many_classes(60, n_each=120)
    model, n_right = RiverTree(seed=0), 0
    for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(row))
        n_right += i >= 5760 and model.predict_one(x) == label
        model.learn_one(x, label)
    assert n_right / (len(y) - 5760) > 0.9
    assert model.height >= 7


def test_the_range_of_merits():
    """With more than two classes, Hoeffding's bound is wider by the entropy of the classes, as in the paper."""
    X, y = many_classes(16, n_each=100)
    bounds = [
        SoftHoeffdingTreeClassifier(merit_range=name, tau=10.0, random_state=0).fit(X, y).log_[0].bound
        for name in ("test", "classes")
    ]
    assert bounds[1] == pytest.approx(4.0 * bounds[0])


def test_the_published_tree_is_what_it_was():
    """Depth 7, gradients from the first row on, the entropy of the classes in the bound, all values as they are."""
    settings = SoftHoeffdingTreeClassifier.as_published()._new_growth(2, 200, 0).settings
    assert settings.max_depth == 7.0
    names = ("outlier_limit", "count_period", "merit_range", "deeper_for_classes")
    assert not any(getattr(settings, name) for name in names)
