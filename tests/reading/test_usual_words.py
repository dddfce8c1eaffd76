"""Usual outcomes of text values in texts: right words, and texts that say what is so."""

import re

import numpy as np
import pandas as pd
import pytest
from models import (
    USUAL_KINDS,
    activity_on,
    fitted_on_cities,
    network_outputs,
    with_fitted,
)

from neuralrules import NeuralRuleClassifier, read_rules
from neuralrules._data._columns import Usual
from neuralrules._reading._categories_table import categories_text
from neuralrules._reading._conditions import reach, usual_of
from neuralrules._reading._reasons import rows_of_table
from neuralrules._reading._wording import EVERY_ROW, held_text, row_words

EVERY = [(kind, deep) for kind in USUAL_KINDS for deep in (False, True)]


def hard_rows(X):
    """The rows with an unseen city, a missing one and other spellings too."""
    rows = X.copy()
    rows.loc[:4, "city"] = ["never seen", None, "7", "7.0", ""]
    rows.loc[:4, "code"] = ["99", None, "3", "03", "3.0"]
    return rows


def outputs(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


def with_literal(literal, kind="two classes"):
    """The same model with a single rule of one literal, as its exact text says it."""
    model, X, y = fitted_on_cities(kind)
    head = model.exact_text().partition("\nrule 0 ")[0]
    n_outputs = model.network_.n_outputs
    text = f"{head}\nrule 0 value {[1.0, *[0.0] * (n_outputs - 1)]}\n  {literal}\n"
    return model.edit(text=text), X, y


# ------------------------------------------------------------------------------- exact text


@pytest.mark.parametrize(("kind", "deep"), EVERY)
def test_exact_text_is_read_back(kind, deep):
    model, X, _ = fitted_on_cities(kind, deep)
    rows, text = hard_rows(X), model.exact_text()
    rules, again = read_rules(text), read_rules(text, estimator=True)
    expected = outputs(model, rows)
    found = rules.decision_function(rows)
    np.testing.assert_allclose(
        found.reshape(expected.shape), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max()
    )
    np.testing.assert_allclose(outputs(again, rows), expected, rtol=1e-6, atol=1e-6)
    assert again.exact_text() == text
    pd.testing.assert_frame_equal(again.categories_table(), model.categories_table())
    assert again.rules_text().count("usual(") > 0


def test_exact_text_names_classes_and_targets():
    """A single outcome needs no name."""
    texts = {kind: fitted_on_cities(kind)[0].exact_text() for kind in USUAL_KINDS}
    assert 'usual("city")' in texts["two classes"]
    assert 'usual("city", "good")' in texts["three classes"]
    assert 'usual("city")' in texts["numbers"]
    assert 'usual("city", 1)' in texts["two targets"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('  "007" ', '  "008" ', "category '007' of column 'city' must have usual outcomes"),
        ('  "town0" ', '  "007" ', "the value '007' stands here twice"),
        ('  "007" ', "  007 ", "is not a value, its rows and its usual outcomes"),
        (
            'usual "city" mean',
            'usual "town" mean',
            "usual outcomes of column 'city' must stand",
        ),
        ('usual "city" mean [', 'usual "city" mean [0.5, ', "expected 1 usual outcomes"),
        ("deviation [0", "deviation [-0", "a deviation must be above 0"),
        ("otherwise [", "otherwise [1e300, ", "expected 1 usual outcomes"),
        ('* usual("city")', '* usual("city", "bad")', "has no usual outcomes of"),
        ('* usual("city")', '* usual("income")', "column 'income' has no usual outcomes here"),
        (
            'column "income"',
            'usual "code" mean [0] deviation [1] otherwise [0]\ncolumn "income"',
            '\'usual "code" mean',
        ),
    ],
)
def test_exact_text_with_a_mistake_is_refused(old, new, message):
    text = fitted_on_cities("two classes")[0].exact_text()
    assert old in text
    with pytest.raises(ValueError, match=r"Line [0-9]+ of the rules: ") as caught:
        read_rules(text.replace(old, new, 1))
    assert message in str(caught.value)


