"""What is public: the names that the reference explains."""

from __future__ import annotations

import inspect
from importlib import import_module
from importlib.util import find_spec
from typing import Any

MODULES = [
    import_module(name)
    for name in ("neuralrules", "neuralrules.plot", "neuralrules.ray")
    if find_spec(name) is not None
]


def is_ours(item: Any) -> bool:
    return (getattr(item, "__module__", None) or "").startswith("neuralrules")


def public_methods(item: type) -> dict[str, Any]:
    """Methods of a class that people call, without those of scikit-learn and of Python."""
    members = {name: getattr(item, name) for name in dir(item) if not name.startswith("_")}
    return {name: one for name, one in members.items() if callable(one) and is_ours(one)}


def parameters_of(item: Any) -> set[str]:
    if inspect.isclass(item) and issubclass(item, Exception):
        return set()
    return set(inspect.signature(item).parameters) - {"self"}


def public_names() -> dict[str, Any]:
    """Every public class, function and method by its full name."""
    found = {}
    for module in MODULES:
        for name in module.__all__:
            item = getattr(module, name)
            found[f"{module.__name__}.{name}"] = item
            if inspect.isclass(item):
                for method, one in public_methods(item).items():
                    found[f"{module.__name__}.{name}.{method}"] = one
    return found


PUBLIC = public_names()
