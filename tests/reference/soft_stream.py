"""Soft trees on streams, the slow way: recursion over nodes, and leaves that keep all rows."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from softwood.compiled.stream import put_test, visit
from softwood.stream.growing.arrays import Limits
from softwood.stream.growing.soft import SoftClassTree, SoftRealTree
from softwood.stream.loops import layout
from softwood.stream.loops.layout import ALPHA_AT, FoundTest, Settings
from tests.reference import observers
from tests.reference.observers import Seen, hoeffding_bound
from tests.reference.random_search import next_seed, to_unit


def smooth_step(t, gamma):
    if abs(t) >= gamma / 2:
        return float(t > 0)
    return -2 * t**3 / gamma**3 + 3 * t / (2 * gamma) + 0.5


def smooth_step_slope(t, gamma):
    return 0.0 if abs(t) >= gamma / 2 else -6 * t**2 / gamma**3 + 3 / (2 * gamma)


@dataclass(eq=False)
class Node:
    """A leaf, `line` being its values, until it gets children: then `line` is alpha, bias and weights."""

    depth: int
    line: np.ndarray
    seen: Seen | None = None
    feature: int = -1
    threshold: float = math.nan
    children: tuple = ()
    weight: float = 0.0
    passed: float = 0.0
    last_attempt: float = 0.0
    n_steps: int = 0
    is_touched: bool = False
    is_flat: bool = True

    def __post_init__(self):
        self.start(self.line)

    def start(self, line):
        """New parameters, without moments and waiting gradients."""
        self.line, self.slope, self.n_steps = line, np.zeros_like(line), 0
        self.first, self.second = np.zeros_like(line), np.zeros_like(line)


@dataclass
class Scaler:
    """Running means and variances of known values; weight beyond `memory` fades."""

    n: int
    memory: float = math.inf
    limit: float = math.inf

    def __post_init__(self):
        self.weight, self.mean, self.variance = np.zeros(self.n), np.zeros(self.n), np.zeros(self.n)
        self.run, self.last = np.zeros(self.n), np.zeros(self.n)

    def standardised(self, x):
        z = np.divide(x - self.mean, np.sqrt(self.variance), out=np.zeros(self.n), where=self.variance > 0)
        return np.where(np.isnan(x), 0.0, z)

    def within(self, x):
        """Values at most `limit` deviations from their means."""
        if self.limit == math.inf:
            return x
        reach = np.where(self.variance > 0, self.limit * np.sqrt(self.variance), math.inf)
        return np.clip(x, self.mean - reach, self.mean + reach)

    def contradict(self, j, x, weight):
        """Note whether a value fits the scale; the past of the feature counts for 8 if for long values did not."""
        z = (x - self.mean[j]) / math.sqrt(self.variance[j])
        if abs(z) > self.limit / 3:
            self.run[j] = max(self.run[j], 0.0) + weight
        elif z**2 * self.weight[j] >= 16:
            self.run[j] = max(self.run[j] - weight, 0.0)
        elif x != self.last[j]:
            self.run[j] -= weight
        if self.run[j] >= 30:
            self.weight[j], self.run[j] = min(self.weight[j], 8.0), 0.0
        elif -self.run[j] >= 30 and -self.run[j] >= self.weight[j] / 4:
            self.weight[j] = min(self.weight[j], 8.0)

    def add(self, x, weight):
        if self.limit < math.inf:
            for j in np.flatnonzero(~np.isnan(x) & (self.variance > 0)):
                self.contradict(j, x[j], weight)
        self.last = np.where(np.isnan(x), self.last, x)
        x = self.within(x)
        known = ~np.isnan(x)
        total = np.minimum(self.weight + weight, max(self.memory, weight))
        part = weight / total
        mean = self.mean + part * (x - self.mean)
        variance = (1 - part) * self.variance + part * (1 - part) * (x - self.mean) ** 2
        self.weight, self.mean = np.where(known, total, self.weight), np.where(known, mean, self.mean)
        self.variance = np.where(known, variance, self.variance)


@dataclass
class SoftStream:
    """A soft tree for classes, or for real targets."""

    n_features: int = 3
    n_outputs: int = 2
    is_class: bool = True
    grace: float = 20.0
    delta: float = 0.5
    tau: float = 0.05
    max_depth: float = 3
    max_inner: float = math.inf
    min_fraction: float = 0.01
    rate: float = 0.05
    gamma: float = 1.0
    alpha: float = 0.5
    batch: int = 1
    memory: float = math.inf
    has_bias: bool = True
    min_share: float = 0.1
    weigh_by_share: bool = True
    leaf_init: float = 1.0
    gate_init: float = 0.5
    alpha_rate: float = 0.0
    pull: float = 0.0
    recheck: float = math.inf
    limit: float = 0.0
    count_period: float = 0.0
    merit_range: float = 0.0
    deeper: bool = False
    small_error: float = 0.0
    seed: int = 7
    is_category: list | None = None
    n_in_batch: int = 0
    n_draws: int = 0
    n_rows: int = 0
    log: list = field(default_factory=list)

    def __post_init__(self):
        self.is_category = self.is_category or [False] * self.n_features
        limit = self.limit or math.inf
        self.scaler, self.target_scaler = Scaler(self.n_features, self.memory, limit), Scaler(1, self.memory, limit)
        if self.deeper:
            self.max_depth = max(self.max_depth, math.ceil(math.log2(self.n_outputs)) + 2)
        # nodes in the order in which they came
        self.nodes = [Node(0, np.zeros(self.n_outputs), Seen() if self.max_inner > 0 else None)]

    # Forward

    def inputs(self, row):
        return np.concatenate([[float(self.has_bias)], self.scaler.standardised(row)])

    def test(self, node, row):
        """1 or 0; where the value is missing, the part that has passed so far."""
        if np.isnan(row[node.feature]):
            return node.passed / node.weight if node.weight > 0 else 0.5
        return float(row[node.feature] <= node.threshold)

    def gate(self, node, row, x):
        """Part that goes left, its derivative by the sum, and the smooth step less the test."""
        t, alpha = node.line[1:] @ x, node.line[0]
        step, test = smooth_step(t, self.gamma), self.test(node, row) if node.feature >= 0 else 0.0
        return alpha * step + (1 - alpha) * test, alpha * smooth_step_slope(t, self.gamma), step - test

    def reached(self, row, x):
        """Nodes with a share of the row, level by level, and the shares."""
        found = [(self.nodes[0], 1.0)]
        for node, share in found:
            if node.children:
                part = self.gate(node, row, x)[0]
                sides = zip(node.children, (part, 1 - part), strict=True)
                found += [(child, share * side) for child, side in sides if side > 0]
        return found

    def output(self, node, row, x):
        if not node.children:
            return node.line
        part = self.gate(node, row, x)[0]
        left, right = (self.output(child, row, x) for child in node.children)
        return part * left + (1 - part) * right

    def raw(self, row):
        return self.output(self.nodes[0], row, self.inputs(row))

    def predict(self, row):
        raw = self.raw(row)
        if self.is_class:
            return np.exp(raw - raw.max()) / np.exp(raw - raw.max()).sum()
        return self.target_scaler.mean + raw * np.sqrt(self.target_scaler.variance)

    # Learning

    def learn(self, row, target, weight):
        """In portions of weight 1 and what is left; the first ones of a weight above 64 are larger.

        What is left is the last portion once the error is small.
        """
        self.n_rows += weight > 0
        while weight > 0:
            portion = min(weight, max(1.0, weight / 64))
            if self.error(row, target) < self.small_error:
                portion = weight
            self.learn_portion(row, target, portion)
            weight -= portion

    def error(self, row, target):
        """What the class lacks in probability, or the distance to the target in running standard deviations."""
        if self.is_class:
            return 1.0 - self.predict(row)[target]
        return abs(self.raw(row)[0] - self.target_scaler.standardised(np.array([target]))[0])

    def learn_portion(self, row, target, weight):
        x, own = self.inputs(row), target
        reached = self.reached(row, x)
        if self.is_class:
            slope = self.predict(row) - (np.arange(self.n_outputs) == target)
        else:
            # The scale has the row itself in it.
            self.target_scaler.add(np.array([target]), weight)
            own = np.clip(
                self.target_scaler.standardised(np.array([target]))[0], -self.limit or None, self.limit or None
            )
            slope = self.raw(row) - own
        for node, share in reached:
            self.add_gradient(node, share, row, x, weight * slope, weight * self.pull)
        if self.is_class and self.max_inner > 0:
            for node, share in reached:
                self.count(node, target, weight * share)
        self.n_in_batch += 1
        if self.n_in_batch == self.batch:
            self.n_in_batch = 0
            for node in self.nodes:
                self.step(node)
        if self.max_inner > 0:
            self.observe(reached, row, own, weight)
            if self.n_in_batch == 0:
                self.grow([node for node, _ in reached] if self.batch == 1 else list(self.nodes))
        self.scaler.add(row, weight)

    def add_gradient(self, node, share, row, x, slope, pull):
        if not node.children:
            node.slope += share * slope
            node.is_touched = True
            return
        part, by_sum, less_test = self.gate(node, row, x)
        if 0 < part < 1:
            left, right = (self.output(child, row, x) for child in node.children)
            difference = slope @ (left - right)
            node.slope[1:] += share * difference * by_sum * np.clip(x, -10, 10)
            node.is_flat &= difference * by_sum == 0
            node.is_touched |= not node.is_flat or self.alpha_rate > 0
            if self.alpha_rate > 0:
                node.slope[0] += share * (difference * less_test + pull)

    def count(self, node, label, weight):
        """A young leaf has the logarithms of class shares: ten rows of those that it began with, and its own."""
        if node.children or node.weight >= self.count_period * self.n_outputs:
            return
        shares = np.exp(node.line - node.line.max()) / np.exp(node.line - node.line.max()).sum()
        before = (node.weight + 10) * shares
        node.line = np.log((before + weight * (np.arange(self.n_outputs) == label)) / (node.weight + 10 + weight))
        node.slope, node.is_touched = np.zeros_like(node.slope), False

    def step(self, node):
        if not node.is_touched:
            return
        g, node.slope, node.is_touched = node.slope / self.batch, np.zeros_like(node.slope), False
        moves, rates = np.ones(len(g), dtype=bool), np.full(len(g), self.rate)
        if node.children:  # where all smooth steps were flat, alpha alone learns
            moves[0], rates[0] = self.alpha_rate > 0, self.alpha_rate
            moves[1:], node.is_flat = not node.is_flat, True
        node.n_steps += 1
        node.first = np.where(moves, 0.9 * node.first + 0.1 * g, node.first)
        node.second = np.where(moves, 0.999 * node.second + 0.001 * g**2, node.second)
        mean, spread = node.first / (1 - 0.9**node.n_steps), node.second / (1 - 0.999**node.n_steps)
        node.line = np.where(moves, node.line - rates * mean / (np.sqrt(spread) + 1e-8), node.line)
        if node.children:
            node.line[0] = np.clip(node.line[0], 0.02, 1)

    # Growing

    def observe(self, reached, row, target, weight):
        for node, share in reached:
            if node.children:
                node.passed += weight * share * self.test(node, row)
            node.weight += weight * share
            if node.seen is not None and share > self.min_share:
                node.seen.add(self.scaler.within(row), target, weight * share if self.weigh_by_share else weight)

    def grow(self, nodes):
        for node in nodes:
            if node.seen is None:
                continue
            total = sum(node.seen.weights)
            if total - node.last_attempt < (self.recheck if node.children else self.grace):
                continue
            node.last_attempt = total
            if node.children:
                self.check_test(node, total)
            elif (len(self.nodes) - 1) // 2 < self.max_inner:
                self.try_split(node, total)

    def impurity(self, seen):
        return observers.impurity(np.bincount(np.array(seen.targets, dtype=int), seen.weights), False)

    def best_test(self, seen, total):
        if self.is_class:
            found = observers.best_class_test(seen, self.impurity(seen), self.is_category, self.min_fraction)
            bound = hoeffding_bound(self.merit_range or math.log2(max(2, self.n_outputs)), self.delta, total)
            return found, None, bound, found[2] - max(found[3], 0.0) > bound
        *found, sides = observers.best_real_test(seen, self.is_category, self.min_fraction)
        bound = hoeffding_bound(1.0, self.delta, total)
        return found, sides, bound, found[2] > 0 and found[3] / found[2] < 1 - bound

    def try_split(self, leaf, total):
        (feature, threshold, merit, _), sides, bound, is_sure = self.best_test(leaf.seen, total)
        if feature < 0 or merit <= 0 or not (is_sure or bound < self.tau):
            return
        self.log.append(("split", self.n_rows, self.nodes.index(leaf), feature, threshold))
        moves = self.side_values(leaf.seen, feature, threshold, sides)
        children = []
        for move in moves:
            child = Node(leaf.depth + 1, leaf.line + self.leaf_init * move)
            child.first, child.second, child.n_steps = leaf.first, leaf.second, leaf.n_steps
            child.seen = Seen() if child.depth < self.max_depth else None
            children.append(child)
        self.nodes += children
        leaf.children, leaf.feature, leaf.threshold = tuple(children), feature, threshold
        leaf.weight, leaf.last_attempt = 0.0, 0.0
        leaf.seen = Seen() if self.recheck < math.inf else None
        leaf.start(self.first_gate(feature, threshold))

    def first_gate(self, feature, threshold):
        line = np.zeros(2 + self.n_features)
        line[0] = self.alpha
        for j in range(self.n_features):
            line[2 + j] = 0.01 * (2 * to_unit(next_seed(self.seed, self.n_draws)) - 1)
            self.n_draws += 1
        if self.gate_init > 0:
            place = (threshold - self.scaler.mean[feature]) / np.sqrt(self.scaler.variance[feature])
            line[1], line[2 + feature] = self.gate_init * place, -self.gate_init
        return line

    def side_values(self, seen, feature, threshold, sides):
        """What is added to the values of both leaves."""
        if not self.is_class:
            mean = sum(side[0] * side[1] for side in sides) / sum(side[0] for side in sides)
            return [np.array([side[1] - mean]) for side in sides]
        weights = np.zeros((2, self.n_outputs))
        found = observers.class_sides(seen, feature, threshold, self.is_category[feature])
        weights[:, np.array(seen.labels, dtype=int)] = found

        def log_shares(w):
            return np.log((w + 1) / (w.sum() + self.n_outputs))

        return [log_shares(side) - log_shares(weights.sum(axis=0)) for side in weights]

    def check_test(self, node, total):
        (feature, threshold, merit, _), _, bound, _ = self.best_test(node.seen, total)
        if self.is_class:
            now = observers.class_merit(
                node.seen, node.feature, node.threshold, self.impurity(node.seen), self.is_category[node.feature]
            )
            is_surely_better = merit - max(now, 0.0) > bound
        else:
            now = observers.real_merit(node.seen, node.feature, node.threshold)
            is_surely_better = merit > 0 and now / merit < 1 - bound
        if feature >= 0 and is_surely_better:
            self.log.append(("replace", self.n_rows, self.nodes.index(node), feature, threshold))
            node.feature, node.threshold, node.weight, node.passed = feature, threshold, 0.0, 0.0
        node.seen, node.last_attempt = Seen(), 0.0


# ------------------------------------------------------------------ growing trees of the package, and rows for them

GAMMA_WIDE = 2.0
SETTINGS = {
    "grace": "grace_period", "delta": "delta", "tau": "tau", "max_depth": "max_depth",
    "min_fraction": "min_branch_fraction", "rate": "learning_rate", "gamma": "gamma",
    "alpha": "alpha", "batch": "batch_size", "memory": "scaler_memory", "has_bias": "bias",
    "min_share": "min_share", "weigh_by_share": "weigh_by_share", "leaf_init": "leaf_init",
    "gate_init": "gate_init", "alpha_rate": "alpha_learning_rate", "pull": "alpha_pull", "recheck": "recheck_period",
    "limit": "outlier_limit", "count_period": "count_period", "merit_range": "merit_range",
    "deeper": "deeper_for_classes",
    "small_error": "small_error",
}  # fmt: skip


def growing(reference, limits=None):
    """The package's tree with the settings of a reference."""
    settings = Settings(**{name: float(getattr(reference, own)) for own, name in SETTINGS.items()})
    kind = SoftClassTree if reference.is_class else SoftRealTree
    tree = kind(settings, limits or Limits(max_inner=reference.max_inner), reference.n_features, reference.n_outputs)
    tree.seed = np.uint64(reference.seed)
    tree.arrays["is_category"][:] = reference.is_category
    return tree


