"""Loops of soft trees on streams: shares, gradients against small steps, learning and growing against a reference."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled import stream as loop
from softwood.compiled.trees import smooth_step
from softwood.stream import SmoothStepTreeClassifier
from softwood.stream.loops import layout
from softwood.stream.loops.layout import FADE_1, FADE_2, FEATURE, LEFT, LEFT_WEIGHT, RIGHT, THRESHOLD, WEIGHT, Rows
from softwood.stream.loops.soft_stream import ALL_WAITS, ALPHA_WAITS, LARGEST_INPUT
from tests.reference.soft_stream import (
    GAMMA_WIDE,
    SoftStream,
    assert_same_arrays,
    assert_same_tree,
    growing,
    random_tree,
    stream,
    visited,
)

seeds = pytest.mark.parametrize("seed", range(3))
kinds = pytest.mark.parametrize("is_class", [True, False], ids=["class", "real"])


def raw_row(tree, x):
    """The row that has these standardised values."""
    return tree.arrays["scaler"][1] + x[1:] / tree.arrays["scaler"][2]


def output(tree, row, x):
    n, places, shares = visited(tree, row, x)
    own, soft, path, _ = tree._groups()
    out = np.full((2, tree.n_outputs), np.nan)
    loop.add_outputs(n, own, soft, path._replace(places=places, shares=shares), out, 1)
    assert np.isnan(out[0]).all()
    return out[1]


def cross_entropy(out):
    return np.log(np.exp(out).sum()) - out[1], np.exp(out) / np.exp(out).sum() - (np.arange(len(out)) == 1)


def squared(out):
    target = np.array([0.3, -1.0, 2.0])[: len(out)]
    return 0.5 * ((out - target) ** 2).sum(), out - target


def gradients(tree, row, x, slope, pull=0.0, learns_alpha=True):
    """Of gates and values, by the loop."""
    n, places, shares = visited(tree, row, x)
    gates, values = np.zeros_like(tree.arrays["gate_slopes"]), np.zeros_like(tree.arrays["value_slopes"])
    # in a batch they wait for a step
    settings = tree.settings._replace(alpha_pull=pull, alpha_learning_rate=float(learns_alpha), batch_size=2.0)
    own, soft, path, _ = tree._groups()
    path = path._replace(places=places, shares=shares, x=x, slope=slope[None].copy())
    soft = soft._replace(gate_slopes=gates, value_slopes=values)
    loop.add_gradients(1.0, -1, n, own._replace(settings=settings), soft, path)
    return gates, values


def small_steps(tree, row, x, loss, array):
    """Central differences of the loss by each entry of an array that the tree's output depends on."""
    out, h = np.zeros_like(array), 1e-5
    for at in np.ndindex(array.shape):
        kept, sides = array[at], []
        for move in (h, -h):
            array[at] = kept + move
            sides.append(loss(output(tree, row, x))[0])
        array[at] = kept
        out[at] = (sides[0] - sides[1]) / (2 * h)
    return out


def point(tree, seed):
    x = np.random.default_rng(seed).uniform(-1, 1, tree.n_features + 1)
    x[0] = 1.0
    return raw_row(tree, x), x


# ------------------------------------------------------------------ gradients


@pytest.mark.tiny
@seeds
@pytest.mark.parametrize("loss", [cross_entropy, squared])
@pytest.mark.parametrize("alpha", [None, 1.0])
def test_gradients_against_small_steps(seed, loss, alpha):
    tree = random_tree(seed, alpha=alpha)
    row, x = point(tree, seed)
    found = gradients(tree, row, x, loss(output(tree, row, x))[1])
    a = tree.arrays
    expected = [small_steps(tree, row, x, loss, array) for array in (a["gates"][0], a["values"][0])]
    inner = tree.structure()[2]
    # All gates are undecided, all leaves reached.
    assert np.count_nonzero(found[0][inner]) == 9 * (2 + 3)
    assert np.count_nonzero(found[1][~inner]) == 10 * 3
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-8)


