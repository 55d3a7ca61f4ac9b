"""Growth by levels, dividing: shares of the rows by definition."""

import numpy as np
import pytest

from softwood.compiled.boosting import add_slot_values, copy_slot, divide_slot, divide_slots, share_bins
from softwood.kernel.growing.loops.groups import NO_SETS, Bins, Kernels
from softwood.kernel.parts.loops.divide import SLOT, DivideSpace, Members
from tests.reference.kernels import BOX, STAIRS, left_share, table

VALUES = np.array([-1.0, 0.0, 0.5, 2.0])


def problem(seed, n=40):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(VALUES) + 1, size=(n, 2)).astype(np.uint8)  # the last one is a missing value
    values = np.concatenate([VALUES, VALUES])
    bins = Bins(codes, values, values, values, np.array([0, 4, 8]), np.arange(2))
    slots = np.zeros(3, SLOT)
    slots["feature"] = 1, -1, 0
    slots["threshold"], slots["missing_left"], slots["low"], slots["high"] = 0.3, 0.25, -1.2, np.inf
    begins = np.array([0, 15, 22, n])
    return rng, bins, slots, begins, rng.permutation(n).astype(np.uint32)


def kernels_of(shape):
    if shape is BOX:
        return None
    edges, cdf = table(shape)
    return Kernels(np.zeros(2, np.int64), edges[None], cdf[None], np.empty((0, 0)), np.zeros(2, bool))


def expected_share(code, slot, width, shape):
    if code == len(VALUES):
        return slot["missing_left"]
    return left_share(slot["threshold"], VALUES[code], width, slot["low"], slot["high"], shape)


@pytest.mark.tiny
@pytest.mark.parametrize("shape", [BOX, STAIRS])
@pytest.mark.parametrize("width", [0.0, 0.6])
def test_bins_are_shared_by_their_kernels(shape, width):
    _, bins, slots, *_ = problem(0)
    parts = np.empty(5)
    share_bins(bins, np.full(2, width), kernels_of(shape), slots, NO_SETS, 0, parts)
    np.testing.assert_allclose(parts, [expected_share(c, slots[0], width, shape) for c in range(5)])


@pytest.mark.tiny
def test_bins_are_shared_by_half_widths_of_their_own_and_by_sets():
    _, bins, slots, *_ = problem(0)
    edges, cdf = table(STAIRS)
    cells = np.array([[0.0, 0.3], [0.0, 0.6], [0.0, 0.0], [0.0, 2.0]])
    kernels = Kernels(np.zeros(2, np.int64), edges[None], cdf[None], cells, np.array([False, True]))
    parts = np.empty(5)
    share_bins(bins, np.ones(2), kernels, slots, NO_SETS, 0, parts)
    expected = [expected_share(c, slots[0], cells[c, 1], STAIRS) for c in range(4)]
    np.testing.assert_allclose(parts[:4], expected)
    numbers = np.concatenate([VALUES, np.arange(4.0)])
    bins = bins._replace(values=numbers, lows=numbers, highs=numbers, n_categories=np.array([0, 4]))
    share_bins(bins, np.zeros(2), None, slots, np.array([[0b1010]], np.uint32), 0, parts)
    assert parts.tolist() == [0.0, 1.0, 0.0, 1.0, 0.25]


def divided(seed, width, cutoff, is_soft):
    rng, bins, slots, begins, rows = problem(seed)
    shares = np.where(rng.random(len(rows)) < 0.5, 1.0, rng.random(len(rows))) if is_soft else None
    capacity = 2 * len(rows) + 1
    new_rows, new_begins = np.empty(capacity, np.uint32), np.empty(6, np.int64)
    new_shares = np.empty(capacity) if is_soft else None
    space = DivideSpace(np.empty(len(rows) + 1, np.uint32), np.empty(len(rows) + 1), np.empty(5))
    members = Members(rows, shares, begins)
    divide_slots(
        bins,
        np.full(2, width),
        None,
        slots,
        np.zeros((3, 1), np.uint32),
        cutoff,
        members,
        new_rows,
        new_shares,
        new_begins,
        space,
    )
    return bins, slots, begins, rows, shares, new_rows, new_begins, new_shares


