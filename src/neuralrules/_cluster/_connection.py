"""Connect to a Ray cluster, check that it has room for the workers, and word its errors."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from neuralrules._fitted._lineage import counted

SECONDS_TO_ANSWER = 10
EXTRA = 'pip install "neuralrules[ray]"'


def load_ray() -> Any:
    """The module ray, or an error that says what is not installed."""
    try:
        import ray
        import ray.data
        import ray.train
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "A fit by many machines needs ray, torch, pyarrow and pandas, of which "
            f"{error.name or 'one'} is not installed. Install them, here and on the cluster, "
            f"with: {EXTRA}"
        ) from error
    return ray


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Use the present connection to a cluster, or open one that ends with the block."""
    ray = load_ray()
    if address is not None and address.startswith("ray://"):
        raise ValueError(
            f"address={address!r} belongs to Ray Client, which does not work with Ray Train. "
            "Give the address of the head, such as '10.0.0.1:6379', or run the program on the "
            "cluster with `ray job submit`."
        )
    if ray.is_initialized():
        known = ray.get_runtime_context().gcs_address
        if address not in {None, "auto", known}:
            raise ValueError(
                f"address={address!r} is another cluster than {known!r}, which this program is "
                "connected to. Call ray.shutdown() first, or leave address out."
            )
        yield
        return
    try:
        check_listening(address)
        ray.init(address=address, log_to_driver=False, logging_level="warning")
    except (OSError, ValueError, RuntimeError) as error:
        raise ConnectionError(
            f"address={address!r} leads to no Ray cluster ({one_line(error)}). Start one with "
            "`ray start --head`, or give the address that it printed."
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def check_listening(address: str | None) -> None:
    """Refuse an address where nobody listens, because Ray would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=SECONDS_TO_ANSWER).close()


@dataclass(frozen=True)
class Workers:
    """The processes that train: how many, and what each of them has.

    Workers may be lost and replaced `max_failures` times.
    """

    number: int
    cpus: int
    gpu: bool
    max_failures: int

    @property
    def resources(self) -> dict[str, float]:
        """The cores and the GPU of each worker, by Ray's names of resources."""
        return {"CPU": self.cpus, **({"GPU": 1} if self.gpu else {})}

    def check_room(self) -> None:
        """Refuse a cluster that has no room for all workers even if nobody else uses it."""
        ray = load_ray()
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        room = sum(
            int(min(node.get(name, 0) // needed for name, needed in self.resources.items()))
            for node in nodes
        )
        if room < self.number:
            each = counted(self.cpus, "CPU") + " and a GPU" * self.gpu
            remedy = f"Give workers={room} or fewer" if room else "Ask for less of each"
            raise ValueError(
                f"workers={self.number} of {each} each are more than this Ray cluster has room "
                f"for: its {counted(len(nodes), 'machine')} can run {room}. {remedy}, or add "
                "machines."
            )


@contextmanager
def plain_cluster_errors() -> Iterator[None]:
    """Raise our own errors from the cluster unchanged, other errors as a short RuntimeError."""
    ray = load_ray()
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, ValueError | TypeError | OSError):
            raise error.cause from None
        raise lost_cluster(error.cause) from error
    except (ray.exceptions.RayError, ray.train.TrainingFailedError) as error:
        raise lost_cluster(error) from error


def lost_cluster(error: BaseException) -> RuntimeError:
    """The error for a cluster that cannot continue, with the first reason that Ray names."""
    reasons = [
        getattr(error, "controller_failure", None),
        *getattr(error, "worker_failures", {}).values(),
        error,
    ]
    first = next(reason for reason in reasons if reason is not None)
    return RuntimeError(
        f"The fit ended, since the Ray cluster lost too much of what it needs "
        f"({one_line(first)}). Nothing was fitted or written. See to its machines, and fit "
        "again; with the parameter checkpoint a fit goes on from where it was."
    )


def one_line(error: BaseException) -> str:
    """The first line of an error's message that is not empty, shortened if it is long."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return text[:200].rstrip(".: ") or type(error).__name__
