from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled.growing import (
    _begin,
    add_exactly,
    add_sums,
    forget_slopes,
    go_on,
    knot_place,
    merge_runs,
    place_knots,
    place_point,
    rising_order,
    scan_atoms,
    scan_box,
    scan_cells,
    scan_general,
    scan_points,
    spread_missing,
)
from softwood.kernel.growing.loops.groups import Bins, Goal, Kernels
from softwood.kernel.growing.loops.scan import BINARY_ENTROPY, ENTROPY, SQUARED
from softwood.kernel.growing.loops.tree_groups import Search
from softwood.kernel.growing.workspace import knots_for
from softwood.trees.nodes import KernelShapes
from tests.kernel.growing.loops.growth import new_scratch, nonsense
from tests.reference.gains import merit
from tests.reference.kernels import BOX, LATE, SHAPES, STAIRS, cdf, interval_mass, left_share, table
from tests.reference.search import Axis
from tests.strategies import CRITERION_NAMES, check, nodes, with_slivers

CRITERIA = [SQUARED, ENTROPY, BINARY_ENTROPY]
NO_ENDS = (-np.inf, np.inf)
half_widths = st.sampled_from([0.01, 0.125, 0.25, 0.3, 1.0, 5.0])
with_crisp = st.sampled_from([0.0, 0.0, 0.01, 0.125, 0.25, 0.3, 1.0, 5.0])


def whole(n):
    """Bounds of kernels that are in the node as a whole, (2, n)."""
    return np.repeat([[0.0], [1.0]], n, axis=1)


@st.composite
def shape_and_node(draw, *, widths, unique):
    shape = draw(st.sampled_from(SHAPES))
    reach = shape.edges[0], shape.edges[-1]
    node = draw(
        nodes(n_outputs=[1, 2, 3], criteria=CRITERIA, widths=widths, shape_reach=reach, unique=unique, max_size=7)
    )
    inside = [interval_mass(x, w, node.lo, node.hi, shape) > 1e-3 for x, w in zip(node.x, node.widths, strict=True)]
    if not all(inside):  # in the hollow of a kernel
        node.lo, node.hi = -np.inf, np.inf
    return shape, node


def goal_of(min_mass, n_outputs, criterion, tie=1e-12):
    """The mass and the merit of the node unsplit are not read by scans."""
    return Goal(np.nan, np.nan, min_mass, tie, n_outputs, criterion)


def node_goal(node):
    return goal_of(node.min_mass, node.sums.shape[1], node.criterion, node.tie)


def kernels_of(shape):
    """A table of one shape, for one feature with half-widths of single cells."""
    edges, values = table(shape)
    return Kernels(np.zeros(1, np.int64), edges[None], values[None], np.empty((0, 1)), np.ones(1, bool))


def new_space(kernels, n, q):
    """Scratch space of a scan of `n` points or atoms: knots, and work."""
    return knots_for(kernels, n, n, q, nonsense), np.full((5, q), np.nan)


def run_atoms(node, shape):
    kernels = kernels_of(shape)
    return scan_atoms(
        node.atoms(), len(node.x), node.widths[0], 0, kernels, (node.lo, node.hi), node_goal(node),
        *new_space(kernels, len(node.x), node.sums.shape[1]),
    )  # fmt: skip


def scan(x, widths, bounds, points, labels, shape, interval, goal):
    """`scan_points`, with scratch space."""
    kernels = kernels_of(shape)
    cells = np.vstack([x, widths, bounds])
    return scan_points(
        cells, points, labels, len(x), 0, kernels.edges, kernels.cdfs, interval, goal,
        *new_space(kernels, len(x), goal.n_outputs),
    )  # fmt: skip


def bounds_of(node, shape):
    """Distribution values at the ends of the interval, (2, m)."""
    return np.array([[cdf(end, *each, shape) for each in zip(node.x, node.widths, strict=True)]
                     for end in (node.lo, node.hi)])  # fmt: skip


def run_points(node, shape, bounds=None, labels=None):
    bounds = bounds_of(node, shape) if bounds is None else bounds
    points = np.column_stack([node.masses, node.sums]) if labels is None else node.masses[:, None].copy()
    return scan(node.x, node.widths, bounds, points, labels, shape, (node.lo, node.hi), node_goal(node))


