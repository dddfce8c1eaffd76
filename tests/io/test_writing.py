"""Files are written whole or not at all, and bad paths are refused before any work."""

from __future__ import annotations

import errno
import os
import re
import socket
import stat
from pathlib import Path

import pytest
from platforms import unix

from neuralrules._io._writing import NO_ROOM, checked_path, whole_file

OLD, NEW = b"what was there", b"what is written"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder to work in, so that messages hold short paths."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(path, error) -> str:
    with pytest.raises(error) as caught:
        checked_path(path, "model.nrules")
    assert type(caught.value) is error
    return str(caught.value)


# --- paths --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["new.txt", Path("new.txt"), "./sub/../new.txt"])
def test_a_new_name_in_a_folder_is_accepted_and_not_made(path, folder):
    (folder / "sub").mkdir()
    assert checked_path(path, "x") == Path(path)
    assert [entry.name for entry in folder.iterdir()] == ["sub"]


def test_a_file_that_is_there_is_accepted_and_left_alone(folder):
    Path("old.txt").write_bytes(OLD)
    assert checked_path("old.txt", "x") == Path("old.txt")
    assert Path("old.txt").read_bytes() == OLD


def test_a_tilde_is_the_home_folder(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    assert checked_path("~/new.txt", "x") == folder / "new.txt"


@unix
@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        (3, TypeError, "path=3 must be the name of a file, for example 'model.nrules'."),
        (None, TypeError, "path=None must be the name of a file, for example 'model.nrules'."),
        (b"a", TypeError, "path=b'a' must be the name of a file, for example 'model.nrules'."),
        (
            "",
            ValueError,
            "path='' is empty. Give the name of a file, for example 'model.nrules'.",
        ),
        (
            "a\0b",
            ValueError,
            r"path='a\x00b' holds a NUL character, as no file's name can. Give another path.",
        ),
        (
            "no/such/new.txt",
            FileNotFoundError,
            "path='no/such/new.txt' cannot be written: there is no folder 'no/such'. Create it "
            "first, or give another path.",
        ),
        (
            "file/new.txt",
            FileNotFoundError,
            "path='file/new.txt' cannot be written: there is no folder 'file'. Create it "
            "first, or give another path.",
        ),
        (
            "lost",
            FileNotFoundError,
            "path='lost' cannot be written: there is no folder '{folder}/gone'. Create it "
            "first, or give another path.",
        ),
        (
            "folder",
            IsADirectoryError,
            "path='folder' is a folder. Give the name of a file in it, for example "
            "'folder/model.nrules'.",
        ),
        (
            "pipe",
            FileExistsError,
            "path='pipe' is not a regular file but a device, a pipe or a socket, which must "
            "not be replaced. Give another path.",
        ),
        (
            "socket",
            FileExistsError,
            "path='socket' is not a regular file but a device, a pipe or a socket, which must "
            "not be replaced. Give another path.",
        ),
        (
            "/dev/null",
            FileExistsError,
            "path='/dev/null' is not a regular file but a device, a pipe or a socket, which "
            "must not be replaced. Give another path.",
        ),
        (
            "circle",
            OSError,
            "path='circle' cannot be written: Too many levels of symbolic links. Give another "
            "path.",
        ),
        (
            "x" * 300,
            OSError,
            f"path='{'x' * 300}' cannot be written: File name too long. Give another path.",
        ),
    ],
)
def test_bad_paths_are_refused_in_full_sentences(path, error, message, folder):
    Path("file").write_bytes(OLD)
    Path("folder").mkdir()
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    os.symlink(folder / "gone" / "new.txt", "lost")
    os.symlink("circle", "circle")
    before = sorted(os.listdir())
    assert refusal(path, error) == message.replace("{folder}", str(folder))
    assert sorted(os.listdir()) == before


def test_a_path_of_bytes_in_a_path_object_is_refused():
    class BytePath:
        def __fspath__(self):
            return b"a"

        def __repr__(self):
            return "BytePath()"

    assert refusal(BytePath(), TypeError) == (
        "path=BytePath() must be a name of text, not of bytes."
    )


def test_a_read_only_file_is_refused(folder, monkeypatch):
    Path("old.txt").write_bytes(OLD)
    # The superuser may write everything: ask for somebody else.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert refusal("old.txt", PermissionError) == (
        "path='old.txt' is read-only. Make the file writable, or give another path."
    )


# --- writing ------------------------------------------------------------------------------


def test_a_new_file_holds_what_was_written_and_nothing_else_is_left(folder):
    with whole_file(Path("new.txt")) as stream:
        stream.write(NEW)
    assert Path("new.txt").read_bytes() == NEW
    assert os.listdir() == ["new.txt"]


