import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from softwood import KernelTreeClassifier, KernelTreeRegressor, SoftTree, export_text

X = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "city": ["Rome", "Oslo", "Rome", "Oslo"]})


def test_names_masses_and_classes():
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth={"age": 0.1}).fit(X, ["no", "no", "yes", "yes"])
    half_width = model.bandwidths_[0]
    assert export_text(model).splitlines() == [
        "[mass 4.0, no: 0.500]",
        f"|-- age <= 35.000 ±{half_width:.3g}  [mass 2.0, no: 1.000]",
        f"|-- age >  35.000 ±{half_width:.3g}  [mass 2.0, yes: 1.000]",
    ]


def test_categories_are_said_in_words():
    model = KernelTreeRegressor(refine=False, trend=None, bandwidth=0.1).fit(X, [1.0, 0.0, 1.0, 0.0])
    assert export_text(model, decimals=2).splitlines() == [
        "[mass 4, value 0.50]",
        "|-- city = Oslo  [mass 2, value 0.00]",
        "|-- city != Oslo  [mass 2, value 1.00]",
    ]


def test_deep_nodes_are_counted():
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0).fit(np.arange(8.0)[:, None], [0, 1] * 4)
    text = export_text(model, max_depth=0)
    assert text == f"[mass 8.0, 0: 0.500] ... {model.tree_.n_nodes - 1} nodes below"


def test_a_soft_tree_prints_itself():
    tree = SoftTree.from_nodes(children_left=[-1], children_right=[-1], value=[[0.25]], n_features=1)
    assert str(tree) == export_text(tree) == "[value 0.250]"


def test_wrong_models_and_names():
    with pytest.raises(TypeError, match="fitted estimator of softwood, a SoftTree or a SoftForest"):
        export_text(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"'feature_names' .* a list of 1 names, or None. Got \['a', 'b'\]"):
        export_text(model, feature_names=["a", "b"])


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("max_depth", -1, r"an int in the range \[0, inf\) or None"),
        ("max_depth", 1.5, "an int"),
        ("max_depth", "deep", "an int"),
        ("max_depth", True, "an int"),
        ("decimals", -1, r"an int in the range \[0, inf\)\."),
        ("decimals", 1.5, "an int"),
        ("decimals", "two", "an int"),
        ("decimals", None, "an int"),
        ("feature_names", ["a"], "a list of 2 names, or None"),
        ("feature_names", "ab", "a list of 2 names"),
        ("feature_names", 2, "a list of 2 names"),
        ("class_names", ["a"], "a list of 2 names, or None"),
        ("class_names", "ab", "a list of 2 names"),
        ("class_names", 2, "a list of 2 names"),
    ],
)
def test_wrong_values_are_told_by_name(name, value, expected):
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0).fit([[0.0, 1.0], [1.0, 2.0]], [0, 1])
    with pytest.raises(ValueError, match=f"The '{name}' parameter of export_text must be {expected}.* Got .* instead"):
        export_text(model, **{name: value})
    if name != "class_names":
        with pytest.raises(ValueError, match=f"The '{name}' parameter of export_text must be"):
            export_text(model.tree_, **{name: value})
