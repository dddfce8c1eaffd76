"""Compare candidates on rows that they were not trained on, and keep the best."""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, ParameterGrid, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, check_random_state

from neuralrules._data._encoder import Encoder, warn_of_rare
from neuralrules._data._rows import Rows
from neuralrules._estimators._base import (
    NeuralRuleModel,
    OneModel,
    settings_of,
    unchanged_on_error,
)
from neuralrules._estimators._candidates import DEPTHS, PAPER, default_candidates
from neuralrules._estimators._parameters import (
    RunParameters,
    SearchParameters,
    parameter_texts,
)
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitting._fit import measured, train_rules
from neuralrules._fitting._folds import Member, joined, train_member
from neuralrules._fitting._gain import mean_of, warn_of_no_gain
from neuralrules._fitting._settings import Settings
from neuralrules._fitting._table import EncodedTable, TableSource
from neuralrules._io._progress import SearchProgress
from neuralrules._io._warn import warn

# Parameters of a search that its candidates do not have.
OWN_PARAMETERS = ("candidates", "cv", "scoring", "refit")
# Parameters that a candidate may not change, because they are settled before candidates are
# compared. A candidate is not trained further, either.
FIXED = {"missing", "loss", "class_weight", "warm_start", *parameter_texts(RunParameters)}
# Candidates are dropped early only if each fold trains on at least this many rows.
DROPPING_ROWS = 1_500

# The training rows and the held-out rows of each fold.
Splits: TypeAlias = list[tuple[np.ndarray, np.ndarray]]


