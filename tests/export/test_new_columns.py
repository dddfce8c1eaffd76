"""A kind of column that no export knows is exported by its expression; its words are apart."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from databases import DIALECTS, connected
from models import with_fitted

from neuralrules import NeuralRuleRegressor
from neuralrules._data._columns import Number
from neuralrules._data._numbers import LARGEST
from neuralrules._expression import _nodes as ops
from neuralrules._reading._column_words import COLUMN_WORDS


@dataclass(frozen=True)
class Root(Number):
    """The square root of a number, 0 for negative numbers."""

    stored_as: ClassVar[str] = "root"

    def raw(self, cells):
        return np.sqrt(np.maximum(cells, 0))

    def expression(self, spellings):
        filled = ops.Filled(ops.Cell(self.source), self.mean**2)
        return ops.Call("sqrt", ops.Bounded(filled, 0.0, float(LARGEST)))


@pytest.fixture(scope="module")
def rooted():
    """A model whose column "area" has been replaced, and rows."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"area": rng.exponential(9, 300), "other": rng.randn(300)})
    X["city"] = rng.choice(["Oslo", "Rome"], 300)
    X.loc[::9, "other"] = np.nan
    y = np.sqrt(X["area"]) + (X["city"] == "Rome") + X["other"].fillna(2)
    model = NeuralRuleRegressor(3, n_trees=4, n_epochs=10, random_state=0).fit(X, y)
    encoder = model.encoder_
    (place,) = (i for i, c in enumerate(encoder.columns) if c.source == 0)
    root = np.sqrt(X["area"])
    columns = [*encoder.columns]
    columns[place] = Root(0, mean=float(root.mean()), scale=float(root.std()))
    model = with_fitted(model, encoder=replace(encoder, columns=columns))
    rows = X.head(60).copy()
    rows.loc[:5, "area"] = [-3.0, 0.0, 1e6, np.nan, 2.25, -0.0]
    rows.loc[10:14, "city"] = None
    assert np.ptp(model.predict(rows.assign(other=0.0, city="Oslo"))) > 1
    return model, rows


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sql(rooted, dialect):
    model, rows = rooted
    with connected(dialect) as database:
        database.write("rows", rows.assign(row=np.arange(len(rows))))
        found = database.read(model.to_sql("rows", dialect=dialect, keep=["row"]))
    found = found.sort_values("row")["prediction"].to_numpy(float)
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-5, atol=1e-5)


def test_onnx(rooted):
    model, rows = rooted
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    texts = rows["city"].fillna("").to_numpy(object)
    cells = {name: rows[name].to_numpy()[:, None] for name in ("area", "other")}
    (found,) = session.run(None, cells | {"city": texts[:, None]})
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-5, atol=1e-5)


def test_python(rooted, monkeypatch):
    model, rows = rooted
    monkeypatch.setitem(COLUMN_WORDS, Root, COLUMN_WORDS[Number])  # for comments
    module = {}
    exec(model.to_python(), module)
    found = [module["predict"](row) for row in rows.to_dict("records")]
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-5, atol=1e-5)


@dataclass(frozen=True)
class Unknown:
    value: ops.Number


def test_an_operation_without_words_is_refused(rooted):
    model, _ = rooted

    class Odd(Root):
        def expression(self, spellings):
            return Unknown(ops.Cell(self.source))

    columns = [Odd(0) if isinstance(c, Root) else c for c in model.encoder_.columns]
    odd = with_fitted(model, encoder=replace(model.encoder_, columns=columns))
    for export, says in (
        (lambda: odd.to_sql("rows"), "SQL has no words for"),
        (odd.to_onnx, "ONNX has no nodes for"),
        (odd.to_python, "Python modules have no code for"),
    ):
        with pytest.raises(TypeError, match=rf"^{says} Unknown"):
            export()
