"""Rows drawn for the trees of a forest, growing them by several workers, and predictions out of the bag."""

import threading
from dataclasses import fields, replace

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.utils.class_weight import compute_class_weight

from softwood import KernelForestClassifier, KernelForestRegressor
from softwood.core.steps import Steps
from softwood.kernel.growing import bagging
from softwood.kernel.growing.bagging import Draws, _grow_some, assemble, draws_of, grow_trees, out_of_bag, tree_seed
from softwood.kernel.growing.finishing import finish
from softwood.kernel.growing.problem import Limits
from softwood.trees.pruning import prune_cost_complexity
from tests.models import assert_same_nodes
from tests.reference.records import assert_same_records

SEED = 5


def training_data(X, y, weights=None, errors=None, **parameters):
    """What a forest would be grown from."""
    model_class = KernelForestClassifier if np.asarray(y).dtype.kind in "iu" else KernelForestRegressor
    model = model_class(**parameters)
    matrix, targets, weights, rows = model._read_training_data(X, y, weights)
    return model._prepare(matrix, targets, weights, rows, len(X), errors, model.criterion)


def data(n=40, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), [-0.5, 0.5])


def repeated_data():
    """Rows that are there several times, some of them with several labels, and some with missing values."""
    X, y = data(12)
    X[3] = X[2] = np.nan, 0.0
    X[5] = X[6]
    X[7, 0], X[8] = -0.0, [0.0, X[7, 1]]  # the same number
    y[2:4], y[5:7], y[7:9] = [0, 1], 2, 1
    return X, y


def drawn(X, y, weights=None, n_draws=None, seed=SEED):
    out = draws_of(X, training_data(X, y, weights).targets, np.ones(len(X)) if weights is None else weights, seed)
    return replace(out, n_draws=n_draws)


def by_content(X, y, masses):
    """Total mass of each row of different content and target."""
    out = {}
    for x, label, mass in zip(X + 0.0, y, masses, strict=True):
        key = (*np.where(np.isnan(x), 1e99, x), label)
        out[key] = out.get(key, 0.0) + mass
    return {key: mass for key, mass in out.items() if mass}


# ------------------------------------------------------------------ rows


@pytest.mark.tiny
def test_whole_weights_are_repetitions():
    X, y = repeated_data()
    weights = np.random.default_rng(1).integers(1, 4, size=len(X)).astype(float)
    at = np.repeat(np.arange(len(X)), weights.astype(int))
    weighted = drawn(X, y, weights, n_draws=len(at))
    repeated = drawn(X[at], y[at], n_draws=len(at))
    seen = set()
    for seed in range(30):
        masses = by_content(X, y, weighted.masses(seed))
        assert masses == by_content(X[at], y[at], repeated.masses(seed))
        assert sum(masses.values()) == len(at)
        seen.add(tuple(sorted(masses.items())))
    assert len(seen) == 30


@pytest.mark.tiny
@pytest.mark.parametrize("weights", ["whole", "fractional"])
def test_order_of_rows_does_not_matter(weights):
    X, y = repeated_data()
    rng = np.random.default_rng(1)
    w = rng.integers(1, 4, size=len(X)) + (0.5 if weights == "fractional" else 0.0)
    order = rng.permutation(len(X))
    one, other = drawn(X, y, w, n_draws=9), drawn(X[order], y[order], w[order], n_draws=9)
    for seed in range(30):
        expected = by_content(X, y, one.masses(seed))
        found = by_content(X[order], y[order], other.masses(seed))
        assert found.keys() == expected.keys()
        assert list(found.values()) == pytest.approx([expected[key] for key in found])


@pytest.mark.tiny
def test_equal_rows_are_side_by_side():
    X, y = repeated_data()
    draws = drawn(X, y)
    assert sorted(draws.order) == list(range(12))
    groups = draws.group[draws.order]
    np.testing.assert_array_equal(groups, np.sort(groups))
    assert draws.group.max() + 1 == 9
    for same in ([2, 3], [5, 6], [7, 8]):
        assert len(set(draws.group[same])) == 1
    assert not np.array_equal(draws.order, drawn(X, y, seed=SEED + 1).order)


