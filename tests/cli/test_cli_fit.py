"""`neuralrules fit`: options of every parameter, tasks, roles of columns, and mistakes."""

import inspect
import json
import re

import numpy as np
import pandas as pd
import pytest
from command_line import done, houses, iris, refused, run, write_tables
from sklearn.base import BaseEstimator, clone

import neuralrules
from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, load
from neuralrules._cli._fit import fit
from neuralrules._cli._parameters import NO_OPTIONS, estimator_options
from neuralrules._task._number_losses import NUMBER_LOSSES

ESTIMATORS = [
    item
    for item in vars(neuralrules).values()
    if inspect.isclass(item) and issubclass(item, BaseEstimator)
]
PETALS = (("petal length (cm)", "petal width (cm)"),)
QUICK = ("--n-epochs", 2, "--max-depth", 2, "--n-trees", 2)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with tables, to work in."""
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    return tmp_path


def fitted(*arguments):
    """The model that a command line writes."""
    done("fit", *arguments, "-o", "m.nrules")
    return load("m.nrules")


def assert_same(first, second):
    assert first.encoder_ == second.encoder_
    assert (first.network_.weights == second.network_.weights).all()
    assert (first.network_.values == second.network_.values).all()


# Options of the estimators' parameters


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_of_every_estimator_has_an_option(estimator):
    own = {"cv": "folds", "candidates": "max_depths"}
    options = {option.name for option in (*fit.params, *estimator_options())}
    for name in inspect.signature(estimator).parameters:
        assert name in NO_OPTIONS or own.get(name, name) in options


def test_defaults_in_the_help_are_the_real_ones():
    shown = " ".join(done("fit", "--help").out.split())
    for name, parameter in inspect.signature(NeuralRuleClassifier).parameters.items():
        if name in NO_OPTIONS:
            continue
        words = {None: "none"}.get(parameter.default, str(parameter.default))
        if isinstance(parameter.default, bool):
            words = "yes" if parameter.default else "no"
        if name == "random_state":
            words = "0"
        if name == "loss":
            words = "logistic for classification, squared for regression"
        option = name.replace("_", "-")
        described = re.search(rf" --{option}[ /].*?\[default: (.*?)\]", shown)
        assert described, name
        assert described[1] == words, name
    assert "[default: 5]" in shown
    assert "[default: candidates that benchmarks chose]" in shown
    assert "[default: auto, which means average unless the number of rules is limited]" in shown


def test_every_option_reaches_the_estimator():
    options = {
        "--max-depth": ("3", 3),
        "--rule-source": ("forest", "forest"),
        "--n-trees": ("2", 2),
        "--tree-rate": ("0.3", 0.3),
        "--max-rules": ("7", 7),
        "--max-terms": ("1", 1),
        "--min-samples-leaf": ("4", 4),
        "--literal-columns": ("own", "own"),
        "--interactions": ("petal length (cm),petal width (cm)", PETALS),
        "--exclude": ("plant", ("plant",)),
        "--start": ("leaf", "leaf"),
        "--no-fit-intercept": (None, False),
        "--scaling": ("quantile", "quantile"),
        "--deep": (None, True),
        "--loss": ("hinge", "hinge"),
        "--l2": ("1e-3", 0.001),
        "--rule-dropout": ("0", 0),
        "--learning-rate": ("0.02", 0.02),
        "--schedule": ("constant", "constant"),
        "--n-epochs": ("3", 3),
        "--batch-size": ("50", 50),
        "--early-stopping": (None, True),
        "--validation-fraction": ("0.25", 0.25),
        "--patience": ("2", 2),
        "--n-sample-rows": ("5000", 5000),
        "--class-weight": ('{"setosa": 2, "versicolor": 1.5, "virginica": 1}', None),
        "--engine": ("numpy", "numpy"),
        "--device": ("cpu", "cpu"),
        "--n-jobs": ("-1", -1),
        "--random-state": ("17", 17),
    }
    known = {name for one in estimator_options() for name in (*one.opts, *one.secondary_opts)}
    given = {name.replace("--no-", "--") for name in options}
    # Three classes have no direction; see below.
    assert {option.opts[-1] for option in estimator_options()} == given | {"--monotone"}
    assert set(options) <= known
    words = [word for name, (text, _) in options.items() for word in (name, text)]
    model = fitted("iris.csv", "-t", "species", *(word for word in words if word is not None))
    parameters = model.get_params()
    weights = {"setosa": 2, "versicolor": 1.5, "virginica": 1}
    assert parameters.pop("class_weight") == weights
    assert parameters.pop("expert_rules") is None  # which come from a file
    assert parameters.pop("checkpoint") is None
    assert parameters.pop("missing") is None  # which --missing says of the table
    assert (parameters.pop("verbose"), parameters.pop("warm_start")) == (0, False)
    assert parameters.pop("monotone") is None
    assert parameters == {
        name[2:].removeprefix("no-").replace("-", "_"): value
        for name, (_, value) in options.items()
        if name != "--class-weight"
    }


def test_columns_with_directions_and_those_that_may_go_together():
    model = fitted(
        *("houses.parquet", "-t", "price", "--drop", "id", *QUICK),
        *("--monotone", "bmi=1", "--monotone", "s3=-1", "--interactions", "bmi,bp"),
        *("--interactions", "s3,s5", "--exclude", "sex", "--exclude", "age"),
    )
    assert model.monotone == {"bmi": 1, "s3": -1}
    assert model.check_monotone() == []
    assert model.interactions == (("bmi", "bp"), ("s3", "s5"))
    assert model.exclude == ("sex", "age")
    frame = houses().drop(columns=["id", "price"])
    assert_same(model, clone(model).fit(frame, houses()["price"].to_numpy()))


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (
            ["--monotone", "bmi"],
            2,
            "Invalid value for '--monotone': 'bmi' is not a column with its direction, such as "
            "age=1, income=-1, or income=-1:bad for the class bad.",
        ),
        (
            ["--monotone", "bmi=1", "--monotone", "bmi=1:bad"],
            2,
            "--monotone gives 'bmi' directions with and without a class. Give one of them.",
        ),
        (
            ["--monotone", "bmi=1", "--monotone", "bmi=-1"],
            2,
            "--monotone gives 'bmi' both directions. Give one, or none.",
        ),
        (
            ["--monotone", "bmj=1"],
            1,
            "--monotone: houses.parquet has no column 'bmj'. Did you mean 'bmi'?",
        ),
        (
            ["--interactions", "bmi,,bp"],
            2,
            "Invalid value for '--interactions': 'bmi,,bp' is not a list of columns, such as "
            "age,income.",
        ),
        (
            ["--exclude", "price"],
            1,
            "--exclude 'price' is no column to learn from. Leave it out.",
        ),
    ],
)
def test_columns_that_cannot_be_limited(options, code, message):
    words = ("fit", "houses.parquet", "-t", "price", "--drop", "id", "-o", "m", *options)
    assert refused(*words, code=code) == message


def test_directions_of_three_classes():
    words = ("fit", "iris.csv", "-t", "species", "-o", "m", "--monotone")
    assert refused(*words, "sepal length (cm)=1").startswith(
        "--monotone {'sepal length (cm)': 1} needs one output that rises or falls, but y has 3 "
    )
    model = fitted(
        *("iris.csv", "-t", "species", *QUICK, "--monotone", "sepal length (cm)=1:virginica"),
        *("--monotone", "petal width (cm)=-1:setosa"),
    )
    assert model.monotone == {
        "sepal length (cm)": {"virginica": 1},
        "petal width (cm)": {"setosa": -1},
    }
    assert model.check_monotone() == []


@pytest.mark.parametrize(
    ("words", "early_stopping"),
    [([], "auto"), (["--early-stopping"], True), (["--no-early-stopping"], False)],
)
def test_a_flag_that_may_be_left_to_the_estimator(words, early_stopping):
    model = fitted("iris.csv", "-t", "species", *QUICK, *words)
    assert model.early_stopping is early_stopping or model.early_stopping == early_stopping
    # Of its own accord it holds no rows out of so short a table.
    assert ("validation_loss" in model.history_) == (early_stopping is True)


def test_none_auto_balanced_and_no():
    model = fitted(
        *("iris.csv", "-t", "species", "--n-epochs", 1, "--max-depth", "none"),
        *("--batch-size", "auto", "--class-weight", "balanced", "--no-deep"),
        *("--random-state", "none", "--drop", "plant", "--n-trees", "auto"),
    )
    assert model.n_trees == "auto"
    assert model.max_depth is None
    assert model.random_state is None
    assert (model.batch_size, model.class_weight, model.deep) == ("auto", "balanced", False)


def test_a_command_line_can_be_repeated_and_is_what_python_fits():
    first = fitted("iris.csv", "-t", "species", "--drop", "plant", "--n-epochs", 5)
    assert first.get_params() == NeuralRuleClassifier(n_epochs=5, random_state=0).get_params()
    frame = iris().drop(columns="plant")
    y = frame.pop("species").to_numpy(object)
    assert_same(first, clone(first).fit(frame, y))


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--l2", "-1", "'-1' is not a number of at least 0."),
        ("--l2", "abc", "'abc' is not a number of at least 0."),
        ("--max-depth", "0", "'0' is not a whole number of at least 1 or none."),
        ("--max-depth", "2.5", "'2.5' is not a whole number of at least 1 or none."),
        ("--learning-rate", "0", "'0' is not a number of more than 0."),
        ("--learning-rate", "nan", "'nan' is not a number of more than 0."),
        (
            "--validation-fraction",
            "1",
            "'1' is not a number of more than 0 and less than 1.",
        ),
        (
            "--loss",
            "absolute",
            "'absolute' is not hinge or huber or logistic or poisson or squared.",
        ),
        (
            "--class-weight",
            "[1]",
            "'[1]' is not balanced or a JSON object from classes to weights or none.",
        ),
        (
            "--random-state",
            "-5",
            "'-5' is not a whole number of at least 0 and at most 4294967295 or none.",
        ),
        (
            "--n-jobs",
            "0",
            "0 is not a number of threads. Give 1 or more, or -1 for all cores.",
        ),
        (
            "--max-depths",
            "2,x",
            "'2,x' is not a list of whole numbers of at least 1, such as 2,4,6.",
        ),
    ],
)
def test_bad_values_are_wrong_use(option, value, message):
    arguments = ("fit", "there is no such file", "-t", "y", "-o", "m", option, value)
    assert refused(*arguments, code=2) == f"Invalid value for '{option}': {message}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--loss", "hinge"],
            "Invalid value for '--loss': 'hinge' is not for regression. Give huber or poisson "
            "or squared.",
        ),
        (["--class-weight", "balanced"], "--class-weight is not for regression. Leave it out."),
    ],
)
def test_parameters_of_classes_are_not_for_regression(arguments, message):
    line = refused("fit", "houses.parquet", "-t", "price", "-o", "m", *arguments, code=2)
    assert line == message


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ('{"rose": 1}', "'rose' is none of the classes 'setosa', 'versicolor', 'virginica'."),
        ('{"setosa": "x"}', "'x' is not a weight. Give each class a number of at least 0."),
        ('{"setosa": NaN}', "nan is not a weight. Give each class a number of at least 0."),
        ('{"setosa": -1}', "-1 is not a weight. Give each class a number of at least 0."),
    ],
)
def test_weights_of_classes_must_fit_the_classes(weights, message):
    arguments = ("fit", "iris.csv", "-t", "species", "-o", "m", "--class-weight", weights)
    assert refused(*arguments, code=2) == f"Invalid value for '--class-weight': {message}"


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--max-depth", 10**20, "100000000000000000000 is too large."),
        ("--l2", "inf", "'inf' is not a number of at least 0."),
        ("--learning-rate", "nan", "'nan' is not a number of more than 0."),
    ],
)
def test_numbers_that_no_parameter_can_be(option, value, message):
    line = refused("fit", "iris.csv", "-t", "species", "-o", "m", option, value, code=2)
    assert line == f"Invalid value for '{option}': {message}"


def test_more_folds_than_rows():
    arguments = ("fit", "iris.csv", "-t", "species", "-o", "m", "--cv", "--folds", 151)
    assert refused(*arguments, code=2) == (
        "Invalid value for '--folds': iris.csv has 150 rows, fewer than 151 folds. "
        "Give fewer folds."
    )


@pytest.mark.parametrize("cell", ["inf", "1e300"])
def test_numbers_that_cannot_be_computed_with(cell, here):
    text = (here / "iris.csv").read_text().replace("\np002,4.7", f"\np002,{cell}")
    (here / "inf.csv").write_text(text)
    shown = str(float(cell))
    message = (
        f"inf.csv, row 3, column 'sepal length (cm)': {shown} is infinite or too large to "
        f"compute with. Correct the cell, or give --missing {shown!r} if it means missing."
    )
    assert refused("fit", "inf.csv", "-t", "species", "-o", "m") == message
    done("fit", "iris.csv", "-t", "species", "--drop", "plant", "-o", "m", "--n-epochs", 1)
    assert refused("predict", "m", "inf.csv", "-o", "o.csv") == message


def test_classes_that_are_numbers(here):
    (here / "far.csv").write_text("x,y\n1,0\n2,1e300\n3,0\n")
    arguments = ("fit", "far.csv", "-t", "y", "-o", "m", "--task", "classification")
    assert refused(*arguments).startswith("far.csv, row 2, column 'y': 1e+300 is infinite or")
    (here / "far.csv").write_text("x,y\n1,0\n2,1e17\n3,0\n")
    assert refused(*arguments) == (
        "The target 'y' of far.csv holds numbers such as 1e+17, which are no classes. Give "
        "whole numbers or text, or --task regression."
    )
    (here / "one.csv").write_text("x,y\n1,4.0\n2,4.0\n")
    arguments = ("fit", "one.csv", "-t", "y", "-o", "m", "--task", "classification")
    assert refused(*arguments).startswith("The target 'y' of one.csv is 4 in every row: there")


def test_whole_numbers_with_a_point_are_classes(here):
    (here / "points.csv").write_text("x,y\n1,-1.0\n2,1.0\n3,-1.0\n4,1.0\n")
    result = done("fit", "points.csv", "-t", "y", "-o", "m", "--n-epochs", 1, "--json")
    assert "because the target 'y' holds 2 different whole numbers" in result.err
    assert load("m").classes_.tolist() == [-1, 1]
    assert done("evaluate", "m", "points.csv", "--json").record["n_rows"] == 4


def test_columns_that_are_almost_numbers_are_pointed_at(here):
    cells = [str(place) for place in range(30)]
    cells[5] = "abc"
    frame = pd.DataFrame({"a": cells, "y": ["u", "v"] * 15})
    frame.assign(b=[f"{place},5" for place in range(30)]).to_csv("almost.csv", index=False)
    notes = done("fit", "almost.csv", "-t", "y", "-o", "m", "--n-epochs", 1).err.splitlines()
    assert notes[1:] == [
        "neuralrules: note: 29 of 30 cells of 'a' are numbers, but row 6 holds 'abc', so that "
        "all are taken for categories: correct them, or give --missing 'abc' if it means "
        "missing.",
        "neuralrules: note: the column 'b' holds numbers such as '0,5', which are taken for "
        "categories: give --decimal ',' to read them.",
    ]


def test_too_many_classes(here):
    frame = pd.DataFrame({"x": range(50), "y": [f"{place},5" for place in range(50)]})
    frame.to_csv("many.csv", index=False)
    assert refused("fit", "many.csv", "-t", "y", "-o", "m") == (
        "The target 'y' of many.csv has 50 different classes in 50 rows, such as '0,5': too "
        "many to learn. Check that it is the target; numbers with other marks than a decimal "
        "point need --decimal or --thousands."
    )


def test_targets_that_are_too_large(here):
    (here / "huge.csv").write_text("x,y\n1,1.5\n2,1e19\n3,2.5\n")
    done("fit", "huge.csv", "-t", "y", "-o", "m", "--n-epochs", 1, "--quiet")
    assert np.isfinite(load("m").predict(pd.DataFrame({"x": [1, 2, 3]}))).all()


def test_columns_of_times_can_be_left_out(here):
    times = pd.date_range("2020-01-01", periods=4, freq="h").time
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "an hour": times, "y": ["u", "v"] * 2})
    frame.to_parquet("times.parquet")
    arguments = ("fit", "times.parquet", "-t", "y", "-o", "m", "--n-epochs", 1)
    assert refused(*arguments) == (
        "argument must be a string or a number: column 'an hour' of X holds a time. Turn it "
        "into numbers, strings or missing values."
    )
    done(*arguments, "--drop", "an hour")


def test_targets_that_are_dates():
    days = pd.date_range("2020-01-01", periods=3).date
    pd.DataFrame({"x": [1, 2, 3], "day": days}).to_parquet("days.parquet")
    assert refused("fit", "days.parquet", "-t", "day", "-o", "m") == (
        "The target 'day' of days.parquet holds dates or times. Turn it into numbers first, "
        "for example days since a date."
    )


def test_what_the_library_refuses_is_said_in_options():
    common = ("fit", "iris.csv", "-t", "species", "-o", "m")
    assert refused(*common, "--early-stopping", "--validation-fraction", 0.001) == (
        "--validation-fraction 0.001 of 150 rows leaves 0 to validate and 150 to train on, "
        "since one row of each class stays in training. Change --validation-fraction, add "
        "rows, or set --no-early-stopping."
    )
    assert refused(*common, "--cv", "--folds", 60, "--n-epochs", 1) == (
        "--folds 60 cannot be greater than the number of members in each class."
    )


# The search for the depth


def test_a_model_that_is_worse_than_a_constant_is_noted(here):
    rng = np.random.RandomState(0)
    table = pd.DataFrame(rng.randn(300, 3), columns=["a", "b", "c"])
    table.assign(rare=rng.rand(300) < 0.05).to_csv(here / "noise.csv", index=False)
    options = ("--no-fit-intercept", "--no-early-stopping", "--learning-rate", 1e-9)
    arguments = ("fit", "noise.csv", "-t", "rare", "-o", "n.nrules", "--task", "classification")
    told = done(*arguments, *options, "--n-epochs", 1).err
    assert re.fullmatch(
        "neuralrules: note: This NeuralRuleClassifier predicts worse than a constant: on the "
        r"300 training rows its mean loss is [\d.]+, that of the best constant [\d.]+\. Check "
        r"that .* train longer \(--n-epochs 1\), by other steps \(--learning-rate 1e-09\) or "
        r"with less shrinkage \(--l2 0\.2\)\.\n",
        told,
    )
    assert done(*arguments, *options, "--n-epochs", 1, "--quiet").err == ""


def test_cv_chooses_among_the_depths_given():
    result = done(
        *("fit", "iris.csv", "-t", "species", "--drop", "plant", "--n-epochs", 2, "--json"),
        *("--cv", "--folds", 2, "--max-depths", "3,1,3", "--n-trees", 1, "-o", "m.nrules"),
    )
    model = load("m.nrules")
    assert isinstance(model, neuralrules.NeuralRuleClassifierCV)
    candidates = [{"max_depth": 3}, {"max_depth": 1}]
    assert (model.cv, model.refit, list(model.candidates)) == (2, "auto", candidates)
    assert result.record["candidates"] == model.candidates_ == candidates
    assert result.record["best"] == model.best_index_
    assert result.record["cv_scores"] == model.cv_scores_.tolist()


def test_cv_compares_its_own_candidates_and_says_which_is_best():
    common = ("fit", "iris.csv", "-t", "species", "--drop", "plant", "-o", "m.nrules", "--cv")
    shown = done(*common, "--folds", 2, "--max-rules", 6, "--refit", "single").out
    model = load("m.nrules")
    assert (model.refit, model.candidates) == ("single", None)
    assert model.network_.n_rules <= 6
    words = ", ".join(f"{name}={value}" for name, value in model.best_params_.items())
    score = model.cv_scores_[model.best_index_].mean()
    assert (
        f"Kept {words}: the best of {len(model.candidates_)} candidates on rows held out "
        f"(mean score {score:.4g})."
    ) in shown


def test_scores_of_candidates_that_were_dropped_are_null(monkeypatch):
    monkeypatch.setattr("neuralrules._estimators._search.DROPPING_ROWS", 10)
    record = done(
        *("fit", "iris.csv", "-t", "species", "--drop", "plant", "--n-epochs", 1, "--json"),
        *("--cv", "--folds", 3, "--max-depths", "1,3", "--n-trees", 1, "-o", "m.nrules"),
    ).record
    dropped = record["cv_scores"][1 - record["best"]]
    assert dropped[1:] == [None, None]
    assert None not in record["cv_scores"][record["best"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--cv", "--max-depth", 3, "--max-depths", "3,4"],
            "--max-depth and --max-depths exclude each other: give the depths to choose from.",
        ),
        (["--folds", 3], "--folds is for --cv. Give both, or neither."),
        (
            ["--max-depths", "3"],
            "--max-depths is for --cv. Give both, or neither.",
        ),
        (
            ["--refit", "single"],
            "--refit is for --cv. Give both, or neither.",
        ),
    ],
)
def test_options_of_the_search_belong_together(arguments, message):
    assert refused("fit", "x.csv", "-t", "y", "-o", "m", *arguments, code=2) == message


# Tasks


@pytest.mark.parametrize(
    ("values", "task", "reason"),
    [
        (["yes", "no"], "classification", "text"),
        ([0, 1], "classification", "2 different whole numbers"),
        (list(range(20)), "classification", "20 different whole numbers"),
        (list(range(21)), "regression", "21 different whole numbers"),
        ([0.5, 1.0], "regression", "numbers that are not whole"),
        ([True, False], "classification", "true and false"),
    ],
)
def test_the_task_is_found_and_said(values, task, reason):
    y = [values[place % len(values)] for place in range(42)]
    pd.DataFrame({"x": np.arange(42) % 7, "y": y}).to_parquet("t.parquet")
    result = done("fit", "t.parquet", "-t", "y", "-o", "m", *QUICK)
    assert result.err == (
        f"neuralrules: note: {task}, because the target 'y' holds {reason}; --task overrides "
        "this.\n"
    )
    assert ("Classifier" in type(load("m")).__name__) == (task == "classification")


def test_the_task_can_be_given():
    pd.DataFrame({"x": np.arange(42) % 7, "y": np.arange(42) % 3}).to_csv("t.csv", index=False)
    result = done("fit", "t.csv", "-t", "y", "--task", "regression", "-o", "m", *QUICK)
    assert result.err == ""
    assert isinstance(load("m"), NeuralRuleRegressor)
    whole = houses().assign(price=lambda frame: frame["price"] // 100)
    whole.to_csv("h.csv", index=False)
    model = fitted("h.csv", "-t", "price", "--task", "classification", *QUICK)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.classes_.dtype == np.int64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["iris.csv", "-t", "species", "--task", "regression"],
            "The target 'species' of iris.csv holds text such as 'setosa', but regression "
            "needs numbers. Give numbers, or --task classification.",
        ),
        (
            ["iris.csv", "-t", "petal width (cm)", "-t", "species"],
            "The target 'species' of iris.csv holds text such as 'setosa', but several targets "
            "must be numbers. Give one --target.",
        ),
        (
            ["houses.parquet", "-t", "bmi", "--task", "classification"],
            "The target 'bmi' of houses.parquet holds numbers such as 0.061696206518683294, "
            "which are no classes. Give whole numbers or text, or --task regression.",
        ),
        (
            ["one.csv", "-t", "y"],
            "The target 'y' of one.csv is 'a' in every row: there is nothing to learn. Check "
            "that it is the target, and that no rows are left out.",
        ),
        (
            ["one.csv", "-t", "x", "--task", "regression"],
            "The target 'x' of one.csv is 1 in every row: there is nothing to learn. Check "
            "that it is the target, and that no rows are left out.",
        ),
        (
            ["hole.csv", "-t", "y"],
            "The target 'y' is missing in 2 of 4 rows of hole.csv, first in row 2. Remove or "
            "complete such rows.",
        ),
        (
            ["dates.parquet", "-t", "day"],
            "The target 'day' of dates.parquet holds dates or times. Turn it into numbers "
            "first, for example days since a date.",
        ),
    ],
)
def test_targets_that_cannot_be_learned(arguments, message, here):
    (here / "one.csv").write_text("x,y\n1,a\n1,a\n1,a\n")
    (here / "hole.csv").write_text("x,y\n1,a\n2,\n3,b\n4,NA\n")
    days = pd.date_range("2020-01-01", periods=3)
    pd.DataFrame({"x": [1, 2, 3], "day": days}).to_parquet("dates.parquet")
    assert refused("fit", *arguments, "-o", "m") == message
    assert not (here / "m").exists()


def test_several_targets_are_a_regression():
    model = fitted("houses.parquet", "-t", "bmi", "-t", "bp", *QUICK)
    assert model.network_.n_outputs == 2
    assert model.fitted_.notes == {"targets": ["bmi", "bp"]}


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
def test_every_loss_of_a_regression_can_be_asked_for(loss):
    table = houses().assign(rooms=lambda frame: (frame["price"] // 50).astype(int))
    table.to_csv("rooms.csv", index=False)
    model = fitted("rooms.csv", "-t", "rooms", "--task", "regression", "--loss", loss, *QUICK)
    assert model.loss == model.fitted_.task.loss.name == loss
    shown = done("explain", "m.nrules", "rooms.csv", "--row", 1).out
    assert shown.startswith("Row 1: prediction ") == (loss == "poisson")
    assert "decision " in shown


# Roles of columns


def test_columns_are_dropped_and_rows_weighted():
    iris().assign(w=1.0 + (iris()["plant"] < "p050")).to_csv("w.csv", index=False)
    arguments = ("w.csv", "-t", "species", "--drop", "plant", "--weight", "w", *QUICK)
    model = fitted(*arguments)
    frame = pd.read_csv("w.csv").drop(columns="plant")
    y, w = frame.pop("species").to_numpy(object), frame.pop("w")
    assert model.encoder_.names == list(frame.columns)
    assert_same(model, clone(model).fit(frame, y, w))


def test_columns_that_look_like_identifiers_are_pointed_at():
    err = done("fit", "iris.csv", "-t", "species", "-o", "m", *QUICK).err
    assert err.splitlines()[1] == (
        "neuralrules: note: the column 'plant' has a different text in every row, like an "
        "identifier: leave it out with --drop plant if it is one."
    )
    iris().rename(columns={"plant": "the plant"}).to_csv("i.csv", index=False)
    assert "--drop 'the plant'" in done("fit", "i.csv", "-t", "species", "-o", "m", *QUICK).err
    err = done("fit", "houses.parquet", "-t", "price", "-o", "m", *QUICK).err
    assert "the column 'id' counts the rows" in err
    assert err.count("identifier") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["-t", "spicies"],
            1,
            "--target: iris.csv has no column 'spicies'. Did you mean 'species'?",
        ),
        (
            ["-t", "species", "--drop", "plan"],
            1,
            "--drop: iris.csv has no column 'plan'. Did you mean 'plant'?",
        ),
        (
            ["-t", "species", "-t", "species"],
            2,
            "The column 'species' is given as --target twice. Give it once.",
        ),
        (
            ["-t", "species", "--drop", "species"],
            2,
            "The column 'species' is given as --target and --drop. Give it once.",
        ),
        (
            ["-t", "species", "--weight", "species"],
            2,
            "The column 'species' is given as --target and --weight. Give it once.",
        ),
        (
            ["-t", "species", "-t", "plant", "--task", "classification"],
            2,
            "--task classification takes one --target. Fit a model for each of them.",
        ),
        (
            ["-t", "species", "--weight", "plant"],
            1,
            "The weight 'plant' of iris.csv holds text such as 'p000'. Weights are numbers of "
            "at least 0.",
        ),
    ],
)
def test_columns_that_will_not_do(arguments, code, message):
    assert refused("fit", "iris.csv", *arguments, "-o", "m", code=code) == message


def test_a_table_needs_a_column_to_learn_from(here):
    (here / "y.csv").write_text("y\na\nb\n")
    assert refused("fit", "y.csv", "-t", "y", "-o", "m") == (
        "y.csv has no column to learn from besides 'y'."
    )


def test_weights_must_be_there_and_not_negative(here):
    (here / "w.csv").write_text("x,y,w,v\n1,a,1,1\n2,b,-2,\n")
    assert refused("fit", "w.csv", "-t", "y", "--weight", "w", "-o", "m") == (
        "The weight 'w' is -2.0 in row 2 of w.csv. Weights are numbers of at least 0."
    )
    assert refused("fit", "w.csv", "-t", "y", "--weight", "v", "-o", "m") == (
        "The weight 'v' is missing in 1 of 2 rows of w.csv, first in row 2. Remove or "
        "complete such rows."
    )


# Tables and the output


def test_every_format_gives_the_same_model(here):
    frame = iris().drop(columns="plant")
    frame.to_csv("i.tsv.gz", sep="\t", index=False)
    frame.to_csv("i.txt", sep=";", index=False)
    frame.to_parquet("i.parquet")
    first = fitted("iris.csv", "-t", "species", "--drop", "plant", *QUICK)
    for arguments in (
        ["i.tsv.gz"],
        ["i.parquet"],
        ["i.txt", "--data-format", "csv", "--delimiter", ";"],
    ):
        assert_same(first, fitted(*arguments, "-t", "species", *QUICK))
    text = frame.to_csv(sep="\t", index=False)
    arguments = ("-", "--data-format", "tsv", "-t", "species", *QUICK, "-o", "m.nrules")
    done("fit", *arguments, stdin=text)
    assert_same(first, load("m.nrules"))


def test_texts_for_missing_are_remembered(here):
    lines = ["x,y", *(f"{'?' if place % 5 == 0 else place},{place % 2}" for place in range(40))]
    (here / "m.csv").write_text("\n".join(lines))
    model = fitted("m.csv", "-t", "y", "--missing", "?", *QUICK)
    assert [column.stored_as for column in model.encoder_.columns] == ["number", "missing"]
    assert model.fitted_.notes == {"targets": ["y"]}
    assert model.encoder_.missing == ("?",)
    shown = done("predict", "m.nrules", "m.csv").out.splitlines()
    assert len(shown) == 41


@pytest.mark.parametrize(
    ("output", "code", "message"),
    [
        (
            "no/m",
            1,
            "--output 'no/m' cannot be written: there is no folder 'no'. Create it first, or "
            "give another path.",
        ),
        (
            ".",
            1,
            "--output '.' is a folder. Give the name of a file in it, for example "
            "'model.nrules'.",
        ),
        (
            "iris.csv",
            2,
            "--output 'iris.csv' is the input 'iris.csv' itself. Give another name.",
        ),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_any_work(output, code, message):
    assert refused("fit", "iris.csv", "-t", "species", "-o", output, code=code) == message


def test_the_summary_says_what_was_fitted_and_the_record_too():
    arguments = ("fit", "iris.csv", "-t", "species", "--drop", "plant", *QUICK)
    shown = done(*arguments, "-o", "m.nrules").out.splitlines()
    record = done(*arguments, "-o", "m.nrules", "--json").record
    model = load("m.nrules")
    assert shown[0] == "Fitted species on 150 rows of iris.csv."
    assert shown[1].startswith(f"NeuralRuleClassifier: {model.network_.n_rules} neural rules")
    assert shown[2] == "On the training rows, which flatter a model:"
    assert [line.split("  ")[1] for line in shown[3:6]] == [
        *("accuracy", "balanced accuracy", "log loss")
    ]
    assert shown[6].startswith("Saved in m.nrules, ")
    assert record["training_metrics"] == model.fitted_.performance.metrics
    assert record["n_parameters"] == model.network_.n_parameters
    assert record | {"bytes": 0, "training_metrics": 0, "n_parameters": 0} == {
        "model": "m.nrules",
        "bytes": 0,
        "estimator": "NeuralRuleClassifier",
        "task": "classification",
        "targets": ["species"],
        "n_rows": 150,
        "n_columns": 4,
        "n_rules": model.network_.n_rules,
        "n_literals": model.network_.n_literals,
        "n_parameters": 0,
        "n_epochs": 2,
        "interrupted": False,
        "training_metrics": 0,
    }


def test_quiet_says_nothing_but_the_record_asked_for():
    arguments = ("fit", "iris.csv", "-t", "species", "-o", "m", *QUICK, "--quiet")
    assert run(*arguments) == (0, "", "")
    result = run(*arguments, "--json")
    assert result.err == ""
    assert json.loads(result.out)["model"] == "m"
