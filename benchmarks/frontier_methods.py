"""The methods of the frontier: ours, and peers with their defaults, each on one thread.

A model is made for a number of classes. The number is 0 for a regression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks import frontier_counting as counting
from benchmarks.frontier_boosting import SizedBoosting

SIZES = (16, 64, 256)


def usual_probabilities(model: Any, X: np.ndarray) -> list[np.ndarray]:
    return [model.predict_proba(X)]


def nothing(n_classes: int) -> None:
    """The warm-up of libraries that have nothing to load: most of them."""


@dataclass(frozen=True)
class Method:
    """One of the methods.

    Attributes
    ----------
    name : str
        The name. For a method of a given size, it is the family and the size.
    make : callable (n_classes) -> estimator
    size : callable (fitted estimator) -> dict
        See `frontier_counting`.
    module : str
        The module that is imported to make the model.
    packages : tuple of str
        Packages whose versions belong to the records of this method.
    limit : int or None
        Limit in seconds of computing, for fit and prediction together.
    most_rows : int or None
        The method is not measured on tables with more training rows.
    warm_up : callable (n_classes) -> None
        Is called before the clock starts.
    probabilities : callable (model, X) -> list of ndarray
        Probabilities of the classes. A library may have several ways to compute them for a
        model. The way with the lowest loss on the test rows counts.
    """

    name: str
    make: Callable[[int], Any]
    size: Callable[[Any], counting.Size]
    module: str = "sklearn"
    packages: tuple[str, ...] = ()
    limit: int | None = None
    most_rows: int | None = None
    warm_up: Callable[[int], None] = nothing
    probabilities: Callable[[Any, np.ndarray], list[np.ndarray]] = usual_probabilities

    @property
    def family(self) -> str:
        return self.name.removesuffix(f" {self.n_rules}") if self.n_rules else self.name

    @property
    def n_rules(self) -> int | None:
        """The number of rules that the method is asked for; None if it is free."""
        last = self.name.split()[-1]
        return int(last) if last.isdigit() else None

    @property
    def is_ours(self) -> bool:
        return self.family.startswith("ours")


def ours(name: str, n_classes: int) -> Any:
    """Our model of this name. If the interface changes, only this function has to change."""
    import neuralrules

    kind = "Classifier" if n_classes else "Regressor"
    common = {"n_jobs": 1, "random_state": 0}
    if name == "ours":
        return getattr(neuralrules, f"NeuralRule{kind}")(**common)
    chosen = getattr(neuralrules, f"NeuralRule{kind}CV")
    if name == "ours average":
        return chosen(refit="average", **common)
    return chosen(max_rules=int(name.rsplit(maxsplit=1)[-1]), refit="single", **common)


def ours_warm_up(n_classes: int) -> None:
    """Load or compile the kernels, which happens once per process and not in each fit."""
    X = np.random.default_rng(0).normal(size=(20 * max(n_classes, 2), 2))
    y = np.arange(len(X)) % n_classes if n_classes else X[:, 0]
    ours("ours", n_classes).set_params(n_epochs=1).fit(X, y)


def ours_size(model: Any) -> counting.Size:
    """Counts over all networks of a model. An average of models has several networks."""
    networks = getattr(model, "networks_", None) or [model.network_]
    literals = np.concatenate([np.diff(network.offsets) for network in networks])
    return {
        "parameters": sum(network.n_parameters for network in networks),
        "rules": len(literals),
        "literals": float(literals.mean()),
        "most_literals": int(literals.max()),
    }


def constant(n_classes: int) -> Any:
    return DummyClassifier(strategy="prior") if n_classes else DummyRegressor()


def catboost(n_classes: int) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostClassifier if n_classes else CatBoostRegressor
    return kind(thread_count=1, random_seed=0, verbose=False, allow_writing_files=False)


def lightgbm(n_classes: int, **changed: Any) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMClassifier if n_classes else LGBMRegressor
    return kind(n_jobs=1, random_state=0, verbose=-1, **changed)


def xgboost(n_classes: int) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    return (XGBClassifier if n_classes else XGBRegressor)(n_jobs=1, random_state=0)


def hist_boosting(n_classes: int, **changed: Any) -> Any:
    kind = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    return kind(random_state=0, **changed)


def random_forest(n_classes: int) -> Any:
    kind = RandomForestClassifier if n_classes else RandomForestRegressor
    return kind(n_jobs=1, random_state=0)


def ebm(n_classes: int) -> Any:
    from interpret.glassbox import (
        ExplainableBoostingClassifier,
        ExplainableBoostingRegressor,
    )

    kind = ExplainableBoostingClassifier if n_classes else ExplainableBoostingRegressor
    return kind(n_jobs=1, random_state=0)


def network(n_classes: int) -> Any:
    if n_classes:
        return make_pipeline(StandardScaler(), MLPClassifier(random_state=0))
    # The network's step size fits targets of a usual scale, so targets are standardised.
    scaled = make_pipeline(StandardScaler(), MLPRegressor(random_state=0))
    return TransformedTargetRegressor(scaled, transformer=StandardScaler())


def real_mlp(n_classes: int) -> Any:
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

    kind = RealMLP_TD_Classifier if n_classes else RealMLP_TD_Regressor
    return kind(device="cpu", n_threads=1, random_state=0, verbosity=0)


def linear(n_classes: int) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression() if n_classes else Ridge())


def decision_tree(n_classes: int, n_leaves: int | None = None) -> Any:
    kind = DecisionTreeClassifier if n_classes else DecisionTreeRegressor
    return kind(max_leaf_nodes=n_leaves, random_state=0)


def sized_hist_boosting(n_classes: int, n_leaves: int) -> SizedBoosting:
    def make(rounds: int, leaves: int, rate: float) -> Any:
        return hist_boosting(
            n_classes,
            max_iter=rounds,
            max_leaf_nodes=leaves,
            learning_rate=rate,
            early_stopping=False,
        )

    return SizedBoosting(make, n_leaves, n_classes)


def sized_lightgbm(n_classes: int, n_leaves: int) -> SizedBoosting:
    def make(rounds: int, leaves: int, rate: float) -> Any:
        return lightgbm(n_classes, n_estimators=rounds, num_leaves=leaves, learning_rate=rate)

    return SizedBoosting(make, n_leaves, n_classes)


def figs(n_classes: int, n_rules: int) -> Any:
    from imodels import FIGSClassifier, FIGSRegressor

    return (FIGSClassifier if n_classes else FIGSRegressor)(max_rules=n_rules, random_state=0)


def figs_probabilities(model: Any, X: np.ndarray) -> list[np.ndarray]:
    """Probabilities with and without the softmax that FIGS applies by default.

    The outputs of FIGS are shares of classes already, so the softmax is not needed.
    """
    usual = model.predict_proba(X)
    return [usual, model.predict_proba(X, use_clipped_prediction=True)]


def rulefit(n_classes: int, n_rules: int) -> Any:
    from imodels import RuleFitClassifier, RuleFitRegressor

    if not n_classes:
        return RuleFitRegressor(max_rules=n_rules, random_state=0)
    if n_classes == 2:
        return RuleFitClassifier(max_rules=n_rules, random_state=0)
    each = RuleFitClassifier(max_rules=max(1, n_rules // n_classes), random_state=0)
    return OneVsRestClassifier(each, n_jobs=1)


def rulefit_probabilities(model: Any, X: np.ndarray) -> list[np.ndarray]:
    """Probabilities as the library computes them, and from the log odds of its regression.

    The library gives the softmax of (1 - score) and score, as if the score were a probability.
    But its logistic regression was fitted for log odds.
    """
    usual = model.predict_proba(X)
    if hasattr(model, "estimators_"):
        shares = [positive_share(each, X) for each in model.estimators_]
        return [usual, np.column_stack(shares)]
    share = positive_share(model, X)
    return [usual, np.column_stack([1 - share, share])]


def positive_share(model: Any, X: np.ndarray) -> np.ndarray:
    log_odds = np.log(model.predict_proba(X))
    score = (log_odds[:, 1] - log_odds[:, 0] + 1) / 2
    return expit(score)


def rulefit_size(model: Any) -> counting.Size:
    each = [counting.rulefit(part) for part in getattr(model, "estimators_", [model])]
    n_rules = sum(size["rules"] for size in each)
    return {
        "parameters": sum(size["parameters"] for size in each),
        "rules": n_rules,
        "literals": sum(size["literals"] * size["rules"] for size in each) / max(n_rules, 1),
        "most_literals": max(size["most_literals"] for size in each),
    }


def sized(size: Callable[[Any], counting.Size]) -> Callable[[Any], counting.Size]:
    return lambda model: size(model.model_)


SLOW = 60
OURS = [
    Method(name, partial(ours, name), ours_size, "neuralrules", warm_up=ours_warm_up)
    for name in ("ours", "ours average", *(f"ours {n}" for n in SIZES))
]
FIRST = [
    Method("constant", constant, counting.constant),
    Method("linear", linear, counting.linear),
    Method("LightGBM", lightgbm, counting.lightgbm, "lightgbm", ("lightgbm",)),
    Method("CatBoost", catboost, counting.catboost, "catboost", ("catboost",)),
]
DEFAULTS = [
    Method("XGBoost", xgboost, counting.xgboost, "xgboost", ("xgboost-cpu",)),
    Method("HistGradientBoosting", hist_boosting, counting.hist_boosting),
    Method("random forest", random_forest, counting.random_forest),
    Method("tree", decision_tree, counting.decision_tree),
    Method("MLP", network, counting.scikit_network),
]
SIZED = [
    method
    for n in SIZES
    for method in (
        Method(f"tree {n}", partial(decision_tree, n_leaves=n), counting.decision_tree),
        Method(
            f"HistGradientBoosting {n}",
            partial(sized_hist_boosting, n_leaves=n),
            sized(counting.hist_boosting),
        ),
        Method(
            f"LightGBM {n}",
            partial(sized_lightgbm, n_leaves=n),
            sized(counting.lightgbm),
            "lightgbm",
            ("lightgbm",),
        ),
    )
]
SLOW_DEFAULTS = [
    Method(
        "RealMLP",
        real_mlp,
        counting.torch_network,
        "pytabkit",
        ("pytabkit", "torch"),
        limit=SLOW,
        most_rows=2_000,
    ),
    Method("EBM", ebm, counting.ebm, "interpret.glassbox", ("interpret-core",), limit=SLOW),
]
SLOW_SIZED = [
    method
    for n in SIZES
    for method in (
        Method(
            f"FIGS {n}",
            partial(figs, n_rules=n),
            counting.figs,
            "imodels",
            ("imodels",),
            limit=SLOW,
            probabilities=figs_probabilities,
        ),
        Method(
            f"RuleFit {n}",
            partial(rulefit, n_rules=n),
            rulefit_size,
            "imodels",
            ("imodels",),
            limit=SLOW,
            probabilities=rulefit_probabilities,
        ),
    )
]
# The order in which the methods are measured: the most important ones come first.
STAGES = (OURS, FIRST, DEFAULTS, SIZED, SLOW_SIZED, SLOW_DEFAULTS)
METHODS = {method.name: method for stage in STAGES for method in stage}
