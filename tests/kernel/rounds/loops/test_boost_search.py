"""The search of boosting: both children of a leaf against all candidates of the slow twin."""

from dataclasses import dataclass

import numpy as np
import pytest

from softwood.compiled import boosting as loop
from softwood.kernel.growing.loops.groups import Bins
from softwood.kernel.rounds.loops.boost import NODE, Pile
from softwood.kernel.rounds.loops.boost_histograms import BLOCK
from softwood.kernel.rounds.loops.boost_scores import GAIN
from softwood.kernel.rounds.loops.boost_scores import Rules as LoopRules
from softwood.kernel.rounds.loops.boost_search import BLOCK_ROWS, LEAF, MOST_BLOCKS, SEARCHED, SIBLING, SearchSpace
from softwood.kernel.rounds.newton import Boxes
from tests.reference.boosting import Leaf, Rules, candidates, columns_of, direct_sums, random_problem


@dataclass
class Pair:
    """Two sibling leaves on one pile, as the loop takes them, and as the twin does."""

    bins: Bins
    widths: np.ndarray
    sums: np.ndarray
    pile: Pile
    leaves: list[Leaf]
    rules: Rules
    tables: np.ndarray

    def space(self, n_blocks):
        most, p = self.bins.most, len(self.widths)
        return SearchSpace(
            self.tables.copy(), np.full((2, p, 6), 7.0), np.zeros((n_blocks, BLOCK, 4)),
            np.empty((n_blocks, 7, 2 * most)),
        )  # fmt: skip

    def arguments(self, large, features, space):
        rules = LoopRules(9, 9, self.rules.min_mass, self.rules.min_hessian, 0.0, self.rules.l2, 0.0, True)
        self.pile.state[[SEARCHED, SIBLING]] = 1, large
        edges = Boxes.of(self.bins, self.widths).edges
        return self.bins, edges, self.sums, self.pile, features, self.rules.directions, rules, space

    def best(self, leaf, j):
        """Largest score of a leaf on a feature."""
        base = leaf.score(leaf.shares @ self.sums, self.rules.l2)
        tried = candidates(leaf, columns_of(self.bins, self.widths)[j], j, self.sums, self.rules)
        return max((split.gain + base for split in tried), default=-np.inf)


def sibling_leaves(seed, width, directions):
    """Leaf 1 has fewer rows, and a slot that is not its own yet; leaf 2 has its parent's table."""
    rng = np.random.default_rng(seed)
    bins, sums = random_problem(seed, n=40, p=4, missing=0.15)
    n, p = bins.codes.shape
    shares = rng.uniform(0.2, 1.0, size=n) if width else None
    rows = rng.permutation(n).astype(np.uint32)
    none = np.zeros(0, np.uint32)
    pile = Pile(
        np.zeros(7, np.int64), np.zeros(0, np.int64), np.zeros(3, LEAF), np.zeros((3, 6)),
        np.full((3, 2, p), np.nan), np.zeros(0, NODE), rows, none, none, np.zeros(0), np.zeros((0, 2), np.int64),
        np.zeros((0, 3)), shares,
    )  # fmt: skip
    leaves, columns = [], columns_of(bins, np.full(p, width))
    for number, begin, size, slot in ((1, 5, 14, 2), (2, 19, 21, 0)):
        whole = np.zeros(n)
        whole[rows[begin : begin + size]] = shares[begin : begin + size] if width else 1.0
        # ends within the outermost kernels
        ends = [[sign * np.nanmax(sign * column.x) for column in columns] for sign in (-1, 1)]
        pile.bounds[number] = np.add(ends, [[-0.05 * number], [0.1 * number]])
        leaf = Leaf(0, 0, whole, *pile.bounds[number], -0.8, 0.7)
        values = zip(("h", "g", "w"), whole @ sums, strict=True)
        own = {"begin": begin, "size": size, "slot": slot, "lowest": -0.8, "highest": 0.7, **dict(values)}
        for name, value in own.items():
            pile.leaves[name][number] = value
        leaves.append(leaf)
    tables = np.full((3, p, bins.most + 1, 4), 7.0)
    whole = leaves[0].shares + leaves[1].shares
    tables[0] = direct_sums(bins.codes, np.arange(n), whole, sums, bins.most)
    rules = Rules(min_mass=1.5, min_hessian=0.2, l2=0.3, directions=directions)
    return Pair(bins, np.full(p, width), sums, pile, leaves, rules, tables)