@pytest.mark.tiny
@pytest.mark.parametrize("n_draws", [1, 7, 40, 90])
def test_number_of_draws(n_draws):
    X, y = data()
    draws = drawn(X, y, n_draws=n_draws)
    every = np.array([draws.masses(seed) for seed in range(200)])
    assert np.all(every == np.floor(every))
    assert np.all(every.sum(axis=1) == n_draws)
    # the mean of 200 draws of a number with this mean and, nearly, this variance
    np.testing.assert_allclose(every.mean(axis=0), n_draws / 40, atol=5 * np.sqrt(n_draws / 40 / 200))


@pytest.mark.tiny
@pytest.mark.parametrize("n_draws", [10, 40])
def test_fractional_weights_are_expectations(n_draws):
    X, y = data()
    weights = np.random.default_rng(1).uniform(0.1, 3.0, size=40)
    draws = drawn(X, y, weights, n_draws=n_draws)
    every = np.array([draws.masses(seed) for seed in range(1500)])
    unit = weights.sum() / n_draws
    np.testing.assert_allclose(every / unit, np.round(every / unit), atol=1e-9)
    np.testing.assert_allclose(every.sum(axis=1), weights.sum())
    np.testing.assert_allclose(every.mean(axis=0), weights, atol=5 * np.sqrt(weights * unit / 1500).max())


@pytest.mark.tiny
@pytest.mark.parametrize("size", [1e14, 1e20, 1e300, 1e-300])
def test_weights_of_any_size(size):
    X, y = data()
    masses = drawn(X, y, np.full(40, size), n_draws=40).masses(0)
    np.testing.assert_allclose(masses.sum(), 40 if size == 1e14 else 40 * size)
    assert 15 < np.count_nonzero(masses) < 35


@pytest.mark.tiny
def test_every_row_once_without_draws():
    X, y = data()
    weights = np.random.default_rng(1).random(40) + 0.1
    draws = drawn(X, y, weights)
    np.testing.assert_array_equal(draws.masses(0), weights)
    assert not draws.has_rest
    assert len(draws.rest(draws.masses(0))) == 0


@pytest.mark.tiny
def test_a_part_of_the_rows_without_replacement():
    X, y = repeated_data()
    weights = np.random.default_rng(1).random(12) + 0.1
    draws = replace(drawn(X, y, weights), held_in=True)
    assert draws.has_rest
    parts = []
    for seed in range(400):
        masses = draws.masses(seed)
        is_in = masses > 0
        np.testing.assert_array_equal(masses[is_in], weights[is_in])
        assert is_in.any()
        assert is_in[2] == is_in[3]
        assert is_in[7] == is_in[8]
        parts.append(is_in.mean())
    assert np.mean(parts) == pytest.approx(0.65, abs=0.05)  # 0.632, and one of nine for certain


@pytest.mark.tiny
def test_rows_out_of_the_bag_are_really_out():
    X, y = repeated_data()
    draws = drawn(X, y, n_draws=6)
    sizes = []
    for seed in range(50):
        masses = draws.masses(seed)
        rest = draws.rest(masses)
        contents = [tuple(np.where(np.isnan(x), 1e99, x + 0.0)) for x in X]
        inside = {contents[k] for k in np.flatnonzero(masses)}
        assert rest.tolist() == [k for k in range(12) if contents[k] not in inside]
        sizes.append(len(rest))
    assert min(sizes) > 0


@pytest.mark.tiny
def test_some_of_the_rows():
    X, y = data()
    weights = np.random.default_rng(1).integers(1, 4, size=40).astype(float)
    rows = np.arange(0, 40, 3)
    weights[rows] = 4.0
    some = drawn(X, y, weights, n_draws=20).within(rows)
    assert some.n_draws == round(20 * weights[rows].sum() / weights.sum())
    np.testing.assert_array_equal(np.sort(some.order), rows)
    for seed in range(20):
        masses = some.masses(seed)
        assert masses.sum() == some.n_draws
        assert set(np.flatnonzero(masses)) <= set(rows)
        rest = some.rest(masses)
        assert set(rest) == set(rows) - set(np.flatnonzero(masses))
    assert drawn(X, y, n_draws=2).within(rows[:1]).n_draws == 1
    assert drawn(X, y).within(rows).n_draws is None