def run_events(node, shape, order):
    """By `scan_general` itself, with the breakpoints in any order."""
    kernels, n = kernels_of(shape), len(node.x)
    knots, work = new_space(kernels, n, node.sums.shape[1])
    at = 0
    for a, (x, width, lower, upper) in enumerate(zip(node.x, node.widths, *bounds_of(node, shape), strict=True)):
        at = place_knots(x, width, 0, kernels.edges, kernels.cdfs, lower, upper, a, knots, at)
    shuffled = order(at)
    for each in (knots.times, knots.rates, knots.owners):
        each[:at] = each[:at][shuffled]
    return scan_general(knots, at, node.atoms(), n, (node.lo, node.hi), node_goal(node), work)


@pytest.mark.tiny
@given(shape_and_node(widths=half_widths, unique=True))
def test_one_kernel_for_all_atoms(case):
    shape, node = case
    check(node, shape, run_atoms(node, shape))


@pytest.mark.tiny
@given(shape_and_node(widths=with_crisp, unique=False))
def test_a_width_for_each_point(case):
    shape, node = case
    check(node, shape, run_points(node, shape))


@pytest.mark.tiny
@given(shape_and_node(widths=with_crisp, unique=False), st.integers(0, 99))
def test_breakpoints_in_any_order(case, seed):
    shape, node = case
    check(node, shape, run_events(node, shape, lambda n: np.random.default_rng(seed).permutation(n)))


@pytest.mark.tiny
@given(
    nodes(n_outputs=[1, 2], criteria=CRITERIA, widths=st.just(0.5)),
    st.tuples(*[st.sampled_from([0.0, 1e-8, 4e-7, 3e-6, 1e-4])] * 2),
)
def test_kernels_of_which_hardly_anything_is_in_the_node(node, parts):
    with_slivers(node, 0.5, parts)
    check(node, BOX, run_atoms(node, BOX), precision=3e-6)


@pytest.mark.tiny
@given(shape_and_node(widths=with_crisp, unique=False), st.data())
def test_missing_values_are_shared_as_the_others_are(case, data):
    shape, node = case
    missing = np.array([data.draw(st.booleans()) for _ in node.x])
    missing[data.draw(st.integers(0, len(missing) - 1))] = False
    node.x = np.where(missing, np.nan, node.x)
    check(node, shape, run_points(node, shape))


@pytest.mark.tiny
@given(shape_and_node(widths=with_crisp, unique=False), st.data())
def test_bounds_for_each_point(case, data):
    # as they arise where the bandwidth changes along a path
    shape, node = case
    node.lo, node.hi = -np.inf, np.inf
    ends = [sorted(data.draw(st.lists(st.integers(0, 8), min_size=2, max_size=2, unique=True))) for _ in node.x]
    lower, upper = np.array(ends).T / 8
    found = run_points(node, shape, np.array([lower, upper]))
    axis = Axis(node.x, node.widths, node.masses, node.sums, shape=shape, lower=lower, upper=upper)
    check(node, shape, found, axis)


@pytest.mark.tiny
@pytest.mark.parametrize("criterion", [SQUARED, ENTROPY])
def test_labels_in_place_of_targets(criterion):
    rng = np.random.default_rng(3)
    x, widths, masses = rng.normal(size=12), rng.random(12), rng.random(12) + 0.1
    labels = rng.integers(3, size=12).astype(np.int32)
    x[4] = np.nan
    one_hot = masses[:, None] * np.eye(3)[labels]
    rest = (STAIRS, NO_ENDS, goal_of(0.5, 3, criterion))
    by_label = scan(x, widths, whole(12), masses[:, None].copy(), labels, *rest)
    by_target = scan(x, widths, whole(12), np.column_stack([masses, one_hot]), None, *rest)
    assert by_label == by_target
    assert np.isfinite(by_label[0])


