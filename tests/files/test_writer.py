"""One writer for every output: regular files only, links followed, modes kept, errors that help."""

import errno
import os
import pathlib
import socket
import stat

import pytest

from imkpl._writing import digest, write_file, write_files


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_pipe_is_refused_and_stays_a_pipe(tmp_path):
    path, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(path)
    link.symlink_to(path)
    for name in (path, link):
        with pytest.raises(OSError, match=r"is a device, a pipe or a socket, expected a regular"):
            write_file(name, b"new")
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert sorted(tmp_path.iterdir()) == [link, path]


def test_a_device_and_a_socket_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        with pytest.raises(OSError, match="socket is a device, a pipe or a socket"):
            write_file("socket", b"new")
    # A terminal, and a pipe that has no name in any folder. Neither can be replaced by mistake.
    ends = [*os.openpty(), *os.pipe()]
    try:
        for name in (os.ttyname(ends[1]), f"/dev/fd/{ends[3]}"):
            with pytest.raises(OSError, match=r"is a device, .* Choose another name\.$"):
                write_file(name, b"new")
    finally:
        for end in ends:
            os.close(end)


def test_a_folder_and_a_missing_folder_are_named(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Pass the name of a file in it"):
        write_file(tmp_path, b"new")
    with pytest.raises(FileNotFoundError, match=r"The folder .*none of a does not exist\. Create"):
        write_file(tmp_path / "none" / "a", b"new")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_mode_and_is_never_open_to_others(mode, tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(mode)
    seen, original = [], os.fsync

    def look(descriptor):
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        original(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert mode_of(path) == mode
    assert seen[0] == 0o600
    for name in ("b", "c"):
        (write_file if name == "b" else pathlib.Path.write_bytes)(tmp_path / name, b"new")
    assert mode_of(tmp_path / "b") == mode_of(tmp_path / "c")


def test_links_are_followed_also_to_files_that_are_not_there_yet(tmp_path):
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    link.symlink_to("folder/a")
    for content in (b"first", b"second"):
        write_file(link, content)
        assert (folder / "a").read_bytes() == content
    assert link.is_symlink()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_an_error_of_the_system_names_the_file_and_what_to_do(number, tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(*arguments):
        raise OSError(number, os.strerror(number))

    sentence = f"/a could not be written: {os.strerror(number)}. .* Free some space or choose"
    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(OSError, match=sentence) as caught:
                write_file(path, b"new")
        assert caught.value.errno == number
        assert type(caught.value) is type(OSError(number, ""))
        assert list(tmp_path.iterdir()) == [path]
        assert path.read_bytes() == b"old"


def test_files_that_belong_together_change_together_or_not_at_all(tmp_path):
    model, page = tmp_path / "model", tmp_path / "page"
    write_files({model: b"1", page: b"1"})
    page.unlink()
    page.mkdir()
    with pytest.raises(IsADirectoryError, match="page is a folder"):
        write_files({model: b"2", page: b"2"})
    assert model.read_bytes() == b"1"
    page.rmdir()
    write_files({model: b"2", str(page): b"2"})
    assert [model.read_bytes(), page.read_bytes()] == [b"2", b"2"]
    assert sorted(tmp_path.iterdir()) == [model, page]


def test_nothing_is_renamed_before_all_is_written(tmp_path, monkeypatch):
    model, page = tmp_path / "model", tmp_path / "page"
    write_files({model: b"1", page: b"1"})
    calls = []

    def fill_disk(descriptor):
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fill_disk)
    with pytest.raises(OSError, match="/page could not be written"):
        write_files({model: b"2", page: b"2"})
    assert [model.read_bytes(), page.read_bytes()] == [b"1", b"1"]
    assert sorted(tmp_path.iterdir()) == [model, page]


def test_a_digest_depends_on_where_parts_end():
    found = [digest(b"ab", b"c"), digest(b"a", b"bc"), digest(b"abc"), digest()]
    assert len(set(found)) == 4
    assert len(digest(b"a", size=32)) == 32
