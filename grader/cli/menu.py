"""The list of commands: panels in `--help`, and what to type instead of a command that is none."""

from __future__ import annotations

import difflib
from typing import Any

import typer
from typer.core import TyperGroup

from grader.model import GraderError, UsageError

LEARNERS = "For learners"
AUTHORS = "For authors of exercises"
INSTRUCTORS = "For instructors"

_CHECK = "`grader check NAME` grades your kernel file"
# Commands of other courses and graders, and what does their work here.
INSTEAD = {
    "start": "`grader init` makes a folder to learn in",
    "run": _CHECK,
    "test": _CHECK,
    "submit": _CHECK,
    "progress": "`grader status` shows what is done",
    "ls": "`grader list` lists the exercises",
    "hints": "`grader hint NAME` shows the next hint",
    "restart": "`grader reset NAME` begins an exercise again",
}


def _settled(params: list[Any]) -> list[Any]:
    """Set flags without a default to False: for None, typer would import pydantic, which is slow.

    Those are typer's own flags, such as --help. The import takes a quarter of a command's time.
    """
    for param in params:
        if getattr(param, "is_flag", False) and param.default is None:
            param.default = False
    return params


def _exercise_of(query: str) -> str:
    from grader.course import catalog

    try:
        return catalog.find_entry(catalog.find_root(), query).name
    except GraderError:
        return ""


class Menu(TyperGroup):
    """The commands by panel, as plain text: `--help` must answer at once, and rich takes a while.

    A command's panel is its `rich_help_panel`.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        return _settled(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _settled(command.get_params(ctx))
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                panel = getattr(command, "rich_help_panel", None) or LEARNERS
                text = command.get_short_help_str(limit=10 * formatter.width)
                panels.setdefault(panel, []).append((name, text))
        widest = max(len(name) for rows in panels.values() for name, _ in rows)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl([(f"{name:<{widest}}", text) for name, text in rows])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if error.message or error.param is None or error.ctx is None:
                raise  # its text says what is wrong
            word = error.param.metavar or error.param.name
            path = error.ctx.command_path
            raise UsageError(
                f"`{path}` needs {word}.",
                f"`{path} --help` says more"
                + ("; `grader list` names the exercises." if word == "NAME" else "."),
            ) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name in self.commands or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if meant := _exercise_of(name):
            raise UsageError(
                f"{name!r} is an exercise, not a command.",
                f"`grader check {meant}` grades it, `grader watch {meant}` starts the loop at it.",
            )
        close = difflib.get_close_matches(name, self.commands, n=1)
        other = f"Did you mean `grader {close[0]}`?" if close else "`grader --help` lists them all."
        meant = f"{INSTEAD[name]}." if name in INSTEAD else other
        raise UsageError(f"There is no command {name!r}.", meant)