@pytest.mark.tiny
@seeds
def test_sure_gates_have_no_gradient_and_the_others_the_right_one(seed):
    tree = random_tree(seed)
    a = tree.arrays
    sure = [1, 2, 4]
    a["gates"][0, sure, layout.BIAS_AT] = [5.0, -5.0, 5.0]
    row, x = point(tree, seed)
    slope = cross_entropy(output(tree, row, x))[1]
    found = gradients(tree, row, x, slope)
    assert not found[0][sure, layout.BIAS_AT :].any()
    for ours, array in zip(found, (a["gates"][0], a["values"][0]), strict=True):
        assert ours == pytest.approx(small_steps(tree, row, x, cross_entropy, array), abs=1e-8)


@pytest.mark.tiny
@seeds
def test_with_alpha_0_only_the_leaf_of_the_row_has_a_gradient(seed):
    tree = random_tree(seed, alpha=0.0)
    row, x = point(tree, seed)
    slope = cross_entropy(output(tree, row, x))[1]
    gates, values = gradients(tree, row, x, slope)
    assert not gates.any()
    leaf = loop.find_leaf(row[None], 0, tree._tree_nodes())
    expected = np.zeros_like(values)
    expected[leaf] = slope
    assert values == pytest.approx(expected)


@pytest.mark.tiny
def test_gradients_are_added_and_the_pull_by_share():
    tree = random_tree(0)
    row, x = point(tree, 0)
    slope = np.array([0.5, -0.2, 0.1])
    once = gradients(tree, row, x, slope)
    pulled = gradients(tree, row, x, slope, pull=0.25)
    without = gradients(tree, row, x, slope, pull=0.25, learns_alpha=False)
    n, places, shares = visited(tree, row, x)
    inner = tree.structure()[2]
    for i in range(n):
        if inner[places[i, 0]]:
            extra = pulled[0][places[i, 0], layout.ALPHA_AT] - once[0][places[i, 0], layout.ALPHA_AT]
            assert extra == pytest.approx(0.25 * shares[i, layout.SHARE])
    assert not without[0][:, layout.ALPHA_AT].any()
    assert np.array_equal(without[0][:, layout.BIAS_AT :], once[0][:, layout.BIAS_AT :])


@pytest.mark.tiny
def test_outliers_count_as_the_largest_input_in_a_gradient():
    tree = random_tree(0, alpha=1.0, size=0.0)
    row, x = point(tree, 0)
    x[2] = 1000.0
    gates, _ = gradients(tree, row, x, np.array([0.5, -0.2, 0.1]))
    assert gates[0, layout.BIAS_AT + 2] == pytest.approx(LARGEST_INPUT * gates[0, layout.BIAS_AT])


# ------------------------------------------------------------------ shares


trees = st.builds(
    random_tree, st.integers(0, 10**6), n_inner=st.integers(1, 12), size=st.sampled_from([0.2, 2.0, 20.0]),
    alpha=st.sampled_from([None, 0.0, 1.0]),
)  # fmt: skip


@pytest.mark.tiny
@given(trees, st.integers(0, 10**6))
def test_shares_of_leaves_add_up_to_one_and_only_reachable_nodes_are_listed(tree, seed):
    row, x = point(tree, seed)
    row[seed % 4 : seed % 4 + 1] = np.nan
    n, places, shares = visited(tree, row, x)
    nodes, _, inner = tree.structure()
    reached = places[:n, 0]
    assert len(set(reached.tolist())) == n
    assert (shares[:n, layout.SHARE] > 0.0).all()
    assert shares[:n][~inner[reached], layout.SHARE].sum() == pytest.approx(1.0)
    # Parents first; the children of each are where it says, or not reachable.
    for i in range(n):
        for side, child in enumerate((nodes[reached[i], LEFT], nodes[reached[i], RIGHT])):
            at = places[i, 1 + side]
            assert (at == -1) == (child not in reached)
            assert at == -1 or (i < at < n and reached[at] == child)
        if inner[reached[i]]:
            part = shares[i, layout.PART]
            sides = [0.0 if at < 0 else shares[at, layout.SHARE] for at in places[i, 1:]]
            assert sides == pytest.approx([part * shares[i, layout.SHARE], (1 - part) * shares[i, layout.SHARE]])


