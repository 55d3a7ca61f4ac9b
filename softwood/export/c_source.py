"""C: one header and one source file, doubles, no allocation, nothing but math.h and string.h."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softwood.core.parameters import parameter_error
from softwood.fitted import FittedModel
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate

# Compilers need about 1 kB and 10 µs for each node; beyond this, the source is refused.
MAX_NODES = 500_000


class CSource(NamedTuple):
    """Texts of the two files, and the name that all functions begin with.

    Attributes
    ----------
    header : str
        Text of the header file.
    source : str
        Text of the source file.
    name : str
        Name that all functions begin with.
    """

    header: str
    source: str
    name: str

    def save(self, folder: Any) -> None:
        """Write ``name.h`` and ``name.c`` to a folder.

        Parameters
        ----------
        folder : str or path-like
            The folder.
        """
        Path(folder, f"{self.name}.h").write_text(self.header, encoding="utf-8")
        Path(folder, f"{self.name}.c").write_text(self.source, encoding="utf-8")


def to_c(model: Any, *, name: str = "model") -> CSource:
    """C99 source that predicts as the model does, row by row.

    ``NAME_predict(row, out)`` takes a double for each column of the table: NAN where missing, and in columns of
    categories the code that ``NAME_category(column, text)`` gives. ``NAME_label(row)`` is the number of the most
    probable class, ``NAME_classes`` are their names. The functions allocate nothing and keep no state, so threads can
    share them. They use ``exp`` of math.h: link with ``-lm``.

    Parameters
    ----------
    model : fitted estimator, SoftTree, SoftForest or FittedModel
        The model to export, of up to 500 000 nodes.
    name : str, default="model"
        Name of the files, and the first part of all names in them.

    Returns
    -------
    CSource
        Texts of the two files: ``header`` and ``source``. ``save(folder)`` writes them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.export import to_c
    >>> model = KernelTreeClassifier(bandwidth=0.1, max_depth=2).fit(*load_iris(return_X_y=True))
    >>> "void iris_predict(const double *row, double *out);" in to_c(model, name="iris").header
    True
    """
    if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
        raise parameter_error("to_c", "name", "a name of C", name)
    known = FittedModel.of(model, "to_c").portable().one_hot()
    forest = known.forest
    if forest.n_nodes > MAX_NODES:
        raise ValueError(f"to_c writes models of up to {MAX_NODES:,} nodes. Got {forest.n_nodes:,}; use fewer trees.")
    source = "\n".join(
        [
            f"/* A {known.kind} of softwood: {len(forest)} tree(s), {forest.n_nodes} nodes. */",
            f'#include "{name}.h"',
            "",
            "#include <math.h>",
            "#include <string.h>",
            "",
            *_tables(known, forest, name),
            *_functions(known, forest, name),
        ]
    )
    return CSource(_header(known, name), source, name)


def _header(known: FittedModel, name: str) -> str:
    upper = name.upper()
    has_classes = known.classes is not None
    lines = [
        f"/* A {known.kind} of softwood. Columns of a row:",
        *[
            _comment(f"   {j}: {column}{'' if categories is None else ', a category'}")
            for j, (column, categories) in enumerate(zip(known.columns.inputs, known.columns.categories, strict=True))
        ],
        "*/",
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"enum {{ {upper}_N_COLUMNS = {len(known.columns.inputs)}, {upper}_N_OUTPUTS = {known.n_outputs} }};",
        "",
        "/* Predictions for a row: class probabilities, or targets. NAN is a missing value. */",
        f"void {name}_predict(const double *row, double *out);",
        "",
        "/* Code of a category, for the cells of its column. */",
        f"double {name}_category(int column, const char *text);",
    ]
    if has_classes:
        lines += [
            "",
            "/* The most probable class, the first of several, and the names of the classes. */",
            f"int {name}_label(const double *row);",
            f"extern const char *const {name}_classes[{known.n_outputs}];",
        ]
    return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", "#endif", ""])


def _comment(text: str) -> str:
    """Text that neither ends a comment nor starts another one, nor joins lines."""
    return text.replace("\n", " ").replace("\\", "|").replace("?", "|").replace("*/", "* /").replace("/*", "/ *")


def _text(value: object) -> str:
    """A literal of C, byte by byte where it is not plain."""
    out = []
    for byte in str(value).encode():
        is_plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
        out.append(chr(byte) if is_plain else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def _numbers(values: Iterable[Any]) -> str:
    return ", ".join(repr(v) for v in values)


def _array(kind: str, name: str, values: np.ndarray) -> list[str]:
    """A table of constants, ten to a line."""
    flat = np.asarray(values).ravel().tolist() or [0]
    lines = [f"    {_numbers(flat[k : k + 10])}," for k in range(0, len(flat), 10)]
    return [f"static const {kind} {name}[] = {{", *lines, "};", ""]


def _tables(known: FittedModel, forest: SoftForest, name: str) -> list[str]:
    columns = known.columns
    listed = [label for known_labels in columns.categories for label in known_labels or ()]
    begins = np.cumsum([0, *[len(c or ()) for c in columns.categories]])
    features = np.array([(j, -1 if c is None else c) for j, c in known.features], dtype=np.int64).reshape(-1, 2)
    lines = [
        f"enum {{ N_COLUMNS = {len(columns.inputs)}, N_FEATURES = {forest.n_features}, N_TREES = {len(forest)},",
        f"       N_VALUES = {forest.value.shape[1]}, N_SCORES = {forest.n_outputs}, DEPTH = {forest.max_depth + 1} }};",
        "enum { LEAF = -1, KERNEL = 0, SIGMOID = 1, OBLIQUE = 2, BLEND = 3 };",
        "",
    ]
    if known.classes is not None:
        lines.append(
            f"const char *const {name}_classes[{known.n_outputs}] = {{{', '.join(map(_text, known.classes))}}};"
        )
    if listed:
        lines += [f"static const char *const categories[] = {{{', '.join(map(_text, listed))}}};"]
        lines += _array("int", "first_category", begins)
        lines += _array("int", "feature_category", features[:, 1])
    lines += _array("int", "feature_column", features[:, 0])
    if known.fill is not None:
        lines += _array("double", "fill", known.fill)
    lines += [
        "typedef struct {",
        "    double threshold, low, high, missing_left, width;",
        "    int feature, left, right, gate, kernel;",
        "} node;",
        "",
        "/* threshold; threshold - x from which on, and up to which, a row goes left or right as a whole; ... */",
        "static const node nodes[] = {",
        *map(_node_line, *_node_columns(forest)),
        "};",
        "",
    ]
    lines += _array("int", "roots", forest.offsets[:-1])
    lines += _array("int", "first_output", forest.output)
    lines += _leaf_tables(forest)
    lines += _array("double", "base", forest.base)
    lines += _kernel_tables(forest)
    return lines + _weight_tables(forest)


def _node_columns(forest: SoftForest) -> list[list]:
    """Columns of the struct; the left child of a leaf is the number of its value, and children count from tree 0."""
    reach = forest.width[:, None] * forest.shapes.edges[forest.kernel][:, [0, -1]]
    is_leaf = forest.children_left < 0
    begin = forest._begin
    left = np.where(is_leaf, np.cumsum(is_leaf) - 1, forest.children_left + begin)
    right = np.where(is_leaf, -1, forest.children_right + begin)
    threshold = np.where(np.isnan(forest.threshold), 0.0, forest.threshold)
    feature = np.where(is_leaf, 0, np.maximum(forest.feature, 0))
    columns = [threshold, reach[:, 0], reach[:, 1], forest.missing_left, forest.width]
    columns += [feature, left, right, forest.gate, forest.kernel]
    return [column.tolist() for column in columns]


def _node_line(*cells: Any) -> str:
    return f"    {{{_numbers(cells)}}},"


def _leaf_tables(forest: SoftForest) -> list[str]:
    return _array("double", "values", forest.value[forest.children_left < 0])


def _kernel_tables(forest: SoftForest) -> list[str]:
    shapes = forest.shapes
    if len(shapes) == 1 and shapes.edges.shape[1] == 2 and np.all(shapes.edges[0] == [-1.0, 1.0]):
        return []  # the box has a formula of its own
    n = shapes.edges.shape[1]
    lines = [f"enum {{ N_EDGES = {n} }};"]
    return lines + _array("double", "edges", shapes.edges) + _array("double", "cdfs", shapes.cdfs)


def _weight_tables(forest: SoftForest) -> list[str]:
    """Weighted sums: where the terms of a node begin, their features and weights."""
    if forest.weights is None or not np.any(forest.gate > Gate.KERNEL):
        return []
    rows, features = np.nonzero(np.where((forest.gate > Gate.KERNEL)[:, None], forest.weights, 0.0))
    begins = np.searchsorted(rows, np.arange(forest.n_nodes + 1))
    return [
        *_array("int", "term_begin", begins),
        *_array("int", "term_feature", features),
        *_array("double", "term_weight", forest.weights[rows, features]),
        *_array("double", "bias", forest.bias),
        *_array("double", "blend", forest.blend),
    ]


# The functions. Parts that a model does not need are left out.

ENCODE_NUMBERS = """static void encode(const double *row, double *point) {
    for (int k = 0; k < N_FEATURES; k++) point[k] = row[feature_column[k]];
}
"""

ENCODE = """static void encode(const double *row, double *point) {
    for (int k = 0; k < N_FEATURES; k++) {
        double x = row[feature_column[k]];
        point[k] = feature_category[k] < 0 || isnan(x) ? x : x == feature_category[k];
    }
}
"""

BOX_MASS = """/* Part of the kernel around x that lies at or below the threshold, between both of its ends. */
static double kernel_mass(const node *at, double x) {
    return 0.5 * ((at->threshold - x) / at->width + 1.0);
}
"""

KERNEL_MASS = """/* Part of the kernel around x that lies at or below the threshold, between both of its ends. */
static double kernel_mass(const node *at, double x) {
    const double *e = edges + at->kernel * N_EDGES, *c = cdfs + at->kernel * N_EDGES;
    double z = (at->threshold - x) / at->width;
    int k = 1;
    while (k < N_EDGES - 1 && z > e[k]) k++;
    return c[k - 1] + (c[k] - c[k - 1]) * (z - e[k - 1]) / (e[k] - e[k - 1]);
}
"""

SIGMOID = """static double sigmoid(double z) {
    if (z >= 0.0) return 1.0 / (1.0 + exp(-z));
    double e = exp(z);
    return e / (1.0 + e);
}
"""

SOFTMAX = """static void softmax(double *scores, int n) {
    double highest = scores[0], total = 0.0;
    for (int k = 1; k < n; k++)
        if (scores[k] > highest) highest = scores[k];
    for (int k = 0; k < n; k++) total += scores[k] = exp(scores[k] - highest);
    for (int k = 0; k < n; k++) scores[k] /= total;
}
"""

OBLIQUE_PART = """/* Part that goes left at a gate with a weighted sum. */
static double oblique_part(int number, const double *point) {{
    const node *at = nodes + number;
    double z = bias[number], x, test, r;
    for (int t = term_begin[number]; t < term_begin[number + 1]; t++) {{
        x = point[term_feature[t]];
        {fill}
        z += term_weight[t] * x;
    }}
    if (isnan(z)) return at->missing_left;
    if (at->gate == SIGMOID) return sigmoid(z);
    if (at->gate == OBLIQUE) return z > 0.0;
    x = point[at->feature];
    {missing}
    test = isnan(x) ? at->missing_left : x <= at->threshold;
    r = z / at->width;
    r = r < -0.5 ? -0.5 : r > 0.5 ? 0.5 : r;
    return blend[number] * (0.5 + 1.5 * r - 2.0 * r * r * r) + (1.0 - blend[number]) * test;
}}
"""

ADD_TREE = """/* A gate that has divided the kernel of a feature: ends of the part that is left, as probabilities. */
typedef struct {{ double lower, upper; int feature; }} cut;
/* A branch that is still to do, and the number of cuts above it. */
typedef struct {{ cut own; double share; int node, n_cuts; }} branch;

