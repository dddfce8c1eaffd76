"""The model as a Python module of its own."""

import ast
import json
import re
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from models import (
    EVERY_MODEL,
    KINDS,
    fitted,
    network_outputs,
    with_fitted,
    with_labels,
    with_network,
)
from sklearn.datasets import load_breast_cancer

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    read_rules,
)
from neuralrules._data._categories import spellings
from neuralrules._data._cells import MISSING
from neuralrules._data._columns import Category, Missing, Number
from neuralrules._data._numbers import LARGEST
from neuralrules._export import _python_printer
from neuralrules._export._extras import size_text
from neuralrules._export._python_printer import MAX_SUMMANDS, WIDTH, sum_lines, text_code
from neuralrules._expression._nodes import Named, Sum
from neuralrules._reading._text import printable

IDS = [f"{kind}-deep" if deep else kind for kind, deep in EVERY_MODEL]


@cache
def source_of(kind, deep=False):
    return fitted(kind, deep)[0].to_python()


def load(source):
    """The names that a module defines."""
    module = {}
    exec(compile(source, "model.py", "exec"), module)
    return module


def encode(model, row):
    """A row as the encoder has it before rounding, (n_encoded,) float64: slow, obvious."""
    names, columns = model.encoder_.names, model.encoder_.columns
    encoded = []
    for column in columns:
        cell = row[names[column.source]]
        hole = bool(pd.isna(cell))
        known = [
            c.category for c in columns if isinstance(c, Category) and c.source == column.source
        ]
        text = None if hole else str(cell)
        if isinstance(column, Number):
            value = 0.0 if hole else float(cell)
        elif isinstance(column, Missing):
            value = hole
        elif isinstance(column, Category):
            value = text == column.category
        else:
            value = text not in known
        standardised = float(column.encoded(np.array(float(value))))
        if hole and isinstance(column, Number):
            standardised = 0.0
        encoded.append(min(max(standardised, -float(LARGEST)), float(LARGEST)))
    return np.array(encoded)


def reference(model, rows):
    """Outputs of the network in float64, (n_rows, n_outputs)."""
    network = model.network_
    outputs = np.tile(network.intercept, (len(rows), 1))
    for place, row in enumerate(rows):
        x = encode(model, row)[network.features]
        for rule in range(network.n_rules):
            own = slice(network.offsets[rule], network.offsets[rule + 1])
            literals = network.weights[own].astype(float) @ x + network.biases[own]
            if network.deep:
                mixing = network.second_layer(rule).astype(float)
                literals = mixing @ np.maximum(literals, 0) + network.shifts[own]
            outputs[place] += network.values[rule].astype(float) * max(literals.min(), 0)
    return outputs


def as_rows(X):
    """The rows of a table as dicts."""
    if isinstance(X, np.ndarray):
        X = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    return X.to_dicts() if isinstance(X, pl.DataFrame) else X.to_dict("records")


def as_table(model, rows):
    """Rows as a table that the model takes."""
    frame = pd.DataFrame(rows, columns=model.encoder_.names)
    return frame if hasattr(model, "feature_names_in_") else frame.to_numpy()


def on_thresholds(model, rows):
    """Rows that lie exactly on a split of a tree each."""
    moved = []
    for place, feature in enumerate(model.rules_.features[:20]):
        column = model.encoder_.columns[feature]
        if isinstance(column, Number):
            cell = column.original(float(model.rules_.thresholds[place]))
            row = rows[place % len(rows)]
            moved.append(row | {model.encoder_.names[column.source]: float(cell)})
    return moved


def trial_rows(model, X):
    """Rows of training, rows mixed of their cells, with holes, news, and on thresholds."""
    rng = np.random.RandomState(0)
    training = as_rows(X)
    rows = [training[i] for i in rng.choice(len(training), 15)]
    names = model.encoder_.names
    mixed = [{name: training[rng.choice(len(training))][name] for name in names} for _ in rows]
    holes = [
        {name: rng.choice([cell, None, np.nan]) for name, cell in row.items()} for row in mixed
    ]
    news = [
        {name: "Atlantis" if isinstance(cell, str) else cell for name, cell in row.items()}
        for row in mixed[:5]
    ]
    empty = [dict.fromkeys(names)]
    outside = []  # where scaled columns are flat
    if any(column.knots is not None for column in model.encoder_.columns):
        outside = [
            {name: cell if isinstance(cell, str) else far for name, cell in row.items()}
            for row, far in zip(rows[:2], (1e6, -1e6), strict=True)
        ]
    return rows + mixed + holes + news + empty + outside + on_thresholds(model, rows)