@pytest.mark.tiny
def test_cells_of_a_binned_feature():
    rng = np.random.default_rng(5)
    # the second feature has three bins from place 3 on; code 3 is missing
    codes = np.array([[0, 2], [1, 0], [2, 3], [0, 1], [1, 2], [2, 0]], dtype=np.uint8)
    values = np.array([9.0, 9.0, 9.0, -1.0, 0.5, 2.0])
    cells = rng.random((6, 2))
    rows = np.array([99, 5, 4, 2, 0, 3], dtype=np.uint32)
    points = np.column_stack([np.ones(5), [0.0, 1.0, 0.0, 1.0, 1.0]])
    lo, hi = -0.8, 1.9
    places = np.append(values[3:], np.nan)[codes]
    bins = Bins(codes, values, values, values, np.array([0, 3, 6]), np.arange(2), points=places)
    shapes = KernelShapes.of([table(BOX), table(LATE)])
    kernels = Kernels(np.array([0, 1]), shapes.edges, shapes.cdfs, cells, np.array([False, True]))
    scratch, goal = new_scratch(5, 2, 1, False)._replace(points=points), goal_of(0.5, 1, SQUARED)
    nothing, stop = np.empty(0, np.uint64), np.zeros(1, np.uint8)
    knots, work = new_space(kernels, 5, 1)
    search = Search(np.empty((0, 0, 0)), nothing, nothing, np.empty((0, 4)), np.empty((0, 5)), work, stop, knots=knots)
    found = scan_cells(bins, kernels, 1, rows, 1, 5, scratch, (lo, hi), goal, search)
    x = np.array([-1.0, 2.0, np.nan, 2.0, 0.5])
    widths = cells[rows[1:], 1]
    bounds = np.array([[cdf(end, a, w, LATE) for a, w in zip(x, widths, strict=True)] for end in (lo, hi)])
    axis = Axis(x, widths, points[:, 0], points[:, 1:], lo, hi, LATE)
    best, _ = axis.best("squared", 0.5)
    assert found[0] >= best - 1e-9
    assert axis.merit(found[1], "squared") == pytest.approx(found[0])
    assert found == scan(x, widths, bounds, points, None, LATE, (lo, hi), goal)


@pytest.mark.tiny
def test_the_box_in_a_longer_table():
    # shapes of one tree are kept in one table, the last edge of the shorter ones repeated
    edges, values = np.array([-1.0, 1.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0, 1.0])
    atoms = np.array([[0.0, 0, 1.0, 0.0], [0.7, 1, 2.0, 2.0], [1.1, 2, 1.0, 0.0]])
    padded = np.hstack([atoms, np.zeros((3, 1))])  # the scan of boxes takes an even number of outputs
    lines, work, places = np.empty((4, 5)), np.array([[atoms[:, 3].sum(), 0.0]] * 4), atoms[:, 0].copy()
    kernels = kernels_of(BOX)._replace(edges=edges[None], cdfs=values[None])
    for interval in ((-np.inf, np.inf), (-0.2, 1.3), (0.1, 0.65)):
        short = scan_box(padded, 3, places, places, interval, 0.5, 0.1, 1e-12, SQUARED, 2, lines, work)
        long = scan_atoms(atoms, 3, 0.5, 0, kernels, interval, goal_of(0.1, 1, SQUARED), *new_space(kernels, 3, 1))
        assert long == pytest.approx(short, rel=1e-12)


@pytest.mark.tiny
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9), st.lists(st.integers(-3, 3), max_size=9))
def test_merging_two_runs(first, second):
    keys = np.array([9, *sorted(first), *sorted(second), -9], dtype=float)
    middle, end = 1 + len(first), len(keys) - 1
    orders = np.full((3, len(keys)), -1)
    orders[1] = np.arange(len(keys))
    merge_runs(keys, orders, 1, 1, middle, end)
    assert orders[0].tolist() == [-1, *(1 + np.argsort(keys[1:end], kind="stable")), -1]
    assert orders[1].tolist() == list(range(len(keys)))


@pytest.mark.tiny
@given(st.lists(st.integers(-3, 3), max_size=40))
def test_rising_order_is_a_stable_sort(keys):
    keys = np.array([*keys, -9, 5], dtype=float)  # the last two are beyond n
    n = len(keys) - 2
    orders = np.full((3, n + 1), -1)
    row = rising_order(keys, n, orders)
    assert orders[row, :n].tolist() == np.argsort(keys[:n], kind="stable").tolist()
    assert orders[:, n].tolist() == [-1, -1, -1]


@pytest.mark.tiny
@pytest.mark.parametrize("shape", SHAPES)
def test_place_of_a_mass_within_a_piece(shape):
    edges, values = table(shape)
    for k in np.flatnonzero(np.diff(values)):
        for part in (0.0, 0.3, 1.0):
            mass = values[k] + part * (values[k + 1] - values[k])
            place = knot_place(mass, 0, edges[None], values[None], k)
            assert place == pytest.approx(edges[k] + part * (edges[k + 1] - edges[k]), abs=1e-12)