@pytest.mark.tiny
def test_seeds_of_trees():
    seeds = {tree_seed(seed, number) for seed in range(20) for number in range(20)}
    assert len(seeds) == 400
    assert tree_seed(3, 4) == tree_seed(3, 4)
    assert all(0 <= seed < 2**64 for seed in seeds)


# ------------------------------------------------------------------ class weights


@pytest.mark.tiny
def test_class_weights_are_factors():
    X, y = data()
    factors = np.array([1.0, 3.0, 0.5])[y]
    draws = replace(drawn(X, y, n_draws=40), factors=factors)
    masses = draws.masses(1)
    np.testing.assert_array_equal(draws.tree_weights(masses), masses * factors)
    draws = drawn(X, y, n_draws=40)
    assert draws.tree_weights(masses) is masses


@pytest.mark.tiny
@pytest.mark.parametrize("n_draws", [3, 40])
def test_class_weights_balanced_in_each_draw(n_draws):
    """With few draws not every class is among them."""
    X, y = data()
    draws = replace(drawn(X, y, n_draws=n_draws), labels=y.astype(np.int32))
    numbers = set()
    for seed in range(20):
        masses = draws.masses(seed)
        in_draw = np.repeat(y, masses.astype(int))
        classes = np.unique(in_draw)
        factors = dict(zip(classes, compute_class_weight("balanced", classes=classes, y=in_draw), strict=True))
        expected = masses * [factors.get(label, 0.0) for label in y]
        np.testing.assert_allclose(draws.tree_weights(masses), expected)
        numbers.add(len(classes))
    assert len(numbers) > 1 or n_draws == 40


# ------------------------------------------------------------------ growing


def growth(kind="forest", n=60, **parameters):
    """A problem, its limits and draws."""
    X, y = data(n, 3)
    X[::11, 1] = np.nan
    training = training_data(X, y if kind != "regression" else X[:, 0] ** 2, **parameters)
    limits = Limits(n_draw=2, cutoff=1e-6, random_thresholds=kind == "extra")
    draws = draws_of(training.matrix, training.targets, np.ones(n), SEED)
    if kind == "forest":
        draws = replace(draws, labels=y.astype(np.int32))
    draws = draws if kind == "extra" else replace(draws, n_draws=n)
    return training.problem(0.3 * training.deviations), limits, draws


@pytest.fixture(scope="module")
def alone():
    """The trees of each kind, grown one after the other."""
    return {kind: grow_trees(*growth(kind), SEED, range(6)) for kind in ("forest", "extra", "regression")}


def assert_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert_same_records(one.lines, other.lines)
        np.testing.assert_array_equal(one.sums, other.sums)


class Counting:
    """Steps that call `then` with the number of finished ones."""

    is_stopped = False

    def __init__(self, then):
        self.then, self.n, self.lock = then, 0, threading.Lock()

    def begin(self):
        return self

    def end(self, snapshot=None, **line):
        with self.lock:
            self.n += 1
            self.then(self.n)


@pytest.mark.parametrize("kind", ["forest", "extra", "regression"])
@pytest.mark.parametrize("n_jobs", [1, 2, 5, -1])
def test_trees_do_not_depend_on_the_number_of_threads(alone, kind, n_jobs):
    assert_same(grow_trees(*growth(kind), SEED, range(6), n_jobs=n_jobs), alone[kind])


