import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from softwood.stream import (
    SEA,
    Agrawal,
    HoeffdingTreeClassifier,
    SmoothStepTreeClassifier,
    SmoothStepTreeRegressor,
    SoftHoeffdingTreeClassifier,
    SoftHoeffdingTreeRegressor,
)
from softwood.stream.loops.layout import FEATURE, LEFT, RIGHT, THRESHOLD
from softwood.stream.transparency import decision_rules, important_features


@pytest.fixture(scope="module")
def sea():
    return SEA(seed=0).take(3000)


@pytest.fixture(scope="module")
def growing(sea):
    return SoftHoeffdingTreeClassifier(grace_period=50, max_depth=4, random_state=0).fit(*sea)


@pytest.fixture(scope="module")
def complete(sea):
    return SmoothStepTreeClassifier(max_depth=3, random_state=0).fit(*sea)


def by_hand(model, X):
    """Equations 4 and 5, written down once more, row by row and node by node."""
    growth = model.growth_
    nodes, _, inner = growth.structure()
    shares = model.tree_.memberships(X).toarray()
    Z, p = growth.standardised(X), X.shape[1]
    counts = np.full(shares.shape, np.nan)
    for row in range(len(X)):
        for node in np.flatnonzero(inner):
            if shares[row, node] == 0:
                continue
            alpha, w = growth.alphas[node], growth.weights[node]
            sigma = sum(abs(w[i] * Z[row, i]) for i in range(p))
            counts[row, node] = sum(alpha * abs(w[i] * Z[row, i]) / sigma >= 1 / p for i in range(p))
            if nodes[node, FEATURE] >= 0:
                counts[row, node] += 1 - alpha >= 1 / p
    return counts


def stump(weights, alpha):
    """A tree with one gate, its numbers set by hand, that sees rows as they are."""
    X = np.random.default_rng(0).normal(size=(300, len(weights)))
    model = SoftHoeffdingTreeClassifier(max_depth=1, grace_period=50, alpha=alpha, random_state=0)
    model.fit(X, X[:, 0] > 0)
    assert model.tree_.n_nodes == 3
    arrays = model.growth_.arrays
    arrays["gates"][0, 0] = [alpha, 0.0, *weights]
    arrays["scaler"][1], arrays["scaler"][2] = 0.0, 1.0
    return model


@pytest.mark.parametrize("kind", ["growing", "complete"])
def test_counts_are_those_of_the_equations(kind, sea, request):
    model = request.getfixturevalue(kind)
    X = sea[0][:200]
    found = important_features(model, X)
    expected = by_hand(model, X)
    assert np.isnan(expected).any()
    assert model.growth_.n_inner > 3
    np.testing.assert_array_equal(found.counts, expected)
    np.testing.assert_allclose(found.per_row, np.nanmean(expected, axis=1))
    inner = model.growth_.structure()[2]
    np.testing.assert_allclose(found.per_node[inner], np.nanmean(expected[:, inner], axis=0))
    assert np.isnan(found.per_node[~inner]).all()
    assert found.mean == pytest.approx(np.nanmean(expected))
    assert found.n_rules == np.sum(~np.isnan(expected))
    assert found.share == pytest.approx(found.mean / 3)
    assert "3 features" in repr(found)


def test_published_tree_and_regressors():
    X, y = Agrawal(seed=1).take(4000)
    model = SoftHoeffdingTreeClassifier.as_published(random_state=0).fit(X, y)
    np.testing.assert_array_equal(important_features(model, X[:50]).counts, by_hand(model, X[:50]))
    for regressor in (SoftHoeffdingTreeRegressor(random_state=0), SmoothStepTreeRegressor(max_depth=2, random_state=0)):
        regressor.fit(X, X[:, 0])
        np.testing.assert_array_equal(important_features(regressor, X[:50]).counts, by_hand(regressor, X[:50]))


def test_hand_computed_stump():
    # p = 4, parts 0.5, 0.25, 0.25, 0: times alpha = 0.5 only the first reaches 1/4; and 1 - alpha does.
    model = stump([2.0, 1.0, -1.0, 5.0], 0.5)
    found = important_features(model, [[1.0, 1.0, 1.0, 0.0]])
    assert found.counts[0, 0] == 2
    # equal parts do not reach 1/4 when halved: only the test is left
    assert important_features(model, [[0.5, 1.0, 1.0, 0.2]]).counts[0, 0] == 1
    # all summands 0: no feature of the smooth step is important
    assert important_features(model, [[0.0, 0.0, 0.0, 0.0]]).counts[0, 0] == 1
    assert important_features(model, [[np.nan] * 4]).counts[0, 0] == 1


def test_a_test_of_little_weight_is_dropped():
    # 1 - alpha < 1/p: the paper's remark on SEA, whose three features make 1/p large
    x = [[1.0, 0.0, 0.0]]
    assert important_features(stump([1.0, 1.0, 1.0], 0.6), x).mean == 2
    assert important_features(stump([1.0, 1.0, 1.0], 0.7), x).mean == 1


def test_equal_but_for_rounding():
    # 1 - 0.9 < 0.1 in floating point
    model = stump([1.0] + [0.0] * 9, 0.9)
    assert important_features(model, [[1.0] + [0.0] * 9]).mean == 2
    complete = SmoothStepTreeClassifier(max_depth=1, random_state=0).fit(np.eye(7), [0, 1] * 3 + [0])
    complete.growth_.arrays["gates"][0, 0, 2:] = 0.1
    complete.growth_.arrays["scaler"][1], complete.growth_.arrays["scaler"][2] = 0.0, 1.0
    assert important_features(complete, np.full((1, 7), 0.3)).mean == 7


