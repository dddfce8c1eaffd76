"""A fit that was killed goes on and comes to the very same model."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from parquet_tables import plain, written
from platforms import unix

from neuralrules import NeuralRuleClassifier
from neuralrules._stream import _checkpoint, _training

PARAMETERS = {"n_epochs": 4, "random_state": 0, "rule_dropout": 0.1}


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks in an epoch, and a checkpoint after each of them."""
    monkeypatch.setattr(_training, "BUFFER_BYTES", 2**14)
    monkeypatch.setattr(_training, "BLOCK_ROWS", 256)
    monkeypatch.setattr(_training, "SECONDS_BETWEEN_CHECKPOINTS", -1)


class KilledError(BaseException):
    """What stands for a kill in the same process."""


def fit_until(monkeypatch, path, checkpoint, n_writes, **parameters):
    """Fit until the checkpoint has been written so many times."""
    left = [n_writes]
    write = _checkpoint.Checkpoint.write

    def killing(self, number, stage):
        write(self, number, stage)
        left[0] -= 1
        if not left[0]:
            raise KilledError

    model = NeuralRuleClassifier(checkpoint=checkpoint, **PARAMETERS | parameters)
    with monkeypatch.context() as changed:
        changed.setattr(_checkpoint.Checkpoint, "write", killing)
        with pytest.raises(KilledError):
            model.fit(path, "y")


