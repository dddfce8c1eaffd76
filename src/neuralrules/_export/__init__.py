"""Export a fitted model as ONNX, as SQL, or as Python code that needs no package.

`_onnx` needs the package onnx, so each export is imported from its own module.
"""
