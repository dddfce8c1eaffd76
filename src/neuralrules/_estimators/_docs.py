"""The parts of docstrings that all estimators share, written once.

`documented` puts them in place of ``{mathematics}``, ``{parameters}``,
``{attributes}`` and ``{reference}``. A parameter that a class does not have is
left out, and defaults are taken from the signature, so neither can go stale.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import TypeVar

Class = TypeVar("Class", bound=type)

MATHEMATICS = """
Shallow trees are grown on the standardised table, by boosting unless `rule_source`
says otherwise, and every leaf becomes a neural rule (equation 11 of the paper)::

    r(x) = c * min_j ReLU(w_j . x_T + a_j)

where x_T are the columns that the rule looks at: `literal_columns`. It starts as the
leaf: w_j is the literal's sign on its own column and 0 elsewhere, a_j the threshold
with the opposite sign and c the leaf's value. The output is an intercept and the sum of
all rules; their weights, biases and values are trained together by Adam.
"""

PARAMETERS: dict[str, tuple[str, str]] = {
    "candidates": (
        "sequence of dict, dict of sequences, or None",
        "What to choose from: dicts of parameters, or all combinations of the values of a "
        "dict. Parameters that a candidate does not name are those of this estimator. None "
        "means a set that did well on many tables, for `max_rules` if that is given.",
    ),
    "scoring": (
        "str, callable or None",
        "What candidates are compared by, as in scikit-learn; None means the loss.",
    ),
    "refit": (
        '{"auto", "average", "single"}',
        "What to keep of the best candidate: the mean of its models of all folds, each stopped "
        'early on its own fold, joined into one network; or one model of all rows. "auto" '
        "means the mean, unless `max_rules` is given, which it would exceed. Networks to "
        "be joined must look at the same columns, so that for them the table is encoded by "
        "all rows; otherwise, as the targets always are, by the training rows of each fold.",
    ),
    "cv": (
        "int, splitter or iterable of splits",
        "How to cross-validate. An integer means that many shuffled folds, stratified for "
        "classes.",
    ),
    "max_depth": (
        "int or None",
        "Depth of the trees, and so the largest number of literals of a rule. The parameter "
        "that matters most; the CV estimators choose it.",
    ),
    "rule_source": (
        '{"boosting", "expert", "forest", "tree"}',
        "Where rules come from: gradient boosting, a random forest, or one tree as in the "
        'paper; with "expert" none grow, and those of `expert_rules` stand alone.',
    ),
    "expert_rules": (
        "list of str or None",
        "Rules that people wrote, which stand before those that grow, whatever `max_rules` is: "
        "conditions with \"and\" between them, such as 'late_payments > 2 and region = north', "
        "'opened < 2019-01-01' or '\"loan amount\" is missing', in the table's own columns and "
        "units. Their values start from the rows that they hold for. A missing number counts "
        "as its mean, as everywhere.",
    ),
    "frozen_rules": (
        '{"expert"} or None',
        "Whose literals training must keep, bit for bit: those of `expert_rules`, or none. The "
        "values of such rules are trained: experts know when a rule speaks, the rows how much "
        "it should count.",
    ),
    "n_trees": (
        'int or "auto"',
        'Number of trees of a "forest" and of boosting rounds, each of which grows one tree a '
        'class if there are more than two; a single "tree" ignores it. "auto" means 32, or '
        "16 where there are several outputs, of up to 25,000 rows; of more as many more, up to "
        "four times.",
    ),
    "tree_rate": (
        "float",
        "Learning rate of boosting: a higher one makes the trees differ more from each other.",
    ),
    "max_rules": (
        "int or None",
        "Keep only this many rules, those with the highest margin score m^2 (equation 8).",
    ),
    "max_literals": (
        "int or None",
        "Most literals of a rule, and so the depth of the trees if `max_depth` is larger. The "
        "cap of a rule that starts as its leaf is not counted: it looks at no column.",
    ),
    "max_terms": (
        "int or None",
        "Most columns that a literal may look at; an indicator of a category or of missing "
        "values counts as one. Literals are trained freely for a third of `n_epochs`, then "
        "each keeps its largest weights and all are trained for `n_epochs`.",
    ),
    "min_samples_leaf": (
        'int or "auto"',
        'Fewest training rows in a leaf, as in scikit-learn\'s trees. "auto" means a fiftieth '
        "of them, but at least 5 and at most 20.",
    ),
    "literal_columns": (
        '{"own", "rule", "tree"}',
        "Columns that a literal may come to look at: only its own, so that its threshold and "
        "slope may move; all columns of its rule; or all that the trees use, as in the paper.",
    ),
    "monotone": (
        "dict or None",
        'Columns with a direction, as in {"age": 1, "income": -1}: with 1 the output never '
        "falls where the column rises, with -1 it never rises, for all rows, seen or not. That "
        "is the log odds of the second of two classes, or each target of a regression. For "
        'single classes or targets a dict, as in {"income": {"rich": 1}}: the probability of '
        "that class (with hinge its score) never falls; targets go by their numbers. "
        "Training keeps the signs that prove it (see "
        "`check_monotone`), from trees grown alike. Columns of numbers and dates by name, "
        "those of arrays also by position. What a missing cell does is not promised.",
    ),
    "interactions": (
        "list of lists of columns, or None",
        'Columns that a rule may look at together, as in [["age", "income"], ["debt", "age"]]; '
        "those in no list stay alone, so that [] makes a sum of functions of one column each. "
        'With "tree" and "forest" each list has trees of its own. None lets all go together.',
    ),
    "exclude": (
        "list of columns or None",
        "Columns that no rule may use, though tables have them.",
    ),
    "start": (
        '{"hinge", "leaf"}',
        "How a neural rule starts: as in the paper, growing with the distance from its "
        "thresholds; or steep and capped, so that it is 1 within its leaf and the network "
        "starts at the output of the trees.",
    ),
    "fit_intercept": (
        "bool",
        "Whether the sum of the rules starts from an intercept that is trained too. It begins "
        "at the prior: the log odds of the classes, or the mean. The paper has none.",
    ),
    "scaling": (
        '{"standard", "quantile"}',
        "How columns of numbers are brought to a common scale: by mean and standard deviation, "
        "or by their quantiles to a normal shape, which tells apart the many small numbers of "
        "a column with heavy tails. Not in the paper.",
    ),
    "missing": (
        "number, str, list of them, or None",
        "Values that mean missing in X, besides None and NaN: a number, a text or a list of "
        "them, such as [-999, 'unknown', '1900-01-01']. Numbers are compared as numbers, dates "
        "as dates, and texts letter by letter. The values are saved with the model, and "
        "`predict` and all exports apply them.",
    ),
    "deep": (
        "bool",
        "Deep neural rules: one more layer between literals and minimum, started as the "
        "identity, lets a rule's support become non-convex.",
    ),
    "loss": (
        "str",
        'For classes "logistic" (softmax for more than two), "hinge" or "squared", the last '
        'two one class against the others. For regression "squared"; "huber", which '
        "grows only linearly where errors are large, so that outliers count less; or "
        '"poisson" for counts, where the logarithm of the prediction is the sum of the rules.',
    ),
    "l2": (
        "float",
        "Shrinkage: l2 times the sum of the squared weights and values is added to the sum of "
        "the losses. Biases are free, and so are rules on which no row of the batch fires.",
    ),
    "rule_dropout": (
        "float",
        "Share of the rules that sit out each mini-batch, so that no rule relies on another. "
        "Not in the paper; 0 turns it off.",
    ),
    "learning_rate": ("float", "Step size of Adam."),
    "schedule": (
        '{"constant", "cosine"}',
        "Keep the learning rate, or let it fall to zero along half a cosine.",
    ),
    "n_epochs": (
        'int or "auto"',
        "Passes over the training rows; 0 gives the untrained start. "
        '"auto" makes 300, but of more than 80,000 rows as many as visit 24 million rows in '
        "all, and at least 3.",
    ),
    "batch_size": (
        'int, "auto" or "paper"',
        'Rows in a mini-batch; "auto" takes a sixteenth of the training rows, but at least 32 '
        'and at most 256, "paper" at least 128.',
    ),
    "early_stopping": (
        'bool or "auto"',
        "Hold out a share of the rows, stop when their loss no longer falls and go back to "
        'the best parameters, the start included. "auto" does so from 200 rows on.',
    ),
    "validation_fraction": ("float", "Share of the rows held out for early stopping."),
    "patience": ("int", "Epochs without improvement before training stops early."),
    "warm_start": ("bool", "Whether `fit` goes on training the rules of the last `fit`."),
    "n_sample_rows": (
        "int",
        "Of a table in files: rows that are kept in memory to grow trees from, drawn from all. "
        "The rows of their leaves are counted in the whole table.",
    ),
    "checkpoint": (
        "str, path or None",
        "Of a table in files: a file that says after each epoch, and every two minutes, how "
        "far training has come. A fit that was killed goes on from it and comes to the same "
        "model, if all else is the same; it is removed when the fit is complete.",
    ),
    "class_weight": (
        'dict, "balanced" or None',
        'Weight of each class; "balanced" makes them inversely proportional to the classes\' '
        "numbers of rows.",
    ),
    "engine": (
        '{"numba", "numpy", "torch"}',
        "The fast compiled kernels, the plain NumPy reference, or torch, which can train on a "
        'GPU (``pip install "neuralrules[gpu]"``).',
    ),
    "device": (
        '{"auto", "cpu", "cuda"}',
        'Where engine="torch" computes; "auto" takes a GPU where there is one. The other '
        "engines use the CPU.",
    ),
    "n_jobs": (
        "int or None",
        "Threads to train and predict with (for the CV estimators, processes to search with); "
        "None means 1, -1 all cores. The result does not depend on it.",
    ),
    "random_state": (
        "int, RandomState or None",
        "Seed of tree growing, batches, held-out rows and folds.",
    ),
    "verbose": (
        "int",
        "1 shows a progress bar: epoch, loss and time left of a fit; fold, candidate and the "
        "best score so far of a search; rules and parameters left of `simplify`.",
    ),
}

ATTRIBUTES = """
rules_ : Rules
    The trees' rules: literals, leaf values, counts and margin scores.
