"""All parameters of the estimators, each declared once: type, default, allowed values, text.

Parameters are the fields of dataclasses, which the estimators inherit. So the signature of an
estimator, scikit-learn's checks of parameters, the docstrings, the command line and a type
checker all read the same declaration. A class lists the dataclasses from the last parameters
to the first, because dataclasses put the fields of later bases first.
"""

# The annotations are not postponed: they are the annotations of `__init__`, in other modules.
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from neuralrules._data._scaling import SCALINGS
from neuralrules._engine import DEVICES, ENGINES
from neuralrules._fitting._settings import EXPERT
from neuralrules._network._columns import LITERAL_COLUMNS
from neuralrules._network._network import STARTS
from neuralrules._rules._sources import SOURCES
from neuralrules._task._class_losses import CLASS_LOSSES
from neuralrules._task._number_losses import NUMBER_LOSSES

T = TypeVar("T")

COUNT = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
AUTO = StrOptions({"auto"})


def parameter(
    *, default: T, allowed: Sequence[Any], kind: str, text: str, kw_only: bool = True
) -> T:
    """A parameter of an estimator.

    Parameters
    ----------
    default : object
    allowed : sequence
        What scikit-learn lets the parameter be.
    kind : str
        The type in words, for docstrings.
    text : str
        What the parameter does.
    kw_only : bool, default=True
    """
    about = {"allowed": list(allowed), "kind": kind, "text": text}
    return field(default=default, kw_only=kw_only, metadata=about)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter,))
def with_parameters(cls: type[T]) -> type[T]:
    """Class decorator: make an `__init__` that takes and keeps the declared parameters."""
    return dataclass(kw_only=True, eq=False, repr=False, match_args=False)(cls)


def parameter_texts(cls: type) -> dict[str, tuple[str, str]]:
    """The type and the text of each parameter of a class, by name."""
    return {one.name: (one.metadata["kind"], one.metadata["text"]) for one in fields(cls)}


@with_parameters
class RunParameters:
    """Where and how an estimator computes."""

    engine: str = parameter(
        default="numba",
        allowed=[StrOptions(set(ENGINES))],
        kind='{"numba", "numpy", "torch"}',
        text='"numba" is fast compiled code, "numpy" the plain reference, and "torch" can '
        'train on a GPU (``pip install "neuralrules[gpu]"``).',
    )
    device: str = parameter(
        default="auto",
        allowed=[StrOptions(set(DEVICES))],
        kind='{"auto", "cpu", "cuda"}',
        text='Where engine="torch" computes. "auto" takes a GPU if there is one. The other '
        "engines use the CPU.",
    )
    n_jobs: int | None = parameter(
        default=None,
        allowed=[Integral, None],
        kind="int or None",
        text="Threads to train and predict with; for the CV estimators, processes to search "
        "with. None means 1, and -1 all cores. The result does not depend on it.",
    )
    random_state: Any = parameter(
        default=None,
        allowed=["random_state"],
        kind="int, RandomState or None",
        text="Seed for growing trees, batches, held-out rows and folds.",
    )
    verbose: int = parameter(
        default=0,
        allowed=["verbose"],
        kind="int",
        text="1 shows a progress bar: for a fit the epoch, the loss and the time left; for a "
        "search the fold, the candidate and the best score so far; for `simplify` the rules "
        "and parameters that are left.",
    )


