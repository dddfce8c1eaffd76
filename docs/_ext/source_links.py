"""Links from inherited methods to their code.

The estimators inherit from layers that have no page, and `sphinx.ext.viewcode` finds code
only where it is documented. So before it looks, each signature is told where it is written.
"""

from __future__ import annotations

import inspect
from functools import reduce
from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def tell_where_it_is_written(app: Sphinx, doctree: nodes.document) -> None:
    for signature in doctree.findall(addnodes.desc_signature):
        if not signature.get("module"):
            continue
        parts = signature["fullname"].split(".")
        written = function_of(reduce(getattr, parts, import_module(signature["module"])))
        module = getattr(written, "__module__", None) or ""
        if not module.startswith("neuralrules"):
            signature["module"] = None  # others show their own code
            continue
        signature["module"], signature["fullname"] = module, written.__qualname__
        anchor = f"{module}.{written.__qualname__}"  # that the code links back to
        if anchor not in signature["ids"]:
            signature["ids"].append(anchor)


def function_of(item: Any) -> Any:
    """What was written: properties and decorators stand before it."""
    item = getattr(item, "fget", getattr(item, "func", item))
    return inspect.unwrap(item) if callable(item) else item


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", tell_where_it_is_written, priority=400)  # before viewcode
    return {"parallel_read_safe": True, "parallel_write_safe": True}