@pytest.mark.tiny
@pytest.mark.parametrize("width", [0.0, 0.3])
@pytest.mark.parametrize("directions", [None, np.array([1, -1, 0, 1])])
@pytest.mark.parametrize("n_parts", [1, 2, 3])
def test_both_leaves_of_a_split_are_searched(width, directions, n_parts):
    features = np.array([2, 0, 3])
    for seed in range(3):
        pair = sibling_leaves(seed, width, directions)
        space = pair.space(n_parts)
        for part in range(n_parts):
            loop.search_part((part, n_parts), *pair.arguments(2, features, space))
        for leaf, found, slot in zip(pair.leaves, space.found, (2, 0), strict=True):
            table = direct_sums(pair.bins.codes, np.arange(40), leaf.shares, pair.sums, pair.bins.most)
            for j in features:
                n_lines = pair.bins.offsets[j + 1] - pair.bins.offsets[j] + 1
                np.testing.assert_allclose(space.tables[slot, j, :n_lines], table[j, :n_lines], rtol=1e-9, atol=1e-12)
            assert found[: len(features), GAIN] == pytest.approx([pair.best(leaf, j) for j in features], rel=1e-9)
            assert np.all(found[len(features) :] == 7.0)
        assert np.all(space.tables[2, 1] == 7.0), "a feature that is not asked for"
        np.testing.assert_array_equal(space.tables[:2, 1], pair.tables[:2, 1])


@pytest.mark.tiny
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_a_leaf_without_a_sibling_is_searched(width):
    features = np.array([2, 0, 3])
    pair = sibling_leaves(0, width, None)
    space = pair.space(1)
    loop.search_part((0, 1), *pair.arguments(-1, features, space))
    expected = [pair.best(pair.leaves[0], j) for j in features]
    assert space.found[0, :3, GAIN] == pytest.approx(expected, rel=1e-9)
    assert np.all(space.found[1] == 7.0)
    np.testing.assert_array_equal(space.tables[:2], pair.tables[:2])


@pytest.mark.tiny
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_blocks_of_a_leaf_add_up_to_it(width):
    features = np.array([2, 0, 3])
    pair = sibling_leaves(0, width, None)
    bins, leaf = pair.bins, pair.leaves[0]
    space = pair.space(2)._replace(blocks=np.full((2, *pair.tables.shape[1:]), 7.0))
    pair.arguments(-1, features, space)  # names the leaf
    for b in range(3):
        loop.add_block((b, 3, b % 2), bins, pair.sums, pair.pile, features, space)
    table = direct_sums(bins.codes, np.arange(40), leaf.shares, pair.sums, bins.most)
    for j in features:
        n_lines = bins.offsets[j + 1] - bins.offsets[j] + 1
        parts = [space.tables[2, j, :n_lines], *space.blocks[:, j, :n_lines]]
        assert min(part[:, 2].sum() for part in parts) > 0
        np.testing.assert_allclose(np.sum(parts, axis=0), table[j, :n_lines], rtol=1e-9, atol=1e-12)
    for other in (space.tables[:, 1], space.blocks[:, 1]):
        assert np.all(other[-1] == 7.0), "a feature that is not asked for"


@pytest.mark.tiny
def test_only_large_leaves_have_blocks():
    for size, expected in ((0, 1), (1, 1), (2, 2), (2.9, 2), (7, 7), (100, MOST_BLOCKS)):
        assert loop.count_blocks(int(size * BLOCK_ROWS)) == expected


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("leaf", "depth", "mass", "expected"),
    [
        (1, 2, 4.0, True),
        (1, 3, 4.0, False),
        (1, 2, 3.999, False),
        (1, 2, 4.0 - 1e-10, True),  # ten times 0.1 is less than 1
        (-1, 2, 4.0, False),
    ],
)
def test_leaves_that_may_be_split(leaf, depth, mass, expected):
    leaves = np.zeros(2, LEAF)
    leaves["depth"][1], leaves["w"][1] = depth, mass
    assert loop.is_splittable(leaves, leaf, 3, 2.0) == expected


@pytest.mark.tiny
def test_the_first_of_equal_features_is_chosen():
    leaves, splits = np.zeros(2, LEAF), np.zeros((2, 6))
    for name, value in {"h": 2.0, "g": 2.0, "lowest": -np.inf, "highest": np.inf}.items():  # score 2
        leaves[name][1] = value
    found = np.arange(24.0).reshape(4, 6)
    features = np.array([1, 4, 6, 7])
    for scores, min_gain, feature in (
        ([2.5, 3.0, 3.0 + 1e-13, 2.9], 0.0, 4),
        ([2.5, 3.0, 3.1, 2.9], 0.0, 6),
        ([2.0, 1.0, -np.inf, 2.0 + 1e-13], 0.0, -1),
        ([2.5, 3.0, 3.1, 2.9], 1.2, -1),
    ):
        found[:, GAIN] = scores
        loop.choose_split(leaves, 1, found, features, 0.0, min_gain, splits)
        assert leaves["feature"][1] == feature
        if feature >= 0:
            assert leaves["gain"][1] == pytest.approx(max(scores) - 2.0)
            np.testing.assert_array_equal(splits[1], found[features == feature][0])
        assert not splits[0].any()
