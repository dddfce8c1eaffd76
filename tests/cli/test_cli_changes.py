"""The commands that change and compare models: what they print and write, and refuse."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import done, features, houses, iris, mixed, refused, run
from models import credit_table

from neuralrules import compare, load
from neuralrules._cli._counterfactual import may_be_whole
from neuralrules._data._encoder import Encoder

pytestmark = pytest.mark.usefixtures("here")  # a folder with tables and models


@pytest.fixture(scope="module")
def credit_files(tmp_path_factory):
    """A model of two classes with numbers, dates and categories, and its table."""
    folder = tmp_path_factory.mktemp("credit")
    X, y = credit_table(600)
    X.assign(outcome=y).to_csv(folder / "credit.csv", index=False)
    quick = ("--n-epochs", 5, "--n-trees", 3, "--dates", "opened", "--quiet")
    table, model = folder / "credit.csv", folder / "credit.nrules"
    done("fit", table, "-t", "outcome", "-o", model, *quick)
    return table, model


@pytest.fixture
def credit(here, credit_files):
    """The same in a folder to work in, and the table as a frame."""
    for path in credit_files:
        shutil.copyfile(path, here / path.name)
    return credit_table(600)


# scorecard


def test_a_score_card_is_printed_as_the_library_has_it(credit):
    X, y = credit
    model = load("credit.nrules")
    card = model.scorecard(X, y, points_to_double=10, base=500, levels=3, adverse="good")
    options = ("--points-to-double", 10, "--base", 500, "--levels", 3, "--adverse", "good")
    shown = done("scorecard", "credit.nrules", "credit.csv", *options)
    assert shown.out == f"{card}\n"
    record = done("scorecard", "credit.nrules", "credit.csv", *options, "--json").record
    assert (record["base"], record["adverse"]) == (500, "good")
    assert [rule["points"] for rule in record["rules"]] == card.to_frame()["points"].tolist()
    assert record["cost"]["after"] == pytest.approx(card.cost.after)
    told = done("scorecard", "credit.nrules", "-o", "card.html", *options).out
    assert told.startswith("Wrote card.html, ")
    assert "Score card: the more points, the less good" in Path("card.html").read_text()


def test_score_cards_that_there_cannot_be():
    assert refused("scorecard", "iris.nrules") == (
        "The model has 3 classes, and a score card is one of two. Fit a model of one class "
        "against the others."
    )
    assert refused("scorecard", "houses.nrules", "--base", 7, code=2) == (
        "--base is for classes, and MODEL predicts a number."
    )
    assert refused("scorecard", "houses.nrules", "--weight", "w", code=2) == (
        "--weight needs DATA, the table that it is about."
    )
    assert "one point is 5" in done("scorecard", "houses.nrules", "--unit", 5).out


# compare


def test_compare_says_what_the_library_says_with_rows_from_1():
    done("edit", "iris.nrules", "--drop", 0, "--value", "1=1,0,-1", "-o", "b.nrules", "-q")
    one, other = load("iris.nrules"), load("b.nrules")
    shown = done("compare", "iris.nrules", "b.nrules").out
    assert shown == f"A is iris.nrules, B is b.nrules.\n{compare(one, other)}\n"
    frame = iris()
    compared = compare(
        one, other, features(frame, "plant", "species"), frame["species"].to_numpy(object)
    )
    told = done("compare", "iris.nrules", "b.nrules", "iris.csv").out
    rows = [int(row) for row in re.findall(r"^Row (\d+): ", told, re.MULTILINE)]
    assert rows == [row.row + 1 for row in compared.rows.shown]
    assert re.search(r"^  accuracy +[\d.]+  [\d.]+$", told, re.MULTILINE)
    record = done("compare", "iris.nrules", "b.nrules", "iris.csv", "--json").record
    assert record["flipped"] == (compared.rows.flipped + 1).tolist()
    assert record["metrics"].keys() == compared.measured.metrics.keys()
    assert record["same"] is False
    for row in record["rows"]:
        assert sum(row["parts"]) + row["start"] == pytest.approx(row["change"])
    done("compare", "iris.nrules", "b.nrules", "iris.csv", "-o", "page.html")
    page = Path("page.html").read_text()
    assert "A is iris.nrules, B is b.nrules." in page
    assert f"Row {rows[0]}: " in page


def test_compare_needs_no_target_but_says_what_it_needs():
    for model in ("two", "mixed", "hinge"):
        name = f"{model}.nrules"
        assert "are the same" in done("compare", name, name).out
    shown = done("compare", "iris.nrules", "iris.nrules", "new.csv").out
    assert "No row changes class." in shown
    assert "accuracy" not in shown
    assert refused("compare", "iris.nrules", "houses.nrules") == (
        "The two models have other columns: 'sepal length (cm)' is only in the first. Compare "
        "models that were fitted on the same columns."
    )
    assert refused("compare", "iris.nrules", "no.nrules") == (
        "MODEL 'no.nrules': there is no such file. Give a file that `fit` wrote."
    )
    assert refused("compare", "iris.nrules", "hinge.nrules").startswith(
        "The models were fitted with loss='logistic' and loss='hinge'"
    )
    assert refused("compare", "iris.nrules", "iris.nrules", "-t", "species", code=2) == (
        "--target needs DATA, the table that it is about."
    )


# edit


def test_edits_on_the_command_line_are_those_of_the_library():
    model = load("iris.nrules")
    wanted = model.edit(
        drop=[1],
        freeze=[0],
        replace={2: '"petal length (cm)" > 3'},
        values={3: [1.0, 0.5, -2.0]},
    )
    shown = done(
        *("edit", "iris.nrules", "iris_test.csv", "-o", "b.nrules", "--drop", 1, "--freeze", 0),
        *("--replace", '2="petal length (cm)" > 3', "--value", "3=1,0.5,-2"),
    ).out
    edited = load("b.nrules")
    assert edited.exact_text() == wanted.exact_text()
    assert edited.rules_.frozen.tolist() == wanted.rules_.frozen.tolist()
    assert edited.fitted_.notes == model.fitted_.notes
    done_now = "rule 1 dropped; rule 2 rewritten; rule 3 given another value; rule 0 frozen"
    assert shown.splitlines()[0] == (
        f"A is the model before, B the one after. Done: {done_now}."
    )
    assert "On the 50 rows given:" in shown
    assert shown.splitlines()[-1].startswith("Saved in b.nrules, ")
    history = done("rules", "b.nrules", "--history").out.splitlines()
    assert len(history) == 2
    assert done_now in history[1]
    records = done("rules", "b.nrules", "--history", "--json").record
    assert [one["what"] for one in records] == ["grown and trained", "edited"]


def test_edits_that_cannot_be_leave_no_file(here):
    def refusal(*options, code=1):
        message = refused("edit", "iris.nrules", "-o", "b.nrules", *options, code=code)
        assert not (here / "b.nrules").exists()
        return message

    n_rules = load("iris.nrules").network_.n_rules
    assert refusal("--drop", 999) == (
        f"drop names the rule 999, but the model has the rules 0 to {n_rules - 1}. "
        "rules_table() shows their numbers."
    )
    assert refusal("--value", "0=1") == "values[0] must be a list of 3 numbers, got 1.0."
    assert refusal("--value", "0=x", code=2) == (
        "Invalid value for '--value': 'x' is not a number, or several with commas between them."
    )
    assert refusal("--replace", "age > 3", code=2).startswith(
        "Invalid value for '--replace': 'age > 3' is not the number of a rule with its new "
        'value, such as "3=income > 20000".'
    )
    assert refusal("--text", "a.txt", "--drop", 0, code=2) == (
        "--text says the whole model. Give it alone, or other changes."
    )
    Path("a.txt").write_bytes(b"\xff")
    assert refusal("--text", "a.txt") == "'a.txt' is not text in UTF-8. Save it as such."
    assert refused("edit", "iris.nrules", "--drop", 0, "-o", "iris.nrules", code=2) == (
        "--output 'iris.nrules' is the input 'iris.nrules' itself. Give another name."
    )


def test_a_text_that_was_changed_becomes_a_model():
    model = load("mixed.nrules")
    text = model.exact_text()
    head, *rules = text.split("\n\n")
    Path("m.txt").write_bytes("\r\n\r\n".join([head, *rules[1:]]).encode("utf-8-sig"))
    shown = done("edit", "mixed.nrules", "mixed.tsv.gz", "--text", "m.txt", "-o", "b.nrules")
    assert "Done: rule 0 taken out (as text)." in shown.out
    frame = features(mixed(), "grade")
    np.testing.assert_array_equal(
        load("b.nrules").decision_function(frame),
        model.edit(drop=[0]).decision_function(frame),
    )


MAIN = "import sys; from neuralrules._cli import main; sys.exit(main())"


def editor(folder, script):
    """An editor that does what a script says to the lines of a text, once it is opened."""
    if os.name == "nt":
        pytest.skip("Windows does not start a script by its first line.")
    path = folder / "editor"
    path.write_text(
        f"#!{sys.executable}\n"
        "import sys, pathlib\n"
        "file = pathlib.Path(sys.argv[-1])\n"
        "text = file.read_text()\n"
        f"{textwrap.dedent(script)}\n"
        "file.write_text(text)\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def edit_with(here, monkeypatch):
    """`neuralrules edit` with a script as editor, or with none."""

    def edit(script, *arguments, name="EDITOR"):
        for variable in ("EDITOR", "VISUAL"):
            monkeypatch.delenv(variable, raising=False)
        if script is not None:
            monkeypatch.setenv(name, editor(here, script))
        monkeypatch.setattr(tempfile, "tempdir", str(here))
        return run("edit", "iris.nrules", "-o", "b.nrules", *arguments)

    return edit


def drafts(folder):
    return list(folder.glob("neuralrules-*.txt"))


@pytest.mark.parametrize("name", ["EDITOR", "VISUAL"])
def test_an_editor_opens_on_the_text_and_what_it_saves_is_the_model(here, edit_with, name):
    script = "text = text[:text.rindex('rule ')]"  # without the last rule
    result = edit_with(script, "iris_test.csv", name=name)
    assert result.code == 0, result.err
    n_rules = load("iris.nrules").network_.n_rules
    assert f"Done: rule {n_rules - 1} taken out (as text)." in result.out
    assert "On the 50 rows given:" in result.out
    assert load("b.nrules").network_.n_rules == n_rules - 1
    assert drafts(here) == []


def test_a_text_that_cannot_be_read_is_kept_and_told_where(here, edit_with):
    result = edit_with("text = text.replace('rule 0', 'rule zero', 1)")
    (draft,) = drafts(here)
    assert (result.code, result.out) == (1, "")
    assert re.fullmatch(
        r"neuralrules: error: Line \d+ of the rules: expected a rule, found 'rule zero .*'\. "
        rf"The text must be as exact_text\(\) wrote it\. What you wrote is in {draft}; --text "
        rf"{draft} takes it up again\.\n",
        result.err,
    )
    assert "rule zero" in draft.read_text()
    assert not (here / "b.nrules").exists()


def test_an_editor_that_changes_nothing_fails_or_is_not_there(here, edit_with):
    result = edit_with("")
    assert (result.code, result.out) == (1, "")
    assert result.err == "neuralrules: error: nothing was changed, so no file is written.\n"
    assert drafts(here) == []
    result = edit_with("sys.exit(3)")
    (draft,) = drafts(here)
    assert result.code == 1
    assert result.err.endswith(f"Editing failed. The text is in {draft}.\n")
    assert len(result.err.splitlines()) == 1
    result = edit_with(None)
    assert result.code == 1
    assert result.err == (
        "neuralrules: error: no change is given, and there is no editor to make one with: "
        "neither $VISUAL nor $EDITOR is set, and there is no terminal. Set one, or give "
        "--drop, --value and the like, or --text.\n"
    )


WRONG_AT_FIRST = """
    count = file.parent / "count"
    count.write_text(count.read_text() + "x" if count.exists() else "x")
    if len(count.read_text()) == 1:
        text = text.replace("rule 0", "rule zero", 1)
    else:
        assert "rule zero" in text
        text = text.replace("rule zero", "rule {}", 1)
        text = text[:text.rindex("rule ")]
