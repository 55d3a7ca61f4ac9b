"""Extra trees' search for one random threshold per feature, against the reference; and its random numbers."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from softwood.compiled.growing import (
    code_range,
    copy_codes,
    copy_values,
    highest_known,
    kernel_support,
    left_masses,
    left_pair,
    left_shares,
    left_sums,
    look_up,
    look_up_known,
    search_random,
    settle_crisp,
    share_missing,
    tie_of,
)
from softwood.compiled.trees import next_seed, to_unit
from softwood.kernel.growing.loops.groups import Bins, Goal, Kernels
from softwood.kernel.growing.loops.scan import BINARY_ENTROPY, ENTROPY, SQUARED
from softwood.kernel.growing.loops.tree_groups import RandomSearch
from softwood.trees.nodes import KernelShapes
from tests.kernel.growing.loops.growth import new_scratch
from tests.reference import random_search as slow
from tests.reference.gains import merit
from tests.reference.kernels import BOX, SHAPES, STAIRS, interval_mass, table
from tests.reference.random_search import Column
from tests.strategies import CRITERION_NAMES, masses, on_grid, places

SEEDS = np.arange(600)

seeds = st.integers(0, 2**64 - 1)
crisp_or_soft = st.sampled_from([0.0, 0.0, 0.05, 0.25, 0.3, 1.0, 5.0])


# ------------------------------------------------------------------ random numbers


@pytest.mark.tiny
@given(seeds, st.integers(0, 10**6))
def test_random_numbers_are_those_of_the_generator(seed, salt):
    after = int(next_seed(np.uint64(seed), salt))
    assert after == slow.next_seed(seed, salt)
    unit = to_unit(np.uint64(after))
    assert unit == slow.to_unit(after)
    assert 0.0 <= unit < 1.0


@pytest.mark.tiny
def test_random_numbers_have_their_ends():
    assert to_unit(np.uint64(0)) == 0.0
    assert to_unit(np.uint64(2**64 - 1)) == 1.0 - 2.0**-53


def test_random_numbers_are_uniform_and_independent():
    """Over seeds, over salts, and along a path of seeds.

    Judged by the p-values of many blocks, which are uniform themselves if all is well: the worst of thousands of blocks
    is bad by chance (the first 5 000 seeds with salt 3 have a p-value of 0.0001, and 10 million of them 0.18).
    """
    n = 20_000
    over_seeds = [to_unit(np.uint64(next_seed(np.uint64(s), 3))) for s in range(n)]
    over_salts = [to_unit(np.uint64(next_seed(np.uint64(7), s))) for s in range(n)]
    seed, along = np.uint64(1), []
    for _ in range(n):
        seed = np.uint64(next_seed(seed, 0))
        along.append(to_unit(seed))
    for drawn in (over_seeds, over_salts, along):
        blocks = [stats.kstest(block, "uniform").pvalue for block in np.split(np.array(drawn), 100)]
        assert stats.kstest(blocks, "uniform").pvalue > 0.01
        assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 4 / np.sqrt(n)
    assert abs(np.corrcoef(over_seeds, over_salts)[0, 1]) < 4 / np.sqrt(n)


# ------------------------------------------------------------------ nodes


@dataclass
class Node:
    """The points of a node, coded as the loops take them."""

    columns: list[Column]
    codes: np.ndarray
    rows: np.ndarray
    masses: np.ndarray
    targets: np.ndarray  # (m, q) as they are stored
    labels: np.ndarray | None
    shapes: list
    kinds: np.ndarray | None
    cells: np.ndarray | None
    by_cell: np.ndarray | None
    order: np.ndarray
    n_draw: int
    seed: int
    min_mass: float
    criterion: int

    @property
    def begin(self):
        return len(self.rows) - len(self.masses)

    @property
    def points(self):
        """Mass, and mass times target if there are no labels."""
        sums = self.masses[:, None] * self.targets
        return np.column_stack([self.masses, *([sums] if self.labels is None else [])])

    @property
    def bins(self):
        """As the loops take them; those of all features one after the other."""
        arrays = [np.concatenate([getattr(c, name) for c in self.columns]) for name in ("means", "lows", "highs")]
        offsets = np.cumsum([0] + [len(c.means) for c in self.columns])
        return Bins(self.codes, *arrays, offsets, np.arange(len(self.columns)))

    @property
    def widths(self):
        """Half-width of each feature; 1 where cells have their own, as growing sets it."""
        has_own = np.zeros(len(self.columns), dtype=bool) if self.by_cell is None else self.by_cell
        return np.array([1.0 if own else c.widths[0] for own, c in zip(has_own, self.columns, strict=True)])

    @property
    def kernels(self):
        """As the loops take them; None if all are boxes of one width."""
        if self.kinds is None:
            return None
        shapes = KernelShapes.of([table(shape) for shape in self.shapes])
        return Kernels(self.kinds, shapes.edges, shapes.cdfs, self.cells, self.by_cell)

    @property
    def base(self):
        """Merit of the node as a whole."""
        total, sums = self.masses.sum(), self.masses @ self.targets
        if self.criterion == SQUARED:
            return (sums**2).sum() / total
        return merit(total, sums, 1.0, np.zeros_like(sums), CRITERION_NAMES[self.criterion])

    @property
    def tie(self):
        squares = (self.masses[:, None] * self.targets**2).sum()
        impure = squares - self.base if self.criterion == SQUARED else -self.base
        return tie_of(self.base, impure, self.masses.sum())

    def search(self):
        q, m = self.targets.shape[1], len(self.masses)
        bins, total = self.bins, self.masses.sum()
        intervals = np.array([[c.lo for c in self.columns], [c.hi for c in self.columns]])
        scratch = new_scratch(m, len(self.columns), q, self.labels is not None)._replace(
            points=self.points, order=self.order, totals=np.append(self.masses @ self.targets, np.nan)
        )
        scratch = scratch if self.labels is None else scratch._replace(labels=self.labels)
        return search_random(
            bins, self.widths, self.kernels, self.rows, self.begin, m, scratch, self.n_draw, intervals,
            Goal(total, self.base, self.min_mass, self.tie, q, self.criterion), np.uint64(self.seed),
            RandomSearch(np.empty(m, self.codes.dtype), *(np.full(k, np.nan) for k in (bins.most + 1, m, (2, q + 1)))),
        )  # fmt: skip

    def slow_search(self):
        feature, threshold, left, best = slow.search(
            self.columns, self.masses, self.targets, self.order, self.n_draw, self.seed, self.min_mass, self.tie,
            self.base, CRITERION_NAMES[self.criterion],
        )  # fmt: skip
        return feature, threshold, left, best - self.base


@st.composite
def bins_of(draw):
    """Bins that do not touch: of single values, or of several with a mean between the smallest and the largest."""
    if draw(st.booleans()):
        means = np.array(sorted(draw(st.lists(places, min_size=1, max_size=6, unique=True))))
        return means, means.copy(), means.copy()
    edges = sorted(draw(st.lists(places, min_size=2, max_size=10, unique=True)))
    lows, highs = np.array(edges[: len(edges) // 2 * 2]).reshape(-1, 2).T
    parts = np.array([draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])) for _ in lows])
    return np.clip(lows + parts * (highs - lows), lows, highs), lows.copy(), highs.copy()


@st.composite
def node_columns(draw, n, shape, by_cell, missing):
    """A column of `n` points, and the code of each."""
    means, lows, highs = draw(bins_of())
    code = np.array([draw(st.integers(0, len(means) - (0 if missing else 1))) for _ in range(n)])
    widths = np.full(n, draw(crisp_or_soft))
    is_crisp = widths[0] == 0 and not by_cell
    if by_cell:
        widths = np.array([draw(crisp_or_soft) for _ in range(n)])
    x = np.append(means, np.nan)[code]
    # thresholds of crisp features lie between bins, those of others anywhere
    ends = st.sampled_from(highs.tolist()) if is_crisp else on_grid
    lo, hi = sorted([draw(st.just(-np.inf) | ends), draw(st.just(np.inf) | ends)])
    inside = [np.isnan(a) or interval_mass(a, w, lo, hi, shape) > 1e-3 for a, w in zip(x, widths, strict=True)]
    if lo == hi or not all(inside):
        lo, hi = -np.inf, np.inf
    return Column(x, widths, shape, means, lows, highs, lo, hi, is_crisp, by_cell), code


@st.composite
def nodes(draw, *, general, labelled, max_size=8):
    """Few points with ties and missing values, and one to three features."""
    n, p = draw(st.integers(1, max_size)), draw(st.integers(1, 3))
    kinds = np.array([draw(st.integers(0, len(SHAPES) - 1)) if general else 0 for _ in range(p)], dtype=np.int64)
    by_cell = np.array([general and draw(st.booleans()) for _ in range(p)])
    missing = draw(st.booleans())
    drawn = [draw(node_columns(n, SHAPES[kind], own, missing)) for kind, own in zip(kinds, by_cell, strict=True)]
    columns = [column for column, _ in drawn]
    # the node's rows are some of the data, in any order, and not the first ones of the list
    rows = draw(st.permutations(range(n + 2)))
    codes = np.zeros((n + 2, p), dtype=np.uint8)
    cells = np.full((n + 2, p), 99.0)
    for j, (column, code) in enumerate(drawn):
        codes[rows[2:], j] = code
        cells[rows[2:], j] = column.widths
    criterion = draw(st.sampled_from([SQUARED, ENTROPY] if labelled else [SQUARED, ENTROPY, BINARY_ENTROPY]))
    labels = None
    if labelled:
        labels = np.array([draw(st.integers(0, 2)) for _ in range(n)], dtype=np.int32)
        targets = np.eye(3)[labels]
    elif criterion == SQUARED:
        q = draw(st.integers(1, 3))
        targets = np.array([[draw(st.integers(-8, 8)) / 4 for _ in range(q)] for _ in range(n)])
    else:  # class probabilities, of two classes the second
        parts = np.array([[draw(st.integers(0, 3)) for _ in range(3)] for _ in range(n)]) + np.eye(3)[0]
        targets = parts / parts.sum(axis=1, keepdims=True)
        targets = targets[:, :1] if criterion == BINARY_ENTROPY else targets
    mass = np.array([draw(masses) for _ in range(n)])
    return Node(
        columns, codes, np.array(rows, dtype=np.uint32), mass, targets, labels, list(SHAPES),
        kinds if general else None, cells if general else None, by_cell if general else None,
        np.array(draw(st.permutations(range(p))), dtype=np.int64), draw(st.integers(1, p)), draw(seeds),
        draw(st.sampled_from([1e-6, 0.05, 0.3])) * mass.sum(), criterion,
    )  # fmt: skip


def check(node):
    feature, threshold, left, gain = node.search()
    expected = node.slow_search()
    assert feature == expected[0]
    if feature < 0:
        assert np.isnan(threshold)
        return
    assert threshold == pytest.approx(expected[1], rel=1e-12, abs=1e-12)
    assert left == pytest.approx(expected[2], rel=1e-9)
    scale = max(abs(node.masses @ node.targets).max(), node.masses.sum())
    assert gain == pytest.approx(expected[3], rel=1e-9, abs=1e-9 * scale)
    # what a split must be, whatever the reference says
    column = node.columns[feature]
    start, stop = column.support()
    total = node.masses.sum()
    assert column.lo < threshold < column.hi
    assert start <= threshold <= stop
    assert min(left, total - left) >= node.min_mass * (1 - 1e-6)
    assert left == pytest.approx(column.shares(threshold, node.masses) @ node.masses, rel=1e-9)


@pytest.mark.tiny
@given(nodes(general=False, labelled=False))
def test_boxes_and_targets(node):
    check(node)


@pytest.mark.tiny
@given(nodes(general=False, labelled=True))
def test_boxes_and_labels(node):
    check(node)


@pytest.mark.tiny
@given(nodes(general=True, labelled=False))
def test_any_kernel_and_targets(node):
    check(node)


@pytest.mark.tiny
@given(nodes(general=True, labelled=True))
def test_any_kernel_and_labels(node):
    check(node)


@pytest.mark.tiny
@given(nodes(general=False, labelled=False, max_size=5), st.data())
def test_neither_the_order_of_rows_nor_repeated_ones_change_a_draw(node, data):
    expected = node.search()
    again = np.array(data.draw(st.lists(st.integers(0, len(node.masses) - 1), max_size=4)), dtype=int)
    at = np.concatenate([np.arange(len(node.masses)), again])[:: data.draw(st.sampled_from([1, -1]))]
    times = np.bincount(at, minlength=len(node.masses))
    own_rows = node.rows[node.begin :]
    node.rows = np.concatenate([node.rows[: node.begin], own_rows[at]])
    node.masses, node.targets = (node.masses / times)[at], node.targets[at]
    for column in node.columns:
        column.x, column.widths = column.x[at], column.widths[at]
    assert node.search() == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


# ------------------------------------------------------------------ where the thresholds fall


def two_points(width=0.0, lo=-np.inf, hi=np.inf, shape=BOX, n_features=2, **changes):
    """Two points at 0 and 1 of different targets, with the same features twice."""
    x = np.array([0.0, 1.0])
    column = Column(x, np.full(2, width), shape, x, x, x, lo, hi, width == 0)
    general = shape is not BOX
    node = Node(
        [column] * n_features, np.tile(np.array([[0], [1]], dtype=np.uint8), n_features),
        np.arange(2, dtype=np.uint32), np.ones(2), np.array([[0.0], [1.0]]), None, [BOX, shape],
        np.ones(n_features, dtype=np.int64) if general else None, np.empty((0, 0)) if general else None,
        np.zeros(n_features, dtype=bool) if general else None, np.arange(n_features), 1, 0, 1e-9, SQUARED,
    )  # fmt: skip
    for name, value in changes.items():
        setattr(node, name, value)
    return node


def thresholds(node):
    out = []
    for seed in SEEDS:
        node.seed = int(seed)
        feature, threshold, *_ = node.search()
        assert feature == node.order[0]
        out.append(threshold)
    return np.array(out)


@pytest.mark.parametrize(
    ("parameters", "ends"),
    [
        ({}, (0.0, 1.0)),
        ({"width": 0.75}, (-0.75, 1.75)),
        ({"width": 0.75, "lo": -0.25, "hi": 1.25}, (-0.25, 1.25)),
        ({"width": 0.5, "shape": STAIRS}, (-0.75, 1.75)),
        ({"width": 0.5, "shape": STAIRS, "lo": 0.1}, (0.1, 1.75)),
    ],
)
def test_thresholds_are_uniform_over_the_support(parameters, ends):
    node = two_points(**parameters)
    drawn = thresholds(node)
    assert stats.kstest(drawn, stats.uniform(ends[0], ends[1] - ends[0]).cdf).pvalue > 0.01
    node.order = np.array([1, 0])
    assert abs(np.corrcoef(drawn, thresholds(node))[0, 1]) < 4 / np.sqrt(len(SEEDS)), "features draw for themselves"


@pytest.mark.tiny
@given(bins_of(), st.floats(-0.2, 1.2))
def test_crisp_thresholds_keep_a_bin_on_one_side(bins, place):
    means, lows, highs = bins
    assume(len(means) > 1)
    # as in the search: from the lowest mean up to the highest
    threshold = np.clip(means[0] + place * (means[-1] - means[0]), means[0], np.nextafter(means[-1], -np.inf))
    offset = 2
    arrays = [np.concatenate([[-9.0, -8.0], each, [9.0]]) for each in (means, lows, highs)]
    found = settle_crisp(threshold, *arrays, offset, len(means))
    np.testing.assert_array_equal(means <= found, means <= threshold)
    np.testing.assert_array_equal(lows <= found, means <= found)
    np.testing.assert_array_equal(highs <= found, means <= found)
    assert found == slow.settle(threshold, means, lows, highs)
    if not np.any((lows < threshold) & (threshold < highs)) and threshold not in lows:
        assert found == threshold


@pytest.mark.tiny
def test_crisp_thresholds_outside_of_all_means_stay():
    bins = np.array([1.0, 3.0]), np.array([0.0, 2.0]), np.array([1.5, 4.0])
    for threshold in (-1.0, 0.5, 3.0, 9.0):
        assert settle_crisp(threshold, *bins, 0, 2) == threshold
    assert settle_crisp(1.2, *bins, 0, 2) == 1.5
    assert settle_crisp(1.7, *bins, 0, 2) == 1.7
    assert settle_crisp(2.0, *bins, 0, 2) == 1.75
    assert settle_crisp(2.9, *bins, 0, 2) == 1.75


# ------------------------------------------------------------------ when a search goes on


@pytest.mark.tiny
def test_a_search_goes_past_features_that_cannot_be_split():
    """One value, or none: such a feature does not count as a try."""
    one = Column(np.zeros(2), np.zeros(2), BOX, np.zeros(1), np.zeros(1), np.zeros(1), -np.inf, np.inf, True)
    none = Column(np.full(2, np.nan), np.zeros(2), BOX, np.empty(0), np.empty(0), np.empty(0), -np.inf, np.inf, True)
    node = two_points(n_features=3)
    node.columns = [one, none, node.columns[0]]
    node.codes = np.array([[0, 0, 0], [0, 0, 1]], dtype=np.uint8)
    assert node.search()[0] == node.slow_search()[0] == 2


@pytest.mark.tiny
def test_points_at_one_place_are_divided_if_their_kernels_differ():
    """One reading is sure and the other is not: where the kernel of the latter is alone, its class is."""
    x = np.zeros(2)
    for widths, feature in ((np.array([0.1, 5.0]), 0), (np.array([0.1, 0.1]), -1)):
        column = Column(x, widths, BOX, x[:1], x[:1], x[:1], -np.inf, np.inf, False, True)
        node = two_points(n_features=1, kinds=np.zeros(1, dtype=np.int64), by_cell=np.ones(1, dtype=bool))
        node.columns, node.codes, node.cells = [column], np.zeros((2, 1), dtype=np.uint8), widths[:, None].copy()
        assert node.search()[0] == node.slow_search()[0] == feature


@pytest.mark.tiny
@pytest.mark.parametrize(("min_mass", "goes_on"), [(1.01, False), (0.99, True)])
def test_a_large_node_whose_draws_fail_goes_on(min_mass, goes_on):
    """The points with the first feature's value 0 have too little mass for a side; the other feature has enough."""
    node = two_points(min_mass=min_mass)
    x, other = np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0])
    node.masses, node.targets = np.array([0.5, 4.5, 5.0]), np.array([[0.0], [0.0], [1.0]])
    node.rows, node.codes = np.arange(3, dtype=np.uint32), np.column_stack([x, other]).astype(np.uint8)
    values = np.array([0.0, 1.0])
    node.columns = [
        Column(each, np.zeros(3), BOX, values, values, values, -np.inf, np.inf, True) for each in (x, other)
    ]
    assert node.search()[0] == node.slow_search()[0] == (1 if goes_on else -1)
    node.n_draw = 2
    assert node.search()[0] == 1


