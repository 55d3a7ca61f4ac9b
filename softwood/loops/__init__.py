"""Compiled inner loops: free functions over arrays, nothing else.

Rules of this room: callers allocate and check, loops fill; only arrays, scalars and tuples of these cross the
boundary; every loop has an obvious slow twin under ``tests/reference``.
"""

from softwood.loops._compile import compiled

__all__ = ["compiled"]