@pytest.mark.tiny
@given(trees, st.integers(0, 10**6))
def test_shares_and_outputs_are_those_of_the_finished_tree(tree, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(5, 3))
    expected = tree.snapshot()
    shares = expected.memberships(X)
    shares = shares.toarray() if hasattr(shares, "toarray") else np.asarray(shares)
    x = np.empty(4)
    for i, row in enumerate(X):
        loop.standardise(row[None], 0, tree.arrays["scaler"], True, x)
        n, places, found = visited(tree, row, x)
        own = np.zeros(tree.n_nodes)
        own[places[:n, 0]] = found[:n, layout.SHARE]
        assert own == pytest.approx(shares[i], abs=1e-9)
    assert tree.predict(X) == pytest.approx(expected.predict(X), abs=1e-9)


@pytest.mark.tiny
def test_a_missing_value_is_the_mean_to_the_smooth_step_and_shared_by_the_test_as_rows_were():
    tree = random_tree(1, n_inner=1)
    a = tree.arrays
    feature = a["nodes"][0, FEATURE]
    row, x = raw_row(tree, np.array([1.0, 0.4, -0.3, 0.2])), np.empty(4)
    row[feature] = np.nan
    loop.standardise(row[None], 0, a["scaler"], True, x)
    assert x[1 + feature] == 0.0
    alpha = a["gates"][0, 0, layout.ALPHA_AT]
    passed = a["numbers"][0, LEFT_WEIGHT] / a["numbers"][0, WEIGHT]
    step = smooth_step(a["gates"][0, 0, layout.BIAS_AT :] @ x, GAMMA_WIDE)
    _, _, shares = visited(tree, row, x)
    assert shares[0, layout.PART] == pytest.approx(alpha * step + (1 - alpha) * passed)
    a["numbers"][0, WEIGHT] = 0.0
    assert visited(tree, row, x)[2][0, layout.PART] == pytest.approx(alpha * step + (1 - alpha) * 0.5)


@pytest.mark.tiny
def test_missing_values_do_not_change_the_part_that_passes():
    X, labels, _, _ = stream(0, n=300)
    tree = growing(SoftStream(3, 2))
    tree.learn(X, labels, np.ones(300), None)
    _, numbers, inner = tree.structure()
    before = (numbers[:, LEFT_WEIGHT] / np.maximum(numbers[:, WEIGHT], 1e-9))[inner]
    tree.change_settings(max_depth=0.0)
    tree.learn(np.full((50, 3), np.nan), labels[:50], np.ones(50), None)
    n = len(numbers)
    numbers = tree.arrays["numbers"][:n]
    after = (numbers[:, LEFT_WEIGHT] / np.maximum(numbers[:, WEIGHT], 1e-9))[inner]
    assert after == pytest.approx(before)


@pytest.mark.tiny
def test_standardise():
    scaler = np.array([[5.0, 5.0, 0.0], [1.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.25, 0.0, 0.0]])
    x = np.full(4, np.nan)
    loop.standardise(np.array([[3.0, 9.0, np.nan]]), 0, scaler, True, x)
    assert x.tolist() == [1.0, 4.0, 0.0, 0.0]
    loop.standardise(np.array([[np.nan, 9.0, 1.0]]), 0, scaler, False, x)
    assert x.tolist() == [0.0, 0.0, 0.0, 0.0]


@pytest.mark.tiny
def test_bounded_rows():
    scaler = np.zeros((layout.N_SCALER_ROWS, 3))
    scaler[layout.CENTRE], scaler[layout.VARIANCE] = [1.0, 2.0, 5.0], [4.0, 0.0, 1.0]
    scaler[layout.INVERSE] = [0.5, 0.0, 1.0]
    points, within = np.array([[-1e9, 1e9, np.nan], [-1e9, 1e9, 7.0]]), np.empty((1, 3))
    loop.bounded(points, 0, scaler, 3.0, within)
    assert within[0].tolist() == pytest.approx([-5.0, 1e9, np.nan], nan_ok=True)  # no deviation, no bound
    loop.bounded(points, 1, scaler, 0.0, within)
    assert within[0].tolist() == [-1e9, 1e9, 7.0]
    for x in (-4.9, -2.1, -1.9, 4.1, 6.9):  # on both sides of half of the limit, too
        loop.bounded(np.array([[x, 0.0, 5.0]]), 0, scaler, 3.0, within)
        assert within[0].tolist() == [x, 0.0, 5.0]


