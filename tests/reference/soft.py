"""Soft trees as the paper writes them: recursion over nodes, losses row by row, derivatives by small steps, Adam."""

from dataclasses import dataclass

import numpy as np

from softwood.gradient.loops.soft_split import IDENTITY, LOGISTIC, SOFTMAX
from tests.reference.trees import random_children

LINKS = [(IDENTITY, 1), (IDENTITY, 3), (LOGISTIC, 1), (SOFTMAX, 3)]


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def predict(output, link):
    """What is predicted with this output (q,) of the root."""
    if link == SOFTMAX:
        return np.exp(output) / np.exp(output).sum()
    return sigmoid(output) if link == LOGISTIC else output


def loss(output, target, link):
    """Half the squared error, or cross-entropy, of one row."""
    p = predict(output, link)
    if link == SOFTMAX:
        return -(target * np.log(p)).sum()
    if link == LOGISTIC:
        return -(target * np.log(p) + (1 - target) * np.log(1 - p)).sum()
    return 0.5 * ((p - target) ** 2).sum()


def random_targets(rng, n, q, link):
    if link == IDENTITY:
        return rng.normal(size=(n, q))
    if link == LOGISTIC:
        return rng.random((n, 1))
    return rng.dirichlet(np.ones(q), size=n)


@dataclass
class Split:
    """A split of one node and all rows that take part in it."""

    points: np.ndarray
    targets: np.ndarray
    rest: np.ndarray
    path: np.ndarray
    gate: np.ndarray
    values: np.ndarray
    link: int

    @classmethod
    def random(cls, seed, link, q, n=7, d=3):
        rng = np.random.default_rng(seed)
        return cls(
            points=rng.normal(size=(n, d)), targets=random_targets(rng, n, q, link), rest=rng.normal(size=(n, q)),
            path=rng.random(n), gate=rng.normal(size=d + 1), values=rng.normal(size=(2, q)), link=link,
        )  # fmt: skip

    def output(self, i, gate, values):
        left = sigmoid(gate[:-1] @ self.points[i] + gate[-1])
        return self.rest[i] + self.path[i] * (left * values[0] + (1 - left) * values[1])

    def loss(self, i, gate, values):
        return loss(self.output(i, gate, values), self.targets[i], self.link)

    def gradient(self, i, gate, values):
        """Derivatives of the loss of row `i` by the gate and by the values."""
        return (
            slope(lambda g: self.loss(i, g, values), gate),
            slope(lambda v: self.loss(i, gate, v), values),
        )  # fmt: skip

    def descend(self, visits, step, decay, l1, l2, every):
        """Gate, values and next step; penalties pull at the last visit, and `every` so many before it."""
        gate, values = self.gate.copy(), self.values.copy()
        for k, i in enumerate(visits):
            by_gate, by_values = self.gradient(i, gate, values)
            gate, values = gate - step * by_gate, values - step * by_values
            if (len(visits) - 1 - k) % every == 0:
                pull = step * min(k + 1, every)
                w = gate[:-1] * max(1 - pull * l2, 0.0)
                gate[:-1] = np.sign(w) * np.maximum(np.abs(w) - pull * l1, 0.0)
            step *= decay
        return gate, values, step


def slope(function, at, step=1e-5):
    """Central differences of a function of an array, one entry after the other."""
    out = np.empty_like(at)
    for place in np.ndindex(at.shape):
        move = np.zeros_like(at)
        move[place] = step
        out[place] = (function(at + move) - function(at - move)) / (2 * step)
    return out


def best_merit(points, targets, weights):
    """Largest decrease of the weighted squared error by an axis-aligned test, and all (feature, rows left) with it."""
    counts = weights > 0

    def error(part):
        if not part.any():
            return 0.0
        mean = np.average(targets[part], axis=0, weights=weights[part])
        return (weights[part, None] * (targets[part] - mean) ** 2).sum()

    merits = {}
    for j in range(points.shape[1]):
        for value in np.unique(points[counts, j])[:-1]:
            left = counts & (points[:, j] <= value)
            merits[j, tuple(left)] = error(counts) - error(left) - error(counts & ~left)
    largest = max(merits.values(), default=0.0)
    return largest, {place for place, merit in merits.items() if merit >= largest - 1e-9}


# ------------------------------------------------------------------ whole trees


@dataclass
class Tree:
    """Children (-1 at leaves), gates (n_nodes, d + 1) and values (n_nodes, q)."""

    left: np.ndarray
    right: np.ndarray
    gates: np.ndarray
    values: np.ndarray

    @classmethod
    def random(cls, seed, n_leaves=5, d=3, q=2):
        rng = np.random.default_rng(seed)
        left, right = random_children(rng, n_leaves)
        n = len(left)
        return cls(left, right, rng.normal(size=(n, d + 1)), rng.normal(size=(n, q)))

    def side(self, node, x):
        return sigmoid(self.gates[node, :-1] @ x + self.gates[node, -1])

    def output(self, x, node=0):
        """F of the paper: left and right mixed by the gate."""
        if self.left[node] < 0:
            return self.values[node]
        g = self.side(node, x)
        return g * self.output(x, self.left[node]) + (1 - g) * self.output(x, self.right[node])

    def shares(self, x):
        """Share of a row in each node."""
        out = np.zeros(len(self.left))

        def go(node, share):
            out[node] = share
            if self.left[node] >= 0:
                go(self.left[node], share * self.side(node, x))
                go(self.right[node], share * (1 - self.side(node, x)))

        go(0, 1.0)
        return out

    def loss(self, points, targets, weights, link):
        """Weighted sum of the losses."""
        rows = zip(points, targets, weights, strict=True)
        return sum(w * loss(self.output(x), y, link) for x, y, w in rows)

    def gradient(self, points, targets, weights, link):
        """Derivatives of the sum of losses by all gates and by all values."""
        by_gates = slope(
            lambda g: Tree(self.left, self.right, g, self.values).loss(points, targets, weights, link), self.gates
        )
        by_values = slope(
            lambda v: Tree(self.left, self.right, self.gates, v).loss(points, targets, weights, link), self.values
        )
        return by_gates, by_values


def adam(parameters, gradients, rate, betas=(0.9, 0.999), epsilon=1e-8):
    """Parameters after a step for each of the gradients (Kingma and Ba 2015, algorithm 1)."""
    m = v = np.zeros_like(parameters)
    for t, g in enumerate(gradients, start=1):
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g**2
        parameters = parameters - rate * (m / (1 - betas[0] ** t)) / (np.sqrt(v / (1 - betas[1] ** t)) + epsilon)
    return parameters
