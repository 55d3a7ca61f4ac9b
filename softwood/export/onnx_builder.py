"""A graph of ONNX operators under construction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from softwood.core.extras import require

# Version 19 compares texts; onnxruntime has it since 1.15.
OPSET, IR_VERSION = 19, 9


class Builder:
    """Collects operators, constants, inputs and outputs; names of results are strings.

    Parameters
    ----------
    dtype : float32 or float64, of all numbers that are no integers
    """

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.onnx = require("onnx", "onnx", "Exporting to ONNX")
        self._nodes: list[Any] = []
        self._constants: dict[tuple, Any] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._n_results = 0

    # Operators and constants

    def op(self, kind: str, *arguments: str, domain: str = "", **attributes: Any) -> str:
        """Add an operator with one result; returns the name of the result."""
        self._n_results += 1
        name = f"r{self._n_results}"
        self._nodes.append(self.onnx.helper.make_node(kind, arguments, [name], domain=domain, **attributes))
        return name

    def array(self, values: np.ndarray) -> str:
        """A constant of the type of the array; equal constants are stored once."""
        content = tuple(values.ravel().tolist()) if values.dtype == object else values.tobytes()
        key = (values.dtype.str, values.shape, content)
        if key not in self._constants:
            self._constants[key] = self.onnx.numpy_helper.from_array(values, f"c{len(self._constants)}")
        return self._constants[key].name

    def constant(self, values: Any) -> str:
        """A constant of real numbers, of any shape."""
        with np.errstate(over="ignore"):  # beyond float32 is infinity, which compares as it should
            return self.array(np.ascontiguousarray(np.asarray(values), dtype=self.dtype))

    def row(self, values: Any) -> str:
        """A constant with one row."""
        return self.constant(np.reshape(values, (1, -1)))

    def column(self, values: Any) -> str:
        """A constant with one column."""
        return self.constant(np.reshape(values, (-1, 1)))

    def number(self, value: float) -> str:
        """A single real number."""
        return self.constant(np.float64(value))

    def integers(self, values: Sequence[int]) -> str:
        """A constant of integers."""
        return self.array(np.array(values, dtype=np.int64))

    def gather(self, matrix: str, places: Any, axis: int = 1) -> str:
        """Columns of a matrix, or its rows if the axis is 0."""
        return self.op("Gather", matrix, self.integers(np.asarray(places).tolist()), axis=axis)

    def real(self, truths: str) -> str:
        """Truth values as zeros and ones."""
        return self.op("Cast", truths, to=self._kind(self.dtype))

    def clip(self, values: str, low: float = 0.0, high: float = 1.0) -> str:
        """Values between two bounds."""
        return self.op("Clip", values, self.number(low), self.number(high))

    # Inputs, outputs, and the model

    def input(self, name: str, dtype: np.dtype, n_columns: int) -> str:
        """Add an input of this type, with any number of rows."""
        info = self.onnx.helper.make_tensor_value_info(name, self._kind(dtype), ["rows", n_columns])
        self._inputs.append(info)
        return name

    def output(self, name: str, result: str, dtype: np.dtype, n_columns: int | None) -> None:
        """Make a result an output of the graph."""
        self._nodes.append(self.onnx.helper.make_node("Identity", [result], [name]))
        shape = ["rows"] if n_columns is None else ["rows", n_columns]
        self._outputs.append(self.onnx.helper.make_tensor_value_info(name, self._kind(dtype), shape))

    def model(self, description: str, ml_opset: int) -> Any:
        """The finished model."""
        helper = self.onnx.helper
        used = {name for node in self._nodes for name in node.input}
        constants = [constant for constant in self._constants.values() if constant.name in used]
        graph = helper.make_graph(self._nodes, "softwood", self._inputs, self._outputs, constants, description)
        opsets = [helper.make_opsetid("", OPSET)]
        if any(node.domain for node in self._nodes):
            opsets.append(helper.make_opsetid("ai.onnx.ml", ml_opset))
        return helper.make_model(graph, producer_name="softwood", opset_imports=opsets, ir_version=IR_VERSION)

    def _kind(self, dtype: np.dtype) -> int:
        if dtype.kind == "O":
            return self.onnx.TensorProto.STRING
        return self.onnx.helper.np_dtype_to_tensor_dtype(dtype)