def stream(seed, n=200, missing=0.0):
    """Two numbers and a column of zeros and ones; two classes and targets; weights up to 2.5."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 5.0, 1.0] + [0.0, 20.0, 0.0]
    X[:, 2] = rng.random(n) < 0.4
    score = X[:, 0] + 0.5 * X[:, 2] * np.sign(X[:, 1] - 21.0) + 0.2 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    weights = rng.choice([0.0, 0.4, 1.0, 2.0, 2.5], size=n, p=[0.05, 0.2, 0.5, 0.15, 0.1])
    return X, (score > 0.3).astype(np.int64), 10.0 + 3.0 * score, weights


def assert_same_arrays(tree, other):
    """Bit for bit, up to room."""
    n = tree.n_nodes
    for name, array in tree.state().items():
        theirs, axes = other.state()[name], tree.axes.get(name, ())
        if name != "log" and "nodes" in axes:
            at = axes.index("nodes")
            array, theirs = np.take(array, range(n), at), np.take(theirs, range(n), at)
        if name != "log" and "slots" in axes:
            at, k = axes.index("slots"), min(array.shape[axes.index("slots")], theirs.shape[axes.index("slots")])
            array, theirs = np.take(array, range(k), at), np.take(theirs, range(k), at)
        assert np.array_equal(array, theirs, equal_nan=array.dtype.kind == "f"), name


def assert_same_tree(tree, reference):
    """The package's tree and its reference, up to rounding."""
    nodes, numbers, inner = tree.structure()
    a = tree.arrays
    assert len(nodes) == len(reference.nodes)
    for k, node in enumerate(reference.nodes):
        assert inner[k] == bool(node.children)
        assert [nodes[k, layout.DEPTH], nodes[k, layout.FEATURE]] == [node.depth, node.feature]
        assert numbers[k, layout.THRESHOLD] == pytest.approx(node.threshold, nan_ok=True)
        assert numbers[k, layout.WEIGHT] == pytest.approx(node.weight)
        assert (nodes[k, layout.SLOT] >= 0) == (node.seen is not None)
        lines, slopes = (a["gates"], a["gate_slopes"]) if node.children else (a["values"], a["value_slopes"])
        expected = np.array([node.line, node.first, node.second])
        assert lines[:, k] == pytest.approx(expected, abs=1e-7)
        assert slopes[k] == pytest.approx(node.slope, abs=1e-9)
        assert numbers[k, [layout.FADE_1, layout.FADE_2]] == pytest.approx([0.9**node.n_steps, 0.999**node.n_steps])
        if node.children:
            assert numbers[k, layout.LEFT_WEIGHT] == pytest.approx(node.passed)
            assert nodes[k, [layout.LEFT, layout.RIGHT]].tolist() == [
                reference.nodes.index(child) for child in node.children
            ]
    found = [(e.kind, e.n_samples, e.node, e.feature, e.threshold) for e in tree.log]
    assert [event[:4] for event in found] == [event[:4] for event in reference.log]
    assert [event[4] for event in found] == pytest.approx([event[4] for event in reference.log])


