"""Many machines: what a step costs on one and two workers, and a model of up to 256.

    python -m benchmarks.scale [--losses] [--write]

starts Ray with two workers of one core each, which train networks of 128 and 480 rules in
step, for batches of 256 to 65,536 rows: the time of a step, of its reduction, and the bytes
of it. From that, and links of 25 and 100 Gbit/s, it computes how far 4 to 256 workers would
scale. --losses fits one table with larger and larger batches, to see what these cost. --write
puts all into docs/scale.json, docs/scale.md and docs/figures/scale.png.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.larger import table
from benchmarks.pages import DOCS, environment, environment_list, write_page
from neuralrules import NeuralRuleClassifier

POOLS = (128, 480)
BATCHES = (256, 1024, 4096, 16_384, 65_536)  # of all workers together
ROWS = 131_072  # of each worker
SECONDS = 1.5  # that each batch is measured for
WORKERS = (4, 16, 64, 256)
LINKS = (25, 100)  # Gbit/s
# What a message costs beside its bytes, in seconds: an assumption, of TCP between machines of
# one data centre, through gloo.
LATENCY = 30e-6
PER_WORKER = (256, 2048, 8192)  # rows of a batch that each worker has, in the model
LOSS_ROWS, LOSS_EPOCHS, LOSS_BATCHES = 200_000, 10, (256, 2048, 8192, 32_768)
RATES = (0.01, 0.03, 0.1)


class Step(NamedTuple):
    """What a step costs one worker, in seconds: but for the reduction, and with it."""

    compute: float
    whole: float


def networks() -> list[tuple[Any, Any]]:
    """Rows of one worker, and a network of each number of rules, at its start."""
    X, y = table("two classes", ROWS, 0)
    made = []
    for n_rules in POOLS:
        model = NeuralRuleClassifier(
            n_epochs=0, n_trees=n_rules // 8 + 4, max_depth=3, max_rules=n_rules, random_state=0
        ).fit(X[:50_000], y[:50_000])
        assert model.network_.n_rules == n_rules
        made.append((model.fitted_.state.network, model._rows(X, y, None)))
    return made


def measure(made: Any, n_workers: int, sent: Any) -> None:
    """What each worker does; the first one tells."""
    import torch
    import torch.distributed as dist

    from neuralrules._cluster._sharing import SharedEngine, Sharing
    from neuralrules._engine._protocol import Batches

    records = []
    for network, rows in made:
        sharing = Sharing()
        engine = SharedEngine(sharing, 1, "cpu")
        session = engine.start(network, rows, rows.task.loss, l2=1e-4)
        random = np.random.RandomState(dist.get_rank())
        for batch in BATCHES:
            size = batch // n_workers
            gates = np.ones((1, network.n_rules), np.float32)

            def step(size: int = size, gates: np.ndarray = gates) -> None:
                some = random.choice(len(rows), size, replace=size > len(rows)).astype(np.int32)
                session.run(Batches(some, size, np.full(1, 0.001), gates))

            step()
            dist.barrier()
            n_steps = agreed(seconds_of(step))
            dist.barrier()
            before, begun = sharing.seconds, time.perf_counter()
            for _ in range(n_steps):
                step()
            whole = (time.perf_counter() - begun) / n_steps
            reducing = (sharing.seconds - before) / n_steps
            records.append(
                {
                    "workers": n_workers,
                    "rules": network.n_rules,
                    "batch": batch,
                    "step": whole,
                    "reduction": reducing,
                    "bytes": sharing.n_bytes,
                    "parameters": sum(array.size for array in network.parameters),
                }
            )
        buffer = torch.zeros(sharing.n_bytes // 4)
        dist.barrier()
        begun = time.perf_counter()
        for _ in range(300):
            dist.all_reduce(buffer)
        records[-1]["bare_reduction"] = (time.perf_counter() - begun) / 300
    if dist.get_rank() == 0:
        import ray

        ray.get(sent.put.remote(records))


def seconds_of(step: Any) -> float:
    begun = time.perf_counter()
    step()
    return time.perf_counter() - begun


def agreed(seconds: float) -> int:
    """Steps that all workers take: they must be as many."""
    import torch
    import torch.distributed as dist

    found = torch.tensor([seconds])
    dist.all_reduce(found, dist.ReduceOp.MAX)
    return int(np.clip(SECONDS / float(found[0]), 3, 200))


class Sent:
    """An actor that takes what the first worker measured."""

    def __init__(self) -> None:
        self._records: list[dict] = []

    def put(self, records: list[dict]) -> None:
        self._records = records

    def get(self) -> list[dict]:
        return self._records


def measured() -> list[dict]:
    """Steps of one worker, and of two, on a Ray cluster of this machine."""
    import ray
    import ray.train
    from ray.train.torch import TorchConfig, TorchTrainer

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    made, records = ray.put(networks()), []
    try:
        for n_workers in (1, 2):
            sent = ray.remote(num_cpus=0)(Sent).remote()
            with tempfile.TemporaryDirectory() as folder:
                TorchTrainer(
                    lambda n=n_workers, sent=sent: measure(ray.get(made), n, sent),
                    torch_config=TorchConfig(backend="gloo"),
                    scaling_config=ray.train.ScalingConfig(num_workers=n_workers),
                    run_config=ray.train.RunConfig(storage_path=folder),
                ).fit()
            records += ray.get(sent.get.remote())
    finally:
        ray.shutdown()
    return records


def losses() -> list[dict]:
    """What larger batches cost in loss, after as many epochs, and at larger rates."""
    X, y = table("two classes", LOSS_ROWS, 0)
    others = table("two classes", 100_000, 1)
    records = []
    for batch in LOSS_BATCHES:
        for rate in RATES:
            model = NeuralRuleClassifier(
                n_epochs=LOSS_EPOCHS, batch_size=batch, learning_rate=rate, random_state=0
            ).fit(X, y)
            loss = log_loss(others[1], model.predict_proba(others[0]))
            records.append({"batch": batch, "rate": rate, "loss": loss})
            print(records[-1], file=sys.stderr, flush=True)
    return records


def compute_of(records: list[dict], rules: int, rows: float) -> float:
    """Seconds that one worker computes for so many rows, between the measured ones."""
    own = [one for one in records if one["workers"] == 1 and one["rules"] == rules]
    batches = [one["batch"] for one in own]
    seconds = [one["step"] - one["reduction"] for one in own]
    return float(np.interp(rows, batches, seconds))


def ring(n_workers: int, n_bytes: float, gigabits: float) -> float:
    """Seconds of an all-reduce that goes round a ring, twice."""
    messages = 2 * (n_workers - 1)
    return messages * (LATENCY + n_bytes / n_workers / (gigabits * 1e9 / 8))


def tree(n_workers: int, n_bytes: float, gigabits: float) -> float:
    """Seconds of one that goes up and down a tree: each level sends all bytes."""
    levels = int(np.ceil(np.log2(n_workers)))
    return 2 * levels * (LATENCY + n_bytes / (gigabits * 1e9 / 8))


WAYS = {"ring": ring, "tree": tree}


def modelled(records: list[dict], rules: int) -> list[dict]:
    """Speed-ups and efficiencies of workers that each have as many rows of a batch."""
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
    """The most workers, of a power of two, that spend at least half of a step on computing."""
    n_workers = 1
    while n_workers < 2**20 and WAYS[way](2 * n_workers, n_bytes, gigabits) <= compute:
        n_workers *= 2
    return n_workers


def main() -> None:
    from benchmarks.scale_page import draw, render

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--losses", action="store_true", help="fit with larger batches, too")
    parser.add_argument("--note", default="", help="what to say of the machine")
    parser.add_argument("--write", action="store_true", help="update docs/scale.md")
    options = parser.parse_args()
    results: dict = {
        "environment": environment("torch", "ray"),
        "note": options.note,
        "load": os.getloadavg()[0],
        "steps": measured(),
        "losses": losses() if options.losses else [],
    }
    page = f"{render(results)}\n\n{environment_list(results['environment'])}"
    print(page)
    if options.write:
        (DOCS / "scale.json").write_text(json.dumps(results, indent=1) + "\n")
        draw(results, DOCS / "figures" / "scale.png")
        write_page("scale.md", page)


if __name__ == "__main__":
    main()
