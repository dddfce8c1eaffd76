"""Fit one model on many machines with Ray. Import this module as ``neuralrules.ray``."""

from __future__ import annotations

from typing import Any

from neuralrules._cluster._connection import Workers, connected
from neuralrules._cluster._passes import Cluster
from neuralrules._cluster._table import read
from neuralrules._estimators._base import (
    check_begins_anew,
    give,
    settings_of,
    unchanged_on_error,
)
from neuralrules._estimators._classifier import NeuralRuleClassifier
from neuralrules._estimators._regressor import NeuralRuleRegressor
from neuralrules._io._checks import check_whole
from neuralrules._stream._source import fit_by_machines

__all__ = ["fit"]


def fit(
    estimator: Any,
    dataset: Any,
    *,
    target: Any,
    sample_weight: str | None = None,
    workers: int = 2,
    cpus_per_worker: int = 1,
    gpu: bool = False,
    address: str | None = None,
    max_failures: int = 3,
) -> Any:
    """Fit an estimator on a Ray cluster.

    The workers share the rows and train one network together. In each step every worker
    computes the gradient of its part of a batch, the gradients of all workers are added up, and
    all workers take the same step. The result is an ordinary fitted estimator. Besides the
    parameters, it depends only on the table, the seed and the number of workers.

    Parameters
    ----------
    estimator : NeuralRuleClassifier or NeuralRuleRegressor
        Its `batch_size` is the number of rows in a batch of all workers together. With larger
        batches, the workers spend a smaller part of their time on adding up gradients. Workers
        on CPUs train with numba and workers on GPUs with torch, whatever its `engine` is. If
        its `checkpoint` is a path on this machine, a fit that was killed here continues from
        that file.
    dataset : ray.data.Dataset or path
        A table, or the path of Parquet files that every machine can read.
    target : str or, for regression, str or list of str
        The column to learn, or several columns.
    sample_weight : str, optional
        The column of weights.
    workers : int, default=2
        The number of processes that train. Ray starts them on machines with enough room.
    cpus_per_worker : int, default=1
        The number of CPU cores of each worker.
    gpu : bool, default=False
        Whether each worker takes a GPU.
    address : str, optional
        The address of the cluster's head, such as "10.0.0.1:6379". By default, the fit
        uses the cluster that the program is connected to, or else the cluster that `ray.init`
        finds. If there is no cluster, the fit starts one on this machine.
    max_failures : int, default=3
        How often lost workers may be replaced. Training then continues from its last
        checkpoint. The workers make one after each epoch, and about once a minute.

    Returns
    -------
    estimator
        The same object, fitted. After an error it is unchanged.

    Raises
    ------
    ValueError
        If the cluster has no room for this many workers.
    ConnectionError
        If there is no cluster at the address.
    RuntimeError
        If machines are lost and too few are left to go on.

    Examples
    --------
    >>> import neuralrules.ray
    >>> from neuralrules import NeuralRuleClassifier
    >>> model = NeuralRuleClassifier(batch_size=65_536)
    >>> neuralrules.ray.fit(  # doctest: +SKIP
    ...     model, "loans.parquet", target="outcome", workers=8
    ... )
    """
    return fit_with_costs(
        estimator,
        dataset,
        target,
        sample_weight,
        Workers(
            check_whole("workers", workers, 1),
            check_whole("cpus_per_worker", cpus_per_worker, 1),
            bool(gpu),
            check_whole("max_failures", max_failures, 0),
        ),
        address,
    )[0]


def fit_with_costs(
    estimator: Any,
    dataset: Any,
    target: Any,
    sample_weight: str | None,
    workers: Workers,
    address: str | None,
) -> tuple[Any, Cluster]:
    """Do what `fit` does, and also return the cluster, which records the cost of training."""
    if not isinstance(estimator, NeuralRuleClassifier | NeuralRuleRegressor):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}, but must be a NeuralRuleClassifier or "
            "a NeuralRuleRegressor. A search uses a cluster through joblib: call its fit "
            'inside joblib.parallel_config("ray").'
        )
    with unchanged_on_error(estimator), connected(address):
        estimator._validate_params()
        check_begins_anew(estimator)
        workers.check_room()
        table, blocks = read(dataset, workers.number)
        cluster = Cluster(blocks, workers)
        del blocks
        settings = settings_of(estimator)
        give(estimator, fit_by_machines(table, target, sample_weight, settings, cluster))
    return estimator, cluster
