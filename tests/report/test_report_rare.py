"""The report of a rare class: its numbers are those of scikit-learn on the same rows."""

import json
import math
import re

import numpy as np
import pytest
from models import credit_table
from sklearn.datasets import load_iris
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    f1_score,
    log_loss,
    precision_recall_fscore_support,
    precision_score,
    recall_score,
)

from neuralrules import NeuralRuleClassifier
from neuralrules._estimators._base import encoded_rows, engine_of
from neuralrules._fitted._performance import errors_by_size
from neuralrules._report._performance_section import class_lines, class_order


@pytest.fixture(scope="module")
def credit():
    X, y = credit_table(3000)
    return NeuralRuleClassifier(random_state=0, n_epochs=15).fit(X, y), X, y


def metrics_of(path):
    """Names and full numbers of the metrics of a page."""
    page = path.read_text("utf-8")
    part = page.split('<dl class="metrics">')[1].split("</dl>")[0]
    found = re.findall(r"<dt>(.*?)(?: <small>.*?)?</dt><dd title=\"(.*?)\">", part)
    return {name: float(value) for name, value in found}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("positive", ["bad", "worse"])
def test_metrics_are_those_of_the_rare_class(credit, tmp_path, weighted, positive):
    """Whether it is the first or the second of the two."""
    _, X, labels = credit
    y = np.where(labels == "bad", positive, "good")
    model = NeuralRuleClassifier(random_state=0, n_epochs=8).fit(X, y)
    weight = np.random.RandomState(0).randint(1, 4, len(y)) if weighted else None
    path = model.report(tmp_path / "report.html", X, y, sample_weight=weight)
    shown, predicted = metrics_of(path), model.predict(X)
    place = list(model.classes_).index(positive)
    options = {"pos_label": positive, "sample_weight": weight}
    expected = {
        f"Share of {positive}": np.average(y == positive, weights=weight),
        "Precision": precision_score(y, predicted, **options),
        "Recall": recall_score(y, predicted, **options),
        "F1": f1_score(y, predicted, **options),
        "Average precision": average_precision_score(
            y == positive, model.predict_proba(X)[:, place], sample_weight=weight
        ),
        "Accuracy": model.score(X, y, sample_weight=weight),
        "Log loss": log_loss(y, model.predict_proba(X), sample_weight=weight),
    }
    for name, value in expected.items():
        assert shown[name] == pytest.approx(value, rel=1e-5), name


def test_a_rare_class_comes_first():
    two = np.array([[90.0, 5], [1, 4]])
    assert class_order(two, 1) == [1, 0]
    assert class_order(np.diag([30.0, 31, 29]), 2) == [0, 1, 2]  # none of them is rare
    assert class_order(np.diag([50.0, 4, 46]), 1) == [1, 0, 2]


def test_the_loss_says_what_keeping_rules_is_worth(credit):
    model, X, y = credit
    rows = encoded_rows(model, X, y, None)
    sizes, losses = errors_by_size(model.network_, rows, engine_of(model), loss=True)
    _, errors = errors_by_size(model.network_, rows, engine_of(model))
    assert losses[-1] == pytest.approx(log_loss(y, model.predict_proba(X)), rel=1e-5)
    assert errors[-1] == pytest.approx(np.mean(model.predict(X) != y))
    assert sizes[-1] == model.network_.n_rules
    assert np.ptp(losses) / losses.max() > 0.2


def test_pages_without_scores(credit, tmp_path):
    """Of training rows the matrix is known, but no score; one class has no threshold."""
    model, X, y = credit
    path = model.report(tmp_path / "training.html")
    assert {"Precision", "Recall", "F1"} <= set(metrics_of(path))
    assert 'id="threshold"' not in path.read_text("utf-8")
    good = y == "good"
    path = model.report(tmp_path / "one class.html", X[good], y[good])
    assert 'id="threshold"' not in path.read_text("utf-8")
    data = path.read_text("utf-8")
    page = re.search(r'id="report-data">(.*?)</script>', data, re.DOTALL)[1]
    assert json.loads(page)["threshold"] is None


def test_each_of_several_classes_has_its_precision_and_recall(tmp_path):
    X, y = load_iris(return_X_y=True)
    kept = np.r_[0:50, 50:100, 100:115]  # the last class is rare, and comes first
    X, y = X[kept], y[kept]
    model = NeuralRuleClassifier(2, random_state=0, n_epochs=2).fit(X, y)
    cells = confusion_matrix(y, model.predict(X)).astype(float)
    shown = class_lines(model.fitted_, cells, class_order(cells, 2))
    assert [line["label"] for line in shown] == ["2", "0", "1"]
    scores = precision_recall_fscore_support(y, model.predict(X), zero_division=np.nan)
    for line, code in zip(shown, [2, 0, 1], strict=True):
        expected = [part[code] for part in scores[:3]]
        found = [line[key] for key in ("precision", "recall", "f1")]
        known = [math.nan if value is None else value for value in found]
        assert known == pytest.approx(expected, nan_ok=True)
        assert line["total"] == str(scores[3][code])
    page = model.report(tmp_path / "report.html", X, y).read_text("utf-8")
    rows = re.findall(r'<th scope="row"><span class="name" title="(\d)">', page)
    assert rows[:3] == ["2", "0", "1"]
