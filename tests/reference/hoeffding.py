"""Hoeffding trees, the slow way: leaves keep all rows that came since they were opened."""

import math
from dataclasses import dataclass, field

import numpy as np

from tests.reference import observers
from tests.reference.observers import Seen, hoeffding_bound


@dataclass
class Node:
    """A leaf, until it gets a test; `seen` is None if it keeps no statistics."""

    depth: int = 0
    seen: Seen | None = None
    weight: float = 0.0
    last_attempt: float = 0.0
    scores: list = field(default_factory=lambda: [0.0, 0.0])  # of the model, of the plain prediction
    counts: dict = field(default_factory=dict)
    mean: float = 0.0
    spread: float = 0.0
    model: np.ndarray | None = None  # constant and weights
    feature: int = -1
    threshold: float = math.nan
    children: tuple = ()


@dataclass
class Tree:
    """What trees for classes and for real targets share."""

    n_outputs: int
    is_category: list
    grace: float = 20.0
    delta: float = 0.1
    tau: float = 0.05
    max_depth: float = math.inf
    max_inner: float = math.inf
    min_fraction: float = 0.01
    least_growth: float = 0.0
    how: str = "plain"  # or "model", "adaptive"
    n_inner: int = 0
    splits: list = field(default_factory=list)
    root: Node = None

    def __post_init__(self):
        self.root = self.new_node(0)
        self.root.seen = Seen()

    def new_node(self, depth):
        return Node(depth)

    def path(self, x):
        nodes = [self.root]
        while nodes[-1].children:
            node = nodes[-1]
            if np.isnan(x[node.feature]):
                goes_left = node.children[0].weight >= node.children[1].weight
            else:
                goes_left = x[node.feature] <= node.threshold
            nodes.append(node.children[0 if goes_left else 1])
        return nodes

    def is_time(self, leaf, seen):
        if leaf.seen is None or seen < leaf.last_attempt + max(self.grace, self.least_growth * leaf.last_attempt):
            return False
        leaf.last_attempt = seen
        return leaf.depth < self.max_depth and self.n_inner < self.max_inner

    def put_test(self, leaf, feature, threshold):
        self.splits.append((feature, threshold))
        self.n_inner += 1
        leaf.feature, leaf.threshold, leaf.seen = feature, threshold, None
        leaf.children = (self.new_node(leaf.depth + 1), self.new_node(leaf.depth + 1))

    def leaves(self, node=None):
        node = node or self.root
        if not node.children:
            return [node]
        return [leaf for child in node.children for leaf in self.leaves(child)]


@dataclass
class ClassTree(Tree):
    """`n_slots` leaves keep statistics at most."""

    is_gini: bool = False
    max_share: float = 0.99
    n_slots: int = 10**6
    unlikely: bool = False  # values that a class has not shown
    many: bool = False  # sides of splits of categories
    copies: bool = False  # a row of weight w is judged as w rows
    slots: list = field(default_factory=list)

    def __post_init__(self):
        super().__post_init__()
        self.slots = [self.root]

    def bayes(self, leaf, x):
        """Class probabilities of naive Bayes, by class."""
        total = sum(leaf.counts.values())
        votes = {
            label: math.log(count / total) + observers.log_density(leaf.seen, x, label, self.is_category, self.unlikely)
            for label, count in leaf.counts.items()
            if count > 0.0
        }
        highest = max(votes.values())
        if highest == -math.inf:
            return None
        odds = {label: math.exp(vote - highest) for label, vote in votes.items()}
        return {label: odd / sum(odds.values()) for label, odd in odds.items()}

    def predict(self, x):
        leaf = self.path(x)[-1]
        total = sum(leaf.counts.values())
        if total == 0.0:
            return np.full(self.n_outputs, 1.0 / self.n_outputs)
        parts = {label: count / total for label, count in leaf.counts.items()}
        if leaf.seen is not None and (
            self.how == "model" or (self.how == "adaptive" and leaf.scores[0] >= leaf.scores[1])
        ):
            parts = self.bayes(leaf, x) or parts
        return np.array([parts.get(k, 0.0) for k in range(self.n_outputs)])

    def learn(self, x, label, weight):
        if weight == 0.0:
            return
        path = self.path(x)
        leaf = path[-1]
        for part in self.portions(weight):
            if leaf.seen is not None and self.how == "adaptive":
                if not leaf.counts or max(leaf.counts, key=leaf.counts.get) == label:
                    leaf.scores[1] += part
                if sum(leaf.counts.values()) > 0.0:
                    votes = self.bayes(leaf, x)
                    leaf.scores[0] += part * (votes is not None and max(votes, key=votes.get) == label)
            leaf.counts[label] = leaf.counts.get(label, 0.0) + part
            if leaf.seen is not None:
                leaf.seen.add(x, label, part)
        for node in path:
            node.weight += weight
        if leaf.seen is None:
            return
        seen = sum(leaf.counts.values())
        if self.is_time(leaf, seen):
            self.try_split(leaf, seen)

    def portions(self, weight):
        """Weights of the copies of a row, each of which is judged before it is learned."""
        size = max(1.0, weight / 64.0) if self.copies else weight
        n = math.ceil(weight / size)
        return [size] * (n - 1) + [weight - (n - 1) * size]

    def try_split(self, leaf, seen):
        if sum(count > 0.0 for count in leaf.counts.values()) < 2:
            return
        if max(leaf.counts.values()) / seen > self.max_share:
            leaf.seen = Seen()
            return
        before = observers.impurity(leaf.counts.values(), self.is_gini)
        most_tests = min(self.max_depth - leaf.depth, self.max_inner - self.n_inner) if self.many else 1
        feature, threshold, merit, second = observers.best_class_test(
            leaf.seen, before, self.is_category, self.min_fraction, self.is_gini, most_tests
        )
        spread = 1.0 if self.is_gini else math.log2(max(2, len(leaf.counts)))
        bound = hoeffding_bound(spread, self.delta, seen)
        if feature < 0:
            leaf.seen = Seen() if bound < self.tau else leaf.seen
            return
        if not (merit - second > bound or bound < self.tau):
            return
        labels, rows = leaf.seen.labels, leaf.seen
        if threshold is None:
            self.split_source(leaf, feature)
            return
        sides = observers.class_sides(rows, feature, threshold, self.is_category[feature])
        self.put_test(leaf, feature, threshold)
        self.slots[self.slots.index(leaf)] = None
        for right, (child, side) in enumerate(zip(leaf.children, sides, strict=True)):
            for label, weight in zip(labels, side, strict=True):
                x, _ = rows.known(feature, label)
                # A class is known to a side that its values reach, to both sides of a category.
                if len(x) and (self.is_category[feature] or (x.max() > threshold if right else x.min() <= threshold)):
                    child.counts[label] = weight
            child.weight = child.last_attempt = sum(child.counts.values())
        for child in leaf.children:
            self.give_slot(child)

    def split_source(self, leaf, first):
        """One test after the other, each for a category with a side of its own, until one side is left."""
        rows, source = leaf.seen, self.is_category[first]
        own, sides, rest, _ = observers.sides_of_source(rows, source, self.is_category, self.min_fraction)
        if rest.sum() == 0.0:
            own, sides, rest = own[:-1], sides[:-1], sides[-1]
        self.slots[self.slots.index(leaf)] = None
        node, chain = leaf, []
        for k, j in enumerate(own):
            self.put_test(node, j, 0.5)
            left_over = sum(sides[k + 1 :], rest)
            for child, side in zip(node.children, (left_over, sides[k]), strict=True):
                child.counts = {label: weight for label, weight in zip(rows.labels, side, strict=True) if weight > 0.0}
                child.weight = child.last_attempt = sum(child.counts.values())
                chain.append(child)
            node = node.children[0]
        for child in chain:
            if not child.children:
                self.give_slot(child)

    def give_slot(self, leaf):
        """Statistics for a new leaf; those of the leaf that promises least if there is no room."""

        def promise(node):
            return sum(node.counts.values()) - max(node.counts.values(), default=0.0)

        if leaf.depth >= self.max_depth:
            return
        if None not in self.slots and len(self.slots) < self.n_slots:
            self.slots.append(None)
        if None in self.slots:
            at = self.slots.index(None)
        else:
            at = min(range(len(self.slots)), key=lambda s: promise(self.slots[s]))
            if promise(self.slots[at]) >= promise(leaf):
                return
            self.slots[at].seen = None
        leaf.seen = Seen()
        self.slots[at] = leaf


