import numpy as np
import pytest

import softwood
from softwood import SoftForest, SoftTree
from softwood.explanations.nodes import node_table
from softwood.fitted import FittedModel
from softwood.outputs import Outputs
from softwood.plots import plot_tree
from softwood.softened import SoftenedClassifier


def stump(value):
    return SoftTree.from_nodes(
        children_left=[1, -1, -1], children_right=[2, -1, -1], value=value, n_features=1, feature=[0, -1, -1],
        threshold=[0.0, np.nan, np.nan], mass=[2.0, 1.0, 1.0],
    )  # fmt: skip


SCORE, SHARES = stump([[0.0], [-2.0], [2.0]]), stump([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])


@pytest.mark.parametrize(
    ("outputs", "scores", "quantity", "labels"),
    [
        (Outputs.of(["no", "yes"], SHARES, "identity"), ("no", "yes"), "probability", ("no", "yes")),
        (Outputs.of(["no", "yes"], SCORE, "logistic"), ("yes",), "raw score", ("score of yes",)),
        (Outputs.of(["no", "yes"], SHARES, "softmax"), ("no", "yes"), "raw score", ("score of no", "score of yes")),
        (Outputs.of(None, SCORE, "identity"), ("",), "prediction", None),
        (Outputs.of(None, SHARES, "identity"), ("0", "1"), "prediction", None),
        (Outputs.of(None, SCORE, "exp"), ("",), "raw score", None),
        (Outputs.of([True], stump(np.ones((3, 1))), "identity"), ("True",), "probability", ("True",)),
    ],
)
def test_names(outputs, scores, quantity, labels):
    assert (outputs.scores, outputs.quantity, outputs.value_labels) == (scores, quantity, labels)
    assert bool(outputs.scale) == (quantity == "raw score")


def test_scores_of_the_first_of_two_classes_are_negatives():
    outputs = Outputs.of(["no", "yes"], SCORE, "logistic")
    scores = np.array([[3.0], [-1.0]])
    assert outputs.of_output(scores, 0).tolist() == [-3.0, 1.0]
    assert outputs.of_output(scores, 1).tolist() == [3.0, -1.0]
    both = Outputs.of(["no", "yes"], SHARES, "identity")
    assert both.of_output(np.array([0.2, 0.8]), 0) == 0.2


def test_a_tree_may_add_to_one_class():
    forest = SoftForest.sum([SCORE] * 3, base=np.zeros(3), output=[0, 1, 2])
    outputs = Outputs.of("abc", forest, "softmax")
    assert [outputs.node_labels(forest, k) for k in range(3)] == [("score of a",), ("score of b",), ("score of c",)]


def test_a_single_tree_of_scores_of_two_classes():
    """All that shows a tree names the class of its only score, the second."""
    X = np.array([[-1.0], [1.0]])
    model = SoftenedClassifier(trees=SCORE, classes=["no", "yes"], link="logistic", bandwidth=0.0).fit(X)
    assert FittedModel.of(model).outputs.scores == ("yes",)
    assert softwood.export_text(model).splitlines()[1].endswith("score of yes: -2.000]")
    assert "score of yes: -2.000" in softwood.export.to_dot(model)
    assert plot_tree(model).get_title() == "score of yes (log odds)"
    table = node_table(model, X, ["no", "yes"], as_frame=True)
    assert table["prediction[yes]"].tolist() == [0.0, -2.0, 2.0]
    assert table["distribution[no]"].tolist() == [0.5, 1.0, 0.0]
    found = softwood.explain(model, [-1.0])
    assert str(found).startswith("SoftenedClassifier predicts no with probability 0.88; yes 0.12")
    assert found.leaves[0].text == "score of no +2"
    assert found.contributions.tolist() == [2.0]
    assert softwood.explain(model, [-1.0], output=1).contributions.tolist() == [-2.0]
