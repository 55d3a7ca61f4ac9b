"""Sets of categories: search and division in kernel trees and in boosting, against all subsets."""

from itertools import combinations

import numpy as np
import pytest

from softwood.compiled.growing import (
    draw_set,
    keep_drawn,
    keep_set,
    left_parts,
    merge_rare,
    order_keys,
    rare_below,
    scan_category,
    scan_subset,
    set_members,
    share_out,
    sort_by_key,
    subset_parts,
)
from softwood.compiled.trees import has_member, is_category, partition_by_set
from softwood.kernel.growing.loops.groups import Bins, Goal, SubsetSpace
from softwood.kernel.growing.loops.scan import BINARY_ENTROPY, ENTROPY, SQUARED
from softwood.kernel.growing.loops.subset import ABSENT
from softwood.trees.loops.predict import ITEM

pytestmark = pytest.mark.tiny


def members(subsets, line=0):
    bits = np.unpackbits(subsets[line].astype("<u4").view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


def bins_of(categories, n_categories, codes=None):
    """One column of numbers before a column of categories, of which these occur."""
    values = np.concatenate([[0.5], np.asarray(categories, dtype=np.float64)])
    codes = np.zeros((0, 2), np.uint8) if codes is None else codes
    offsets = np.array([0, 1, len(values)])
    return Bins(codes, values, values, values, offsets, np.arange(2), np.array([0, n_categories]))


def space_of(n, q, n_words=2):
    means = np.full((n, q), np.nan)
    return SubsetSpace(
        np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64), means, np.full((1, n_words), 99, np.uint32)
    )  # fmt: skip


def work_of(atoms):
    """The sums of all atoms in the first row, and nonsense."""
    work = np.full((4, atoms.shape[1] - 3), np.nan)
    work[0] = atoms[:, 3:].sum(axis=0)
    return work


def atoms_of(seed, n, q):
    """Places, bins, masses and sums of `n` categories after one bin of another column."""
    rng = np.random.default_rng(seed)
    atoms = np.zeros((n, 3 + q))
    atoms[:, 1] = 1 + np.arange(n)
    atoms[:, 2] = rng.integers(1, 9, n)
    share = rng.dirichlet(np.ones(q), n) if q > 1 else rng.random((n, 1))
    atoms[:, 3:] = atoms[:, 2:3] * share
    return atoms


def slow_merit(atoms, left, criterion):
    merit = 0.0
    for side in filter(len, (left, sorted(set(range(len(atoms))) - set(left)))):
        mass, sums = atoms[side, 2].sum(), atoms[side, 3:].sum(axis=0)
        if criterion == SQUARED:
            merit += (sums**2).sum() / mass
        else:
            sums = np.append(sums, mass - sums[0]) if criterion == BINARY_ENTROPY else sums
            merit += (sums[sums > 0] * np.log(sums[sums > 0] / mass)).sum()
    return merit


def best_of_all(atoms, criterion, min_mass=0.0):
    """Merit of the best of all sets."""
    n = len(atoms)
    total = atoms[:, 2].sum()
    sets = [c for k in range(1, n) for c in combinations(range(n), k)]
    kept = [s for s in sets if min_mass <= atoms[list(s), 2].sum() <= total - min_mass]
    return max(slow_merit(atoms, list(s), criterion) for s in kept)


def run_scan(atoms, criterion, n_categories=None, rare_mass=0.0, min_mass=0.0):
    n, q = len(atoms), atoms.shape[1] - 3
    bins, space = bins_of(np.arange(n), n if n_categories is None else n_categories), space_of(n, q)
    goal = Goal(atoms[:, 2].sum(), 0.0, min_mass, 1e-12, q, criterion, rare_mass)
    found = scan_category(atoms.copy(), n, q, work_of(atoms), bins, 1, goal, space)
    return bins, space, found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("criterion", [SQUARED, BINARY_ENTROPY], ids=["squared", "entropy"])
def test_best_of_all_subsets_with_one_output(seed, criterion):
    atoms = atoms_of(seed, 7, 1)
    _, space, (merit, last, left_mass, rare) = run_scan(atoms, criterion)
    assert rare == -1
    left = np.flatnonzero(space.ranks <= last).tolist()
    assert merit == pytest.approx(best_of_all(atoms, criterion), rel=1e-12)
    assert merit == pytest.approx(slow_merit(atoms, left, criterion), rel=1e-12)
    assert left_mass == pytest.approx(atoms[left, 2].sum())


@pytest.mark.parametrize("criterion", [SQUARED, ENTROPY], ids=["gini", "entropy"])
def test_several_outputs_are_near_the_best_of_all_subsets(criterion):
    """A heuristic: the merit is that of a set, never better than the best one, and in the mean not far from it."""
    parts = []
    for seed in range(8):
        atoms = atoms_of(seed, 7, 3)
        _, space, (merit, last, _, _) = run_scan(atoms, criterion)
        assert merit == pytest.approx(slow_merit(atoms, np.flatnonzero(space.ranks <= last).tolist(), criterion))
        unsplit = slow_merit(atoms.sum(axis=0)[None], [0], criterion)
        parts.append((merit - unsplit) / (best_of_all(atoms, criterion) - unsplit))
        assert 0.0 < parts[-1] < 1.0 + 1e-9
    assert np.mean(parts) > 0.9


