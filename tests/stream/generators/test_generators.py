"""Streams: the same in all partitions, and equal in distribution to those of river."""

import copy
import pickle
import random
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from softwood.compiled.stream import bounced, loan_class
from softwood.stream.generators import LED, SEA, Agrawal, Hyperplane, OversampledClasses, RandomRBF
from softwood.stream.generators.random_rbf import _moves_to_cover
from tests.reference import streams as slow

# a p-value that chance gives once in a thousand tests; all seeds are fixed
UNLIKELY = 1e-3

_rng = np.random.default_rng(0)
TABLE = np.column_stack([_rng.normal(size=(60, 3)), _rng.integers(0, 4, 60)])
LABELS = np.array(["a", "b", "c"])[_rng.choice(3, 60, p=[0.6, 0.3, 0.1])]

MAKERS = {
    "sea": lambda seed=7: SEA(noise=0.1, drift_every=13, seed=seed),
    "hyperplane": lambda seed=7: Hyperplane(n_features=5, magnitude=0.01, turn_probability=0.3, seed=seed),
    "rbf": lambda seed=7: RandomRBF(n_classes=3, n_features=4, n_centroids=6, speed=0.05, n_moving=4, seed=seed),
    "agrawal": lambda seed=7: Agrawal(perturbation=0.1, drift_every=11, drift_width=6, seed=seed),
    "agrawal, balanced": lambda seed=7: Agrawal(function=1, balanced=True, seed=seed),
    "led": lambda seed=7: LED(noise=0.2, irrelevant=True, n_drift_features=3, seed=seed),
    "led, plain": lambda seed=7: LED(seed=seed),
    "oversampled": lambda seed=7: OversampledClasses(TABLE, LABELS, n_drifts=3, n_samples=900, noise=0.1, seed=seed),
}
each_stream = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def same(one, other):
    return all(a.tobytes() == b.tobytes() and a.shape == b.shape for a, b in zip(one, other, strict=True))


def looks_alike(sample, other):
    return stats.ks_2samp(sample, other).pvalue > UNLIKELY


def of_river(dataset, n):
    """Features and classes of a data set of river, as arrays."""
    rows = list(dataset.take(n))
    return np.array([list(x.values()) for x, _ in rows], dtype=float), np.array([y for _, y in rows], dtype=int)


# ------------------------------------------------------------------ all streams


@each_stream
def test_shapes_and_types(make):
    stream = make()
    X, y = stream.take(50)
    assert X.shape == (50, stream.n_features)
    assert X.dtype == np.float64
    assert X.flags.c_contiguous
    assert y.shape == (50,)
    assert y.dtype == np.int64
    assert set(y) <= set(range(len(stream.classes)))
    assert len(stream.feature_names) == stream.n_features
    assert all(isinstance(name, str) for name in stream.feature_names)
    X, y = stream.take(0)
    assert X.shape == (0, stream.n_features)
    assert y.shape == (0,)
    assert stream.position == 50


@each_stream
@settings(max_examples=15)
@given(sizes=st.lists(st.integers(0, 40), max_size=8))
def test_any_partition_gives_the_same_rows(make, sizes):
    stream, whole = make(), make().take(sum(sizes))
    parts = [stream.take(size) for size in sizes] or [stream.take(0)]
    assert same([np.concatenate(part) for part in zip(*parts, strict=True)], whole)
    assert stream.position == sum(sizes)


@each_stream
def test_large_and_single_blocks_agree(make):
    stream = make()
    singles = [stream.take(1) for _ in range(300)]
    assert same([np.concatenate(part) for part in zip(*singles, strict=True)], make().take(300))


@each_stream
def test_blocks(make):
    stream = make()
    stream.take(5)
    blocks = list(stream.blocks(250, block_size=100))
    assert [len(y) for _, y in blocks] == [100, 100, 50]
    X, y = make().take(255)
    assert same([np.concatenate(part) for part in zip(*blocks, strict=True)], (X[5:], y[5:]))
    assert list(stream.blocks(0)) == []


