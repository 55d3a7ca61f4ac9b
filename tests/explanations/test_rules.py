import re

import numpy as np
import pandas as pd
import pytest

from softwood import KernelTreeClassifier, SoftTreeClassifier
from softwood.explanations.rules import leaf_rules
from softwood.trees.gates import Gate
from softwood.trees.text import side_text


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=400), "city": rng.choice(["Rome", "Oslo", "Bonn"], 400)})
    X["age"] = rng.uniform(20, 80, 400)
    return X, (X["city"] == "Rome") ^ (np.abs(X["size"]) > 0.6) ^ (X["age"] > 60)


def test_crisp_rules_hold_for_the_rows_of_the_leaf(table):
    """Read as conditions again, the rules select exactly the rows of the leaf."""
    X, y = table
    model = KernelTreeClassifier(bandwidth=0.0, max_depth=6).fit(X, y)
    tree = model.tree_
    leaves = model.apply(X)
    for leaf in np.flatnonzero(tree.children_left < 0):
        holds = np.ones(len(X), dtype=bool)
        rules = leaf_rules(tree, int(leaf), model.columns_, decimals=12)
        for rule in rules:
            found = re.fullmatch(r"city (=|≠|in|not in) (?:\{(.*)\}|(.*))", rule)
            if found:
                cities = (found[2] or found[3]).split(", ")
                holds &= X["city"].isin(cities).to_numpy() == (found[1] in ("=", "in"))
            else:
                parts = rule.replace("≤", "<=").split(" < ")
                low, rest = (parts[0], parts[1]) if len(parts) == 2 else ("-inf", parts[0])
                name, sign, number = rest.split()
                holds &= (X[name] > float(low)).to_numpy()
                holds &= (X[name] <= float(number) if sign == "<=" else X[name] > float(number)).to_numpy()
        assert np.array_equal(holds, leaves == leaf)
        assert len(rules) <= 3, "tests of a column are one rule"


def test_kernels_and_oblique_gates(table):
    X, _ = table
    model = KernelTreeClassifier(bandwidth=0.3, max_depth=1).fit(X[["size", "age"]], X["size"] > 0.5)
    tree = model.tree_
    assert leaf_rules(tree, 1, model.columns_) == [f"size ≤ {tree.threshold[0]:.3g} ± {tree.width[0]:.3g}"]
    assert leaf_rules(tree, 2, model.columns_) == [f"size > {tree.threshold[0]:.3g} ± {tree.width[0]:.3g}"]
    assert leaf_rules(tree, 0, model.columns_) == []
    soft = SoftTreeClassifier(max_depth=2, random_state=0).fit(X[["size", "age"]], X["size"] > 0.5)
    assert soft.tree_.n_leaves > 1
    for leaf in np.flatnonzero(soft.tree_.gate == Gate.LEAF):
        rules = leaf_rules(soft.tree_, int(leaf), soft.columns_)
        assert len(rules) == soft.tree_.depth[leaf]
        assert rules[-1] == side_text(soft.tree_, int(leaf), soft.columns_.names, [False, False])
