"""
Credit risk: from a table to a committee and to SQL
===================================================

A lender wants to know which loans will go bad. One in twenty does. A committee
reads the model and has to approve it. Then the model has to run in a database
that has no Python. This tutorial takes all steps: a fit with limits, a
comparison with two other models, a threshold, the reasons for one applicant, a
score card, a change by the committee, a report and a query.

The table ``loans.csv`` is in the folder ``examples`` of a clone. It is
generated, so the truth is known. The risk depends on late payments together
with a high utilisation of the credit line, on a large amount for the income,
on a new job, and a little on the purpose. Age and region have no effect.
"""

import pandas as pd
from sklearn.model_selection import train_test_split

loans = pd.read_csv("../loans.csv", parse_dates=["employed_since"])
X, y = loans.drop(columns="outcome"), loans["outcome"]
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=1 / 3, random_state=0, stratify=y
)
print(f"{len(loans):,} loans, {(y == 'bad').mean():.1%} of them bad")
X_train.head(3)

# %%
# Limits
# ------
# The committee reads one page: at most 16 rules, with at most two conditions
# of one column each. Four trees of depth 2 have 16 leaves (``max_depth``,
# ``n_trees``), and with ``max_terms=1`` a condition is about one column.
#
# The lender also knows something in advance. More late payments, a higher
# utilisation of the credit line or a larger amount never make a loan safer,
# and age and region must not count. Training respects this, and
# ``check_monotone`` proves it from the rules alone. The proof also covers
# applicants that nobody has seen.
#
# You need not prepare dates, text or missing incomes.

from neuralrules import NeuralRuleClassifier

model = NeuralRuleClassifier(
    max_depth=2,
    n_trees=4,
    max_terms=1,
    monotone={
        name: {"bad": 1} for name in ("late_payments", "utilisation", "amount")
    },
    exclude=["age", "region"],
    n_epochs=150,
    early_stopping=False,  # so that this page prints the same everywhere
    random_state=0,
).fit(X_train, y_train)
print(
    model.network_.n_rules,
    "rules; against what was promised:",
    model.check_monotone(),
)

# %%
# Compared with two other models
# ------------------------------
# What do the limits cost? A linear model and a boosted forest answer the
# question. Both need the dates as numbers, and for the linear model all other
# columns have to be prepared too.
#
# Accuracy would say nothing: if you call every loan good, you are right in 95
# of 100 cases. The *log loss* measures probabilities (lower is better). The
# *area under the curve* (AUC) measures how well a model ranks bad loans above
# good ones. The *average precision* does the same, and the top of the ranking
# counts more.

from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
)

texts = ["homeowner", "purpose", "region"]


def without_dates(table):
    days = (table["employed_since"] - pd.Timestamp("1970-01-01")).dt.days
    return table.assign(employed_since=days).astype(
        dict.fromkeys(texts, "category")
    )


linear = make_pipeline(
    FunctionTransformer(without_dates),
    make_column_transformer(
        (OneHotEncoder(), texts),
        remainder=make_pipeline(SimpleImputer(), StandardScaler()),
    ),
    LogisticRegression(),
).fit(X_train, y_train)
forest = make_pipeline(
    FunctionTransformer(without_dates),
    HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_leaf_nodes=8,
        early_stopping=True,
        random_state=0,
    ),
).fit(X_train, y_train)

models = {
    "neural rules": model,
    "linear model": linear,
    "boosted forest": forest,
}
went_bad = (y_test == "bad").to_numpy()


def bad_probability(fitted):
    return fitted.predict_proba(X_test)[:, list(fitted.classes_).index("bad")]


probabilities = {
    name: bad_probability(fitted) for name, fitted in models.items()
}
measures = {
    "log loss": log_loss,
    "AUC": roc_auc_score,
    "average precision": average_precision_score,
}
pd.DataFrame(
    {
        label: {
            name: measure(went_bad, p) for name, p in probabilities.items()
        }
        for label, measure in measures.items()
    }
).round(3)

# %%
# On this table the truth is made of rules, and fourteen rules lose nothing.
# This is one table and one split: :doc:`/readability` measures the cost of
# such limits on many.
#
# What the committee reads
# ------------------------
# The text begins with the rules that speak for the rare class. Shares and
# rates are those of the training rows, rounded to the first digit of their
# standard error. The effect of a rule on the odds grows from nothing at its
# thresholds to its largest value, *in full*.

print(model.rules_text(style="sentences", max_rules=4))

# %%
# The effect of a column is the sum of the rules that use it. It can be drawn
# without sampling and without another fit. The band shows how much the effect
# differs from row to row, because rules combine columns.

from neuralrules.plot import ShapeDisplay

_ = ShapeDisplay.from_estimator(model, X_test, "late_payments")

# %%
# A threshold
# -----------
# ``predict`` calls a loan bad if its probability of going bad is above one
# half. For a rare class this is seldom right. Assume that a bad loan loses ten
# times what a good loan earns. Then the lender should decline a loan if its
# odds of going bad are above 1 to 10, which is a probability of 1/11. No class
# has a higher weight, so the probabilities are right, and the cost is nearly
# lowest at this threshold.

import numpy as np
from matplotlib import pyplot as plt

thresholds = np.linspace(0.01, 0.6, 60)


def cost(p, threshold):
    """What is lost on a thousand loans, in units of what a good one earns."""
    declined = p > threshold
    return 1000 * np.mean(np.where(declined, ~went_bad, 10 * went_bad))


