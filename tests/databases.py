"""Real databases for the tests of SQL: PostgreSQL, DuckDB and SQLite."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from waiting import HANG, wait_until

DIALECTS = ("postgresql", "duckdb", "sqlite")
# What DuckDB and SQLite have from the start.
NOCASE = (
    "CREATE COLLATION nocase "
    "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
)
# Settings of a session that change how a database reads or writes cells and constants.
SESSIONS = [
    ("postgresql", {"DateStyle": "'German'"}),
    ("postgresql", {"DateStyle": "'SQL, DMY'"}),
    ("postgresql", {"DateStyle": "'Postgres, MDY'", "TimeZone": "'Asia/Kolkata'"}),
    ("postgresql", {"DateStyle": "'German'", "TimeZone": "'America/New_York'"}),
    ("postgresql", {"TimeZone": "'Asia/Tokyo'"}),
    ("postgresql", {"standard_conforming_strings": "off", "backslash_quote": "off"}),
    ("postgresql", {"extra_float_digits": "3", "transform_null_equals": "on"}),
    ("postgresql", {"bytea_output": "'escape'", "IntervalStyle": "'iso_8601'"}),
    ("duckdb", {"TimeZone": "'Asia/Tokyo'"}),
    ("duckdb", {"TimeZone": "'America/New_York'", "Calendar": "'japanese'"}),
    ("duckdb", {"default_collation": "'NOCASE'"}),
    ("duckdb", {"integer_division": "true", "ieee_floating_point_ops": "false"}),
    ("duckdb", {"old_implicit_casting": "true", "default_null_order": "'nulls_first'"}),
    ("sqlite", {"case_sensitive_like": "1", "reverse_unordered_selects": "1"}),
    ("sqlite", {"full_column_names": "1", "short_column_names": "0"}),
]


class Database:
    """A connection to one of the databases, with tables made of frames.

    Attributes
    ----------
    dialect : {"postgresql", "duckdb", "sqlite"}
    connection : of psycopg, duckdb or sqlite3
    """

    def __init__(self, dialect: str, connection: Any, mark: str) -> None:
        self.dialect, self.connection, self._mark = dialect, connection, mark

    def _cursor(self) -> Any:
        # A cursor of DuckDB is a session of its own, without the settings of this one.
        return self.connection if self.dialect == "duckdb" else self.connection.cursor()

    def run(self, sql: str, *rows: list[Any]) -> None:
        """Run a statement, or once for each of some rows."""
        cursor = self._cursor()
        if rows:
            cursor.executemany(sql, rows)
        else:
            cursor.execute(sql)

    def read(self, sql: str) -> pd.DataFrame:
        """What a SELECT returns, as Python objects."""
        cursor = self._cursor()
        cursor.execute(sql)
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall()
        return pd.DataFrame(
            {
                name: pd.Series([row[i] for row in rows], dtype=object)
                for i, name in enumerate(names)
            }
        )

    @contextmanager
    def session(self, settings: dict[str, str]) -> Iterator[None]:
        """Settings that hold within the block."""
        if self.dialect == "sqlite":
            usual = {
                name: self.connection.execute(f"PRAGMA {name}").fetchone() for name in settings
            }
            before = [f"PRAGMA {name} = {value}" for name, value in settings.items()]
            after = [f"PRAGMA {name} = {(was or [0])[0]}" for name, was in usual.items()]
        else:
            before = [f"SET {name} = {value}" for name, value in settings.items()]
            after = [f"RESET {name}" for name in settings]
        try:
            for statement in before:
                self.run(statement)
            yield
        finally:
            for statement in after:
                self.run(statement)

    def write(
        self, table: str, frame: pd.DataFrame, types: dict[str, str] | None = None
    ) -> None:
        """Make a table of a frame's rows, NULL where cells are missing.

        `types` overrides double precision, bigint, boolean and text.
        """
        declared = {
            name: (types or {}).get(name) or column_type(frame[name]) for name in frame.columns
        }
        self.run(f"DROP TABLE IF EXISTS {quoted(table)}")
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in declared.items())
        self.run(f"CREATE TABLE {quoted(table)} ({columns})")
        marks = ", ".join([self._mark] * frame.shape[1])
        cells = [[plain(cell) for cell in frame[name]] for name in frame.columns]
        rows = [list(row) for row in zip(*cells, strict=True)]
        # With parameters, psycopg reads a percent sign as the start of a mark.
        name = quoted(table).replace("%", "%%" if self._mark == "%s" else "%")
        self.run(f"INSERT INTO {name} VALUES ({marks})", *rows)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def column_type(column: pd.Series) -> str:
    if column.dtype.name.lower().startswith("bool"):
        return "boolean"
    if column.dtype.name.lower().startswith("int"):
        return "bigint"
    return "double precision" if column.dtype.kind == "f" else "text"


def plain(cell: Any) -> Any:
    """A cell as Python's own object, None if it is missing."""
    if cell is None or cell is pd.NA or (isinstance(cell, float) and np.isnan(cell)):
        return None
    return cell.item() if isinstance(cell, np.generic) else cell


