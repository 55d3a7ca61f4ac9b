"""Four numbers added to four others at once.

numba does not turn neighbouring additions of numbers into one of vectors, so this one is written as such.
"""

from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic


def _add_four(table: Any, at: int, block: Any, first: int) -> None:
    """Add four neighbours of `block` to four of `table`; both are in C order, places count from their first entry."""
    table.reshape(-1)[at : at + 4] += block.reshape(-1)[first : first + 4]


@intrinsic
def _add_vectors(typing_context: Any, table: Any, at: Any, block: Any, first: Any) -> Any:
    """As `_add_four`, in machine code: one vector is loaded, added and stored."""
    four = ir.VectorType(ir.DoubleType(), 4)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = []
        for kind, array, place in ((table, *arguments[:2]), (block, *arguments[2:])):
            data = context.make_array(kind)(context, builder, array).data
            pointers.append(builder.bitcast(builder.gep(data, [place]), four.as_pointer()))
        vectors = [builder.load(pointer, align=8) for pointer in pointers]
        builder.store(builder.fadd(*vectors), pointers[0], align=8)
        return context.get_dummy_value()

    return types.void(table, types.int64, block, types.int64), generate


# Without compiling, an intrinsic cannot be called.
add_four: Any = _add_four if numba.config.DISABLE_JIT else _add_vectors  # type: ignore[attr-defined]
