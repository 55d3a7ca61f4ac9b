"""Random trees as the loops of layers take them."""

import numpy as np

from softwood.trees.forest import SoftForest
from softwood.trees.gate_tables import Structure
from softwood.trees.loops.layout import BIAS, BLEND_AT, MISSING_LEFT, N_GATE_NUMBERS, THRESHOLD, WIDTH, LayerTrees
from tests.reference.trees import random_tree


def random_layer(seed, *, n_leaves=(6, 1, 4), gates=(0,), widths="any"):
    """Trees of several sizes: `LayerTrees`, weights (or None), numbers, values."""
    forest = SoftForest.mean(
        [random_tree(seed + k, n_leaves=n, gates=gates, widths=widths) for k, n in enumerate(n_leaves)]
    )
    structure = Structure.of(forest)
    nodes = structure.gate_nodes
    numbers = np.zeros((len(nodes), N_GATE_NUMBERS))
    numbers[:, BIAS], numbers[:, WIDTH], numbers[:, BLEND_AT] = (
        forest.bias[nodes],
        forest.width[nodes],
        forest.blend[nodes],
    )
    numbers[:, THRESHOLD], numbers[:, MISSING_LEFT] = np.nan_to_num(forest.threshold[nodes]), forest.missing_left[nodes]
    trees = LayerTrees(structure.table, structure.gates, structure.leaves, forest.shapes.edges, forest.shapes.cdfs)
    weights = None if forest.weights is None else forest.weights[nodes]
    return trees, weights, numbers, forest.value[structure.leaf_nodes]
