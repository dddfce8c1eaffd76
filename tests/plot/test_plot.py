"""Displays: the numbers that they show, on the artists that show them."""

import doctest
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

mpl.use("Agg")
from matplotlib import pyplot as plt

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._charts._texts import short_name, shortened, signed
from neuralrules._engine._reference import rules_forward
from neuralrules._reading._notation import in_formula
from neuralrules.plot import (
    HistoryDisplay,
    ImportanceDisplay,
    RuleDisplay,
    ShapeDisplay,
    SizeDisplay,
    SupportDisplay,
    WaterfallDisplay,
    _bars,
    _curves,
    _diagram,
    _support,
)
from neuralrules.plot._support import class_looks


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X[:200], np.where(y[:200] == 1, "benign", "malignant")
    return NeuralRuleClassifier.paper(5, n_epochs=15, random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    options = {"n_epochs": 40, "early_stopping": True, "patience": 5, "random_state": 0}
    return NeuralRuleClassifier.paper(3, start="leaf", **options).fit(X, y), X, y


@pytest.fixture(scope="module")
def deep():
    """A deep regression on two targets, with an intercept."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    y = np.column_stack([y, X["bmi"] - y / 500])
    options = {"deep": True, "n_trees": 1, "n_epochs": 10, "random_state": 0}
    return NeuralRuleRegressor(3, **options).fit(X, y), X, y


@pytest.fixture(scope="module")
def mixed(mixed_frame):
    frame, y = mixed_frame
    options = {"n_trees": 2, "n_epochs": 10, "random_state": 0}
    return NeuralRuleClassifier(3, **options).fit(frame, y), frame, y


@pytest.fixture(params=["cancer", "iris", "deep", "mixed"])
def case(request):
    return request.getfixturevalue(request.param)


def labels(ax, axis="y"):
    return [tick.get_text() for tick in getattr(ax, f"get_{axis}ticklabels")()]


def texts_overlap(figure):
    """Pairs of texts that lie over each other, and texts that leave the figure."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    texts = [
        text
        for text in figure.findobj(mpl.text.Text)
        if text.get_text().strip() and text.get_visible()
    ]
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts]
    found = [
        (a, b)
        for i, (a, box) in enumerate(boxes)
        for b, other in boxes[i + 1 :]
        if box.overlaps(other)
    ]
    whole = figure.bbox
    found += [
        text
        for text, box in boxes
        if box.x0 < -1 or box.y0 < -1 or box.x1 > whole.x1 + 1 or box.y1 > whole.y1 + 1
    ]
    return found


# Importances


@pytest.mark.parametrize("kind", ["rules", "columns", "pairs"])
def test_bars_are_the_importances_with_their_intervals_the_largest_on_top(case, kind):
    model, X, _ = case
    options = {"kind": kind, "n_resamples": 20, "random_state": 0}
    display = ImportanceDisplay.from_estimator(model, X, max_bars=4, **options)
    table = model.importances(X, **options).to_frame()
    n = min(4, len(table))
    lengths = [bar.get_width() for bar in display.bars_]
    assert lengths == table["importance"][:n].tolist() == sorted(lengths, reverse=True)
    assert display.values.tolist() == table["importance"].tolist()
    assert display.names == table.iloc[:, 0].tolist()
    segments = np.array(display.intervals_.get_segments())
    np.testing.assert_array_equal(segments[:, :, 0], table[["low", "high"]][:n])
    heights = [bar.get_y() + bar.get_height() / 2 for bar in display.bars_]
    np.testing.assert_allclose(segments[:, :, 1], np.repeat(heights, 2).reshape(n, 2))
    bottom, top = display.ax_.get_ylim()
    assert bottom > top  # so that the first bar is the uppermost
    assert (np.diff(heights) > 0).all()
    assert len(labels(display.ax_)) == n


def test_bars_are_labelled_in_the_users_words(mixed):
    model, X, _ = mixed
    display = ImportanceDisplay.from_estimator(model, X, kind="rules", n_resamples=2)
    first = display.names[0]
    assert labels(display.ax_)[0].startswith(f"rule {first}: ")
    assert any("income" in label for label in labels(display.ax_))
    assert display.ax_.get_title() == "Importance of rules"
    measured = model.importances(X, kind="rules", n_resamples=2)
    alone = ImportanceDisplay.from_importances(measured, max_bars=2)
    assert labels(alone.ax_) == [f"rule {rule}" for rule in alone.names[:2]]
    total = model.network_.n_rules
    assert alone.ax_.get_title() == f"The 2 most important of {total} rules"
    columns = ImportanceDisplay.from_estimator(model, X, n_resamples=2)
    assert labels(columns.ax_) == columns.names


# Waterfall


def decisions(model, X):
    if hasattr(model, "decision_function"):
        return model.decision_function(X).reshape(len(X), -1)
    return model.predict(X).reshape(len(X), -1)


