"""Four numbers added to four others at once, and rows added to histograms of four columns.

numba does not turn neighbouring additions of numbers into one of vectors, so this one is written as such.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

from softwood.loops._compile import compiled

# Features whose tables of 256 lines and four columns stay in the second-level cache.
GROUP = 32


def _add_four(table: Any, at: int, block: Any, first: int) -> None:
    """Add four neighbours of `block` to four of `table`; both are in C order, places count from their first entry."""
    table.reshape(-1)[at : at + 4] += block.reshape(-1)[first : first + 4]


@intrinsic
def _add_vectors(typing_context: Any, table: Any, at: Any, block: Any, first: Any) -> Any:
    """As `_add_four`, in machine code: one vector of floats or whole numbers is loaded, added and stored."""
    is_float = isinstance(table.dtype, types.Float)
    four = ir.VectorType(ir.DoubleType() if is_float else ir.IntType(64), 4)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = []
        for kind, array, place in ((table, *arguments[:2]), (block, *arguments[2:])):
            data = context.make_array(kind)(context, builder, array).data
            pointers.append(builder.bitcast(builder.gep(data, [place]), four.as_pointer()))
        vectors = [builder.load(pointer, align=8) for pointer in pointers]
        total = builder.fadd(*vectors) if is_float else builder.add(*vectors)
        builder.store(total, pointers[0], align=8)
        return context.get_dummy_value()

    return types.void(table, types.int64, block, types.int64), generate


# Without compiling, an intrinsic cannot be called.
add_four: Any = _add_four if numba.config.DISABLE_JIT else _add_vectors  # type: ignore[attr-defined]


@compiled
def add_rows(codes, rows, first, last, j0, j1, tables, block):
    """Add the rows from `first` to `last` of a list to the tables of the features from `j0` to `j1`, row by row.

    Parameters
    ----------
    codes : (n, p) bins of the rows;  tables : (p, n_lines, 4)
    block : (> last - first, 4) numbers of the rows, one after the other; the last line is overwritten
    """
    # All codes are read first, so that the processor fetches them from memory at the same time. What is not used would
    # not be read.
    touched = np.int64(0)
    for k in range(first, last):
        touched += codes[rows[k], j0]
    block[block.shape[0] - 1, 0] = touched
    line = 4 * tables.shape[1]
    for group in range(j0, j1, GROUP):
        end = min(group + GROUP, j1)
        for k in range(first, last):
            i = rows[k]
            at = 4 * (k - first)
            for j in range(group, end):
                add_four(tables, j * line + 4 * np.int64(codes[i, j]), block, at)


@compiled
def are_neighbours(features, f0, f1):
    """Whether the features from `f0` to `f1` of a list follow one another."""
    for f in range(f0, f1):
        if features[f] != features[f0] + f - f0:
            return False
    return f1 > f0