"""


@pytest.mark.parametrize(
    "answers",
    [pytest.param("y\n", marks=pytest.mark.slow), "y\nn\n"],  # one process is enough by day
)
def test_one_may_go_on_editing_or_give_up(here, answers):
    gives_up = answers.endswith("n\n")
    script = editor(here, WRONG_AT_FIRST.replace("{}", "nought" if gives_up else "0"))
    command = [sys.executable, "-c", MAIN, "edit", "iris.nrules", "-o", "b.nrules"]
    environment = {**os.environ, "VISUAL": script, "TMPDIR": str(here)}
    import pty

    leader, follower = pty.openpty()
    os.write(leader, answers.encode())
    result = subprocess.run(
        command,
        stdin=follower,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    os.close(leader)
    os.close(follower)
    assert result.stderr.count("Go on editing?") == len(answers) // 2
    assert (here / "b.nrules").exists() is not gives_up
    if not gives_up:
        assert (result.returncode, drafts(here)) == (0, [])
        return
    (draft,) = drafts(here)
    assert result.returncode == 1
    assert "rule nought" in draft.read_text()
    assert result.stderr.endswith(
        f"error: no file is written. What you wrote is in {draft}; --text {draft} takes it up "
        "again.\n"
    )


# counterfactual


def test_counterfactuals_are_those_of_the_library(credit):
    X, _ = credit
    model = load("credit.nrules")
    row = int(np.argmax(model.predict_proba(X)[:, 0]))
    options = {
        "fixed": ["age", "opened"],
        "directions": {"utilisation": "decrease", "income": "increase"},
        "whole": ["late_payments"],
        "bounds": {"income": (None, 90000.0), "region": ["north", "south"]},
        "units": {"late_payments": 2.0},
        "max_changes": 2,
        "n_answers": 2,
    }
    now = float(model.predict_proba(X)[row, 0])
    options["probability"] = (now / 4, now / 2)
    found = model.counterfactual(X.iloc[[row]], "bad", **options)
    line = (
        *("counterfactual", "credit.nrules", "credit.csv", "--row", row + 1, "--to", "bad"),
        *("--probability", f"{now / 4!r}..{now / 2!r}", "--fixed", "age"),
        *("--fixed", "opened"),
        *("--decrease", "utilisation", "--increase", "income", "--whole", "late_payments"),
        *("--bounds", "income=..90000", "--allow", "region=north,south"),
        *("--unit", "late_payments=2", "--max-changes", 2, "--answers", 2),
    )
    assert found.found
    assert done(*line).out == f"Row {row + 1}: {found}\n"
    (record,) = done(*line, "--json").record
    assert record["cost"] == pytest.approx(found.cost)
    assert [one["column"] for one in record["changes"]] == [
        change.column for change in found.changes
    ]
    assert len(record["others"]) == len(found.others)


@pytest.mark.parametrize("n_rows", [600, 1])
def test_what_is_whole_in_the_table_stays_whole(credit, n_rows):
    """Though the command line reads all numbers as floats; naming others changes nothing."""
    X, _ = credit
    model = load("credit.nrules")
    worst = X.iloc[[int(np.argmax(model.predict_proba(X)[:, 0]))]].assign(late_payments=3)
    (worst if n_rows == 1 else pd.concat([worst, X])).to_csv("rows.csv", index=False)
    now = float(model.predict_proba(worst)[0, 1])
    line = ("counterfactual", "credit.nrules", "rows.csv", "--row", 1, "--to", "good", "--json")
    line = (*line, "--probability", now + 0.01)
    for column in X.columns.drop("late_payments"):
        line = (*line, "--fixed", column)
    for options in ((), ("--whole", "income")):
        (record,) = done(*line, *options).record
        (change,) = record["changes"]
        assert change["column"] == "late_payments"
        assert change["after"] in (0, 1, 2)


def test_bounds_may_be_lifted(credit):
    for given, code in (("utilisation=..", 0), ("utilisation=", 2)):
        line = ("counterfactual", "credit.nrules", "credit.csv", "--row", 1, "--bounds", given)
        assert run(*line).code == code


@pytest.mark.parametrize(
    ("values", "whole"),
    [
        ([0, 1, 2, 3], True),
        ([0, 1, 1, 1], True),
        ([0, 0.25, 0.5, 1], False),  # a share
        ([0, 1, 2.5, 3.5], False),
    ],
)
def test_whole_columns_are_known_by_their_moments(values, whole):
    X = np.tile(values, 5).astype(float)[:, None]
    assert may_be_whole(Encoder.fit(X, np.ones(len(X))).columns[0]) == whole


def test_counterfactuals_of_numbers_and_of_several_classes():
    model = load("houses.nrules")
    before = float(model.predict(features(houses(), "id", "price").iloc[:1])[0])
    goal = f"{before + 5!r}..{before + 10!r}"
    shown = done("counterfactual", "houses.nrules", "houses.parquet", "--row", 1, "--to", goal)
    after = float(re.search(r"into ([\d.]+)\. Cost", shown.out)[1])
    assert before + 5 <= after + 1e-3
    assert after <= before + 10 + 1e-3
    shown = done("counterfactual", "iris.nrules", "iris.csv", "--row", 1, "--to", "virginica")
    assert "turns the prediction from setosa into virginica" in shown.out


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--to", "rose"], 1, "--to 'rose' is none of the model's classes 'bad', 'good'."),
        (
            ["--fixed", "agee"],
            1,
            "--fixed: the model has no column 'agee'. Did you mean 'age'?",
        ),
        (
            ["--unit", "zzz=3"],
            1,
            "--unit: the model has no column 'zzz'. Its columns are 'late_payments', "
            "'utilisation', 'income', 'age', 'opened' and 1 more.",
        ),
        (
            ["--increase", "region"],
            1,
            "--increase: 'region' holds categories. Name columns of numbers; --allow says "
            "which categories are allowed.",
        ),
        (
            ["--allow", "age=3"],
            1,
            "--allow: 'age' holds numbers. Name columns of categories; --bounds says between "
            "which numbers a column must stay.",
        ),
        (
            ["--increase", "age", "--decrease", "age"],
            2,
            "--increase and --decrease both name 'age'. Give one, or --fixed.",
        ),
        (
            ["--bounds", "age=3"],
            2,
            "Invalid value for '--bounds': '3' is not a range, such as 10..20, 10.. or ..20.",
        ),
        (
            ["--bounds", "age"],
            2,
            "Invalid value for '--bounds': 'age' is not a column with its value, such as "
            "age=18..65.",
        ),
        (
            ["--probability", "often"],
            2,
            "Invalid value for '--probability': 'often' is not a probability, such as 0.5 or "
            "0.2..0.4.",
        ),
        (["--to", "bad", "--to", "good"], 2, "--to names several classes. Give one, or none"),
        (["--probability", "1e-5", "--to", "bad"], 1, "--probability 1e-05 holds already: "),
    ],
)
def test_what_cannot_be_asked_of_a_counterfactual(credit, options, code, message):
    line = ("counterfactual", "credit.nrules", "credit.csv", "--row", 1, *options)
    assert refused(*line, code=code).startswith(message)


def test_what_a_library_of_c_prints_is_no_part_of_the_result():
    """Solvers do; it would come out when C's buffer is full, or at the end."""
    script = """
        import ctypes, sys
        from neuralrules._cli._console import without_c_output
        print("before")
        with without_c_output():
            ctypes.CDLL(None).puts(b"noise")
        print("after")
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=buffered)
    assert result.stdout == "before\nafter\n"


def test_numbers_need_a_range_each():
    assert refused(
        "counterfactual", "two.nrules", "houses.parquet", "--row", 1, "--to", "1..", code=2
    ) == ("The model predicts 2 number(s): give --to LOW..HIGH once for each.")


# history


def test_the_history_beside_other_options():
    assert refused("rules", "iris.nrules", "--history", "--exact", code=2) == (
        "--exact is not for --history, which prints no rules."
    )