@pytest.mark.parametrize("row", [0, 7])
def test_the_waterfall_goes_from_the_intercept_to_the_decision(case, row):
    model, X, _ = case
    expected = decisions(model, X)[row]
    explanation = model.explain(X)
    for k, output in enumerate(explanation.outputs):
        for max_rules in (1, 3, 100):
            display = WaterfallDisplay.from_explanation(
                explanation, row=row, output=output, max_rules=max_rules
            )
            bars = display.bars_
            starts = np.array([bar.get_x() for bar in bars])
            ends = starts + [bar.get_width() for bar in bars]
            np.testing.assert_allclose(starts[0], model.network_.intercept[k])
            np.testing.assert_allclose(starts[1:], ends[:-1], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(ends[-1], expected[k], rtol=1e-12, atol=1e-12)
            fired = np.flatnonzero(explanation.rows == row)
            steps = np.array([bar.get_width() for bar in bars])[:max_rules]
            own = explanation.contributions[fired, k]
            largest = own[np.argsort(-np.abs(own), kind="stable")][:max_rules]
            np.testing.assert_allclose(steps, largest, rtol=1e-12)
            assert len(bars) == min(len(fired), max_rules) + (len(fired) > max_rules)
            plt.close(display.figure_)


def test_one_row_is_explained_as_in_the_whole_table(case):
    model, X, _ = case
    whole = WaterfallDisplay.from_explanation(model.explain(X), row=5)
    alone = WaterfallDisplay.from_estimator(model, X, row=5)
    assert alone.decision == whole.decision
    assert alone.rules.tolist() == whole.rules.tolist()
    assert alone.limits == whole.limits
    assert alone.ax_.get_title() == whole.ax_.get_title()
    assert alone.ax_.get_title().startswith("Row 5: ")


def test_the_waterfall_is_about_the_predicted_class(iris):
    model, X, _ = iris
    for row in (0, 60, 120):
        display = WaterfallDisplay.from_estimator(model, X, row=row)
        assert display.output == f"class {model.predict(X[row : row + 1])[0]}"
        assert display.decision == model.decision_function(X)[row].max()


def test_the_waterfall_says_what_limits_each_rule(mixed):
    model, X, _ = mixed
    explanation = model.explain(X[3:4])
    display = WaterfallDisplay.from_estimator(model, X, row=3, max_rules=1)
    first, *others = labels(display.ax_)[1:-1]
    place = explanation.rules.tolist().index(display.rules[0])
    full = [explanation.limit_text(place, max_terms=terms) for terms in (1, 2, 3)]
    assert first in [f"rule {display.rules[0]}: {text}" for text in full]
    n = len(explanation.rules) - 1
    assert others == ([f"{n} other rule{'s' * (n > 1)}"] if n else [])
    assert labels(display.ax_)[0] == "start"
    assert labels(display.ax_)[-1] == "decision"


def test_a_row_on_which_no_rule_fires():
    X = np.arange(100.0)[:, None]
    model = NeuralRuleClassifier.paper(1, n_epochs=0, max_rules=1)
    for start in (0, -1.35):
        model.set_params(fit_intercept=start != 0).fit(X, X[:, 0] > 79.5)
        display = WaterfallDisplay.from_estimator(model, X, row=99)
        assert len(display.bars_) == 0
        assert display.decision == display.intercept == pytest.approx(start, abs=1e-3)
        shown = "−1.35" if start else "0"
        assert display.ax_.get_title() == f"Row 99: 0 rules fire, decision {shown}"


# Support


def grid_table(display, X):
    """The grid as rows of the user's table, made without the display's own code."""
    xs, ys = np.meshgrid(np.arange(len(display.x)), np.arange(len(display.y)))
    chosen = {
        display.columns[0]: (xs.ravel(), display.x, display.x_categories),
        display.columns[1]: (ys.ravel(), display.y, display.y_categories),
    }
    frame = isinstance(X, pd.DataFrame)
    names = list(X.columns) if frame else [f"x{i}" for i in range(X.shape[1])]
    cells = {}
    for name in names:
        if name not in chosen:
            cells[name] = [display.reference[name]] * xs.size
            continue
        places, values, categories = chosen[name]
        if categories is None or categories == ["False", "True"]:
            cells[name] = values[places]
        else:
            cells[name] = [categories[place] for place in places]
    table = pd.DataFrame(cells)
    return table if frame else table.to_numpy(float)


def check_masks(display, model, X):
    encoded = model.encoder_.transform(grid_table(display, X))
    network = model.network_
    active = rules_forward(network.parameters, network.layout, encoded[:, network.features])
    shape = (len(display.y), len(display.x))
    covered = model.rules_.covers(encoded)
    for place, rule in enumerate(display.rules):
        after, before = active[:, rule].reshape(shape) > 0, covered[:, rule].reshape(shape)
        np.testing.assert_array_equal(display.after[place], after)
        np.testing.assert_array_equal(display.before[place], before)
        for stage, mask in (("before", before), ("after", after)):
            check_drawn(display, stage, rule, mask)


def check_drawn(display, stage, rule, mask):
    """The filled area holds exactly the points of the grid that are inside."""
    if not mask.any():
        assert (stage, rule) not in display.regions_
        return
    xs, ys = np.meshgrid(display.x, display.y)
    # A hair inside the grid: its outermost points lie on the edge of the filled area.
    xs = np.clip(xs, *shrunk(display.x, display.x_categories))
    ys = np.clip(ys, *shrunk(display.y, display.y_categories))
    (path,) = display.regions_[stage, rule].get_paths()
    inside = path.contains_points(np.column_stack([xs.ravel(), ys.ravel()]))
    np.testing.assert_array_equal(inside.reshape(mask.shape), mask)


def shrunk(values, categories):
    if categories is not None:
        return -0.4, len(categories) - 0.6
    hair = 1e-3 * (values[1] - values[0])
    return values[0] + hair, values[-1] - hair


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize(
    "options", [{}, {"deep": True, "max_depth": 3}, {"scaling": "quantile"}]
)
def test_the_support_is_where_the_activation_is_positive(rotated_xor, engine, options):
    X, y = rotated_xor
    model = NeuralRuleClassifier(
        n_trees=2, n_epochs=20, engine=engine, random_state=0, **options
    ).fit(X, y)
    every = list(range(model.network_.n_rules))
    display = SupportDisplay.from_estimator(model, X, y, rules=every, grid_resolution=40)
    assert (display.before != display.after).any()
    check_masks(display, model, X)


@pytest.mark.parametrize(
    "columns",
    [("income", "age"), ("income", "city"), ("grade", "income"), ("code", "city"), (2, 6)],
)
def test_the_support_over_numbers_categories_and_booleans(mixed, columns):
    model, X, y = mixed
    every = list(range(model.network_.n_rules))
    display = SupportDisplay.from_estimator(
        model, X, y, rules=every, columns=columns, grid_resolution=15
    )
    check_masks(display, model, X)


def test_supports_of_several_targets_and_classes(deep, iris):
    for model, X, y in (deep, iris):
        display = SupportDisplay.from_estimator(model, X, y, rules=1, grid_resolution=20)
        check_masks(display, model, X)


def test_an_untrained_rule_covers_its_leaf(mixed_frame):
    frame, y = mixed_frame
    model = NeuralRuleClassifier(3, n_trees=2, n_epochs=0, random_state=0).fit(frame, y)
    every = list(range(model.network_.n_rules))
    for columns in (("income", "city"), ("age", "children")):
        display = SupportDisplay.from_estimator(model, frame, rules=every, columns=columns)
        assert display.before.any()
        np.testing.assert_array_equal(display.before, display.after)


def test_category_axes_and_points_without_missing_values(mixed):
    model, X, y = mixed
    display = SupportDisplay.from_estimator(model, X, y, columns=("city", "age"))
    assert display.x_categories == ["Lima", "Oslo", "Rome"]
    assert display.y_categories is None
    assert labels(display.ax_, "x") == ["Lima", "Oslo", "Rome"]
    assert display.ax_.get_xlim() == (-0.5, 2.5)
    assert display.ax_.get_xlabel() == "city"
    present = (X["city"].notna() & X["age"].notna()).to_numpy()
    cities = X["city"][present].map({"Lima": 0, "Oslo": 1, "Rome": 2})
    np.testing.assert_array_equal(display.points[:, 0], cities)
    np.testing.assert_array_equal(display.points[:, 1], X["age"][present].astype(float))
    np.testing.assert_array_equal(display.targets, y[present])
    # Each class is drawn with a marker of its own, near its category.
    clouds = [
        c for c in display.ax_.collections if isinstance(c, mpl.collections.PathCollection)
    ]
    assert [len(cloud.get_offsets()) for cloud in clouds] == np.bincount(y[present]).tolist()
    offsets = np.asarray(clouds[1].get_offsets())
    np.testing.assert_array_equal(offsets[:, 0].round(), cities[y[present] == 1])
    np.testing.assert_array_equal(offsets[:, 1], X["age"][present][y[present] == 1])
    paths = {tuple(cloud.get_paths()[0].vertices.ravel()) for cloud in clouds}
    assert len(paths) == 2
    members = SupportDisplay.from_estimator(model, X, y, columns=("employed", "member"))
    assert labels(members.ax_, "x") == labels(members.axes_[0]) == ["False", "True"]


def test_the_other_columns_are_held_at_the_middle_or_the_row_given(mixed):
    model, X, y = mixed
    every = list(range(model.network_.n_rules))
    kept = {"rules": every, "columns": ("income", "age"), "grid_resolution": 10}
    display = SupportDisplay.from_estimator(model, X, y, **kept)
    cities = X["city"].value_counts()
    assert display.reference == {
        "children": float(X["children"].median()),
        "employed": float(X["employed"].mode()[0]),
        "city": cities.index[0],
        "grade": str(X["grade"].mode()[0]),
        "member": float(X["member"].mode()[0]),
        "code": str(X["code"].mode()[0]),
    }
    assert "other columns at median or mode" in display.ax_.get_title()
    row = X.iloc[4]
    others = [
        SupportDisplay.from_estimator(model, X, y, others=form, **kept)
        for form in (row, X.iloc[4:5], row.to_dict(), row.to_numpy(object))
    ]
    for other in others:
        assert other.reference["city"] == row["city"]
        assert other.reference["children"] == row["children"]
        np.testing.assert_array_equal(other.after, others[0].after)
        check_masks(other, model, X)
    some = SupportDisplay.from_estimator(model, X, y, others={"city": "Rome"}, **kept)
    assert some.reference == {**display.reference, "city": "Rome"}
    assert (some.after != display.after).any()
    assert "other columns at the row given" in some.ax_.get_title()


def test_supports_side_by_side_overlaid_and_alone(iris):
    model, X, y = iris
    display = SupportDisplay.from_estimator(model, X, y, rules=[0, 1], grid_resolution=20)
    assert len(display.axes_) == 2
    assert [ax.get_title().splitlines()[0] for ax in display.axes_] == [
        "2 rules before training (tree leaves)",
        "2 rules after training",
    ]
    _, ax = plt.subplots()
    display.plot(ax)
    assert display.axes_.tolist() == [ax]
    assert set(display.regions_) == {(s, r) for s in ("before", "after") for r in (0, 1)}
    display.plot(arrangement="after")
    assert set(display.regions_) == {("after", 0), ("after", 1)}
    _, pair = plt.subplots(1, 2)
    assert display.plot(pair).axes_.tolist() == list(pair)
    hatches = {display.regions_["after", rule].hatches[0] for rule in (0, 1)}
    assert len(hatches) == 2  # told apart without colour


def test_rules_and_columns_that_matter_most_are_the_default(cancer):
    model, X, y = cancer
    display = SupportDisplay.from_estimator(model, X, y, grid_resolution=5)
    assert display.rules == model.rules_table().index[:2].tolist()
    network = model.network_.take(np.array(display.rules))
    order = np.argsort(-np.abs(network.weights).max(axis=0))[:2]
    names = {model.encoder_.names[network.features[place]] for place in order}
    assert set(display.columns) == names


def test_grey_levels_show_the_target_of_a_regression(deep):
    model, X, y = deep
    display = SupportDisplay.from_estimator(
        model, X, y, rules=0, columns=("bmi", "s5"), target=1, grid_resolution=5, max_points=9
    )
    np.testing.assert_array_equal(display.targets, y[:, 1])
    (cloud,) = [
        c for c in display.ax_.collections if isinstance(c, mpl.collections.PathCollection)
    ]
    rows = np.linspace(0, len(y) - 1, 9).astype(int)
    np.testing.assert_array_equal(cloud.get_offsets(), X[["bmi", "s5"]].to_numpy()[rows])
    greys = cloud.get_facecolors()[:, :3]
    assert (greys == greys[:, :1]).all()
    assert (np.argsort(-greys[:, 0]) == np.argsort(y[rows, 1])).all()


# History and size


def test_the_history_is_drawn_epoch_by_epoch(iris, cancer):
    model, *_ = iris
    display = HistoryDisplay.from_estimator(model)
    names = ("loss", "validation_loss")
    for line, name in zip(display.lines_, names, strict=True):
        assert line.get_xdata().tolist() == list(range(1, model.n_iter_ + 1))
        assert line.get_ydata().tolist() == model.history_[name]
    assert display.lines_[0].get_linestyle() != display.lines_[1].get_linestyle()
    best = int(np.argmin(model.history_["validation_loss"])) + 1
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["training rows", "rows held out", f"kept: epoch {best}"]
    assert len(HistoryDisplay.from_estimator(cancer[0]).lines_) == 1


def test_a_model_without_epochs_has_an_empty_history():
    X, y = load_iris(return_X_y=True)
    display = HistoryDisplay.from_estimator(NeuralRuleClassifier(2, n_epochs=0).fit(X, y))
    assert display.loss.size == 0
    assert [text.get_text() for text in display.ax_.texts] == ["no epoch was trained"]


def test_the_size_curve_is_the_simplification_path(iris):
    model, X, y = iris
    path = model.simplification_path(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    display = SizeDisplay.from_path(path, tolerance=0.05)
    table = path.to_frame()
    assert display.line_.get_xdata().tolist() == table["n_parameters"].tolist()
    assert display.line_.get_ydata().tolist() == table["error"].tolist()
    assert display.n_rules.tolist() == table["n_rules"].tolist()
    (band,) = display.band_.get_paths()
    ends = {(x, y) for x, y in band.vertices.tolist()}
    for side in (-1, 1):
        edge = table["error"] + side * table["error_se"]
        assert set(zip(table["n_parameters"], edge, strict=True)) <= ends
    steps = {"knee": path.knee(), "chosen": path.within(0.05)}
    assert set(display.marks_) == set(steps)
    for name, step in steps.items():
        mark = display.marks_[name]
        assert mark.get_xdata().tolist() == [table["n_parameters"][step]]
        assert mark.get_ydata().tolist() == [table["error"][step]]
    assert display.ax_.get_xscale() == "log"
    assert "share of wrong classes" in display.ax_.get_ylabel()
    assert set(SizeDisplay.from_path(path).marks_) == {"knee"}


def test_size_from_an_estimator():
    X, y = load_diabetes(return_X_y=True)
    model = NeuralRuleRegressor(1, n_trees=3, n_epochs=2, random_state=0)
    model.fit(X[:100], y[:100])
    given = {"X_val": X[100:], "y_val": y[100:]}
    display = SizeDisplay.from_estimator(model, X[:100], y[:100], tolerance=0.1, **given)
    path = model.simplification_path(X[:100], y[:100], **given)
    assert display.error.tolist() == path.to_frame()["error"].tolist()
    assert display.chosen == path.within(0.1)
    assert "share of unexplained variance" in display.ax_.get_ylabel()


# The diagram of a rule


@pytest.mark.parametrize("max_columns", [2, 100])
def test_every_edge_is_a_weight_and_no_zero_has_an_edge(case, max_columns):
    model, *_ = case
    network = model.network_
    for rule in (0, network.n_rules - 1):
        display = RuleDisplay.from_estimator(model, rule, max_columns=max_columns)
        first = network.offsets[rule]
        n = network.offsets[rule + 1] - first
        weights = network.weights[first : first + n]
        shown = np.zeros_like(weights)
        shown[:, display.features] = weights[:, display.features]
        assert len(display.features) == min(max_columns, np.count_nonzero(weights.any(axis=0)))
        others = np.delete(np.abs(weights).max(axis=0), display.features)
        least = np.abs(weights[:, display.features]).max(axis=0).min()
        assert (others <= least).all()
        assert display.n_hidden == np.count_nonzero(others)
        layers = {"literals": shown, "values": network.values[rule][:, None]}
        if network.deep:
            layers["second layer"] = network.second_layer(rule)
        for layer, matrix in layers.items():
            drawn = np.zeros_like(matrix)
            edges = [edge for edge in display.edges_ if edge.layer == layer]
            for edge in edges:
                drawn[edge.target, edge.source] = edge.weight
            np.testing.assert_array_equal(drawn, matrix)
            assert len(edges) == np.count_nonzero(matrix)
            check_widths(edges)
        lines = [line for line in display.ax_.lines if line.get_gid() != "column"]
        assert {id(line) for line in lines} == {id(edge.line) for edge in display.edges_}


def test_edges_lead_from_their_column_or_literal_to_their_literal_or_unit(deep):
    model, *_ = deep
    display = RuleDisplay.from_estimator(model, 1)
    places = {text.get_text(): text.get_position()[1] for text in display.ax_.texts}
    columns = {
        int(feature): places[name]
        for feature, name in zip(display.features, display.columns, strict=True)
    }
    n = len(display.splits)
    top, bottom = (places[f"{'ABCDEFGH'[j]}   {display.splits[j]}"] for j in (0, n - 1))
    literals = np.linspace(top, bottom, n) - 6.5  # the middle of the boxes
    for edge in display.edges_:
        start, end = edge.line.get_ydata()
        if edge.layer == "literals":
            assert start == columns[edge.source]
            assert end == pytest.approx(literals[edge.target])
        elif edge.layer == "second layer":
            assert start == pytest.approx(literals[edge.source])
            assert end == pytest.approx(literals[edge.target])
        else:
            words = f"{signed(edge.weight)}  target {edge.target}"
            assert end == places[words]


def check_widths(edges):
    """Thickness says the size of a weight and the line style its sign."""
    sizes = np.array([abs(edge.weight) for edge in edges])
    widths = np.array([edge.line.get_linewidth() for edge in edges])
    share = (widths - 0.5) / (4.2 - 0.5)
    np.testing.assert_allclose(share, sizes / sizes.max(), atol=1e-6)
    for edge in edges:
        assert (edge.line.get_linestyle() == "-") == (edge.weight > 0)


def test_zero_weights_have_no_edge(cancer):
    _, X, y = cancer
    model = NeuralRuleClassifier.paper(5, n_epochs=0, random_state=0).fit(X, y)
    rules = model.rules_
    for rule in range(rules.n_rules):
        display = RuleDisplay.from_estimator(model, rule)
        own = slice(rules.offsets[rule], rules.offsets[rule + 1])
        edges = [edge for edge in display.edges_ if edge.layer == "literals"]
        drawn = sorted((e.target, model.network_.features[e.source], e.weight) for e in edges)
        expected = zip(range(99), rules.features[own], rules.signs[own], strict=False)
        assert drawn == sorted(expected)
        assert all(edge.original for edge in edges)
        assert (display.angles == 0).all()
        plt.close("all")


def test_the_original_split_of_each_literal_is_marked(cancer):
    model, *_ = cancer
    rules, network = model.rules_, model.network_
    for rule in range(rules.n_rules):
        display = RuleDisplay.from_estimator(model, rule, max_columns=100)
        features = rules.features[rules.offsets[rule] : rules.offsets[rule + 1]]
        marked = {
            (edge.target, network.features[edge.source])
            for edge in display.edges_
            if edge.layer == "literals" and edge.original
        }
        assert marked == set(enumerate(features))
        for edge in display.edges_:
            assert (edge.line.get_marker() == "o") == edge.original
        for split, feature in zip(display.splits, features, strict=True):
            assert split.startswith(in_formula(model.encoder_.names[feature]))
        plt.close("all")


def test_the_texts_of_a_diagram_do_not_overlap(case):
    model, *_ = case
    longest = int(np.diff(model.network_.offsets).argmax())
    display = RuleDisplay.from_estimator(model, longest)
    assert texts_overlap(display.figure_) == []


def test_the_texts_of_a_large_diagram_do_not_overlap_even_on_small_axes():
    eight = NeuralRuleClassifier.paper(8, deep=True, n_epochs=1, min_samples_leaf=2).fit(
        np.random.RandomState(0).rand(400, 30), np.arange(400) % 2
    )
    assert np.diff(eight.network_.offsets).max() == 8
    display = RuleDisplay.from_estimator(eight, int(np.diff(eight.network_.offsets).argmax()))
    assert len(display.columns) == 10
    assert texts_overlap(display.figure_) == []
    _, axes = plt.subplots(1, 2, figsize=(7, 3))
    for ax in axes:
        RuleDisplay.from_estimator(eight, 1, ax=ax)
    assert texts_overlap(axes[0].figure) == []


def test_a_rule_without_splits_and_one_with_a_pruned_literal():
    constant = NeuralRuleClassifier(1, n_epochs=0).fit(np.ones((20, 1)), np.arange(20) % 2)
    display = RuleDisplay.from_estimator(constant, 0)
    assert display.splits == ["every row"]
    assert display.edges_ == []
    X, y = load_iris(return_X_y=True)
    model = NeuralRuleClassifier.paper(2, n_epochs=5, random_state=0).fit(X, y)
    path = model.simplification_path(X, y, X_val=X, y_val=y)
    idle = 0
    for step in range(1, len(path)):
        small = path.model(step)
        for rule in range(small.network_.n_rules):
            display = RuleDisplay.from_estimator(small, rule)
            own = slice(small.network_.offsets[rule], small.network_.offsets[rule + 1])
            edges = [edge for edge in display.edges_ if edge.layer == "literals"]
            assert len(edges) == np.count_nonzero(small.network_.weights[own])
            texts = [text.get_text() for text in display.figure_.findobj(mpl.text.Text)]
            empty = np.count_nonzero(~small.network_.weights[own].any(axis=1))
            assert sum("looks at no column now" in text for text in texts) == empty, texts
            plt.close(display.figure_)
            idle += empty
    assert idle


# All displays


def draw_all(model, X, y):
    """One display of each kind that needs no long training."""
    return [
        ImportanceDisplay.from_estimator(model, X, kind="columns", n_resamples=2),
        ImportanceDisplay.from_estimator(model, X, kind="rules", n_resamples=2),
        ImportanceDisplay.from_estimator(model, X, kind="pairs", n_resamples=2),
        SupportDisplay.from_estimator(model, X, y, grid_resolution=9),
        HistoryDisplay.from_estimator(model),
        WaterfallDisplay.from_estimator(model, X),
        RuleDisplay.from_estimator(model),
        ShapeDisplay.from_estimator(model, X, model.encoder_.names[0]),
        ShapeDisplay.from_estimator(model, X, model.encoder_.names[:2]),
    ]


def test_displays_are_drawn_again_on_given_axes(case):
    for display in draw_all(*case):
        before = {id(display.figure_)}
        figure, ax = plt.subplots()
        n_figures = len(plt.get_fignums())
        assert display.plot(ax) is display
        assert display.ax_ is ax
        assert display.figure_ is figure
        assert display.plot(ax=ax) is display  # a second time on the same axes
        assert len(plt.get_fignums()) == n_figures
        assert id(figure) not in before
        figure.canvas.draw()
        plt.close("all")


HOSTILE = [
    "<script>alert(1)</script>",
    r"$x^{2$ and \$ and $\frac$",
    "a name that goes on and on " * 3,
    "größe_Ω ≤ ж",
    "line\nbreak\t\x00",
    r"50 %_#{x}\frac{1}{",
]


def test_hostile_names_are_shown_as_they_are_or_cut():
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.randn(200, 6), columns=HOSTILE)
    X["$c$"] = rng.choice(["$a$", "<b>", "c" * 80], 200)
    y = (X.iloc[:, :6] @ rng.randn(6) > 0) ^ (X["$c$"] == "$a$")
    y = np.where(y, "$yes$ {", "<no>" * 30)
    model = NeuralRuleClassifier(4, n_trees=2, n_epochs=3, random_state=0).fit(X, y)
    drawn = [
        *draw_all(model, X, y),
        SupportDisplay.from_estimator(model, X, y, columns=("$c$", HOSTILE[1])),
        *(RuleDisplay.from_estimator(model, rule) for rule in range(3)),
    ]
    for display in drawn:
        display.figure_.canvas.draw()
        for text in display.figure_.findobj(mpl.text.Text):
            assert all(len(line) <= 64 for line in text.get_text().splitlines())
    support = drawn[-4]
    shown = support.ax_.xaxis.label
    assert shown._preprocess_math(shown.get_text()) == ("$c$", False)
    names = labels(drawn[0].ax_)
    assert "<script>alert(1)</script>" in names
    assert "line break" in names
    assert short_name(HOSTILE[2]) in names


def test_texts_are_cut():
    assert shortened("x" * 40) == "x" * 40
    assert shortened(" a\n\tb\x00\ud800c ") == "a b c"
    assert shortened("x" * 41) == "x" * 39 + "…"
    assert short_name("ab" * 20) == "ab" * 20
    assert short_name("head " * 5 + "tail" * 5, 20) == "head head hea…iltail"
    assert len(short_name("y" * 99)) == 40


def test_the_examples_run():
    for module in (_bars, _curves, _diagram, _support):
        results = doctest.testmod(module)
        assert results.attempted > 0
        assert results.failed == 0


def test_classes_differ_in_marker_or_colour():
    looks = [tuple(class_looks(place).values()) for place in range(32)]
    assert len(set(looks)) == 32


def test_importing_the_module_does_not_load_matplotlib():
    script = "import sys, neuralrules.plot; print('matplotlib' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert result.stdout == "False\n"


def test_without_matplotlib_the_remedy_is_named(iris, monkeypatch):
    model, X, y = iris
    importances = model.importances(X, n_resamples=2)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (
        lambda: ImportanceDisplay.from_estimator(model, X),
        lambda: ImportanceDisplay.from_importances(importances),
        lambda: SupportDisplay.from_estimator(model, X),
        lambda: HistoryDisplay.from_estimator(model),
        lambda: WaterfallDisplay.from_estimator(model, X),
        lambda: SizeDisplay.from_estimator(model, X, y),
        lambda: RuleDisplay.from_estimator(model),
        lambda: ShapeDisplay.from_estimator(model, X, 0),
    ):
        with pytest.raises(ImportError) as error:
            draw()
        assert str(error.value) == (
            "Displays are drawn with matplotlib, which is not installed. "
            'Install it with: pip install "neuralrules[plots]"'
        )


def test_displays_need_a_fit():
    X = np.zeros((4, 2))
    for draw in (
        lambda model: ImportanceDisplay.from_estimator(model, X),
        lambda model: SupportDisplay.from_estimator(model, X),
        lambda model: ShapeDisplay.from_estimator(model, X, 0),
        HistoryDisplay.from_estimator,
        lambda model: WaterfallDisplay.from_estimator(model, X),
        lambda model: SizeDisplay.from_estimator(model, X, X[:, 0]),
        RuleDisplay.from_estimator,
    ):
        with pytest.raises(NotFittedError):
            draw(NeuralRuleClassifier())


def support_error(**options):
    return lambda model, X, y: SupportDisplay.from_estimator(model, X, **options)


COUNT = "{}={!r} must be a whole number of at least {}, for example {}={}."


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            support_error(columns=(0, "no")),
            "columns=(0, 'no'): the table has no column 'no'. Give two names out of 'x0', "
            "'x1', 'x2', 'x3', or two places from 0 to 3.",
        ),
        (
            support_error(columns=(0, 4)),
            "columns=(0, 4): the table has no column 4. Give two names out of 'x0', "
            "'x1', 'x2', 'x3', or two places from 0 to 3.",
        ),
        (
            support_error(columns=(1, "x1")),
            "columns=(1, 'x1') names column 'x1' twice. Give two different columns.",
        ),
        (
            support_error(columns="x1"),
            "columns='x1' must be two column names or places, for example columns=(0, 1).",
        ),
        (
            support_error(rules=[0, 99]),
            "rules=99 is not one of the 5 rules of this model. "
            "Give a whole number from 0 to 4.",
        ),
        (
            support_error(rules=[]),
            "rules=[] must hold at least one rule number, and each only once. "
            "For example rules=[0].",
        ),
        (
            support_error(y=[0, 1]),
            "y has 2 rows and X has 150. Give one class or target for each row of X, or "
            "y=None.",
        ),
        (
            support_error(y=[7] * 150),
            "y holds the class 7, which the model does not know. Its classes are 0, 1, 2.",
        ),
        (
            support_error(others=[1, 2]),
            "others has the shape (2,), and must be one row of 4 cells, or a mapping from "
            "column names to cells.",
        ),
        (
            support_error(others=pd.DataFrame(np.zeros((2, 4)))),
            "others is a frame of 2 rows, and must be one row. Give for example X[3:4].",
        ),
        (
            support_error(others={"age": 1}),
            "others names the column 'age', which the table does not have. Its columns are "
            "'x0', 'x1', 'x2', 'x3'.",
        ),
        (
            support_error(arrangement="above"),
            "arrangement='above' is not one of 'auto', 'side by side', 'overlaid', 'before', "
            "'after'.",
        ),
        (
            support_error(grid_resolution=1),
            COUNT.format("grid_resolution", 1, 2, "grid_resolution", 300),
        ),
        (support_error(max_points=-1), COUNT.format("max_points", -1, 0, "max_points", 1000)),
        (
            lambda model, X, y: ImportanceDisplay.from_estimator(model, X, max_bars=0),
            COUNT.format("max_bars", 0, 1, "max_bars", 15),
        ),
        (
            lambda model, X, y: WaterfallDisplay.from_estimator(model, X, max_rules=1.5),
            COUNT.format("max_rules", 1.5, 1, "max_rules", 10),
        ),
        (
            lambda model, X, y: WaterfallDisplay.from_estimator(model, X, row=150),
            "row=150 is not one of the 150 rows of X. Give a whole number from 0 to 149.",
        ),
        (
            lambda model, X, y: WaterfallDisplay.from_explanation(model.explain(X[:2]), row=-1),
            "row=-1 is not one of the 2 rows of this explanation. "
            "Give a whole number from 0 to 1.",
        ),
        (
            lambda model, X, y: WaterfallDisplay.from_estimator(model, X, output="setosa"),
            "output='setosa' is not one of the outputs of this model. Give one of 0, 1, 2.",
        ),
        (
            lambda model, X, y: SizeDisplay.from_estimator(model, X, y, tolerance=-1),
            "tolerance=-1 must be a number of at least 0, the share of its gain over a "
            "constant that a model may give up, or None to mark no step. For example "
            "tolerance=0.02.",
        ),
        (
            lambda model, X, y: RuleDisplay.from_estimator(model, 5),
            "rule=5 is not one of the 5 rules of this model. Give a whole number from 0 to 4.",
        ),
        (
            lambda model, X, y: RuleDisplay.from_estimator(model, 0, max_columns=True),
            COUNT.format("max_columns", True, 1, "max_columns", 10),
        ),
    ],
)
def test_errors(iris, draw, message):
    assert iris[0].network_.n_rules == 5
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message follows
        draw(*iris)
    assert str(error.value) == message