def test_exact_text_of_a_regression_has_as_many_outcomes_as_targets():
    text = fitted_on_cities("two targets")[0].exact_text()
    fewer = re.sub(r"^usual .*\n(  .*\n)+", "", text, count=1, flags=re.M)  # city has none
    with pytest.raises(ValueError, match=r"column 'city' has no usual outcomes"):
        read_rules(fewer)
    text = fitted_on_cities("numbers")[0].exact_text().replace("flat true", "flat false")
    text = re.sub(r"\nscale .*", "", text)
    one = re.sub(r"intercept \[(.*)\]", r"intercept [\1, 0.0]", text)
    with pytest.raises(ValueError, match="column 'city' has 1 usual outcomes for 2 targets"):
        read_rules(one)


# -------------------------------------------------------------------------------- conditions


def test_a_threshold_is_worded_everywhere():
    model, X, _ = fitted_on_cities("two classes")
    changed = model.edit(replace={0: "usual(city) > 0.5"})
    text = changed.rules_table().loc[0, "text"]
    assert text == "usual(city) > 0.5"
    fires = changed.explain(X).to_frame().query("rule == 0")["row"].to_numpy()
    usual = model.categories_table().query("column == 'city'").set_index("value")["usual"]
    usual = {None if pd.isna(value) else value: rate for value, rate in usual.items()}
    other = model.encoder_.columns_of(0)[-1].otherwise  # early stopping held out some cities
    high = [usual.get(None if pd.isna(city) else city, other) > 0.5 for city in X["city"]]
    assert sorted(fires) == np.flatnonzero(high).tolist()
    assert (
        "usual(city) is the rate of good among the training rows with the same city. If such "
        "rows are few, it is drawn towards that of all rows."
    ) in changed.rules_text()


@pytest.mark.parametrize(
    ("literal", "inequality", "sentence"),
    [
        (
            '+ 2.0 * usual("city") - 1.0',
            "usual(city) > 0.5",
            "city whose usual rate of good is above 50 %",
        ),
        (
            '- 1.0 * usual("city") + 0.255',
            "usual(city) < 0.255",
            "city whose usual rate of good is below 25.5 %",
        ),
        # The value has one usual outcome, so the sentence says only whether it passes.
        (
            '+ 1.0 * usual("city") + 1.0 * ["city" = "town16"] - 0.9',
            "usual(city) + [city = town16] > 0.9",
            "city whose usual rate of good is above 90 % (also where city = town16)",
        ),
        (
            '+ 1.0 * usual("city") - 1.0 * ["city" = "town0"] - 0.5',
            "usual(city) - [city = town0] > 0.5",
            "city whose usual rate of good is above 50 % (not where city = town0)",
        ),
        (
            '+ 1.0 * usual("city") + 0.3 * ["city" is missing] - 0.5',
            "usual(city) + 0.3·[city is missing] > 0.5",
            "city whose usual rate of good is above 50 %",
        ),
        (
            '+ 1.0 * usual("city") + 0.2 * ["city" is rare] - 0.7',
            "usual(city) + 0.2·[city = a rare value] > 0.7",
            "city whose usual rate of good is above 70 % "
            "(above 50 % where city = a rare value)",
        ),
        # No usual outcome reaches the threshold, so only the value decides.
        (
            '+ 1.0 * usual("city") + 1.0 * ["city" = "town16"] - 1.1',
            "usual(city) + [city = town16] > 1.1",
            "city is town16",
        ),
        (
            '+ 1.0 * usual("city") + 0.00001 * "income" - 0.9',
            "usual(city) + 1e-05·income > 0.9",
            "city whose usual rate of good is above 65.6 % "
            "(at income 24400; 10 percentage points less per 10000 more of income)",
        ),
        # No city has the usual outcome that a threshold on it would name, and no code either.
        (
            '+ 1.0 * usual("city") - 20.0 * usual("code") - 5.0 * ["code" = "03"] + 13.2',
            "[code = 03] - 0.2·usual(city) + 4·usual(code) < 2.64",
            "[code = 03] - 0.2·usual(city) + 4·usual(code) < 2.64",
        ),
    ],
)  # fmt: skip
def test_literals_become_inequalities_and_sentences(literal, inequality, sentence):
    model, X, y = with_literal(literal)
    assert model.rules_table()["text"].tolist() == [inequality]
    frame = measured(model, X, y)
    says = (
        frame.rules_text(style="sentences")
        .split("Rule 0 (an expert's rule): ")[1]
        .split(".\n  Concerns")[0]
    )
    assert says == sentence


