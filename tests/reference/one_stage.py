"""One-stage, budding and end-to-end trees as the papers write them: recursion over the nodes of a complete tree."""

from dataclasses import dataclass, replace

import numpy as np

from softwood.compiled.trees import next_seed, to_unit
from tests.reference.soft import loss, sigmoid, slope

# ------------------------------------------------------------------ random numbers of the loops


def noise(seed):
    """A logistic random number, by the inverse of its distribution."""
    u = min(max(float(to_unit(np.uint64(seed))), 1e-12), 1 - 1e-12)
    return np.log(u / (1 - u))


def other(seed, salt):
    return np.uint64(next_seed(np.uint64(seed), salt))


# ------------------------------------------------------------------ one-stage trees


@dataclass
class Staged:
    """A complete tree with the rows that its values come from; `shape` says of inner nodes whether they are split."""

    gates: np.ndarray
    shape: np.ndarray
    points: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    prior: float = 1.0

    @classmethod
    def random(cls, seed, depth=3, d=2, q=2, n=30):
        rng = np.random.default_rng(seed)
        n_inner = 2**depth - 1
        shape = rng.random(n_inner) < 0.7
        shape[0] = True
        return cls(
            rng.normal(size=(n_inner, d + 1)), shape, rng.normal(size=(n, d)), rng.normal(size=(n, q)),
            rng.integers(1, 4, size=n).astype(float), rng.choice([0.1, 1.0, 3.0]),
        )  # fmt: skip

    @property
    def n_inner(self):
        return len(self.gates)

    def z(self, node, x):
        return self.gates[node, :-1] @ x + self.gates[node, -1]

    def path(self, x):
        """Nodes from the root to the last level by the signs of the gates, whatever the shape."""
        nodes = [0]
        while nodes[-1] < self.n_inner:
            nodes.append(2 * nodes[-1] + (1 if self.z(nodes[-1], x) > 0 else 2))
        return nodes

    def sums(self):
        """Mass, sums of targets and last node of each row."""
        n_nodes = 2 * self.n_inner + 1
        mass, sums = np.zeros(n_nodes), np.zeros((n_nodes, self.targets.shape[1]))
        paths = [self.path(x) for x in self.points]
        for nodes, y, w in zip(paths, self.targets, self.weights, strict=True):
            mass[nodes] += w
            sums[nodes] += w * y
        return mass, sums, np.array([nodes[-1] for nodes in paths])

    def values(self):
        """Mean of a node's rows and of `prior` rows with its parent's value."""
        mass, sums, _ = self.sums()
        out = np.empty_like(sums)
        out[0] = sums[0] / mass[0]
        for node in range(1, len(mass)):
            out[node] = (sums[node] + self.prior * out[(node - 1) // 2]) / (mass[node] + self.prior)
        return out

    def leaf(self, x, node=0, seed=0):
        """Where a row ends that starts at `node`; sampled with this seed if it is not 0."""
        while node < self.n_inner and self.shape[node]:
            z = self.z(node, x)
            if seed != 0:
                seed = other(seed, node)
                z += noise(seed)
            node = 2 * node + (1 if z > 0 else 2)
        return node

    def gate_gradient(self, x, y, seed=None):
        """Straight through: hard sides forward, the slope of the sigmoid of the noisy input backward."""
        values, out = self.values(), np.zeros_like(self.gates)
        steps, node = [], 0
        while node < self.n_inner and self.shape[node]:
            z = self.z(node, x) + (0.0 if seed is None else noise(other(seed, node)))
            steps.append((node, z))
            node = 2 * node + (1 if z > 0 else 2)
        answer = values[node]
        for here, z in steps:
            sibling = 2 * here + (2 if z > 0 else 1)
            sibling_seed = 0 if seed is None else other(seed, sibling + 7919)
            instead = values[self.leaf(x, sibling, sibling_seed)]
            left, right = (answer, instead) if z > 0 else (instead, answer)
            by_side = (answer - y) @ (left - right)
            out[here] = by_side * sigmoid(z) * (1 - sigmoid(z)) * np.append(x, 1.0)
        return out, 0.5 * ((answer - y) ** 2).sum()

    def response(self, x, gamma, node=0):
        """The recursion f = (1 - g) v + g (s f_left + (1 - s) f_right), for any `gamma`."""
        value = self.values()[node]
        if node >= self.n_inner:
            return value
        child = 2 * node + (1 if self.z(node, x) > 0 else 2)
        return (1 - gamma[node]) * value + gamma[node] * self.response(x, gamma, child)

    def shape_gradient(self, x, y):
        """Derivatives of the halved squared error by `gamma` at the shape, by small steps."""
        return slope(lambda gamma: 0.5 * ((self.response(x, gamma) - y) ** 2).sum(), self.shape.astype(float))


# ------------------------------------------------------------------ budding trees


@dataclass
class Budding:
    """A complete tree of soft gates whose nodes are partly leaves."""

    gates: np.ndarray
    values: np.ndarray
    buds: np.ndarray

    @classmethod
    def random(cls, seed, depth=3, d=2, q=2):
        rng = np.random.default_rng(seed)
        n_inner = 2**depth - 1
        buds = rng.choice([0.0, 0.3, 0.8, 1.0], size=n_inner)
        buds[0] = rng.choice([0.6, 1.0])
        return cls(rng.normal(size=(n_inner, d + 1)), rng.normal(size=(2 * n_inner + 1, q)), buds)

    def alive(self):
        """Nodes with buds all the way down to them, rising, and of the inner ones those that have a bud themselves."""
        living = [0]
        for node in range(1, len(self.values)):
            parent = (node - 1) // 2
            if parent in living and self.buds[parent] > 0:
                living.append(node)
        awake = np.array([node in living and bud > 0 for node, bud in enumerate(self.buds)])
        return np.array(living), awake

    def response(self, x, node=0):
        if node >= len(self.gates):
            return self.values[node]
        g = sigmoid(self.gates[node, :-1] @ x + self.gates[node, -1])
        below = g * self.response(x, 2 * node + 1) + (1 - g) * self.response(x, 2 * node + 2)
        return (1 - self.buds[node]) * self.values[node] + self.buds[node] * below

    def gradient(self, points, targets, weights, link):
        """Derivatives of the weighted sum of losses by gates, values and buds, by small steps."""

        def total(tree):
            rows = zip(points, targets, weights, strict=True)
            return sum(w * loss(tree.response(x), y, link) for x, y, w in rows)

        return tuple(
            slope(lambda part, name=name: total(replace(self, **{name: part})), getattr(self, name))
            for name in ("gates", "values", "buds")
        )


# ------------------------------------------------------------------ end-to-end trees


def leaf_shares(gates, x, steepness):
    """Probability that a row reaches each leaf of the complete tree."""
    n = len(gates)
    out = []
    for leaf in range(n, 2 * n + 1):
        share, node = 1.0, leaf
        while node > 0:
            parent = (node - 1) // 2
            left = sigmoid(steepness * (gates[parent, :-1] @ x + gates[parent, -1]))
            share *= left if node == 2 * parent + 1 else 1 - left
            node = parent
        out.append(share)
    return np.array(out)


def log_likelihood(gates, points, likelihoods, weights, steepness):
    """Weighted sum of the logarithms of what the leaves say about each row, mixed by its shares."""
    mixed = [leaf_shares(gates, x, steepness) @ at for x, at in zip(points, likelihoods, strict=True)]
    return weights @ np.log(mixed)
