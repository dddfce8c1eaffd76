"""Links from inherited methods to their code.

The estimators inherit from layers that have no page, and `sphinx.ext.viewcode` finds code
only where it is documented. So before it looks, each signature is told where it is written.
"""

from __future__ import annotations

import inspect
from functools import reduce
from importlib import import_module

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def tell_where_it_is_written(app: Sphinx, doctree: nodes.document) -> None:
    for signature in doctree.findall(addnodes.desc_signature):
        if not signature.get("module"):
            continue
        parts = signature["fullname"].split(".")
        item = reduce(getattr, parts, import_module(signature["module"]))
        item = inspect.unwrap(item) if callable(item) else item
        module = getattr(item, "__module__", None)
        if module is not None and module.startswith("neuralrules"):
            signature["module"], signature["fullname"] = module, item.__qualname__
            anchor = f"{module}.{item.__qualname__}"  # that the code links back to
            if anchor not in signature["ids"]:
                signature["ids"].append(anchor)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", tell_where_it_is_written, priority=400)  # before viewcode
    return {"parallel_read_safe": True, "parallel_write_safe": True}
