import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled.growing import (
    _merit_at_least,
    _scan_slopes,
    _scan_steps,
    is_ahead,
    may_be_best,
    merit_of,
    other_squares_of,
    place_lines,
    scan_box,
    scan_box_single,
    scan_steps_single,
    squares_of,
    sum_atoms,
    x_log_x,
)
from softwood.compiled.trees import middle_of
from softwood.kernel.growing.loops.scan import BINARY_ENTROPY, ENTROPY, SQUARED, THIN
from tests.reference.gains import merit
from tests.reference.kernels import BOX, left_share
from tests.strategies import check, nodes, with_slivers

NO_ENDS = (-np.inf, np.inf)
half_widths = st.sampled_from([0.0, 0.01, 0.125, 0.25, 0.3, 1.0, 5.0])


def work_for(atoms, spare=0):
    """Scratch space of the scan: sums of all atoms, and nonsense."""
    q = atoms.shape[1] - 3
    work = np.full((4, q + spare), np.nan)
    sum_atoms(atoms, len(atoms), q, work)
    return work


def even(atoms):
    """The atoms with an even number of outputs, as the scan of several outputs takes them."""
    return np.hstack([atoms, np.zeros((len(atoms), (atoms.shape[1] - 3) % 2))])


def run_single(node):
    n = len(node.x)
    return scan_box_single(
        node.atoms(), n, node.x, node.x, node.lo, node.hi, node.widths[0], node.min_mass, node.tie, np.empty((n + 1, 5))
    )


def run_box(node):
    n, atoms = len(node.x), even(node.atoms())
    return scan_box(
        atoms, n, node.x, node.x, (node.lo, node.hi), node.widths[0], node.min_mass, node.tie, node.criterion,
        atoms.shape[1] - 3, np.empty((n + 1, 5)), work_for(atoms, 1),
    )  # fmt: skip


@pytest.mark.tiny
@given(nodes(n_outputs=[1], criteria=[SQUARED], widths=half_widths))
def test_single_output_scan_finds_the_best_threshold(node):
    check(node, BOX, run_single(node))


@pytest.mark.tiny
@given(nodes(n_outputs=[1, 2, 3], criteria=[SQUARED, ENTROPY, BINARY_ENTROPY], widths=half_widths))
def test_scan_finds_the_best_threshold(node):
    check(node, BOX, run_box(node))


@pytest.mark.tiny
@given(
    nodes(n_outputs=[1], criteria=[SQUARED], widths=st.just(0.5)),
    st.tuples(*[st.sampled_from([0.0, 1e-8, 4e-7, 3e-6, 1e-4])] * 2),
)
def test_kernels_of_which_hardly_anything_is_in_the_node(node, parts):
    with_slivers(node, 0.5, parts)
    check(node, BOX, run_single(node), precision=3e-6)
    check(node, BOX, run_box(node), precision=3e-6)


@pytest.mark.tiny
@given(nodes(n_outputs=[1], criteria=[SQUARED], widths=st.just(0.0)))
def test_single_output_scan_of_steps(node):
    totals = node.masses.sum(), node.sums.sum()
    found = scan_steps_single(node.atoms(), len(node.x), node.x, node.x, *totals, node.min_mass, node.tie)
    check(node, BOX, found)


@pytest.mark.tiny
@given(nodes(n_outputs=[1, 2, 3], criteria=[SQUARED, ENTROPY, BINARY_ENTROPY], widths=st.just(0.0)))
def test_scan_of_steps(node):
    atoms = even(node.atoms())
    q, work = atoms.shape[1] - 3, work_for(atoms)
    work[1] = 0.0
    found = _scan_steps(
        atoms, len(node.x), node.x, node.x, node.masses.sum(), q, node.min_mass, node.tie, node.criterion, work
    )
    check(node, BOX, found)


