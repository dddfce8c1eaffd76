"""What a fit by many machines is made of, without a cluster."""

import sys

import numpy as np
import pytest
import torch
import torch.distributed as dist
from parquet_tables import every_kind, plain, written
from waiting import HANG

from neuralrules import NeuralRuleClassifier
from neuralrules._cluster._table import Part, parts_between
from neuralrules._data._moments import ColumnMoments
from neuralrules._data._survey import Survey
from neuralrules._engine._numba import NumbaEngine
from neuralrules._engine._protocol import Batches
from neuralrules._engine._torch._engine import TorchEngine
from neuralrules._estimators._base import encoded_rows
from neuralrules._network._constraints import Constraints
from neuralrules._rules._rules import ALL_FROZEN
from neuralrules._stream import _parquet
from neuralrules._stream._parquet import ParquetTable
from neuralrules._stream._passes import ClassSurvey, NumberSurvey


@pytest.mark.parametrize("factor", [1.0, 1e-200, 1e150])
def test_moments_of_chunks_are_joined_to_the_last_bit(factor):
    rng = np.random.RandomState(0)
    columns = rng.randn(1000, 200) * factor
    columns[rng.rand(1000, 200) < 0.1] = np.nan
    columns[250:500, 1] = np.nan
    weights = rng.rand(1000) * (rng.rand(1000) < 0.8)
    one, many = ColumnMoments(200), ColumnMoments(200)
    for start in range(0, 1000, 250):
        some = slice(start, start + 250)
        one.add(columns[some], weights[some])
        own = ColumnMoments(200)
        own.add(columns[some], weights[some])
        many.join(own)
    for found, expected in zip(
        (many.mean, many.scale, *many.ranges), (one.mean, one.scale, *one.ranges), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_small_numbers_in_one_part_and_large_ones_in_another_are_joined():
    small, large = np.array([[1e-122], [3e-122]]), np.array([[5.0], [9.0]])
    for parts in ((small, large), (large, small)):
        one, many = ColumnMoments(1), ColumnMoments(1)
        for part in parts:
            one.add(part, np.ones(2))
            own = ColumnMoments(1)
            own.add(part, np.ones(2))
            many.join(own)
        assert many.scale == one.scale == pytest.approx(np.std([0, 0, 5, 9]))


def test_a_constant_target_is_refused_with_the_number_of_rows_of_all_parts():
    parts = []
    for n_rows in (3, 4):
        parts.append(NumberSurvey())
        parts[-1].add(np.full(n_rows, 2.5), np.ones(n_rows), np.zeros(n_rows, bool))
    parts[0].join(parts[1])
    with pytest.raises(ValueError, match=r"has a single value, 2\.5, in all 7 rows"):
        parts[0].examples()


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_surveys_of_parts_are_joined_to_the_encoder_of_the_whole(
    tmp_path, monkeypatch, scaling
):
    path = written(every_kind(1500), tmp_path / "table.parquet", 400)
    monkeypatch.setattr(_parquet, "CHUNK_CELLS", 23 * 150)
    table = ParquetTable(path)
    names = [name for name in table.names if name != "y"]
    whole, joined = Survey(names), Survey(names)
    rng = np.random.RandomState(0)
    for chunk in table.chunks(names):
        weights, kept = rng.rand(len(chunk.frame)).round(1), rng.rand(len(chunk.frame)) < 0.5
        whole.add(chunk.frame, weights, kept)
        part = Survey(names)
        part.add(chunk.frame, weights, kept)
        joined.join(part)
    assert joined.encoder(scaling=scaling) == whole.encoder(scaling=scaling)


def test_targets_of_parts_are_joined():
    labels = np.array(["b", "a", "c", "a"], object)
    numbers = np.array([[1.0, 5.0], [2.0, 4.0], [7.0, 0.5], [3.0, 1.0]])
    weights, kept = np.array([1.0, 0.0, 2.0, 1.0]), np.array([True, False, True, True])
    for kind, y in ((ClassSurvey, labels), (NumberSurvey, numbers)):
        whole, joined = kind(), kind()
        joined.join(kind())  # of a part without rows
        for some in (slice(0, 2), slice(2, 4)):
            whole.add(y[some], weights[some], kept[some])
            part = kind()
            part.add(y[some], weights[some], kept[some])
            joined.join(part)
        np.testing.assert_array_equal(joined.examples(), whole.examples())
        if kind is ClassSurvey:
            assert joined.all_held.tolist() == []
            np.testing.assert_array_equal(joined.n_rows, [2, 1, 1])


def test_every_row_is_in_one_part():
    lengths = [5, 0, 3, 4]
    assert parts_between("abcd", lengths, 0, 5) == [Part("a", 0, 5)]
    assert parts_between("abcd", lengths, 4, 9) == [
        Part("a", 4, 5),
        Part("c", 0, 3),
        Part("d", 0, 1),
    ]
    assert parts_between("abcd", lengths, 10, 99) == [Part("d", 2, 4)]
    assert parts_between("abcd", lengths, 12, 99) == []


@pytest.fixture
def alone(tmp_path):
    """torch.distributed with this process as the only worker."""
    dist.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1
    )
    yield
    dist.destroy_process_group()


