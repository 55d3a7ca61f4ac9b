"""The budget of measurement errors: against sums over leaves, quadrature, and readings that are known exactly."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softwood import (
    Kernel,
    KernelBoostingClassifier,
    KernelBoostingRegressor,
    KernelExtraTreesRegressor,
    KernelForestClassifier,
    KernelTreeClassifier,
    KernelTreeRegressor,
    SoftTreeRegressor,
)
from softwood.explanations import ErrorBudget, error_budget

ERRORS = np.array([0.3, 0.5, 0.0, 0.5])


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, 2 * np.sin(1.5 * X[:, 0]) + 1.5 * (X[:, 1] > 0) + X[:, 2] + 0.3 * rng.normal(size=n)


def crisp_tree(**parameters):
    return KernelTreeRegressor(
        bandwidth=0.0, prediction_kernel=None, refine=False, trend=None, max_depth=4, random_state=0, **parameters
    )


def test_of_a_crisp_tree_it_is_a_sum_over_leaves():
    """The memberships with the errors are the chances of a reading to be in the leaves: no simulation is needed."""
    X, y = rows()
    model = crisp_tree(measurement_error=ERRORS).fit(X[:200], y[:200])
    X, y = X[200:], y[200:]
    leaf = model.tree_.children_left < 0
    losses = (model.tree_.value[leaf, 0] - y[:, None]) ** 2

    def expected(errors):
        return (model.memberships(X, measurement_error=errors).toarray()[:, leaf] * losses).sum(axis=1).mean()

    budget = error_budget(model, X, y, n_repeats=400)
    assert budget.columns == ("x[0]", "x[1]", "x[3]")
    np.testing.assert_allclose(budget.errors, [0.3, 0.5, 0.5])
    assert budget.loss_without_errors == pytest.approx(np.mean((model.predict(X) - y) ** 2))
    assert budget.loss == pytest.approx(expected(ERRORS), rel=0.005)
    for k, j in enumerate((0, 1, 3)):
        for factor, found in ((0.0, budget.cost), (0.5, budget.gain)):
            smaller = np.where(np.arange(4) == j, factor, 1.0) * ERRORS
            assert found[k] == pytest.approx(expected(ERRORS) - expected(smaller), abs=0.012)


@pytest.mark.parametrize("kernel", ["box", "triangle", Kernel([-1.0, -0.2, 0.4], [0.5, 2.0])])
def test_of_a_soft_tree_it_is_an_integral_over_readings(kernel):
    X, y = rows()
    y = (y > 0.5).astype(int)
    model = KernelTreeClassifier(bandwidth=0.1, kernel=kernel, refine=False, trend=None, max_leaf_nodes=6)
    model.fit(X[:200, :1], y[:200])
    X, y = X[200:, :1], y[200:]
    known = model._prediction_kernels_.kernels[0]
    at = np.linspace(0.0, 1.0, 401)[1:] - 1 / 800  # of the distribution function
    moves = -np.interp(at, known.cdf, known.edges)

    def expected(width):
        found = [
            np.mean(2 * (model.predict_proba(X + width * move, measurement_error=[width])[:, 1] - y) ** 2)
            for move in (moves if width > 0 else [0.0])
        ]
        return np.mean(found)

    budget = error_budget(model, X, y, measurement_error=[0.4], n_repeats=300)
    assert budget.loss_name == "Brier score"
    assert budget.loss == pytest.approx(expected(0.4), rel=0.01)
    assert budget.loss_without_errors == pytest.approx(expected(0.0))
    assert budget.cost[0] == pytest.approx(expected(0.4) - expected(0.0), abs=0.003)
    assert budget.gain[0] == pytest.approx(expected(0.4) - expected(0.2), abs=0.003)


def test_measured_rows_are_extrapolated_to_what_better_readings_would_give():
    truth, y = rows(5000, seed=3)
    errors = np.array([0.3, 0.4, 0.0, 0.4])
    noise = np.random.default_rng(4).uniform(-1, 1, size=truth.shape)
    X = truth + noise * errors
    model = KernelBoostingRegressor(max_iter=60, bandwidth=0.2, measurement_error=errors, random_state=0)
    model.fit(X[:2000], y[:2000])
    truth, noise, X, y = truth[2000:], noise[2000:], X[2000:], y[2000:]
    budget = error_budget(model, X, y, rows="measured")
    now = np.mean((model.predict(X) - y) ** 2)
    assert budget.loss == pytest.approx(now)
    for k, j in enumerate((0, 1, 3)):
        for factor, found, spread in ((0.0, budget.cost, budget.cost_error), (0.5, budget.gain, budget.gain_error)):
            smaller = np.where(np.arange(4) == j, factor, 1.0) * errors
            better = np.mean((model.predict(truth + noise * smaller, measurement_error=smaller) - y) ** 2)
            assert found[k] == pytest.approx(now - better, abs=0.5 * abs(now - better) + 3 * spread[k])
    # rows without errors say the same
    accurate = error_budget(model, truth, y)
    np.testing.assert_allclose(accurate.gain, budget.gain, atol=0.015)
    assert accurate.order[0] == budget.order[0] == 0


@pytest.mark.parametrize(
    ("model", "losses"),
    [
        (KernelForestClassifier(5, random_state=0), ("auto", "squared_error", "log_loss", "zero_one")),
        (KernelBoostingClassifier(max_iter=5, bandwidth=0.1, random_state=0), ("auto", "log_loss", "zero_one")),
        (KernelExtraTreesRegressor(5, random_state=0), ("auto", "squared_error", "absolute_error")),
        (KernelBoostingRegressor(loss="quantile", quantile=0.8, max_iter=5, bandwidth=0.1), ("auto", "absolute_error")),
        (KernelBoostingRegressor(loss="quantile", quantile=[0.2, 0.8], max_iter=5, bandwidth=0.1), ("auto",)),
        (KernelBoostingRegressor(loss="poisson", max_iter=5, bandwidth=0.1), ("auto", "squared_error")),
        (KernelTreeClassifier(random_state=0), ("auto", "log_loss")),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else None,
)
def test_losses_are_those_of_the_predictions(model, losses):
    frame, y = load_iris(return_X_y=True, as_frame=True)
    labels = np.array(["a", "b", "c"])[y] if hasattr(model, "predict_proba") else y.to_numpy() + 0.5
    model.set_params(measurement_error={"petal width (cm)": 0.3}).fit(frame[::2], labels[::2])
    X, truth = frame[1::2], labels[1::2]
    for loss in losses:
        budget = error_budget(model, X, truth, loss=loss, n_repeats=2, rows="measured")
        assert budget.columns == ("petal width (cm)",)
        if hasattr(model, "predict_proba"):
            P = model.predict_proba(X)
            shares = (truth[:, None] == model.classes_).astype(float)
            expected = {
                "squared_error": ((P - shares) ** 2).sum(axis=1),
                "log_loss": -np.log(np.maximum((P * shares).sum(axis=1), 1e-15)),
                "zero_one": model.predict(X) != truth,
            }["squared_error" if loss == "auto" else loss]
        else:
            if loss == "auto" and getattr(model, "loss", "") in ("quantile", "poisson"):
                expected = model._loss_.row_losses(truth, model._raw(X))
            else:
                error = model.predict(X) - truth
                expected = np.abs(error) if loss == "absolute_error" else error**2
        assert budget.loss == pytest.approx(np.mean(expected))

    def own_loss(y, predictions):
        assert (
            predictions.shape == (model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)).shape
        )
        return np.ones(len(y))

    budget = error_budget(model, X, truth, loss=own_loss, n_repeats=2)
    assert (budget.loss, budget.cost[0], budget.loss_name) == (1.0, 0.0, "own_loss")


@pytest.mark.parametrize(
    "model",
    [
        KernelForestClassifier(10, random_state=0),
        KernelBoostingClassifier(max_iter=20, bandwidth=0.1, random_state=0),
        KernelBoostingRegressor(max_iter=20, bandwidth=0.1, random_state=0),
        KernelTreeRegressor(bandwidth=0.2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_simulation_by_hand_agrees(model):
    """Readings of accurate rows, predicted with their errors by the public method; the tree has two targets."""
    rng = np.random.default_rng(8)
    X, y = rows(500)
    frame = pd.DataFrame(X, columns=["p", "q", "r", "s"]).assign(kind=rng.choice(["u", "v"], size=500))
    truth = np.column_stack([y, -X[:, 0]]) if isinstance(model, KernelTreeRegressor) else y
    truth = np.where(y > 1, "high", "low") if hasattr(model, "predict_proba") else truth
    errors = {"p": rng.uniform(0, 1.5, size=500), "q": np.full(500, 0.6)}
    model.fit(frame[:300], truth[:300], measurement_error={name: error[:300] for name, error in errors.items()})
    frame, truth = frame[300:], truth[300:]
    errors = {name: error[300:] for name, error in errors.items()}
    weights = rng.choice([0.0, 1.0, 2.0], size=200)
    budget = error_budget(
        model, frame, truth, measurement_error=errors, sample_weight=weights, n_repeats=40, random_state=1
    )

    def loss(factors):
        """Of rows, with the errors times these factors, and each time the same noise."""
        found, n_readings = 0.0, 150
        rng = np.random.default_rng(9)
        for _ in range(n_readings):
            readings = frame.copy()
            for name, error in errors.items():
                readings[name] += rng.uniform(-1, 1, size=200) * factors[name] * error
            known = {name: factors[name] * error for name, error in errors.items()}
            if hasattr(model, "predict_proba"):
                shares = truth[:, None] == model.classes_
                difference = model.predict_proba(readings, measurement_error=known) - shares
            else:
                difference = model.predict(readings, measurement_error=known) - truth
            found += (difference.reshape(200, -1) ** 2).sum(axis=1) @ weights / weights.sum() / n_readings
        return found

    now = loss({"p": 1.0, "q": 1.0})
    assert budget.loss == pytest.approx(now, rel=0.02)
    assert budget.columns == ("p", "q")
    for k, name in enumerate(budget.columns):
        for factor, found in ((0.0, budget.cost[k]), (0.5, budget.gain[k])):
            expected = now - loss({"p": 1.0, "q": 1.0, name: factor})
            assert abs(expected) > 0.002
            assert found == pytest.approx(expected, rel=0.12, abs=0.002)


def test_class_probabilities_as_targets():
    X, y = rows()
    shares = np.column_stack([1 / (1 + np.exp(y)), 1 / (1 + np.exp(-y))])
    model = KernelForestClassifier(5, measurement_error=ERRORS, random_state=0).fit(X, shares)
    budget = error_budget(model, X, shares, rows="measured", n_repeats=1)
    assert budget.loss == pytest.approx(((model.predict_proba(X) - shares) ** 2).sum(axis=1).mean())


def test_a_weight_of_zero_leaves_a_row_out_and_the_seed_decides():
    X, y = rows()
    model = crisp_tree(measurement_error=ERRORS).fit(X, y)
    cells = np.tile(ERRORS, (len(X), 1))
    weights = np.where(np.arange(len(X)) < 300, 2.0, 0.0)
    one = error_budget(model, X, y, measurement_error=cells, sample_weight=weights, n_repeats=50)
    some = error_budget(model, X[:300], y[:300], measurement_error=cells[:300], n_repeats=50)
    np.testing.assert_allclose(one.cost, some.cost, atol=6 * np.max(some.cost_error))
    assert one.loss_without_errors == pytest.approx(some.loss_without_errors)
    again = error_budget(model, X, y, measurement_error=cells, sample_weight=weights, n_repeats=50)
    np.testing.assert_array_equal(one.cost, again.cost)
    other = error_budget(model, X, y, measurement_error=cells, sample_weight=weights, n_repeats=50, random_state=1)
    assert not np.array_equal(one.cost, other.cost)


def test_categories_missing_values_and_text():
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(word=np.where(y > 0, "x", "y"))
    frame.loc[::5, "a"] = np.nan
    model = crisp_tree().fit(frame, y)
    budget = error_budget(model, frame, y, measurement_error={"a": 0.2, "b": np.linspace(0, 1, len(y))})
    assert budget.columns == ("a", "b")
    assert budget.errors == pytest.approx([0.16, 0.5])
    table = budget.to_frame()
    assert list(table.columns) == ["error", "cost", "cost_error", "gain", "gain_error"]
    assert list(table.index) == [budget.columns[j] for j in budget.order]
    assert table["gain"].is_monotonic_decreasing
    lines = str(budget).splitlines()
    assert lines[0].startswith("squared_error: ")
    assert lines[2].startswith(table.index[0])
    assert repr(budget) == f"<ErrorBudget of 2 columns, a halved error gains most in {table.index[0]!r}>"
    numbered = pd.DataFrame(X, columns=[3, 2, 1, 0])
    model = crisp_tree(measurement_error={2: 0.5}).fit(numbered, y)
    assert error_budget(model, numbered, y).errors == pytest.approx([0.5])


def test_what_is_refused():
    X, y = rows(60)
    model = crisp_tree(measurement_error=ERRORS).fit(X, y)
    for wrong in (SoftTreeRegressor(max_leaf_nodes=2).fit(X, y), model.tree_, KernelTreeRegressor):
        with pytest.raises(TypeError, match="error_budget takes a fitted kernel tree"):
            error_budget(wrong, X, y)
    with pytest.raises(TypeError, match="Of a pipeline, pass its last step"):
        error_budget(make_pipeline(StandardScaler(), model).fit(X, y), X, y)
    with pytest.raises(TypeError, match="Pass its best_estimator_"):
        error_budget(GridSearchCV(crisp_tree(), {"min_mass": [1, 2]}, cv=2).fit(X, y), X, y)
    for parameter, value in (("rows", "good"), ("n_repeats", 0), ("loss", "log_loss"), ("loss", "hinge")):
        with pytest.raises(ValueError, match=f"The {parameter!r} parameter of error_budget must be"):
            error_budget(model, X, y, **{parameter: value})
    with pytest.raises(ValueError, match="The 'measurement_error' parameter of error_budget must be above 0"):
        error_budget(crisp_tree().fit(X, y), X, y)
    with pytest.raises(ValueError, match="The 'y' parameter of error_budget must be of shape"):
        error_budget(model, X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="a function that returns a loss for each of 60 rows"):
        error_budget(model, X, y, loss=lambda y, predictions: 1.0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        error_budget(model, X, y[:-1])
    with pytest.raises(ValueError, match="sample_weight must leave a row"):
        error_budget(model, X, y, sample_weight=np.zeros(60))
    grown = KernelTreeRegressor(bandwidth="silverman", bandwidth_per_node=True, refine=False, trend=None).fit(X, y)
    with pytest.raises(ValueError, match=r"'bandwidth_per_node' .* False with measurement errors"):
        error_budget(grown, X, y, measurement_error=ERRORS)
    assert isinstance(error_budget(model, X, y), ErrorBudget)