def test_smooth_step_has_no_test_to_count(complete, sea):
    growth = complete.growth_
    assert (growth.structure()[0][:, FEATURE] < 0).all()
    found = important_features(complete, sea[0])
    # of three parts that add up to 1, one is at least a third, and not all are unless they are equal
    assert np.nanmin(found.counts) == 1
    assert np.nanmax(found.counts) == 2


def test_tree_without_a_rule(sea):
    model = SoftHoeffdingTreeClassifier(random_state=0).fit(sea[0][:10], sea[1][:10])
    found = important_features(model, sea[0][:5])
    assert found.n_rules == 0
    assert np.isnan([found.mean, found.share, *found.per_row, *found.per_node]).all()
    assert decision_rules(model, sea[0][0]) == []


def test_rules_agree_with_the_tree(growing, sea):
    X = sea[0][:30]
    tree, counts = growing.tree_, important_features(growing, X).counts
    shares = tree.memberships(X).toarray()
    nodes, numbers, inner = growing.growth_.structure()
    for row in range(30):
        rules = decision_rules(growing, X[row])
        assert [rule.node for rule in rules] == np.flatnonzero((shares[row] > 0) & inner).tolist()
        for rule in rules:
            assert rule.share == pytest.approx(shares[row, rule.node])
            assert rule.depth == tree.depth[rule.node]
            assert rule.share * rule.left == pytest.approx(shares[row, nodes[rule.node, LEFT]], abs=1e-12)
            assert rule.share * (1 - rule.left) == pytest.approx(shares[row, nodes[rule.node, RIGHT]], abs=1e-12)
            assert rule.left == pytest.approx(rule.alpha * rule.step + (1 - rule.alpha) * rule.passed)
            assert rule.passed == (X[row, nodes[rule.node, FEATURE]] <= numbers[rule.node, THRESHOLD])
            assert rule.n_important == counts[row, rule.node]
            parts = [part.part for part in rule.important]
            assert parts == sorted(parts, reverse=True)


def test_text_of_a_rule():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 2)), columns=["age", "salary"])
    model = SoftHoeffdingTreeClassifier(max_depth=1, grace_period=50, alpha=0.25, random_state=0)
    model.fit(frame, frame["salary"] > 0)
    model.growth_.arrays["gates"][0, 0] = [0.25, 0.0, 0.1, -0.2]
    model.growth_.arrays["scaler"][1], model.growth_.arrays["scaler"][2] = 0.0, 1.0
    model.growth_.arrays["numbers"][0, THRESHOLD] = 0.0625
    row = frame.iloc[:1].assign(age=0.0, salary=1.0)
    (rule,) = decision_rules(model, row)
    assert rule.test == "salary <= 0.0625"
    assert rule.passed is False
    # S(-0.2) with gamma = 1: 2 * 0.008 - 0.3 + 0.5
    assert rule.step == pytest.approx(0.216)
    assert rule.important == ()
    assert str(rule) == (
        "node 0 (share 1): 0.75 [salary <= 0.0625: no] + 0.25 [smooth step 0.22: no feature above average] -> 5 % left"
    )
    model.growth_.arrays["gates"][0, 0, 0] = 0.5
    (rule,) = decision_rules(model, row)
    assert "0.50 [smooth step 0.22: salary -0.2 (100 %)] -> 11 % left" in str(rule)
    (rule,) = decision_rules(model, row.assign(salary=np.nan))
    assert rule.passed is None
    assert "missing" in str(rule)
    # what the rule says is what the tree does
    raw = model.tree_.value[1] * rule.left + model.tree_.value[2] * (1 - rule.left)
    assert model.predict_proba(row.assign(salary=np.nan))[0] == pytest.approx(np.exp(raw) / np.exp(raw).sum())


def test_categories_and_gates_without_tests(complete, sea):
    frame = pd.DataFrame({"city": ["Rome", "Oslo"] * 150, "x": np.arange(300.0) % 7})
    model = SoftHoeffdingTreeClassifier(max_depth=1, grace_period=50, random_state=0)
    model.fit(frame, frame["city"] == "Rome")
    (rule,) = decision_rules(model, frame.iloc[:1])
    assert rule.test in ("not city=Rome", "not city=Oslo")
    assert important_features(model, frame).n_features == 3
    for rule in decision_rules(complete, sea[0][0]):
        assert (rule.test, rule.passed, rule.test_is_important, rule.alpha) == (None, None, False, 1.0)
        assert "[smooth step" in str(rule)


def test_other_models_are_refused(sea):
    with pytest.raises(ValueError, match=r"'model' parameter of important_features must be a fitted soft Hoeffding"):
        important_features(HoeffdingTreeClassifier().fit(*sea), sea[0])
    with pytest.raises(ValueError, match=r"'model' parameter of decision_rules must be .* Got 'tree' instead"):
        decision_rules("tree", sea[0][0])
    with pytest.raises(NotFittedError):
        important_features(SoftHoeffdingTreeClassifier(), sea[0])


def test_wrong_rows(growing, sea):
    with pytest.raises(ValueError, match=r"'x_row' parameter of decision_rules must be one row. Got 2 rows"):
        decision_rules(growing, sea[0][:2])
    with pytest.raises(ValueError, match="features"):
        important_features(growing, sea[0][:, :2])
