"""Records: whole or not there, locked while they are made, refused when damaged."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import HANG

from benchmarks.protocol import Protocol, Task
from benchmarks.records import Damaged, Records, SettingsError

TASK = Task("phoneme", "NRE", 3)
RESERVED = ("protocol", "data", "method", "fold", "sha256")


def record_of(task, **more):
    return {
        "protocol": "paper",
        "data": task.data,
        "method": task.method,
        "fold": task.fold,
        "error": 9.5,
        **more,
    }


def measure(protocol, task):
    return record_of(task, tune_rows=protocol.tune_rows)


@pytest.fixture
def records(tmp_path):
    return Records(tmp_path / "records", Protocol())


@given(
    st.dictionaries(
        st.text(min_size=1).filter(lambda name: name not in RESERVED),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
            st.lists,
        ),
    )
)
def test_a_record_comes_back_as_it_was_written(tmp_path_factory, more):
    records = Records(tmp_path_factory.mktemp("records"), Protocol())
    written = record_of(TASK, **more)
    records.write(TASK, written)
    assert records.read(TASK) == written


def test_a_missing_record_is_none_and_a_made_one_is_kept(records):
    assert records.read(TASK) is None
    made = records.complete(TASK, measure, wait=False)
    assert made == records.read(TASK) == measure(Protocol(), TASK)

    def never(protocol, task):
        raise AssertionError

    assert records.complete(TASK, never, wait=False) == made


@pytest.mark.parametrize(
    ("damage", "trouble"),
    [
        (lambda whole: whole[: len(whole) // 2], "is no whole record"),
        (lambda whole: b"", "is no whole record"),
        (lambda whole: b"[1, 2]", "is no whole record"),
        (lambda whole: b"{}", "is no whole record"),
        (lambda whole: b"\xff" * 10, "'utf-8' codec can't decode byte"),
        (lambda whole: whole.replace(b"9.5", b"8.5"), "does not match its checksum"),
        (
            lambda whole: whole.replace(b'"fold": 3', b'"fold": 4'),
            "does not match its checksum",
        ),
    ],
)
def test_a_damaged_record_is_reported_and_measured_again(records, damage, trouble):
    whole = records.complete(TASK, measure, wait=False)
    path = records.path(TASK)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(Damaged) as caught:
        records.read(TASK)
    assert str(path) in str(caught.value)
    assert trouble in str(caught.value)
    found, troubles = records.survey([TASK, Task("phoneme", "NRE", 4)])
    assert found == {}
    assert troubles == [str(caught.value)]
    assert records.complete(TASK, measure, wait=False) == whole == records.read(TASK)


def test_the_record_of_another_task_is_refused(records):
    other = Task("phoneme", "NRE", 4)
    records.complete(other, measure, wait=False)
    records.path(other).rename(records.path(TASK))
    with pytest.raises(Damaged, match=r"NRE-3\.json is the record of another task$"):
        records.read(TASK)


def test_the_record_of_another_protocol_is_refused(records):
    records.write(TASK, record_of(TASK) | {"protocol": "holdout"})
    with pytest.raises(Damaged, match=r"NRE-3\.json is the record of another protocol$"):
        records.read(TASK)


def test_two_runners_measure_a_task_once(records):
    measured, begun, may_end = [], threading.Event(), threading.Event()

    def slowly(protocol, task):
        measured.append(task)
        begun.set()
        assert may_end.wait(HANG)
        return measure(protocol, task)

    found = []
    runners = [
        threading.Thread(
            target=lambda: found.append(
                Records(records.folder, Protocol()).complete(TASK, slowly, wait=True)
            )
        )
        for _ in range(4)
    ]
    for runner in runners:
        runner.start()
    assert begun.wait(HANG)
    assert records.complete(TASK, slowly, wait=False) is None  # busy, and not waited for
    may_end.set()
    for runner in runners:
        runner.join()
    assert measured == [TASK]
    assert found == 4 * [measure(Protocol(), TASK)]


def test_a_failed_measurement_leaves_no_record_and_no_lock(records):
    def fail(protocol, task):
        raise RuntimeError("no luck")

    with pytest.raises(RuntimeError, match="no luck"):
        records.complete(TASK, fail, wait=False)
    assert records.read(TASK) is None
    assert records.complete(TASK, measure, wait=False) is not None


def test_a_folder_keeps_to_its_protocol(records):
    Records(records.folder, Protocol())
    with pytest.raises(SettingsError) as caught:
        Records(records.folder, Protocol(tune_rows=0))
    assert str(caught.value) == (
        f'{records.folder} holds records of {{"name": "paper", "tune_rows": 5000}}, and these '
        'would be of {"name": "paper", "tune_rows": 0}. Give the same options, or another '
        "folder with --records."
    )


def test_records_are_readable_by_people(records):
    records.complete(TASK, measure, wait=False)
    assert records.path(TASK).relative_to(records.folder).as_posix() == "phoneme/NRE-3.json"
    assert json.loads(records.path(TASK).read_text())["error"] == 9.5
