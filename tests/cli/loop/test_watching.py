"""A save is noticed: by events, by looking where none come, and whatever way an editor saves."""

from __future__ import annotations

import os
import queue
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from grader.cli.loop import watching
from grader.cli.loop.watching import Watch

pytestmark = pytest.mark.slow
PATIENCE_S = 30


class Heard:
    """The words of a watch, in order."""

    def __init__(self, poll: bool) -> None:
        self.notes: queue.Queue[str] = queue.Queue()
        self.saves: queue.Queue[None] = queue.Queue()
        self.watch = Watch(lambda: self.saves.put(None), self.notes.put, poll)

    def saved(self) -> None:
        self.saves.get(timeout=PATIENCE_S)


@pytest.fixture(params=[False, True], ids=["events", "poll"])
def heard(request: pytest.FixtureRequest) -> Iterator[Heard]:
    one = Heard(request.param)
    yield one
    one.watch.close()


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.py"
    path.write_text("1", encoding="utf-8")
    return path


def replaced(path: Path) -> None:
    """Save as editors do that write a new file beside the old one."""
    new = path.with_name("new")
    new.write_text("4", encoding="utf-8")
    os.replace(new, path)


def test_each_way_of_saving_is_noticed(heard: Heard, kernel: Path):
    heard.watch.turn_to(kernel)
    heard.saved()  # a look at the beginning, for what was saved before
    kernel.write_text("22", encoding="utf-8")
    heard.saved()
    replaced(kernel)
    heard.saved()
    kernel.unlink()
    heard.saved()
    kernel.write_text("333", encoding="utf-8")
    heard.saved()


def test_only_the_watched_file_counts(heard: Heard, kernel: Path, tmp_path: Path):
    heard.watch.turn_to(kernel)
    heard.saved()
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    other = tmp_path / "other"
    other.mkdir()
    (other / "kernel.py").write_text("1", encoding="utf-8")
    heard.watch.turn_to(other / "kernel.py")
    heard.saved()
    kernel.write_text("55", encoding="utf-8")
    with pytest.raises(queue.Empty):
        heard.saves.get(timeout=0.8)
    (other / "kernel.py").write_text("22", encoding="utf-8")
    heard.saved()


def test_each_of_several_files_counts(heard: Heard, kernel: Path, tmp_path: Path):
    """As in an exercise with a kernel file for each of its languages."""
    second = tmp_path / "kernel_cuda.py"
    heard.watch.turn_to(kernel, second)
    heard.saved()
    second.write_text("1", encoding="utf-8")
    heard.saved()
    kernel.write_text("22", encoding="utf-8")
    heard.saved()


def test_where_events_cannot_be_had_looking_takes_their_place(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
):
    forced: list[bool | None] = []
    real = watching.watch

    def watch(*paths: Path, force_polling: bool | None, **more: object) -> object:
        forced.append(force_polling)
        if not force_polling:
            raise OSError("OS file watch limit reached.")
        return real(*paths, force_polling=force_polling, **more)

    monkeypatch.setattr(watching, "watch", watch)
    heard = Heard(poll=False)
    heard.watch.turn_to(kernel)
    assert "OS file watch limit reached." in heard.notes.get(timeout=PATIENCE_S)
    for _ in range(2):
        heard.saved()  # one look for each watch that begins
    kernel.write_text("22", encoding="utf-8")
    heard.saved()
    heard.watch.close()
    assert forced == [None, True]


def test_events_that_never_come_are_noticed(kernel: Path, monkeypatch: pytest.MonkeyPatch):
    """As on a network drive: the watch sees nothing, and the file changes."""

    def silent(*paths: Path, force_polling: bool | None, **more: object) -> Iterator[Sequence[str]]:
        polled.append(bool(force_polling))
        for number in range(2, 5):
            kernel.write_text("x" * number, encoding="utf-8")
            yield []

    polled: list[bool] = []
    monkeypatch.setattr(watching, "watch", silent)
    heard = Heard(poll=False)
    heard.watch.turn_to(kernel)
    assert "file events do not come here" in heard.notes.get(timeout=PATIENCE_S)
    while True not in polled:
        heard.saved()
    heard.watch.close()
