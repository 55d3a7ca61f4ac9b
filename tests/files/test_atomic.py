"""Files that appear when they are complete."""

import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import softwood
from softwood.files import atomic
from softwood.files.atomic import replacing
from tests.files.models import fitted

ROOT = Path(__file__).parents[2]


def write(path, content=b"new"):
    with replacing(path) as file:
        file.write(content)


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_file_appears_and_is_replaced(tmp_path):
    path = tmp_path / "some file.softwood"
    write(path, b"one")
    write(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert names(tmp_path) == ["some file.softwood"]


def test_nothing_is_seen_before_the_end(tmp_path):
    path = tmp_path / "model"
    write(path, b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
        assert len(names(tmp_path)) == 2
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("x")])
@pytest.mark.parametrize("old", [None, b"old"])
def test_errors_leave_what_was_there(error, old, tmp_path):
    path = tmp_path / "model"
    if old is not None:
        path.write_bytes(old)

    def fail():
        with replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert names(tmp_path) == ([] if old is None else ["model"])
    assert old is None or path.read_bytes() == old


def test_errors_of_the_disk_name_the_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*model'"):
        write(tmp_path / "model")
    assert names(tmp_path) == []


def test_modes_are_kept_and_new_files_follow_the_mask(tmp_path):
    path = tmp_path / "model"
    before = os.umask(0o027)
    try:
        write(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        write(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(before)


def test_symbolic_links_are_followed(tmp_path):
    (tmp_path / "far").mkdir()
    target, link, dangling = tmp_path / "far" / "model", tmp_path / "link", tmp_path / "dangling"
    target.write_bytes(b"old")
    link.symlink_to(Path("far") / "model")
    dangling.symlink_to(Path("far") / "later")
    write(link, b"new")
    write(dangling, b"later")
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert target.read_bytes() == b"new"
    assert (tmp_path / "far" / "later").read_bytes() == b"later"
    assert names(tmp_path / "far") == ["later", "model"]


def test_places_where_no_file_can_be(tmp_path):
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "nowhere" / "model")
    with pytest.raises(IsADirectoryError):
        write(tmp_path)
    with pytest.raises(OSError, match="Not a regular file"):
        write("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert names(tmp_path) == []


def test_left_overs_of_killed_processes_are_removed_and_no_others(tmp_path):
    path = tmp_path / "model"
    left_over, foreign = tmp_path / f".model.{'0' * 16}.part", tmp_path / f".other.{'0' * 16}.part"
    similar = tmp_path / ".model.notes.part"
    for file in (left_over, foreign, similar):
        file.write_bytes(b"half")
    with replacing(path) as outer:  # another writer that is alive, of the same file
        outer.write(b"outer")
        write(path, b"inner")
        assert path.read_bytes() == b"inner"
    assert path.read_bytes() == b"outer"
    assert names(tmp_path) == [similar.name, foreign.name, "model"]


def test_many_writers_at_once(tmp_path):
    path = tmp_path / "model"
    contents = [bytes([65 + k]) * 5000 for k in range(4)]
    errors = []

    def work(content):
        try:
            for _ in range(25):
                write(path, content)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[content]) for content in contents]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert not path.exists() or path.read_bytes() in contents
    assert errors == []
    assert names(tmp_path) == ["model"]


def test_a_system_without_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "fcntl", None)
    write(tmp_path / "model")
    assert names(tmp_path) == ["model"]


def _limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))


def test_a_full_disk_is_an_error_and_the_old_file_is_intact(tmp_path):
    """The size of files is limited, which is to a process what a full disk is."""
    path = tmp_path / "model.softwood"
    softwood.save(fitted("SoftTree"), path)
    before = path.read_bytes()
    code = (
        "import softwood, sys\n"
        "from tests.files.models import bare_tree\n"
        "big = softwood.SoftForest.mean([bare_tree()] * 200)\n"
        "try:\n    softwood.save(big, sys.argv[1])\n"
        "except OSError as error:\n    print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(path)], cwd=ROOT, preexec_fn=_limit_files, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "File too large" in run.stdout
    assert str(path) in run.stdout
    assert path.read_bytes() == before
    assert names(tmp_path) == ["model.softwood"]


def test_killed_while_saving(tmp_path):
    """A few of what `tests/files/kill.py` does five hundred times."""
    run = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "files" / "kill.py"), "--count", "12", "--folder", str(tmp_path)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "12 kills" in run.stdout