@pytest.mark.parametrize("kind", ["forest", "extra", "regression"])
@pytest.mark.parametrize(
    "config",
    [
        {"backend": "threading", "n_jobs": 2},
        {"backend": "sequential"},
        {"backend": "loky", "n_jobs": 2, "max_nbytes": 1},  # arrays are handed over in files, read-only
    ],
)
def test_trees_do_not_depend_on_the_backend(alone, kind, config):
    steps = Steps("tree", 6)
    with parallel_config(**config):
        found = grow_trees(*growth(kind), SEED, range(6), steps=steps)
    assert_same(found, alone[kind])
    assert [line["iteration"] for line in steps.history] == [1, 2, 3, 4, 5, 6]
    n_leaves = [np.count_nonzero(table.lines["feature"] < 0) for table in found]
    assert sorted(line["n_leaves"] for line in steps.history) == sorted(n_leaves)


def test_trees_by_their_numbers(alone):
    """Trees that are added later are those that would have been there."""
    assert_same(grow_trees(*growth(), SEED, range(2, 5)), alone["forest"][2:5])
    grown = alone["forest"][:2]
    assert_same(grow_trees(*growth(), SEED, range(2, 6), grown=list(grown)), alone["forest"])
    assert grow_trees(*growth(), SEED, range(3, 3)) == []
    other = grow_trees(*growth(), SEED + 1, range(1))
    assert not np.array_equal(other[0].sums, alone["forest"][0].sums)


@pytest.mark.parametrize("kind", ["forest", "extra", "regression"])
@pytest.mark.parametrize("n_jobs", [1, 2, 20])
def test_trees_put_together_are_those_trees(alone, kind, n_jobs):
    problem, *_ = growth(kind)
    forest = assemble(problem, alone[kind], 0.0, n_jobs=n_jobs)
    assert len(forest) == 6
    for one, nodes in zip(forest, alone[kind], strict=True):
        other = finish(problem, nodes)
        for field in fields(other):
            a, b = getattr(one, field.name), getattr(other, field.name)
            np.testing.assert_array_equal(a.edges if field.name == "shapes" else a, getattr(b, "edges", b))


def test_nodes_are_dropped_while_trees_are_put_together(alone):
    problem, *_ = growth()
    tables = list(alone["forest"])
    found = assemble(problem, tables, 0.0, consume=True)
    assert_same_nodes(found, assemble(problem, alone["forest"], 0.0))
    assert sum(len(nodes.lines) + len(nodes.sums) for nodes in tables) == 0


def test_trees_are_grown_from_their_rows(alone):
    """Masses of the roots and of the classes are those of the draws."""
    problem, _, draws = growth()
    forest = assemble(problem, alone["forest"], 0.0)
    for number, tree in enumerate(forest):
        masses = draws.masses(tree_seed(SEED, number))
        weights = draws.tree_weights(masses)
        assert tree.mass[0] == pytest.approx(weights.sum())
        np.testing.assert_allclose(tree.value[0], 1 / 3)  # balanced within the draw
        seen = np.flatnonzero(masses)
        np.testing.assert_allclose(weights[seen] @ tree.memberships(matrix_of(problem)[seen]), tree.mass, rtol=1e-4)


def matrix_of(problem):
    """The rows from their bins, which are single values here."""
    bins = problem.bins
    columns = []
    for j, begin in enumerate(bins.offsets[:-1]):
        values = np.append(bins.values[begin : bins.offsets[j + 1]], np.nan)
        columns.append(values[bins.codes[:, j]])
    return np.column_stack(columns)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("after", [1, 3])
def test_an_interrupt_leaves_the_first_trees(alone, n_jobs, after):
    grown = []

    def interrupt(n_trees):
        if n_trees >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grow_trees(*growth(), SEED, range(6), n_jobs=n_jobs, grown=grown, steps=Counting(interrupt))
    assert len(grown) < 6
    assert n_jobs > 1 or len(grown) == after
    assert_same(grown, alone["forest"][: len(grown)])


