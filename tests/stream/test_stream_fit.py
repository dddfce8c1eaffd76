"""A fit on files is a fit: of every task, as good as in memory, and the same each time."""

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest
from parquet_tables import TASKS, plain, written, written_folder
from sklearn.metrics import log_loss

from neuralrules import NeuralRuleClassifier, NeuralRuleClassifierCV, NeuralRuleRegressor, load
from neuralrules._data._columns import Category
from neuralrules._data._rows import Rows
from neuralrules._io._progress import RowProgress
from neuralrules._stream import _parquet, _training
from neuralrules._stream._rows import chosen
from neuralrules._stream._training import shuffled
from neuralrules._task._task import Task


@pytest.fixture
def small_pieces(monkeypatch):
    """Let even small tables be read in many pieces, and shuffled in small buffers."""
    monkeypatch.setattr(_parquet, "CHUNK_CELLS", 7 * 100)
    monkeypatch.setattr(_training, "BUFFER_BYTES", 2**15)
    monkeypatch.setattr(_training, "BLOCK_ROWS", 256)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_learned_as_well_as_in_memory(tmp_path, task):
    estimator, y, parameters = TASKS[task]
    frame, others = plain(4000, task=task), plain(4000, task=task, seed=1)
    path = written(frame, tmp_path / "table.parquet")
    X, X_others = (table.drop(columns=[*"yz"], errors="ignore") for table in (frame, others))
    model = estimator(n_epochs=10, random_state=0, **parameters)
    streamed = estimator(n_epochs=10, random_state=0, **parameters).fit(path, y)
    model.fit(X, frame[y])
    assert model.score(X_others, others[y]) - streamed.score(X_others, others[y]) < 0.02
    assert streamed.predict(X_others).shape == model.predict(X_others).shape
    assert streamed.n_iter_ == len(streamed.history_["validation_loss"])
    assert list(streamed.feature_names_in_) == list(X)


def test_the_loss_is_that_of_a_fit_in_memory_within_noise(tmp_path):
    """Over seeds, on a table of several files; one fit differs from another by as much."""
    frame, others = plain(20_000), plain(20_000, seed=1)
    folder = written_folder(frame, tmp_path / "folder", 4)
    X, y = others.drop(columns="y"), others["y"]
    losses = {"memory": [], "files": []}
    for seed in range(2):
        model = NeuralRuleClassifier(n_epochs=10, random_state=seed)
        model.fit(frame.drop(columns="y"), frame["y"])
        losses["memory"].append(log_loss(y, model.predict_proba(X)))
        model = NeuralRuleClassifier(n_epochs=10, random_state=seed).fit(folder, "y")
        losses["files"].append(log_loss(y, model.predict_proba(X)))
    assert np.mean(losses["files"]) == pytest.approx(np.mean(losses["memory"]), abs=0.004)


def test_the_result_hangs_on_the_seed_alone(tmp_path, small_pieces):
    path = written(plain(1200), tmp_path / "table.parquet")

    def fitted(seed, **parameters):
        model = NeuralRuleClassifier(n_epochs=2, random_state=seed, **parameters)
        return model.fit(path, "y").exact_text()

    one = fitted(0, rule_dropout=0.2)
    assert one == fitted(0, rule_dropout=0.2) == fitted(0, rule_dropout=0.2, n_jobs=2)
    assert one != fitted(1, rule_dropout=0.2)


def test_a_file_a_folder_and_a_dataset_are_the_same_table(tmp_path, small_pieces):
    frame = plain(2100)
    written(frame, tmp_path / "table.parquet")
    folder = written_folder(frame, tmp_path / "folder", 3)
    texts = {
        NeuralRuleClassifier(n_epochs=2, random_state=0).fit(table, "y").exact_text()
        for table in (
            tmp_path / "table.parquet",
            str(tmp_path / "table.parquet"),
            folder,
            ds.dataset(folder, format="parquet"),
        )
    }
    assert len(texts) == 1  # row groups of 700 are the same in all of them


def test_the_folder_names_of_a_partitioned_dataset_are_a_column(tmp_path):
    frame = plain(1200)
    ds.write_dataset(
        ds.dataset(written(frame, tmp_path / "t.parquet")),
        tmp_path / "folder",
        format="parquet",
        partitioning=["city"],
        partitioning_flavor="hive",
    )
    model = NeuralRuleClassifier(n_epochs=2, random_state=0).fit(tmp_path / "folder", "y")
    cities = [c.category for c in model.encoder_.columns if isinstance(c, Category)]
    assert cities == ["Lima", "Oslo", "Rome"]