@pytest.mark.tiny
@pytest.mark.parametrize("width", [0.0, 0.6])
@pytest.mark.parametrize("cutoff", [0.0, 0.2])
def test_rows_are_shared_among_the_next_slots(width, cutoff):
    bins, slots, begins, rows, shares, new_rows, new_begins, new_shares = divided(1, width, cutoff, True)
    expected = []
    for slot in range(3):
        own = range(begins[slot], begins[slot + 1])
        if slots["feature"][slot] < 0:
            expected.append([(rows[k], shares[k]) for k in own])
            continue
        left, right = [], []
        for k in own:
            u = shares[k]
            to_left = u * expected_share(bins.codes[rows[k], slots["feature"][slot]], slots[slot], width, BOX)
            to_left = 0.0 if to_left < cutoff else to_left
            to_right = 0.0 if u - to_left < cutoff else u - to_left
            if u - to_right > 0:
                left.append((rows[k], u - to_right))
            if to_right > 0:
                right.append((rows[k], to_right))
        expected += [left, right]
    for slot, own in enumerate(expected):
        part = slice(new_begins[slot], new_begins[slot + 1])
        np.testing.assert_array_equal(new_rows[part], [row for row, _ in own])
        np.testing.assert_allclose(new_shares[part], [share for _, share in own], atol=1e-15)


@pytest.mark.tiny
def test_whole_rows_go_to_the_side_with_more_than_half():
    bins, slots, begins, rows, _, new_rows, new_begins, _ = divided(2, 0.0, 0.0, False)
    assert new_begins[-1] == len(rows)
    left = [
        rows[k] for k in range(begins[0], begins[1]) if expected_share(bins.codes[rows[k], 1], slots[0], 0.0, BOX) > 0.5
    ]
    np.testing.assert_array_equal(new_rows[: new_begins[1]], left)
    assert sorted(new_rows[: begins[1]]) == sorted(rows[: begins[1]])


@pytest.mark.tiny
def test_a_slot_alone_and_a_leaf():
    members = Members(np.array([3, 1, 2], np.uint32), np.array([1.0, 0.5, 0.25]), np.array([0, 1, 3]))
    new_rows, new_shares = np.zeros(8, np.uint32), np.zeros(8)
    copy_slot(members, 1, new_rows, new_shares, 2)
    assert new_rows.tolist() == [0, 0, 1, 2, 0, 0, 0, 0]
    assert new_shares[2:4].tolist() == [0.5, 0.25]
    codes = np.array([[9, 0], [9, 0], [9, 1], [9, 1]], np.uint8)
    space = DivideSpace(np.zeros(4, np.uint32), np.zeros(4), np.array([0.5, 1.0, 0.0]))
    members = members._replace(begins=np.array([0, 3]))
    middle, end = divide_slot(codes, 1, members, 0, 0.0, new_rows, new_shares, 0, space)
    assert (middle, end) == (3, 4)
    assert new_rows[:4].tolist() == [3, 1, 2, 1]
    assert new_shares[:4].tolist() == [1.0, 0.25, 0.25, 0.25]


@pytest.mark.tiny
@pytest.mark.parametrize("shares", [None, np.array([1.0, 0.5, 0.25, 0.5])])
def test_values_of_slots_are_added_by_membership(shares):
    scores = np.ones(3)
    members = Members(np.array([0, 2, 1, 2], np.uint32), shares, np.array([0, 2, 4]))
    add_slot_values(members, np.array([10.0, -4.0]), scores)
    u = np.ones(4) if shares is None else shares
    np.testing.assert_allclose(scores, [1 + 10 * u[0], 1 - 4 * u[2], 1 + 10 * u[1] - 4 * u[3]])
