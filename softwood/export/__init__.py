"""Exports: a fitted model as text or a graph that runs without softwood.

Every module reads a `FittedModel`: the trees, with what their estimator knows of columns, categories, classes and the
link. All exports divide rows as `predict` does. Names are loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softwood.export.c_source import CSource, to_c
    from softwood.export.javascript_source import to_javascript
    from softwood.export.json_text import from_json, to_json
    from softwood.export.onnx_graph import to_onnx
    from softwood.export.pictures_as_text import to_dot, to_mermaid
    from softwood.export.python_source import to_python
    from softwood.export.sql_query import to_sql
    from softwood.fitted import FittedModel

_HOME = {
    "CSource": "softwood.export.c_source",
    "FittedModel": "softwood.fitted",
    "from_json": "softwood.export.json_text",
    "to_c": "softwood.export.c_source",
    "to_dot": "softwood.export.pictures_as_text",
    "to_javascript": "softwood.export.javascript_source",
    "to_json": "softwood.export.json_text",
    "to_mermaid": "softwood.export.pictures_as_text",
    "to_onnx": "softwood.export.onnx_graph",
    "to_python": "softwood.export.python_source",
    "to_sql": "softwood.export.sql_query",
}

__all__ = [
    "CSource",
    "FittedModel",
    "from_json",
    "to_c",
    "to_dot",
    "to_javascript",
    "to_json",
    "to_mermaid",
    "to_onnx",
    "to_python",
    "to_sql",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'softwood.export' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
