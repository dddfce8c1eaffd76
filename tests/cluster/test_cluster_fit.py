"""Fits on a real Ray cluster of two nodes: as on one machine, and whoever is lost."""

import math
import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pandas as pd
import psutil
import pytest
from parquet_tables import plain, written
from waiting import HANG, wait_until

import neuralrules.ray
from neuralrules import NeuralRuleClassifier, NeuralRuleClassifierCV, NeuralRuleRegressor, load
from neuralrules._cluster import _training
from neuralrules._cluster._connection import Workers
from neuralrules._cluster._training import Keeper
from neuralrules._stream import _parquet
from neuralrules._stream._checkpoint import Checkpoint

pytestmark = [
    pytest.mark.slow,
    # Ray Data warns of its own settings, whoever reads them.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context"),
    # Ray opens files and sockets that it leaves to be closed.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
N_EPOCHS = 40
OPTIONS = {"n_epochs": N_EPOCHS, "early_stopping": False, "batch_size": 256, "random_state": 0}


def table():
    """Classes in words, categories, holes, and weights; an odd number of rows."""
    frame = plain(3001)
    rng = np.random.RandomState(5)
    frame.loc[rng.rand(len(frame)) < 0.1, "d"] = np.nan
    frame.loc[rng.rand(len(frame)) < 0.05, "city"] = None
    return frame.assign(w=rng.randint(0, 3, len(frame)) / 2.0)


@pytest.fixture(scope="module")
def pieces():
    """Let even small tables be read in several pieces, on one machine and on many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_parquet, "CHUNK_CELLS", 8 * 700)
        yield


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    # Row groups that end where pieces of the dataset do.
    return written(table(), tmp_path_factory.mktemp("table") / "table.parquet", 1400)


@pytest.fixture(scope="module")
def unbroken(ray_cluster, path, pieces):
    """The model of two workers that nothing happened to, and what it cost."""
    model = NeuralRuleClassifier(**OPTIONS)
    return neuralrules.ray.fit_with_costs(model, path, "y", "w", Workers(2, 1, False, 0), None)


def mean_loss(model, frame):
    return log_loss(frame, model.predict_proba(frame.drop(columns=["y", "w"])))


def log_loss(frame, probabilities):
    right = probabilities[np.arange(len(frame)), (frame["y"] == "yes").astype(int)]
    return -np.average(np.log(right), weights=frame["w"])


def test_one_table_fitted_four_ways_gives_models_that_agree(unbroken, path):
    """By numba and by torch in memory, from files, and by a cluster."""
    frame = table()
    X, y, weights = frame.drop(columns=["y", "w"]), frame["y"], frame["w"]
    models = {
        "numba": NeuralRuleClassifier(**OPTIONS).fit(X, y, weights),
        "torch": NeuralRuleClassifier(engine="torch", **OPTIONS).fit(X, y, weights),
        "files": NeuralRuleClassifier(**OPTIONS).fit(path, "y", "w"),
        "cluster": unbroken[0],
    }
    # What comes before training is the same to the last bit: of both engines in memory, and
    # of one machine that reads pieces and of many that join what they found in theirs.
    for one, other in (("numba", "torch"), ("files", "cluster")):
        assert models[one].encoder_ == models[other].encoder_
        assert_same_rules(models[one].rules_, models[other].rules_)
    # In memory, and in pieces, sums are rounded in different orders.
    memory, files = models["numba"], models["files"]
    for own, other in zip(memory.encoder_.columns, files.encoder_.columns, strict=True):
        assert own.mean == pytest.approx(other.mean, rel=1e-12, abs=1e-14)
        assert own.scale == pytest.approx(other.scale, rel=1e-12)
        assert own.record == other.record
    assert memory.rules_.n_rules == files.rules_.n_rules
    np.testing.assert_array_equal(memory.rules_.features, files.rules_.features)
    np.testing.assert_allclose(memory.rules_.thresholds, files.rules_.thresholds, atol=1e-5)
    np.testing.assert_array_equal(memory.rules_.n, files.rules_.n)
    # And training, on other batches each, comes to the same.
    losses = {name: mean_loss(model, frame) for name, model in models.items()}
    assert max(losses.values()) - min(losses.values()) < 0.005, losses
    decisions = [model.decision_function(X) for model in models.values()]
    assert np.corrcoef(decisions).min() > 0.99


def assert_same_rules(found, expected):
    for name in ("features", "signs", "thresholds", "values", "n", "totals", "scores"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    assert found.n_training == expected.n_training


def test_gradients_are_reduced_once_a_step(unbroken):
    model, cluster = unbroken
    ((cost,),) = [training.costs for training in cluster.trainings]
    n_trained = np.count_nonzero(table()["w"])
    n_steps = math.ceil(math.ceil(n_trained / 2) / 128)  # of the larger half of the rows
    assert cost.n_reductions == N_EPOCHS * n_steps
    n_numbers = sum(array.size for array in model.network_.parameters)
    # Each slope once, whether each rule was active, weight and loss.
    assert cost.n_bytes == 4 * (n_numbers + model.network_.n_rules + 2)


def test_the_model_is_an_ordinary_one(unbroken, tmp_path):
    model, frame = unbroken[0], table()
    X = frame.drop(columns=["y", "w"])
    assert model.n_iter_ == N_EPOCHS
    assert list(model.feature_names_in_) == list(X)
    assert "40 epochs by 2 workers of a Ray cluster" in str(model.fitted_.lineage[-1])
    model.save(tmp_path / "model.nrules")
    again = load(tmp_path / "model.nrules")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert np.isfinite(model.explain(X[:3]).contributions.sum(axis=1)).all()
    assert model.rules_text()


def train_workers():
    """The processes of this cluster's workers that train."""
    return [
        process
        for process in psutil.Process().children(recursive=True)
        if "RayTrainWorker" in " ".join(process.cmdline())
    ]


def when_trained(patch, folder, n_epochs, act):
    """Do something from a thread once so many epochs are done. Training waits until then."""
    reached, acted = folder / "reached", folder / "acted"

    class HoldingKeeper(Keeper):
        def keep(self, stage):
            super().keep(stage)
            if stage.outcome.n_epochs >= n_epochs:
                reached.touch()
                while not acted.exists():  # Ray's processes cannot import what tests share
                    time.sleep(0.02)

    def wait():
        wait_until(reached.exists)
        act()
        acted.touch()

    patch.setattr(_training, "Keeper", HoldingKeeper)
    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_a_killed_worker_is_replaced_and_the_result_is_the_same(
    ray_cluster, unbroken, pieces, tmp_path, monkeypatch
):
    """From a dataset whose blocks are others, too: the rows and the seed decide alone."""
    import ray.data

    frame, checkpoint, killed = table(), tmp_path / "checkpoint", []
    blocks = [frame[start : start + 450] for start in range(0, len(frame), 450)]
    dataset = ray.data.from_pandas(blocks)

    def kill():
        victim = train_workers()[-1]
        os.kill(victim.pid, signal.SIGKILL)
        killed.append(victim.pid)

    thread = when_trained(monkeypatch, tmp_path, 3, kill)
    model = NeuralRuleClassifier(checkpoint=checkpoint, **OPTIONS)
    _, cluster = neuralrules.ray.fit_with_costs(
        model, dataset, "y", "w", Workers(2, 1, False, 1), None
    )
    thread.join()
    assert len(killed) == 1
    ((begun,),) = [training.begun for training in cluster.trainings]
    assert begun[0] == 0
    assert 3 <= begun[1] < N_EPOCHS
    # Those in its place went on, and did not begin anew.
    ((cost,),) = [training.costs for training in cluster.trainings]
    ((whole,),) = [training.costs for training in unbroken[1].trainings]
    assert cost.n_reductions == whole.n_reductions * (N_EPOCHS - begun[1]) // N_EPOCHS
    assert model.exact_text() == unbroken[0].exact_text()
    assert model.history_ == unbroken[0].history_
    assert not checkpoint.exists()


def test_two_numbers_are_learned_and_training_stops_early(
    ray_cluster, pieces, tmp_path, capsys
):
    frame, others = (plain(4000, task="two numbers", seed=seed) for seed in (0, 1))
    path = written(frame, tmp_path / "table.parquet", 1400)
    options = {"n_epochs": 6, "batch_size": 128, "random_state": 0, "max_rules": 40}
    one = NeuralRuleRegressor(**options).fit(path, ["y", "z"])
    many = neuralrules.ray.fit(
        NeuralRuleRegressor(verbose=1, **options), path, target=["y", "z"], workers=2
    )
    assert "epoch 6/6 · loss " in capsys.readouterr().err
    assert many.encoder_ == one.encoder_
    assert_same_rules(many.rules_, one.rules_)
    assert many.n_iter_ == len(many.history_["validation_loss"])
    assert many.history_["validation_loss"] == pytest.approx(
        one.history_["validation_loss"], rel=0.05
    )
    X, y = others.drop(columns=["y", "z"]), others[["y", "z"]]
    assert many.score(X, y) == pytest.approx(one.score(X, y), abs=0.01)


def test_a_cluster_too_small_or_too_far_is_one_clear_error(ray_cluster, path, tmp_path):
    model = NeuralRuleClassifier(checkpoint=tmp_path / "checkpoint", **OPTIONS)
    for options, says in (
        (
            {"workers": 64},
            "workers=64 of 1 CPU each are more than .*: its 2 machines can run 2",
        ),
        (
            {"workers": 1, "gpu": True},
            "workers=1 of 1 CPU and a GPU .* can run 0. Ask for less",
        ),
        ({"workers": 1, "cpus_per_worker": 2}, "1 of 2 CPUs each .* can run 0"),
        ({"address": "10.0.0.1:6379"}, "address='10.0.0.1:6379' is another cluster than"),
        ({"address": "ray://10.0.0.1"}, "belongs to Ray Client"),
    ):
        with pytest.raises(ValueError, match=says) as caught:
            neuralrules.ray.fit(model, path, target="y", **options)
        assert "\n" not in str(caught.value)
    assert not hasattr(model, "fitted_")
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_with_the_table_is_one_clear_error(ray_cluster, path, pieces):
    import ray.data

    frame = table()
    model = NeuralRuleClassifier(**OPTIONS)

    def fit(dataset, target="y", **options):
        return neuralrules.ray.fit(model, dataset, target=target, workers=1, **options)

    with pytest.raises(ValueError, match=r"y='yy' is none .* Did you mean 'y'\?"):
        fit(path, "yy")
    with pytest.raises(FileNotFoundError, match="no file or folder 'gone'"):
        fit("gone")
    with pytest.raises(TypeError, match=r"DataFrame, but must be a ray.data.Dataset or"):
        fit(frame)
    dataset = ray.data.from_pandas(frame.assign(w=-1.0))
    with pytest.raises(ValueError, match=r"^rows 1 to 700 of the dataset: The weight -1.0"):
        fit(dataset, sample_weight="w")
    with pytest.raises(ValueError, match="The dataset has no rows"):
        fit(ray.data.from_pandas(frame[:0]))
    assert not hasattr(model, "fitted_")


def test_a_training_that_diverges_says_so(ray_cluster, path):
    options = {**OPTIONS, "n_epochs": 1, "learning_rate": 1e30, "loss": "hinge"}
    model = NeuralRuleClassifier(**options)
    with pytest.raises(ValueError, match=r"Training diverged in epoch 1.*Lower learning_rate"):
        neuralrules.ray.fit(model, path, target="y", workers=1)
    assert not hasattr(model, "fitted_")


def is_alive(process):
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_a_machine_that_is_lost_for_good_is_one_clear_error(ray_cluster, path, tmp_path):
    """Three workers on three machines, of which one goes away: no room is left for three.

    When it is back, the same call goes on.
    """
    node = ray_cluster.add_node(num_cpus=1, object_store_memory=2**28)
    checkpoint = tmp_path / "checkpoint"

    def lose():
        workers = train_workers()
        ray_cluster.remove_node(node, False)
        wait_until(lambda: not all(map(is_alive, workers)))

    model = NeuralRuleClassifier(checkpoint=checkpoint, **OPTIONS)
    with pytest.MonkeyPatch.context() as patch:
        # There will never be room for three again. But the first start has this time, too.
        patch.setenv("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "60")
        thread = when_trained(patch, tmp_path, 2, lose)
        with pytest.raises(RuntimeError, match="the Ray cluster lost too much of") as caught:
            neuralrules.ray.fit(model, path, target="y", workers=3)
        thread.join()
    assert "\n" not in str(caught.value)
    assert "startup timed out" in str(caught.value)
    assert not hasattr(model, "fitted_")
    n_done = Checkpoint.at(checkpoint, 0).document["0"]["n_epochs"]
    assert n_done >= 2
    with pytest.raises(ValueError, match=f"^checkpoint='{checkpoint}' is of another fit"):
        neuralrules.ray.fit(model, path, target="y", workers=2)
    node = ray_cluster.add_node(num_cpus=1, object_store_memory=2**28)
    three = Workers(3, 1, False, 0)
    _, cluster = neuralrules.ray.fit_with_costs(model, path, "y", None, three, None)
    ((begun,),) = [training.begun for training in cluster.trainings]
    assert begun == [n_done]
    assert model.n_iter_ == N_EPOCHS
    ray_cluster.remove_node(node)


def test_no_cluster_at_the_address_is_one_clear_error(tmp_path, path):
    """In a program of its own: this one is connected."""
    pytest.importorskip("ray", reason="ray is not installed: make test-slow installs it")
    code = (
        "import neuralrules.ray\n"
        "model = neuralrules.NeuralRuleClassifier()\n"
        "try:\n"
        f"    neuralrules.ray.fit(model, {str(path)!r}, target='y', address='127.0.0.1:1')\n"
        "except ConnectionError as error:\n"
        "    print('told:', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG, check=False
    )
    told = [line for line in done.stdout.splitlines() if line.startswith("told:")]
    assert len(told) == 1, done.stderr
    assert "address='127.0.0.1:1' leads to no Ray cluster" in told[0]


@pytest.mark.parametrize("backend", ["ray", "dask"])
def test_the_members_of_a_search_may_be_trained_anywhere(ray_cluster, backend):
    frame = table()
    X, y = frame.drop(columns=["y", "w"]), frame["y"]
    candidates = [{"max_depth": 1}, {"max_depth": 2}]

    def fitted():
        search = NeuralRuleClassifierCV(
            candidates, cv=2, n_epochs=2, n_trees=5, random_state=0, n_jobs=2
        )
        return search.fit(X, y)

    here = fitted()
    if backend == "ray":
        from ray.util.joblib import register_ray

        register_ray()
        with joblib.parallel_config("ray"):
            there = fitted()
    else:
        import dask
        from distributed import Client

        with (
            dask.config.set(
                {f"distributed.comm.timeouts.{name}": HANG for name in ("connect", "tcp")}
            ),
            Client(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True),
            joblib.parallel_config("dask"),
        ):
            there = fitted()
    assert there.exact_text() == here.exact_text()
    np.testing.assert_array_equal(there.cv_scores_, here.cv_scores_)
    pd.testing.assert_frame_equal(there.rules_table(), here.rules_table())