@pytest.mark.tiny
@given(nodes(n_outputs=[1], criteria=[SQUARED], widths=half_widths.filter(bool)), st.data())
def test_lines_describe_the_share(node, data):
    """Where the share of each atom begins to rise, where it ends, and how fast it rises."""
    parts = data.draw(st.tuples(*[st.sampled_from([0.0, 1e-8, 7e-7, 1.5e-6, 1e-4])] * 2))
    h = node.widths[0]
    with_slivers(node, h, parts)
    n = len(node.x)
    lines = np.full((n + 2, 5), 7.0)
    place_lines(node.atoms(), n, node.lo, node.hi, h, lines)
    assert lines[n, 0] == np.inf
    assert np.all(lines[:, 3:] == 7.0)
    for x, (start, end, rate, *_) in zip(node.x, lines[:n], strict=True):
        assert start == max(x - h, node.lo)
        assert end == min(x + h, node.hi)
        if end - start <= 2 * THIN * h:
            assert rate == 0.0, "a step"
            continue
        for t in np.linspace(start, end, 4):
            expected = left_share(t, x, h, node.lo, node.hi)
            assert (t - start) * rate == pytest.approx(expected, abs=1e-12 + 1e-14 / (end - start))  # rounded ends


@pytest.mark.tiny
@pytest.mark.parametrize(("part", "is_step"), [(0.7, True), (1.5, False)])
def test_thin_slices_of_a_kernel_are_steps(part, is_step):
    lines = np.empty((2, 5))
    place_lines(np.array([[0.0, 0, 1.0, 0.0]]), 1, 0.25 - 0.5 * part * THIN, np.inf, 0.25, lines)
    assert (lines[0, 2] == 0.0) == is_step


@pytest.mark.tiny
@given(nodes(n_outputs=[1, 2, 3], criteria=[SQUARED, ENTROPY, BINARY_ENTROPY], widths=half_widths.filter(bool)))
def test_scan_of_slopes(node):
    n, atoms = len(node.x), even(node.atoms())
    q, work = atoms.shape[1] - 3, work_for(atoms)
    work[1:3] = 0.0
    lines = np.full((n + 1, 5), np.nan)
    place_lines(node.atoms(), n, node.lo, node.hi, node.widths[0], lines)
    lines[:n, 3] = np.cumsum(node.masses)
    found = _scan_slopes(
        atoms, n, (node.lo, node.hi), node.masses.sum(), q, node.min_mass, node.tie, node.criterion, lines, work
    )
    check(node, BOX, found)


@pytest.mark.tiny
@given(nodes(n_outputs=[1, 2, 3], criteria=[SQUARED, ENTROPY], widths=half_widths), st.integers(1, 5))
def test_outputs_that_are_all_zero_change_nothing(node, more):
    """The search rounds the number of outputs up."""
    n, expected = len(node.x), run_box(node)
    atoms = even(np.hstack([node.atoms(), np.zeros((n, more))]))
    found = scan_box(
        atoms, n, node.x, node.x, (node.lo, node.hi), node.widths[0], node.min_mass, node.tie, node.criterion,
        atoms.shape[1] - 3, np.empty((n + 1, 5)), work_for(atoms),
    )  # fmt: skip
    assert found[0] == pytest.approx(expected[0], rel=1e-9, abs=1e-9 * node.scale)


@pytest.mark.tiny
@pytest.mark.parametrize("q", [1, 2, 3, 4, 5, 8, 11])
def test_squares_and_merits_that_need_not_be_computed(q):
    rng = np.random.default_rng(q)
    totals, left = np.sort(rng.random((2, q)), axis=0)[::-1]
    work = np.array([np.append(totals, np.nan), np.append(left, np.nan)])
    assert squares_of(work, 1, q) == pytest.approx(left @ left)
    assert other_squares_of(work, 1, q) == pytest.approx((totals - left) @ (totals - left))
    found = merit_of(1.3, 5.0, work, 1, q, SQUARED)
    assert found == pytest.approx(left @ left / 1.3 + (totals - left) @ (totals - left) / 3.7)
    for least, may in ((-np.inf, True), (-1.0, True), (0.999 * found, True), (found, True), (1.001 * found, False)):
        assert may_be_best(1.3, 5.0, work, q, SQUARED, least) == may
        assert may_be_best(1.3, 5.0, work, q, ENTROPY, least)