@pytest.mark.tiny
@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(0, 10**6))
def test_young_leaves_count_labels(labels, seed):
    """Without a gate, values are the logarithms of the shares of ten rows of the first ones and those that came."""
    start = np.random.default_rng(seed).normal(size=4)
    tree = growing(SoftStream(3, 4, count_period=3.0))
    tree.arrays["values"][0, 0] = start
    own, soft, _, _ = tree._groups()
    for label in labels:
        loop.count_label(label, 1.0, 0, own, soft)
        tree.arrays["numbers"][0, WEIGHT] += 1.0
    counts = 10 * np.exp(start) / np.exp(start).sum() + np.bincount(labels, minlength=4)
    assert tree.arrays["values"][0, 0] == pytest.approx(np.log(counts / counts.sum()), abs=1e-9)


@pytest.mark.tiny
def test_leaves_count_labels_while_they_are_young():
    tree = growing(SoftStream(3, 4, count_period=3.0))
    tree.arrays["places"][0], tree.arrays["shares"][0] = [0, -1, -1], 1.0
    own, soft, path, _ = tree._groups()
    for weight, steps in ((11.0, 0.0), (12.0, 1.0)):
        tree.arrays["numbers"][0, [WEIGHT, FADE_1]] = weight, 1.0
        path.slope[:] = 0.1
        loop.add_gradients(1.0, 0, 1, own, soft, path)
        assert tree.arrays["numbers"][0, FADE_1] == pytest.approx(0.9**steps)


@pytest.mark.tiny
def test_softmax_of_large_numbers():
    out = np.array([[0.5, 7.0, 1.0], [1000.0, 999.0, -1000.0]])
    loop.softmax(out, 1)
    assert out[0].tolist() == [0.5, 7.0, 1.0]
    assert out[1] == pytest.approx([1 / (1 + np.exp(-1)), np.exp(-1) / (1 + np.exp(-1)), 0.0])


# ------------------------------------------------------------------ learning and growing, against the reference


def learn_both(reference, X, targets, weights):
    tree = growing(reference)
    out, expected = np.empty((len(X), reference.n_outputs)), []
    tree.learn(X, targets, weights, out)
    for x, y, w in zip(X, targets, weights, strict=True):
        expected.append(reference.predict(x))
        reference.learn(x, y, w)
    assert out == pytest.approx(np.array(expected), abs=1e-7)
    return tree


PAPER = {"has_bias": False, "gate_init": 0.0, "weigh_by_share": False, "leaf_init": 0.1, "min_share": 0.25}
WAYS = {
    "own": {},
    "paper": {**PAPER, "alpha": 0.3},
    "crisp": {"alpha": 0.0},
    "smooth": {"alpha": 1.0, "gamma": 0.5},
    "learned alpha": {"alpha_rate": 0.02, "pull": 0.05},
    "batches": {"batch": 4, "alpha_rate": 0.02},
    "fading": {"memory": 30.0},
    "few": {"max_inner": 2},
    "recheck": {"recheck": 40.0},
    "no growth": {"max_inner": 0},
    "outliers": {"limit": 4.0},
    "small errors": {"small_error": 0.4, "alpha_rate": 0.02, "limit": 4.0, "count_period": 3.0},
    "many classes": {"count_period": 10.0, "merit_range": 1.0, "deeper": True, "max_depth": 1},
}


@pytest.mark.tiny
@kinds
@pytest.mark.parametrize("way", WAYS)
def test_a_stream_is_learned_as_by_the_reference(way, is_class):
    X, labels, targets, weights = stream(2, n=150, missing=0.05)
    if way == "outliers":
        X[[40, 90], [0, 1]] = 1e6, -1e3
        X[100:, 0] *= 50.0
        targets[[0, 60]] = 1e5, -1e5
    reference = SoftStream(3, 2 if is_class else 1, is_class, is_category=[False, False, True], **WAYS[way])
    tree = learn_both(reference, X, labels if is_class else targets, weights)
    assert_same_tree(tree, reference)
    assert tree.n_inner >= (0 if way == "no growth" else 2)
    scaler = [reference.scaler.weight, reference.scaler.mean, reference.scaler.variance]
    assert tree.arrays["scaler"][[0, 1, 3]] == pytest.approx(np.array(scaler))
    if way == "outliers":
        assert tree.arrays["scaler"][layout.RUN] == pytest.approx(reference.scaler.run)
        assert reference.scaler.weight[0] < 100.0, "the past counts for less"


