import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.metrics import log_loss, mean_absolute_error, mean_pinball_loss, mean_poisson_deviance, mean_squared_error

from softwood.core.losses import (
    LARGEST_PREDICTED_LOG,
    SMALLEST_HESSIAN,
    AbsoluteError,
    BinaryLogLoss,
    PoissonDeviance,
    QuantileError,
    SoftmaxLogLoss,
    SquaredError,
    loss_by_name,
)

LABELS, FUZZY = "labels", "fuzzy labels"
REALS, COUNTS, PROBABILITIES = "reals", "counts", "probabilities"
SMOOTH = [
    (SquaredError(), REALS),
    (PoissonDeviance(), COUNTS),
    (BinaryLogLoss(), LABELS),
    (BinaryLogLoss(), PROBABILITIES),
    (SoftmaxLogLoss(3), LABELS),
    (SoftmaxLogLoss(3), FUZZY),
    (SoftmaxLogLoss(1), LABELS),
]
ROBUST = [(AbsoluteError(), REALS), (QuantileError(0.3), REALS), (QuantileError(0.9), REALS)]
CASES = SMOOTH + ROBUST

quarters = st.integers(-16, 16).map(lambda k: k / 4)


@st.composite
def targets(draw, loss, kind, n):
    if kind == FUZZY:
        shares = np.array([[draw(st.integers(0, 4)) for _ in range(loss.n_scores)] for _ in range(n)], dtype=float)
        shares[shares.sum(axis=1) == 0] = 1.0
        return shares / shares.sum(axis=1, keepdims=True)
    if kind == LABELS and isinstance(loss, SoftmaxLogLoss):
        return np.array([draw(st.integers(0, loss.n_scores - 1)) for _ in range(n)], dtype=np.int32)
    values = {
        REALS: quarters,
        COUNTS: st.integers(0, 9),
        PROBABILITIES: st.integers(0, 8).map(lambda k: k / 8),
        LABELS: st.integers(0, 1),
    }[kind]
    return np.array([draw(values) for _ in range(n)], dtype=float)


@st.composite
def problems(draw, cases, *, whole_weights=False, max_rows=6):
    """A loss, targets, raw scores that hit no target, and weights."""
    loss, kind = draw(st.sampled_from(cases))
    n = draw(st.integers(1, max_rows))
    y = draw(targets(loss, kind, n))
    raw = np.array([[draw(quarters) + 0.125 for _ in range(loss.n_scores)] for _ in range(n)])
    if whole_weights:
        weights = np.array([draw(st.integers(0, 3)) for _ in range(n)], dtype=float)
        assume(weights.sum() > 0)
    elif draw(st.booleans()):
        weights = None
    else:
        weights = np.array([draw(st.sampled_from([1.0, 2.0, 0.7, 0.01])) for _ in range(n)])
    return loss, y, raw, weights


def derivatives(loss, y, raw, weights):
    gradient, hessian = np.full(raw.shape, np.nan), np.full(raw.shape, np.nan)
    loss.gradients(y, raw, weights, gradient, hessian)
    return gradient, hessian


def differences(loss, y, raw, weights, step):
    """First and second central differences of the total loss with respect to each raw score."""
    total = len(y) if weights is None else weights.sum()
    first, second = np.empty(raw.shape), np.empty(raw.shape)
    for place in np.ndindex(raw.shape):
        shift = np.zeros(raw.shape)
        shift[place] = step
        above, here, below = (total * loss.value(y, raw + k * shift, weights) for k in (1, 0, -1))
        first[place] = (above - below) / (2 * step)
        second[place] = (above - 2 * here + below) / step**2
    return first, second


def constant(loss, scores, n):
    return np.tile(np.reshape(scores, (1, loss.n_scores)), (n, 1))


@given(problems(CASES))
def test_gradients_are_differences_of_the_value(problem):
    loss = problem[0]
    gradient, _ = derivatives(*problem)
    expected, _ = differences(*problem, step=1e-5)
    assert gradient == pytest.approx(expected, rel=1e-6, abs=1e-7)
    if loss.n_scores > 1:
        assert gradient.sum(axis=1) == pytest.approx(0.0, abs=1e-13)


