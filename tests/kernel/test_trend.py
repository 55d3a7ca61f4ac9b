"""Trees beside a linear trend: the trend itself, what the model predicts, and what it does not depend on."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Ridge

import softwood
from softwood import KernelTreeClassifier, KernelTreeRegressor, SoftForest, explain, export_text
from softwood.explanations import shapley_values
from softwood.export import from_json, to_json, to_python
from softwood.fitted import FittedModel
from softwood.kernel import trend as trends
from softwood.kernel.parts import survey
from softwood.kernel.trend import Trend
from softwood.trees.nodes import KernelShapes

both = pytest.mark.parametrize("model_class", [KernelTreeClassifier, KernelTreeRegressor])
SMALL = {"max_leaf_nodes": 4, "bandwidth": 0.3, "random_state": 0}


def table(model_class, n=300, seed=0, missing=0.0, n_classes=2):
    """Two columns with a trend, one with a step."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 10.0, 1.0, 1.0]
    signal = 2.0 * X[:, 0] - 0.1 * X[:, 1] + 1.5 * (X[:, 2] > 0.3) + rng.normal(scale=0.3, size=n)
    X[rng.random(X.shape) < missing] = np.nan
    if model_class is KernelTreeRegressor:
        return X, signal
    return X, np.digitize(signal, [0.5] if n_classes == 2 else [-0.5, 1.5])


def some_trend(n_outputs=2):
    rng = np.random.default_rng(3)
    return Trend(
        np.array([0, 2]), np.array([-1.0, 3.0]), np.array([2.0, 4.0]), np.array([0.5, 3.25]), np.array([0.7, 0.2]),
        rng.normal(size=(2, n_outputs)), rng.normal(size=n_outputs),
    )  # fmt: skip