@with_parameters
class RuleParameters:
    """How rules grow, what they may look at, and how they are trained."""

    rule_source: str = parameter(
        default="boosting",
        allowed=[StrOptions({*SOURCES, EXPERT})],
        kind='{"boosting", "expert", "forest", "tree"}',
        text="Where rules come from: gradient boosting, a random forest, or one tree as in "
        'the paper. With "expert" no rules grow, and the model has only those of '
        "`expert_rules`.",
    )
    expert_rules: Sequence[str] | None = parameter(
        default=None,
        allowed=[list, tuple, None],
        kind="list of str or None",
        text="Rules that people wrote. They stand before the rules that grow, and `max_rules` "
        'does not count them. A rule is one condition, or several with "and" between them, '
        "such as 'late_payments > 2 and region = north', 'opened < 2019-01-01' or '\"loan "
        "amount\" is missing', in the table's own columns and units. Training keeps the "
        "conditions of these rules, bit for bit, and trains their values: experts know when a "
        "rule applies, the rows show how much it should count. A rule that begins with "
        "'free: ' is free: training may change its conditions like those of any other rule. A "
        "missing number counts as the mean of its column, as everywhere.",
    )
    n_trees: int | str = parameter(
        default="auto",
        allowed=[COUNT, AUTO],
        kind='int or "auto"',
        text='Number of trees of a "forest", or of boosting rounds. A round grows one tree, '
        'or for more than two classes one tree for each class. rule_source="tree" ignores it. '
        '"auto" means 32 up to 25,000 rows, or 16 if there are several outputs. Above that, '
        "the number grows in proportion to the rows, up to four times as many.",
    )
    tree_rate: float = parameter(
        default=0.2,
        allowed=[POSITIVE],
        kind="float",
        text="Learning rate of boosting. A higher rate makes the trees differ more from each "
        "other.",
    )
    max_rules: int | None = parameter(
        default=None,
        allowed=[COUNT, None],
        kind="int or None",
        text="Keep only this many rules, those with the highest margin score m^2 (equation 8).",
    )
    max_terms: int | None = parameter(
        default=None,
        allowed=[COUNT, None],
        kind="int or None",
        text="The largest number of columns that a literal may look at. An indicator of a "
        "category or of missing values counts as one column. Literals are trained freely for "
        "a third of `n_epochs`. Then each literal keeps its largest weights, and all are "
        "trained for `n_epochs`.",
    )
    min_samples_leaf: int | str = parameter(
        default="auto",
        allowed=[COUNT, AUTO],
        kind='int or "auto"',
        text="The smallest number of training rows in a leaf, as in scikit-learn's trees. "
        '"auto" means a fiftieth of the training rows, but at least 5 and at most 20.',
    )
    literal_columns: str = parameter(
        default="rule",
        allowed=[StrOptions(set(LITERAL_COLUMNS))],
        kind='{"own", "rule", "tree"}',
        text="Columns that training may let a literal look at: only its own column, so that "
        "only its threshold and slope move; all columns of its rule; or all columns that the "
        "trees use, as in the paper.",
    )
    monotone: Mapping[Any, Any] | None = parameter(
        default=None,
        allowed=[dict, None],
        kind="dict or None",
        text='Columns with a direction, as in {"age": 1, "income": -1}. With 1 the output '
        "never falls when the column rises, with -1 it never rises, for all rows, seen or "
        "not. The output is the log odds of the second of two classes, or each target of a "
        'regression. For a single class or target, give a dict, as in {"income": {"rich": '
        "1}}: the probability of that class (with hinge its score) never falls. Targets go by "
        "their numbers. Trees grow within these directions, and training keeps the signs that "
        "prove them (see `check_monotone`). Columns of numbers and dates go by name, columns "
        "of arrays also by position. What a missing cell does is not promised.",
    )
    interactions: Sequence[Sequence[Any]] | None = parameter(
        default=None,
        allowed=["array-like", None],
        kind="list of lists of columns, or None",
        text='Columns that a rule may look at together, as in [["age", "income"], ["debt", '
        '"age"]]. A column in no list stays alone, so [] makes a sum of functions of one '
        'column each. With "tree" and "forest" each list has trees of its own. None allows '
        "all columns together.",
    )
    exclude: Sequence[Any] | None = parameter(
        default=None,
        allowed=["array-like", None],
        kind="list of columns or None",
        text="Columns that no rule may use, though the table has them.",
    )
    start: str = parameter(
        default="hinge",
        allowed=[StrOptions(set(STARTS))],
        kind='{"hinge", "leaf"}',
        text='How a neural rule starts. "hinge", as in the paper: it grows with the distance '
        'from its thresholds. "leaf": it is steep and capped, so that it is 1 within its '
        "leaf, and the network starts at the output of the trees.",
    )
    fit_intercept: bool = parameter(
        default=True,
        allowed=["boolean"],
        kind="bool",
        text="Whether the sum of the rules has an intercept, which is trained too. It starts "
        "at the prior: the log odds of the classes, or the mean. The paper has none.",
    )
    scaling: str = parameter(
        default="standard",
        allowed=[StrOptions(set(SCALINGS))],
        kind='{"standard", "quantile"}',
        text="How columns of numbers are brought to a common scale: by mean and standard "
        "deviation, or by their quantiles to a normal shape. Quantiles separate the many "
        "small numbers of a column with heavy tails. They are not in the paper.",
    )
    missing: float | str | Sequence[float | str] | None = parameter(
        default=None,
        allowed=[Real, str, list, tuple, np.ndarray, None],
        kind="number, str, list of them, or None",
        text="Values that mean missing in X, besides None and NaN: a number, a text or a list "
        "of them, such as [-999, 'unknown', '1900-01-01']. Numbers are compared as numbers, "
        "dates as dates, and texts letter by letter. The values are saved with the model, and "
        "`predict` and all exports apply them.",
    )
    deep: bool = parameter(
        default=False,
        allowed=["boolean"],
        kind="bool",
        text="Deep neural rules: one more layer between literals and minimum, started as the "
        "identity, lets a rule's support become non-convex.",
    )
    loss: str = parameter(
        default="squared",
        allowed=[StrOptions(set(NUMBER_LOSSES))],
        kind="str",
        text='For classes "logistic" (softmax for more than two), "hinge" or "squared"; the '
        'last two train one class against the others. For regression "squared"; "huber", '
        "which grows only linearly for large errors, so that outliers count less; or "
        '"poisson" for counts: the logarithm of the prediction is the sum of the rules.',
    )
    l2: float = parameter(
        default=0.2,
        allowed=[Interval(Real, 0, None, closed="left")],
        kind="float",
        text="Shrinkage: l2 times the sum of the squared weights and values is added to the "
        "sum of the losses. Biases are not shrunk, nor are rules on which no row of the batch "
        "fires.",
    )
    rule_dropout: float = parameter(
        default=0.0,
        allowed=[Interval(Real, 0, 1, closed="left")],
        kind="float",
        text="Share of the rules that sit out each mini-batch, so that no rule relies on "
        "another. Not in the paper. 0 turns it off.",
    )
    learning_rate: float = parameter(
        default=0.005, allowed=[POSITIVE], kind="float", text="Step size of Adam."
    )
    schedule: str = parameter(
        default="cosine",
        allowed=[StrOptions({"constant", "cosine"})],
        kind='{"constant", "cosine"}',
        text="Keep the learning rate, or let it fall to zero along half a cosine.",
    )
    n_epochs: int | str = parameter(
        default="auto",
        allowed=[Interval(Integral, 0, None, closed="left"), AUTO],
        kind='int or "auto"',
        text='Passes over the training rows. 0 gives the untrained start. "auto" means 300 up '
        "to 80,000 rows. Above that, it means as many as visit 24 million rows in all, but at "
        "least 3.",
    )
    batch_size: int | tuple[int, int] | str = parameter(
        default="auto",
        allowed=[COUNT, tuple, list, AUTO],
        kind='int, pair of int, or "auto"',
        text="Rows in a mini-batch. A pair (low, high) means a sixteenth of the training rows, "
        'within these bounds. "auto" means (32, 256).',
    )
    early_stopping: bool | str = parameter(
        default="auto",
        allowed=["boolean", AUTO],
        kind='bool or "auto"',
        text="Hold out a share of the rows, stop when their loss no longer falls, and go back "
        'to the best parameters, which may be those of the start. "auto" does so from 200 '
        "rows on.",
    )
    validation_fraction: float = parameter(
        default=0.2,
        allowed=[Interval(Real, 0, 1, closed="neither")],
        kind="float",
        text="Share of the rows held out for early stopping.",
    )
    patience: int = parameter(
        default=30,
        allowed=[COUNT],
        kind="int",
        text="Epochs without improvement before training stops early.",
    )