@contextmanager
def connected(dialect: str) -> Iterator[Database]:
    """A fresh, empty database; skips the test where PostgreSQL is not installed."""
    if dialect == "duckdb":
        import duckdb

        with duckdb.connect() as connection:
            yield Database(dialect, connection, "?")
    elif dialect == "sqlite":
        connection = sqlite3.connect(":memory:", isolation_level=None)
        try:
            yield Database(dialect, connection, "?")
        finally:
            connection.close()
    else:
        import psycopg

        with (
            postgresql_server() as folder,
            psycopg.connect(
                host=str(folder),
                user="postgres",
                dbname="postgres",
                autocommit=True,
                prepare_threshold=None,  # tables of one name come and go
            ) as connection,
        ):
            connection.execute(NOCASE)
            yield Database(dialect, connection, "%s")


@contextmanager
def postgresql_server() -> Iterator[Path]:
    """A PostgreSQL server of its own, reached only by the socket in the folder given."""
    binaries = postgresql_binaries()
    # Not pytest's folders: the path of a socket may have some hundred bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    as_user: dict[str, Any] = {"cwd": folder}
    if os.geteuid() == 0:  # the server refuses to run as root
        import pwd

        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        as_user |= {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    try:
        options = "--username=postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync"
        subprocess.run(
            [binaries / "initdb", "--pgdata", folder / "data", *options.split()],
            check=True,
            capture_output=True,
            **as_user,
        )
        settings = {"listen_addresses": "", "unix_socket_directories": folder, "fsync": "off"}
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                [binaries / "postgres", "-D", folder / "data", *flags],
                stdout=log,
                stderr=log,
                **as_user,
            )
        try:
            wait_until(lambda: takes_connections(server, binaries / "pg_isready", folder))
            yield folder
        finally:
            server.send_signal(signal.SIGINT)  # at once, even with connections
            server.wait(HANG)
    finally:
        shutil.rmtree(folder)


def takes_connections(server: subprocess.Popen[bytes], pg_isready: Path, folder: Path) -> bool:
    """Whether a server can be asked by now; raises if it has ended."""
    if server.poll() is not None:
        raise RuntimeError(f"PostgreSQL does not start:\n{(folder / 'log').read_text()}")
    return subprocess.run([pg_isready, "-q", "-h", folder], check=False).returncode == 0


def postgresql_binaries() -> Path:
    """Where the newest server is installed."""
    found = [Path(path).parent for path in glob("/usr/lib/postgresql/*/bin/postgres")]
    if found:
        return max(found, key=lambda path: float(path.parent.name))
    on_path = shutil.which("postgres")
    if on_path is None:
        pytest.skip("PostgreSQL is not installed; tests/install_servers.sh installs it.")
    return Path(on_path).parent
