"""Many machines: measured times of one and two workers, and computed times of up to 256.

    python -m benchmarks.scale [--note TEXT] [--write]
    python -m benchmarks.scale --again --write

lets workers with one core each train networks of 128 and 480 rules together, for batches of 256
to 65,536 rows. It measures the time of a step, the time of its reduction, and the bytes that
the reduction sends. It also fits a table by one and by two workers on a Ray cluster of this
machine, and measures the loss for larger and larger batches. From these measurements, and for
links of 25 and 100 Gbit/s, it computes how far 4 to 256 workers would scale. --write puts the
results into docs/scale.json, docs/scale.md and docs/figures/scale.png. --again renders earlier
results.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.pages import DOCS, environment, write_page
from neuralrules import NeuralRuleClassifier
from neuralrules._estimators._base import encoded_rows

POOLS = (128, 480)
BATCHES = (256, 1024, 4096, 16_384, 65_536)  # rows of a batch, over all workers together
ROWS = 131_072  # rows of each worker
SECONDS = 0.4  # duration of each try of a batch; the quickest of TRIES counts
TRIES = 7
WORKERS = (4, 16, 64, 256)
LINKS = (25, 100)  # Gbit/s
# Seconds per message in addition to the time for its bytes. This is an assumption for TCP
# between machines of one data centre, through gloo.
LATENCY = 30e-6
PER_WORKER = (256, 2048, 8192)  # rows of a batch per worker in the model of many workers
FIT_ROWS, FIT_EPOCHS, FIT_BATCH = 400_000, 5, 8192
REDUCTIONS = 300
LOSS_ROWS, LOSS_EPOCHS, LOSS_BATCHES = 200_000, 10, (256, 2048, 8192, 32_768)
RATES = (0.01, 0.03, 0.1)


def networks() -> list[tuple[Any, Any]]:
    """A network for each number of rules in POOLS, before training, and one worker's rows."""
    X, y = columns(ROWS)
    made = []
    for n_rules in POOLS:
        model = NeuralRuleClassifier(
            n_epochs=0, n_trees=n_rules // 8 + 4, max_depth=3, max_rules=n_rules, random_state=0
        ).fit(X[:50_000], y[:50_000])
        assert model.network_.n_rules == n_rules
        made.append((model.fitted_.state.network, encoded_rows(model, X, y)))
    return made


def columns(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Generated rows of 20 columns and two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 20)).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) * (X[:, 4] > 0) - np.sin(2 * X[:, 5])
    return X, (score + rng.logistic(size=n_rows) > 0.5).astype(int)