def test_an_interrupt_leaves_no_gap(alone, monkeypatch):
    """The first tree takes long: the ones after it, which are done, are of no use without it."""
    grow_one, may_go_on, grown = bagging._grow_one, threading.Event(), []

    def slowly(problem, limits, draws, seed, number, space):
        if number == 0:
            may_go_on.wait(5.0)
        return grow_one(problem, limits, draws, seed, number, space)

    def interrupt(n_trees):
        if n_trees >= 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(bagging, "_grow_one", slowly)
    with pytest.raises(KeyboardInterrupt):
        grow_trees(*growth(), SEED, range(6), n_jobs=2, grown=grown, steps=Counting(interrupt))
    may_go_on.set()
    assert_same(grown, alone["forest"][: len(grown)])


def test_pruned_trees(alone):
    problem, *_ = growth()
    whole = assemble(problem, alone["forest"], 0.0)
    pruned = assemble(problem, alone["forest"], 0.01)
    assert pruned.n_nodes < whole.n_nodes
    for one, other in zip(pruned, whole, strict=True):
        expected = prune_cost_complexity(other, 0.01)
        for name in ("children_left", "threshold", "value", "mass"):
            np.testing.assert_array_equal(getattr(one, name), getattr(expected, name))


@pytest.mark.parametrize("kind", ["forest", "extra", "regression"])
def test_trees_grow_from_read_only_arrays(alone, kind):
    """As joblib passes them to processes."""
    problem, limits, draws = growth(kind)
    for array in (*problem.bins, problem.weights, problem.widths, draws.weights, draws.order):
        array.setflags(write=False)
    assert_same(_grow_some(problem, limits, draws, SEED, range(0, 6, 2)), alone[kind][::2])


# ------------------------------------------------------------------ out of the bag


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("by_cell", [False, True])
def test_predictions_out_of_the_bag(n_jobs, by_cell):
    n = 1100  # enough for two threads
    X, y = data(n)
    X[:50] = X[50:100]
    training = training_data(X, X[:, 0] + y)
    problem = training.problem(0.3 * training.deviations)
    cells = np.random.default_rng(0).uniform(0.0, 1.0, size=X.shape) if by_cell else None
    draws = replace(draws_of(training.matrix, training.targets, np.ones(n), SEED), n_draws=n)
    limits = Limits(max_depth=3)
    forest = assemble(problem, grow_trees(problem, limits, draws, SEED, range(4)), 0.0)
    found, counts, variances = out_of_bag(forest, draws, SEED, X, cells, n_jobs)

    each = [[] for _ in range(n)]
    for number, tree in enumerate(forest):
        masses = draws.masses(tree_seed(SEED, number))
        seen = {tuple(x) for x in X[masses > 0]}
        for i in range(n):
            if tuple(X[i]) not in seen:
                each[i].append(tree.predict(X[i : i + 1], widths=None if cells is None else cells[i : i + 1])[0])
    np.testing.assert_array_equal(counts, [len(found_by_tree) for found_by_tree in each])
    assert counts.min() == 0
    assert counts.max() == 4
    np.testing.assert_array_equal(np.isnan(found[:, 0]), counts == 0)
    np.testing.assert_array_equal(np.isnan(variances), counts < 2)
    for i in np.flatnonzero(counts):
        np.testing.assert_allclose(found[i], np.mean(each[i], axis=0), rtol=0, atol=1e-12)
        if counts[i] > 1:
            assert variances[i] == pytest.approx(np.var(each[i], axis=0, ddof=1).sum(), abs=1e-12)
    scaled = out_of_bag(forest, draws, SEED, X, cells, n_jobs, lambda prediction: 10 * (prediction - 3))
    np.testing.assert_allclose(scaled[0], 10 * (found - 3), atol=1e-9)
    np.testing.assert_allclose(scaled[2], 100 * variances, atol=1e-9)


def test_draws_are_plain_arrays():
    """So that they can be handed to other processes with what they have found out."""
    import pickle

    X, y = data()
    draws = drawn(X, y, n_draws=40)
    expected = draws.masses(3)
    again = pickle.loads(pickle.dumps(draws))
    assert isinstance(again, Draws)
    np.testing.assert_array_equal(again.masses(3), expected)