def test_stumps_add_up_to_the_trend_inside_and_outside_of_the_range_and_where_values_are_missing():
    trend = some_trend()
    points = np.random.default_rng(4).normal(1.5, 3.0, size=(50, 3))
    points[::7, 0] = points[::5, 2] = np.nan
    stumps = trend.stumps(3, 10.0, KernelShapes.box(), np.ones(2))
    forest = SoftForest.sum(stumps, [0, 0], trend.base)
    expected = trend.base + sum(
        np.nan_to_num(np.clip(points[:, [j]], trend.low[k], trend.high[k]) - trend.mean[k]) * trend.slopes[k]
        for k, j in enumerate((0, 2))
    )
    np.testing.assert_allclose(forest.predict(points), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(trend.predict(points), expected, rtol=1e-12, atol=1e-12)
    known = FittedModel("model", forest, FittedModel.of(forest).columns, trend=2)
    for part, k in zip(known.linear_parts, range(2), strict=True):
        assert (part.feature, part.low, part.high) == (trend.columns[k], trend.low[k], trend.high[k])
        assert part.center == pytest.approx(trend.mean[k])
        np.testing.assert_allclose(part.slope, trend.slopes[k])


def test_columns_are_chosen_one_after_the_other():
    rng = np.random.default_rng(5)
    Z, Y = rng.normal(size=(80, 6)), rng.normal(size=(80, 2))
    Z[:, 4] = 2.0 * Z[:, 1]  # never chosen beside it
    Y += Z[:, [2]] + 0.5 * Z[:, [5]]
    weights = rng.uniform(0.5, 2.0, size=80)
    order = trends._forward(trends._moments(Z, Y, weights), 6, 6)
    expected, root = [], np.sqrt(weights)[:, None]
    while len(expected) < 5:
        left = {}
        for j in set(range(6)) - set(expected):
            A = np.column_stack([np.ones(80), Z[:, [*expected, j]]]) * root
            if np.linalg.matrix_rank(A) == A.shape[1]:
                left[j] = ((Y * root - A @ np.linalg.lstsq(A, Y * root)[0]) ** 2).sum()
        expected.append(min(left, key=lambda j: (round(left[j], 9), j)))
    assert order.tolist() == expected


def test_slopes_are_those_of_scikit_learn():
    rng = np.random.default_rng(6)
    Z, weights = rng.normal(size=(200, 3)), rng.uniform(0.5, 2.0, size=200)
    y = Z @ [1.0, -2.0, 0.0] + rng.normal(size=200)
    found = trends._ridge(trends._moments(Z, y[:, None], weights), np.arange(3), 3)
    peer = Ridge(alpha=trends.RIDGE).fit(Z, y, weights)
    np.testing.assert_allclose(found[:, 0], [peer.intercept_, *peer.coef_], rtol=1e-8)
    for n_classes in (2, 3):
        labels = np.digitize(y, [-0.5] if n_classes == 2 else [-0.5, 1.0])
        found = trends._logistic(Z, np.eye(n_classes)[labels], weights)
        # Of two classes, scikit-learn penalises the difference of the slopes, and we each of the slopes.
        penalty = trends.RIDGE / (2 if n_classes == 2 else 1)
        peer = LogisticRegression(C=1.0 / penalty, tol=1e-10, max_iter=10_000).fit(Z, labels, weights)
        points = rng.normal(size=(50, 3))
        scores = found[0] + points @ found[1:]
        parts = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(parts, peer.predict_proba(points), atol=1e-3)


@both
def test_predictions_of_a_held_out_row_do_not_depend_on_its_target(model_class):
    X, y = table(model_class, n=60)
    other = y.copy()
    other[7] = 1 - y[7] if model_class is KernelTreeClassifier else y[7] + 1.0

    def held_out(y):
        model = model_class(**SMALL)
        with model._rows(X, y, None, None) as rows:
            trend = trends.held_out_trend(rows.data, np.ones(4, bool), 0)
            outputs = trend.predict(rows.data.matrix)
            return outputs if trend.is_class else rows.data.targets.in_units(outputs)

    found = [held_out(y), held_out(other)]
    np.testing.assert_allclose(found[0][7], found[1][7], rtol=1e-6)
    assert np.abs(found[0] - found[1]).max() > 1e-3, "but on those of others"


@both
@pytest.mark.parametrize("refine", [False, 10])
def test_the_prediction_is_the_sum_of_trend_and_tree(model_class, refine):
    X, y = table(model_class, missing=0.1)
    model = model_class(**SMALL, trend="linear", refine=refine).fit(X, y)
    known = FittedModel.of(model)
    assert [part.feature for part in known.linear_parts][:2] == [0, 1]
    points = np.vstack([X[:20], 100.0 * X[:20]])
    score = model.forest_.base[0] + model.tree_.predict(points)[:, 0]
    for part in known.linear_parts:
        column = np.clip(points[:, part.feature], part.low, part.high) - part.center
        score = score + part.slope[0] * np.nan_to_num(column)
    if model_class is KernelTreeClassifier:
        np.testing.assert_allclose(model.predict_proba(points)[:, 1], 1 / (1 + np.exp(-score)), rtol=1e-9)
        assert np.array_equal(model.predict(points), (score > 0).astype(int))
    else:
        np.testing.assert_allclose(model.predict(points), score, rtol=1e-9)
    assert model.get_n_leaves() == model.tree_.n_leaves <= 4
    assert model.memberships(X).shape == (len(X), model.tree_.n_nodes)
    assert model.feature_importances_.argmax() in (0, 1)


@both
def test_a_trend_is_better_where_there_is_one_and_auto_finds_that_out(model_class):
    X, y = table(model_class)
    held_out = table(model_class, n=1000, seed=1)
    chosen = SMALL | {"bandwidth": "auto"}
    plain = model_class(**chosen, trend=None).fit(X, y)
    auto = model_class(**chosen).fit(X, y)
    assert not hasattr(plain, "forest_")
    assert auto.score(*held_out) > plain.score(*held_out) + 0.05
    steps = (X[:, 2] > 0.3).astype(int) ^ (X[:, 0] > 0)
    assert not hasattr(model_class(**chosen).fit(X, steps), "forest_")
    assert not hasattr(model_class(**SMALL).fit(X, y), "forest_"), "a given bandwidth means this tree"


def test_trees_of_classes_that_are_too_large_to_be_refined_have_no_automatic_trend(monkeypatch):
    X, y = table(KernelTreeClassifier)
    assert hasattr(KernelTreeClassifier(random_state=0).fit(X, y), "forest_")
    monkeypatch.setattr("softwood.kernel.choosing.tree_settings.MOST_REFINED", 1)
    large, alone = (KernelTreeClassifier(random_state=0, trend=trend).fit(X, y) for trend in ("auto", None))
    assert not hasattr(large, "forest_")
    np.testing.assert_array_equal(large.predict_proba(X), alone.predict_proba(X))
    assert hasattr(KernelTreeClassifier(random_state=0, trend="linear").fit(X, y), "forest_")


def test_several_classes_and_targets():
    X, y = table(KernelTreeClassifier, n_classes=3)
    model = KernelTreeClassifier(**SMALL, trend="linear").fit(X, y)
    assert model.forest_.n_outputs == 3
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) > 0.85
    Y = np.column_stack([table(KernelTreeRegressor)[1], X[:, 0] ** 2])
    several = KernelTreeRegressor(**SMALL, trend="linear").fit(X, Y)
    assert several.predict(X).shape == Y.shape
    assert several.score(X, Y) > 0.6


