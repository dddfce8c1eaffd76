"""`neuralrules fit` on Parquet files that are read piece by piece."""

import numpy as np
import pytest
from command_line import done, refused
from parquet_tables import plain, written, written_folder

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, load


def test_a_long_file_is_read_piece_by_piece_and_gives_an_ordinary_model(tmp_path):
    frame = plain(1200)
    path = written(frame.assign(id=np.arange(1200)), tmp_path / "table.parquet")
    options = ["--target", "y", "--n-epochs", "2", "-o", tmp_path / "model.nrules"]
    short = done("fit", path, *options, "--drop", "id")
    assert "piece by piece" not in short.err
    long = done("fit", path, *options, "--drop", "id", "--n-sample-rows", "1000")
    assert "is read piece by piece in every epoch: it has 1,200 rows." in long.err
    assert "classification, because the target 'y' holds text" in long.err
    assert "Fitted y on 1,200 rows of" in long.out
    model = load(tmp_path / "model.nrules")
    assert list(model.feature_names_in_) == ["a", "b", "c", "d", "e", "city"]
    same = NeuralRuleClassifier(n_epochs=2, random_state=0, n_sample_rows=1000)
    same.fit(written(frame, tmp_path / "same.parquet"), "y")
    assert model.exact_text() == same.exact_text()
    done("predict", tmp_path / "model.nrules", path, "-o", tmp_path / "scored.csv")


def test_a_folder_with_weights_and_several_targets(tmp_path):
    frame = plain(900, task="two numbers").assign(w=1.0)
    folder = written_folder(frame, tmp_path / "folder")
    command = ["fit", folder, "--n-epochs", "1", "--json", "-o", tmp_path / "m.nrules"]
    result = done(*command, "--target", "y", "--target", "z", "--weight", "w")
    assert result.record["targets"] == ["y", "z"]
    assert result.record["n_rows"] == 900
    same = NeuralRuleRegressor(n_epochs=1, random_state=0).fit(folder, ["y", "z"], "w")
    assert load(tmp_path / "m.nrules").exact_text() == same.exact_text()
    counts = plain(900, task="counts")
    for column, task in {"y": "classification", "a": "regression"}.items():
        path = written(counts, tmp_path / "folder2.parquet")
        result = done(
            *("fit", path, "--n-epochs", "0", "-o", tmp_path / "m.nrules"),
            *("--target", column, "--checkpoint", tmp_path / "c"),
        )
        assert f"{task}, because the target {column!r} holds " in result.err


def test_a_checkpoint_is_gone_after_a_fit_and_no_part_of_the_model(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # or the files say when they were made
    path = written(plain(600), tmp_path / "table.parquet")
    for name in ("one", "two"):
        command = ["fit", path, "-t", "y", "--n-epochs", "1", "-o", tmp_path / f"{name}.nrules"]
        done(*command, "--checkpoint", tmp_path / f"{name}.checkpoint")
        assert not (tmp_path / f"{name}.checkpoint").exists()
    files = [(tmp_path / f"{name}.nrules").read_bytes() for name in ("one", "two")]
    assert files[0] == files[1]


def test_mistakes_are_one_line(tmp_path):
    path = written(plain(300), tmp_path / "table.parquet")
    frame = plain(300)
    frame.to_csv(tmp_path / "table.csv", index=False)
    folder = written_folder(frame, tmp_path / "folder")
    (folder / "part-1.parquet").write_bytes(b"PAR1" + bytes(99) + b"PAR1")
    (tmp_path / "none").mkdir()
    output = ["-t", "y", "-o", tmp_path / "m.nrules"]
    checkpoint = ["--checkpoint", tmp_path / "c"]
    (tmp_path / "bad").write_bytes(b"no checkpoint")
    for arguments, says in {
        (path, *output, "--drop", "citty", *checkpoint): "Did you mean 'city'?",
        (path, "-t", "why", *output[2:], *checkpoint): "has no column 'why'",
        (path, *output, "--checkpoint", tmp_path / "bad"): "is no checkpoint of a fit",
        (folder, *output): "part-1.parquet: cannot be read as Parquet",
        (tmp_path / "none", *output): "the folder has no files",
        (
            path,
            "-t",
            "city",
            "--task",
            "regression",
            *output[2:],
            *checkpoint,
        ): "holds the text",
    }.items():
        assert says in refused("fit", *arguments)
    for arguments, says in {
        (path, *output, *checkpoint, "--cv"): "--cv needs the whole table in memory",
        (path, *output, "--n-sample-rows", 100, "--cv"): "Give one of them.",
        (tmp_path / "table.csv", *output, *checkpoint): "--checkpoint is for Parquet files",
        (folder, *output, "--categories", "a"): "--categories needs the whole table in memory",
    }.items():
        assert says in refused("fit", *arguments, code=2)


@pytest.mark.parametrize("option", [["--categories", "a"], ["--missing", "-9"]])
def test_options_about_cells_take_the_whole_table_into_memory(tmp_path, option):
    path = written(plain(300), tmp_path / "table.parquet")
    command = ["fit", path, "-t", "y", "--n-epochs", "0", "-o", tmp_path / "m.nrules"]
    result = done(*command, "--n-sample-rows", "100", *option)
    assert "piece by piece" not in result.err
