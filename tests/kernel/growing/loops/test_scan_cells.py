"""Boxes whose half-widths differ from cell to cell: against the slow search, and against the scan for all kernels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled.growing import is_by_cell, place_boxes, scan_boxes, scan_column, scan_points, sort_boxes
from softwood.kernel.growing.loops.groups import Bins, Goal, Kernels
from softwood.kernel.growing.loops.scan import BINARY_ENTROPY, ENTROPY, SQUARED
from softwood.kernel.growing.loops.tree_groups import Search
from softwood.kernel.growing.workspace import knots_for
from tests.kernel.growing.loops.growth import new_scratch, nonsense
from tests.reference.kernels import BOX, cdf, table
from tests.strategies import check, nodes

EVERYWHERE = (-np.inf, np.inf)
half_widths = st.sampled_from([0.0, 0.0, 0.01, 0.125, 0.25, 0.3, 1.0, 5.0])
box_nodes = nodes(
    n_outputs=[1, 2, 3], criteria=[SQUARED, ENTROPY, BINARY_ENTROPY], widths=half_widths, shape_reach=(-1.0, 1.0),
    unique=False, max_size=7,
)  # fmt: skip


def space(x, widths, points, labels=None):
    """Arguments of `scan_column` for a node of all rows but the first, and of one feature."""
    m = len(x)
    edges, values = table(BOX)
    kernels = Kernels(
        np.zeros(1, np.int64), edges[None], values[None], np.append(9.0, widths)[:, None], np.ones(1, bool)
    )
    bins = Bins(
        np.zeros((m + 1, 1), np.uint8), np.zeros(1), np.zeros(1), np.zeros(1), np.array([0, 1]), np.arange(1),
        points=np.append(9.0, x)[:, None],
    )  # fmt: skip
    scratch = new_scratch(m, 1, 1, labels is not None)._replace(points=points)
    if labels is not None:
        scratch = scratch._replace(labels=labels)
    q = 3
    nothing = np.empty(0, np.uint64)
    search = Search(
        np.empty((0, 0, 0)), nothing, nothing, np.empty((0, 4)), np.empty((0, 5)), np.full((5, q), np.nan),
        np.zeros(1, np.uint8), knots=knots_for(kernels, 1, m, q, nonsense),
    )  # fmt: skip
    rows = np.append(99, 1 + np.arange(m)).astype(np.uint32)
    return bins, kernels, 0, rows, 1, m, scratch, search


def run(x, widths, points, interval, goal, labels=None):
    *arguments, search = space(x, widths, points, labels)
    return scan_column(*arguments, interval, goal, search)


def by_knots(x, widths, points, interval, goal, labels=None):
    """By the scan for all kernels."""
    *_, search = space(x, widths, points, labels)
    edges, values = (each[None] for each in table(BOX))
    bounds = [[cdf(end, a, w, BOX) for a, w in zip(x, widths, strict=True)] for end in interval]
    labels = np.empty(0, np.int32) if labels is None else labels
    return scan_points(
        np.vstack([x, widths, bounds]), points, labels, len(x), 0, edges, values, interval, goal, search.knots,
        search.work,
    )  # fmt: skip


@pytest.mark.tiny
@given(box_nodes)
def test_best_threshold_is_that_of_the_slow_search(node):
    points = np.column_stack([node.masses, node.sums])
    goal = Goal(np.nan, np.nan, node.min_mass, node.tie, node.sums.shape[1], node.criterion)
    check(node, BOX, run(node.x, node.widths, points, (node.lo, node.hi), goal))


@pytest.mark.tiny
@pytest.mark.parametrize("criterion", [SQUARED, ENTROPY])
@pytest.mark.parametrize("seed", range(6))
def test_as_the_scan_for_all_kernels_with_missing_values(criterion, seed):
    rng = np.random.default_rng(seed)
    m = 40
    x = np.where(rng.random(m) < 0.2, np.nan, rng.normal(size=m).round(1))
    widths = rng.choice([0.0, 0.1, 0.5, 2.0], size=m)
    lo, hi = (-0.75, 0.95) if seed % 2 else EVERYWHERE
    touches = ~((x + widths <= lo) | (x - widths > hi))
    x, widths = x[touches], widths[touches]
    m = len(x)
    masses = rng.random(m) + 0.5
    labels = rng.integers(3, size=m).astype(np.int32)
    goal = Goal(np.nan, np.nan, 3.0, 1e-12, 3, criterion)
    expected = by_knots(x, widths, masses[:, None].copy(), (lo, hi), goal, labels)
    assert np.isfinite(expected[0])
    assert run(x, widths, masses[:, None].copy(), (lo, hi), goal, labels) == pytest.approx(expected, rel=1e-9)
    points = np.column_stack([masses, masses[:, None] * (labels[:, None] == range(3))])
    assert run(x, widths, points, (lo, hi), goal) == pytest.approx(expected, rel=1e-9)


@pytest.mark.tiny
def test_nothing_to_split():
    goal = Goal(np.nan, np.nan, 1.0, 1e-12, 1, SQUARED)
    for x in ([np.nan, np.nan], [2.0, 2.0]):
        assert run(np.array(x), np.zeros(2), np.ones((2, 2)), EVERYWHERE, goal)[0] == -np.inf


@pytest.mark.tiny
def test_places_of_boxes():
    x, widths = np.array([0.0, 1.0, np.nan, 2.0, 0.5, 5.0]), np.array([1.0, 0.0, 1.0, 1e-320, 1.0, 5.0])
    bins, kernels, feature, rows, begin, m, _, search = space(x, widths, np.ones((6, 2)))
    cells = search.knots.cells
    place_boxes(bins, kernels, feature, rows, begin, m, (-0.5, 1.5 - 1e-9), cells)
    assert cells[0, [0, 1, 4, 5]].tolist() == [-0.5, np.nextafter(1.0, 0.0), -0.5, 0.0]
    assert cells[1, [0, 1, 4, 5]].tolist() == [1.0, 1.0, 1.5 - 1e-9, 1.5 - 1e-9]
    assert cells[2, :m].tolist() == pytest.approx([1 / 1.5, 0.0, np.nan, 0.0, 0.5, 1 / 1.5], nan_ok=True)
    n, ends, total = sort_boxes(cells, m, np.ones((6, 2)), np.empty(0, np.int32), 1, search.knots, search.work)
    assert (n, total) == (5, 6.0)
    assert np.all(np.diff(search.knots.times[:n]) >= 0)
    assert np.all(np.diff(search.knots.open_rates[:n]) >= 0)
    assert sorted(search.knots.orders[ends, :n].tolist()) == [0, 1, 2, 3, 4]
    assert search.knots.atoms[:n, 2].tolist() == [1.2] * 5, "with the point that has no value"


@pytest.mark.tiny
def test_the_scan_of_sorted_boxes_finds_the_gap_between_them():
    points = np.array([[1.0, 0.0], [2.0, 2.0], [1.0, 0.0]])  # mass and sum
    bins, kernels, feature, rows, begin, m, _, search = space(np.array([0.0, 3.0, 0.5]), np.full(3, 0.5), points)
    assert is_by_cell(kernels, 0)
    assert not is_by_cell(None, 0)
    place_boxes(bins, kernels, feature, rows, begin, m, EVERYWHERE, search.knots.cells)
    sorted_boxes = sort_boxes(
        search.knots.cells, m, points, np.empty(0, np.int32), 1, search.knots, search.work
    )  # fmt: skip
    goal = Goal(np.nan, np.nan, 1.0, 1e-12, 1, SQUARED)
    merit, threshold, left = scan_boxes(*sorted_boxes, EVERYWHERE, goal, search.knots, search.work)
    assert (merit, left) == pytest.approx((0.0**2 / 2 + 2.0**2 / 2, 2.0))
    assert 1.0 <= threshold <= 2.5


@pytest.mark.tiny
@pytest.mark.parametrize("seed", range(5))
def test_steep_slopes_of_narrow_boxes_leave_nothing_behind(seed):
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(size=50) * 1e-6, rng.normal(size=50) * 10])
    widths = np.concatenate([np.full(50, 1e-12), np.full(50, 20.0)])
    points = np.column_stack([np.ones(100), rng.random(100) < 0.5])
    goal = Goal(np.nan, np.nan, 1.0, 1e-12, 1, SQUARED)
    merit, threshold, left_mass = run(x, widths, points, EVERYWHERE, goal)
    shares = np.array([cdf(threshold, a, w, BOX) for a, w in zip(x, widths, strict=True)])
    mass, part = shares.sum(), shares @ points[:, 1]
    assert left_mass == pytest.approx(mass, rel=1e-9)
    assert merit == pytest.approx(part**2 / mass + (points[:, 1].sum() - part) ** 2 / (100 - mass), rel=1e-9)