@both
def test_weights_are_repetitions_and_the_order_of_rows_does_not_matter(model_class):
    X, y = table(model_class, n=120, missing=0.1)
    weights = np.random.default_rng(3).integers(0, 3, size=len(X))
    weighted = model_class(**SMALL, trend="linear").fit(X, y, weights)
    repeated = model_class(**SMALL, trend="linear").fit(X.repeat(weights, axis=0), y.repeat(weights))
    order = np.random.default_rng(4).permutation(len(X))
    shuffled = model_class(**SMALL, trend="linear").fit(X[order], y[order], weights[order])
    for other in (repeated, shuffled):
        np.testing.assert_allclose(other.forest_.predict(X), weighted.forest_.predict(X), rtol=1e-7, atol=1e-9)


@both
def test_files_exports_and_explanations_know_the_trend(model_class, tmp_path):
    X, y = table(model_class, missing=0.05)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = model_class(**SMALL, trend="linear").fit(frame, y)
    expected = model.predict_proba(frame) if model_class is KernelTreeClassifier else model.predict(frame)

    def predictions(other, rows):
        return other.predict_proba(rows) if model_class is KernelTreeClassifier else other.predict(rows)

    softwood.save(model, tmp_path / "model.softwood")
    np.testing.assert_array_equal(predictions(softwood.load(tmp_path / "model.softwood"), frame), expected)
    np.testing.assert_array_equal(predictions(pickle.loads(pickle.dumps(model)), frame), expected)
    known = from_json(to_json(model))
    np.testing.assert_allclose(np.squeeze(known.predict(frame)), np.squeeze(expected), rtol=1e-12)
    scope = {}
    exec(to_python(model), scope)
    assert "predict" in scope
    text = export_text(model)
    assert text.startswith("Sum of")
    assert "for each unit of a above" in text
    assert "tree" in text
    shapley = shapley_values(model, frame.head(3))
    raw = model.forest_.predict(X[:3])
    np.testing.assert_allclose(shapley.base_values + shapley.values.sum(axis=1), raw, rtol=1e-6, atol=1e-8)
    words = str(explain(model, frame.iloc[0]))
    assert "linear trend add" in words
    assert "in tree" not in words


@both
def test_gradients(model_class):
    X, y = table(model_class)
    model = model_class(**SMALL, trend="linear").fit(X, y)
    points, step = 0.9 * X[:10], 1e-6  # not at the ends of the ranges

    def predict(rows):
        out = model.predict_proba(rows) if model_class is KernelTreeClassifier else model.predict(rows)[:, None]
        return out

    for j in range(4):
        shift = np.zeros(4)
        shift[j] = step
        slope = (predict(points + shift) - predict(points - shift)) / (2 * step)
        np.testing.assert_allclose(model.input_gradient(points)[:, :, j], slope, rtol=1e-4, atol=1e-5)


@both
def test_columns_with_errors_have_no_trend(model_class):
    X, y = table(model_class)
    model = model_class(**SMALL, trend="linear", measurement_error={0: 0.2}).fit(X, y)
    features = [part.feature for part in FittedModel.of(model).linear_parts]
    assert 0 not in features
    assert 1 in features
    model.predict(X[:3], measurement_error={0: [0.1, 0.2, 0.3]})
    with pytest.raises(ValueError, match=r"must be 0 in column .*linear trend"):
        model.predict(X[:3], measurement_error={1: [0.1, 0.2, 0.3]})
    zero = np.zeros((3, 4))
    zero[:, 0] = 0.2
    np.testing.assert_allclose(model.predict(X[:3], measurement_error=zero), model.predict(X[:3]))


@both
@pytest.mark.parametrize("changed", [{"prediction_kernel": None}, {"bandwidth": 0.0}, {"kernel": "gaussian"}])
def test_crisp_trees_and_other_kernels(model_class, changed):
    X, y = table(model_class)
    held_out = table(model_class, n=1000, seed=1)
    model = model_class(**SMALL | changed, trend="linear").fit(X, y)
    plain = model_class(**SMALL | changed, trend=None).fit(X, y)
    assert model.score(*held_out) > plain.score(*held_out) + 0.02