@given(problems(SMOOTH))
def test_hessians_are_second_differences_of_the_value(problem):
    _, hessian = derivatives(*problem)
    _, expected = differences(*problem, step=1e-3)
    assert hessian == pytest.approx(expected, rel=1e-5, abs=1e-6)


@given(problems(ROBUST))
def test_weights_stand_in_for_a_second_derivative_of_0(problem):
    _, y, _, weights = problem
    _, hessian = derivatives(*problem)
    assert hessian[:, 0].tolist() == ([1.0] * len(y) if weights is None else weights.tolist())


@pytest.mark.parametrize("loss", [AbsoluteError(), QuantileError(0.3)])
def test_no_gradient_where_the_target_is_hit(loss):
    y = np.array([-1.0, 0.0, 2.5])
    gradient, hessian = derivatives(loss, y, y[:, None], None)
    assert gradient.tolist() == [[0.0]] * 3
    assert hessian.tolist() == [[1.0]] * 3


@given(problems(SMOOTH))
def test_no_constant_is_better_than_the_start(problem):
    loss, y, _, weights = problem
    start = loss.start(y, weights)
    assert start.shape == (loss.n_scores,)
    best = loss.value(y, constant(loss, start, len(y)), weights)
    found = minimize(lambda scores: loss.value(y, constant(loss, scores, len(y)), weights), np.zeros(loss.n_scores))
    assert best <= found.fun + 1e-12
    assert best == pytest.approx(found.fun, abs=1e-3)  # the minimum may be at infinity
    gradient, _ = derivatives(loss, y, constant(loss, start, len(y)), weights)
    assert gradient.sum(axis=0) == pytest.approx(0.0, abs=1e-12)
    if loss.n_scores > 1:
        assert start.mean() == pytest.approx(0.0, abs=1e-12)


@given(problems(ROBUST))
def test_start_of_quantiles_is_the_middle_of_the_best_constants(problem):
    loss, y, _, weights = problem
    values = np.array([loss.value(y, np.full((len(y), 1), c), weights) for c in y])
    best = y[values <= values.min() + 1e-12]
    assert loss.start(y, weights) == pytest.approx((best.min() + best.max()) / 2)
    assert loss.leaf_value(y, weights) == loss.start(y, weights)[0]


