"""Fork the grader's processes from one that has imported torch, as most tests have them start.

A check starts a judge and a parent of workers. Each imports torch, which takes most of the time of
a small check. `Popen` here replaces the one of `subprocess`. It has a judge, a parent of workers or
a command of the grader forked by a process that has imported the libraries, and nothing else.
Arguments, environment, folder, descriptors and signals are as they would be; from there on, so is
everything. All other programs start as ever.

The tests that conftest.py names, and all with `pytest --cold`, start each process as users do.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

JUDGE, WORKER, COMMAND = "grader.grading.judge", "grader.worker", "grader.cli"
PYTEST = "pytest"  # of an author, with grader's plugin
LONGEST = 1 << 17  # bytes of a message: arguments and an environment
MOST_DESCRIPTORS = 16
BEHIND = 200  # received descriptors move behind this number, and then to those they should have
COLD = subprocess.Popen

# Simulated, these workers have no torch before a kernel file imports it, and start as ever.
WITHOUT_TORCH = ("numba", "cpu")

FORK = "--fork"  # begins the command line of a process that forks
KINDS = ("judge", "worker")  # a command and pytest are forked by what forks judges

_folder: Path | None = None  # of the sockets of the two processes that fork, once they run
_forkers: list[subprocess.Popen[bytes]] = []
_starts = threading.Lock()  # tests grade in threads


def use(warm: bool) -> None:
    """Have processes of the grader forked from now on, or started as users do."""
    subprocess.Popen = Popen if warm else COLD  # type: ignore[misc]


def path_of_grader() -> Path:
    """Return a folder for the PATH of a shell. Its `grader` is forked while other commands are."""
    if subprocess.Popen is COLD:
        return Path(sys.executable).parent
    folder = _sockets() / "bin"
    if not folder.exists():
        folder.mkdir()
        (folder / "grader").write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -I "{__file__}" "{folder.parent}/judge" "$@"\n'
        )
        (folder / "grader").chmod(0o755)
    return folder


def for_another_process() -> str:
    """Return code by which another program has its processes forked as this one has."""
    if subprocess.Popen is COLD:
        return ""
    return (
        f"import pathlib, sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import warm\n"
        f"warm._folder = pathlib.Path({str(_sockets())!r}); warm.use(True); del sys.path[0]"
    )


class Popen(COLD):
    """A process that another one forked for us, and whose wait status it sends."""

    _forker: socket.socket | None = None

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, *more: Any) -> None:
        _, pass_fds, cwd, env, _, _, shell, *pipes = more[:13]
        variables = dict(os.environ if env is None else env)
        module = None if preexec_fn or shell else _module(args, variables)
        if module is None:
            super()._execute_child(args, executable, preexec_fn, *more)
            return
        message = {
            "argv": [str(word) for word in args],
            "folder": str(cwd or os.getcwd()),
            "variables": variables,
            "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
            "numbers": [0, 1, 2, *sorted(pass_fds)],
            "session": bool(more[-2]),
            "group": more[-1],
        }
        wanted = zip(range(3), (pipes[0], pipes[3], pipes[5]), strict=True)
        streams = [number if pipe == -1 else pipe for number, pipe in wanted]
        self._forker = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._forker.connect(str(_sockets() / ("worker" if module == WORKER else "judge")))
        descriptors = [*streams, *sorted(pass_fds)]
        socket.send_fds(self._forker, [json.dumps(message).encode()], descriptors)
        self.pid = int(self._forker.recv(64))
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._forker is None:
            return super()._try_wait(wait_flags)
        if wait_flags & os.WNOHANG and not select.select([self._forker], [], [], 0)[0]:
            return 0, 0
        status = int(self._forker.recv(64) or signal.SIGKILL)  # none where it was killed itself
        self._forker.close()
        return self.pid, status

    def _internal_poll(self, _deadstate: int | None = None, **more: Any) -> int | None:
        if self._forker is None:
            return super()._internal_poll(_deadstate, **more)
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


def _module(args: Any, variables: Mapping[str, str]) -> str | None:
    """Return the module of the grader that a command line runs, if a forked process may run it."""
    if isinstance(args, str | bytes | Path) or args[0] != sys.executable:
        return None
    isolated = args[1] == "-I"
    words = [str(word) for word in (args[2:] if isolated else args[1:])]
    if words[0] != "-m" or words[1] not in (JUDGE, WORKER, COMMAND, PYTEST):
        return None
    if words[1] == WORKER and (Path(words[3]).name, words[4]) == WITHOUT_TORCH:
        return None
    ours = _for_python(os.environ)
    return words[1] if isolated or _for_python(variables) == ours else None


def _for_python(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Python reads when it starts, and a forked process has read."""
    return {name: text for name, text in variables.items() if name.startswith("PYTHON")}