def outputs_of(module, rows):
    """Decisions of a module, (n_rows, n_outputs)."""
    return np.array([module["decision"](row) for row in rows]).reshape(len(rows), -1)


def spread(model, outputs):
    """What errors of outputs are measured in: for a regression, deviations of the target."""
    return np.ones(outputs.shape[1]) if hasattr(model, "classes_") else model.fitted_.task.scale


def agree(model, rows, source=None):
    """Whether a module decides and predicts as its model does on some rows."""
    module = load(model.to_python() if source is None else source)
    outputs, exact = outputs_of(module, rows), reference(model, rows)
    unit = spread(model, outputs)
    np.testing.assert_allclose(outputs / unit, exact / unit, rtol=0, atol=1e-9)
    table = as_table(model, rows)
    rounded = network_outputs(model, table)
    np.testing.assert_allclose(outputs / unit, rounded / unit, rtol=1e-5, atol=1e-5)
    predictions = [module["predict"](row) for row in rows]
    if not hasattr(model, "classes_"):
        assert np.array(predictions).reshape(len(rows), -1).tolist() == outputs.tolist()
        return
    both = np.sort(np.hstack([outputs, 0 * outputs]) if outputs.shape[1] == 1 else outputs)
    clear = both[:, -1] - both[:, -2] > 1e-4
    expected = model.predict(table).tolist()
    assert [p for p, c in zip(predictions, clear, strict=True) if c] == [
        p for p, c in zip(expected, clear, strict=True) if c
    ]
    assert {type(label) for label in predictions} <= {type(k) for k in model.classes_.tolist()}
    assert ("predict_proba" in module) == (model.loss == "logistic")
    if model.loss == "logistic":
        chances = [module["predict_proba"](row) for row in rows]
        assert all(list(chance) == model.classes_.tolist() for chance in chances)
        rounded = model.predict_proba(table)
        np.testing.assert_allclose([[*c.values()] for c in chances], rounded, atol=1e-5)
        two = np.hstack([0 * exact, exact]) if exact.shape[1] == 1 else exact
        odds = np.exp(two) / np.exp(two).sum(axis=1, keepdims=True)
        np.testing.assert_allclose([[*c.values()] for c in chances], odds, atol=1e-9)


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL, ids=IDS)
def test_it_decides_as_the_model_does(kind, deep):
    model, X, _ = fitted(kind, deep)
    rows = trial_rows(model, X)
    agree(model, rows, source_of(kind, deep))
    text = read_rules(model.exact_text()).decision_function(as_table(model, rows))
    outputs = outputs_of(load(source_of(kind, deep)), rows)
    np.testing.assert_allclose(
        outputs / spread(model, outputs),
        text.reshape(outputs.shape) / spread(model, outputs),
        rtol=0,
        atol=1e-9,
    )


ALONE = """
import json, sys
assert not any("site-packages" in path for path in sys.path)
before = set(sys.modules)
for source, rows in json.load(sys.stdin):
    module = {}
    exec(source, module)
    print(json.dumps([[module["decision"](row), module["predict"](row)] for row in rows]))
assert set(sys.modules) - before <= {"math"}, set(sys.modules) - before
"""


def test_it_needs_no_package(tmp_path):
    """In a process that has the standard library only."""
    cases = []
    for kind, deep in EVERY_MODEL:
        model, X, _ = fitted(kind, deep)
        cases.append([source_of(kind, deep), trial_rows(model, X)])
    answer = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ALONE],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    for (source, rows), line in zip(cases, answer.stdout.splitlines(), strict=True):
        module = load(source)
        assert json.loads(line) == [[module["decision"](r), module["predict"](r)] for r in rows]


