"""Usual outcomes of text values on the command line."""

import pandas as pd
import pytest
from command_line import done, refused
from models import fitted_on_cities

from neuralrules._cli import _rules
from neuralrules._cli._predict import UnseenCategories

pytestmark = pytest.mark.usefixtures("here")  # a folder with tables and models


@pytest.fixture
def cities(monkeypatch):
    """A model with usual outcomes, which the command `rules` reads instead of a file."""
    model, X, _ = fitted_on_cities("two classes")
    monkeypatch.setattr(_rules, "load_model", lambda path: model)
    return model, X


def test_the_values_of_text_columns_are_printed(cities):
    text = done("rules", "iris.nrules", "--categories").out
    assert text.startswith("city: 75 values\n  value ")
    assert "\n\ncode: 20 values\n" in text
    assert text.count(" %\n") == 75 + 20 + 2


def test_the_values_are_printed_as_json(cities):
    model, _ = cities
    records = done("rules", "iris.nrules", "--categories", "--json").record
    expected = model.categories_table()
    assert [record["value"] for record in records] == expected["value"].tolist()
    assert [record["usual"] for record in records] == expected["usual"].tolist()
    assert records[0].keys() == {"column", "value", "rows", "usual"}
    assert None in [record["value"] for record in records]


def test_a_model_without_usual_outcomes_says_so():
    text = done("rules", "iris.nrules", "--categories").out
    assert text.startswith("No column has usual outcomes. A text column has them if")
    assert done("rules", "iris.nrules", "--categories", "--json").record == []


@pytest.mark.parametrize(
    ("option", "name"),
    [("--exact", "--categories"), ("--style=sentences", "--categories")],
)
def test_options_that_do_not_go_together_are_refused(option, name):
    told = refused("rules", "iris.nrules", "--categories", option, code=2)
    assert told == f"{option.partition('=')[0]} is not for {name}, which prints no rules."


def test_history_and_categories_are_refused_together():
    told = refused("rules", "iris.nrules", "--categories", "--history", code=2)
    assert told == "--categories is not for --history, which prints no rules."


def test_values_with_usual_outcomes_are_not_called_unseen():
    """Of a column with a shared indicator, the model does not know all texts of the fit."""
    model, X, _ = fitted_on_cities("two classes")
    table = model.categories_table()
    known = table.loc[table["column"] == "city", "value"].tolist()
    notes = UnseenCategories(model)
    notes.look_at(pd.DataFrame({"city": known, "code": "01", "income": 2e4}))
    assert notes.texts() == []
    notes.look_at(X.iloc[:2].assign(city=["nowhere", None], code=["7", "77"]))
    assert notes.texts() == [
        f"1 of {len(known) + 2} cells of 'code' hold categories that the fit did not see, such "
        "as '77'.",
    ]