/* Add shares of leaves times their values. */
static void add_tree(int number, const double *point, double *out) {{
    cut cuts[DEPTH];
    branch todo[DEPTH];
    int n_cuts = 0, n_todo = 0;
    double share = 1.0;
    for (;;) {{
        const node *at = nodes + number;
        double part = at->missing_left, mass = NAN, lower = 0.0, upper = 1.0, x, distance, to_left;
        if (at->gate == LEAF) {{
            for (int k = 0; k < N_VALUES; k++) out[k] += share * values[at->left * N_VALUES + k];
            if (n_todo == 0) return;
            n_todo--;
            number = todo[n_todo].node;
            share = todo[n_todo].share;
            n_cuts = todo[n_todo].n_cuts;
            if (todo[n_todo].own.feature >= 0) cuts[n_cuts++] = todo[n_todo].own;
            continue;
        }}{oblique}
        x = point[at->feature];
        distance = at->threshold - x;
        if (distance >= at->high) {{
            number = at->left;
            continue;
        }}
        if (distance <= at->low) {{
            number = at->right;
            continue;
        }}
        if (!isnan(x)) {{
            mass = kernel_mass(at, x);
            for (int k = n_cuts - 1; k >= 0; k--) {{
                if (cuts[k].feature == at->feature) {{
                    lower = cuts[k].lower;
                    upper = cuts[k].upper;
                    break;
                }}
            }}
            part = mass >= upper ? 1.0 : mass <= lower ? 0.0 : (mass - lower) / (upper - lower);
        }}{label}
        if (part >= 1.0 || part <= 0.0) {{
            number = part >= 1.0 ? at->left : at->right;
            continue;
        }}
        to_left = share * part;
        {{
            branch right = {{{{mass, upper, isnan(mass) ? -1 : at->feature}}, share - to_left, at->right, n_cuts}};
            todo[n_todo++] = right;
        }}
        share = to_left;
        if (!isnan(mass)) {{
            cut new_cut = {{lower, mass, at->feature}};
            cuts[n_cuts++] = new_cut;
        }}
        number = at->left;
    }}
}}
"""

OBLIQUE_BRANCH = """
        if (at->gate != KERNEL) {
            part = oblique_part(number, point);
            goto divide;
        }"""

PREDICT = """void {name}_predict(const double *row, double *out) {{
    double point[N_FEATURES > 0 ? N_FEATURES : 1], scores[N_SCORES] = {{0.0}};
    encode(row, point);
    for (int t = 0; t < N_TREES; t++) {{
{tree}
    }}
    for (int k = 0; k < N_SCORES; k++) scores[k] = scores[k] * {factor} + base[k];
{link}
}}
"""

TREE_LINKED = """        double own[N_VALUES] = {0.0};
        add_tree(roots[t], point, own);
        softmax(own, N_VALUES);
        for (int k = 0; k < N_VALUES; k++) scores[first_output[t] + k] += own[k];"""

FINAL = {
    "identity": "    for (int k = 0; k < N_SCORES; k++) out[k] = scores[k];",
    "exp": "    for (int k = 0; k < N_SCORES; k++) out[k] = exp(scores[k] < 709.0 ? scores[k] : 709.0);",
    "softmax": "    softmax(scores, N_SCORES);\n    for (int k = 0; k < N_SCORES; k++) out[k] = scores[k];",
    "logistic": "    out[0] = sigmoid(-scores[0]);\n    out[1] = sigmoid(scores[0]);",
}

CATEGORY = """double {name}_category(int column, const char *text) {{
    for (int k = first_category[column]; k < first_category[column + 1]; k++)
        if (strcmp(categories[k], text) == 0) return k - first_category[column];
    return {unknown};
}}
"""

NO_CATEGORY = """double {name}_category(int column, const char *text) {{
    (void)column;
    (void)text;
    return NAN; /* all columns hold numbers */
}}
"""

LABEL = """int {name}_label(const double *row) {{
    double out[{n}];
    int best = 0;
    {name}_predict(row, out);
    for (int k = 1; k < {n}; k++)
        if (out[k] > out[best]) best = k;
    return best;
}}
"""


def _functions(known: FittedModel, forest: SoftForest, name: str) -> list[str]:
    has_categories = any(category is not None for _, category in known.features)
    kinds = set(forest.gate.tolist())
    is_oblique = bool(kinds - {int(Gate.LEAF), int(Gate.KERNEL)})
    parts = [ENCODE if has_categories else ENCODE_NUMBERS, KERNEL_MASS if _kernel_tables(forest) else BOX_MASS]
    if is_oblique or known.link == "logistic":
        parts.append(SIGMOID)
    if "softmax" in (forest.link, known.link):
        parts.append(SOFTMAX)
    if is_oblique:
        fill = "if (isnan(x)) x = fill[term_feature[t]];" if known.fill is not None else ""
        missing = "" if known.fill is not None else "if (isnan(x)) return at->missing_left;"
        parts.append(OBLIQUE_PART.format(fill=fill, missing=missing))
    parts.append(
        ADD_TREE.format(oblique=OBLIQUE_BRANCH if is_oblique else "", label="\n    divide:" if is_oblique else "")
    )
    plain = "        add_tree(roots[t], point, scores + first_output[t]);"
    tree = TREE_LINKED if forest.link == "softmax" else plain
    parts.append(PREDICT.format(name=name, tree=tree, factor=repr(forest.factor), link=FINAL[known.link]))
    if has_categories:
        parts.append(CATEGORY.format(name=name, unknown="-1.0" if known.grows else "NAN"))
    else:
        parts.append(NO_CATEGORY.format(name=name))
    if known.classes is not None:
        parts.append(LABEL.format(name=name, n=known.n_outputs))
    return parts