@each_stream
@pytest.mark.parametrize("seed", [7, None])
def test_restart_gives_the_same_stream(make, seed):
    stream = make(seed)
    first = stream.take(100)
    stream.take(33)
    stream.restart()
    assert stream.position == 0
    assert same(stream.take(100), first)


@each_stream
def test_seeds_matter(make):
    assert not same(make(1).take(50), make(2).take(50))
    assert not same(make(None).take(50), make(None).take(50))
    assert same(make(np.int64(3)).take(50), make(3).take(50))


@each_stream
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda stream: pickle.loads(pickle.dumps(stream))])
def test_a_copy_in_the_middle_goes_on(make, duplicate):
    stream = make(None)
    first = stream.take(137)
    other = duplicate(stream)
    assert other.position == 137
    assert same(other.take(90), stream.take(90))
    other.restart()
    assert same(other.take(137), first)


@each_stream
def test_memory_stays(make):
    stream = make()
    size = len(pickle.dumps(stream))
    for _ in stream.blocks(800, block_size=100):
        pass
    assert len(pickle.dumps(stream)) < size + 60


@each_stream
def test_one_by_one_from_the_first_sample(make):
    stream = make()
    X, y = stream.take(300)
    rows = list(islice(stream, 300))
    assert [list(x) for x, _ in rows] == [list(stream.feature_names)] * 300
    assert [list(x.values()) for x, _ in rows] == X.tolist()
    assert [label for _, label in rows] == stream.classes[y].tolist()
    assert stream.position == 300
    assert next(iter(stream)) == rows[0]
    assert same(stream.take(10), [part[300:] for part in make().take(310)])