fig, ax = plt.subplots(layout="constrained")
ax.set_title("What a threshold costs")
for name, p in probabilities.items():
    ax.plot(
        thresholds,
        [cost(p, threshold) for threshold in thresholds],
        label=name,
    )
ax.axvline(1 / 11, color="grey", linestyle=":", label="odds of 1 to 10")
ax.axhline(
    10_000 * went_bad.mean(),
    color="grey",
    linewidth=0.8,
    label="decline nobody",
)
ax.set(
    xlabel="decline above this probability",
    ylabel="lost on 1,000 loans, in earnings of a good one",
)
ax.legend()

for threshold in (1 / 11, 0.5):
    declined = probabilities["neural rules"] > threshold
    print(
        f"above {threshold:.3f}: {declined.mean():.1%} are declined, "
        f"among them {declined[went_bad].mean():.0%} of the bad ones and "
        f"{declined[~went_bad].mean():.1%} of the good ones"
    )

# %%
# One applicant
# -------------
# A declined applicant may ask why. The reasons are the rules that leave the
# applicant worse off than the average row. The strongest reason comes first.

applicant = X_test.loc[5670]
print(model.reasons(applicant, k=3))

# %%
# And what would have helped? The model is piecewise linear, so the smallest
# change that brings the probability of a good loan to 95 % can be found
# exactly, and is proven to be the smallest. Late payments stay whole, and the
# advice never contradicts the promised directions.

advice = model.counterfactual(
    applicant,
    target="good",
    probability=0.95,
    whole=["late_payments"],
    fixed=["employed_since", "homeowner", "purpose"],
)
print(advice)

# %%
# The committee changes it
# ------------------------
# The committee decides that rule 3 must be about exactly this case: more than
# two late payments and a utilisation above 60 %. It also removes rule 1. The
# written rule is frozen, and all other rules are trained again.

changed = model.edit(
    replace={3: "late_payments > 2 and utilisation > 0.6"},
    freeze=[3],
    drop=[1],
).refit(X_train, y_train)
print(
    "rule 2 is now:", changed.rules_table().loc[2, "text"]
)  # it has moved up by one
print("against what was promised:", changed.check_monotone())

# %%
# What changed? ``compare`` answers rule by rule and row by row. You can print
# the whole comparison, and ``to_html`` writes it as a page. These are the most
# important numbers, on the rows held out.

from neuralrules import compare

comparison = compare(model, changed, X_test, y_test)
for kind in ("changed", "only in A", "only in B"):
    print(f"rules {kind}: {comparison.count(kind)}")
print(f"loans that change class: {len(comparison.rows.flipped)}")
pd.DataFrame(comparison.measured.metrics, ["before", "after"]).T.round(4)

# %%
# The committee's own rule costs a little, and the committee can see how much.
#
# Numbers to remember
# -------------------
# At last the thresholds are rounded. This may cost at most two per cent of the
# model's gain over a constant. The rounded model computes with the numbers
# that it prints.

rounding = changed.round_numbers(X_train, y_train, precision="friendly")
final = rounding.model
print(f"log loss {log_loss(went_bad, bad_probability(final)):.3f}\n")
print(
    final.rules_text(
        style="sentences", max_rules=3, precision=rounding.precision
    )
)

# %%
# The pages to hand out
# ---------------------
# A score card has whole points for each rule. ``to_html`` writes it as a page
# that prints on one sheet. A notebook shows the card below the code, and so
# does this site:

card = final.scorecard(X_test, y_test)
card

# %%
# The report is for people who want to know more. It shows the performance at
# any threshold, the effects of columns and all rules. A panel predicts the row
# that a reader types in, with its reasons. The report is one file that loads
# nothing from elsewhere.

import html
import tempfile
from pathlib import Path


class Page:
    """An HTML file that a notebook shows in a frame."""

    def __init__(self, path, title, height):
        self.parts = html.escape(path.read_text("utf-8")), title, height

    def _repr_html_(self):
        text, title, height = self.parts
        style = f"width: 100%; height: {height}px; border: 1px solid grey"
        frame = f'title="{title}" style="{style}" srcdoc="{text}"'
        return f"<iframe {frame}></iframe>"


folder = Path(tempfile.mkdtemp())
report = final.report(
    folder / "report.html", X_test, y_test, title="Loans that go bad"
)
print(f"{report.name}, under 1 MB: {report.stat().st_size < 1e6}")
Page(report, "Report", 900)

# %%
# Into the database
# -----------------
# ``to_sql`` writes the model as one query, here for SQLite; PostgreSQL and
# DuckDB work too. The query reads the raw columns and returns probabilities,
# the points of the card and the reasons.

import sqlite3

query = final.to_sql("loans", dialect="sqlite", scorecard=card, reasons=2)
database = sqlite3.connect(":memory:")
X_test.to_sql("loans", database, index=False)
scored = pd.read_sql(query, database)
difference = abs(scored["probability_bad"] - bad_probability(final)).max()
same_points = (scored["points"] == card.points(X_test)).all()
print(f"{len(query) / 1000:.0f} kB of SQL")
print(f"the same probabilities to 1e-6: {difference < 1e-6}")
print(f"the same points: {same_points}")
declined = scored[scored["probability_bad"] > 1 / 11]
declined[["probability_bad", "points", "reason_1", "reason_2"]].head(3)