@with_parameters
class OneModelParameters(RuleParameters):
    """Parameters that estimators have and searches do not."""

    max_depth: int | None = parameter(
        default=2,
        kw_only=False,
        allowed=[COUNT, None],
        kind="int or None",
        text="Depth of the trees, and so the largest number of literals of a rule. The "
        "parameter that matters most; the CV estimators choose it.",
    )
    warm_start: bool = parameter(
        default=False,
        allowed=["boolean"],
        kind="bool",
        text="Whether `fit` goes on training the rules of the last `fit`.",
    )
    n_sample_rows: int = parameter(
        default=1_000_000,
        allowed=[Interval(Integral, 100, None, closed="left")],
        kind="int",
        text="For a table in files: how many rows are kept in memory to grow trees from, "
        "drawn at random. The rows of the trees' leaves are counted in the whole table.",
    )
    checkpoint: str | os.PathLike[str] | None = parameter(
        default=None,
        allowed=[str, os.PathLike, None],
        kind="str, path or None",
        text="For a table in files: a file that says after each epoch, and every two minutes, "
        "how far training has come. A fit that was killed goes on from it and comes to the "
        "same model, if everything else is the same. The file is removed when the fit is "
        "complete.",
    )


@with_parameters
class ClassParameters(RuleParameters):
    """Parameters that classifiers have, or have with another default."""

    loss: str = parameter(
        default="logistic",
        allowed=[StrOptions(set(CLASS_LOSSES))],
        kind="str",
        text=parameter_texts(RuleParameters)["loss"][1],
    )
    class_weight: Any = parameter(
        default=None,
        allowed=[StrOptions({"balanced"}), dict, None],
        kind='dict, "balanced" or None',
        text='Weight of each class; "balanced" makes them inversely proportional to the '
        "classes' numbers of rows.",
    )


