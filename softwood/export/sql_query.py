"""SQL: one query over a table. Small soft trees level by level, crisp ones as one CASE expression per output.

The query uses standard SQL that SQLite (3.35 or later), DuckDB and PostgreSQL (12 or later) understand: WITH ... AS
MATERIALIZED, CASE, and `exp` for sigmoid gates and links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from softwood.core.losses import LARGEST_PREDICTED_LOG
from softwood.core.parameters import check_flag, parameter_error
from softwood.export.sql_gates import ONE, ZERO, Gates, number, total_of
from softwood.fitted import FittedModel
from softwood.trees.gates import Gate

# Databases limit columns (SQLite: 2 000) and slow down with the number of steps.
MAX_SOFT_NODES, MAX_CRISP_NODES, MAX_DEPTH = 3_000, 50_000, 400
# Trees are taken together up to this number of gates in one level, so that no step has too many columns.
CHUNK_GATES = 200
# Deeper CASE expressions are cut into steps: the parser of SQLite has a stack of 100 entries.
NESTED = 8


def to_sql(model: Any, *, table: str = "data", keep: Sequence[str] = (), has_missing: bool = True) -> str:
    """A query that predicts the rows of a table as the model does.

    The table has a column for each column that the model was fitted to, by name. NULL is a missing value; a NaN is not.
    The query returns a column for each prediction: ``prediction``, or for classes ``p_`` and the class, and ``label``.

    Parameters
    ----------
    model : fitted estimator, SoftTree, SoftForest or FittedModel
        The model to export, of up to 3 000 nodes, or 50 000 if all tests are crisp.
    table : str, default="data"
        Name of the table.
    keep : sequence of str, default=()
        Columns of the table to return beside the predictions, such as a key: rows have no order in SQL.
    has_missing : bool, default=True
        Whether the table may have NULLs. If False, crisp trees become one CASE expression per output, which otherwise
        happens only if missing values go to one side as a whole.

    Returns
    -------
    str
        The query.

    Examples
    --------
    >>> from softwood import KernelTreeRegressor
    >>> from softwood.export import to_sql
    >>> model = KernelTreeRegressor(bandwidth=0.0, max_depth=1).fit([[0.0], [1.0]], [3.0, 4.0])
    >>> print(to_sql(model, table="points", keep=["id"], has_missing=False))
    WITH features AS MATERIALIZED (
      SELECT "id" AS k0, CAST("x[0]" AS DOUBLE PRECISION) AS f0
      FROM "points"
    ), scores AS MATERIALIZED (
      SELECT k0, CASE WHEN f0 <= 0.5e0 THEN 3.0e0 ELSE 4.0e0 END AS y0
      FROM features
    )
    SELECT k0 AS "id", y0 AS "prediction"
    FROM scores
    """
    if not isinstance(table, str) or not table:
        raise parameter_error("to_sql", "table", "the name of a table", table)
    if isinstance(keep, str) or not all(isinstance(name, str) for name in keep):
        raise parameter_error("to_sql", "keep", "a list of names of columns", keep)
    check_flag("to_sql", "has_missing", has_missing)
    known = FittedModel.of(model, "to_sql").portable().one_hot()
    query = _Query(known, table, list(keep), has_missing)
    if query.takes_one_path:
        query.add_crisp()
    else:
        query.add_soft()
    return query.finished()


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    """A label or category."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    return number(value) if isinstance(value, float) else "'" + str(value).replace("'", "''") + "'"


