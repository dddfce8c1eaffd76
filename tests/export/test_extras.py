"""Points and reasons in SQL and in the Python module, beside those of the model."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from databases import DIALECTS, connected
from models import EVERY_MODEL, credit_table, fitted, mixed_table, with_fitted

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, read_rules
from neuralrules._data._columns import Date
from neuralrules._reading._outcomes import adverse_outcome
from neuralrules._reading._reasons import fixed_reasons
from neuralrules._simplify._edit import activity_of
from neuralrules._training._training import State

NEAR = 1e-3  # of a point, or of a level
CLOSE = 1e-5  # of what rules add: float32 may decide either way
IDS = [f"{kind}-deep" if deep else kind for kind, deep in EVERY_MODEL]


@pytest.fixture(scope="module", params=DIALECTS)
def database(request):
    with connected(request.param) as connection:
        yield connection


def scored(database, model, X, **asked):
    """What the SELECT returns for some rows, in their order."""
    frame = pd.DataFrame(X, columns=model.encoder_.names) if isinstance(X, np.ndarray) else X
    frame = frame.assign(id=np.arange(len(frame)))
    dates = {name for name in frame if frame[name].dtype.kind == "M"}
    for name in dates:
        frame[name] = frame[name].dt.strftime("%Y-%m-%d").where(frame[name].notna(), None)
    database.write("rows", frame)
    sql = model.to_sql("rows", dialect=database.dialect, keep=["id"], **asked)
    return database.read(sql).sort_values("id", ignore_index=True)


def activations(model, X):
    explanation = model.explain(X)
    active = np.zeros((explanation.n_rows, model.network_.n_rules))
    active[explanation.rows, explanation.rules] = explanation.activations
    return active


def clear_points(card, active):
    """The rows of which no rule is next to half a point, or to the edge of a level."""
    if card.levels is None:
        exact = active * card.rates
        near = np.abs(exact - np.floor(exact) - 0.5) < NEAR
    else:
        highest = card._highest()
        share = active / np.where(highest > 0, highest, np.inf) * card.levels
        near = (np.abs(share - np.rint(share)) < NEAR) & (active > 0) & (share < card.levels)
        near |= (active > 0) & (active < NEAR)
    return ~near.any(axis=1)


def clear_reasons(model, active, k, outcome):
    """The rows whose strongest reasons are told apart by more than float32 may err."""
    effects = outcome.effects(model.network_.values)
    worse = (active - model.fitted_.activity.activation) * effects
    order = np.argsort(-worse, axis=1, kind="stable")[:, : k + 1]
    gaps = -np.diff(np.take_along_axis(worse, order, axis=1), axis=1)
    fires = np.take_along_axis(active > 0, order, axis=1)
    # Rules that do not fire are told apart however near they are: by constants.
    near = (gaps < CLOSE * np.abs(worse).max()) & (fires[:, :-1] | fires[:, 1:])
    near &= gaps > 0  # or they are one rule twice
    edge = np.abs(worse - outcome.faint) < CLOSE * np.abs(worse).max()
    barely = (active > 0) & (active < CLOSE)
    return ~(near.any(axis=1) | edge.any(axis=1) | barely.any(axis=1))


def told_sentences(model, X, k, adverse=None):
    """The fixed sentences of the reasons that the model itself finds, and clear rows."""
    outcome = adverse_outcome(model.fitted_, adverse)
    fixed = {one.rule: one for one in fixed_reasons(model.fitted_, outcome)}
    found = model.reasons(X, k, adverse=adverse)
    texts = []
    for own in found.reasons:
        sentences = [
            fixed[reason.rule].missed if reason.kind == "missed" else fixed[reason.rule].fires
            for reason in own
        ]
        texts.append(sentences)
    return texts, clear_reasons(model, activations(model, X), k, outcome)


@cache
def credit(deep=False, **options):
    """A model over categories and dates with holes, of two classes, and its table."""
    X, y = credit_table(1500)
    X = X.assign(region=X["region"].astype(object))
    X.loc[::7, "income"] = np.nan
    X.loc[::11, "region"] = None
    X.loc[::13, "opened"] = pd.NaT
    bad = (X["opened"] > "2018-01-01") & (X["region"] != "west") | X["income"].isna()
    y = np.where(bad, "bad", y)
    model = NeuralRuleClassifier(
        n_trees=3, max_depth=3, n_epochs=15, deep=deep, random_state=0, **options
    )
    return model.fit(X, y), X.iloc[:300].reset_index(drop=True)


def repeated(rules):
    """The same model with some rules, a rule perhaps several times."""
    model, X = credit()
    state = State.start(model.fitted_.state.network.take(rules))
    activity = activity_of(model.fitted_.activity, rules)
    highest = model.fitted_.activity.highest[rules]
    activity = replace(activity, highest=highest)
    rules = model.fitted_.rules.take(rules)
    return with_fitted(model, state=state, activity=activity, rules=rules), X


def test_the_table_of_these_tests_has_all_kinds_of_columns():
    model, _ = credit()
    used = [model.encoder_.columns[feature] for feature in model.network_.features]
    kinds = {column.stored_as for column in used}
    assert {"number", "category", "missing"} <= kinds
    assert any(isinstance(column, Date) for column in used)
    kinds = {r.kind for own in model.reasons(credit()[1], 4).reasons for r in own}
    assert kinds == {"against", "missed", "weak"}


@pytest.mark.parametrize("deep", [False, True], ids=["shallow", "deep"])
def test_databases_count_points_and_find_reasons(database, deep):
    model, X = credit(deep)
    for options in ({}, {"levels": 3, "base": 500, "adverse": "good"}):
        card = model.scorecard(**options)
        adverse = options.get("adverse")
        result = scored(database, model, X, scorecard=card, reasons=3, adverse=adverse)
        clear = clear_points(card, activations(model, X))
        assert clear.mean() > 0.9
        points = card.points(X)
        assert [type(cell) for cell in result["points"]] == [int] * len(X)
        np.testing.assert_array_equal(result["points"][clear].astype(int), points[clear])
        assert len(np.unique(points)) > 20
        meant = card.probability(result["points"].astype(int))
        shown = result["points_probability"].astype(float)
        np.testing.assert_allclose(shown, meant, rtol=1e-9)
        texts, clear = told_sentences(model, X, 3, adverse)
        assert clear.mean() > 0.9
        told = result[["reason_1", "reason_2", "reason_3"]].to_numpy()
        for row in np.flatnonzero(clear):
            own = [cell for cell in told[row] if cell is not None]
            assert own == texts[row]
    plain = scored(database, model, X)
    pd.testing.assert_frame_equal(plain, result[list(plain)])


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL, ids=IDS)
def test_every_model_that_has_reasons_has_them_in_sqlite(kind, deep):
    """Three classes and hinge too; several targets are refused, as by `reasons` itself."""
    model, X, _ = fitted(kind, deep)
    X = X[:150] if isinstance(X, np.ndarray) else X.iloc[:150].reset_index(drop=True)
    if kind == "two targets":
        for export in (
            lambda: model.to_sql("t", reasons=2),
            lambda: model.to_python(reasons=2),
        ):
            with pytest.raises(ValueError, match="predicts 2 numbers, and reasons are those"):
                export()
        return
    texts, clear = told_sentences(model, X, 3)
    assert clear.mean() > 0.7
    with connected("sqlite") as database:
        told = scored(database, model, X, reasons=3)
        told = told[["reason_1", "reason_2", "reason_3"]].to_numpy()
    module = {}
    exec(model.to_python(reasons=2), module)
    rows = pd.DataFrame(X, columns=model.encoder_.names).to_dict("records")
    for row in np.flatnonzero(clear):
        assert [cell for cell in told[row] if cell is not None] == texts[row]
        assert module["reasons"](rows[row]) == texts[row][:2]
        assert module["reasons"](rows[row], 3) == texts[row]


def test_a_regression_counts_points(database):
    X, labels = mixed_table()
    y = X["children"] * 3.0 + 20 * (labels == "low")
    model = NeuralRuleRegressor(n_trees=3, max_depth=2, n_epochs=10, random_state=0).fit(X, y)
    card = model.scorecard()
    result = scored(database, model, X, scorecard=True)
    clear = clear_points(card, activations(model, X))
    points = card.points(X)
    np.testing.assert_array_equal(result["points"][clear].astype(int), points[clear])
    assert clear.mean() > 0.9
    shown = result["points_prediction"].astype(float)
    np.testing.assert_allclose(shown[clear], card.prediction(points)[clear], rtol=1e-9)
    module = {}
    exec(model.to_python(scorecard=True, reasons=1, adverse="low"), module)
    rows = X.to_dict("records")
    assert [module["points"](rows[i]) for i in np.flatnonzero(clear)] == points[clear].tolist()
    assert module["points_prediction"](rows[0]) == pytest.approx(result["points_prediction"][0])
    assert "raise the prediction" in " ".join(module["reasons"](row)[0] for row in rows[:9])


SCORE_ALL = """
import json, sys
import model
rows = json.load(sys.stdin)
told = [[model.points(r), model.points_probability(r), model.reasons(r)] for r in rows]
assert not {"numpy", "neuralrules"} & set(sys.modules)
print(json.dumps(told))
"""


@pytest.mark.parametrize("levels", [None, 3])
def test_the_module_in_a_process_of_its_own(tmp_path, levels):
    model, X = credit()
    card = model.scorecard(levels=levels)
    (tmp_path / "model.py").write_text(model.to_python(scorecard=card, reasons=4), "utf-8")
    frame = X.assign(opened=X["opened"].dt.strftime("%Y-%m-%d"))
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    done = subprocess.run(
        [sys.executable, "-S", "-c", SCORE_ALL],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    told = json.loads(done.stdout)
    points, clear = card.points(X), clear_points(card, activations(model, X))
    assert [told[i][0] for i in np.flatnonzero(clear)] == points[clear].tolist()
    meant = card.probability(np.array([own[0] for own in told]))
    np.testing.assert_allclose([own[1] for own in told], meant, rtol=1e-9)
    texts, clear = told_sentences(model, X, 4)
    for row in np.flatnonzero(clear):
        assert told[row][2] == texts[row]


def test_ties_go_to_the_first_rule(database):
    """A rule twice: the same shortfall to the last bit, and both are told, in their order."""
    model, X = repeated(np.array([0, 1, 1, 2, 2, 3, 4, 5]))
    texts, clear = told_sentences(model, X, 4)
    assert clear.mean() > 0.9
    result = scored(database, model, X, reasons=4)
    told = result[[f"reason_{i}" for i in range(1, 5)]].to_numpy()
    for row in np.flatnonzero(clear):
        assert [cell for cell in told[row] if cell is not None] == texts[row]
    pairs = [pair for own in texts for pair in pairwise(own)]
    assert any("(rule 1 " in one and "(rule 2 " in other for one, other in pairs)


def test_many_rules_are_counted_in_blocks_and_have_no_reasons_in_sql():
    large, X = repeated(np.arange(600) % credit()[0].network_.n_rules)
    card = large.scorecard()
    with connected("sqlite") as database:
        result = scored(database, large, X.iloc[:50], scorecard=True)
    clear = clear_points(card, activations(large, X.iloc[:50]))
    np.testing.assert_array_equal(
        result["points"][clear].astype(int), card.points(X.iloc[:50])[clear]
    )
    with pytest.raises(ValueError, match="more than 500 columns"):
        large.to_sql("t", reasons=2)


def test_a_table_may_be_called_as_a_subquery():
    model, X = credit()
    with connected("sqlite") as database:
        database.write("sentences", X.drop(columns="opened").assign(opened=None).iloc[:5])
        result = database.read(model.to_sql("sentences", dialect="sqlite", reasons=1))
    assert len(result) == 5
    assert isinstance(result["reason_1"][0], str)


def test_what_cannot_be_exported_says_so():
    model, _ = credit()
    three, _, _ = fitted("three classes")
    with pytest.raises(ValueError, match="3 classes, and a score card is one of two"):
        three.to_sql("t", scorecard=True)
    with pytest.raises(ValueError, match="reasons=0 must be a whole number of at least 1"):
        model.to_python(reasons=0)
    with pytest.raises(ValueError, match="adverse='bad' says what reasons are for"):
        model.to_sql("t", adverse="bad")
    with pytest.raises(ValueError, match="adverse='ugly' is no class"):
        model.to_sql("t", reasons=1, adverse="ugly")
    with pytest.raises(ValueError, match="card of another model"):
        three.to_python(scorecard=model.scorecard())
    with pytest.raises(TypeError, match="scorecard=3 must be True, False"):
        model.to_python(scorecard=3)
    with pytest.raises(ValueError, match="read from text and remembers none"):
        read_rules(model.exact_text(), estimator=True).to_sql("t", reasons=1)
    with pytest.raises(ValueError, match="would be one"):
        model.to_sql("t", keep=["points"], scorecard=True)