def start(n_rows):
    """Rows, the network of an untrained model, and its loss."""
    frame = plain(n_rows)
    model = NeuralRuleClassifier(n_epochs=0, random_state=0, early_stopping=False)
    model.fit(frame.drop(columns="y"), frame["y"])
    rows = encoded_rows(model, frame.drop(columns="y"), frame["y"])
    return model.fitted_.state.network, rows, rows.task.loss


def batches(rows, size, n_rules, n_batches=None):
    n_batches = n_batches or -(-len(rows) // size)
    gates = np.random.RandomState(1).rand(n_batches, n_rules) < 0.7
    return Batches(
        rows.astype(np.int32), size, np.full(n_batches, 0.01), gates.astype(np.float32)
    )


@pytest.mark.parametrize("kind", ["numba", "torch"])
def test_a_step_is_one_reduction_and_alone_the_same_step(alone, kind):
    from neuralrules._cluster._sharing import SharedNumba, SharedTorch, Sharing

    network, rows, loss = start(600)
    order = batches(np.random.RandomState(0).permutation(600)[:500], 64, network.n_rules)
    sharing = Sharing()
    engine, one = SharedNumba(sharing, 2), NumbaEngine(1)
    if kind == "torch":
        engine, one = SharedTorch(sharing, 1, "cpu"), TorchEngine(1, "cpu")
    limits = Constraints.keep_columns(network).freezing(network, frozen(network))
    own, shared = (
        engine.start(network, rows, loss, limits, l2=0.01) for engine in (one, engine)
    )
    assert shared.run(order) == pytest.approx(own.run(order), rel=1e-6)
    engine.align()
    assert_near(shared.network(), own.network())
    assert sharing.n_reductions == 8
    assert shared.moments().n_steps == 8
    n_numbers = sum(array.size for array in network.parameters) + network.n_rules
    if kind == "numba":  # torch fills short rules up
        assert sharing.n_bytes == 4 * (n_numbers + 2)


def frozen(network):
    """The first rule, whole."""
    parts = np.zeros(network.n_rules, np.uint8)
    parts[0] = ALL_FROZEN
    return parts


def assert_near(found, expected):
    for own, other in zip(found.parameters, expected.parameters, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-5)


def two_workers(rank, store, sent):
    """Take steps on every other row of each batch; the last batch of the second is empty."""
    from neuralrules._cluster._sharing import SharedNumba, Sharing

    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    network, rows, loss = start(600)
    own = np.arange(129)[rank::2]
    engine = SharedNumba(Sharing(), 1)
    session = engine.start(network, rows, loss, l2=0.01)
    total = session.run(batches(own, 64, network.n_rules, 2))
    sent.put((rank, total, session.network()))
    if rank == 1:  # as if it were rounded in another way
        session._state.parameters.weights[:] += 1e-3
    engine.align()
    sent.put((2 + rank, total, session.network()))
    dist.destroy_process_group()


@pytest.mark.slow
def test_two_workers_take_the_steps_of_one_and_do_not_drift_apart(tmp_path):
    context = torch.multiprocessing.get_context("spawn")
    sent = context.Queue()
    workers = [
        context.Process(target=two_workers, args=(rank, f"file://{tmp_path}/store", sent))
        for rank in range(2)
    ]
    for worker in workers:
        worker.start()
    found = {
        rank: (total, network)
        for rank, total, network in (sent.get(timeout=HANG) for _ in range(4))
    }
    for worker in workers:
        worker.join()
    network, rows, loss = start(600)
    session = NumbaEngine(1).start(network, rows, loss, l2=0.01)
    total = session.run(batches(np.arange(129), 128, network.n_rules))
    for rank in range(4):
        assert found[rank][0] == pytest.approx(total, rel=1e-6)
        assert_near(found[rank][1], session.network())
        for own, other in zip(found[rank][1].parameters, found[0][1].parameters, strict=True):
            np.testing.assert_array_equal(own, other)


def test_without_ray_the_error_says_what_to_install(monkeypatch):
    import neuralrules.ray

    for name in ("ray", "torch"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            with pytest.raises(ImportError, match=r'pip install "neuralrules\[ray\]"'):
                neuralrules.ray.fit(NeuralRuleClassifier(), "t.parquet", target="y")


def test_numbers_of_workers_are_checked_before_a_cluster_is_looked_for():
    import neuralrules.ray

    for name, value in (("workers", 0), ("workers", 2.0), ("cpus_per_worker", True)):
        with pytest.raises(ValueError, match=f"{name}={value!r} must be a whole number of at"):
            neuralrules.ray.fit(
                NeuralRuleClassifier(), "t.parquet", target="y", **{name: value}
            )
    with pytest.raises(TypeError, match=r'ClassifierCV, but .*parallel_config\("ray"\)'):
        neuralrules.ray.fit(neuralrules.NeuralRuleClassifierCV(), "t.parquet", target="y")