@pytest.mark.tiny
@pytest.mark.parametrize("q", [1, 2, 5])
def test_merit_where_the_left_mass_is_given(q):
    rng = np.random.default_rng(q)
    totals, left, slope = rng.random((3, q))
    totals += 2.0
    work = np.array([totals, left, slope, np.full(q, np.nan)])
    sums = left + (1.3 - 1.0) / 0.5 * slope
    found = _merit_at_least(1.3, 1.0, 0.5, 5.0, work, q, SQUARED)
    assert found == pytest.approx(merit(1.3, sums, 3.7, totals - sums, "squared"), rel=1e-12)
    np.testing.assert_array_equal(work[:3], [totals, left, slope])


@pytest.mark.tiny
def test_ties_are_won_by_even_halves():
    assert is_ahead(2.0, 1.0, 10.0, 0.1, 1.5, 5.0)
    assert not is_ahead(1.4, 5.0, 10.0, 0.1, 1.5 + 1e-9, 1.0)
    assert is_ahead(1.45, 5.0, 10.0, 0.1, 1.5, 4.0)
    assert not is_ahead(1.55, 4.0, 10.0, 0.1, 1.5, 5.0)
    assert not is_ahead(1.5, 5.0, 10.0, 0.1, 1.5, 5.0 - 1e-12)


@pytest.mark.tiny
def test_sums_of_atoms():
    atoms, work = np.arange(12.0).reshape(2, 6), np.full((2, 4), np.nan)
    sum_atoms(atoms, 2, 3, work)
    np.testing.assert_array_equal(work, [[12.0, 14.0, 16.0, np.nan], [np.nan] * 4])


@given(nodes(n_outputs=[1], criteria=[SQUARED], widths=half_widths))
def test_both_scans_agree(node):
    single, several = run_single(node), run_box(node)
    assert single[0] == pytest.approx(several[0], rel=1e-9, abs=1e-9 * node.scale)


@pytest.mark.tiny
def test_threshold_is_in_the_middle_of_a_gap():
    atoms = even(np.array([[0.0, 0, 1.0, 0.0], [4.0, 1, 1.0, 1.0]]))
    for h in (0.0, 0.5):
        data, arguments = (atoms, 2, atoms[:, 0].copy(), atoms[:, 0].copy()), (h, 1.0, 1e-12)
        assert scan_box_single(*data, *NO_ENDS, *arguments, np.empty((3, 5))) == (1.0, 2.0, 1.0)
        assert scan_box(*data, NO_ENDS, *arguments, SQUARED, 2, np.empty((3, 5)), work_for(atoms)) == (1.0, 2.0, 1.0)


@pytest.mark.tiny
def test_crisp_threshold_is_between_the_points_of_the_bins():
    atoms = even(np.array([[0.0, 0, 1.0, 0.0], [4.0, 1, 1.0, 1.0]]))
    lows, highs = np.array([-1.0, 3.0]), np.array([1.0, 5.0])
    data, arguments = (atoms, 2, lows, highs), (0.0, 1.0, 1e-12)
    assert scan_box_single(*data, *NO_ENDS, *arguments, np.empty((3, 5)))[1] == 2.0
    assert scan_box(*data, NO_ENDS, *arguments, ENTROPY, 2, np.empty((3, 5)), work_for(atoms))[1] == 2.0


@pytest.mark.tiny
def test_of_equally_good_splits_the_one_nearer_to_halves_wins():
    # all targets are 0, so no split has any merit
    atoms = even(np.array([[0.0, 0, 1, 0], [1.0, 1, 1, 0], [2.0, 2, 2, 0], [3.0, 3, 1, 0], [4.0, 4, 1, 0]]))
    for h in (0.0, 0.25):
        data, arguments = (atoms, 5, atoms[:, 0].copy(), atoms[:, 0].copy()), (h, 1.0, 1e-12)
        for _, threshold, left in (
            scan_box_single(*data, *NO_ENDS, *arguments, np.empty((6, 5))),
            scan_box(*data, NO_ENDS, *arguments, SQUARED, 2, np.empty((6, 5)), work_for(atoms)),
        ):
            assert left in (2.0, 4.0)
            assert threshold in (1.5, 2.5)