def test_errors_of_axes_targets_and_empty_columns(iris, deep, mixed):
    model, X, y = iris
    _, pair = plt.subplots(1, 2)
    with pytest.raises(
        ValueError, match=r"^ax holds 2 axes, and arrangement='overlaid' needs 1"
    ):
        SupportDisplay.from_estimator(model, X, ax=pair, arrangement="overlaid")
    with pytest.raises(ValueError, match=r"^target=2 is not one of the 2 targets in y"):
        SupportDisplay.from_estimator(deep[0], deep[1], deep[2], target=2)
    frame = mixed[1].assign(age=pd.NA)
    with pytest.raises(
        ValueError, match=r"^columns: every cell of column 'age' of X is missing"
    ):
        SupportDisplay.from_estimator(mixed[0], frame, columns=("age", "income"))
    one = NeuralRuleClassifier(1, n_epochs=0).fit(X[:, :1], y)
    with pytest.raises(ValueError, match=r"^columns=None: the table has only one column"):
        SupportDisplay.from_estimator(one, X[:, :1])


def test_what_is_not_what_a_display_needs():
    X, y = load_iris(return_X_y=True)
    model = NeuralRuleClassifier(2, n_epochs=0, random_state=0).fit(X, y)
    _, axes = plt.subplots(1, 2)
    with pytest.raises(TypeError, match=r"must be one matplotlib Axes, as of plt.subplots"):
        HistoryDisplay.from_estimator(model, ax=axes)
    for make, what in (
        (ImportanceDisplay.from_importances, "importances=5 must be of the kind Importances"),
        (WaterfallDisplay.from_explanation, "explanation=5 must be of the kind Explanation"),
        (SizeDisplay.from_path, "path=5 must be of the kind SimplificationPath"),
    ):
        with pytest.raises(TypeError, match=what):
            make(5)
    for rules in (1.5, True, "0"):
        with pytest.raises(
            ValueError, match=r"rules=.* must be a rule number or a list of them"
        ):
            SupportDisplay.from_estimator(model, X, rules=rules)


