"""The loop on the whole screen of a terminal, on textual."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Static

from grader.cli.loop import drawing
from grader.cli.loop.editors import editor, none_set
from grader.cli.loop.session import Session
from grader.cli.loop.state import Loop, Transition, View

TICK_S = 0.25  # between two looks at the seconds of the current step
TOP, RULE = 2, 1  # lines
SCROLLS = {
    "up": "scroll_up",
    "down": "scroll_down",
    "pageup": "scroll_page_up",
    "pagedown": "scroll_page_down",
    "space": "scroll_page_down",
    "home": "scroll_home",
    "end": "scroll_end",
}


class Happened(Message):
    """A transition from another thread."""

    def __init__(self, transition: Transition) -> None:
        super().__init__()
        self.transition = transition


class LoopApp(App[None]):
    """The full screen: two lines above, the report or a page, the verdict and next step below.

    `open_session` gets this front end and what posts transitions to it.
    """

    ENABLE_COMMAND_PALETTE = False
    INLINE_PADDING = 0
    CSS = """
    Screen { background: ansi_default; color: ansi_default; layout: vertical; }
    Static { background: ansi_default; color: ansi_default; }
    #top { height: 2; }
    #middle { height: 1fr; background: ansi_default; scrollbar-size-vertical: 1; }
    #bottom { height: auto; border-top: solid ansi_bright_black; }
    """
    BINDINGS: ClassVar = [
        Binding("ctrl+c", "leave", priority=True),
        Binding("ctrl+q", "leave", priority=True),
        Binding("ctrl+z", "suspend_process"),
    ]

    def __init__(
        self, open_session: Callable[[LoopApp, Callable[[Transition], None]], Session]
    ) -> None:
        super().__init__(ansi_color=True)
        self._open_session = open_session
        self.session: Session
        self.fault: Exception | None = None

    def compose(self) -> ComposeResult:
        """Lay out the three parts."""
        yield Static(id="top")
        with VerticalScroll(id="middle", can_focus=False):
            yield Static(id="body")
        yield Static(id="bottom")

    def on_mount(self) -> None:
        """Start the session, and the clock of the current step."""
        self.session = self._open_session(self, self.post)
        self.set_interval(TICK_S, self._tick)
        if self._driver is not None and not self.is_headless:
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda *_: self.call_later(self.end))
        self.session.start()

    def post(self, transition: Transition) -> None:
        """Have a transition happen; may be called from any thread."""
        self.post_message(Happened(transition))

    def on_happened(self, message: Happened) -> None:
        """Let a transition from another thread happen."""
        self.session.happen(message.transition)

    def on_key(self, event: events.Key) -> None:
        """Scroll, or press a key of the loop."""
        event.prevent_default()
        if event.key in SCROLLS and self.session.loop.view is not View.LIST:
            getattr(self.query_one("#middle"), SCROLLS[event.key])(animate=False)
            return
        self.session.press(event.key)

    def on_resize(self) -> None:
        """Draw for the new size."""
        if hasattr(self, "session"):
            self.call_after_refresh(self._redraw)

    def _redraw(self) -> None:
        self._draw(self.session.loop, to_top=False)

    def show(self, before: Loop, after: Loop) -> None:
        """Draw the state; another page or exercise begins at its top."""
        moved = (before.view, before.page, before.current, before.whole) != (
            *(after.view, after.page, after.current, after.whole),
        )
        self._draw(after, to_top=moved or after.answers is not before.answers)

    @property
    def width(self) -> int:
        """The characters of a line, less one for the scroll bar."""
        return max(self.size.width - 1, 20)

    def _draw(self, loop: Loop, to_top: bool) -> None:
        width = self.width
        bottom = drawing.bottom(loop, width, self.session.elapsed_s)
        height = self.size.height - TOP - RULE - len(bottom.plain.splitlines())
        self.query_one("#top", Static).update(drawing.top(loop, width))
        self.query_one("#body", Static).update(drawing.body(loop, width, max(height, 1)))
        self.query_one("#bottom", Static).update(bottom)
        if to_top:
            self.query_one("#middle").scroll_home(animate=False)

    def _tick(self) -> None:
        if not self.is_headless and not os.isatty(0):
            self.end()  # a terminal that vanished without a signal, as of a program that drove it
        loop = self.session.loop
        if drawing.own_run(loop) is not None:
            bottom = drawing.bottom(loop, self.width, self.session.elapsed_s)
            self.query_one("#bottom", Static).update(bottom)

    def edit(self, path: Path) -> str:
        """Leave the screen to an editor; return a note where none is opened."""
        command = editor()
        if not command:
            return none_set(path)
        try:
            with self.suspend():
                subprocess.run([*command, str(path)], stderr=sys.__stderr__, check=False)
        except SuspendNotSupported:
            return "This terminal cannot be left to an editor: open the file beside the loop."
        except OSError as error:
            return f"The editor {command[0]} cannot be started: {error.strerror}."
        return ""

    def _handle_exception(self, error: Exception) -> None:
        # textual prints it, behind the screen, and `run` returns as if nothing had happened.
        self.fault = self.fault or error
        super()._handle_exception(error)

    def end(self) -> None:
        self.exit()

    def action_leave(self) -> None:
        """End the loop, whatever is in view."""
        self.exit()
