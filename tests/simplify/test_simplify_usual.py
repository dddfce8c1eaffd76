"""Models with usual outcomes that are rounded, simplified, and edited as text."""

import numpy as np
import pytest
from models import USUAL_KINDS, fitted_on_cities, network_outputs


@pytest.mark.parametrize("kind", USUAL_KINDS)
def test_the_text_says_what_a_rounded_model_does(kind):
    model, X, y = fitted_on_cities(kind)
    rounded = model.round_numbers(X, y, precision=2).model
    again = rounded.round_numbers(X, y, precision=2).model
    assert again.rules_text(precision=2) == rounded.rules_text(precision=2)
    np.testing.assert_allclose(
        network_outputs(again, X), network_outputs(rounded, X), rtol=1e-4
    )
    shown = model.rules_table(precision=2)["text"].sort_index()
    assert rounded.rules_table(precision=2)["text"].sort_index().tolist() == shown.tolist()


def test_friendly_thresholds_are_round():
    model, X, y = fitted_on_cities("two classes")
    model = model.edit(replace={0: "usual(city) > 0.5037"})
    rounding = model.round_numbers(X, y, precision="friendly")
    assert rounding.model.rules_table().loc[0, "text"] == "usual(city) > 0.5"


@pytest.mark.parametrize("kind", USUAL_KINDS)
def test_smaller_models_can_be_read(kind):
    model, X, y = fitted_on_cities(kind)
    smaller = model.simplify(X, y, tolerance=0.1, X_val=X, y_val=y)
    assert smaller.network_.n_parameters < model.network_.n_parameters
    assert smaller.categories_table().equals(model.categories_table())
    assert smaller.rules_text(style="sentences")


@pytest.mark.parametrize("kind", ["two classes", "three classes", "two targets"])
def test_unchanged_rules_keep_their_bits_if_the_text_changes(kind):
    model, X, _ = fitted_on_cities(kind)
    text = model.exact_text()
    head, *rules = text.split("\nrule ")
    changed = model.edit(text="\nrule ".join([head, *rules[1:]]))
    kept = model.edit(drop=[0])
    np.testing.assert_array_equal(network_outputs(changed, X), network_outputs(kept, X))
    assert "read from text" not in changed.lineage_text()


def test_a_new_rule_may_use_usual_outcomes():
    model, _, _ = fitted_on_cities("three classes")
    rule = '\nrule 99 value [1.0, 0.0, 0.0]\n  + 1.0 * usual("city", "late") - 0.13\n'
    changed = model.edit(text=model.exact_text() + rule)
    assert changed.rules_table()["text"].sort_index().iloc[-1] == "usual(city, late) > 0.13"
    assert "read from text" not in changed.lineage_text().splitlines()[-1]
    assert changed.encoder_ is model.encoder_ or changed.encoder_ == model.encoder_


def test_other_usual_outcomes_in_the_text_count():
    """A person may correct the usual outcome of a value, or add a value."""
    model, X, _ = fitted_on_cities("two classes")
    lines = model.exact_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith('  "town0" '))
    rows = lines[place].split()[1]
    lines[place] = f'  "town0" {rows} [0.01]'
    lines.insert(place + 1, '  "New Town" 0 [0.99]')
    changed = model.edit(text="\n".join(lines) + "\n")
    table = changed.categories_table().query("column == 'city'").set_index("value")
    assert table.loc["town0", "usual"] == 0.01
    assert table.loc["New Town"].tolist()[1:] == [0, 0.99]
    row = X.iloc[[5]]
    assert changed.decision_function(row.assign(city="New Town")) != model.decision_function(
        row.assign(city="New Town")
    )
