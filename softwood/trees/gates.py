"""The kinds of gates that the internal nodes of a finished tree can have.

A gate computes the share of a point that goes to the left child.

=============== ======================================================================================================
kind            share that goes left
=============== ======================================================================================================
``KERNEL``      part of the point's kernel, within the node's interval on `feature`, that lies at or below `threshold`;
                half-width 0 is the crisp test ``x[feature] <= threshold``
``SIGMOID``     ``1 / (1 + exp(-(weights @ x + bias)))``
``OBLIQUE``     1 if ``weights @ x + bias > 0``, else 0
``BLEND``       ``blend * smooth_step((weights @ x + bias) / width) + (1 - blend) * [x[feature] <= threshold]``
``SUBSET``      1 if the category number ``x[feature]`` is in the node's set `subsets`, else 0
=============== ======================================================================================================

If a value that the gate needs is missing, the share `missing_left` of the node goes to the left.
"""

from enum import IntEnum

from softwood.trees.loops.gates import BLEND, KERNEL, LEAF, OBLIQUE, SIGMOID, SUBSET


class Gate(IntEnum):
    """Kinds of nodes, as stored in `SoftTree.gate`.

    Attributes
    ----------
    LEAF : int
        A leaf, which has no gate.
    KERNEL : int
        Test of one column, in which a row is spread by a kernel. A half-width of 0 gives a crisp test.
    SIGMOID : int
        Sigmoid of a weighted sum of the columns.
    OBLIQUE : int
        Crisp test of a weighted sum of the columns.
    BLEND : int
        Mean of a smooth step of a weighted sum and of a crisp test of one column.
    SUBSET : int
        Whether a category is in a set.
    """

    LEAF = LEAF
    KERNEL = KERNEL
    SIGMOID = SIGMOID
    OBLIQUE = OBLIQUE
    BLEND = BLEND
    SUBSET = SUBSET
