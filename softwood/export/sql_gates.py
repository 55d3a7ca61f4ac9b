"""Gates as expressions of SQL."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.fitted import FittedModel
from softwood.trees.gates import Gate


def number(value: Any) -> str:
    """A literal of double precision with all digits: one with an exponent, for others may be decimals."""
    text = repr(float(value))
    return text if "e" in text else text + "e0"


ZERO, ONE = number(0.0), number(1.0)


def total_of(terms: list[str]) -> str:
    """A sum, in pairs of pairs, because databases limit how deep expressions are nested."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({total_of(terms[:half])} + {total_of(terms[half:])})"


class Gates:
    """Columns and expressions of the gates of a model.

    A soft kernel gate has the columns ``m``, the mass of the kernel at or below its threshold, and ``u`` and ``v``, the
    ends of the part that the gates above have left of the kernel. A gate with a weighted sum has the column ``z``.
    """

    def __init__(self, known: FittedModel) -> None:
        self.known, self.forest = known, known.forest
        forest = self.forest
        self.is_soft = (forest.gate == Gate.KERNEL) & (forest.width > 0)
        self.above = [self._nearest(node) for node in range(forest.n_nodes)]
        # Until which depth the columns of a gate are needed by gates below it.
        self.until = np.full(forest.n_nodes, -1)
        for node, found in enumerate(self.above):
            if found is not None:
                above, _ = found
                self.until[above] = max(self.until[above], forest.depth[node])

    def _nearest(self, node: int) -> tuple[int, bool] | None:
        """The nearest soft gate above a soft gate with the same feature, and whether the path goes left there."""
        forest, begin = self.forest, int(self.forest._begin[node])
        if not self.is_soft[node]:
            return None
        child, at = node - begin, int(forest.parent[node])
        while at >= 0:
            above = begin + at
            if self.is_soft[above] and forest.feature[above] == forest.feature[node]:
                return above, bool(forest.children_left[above] == child)
            child, at = at, int(forest.parent[above])
        return None

    def columns(self, nodes: list[int]) -> list[str]:
        """New columns of the gates of a level; remembers them for `carried`."""
        out = []
        for node in nodes:
            if self.is_soft[node]:
                out.append(f"{self._mass(node)} AS m{node}")
                out += [f"{text} AS {side}{node}" for side, text in self._bounds(node).items()]
            elif self.forest.gate[node] != Gate.KERNEL:
                out.append(f"{self._sum(node)} AS z{node}")
        self._kept = [*getattr(self, "_kept", []), *nodes]
        return out

    def carried(self, depth: int) -> list[str]:
        """Columns of gates above a depth that gates at this depth or below it need."""
        kept = [node for node in getattr(self, "_kept", []) if self.until[node] >= depth]
        return [name for node in kept for name in (f"m{node}", *[f"{side}{node}" for side in self._bounds(node)])]

    def _bounds(self, node: int) -> dict[str, str]:
        """Upper and lower end of the rest of the kernel, as expressions of columns; without those that are 1 or 0."""
        found = self.above[node]
        if found is None:
            return {}
        above, is_left = found
        before = self._bounds(above)
        side, sign = ("u", "<") if is_left else ("v", ">")
        out = {other: f"{other}{above}" for other in before if other != side}
        if side in before:
            out[side] = f"CASE WHEN m{above} {sign} {side}{above} THEN m{above} ELSE {side}{above} END"
        else:
            out[side] = f"m{above}"
        return out

    def part(self, node: int) -> str:
        """The part that goes left, as an expression."""
        forest = self.forest
        kind, missing = forest.gate[node], number(forest.missing_left[node])
        x, threshold = f"f{forest.feature[node]}", number(forest.threshold[node]) if kind != Gate.SIGMOID else ""
        if kind == Gate.KERNEL and not self.is_soft[node]:
            return f"(CASE WHEN {x} IS NULL THEN {missing} WHEN {x} <= {threshold} THEN {ONE} ELSE {ZERO} END)"
        if kind == Gate.KERNEL:
            return self._kernel_part(node, x, missing)
        z = f"z{node}"
        if kind == Gate.SIGMOID:
            grows, falls = f"exp(-{z})", f"exp({z})"
            share = f"WHEN {z} >= {ZERO} THEN {ONE} / ({ONE} + {grows}) ELSE {falls} / ({ONE} + {falls})"
            return f"(CASE WHEN {z} IS NULL THEN {missing} {share} END)"
        if kind == Gate.OBLIQUE:
            return f"(CASE WHEN {z} IS NULL THEN {missing} WHEN {z} > {ZERO} THEN {ONE} ELSE {ZERO} END)"
        return self._blended_part(node, x, z, threshold, missing)

    def _kernel_part(self, node: int, x: str, missing: str) -> str:
        bounds = self._bounds(node)
        upper = f"u{node}" if "u" in bounds else ONE
        lower = f"v{node}" if "v" in bounds else ZERO
        mass = f"m{node}"
        if not bounds:
            return f"(CASE WHEN {x} IS NULL THEN {missing} ELSE {mass} END)"
        rest = f"({mass} - {lower}) / ({upper} - {lower})"
        ends = f"WHEN {mass} >= {upper} THEN {ONE} WHEN {mass} <= {lower} THEN {ZERO}"
        return f"(CASE WHEN {x} IS NULL THEN {missing} {ends} ELSE {rest} END)"

    def _blended_part(self, node: int, x: str, z: str, threshold: str, missing: str) -> str:
        width, blend = float(self.forest.width[node]), float(self.forest.blend[node])
        half, r = number(0.5 * width), f"({z} / {number(width)})"
        inside = f"{number(0.5)} + {r} * ({number(1.5)} - {number(2.0)} * {r} * {r})"
        step = f"(CASE WHEN {z} <= -{half} THEN {ZERO} WHEN {z} >= {half} THEN {ONE} ELSE {inside} END)"
        test = f"(CASE WHEN {x} IS NULL THEN {missing} WHEN {x} <= {threshold} THEN {ONE} ELSE {ZERO} END)"
        mixed = f"{number(blend)} * {step} + {number(1.0 - blend)} * {test}"
        if self.known.fill is not None:
            return f"({mixed})"
        return f"(CASE WHEN {x} IS NULL OR {z} IS NULL THEN {missing} ELSE {mixed} END)"

    def _sum(self, node: int) -> str:
        """A weighted sum; NULL if a value is missing that is not filled."""
        forest, fill = self.forest, self.known.fill
        assert forest.weights is not None
        terms = [number(forest.bias[node])]
        for j in np.flatnonzero(forest.weights[node]).tolist():
            x = f"f{j}" if fill is None else f"COALESCE(f{j}, {number(fill[j])})"
            terms.append(f"{number(forest.weights[node, j])} * {x}")
        return total_of(terms)

    def _mass(self, node: int) -> str:
        """Part of the kernel around the value that lies at or below the threshold."""
        forest = self.forest
        width, kernel = float(forest.width[node]), forest.kernel[node]
        edges, cdf = forest.shapes.edges[kernel], forest.shapes.cdfs[kernel]
        distance = f"({number(forest.threshold[node])} - f{forest.feature[node]})"
        cases = [
            f"WHEN {distance} >= {number(width * edges[-1])} THEN {ONE}",
            f"WHEN {distance} <= {number(width * edges[0])} THEN {ZERO}",
        ]
        pieces = [k for k in range(1, len(edges)) if edges[k] > edges[k - 1]]
        for k in pieces:
            slope = float((cdf[k] - cdf[k - 1]) / (edges[k] - edges[k - 1]))
            value = f"{number(cdf[k - 1])} + {number(slope)} * ({distance} / {number(width)} - {number(edges[k - 1])})"
            is_last = k == pieces[-1]
            cases.append(f"ELSE {value}" if is_last else f"WHEN {distance} <= {number(width * edges[k])} THEN {value}")
        return f"CASE {' '.join(cases)} END"