def test_order_of_several_outputs_is_the_first_principal_component():
    atoms = atoms_of(3, 9, 4)
    keys, totals, means = np.empty(9), atoms[:, 3:].sum(axis=0), np.full((9, 4), np.nan)
    order_keys(atoms, 9, 4, atoms[:, 2].sum(), work_of(atoms), means, keys)
    means = atoms[:, 3:] / atoms[:, 2:3] - totals / atoms[:, 2].sum()
    _, vectors = np.linalg.eigh((means * atoms[:, 2:3]).T @ means)
    expected = means @ vectors[:, -1]
    assert abs(np.corrcoef(keys, expected)[0, 1]) > 0.99
    order_keys(atoms[:, :4].copy(), 9, 1, 1.0, work_of(atoms), means, keys)
    assert keys == pytest.approx(atoms[:, 3] / atoms[:, 2])
    same = atoms.copy()
    same[:, 3:] = same[:, 2:3] * 0.25  # no direction at all
    order_keys(same, 9, 4, same[:, 2].sum(), work_of(same), means, keys)
    assert np.all(np.isfinite(keys))


def test_minimum_mass_of_a_side():
    atoms = atoms_of(1, 6, 1)
    atoms[:, 2], atoms[:, 3] = [1, 1, 1, 1, 1, 95], [1, 0.1, 0.5, 0.2, 0.9, 0]
    _, _, (_, _, left_mass, _) = run_scan(atoms, SQUARED, min_mass=5.0)
    assert min(left_mass, 100 - left_mass) >= 5.0
    _, _, (merit, last, _, _) = run_scan(atoms, SQUARED, min_mass=6.0)
    assert (merit, last) == (-np.inf, -1)


@pytest.mark.parametrize("seed", range(4))
def test_rare_categories_stay_together(seed):
    atoms = atoms_of(seed, 8, 1)
    atoms[:, 2:] += 1.0
    atoms[:3, 2:] *= 0.1
    _, space, (merit, _, _, rare) = run_scan(atoms, SQUARED, rare_mass=1.0)
    merged = np.vstack([atoms[3:], atoms[:3].sum(axis=0)])
    assert merit == pytest.approx(best_of_all(merged, SQUARED), rel=1e-12)
    assert space.ranks[:3].tolist() == [rare] * 3
    assert sorted(set(space.ranks.tolist())) == list(range(6))
    _, _, (merit, _, _, rare) = run_scan(atoms[:4], SQUARED, rare_mass=1e9)
    assert (merit, rare) == (pytest.approx(best_of_all(atoms[:4], SQUARED), rel=1e-12), -1), "few are never rare"
    assert run_scan(atoms[:1], SQUARED)[2][0] == -np.inf, "one category cannot be split"


def test_merged_atoms():
    atoms = atoms_of(0, 6, 2)
    atoms[:, 2] = [5.0, 0.5, 7.0, 0.25, 2.0, 1.0]
    before, ranks = atoms.copy(), np.full(6, ABSENT)
    assert merge_rare(atoms, 6, 2, 3.0, 1, ranks, work_of(atoms)) == (5, 4), (
        "the four largest stay, though two of them are below 3"
    )
    assert ranks.tolist() == [0, 4, 1, 4, 2, 3]
    np.testing.assert_array_equal(atoms[:4, 2:], before[[0, 2, 4, 5], 2:])
    np.testing.assert_allclose(atoms[4, 2:], before[[1, 3], 2:].sum(axis=0))
    assert merge_rare(before, 6, 2, 0.0, 1, ranks, work_of(atoms)) == (6, -1)
    assert ranks.tolist() == list(range(6))
    masses = np.array([[3.0], [9.0], [1.0], [4.0], [2.0]])
    for n, least, expected in ((5, 100.0, 2.0), (5, 1.5, 1.5), (3, 100.0, 0.0), (0, 1.0, 0.0)):
        assert rare_below(masses, 0, n, least) == pytest.approx(expected, rel=1e-8)


def test_order_of_equal_keys():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 40, 200):
        exact, order = rng.integers(-3, 4, n).astype(float), rng.permutation(n)
        sort_by_key(exact + 1e-14 * rng.normal(size=n), order, n)
        assert order.tolist() == sorted(range(n), key=lambda k: (exact[k], k))


def test_scan_of_a_given_order():
    atoms, order = atoms_of(5, 5, 1), np.array([2, 0, 4, 1, 3])
    goal = Goal(atoms[:, 2].sum(), 0.0, 0.0, 0.0, 1, SQUARED)
    merit, last, mass = scan_subset(atoms, 5, 1, work_of(atoms), order, goal)
    merits = [slow_merit(atoms, order[: k + 1].tolist(), SQUARED) for k in range(4)]
    assert (last, merit) == (int(np.argmax(merits)), pytest.approx(max(merits)))
    assert mass == pytest.approx(atoms[order[: last + 1], 2].sum())