network_ : Network
    The trained neural rules as flat arrays: `weights` (n_literals, n_features),
    `biases`, `offsets`, `values`, `features` and `intercept`.
encoder_ : Encoder
    The encoding of the table; `encoder_.columns` says what each encoded column is.
history_ : dict of str to list of float
    Mean "loss" of each epoch and, with early stopping, "validation_loss".
lineage_ : tuple of Event
    What was done to the model since it grew: `what`, `when`, `who`, `version`, `summary` and
    `n_rows` of each; `lineage_text` has it as text.
n_iter_ : int
    Epochs that were completed.
interrupted_ : bool
    Whether Ctrl-C ended training.
feature_importances_ : ndarray of shape (n_columns,)
    How much each column matters, summing to 1: the mean absolute contribution of each rule
    on the training rows, given to its columns in proportion to their weights. It needs no
    rows; `importances` measures on some, and says how surely.
n_features_in_ : int
    Number of columns of the table.
feature_names_in_ : ndarray of shape (n_columns,)
    Their names, if the table has names that are strings.
"""

REFERENCE = """
G. Dawer, Y. Guo, S. Liu and A. Barbu, "Neural Rule Ensembles: Encoding Sparse Feature
Interactions into Neural Networks", arXiv:2002.04319, 2020.
"""


def _describe(name: str, default: object) -> str:
    kind, text = PARAMETERS[name]
    body = textwrap.fill(text, 84)
    return f"{name} : {kind}, default={default!r}\n{textwrap.indent(body, '    ')}"


def documented(cls: Class) -> Class:
    """Class decorator: fill the shared parts into the docstring."""
    signature = inspect.signature(cls)
    parameters = "\n".join(
        _describe(name, parameter.default) for name, parameter in signature.parameters.items()
    )
    shared = {
        "mathematics": MATHEMATICS,
        "parameters": parameters,
        "attributes": ATTRIBUTES,
        "reference": REFERENCE,
    }
    doc = inspect.cleandoc(cls.__doc__ or "")  # as Python 3.13 and later leave it
    for name, text in shared.items():
        doc = doc.replace("{" + name + "}", text.strip())
    cls.__doc__ = doc
    return cls