@pytest.mark.tiny
def test_crisp_splits_without_gain_are_taken_and_soft_ones_are_not():
    assert two_points(targets=np.ones((2, 1))).search()[0] == 0
    assert two_points(width=0.1, targets=np.ones((2, 1))).search()[0] == -1


@pytest.mark.tiny
def test_the_best_of_the_drawn_features_is_taken():
    rng = np.random.default_rng(0)
    node = two_points(n_features=3, n_draw=3)
    x = rng.normal(size=(3, 12))
    order = np.argsort(x, axis=1)
    node.columns = [Column(each, np.zeros(12), BOX, *[np.sort(each)] * 3, -np.inf, np.inf, True) for each in x]
    node.codes = np.argsort(order, axis=1).T.astype(np.uint8, order="C")
    node.rows, node.masses, node.targets = np.arange(12, dtype=np.uint32), np.ones(12), x[1][:, None]
    gains = []
    for j in range(3):
        node.order, node.n_draw = np.array([j, (j + 1) % 3, (j + 2) % 3]), 1
        gains.append(node.search()[3])
    node.n_draw = 3
    feature, _, _, gain = node.search()
    assert feature == np.argmax(gains) == 1
    assert gain == max(gains)


# ------------------------------------------------------------------ parts of the search


@pytest.mark.tiny
@given(nodes(general=True, labelled=False), st.booleans())
def test_support_and_shares(node, is_wide):
    """The codes may be bytes, or wider."""
    m = len(node.masses)
    node.codes = node.codes.astype(np.uint32) if is_wide else node.codes
    bins, kernels, own, widths = node.bins, node.kernels, (node.rows, node.begin, m), node.widths
    for j, column in enumerate(node.columns):
        n_bins = len(column.means)
        node_codes = np.empty(m, node.codes.dtype)
        copy_codes(bins.codes, j, *own, node_codes)
        np.testing.assert_array_equal(node_codes, node.codes[node.rows[node.begin :], j])
        lowest, highest = code_range(node_codes, m)
        assert (lowest, highest) == (node_codes.min(), node_codes.max())
        highest = highest_known(node_codes, m, n_bins)
        assert highest == max((int(c) for c in node_codes if c < n_bins), default=-1)
        if highest < 0:
            continue
        start, stop, is_one = kernel_support(node_codes, bins, kernels, j, *own, widths[j], lowest, highest)
        start, stop = max(start, column.lo), min(stop, column.hi)
        if column.support() is None:
            assert is_one or not stop > start
            continue
        assert (start, stop) == pytest.approx(column.support(), rel=1e-14, abs=1e-14)
        threshold = 0.3 * start + 0.7 * stop
        shares = np.empty(m)
        left_shares(node_codes, bins, kernels, j, *own, threshold, widths[j], (column.lo, column.hi), shares)
        np.testing.assert_array_equal(np.isnan(shares), np.isnan(column.x))
        share_missing(node.points, m, shares)
        assert shares == pytest.approx(column.shares(threshold, node.masses), abs=1e-9)


