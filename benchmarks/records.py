"""A folder of records, one file each. Runs may be killed, and several may use the folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar
from typing import Protocol as Interface

from filelock import FileLock, Timeout

from benchmarks.files import write_whole
from benchmarks.protocol import Task

CHECKSUM = "sha256"


class Settings(Interface):
    """A dataclass of the settings that must be equal for two records to be comparable."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str: ...


class SettingsError(Exception):
    """The folder holds records of another protocol."""


class Damaged(Exception):  # noqa: N818 - a state of a file, not of the program
    """A record cannot be trusted."""


class Records:
    """Records of one protocol in one folder.

    Parameters
    ----------
    folder : Path
        Created if it does not exist. On a cluster, all workers must share this folder.
    protocol : dataclass with a name
        Must be equal to the protocol of the records that are in the folder.
    """

    def __init__(self, folder: Path, protocol: Settings) -> None:
        self.folder = folder
        self.protocol = protocol
        folder.mkdir(parents=True, exist_ok=True)
        settings = folder / "protocol.json"
        ours = json.dumps(asdict(protocol))
        with FileLock(folder / "protocol.lock"):
            if not settings.exists():
                write_whole(settings, ours)
        theirs = settings.read_text()
        if theirs != ours:
            raise SettingsError(
                f"{folder} holds records of {theirs}, and these would be of {ours}. Give the "
                "same options, or another folder with --records."
            )

    def path(self, task: Task) -> Path:
        return self.folder / task.data / f"{task.method}-{task.fold}.json"

    def read(self, task: Task) -> dict[str, Any] | None:
        """The record of a task, or None if there is none. Raises Damaged for a bad file."""
        try:
            text = self.path(task).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise Damaged(f"{self.path(task)}: {error}") from error
        try:
            record = json.loads(text)
            promised = record.pop(CHECKSUM)
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise Damaged(f"{self.path(task)} is no whole record") from error
        if promised != checksum(record):
            raise Damaged(f"{self.path(task)} does not match its checksum")
        if Task(record["data"], record["method"], record["fold"]) != task:
            raise Damaged(f"{self.path(task)} is the record of another task")
        if record["protocol"] != self.protocol.name:
            raise Damaged(f"{self.path(task)} is the record of another protocol")
        return record

    def write(self, task: Task, record: dict[str, Any]) -> None:
        path = self.path(task)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps({**record, CHECKSUM: checksum(record)}, indent=1))

    def complete(
        self, task: Task, measure: Callable[[Any, Task], dict[str, Any]], wait: bool
    ) -> dict[str, Any] | None:
        """The record of a task. It is measured now if the folder does not have it.

        If another runner is measuring the task, wait for it if `wait` is true, or else return
        None. If that runner is killed, the operating system frees its lock.
        """
        path = self.path(task)
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_suffix(".lock"))
        try:
            with lock.acquire(timeout=-1 if wait else 0):
                try:
                    record = self.read(task)
                except Damaged:  # measured again; the runner reports the damage
                    record = None
                if record is None:
                    record = measure(self.protocol, task)
                    self.write(task, record)
                return record
        except Timeout:
            return None

    def survey(self, tasks: Iterable[Task]) -> tuple[dict[Task, dict[str, Any]], list[str]]:
        """The records that the folder has, and a message for each damaged one."""
        found, damage = {}, []
        for task in tasks:
            try:
                record = self.read(task)
            except Damaged as error:
                damage.append(str(error))
            else:
                if record is not None:
                    found[task] = record
        return found, damage


def checksum(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
