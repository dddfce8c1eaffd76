"""One Ray cluster of two nodes for all tests of this folder."""

from __future__ import annotations

import os
import warnings

import pytest
from waiting import HANG

# Settled when Ray is first imported: look more often whether workers are done, start nothing
# that is not needed here, and leave the variables of GPUs, of which there are none, alone.
os.environ.setdefault("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.2")
os.environ.setdefault("RAY_TRAIN_ENABLE_PREEMPTION_WATCHER", "0")
os.environ.setdefault("RAY_TRAIN_METRICS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
# A busy machine starts workers slowly; Ray waits a minute by default.
os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", str(HANG))
STORE = 2**28  # bytes of each node's objects


@pytest.fixture(scope="session")
def ray_cluster():
    """A cluster that this process is connected with, of two nodes with one core each."""
    pytest.importorskip("ray", reason="ray is not installed: make test-slow installs it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray warns of its own deprecated settings
        import ray
        import ray.data
        import ray.train
        from ray.cluster_utils import Cluster

        options = {"num_cpus": 1, "object_store_memory": STORE}
        cluster = Cluster(
            initialize_head=True, head_node_args={**options, "include_dashboard": False}
        )
        cluster.add_node(**options)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    yield cluster
    ray.shutdown()
    cluster.shutdown()
