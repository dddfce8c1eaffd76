"""The frontier's runner: what comes first, what is resumed, what is not tried again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from benchmarks import frontier, frontier_protocol, frontier_summary, limits
from benchmarks.frontier_boosting import SizedBoosting
from benchmarks.frontier_methods import METHODS, STAGES
from benchmarks.frontier_protocol import DATA, FrontierProtocol
from benchmarks.protocol import Task
from benchmarks.records import Records

OPTIONS = [
    "--data-sets",
    "sonar",
    "titanic",
    "--methods",
    "constant",
    "tree 16",
    "--n-jobs",
    "1",
]


@pytest.fixture
def tables(monkeypatch):
    """Two small tables in place of all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    made = {"sonar": (X, (X[:, 0] > 0).astype(int)), "titanic": (X, (X[:, 1] > 1).astype(int))}
    for module in (frontier, frontier_protocol):
        monkeypatch.setattr(module, "table", lambda name, folder: made[name])


def no_fit(*arguments):
    raise AssertionError


@pytest.mark.usefixtures("tables")
def test_a_second_run_measures_only_what_is_missing(tmp_path, monkeypatch, capsys):
    options = [*OPTIONS, "--records", str(tmp_path), "--splits", "2"]
    assert frontier.main(options) == 0
    assert "0 records are there, 8 are to be measured." in capsys.readouterr().err
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*-*.json"))
    assert files == [
        f"{data}/{method}-{fold}.json"
        for data in ("sonar", "titanic")
        for method in ("constant", "tree 16")
        for fold in range(2)
    ]
    (tmp_path / "sonar" / "tree 16-1.json").unlink()
    measured = []
    real = frontier.measure
    monkeypatch.setattr(
        frontier,
        "measure",
        lambda p, task, **more: measured.append(task) or real(p, task, **more),
    )
    assert frontier.main(options) == 0
    assert measured == [Task("sonar", "tree 16", 1)]
    assert "7 records are there, 1 are to be measured." in capsys.readouterr().err


@pytest.mark.usefixtures("tables")
def test_records_are_written_to_the_table_and_the_page_says_what_it_needs(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(frontier_summary, "PATH", tmp_path / "frontier.csv")
    assert frontier.main([*OPTIONS, "--records", str(tmp_path / "records"), "--write"]) == 0
    table = frontier_summary.read()
    assert len(table) == 2 * 2 * 3
    assert not table.duplicated(frontier_summary.KEY).any()
    assert (table["loss"] > 0).all()
    told = capsys.readouterr()
    assert "CatBoost has not been measured" in told.out
    assert "CatBoost in 108 cells" in " ".join(told.err.split())


def test_what_matters_most_comes_first():
    tasks = frontier.plan(DATA, METHODS, 3)
    assert len(tasks) == len(set(tasks)) == len(DATA) * len(METHODS) * 3
    stage_of = {method.name: i for i, stage in enumerate(STAGES) for method in stage}
    stages = [stage_of[task.method] for task in tasks]
    assert stages == sorted(stages)
    folds = [task.fold for task in tasks if task.method == "FIGS 64"]
    assert folds == sorted(folds)
    one = [task.data for task in tasks if task.method == "tree" and task.fold == 0]
    assert one.index("titanic") < one.index("adult") < one.index("fars")


@pytest.mark.usefixtures("tables")
def test_what_took_too_long_once_is_not_waited_for_again(tmp_path, monkeypatch):
    records = Records(tmp_path, FrontierProtocol())
    slow = Task("sonar", "FIGS 64", 0)
    for name, method in METHODS.items():  # nothing is fitted: no package is needed
        monkeypatch.setitem(METHODS, name, replace(method, packages=()))
    monkeypatch.setattr(frontier, "measure", no_fit)
    record = frontier_protocol.record_of(FrontierProtocol(), slow, "over time", {})
    records.write(slow, record)

    def status(task):
        return frontier.measure_unless_too_slow(FrontierProtocol(), task, records)["status"]

    assert status(Task("sonar", "FIGS 64", 1)) == frontier.NOT_TRIED
    assert status(Task("sonar", "FIGS 256", 2)) == frontier.NOT_TRIED
    for other in (
        Task("sonar", "FIGS 16", 0),
        Task("titanic", "FIGS 64", 0),
        Task("sonar", "RuleFit 64", 0),
        Task("sonar", "tree 64", 0),
    ):
        with pytest.raises(AssertionError):
            status(other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--splits", "0"], "argument --splits: must be a whole number of at least 1, not '0'"),
        (["--data-sets", "iris"], "argument --data-sets: invalid choice: 'iris'"),
        (["--methods", "SVM"], "argument --methods: invalid choice: 'SVM'"),
        (["--data", "/nowhere"], "error: No data folder at /nowhere. Name another with --data"),
    ],
)
def test_a_mistake_gets_one_line(options, message, tmp_path, capsys):
    try:
        status = frontier.main([*options, "--records", str(tmp_path)])
    except SystemExit as stopped:
        status = stopped.code
    assert status == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_names_tell_family_and_size():
    assert len(METHODS) == sum(len(stage) for stage in STAGES)
    method = METHODS["HistGradientBoosting 64"]
    assert (method.family, method.n_rules, method.is_ours) == (
        "HistGradientBoosting",
        64,
        False,
    )
    method = METHODS["ours average"]
    assert (method.family, method.n_rules, method.is_ours) == ("ours average", None, True)