def test_bits_of_a_set():
    """Categories 0, 3, 33 and 40 occur, of which two are in the set; the others go to the side of `absent_left`."""
    bins, subsets = bins_of([0, 3, 33, 40], 42), np.full((3, 2), 7, np.uint32)
    ranks = np.array([1, 0, 2, ABSENT])
    set_members(ranks, bins, 1, 1, False, subsets, 1)
    assert members(subsets, 1) == {0, 3}
    assert subsets[0].tolist() == subsets[2].tolist() == [7, 7]
    set_members(ranks, bins, 1, 1, True, subsets, 1)
    assert members(subsets, 1) == set(range(42)) - {33}
    assert [bool(has_member(subsets, 1, c)) for c in (0, 33, 41)] == [True, False, True]
    assert not is_category(bins.n_categories, 0)
    assert is_category(bins.n_categories, 1)
    assert not is_category(np.zeros(0, np.int64), 1)
    found = np.array([[3, 9]], dtype=np.uint32)
    keep_set(found, subsets, 0)
    assert subsets[0].tolist() == [3, 9]


@pytest.mark.parametrize("cutoff", [0.0, 0.3])
def test_division_of_rows(cutoff):
    """Categories 1 and 3 go left; a missing value is divided, unless a part is below the cutoff."""
    codes = np.zeros((5, 2), np.uint8)
    codes[:, 1] = [0, 1, 2, 3, 2]  # bins of the categories 1, 2, 3; 3 is a missing value
    bins, subsets = bins_of([1, 2, 3], 4, codes), np.array([[0], [0b1010]], dtype=np.uint32)
    rows, shares = np.array([9, 4, 3, 1, 0], np.uint32), np.array([0.0, 1.0, 1.0, 0.5, 1.0])
    parts = np.empty(4)
    subset_parts(codes, bins, 1, subsets, 1, 0.25, rows, 1, 4, parts)
    assert parts.tolist() == [1.0, 0.25, 0.0, 1.0]
    left_rows, left_shares = np.zeros(4, np.uint32), np.empty(4)
    ends = np.array([[-np.inf] * 2, [np.inf] * 2])
    left_parts(bins, np.zeros(2), None, ends, subsets, 1, (1, np.nan, 0.25), rows, 1, 4, left_shares)
    n_left, n_right = share_out(rows, shares, 1, 4, cutoff, left_rows, left_shares)
    if cutoff == 0.0:
        assert (left_rows[:n_left].tolist(), left_shares[:n_left].tolist()) == ([4, 3, 0], [1.0, 0.25, 1.0])
        assert (rows[1 : 1 + n_right].tolist(), shares[1 : 1 + n_right].tolist()) == ([3, 1], [0.75, 0.5])
    else:
        assert (left_rows[:n_left].tolist(), rows[1 : 1 + n_right].tolist()) == ([4, 0], [3, 1])


def test_drawn_sets():
    """Neither empty nor all; every set of three categories turns up; categories without points are left out."""
    codes, table, seen = np.array([0, 2, 3, 2, 5], np.uint8), np.empty(6), set()
    for seed in range(200):
        assert draw_set(codes, 5, 5, np.uint64(seed), table)
        assert table[[1, 4]].tolist() == [ABSENT, ABSENT]
        assert np.isnan(table[5])
        seen.add(tuple(table[[0, 2, 3]]))
        assert draw_set(codes[[1, 2]], 2, 5, np.uint64(seed), table)
        assert sorted(table[[2, 3]].tolist()) == [0.0, 1.0]
    assert len(seen) == 6
    assert not draw_set(np.array([2, 2], np.uint8), 2, 5, np.uint64(1), table)
    table[:5] = [1.0, ABSENT, 0.0, 1.0, ABSENT]
    subset = np.zeros((1, 1), np.uint32)
    keep_drawn(table, bins_of(np.arange(5), 5), 1, True, np.empty(5, np.int64), subset)
    assert members(subset) == {0, 1, 3, 4}


def test_a_list_is_taken_apart_by_a_set():
    """As in `partition`: left rows to the front of the spare list, missing values to its back, the others stay."""
    X = np.array([[9.0, 3.0], [9.0, np.nan], [9.0, 33.0], [9.0, 0.0], [9.0, np.nan], [9.0, 32.0]])
    subsets = np.array([[0, 0], [0b1000, 0b10]], dtype=np.uint32)
    items, spare = np.zeros(8, ITEM), np.zeros(15, ITEM)
    items["row"], items["share"] = [77, 0, 1, 2, 3, 4, 5, 77], np.arange(8) / 8
    n_left, n_right = partition_by_set(X, 1, subsets, 1, items, 1, 7, spare)
    assert (n_left, n_right) == (2, 2)
    assert spare[:2].tolist() == [(0, 1 / 8), (2, 3 / 8)]
    assert items[1:3].tolist() == [(3, 4 / 8), (5, 6 / 8)]
    assert spare[::-1][:2].tolist() == [(1, 2 / 8), (4, 5 / 8)]