@given(problems(CASES, whole_weights=True))
def test_a_weight_is_a_repetition(problem):
    loss, y, raw, weights = problem
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    assert loss.value(y, raw, weights) == pytest.approx(loss.value(y[rows], raw[rows], None))
    assert loss.start(y, weights) == pytest.approx(loss.start(y[rows], None), abs=1e-12)
    for weighted, repeated in zip(
        derivatives(loss, y, raw, weights), derivatives(loss, y[rows], raw[rows], None), strict=True
    ):
        expected = np.zeros(raw.shape)
        np.add.at(expected, rows, repeated)
        assert weighted == pytest.approx(expected, abs=1e-12)
    if not loss.has_exact_leaves:
        residuals = y - raw[:, 0]
        assert loss.leaf_value(residuals, weights) == loss.leaf_value(residuals[rows], None)


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 9)), min_size=1, max_size=30),
    st.integers(1, 99),
    st.sampled_from([1.0, 0.1, 1 / 3, 1e-200, 1e200]),
)
def test_quantiles_with_ties_are_exact(rows, percent, unit):
    values, counts = np.array(rows, dtype=float).T
    assume(counts.sum() > 0)
    loss = QuantileError(percent / 100)
    repeated = np.sort(np.repeat(values, counts.astype(int)))
    # by whole numbers, which know no rounding
    low = -(-percent * len(repeated) // 100) - 1
    high = percent * len(repeated) // 100
    expected = (repeated[low] + repeated[high]) / 2
    assert loss.leaf_value(repeated, None) == expected
    assert loss.leaf_value(values, counts * unit) == expected
    if percent == 50:
        assert AbsoluteError().leaf_value(repeated, None) == np.median(repeated)


@pytest.mark.parametrize("n", [20, 100, 300])
def test_quantiles_between_two_rows_are_found_in_spite_of_rounding(n):
    values = np.arange(n, dtype=float)
    for percent in range(1, 100):
        loss = QuantileError(percent / 100)
        expected = (-(-percent * n // 100) - 1 + percent * n // 100) / 2
        assert loss.leaf_value(values, None) == expected
        for weight in (1.0, 0.1, 1 / 3):
            assert loss.leaf_value(values, np.full(n, weight)) == expected


@pytest.mark.parametrize("quantile", [1e-300, 1e-14, 1 - 1e-14])
def test_rows_without_weight_are_no_extremes(quantile):
    values, weights = np.array([-9.0, 1.0, 2.0, 9.0]), np.array([0.0, 1.0, 1.0, 0.0])
    loss = QuantileError(quantile)
    assert loss.leaf_value(values, weights) == loss.leaf_value(values[1:3], None)
    assert 1 <= loss.leaf_value(values, weights) <= 2


@pytest.mark.parametrize("loss", [AbsoluteError(), QuantileError(0.2)])
def test_leaf_without_weight(loss):
    assert loss.leaf_value(np.array([3.0, 4.0]), np.zeros(2)) == 0.0
    assert loss.leaf_value(np.empty(0), np.empty(0)) == 0.0
    assert loss.leaf_value(np.empty(0), None) == 0.0


def test_only_quantiles_have_leaf_values_of_their_own():
    assert [loss.has_exact_leaves for loss, _ in CASES] == [True] * len(SMOOTH) + [False] * len(ROBUST)
    with pytest.raises(NotImplementedError, match="SquaredError are Newton steps"):
        SquaredError().leaf_value(np.ones(2), None)


def sample(seed=0, n=50):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=n), rng.normal(size=(n, 1)), rng.random(n)


def test_values_of_reals_are_those_of_scikit_learn():
    _, y, raw, weights = sample()
    for w in (None, weights):
        prediction = SquaredError().predict(raw)
        assert 2 * SquaredError().value(y, raw, w) == pytest.approx(mean_squared_error(y, prediction, sample_weight=w))
        expected = mean_absolute_error(y, AbsoluteError().predict(raw), sample_weight=w)
        assert AbsoluteError().value(y, raw, w) == pytest.approx(expected)
        for quantile in (0.1, 0.5, 0.8):
            loss = QuantileError(quantile)
            expected = mean_pinball_loss(y, loss.predict(raw), sample_weight=w, alpha=quantile)
            assert loss.value(y, raw, w) == pytest.approx(expected)


def test_poisson_value_is_half_the_deviance_without_its_constant():
    rng, _, raw, weights = sample()
    y = rng.poisson(2.0, size=len(raw)).astype(float)
    loss = PoissonDeviance()
    for w in (None, weights):
        constants = y * np.log(np.maximum(y, 1e-300)) - y
        value = 2 * (loss.value(y, raw, w) + np.average(constants, weights=w))
        assert value == pytest.approx(mean_poisson_deviance(y, loss.predict(raw), sample_weight=w))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_log_losses_are_those_of_scikit_learn(n_classes):
    rng, _, _, weights = sample()
    y = rng.integers(n_classes, size=50).astype(np.int32)
    raw = rng.normal(size=(50, n_classes))
    loss = SoftmaxLogLoss(n_classes)
    for w in (None, weights):
        expected = log_loss(y, loss.predict(raw), sample_weight=w, labels=np.arange(n_classes))
        assert loss.value(y, raw, w) == pytest.approx(expected)
        if n_classes == 2:
            binary, odds = BinaryLogLoss(), raw[:, 1:] - raw[:, :1]
            assert binary.predict(odds) == pytest.approx(loss.predict(raw))
            assert binary.value(y.astype(float), odds, w) == pytest.approx(expected)
            assert np.diff(loss.start(y, w)) == pytest.approx(binary.start(y.astype(float), w))


@given(problems([(SoftmaxLogLoss(3), LABELS), (SoftmaxLogLoss(1), LABELS)]))
def test_labels_are_certain_probabilities(problem):
    loss, y, raw, weights = problem
    shares = np.eye(loss.n_scores)[y]
    assert loss.value(shares, raw, weights) == pytest.approx(loss.value(y, raw, weights))
    assert loss.start(shares, weights) == pytest.approx(loss.start(y, weights), abs=1e-12)
    assert np.array_equal(derivatives(loss, shares, raw, weights), derivatives(loss, y, raw, weights))


@pytest.mark.parametrize(("loss", "kind"), CASES)
@pytest.mark.parametrize("weights", [None, np.array([1e-6, 1.0, 3.0, 1e6])])
def test_extreme_scores(loss, kind, weights):
    y = np.array([0, 1, 0, 1], dtype=np.int32 if isinstance(loss, SoftmaxLogLoss) else float)
    if loss.n_scores == 1 and isinstance(loss, SoftmaxLogLoss):
        y[:] = 0
    if kind == FUZZY:
        y = np.full((4, 3), 1 / 3)
    raw = np.full((4, loss.n_scores), -1000.0)
    raw[2:, -1] = 1000.0
    gradient, hessian = derivatives(loss, y, raw, weights)
    least = SMALLEST_HESSIAN * (np.ones(4) if weights is None else weights)
    assert np.all(hessian >= least[:, None])
    assert np.isfinite(loss.value(y, raw, weights))
    with np.errstate(over="raise"):
        assert np.isfinite((gradient**2 / hessian).sum())
    prediction = loss.predict(raw)
    assert np.all(np.isfinite(prediction))
    if prediction.ndim == 2:
        assert prediction.sum(axis=1) == pytest.approx(1.0)


def test_values_of_extreme_scores():
    raw = np.array([[1000.0], [-1000.0]])
    assert BinaryLogLoss().value(np.array([1.0, 0.0]), raw, None) == 0.0
    assert BinaryLogLoss().value(np.array([0.0, 1.0]), raw, None) == 1000.0
    both = np.hstack([raw, -raw])
    assert SoftmaxLogLoss(2).value(np.array([0, 1], dtype=np.int32), both, None) == 0.0
    assert SoftmaxLogLoss(2).value(np.array([1, 0], dtype=np.int32), both, None) == 2000.0
    assert PoissonDeviance().value(np.array([3.0]), raw[1:], None) == 3000.0
    assert PoissonDeviance().predict(raw).tolist() == [np.exp(LARGEST_PREDICTED_LOG), 0.0]


def test_small_probabilities_keep_their_digits():
    raw = np.array([[-50.0], [50.0]])
    small = np.exp(-50) / (1 + np.exp(-50))
    assert BinaryLogLoss().predict(raw).min(axis=1) == pytest.approx([small, small], rel=1e-12, abs=0)
    assert BinaryLogLoss().value(np.array([0.0, 1.0]), raw, None) == pytest.approx(np.exp(-50), rel=1e-12, abs=0)


@pytest.mark.parametrize("weights", [None, np.array([0.5, 2.0, 1.0])])
@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (BinaryLogLoss(), np.zeros(3)),
        (BinaryLogLoss(), np.ones(3)),
        (SoftmaxLogLoss(4), np.full(3, 2, dtype=np.int32)),
        (SoftmaxLogLoss(1), np.zeros(3, dtype=np.int32)),
        (SoftmaxLogLoss(3), np.tile([0.0, 1.0, 0.0], (3, 1))),
        (PoissonDeviance(), np.zeros(3)),
    ],
)
def test_start_of_one_class_or_no_counts_is_finite(loss, y, weights):
    start = loss.start(y, weights)
    assert np.all(np.abs(start) < 50)
    raw = constant(loss, start, 3)
    assert loss.value(y, raw, weights) == pytest.approx(0.0, abs=1e-12)
    gradient, hessian = derivatives(loss, y, raw, weights)
    assert np.all(np.abs(gradient) <= 1.01 * hessian + 1e-15)


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (SquaredError(), [1.0, np.nan], "SquaredError must be finite"),
        (AbsoluteError(), [1.0, np.inf], "AbsoluteError must be finite"),
        (PoissonDeviance(), [1.0, -2.0], r"at least 0\. Got -2\.0"),
        (PoissonDeviance(), [np.nan, 1.0], "finite"),
        (PoissonDeviance(), [0.0, 0.0], r"must be above 0\. All are 0"),
        (BinaryLogLoss(), [0.0, 2.0], r"in \[0, 1\]\. Got values from 0\.0 to 2\.0"),
        (BinaryLogLoss(), [-1.0, 1.0], "from -1.0 to 1.0"),
        (SoftmaxLogLoss(3), [0, 3], r"integers from 0 to 2\. Got int64 values from 0 to 3"),
        (SoftmaxLogLoss(3), [-1, 2], "from -1 to 2"),
        (SoftmaxLogLoss(3), [0.0, 1.0], "Got float64 values"),
        (SoftmaxLogLoss(3), [[0.5, 0.5]], r"3 columns\. Got shape \(1, 2\)"),
        (SoftmaxLogLoss(2), [[0.5, 0.6]], "add up to 1"),
        (SoftmaxLogLoss(2), [[1.5, -0.5]], "at least 0"),
    ],
)
def test_targets_that_the_loss_is_not_defined_for(loss, y, message):
    with pytest.raises(ValueError, match=message):
        loss.check_targets(np.array(y))