class _Query:
    """Steps of a query: each is a SELECT from the step before."""

    def __init__(self, known: FittedModel, table: str, keep: list[str], has_missing: bool) -> None:
        self.known, self.keep, self.has_missing = known, keep, has_missing
        self.forest = known.forest
        self.steps: list[str] = []
        self.kept = [f"k{k}" for k in range(len(keep))]
        self.features = [f"f{j}" for j in range(self.forest.n_features)]
        self.last = _name(table)
        columns = [f"{_name(name)} AS k{k}" for k, name in enumerate(keep)]
        self.step("features", [*columns, *self._encoded()])

    def step(self, name: str, columns: list[str]) -> None:
        """Add a step that selects some columns from the step before."""
        self.steps.append(f"{name} AS MATERIALIZED (\n  SELECT {', '.join(columns)}\n  FROM {self.last}\n)")
        self.last = name

    def _encoded(self) -> list[str]:
        columns = self.known.columns
        out = []
        for at, (j, category) in enumerate(self.known.features):
            cell, categories = _name(columns.inputs[j]), columns.categories[j]
            if categories is None or category is None:
                out.append(f"CAST({cell} AS DOUBLE PRECISION) AS f{at}")
                continue
            own, others = categories[category], [c for k, c in enumerate(categories) if k != category]
            rest = f"WHEN {cell} IS NULL THEN NULL ELSE {ZERO}"
            if not self.known.grows:  # an unknown category is a missing value
                listed = f"WHEN {cell} IN ({', '.join(map(_literal, others))}) THEN {ZERO} " if others else ""
                rest = f"{listed}ELSE NULL"
            out.append(f"CASE WHEN {cell} = {_literal(own)} THEN {ONE} {rest} END AS f{at}")
        return out

    # Crisp trees

    @property
    def takes_one_path(self) -> bool:
        """Whether every row reaches one leaf of each tree."""
        forest = self.forest
        inner = forest.children_left >= 0
        is_axis = bool(np.all(forest.gate[inner] == Gate.KERNEL))
        one_way = not self.has_missing or bool(np.all(np.isin(forest.missing_left[inner], (0.0, 1.0))))
        return forest.is_crisp and is_axis and one_way

    def add_crisp(self) -> None:
        """Scores as sums of CASE expressions, which begin again every few levels of deep trees."""
        forest = self.forest
        if forest.n_nodes > MAX_CRISP_NODES or forest.max_depth > MAX_DEPTH:
            raise ValueError(
                f"to_sql takes crisp models of up to {MAX_CRISP_NODES:,} nodes and a depth of {MAX_DEPTH}. "
                f"Got {forest.n_nodes:,} nodes and a depth of {forest.max_depth}."
            )
        trees, per_tree = range(len(forest)), forest.link != "identity"
        for depth in range(NESTED, forest.max_depth, NESTED):
            # The node that a row has reached at this depth, or the leaf above it.
            columns = [f"{self._from(tree, depth - NESTED, str, until=depth)} AS n{tree}" for tree in trees]
            self.step(f"nodes_{depth}", [*self.kept, *self.features, *columns])
        last = (max(forest.max_depth, 1) - 1) // NESTED * NESTED
        terms: dict[str, list[str]] = {}
        for tree, first in zip(trees, forest.output.tolist(), strict=True):
            for output in range(forest.value.shape[1]):
                total = f"t{tree}_{output}" if per_tree else f"y{first + output}"
                terms.setdefault(total, []).append(self._from(tree, last, partial(self._value, output)))
        self.totals = list(terms)
        self.step("scores", [*self.kept, *[f"{total_of(found)} AS {name}" for name, found in terms.items()]])

    def _value(self, output: int, leaf: int) -> str:
        return number(self.forest.value[leaf, output])

    def _from(self, tree: int, depth: int, text: Callable[[int], str], until: int | None = None) -> str:
        """What `text` says of the leaf that a row reaches, from the node that it has reached at a depth.

        Parameters
        ----------
        text : of a leaf, or of a node at the depth `until`
        """
        forest, begin = self.forest, int(self.forest.offsets[tree])
        if depth == 0:
            return self._case(begin, begin, text, until)
        own = np.arange(begin, int(forest.offsets[tree + 1]))
        is_leaf = forest.children_left[own] < 0
        starts = own[(forest.depth[own] == depth) | (is_leaf & (forest.depth[own] < depth))]
        if len(starts) == 1:
            return self._case(int(starts[0]), begin, text, until)
        cases = [f"WHEN {start} THEN {self._case(start, begin, text, until)}" for start in starts.tolist()]
        return f"CASE n{tree} {' '.join(cases)} END"

    def _case(self, root: int, begin: int, text: Callable[[int], str], until: int | None) -> str:
        """A CASE expression of the nodes below one; at most `NESTED` levels of them."""
        forest = self.forest
        if forest.children_left[root] < 0 or forest.depth[root] == until:
            return text(root)
        left, right = (
            self._case(begin + int(side[root]), begin, text, until)
            for side in (forest.children_left, forest.children_right)
        )
        test = f"f{forest.feature[root]} <= {number(forest.threshold[root])}"
        if self.has_missing and forest.missing_left[root] == 1.0:
            test += f" OR f{forest.feature[root]} IS NULL"
        return f"CASE WHEN {test} THEN {left} ELSE {right} END"

    # Soft trees

    def add_soft(self) -> None:
        """Scores as sums over levels, some trees at a time."""
        forest = self.forest
        if forest.n_nodes > MAX_SOFT_NODES or forest.max_depth > MAX_DEPTH:
            raise ValueError(
                f"to_sql takes soft models of up to {MAX_SOFT_NODES:,} nodes and a depth of {MAX_DEPTH}. Got "
                f"{forest.n_nodes:,} nodes and a depth of {forest.max_depth}; use fewer trees, or export with to_c."
            )
        per_tree = forest.link != "identity"
        q = forest.value.shape[1]
        if per_tree:
            self.totals = [f"t{tree}_{output}" for tree in range(len(forest)) for output in range(q)]
        else:
            self.totals = [f"y{output}" for output in range(forest.n_outputs)]
        self.step("start", [*self.kept, *self.features, *[f"{ZERO} AS {name}" for name in self.totals]])
        gates = np.zeros((len(forest), forest.max_depth + 1), dtype=np.int64)
        inner = forest.children_left >= 0
        np.add.at(gates, (np.repeat(np.arange(len(forest)), forest.sizes)[inner], forest.depth[inner]), 1)
        begin = 0
        while begin < len(forest):
            end = begin + 1
            while end < len(forest) and gates[begin : end + 1].sum(axis=0).max() <= CHUNK_GATES:
                end += 1
            self._add_trees(range(begin, end))
            begin = end

    def _add_trees(self, trees: range) -> None:
        """The levels of some trees: masses and sums of the gates, what goes left, shares of the children."""
        forest, q = self.forest, self.forest.value.shape[1]
        tree_of = np.repeat(np.arange(len(forest)), forest.sizes)
        gates = Gates(self.known)
        level = forest.offsets[trees.start : trees.stop].tolist()
        shares = {node: ONE for node in level}
        depth = 0
        while level:
            added: dict[str, list[str]] = {}
            for node in level:
                if forest.children_left[node] < 0:
                    tree = int(tree_of[node])
                    for output in range(q):
                        is_own = forest.link != "identity"
                        name = f"t{tree}_{output}" if is_own else f"y{int(forest.output[tree]) + output}"
                        added.setdefault(name, []).append(f"{shares[node]} * {number(forest.value[node, output])}")
            totals = [f"{total_of([name, *added[name]])} AS {name}" if name in added else name for name in self.totals]
            inner = [node for node in level if forest.children_left[node] >= 0]
            label = f"{trees.start}_{depth}"
            own = [shares[node] for node in inner if shares[node] != ONE]
            always = [*self.kept, *self.features]
            self.step(f"gates_{label}", [*always, *totals, *gates.carried(depth), *own, *gates.columns(inner)])
            if not inner:
                return
            carried = [*self.totals, *gates.carried(depth + 1)]
            lefts = [f"{shares[node]} * {gates.part(node)} AS l{node}" for node in inner]
            self.step(f"left_{label}", [*always, *carried, *own, *lefts])
            children: list[str] = []
            following: list[int] = []
            for node in inner:
                left, right = (
                    int(side[node]) + int(forest._begin[node]) for side in (forest.children_left, forest.children_right)
                )
                children += [f"l{node} AS s{left}", f"{shares[node]} - l{node} AS s{right}"]
                following += [left, right]
            self.step(f"shares_{label}", [*always, *carried, *children])
            level, depth = following, depth + 1
            shares = {node: f"s{node}" for node in level}

    # The end

    def finished(self) -> str:
        """The text of the query."""
        forest, known = self.forest, self.known
        if forest.link == "softmax":
            self._add_tree_links()
        names = [f"y{output}" for output in range(forest.n_outputs)]
        if forest.factor != 1.0 or forest.base.any():
            scaled = [f"{name} * {number(forest.factor)} + {number(forest.base[k])}" for k, name in enumerate(names)]
            self.step("means", [*self.kept, *[f"{text} AS {name}" for text, name in zip(scaled, names, strict=True)]])
        predictions = self._linked(names)
        columns = [f"{kept} AS {_name(name)}" for kept, name in zip(self.kept, self.keep, strict=True)]
        if known.classes is None:
            columns += [
                f"{text} AS {_name(name)}" for text, name in zip(predictions, known.outputs.columns, strict=True)
            ]
        else:
            self.step("probabilities", [*self.kept, *[f"{text} AS p{k}" for k, text in enumerate(predictions)]])
            columns += [f"p{k} AS {_name(f'p_{label}')}" for k, label in enumerate(known.outputs.columns)]
            columns.append(f"{self._label(len(predictions))} AS {_name('label')}")
        steps = ", ".join(self.steps)
        return f"WITH {steps}\nSELECT {', '.join(columns)}\nFROM {self.last}"

    def _add_tree_links(self) -> None:
        """The softmax of each tree, and the sums of these."""
        forest, q = self.forest, self.forest.value.shape[1]
        trees = range(len(forest))
        tops = [f"{_largest([f't{t}_{k}' for k in range(q)])} AS h{t}" for t in trees]
        self.step("tops", [*self.kept, *self.totals, *tops])
        self.step("powers", [*self.kept, *[f"exp(t{t}_{k} - h{t}) AS e{t}_{k}" for t in trees for k in range(q)]])
        sums = {t: total_of([f"e{t}_{k}" for k in range(q)]) for t in trees}
        columns = [f"{total_of([f'e{t}_{k} / {sums[t]}' for t in trees])} AS y{k}" for k in range(q)]
        self.step("linked", [*self.kept, *columns])

    def _linked(self, names: list[str]) -> list[str]:
        """Expressions of the predictions, after the final link."""
        link = self.known.link
        if link == "logistic":
            score = names[0]
            grows, falls = f"exp(-{score})", f"exp({score})"
            first = f"CASE WHEN {score} >= {ZERO} THEN {grows} / ({ONE} + {grows}) ELSE {ONE} / ({ONE} + {falls}) END"
            second = f"CASE WHEN {score} >= {ZERO} THEN {ONE} / ({ONE} + {grows}) ELSE {falls} / ({ONE} + {falls}) END"
            return [first, second]
        if link == "softmax":
            self.step("top", [*self.kept, *names, f"{_largest(names)} AS h"])
            self.step("power", [*self.kept, *[f"exp({name} - h) AS {name}" for name in names]])
            return [f"{name} / {total_of(names)}" for name in names]
        if link == "exp":
            most = number(LARGEST_PREDICTED_LOG)
            return [f"exp(CASE WHEN {name} < {most} THEN {name} ELSE {most} END)" for name in names]
        return names

    def _label(self, n: int) -> str:
        """The first of the most probable classes."""
        classes = self.known.classes
        assert classes is not None
        is_mixed = len({type(label) for label in classes}) > 1
        shown = [_literal(str(label) if is_mixed else label) for label in classes]
        cases = []
        for k in range(n - 1):
            beaten = " AND ".join(f"p{k} >= p{other}" for other in range(n) if other != k)
            cases.append(f"WHEN {beaten} THEN {shown[k]}")
        return f"CASE {' '.join(cases)} ELSE {shown[-1]} END" if cases else shown[0]


def _largest(names: list[str]) -> str:
    """The largest of some columns."""
    if len(names) == 1:
        return names[0]
    half = len(names) // 2
    one, other = _largest(names[:half]), _largest(names[half:])
    return f"(CASE WHEN {one} >= {other} THEN {one} ELSE {other} END)"