class RuleSearch(NeuralRuleModel, SearchParameters):
    """Compare candidates by cross-validation. Keep the best one's fold models, or refit it."""

    _base: ClassVar[type[OneModel]]
    _paper_scoring: ClassVar[str]

    @classmethod
    def paper(cls, max_depths: Sequence[int] = DEPTHS, **parameters: Any) -> Self:
        """The paper's method: one tree, whose depth is chosen by accuracy, for numbers by R^2.

        Parameters
        ----------
        max_depths : sequence of int, default=(2, 4, 6, 8, 10)
            Depths to choose from; of equally good ones the first wins.
        parameters
            Others than the paper's.

        Examples
        --------
        >>> from neuralrules import NeuralRuleClassifierCV
        >>> NeuralRuleClassifierCV.paper(max_depths=[2, 4]).candidates
        [{'max_depth': 2}, {'max_depth': 4}]
        """
        search = {
            "candidates": [{"max_depth": depth} for depth in max_depths],
            "scoring": cls._paper_scoring,
            "refit": "single",
        }
        return cls(**{**search, **PAPER, **parameters})

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Compare the candidates on held-out folds and keep the best.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,) or, for regression, (n_rows, n_targets)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from neuralrules import NeuralRuleClassifierCV
        >>> X, y = load_iris(return_X_y=True)
        >>> depths = {"max_depth": [1, 2]}
        >>> search = NeuralRuleClassifierCV(depths, cv=2, n_epochs=2, random_state=0)
        >>> search.fit(X, y).cv_scores_.shape
        (2, 2)
        """
        with unchanged_on_error(self):
            self._validate_params()
            settings = settings_of(self)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            source = self._source(X, y, sample_weight, settings)
            rows = source.without_columns(settings)
            self.candidates_ = self._check_candidates(rows.task.n_outputs)
            self._check_refit()
            tables = self._encode(source, rows, settings)
            splits = with_weighted_rows(self._splits(source.y, seed), source.weights)
            train = partial(self._members, source, tables, splits, seed)
            members, interrupted = self._compare(train, splits)
            self.cv_scores_ = scores_of(members, len(splits))
            self.best_index_ = self._choose(interrupted)
            best = members[self.best_index_]
            if any(member.outcome.n_epochs for member in best):
                compared = mean_of([member.compared for member in best])
                warn_of_no_gain(compared, "rows of the folds", rows, settings)
            table = tables[self.best_params_.get("scaling", self.scaling)]
            self._keep(*table, best, seed, settings)
            if interrupted:
                self.fitted_ = replace(self.fitted_, interrupted=True)
        return self

    @property
    def _averages(self) -> bool:
        """Whether the models of the folds are kept instead of one model of all rows."""
        return self.refit == "average" or (self.refit == "auto" and not self._limits_rules)

    @property
    def _limits_rules(self) -> bool:
        """Whether any candidate limits the number of rules."""
        limits = (found.get("max_rules", self.max_rules) for found in self.candidates_)
        return any(limit is not None for limit in limits)

    @property
    def best_params_(self) -> dict[str, Any]:
        return self.candidates_[self.best_index_]

    def _check_refit(self) -> None:
        if self.refit == "average" and self._limits_rules:
            raise ValueError(
                "refit='average' joins the models of all folds, which together have more rules "
                "than max_rules allows each of them. Give refit='single', or max_rules=None."
            )

    def _check_candidates(self, n_outputs: int) -> list[dict[str, Any]]:
        """The dicts of parameters to compare; each must make a valid estimator."""
        if self.candidates is None:
            return default_candidates(self.max_rules, n_outputs, self.max_depth)
        given = self.candidates
        found: list[Any] = list(ParameterGrid(given) if isinstance(given, dict) else given)
        allowed = sorted(set(self._base().get_params(deep=False)) - FIXED)
        for candidate in found:
            if not isinstance(candidate, dict) or not candidate.keys() <= set(allowed):
                raise ValueError(
                    f"candidates holds {candidate!r}, but each candidate must be a dict of "
                    f"some of these parameters: {', '.join(allowed)}. "
                    'For example candidates=[{"max_depth": 2}, {"max_depth": 4}].'
                )
            self._model(candidate, 0)._validate_params()
        if not found:
            raise ValueError(
                "candidates is empty. Give at least one dict of parameters, which may be "
                "empty too, or None for the default candidates."
            )
        return found

    def _model(self, candidate: dict[str, Any], seed: int, **changes: Any) -> NeuralRuleModel:
        """The estimator that a candidate stands for."""
        told = self.get_params(deep=False)
        common = {name: value for name, value in told.items() if name not in OWN_PARAMETERS}
        if self.max_depth is None:
            del common["max_depth"]  # the default of a single estimator applies
        one_thread = {"n_jobs": 1, "verbose": 0, "random_state": seed}
        return self._base(**{**common, **candidate, **one_thread, **changes})

    def _encode(
        self, source: TableSource, rows: Rows, settings: Settings
    ) -> dict[str, tuple[Encoder, Rows]]:
        """The table, encoded once for each scaling that a candidate uses.

        This encoding is learned from all rows. All folds share it if their models are joined,
        because joined models must look at the same columns. Otherwise each fold learns its own
        encoding. `rows` are the rows of the table without columns.
        """
        tables = {
            scaling: source.with_columns(
                rows, rows.training_weights, replace(settings, scaling=scaling)
            )
            for scaling in {found.get("scaling", self.scaling) for found in self.candidates_}
        }
        encoder, _ = next(iter(tables.values()))
        warn_of_rare(encoder)  # once, because every scaling has the same categories
        return tables

    def _splits(self, y: np.ndarray, seed: int) -> Splits:
        cv, n_rows = self.cv, len(y)
        if not isinstance(cv, Integral):
            splitter = check_cv(cv, y, classifier=is_classifier(self))
            return list(splitter.split(np.empty((n_rows, 0)), y))
        if n_rows < int(cv):
            raise ValueError(
                f"cv={cv} folds need at least {cv} rows, but n_samples = {n_rows}. "
                "Lower cv or add rows."
            )
        if not is_classifier(self):
            folds = KFold(int(cv), shuffle=True, random_state=seed)
            return list(folds.split(np.empty((n_rows, 0))))
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        # A model cannot predict a class that it was not trained on. So if a class has only one
        # row, every fold is trained on this row.
        lone = np.flatnonzero(counts[codes] < 2)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class")
            folds = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
            splits = list(folds.split(np.empty((n_rows, 0)), codes))
        return [(np.union1d(train, lone), np.setdiff1d(test, lone)) for train, test in splits]

    def _compare(
        self, train: Callable[[list[tuple[int, int]]], Iterator[Member]], splits: Splits
    ) -> tuple[list[list[Member]], bool]:
        """The members of each candidate, fold after fold, and whether Ctrl-C ended the search.

        On long tables the worse half of the candidates is dropped after each fold, until one is
        left. On short tables a fold says too little to drop candidates. With `scoring`, no
        candidate is dropped either: scores such as accuracy are so coarse that many tie.
        `train` trains pairs of a candidate and a fold.
        """
        members: list[list[Member]] = [[] for _ in self.candidates_]
        running = list(range(len(self.candidates_)))
        folds = list(range(len(splits)))
        may_drop = self.scoring is None and len(splits[0][0]) >= DROPPING_ROWS
        bar = SearchProgress(
            len(self.candidates_), len(splits), may_drop=may_drop, shown=bool(self.verbose)
        )
        with contextlib.suppress(KeyboardInterrupt), bar:
            while folds:
                # If no more candidates are dropped, all other folds can run at once.
                drops = may_drop and len(running) > 1
                now = folds[:1] if drops else folds
                folds = folds[len(now) :]
                jobs = [(place, fold) for fold in now for place in running]
                for (place, fold), member in zip(jobs, train(jobs), strict=True):
                    if not math.isfinite(member.score):
                        scored = f"scoring={self.scoring!r}" if self.scoring else "the loss"
                        raise ValueError(
                            f"cv={self.cv!r} makes a fold on which {scored} is "
                            f"{member.score}: it may need two rows, or rows of two classes. "
                            "Use larger folds."
                        )
                    members[place].append(member)
                    scores = [[member.score for member in done] for done in members]
                    bar.update(place, fold, scores)
                if not drops:
                    break
                means = [-np.mean(scores[place]) for place in running]
                n_kept = math.ceil(len(running) / 2)
                running = sorted(running[i] for i in np.argsort(means, kind="stable")[:n_kept])
            return members, False
        return members, True

    def _members(
        self,
        source: TableSource,
        tables: dict[str, tuple[Encoder, Rows]],
        splits: Splits,
        seed: int,
        jobs: list[tuple[int, int]],
    ) -> Iterator[Member]:
        """The trained members of (candidate, fold) pairs, in the order of the pairs."""
        scorer = None
        if self.scoring is not None:
            scorer = check_scoring(self._base(), scoring=self.scoring)
        models = [self._model(self.candidates_[place], seed + fold) for place, fold in jobs]
        tasks = (
            delayed(train_member)(
                settings_of(model),
                source,
                *tables[model.scaling],
                *splits[fold],
                self._averages,
                None if scorer is None else partial(score_on, scorer, model, source),
            )
            for model, (_, fold) in zip(models, jobs, strict=True)
        )
        # A generator gives each member as soon as it is trained. Some backends, such as Ray's,
        # have no generators.
        backend, _ = get_active_backend()
        kind = "generator" if backend.supports_return_generator else "list"
        yield from Parallel(n_jobs=self.n_jobs, return_as=kind)(tasks)

    def _choose(self, interrupted: bool) -> int:
        """The candidate with the highest mean score among those that ran on most folds."""
        met = np.isfinite(self.cv_scores_)
        n_met = met.sum(axis=1)
        sums = np.where(met, self.cv_scores_, 0).sum(axis=1)
        means = np.where(n_met == n_met.max(), sums / np.maximum(n_met, 1), -np.inf)
        best = int(np.argmax(means))
        if interrupted:
            warn(
                f"The search was interrupted after {met.sum()} fits. This "
                f"{type(self).__name__} keeps {self.candidates_[best]}, the best of what was "
                "compared until then."
            )
        return best

    def _keep(
        self,
        encoder: Encoder,
        rows: Rows,
        members: list[Member],
        seed: int,
        settings: Settings,
    ) -> None:
        """Learn the mean of the members, or train a model like them on all rows."""
        training = np.flatnonzero(rows.training_weights).astype(np.int32)
        random_state = np.random.RandomState(seed)
        table = EncodedTable(encoder, rows, training, training[:0], random_state)
        engine = settings.new_engine()
        if self._averages and members:
            rules, outcome = joined(members)
        else:
            best = settings_of(
                self._model(self.best_params_, seed, n_jobs=self.n_jobs, verbose=self.verbose)
            )
            if any("validation_loss" in member.outcome.history for member in members):
                # Train as many epochs as were best for the members. Then no row is held out.
                n_epochs = round(np.mean([member.outcome.best_epoch for member in members]))
                best = replace(best, early_stopping=False, stop_after=n_epochs)
            rules, outcome = train_rules(table, best, engine)
        n_candidates = len(self.candidates_)
        compared = f", the best of {n_candidates} candidates" if n_candidates > 1 else ""
        self.fitted_ = measured(table, rules, outcome, settings, engine, remark=compared)

    def _chosen(self) -> NeuralRuleModel:
        return self._model(self.best_params_, 0)

    def _unfitted_twin(self) -> RuleSearch:
        """The search with the chosen candidate alone."""
        twin: RuleSearch = clone(self)
        return twin.set_params(candidates=[self.best_params_], verbose=0)


def with_weighted_rows(splits: Splits, weights: np.ndarray) -> Splits:
    """The folds, without held-out rows of weight zero."""
    measured = [(train, test[weights[test] > 0]) for train, test in splits]
    for fold, (_, test) in enumerate(measured):
        if not test.size:
            raise ValueError(
                f"All rows of fold {fold} of cv have the sample_weight 0, so that nothing can "
                "be measured on it. Leave such rows out, or give cv fewer or shuffled folds."
            )
    return measured


def score_on(
    scorer: Callable[..., float],
    model: NeuralRuleModel,
    source: TableSource,
    fitted: Fitted,
    test: np.ndarray,
) -> float:
    """scikit-learn's score of a fitted model, as an estimator like `model`, on some rows."""
    weights: dict[str, Any] = {}
    takes_weights = "sample_weight" in inspect.signature(scorer).parameters
    if takes_weights and np.ptp(source.weights) > 0:
        weights["sample_weight"] = source.weights[test]
    X, y = _safe_indexing(source.X, test), _safe_indexing(source.y, test)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="R.* score is not well-defined")
        return float(scorer(model._with(fitted), X, y, **weights))


def scores_of(members: list[list[Member]], n_folds: int) -> np.ndarray:
    """Scores (n_candidates, n_folds) float64; NaN for folds that a candidate did not run on."""
    scores = np.full((len(members), n_folds), np.nan)
    for place, done in enumerate(members):
        scores[place, : len(done)] = [member.score for member in done]
    return scores