@pytest.mark.tiny
@given(shape_and_node(widths=half_widths, unique=True))
def test_knots_describe_the_share(case):
    shape, node = case
    kernels = kernels_of(shape)
    x, width = node.x[0], node.widths[0]
    lower, upper = cdf(node.lo, x, width, shape), cdf(node.hi, x, width, shape)
    knots, _ = new_space(kernels, 3, 1)
    times, rates, owners = knots.times, knots.rates, knots.owners
    end = place_knots(x, width, 0, kernels.edges, kernels.cdfs, lower, upper, 7, knots, 2)
    assert set(owners[2:end]) == {7}
    assert np.all(np.isnan(times[:2]))
    assert np.all(np.isnan(times[end:]))
    times, rates = times[2:end], rates[2:end]
    assert np.all(np.diff(times) >= 0)
    assert rates.sum() == pytest.approx(0.0, abs=1e-9 * np.abs(rates).max())
    for t in np.concatenate([times, 0.5 * (times[1:] + times[:-1]), [times[0] - 1, times[-1] + 1]]):
        share = np.clip(t - times, 0, None) @ rates
        assert share == pytest.approx(left_share(t, x, width, node.lo, node.hi, shape), abs=1e-9)


@pytest.mark.tiny
def test_a_crisp_point_and_a_thin_slice_are_steps():
    kernels = kernels_of(STAIRS)
    knots, _ = new_space(kernels, 3, 1)
    times, rates = knots.times, knots.rates
    end = place_knots(2.0, 0.0, 0, kernels.edges, kernels.cdfs, 0.0, 1.0, 0, knots, 0)
    assert end == 2
    assert times[:2].tolist() == [np.nextafter(2.0, 0), 2.0]
    assert rates[0] == 0.0
    assert np.isnan(rates[1])
    end = place_knots(2.0, 1.0, 0, kernels.edges, kernels.cdfs, 0.5, 0.5 + 1e-8, 0, knots, 0)
    assert end == 2
    assert times[:2] == pytest.approx([2.0, 2.0], abs=1e-6)
    assert rates[0] == 0.0
    assert np.isnan(rates[1])


@pytest.mark.tiny
@given(st.lists(st.floats(-1e200, 1e200), min_size=1, max_size=20))
def test_sums_with_what_rounding_loses(numbers):
    total, rest = 0.0, 0.0
    for x in numbers:
        total, rest = add_exactly(total, rest, x)
    exact = sum(map(Fraction, numbers))
    size = float(sum(abs(Fraction(x)) for x in numbers))
    assert abs(float(Fraction(total) + Fraction(rest) - exact)) <= 1e-28 * size
    assert add_exactly(1e16, 0.0, 1.5) == (1e16 + 2.0, -0.5)
    assert add_exactly(1.5, 0.0, 1e16) == (1e16 + 2.0, -0.5)


@pytest.mark.tiny
def test_a_scan_begins_with_nothing_on_the_left():
    atoms = np.random.default_rng(0).normal(size=(5, 6))
    work = np.full((5, 3), 7.0)
    assert _begin(atoms, 4, 3, work) == pytest.approx(atoms[:4, 2].sum())
    assert work[0] == pytest.approx(atoms[:4, 3:].sum(axis=0))
    assert not work[[1, 2, 4]].any(), "left sums, slopes, and what these lose by rounding"
    work[:] = 7.0
    forget_slopes(work, 2)
    assert work.tolist() == [[7.0] * 3, [7.0] * 3, [0.0, 0.0, 7.0], [7.0] * 3, [0.0, 0.0, 7.0]]


@pytest.mark.tiny
def test_points_as_atoms():
    atoms = np.full((3, 5), 7.0)
    place_point(np.array([[9.0], [2.0]]), np.array([0, 1], np.int32), 1, 2, atoms, 0)
    place_point(np.array([[3.0, -1.0, 0.5]]), np.empty(0, np.int32), 0, 2, atoms, 1)
    assert atoms[:, 2:].tolist() == [[2.0, 0.0, 2.0], [3.0, -1.0, 0.5], [7.0] * 3]
    add_sums(np.array([[3.0, -1.0, 0.5]]), np.empty(0, np.int32), 0, 2, atoms, 2, 1)
    add_sums(np.array([[9.0]]), np.array([1], np.int32), 0, 2, atoms, 2, 3)
    assert atoms[2].tolist() == [7.0, 6.0, 7.5, 7.0, 16.0]
    atoms[2] = 7.0
    work = np.array([[np.nan] * 2, [1.0, 2.0]])
    spread_missing(0.0, 5.0, 2, work, atoms, 2)
    assert atoms[0, 2:].tolist() == [2.0, 0.0, 2.0]
    spread_missing(10.0, 5.0, 2, work, atoms, 2)
    np.testing.assert_allclose(atoms[:, 2:], [[6.0, 0.4, 2.8], [9.0, -0.4, 1.7], [7.0] * 3])