def test_supports_show_dates_as_dates():
    """Ticks stand where the days of a year or a month begin, and say so."""
    frame = pd.DataFrame(
        {
            "opened": pd.date_range("2015-01-01", periods=300, freq="9D"),
            "debt": np.tile(np.arange(20.0), 15),
        }
    )
    y = (frame["opened"] > "2019-06-01") & (frame["debt"] > 8)
    model = NeuralRuleClassifier(1, n_trees=2, n_epochs=2, random_state=0).fit(frame, y)
    for columns in (["opened", "debt"], ["debt", "opened"]):
        display = SupportDisplay.from_estimator(model, frame, columns=columns)
        assert display.dates == (columns[0] == "opened", columns[1] == "opened")
        display.figure_.canvas.draw()
        ax = display.ax_ if columns[0] == "opened" else display.axes_[0]
        axis = ax.xaxis if columns[0] == "opened" else ax.yaxis
        shown = {label.get_text(): label for label in axis.get_ticklabels() if label.get_text()}
        assert {"2016", "2018", "2020"} & set(shown)
        for text, place in zip(
            [label.get_text() for label in axis.get_ticklabels()],
            axis.get_ticklocs(),
            strict=True,
        ):
            day = np.datetime64("1970-01-01") + np.timedelta64(round(place), "D")
            assert str(day).startswith(text)