def test_leaves_are_counted_in_all_rows_that_are_trained_on(tmp_path, small_pieces):
    frame = plain(3000)
    path = written(frame, tmp_path / "table.parquet")
    model = NeuralRuleClassifier(
        n_epochs=0, random_state=0, n_sample_rows=500, early_stopping=False
    ).fit(path, "y")
    X = model.encoder_.transform(frame.drop(columns="y"))
    inside = model.rules_.covers(X)
    np.testing.assert_array_equal(model.rules_.n, inside.sum(axis=0))
    yes = (frame["y"] == "yes").to_numpy()
    np.testing.assert_array_equal(model.rules_.n_positive, inside[yes].sum(axis=0))
    assert model.rules_.n_training == 3000
    assert model.fitted_.performance.n_rows < 700
    assert model.fitted_.activity.n_rows == pytest.approx(3000)


def test_weights_count_rows_as_often(tmp_path):
    frame = plain(2000)
    heavy = frame.assign(w=np.where(frame["city"] == "Rome", 2.0, 1.0))
    twice = pd.concat([frame, frame[frame["city"] == "Rome"]])
    options = {"n_epochs": 0, "random_state": 0, "early_stopping": False}
    one = NeuralRuleClassifier(**options).fit(written(heavy, tmp_path / "1.parquet"), "y", "w")
    path = written(twice.reset_index(drop=True), tmp_path / "2.parquet")
    other = NeuralRuleClassifier(**options).fit(path, "y")
    np.testing.assert_allclose(one.encoder_._mean, other.encoder_._mean, atol=1e-12)
    np.testing.assert_allclose(one.encoder_._scale, other.encoder_._scale)
    assert one.rules_.n_training == other.rules_.n_training
    none = heavy.assign(w=0.0)
    with pytest.raises(ValueError, match="zero for every row"):
        NeuralRuleClassifier().fit(written(none, tmp_path / "3.parquet"), "y", "w")
    wrong = heavy.assign(w=-1.0)
    with pytest.raises(ValueError, match=r"row group 0: The weight -1.0 in column 'w'"):
        NeuralRuleClassifier().fit(written(wrong, tmp_path / "4.parquet"), "y", "w")