@pytest.mark.tiny
def test_minimum_mass_moves_the_threshold_to_where_a_side_has_just_that():
    # one heavy kernel around each point; the best split would leave 1 on the left
    atoms = even(np.array([[0.0, 0, 1.0, 0.0], [1.0, 1, 9.0, 9.0]]))
    data, arguments = (atoms, 2, atoms[:, 0].copy(), atoms[:, 0].copy()), (0.5, 2.0, 1e-12)
    for _, threshold, left in (
        scan_box_single(*data, *NO_ENDS, *arguments, np.empty((3, 5))),
        scan_box(*data, NO_ENDS, *arguments, SQUARED, 2, np.empty((3, 5)), work_for(atoms)),
    ):
        assert left == pytest.approx(2.0)
        assert threshold == pytest.approx(0.5 + 1 / 9)


@pytest.mark.tiny
def test_no_admissible_threshold():
    atoms = even(np.array([[0.0, 0, 1.0, 0.0], [1.0, 1, 1.0, 1.0]]))
    for h in (0.0, 1.0):
        data, arguments = (atoms, 2, atoms[:, 0].copy(), atoms[:, 0].copy()), (h, 1.5, 1e-12)
        assert scan_box_single(*data, *NO_ENDS, *arguments, np.empty((3, 5)))[0] == -np.inf
        assert scan_box(*data, NO_ENDS, *arguments, SQUARED, 2, np.empty((3, 5)), work_for(atoms))[0] == -np.inf


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("number", "name"), [(SQUARED, "squared"), (ENTROPY, "entropy"), (BINARY_ENTROPY, "two classes")]
)
def test_merit(number, name):
    totals, left = np.array([3.0, 2.0]), np.array([0.5, 2.0])
    if number == BINARY_ENTROPY:
        totals, left = totals[:1], left[:1]
    expected = merit(2.5, left, 2.5, totals - left, name)
    assert merit_of(2.5, 5.0, np.array([totals, left]), 1, len(left), number) == pytest.approx(expected, rel=1e-14)


@pytest.mark.tiny
@given(st.floats(0, 1e3))
def testx_log_x(x):
    assert x_log_x(x) == pytest.approx(0.0 if x == 0 else x * math.log(x), rel=1e-14)
    assert x_log_x(-x) == 0.0, "what rounding leaves of an empty side"


@pytest.mark.tiny
def test_middle_is_never_the_right_end():
    assert middle_of(1.0, 2.0) == 1.5
    assert middle_of(1.0, np.nextafter(1.0, 2.0)) == 1.0
    assert -1e308 <= middle_of(-1e308, 1e308) < 1e308


def exact_left(t, x, masses, sums, lo, hi, h):
    start, stop = np.maximum(x - h, lo), np.minimum(x + h, hi)
    share = np.clip((t - start) / (stop - start), 0.0, 1.0)
    return share @ masses, share @ sums


@pytest.mark.parametrize("h", [0.0, 1e-5, 1e-3, 0.3])
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_sums_do_not_drift_over_many_points(h, cut, offset):
    rng = np.random.default_rng(0)
    n = 100_000
    x = np.sort(rng.normal(size=n)) + offset
    masses = rng.random(n) ** 4 + 1e-6
    lo, hi = (x[100] + 0.3 * h, x[-100] - 0.4 * h) if cut and h > 0 else (-np.inf, np.inf)
    inside = (x + h > lo) & (x - h < hi)
    x, masses = x[inside], masses[inside]
    y = (x > 1.3 + offset) * 1.0 + rng.normal(size=len(x))
    atoms = even(np.column_stack([x, np.arange(len(x)), masses, masses * y]))
    lines = np.empty((len(x) + 1, 5))
    total, total_sum = masses.sum(), masses @ y
    for found in (
        scan_box_single(atoms, len(x), x, x, lo, hi, h, 1.0, 0.0, lines),
        scan_box(atoms, len(x), x, x, (lo, hi), h, 1.0, 0.0, SQUARED, 2, lines, work_for(atoms)),
    ):
        best, threshold, left = found
        if h == 0:
            goes_left = x <= threshold
            mass, s = masses[goes_left].sum(), (masses * y)[goes_left].sum()
        else:
            mass, s = exact_left(threshold, x, masses, masses * y, lo, hi, h)
        precision = 1e-7 if offset else 1e-11  # the edges themselves are rounded, by up to a millionth of h
        assert left == pytest.approx(mass, rel=precision)
        assert best == pytest.approx(s**2 / mass + (total_sum - s) ** 2 / (total - mass), rel=precision)