def test_a_new_file_has_the_mode_of_any_new_file(folder):
    Path("plain.txt").write_bytes(b"")
    with whole_file(Path("new.txt")) as stream:
        stream.write(NEW)
    assert Path("new.txt").stat().st_mode == Path("plain.txt").stat().st_mode


def test_the_old_file_stays_until_the_new_one_is_complete(folder):
    target = Path("file.txt")
    target.write_bytes(OLD)
    with whole_file(target) as stream:
        stream.write(NEW)
        stream.flush()
        assert target.read_bytes() == OLD
    assert target.read_bytes() == NEW


def test_a_reader_of_the_old_file_keeps_it(folder):
    target = Path("file.txt")
    target.write_bytes(OLD)
    with target.open("rb") as reader:
        with whole_file(target) as stream:
            stream.write(NEW)
        assert reader.read() == OLD


def test_what_is_written_is_on_the_disk_before_it_takes_the_place(folder, monkeypatch):
    steps = []
    for name in ("fsync", "replace"):
        original = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *given, name=name, do=original: (steps.append(name), do(*given))
        )
    with whole_file(Path("file.txt")) as stream:
        stream.write(NEW)
        assert steps == []
    assert steps == ["fsync", "replace"]


@pytest.mark.parametrize("error", [RuntimeError("oh"), KeyboardInterrupt(), SystemExit(1)])
@pytest.mark.parametrize("before", [None, OLD])
def test_an_error_leaves_what_was_there_and_nothing_else(error, before, folder):
    target = Path("file.txt")
    if before is not None:
        target.write_bytes(before)
    names = os.listdir()
    with pytest.raises(type(error)), whole_file(target) as stream:  # noqa: PT012
        stream.write(NEW)
        raise error
    assert os.listdir() == names
    assert before is None or target.read_bytes() == before


@unix
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o666])
def test_a_file_that_is_there_keeps_its_mode(mode, folder):
    target = Path("file.txt")
    target.write_bytes(OLD)
    target.chmod(mode)
    with whole_file(target) as stream:
        stream.write(NEW)
    assert stat.S_IMODE(target.stat().st_mode) == mode


@unix
@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_what_it_points_to_is_written(there, folder):
    real = folder / "elsewhere" / "real.txt"
    real.parent.mkdir()
    if there:
        real.write_bytes(OLD)
        real.chmod(0o640)
    (folder / "hop.txt").symlink_to(real)
    link = folder / "link.txt"
    link.symlink_to("hop.txt")
    with whole_file(link) as stream:
        stream.write(NEW)
        # Beside what is replaced, or it could not take its place at once.
        assert [path.suffix for path in real.parent.glob(".*")] == [".part"]
    assert os.readlink(link) == "hop.txt"
    assert real.read_bytes() == link.read_bytes() == NEW
    assert not there or stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(os.listdir(folder)) == ["elsewhere", "hop.txt", "link.txt"]
    assert os.listdir(real.parent) == ["real.txt"]


def test_a_folder_that_cannot_be_written_shows_before_any_work(folder):
    message = (
        "path='no/new.txt' cannot be written: No such file or directory. Give another path."
    )
    with (
        pytest.raises(FileNotFoundError, match=f"^{re.escape(message)}$"),
        whole_file(Path("no/new.txt")),
    ):
        raise AssertionError("the work has begun")


@unix
@pytest.mark.parametrize("code", NO_ROOM)
def test_a_full_disk_is_said_of_the_path_given(code, folder):
    Path("real.txt").write_bytes(OLD)
    Path("link.txt").symlink_to("real.txt")
    message = f"path='link.txt' cannot be written: {os.strerror(code)}. Give another path."
    with (
        pytest.raises(OSError, match=f"^{re.escape(message)}$"),
        whole_file(Path("link.txt")),
    ):
        raise OSError(code, os.strerror(code))
    assert Path("real.txt").read_bytes() == OLD
    assert sorted(os.listdir()) == ["link.txt", "real.txt"]


def test_an_error_about_something_else_stays_what_it_is(folder):
    error = FileNotFoundError(errno.ENOENT, "No such file", "table.csv")
    with pytest.raises(FileNotFoundError) as caught, whole_file(Path("new.txt")):
        raise error
    assert caught.value is error


def test_two_writers_of_one_file_do_not_meet(folder):
    target = Path("file.txt")
    with whole_file(target) as first, whole_file(target) as second:
        first.write(b"first")
        second.write(b"second")
        assert len(os.listdir()) == 2
    assert target.read_bytes() == b"first"  # the last to finish
    assert os.listdir() == ["file.txt"]


@pytest.mark.parametrize("name", ["x" * 255, "漢" * 85, "𝄞" * 63])
def test_the_longest_names_can_be_written(name, folder):
    with whole_file(checked_path(name, "x")) as stream:
        stream.write(NEW)
    assert os.listdir() == [name]
