"""Growth by levels, choosing: the best splits of leaves of boosting, against all thresholds."""

import numpy as np
import pytest

from softwood.compiled.boosting import choose_boosted, set_table
from softwood.kernel.growing.loops.groups import Bins
from softwood.kernel.parts.loops.boosted import BoostSpace
from softwood.kernel.rounds.loops.boost_scores import GAIN, LEFT_G, LEFT_H, LEFT_W, THRESHOLD
from softwood.kernel.rounds.loops.boost_search import LEAF
from softwood.kernel.rounds.newton import Boxes, NewtonLimits, loop_rules
from tests.reference.kernels import left_share

N_BINS, P = 6, 3
UNIT = 2.0**-20


def bins_of(seed):
    values = np.sort(np.random.default_rng(seed).normal(size=(P, N_BINS)), axis=1).ravel()
    offsets = N_BINS * np.arange(P + 1)
    return Bins(np.empty((0, P), np.uint8), values, values, values, offsets, np.arange(P))


def space_of(n_features):
    return BoostSpace(
        np.zeros((2, 6)), np.zeros((P, N_BINS + 1, 4)), np.zeros((n_features, 6)), np.zeros((7, 2 * N_BINS)),
        np.zeros(N_BINS + 1), np.zeros((2, N_BINS + 1), np.int64), np.zeros((2, 1), np.uint32),
    )  # fmt: skip


@pytest.mark.tiny
def test_histograms_as_floats():
    given = np.random.default_rng(7).integers(100, 999, size=(2, P, N_BINS + 1, 4))
    given[1, 0, 2] = 1, 1, 1, 0  # a trifle: empty
    out = np.full((P, N_BINS + 1, 4), np.nan)
    set_table(given, 1, 0, np.array([UNIT, 2 * UNIT, UNIT, UNIT]), N_BINS, 1e10 * UNIT, out, 2)
    np.testing.assert_array_equal(out[2, 2], 0.0)
    np.testing.assert_array_equal(out[2, 3], given[1, 0, 3] * UNIT * [1, 2, 1, 1])
    assert np.isnan(out[2, N_BINS]).all()
    assert np.isnan(out[:2]).all()


@pytest.mark.tiny
@pytest.mark.parametrize("width", [0.0, 0.4])
def test_no_split_is_better_than_the_one_found(width):
    bins, rng = bins_of(4), np.random.default_rng(5)
    tables = np.zeros((1, P, N_BINS + 1, 4), np.int64)
    rows = np.rint(np.column_stack([rng.uniform(0.1, 1, 80), rng.normal(size=80), np.ones(80), np.zeros(80)]) / UNIT)
    for j in range(P):
        np.add.at(tables[0, j], rng.integers(0, N_BINS, 80), rows.astype(np.int64))
    h, g, w, _ = rows.sum(axis=0) * UNIT
    leaves = np.zeros(2, LEAF)
    leaves["h"], leaves["g"], leaves["w"], leaves["lowest"], leaves["highest"] = h, g, w, -np.inf, np.inf
    widths, features = np.full(P, width), np.array([0, 2])
    space = space_of(2)
    choose_boosted(
        tables[:, features], np.full(4, UNIT), np.array([1]), leaves, bins, Boxes.of(bins, widths).edges,
        np.tile(np.array([[-np.inf], [np.inf]]), (2, 1, P)), features, None,
        loop_rules(NewtonLimits(min_mass=5.0, l2=0.5)), space,
    )  # fmt: skip

    def gain(j, t):
        x, sums = bins.values[N_BINS * j : N_BINS * (j + 1)], tables[0, j, :-1] * UNIT
        left_h, left_g, left_w, _ = np.array([left_share(t, v, width, -np.inf, np.inf) for v in x]) @ sums
        if not 5.0 <= left_w <= w - 5.0:
            return -np.inf
        return left_g**2 / (left_h + 0.5) + (g - left_g) ** 2 / (h - left_h + 0.5)

    tried = [
        gain(j, t)
        for j in features
        for x in (bins.values[N_BINS * j : N_BINS * (j + 1)],)
        for t in np.concatenate([x - width, x + width, np.linspace(-3, 3, 301)])
    ]
    split = space.splits[1]
    assert split[GAIN] == pytest.approx(max(tried), rel=1e-9)
    assert gain(int(leaves["feature"][1]), split[THRESHOLD]) == pytest.approx(split[GAIN], rel=1e-9)
    assert leaves["gain"][1] == pytest.approx(split[GAIN] - g**2 / (h + 0.5))
    assert leaves["feature"][0] == 0
    assert leaves["gain"][0] == 0.0


@pytest.mark.tiny
def test_sets_of_categories():
    values = np.arange(float(N_BINS))
    bins = Bins(
        np.empty((0, P), np.uint8), np.tile(values, P), np.tile(values, P), np.tile(values, P),
        N_BINS * np.arange(P + 1), np.arange(P), np.array([0, N_BINS, 0]),
    )  # fmt: skip
    rng = np.random.default_rng(2)
    tables = np.zeros((1, 1, N_BINS + 1, 4), np.int64)
    tables[0, 0, :N_BINS, :3] = np.rint(
        np.column_stack([np.full(N_BINS, 20.0), 30 * rng.normal(size=N_BINS), np.full(N_BINS, 20.0)]) / UNIT
    )
    h, g, w, _ = tables[0, 0].sum(axis=0) * UNIT
    leaves = np.zeros(2, LEAF)
    leaves["h"], leaves["g"], leaves["w"], leaves["lowest"], leaves["highest"] = h, g, w, -np.inf, np.inf
    space, limits = space_of(1), NewtonLimits(min_mass=5.0, l2=0.5)
    choose_boosted(
        tables, np.full(4, UNIT), np.array([1]), leaves, bins, Boxes.of(bins, np.zeros(P)).edges,
        np.tile(np.array([[-np.inf], [np.inf]]), (2, 1, P)), np.array([1]), None, loop_rules(limits), space,
    )  # fmt: skip
    assert leaves["feature"][1] == 1
    is_left = (int(space.subsets[1, 0]) >> np.arange(N_BINS)) & 1 == 1
    left = tables[0, 0, :N_BINS][is_left].sum(axis=0) * UNIT
    np.testing.assert_allclose(space.splits[1, [LEFT_H, LEFT_G, LEFT_W]], left[:3])
    means = tables[0, 0, :N_BINS, 1] / tables[0, 0, :N_BINS, 0]
    assert means[is_left].max() < means[~is_left].min() or means[is_left].min() > means[~is_left].max()
