"""What a model remembers of what was done to it."""

import copy
import getpass
import os
import pickle
from datetime import UTC, datetime

import numpy as np
import pytest
from models import credit_table, with_fitted
from sklearn.base import clone
from sklearn.datasets import load_iris

from neuralrules import NeuralRuleClassifier, NeuralRuleClassifierCV, load, read_rules
from neuralrules._fitted._lineage import (
    IN_PARTS,
    MOST_EVENTS,
    TIME,
    TRAINED,
    event,
    followed,
)
from neuralrules._version import __version__

X, Y = load_iris(return_X_y=True)
QUICK = {"n_trees": 2, "max_depth": 2, "n_epochs": 2, "random_state": 0}


def small(**options):
    return NeuralRuleClassifier(**{**QUICK, **options})


def told(model):
    return [one.what for one in model.lineage_]


def test_a_fit_says_who_when_with_what_and_on_how_many_rows(monkeypatch):
    monkeypatch.delenv(TIME, raising=False)
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    before = datetime.now(UTC).replace(microsecond=0)
    weights = np.ones(len(Y))
    weights[:20] = 0
    model = small().fit(X, Y, weights)
    (one,) = model.lineage_
    when = datetime.strptime(one.when, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert before <= when <= datetime.now(UTC)
    assert (one.what, one.who, one.version) == ("grown and trained", "ada", __version__)
    network = model.network_
    assert one.summary == f"{network.n_rules} rules, {network.n_literals} literals, 2 epochs"
    assert one.n_rows == 130
    assert model.lineage_text() == (
        f"{one.when[:10]} {one.when[11:19]} UTC  grown and trained by ada: {one.summary}, on "
        f"130 rows (neuralrules {__version__})"
    )


def test_every_change_is_remembered_and_the_model_before_it_forgets_nothing(tmp_path):
    table, y = credit_table(400)
    model = small().fit(table, y)
    edited = model.edit(drop=[0, 2], values={1: 0.5}, freeze=[3])
    refitted = edited.refit(table, y)
    rounded = refitted.round_numbers(table, y, precision=3).model
    smaller = rounded.simplify(table, y, tolerance=0.5, X_val=table, y_val=y)
    whole = ["grown and trained", "edited", "refitted", "rounded", "simplified"]
    assert told(smaller) == whole
    assert told(rounded) == whole[:4]
    assert told(model) == whole[:1]
    assert edited.lineage_[1].summary == (
        "rules 0, 2 dropped; rule 1 given another value; rule 3 frozen"
    )
    assert smaller.lineage_[4].summary.startswith(f"{rounded.network_.n_rules} rules, ")
    again = load(smaller.save(tmp_path / "m"))
    assert again.lineage_ == smaller.lineage_
    assert told(read_rules(again.exact_text(), estimator=True)) == ["read from text"]
    for other in (copy.deepcopy(smaller), pickle.loads(pickle.dumps(smaller))):
        assert other.lineage_ == smaller.lineage_
    assert not hasattr(clone(smaller), "fitted_")


def test_calls_of_partial_fit_are_one_event():
    model = small(early_stopping=False, n_trees=1)
    for _ in range(4):
        model.partial_fit(X, Y)
    model.edit().partial_fit(X[:10], Y[:10], classes=np.unique(Y))
    assert told(model) == ["grown and trained", "trained in parts"]
    assert model.lineage_[1].n_rows == 450


def test_warm_starts_add_and_fits_begin_again():
    model = small(warm_start=True).fit(X, Y)
    assert told(model.fit(X, Y)) == ["grown and trained", "trained further"]
    assert told(model.set_params(warm_start=False).fit(X, Y)) == ["grown and trained"]


def test_a_search_says_what_it_compared():
    candidates = [{"max_depth": 1}, {"max_depth": 2}]
    search = NeuralRuleClassifierCV(candidates=candidates, cv=2, **QUICK)
    (one,) = search.fit(X, Y).lineage_
    assert one.summary.endswith("epochs, the best of 2 candidates")


def test_a_time_that_is_told_makes_files_the_same(monkeypatch, tmp_path):
    monkeypatch.setenv(TIME, "86400")
    monkeypatch.setattr(getpass, "getuser", lambda: os.urandom(4).hex())
    files = [small().fit(X, Y).save(tmp_path / name).read_bytes() for name in "ab"]
    assert files[0] == files[1]
    (one,) = load(tmp_path / "a").lineage_
    assert (one.when, one.who) == ("1970-01-02T00:00:00Z", "")


@pytest.mark.parametrize("nonsense", ["", "soon", "9" * 30, "-1e3"])
def test_a_time_that_is_none_counts_for_nothing(monkeypatch, nonsense):
    monkeypatch.setenv(TIME, nonsense)
    assert event(TRAINED, "").when > "2020"


def test_a_system_without_names_is_no_error(monkeypatch, tmp_path):
    def nobody():
        raise OSError("no username set in the environment")

    monkeypatch.delenv(TIME, raising=False)
    monkeypatch.setattr(getpass, "getuser", nobody)
    model = small().fit(X, Y)
    assert model.lineage_[0].who == ""
    monkeypatch.setattr(getpass, "getuser", lambda: "a\nb\udcff" + "c" * 1000)
    model = small().fit(X, Y)
    assert load(model.save(tmp_path / "m")).lineage_ == model.lineage_
    assert len(model.lineage_[0].who) == 300


def test_a_long_life_keeps_its_beginning_and_its_end():
    lineage = ()
    for number in range(MOST_EVENTS + 5):
        lineage = followed(lineage, event(TRAINED, str(number)))
    assert len(lineage) == MOST_EVENTS
    kept = [one.summary for one in lineage]
    assert kept[:2] == ["0", "6"]
    assert kept[-1] == str(MOST_EVENTS + 4)
    parts = followed(followed(lineage, event(IN_PARTS, "")), event(IN_PARTS, ""))
    assert len(parts) == MOST_EVENTS


def test_a_file_without_a_history_says_so(tmp_path):
    model = with_fitted(small().fit(X, Y), lineage=())
    assert load(model.save(tmp_path / "m")).lineage_text() == (
        "What was done to this model is not known: its file does not say."
    )


def test_a_report_tells_it_and_escapes_it(tmp_path, monkeypatch):
    monkeypatch.delenv(TIME, raising=False)
    monkeypatch.setattr(getpass, "getuser", lambda: "<b>ada</b>")
    model = small().fit(X, Y)
    page = model.report(tmp_path / "page.html").read_text()
    assert "<b>ada" not in page
    assert "by &lt;b&gt;ada&lt;/b&gt;, with neuralrules" in page