def _sockets() -> Path:
    """Start the processes that fork, when they are needed. They end with this process."""
    global _folder, _forkers
    with _starts:
        # With none of its own, this is a process that was forked. Tests may have killed them.
        if _folder is None or any(one.poll() is not None for one in _forkers):
            folder = Path(tempfile.mkdtemp(prefix="warm-"))
            _forkers = _started(folder)
            _folder = folder
            atexit.register(_end, _forkers, folder)
        return _folder


def _started(folder: Path) -> list[subprocess.Popen[bytes]]:
    ready, begun = os.pipe()
    # Two programs and not one: a worker looks for the judge's command line among all others'.
    forkers = [
        COLD(
            [sys.executable, "-I", __file__, FORK, str(folder / kind), str(begun)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[begun],
            start_new_session=True,
        )
        for kind in KINDS
    ]
    os.close(begun)
    both = b"".join(iter(lambda: os.read(ready, 1), b""))
    os.close(ready)
    assert both == b"r" * len(forkers)
    return forkers


def _end(forkers: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
    for one in forkers:
        assert one.stdin is not None
        one.stdin.close()
        one.wait()
    shutil.rmtree(folder)


# -- `grader` in a shell


def _as_grader(path: str, words: Sequence[str]) -> NoReturn:
    """Have a command forked with our streams, and end as it does."""
    message = {
        "argv": [sys.executable, "-I", "-m", COMMAND, *words],
        "folder": os.getcwd(),
        "variables": dict(os.environ),
        "blocked": [],
        "numbers": [0, 1, 2],
        "session": False,
        "group": -1,
    }
    asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asked.connect(path)
    socket.send_fds(asked, [json.dumps(message).encode()], [0, 1, 2])
    asked.recv(64)  # its number
    code = os.waitstatus_to_exitcode(int(asked.recv(64) or signal.SIGKILL))
    os._exit(code if code >= 0 else 128 - code)


# -- the processes that fork


def main(path: Path, begun: int) -> None:
    """Import torch, and for a judge what it imports besides; then fork on request."""
    global _folder
    _folder = path.parent
    use(warm=True)
    gc.disable()
    import torch  # noqa: F401

    if path.name == "judge":
        import typer  # noqa: F401

        import grader.grading.answers
        import grader.grading.check
        import grader.grading.plugin
        import grader.grading.result
        import grader.grading.steps.correctness.compare  # noqa: F401

    _serve(path, begun)


def _serve(path: Path, begun: int) -> NoReturn:
    gc.freeze()
    gc.enable()
    woken, waker = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    listener.listen(64)
    os.write(begun, b"r")
    os.close(begun)
    forked: dict[socket.socket, int] = {}
    while True:
        ready, _, _ = select.select([0, woken, listener, *forked], [], [])
        if 0 in ready:
            os._exit(0)
        if woken in ready:
            os.read(woken, 4096)
        for asked, pid in list(forked.items()):
            if (ended := os.waitpid(pid, os.WNOHANG))[0]:
                with contextlib.suppress(BrokenPipeError):
                    asked.send(str(ended[1]).encode())
            elif asked in ready:
                # Its parent has ended. A judge would get this signal, and the others ignore it.
                os.kill(pid, signal.SIGINT)
            else:
                continue
            del forked[asked]
        if listener in ready:
            asked, _ = listener.accept()
            if pid := _fork(asked):
                forked[asked] = pid


def _fork(asked: socket.socket) -> int | None:
    """Fork the process that is asked for; return its number, or None if the asking one is gone."""
    text, received, _, _ = socket.recv_fds(asked, LONGEST, MOST_DESCRIPTORS)
    if not text:
        return None
    message = json.loads(text)
    if pid := os.fork():
        for descriptor in received:
            os.close(descriptor)
        with contextlib.suppress(BrokenPipeError):
            asked.send(str(pid).encode())
        return pid
    status = 1
    try:
        argv = message.pop("argv")
        use(warm=WORKER not in argv)  # a worker starts none, and its kernel file could look
        _become(received, **message)
        status = _run(argv[1:])
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(status)


def _become(
    received: Sequence[int],
    folder: str,
    variables: dict[str, str],
    blocked: Sequence[int],
    numbers: Sequence[int],
    session: bool,
    group: int,
) -> None:
    """Make of this forked process the one that was asked for."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    moved = [fcntl.fcntl(one, fcntl.F_DUPFD, BEHIND) for one in received]
    os.closerange(0, BEHIND)
    for descriptor, number in zip(moved, numbers, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  they stay open to the end
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    shown = {"encoding": "utf-8", "errors": "backslashreplace"}
    sys.stderr = open(2, "w", 1, **shown, closefd=False)  # noqa: SIM115
    if session:
        os.setsid()
    if group >= 0:
        os.setpgid(0, group)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _run(words: Sequence[str]) -> int:
    """Run a module as `python` does with these words behind it, and return the exit status."""
    if words[0] == "-I":
        words = words[1:]
    else:
        sys.path.insert(0, os.getcwd())
    sys.argv = list(words[1:])
    try:
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    if sys.argv[1] == FORK:
        main(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        _as_grader(sys.argv[1], sys.argv[2:])