@given(problems(CASES))
def test_targets_that_the_loss_is_defined_for(problem):
    loss, y, _, _ = problem
    assume(not isinstance(loss, PoissonDeviance) or y.sum() > 0)
    loss.check_targets(y)


@pytest.mark.parametrize(
    ("arguments", "loss_class", "n_scores"),
    [
        ({"name": "squared_error"}, SquaredError, 1),
        ({"name": "absolute_error"}, AbsoluteError, 1),
        ({"name": "quantile", "quantile": 0.25}, QuantileError, 1),
        ({"name": "poisson"}, PoissonDeviance, 1),
        ({"name": "log_loss", "n_classes": 2}, BinaryLogLoss, 1),
        ({"name": "log_loss", "n_classes": 3}, SoftmaxLogLoss, 3),
        ({"name": "log_loss", "n_classes": 1}, SoftmaxLogLoss, 1),
    ],
)
def test_losses_by_name(arguments, loss_class, n_scores):
    loss = pickle.loads(pickle.dumps(loss_by_name(**arguments)))
    assert type(loss) is loss_class
    assert loss.n_scores == n_scores
    assert getattr(loss, "quantile", None) == arguments.get("quantile")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "huber"}, "one of 'squared_error', 'absolute_error', .*'log_loss'. Got 'huber' instead"),
        ({"name": "quantile"}, "'quantile' needs a quantile"),
        ({"name": "quantile", "quantile": 1.0}, r"'quantile' parameter of QuantileError .* \(0, 1\)\. Got 1\.0"),
        ({"name": "quantile", "quantile": "half"}, "Got 'half' instead"),
        ({"name": "log_loss"}, "'log_loss' needs n_classes"),
        ({"name": "log_loss", "n_classes": 0}, r"'n_classes' parameter of SoftmaxLogLoss .* \[1, inf\)\. Got 0"),
    ],
)
def test_wrong_names_and_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        loss_by_name(**arguments)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("loss", "kind"), CASES)
def test_arrays_may_lie_in_either_order_and_inputs_stay(loss, kind, order):
    rng = np.random.default_rng(0)
    y = rng.integers(loss.n_scores if isinstance(loss, SoftmaxLogLoss) else 2, size=8)
    y = np.eye(3)[y] if kind == FUZZY else y.astype(np.int32 if isinstance(loss, SoftmaxLogLoss) else float)
    raw, weights = rng.normal(size=(8, loss.n_scores)), rng.random(8)
    expected = derivatives(loss, y, raw, weights)
    inputs = [np.array(a, order=order) for a in (y, raw, weights)]
    outputs = [np.full((8, 2 * loss.n_scores), np.nan, order=order)[:, ::2] for _ in range(2)]
    loss.gradients(*inputs, *outputs)
    assert np.array(outputs) == pytest.approx(np.array(expected), rel=1e-13)  # sums may be in another order
    loss.predict(inputs[1])[:] = np.nan
    for after, before in zip(inputs, (y, raw, weights), strict=True):
        assert np.array_equal(after, before)
