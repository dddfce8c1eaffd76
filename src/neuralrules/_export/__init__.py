"""Export a fitted model as ONNX, as SQL, or as Python code that needs no package."""

from neuralrules._export._onnx import to_onnx
from neuralrules._export._python import to_python
from neuralrules._export._sql import to_sql

__all__ = ["to_onnx", "to_python", "to_sql"]
