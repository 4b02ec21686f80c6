"""The watch over the current kernel files: by file system events, or by polling."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from watchfiles import watch

DEBOUNCE_MS = 200  # saves within this time count once
QUIET_MS = 50  # without another event, after which a save counts
POLL_MS = 300  # between two looks, without events
LOOK_MS = 1000  # between two looks at the file beside the events, for those that never come
MOST_MISSED = 2  # saves without an event, one of which may fall between two looks

NO_EVENTS = "Saves are found by looking at the file: {why}. `grader --poll` says so from the start."


class Watch:
    """Calls `on_save` in a thread of its own when a watched file may have changed.

    `on_note` gets a sentence when file events do not work, and looking takes their place.
    """

    def __init__(
        self, on_save: Callable[[], None], on_note: Callable[[str], None], poll: bool = False
    ) -> None:
        self._on_save, self._on_note, self._poll = on_save, on_note, poll
        self._ended = threading.Event()  # all watching
        self._turn = threading.Event()  # the watching of one folder
        self._paths: tuple[Path, ...] = ()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def turn_to(self, *paths: Path) -> None:
        """Watch other files, all of one folder, in place of those before."""
        with self._lock:
            if paths == self._paths:
                return
            self._paths = paths
            self._turn.set()
        if not self._thread.is_alive() and not self._ended.is_set():
            self._thread.start()

    def close(self) -> None:
        """End the watch; its thread needs a moment."""
        self._ended.set()
        self._turn.set()

    def _work(self) -> None:
        while not self._ended.is_set():
            with self._lock:
                paths, turn = self._paths, threading.Event()
                self._turn = turn
            try:
                self._watch(paths, turn)
            except Exception as error:
                if self._poll:
                    self._on_note(f"The file cannot be watched: {error}. Press r after a save.")
                    turn.wait()
                    continue
                self._give_up_events(str(error).strip() or type(error).__name__)

    def _watch(self, paths: Sequence[Path], turn: threading.Event) -> None:
        seen, missed = [look(path) for path in paths], 0
        self._on_save()  # what was saved while nothing watched it
        for changes in watch(
            paths[0].parent,
            watch_filter=None,
            debounce=DEBOUNCE_MS,
            step=QUIET_MS,
            stop_event=turn,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            force_polling=self._poll or None,
            poll_delay_ms=POLL_MS,
            recursive=False,
        ):
            if self._ended.is_set():
                return
            now = [look(path) for path in paths]
            if now == seen:
                continue
            seen = now
            self._on_save()
            missed = 0 if changes else missed + 1
            if missed == MOST_MISSED and not self._poll:
                self._give_up_events("file events do not come here")
                return

    def _give_up_events(self, why: str) -> None:
        self._poll = True
        self._on_note(NO_EVENTS.format(why=why))


def look(path: Path) -> tuple[int, int, int] | None:
    """Return what a save changes: inode, size and time of change; None where there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