@dataclass
class RealTree(Tree):
    """The linear models of leaves are in units of all rows so far."""

    rate: float = 0.05
    fading: float = 0.95
    rows: Seen = field(default_factory=Seen)

    def new_node(self, depth):
        node = Node(depth)
        node.model = np.zeros(1 + len(self.is_category))
        return node

    def standardised(self, x):
        """1 and the row in standard units, 0 where missing or without a spread."""
        z = [1.0]
        for j, value in enumerate(x):
            known, w = self.rows.known(j)
            center, squares = observers.center_and_squares(known, w) if len(known) else (0.0, 0.0)
            has_value = squares > 0.0 and not np.isnan(value)
            z.append((value - center) / math.sqrt(squares / w.sum()) if has_value else 0.0)
        return np.array(z)

    def predict(self, x):
        leaf = self.path(x)[-1]
        is_linear = self.how == "model" or (
            self.how == "adaptive" and leaf.weight >= 50.0 and leaf.scores[0] <= leaf.scores[1]
        )
        return leaf.model @ self.standardised(x) if is_linear else leaf.mean

    def learn(self, x, target, weight):
        if weight == 0.0:
            return
        path = self.path(x)
        leaf = path[-1]
        if self.how != "plain":
            z = self.standardised(x)
            errors = [target - leaf.model @ z, target - leaf.mean]
            if leaf.weight > 0.0:
                leaf.scores = [self.fading**weight * s + e**2 for s, e in zip(leaf.scores, errors, strict=True)]
                leaf.model = leaf.model + (1.0 - (1.0 - self.rate) ** weight) * errors[0] * z / (z @ z)
            else:
                leaf.model = leaf.model + np.eye(1, len(leaf.model))[0] * target
            self.rows.add(x, target, weight)
        for node in path:
            before = node.mean
            node.weight += weight
            node.mean += (target - before) * weight / node.weight
            node.spread += weight * (target - before) * (target - node.mean)
        if leaf.seen is None:
            return
        leaf.seen.add(x, target, weight)
        if self.is_time(leaf, leaf.weight):
            self.try_split(leaf)

    def try_split(self, leaf):
        feature, threshold, merit, second, sides = observers.best_real_test(
            leaf.seen, self.is_category, self.min_fraction
        )
        bound = hoeffding_bound(1.0, self.delta, leaf.weight)
        if feature < 0 or not (second / merit < 1.0 - bound or bound < self.tau):
            return
        self.put_test(leaf, feature, threshold)
        for child, side in zip(leaf.children, sides, strict=True):
            child.weight, child.mean, child.spread = side
            child.last_attempt = child.weight
            child.model, child.scores = leaf.model, list(leaf.scores)
            child.seen = Seen() if child.depth < self.max_depth else None
