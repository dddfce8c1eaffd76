"""Numbers with other marks, and what is said of columns that are read as categories."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from command_line import done, refused
from hypothesis import given
from hypothesis import strategies as st

from neuralrules import load
from neuralrules._cli._column_notes import column_note, many_texts_note
from neuralrules._cli._tables._cells import Marks, UnreadableError, number


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def money(rng, n=120):
    amounts = rng.lognormal(7, 1.5, n).round(2)
    return amounts, np.where(amounts > 1000, "high", "low")


@pytest.mark.parametrize(
    ("written", "options", "advice"),
    [
        (lambda x: f"{x:,.2f}", ["--thousands", ","], "--thousands ','"),
        (lambda x: f"{x:.2f}".replace(".", ","), ["--decimal", ","], "--decimal ','"),
        (
            lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")),
            ["--decimal", ",", "--thousands", "."],
            "--thousands '.' --decimal ','",
        ),
        (lambda x: f"{x:,.2f}".replace(",", " "), ["--thousands", " "], "--thousands ' '"),
    ],
)
def test_a_model_remembers_how_numbers_are_written(written, options, advice, here):
    amounts, y = money(np.random.default_rng(0))
    pd.DataFrame({"amount": amounts, "y": y}).to_csv("plain.csv", index=False)
    pd.DataFrame({"amount": map(written, amounts), "y": y}).to_csv("marks.csv", index=False)
    common = ("-t", "y", "--n-epochs", 3)
    said = done("fit", "marks.csv", *common, "-o", "silent", "--quiet")
    assert said.err == ""
    said = done("fit", "marks.csv", *common, "-o", "none").err
    assert f"give {advice} to read them." in said
    done("fit", "plain.csv", *common, "-o", "plain")
    said = done("fit", "marks.csv", *common, *options, "-o", "marks").err
    assert "taken for categories" not in said
    assert load("marks").rules_text() == load("plain").rules_text()
    done("predict", "marks", "marks.csv", "--proba", "-o", "one.csv")
    done("predict", "plain", "plain.csv", "--proba", "-o", "two.csv")
    assert (here / "one.csv").read_text() == (here / "two.csv").read_text()
    if options == ["--thousands", ","]:  # other tables may be written without
        done("predict", "marks", "plain.csv", "--proba", "-o", "three.csv")
        assert (here / "three.csv").read_text() == (here / "two.csv").read_text()
    done("predict", "marks", "plain.csv", "--decimal", ".", "--proba", "-o", "three.csv")
    assert (here / "three.csv").read_text() == (here / "two.csv").read_text()


def test_thousands_that_are_the_decimal_mark_are_refused(here):
    (here / "t.csv").write_text("a,y\n1.000,u\n2.000,v\n")
    assert refused("fit", "t.csv", "-t", "y", "-o", "m", "--thousands", ".", code=2) == (
        "--thousands '.' is the decimal mark as well. Give another one with --decimal, for "
        "example --decimal ','."
    )
    message = refused("fit", "t.csv", "-t", "y", "-o", "m", "--decimal", "5", code=2)
    assert "'5' is not one character between digits" in message


def test_a_cell_of_another_form_is_no_number(here):
    amounts, y = money(np.random.default_rng(0))
    frame = pd.DataFrame({"amount": [f"{x:,.2f}" for x in amounts], "y": y})
    frame.to_csv("marks.csv", index=False)
    done("fit", "marks.csv", "-t", "y", "--thousands", ",", "--n-epochs", 1, "-o", "m")
    frame.loc[3, "amount"] = "18,61"
    frame.to_csv("wrong.csv", index=False)
    assert refused("predict", "m", "wrong.csv", "-o", "out.csv") == (
        "wrong.csv, row 4, column 'amount': '18,61' is not a number. Give --decimal ',' if "
        "numbers are written like that."
    )


@given(
    st.floats(-1e12, 1e12), st.sampled_from([(",", "."), (".", ","), (",", " "), (",", None)])
)
def test_a_number_is_read_as_it_is_written(value, marks):
    decimal, thousands = marks
    text = f"{value:,.3f}" if thousands else f"{value:.3f}"
    swapped = text.replace(",", "\0").replace(".", decimal).replace("\0", thousands or "")
    assert number(swapped, {}, Marks(decimal, thousands)) == float(f"{value:.3f}")


@pytest.mark.parametrize(
    "text", ["1.5", "1,2,3", "1.86,5", ",", "", "1,5e", "1.000.00,5", "12.34"]
)
def test_what_other_marks_do_not_make_a_number(text):
    with pytest.raises(UnreadableError):
        number(text, {}, Marks(",", "."))


def note(cells):
    column = pd.Series(cells, name="a b", dtype=object)
    return column_note(column, Marks()) or many_texts_note(column)


def test_notes_name_the_column_and_the_remedy():
    assert note(["1,861", "526", "1,000", "7"]) == (
        "the column 'a b' holds numbers such as '1,861', which are taken for categories: give "
        "--thousands ',' to read them."
    )
    assert note(["1.861,5", "526", "1,5", "?"]) == (
        "the column 'a b' holds numbers such as '1.861,5', which are taken for categories: "
        "give --thousands '.' --decimal ',' to read them. '?' stays text: it is no number."
    )
    assert note(["2020-01-31", "2021-01-31", "2021-01-31"]) == (
        "the column 'a b' holds dates such as '2020-01-31', each of which is taken for a "
        "category: give --dates 'a b' to count them in days."
    )
    assert note(["31/01/2020", "1/2/2021", "1/2/2021"]) == (
        "the column 'a b' holds dates such as '31/01/2020', each of which is taken for a "
        "category: write them like 2020-12-31 and give --dates 'a b', or leave the column out "
        "with --drop 'a b'."
    )
    assert note([f"t{place}" for place in range(65)] * 2) == (
        "the column 'a b' has 65 different texts: the 63 most frequent become categories, all "
        "others one together. Group them first, or leave it out with --drop 'a b'."
    )


def test_missing_cells_count_as_a_category_in_the_note_on_many_texts():
    texts = [f"t{place}" for place in range(64)] * 2
    assert note(texts) is None
    assert "has 64 different texts" in note([*texts, None])


def test_ordinary_columns_get_no_note():
    assert note([f"t{place}" for place in range(64)] * 2) is None
    assert note(["a", "b", "1,5", "b"]) is None
    assert note(["10-12", "12-14", "10-12"]) is None
    dates = pd.date_range("2020-01-01", periods=5)
    assert column_note(pd.Series(dates), Marks()) is None
    assert column_note(pd.Series(dates.date), Marks()) is None


def test_codes_are_categories(here):
    """Digits with leading zeros by themselves, others if they are named."""
    rng = np.random.default_rng(0)
    zips = rng.choice(["02139", "10001", "94110"], 200)
    branches = rng.integers(1, 5, 200)
    frame = pd.DataFrame({"zip": zips, "branch": branches, "a": rng.normal(size=200)})
    frame["y"] = np.where((frame["zip"] == "02139") ^ (frame["branch"] == 2), "u", "v")
    frame.to_csv("codes.csv", index=False)
    said = done("fit", "codes.csv", "-t", "y", "-o", "m", "--categories", "branch").err
    assert (
        "the column 'zip' holds digits with leading zeros such as '02139', which are taken for "
        "codes, not for numbers" in said
    )
    assert "branch" not in said
    kinds = {column.source: column.stored_as for column in load("m").encoder_.columns}
    assert kinds == {0: "category", 1: "category", 2: "number"}
    done("predict", "m", "codes.csv", "--proba", "-o", "text.csv")
    # pandas takes the codes for numbers, and writes those with a hole as floats.
    pd.read_csv("codes.csv").to_csv("numbers.csv", index=False)
    pd.read_csv("codes.csv").astype({"branch": float}).to_parquet("numbers.parquet")
    for table in ("numbers.csv", "numbers.parquet"):
        done("predict", "m", table, "--proba", "-o", "numbers_out.csv")
        assert (here / "numbers_out.csv").read_text() == (here / "text.csv").read_text()
    both = ("--categories", "a", "--dates", "a")
    message = refused("fit", "codes.csv", "-t", "y", "-o", "m", *both, code=2)
    assert "'a' is given as --dates and --categories" in message


def test_notes_compare_with_the_marks_in_use():
    column = pd.Series(["23.100", "1.526", "4.000"] * 3, name="a", dtype=object)
    said = column_note(column, Marks(",", None))
    assert "give --thousands '.' --decimal ',' to read them" in said


def test_a_cell_with_other_marks_gets_their_options(here):
    amounts, y = money(np.random.default_rng(0))
    pd.DataFrame({"amount": amounts, "y": y}).to_csv("plain.csv", index=False)
    done("fit", "plain.csv", "-t", "y", "--n-epochs", 1, "-o", "m")
    pd.DataFrame({"amount": ["3,919"], "y": ["low"]}).to_csv("marks.csv", index=False)
    assert "Give --thousands ',' if numbers are written like that." in refused(
        "predict", "m", "marks.csv", "-o", "out.csv"
    )


@pytest.mark.parametrize(
    ("marks", "told", "kept"),
    [
        ([], "-999", ["-999"]),
        (["--decimal", ","], "-999,5", ["-999,5", "-999.5"]),
        (["--decimal", ",", "--thousands", "."], "9.999", ["9999"]),
    ],
)
def test_a_model_knows_what_means_missing_in_its_own_marks(marks, told, kept, here):
    amounts, y = money(np.random.default_rng(0))
    texts = [str(amount).replace(".", ",") if marks else str(amount) for amount in amounts]
    texts[::4] = [told] * len(texts[::4])
    pd.DataFrame({"amount": texts, "y": y}).to_csv("t.csv", index=False)
    done("fit", "t.csv", "-t", "y", "--n-epochs", 1, "--missing", told, *marks, "-o", "m")
    model = load("m")
    assert model.encoder_.missing == tuple(kept) == tuple(model.missing)
    done("predict", "m", "t.csv", "-o", "out.csv", "--proba")
    rows = pd.DataFrame({"amount": np.where(np.arange(len(y)) % 4, amounts, float(kept[-1]))})
    holes = rows["amount"].where(np.arange(len(y)) % 4 != 0).to_frame()
    assert (model.predict_proba(rows) == model.predict_proba(holes)).all()
    assert (model.predict(rows) == pd.read_csv("out.csv")["prediction"]).all()
