"""Files that are no good: each is refused in a line that names it, and its row group."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from parquet_tables import plain, written, written_folder

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._data._columns import Missing
from neuralrules._stream import _parquet, _training
from neuralrules._stream._rows import VALIDATION, chosen


def refusal(table, y="y", error=ValueError, estimator=NeuralRuleClassifier, **parameters):
    with pytest.raises(error) as caught:
        estimator(n_epochs=2, random_state=0, **parameters).fit(table, y)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_target_that_is_not_there_is_named_with_a_similar_one(tmp_path):
    path = written(plain(100).rename(columns={"y": "bought"}), tmp_path / "table.parquet")
    assert refusal(path, "Bougt") == (
        "y='Bougt' is none of the table's columns. Did you mean 'bought'?"
    )
    assert "They are 'a', 'b', 'c'" in refusal(path, "price")
    assert "must be the name of a column" in refusal(path, np.zeros(100), TypeError)
    with pytest.raises(ValueError, match="sample_weight='w' is none of the table's columns"):
        NeuralRuleClassifier().fit(path, "bought", "w")
    only = written(plain(100)[["y"]], tmp_path / "only.parquet")
    assert "no column to learn from" in refusal(only)


def test_tables_without_rows_or_files(tmp_path):
    assert "has no rows" in refusal(written(plain(10)[:0], tmp_path / "none.parquet"))
    (tmp_path / "folder").mkdir()
    assert "the folder has no files" in refusal(tmp_path / "folder", error=OSError)
    assert "There is no file" in refusal(tmp_path / "missing.parquet", error=OSError)


def test_files_that_are_not_parquet(tmp_path):
    for name, content in {"a.parquet": b"", "b.parquet": b"a,b\n1,2\n" * 99}.items():
        (tmp_path / name).write_bytes(content)
        text = refusal(tmp_path / name, error=OSError)
        assert name in text
        assert "cannot be read as Parquet" in text
    memory = ds.dataset(pa.table({"a": [1.0], "y": [0]}))
    assert "not one of Parquet files" in refusal(memory, error=TypeError)
    path = written(plain(300), tmp_path / "t.parquet")
    filtered = ds.dataset(path).filter(ds.field("a") > 0)
    assert "The dataset is filtered" in refusal(filtered)


@pytest.mark.parametrize(
    ("cell", "says"),
    [(None, "missing values"), (np.nan, "missing values")],
)
def test_holes_in_the_target_are_named(tmp_path, cell, says):
    frame = plain(2000)
    frame.loc[1500, "y"] = cell
    text = refusal(written(frame, tmp_path / "table.parquet"))
    assert text.startswith(f"{tmp_path / 'table.parquet'}, row group 2: ")
    assert says in text
    frame = plain(2000, task="number")
    frame.loc[1500, "y"] = np.nan
    text = refusal(written(frame, tmp_path / "table.parquet"), estimator=NeuralRuleRegressor)
    assert "row group 2: Input y contains NaN" in text


def test_targets_of_which_nothing_can_be_learned(tmp_path):
    path = written(plain(300).assign(y="yes"), tmp_path / "1.parquet")
    assert "needs at least 2 classes" in refusal(path)
    path = written(plain(300).assign(y=2.0), tmp_path / "2.parquet")
    assert "single value, 2.0, in all 300 rows" in refusal(path, estimator=NeuralRuleRegressor)
    path = written(plain(300), tmp_path / "3.parquet")
    assert "holds the text" in refusal(path, estimator=NeuralRuleRegressor)
    path = written(plain(300, task="number"), tmp_path / "4.parquet")
    assert "continuous" in refusal(path)


def test_a_class_of_one_row_is_trained_on(tmp_path):
    rare = plain(900)
    rare.loc[100, "y"] = "perhaps"
    path = written(rare, tmp_path / "table.parquet")
    seeds = [np.random.RandomState(number).randint(2**31 - 1) for number in range(12)]
    held = [chosen(100, 1, 0.2, seed, VALIDATION)[0] for seed in seeds]
    assert {True, False} == set(held)  # by its position alone
    for number in (held.index(True), held.index(False)):
        model = NeuralRuleClassifier(n_epochs=1, random_state=number).fit(path, "y")
        assert list(model.classes_) == ["no", "perhaps", "yes"]
        inside = model.rules_.covers(model.encoder_.transform(rare.drop(columns="y")[100:101]))
        np.testing.assert_array_equal(model.rules_.totals[:, 1], inside[0])
    # Nor has it to be in the sample that trees grow from.
    model = NeuralRuleClassifier(n_epochs=1, random_state=0, n_sample_rows=100)
    assert model.fit(path, "y").predict_proba(rare.drop(columns="y")).shape == (900, 3)


def test_cells_that_no_rule_can_use_are_named(tmp_path):
    table = pa.Table.from_pandas(plain(1500))
    wrong = {
        "list": pa.array([[1.0]] * 1500),
        "time": pa.array([1] * 1500, pa.time32("s")),
        "infinite": pa.array([0.0] * 1400 + [np.inf] * 100),
    }
    for name, column in wrong.items():
        path = written(table.append_column(name, column), tmp_path / f"{name}.parquet")
        text = refusal(path, error=(ValueError, TypeError))
        assert f"{name!r}" in text
        assert "row group" in text


def test_damage_is_named_with_its_row_group_and_the_checkpoint_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(_training, "BUFFER_BYTES", 2**14)  # read in each epoch
    folder = written_folder(plain(3000), tmp_path / "folder")
    victim = folder / "part-1.parquet"
    place = pq.ParquetFile(victim).metadata.row_group(1).column(0).data_page_offset

    def damage():
        content = bytearray(victim.read_bytes())
        content[place + 200] ^= 255
        times = os.stat(victim)
        victim.write_bytes(content)
        os.utime(victim, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a bad disk does

    checkpoint = tmp_path / "fit.checkpoint"
    epochs = []
    train = _training.StreamTrainer.train_epoch

    def damaging(self, epoch, interrupted):
        epochs.append(epoch)
        if epoch == 1:
            damage()
        return train(self, epoch, interrupted)

    monkeypatch.setattr(_training.StreamTrainer, "train_epoch", damaging)
    text = refusal(folder, error=OSError, checkpoint=checkpoint)
    assert text.startswith(f"{victim}, row group 1: cannot be read as Parquet (")
    assert epochs == [0, 1]
    assert checkpoint.exists()


def test_a_file_that_changes_under_way_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(_training, "BUFFER_BYTES", 2**14)
    path = written(plain(2000), tmp_path / "table.parquet")
    train = _training.StreamTrainer.train_epoch

    def changing(self, epoch, interrupted):
        if epoch == 1:
            written(plain(2000, seed=9), path)
        return train(self, epoch, interrupted)

    monkeypatch.setattr(_training.StreamTrainer, "train_epoch", changing)
    text = refusal(path, error=OSError)
    assert "the file has changed since the fit began" in text
    assert "row group" in text


def test_a_folder_whose_files_have_other_columns(tmp_path):
    folder = written_folder(plain(900), tmp_path / "folder")
    frame = pd.read_parquet(folder / "part-2.parquet")
    # A column that is missing in one file is a hole there; one of another type is cast.
    written(frame.drop(columns="d").assign(e=1), folder / "part-2.parquet")
    model = NeuralRuleClassifier(n_epochs=1, random_state=0).fit(folder, "y")
    holes = [c for c in model.encoder_.columns if isinstance(c, Missing)]
    assert [model.encoder_.names[c.source] for c in holes] == ["d"]
    written(frame.assign(a="text"), folder / "part-2.parquet")
    assert "part-2.parquet" in refusal(folder, error=OSError)


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    path = written(plain(50), tmp_path / "table.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.dataset", None)
    with pytest.raises(ImportError, match=r'pip install "neuralrules\[cli\]"'):
        _parquet.ParquetTable(path)
