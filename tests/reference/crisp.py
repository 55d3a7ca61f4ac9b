"""Crisp oblique trees in training, slow and simple: all paths one by one, all shapes one by one, rows one by one."""

from dataclasses import dataclass, replace

import numpy as np

from tests.reference.one_stage import leaf_shares

# ------------------------------------------------------------------ shapes of a complete tree


def shapes(n_inner, node=0):
    """All sets of splits with which a tree that begins at this node can be pruned."""
    if node >= n_inner:
        return [frozenset()]
    below = [(left, right) for left in shapes(n_inner, 2 * node + 1) for right in shapes(n_inner, 2 * node + 2)]
    return [frozenset(), *(frozenset({node}) | left | right for left, right in below)]


def leaves_of(splits):
    """Where a tree with these splits ends."""
    if not splits:
        return [0]
    children = {child for node in splits for child in (2 * node + 1, 2 * node + 2)}
    return sorted(children - set(splits))


def in_order(splits, node=0):
    """Left subtree, right subtree, node."""
    if node not in splits:
        return []
    return [*in_order(splits, 2 * node + 1), *in_order(splits, 2 * node + 2), node]


def random_shape(rng, n_inner):
    """Some splits, the root among them, each below another one."""
    splits = {0}
    for node in range(1, n_inner):
        if (node - 1) // 2 in splits and rng.random() < 0.7:
            splits.add(node)
    return splits


# ------------------------------------------------------------------ classes: the best of all paths