def measured(model, X, y):
    """The model, which knows how its rules fire on some rows."""
    return with_fitted(model, activity=activity_on(model, X, y))


def test_several_outcomes_are_named():
    model, _, _ = with_literal('+ 1.0 * usual("city", "late") - 0.15', "three classes")
    assert model.rules_table()["text"].tolist() == ["usual(city, late) > 0.15"]
    assert "usual(city, late) is the rate of late among the" in model.rules_text()
    literal = '+ 1.0 * usual("city", "late") - 1.0 * usual("city", "good") + 0.5'
    model, X, y = with_literal(literal, "three classes")
    text = measured(model, X, y).rules_text(style="sentences")
    assert re.search(
        r"city whose usual rate of good is below \d+(\.\d+)? % \(at city with a usual rate of "
        r"late of \d+(\.\d+)? %; 1 percentage point more per 1 percentage point more of the "
        r"usual rate of late of city\)", text
    ), text  # fmt: skip
    model, X, y = with_literal('+ 1.0 * usual("city", 1) - 3.3', "two targets")
    assert model.rules_table()["text"].tolist() == ["usual(city, 1) > 3.3"]
    assert "usual(city, 1) is the mean of target 1 among the" in model.rules_text()
    sentences = measured(model, X, y).rules_text(style="sentences")
    assert "city whose usual target 1 is above 3.3." in sentences
    model, X, y = with_literal('+ 1.0 * usual("city") - 141.5', "numbers")
    assert "city whose usual target is above 141.5." in measured(model, X, y).rules_text(
        style="sentences"
    )


def test_outcomes_of_one_column_are_not_merged():
    """Each outcome has a threshold of its own; two bounds on one outcome become a range."""
    rules = {
        0: "usual(city, good) > 0.3 and usual(city, late) > 0.1 and usual(city, good) < 0.6"
    }
    model, X, y = fitted_on_cities("three classes")
    model = measured(model.edit(replace=rules), X, y)
    text = model.rules_text(style="sentences")
    assert (
        "Rule 0 (an expert's rule): city whose usual rate of good is between 30 % and 60 % and "
        "city whose usual rate of late is above 10 %."
    ) in text


def test_a_tree_rule_does_not_repeat_what_a_value_implies():
    model, _, _ = fitted_on_cities("two classes")
    both = model.edit(replace={0: "city = town0 and usual(city) > 0.3"})
    shown = both.rules_table().loc[0, "tree_rule"]
    assert shown == "city = town0"
    apart = model.edit(replace={0: "city != town0 and usual(city) > 0.3"})
    assert apart.rules_table().loc[0, "tree_rule"] == "usual(city) > 0.3 and city ≠ town0"


@pytest.mark.parametrize("kind", USUAL_KINDS)
def test_reach_is_that_of_all_values(kind):
    """The lowest and the highest sum over all values, known or not, and not beyond."""
    model, _, _ = fitted_on_cities(kind)
    encoder = model.encoder_
    rng = np.random.RandomState(0)
    source = encoder.names.index("city")
    names, cells = encoder.cells_with_each(source)
    places = np.flatnonzero([column.source == source for column in encoder.columns])
    for _ in range(5):
        weights = rng.randn(len(places)) * (rng.rand(len(places)) < 0.5)
        weights[-1] = 1.0
        table = np.stack([encoder.columns[place].encode(cells) for place in places], axis=1)
        sums = table.astype(float) @ weights + 0.5
        found = reach(encoder, places, weights, 0.5)
        np.testing.assert_allclose(found, (sums.min(), sums.max()), rtol=1e-6)
    assert len(names) == len(encoder.values_of(source).names)