def test_streams_are_printed_by_what_is_not_usual():
    assert repr(SEA()) == "SEA()"
    assert repr(SEA(noise=0.1, seed=3)) == "SEA(noise=0.1, seed=3)"
    assert repr(OversampledClasses(TABLE, LABELS, share=0.5)) == "OversampledClasses(share=0.5)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SEA(noise=2), r"The 'noise' parameter of SEA must be a number in the range \[0, 1\]. Got 2 instead."),
        (lambda: SEA(variant=4), r"'variant' parameter of SEA must be an int in the range \[0, 3\]. Got 4"),
        (lambda: SEA(drift_every=0), r"'drift_every' .* an int in the range \[1, inf\) or None. Got 0"),
        (lambda: SEA(seed=-1), "'seed' .* Got -1"),
        (lambda: SEA(seed=0.5), "'seed' .* Got 0.5"),
        (lambda: SEA().take(-1), "'n' parameter of SEA .* Got -1"),
        (lambda: SEA().blocks(10, block_size=0), "'block_size' parameter of SEA .* Got 0"),
        (lambda: SEA().blocks(None), "'n_samples' parameter of SEA .* Got None"),
        (lambda: Hyperplane(n_features=0), "'n_features' .* Got 0"),
        (lambda: Hyperplane(n_drift_features=11), r"'n_drift_features' .* \[0, 10\]. Got 11"),
        (lambda: Hyperplane(magnitude=-0.1), "'magnitude' .* Got -0.1"),
        (lambda: Hyperplane(turn_probability="often"), "'turn_probability' .* Got 'often'"),
        (lambda: RandomRBF(n_moving=51), r"'n_moving' .* \[0, 50\] or None. Got 51"),
        (lambda: RandomRBF(speed=np.nan), "'speed' .* Got nan"),
        (lambda: RandomRBF(model_seed="a"), "'model_seed' .* Got 'a'"),
        (lambda: Agrawal(function=10), r"'function' .* \[0, 9\]. Got 10"),
        (lambda: Agrawal(balanced=1), "'balanced' .* a bool. Got 1"),
        (lambda: Agrawal(functions=[1, 2]), r"'functions' .* None where 'drift_every' is None. Got \[1, 2\]"),
        (lambda: Agrawal(functions=[], drift_every=5), r"'functions' .* a sequence of ints .* Got \[\]"),
        (lambda: Agrawal(functions=3, drift_every=5), "'functions' .* a sequence of ints .* Got 3"),
        (lambda: Agrawal(functions=[1, 10], drift_every=5), r"'functions' .* \[0, 9\]. Got 10"),
        (lambda: Agrawal(drift_width=10), "'drift_width' .* None where 'drift_every' is None. Got 10"),
        (lambda: Agrawal(drift_every=5, drift_width=6), r"'drift_width' .* \[1, 5\] or None. Got 6"),
        (lambda: LED(n_drift_features=8, irrelevant=True), r"'n_drift_features' .* \[0, 7\]. Got 8"),
        (lambda: LED(n_drift_features=2), "'n_drift_features' .* 0 unless irrelevant=True. Got 2"),
        (lambda: OversampledClasses(TABLE, LABELS, share=1.5), "'share' .* Got 1.5"),
        (lambda: OversampledClasses(TABLE[0], LABELS), r"'X' .* of shape \(n_rows, n_features\).* Got \(4,\)"),
        (lambda: OversampledClasses([["red"]], [0]), "'X' .* a table of numbers. Got 'list'"),
        (lambda: OversampledClasses([[np.inf], [0.0]], [0, 1]), "'X' .* finite.* Got inf"),
        (lambda: OversampledClasses(TABLE, LABELS[1:]), r"'y' .* of shape \(60,\).* Got \(59,\)"),
        (lambda: OversampledClasses([[1.0], [2.0]], [0, np.nan]), "'y' .* without missing values"),
        (lambda: OversampledClasses([[1.0], [2.0]], [3, 3]), r"'y' .* at least two classes. Got \[3\]"),
        (lambda: OversampledClasses(TABLE, LABELS, categorical_features="x"), "'categorical_features' .* Got 'x'"),
        (lambda: OversampledClasses(TABLE, LABELS, categorical_features=[4]), "'categorical_features' .* Got 4"),
        (lambda: OversampledClasses(TABLE, LABELS, categorical_features=[True]), r"a mask of shape \(4,\). Got \(1,\)"),
    ],
)
def test_errors_name_the_parameter(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ------------------------------------------------------------------ SEA

THRESHOLDS = [8, 9, 7, 9.5]


@pytest.mark.parametrize("variant", range(4))
def test_sea_is_that_of_river(variant):
    synth = pytest.importorskip("river.datasets.synth")
    theirs, labels = of_river(synth.SEA(variant=variant, noise=0.2, seed=1), 5000)
    X, y = SEA(variant=variant, noise=0.2, seed=1).take(20_000)
    assert all(looks_alike(X[:, j], theirs[:, j]) for j in range(3))
    rule, their_rule = X[:, :2].sum(axis=1) > THRESHOLDS[variant], theirs[:, :2].sum(axis=1) > THRESHOLDS[variant]
    assert stats.binomtest(int((rule != y).sum()), len(y), 0.2).pvalue > UNLIKELY
    assert stats.binomtest(int((their_rule != labels).sum()), len(labels), 0.2).pvalue > UNLIKELY


@pytest.mark.parametrize("position", [0, 10**12])
def test_sea_drifts_where_it_must(position):
    stream = SEA(variant=2, drift_every=50, seed=0)
    stream._position = position
    X, y = stream.take(1000)
    thresholds = [THRESHOLDS[(2 + (position + t) // 50) % 4] for t in range(1000)]
    assert ((X[:, 0] + X[:, 1] > thresholds) == y).all()


# ------------------------------------------------------------------ hyperplane


def test_the_slow_hyperplane_is_that_of_river():
    synth = pytest.importorskip("river.datasets.synth")
    values = (6, 3, 0.02, 0.3, 0.4)
    names = ("n_features", "n_drift_features", "mag_change", "noise_percentage", "sigma")
    river = synth.Hyperplane(seed=5, **dict(zip(names, values, strict=True)))
    for (x, y, _), (their_x, their_y) in zip(
        islice(slow.turning_hyperplane(random.Random(5).random, *values), 500), river.take(500), strict=True
    ):
        assert x == list(their_x.values())
        assert y == their_y


def test_hyperplanes_turn_as_the_slow_one():
    values, n = (4, 2, 0.05, 0.0, 0.1), 60
    ours, theirs = [], []
    for seed in range(400):
        stream = Hyperplane(*values, seed=seed)
        stream.take(n)
        ours.append(stream.weights)
        reference = slow.turning_hyperplane(random.Random(seed).random, *values)
        theirs.append(next(islice(reference, n, None))[2])
    ours, theirs = np.array(ours), np.array(theirs)
    assert all(looks_alike(ours[:, j], theirs[:, j]) for j in range(4))
    assert ours[:, :2].std() > 1.5 * ours[:, 2:].std()


def test_hyperplane_of_each_sample():
    stream = Hyperplane(n_features=5, n_drift_features=5, magnitude=0.01, noise=0.0, turn_probability=0.2, seed=0)
    turns = 0
    last = None
    for _ in range(2000):
        before = stream.weights
        X, y = stream.take(1)
        assert y[0] == (X[0] @ before >= before.sum() / 2)
        change = np.round((stream.weights - before) / 0.01)
        assert set(np.abs(change)) == {1.0}
        turns += 0 if last is None else (change != last).sum()
        last = change
    assert stats.binomtest(int(turns), 5 * 1999, 0.19).pvalue > UNLIKELY


@pytest.mark.parametrize(("noise", "expected"), [(0.05, 0.04), (0.005, 0.0), (1.0, 0.99)])
def test_noise_of_hyperplanes_is_less_by_a_hundredth(noise, expected):
    stream = Hyperplane(noise=noise, seed=0)
    X, y = stream.take(50_000)
    wrong = (X @ stream.weights >= stream.weights.sum() / 2) != y
    assert stats.binomtest(int(wrong.sum()), len(y), expected).pvalue > UNLIKELY


# ------------------------------------------------------------------ random RBF


def with_centroids_of_river(speed, n_moving=4):
    """The same centroids in both streams."""
    synth = pytest.importorskip("river.datasets.synth")
    sizes = dict(n_classes=3, n_features=4, n_centroids=6)
    still = synth.RandomRBF(seed_model=3, seed_sample=4, **sizes)
    moving = synth.RandomRBFDrift(seed_model=3, seed_sample=4, change_speed=speed, n_drift_centroids=n_moving, **sizes)
    next(iter(still))
    next(iter(moving))
    stream = RandomRBF(**sizes, speed=speed, n_moving=n_moving, seed=0)
    stream.centres = np.array([c.centre for c in still.centroids])
    stream.centroid_classes = np.array([c.class_label for c in still.centroids])
    stream.spreads = np.array([c.std_dev for c in still.centroids])
    stream.centroid_weights = np.array(still.centroid_weights)
    stream.velocities[:] = 0
    stream.velocities[:n_moving] = speed * np.abs(moving.centroid_speed)
    return stream, moving


@pytest.mark.parametrize("speed", [0.0, 0.001, 0.3])
def test_rbf_is_that_of_river(speed):
    stream, river = with_centroids_of_river(speed)
    theirs, labels = of_river(river, 6000)
    X, y = stream.take(6000)
    counts = np.array([np.bincount(y, minlength=3), np.bincount(labels, minlength=3)])
    assert stats.chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue > UNLIKELY
    for c in np.unique(y):
        # early, and late when all has moved; products see how the features go together
        for part in (slice(0, 3000), slice(3000, 6000)):
            a, b = X[part][y[part] == c], theirs[part][labels[part] == c]
            assert all(looks_alike(a[:, j], b[:, j]) for j in range(4))
            assert looks_alike(a[:, 0] * a[:, 1], b[:, 0] * b[:, 1])


@pytest.mark.parametrize("speed", [0.001, 0.0123, 0.3, 2.5])
def test_centroids_are_where_those_of_river_are(speed):
    stream, river = with_centroids_of_river(speed)
    first = _moves_to_cover(1 - stream.centres, stream.velocities)
    swing = _moves_to_cover(np.ones((6, 4)), stream.velocities)
    for t, _ in enumerate(river.take(3000), start=1):
        if t in (1, 2, 50, 500, 2999, 3000):
            places = np.array(
                [
                    [
                        bounced(stream.centres[c, j], stream.velocities[c, j], first[c, j], swing[c, j], t)
                        for j in range(4)
                    ]
                    for c in range(6)
                ]
            )
            assert places == pytest.approx(np.array([c.centre for c in river.centroids]), abs=1e-10)


def test_centroids_are_drawn_uniformly():
    stream = RandomRBF(n_classes=4, n_features=3, n_centroids=3000, speed=0.01, seed=0)
    for units in (*stream.centres.T, stream.spreads, stream.centroid_weights):
        assert stats.kstest(units, "uniform").pvalue > UNLIKELY
    assert stats.chisquare(np.bincount(stream.centroid_classes)).pvalue > UNLIKELY
    assert np.linalg.norm(stream.velocities, axis=1) == pytest.approx(0.01)
    assert (stream.velocities >= 0).all()


def test_seed_of_the_centroids_alone():
    one, other = RandomRBF(seed=1, model_seed=9), RandomRBF(seed=2, model_seed=9)
    assert (one.centres == other.centres).all()
    assert (one.velocities == other.velocities).all()
    assert not same(one.take(10), other.take(10))
    assert not (one.centres == RandomRBF(seed=1).centres).any()


@pytest.mark.parametrize("speed", [1e-320, 1e-30, 1e-5, 3.0, 1e300])
def test_any_speed_and_a_late_time(speed):
    stream = RandomRBF(n_features=3, speed=speed, seed=0)
    stream.spreads = np.zeros(50)
    stream._position = 10**12
    X, _ = stream.take(1000)
    assert ((X >= 0) & (X <= 1)).all()


# ------------------------------------------------------------------ Agrawal


@pytest.mark.parametrize("function", range(10))
def test_classes_of_applications_are_those_of_river(function):
    synth = pytest.importorskip("river.datasets.synth")
    theirs, labels = of_river(synth.Agrawal(classification_function=function, seed=1), 3000)
    assert [loan_class(function, theirs, i) for i in range(3000)] == labels.tolist()
    X, y = Agrawal(function=function, seed=2).take(30_000)
    assert [loan_class(function, X, i) for i in range(2000)] == y[:2000].tolist()
    table = np.array([np.bincount(y, minlength=2), np.bincount(labels, minlength=2)])
    assert stats.fisher_exact(table).pvalue > UNLIKELY


@pytest.mark.parametrize("perturbation", [0.0, 0.05, 0.6])
@pytest.mark.parametrize("balanced", [False, True])
def test_applications_are_those_of_river(perturbation, balanced):
    synth = pytest.importorskip("river.datasets.synth")
    river = synth.Agrawal(classification_function=4, seed=3, perturbation=perturbation, balance_classes=balanced)
    theirs, labels = of_river(river, 6000)
    X, y = Agrawal(function=4, perturbation=perturbation, balanced=balanced, seed=3).take(20_000)
    if balanced:
        assert y.tolist() == [1, 0] * 10_000
        assert labels.tolist() == [1, 0] * 3000
    for c in (0, 1):
        a, b = X[y == c], theirs[labels == c]
        assert all(looks_alike(a[:, j], b[:, j]) for j in range(9))
        assert looks_alike(a[:, 6] + 1e5 * a[:, 5], b[:, 6] + 1e5 * b[:, 5])
        for j in (2, 3, 4, 5, 7):  # whole numbers
            values = np.unique(np.concatenate([a[:, j], b[:, j]]))
            counts = [[(part[:, j] == v).sum() for v in values] for part in (a, b)]
            assert stats.chi2_contingency(counts).pvalue > UNLIKELY


@pytest.mark.parametrize("position", [0, 10**12 + 7])
def test_applications_drift_where_they_must(position):
    for parameters, order in (
        ({"function": 8}, [8, 9, 0, 1, 2, 3, 4, 5, 6, 7]),
        ({"functions": (5, 1, 1, 6)}, [5, 1, 1, 6]),
    ):
        stream = Agrawal(drift_every=40, seed=0, **parameters)
        stream._position = position
        X, y = stream.take(1000)
        functions = [order[(position + t) // 40 % len(order)] for t in range(1000)]
        assert [loan_class(f, X, i) for i, f in enumerate(functions)] == y.tolist()


def test_gradual_drift():
    stream = Agrawal(functions=(0, 2), drift_every=1000, drift_width=200, seed=0)
    X, y = stream.take(400_000)
    by_first = (X[:, 2] < 40) | (X[:, 2] >= 60)
    by_second = np.array([loan_class(2, X, i) for i in range(len(y))])
    assert ((y == by_first) | (y == by_second)).all()
    assert (y[:400] == by_first[:400]).all()  # before the first change there is no other
    t = np.arange(len(y))
    change = np.rint((t + 0.5) / 1000).astype(int)
    since = t + 0.5 - 1000 * change
    is_telling = (by_first != by_second) & (change > 0)
    is_new = np.where(change % 2 == 1, y == by_second, y == by_first)
    for low in range(-300, 300, 50):
        chosen = is_telling & (since >= low) & (since < low + 50)
        expected = expit(4 * since[chosen] / 200).mean()
        assert stats.binomtest(int(is_new[chosen].sum()), int(chosen.sum()), expected).pvalue > UNLIKELY


# ------------------------------------------------------------------ LED


@pytest.mark.parametrize("noise", [0.0, 0.005, 0.1, 0.5])
def test_led_is_that_of_river(noise):
    synth = pytest.importorskip("river.datasets.synth")
    theirs, labels = of_river(synth.LED(noise_percentage=noise, seed=1), 10_000)
    X, y = LED(noise=noise, seed=1).take(50_000)
    assert stats.chisquare(np.bincount(y)).pvalue > UNLIKELY
    powers = 2 ** np.arange(7)
    codes = [128 * y + (X @ powers).astype(int), 128 * labels + (theirs @ powers).astype(int)]
    counts = np.array([np.bincount(part, minlength=1280) for part in codes])
    if noise < 0.01:
        assert ((counts > 0).sum(axis=1) == 10).all()
        assert ((counts[0] > 0) == (counts[1] > 0)).all()
    counts = counts[:, counts.sum(axis=0) >= 20]
    assert stats.chi2_contingency(counts).pvalue > UNLIKELY


def test_led_with_features_out_of_place():
    synth = pytest.importorskip("river.datasets.synth")
    X, y = LED(irrelevant=True, n_drift_features=4, seed=3).take(20_000)
    assert X.shape[1] == 24
    # the segments that have gone to other places: as many, next to each other (in a circle), in both streams
    for part, labels in [
        (X, y),
        of_river(synth.LEDDrift(irrelevant_features=True, n_drift_features=4, seed=3), 3000),
    ]:
        is_segment = np.array([all(part[labels == c, j].std() == 0 for c in range(10)) for j in range(24)])
        assert is_segment[:7].sum() == 3
        assert is_segment[7:].sum() == 4
        for places in (is_segment[:7], is_segment[7:]):
            assert (places != np.roll(places, 1)).sum() == 2
        coins = part[:, ~is_segment].ravel()
        assert stats.binomtest(int(coins.sum()), coins.size, 0.5).pvalue > UNLIKELY


def test_places_of_led_features():
    plain, usual = LED(irrelevant=True, seed=0), LED(irrelevant=True, n_drift_features=5, seed=0)
    assert plain.order.tolist() == list(range(24))
    X, y = usual.take(100)
    expected, labels = plain.take(100)
    assert (expected[:, usual.order] == X).all()
    assert (y == labels).all()
    starts = [LED(irrelevant=True, n_drift_features=1, seed=seed).order for seed in range(400)]
    moved = np.array([np.flatnonzero(order != np.arange(24)) for order in starts])
    assert set(moved[:, 0]) == set(range(7))
    assert set(moved[:, 1]) == set(range(7, 24))


# ------------------------------------------------------------------ a data set with frequent classes


def test_contexts_and_shares():
    # a row's number is in its first column
    X, codes = np.column_stack([np.arange(60), TABLE]), np.unique(LABELS, return_inverse=True)[1]
    stream = OversampledClasses(X, LABELS, n_drifts=4, share=0.75, n_samples=50_003, seed=0)
    assert len(stream.contexts) == 5
    assert (np.diff(stream.contexts) != 0).all()
    assert stream.classes.tolist() == ["a", "b", "c"]
    drawn, y = stream.take(10**6)
    assert len(y) == stream.position == 50_003
    assert stream.take(5)[0].shape == (0, 5)
    assert list(stream.blocks(5)) == []
    rows = drawn[:, 0].astype(int)
    assert (drawn == X[rows]).all()
    assert (y == codes[rows]).all()
    ends = [round(50_003 * k / 5 + 0.499) for k in range(6)]
    for k, frequent in enumerate(stream.contexts):
        part = rows[ends[k] : ends[k + 1]]
        is_frequent = codes == frequent
        expected = np.where(is_frequent, 0.75 / is_frequent.sum(), 0.25 / (~is_frequent).sum())
        counts = np.bincount(part, minlength=60)
        assert stats.chisquare(counts, expected * len(part)).pvalue > UNLIKELY


def test_contexts_are_random():
    contexts = np.array([OversampledClasses(TABLE, LABELS, n_drifts=3, seed=seed).contexts for seed in range(600)])
    assert stats.chisquare(np.bincount(contexts[:, 0])).pvalue > UNLIKELY
    steps = np.diff(contexts, axis=1) % 3
    assert stats.chisquare(np.bincount(steps.ravel())[1:]).pvalue > UNLIKELY


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_extreme_shares(share):
    stream = OversampledClasses(TABLE, LABELS, n_drifts=0, share=share, n_samples=500, seed=0)
    _, y = stream.take(500)
    assert ((y == stream.contexts[0]) == (share == 1.0)).all()


def test_the_stream_ends():
    stream = OversampledClasses(TABLE, LABELS, n_samples=700, seed=0)
    assert [len(y) for _, y in stream.blocks(10**6, block_size=300)] == [300, 300, 100]
    assert len(list(stream)) == 700


@pytest.mark.parametrize(
    ("categorical_features", "expected"),
    [
        ("auto", [0, 1, 2]),
        (None, [0, 1, 2, 3]),
        ([0, 3], [1, 2]),
        (["x1"], [0, 2, 3]),
        ([False, True, True, False], [0, 3]),
        ([], [0, 1, 2, 3]),
    ],
)
def test_noise_is_normal_and_leaves_categories_alone(categorical_features, expected):
    plain = OversampledClasses(TABLE, LABELS, seed=0)
    noisy = OversampledClasses(TABLE, LABELS, noise=0.2, categorical_features=categorical_features, seed=0)
    (X, y), (jittered, labels) = plain.take(5000), noisy.take(5000)
    assert (y == labels).all()
    assert np.flatnonzero((jittered != X).any(axis=0)).tolist() == expected
    for j in expected:
        assert stats.kstest((jittered - X)[:, j] / (0.2 * TABLE[:, j].std()), "norm").pvalue > UNLIKELY


def test_missing_cells_stay_missing():
    X = TABLE.copy()
    X[::3, 0] = np.nan
    X[:, 1] = np.nan
    drawn, _ = OversampledClasses(X, LABELS, noise=0.1, seed=0).take(1000)
    assert 0.2 < np.isnan(drawn[:, 0]).mean() < 0.5
    assert np.isnan(drawn[:, 1]).all()
    assert not np.isnan(drawn[:, 2:]).any()


def test_frames():
    frame = pd.DataFrame(TABLE, columns=["p", "q", "r", "kind"]).astype({"kind": int})
    stream = OversampledClasses(frame, pd.Series(LABELS), noise=0.1, categorical_features=["p", "kind"], seed=1)
    assert stream.feature_names == ("p", "q", "r", "kind")
    X, y = stream.take(100)
    expected = OversampledClasses(TABLE, LABELS, noise=0.1, categorical_features=[0, 3], seed=1).take(100)
    assert same((X, y), expected)
    x, label = next(iter(stream))
    assert list(x) == ["p", "q", "r", "kind"]
    assert label in {"a", "b", "c"}