@both
def test_tables_without_a_trend(model_class):
    _, y = table(model_class, n=30)
    text = pd.DataFrame({"letter": list("abc") * 10})
    assert not hasattr(model_class(**SMALL, trend="linear").fit(text, y), "forest_")
    constant = np.ones((30, 2))
    assert not hasattr(model_class(**SMALL, trend="linear").fit(constant, y), "forest_")
    single = model_class(**SMALL, trend="linear").fit(np.arange(4.0)[:, None], [0, 1, 0, 1])
    assert np.isfinite(single.predict(np.arange(4.0)[:, None])).all()


@both
def test_huge_and_tiny_numbers(model_class):
    X, y = table(model_class, n=80)
    usual = model_class(**SMALL, trend="linear").fit(X, y)
    for factor in (1e-200, 1e200):
        model = model_class(**SMALL, trend="linear").fit(X * factor, y)
        assert model.score(X * factor, y) > usual.score(X, y) - 0.05  # other rows are held out


@both
def test_parameters(model_class):
    X, y = table(model_class, n=30)
    for changed, message in (
        ({"trend": "cubic"}, "trend"),
        ({"trend": True}, "trend"),
        ({"trend": "linear", "bandwidth_per_node": True, "max_leaf_nodes": None}, "trend.*bandwidth_per_node"),
    ):
        with pytest.raises(ValueError, match=message):
            model_class(**SMALL | changed).fit(X, y)
    assert not hasattr(model_class(max_leaf_nodes=None).fit(X, y), "forest_")


@both
@pytest.mark.parametrize("sample", [200_000, 300])
def test_growth_by_levels(model_class, sample, monkeypatch):
    monkeypatch.setattr(survey, "SAMPLE_ROWS", sample)
    X, y = table(model_class, n=1200, missing=0.05)
    given = {"max_depth": 3, "trend": "linear", "refine": 12, "random_state": 0}
    by_node, by_levels = (
        model_class(**given, growth=growth, splitter="hist", max_leaf_nodes=None).fit(X, y)
        for growth in ("node", "level")
    )
    assert len(by_levels.forest_.offsets) == len(by_node.forest_.offsets)
    assert by_levels.tree_.mass[0] == pytest.approx(len(X))
    is_whole = sample > len(X)
    difference = np.abs(by_levels.forest_.predict(X) - by_node.forest_.predict(X)).mean()
    assert difference < (0.05 if is_whole else 0.3) * np.abs(by_node.forest_.predict(X)).mean()
    assert by_levels.score(X, y) > by_node.score(X, y) - (0.01 if is_whole else 0.03)


def test_pictures_say_that_there_is_a_trend():
    pytest.importorskip("matplotlib").use("Agg")
    from softwood.plots import plot_tree

    X, y = table(KernelTreeRegressor, n=60)
    assert plot_tree(KernelTreeRegressor(**SMALL, trend="linear").fit(X, y)).get_title() == "beside a linear trend"
    assert plot_tree(KernelTreeRegressor(**SMALL).fit(X, y)).get_title() == ""


def test_text_names_the_classes_of_a_trend_once():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = KernelTreeClassifier(max_leaf_nodes=3, trend="linear").fit(X, y.map(dict(enumerate("uvw"))))
    lines = export_text(model).splitlines()
    assert lines[0] == "Sum of the scores of classes"
    assert lines[1].startswith("  u: ")
    assert ", v: " in lines[1]
    assert "score of" not in "".join(lines[: lines.index("and the tree")])
    named = export_text(model, class_names=["first", "second", "third"])
    assert named.splitlines()[0] == "Sum of"
    assert "first: " in named


@pytest.mark.parametrize("scale", [2.0**-960, 2.0**960])
def test_importances_with_huge_and_tiny_targets(scale):
    X, y = table(KernelTreeRegressor)
    expected = KernelTreeRegressor(**SMALL, trend="linear").fit(X, y).feature_importances_
    found = KernelTreeRegressor(**SMALL, trend="linear").fit(X, y * scale).feature_importances_
    np.testing.assert_allclose(found, expected)


def test_importances_with_several_targets():
    X, y = table(KernelTreeRegressor)
    expected = KernelTreeRegressor(**SMALL, trend="linear").fit(X, y).feature_importances_
    found = KernelTreeRegressor(**SMALL, trend="linear").fit(X, np.column_stack([y, y, y])).feature_importances_
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@both
@pytest.mark.parametrize("scale", [1e-303, 1e-310, 5e-324])
def test_columns_with_the_smallest_numbers(model_class, scale):
    X, y = table(model_class)
    X[:, 0] *= scale
    for unit in (1.0, 1e9) if model_class is KernelTreeRegressor else (1,):
        model = model_class(random_state=0).fit(X, y * unit)
        assert np.all(np.isfinite(model.predict(X)))
        assert model.score(X, y * unit) > 0.5
        explain(model, X[0])