@pytest.mark.tiny
@seeds
@kinds
def test_one_row_is_forward_gradients_and_a_step_of_adam(seed, is_class):
    """From the tree of the reference after some rows, on a copy of it: a row more, by hand."""
    X, labels, targets, _ = stream(seed, n=121)
    y = labels if is_class else targets
    reference = SoftStream(3, 2 if is_class else 1, is_class, alpha_rate=0.01)
    tree = learn_both(reference, X[:120], y[:120], np.ones(120))
    a, x, row = copy.deepcopy(tree.arrays), np.empty(4), X[120]
    loop.standardise(row[None], 0, a["scaler"], True, x)
    out = output(tree, row, x)
    target = copy.deepcopy(reference.target_scaler)
    target.add(y[120:], 1.0)
    slope = out - target.standardised(y[120:])
    if is_class:
        slope = np.exp(out) / np.exp(out).sum() - (np.arange(2) == y[120])
    slopes = gradients(tree, row, x, slope)
    tree.change_settings(grace_period=np.inf, recheck_period=np.inf)
    tree.learn(X[120:], y[120:], np.ones(1), None)
    for lines, after, g, rates in [
        (a["gates"], tree.arrays["gates"], slopes[0], np.array([0.01, *[reference.rate] * 4])),
        (a["values"], tree.arrays["values"], slopes[1], reference.rate),
    ]:
        touched = g.any(axis=1)
        k = a["numbers"][touched][:, [FADE_1, FADE_2]] * [0.9, 0.999]
        first = 0.9 * lines[1, touched] + 0.1 * g[touched]
        second = 0.999 * lines[2, touched] + 0.001 * g[touched] ** 2
        step = rates * (first / (1 - k[:, :1])) / (np.sqrt(second / (1 - k[:, 1:])) + 1e-8)
        moved = lines[0, touched] - step
        if lines is a["gates"]:
            moved[:, 0] = np.clip(moved[:, 0], 0.0, 1.0)
            flat = ~g[touched, 1:].any(axis=1)  # there alpha alone is learned
            for moved_part, part in zip((moved, first, second), lines[:, touched], strict=True):
                moved_part[flat, 1:] = part[flat, 1:]
        assert after[:, touched] == pytest.approx(np.array([moved, first, second]))
        assert np.array_equal(after[:, ~touched], lines[:, ~touched])


# ------------------------------------------------------------------ ends of alpha


@pytest.mark.tiny
def test_with_alpha_0_rows_are_routed_as_in_a_hoeffding_tree():
    X, labels, _, _ = stream(1, n=300)
    tree = growing(SoftStream(3, 2, alpha=0.0, gate_init=0.0))
    tree.learn(X, labels, np.ones(300), None)
    assert tree.n_inner >= 3
    inner, x = tree.structure()[2], np.empty(4)
    for row in X[:50]:
        loop.standardise(row[None], 0, tree.arrays["scaler"], True, x)
        n, places, shares = visited(tree, row, x)
        assert (~inner[places[:n, 0]]).sum() == 1
        assert places[n - 1, 0] == loop.find_leaf(row[None], 0, tree._tree_nodes())
        assert (shares[:n, layout.SHARE] == 1.0).all()


@pytest.mark.tiny
def test_with_alpha_1_a_complete_tree_is_the_smooth_step_tree_whatever_its_tests():
    X, labels, _, _ = stream(1, n=100)
    model = SmoothStepTreeClassifier(max_depth=3, random_state=0, bias=True)
    model.partial_fit(X[:1], labels[:1], classes=[0, 1])
    tree = growing(SoftStream(3, 2, alpha=1.0, rate=0.01, grace=np.inf, max_depth=3))
    tree._resize(nodes=15)
    for name in ("nodes", "gates", "values", "scaler", "numbers", "value_slopes", "gate_slopes", "counters"):
        tree.arrays[name] = model.growth_.arrays[name].copy()
    tree.arrays["nodes"][:7, FEATURE] = np.arange(7) % 3
    tree.arrays["numbers"][:7, THRESHOLD] = 0.0
    tree.change_settings(max_inner=7.0)
    out = np.empty((99, 2))
    tree.learn(X[1:], labels[1:], np.ones(99), out)
    assert np.array_equal(out, model.test_then_train(X[1:], labels[1:]))
    for name in ("gates", "values"):
        assert np.array_equal(tree.arrays[name], model.growth_.arrays[name])


