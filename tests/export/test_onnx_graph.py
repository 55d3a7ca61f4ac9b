from functools import cache

import numpy as np
import onnx
import onnxruntime
import pytest
from sklearn.tree import DecisionTreeClassifier

import softwood
from softwood import SoftForest, SoftTree
from softwood.export import FittedModel, onnx_graph, to_onnx
from tests.export.models import (
    Models,
    answers,
    fitted,
    fitted_to_frames,
    mixed_tree,
    numbers,
    targets,
    trying_rows,
    trying_table,
)

NAMES = fitted()


def session(model, **settings):
    exported = to_onnx(model, **settings)
    onnx.checker.check_model(exported, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(exported.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model, X, **settings):
    """Predictions of onnxruntime, and labels or None."""
    outputs = ["prediction"] if FittedModel.of(model).classes is None else ["probabilities", "label"]
    return (*session(model, **settings).run(outputs, {"X": X}), None)[:2]


def operators(model, **settings):
    return {node.op_type for node in to_onnx(model, **settings).graph.node}


@pytest.mark.parametrize("name", NAMES)
def test_predicts_as_the_model(name):
    model = fitted()[name]
    X = trying_rows(model, 10_000)
    predictions, labels = run(model, X)
    assert predictions.dtype == np.float64
    np.testing.assert_allclose(predictions, answers(model, X), rtol=0, atol=1e-9)
    if labels is not None:
        assert labels.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_predicts_as_the_model_in_single_precision(name):
    model = fitted()[name]
    X = trying_rows(model, 10_000)
    predictions, _ = run(model, X.astype(np.float32), dtype="float32")
    assert predictions.dtype == np.float32
    expected = answers(model, X)
    np.testing.assert_allclose(predictions, expected, rtol=0, atol=1e-5 * max(1.0, np.abs(expected).max()))


def far_away(seed=0, n=400):
    """A column that float32 knows to a 50th of a bandwidth only."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 2)) * 0.1 + [5000.0, 0.0]).astype(np.float32).astype(np.float64)
    return X, np.sin(20 * (X[:, 0] - 5000.0)) + X[:, 1]


@pytest.mark.parametrize(
    "model", [softwood.KernelTreeRegressor(bandwidth=0.3), softwood.SoftTreeRegressor(max_depth=3, random_state=0)]
)
def test_large_offsets_cost_no_digits_beyond_those_of_the_input(model):
    model = model.fit(*far_away())
    X, _ = far_away(1, 2000)
    predictions, _ = run(model, X.astype(np.float32), dtype="float32")
    np.testing.assert_allclose(predictions[:, 0], model.predict(X), rtol=0, atol=1e-5)


# Crisp trees


@cache
def crisp_models():
    X = numbers()
    y = targets(X)
    stump = SoftTree.from_nodes(
        children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[0, -1, -1], threshold=[0.3, np.nan, np.nan],
        missing_left=1.0, value=[[0.5, 1], [0.0, 2], [1.0, 3]], n_features=4,
    )  # fmt: skip
    leaf = SoftTree.from_nodes(children_left=[-1], children_right=[-1], value=[[0.25, 4.0]], n_features=4)
    makers = {
        "two values and a lone leaf": lambda: SoftForest.mean([stump, leaf, stump]),
        "forest": lambda: softwood.KernelForestRegressor(5, bandwidth=0.0, random_state=0).fit(
            X, np.column_stack([y, -y])
        ),
        "boosting": lambda: softwood.KernelBoostingClassifier(max_iter=5, bandwidth=0.0).fit(
            X, np.digitize(y, [-0.5, 0.5])
        ),
    }
    return Models(makers)


@pytest.mark.parametrize("name", crisp_models())
@pytest.mark.parametrize(("ml_opset", "operator"), [(5, "TreeEnsemble"), (3, "TreeEnsembleRegressor")])
def test_crisp_trees_are_one_operator(name, ml_opset, operator):
    model = crisp_models()[name]
    X = trying_rows(model, 5000, with_missing=False)
    assert operator in operators(model, has_missing=False, ml_opset=ml_opset)
    expected = answers(model, X)
    predictions, _ = run(model, X, has_missing=False, ml_opset=ml_opset)
    np.testing.assert_allclose(predictions, expected, rtol=0, atol=1e-12 if ml_opset == 5 else 1e-5)
    predictions, _ = run(model, X.astype(np.float32), dtype="float32", has_missing=False, ml_opset=ml_opset)
    np.testing.assert_allclose(predictions, expected, rtol=0, atol=1e-5)


def test_missing_values_that_go_to_one_side_stay_in_one_operator():
    model = crisp_models()["two values and a lone leaf"]
    assert "TreeEnsemble" in operators(model)
    X = trying_rows(model, 2000)
    np.testing.assert_allclose(run(model, X)[0], model.predict(X), rtol=0, atol=1e-12)


def test_missing_values_that_are_divided_need_shares():
    model = crisp_models()["forest"]
    assert "TreeEnsemble" not in operators(model)
    X = trying_rows(model, 2000)
    np.testing.assert_allclose(run(model, X)[0], model.predict(X), rtol=0, atol=1e-12)


# Categories


def table_inputs(ran, table, dtype):
    """A frame as inputs by name: text with "" where missing, numbers with NaN."""
    out = {}
    for node in ran.get_inputs():
        cells = table[node.name]
        if node.type == "tensor(string)":
            out[node.name] = cells.astype(object).where(cells.notna(), "").to_numpy(dtype=object)[:, None]
        else:
            out[node.name] = cells.astype(float).to_numpy(dtype=dtype)[:, None]
    return out


@pytest.mark.parametrize("name", fitted_to_frames())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_columns_of_text_are_inputs_by_name(name, dtype):
    model = fitted_to_frames()[name]
    table = trying_table(model, 10_000)
    ran = session(model, dtype=dtype)
    predictions = ran.run(None, table_inputs(ran, table, dtype))[-1]
    expected = answers(model, table)
    np.testing.assert_allclose(predictions, expected, rtol=0, atol=1e-9 if dtype == "float64" else 1e-5)


def test_categories_that_are_numbers_stay_in_the_matrix():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([3.0, 5.0, 8.0], 300), rng.normal(size=300)])
    y = (X[:, 0] == 5) + 0.1 * X[:, 1]
    model = softwood.KernelTreeRegressor(bandwidth=0.1, max_depth=4, categorical_features=[0]).fit(X, y)
    X[::7, 0], X[::11, 0], X[::5, 1] = 4.0, np.nan, np.nan  # unknown and missing
    np.testing.assert_allclose(run(model, X)[0][:, 0], model.predict(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("labels", [[True, False], [1, 5], [1.0, 2.0], ["a", "b"]])
def test_labels_keep_their_type(labels):
    X = numbers(100)
    y = np.array(labels)[(targets(X) > 0).astype(int)]
    model = softwood.KernelTreeClassifier(bandwidth=0.2, max_depth=3).fit(X, y)
    found = run(model, X)[1]
    assert found.tolist() == model.predict(X).tolist()


# Limits


def test_chunks_do_not_change_predictions(monkeypatch):
    forest = SoftForest.mean([mixed_tree(k) for k in range(7)])
    X = trying_rows(forest, 500)
    whole = run(forest, X)[0]
    monkeypatch.setattr(onnx_graph, "CHUNK_LEAVES", 40)
    assert [len(trees) for trees in onnx_graph.chunks(forest)] == [2, 2, 2, 1]
    np.testing.assert_allclose(run(forest, X)[0], whole, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("limit", "message"), [("MAX_TREE_LEAVES", "up to 15 leaves"), ("MAX_NODES", "up to 15 nodes")]
)
def test_models_that_are_too_large_are_refused(monkeypatch, limit, message):
    monkeypatch.setattr(onnx_graph, limit, 15)
    with pytest.raises(ValueError, match=message):
        to_onnx(mixed_tree())


@pytest.mark.parametrize("wrong", [{"dtype": "float16"}, {"has_missing": 1}, {"ml_opset": 4}])
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of to_onnx"):
        to_onnx(mixed_tree(), **wrong)


# Rounding flips the answers of crisp trees, not those of soft ones


def test_soft_predictions_do_not_flip():
    """The same tests, crisp and with kernels: float32 moves rows to other leaves, or predictions by rounding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) + 1000.0
    y = (np.sin(3 * X).sum(axis=1) > 0).astype(int)
    crisp = softwood.KernelTreeClassifier(bandwidth=0.0, max_leaf_nodes=None).fit(X, y).tree_
    soft = crisp.with_kernel(np.full(3, 0.1), np.zeros(3, dtype=int), crisp.shapes)
    moved = {name: moves(tree, near_thresholds(crisp)) for name, tree in (("crisp", crisp), ("soft", soft))}
    assert np.sum(moved["crisp"] > 0.5) > 100
    assert moved["soft"].max() < 5e-3  # the input's rounding, 3e-5, over the half-width of 0.1, at each gate of a path


def test_trees_of_scikit_learn_do_not_flip_either():
    """scikit-learn rounds rows to float32, and the imported thresholds are limits of what is rounded."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) + 1000.0
    tree = SoftTree.from_sklearn(DecisionTreeClassifier(random_state=0).fit(X, np.sin(3 * X).sum(axis=1) > 0))
    assert moves(tree, near_thresholds(tree)).max() < 1e-6


def near_thresholds(tree, n=20_000):
    """Rows whose values are all within a few steps of float32 of a threshold."""
    rng = np.random.default_rng(1)
    thresholds = tree.threshold[tree.children_left >= 0]
    return rng.choice(thresholds, (n, 3)) + rng.uniform(-1e-4, 1e-4, (n, 3))


def moves(tree, X):
    """By how much float32 changes the prediction of each row."""
    return np.abs(run(tree, X.astype(np.float32), dtype="float32")[0] - tree.predict(X)).max(axis=1)
