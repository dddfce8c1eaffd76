"""A fit on a table in files: the steps of a fit, each a pass over the table."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from neuralrules._data._encoder import Encoder, warn_of_rare
from neuralrules._data._markers import marker_texts
from neuralrules._data._rows import Rows
from neuralrules._estimators._building import Course, epochs
from neuralrules._network._network import Network
from neuralrules._rules._rules import Rules
from neuralrules._stream._checkpoint import Checkpoint
from neuralrules._stream._machines import Machines, OneMachine
from neuralrules._stream._parquet import NamedTable, ParquetTable
from neuralrules._stream._passes import Gathered
from neuralrules._stream._progress import RowProgress
from neuralrules._stream._rows import EncodedStream, RowStream
from neuralrules._stream._targets import ClassSurvey, NumberSurvey
from neuralrules._training._sparse import train_sparse
from neuralrules._training._training import State
from neuralrules._version import __version__

# A NeuralRuleModel; its module imports this one.
Model: TypeAlias = Any
# Rows that are held out, at most: they stay in memory, and more would tell little more.
MOST_HELD = 100_000
PASSES = 3  # over the table before training
# What may change when a killed fit goes on: neither changes the result.
ASIDE = ("checkpoint", "n_jobs", "verbose")


def fit_from_files(model: Model, X: Any, y: Any, sample_weight: Any, course: Course) -> Any:
    """See `NeuralRuleModel.fit`, which calls it."""
    check_cold(model)
    table = X if isinstance(X, ParquetTable) else ParquetTable(X)
    with RowProgress(shown=bool(model.verbose)) as bar:
        bar.expect(PASSES + epochs(course.n_epochs, table.n_rows))
        return fit_table(model, table, y, sample_weight, course, OneMachine(bar))


def check_cold(model: Model) -> None:
    """Refuse to go on training where a table is not in memory."""
    if model.warm_start and hasattr(model, "fitted_"):
        raise ValueError(
            "warm_start=True does not go on from files. Fit with warm_start=False, or give a "
            "table in memory."
        )


def fit_table(
    model: Model,
    table: NamedTable,
    y: Any,
    sample_weight: Any,
    course: Course,
    machines: Machines,
) -> Any:
    """Fit on a table, whose columns have names, by one machine or by several."""
    seed = int(check_random_state(model.random_state).randint(2**31 - 1))
    checkpoint = Checkpoint.at(model.checkpoint, seed)
    stream = RowStream.of(table, y, sample_weight, model._check_y, checkpoint.seed)
    stream = replace(stream, missing=marker_texts(model.missing))
    if model._stops(course, table.n_rows):
        share = min(model.validation_fraction, MOST_HELD / table.n_rows)
        stream = replace(stream, held_share=share)
    return fit_stream(model, stream, course, checkpoint, machines)


def fit_stream(
    model: Model, stream: RowStream, course: Course, checkpoint: Checkpoint, machines: Machines
) -> Any:
    """The steps of a fit."""
    # 1. Encode the table and the targets, brought to a common scale by the training rows.
    rows = encoded(model, stream, machines)
    warn_of_rare(rows.encoder, stacklevel=5)
    kept = machines.gathered(rows, model.n_sample_rows)
    check_held(model, kept, course)
    # 2. to 4. Rules, of the sample, and the network that they start as; then their counts.
    held = np.flatnonzero(kept.held).astype(np.int32)
    random_state = np.random.RandomState(stream.seed)
    restrictions = model._restrictions(rows.encoder, rows.task)
    rules, network, _ = model._begin(
        kept.sample, held, random_state, rows.encoder, restrictions
    )
    rules = machines.counted(rules, rows, kept)
    # 5. Train all rules together, on all rows.
    checkpoint.begin(digest(model, rows.stream, rows.encoder, rules, network))
    outcome = train_sparse(
        machines.training(rows, kept, model._engine(), checkpoint),
        State.start(network),
        model._plan(rows.task, kept.n_training, course),
        model._constraints(network, rules, restrictions),
        model.max_terms,
    )
    learn_names(model, stream.features)
    model._check_gain(outcome, kept.sample, np.flatnonzero(~kept.held), held)
    model._learn(rows.encoder, rules, outcome, standing_for_all(kept))
    if not outcome.interrupted:
        checkpoint.finish()
    return model


def encoded(model: Model, stream: RowStream, machines: Machines) -> EncodedStream:
    """The table as it is encoded, and what is to be learned: one pass."""
    targets = ClassSurvey() if is_classifier(model) else NumberSurvey()
    keeps = model.scaling == "quantile" or model.loss == "huber"
    survey = machines.surveyed(stream, targets, keeps=keeps)
    if not survey.weight:
        raise ValueError("The weight is zero for every row. Give some rows weight.")
    examples = targets.examples()
    task = targets.scaled(model._learn_task(examples, np.ones(len(examples))))
    factors = None
    if isinstance(targets, ClassSurvey):
        factors = model._class_factors(task, targets.n_rows)
        # As in memory, no class may be without any row to train on.
        stream = replace(stream, never_held=targets.all_held)

    def training_weights(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if factors is None:
            return weights
        return (weights * factors[codes[:, 0].astype(int)]).astype(np.float32)

    places = {label: place for place, label in enumerate(task.labels)}

    def encode_targets(y: np.ndarray) -> np.ndarray:
        if y.dtype == object and places.keys() >= set(y):  # a fast way for text
            return np.array([places[label] for label in y], np.float32)[:, None]
        return model._encode_targets(task, y)

    encoder = survey.encoder(scaling=model.scaling)
    return EncodedStream(stream, encoder, task, encode_targets, training_weights)


def check_held(model: Model, kept: Gathered, course: Course) -> None:
    """Refuse a table of which nothing is left to train on, or to stop early on."""
    n_held = len(kept.validation)
    if kept.n_training and (n_held or course.early_stopping is not True):
        return
    raise ValueError(
        f"validation_fraction={model.validation_fraction} leaves {n_held} rows to validate and "
        f"{kept.n_training} to train on. Change validation_fraction, add rows, or set "
        "early_stopping=False."
    )


def standing_for_all(kept: Gathered) -> Rows:
    """The sample, with weights that add up to those of the table."""
    weights = kept.sample.weights
    factor = kept.all_weight / weights.sum(dtype=np.float64)
    return replace(kept.sample, weights=(weights * factor).astype(np.float32))


def learn_names(model: Model, names: list[str]) -> None:
    """What scikit-learn remembers of a frame."""
    model.n_features_in_ = len(names)
    model.feature_names_in_ = np.array(names, object)


def digest(
    model: Model, stream: RowStream, encoder: Encoder, rules: Rules, network: Network
) -> str:
    """A text that differs where a training would begin from something else."""
    parameters = model.get_params(deep=False)
    told = {name: parameters[name] for name in sorted(parameters) if name not in ASIDE}
    told.pop("random_state")  # the seed is in the checkpoint
    found = hashlib.sha256()
    for part in (__version__, type(model).__name__, told, stream.columns, encoder):
        found.update(repr(part).encode())
    found.update(repr(stream.table.identity).encode())
    for record in (rules, network):
        for value in (getattr(record, field.name) for field in fields(record)):
            array = isinstance(value, np.ndarray)
            found.update(value.tobytes() if array else repr(value).encode())
    return found.hexdigest()