# ------------------------------------------------------------------ batches, parts and weights


@pytest.mark.tiny
@kinds
@pytest.mark.parametrize("batch", [1, 7])
def test_any_division_into_calls_gives_the_same_state(batch, is_class):
    X, labels, targets, weights = stream(4, n=160, missing=0.05)
    y = labels if is_class else targets
    reference = SoftStream(3, 2 if is_class else 1, is_class, batch=batch, alpha_rate=0.01, recheck=40.0)
    whole, parts = growing(reference), growing(reference)
    whole.learn(X, y, weights, None)
    assert whole.n_inner >= 2
    cuts = np.sort(np.random.default_rng(0).integers(160, size=40))
    for rows in np.split(np.arange(160), cuts):
        parts.learn(X[rows], y[rows], weights[rows], None)
    assert_same_arrays(whole, parts)
    assert whole.log == parts.log


@pytest.mark.tiny
def test_a_batch_makes_one_step_by_its_mean_gradient():
    tree = growing(SoftStream(1, 2, batch=4, max_inner=0, rate=0.1))
    tree.learn(np.zeros((3, 1)), np.array([0, 0, 1]), np.ones(3), None)
    assert not tree.arrays["values"].any()
    tree.learn(np.zeros((1, 1)), np.array([0]), np.ones(1), None)
    # Probabilities were a half each; three of four rows are of class 0.
    assert tree.arrays["values"][1, 0] == pytest.approx([0.1 * -0.25, 0.1 * 0.25])
    assert tree.arrays["values"][0, 0] == pytest.approx([0.1, -0.1])


@pytest.mark.tiny
@kinds
def test_weight_2_is_the_row_twice_and_weight_0_is_none(is_class):
    X, labels, targets, _ = stream(5, n=120)
    y = labels if is_class else targets
    reference = SoftStream(3, 2 if is_class else 1, is_class, alpha_rate=0.01)
    weights = np.random.default_rng(0).integers(0, 4, size=120).astype(float)
    weighted, repeated = growing(reference), growing(reference)
    weighted.learn(X, y, weights, None)
    k = weights.astype(int)
    repeated.learn(np.repeat(X, k, axis=0), np.repeat(y, k), np.ones(k.sum()), None)
    assert weighted.n_inner >= 2
    assert weighted.n_rows == np.count_nonzero(k)
    assert repeated.n_rows == k.sum()
    assert [replace(event, n_samples=0) for event in weighted.log] == [replace(e, n_samples=0) for e in repeated.log]
    # Only rows are counted otherwise.
    weighted.arrays["counters"][layout.N_ROWS], weighted.log = repeated.n_rows, repeated.log
    assert_same_arrays(weighted, repeated)


@pytest.mark.tiny
def test_errors_of_rows():
    for is_class, expected in ((True, 0.75), (False, 3.5)):
        tree = growing(SoftStream(3, 2 if is_class else 1, is_class))
        tree.arrays["target_scaler"][[layout.CENTRE, layout.INVERSE], 0] = 1.0, 2.0
        _, soft, path, _ = tree._groups()
        path.slope[0] = [0.75, 0.25] if is_class else [0.5]
        labels, targets = (np.array([0, 1]), None) if is_class else (None, np.array([0.0, 3.0]))
        rows = layout.Rows(np.zeros((2, 3)), labels, targets, np.ones(2), np.empty((0, 0)))
        assert loop.miss(rows, 1, soft, path) == expected