def test_a_category_has_one_usual_outcome():
    model, _, _ = fitted_on_cities("two classes")
    columns = model.encoder_.columns_of(0)
    usual = next(column for column in columns if isinstance(column, Usual))
    table = model.categories_table().query("column == 'city'").set_index("value")["usual"]
    for column in columns[:5]:
        assert usual_of(usual, column) == table[column.category]
    assert usual_of(columns[0], columns[1]) is None
    assert usual_of(usual, model.encoder_.columns_of(1)[0]) is None


# ----------------------------------------------------------------------------------- one row


def facts(literal, row, kind="missed"):
    model, _, _ = with_literal(literal)
    table = pd.DataFrame([row], columns=["city", "code", "income"])
    return row_words(model.fitted_, 0, rows_of_table(model.fitted_, table)[0], kind)


def test_reasons_name_the_value_and_its_usual_outcome():
    model, _, _ = fitted_on_cities("two classes")
    usual = model.categories_table().query("column == 'city'").set_index("value")["usual"]
    low = usual[usual < 0.4].index[0]
    literal = '+ 1.0 * usual("city") - 0.4999'
    percent = f"{100 * usual[low]:.2f}".rstrip("0").rstrip(".")
    lacks = f"{50 - round(100 * usual[low], 2):.2f}".rstrip("0").rstrip(".")
    assert facts(literal, [low, "01", 2e4]) == (
        f"city is {low}, whose usual rate of good is {percent} %, not above 50 % "
        f"({lacks} percentage points too low)"
    )
    literal = '+ 1.0 * usual("city") - 0.3999'
    assert facts(literal, ["never seen", "01", 2e4], "against") == (
        'city is "never seen", whose usual rate of good is 47 %, above 39.9 %'
    )
    assert facts(literal, [None, "01", 2e4], "against").startswith("city is missing, whose")


def test_reasons_list_values_that_would_pass():
    """If an indicator weighs most, the values that pass are listed, and only those."""
    literal = '+ 9.0 * ["city" = "town1"] + 1.0 * usual("city") - 0.93'
    assert facts(literal, ["town0", "01", 2e4]) == "city is town0, not town1"
    literal = '- 9.0 * ["city" = "town0"] + 1.0 * usual("city") - 0.5'
    said = facts(literal, ["town0", "01", 2e4])
    model, _, _ = with_literal(literal)
    names, cells = model.encoder_.cells_with_each(0)
    table = pd.DataFrame({"city": names, "code": "01", "income": 2e4})
    passes = set(model.explain(table).to_frame().query("rule == 0")["row"])
    passing = [names[row] for row in sorted(passes)]
    assert said.startswith(
        f"city is town0, not {', '.join(map(held_text, passing[:4]))} or one"
    )
    assert said.endswith(f" or one of {len(passing) - 4} other values")
    assert len(cells.codes) == len(names) + 1


@pytest.mark.parametrize("kind", [kind for kind in USUAL_KINDS if kind != "two targets"])
def test_reasons_can_be_given_for_every_row(kind):
    model, X, _ = fitted_on_cities(kind)
    said = model.reasons(hard_rows(X).iloc[:40], k=9).to_frame()["text"]
    assert said.str.contains("whose usual (?:rate of good|rate of late|target) is").any()
    assert not said.str.contains("nan|None").any()


def test_explanations_have_no_slope_along_texts():
    model, X, _ = fitted_on_cities("two classes")
    explanation = model.explain(X.iloc[:30])
    assert np.isnan(explanation.slopes[:, :2]).all()
    assert np.isfinite(explanation.slopes[:, 2]).all()
    contributions = np.zeros(30)
    np.add.at(contributions, explanation.rows, explanation.contributions[:, 0])
    expected = model.decision_function(X.iloc[:30]) - explanation.intercept
    np.testing.assert_allclose(contributions, expected, atol=1e-6)


# ------------------------------------------------------------------------------------ shapes


