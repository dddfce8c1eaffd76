"""Model files read for their predictions alone."""

import numpy as np
import pytest
from models import EVERY_MODEL, fitted

from neuralrules import ModelFileError
from neuralrules._estimators._base import checked_table, engine_of
from neuralrules._files import stored_model


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_it_predicts_as_the_model_does(kind, deep, tmp_path):
    model, X, _ = fitted(kind, deep)
    stored = stored_model(model.save(tmp_path / "model.nrules"))
    assert stored.encoder_ == model.encoder_
    table = checked_table(model, X)
    outputs = stored.fitted_.decide(table, stored.deciding_engine())
    expected = model.fitted_.decide(table, engine_of(model))
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-4)


def test_the_engine_of_the_model_is_kept(tmp_path):
    model, X, _ = fitted("two classes")
    plain = model._with(model.fitted_).set_params(engine="numpy", n_jobs=2)
    stored = stored_model(plain.save(tmp_path / "model.nrules"))
    assert (stored.engine, stored.n_jobs) == ("numpy", 2)
    outputs = stored.fitted_.decide(X, stored.deciding_engine())
    np.testing.assert_array_equal(outputs, plain.fitted_.decide(X, engine_of(plain)))


def test_a_damaged_file_is_refused_with_its_name(tmp_path):
    model, _, _ = fitted("two classes")
    path = model.save(tmp_path / "model.nrules")
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(ModelFileError, match=r"model\.nrules' cannot be loaded: "):
        stored_model(path)