@pytest.mark.parametrize(
    "parameters",
    [
        {"deep": True},
        {"max_terms": 1, "literal_columns": "tree"},
        {"rule_source": "tree", "max_depth": 3},
        {"expert_rules": ["a > 0 and city = Rome", "free: a < 1"]},
        {"monotone": {"a": {"yes": 1}}, "exclude": ["d"]},
        {"class_weight": "balanced", "scaling": "quantile"},
        {"class_weight": {"yes": 3.0}, "fit_intercept": False, "loss": "hinge"},
        {"engine": "numpy", "early_stopping": False},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_every_parameter_is_kept(tmp_path, parameters, small_pieces):
    frame = plain(1500)
    path = written(frame, tmp_path / "table.parquet")
    model = NeuralRuleClassifier(n_epochs=3, random_state=0, **parameters).fit(path, "y")
    X = frame.drop(columns="y")
    # It does everything that a fitted estimator does, and stays the same in a file.
    assert model.score(X, frame["y"]) > 0.6
    model.save(tmp_path / "model.nrules")
    again = load(tmp_path / "model.nrules")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert model.rules_text()
    sums = model.explain(X[:5]).contributions.sum(axis=1)
    assert np.isfinite(sums).all()
    if "max_terms" in parameters:
        assert np.count_nonzero(model.network_.weights, axis=1).max() == 1
        assert model.n_iter_ == 4  # a third as many more, freely
    if "monotone" in parameters:
        assert model.check_monotone() == []
    refitted = model.refit(X, frame["y"])
    assert refitted.score(X, frame["y"]) > 0.6


def test_scores_of_numbers_are_measured_from_their_mean(tmp_path, small_pieces):
    """The loss for counts does not centre them, so their mean is not 0."""
    frame = plain(1500, task="counts")
    options = {"loss": "poisson", "n_epochs": 0, "early_stopping": False, "random_state": 0}
    model = NeuralRuleRegressor(**options).fit(written(frame, tmp_path / "t.parquet"), "y")
    rules = model.rules_
    targets = model.fitted_.task.standardised(frame[["y"]].to_numpy())
    assert targets.mean() > 0.5
    expected = (rules.totals[:, 0] - rules.n * targets.mean(dtype=np.float64)) ** 2 / rules.n
    np.testing.assert_allclose(rules.scores, expected, rtol=1e-4, atol=1e-4)


def test_a_sorted_table_is_mixed(tmp_path, small_pieces):
    """Each row group of it has one class alone."""
    frame, others = plain(4000).sort_values("y", ignore_index=True), plain(4000, seed=1)
    X, y = others.drop(columns="y"), others["y"]
    path = written(frame, tmp_path / "sorted.parquet", 250)
    model = NeuralRuleClassifier(n_epochs=4, random_state=0).fit(path, "y")
    other = NeuralRuleClassifier(n_epochs=4, random_state=0)
    other.fit(frame.drop(columns="y"), frame["y"])
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, other.predict_proba(X)) + 0.02


def rows_of(numbers):
    numbers = np.asarray(numbers, np.float32)
    task = Task.of_classes(np.array([0, 1]), "logistic")
    return Rows(numbers[:, None], numbers[:, None], numbers, numbers, task)


@pytest.mark.parametrize("capacity", [10, 64, 1000])
def test_every_row_leaves_the_buffer_once_and_in_another_order(capacity):
    pieces = [rows_of(range(start, start + 30)) for start in range(0, 300, 30)]
    blocks = list(shuffled(pieces, capacity=capacity, block=8, random=np.random.default_rng(0)))
    assert [len(block) for block in blocks] == [8] * 37 + [4]
    drawn = np.concatenate([block.X[:, 0] for block in blocks])
    assert sorted(drawn) == list(range(300))
    for block in blocks:
        np.testing.assert_array_equal(block.X[:, 0], block.training_weights)
    # By how much rows moved: everywhere if all fit in, else by about as many as wait.
    distance = np.abs(drawn - np.arange(300)).mean()
    assert distance == pytest.approx({10: 4, 64: 50, 1000: 100}[capacity], rel=0.5)


def test_a_row_is_in_a_sample_whatever_the_pieces_and_as_often_as_asked():
    whole = chosen(0, 100_000, 0.2, seed=5, purpose=0)
    pieces = [chosen(start, 7, 0.2, 5, 0) for start in range(0, 100_002, 7)]
    np.testing.assert_array_equal(np.concatenate(pieces)[:100_000], whole)
    assert whole.mean() == pytest.approx(0.2, abs=0.005)
    for other in (chosen(0, 100_000, 0.2, 5, 1), chosen(0, 100_000, 0.2, 6, 0)):
        assert (whole & other).mean() == pytest.approx(0.04, abs=0.005)
    assert (whole[1:] & whole[:-1]).mean() == pytest.approx(0.04, abs=0.005)
    assert chosen(0, 9, 1.0, 0, 0).all()
    assert not chosen(0, 9, 0.0, 0, 0).any()


def test_only_plain_fits_read_files(tmp_path):
    path = written(plain(300), tmp_path / "table.parquet")
    model = NeuralRuleClassifier(n_epochs=1, warm_start=True).fit(path, "y")
    with pytest.raises(ValueError, match="warm_start=True does not go on from files"):
        model.fit(path, "y")
    for call in (
        lambda: model.predict(path),
        lambda: model.partial_fit(path, "y"),
        lambda: model.refit(ds.dataset(path), "y"),
        lambda: NeuralRuleClassifierCV().fit(path, "y"),
    ):
        with pytest.raises(TypeError, match="which only `fit` of NeuralRuleClassifier and"):
            call()
    with pytest.raises(ValueError, match="y should be a 1d array"):
        NeuralRuleClassifier().fit(path, ["y", "city"])


def test_progress_counts_rows_and_time(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("neuralrules._io._progress.SECONDS_BETWEEN_LINES", np.inf)
    path = written(plain(1000), tmp_path / "table.parquet")
    NeuralRuleRegressor(n_epochs=2, verbose=1, random_state=0).fit(path, "a")
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("█" * 24 + " Epoch 2/2 · ")
    assert " rows · loss " in line
    assert " · validation " in line
    assert line.endswith(" · 0.0 s left")


def test_every_pass_moves_the_bar_on_and_two_stages_are_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("neuralrules._io._progress.SECONDS_BETWEEN_LINES", np.inf)
    path = written(plain(2000), tmp_path / "table.parquet", 500)
    shares = []
    show = RowProgress.show

    def noting(self, share, text):
        shares.append(share)
        show(self, share, text)

    monkeypatch.setattr(RowProgress, "show", noting)
    NeuralRuleRegressor(
        n_epochs=3, verbose=1, max_terms=1, literal_columns="tree", random_state=0
    ).fit(path, "a")
    assert len(shares) > 15
    assert all(0 < share <= 1 for share in shares)
    assert shares[-1] == 1
    assert shares[:12] == sorted(shares[:12])  # until the second stage is known of
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