@with_parameters
class SearchParameters:
    """What a search compares, and how."""

    candidates: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]] | None = parameter(
        default=None,
        kw_only=False,
        allowed=["array-like", dict, None],
        kind="sequence of dict, dict of sequences, or None",
        text="What to choose from: dicts of parameters, or all combinations of the values of "
        "a dict. A candidate takes the parameters that it does not name from this estimator. "
        "None means a set that did well on many tables; if `max_rules` is given, a set for "
        "that many rules.",
    )
    cv: Any = parameter(
        default=5,
        allowed=["cv_object"],
        kind="int, splitter or iterable of splits",
        text="How to cross-validate. An integer means that many shuffled folds, stratified "
        "for classes.",
    )
    scoring: Any = parameter(
        default=None,
        allowed=[str, callable, None],
        kind="str, callable or None",
        text="The score that candidates are compared by, as in scikit-learn. None means the "
        "loss.",
    )
    refit: str = parameter(
        default="auto",
        allowed=[StrOptions({"auto", "average", "single"})],
        kind='{"auto", "average", "single"}',
        text='What to keep of the best candidate. "average": its models of all folds, each '
        'stopped early on its own fold, joined into one network that is their mean. "single": '
        'one model of all rows. "auto" means "average", unless `max_rules` is given, because '
        'the mean would have more rules. With "average" the table is encoded once, using all '
        "rows, because networks that are joined must look at the same columns. Otherwise the "
        "table is encoded per fold. Targets are always encoded per fold.",
    )
    max_depth: int | None = parameter(
        default=None,
        allowed=[COUNT, None],
        kind="int or None",
        text="The largest depth of the trees of the default candidates, and so the largest "
        "number of literals of a rule. It is also the depth of candidates that name none. None "
        "sets no limit, and means 2 for candidates that name none.",
    )