@pytest.mark.parametrize("n_writes", [1, 3, 9, 20])
def test_wherever_training_stops_it_comes_to_the_same_model(
    tmp_path, monkeypatch, small_blocks, n_writes
):
    path = written(plain(1500), tmp_path / "table.parquet")
    whole = NeuralRuleClassifier(**PARAMETERS).fit(path, "y")
    checkpoint = tmp_path / "fit.checkpoint"
    fit_until(monkeypatch, path, checkpoint, n_writes)
    assert checkpoint.exists()
    # By another number of threads, and in another process in the next test.
    again = NeuralRuleClassifier(checkpoint=checkpoint, n_jobs=2, **PARAMETERS).fit(path, "y")
    assert not checkpoint.exists()
    assert again.exact_text() == whole.exact_text()
    assert again.history_ == whole.history_
    moments = (again.fitted_.state.moments, whole.fitted_.state.moments)
    assert moments[0].n_steps == moments[1].n_steps
    for found, expected in zip(moments[0].means, moments[1].means, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_both_stages_of_few_terms_go_on(tmp_path, monkeypatch, small_blocks):
    path = written(plain(1500), tmp_path / "table.parquet")
    parameters = {"max_terms": 1, "literal_columns": "tree"}
    whole = NeuralRuleClassifier(**PARAMETERS, **parameters).fit(path, "y")
    for n_writes in (4, 25):  # the free stage has fewer blocks than that
        checkpoint = tmp_path / f"{n_writes}.checkpoint"
        fit_until(monkeypatch, path, checkpoint, n_writes, **parameters)
        model = NeuralRuleClassifier(checkpoint=checkpoint, **PARAMETERS, **parameters)
        assert model.fit(path, "y").exact_text() == whole.exact_text()
        assert model.history_ == whole.history_


SCRIPT = """
    import sys, time
    from neuralrules import NeuralRuleClassifier
    from neuralrules._stream import _checkpoint, _training

    _training.BUFFER_BYTES, _training.BLOCK_ROWS = 2**14, 256
    _training.SECONDS_BETWEEN_CHECKPOINTS = -1
    table, checkpoint, model, n_writes = sys.argv[1:]
    left, write = int(n_writes), _checkpoint.Checkpoint.write

    def waiting(*given):
        global left
        write(*given)
        left -= 1
        if not left:
            print("ready", flush=True)
            time.sleep(600)

    _checkpoint.Checkpoint.write = waiting
    fitted = NeuralRuleClassifier(n_epochs=4, random_state=0, checkpoint=checkpoint)
    fitted.fit(table, "y").set_params(checkpoint=None).save(model)
"""


@unix
def test_a_process_that_is_killed_goes_on_to_the_same_file(tmp_path, small_blocks, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # or the files say who made them, and when
    path = written(plain(1500), tmp_path / "table.parquet")
    script = tmp_path / "fit.py"
    script.write_text(textwrap.dedent(SCRIPT))
    checkpoint, resumed = tmp_path / "fit.checkpoint", tmp_path / "resumed.nrules"
    command = [sys.executable, script, path, checkpoint, resumed]
    with subprocess.Popen([*command, "9"], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert sorted(os.listdir(tmp_path)) == ["fit.checkpoint", "fit.py", "table.parquet"]
    subprocess.run([*command, "0"], check=True)
    assert not checkpoint.exists()
    whole = NeuralRuleClassifier(n_epochs=4, random_state=0).fit(path, "y")
    whole.save(tmp_path / "whole.nrules")
    assert resumed.read_bytes() == (tmp_path / "whole.nrules").read_bytes()


def test_a_checkpoint_of_another_fit_is_refused(tmp_path, monkeypatch, small_blocks):
    frame = plain(900)
    path = written(frame, tmp_path / "table.parquet")
    checkpoint = tmp_path / "fit.checkpoint"
    fit_until(monkeypatch, path, checkpoint, 3)
    kept = checkpoint.read_bytes()
    for parameters in ({"l2": 0.1}, {"n_epochs": 5}, {"max_depth": 3}):
        model = NeuralRuleClassifier(checkpoint=checkpoint, **{**PARAMETERS, **parameters})
        with pytest.raises(ValueError, match="is of another fit: the files, a parameter or"):
            model.fit(path, "y")
    model = NeuralRuleClassifier(checkpoint=checkpoint, **PARAMETERS)
    with pytest.raises(ValueError, match="is of another fit"):
        model.fit(path, "city")
    (tmp_path / "other").mkdir()
    other = written(frame.assign(a=-frame["a"]), tmp_path / "other" / "table.parquet")
    with pytest.raises(ValueError, match="is of another fit"):
        model.fit(other, "y")
    assert checkpoint.read_bytes() == kept  # and stays for the fit that it is of


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "a model"])
def test_a_damaged_checkpoint_is_refused(tmp_path, monkeypatch, small_blocks, damage):
    path = written(plain(900), tmp_path / "table.parquet")
    checkpoint = tmp_path / "fit.checkpoint"
    fit_until(monkeypatch, path, checkpoint, 3)
    whole = checkpoint.read_bytes()
    if damage == "a model":
        NeuralRuleClassifier(n_epochs=0).fit(path, "y").save(checkpoint)
    else:
        changed = bytearray(whole)
        changed[-5] ^= 1
        checkpoint.write_bytes({"empty": b"", "cut": whole[:-7], "changed": changed}[damage])
    with pytest.raises(ValueError, match="is no checkpoint of a fit, or damaged"):
        NeuralRuleClassifier(checkpoint=checkpoint, **PARAMETERS).fit(path, "y")


def test_an_interrupted_fit_keeps_its_checkpoint(tmp_path, monkeypatch, small_blocks):
    path = written(plain(900), tmp_path / "table.parquet")
    checkpoint = tmp_path / "fit.checkpoint"
    whole = NeuralRuleClassifier(**PARAMETERS).fit(path, "y")
    train = _training.StreamTrainer._train_block

    def interrupting(self, block, rates, places):
        train(self, block, rates, places)
        if places[1:] == [1, 1]:
            signal.raise_signal(signal.SIGINT)

    model = NeuralRuleClassifier(checkpoint=checkpoint, **PARAMETERS)
    with monkeypatch.context() as changed:
        changed.setattr(_training.StreamTrainer, "_train_block", interrupting)
        with pytest.warns(UserWarning, match="interrupted"):
            model.fit(path, "y")
    assert model.interrupted_
    assert model.n_iter_ == 1
    assert model.fit(path, "y").exact_text() == whole.exact_text()


def test_a_seed_that_is_not_said_is_remembered(tmp_path, monkeypatch, small_blocks):
    path = written(plain(900), tmp_path / "table.parquet")
    checkpoint = tmp_path / "fit.checkpoint"
    fit_until(monkeypatch, path, checkpoint, 5, random_state=None)
    model = NeuralRuleClassifier(checkpoint=checkpoint, **PARAMETERS | {"random_state": None})
    assert model.fit(path, "y").n_iter_ == 4