def test_it_is_what_linters_and_formatters_want(tmp_path):
    for number, (kind, deep) in enumerate(EVERY_MODEL):
        source = source_of(kind, deep)
        assert source.isascii()
        size = size_text(fitted(kind, deep)[0].fitted_)
        assert max(map(len, source.replace(size, "").splitlines())) <= WIDTH
        (tmp_path / f"m{number}.py").write_text(source)
    for command in (["check", "--target-version", "py39"], ["format", "--diff"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", tmp_path]
        answer = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL, ids=IDS)
def test_it_is_small_python_3_9(kind, deep):
    tree = ast.parse(source_of(kind, deep), feature_version=(3, 9))
    assert size_text(fitted(kind, deep)[0].fitted_) in ast.get_docstring(tree)
    imported = [
        node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert [ast.unparse(node) for node in imported] in (["import math"], [])
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    plain = {"max", "min", "sum", "zip", "isinstance", "hasattr", "abs", "float", "ValueError"}
    plain |= {"type", "str", "int", "object", "rule"}
    assert {f.id for f in called if isinstance(f, ast.Name)} <= own | plain
    methods = {f.attr for f in called if isinstance(f, ast.Attribute)}
    assert methods <= {"exp", "items", "index", "get", "normalize"}


def test_how_a_module_reads():
    X = pd.DataFrame({"age": np.arange(40.0), "city": ["Oslo", "Rome"] * 20})
    y = np.where((X["age"] > 19.5) & (X["city"] == "Rome"), "good", "bad")
    source = NeuralRuleClassifier.paper(2, n_epochs=0, random_state=0).fit(X, y).to_python()
    assert source.startswith(
        '"""Predictions of a neural rule model, in Python without any package.\n\n'
        "NeuralRuleClassifier: 3 neural rules with 5 literals and 12 parameters, "
        "over 2 of 2 columns\n\n"
        "    predict(row)        the class\n"
        "    predict_proba(row)  a dict from classes to their probabilities\n"
        "    decision(row)       intercept plus sum of the rules\n"
    )
    assert source[source.index("CLASSES =") :].startswith(
        """CLASSES = ["bad", "good"]
INTERCEPT = 0.0
MISSING = None
LARGEST = 1.8446742974197924e19  # no number may be beyond it


def predict(row: dict):
    \"""The second class if the decision is positive, else the first.\"""
"""
    )
    assert (
        """
    x = {}
    cell = number(row, "age")
    x["age"] = standard(cell, 19.5, 11.543396380615196)
    cell = category(row, "city")
    x["city", "Rome"] = standard(is_any(cell, "Rome"), 0.5, 0.5)
    return x
"""
        in source
    )
    assert source.endswith(
        """# Rule 2: value 1 for good
#   if    age > 20.5
#   and   [city = Rome] > 0.5
def rule_2(x):
    return 1.0 * activation(
        x["age"] - 0.08662961423397064,
        x["city", "Rome"],
    )


RULES = [rule_0, rule_1, rule_2]
"""
    )


def test_comments_are_those_of_the_text():
    for kind, deep in EVERY_MODEL:
        model, _, _ = fitted(kind, deep)
        comments = re.sub(r"\n#  {10}", " ", source_of(kind, deep))
        for line in model.rules_text().splitlines():
            if line.startswith(("  now", "  and", "  where", "  cap")):
                text = line[8:].replace("·", "*").replace("…", "...").replace("⁺", "_plus")
                assert f"{text}\n" in comments


def test_columns_far_from_zero():
    """A mean of 1e9 with a deviation of 1 leaves seven digits; none of them is lost."""
    rng = np.random.RandomState(0)
    X = rng.randn(300, 4) * [1, 1, 1, 1e-9] + np.array([1e6, 1e9, -1e9, 0])
    y = X[:, 0] - 1e6 + X[:, 1] - 1e9 > (X[:, 2] + 1e9) * X[:, 3] * 1e9
    for deep in (False, True):
        model = NeuralRuleClassifier.paper(3, deep=deep, n_epochs=10, random_state=0).fit(X, y)
        rows = trial_rows(model, X)
        module = load(model.to_python())
        exact = reference(model, rows)
        np.testing.assert_allclose(outputs_of(module, rows), exact, rtol=0, atol=1e-12)
        agree(model, rows)
    regressor = NeuralRuleRegressor.paper(3, n_epochs=10, random_state=0).fit(X, X[:, 1] - 1e9)
    agree(regressor, trial_rows(regressor, X))


def test_values_beyond_the_largest_count_as_the_largest():
    rng = np.random.RandomState(0)
    X = rng.randn(200, 2) * [1e-12, 1e-9]
    model = NeuralRuleClassifier.paper(3, n_epochs=20, random_state=0).fit(X, X.sum(axis=1) > 0)
    cells = [-1e15, -1e9, 1e8, 1e15, 1e16]
    rows = [{"x0": a, "x1": b} for a in cells for b in cells]
    outputs = outputs_of(load(model.to_python()), rows)
    np.testing.assert_allclose(outputs, reference(model, rows), rtol=1e-12)
    np.testing.assert_allclose(
        outputs, network_outputs(model, as_table(model, rows)), rtol=1e-4
    )
    assert len(np.unique(outputs)) < len(rows)


def test_rare_categories_and_holes():
    """A hole is rare where training had none, and a category of its own where it had."""
    rng = np.random.RandomState(0)
    codes = np.array([f"c{i}" for i in np.minimum(rng.geometric(0.02, 1500), 200)], object)
    often = set(pd.Series(codes).value_counts().index[:55])
    for holes in (False, True):
        y = np.array([code in often for code in codes])
        if holes:
            codes[::10] = None
            y[::10] = True
        X = pd.DataFrame({"code": codes})
        model = NeuralRuleClassifier.paper(3, n_epochs=10, random_state=0).fit(X, y)
        assert '"code", OTHER]' in model.to_python()
        seen = [{"code": code} for code in sorted({*codes} - {None})]
        assert len(seen) > 100
        agree(model, [*seen, {"code": None}, {"code": np.nan}, {"code": "never seen"}])


def test_categories_that_are_numbers():
    X = pd.DataFrame({"code": pd.Categorical([1, 2, 3, 4] * 20), "x": np.arange(80.0)})
    y = (X["code"] == 1).to_numpy()
    model = NeuralRuleClassifier.paper(3, n_epochs=5, random_state=0).fit(X, y)
    module = load(model.to_python())
    for same in (1, 1.0, "1", np.int64(1), np.float32(1), np.str_("1.0"), Decimal("1.00")):
        frame = pd.DataFrame({"code": pd.Series([same], dtype=object), "x": [3.0]})
        row = {"code": same, "x": 3}
        assert module["decision"](row) == module["decision"]({"code": "1", "x": 3})
        assert module["predict"](row) == model.predict(frame)[0] == True  # noqa: E712
    for other in (1.5, True, b"1", "01", float("inf")):
        frame = pd.DataFrame({"code": pd.Series([other], dtype=object), "x": [3.0]})
        decision = module["decision"]({"code": other, "x": 3})
        assert decision == pytest.approx(model.decision_function(frame)[0], abs=1e-5)
        assert decision != module["decision"]({"code": "1", "x": 3})


def test_cells_of_every_type():
    model, X, _ = fitted("mixed")
    module = load(source_of("mixed"))
    row = as_rows(X)[1]
    decide = module["decision"]
    for cell in (3, 3.0, np.int8(3), np.float16(3), np.float64(3), Decimal(3), np.uint64(3)):
        assert decide(row | {"income": cell}) == decide(row | {"income": 3.0})
    for cell in (True, np.True_):
        assert decide(row | {"income": cell}) == decide(row | {"income": 1.0})
    gaps = (None, np.nan, float("nan"), np.float32("nan"), pd.NA, pd.NaT, Decimal("nan"))
    for name in row:
        holes = {tuple(decide(row | {name: gap})) for gap in gaps}
        assert len(holes) == 1
    assert decide(row | {"city": np.str_("Rome")}) == decide(row | {"city": "Rome"})
    assert decide(row | {"city": "rome"}) == decide(row | {"city": "Atlantis"})
    assert decide(pd.Series(row)) == decide(row)
    agree(model, [row | {"income": gap} for gap in (None, pd.NA)])


def test_only_the_columns_of_rules_are_read():
    model, X, y = fitted("two classes")
    small = model.simplify(X, y, tolerance=0.05)
    module = load(small.to_python())
    rows = as_rows(X[:20])
    names = module["standardised"](rows[0])
    assert 0 < len(names) < X.shape[1]
    used = [{name: row[name] for name in names} for row in rows]
    np.testing.assert_array_equal(outputs_of(module, used), outputs_of(module, rows))
    module["decision"](used[0] | {"more": object()})
    agree(small, rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda row: row.pop("income"),
            "The row has no column 'income'. Add it, with None for a missing value.",
        ),
        (
            lambda row: row.pop("city"),
            "The row has no column 'city'. Add it, with None for a missing value.",
        ),
        *(
            (
                lambda row, cell=cell: row.update(income=cell),
                f"Column 'income' must hold a number, not {cell!r}. "
                "Convert it, or give None for a missing value.",
            )
            for cell in ("12.5", "", b"1", np.str_("3"), [1.0], pd.Timestamp(0).date())
        ),
        *(
            (
                lambda row, cell=cell: row.update(income=cell),
                f"Column 'income' holds {cell!r}: infinity, or beyond 1.8e+19. "
                "Replace it by a finite number, or by None for a missing value.",
            )
            for cell in (
                np.inf,
                -np.inf,
                1.9e19,
                -(10**400),
                np.float32("inf"),
                Decimal("1e99"),
            )
        ),
    ],
)
def test_what_is_wrong_with_a_row_is_said(change, message):
    row = as_rows(fitted("mixed")[1])[1]
    module = load(source_of("mixed"))
    change(row)
    for function in ("predict", "predict_proba", "decision"):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            module[function](row)


