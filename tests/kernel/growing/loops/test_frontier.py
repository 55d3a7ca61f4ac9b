"""The nodes whose split is not made yet."""

import numpy as np
import pytest

from softwood.compiled import growing as loop
from tests.kernel.growing.loops.growth import frontier_of, problem, rules_for, run, tree_of
from tests.reference.growing import intervals

SEEDS = range(4)


@pytest.fixture
def frontier():
    given = problem(0, "one target", general=False)
    return frontier_of(given, rules_for(given), seed=3)


@pytest.mark.tiny
@pytest.mark.parametrize("name", ["lines", "stack", "heap", "gains", "rows"])
def test_an_array_that_is_too_short(frontier, name):
    n_needed = {"lines": 1, "stack": 2, "heap": 1, "gains": 1, "rows": 28}[name]
    array = getattr(frontier, name)
    assert not loop.is_full(frontier._replace(**{name: array[:n_needed]}))
    assert loop.is_full(frontier._replace(**{name: array[: n_needed - 1]}))


@pytest.mark.tiny
def test_a_visited_node_has_a_number_and_a_line(frontier):
    frontier.counts["n_nodes"] = 2
    for name, value in (("parent", 1), ("side", 1), ("depth", 5)):
        frontier.stack[name][0] = value
    loop.visit(frontier, 0)
    assert frontier.stack["node"][0] == 2
    assert frontier.lines[2].tolist()[:4] == (1, 1, 5, -1)
    assert np.isnan([frontier.lines[2]["threshold"], frontier.lines[2]["missing_left"]]).all()
    loop.visit(frontier, 0)
    assert frontier.counts["n_nodes"][0] == 3, "once"


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
def test_ends_of_nodes(seed):
    given = problem(seed, "targets", general=True)
    nodes, _ = run(given, rules_for(given), capacity=400)
    lo, hi = intervals(tree_of(given, nodes))
    out = np.full((2, 4), 7.0)
    for node in range(len(nodes.lines)):
        loop.find_intervals(nodes.lines, node, out)
        np.testing.assert_array_equal(out, [lo[node], hi[node]])


@pytest.mark.tiny
@pytest.mark.parametrize("threshold", [0.5, np.nan])
def test_ends_of_children(threshold):
    ends = np.arange(12.0).reshape(3, 2, 2)
    left, right = ends[1].copy(), ends[1].copy()
    loop.split_intervals(ends, 1, 0, threshold)
    if threshold == 0.5:
        left[1, 0] = right[0, 0] = 0.5
    np.testing.assert_array_equal(ends[1:], [right, left])
    np.testing.assert_array_equal(ends[0], [[0.0, 1.0], [2.0, 3.0]])


@pytest.mark.tiny
def test_rows_of_a_left_child():
    rows, shares = np.arange(6, dtype=np.uint32), np.zeros(6)
    loop.append_rows(np.array([9, 8, 7], np.uint32), np.array([0.1, 0.2, 0.3]), 2, rows, shares, 3)
    assert rows.tolist() == [0, 1, 2, 9, 8, 5]
    assert shares.tolist() == [0.0, 0.0, 0.0, 0.1, 0.2, 0.0]


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
def test_open_nodes_come_by_gain_and_age(frontier, seed):
    rng = np.random.default_rng(seed)
    gains, counts = rng.integers(12, size=60) / 4, frontier.counts[0]
    frontier.lines["parent"] = -1
    is_open = set()
    for node in range(60):
        frontier.stack[1]["node"], frontier.stack[1]["gain"] = node, gains[node]
        loop.push_open(frontier, 1)
        is_open.add(node)
        for _ in range(rng.integers(3) if node < 59 else len(is_open)):  # at the end, all
            if not is_open:
                break
            assert counts["n_open"] == len(is_open)
            first = max(is_open, key=lambda k: (gains[k], -k))
            places = {int(frontier.heap["node"][k]): k for k in range(len(is_open))}
            for other in is_open - {first}:
                assert loop.comes_before(frontier.heap, places[first], frontier.heap, places[other])
                assert not loop.comes_before(frontier.heap, places[other], frontier.heap, places[first])
            loop.pop_open(frontier)
            assert (frontier.stack[0]["node"], frontier.stack[0]["gain"]) == (first, gains[first])
            assert counts["n_waiting"] == 1
            is_open.remove(first)
    assert counts["n_open"] == 0