def worker(rank: int, n_workers: int, store: str, sent: Any) -> None:
    """Measure steps together with the other workers. The first worker sends the records."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=n_workers)
    records = []
    for network, rows in networks():
        records += measured_pool(network, rows, n_workers)
    if rank == 0:
        sent.put(records)
    dist.destroy_process_group()


def measured_pool(network: Any, rows: Any, n_workers: int) -> list[dict]:
    """Measure steps of one network, for batches of every size, and then only reductions."""
    import torch
    import torch.distributed as dist

    from neuralrules._cluster._sharing import SharedNumba, Sharing
    from neuralrules._engine._protocol import Batches

    sharing, records = Sharing(), []
    session = SharedNumba(sharing, 1).start(network, rows, rows.task.loss, l2=1e-4)
    random = np.random.RandomState(dist.get_rank())

    def run(size: int, n_steps: int) -> tuple[float, float, float]:
        """Seconds per step: elapsed, of the processor, and of the reduction."""
        some = random.randint(0, len(rows), size * n_steps).astype(np.int32)
        gates = np.ones((n_steps, network.n_rules), np.float32)
        batches = Batches(some, size, np.full(n_steps, 0.001), gates)
        summed(0.0)
        begun = time.perf_counter(), time.thread_time(), sharing.seconds
        session.run(batches)
        ended = time.perf_counter(), time.thread_time(), sharing.seconds
        step, processor, reduction = (np.array(ended) - begun) / n_steps
        return float(step), float(processor), float(reduction)

    for batch in BATCHES:
        size = batch // n_workers
        run(size, 2)
        n_steps = int(np.clip(SECONDS / summed(run(size, 2)[0]), 2, 100))
        tries = np.array([run(size, n_steps) for _ in range(TRIES)])
        step, processor, reduction = tries.min(axis=0)
        records.append(
            {
                "workers": n_workers,
                "rules": network.n_rules,
                "batch": batch,
                "step": step,
                "processor": processor,
                "reduction": reduction,
                "bytes": sharing.n_bytes,
                "parameters": sum(array.size for array in network.parameters),
            }
        )
    buffer, alone = torch.zeros(sharing.n_bytes // 4), []
    for _ in range(TRIES):
        summed(0.0)
        begun = time.perf_counter()
        for _ in range(REDUCTIONS):
            dist.all_reduce(buffer)
        alone.append((time.perf_counter() - begun) / REDUCTIONS)
    records[-1]["bare_reduction"] = min(alone)
    return records


def summed(seconds: float) -> float:
    """The sum over all workers. Every worker waits here for the others and gets this sum."""
    import torch
    import torch.distributed as dist

    found = torch.tensor([seconds])
    dist.all_reduce(found)
    return float(found[0])


def measured(n_workers: int) -> list[dict]:
    """Measure steps of workers that are processes of their own, as Ray Train starts them."""
    import torch

    context = torch.multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        sent = context.Queue()
        told = (n_workers, f"file://{folder}/store", sent)
        workers = [
            context.Process(target=worker, args=(rank, *told)) for rank in range(n_workers)
        ]
        for one in workers:
            one.start()
        records = sent.get(timeout=900)
        for one in workers:
            one.join()
    print(f"{n_workers} workers: {records[-1]}", file=sys.stderr, flush=True)
    return records


def fits() -> list[dict]:
    """Records of whole fits: without Ray, and by one and two workers of a local Ray cluster."""
    import pandas as pd
    import ray

    import neuralrules.ray
    from neuralrules._cluster import _training

    X, y = columns(FIT_ROWS)
    frame = pd.DataFrame(X, columns=[f"x{index}" for index in range(20)]).assign(y=y)
    options = {"n_epochs": FIT_EPOCHS, "batch_size": FIT_BATCH, "early_stopping": False}
    alone = NeuralRuleClassifier(random_state=0, n_jobs=2, **options)
    alone.fit(X[:5000], y[:5000])  # compiles the kernels
    begun = time.perf_counter()
    alone.fit(frame.drop(columns="y"), frame["y"])
    seconds, loss = time.perf_counter() - begun, alone.history_["loss"][-1]
    records = [
        {"workers": 0, "seconds": seconds, "rules": alone.network_.n_rules, "loss": loss}
    ]
    training_seconds = []
    run = _training.ClusterTraining.__call__

    def timed(*told: Any) -> Any:
        begun = time.perf_counter()
        outcome = run(*told)
        training_seconds.append(time.perf_counter() - begun)
        return outcome

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    _training.ClusterTraining.__call__ = timed
    try:
        for n_workers in (1, 2):
            model = NeuralRuleClassifier(random_state=0, **options)
            begun = time.perf_counter()
            neuralrules.ray.fit(
                model, ray.data.from_pandas(frame), target="y", workers=n_workers
            )
            records.append(
                {
                    "workers": n_workers,
                    "seconds": time.perf_counter() - begun,
                    "training": training_seconds.pop(),
                    "rules": model.network_.n_rules,
                    "loss": model.history_["loss"][-1],
                }
            )
            print(records[-1], file=sys.stderr, flush=True)
    finally:
        ray.shutdown()
    return records


def losses() -> list[dict]:
    """The loss for several sizes of batches and learning rates, after equally many epochs."""
    X, y = columns(LOSS_ROWS + 100_000)
    X, X_others, y, y_others = X[:LOSS_ROWS], X[LOSS_ROWS:], y[:LOSS_ROWS], y[LOSS_ROWS:]
    records = []
    for batch in LOSS_BATCHES:
        for rate in RATES:
            model = NeuralRuleClassifier(
                n_epochs=LOSS_EPOCHS, batch_size=batch, learning_rate=rate, random_state=0
            ).fit(X, y)
            loss = log_loss(y_others, model.predict_proba(X_others))
            records.append({"batch": batch, "rate": rate, "loss": loss})
            print(records[-1], file=sys.stderr, flush=True)
    return records


def compute_of(steps: list[dict], rules: int, rows: float) -> float:
    """Processor seconds of a step of one worker, interpolated to a batch of `rows` rows."""
    own = [one for one in steps if (one["workers"], one["rules"]) == (1, rules)]
    batches, seconds = ([one[name] for one in own] for name in ("batch", "processor"))
    return float(np.interp(rows, batches, seconds))


def ring(n_workers: int, n_bytes: float, gigabits: float) -> float:
    """Seconds of an all-reduce in which the data goes round a ring of workers twice."""
    messages = 2 * (n_workers - 1)
    return messages * (LATENCY + n_bytes / n_workers / (gigabits * 1e9 / 8))


def tree(n_workers: int, n_bytes: float, gigabits: float) -> float:
    """Seconds of an all-reduce up and down a tree of workers. Each level sends all bytes."""
    levels = int(np.ceil(np.log2(n_workers)))
    return 2 * levels * (LATENCY + n_bytes / (gigabits * 1e9 / 8))


WAYS = {"ring": ring, "tree": tree}


def modelled(records: list[dict], rules: int) -> list[dict]:
    """Computed efficiencies of many workers, each with a fixed number of rows per batch."""
    n_bytes = next(one["bytes"] for one in records if one["rules"] == rules)
    found = []
    for rows in PER_WORKER:
        compute = compute_of(records, rules, rows)
        for gigabits in LINKS:
            for way, seconds_of_way in WAYS.items():
                for n_workers in WORKERS:
                    reducing = seconds_of_way(n_workers, n_bytes, gigabits)
                    share = compute / (compute + reducing)
                    found.append(
                        {
                            "rows": rows,
                            "link": gigabits,
                            "way": way,
                            "workers": n_workers,
                            "compute": compute,
                            "reduction": reducing,
                            "efficiency": share,
                        }
                    )
    return found


def half_efficient(compute: float, n_bytes: float, gigabits: float, way: str) -> int:
    """The largest power of two of workers that spend at least half of a step on computing."""
    n_workers = 1
    while n_workers < 2**20 and WAYS[way](2 * n_workers, n_bytes, gigabits) <= compute:
        n_workers *= 2
    return n_workers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="render what was measured before")
    parser.add_argument("--note", default="", help="what to say of the machine")
    parser.add_argument("--write", action="store_true", help="update docs/scale.md")
    options = parser.parse_args()
    stored = DOCS / "scale.json"
    if options.again:
        results = json.loads(stored.read_text())
    else:
        results = {
            "environment": environment("torch", "ray"),
            "note": options.note,
            "steps": [*measured(1), *measured(2)],
            "fits": fits(),
            "losses": losses(),
        }
    from benchmarks.scale_page import draw, render

    print(render(results))
    if options.write:
        stored.write_text(json.dumps(results, indent=1) + "\n")
        draw(results, DOCS / "figures" / "scale.png")
        write_page("scale.md", render(results))


if __name__ == "__main__":
    main()