@pytest.mark.tiny
@kinds
def test_with_a_small_error_the_rest_of_a_row_is_learned_at_once(is_class):
    X, labels, targets, weights = stream(2, n=200)
    y, weights = labels if is_class else targets, np.ceil(3.0 * weights)
    reference = SoftStream(3, 2 if is_class else 1, is_class, small_error=0.3)
    n_portions = []
    reference.learn_portion = lambda *row: n_portions.append(1) or SoftStream.learn_portion(reference, *row)
    tree = learn_both(reference, X, y, weights)
    assert_same_tree(tree, reference)
    assert len(X) < len(n_portions) < 0.9 * weights.sum()


@pytest.mark.tiny
@pytest.mark.parametrize("weight", [64.0, 65.5, 1e6])
def test_large_weights_are_learned_as_by_the_reference_and_soon(weight):
    X, labels, _, _ = stream(5, n=4)
    reference = SoftStream(3, 2, alpha_rate=0.01)
    tree = growing(reference)
    tree.learn(X, labels, np.array([1.0, weight, 0.5, 2.0]), None)
    for row, label, w in zip(X, labels, [1.0, weight, 0.5, 2.0], strict=True):
        reference.learn(row, label, w)
    assert tree.predict(X) == pytest.approx(np.array([reference.predict(row) for row in X]), abs=1e-9)


@pytest.mark.tiny
def test_weight_one_half_halves_the_gradient():
    moments = []
    for weight in (1.0, 0.5):
        tree = growing(SoftStream(1, 2, max_inner=0))
        tree.learn(np.zeros((1, 1)), np.zeros(1, dtype=np.int64), np.array([weight]), None)
        moments.append(tree.arrays["values"][1, 0])
    assert moments[1] == pytest.approx(0.5 * moments[0])


@pytest.mark.tiny
@kinds
def test_predicting_and_rows_of_weight_0_change_nothing(is_class):
    X, labels, targets, weights = stream(6, n=150, missing=0.05)
    y = labels if is_class else targets
    tree = growing(SoftStream(3, 2 if is_class else 1, is_class, batch=4))
    tree.learn(X, y, weights, None)
    before = copy.deepcopy(tree)
    predictions = tree.predict(X)
    for name, array in before.arrays.items():
        # Scratch space is not copied.
        assert name in tree.scratch or np.array_equal(array, tree.arrays[name], equal_nan=True), name
    out = np.empty_like(predictions)
    tree.learn(X, y, np.zeros(len(X)), out)
    assert np.array_equal(out, predictions)
    assert_same_arrays(before, tree)


# ------------------------------------------------------------------ the single loops


def learned(is_class, n=150, seed=2, **settings):
    """A tree and its reference after the same rows, and these rows."""
    X, labels, targets, weights = stream(seed, n=n, missing=0.05)
    reference = SoftStream(3, 2 if is_class else 1, is_class, is_category=[False, False, True], **settings)
    y = labels if is_class else targets
    return learn_both(reference, X, y, weights), reference, X, y


@pytest.mark.tiny
@kinds
def test_shares_are_those_of_the_reference(is_class):
    tree, reference, X, _ = learned(is_class)
    for row in X[:30]:
        x = reference.inputs(row)
        n, places, shares = visited(tree, row, x)
        expected = [(reference.nodes.index(node), share) for node, share in reference.reached(row, x)]
        assert places[:n, 0].tolist() == [number for number, _ in expected]
        assert shares[:n, layout.SHARE] == pytest.approx([share for _, share in expected])
        for i, (number, _) in enumerate(expected):
            if reference.nodes[number].children:
                part, slope, less_test = reference.gate(reference.nodes[number], row, x)
                assert shares[i, [layout.PART, layout.SLOPE, layout.LESS_TEST]] == pytest.approx(
                    [part, slope, less_test]
                )
                assert loop.along(tree.arrays["gates"], number, x) == pytest.approx(
                    reference.nodes[number].line[1:] @ x
                )


@pytest.mark.tiny
@kinds
def test_predictions_are_those_of_the_reference(is_class):
    tree, reference, X, _ = learned(is_class)
    own, soft, path, _ = tree._arguments
    out, raw = np.empty((30, reference.n_outputs)), np.empty((30, reference.n_outputs))
    kind = layout.PROBABILITIES if is_class else layout.TARGETS
    loop.predict_soft(Rows(X[:30], None, None, None, out), kind, own, soft, path)
    loop.predict_soft(Rows(X[:30], None, None, None, raw), layout.RAW, own, soft, path)
    assert out == pytest.approx(np.array([reference.predict(row) for row in X[:30]]), abs=1e-7)
    assert raw == pytest.approx(np.array([reference.raw(row) for row in X[:30]]), abs=1e-7)


