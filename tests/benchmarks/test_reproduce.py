"""The runner: killed and restarted, beside another one, on a cluster, and its messages."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import tiny_tables
from rich.console import Console
from waiting import HANG

from benchmarks import datasets, reproduce, runner
from benchmarks.protocol import MEASURABLE, Protocol, Task
from benchmarks.records import Records

ROOT = Path(__file__).parents[2]
TASKS = [
    Task(data, method, fold)
    for data in tiny_tables.TABLES
    for method in ("RF", "NRE")
    for fold in range(2)
]
OPTIONS = ["--data-sets", *tiny_tables.TABLES, "--methods", "RF", "NRE", "--folds", "2"]
TIMES = ("tune_seconds", "fit_seconds", "predict_seconds")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    tiny_tables.write(folder)
    return folder


def start(tables, records, **environment):
    """The runner on the small tables in a process of its own."""
    return subprocess.Popen(
        [
            sys.executable,
            str(ROOT / "tests" / "tiny_tables.py"),
            str(tables),
            "--records",
            str(records),
            *OPTIONS,
        ],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@contextmanager
def held(tables, records, n_tasks):
    """A runner that has measured so many tasks and never ends the next one."""
    with start(tables, records, **{tiny_tables.HELD: str(n_tasks)}) as process:
        try:
            assert process.stdout.readline() == "held\n", process.stderr.read()
            yield process
        finally:
            process.kill()


def finish(process):
    output, trouble = process.communicate(timeout=HANG)
    assert process.returncode == 0, trouble
    return output, trouble


def results(folder):
    """All records, as far as they are the same in every run."""
    found, damage = Records(folder, Protocol()).survey(TASKS)
    assert not damage
    assert set(found) == set(TASKS)
    return {task: lasting(record) for task, record in found.items()}


def lasting(record):
    """What of a record is the same in every run."""
    return {name: value for name, value in record.items() if name not in TIMES}


@pytest.fixture(scope="module")
def undisturbed(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    output, trouble = finish(start(tables, folder))
    assert "0 records are there, 8 are to be measured." in trouble
    assert "8 of 8" in trouble
    assert output.splitlines()[0] == "Mean test errors in per cent"
    assert output.splitlines()[1].split() == ["RF", "NRE"]
    return results(folder)


def test_a_record_holds_what_it_promises(undisturbed):
    record = undisturbed[Task("tiny_norm", "NRE", 1)]
    assert record["test_rows"] == 60
    assert record["train_rows"] == record["tune_rows"] == 180
    assert record["error"] == pytest.approx(100 * record["wrong"] / 60, abs=1e-4)
    assert record["parameter"] in (2, 4)
    assert len(record["tune_wrong"]) == 2
    assert set(record["size"]) == {"rules", "literals", "nonzero"}
    assert set(undisturbed[TASKS[0]]["size"]) == {"trees", "nodes"}
    assert record["seed"] == Task("tiny_norm", "NRE", 1).seed
    assert set(record["environment"]) == {
        "CPU",
        "Python",
        "numpy",
        "scikit-learn",
        "numba",
        "neuralrules",
        "commit",
    }


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_the_same(tables, tmp_path, undisturbed):
    with held(tables, tmp_path, 3) as killed:
        os.killpg(killed.pid, signal.SIGKILL)
    assert len(list(tmp_path.rglob("*-*.json"))) == 3
    _, trouble = finish(start(tables, tmp_path))
    assert "3 records are there, 5 are to be measured." in trouble
    assert results(tmp_path) == undisturbed


def test_ctrl_c_says_how_to_go_on(tables, tmp_path, undisturbed):
    with held(tables, tmp_path, 1) as stopped:
        stopped.send_signal(signal.SIGINT)
        _, trouble = stopped.communicate(timeout=HANG)
    assert stopped.returncode == 130
    assert trouble.rstrip().endswith("Stopped. The same command continues from here.")
    assert "Traceback" not in trouble
    # What is there is whole; the test above goes on from such a folder.
    found, damage = Records(tmp_path, Protocol()).survey(TASKS)
    assert not damage
    assert len(found) == 1
    assert {task: lasting(record) for task, record in found.items()} == {
        task: undisturbed[task] for task in found
    }


@pytest.mark.slow
def test_two_runners_share_a_folder(tables, tmp_path, undisturbed):
    runners = [start(tables, tmp_path) for _ in range(2)]
    tables_printed = [finish(runner)[0] for runner in runners]
    assert tables_printed[0] == tables_printed[1]
    assert results(tmp_path) == undisturbed


@pytest.mark.slow
def test_a_damaged_record_is_reported_and_measured_again(tables, tmp_path, undisturbed):
    finish(start(tables, tmp_path))
    path = Records(tmp_path, Protocol()).path(TASKS[3])
    path.write_text(path.read_text()[:-40])
    _, trouble = finish(start(tables, tmp_path))
    assert f"Damaged, so measured again: {path} is no whole record" in trouble
    assert "7 records are there, 1 are to be measured." in trouble
    assert results(tmp_path) == undisturbed


@pytest.fixture
def known_here():
    """The small tables known in this process too, and forgotten afterwards."""
    before = dict(datasets.TABLES), dict(MEASURABLE)
    tiny_tables.install()
    yield
    for there, was in zip((datasets.TABLES, MEASURABLE), before, strict=True):
        there.clear()
        there.update(was)


@pytest.mark.usefixtures("known_here")
@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_records(tables, tmp_path, undisturbed, capsys):
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set(
            {f"distributed.comm.timeouts.{name}": HANG for name in ("connect", "tcp")}
        ),
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=tmp_path
        ) as cluster,
        Client(cluster) as client,
    ):
        workers = client.run(os.getpid)
        client.run(tiny_tables.install)
        options = ["--data", str(tables), "--records", str(tmp_path / "records"), *OPTIONS]
        status = reproduce.main([*options, "--scheduler", cluster.scheduler_address])
    assert status == 0
    assert len(set(workers.values()) - {os.getpid()}) == 2
    assert "8 of 8" in capsys.readouterr().err
    assert results(tmp_path / "records") == undisturbed


def test_a_task_that_fails_does_not_stop_the_others(tables, tmp_path, monkeypatch):
    def measure(protocol, task, folder, commit):
        if task == TASKS[0]:
            raise ValueError("no luck")
        return {
            "protocol": "paper",
            "data": task.data,
            "method": task.method,
            "fold": task.fold,
            "error": 1.0,
        }

    monkeypatch.setattr(reproduce, "measure", measure)
    console = Console(file=io.StringIO(), width=120)
    records = Records(tmp_path, Protocol())
    found, failed = reproduce.run(records, TASKS, tables, 1, console)
    assert set(found) == set(TASKS[1:])
    assert failed == {TASKS[0]: runner.Failure("ValueError: no luck")}
    assert f"{TASKS[0]} failed: ValueError: no luck" in console.file.getvalue()


def test_records_of_other_versions_are_pointed_out(tables, tmp_path, undisturbed):
    records = Records(tmp_path, Protocol())
    for task, record in undisturbed.items():
        old = record | {
            "environment": record["environment"] | {"numpy": "1.0", "commit": "abc"}
        }
        records.write(task, old)
    console = Console(file=io.StringIO(), width=120)
    reproduce.run(records, TASKS, tables, 1, console)
    assert (
        "Records that are there come from commit abc, numpy 1.0. To measure them anew, give "
        "another folder with --records."
    ) in console.file.getvalue()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--folds", "0"], "argument --folds: must be a whole number of at least 1, not '0'"),
        (["--folds", "x"], "argument --folds: must be a whole number of at least 1, not 'x'"),
        (
            ["--tune-rows", "50"],
            "argument --tune-rows: must be a whole number of at least 500, or 0 for all rows, "
            "not '50'",
        ),
        (
            ["--n-jobs", "0"],
            "argument --n-jobs: must be a whole number of at least 1, or -1, not '0'",
        ),
        (["--data-sets", "iris"], "argument --data-sets: invalid choice: 'iris'"),
        (["--methods", "SVM"], "argument --methods: invalid choice: 'SVM'"),
        (["--protocol", "loo"], "argument --protocol: invalid choice: 'loo'"),
        (["--data", "/nowhere"], "error: No data folder at /nowhere. Name another with --data"),
    ],
)
def test_a_mistake_gets_one_line(options, message, tmp_path, capsys):
    try:
        status = reproduce.main([*options, "--records", str(tmp_path)])
    except SystemExit as stopped:
        status = stopped.code
    assert status == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_file_is_no_folder_for_records(tmp_path, capsys):
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    options = ["--records", str(file), "--data", str(tmp_path), "--data-sets", "ring"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduce, "load", lambda name, folder: None)
        assert reproduce.main(options) == 2
    assert capsys.readouterr().err == f"error: [Errno 17] File exists: '{file}'\n"
    assert file.read_text() == "mine"


def test_another_protocol_needs_another_folder(tmp_path, capsys, monkeypatch):
    Records(tmp_path, Protocol("holdout"))
    monkeypatch.setattr(reproduce, "load", lambda name, folder: None)
    assert reproduce.main(["--records", str(tmp_path), "--data", str(tmp_path)]) == 2
    trouble = capsys.readouterr().err
    assert trouble.startswith(f"error: {tmp_path} holds records of")
    assert trouble.endswith("Give the same options, or another folder with --records.\n")


def test_a_cluster_that_is_not_there_gets_one_line(tables, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(runner, "CONNECT_SECONDS", 0.5)
    monkeypatch.setattr(reproduce, "load", lambda name, folder: None)
    options = ["--scheduler", "tcp://127.0.0.1:9", "--records", str(tmp_path / "records")]
    assert reproduce.main([*options, "--data", str(tables)]) == 2
    trouble = capsys.readouterr().err
    assert trouble.startswith("error: --scheduler tcp://127.0.0.1:9 does not answer (")
    assert trouble.endswith(
        "Give the address that `dask scheduler` printed, for example tcp://127.0.0.1:8786.\n"
    )


@pytest.mark.skipif(not datasets.BESIDE.is_dir(), reason="the paper's data sets are not here")
@pytest.mark.slow
def test_processes_of_joblib_measure_a_real_table(tmp_path, capsys):
    options = ["--data-sets", "titanic", "--methods", "NRE", "--folds", "2", "--n-jobs", "2"]
    assert reproduce.main([*options, "--records", str(tmp_path)]) == 0
    name, error = capsys.readouterr().out.splitlines()[-1].split()
    assert name == "titanic"
    assert 18 < float(error) < 25


def test_a_quick_look_is_two_tables_and_two_folds():
    options = reproduce.parse(["--quick"])
    assert len(options.data_sets) == options.folds == 2
    assert options.methods == ["GB", "RF", "ANN", "NRE"]


def test_long_tasks_come_first():
    seconds = {("ring", "NRE"): 10.0, ("ring", "GB"): 100.0}
    tasks = reproduce.plan(["ring"], ["NRE", "GB", "RF"], 2, seconds)
    assert [task.method for task in tasks] == ["GB", "GB", "RF", "RF", "NRE", "NRE"]