@pytest.mark.tiny
@pytest.mark.parametrize("criterion", CRITERIA)
def test_going_on_to_the_next_breakpoint(criterion):
    q = 1 if criterion == BINARY_ENTROPY else 2
    totals, left, slope, rest = np.array([[3.0, 2.0], [0.5, 0.25], [1.0, 0.5], [0.25, 0.125]])[:, :q]
    goal, nothing = goal_of(1.5, q, criterion), (-np.inf, np.nan, 0.0)

    def went(t_next, left_mass, start=left, is_gap=False, rate=1.0, best=nothing):
        """From the threshold 2 with 5 as the mass of the node; also the sums on the left afterwards."""
        work = np.array([totals, start, slope, np.full(q, np.nan), rest])
        found = go_on(2.0, t_next, is_gap, left_mass, rate, 5.0, (1.0, 9.0), goal, work, *best)
        assert work[[0, 2, 4]].tolist() == [totals.tolist(), slope.tolist(), rest.tolist()]
        return found, work[1]

    ahead = left + 0.4 * (slope + rest)
    expected = merit(1.5, ahead, 3.5, totals - ahead, CRITERION_NAMES[criterion])
    before = (expected - 1.0, -7.0, 2.5)
    found, sums = went(3.0, 1.1, best=before)
    assert found == pytest.approx((2.1, expected, 2.4, 1.5), rel=1e-12), "a side has the minimum further on"
    assert sums == pytest.approx(left + slope + rest)
    assert went(2.3, 1.1, best=before)[0] == pytest.approx((1.4, *before)), "it is not reached"
    assert went(3.0, 1.1, best=(expected, -7.0, 2.5))[0] == pytest.approx((2.1, expected, -7.0, 2.5)), "no better"
    assert went(3.0, 1.5, ahead)[0] == pytest.approx((2.5, expected, 2.0, 1.5)), "the threshold itself"
    found, sums = went(3.0, 1.5, ahead, is_gap=True, rate=0.0)
    assert found == pytest.approx((1.5, expected, 2.5, 1.5)), "in a gap, its middle"
    assert sums.tolist() == ahead.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_steep_slopes_of_narrow_kernels_leave_nothing_behind(seed):
    # widths in proportion to the reading, over 15 orders of magnitude
    rng = np.random.default_rng(seed)
    n = 150
    x = np.sort(np.exp(rng.normal(scale=6.0, size=n)))
    h = 0.9 * x
    y = rng.normal(size=n)
    edges, values = table(STAIRS)
    points = np.column_stack([np.ones(n), y])
    best, threshold, left = scan(x, h, whole(n), points, None, STAIRS, NO_ENDS, goal_of(1.0, 1, SQUARED, 0.0))
    share = np.interp((threshold - x) / h, edges, values)
    mass, s = share.sum(), share @ y
    assert left == pytest.approx(mass, rel=1e-9)
    assert best == pytest.approx(s**2 / mass + (y.sum() - s) ** 2 / (n - mass), rel=1e-8)


@pytest.mark.parametrize("widths", ["one", "by point", "in proportion to the reading"])
def test_sums_do_not_drift_over_many_points(widths):
    rng = np.random.default_rng(0)
    n = 100_000
    if widths == "in proportion to the reading":
        x = np.sort(np.exp(rng.normal(scale=5.0, size=n)))
        h = 0.3 * x
    else:
        x = np.sort(rng.normal(size=n))
        h = np.full(n, 0.1) if widths == "one" else rng.choice([0.0, 1e-6, 1e-3, 0.2], size=n)
    masses = rng.random(n) ** 4 + 1e-6
    y = 1.0 * (x > np.quantile(x, 0.7)) + rng.normal(size=n)
    points = np.column_stack([masses, masses * y])
    edges, values = table(STAIRS)
    best, threshold, left = scan(x, h, whole(n), points, None, STAIRS, NO_ENDS, goal_of(1.0, 1, SQUARED, 0.0))
    z = (threshold - x) / np.where(h > 0, h, 1.0)
    share = np.where(h > 0, np.interp(z, edges, values), x <= threshold)
    mass, s = share @ masses, share @ points[:, 1]
    total, total_sum = points.sum(axis=0)
    assert left == pytest.approx(mass, rel=1e-9)
    assert best == pytest.approx(s**2 / mass + (total_sum - s) ** 2 / (total - mass), rel=1e-9)
