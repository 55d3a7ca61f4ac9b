"""The memory of growing: arrays that are reused from tree to tree, and scratch space of the compiled loops."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from softwood.core.threads import new_stop
from softwood.kernel.growing.loops.groups import Kernels, SubsetSpace
from softwood.kernel.growing.loops.scan import SQUARED
from softwood.kernel.growing.loops.tree_groups import Knots, NodeScratch, RandomSearch, Search
from softwood.kernel.growing.problem import GrowthProblem

# Scratch space for one node, and for the search of its split: over all thresholds, or of extra trees.
Scratch = tuple[NodeScratch, Search | None, RandomSearch | None]

# The tables of all features are filled together up to this size in bytes, and one after the other above.
_TABLES_AT_ONCE = 1 << 25
# Arrays in a block of memory begin at multiples of this number of bytes.
_ALIGNMENT = 64


class Workspace:
    """Arrays that are reused from tree to tree, because allocating new memory is slow.

    Parameters
    ----------
    stop : flag that asks the loops to stop; several workspaces may share one flag
    block : size in bytes of the blocks of memory that hold finished trees; None: each array has its own memory
    """

    def __init__(self, stop: np.ndarray | None = None, block: int | None = None) -> None:
        self.stop = new_stop() if stop is None else stop
        self._block_size = block
        self._block = np.empty(0, np.uint8)  # what is left of the current block
        self._arrays: dict[str, np.ndarray] = {}

    def copy(self, array: np.ndarray) -> np.ndarray:
        """A copy of an array of a finished tree.

        In a block, several trees share large pages, which are faster to get than small ones. And the system gets a
        block back as soon as the last of its arrays is dropped, while the allocator might keep their memory.
        """
        if self._block_size is None:
            return array.copy()
        length = -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        if length > len(self._block):
            self._block = _new_block(max(length, self._block_size))
        place, self._block = self._block[: array.nbytes], self._block[length:]
        copied = place.view(array.dtype).reshape(array.shape)
        copied[...] = array
        return copied

    def array(self, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        """The array of this name with at least ``shape[0]`` lines: a new array of zeros, or the old one as it is."""
        array = self._arrays.get(name)
        if array is None or len(array) < shape[0] or array.shape[1:] != shape[1:] or array.dtype != dtype:
            array = self._arrays[name] = np.zeros(shape, dtype=dtype)
        return array

    def keep(self, **arrays: np.ndarray) -> None:
        """Store arrays that were replaced by longer ones."""
        self._arrays.update(arrays)


def _new_block(size: int) -> np.ndarray:
    """Memory of `size` bytes, where possible directly from the system and in large pages."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):  # not Linux
        return np.empty(size, np.uint8)
    block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without large pages
        block.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(block, dtype=np.uint8)


def at_least(array: np.ndarray, length: int) -> np.ndarray:
    """The array, or a copy with space for twice `length` entries if it is shorter than `length`."""
    if len(array) >= length:
        return array
    longer = np.empty((2 * int(length), *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def scratch_for(problem: GrowthProblem, m: int, space: Workspace, *, random_thresholds: bool = False) -> Scratch:
    """Scratch space for nodes of up to `m` rows."""
    make, bins = space.array, problem.bins
    p, q, most, n_words = len(problem.widths), problem.stored_outputs, bins.most, bins.n_words
    has_labels = problem.target_arrays[0] is not None
    node = NodeScratch(
        points=make("points", (m, 1 if has_labels else 1 + q)),
        labels=make("labels", (m if has_labels else 0,), np.int32),
        left_rows=make("left_rows", (m,), np.uint32),
        left_shares=make("left_shares", (m,)),
        order=make("order", (p,), np.int64),
        numbers=make("numbers", (q,), np.int32),
        totals=make("totals", (q,)),
    )
    if not random_thresholds:
        return node, search_for(problem, m, make, space.stop), None
    random = RandomSearch(
        codes=make("codes", (m,), bins.codes.dtype),
        bin_shares=make("bin_shares", (most + 1,)),
        shares=make("point_shares", (m,)),
        work=make("random_work", (2, q)),
        ranks=make("ranks", (most if n_words else 0,), np.int64),
        subset=make("found_set", (1, n_words), np.uint32),
    )
    return node, None, random


def search_for(
    problem: GrowthProblem, m: int, make: Callable[..., np.ndarray], stop: np.ndarray, *, has_rows: bool = True
) -> Search:
    """Scratch space of the search over all thresholds, for nodes of up to `m` rows.

    Parameters
    ----------
    make : as `Workspace.array`
    has_rows : whether the search adds up rows; otherwise, the table of one feature at a time is given
    """
    p, q, most, n_words = len(problem.widths), problem.stored_outputs, problem.bins.most, problem.bins.n_words
    is_single = q == 1 and problem.criterion_number == SQUARED
    q = q if is_single else -(-q // 4) * 4  # the scan takes four outputs at a time
    at_once = has_rows and p * (most + 1) * (1 + q) * 8 <= _TABLES_AT_ONCE
    n_marks, n_ranks = (most >> 6) + 1, most if n_words else 0
    return Search(
        tables=make("tables", (p if at_once else 1, most + 1, 1 + q)),
        words=make("words", (n_marks,), np.uint64),
        groups=make("groups", ((n_marks >> 6) + 1,), np.uint64),
        atoms=make("atoms", (most, 3 + q)),
        lines=make("lines", (most + 1, 5)),
        work=make("work", (5, q)),
        stop=stop,
        subset=SubsetSpace(
            keys=make("keys", (n_ranks,)),
            order=make("category_order", (n_ranks,), np.int64),
            ranks=make("ranks", (n_ranks,), np.int64),
            means=make("means", (0 if is_single else n_ranks, q)),
            found=make("found_set", (1, n_words), np.uint32),
        ),
        knots=knots_for(problem.kernels, most, m, q, make),
    )


def knots_for(kernels: Kernels | None, most: int, m: int, q: int, make: Callable[..., np.ndarray]) -> Knots:
    """Scratch space of the scan of kernels that are not boxes of one width, for nodes of up to `m` rows.

    most, q : as in `Search`;  make : as `Workspace.array`
    """
    if kernels is None:
        return Knots()
    n_cells = m if kernels.by_cell.any() else 0
    n_atoms = max(most, n_cells)
    n_knots = n_atoms * (kernels.edges.shape[1] + 1)
    return Knots(
        times=make("knot_times", (n_knots,)),
        rates=make("knot_rates", (n_knots,)),
        owners=make("knot_owners", (n_knots,), np.int64),
        orders=make("knot_orders", (3, n_knots), np.int64),
        open_rates=make("open_rates", (n_atoms,)),
        cells=make("cells", (4, n_cells)),
        atoms=make("cell_atoms", (n_cells, 3 + q)),
    )
