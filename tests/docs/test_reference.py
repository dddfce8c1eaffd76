"""The reference: every public name has an example that runs, and all parameters explained."""

import doctest
import inspect
from importlib import import_module

import matplotlib as mpl
import pytest
from numpydoc.docscrape import NumpyDocString
from public_api import PUBLIC, parameters_of

mpl.use("Agg")
from matplotlib import pyplot as plt

WRITTEN_IN = sorted({inspect.unwrap(item).__module__ for item in PUBLIC.values()})


def documented_parameters(item) -> set[str]:
    """The names in the Parameters section; "X, y" are two."""
    sections = NumpyDocString(inspect.getdoc(item))
    return {name for one in sections["Parameters"] for name in one.name.split(", ")}


def test_every_parameter_is_documented_and_no_other():
    differences = {
        name: documented_parameters(item) ^ parameters_of(item) for name, item in PUBLIC.items()
    }
    assert {name: some for name, some in differences.items() if some} == {}


def test_every_public_name_has_an_example():
    """Its own, or that of its class, if that calls it."""

    def is_shown(name: str) -> bool:
        owner, _, method = name.rpartition(".")
        of_class = inspect.getdoc(PUBLIC.get(owner)) or ""
        return ">>>" in inspect.getdoc(PUBLIC[name]) or f".{method}(" in of_class

    assert [name for name in PUBLIC if not is_shown(name)] == []


@pytest.mark.parametrize("module", WRITTEN_IN)
def test_examples_run(module):
    results = doctest.testmod(import_module(module))
    plt.close("all")
    assert results.attempted > 0
    assert results.failed == 0