def test_numbers_up_to_the_largest_are_taken():
    model, X, _ = fitted("mixed")
    row = as_rows(X)[1] | {"income": float(LARGEST)}
    assert load(source_of("mixed"))["predict"](row) == model.predict(as_table(model, [row]))[0]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([False, True]),
        np.array([3, 7, 9]),
        np.array([1.0, -2.0]),
        np.array(["a", "b", "c"]),
        np.array(["it's", 'a "b"', "new\nline\0"], object),
        np.array([1, 2], np.uint8),
    ],
)
def test_labels_keep_their_type(labels):
    X = np.arange(60.0)[:, None]
    model = NeuralRuleClassifier.paper(3, n_epochs=2).fit(
        X, np.repeat(labels, 60 // len(labels))
    )
    agree(model, as_rows(X))
    assert load(model.to_python())["CLASSES"] == model.classes_.tolist()


class Code(str):
    """A label that is not what it shows."""

    __slots__ = ()

    def __repr__(self):
        return "exit()"


@pytest.mark.parametrize("label", [np.datetime64("2020-01-01"), Code("a"), None, (1, 2)])
def test_labels_without_a_literal_are_refused(label):
    model = with_labels(fitted("two classes")[0], ["b", label])
    shown = "datetime.date(2020, 1, 1)" if isinstance(label, np.generic) else repr(label)
    message = (
        f"to_python cannot write the class {shown}: labels must be strings, numbers or "
        "booleans. Fit on y with such labels, for example y.astype(str)."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        model.to_python()


def test_large_outputs_do_not_overflow():
    for kind in ("two classes", "three classes"):
        model, X, _ = fitted(kind)
        values = model.network_.values * np.float32(1e6)
        model = with_network(model, replace(model.network_, values=values))
        module = load(model.to_python())
        chances = [module["predict_proba"](row) for row in as_rows(X)]
        expected = model.predict_proba(X)
        np.testing.assert_allclose([[*c.values()] for c in chances], expected, atol=1e-9)
        assert {0.0, 1.0} == {value for chance in chances for value in chance.values()}


def test_ties_fall_as_those_of_the_model():
    for kind in ("two classes", "three classes"):
        model, _, _ = fitted(kind)
        network = model.network_
        silent = {"values": network.values * 0, "intercept": network.intercept * 0}
        model = with_network(model, replace(network, **silent))
        X = fitted(kind)[1][:1]
        assert load(model.to_python())["predict"](as_rows(X)[0]) == model.predict(X)[0]


def test_models_of_other_estimators():
    _, (X, y), _ = KINDS["mixed"]()
    for refit in ("average", "single"):
        options = {"n_trees": 2, "n_epochs": 3, "refit": refit, "random_state": 0}
        model = NeuralRuleClassifierCV([{}, {"deep": True}], cv=2, **options).fit(X, y)
        agree(model, trial_rows(model, X))
    X, y = load_breast_cancer(return_X_y=True)
    boosted = NeuralRuleClassifier(2, rule_source="boosting", n_trees=3, n_epochs=3).fit(X, y)
    agree(boosted, trial_rows(boosted, X))
    column = NeuralRuleRegressor.paper(2, n_epochs=3).fit(X, X[:, :1])
    agree(column, trial_rows(column, X))
    assert isinstance(load(column.to_python())["predict"](as_rows(X)[0]), float)


def test_polars():
    _, (X, y), _ = KINDS["mixed"]()
    frame = pl.DataFrame({name: X[name].tolist() for name in X}, strict=False, nan_to_null=True)
    model = NeuralRuleClassifier.paper(3, n_epochs=5, random_state=0).fit(frame, y)
    rows = as_rows(frame)[:60]
    outputs = outputs_of(load(model.to_python()), rows)
    np.testing.assert_allclose(outputs, reference(model, rows), rtol=0, atol=1e-9)
    np.testing.assert_allclose(outputs, model.decision_function(frame[:60]), atol=1e-5)


def test_long_sums():
    """Flat where Python's compiler could not go as deep."""
    for n_summands in (MAX_SUMMANDS - 1, MAX_SUMMANDS, 20_000):
        names = {str(i): f'x["{i}"]' for i in range(n_summands)}
        terms = tuple(((-1) ** i * (i + 0.5), Named(str(i))) for i in range(n_summands))
        lines = sum_lines(Sum(terms, 2.0), names)
        code = "(" + "\n".join(lines).strip().rstrip(",") + ")"
        x = dict.fromkeys(names, 1.0)
        assert eval(code, {"x": x}) == pytest.approx(2 + sum(f for f, _ in terms))


def test_the_largest_weight_stands_first():
    factors = {"x0": 0.5, "x2": -2.0, "x3": 1.0}
    total = Sum(tuple((factor, Named(name)) for name, factor in factors.items()), 1.0)
    names = {"x0": "a", "x2": "c", "x3": "d"}
    assert sum_lines(total, names) == ["        -2.0 * c + d + 0.5 * a + 1.0,"]


def test_what_is_zero_is_not_written():
    assert sum_lines(Sum(()), {}) == ["        0.0,"]
    total = Sum(((1.0, Named("a")), (-1.0, Named("b")), (-0.5, Named("c"))))
    assert sum_lines(total, {name: name for name in "abc"}) == ["        a - b - 0.5 * c,"]
    model, X, _ = fitted("two targets", True)
    network = replace(model.network_, mixing=model.network_.mixing.copy())
    for rule in range(network.n_rules):
        network.second_layer(rule)[:, 1] = 0
    twin = with_network(model, network)
    source = twin.to_python()
    assert "B_plus = activation(" in source_of("two targets", True)
    assert "B_plus = activation(" not in source
    agree(twin, trial_rows(twin, X), source)


@pytest.mark.parametrize(("kind", "deep"), [("mixed", False), ("two targets", True)])
def test_a_model_of_long_sums(kind, deep, monkeypatch):
    monkeypatch.setattr(_python_printer, "MAX_SUMMANDS", 2)
    model, X, _ = fitted(kind, deep)
    source = model.to_python()
    assert "        sum(\n            [\n" in source
    agree(model, trial_rows(model, X), source)


def renamed(model, names, categories, labels):
    """A model with other texts: names and labels in their order, categories by the old."""
    columns = [
        replace(c, category=categories.get(c.category, c.category))
        if isinstance(c, Category)
        else c
        for c in model.encoder_.columns
    ]
    encoder = replace(model.encoder_, names=names, columns=columns)
    return with_labels(with_fitted(model, encoder=encoder), labels)


def structure(source):
    """The syntax tree of a module, as read from a file, but for its texts."""
    tree = ast.parse(source.encode())
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
            node.value = ""
    return ast.dump(tree), texts


any_text = st.text(st.characters(exclude_categories=()), max_size=12)
hostile = st.sampled_from(
    [
        "\n__import__('os').abort()\n#",
        '"""\n1 / 0\n"""',
        "'\"\\",
        '\\"] + exit() + x["',
        "\r1/0",
        "\x0c\x0b\x1c\x85\u2028\u20291/0",
        "\ud800",
        "\udcff\0",
        "# -*- coding: utf-16 -*-",
        "{name}",
        "\u202e0 = x",
        "\U0001f600é·…⁺",
    ]
)


@pytest.mark.parametrize("deep", [pytest.param(False, marks=pytest.mark.slow), True])
@given(texts=st.lists(any_text | hostile, min_size=6, max_size=6, unique=True))
@example(texts=["\n1/0", '"""', "\\", "'", "\ud800", "x" * 200])
def test_no_text_becomes_code(deep, texts):
    """The module of a model with hostile names differs from another in texts only."""
    model, X, _ = fitted("mixed", deep)
    *names, city = texts
    assume(city not in MISSING and len(spellings([city])) == 1)  # others change the tables
    labels = [f"{text}{i}" for i, text in enumerate(texts[:3])]
    twin = renamed(model, names, {"Rome": city}, labels)
    before, old = structure(source_of("mixed", deep))
    after, new = structure(twin.to_python())
    assert after == before
    table = dict(zip(model.encoder_.names, names, strict=True))
    table |= {"Rome": city} | dict(zip(model.classes_.tolist(), labels, strict=True))
    assert new == [table.get(text, text) for text in old]
    row = as_rows(X)[1]
    strange = {table[name]: cell for name, cell in (row | {"city": "Rome"}).items()}
    strange[table["city"]] = city
    expected = load(source_of("mixed", deep))["decision"](row | {"city": "Rome"})
    assert load(twin.to_python())["decision"](strange) == expected


def test_a_fit_on_hostile_names():
    for text in ["\n1/0", '"""', "\r", "\u2028", "\\", "\0"]:
        X = pd.DataFrame({text: ["Rome", text] * 20, text + "2": np.arange(40.0)})
        y = np.array(["other", text] * 20, object)
        model = NeuralRuleClassifier.paper(2, n_epochs=2, random_state=0).fit(X, y)
        agree(model, as_rows(X))


def test_comments_hold_no_line_break_and_no_surrogate():
    for code in range(sys.maxunicode + 1):
        text = printable(chr(code))
        if not text.isprintable():  # then it is also in one line, and in UTF-8
            pytest.fail(f"U+{code:04X}")
    every = "".join(filter(str.isprintable, map(chr, range(sys.maxunicode + 1))))
    assert every.splitlines() == [every]
    assert every.encode().decode() == every


@given(any_text | hostile)
@example('"é')
def test_any_text_has_a_literal(text):
    code = text_code(text)
    assert code.isascii()
    assert code.isprintable()
    assert ast.literal_eval(code) == text


def test_lines_are_short_where_names_allow():
    X = pd.DataFrame(
        {f"{'long ' * 8}{i}": np.random.RandomState(i).randn(90) for i in range(3)}
    )
    y = np.argmax(X.to_numpy(), axis=1).astype(str) + np.array(list("abc")).repeat(30)
    source = NeuralRuleClassifier.paper(4, n_epochs=2, random_state=0).fit(X, y).to_python()
    code = source[source.index("CLASSES") :].splitlines()
    assert max(map(len, code)) <= WIDTH