def random_tree(seed, n_inner=9, n_features=3, n_outputs=3, alpha=None, size=0.2):
    """Three levels and more, with tests; gates that are never sure for inputs in [-1, 1] if `size` is .2."""
    rng = np.random.default_rng(seed)
    tree = SoftClassTree(Settings(gamma=GAMMA_WIDE, bias=1.0), Limits(max_inner=0), n_features, n_outputs)
    tree._resize(nodes=2 * n_inner + 1, slots=0)
    a = tree.arrays
    for k in range(n_inner):
        leaves = np.flatnonzero(a["nodes"][: tree.n_nodes, layout.LEFT] < 0)
        leaf = k if k < 7 else rng.choice(leaves)
        test = FoundTest(rng.integers(n_features), rng.uniform(-1, 1), 0.0, 0.0)
        put_test(leaf, test, 0.0, 0.0, tree._tree_nodes(), tree._statistics())
    a["gates"][0] = rng.uniform(-size, size, a["gates"][0].shape)
    a["gates"][0, :, ALPHA_AT] = rng.uniform(0.1, 0.9, tree.n_nodes) if alpha is None else alpha
    a["values"][0] = rng.normal(size=a["values"][0].shape)
    a["scaler"][:4] = np.array([np.ones(3), rng.normal(size=3), rng.uniform(0.5, 2.0, 3), np.zeros(3)])[:, :n_features]
    a["scaler"][3] = a["scaler"][2] ** -2.0
    a["numbers"][:, layout.WEIGHT] = rng.uniform(1, 2, tree.n_nodes)
    a["numbers"][:, layout.LEFT_WEIGHT] = rng.uniform(0, 1, tree.n_nodes)
    return tree


def visited(tree, row, x):
    """Number of nodes visited, places and shares."""
    own, soft, path, _ = tree._groups()
    path = path._replace(places=np.full_like(path.places, -9), shares=np.full_like(path.shares, np.nan), x=x)
    return visit(row[None], 0, own, soft, path), path.places, path.shares
