"""The what-if panel knows the usual outcome of each value of a text column."""

import numpy as np
import pandas as pd
import pytest
from test_report_browser import TYPE_ROWS, cells_of
from usual_models import TASKS, fitted_on_texts, network_outputs, rows_of

from neuralrules._report import _page_model
from neuralrules._report._page_model import option_numbers, page_columns, page_formula


def scores(model, answers):
    """Probabilities, or numbers (n_rows, n_targets) in deviations of the targets."""
    if hasattr(model, "classes_"):
        return [answer["probabilities"] for answer in answers]
    task = model.fitted_.task
    return (np.array([answer["numbers"] for answer in answers]) - task.centre) / task.scale


@pytest.mark.parametrize("task", TASKS)
def test_encoded_columns_are_those_of_the_encoder(task, browser):
    """Bit for bit, for all spellings of all values, unseen values, and holes."""
    model, X = fitted_on_texts(task)
    fitted, rows = model.fitted_, rows_of(X)
    columns = page_columns(fitted, None, None)
    cells = []
    for column in columns:
        if column["kind"] == "number":
            numbers = rows[column["name"]]
            cells.append([None if np.isnan(number) else number for number in numbers])
        else:
            own = column["source"], column["keys"]
            cells.append(option_numbers(fitted.encoder, *own, rows))
    script = (
        f"(rows) => {{ {page_formula(fitted, columns)}; return rows.map(encodedColumns); }}"
    )
    page = browser.new_page()
    found = page.evaluate(script, [list(row) for row in zip(*cells, strict=True)])
    page.close()
    used = fitted.network.without_unused_features().features
    expected = fitted.encoder.transform(rows)[:, used]
    np.testing.assert_array_equal(np.array(found, np.float32), expected)


@pytest.mark.parametrize("task", ["two classes", "three classes", "two numbers"])
def test_the_panel_scores_every_value_as_the_model_does(task, tmp_path, visit):
    model, X = fitted_on_texts(task)
    rows = rows_of(X)
    # The panel offers names of values, and no other spellings of them.
    names = {*X["city"].dropna(), "Atlantis"} - {"unknown"}
    rows["city"] = rows["city"].where(rows["city"].isin(names), None)
    rows["code"] = rows["code"].replace("7", "07")
    page = visit(model.report(tmp_path / "page.html"))
    answers = page.evaluate(TYPE_ROWS, cells_of(page, rows))
    expected = network_outputs(model, rows)
    np.testing.assert_allclose(scores(model, answers), expected, atol=1e-5)
    used = model.network_.without_unused_features().features
    encoded = np.array([answer["encoded"] for answer in answers])
    np.testing.assert_array_equal(encoded, model.encoder_.transform(rows)[:, used])


def test_the_most_common_values_have_options(monkeypatch):
    monkeypatch.setattr(_page_model, "MOST_OPTIONS", 70)
    model, _ = fitted_on_texts("number")
    values = model.encoder_.values_of(0)
    (column,) = [c for c in page_columns(model.fitted_, None, None) if c["source"] == 0]
    assert column["hint"] == f"70 of {len(values.names)} values"
    rows = dict(zip(values.names, values.rows, strict=True))
    left_out = set(values.names) - set(column["keys"])
    assert len(column["keys"]) == 70
    assert left_out
    assert max(rows[name] for name in left_out) <= min(
        rows[name] for name in column["keys"][63:]
    )


def test_the_rarest_values_have_no_option_except_those_of_examples(
    monkeypatch, tmp_path, visit
):
    monkeypatch.setattr(_page_model, "MOST_OPTIONS", 70)
    model, X = fitted_on_texts("number")
    n_values = len(model.encoder_.values_of(0).names)
    (column,) = [c for c in page_columns(model.fitted_, None, None) if c["source"] == 0]
    left_out = set(model.encoder_.values_of(0).names) - set(column["keys"])
    rows = X[X["city"].isin(left_out)].drop_duplicates("city").head(5)
    rows = pd.concat([rows, X.head(5)], ignore_index=True)
    page = visit(model.report(tmp_path / "page.html", rows, n_examples=10))
    assert f"of {n_values} values" in page.inner_text("#what-if-form")
    for row in range(10):
        page.select_option("#example", label=f"row {row}")
        shown = float(page.get_attribute("#prediction b", "title"))
        assert shown == pytest.approx(model.predict(rows)[row], rel=1e-5)
