import re
from html import unescape

import pytest

from softwood.export import FittedModel, to_dot, to_mermaid
from softwood.trees.gates import Gate
from tests.export.models import all_fitted, fitted, fitted_to_frames, mixed_tree

DRAWN = {to_dot: re.compile(r"^  n(\d+) \[", re.MULTILINE), to_mermaid: re.compile(r'^  n(\d+)\["', re.MULTILINE)}
ARROWS = {to_dot: re.compile(r"n\d+ -> n\d+"), to_mermaid: re.compile(r'n\d+ -->\|"[^"]*"\| n\d+')}


@pytest.mark.parametrize("draw", [to_dot, to_mermaid])
@pytest.mark.parametrize("name", all_fitted())
def test_every_node_and_branch_is_there(draw, name):
    model = all_fitted()[name]
    tree = FittedModel.of(model).forest[0]
    text = draw(model)
    assert sorted(map(int, DRAWN[draw].findall(text))) == list(range(tree.n_nodes))
    assert len(ARROWS[draw].findall(text)) == tree.n_nodes - 1


@pytest.mark.parametrize("draw", [to_dot, to_mermaid])
def test_depth_and_number_of_the_tree(draw):
    forest = fitted()["kernel forest"]
    shown = DRAWN[draw].findall(draw(forest, tree=2, max_depth=1))
    assert len(shown) == 3
    assert draw(forest, tree=2) != draw(forest)
    with pytest.raises(ValueError, match="'tree' parameter"):
        draw(forest, tree=5)


def test_sets_of_categories_are_answered_by_yes_on_the_left():
    text = to_dot(fitted_to_frames()["kernel tree of a frame"])
    node = re.search(r"n(\d+) \[label=\"city (=|!=|in|not in) .*\\n", text)
    tree = FittedModel.of(fitted_to_frames()["kernel tree of a frame"]).trees
    assert tree.gate[int(node[1])] == Gate.SUBSET
    assert re.search(rf'n{node[1]} -> n{tree.children_left[int(node[1])]} \[label="yes', text)


def named(*names):
    columns = FittedModel.of(mixed_tree()).columns
    return FittedModel("SoftTree", mixed_tree(), type(columns)(names, columns.source, columns.categories, names))


def test_names_stay_within_their_quotes():
    evil = ('a"]; b', "\\", "c\nd", "</script>#{|}`")
    dot, mermaid = to_dot(named(*evil)), to_mermaid(named(*evil))
    for line in dot.splitlines()[3:-1]:
        assert len(re.findall(r'(?<!\\)(?:\\\\)*"', line)) in (2, 4)
    for line in mermaid.splitlines()[1:]:
        assert line.count('"') == 2
    assert "</script>" not in mermaid
    assert "</script>#{|}`" in unescape(mermaid.replace("#", "&#"))