@pytest.mark.tiny
@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.sampled_from([np.uint8, np.uint32]))
def test_places_of_points_by_table_and_without(codes, dtype):
    """Five bins from place 2 on; the code 5 is a missing value."""
    values, codes = np.array([7.0, 7.0, 0.5, 1.5, 2.0, 4.0, 8.0, 9.0]), np.array(codes, dtype=dtype)
    table = np.full(6, 77.0)
    copy_values(values, 2, 5, table)
    np.testing.assert_array_equal(table, [0.5, 1.5, 2.0, 4.0, 8.0, np.nan])
    by_table, without = np.full(len(codes) + 1, 77.0), np.full(len(codes) + 1, 77.0)
    look_up(table, codes, len(codes), by_table)
    look_up_known(values, 2, 5, codes, len(codes), without)
    np.testing.assert_array_equal(by_table, [*table[codes], 77.0])
    np.testing.assert_array_equal(without, by_table)


@pytest.mark.tiny
@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_sums_of_the_left_parts(q, is_sorted):
    """Of targets, and of classes in any order of the points."""
    rng = np.random.default_rng(0)
    m = 20
    mass, shares, labels = rng.random(m), rng.random(m), rng.integers(q, size=m).astype(np.int32)
    labels = np.sort(labels) if is_sorted else labels
    work = np.full((2, q), np.nan)
    assert left_masses(mass[:, None].copy(), labels, m, shares, q, work) == pytest.approx(shares @ mass)
    assert work[1] == pytest.approx((shares * mass) @ np.eye(q)[labels])
    targets = rng.normal(size=(m, q))
    points = np.column_stack([mass, mass[:, None] * targets])
    assert left_sums(points, m, shares, q, work) == pytest.approx(shares @ mass)
    assert work[1] == pytest.approx((shares * mass) @ targets)
    assert np.isnan(work[0]).all()


@pytest.mark.tiny
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 7, 8, 21])
def test_mass_and_sum_of_the_left_parts(m):
    """By four points at a time, and those that remain."""
    rng = np.random.default_rng(m)
    points, shares = rng.normal(size=(m + 1, 2)), rng.random(m + 1)
    assert left_pair(points, m, shares) == pytest.approx(tuple(shares[:m] @ points[:m]))


@pytest.mark.tiny
def test_missing_values_go_as_the_others_do():
    points = np.array([[1.0], [3.0], [2.0], [5.0]])
    shares = np.array([1.0, 0.5, np.nan, np.nan])
    share_missing(points, 4, shares)
    assert shares.tolist() == [1.0, 0.5, 0.625, 0.625]
