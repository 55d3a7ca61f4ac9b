"""The division of a node, against the shares of single points."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from softwood.compiled import growing as loop
from softwood.kernel.growing.loops.groups import NO_SETS
from softwood.kernel.growing.loops.tree_groups import Rules
from tests.kernel.growing.loops.growth import problem
from tests.reference.kernels import left_share

SEEDS = range(6)


@pytest.mark.tiny
@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("feature", [0, 1, 2])
@pytest.mark.parametrize("cutoff", [0.0, 0.05, 0.3])
def test_points_are_divided_by_their_kernels(general, feature, cutoff):
    for seed in SEEDS:
        given, rng = problem(seed, "one target", general), np.random.default_rng(seed)
        before = rng.permutation(14)[:11]
        rows, shares = np.append([77, 77], before).astype(np.uint32), np.append([7.0, 7.0], rng.random(11) + 0.3)
        u = shares[2:].copy()
        x, width = given.X[before, feature], given.cell_widths[before, feature]
        lo, hi = (np.nanmin(x) - 0.1, np.nanmax(x) + 0.05) if seed % 2 else (-np.inf, np.inf)
        threshold = np.nanmedian(x) + 0.07 * rng.random()
        left_rows, left_shares = np.zeros(11, np.uint32), np.zeros(11)
        ends = np.full((2, 4), np.nan)
        ends[:, feature] = lo, hi
        loop.left_parts(
            given.bins, given.widths, given.kernels, ends, NO_SETS, 0, (feature, threshold, 0.4), rows, 2, 11,
            left_shares,
        )  # fmt: skip
        n_left, n_right = loop.share_out(rows, shares, 2, 11, cutoff, left_rows, left_shares)
        known = ~np.isnan(x)
        part = np.full(11, 0.4)
        part[known] = left_share(threshold, x[known], width[known], lo, hi, given.shapes[feature])
        left = np.where(u * part < cutoff, 0.0, u * part)
        left = np.where(u - left < cutoff, u, left)
        for kept, own_rows, own_shares in (
            (left, left_rows[:n_left], left_shares[:n_left]),
            (u - left, rows[2 : 2 + n_right], shares[2 : 2 + n_right]),
        ):
            assert own_rows.tolist() == before[kept > 0].tolist(), "in their order"
            assert own_shares == pytest.approx(kept[kept > 0], rel=1e-9)
        assert rows[:2].tolist() == [77, 77]
        assert shares[:2].tolist() == [7.0, 7.0]


@pytest.mark.tiny
@pytest.mark.parametrize("feature", [0, 1, 2])
def test_places_and_parts_of_points(feature):
    """Of boxes by their places, and of any kernels; nan, or the share of missing values, where there is no value."""
    for seed in SEEDS:
        given, rng = problem(seed, "one target", True), np.random.default_rng(seed)
        rows = np.append([77, 77], rng.permutation(14)[:11]).astype(np.uint32)
        x, places = given.X[rows[2:], feature], np.full(12, 77.0)
        loop.place_points(given.bins.points, feature, rows, 2, 11, places)
        np.testing.assert_array_equal(places, [*x, 77.0])
        threshold, parts = np.nanmedian(x) + 0.07, np.full(12, 77.0)
        loop.kernel_parts(
            given.bins.points, given.kernels, rows, 2, 11, (feature, threshold, 0.4),
            (given.widths[feature], -np.inf, np.inf), parts,
        )  # fmt: skip
        width, shape = given.cell_widths[rows[2:], feature], given.shapes[feature]
        expected = left_share(threshold, np.nan_to_num(x), width, -np.inf, np.inf, shape)
        assert parts == pytest.approx([*np.where(np.isnan(x), 0.4, expected), 77.0])


@pytest.mark.tiny
@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0, 1)), max_size=20),
    st.sampled_from([0.0, 0.01, 0.1]),
)
def test_shares_are_parted_and_rows_sorted_out(points, cutoff):
    """Both sides add up, none has less than the cutoff, and every row is where it has a share."""
    m = len(points)
    before, parts = np.array([u for u, _ in points]), np.array([part for _, part in points])
    shares, left = np.array([7.0, *before, 7.0]), np.array([*parts, 7.0])
    loop.part_shares(shares, 1, m, cutoff, left)
    assert shares[[0, -1]].tolist() == [7.0, 7.0]
    assert left[-1] == 7.0
    right, left = shares[1:-1].copy(), left[:-1].copy()
    np.testing.assert_allclose(left + right, before, rtol=1e-15)
    for u, part, a, b in zip(before, parts, left, right, strict=True):
        wanted = 0.0 if u * part < cutoff else u * part
        wanted = u if u - wanted < cutoff else wanted
        assert a == pytest.approx(wanted, rel=1e-9, abs=1e-15)
        assert min(x for x in (a, b, 1.0) if x > 0) >= min(cutoff, u) * (1 - 1e-9)
    rows, left_rows, left_shares = np.arange(m + 2, dtype=np.uint32), np.zeros(m, np.uint32), left.copy()
    n_left, n_right = loop.sort_out(rows, shares, 1, m, left_rows, left_shares)
    assert left_rows[:n_left].tolist() == (1 + np.flatnonzero(left > 0)).tolist()
    assert rows[1 : 1 + n_right].tolist() == (1 + np.flatnonzero(right > 0)).tolist()
    assert left_shares[:n_left].tolist() == left[left > 0].tolist()
    assert shares[1 : 1 + n_right].tolist() == right[right > 0].tolist()


@pytest.mark.tiny
@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.001, 0.999), st.floats(0.1, 3)), min_size=1, max_size=12),
    st.floats(0, 2),
    st.sampled_from([0.0, 0.02, 0.3]),
)
def test_no_child_is_too_light(points, min_mass, cutoff):
    """Small shares stay on their side where a child would be too light without them; else the node is not divided."""
    u, parts, weights = np.array(points).T.copy()
    m, total = len(points), float(weights @ u)

    def left_of(cutoff):
        left = np.where(u * parts < cutoff, 0.0, u * parts)
        return np.where(u - left < cutoff, u, left)

    def lightest(left):
        return min(weights @ left, total - weights @ left)

    expected = next((left for left in (left_of(cutoff), left_of(0.0)) if lightest(left) >= min_mass), None)
    masses = [lightest(left_of(each)) for each in (cutoff, 0.0)]
    assume(all(abs(mass - min_mass) > 1e-4 * min_mass for mass in masses))
    rows, shares = np.arange(m, dtype=np.uint32), u.copy()
    left_rows, left_shares = np.zeros(m, np.uint32), parts.copy()
    targets = np.column_stack([weights, np.full(m, np.nan)])
    for each, mass in zip((cutoff, 0.0), masses, strict=True):
        assert loop.are_heavy(targets, rows, shares, 0, m, parts, each, min_mass) == (mass >= min_mass)
    rules = Rules(max_depth=1, min_mass=min_mass, min_gain=0.0, n_draw=1, cutoff=cutoff, is_class=False)
    found = loop.cutoff_for(targets, rows, shares, 0, m, parts, rules)
    if expected is None:
        assert found == -1.0
    else:
        assert found in (cutoff, 0.0)
        n_left, n_right = loop.share_out(rows, shares, 0, m, found, left_rows, left_shares)
        assert left_rows[:n_left].tolist() == np.flatnonzero(expected > 0).tolist()
        assert left_shares[:n_left] == pytest.approx(expected[expected > 0], rel=1e-9)
        assert rows[:n_right].tolist() == np.flatnonzero(u - expected > 0).tolist()
