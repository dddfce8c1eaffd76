"""Data flow one way: a room imports only from those before it, a module never in a circle."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
# The map of CONTRIBUTING.md, from a table to the command line.
ROOMS = (
    "_version",
    "_io",
    "_expression",
    "_task",
    "_data",
    "_rules",
    "_network",
    "_engine",
    "_training",
    "_fitted",
    "_fitting",
    "_reading",
    "_compare",
    "_simplify",
    "_counterfactual",
    "_charts",
    "_report",
    "_files",
    "_stream",
    "_cluster",
    "_export",
    "_estimators",
    "__init__",
    "plot",
    "ray",
    "_cli",
    "__main__",
)


def modules(source=SOURCE):
    """Names of all modules with their syntax trees."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts)] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imports(found):
    """Pairs of a module and one that it imports, inside functions and for types too."""
    for module, tree in found.items():
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{module} imports relatively"
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                if name.partition(".")[0] == "neuralrules":
                    yield module, target(name, found)


def target(name, found):
    """The module that an imported name stands in."""
    while name:
        for module in (name, f"{name}.__init__"):
            if module in found:
                return module
        name = name.rpartition(".")[0]
    raise AssertionError("no such module")


def room(module):
    return ROOMS.index(module.split(".")[1])


def upward(found):
    return [f"{a} -> {b}" for a, b in imports(found) if room(b) > room(a)]


def circle(found):
    """Modules that import each other in a circle, none if there is no circle."""
    edges = {}
    for a, b in imports(found):
        if a != b:
            edges.setdefault(a, set()).add(b)
    done, path = set(), []

    def visit(module):
        if module in path:
            return path[path.index(module) :]
        if module in done:
            return []
        path.append(module)
        for other in sorted(edges.get(module, ())):
            if found_circle := visit(other):
                return found_circle
        done.add(path.pop())
        return []

    for module in sorted(edges):
        if found_circle := visit(module):
            return found_circle
    return []


def test_the_map_for_contributors_has_the_same_rooms_in_the_same_order():
    table = (SOURCE.parent / "CONTRIBUTING.md").read_text().partition("| room |")[2]
    rooms = re.findall(r"^\| `(\w+)/`", table.partition("### To add")[0], re.MULTILINE)
    assert rooms == [room for room in ROOMS if (SOURCE / "neuralrules" / room).is_dir()]
    folders = {path.name for path in (SOURCE.parent / "tests").iterdir() if path.is_dir()}
    assert {room.strip("_") for room in rooms} <= folders


def test_every_module_is_in_a_room():
    for module in modules():
        assert module.split(".")[1] in ROOMS, module


def test_no_import_goes_up():
    assert upward(modules()) == []


def test_no_modules_import_each_other_in_a_circle():
    assert circle(modules()) == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "from neuralrules._estimators._base import NeuralRuleModel",
            "neuralrules._task._task -> neuralrules._estimators._base",
        ),
        (
            "def f():\n    from neuralrules import load",
            "neuralrules._task._task -> neuralrules.__init__",
        ),
    ],
)
def test_an_import_that_goes_up_is_found(line, says):
    found = modules()
    found["neuralrules._task._task"] = ast.parse(line)
    assert upward(found) == [says]


def test_a_circle_is_found():
    found = modules()
    found["neuralrules._io._warn"] = ast.parse("from neuralrules._io import _writing")
    found["neuralrules._io._writing"] = ast.parse("import neuralrules._io._warn")
    assert circle(found) == ["neuralrules._io._warn", "neuralrules._io._writing"]