@pytest.mark.parametrize("kind", USUAL_KINDS)
def test_shapes_move_a_text_over_its_values(kind):
    model, X, _ = fitted_on_cities(kind)
    rows = hard_rows(X).iloc[:50]
    (shape,) = model.shapes(rows, ["city"], n_values=70)
    names = [name for name in shape.values if name != "another value"]
    known = set(model.categories_table().query("column == 'city'")["value"])
    assert set(names) <= known
    assert len(names) == min(len(known), 70) or set(rows["city"].dropna()) & known <= set(names)
    for name in names[::9]:
        moved = rows.assign(city=name)
        np.testing.assert_allclose(
            shape.outputs[list(shape.values).index(name)],
            network_outputs(model, moved).mean(axis=0),
            rtol=1e-5,
            atol=1e-5,
        )
    assert shape.shares.sum() == pytest.approx(1)
    model.shapes(rows, [("city", "income")])


def test_shapes_bound_the_number_of_values():
    """Values with an indicator, the most frequent others, and one for all others."""
    model, X, _ = fitted_on_cities("two classes")
    (shape,) = model.shapes(X, ["city"], n_values=66)
    n_indicators = sum(
        column.stored_as == "category" for column in model.encoder_.columns_of(0)
    )
    assert len(shape.values) == 67
    assert n_indicators == 63
    (few,) = model.shapes(X, ["city"], n_values=5)
    assert len(few.values) == 64
    other = list(few.values).index("another value")
    n_left = (~X["city"].isin(few.values) & X["city"].notna()).sum()
    assert few.shares[other] == pytest.approx(n_left / len(X))


# ------------------------------------------------------------------------------------- table


def test_categories_table_lists_rows_and_usual_outcomes():
    model, X, y = fitted_on_cities("two classes")
    table = model.categories_table()
    assert table.columns.tolist() == ["column", "value", "rows", "usual"]
    cities = table[table["column"] == "city"]
    assert cities["rows"].tolist() == sorted(cities["rows"], reverse=True)
    counts = X["city"].where(X["city"].notna(), None)[y != ""].value_counts(dropna=False)
    assert cities["rows"].sum() <= len(X)
    assert (cities["rows"].to_numpy() <= counts[cities["value"]].to_numpy()).all()
    town = cities["value"].iloc[0]
    rate = (y[X["city"] == town] == "good").mean()
    assert cities["usual"].iloc[0] == pytest.approx(rate, abs=0.05)
    assert "Alone" not in set(cities["value"])  # cities with one row share a usual outcome
    assert None in cities["value"].tolist()


def test_categories_table_names_several_outcomes():
    model, _, _ = fitted_on_cities("three classes")
    assert model.categories_table().columns.tolist()[3:] == ["usual_good", "usual_late"]
    model, _, _ = fitted_on_cities("two targets")
    assert model.categories_table().columns.tolist()[3:] == ["usual_0", "usual_1"]


def test_categories_table_of_a_model_without_usual_outcomes_is_empty():
    X = np.arange(40.0)[:, None]
    model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 20)
    assert model.categories_table().columns.tolist() == ["column", "value", "rows", "usual"]
    assert len(model.categories_table()) == 0
    assert categories_text(model.fitted_).startswith("No column has usual outcomes.")


def test_categories_text_aligns_its_columns():
    model, _, _ = fitted_on_cities("two classes")
    blocks = categories_text(model.fitted_).split("\n\n")
    lines = blocks[0].splitlines()
    assert lines[0] == "city: 75 values"
    assert lines[1].split() == ["value", "rows", "usual", "rate", "of", "good"]
    assert len({len(line) for line in lines[1:]}) == 1
    assert lines[-1].split()[:3] == ["any", "other", "value"]
    assert len(lines) == 75 + 3
    assert blocks[1].startswith("code: 20 values")


def test_every_style_of_text_works_for_every_kind():
    for kind, deep in EVERY:
        model, X, y = fitted_on_cities(kind, deep)
        for text in (
            model.rules_text(),
            model.rules_text(style="sentences"),
            str(model.explain(X.iloc[:3])),
            str(model.rules_table()["text"].tolist()),
        ):
            assert "usual" in text
            assert "None" not in text
        if kind in ("two classes", "quantiles", "numbers"):
            assert "usual" in str(model.scorecard(X, y))
    assert EVERY_ROW == "every row"
