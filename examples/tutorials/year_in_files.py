"""
A table larger than memory
==========================

A parcel service wants to tell customers in advance that a parcel will be late.
Its table is a folder with one Parquet file for each month, and does not fit
into memory. This page first makes such a folder from random numbers, month by
month. The table can be as long as you like: raise ``N_ROWS``, and the rest of
the page stays the same. Making the table needs memory for one month. Fitting a
model needs memory for a sample and a buffer of 128 MiB.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

N_ROWS = 5_000  # of each month
folder = Path(tempfile.mkdtemp())
year = folder / "year"
year.mkdir()


def month(number):
    """The parcels of a month, with what decides whether they are late."""
    rng = np.random.default_rng(number)
    days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    parcels = pd.DataFrame(
        {
            "parcel": [f"{number:02}-{i:07}" for i in range(N_ROWS)],
            "weekday": rng.choice(days, N_ROWS),
            "hour": rng.integers(6, 22, N_ROWS),
            "distance_km": rng.gamma(2, 120, N_ROWS).round(),
            "weight_kg": rng.lognormal(0.5, 0.8, N_ROWS).round(1),
            "carrier": rng.choice(["bike", "rail", "van"], N_ROWS),
            "rain_mm": rng.gamma(0.5, 4, N_ROWS).round(1),
        }
    )
    odds = -4 + 0.005 * parcels["distance_km"] + 1.5 * (parcels["hour"] >= 18)
    odds += 0.3 * parcels["rain_mm"] * (parcels["carrier"] == "bike")
    odds += parcels["weekday"] == "Sat"
    late = rng.random(N_ROWS) < 1 / (1 + np.exp(-odds))
    parcels["arrived"] = np.where(late, "late", "on_time")
    parcels.loc[rng.random(N_ROWS) < 0.1, "rain_mm"] = np.nan  # not measured
    return parcels


for number in range(1, 13):
    month(number).to_parquet(year / f"{number:02}.parquet", index=False)
print(len(list(year.iterdir())), "files")
month(1).head(3)

# %%
# Fit on the folder
# -----------------
# ``fit`` takes the name of a file or folder in place of a table, and the name
# of a column in place of ``y``. It reads the table once for the statistics of
# its columns, once for the sample from which trees grow, once to count the
# rows of the leaves, and then once in every epoch, each time in another order.
# (A table as short as this one stays in the buffer.) ``checkpoint`` names a
# file with the state of training.
#
# ``verbose=1`` shows a line with the epoch, the loss and the time left, on
# standard error. This page catches the line and prints its last version,
# without the seconds.

import contextlib
import io

from neuralrules import NeuralRuleClassifier

model = NeuralRuleClassifier(
    max_depth=2,
    n_trees=8,
    max_terms=1,
    monotone={"distance_km": {"late": 1}, "rain_mm": {"late": 1}},
    exclude=["parcel"],
    n_epochs=20,
    early_stopping=False,
    checkpoint=folder / "fit.checkpoint",
    random_state=0,
    verbose=1,
)
with contextlib.redirect_stderr(io.StringIO()) as shown:
    model.fit(year, "arrived")
print(shown.getvalue().splitlines()[-1].rsplit(" · ", 2)[0])

# %%
# The result is an ordinary model of all rows of the table, and you can read it
# like any other. The loss falls as it should. It rises once: after a third of
# the epochs each condition keeps only one column (``max_terms=1``).

from neuralrules.plot import HistoryDisplay

print(model.rules_text(style="sentences", max_rules=4))
_ = HistoryDisplay.from_estimator(model)

# %%
# After a kill
# ------------
# A fit of some hours may be killed: the machine restarts, or someone needs it.
# Long fits run on the command line. The same command then continues from the
# checkpoint. To show this, a fit is started here, and killed as soon as it has
# written a checkpoint.

import shlex
import subprocess
import sys
import time


def command(line):
    """What a shell would run, by the Python of this notebook."""
    return [sys.executable, "-m", "neuralrules", *shlex.split(line)]


fit_line = (
    "fit year --target arrived --drop parcel --max-depth 2 --n-trees 8 "
    "--n-epochs 30 --no-early-stopping --random-state 0 --quiet "
    "--checkpoint fit.checkpoint --output {}"
)
checkpoint = folder / "fit.checkpoint"
fit = subprocess.Popen(command(fit_line.format("late.nrules")), cwd=folder)
while fit.poll() is None and not checkpoint.exists():
    time.sleep(0.02)
fit.kill()
fit.wait()
print("a model:", (folder / "late.nrules").exists())
print("a checkpoint:", checkpoint.exists())

# %%
# Then the same command runs again. It ends with the same model, bit for bit,
# as a fit that was not killed, and removes the checkpoint:

from neuralrules import load


def run(line):
    """Run a command in the folder, and print what it prints."""
    done = subprocess.run(
        command(line), cwd=folder, check=True, capture_output=True, text=True
    )
    print(done.stdout, end="")


run(fit_line.format("late.nrules"))
print("a checkpoint:", checkpoint.exists())
run(fit_line.format("at_once.nrules"))
again, whole = (
    load(folder / name) for name in ("late.nrules", "at_once.nrules")
)
print("the same model:", again.exact_text() == whole.exact_text())

# %%
# Score a table of any length
# ---------------------------
# ``predict`` also reads, scores and writes some rows at a time, from and to
# CSV or Parquet. Here it scores the next month, which no fit has seen.

month(13).to_csv(folder / "next.csv", index=False)
run("predict late.nrules next.csv --id parcel --proba -o scored.csv")
pd.read_csv(folder / "scored.csv", nrows=3)

# %%
# How good are the predictions? And who gets a message? Customers whose parcel
# is late with a probability above 40 %.

run("evaluate late.nrules next.csv")
told = pd.read_csv(folder / "scored.csv")["probability_late"] > 0.4
late = pd.read_csv(folder / "next.csv")["arrived"] == "late"
print(f"{told.mean():.1%} are told, {late[told].mean():.0%} of them rightly")

# %%
# :doc:`/larger` measures the time and the memory for 20 million rows, and
# :doc:`/streaming` measures scoring.