@pytest.mark.tiny
def test_a_parameter_takes_a_step_of_adam():
    rng = np.random.default_rng(0)
    lines, slopes = rng.random((3, 2, 5)), rng.random((2, 5))
    before, g, root = lines.copy(), 0.5 * slopes[1, 3], np.sqrt(1 - 0.999**4)
    loop.adam_part(lines, slopes, 1, 3, 0.5, 0.03 * root / (1 - 0.9**4), 1e-8 * root)
    first = 0.9 * before[1, 1, 3] + 0.1 * g
    second = 0.999 * before[2, 1, 3] + 0.001 * g**2
    step = 0.03 * first / (1 - 0.9**4) / (np.sqrt(second / (1 - 0.999**4)) + 1e-8)
    assert lines[:, 1, 3] == pytest.approx(np.array([before[0, 1, 3] - step, first, second]))
    assert np.flatnonzero(slopes == 0).tolist() == [8]
    lines[:, 1, 3] = before[:, 1, 3]
    assert np.array_equal(lines, before)


@pytest.mark.tiny
@kinds
@pytest.mark.parametrize("batch", [1, 4])
def test_steps_are_taken_at_the_end_of_a_batch_where_a_gradient_waits(batch, is_class):
    tree, reference, _, _ = learned(is_class, batch=batch, alpha_rate=0.02)
    a, rng = tree.arrays, np.random.default_rng(0)
    for k, node in enumerate(reference.nodes):
        # nothing waits, or alpha alone (in leaves all), or everything
        node.is_touched, node.is_flat = k % 3 != 0, k % 3 == 2
        a["nodes"][k, layout.TOUCHED] = (-1, ALL_WAITS, ALPHA_WAITS if node.children else ALL_WAITS)[k % 3]
        node.slope = rng.normal(size=len(node.slope))
        if node.children and node.is_flat:
            node.slope[1:] = 0.0
        (a["gate_slopes"] if node.children else a["value_slopes"])[k] = node.slope
    own, soft, _, _ = tree._groups()
    if batch > 1:
        a["counters"][layout.N_IN_BATCH] = batch - 2
        before = copy.deepcopy(a)
        loop.take_steps(own, soft)
        assert a["counters"][layout.N_IN_BATCH] == batch - 1
        assert np.array_equal(a["values"], before["values"])
        loop.take_steps(own, soft)
    else:
        for k in np.flatnonzero(a["nodes"][: len(reference.nodes), layout.TOUCHED] > 0):
            loop.take_step(k, own, soft)
    for node in reference.nodes:
        reference.step(node)
    assert a["counters"][layout.N_IN_BATCH] == 0
    assert_same_tree(tree, reference)


@pytest.mark.tiny
@kinds
def test_rows_are_learned_from_the_first_one_on_until_there_is_no_room(is_class):
    tree, reference, X, y = learned(is_class, n=60, grace=1e9)
    reference.grace = 5.0
    tree.change_settings(grace_period=5.0)
    weights, start, expected = np.full(60, 2.0), 40, []
    out = np.full((60, reference.n_outputs), np.nan)
    rows = Rows(X, y if is_class else None, None if is_class else y, weights, out)
    while start < 60:
        start, is_alarm, n_events = loop.learn_soft(rows, start, *tree._arguments)
        assert not is_alarm
        assert n_events == tree.arrays["counters"][layout.N_EVENTS]
        tree._make_room()
    for row, target in zip(X[40:], y[40:], strict=True):
        expected.append(reference.predict(row))
        reference.learn(row, target, 2.0)
    assert_same_tree(tree, reference)
    assert tree.n_inner >= 2
    assert np.isnan(out[:40]).all()
    assert out[40:] == pytest.approx(np.array(expected), abs=1e-7)
    tree.arrays["counters"][layout.N_EVENTS] = len(tree.arrays["events"])
    assert loop.learn_soft(rows, 7, *tree._arguments)[0] == 7
