"""The workers of a dask cluster: who is there, what they do, and what came of it.

Retries are the schedule's: dask is asked for each job once, on one worker.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from grader.model import CannotGrade

PATIENCE_S = 15.0  # for a scheduler that does not answer
LOST = "The scheduler of the cluster is gone."


@dataclass(frozen=True)
class Ended:
    """The end of a worker's job: the text that it returned, or why there is none."""

    worker: str
    text: str | None
    fault: str = ""


class Crew:
    """Calls functions on workers, by their addresses; one call at a time on each."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._futures: dict[str, Any] = {}  # by worker
        self._ended: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._number = 0

    def workers(self) -> dict[str, str]:
        """Return the name of each worker that is there, by its address.

        Raises CannotGrade when the scheduler is gone.
        """
        deadline = time.monotonic() + PATIENCE_S
        while True:
            if self._client.status == "running":
                with suppress(OSError, TimeoutError):
                    found = self._client.sync(
                        self._client.scheduler.identity, n_workers=-1, callback_timeout=PATIENCE_S
                    )
                    return {at: str(one["name"]) for at, one in found["workers"].items()}
            if time.monotonic() > deadline:
                raise CannotGrade(
                    LOST, "Start it again; then go on with --resume: what was graded is kept."
                )
            time.sleep(0.2)

    def call(
        self, workers: Iterable[str], work: Callable[..., str], *arguments: object, limit_s: float
    ) -> dict[str, str]:
        """Call a function on several workers at once; one that does not answer is left out."""
        found: dict[str, str] = {}
        answers = [(at, self._submit(at, work, arguments)) for at in workers]
        deadline = time.monotonic() + limit_s
        for at, future in answers:
            with suppress(Exception):  # one that vanishes meanwhile answers nothing
                found[at] = future.result(timeout=max(0.1, deadline - time.monotonic()))
            future.release()
        return found

    def begin(self, worker: str, work: Callable[..., str], *arguments: object) -> None:
        """Begin a call whose end `ended` returns."""
        future = self._submit(worker, work, arguments)
        self._futures[worker] = future
        future.add_done_callback(lambda done: self._ended.put((worker, done)))

    def _submit(self, worker: str, work: Callable[..., str], arguments: Sequence[Any]) -> Any:
        self._number += 1
        return self._client.submit(
            work,
            *arguments,
            key=f"grader-{self._client.id}-{self._number}",
            workers=[worker],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )

    def forget(self, worker: str) -> None:
        """Give up what a worker does: it is gone."""
        future = self._futures.pop(worker, None)
        if future is not None:
            with suppress(Exception):
                future.cancel(force=True)

    def ended(self, limit_s: float) -> list[Ended]:
        """Return the calls that have ended; wait for one, but no longer than `limit_s`."""
        found: list[Ended] = []
        with suppress(queue.Empty):
            found += self._one(*self._ended.get(timeout=limit_s))
            while True:
                found += self._one(*self._ended.get_nowait())
        return found

    def _one(self, worker: str, future: Any) -> list[Ended]:
        if self._futures.get(worker) != future:
            return []  # it was given up
        del self._futures[worker]
        try:
            text = future.result(timeout=PATIENCE_S)
        except Exception as error:
            return [Ended(worker, None, f"{type(error).__name__}: {str(error)[:300]}")]
        finally:
            future.release()
        return [Ended(worker, text if isinstance(text, str) else None, "it returned no text")]