class Remembered:
    """A classifier that knows only its shape: the larger its rate, the better it is."""

    classes_ = np.arange(2)

    def __init__(self, rounds, leaves, rate):
        self.shape = rounds, leaves, rate

    def fit(self, X, y):
        self.n_rows = len(y)
        return self

    def predict_proba(self, X):
        right = 0.5 + 0.4 * self.shape[2] - 0.01 * self.shape[0]
        return np.column_stack([np.full(len(X), 1 - right), np.full(len(X), right)])


def test_the_best_shape_of_a_size_is_fitted_to_all_rows():
    model = SizedBoosting(Remembered, 64, 2).fit(np.zeros((50, 1)), np.ones(50, int))
    assert model.shape_ == (8, 8, 1.0)
    assert model.model_.n_rows == 50


@pytest.mark.parametrize("n_classes", [0, 2, 3, 15])
def test_no_shape_has_more_leaves_than_its_size_but_for_the_first_round(n_classes):
    trees_a_round = max(1, n_classes * (n_classes > 2))
    for n_leaves in (16, 64, 256):
        for rounds, leaves, _ in SizedBoosting(Remembered, n_leaves, n_classes).shapes():
            total = rounds * leaves * trees_a_round
            assert total <= n_leaves or rounds == 1
            assert (rounds + 1) * leaves * trees_a_round > n_leaves


@pytest.mark.parametrize("n_classes", [0, 2])
@pytest.mark.parametrize("n_leaves", [16, 64])
def test_boosting_of_a_size_has_that_size(n_classes, n_leaves):
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = X[:, 0] * X[:, 1]
    method = METHODS[f"HistGradientBoosting {n_leaves}"]
    with threadpool_limits(1):
        model = method.make(n_classes).fit(X, (y > 0).astype(int) if n_classes else y)
    assert 0.5 * n_leaves < method.size(model)["rules"] <= n_leaves


def test_work_in_a_process_of_its_own():
    assert limits.within(None, sum, [1, 2]) == 3
    assert limits.within(5, sum, [1, 2]) == 3
    with pytest.raises(RuntimeError, match=r"^ZeroDivisionError: .*zero$"):
        limits.within(None, divmod, 1, 0)
    with pytest.raises(RuntimeError, match=r"^its process ended with status 3$"):
        limits.within(None, quit_at_once)


def quit_at_once():
    import os

    os._exit(3)


def test_a_quick_look_is_three_tables_and_one_split():
    options = frontier.parse(["--quick"])
    kinds = {frontier_protocol.FRONTIER.get(name) is None for name in options.data_sets}
    assert kinds == {True, False}
    assert (len(options.data_sets), options.splits) == (3, 1)