@dataclass
class Paths:
    """A tree with logits at its nodes, and rows."""

    gates: np.ndarray
    splits: set
    logits: np.ndarray
    points: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    @classmethod
    def random(cls, seed, depth=3, d=2, q=3, n=8):
        rng = np.random.default_rng(seed)
        n_inner = 2**depth - 1
        return cls(
            rng.normal(size=(n_inner, d + 1)), random_shape(rng, n_inner), rng.normal(size=(2 * n_inner + 1, q)),
            rng.normal(size=(n, d)), rng.dirichlet(np.ones(q), size=n), rng.uniform(0.5, 2.0, size=n),
        )  # fmt: skip

    def z(self, node, x):
        return self.gates[node, :-1] @ x + self.gates[node, -1]

    def steps_to(self, leaf):
        """The splits above a leaf, and whether its path goes left there."""
        out = []
        while leaf > 0:
            out.append(((leaf - 1) // 2, leaf % 2 == 1))
            leaf = (leaf - 1) // 2
        return out

    def cost(self, leaf, x):
        """Sum of the margins on whose wrong side the row is."""
        return sum(max(-self.z(node, x), 0.0) if left else max(self.z(node, x), 0.0) for node, left in
                   self.steps_to(leaf))  # fmt: skip

    def best_leaf(self, x, k):
        """The leaf whose path gives class `k` its logit."""
        return max(leaves_of(self.splits), key=lambda leaf: self.logits[leaf, k] - self.cost(leaf, x))

    def class_logits(self, x):
        best = [self.best_leaf(x, k) for k in range(self.logits.shape[1])]
        return np.array([self.logits[leaf, k] - self.cost(leaf, x) for k, leaf in enumerate(best)])

    def crisp_leaf(self, x):
        """By the signs of the gates alone."""
        node = 0
        while node in self.splits:
            node = 2 * node + (1 if self.z(node, x) >= 0 else 2)
        return node

    def losses(self):
        """Weighted cross-entropy of each row."""
        out = []
        for x, y, w in zip(self.points, self.targets, self.weights, strict=True):
            logits = self.class_logits(x)
            out.append(w * (y @ (np.log(np.exp(logits).sum()) - logits)))
        return np.array(out)

    def input_gradient(self, i):
        """Derivatives of the loss of row `i` by the inputs of the gates, (n_inner,): those of its best paths."""
        x, y, out = self.points[i], self.targets[i], np.zeros(len(self.gates))
        logits = self.class_logits(x)
        shares = np.exp(logits) / np.exp(logits).sum()
        for k in range(len(y)):
            for node, left in self.steps_to(self.best_leaf(x, k)):
                if left and self.z(node, x) < 0:
                    out[node] += self.weights[i] * (shares[k] * y.sum() - y[k])
                if not left and self.z(node, x) >= 0:
                    out[node] -= self.weights[i] * (shares[k] * y.sum() - y[k])
        return out

    def gradient(self, rows):
        """Derivatives of the mean loss of these rows by the gates."""
        parts = [np.outer(self.input_gradient(i), np.append(self.points[i], 1.0)) for i in rows]
        return sum(parts) / len(rows)

    def distance_to_ties(self):
        """How far the loss is from having a kink: two best paths of a class, or a row on a border."""
        found = [np.inf]
        for x in self.points:
            found += [abs(self.z(node, x)) for node in self.splits]
            for k in range(self.logits.shape[1]):
                scores = sorted(self.logits[leaf, k] - self.cost(leaf, x) for leaf in leaves_of(self.splits))
                found += [b - a for a, b in zip(scores[-2:], scores[-1:], strict=False)]
        return min(found)

    def with_gates(self, gates):
        return replace(self, gates=gates)


def leaf_logits(values, splits, is_pure, other, least):
    """Logits of all nodes as leaves, by the words of the docstring."""
    if not is_pure:
        return np.log(np.maximum(values, least))
    out = np.full(values.shape, other)
    out[np.arange(len(values)), values.argmax(axis=1)] = 0.0
    for node in splits:
        left, right = 2 * node + 1, 2 * node + 2
        same = values[left].argmax()
        if {left, right} & set(splits) or same != values[right].argmax():
            continue
        weaker = left if values[left, same] < values[right, same] else right
        lifts = {
            k: values[weaker, k] / values[node, k]
            for k in range(values.shape[1])
            if k != same and values[node, k] > least
        }
        k = max(lifts, key=lifts.get, default=None)
        if k is not None and lifts[k] > 1.0:
            out[weaker, same], out[weaker, k] = other, 0.0
    return out


# ------------------------------------------------------------------ reals: mixtures of leaves


@dataclass
class Mixture:
    """A complete tree of sigmoid gates with values at its leaves, and rows."""

    gates: np.ndarray
    values: np.ndarray
    steepness: float
    points: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    @classmethod
    def random(cls, seed, depth=2, d=2, q=2, n=7):
        rng = np.random.default_rng(seed)
        n_inner = 2**depth - 1
        return cls(
            rng.normal(size=(n_inner, d + 1)), rng.normal(size=(n_inner + 1, q)), rng.choice([0.5, 1.0, 3.0]),
            rng.normal(size=(n, d)), rng.normal(size=(n, q)), rng.uniform(0.5, 2.0, size=n),
        )  # fmt: skip

    def output(self, x, node=0):
        """Of the subtree of a node."""
        if node >= len(self.gates):
            return self.values[node - len(self.gates)]
        left = 1.0 / (1.0 + np.exp(-self.steepness * (self.gates[node, :-1] @ x + self.gates[node, -1])))
        return left * self.output(x, 2 * node + 1) + (1.0 - left) * self.output(x, 2 * node + 2)

    def loss(self, rows):
        """Mean of the halved squared error of these rows, weighted."""
        mixed = [leaf_shares(self.gates, self.points[i], self.steepness) @ self.values for i in rows]
        return np.mean([0.5 * self.weights[i] * ((y - self.targets[i]) ** 2).sum() for i, y in zip(rows, mixed,
                        strict=True)])  # fmt: skip


# ------------------------------------------------------------------ the rows at the nodes


def rows_at(gates, points):
    """Which rows pass each node of the complete tree, (n_nodes, n)."""
    out = np.ones((2 * len(gates) + 1, len(points)), dtype=bool)
    for node, gate in enumerate(gates):
        left = points @ gate[:-1] + gate[-1] > 0.0
        out[2 * node + 1], out[2 * node + 2] = out[node] & left, out[node] & ~left
    return out


def node_values(members, targets, weights, prior):
    """Mean of the rows of each node and of `prior` rows with the value of its parent."""
    out = np.empty((len(members), targets.shape[1]))
    for node, here in enumerate(members):
        if node == 0:
            out[0] = np.average(targets, axis=0, weights=weights)
        else:
            parent = out[(node - 1) // 2]
            out[node] = (weights[here] @ targets[here] + prior * parent) / (weights[here].sum() + prior)
    return out


def node_loss(value, targets, weights, is_class, least):
    """Loss of some rows that are predicted with one value."""
    if is_class:
        return -sum(w * (y @ np.log(np.maximum(value, least))) for y, w in zip(targets, weights, strict=True))
    return sum(w * ((y - value) ** 2).sum() for y, w in zip(targets, weights, strict=True))
