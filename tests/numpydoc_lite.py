"""Reads the Parameters section of a docstring."""

import inspect
import re


def parameters_in(docstring: str) -> dict[str, str]:
    """Name to documented default, in order."""
    section = inspect.cleandoc(docstring).split("Parameters\n----------\n")[1]
    section = section.split("\nAttributes\n")[0]
    found = re.findall(r"^(\w+) : .*, default=(.*)$", section, re.MULTILINE)
    return dict(found)
