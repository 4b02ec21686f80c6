"""The files that a release adds for students: README, requirements, settings of git."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from packaging.requirements import InvalidRequirement, Requirement

from grader.classroom.release.pins import STUDENTS
from grader.course import Exercise, Settings, When
from grader.model import UsageError

GITIGNORE = """\
.venv/
__pycache__/
.pytest_cache/
.hypothesis/
.grader/
.grader-update-*/
"""
# Line ends stay as they are, or every file would look changed on Windows.
GITATTRIBUTES = "* -text\n"

_ON_PUSH = {
    "github": (
        "GitHub checks your kernels whenever you push: see the tab Actions. It grades the\n"
        "exercises that the push changed. So a green build may follow a red one while an older\n"
        "exercise still fails: `Run workflow` there grades all, as `grader check --all` does here."
    ),
    "gitlab": (
        "GitLab checks your kernels whenever you push: see Build, Pipelines. It grades the\n"
        "exercises that the push changed. So a green pipeline may follow a red one while an older\n"
        "exercise still fails: `New pipeline` there grades all, as `grader check --all` does here."
    ),
    "classroom50": "Classroom 50 checks your kernels when you submit.",
}

_README = """\
# {title}

Version {version}. You write GPU kernels; `grader check` says whether they are right and
how fast they are. Without a GPU it checks all but the speed, in simulation.

## Set up

You need Linux (or WSL 2 on Windows) and Python 3.11, 3.12 or 3.13. In the folder of this
repository:

```sh
python3 -m venv .venv
. .venv/bin/activate
python -m pip install -r requirements.txt
```

On a machine with an NVIDIA GPU install `requirements-{students}.txt` instead. `grader doctor` lists
what works there and what is missing. In a new terminal, `. .venv/bin/activate` is enough.

## Work

{commands}

Each exercise is a folder with a lesson, `README.md`, and a file that you fill in, `kernel.py`. The
first is [{first}]({shelf}/{first}/).
Commit your kernel files as you go.{checked}

## What is hidden, and what is not

Nothing that grades a kernel is hidden: the tests, the cases and the limits are in this repository.
Each check draws new inputs; nobody knows those of a run that counts beforehand. Change only the
kernel files: the runs that count use the course's own copy of all others.

{solutions}

## When a newer version comes

`grader update FROM` brings lessons, tests and new exercises. FROM is the folder or the repository
of the newer release. It never touches a kernel file that you have worked on. If it prints that the
installed packages have changed:

```sh
python -m pip install --force-reinstall --no-deps -r requirements.txt
python -m pip install -r requirements.txt
```

## Where to ask

Ask your instructor. For trouble with the set-up, attach the output of `grader doctor`; for a check
that you do not understand, attach its whole output.
"""


REQUIREMENTS = "requirements.txt"

LEARNERS_README = """\
# {title}

You write GPU kernels; `grader check` says whether they are right and how fast they are. Without a
GPU it checks all but the speed, in simulation.

## Work

    grader

in this folder starts a loop on the whole screen. It opens the first exercise, and checks your
`kernel.py` whenever you save it. `o` shows the lesson, `?` all keys. Each step is a command, too:

    grader next              the next exercise, and the file to edit
    grader check {first}     grade your kernel.py
    grader hint {first}      one hint; again for the next one
    grader status            what is done, with your points

Each exercise is a folder with a lesson, `README.md`, and a file that you fill in, `kernel.py`. The
first is [{first}]({shelf}/{first}/).

`grader diff NAME` shows what you changed, `grader reset NAME` begins again and keeps a backup in
`.grader/backups/`. `grader --help` lists all commands.

Change only the kernel files. Each check draws new inputs, and the specs decide what is right.

{solutions}
The command is `grader solution NAME`.

## When a newer version comes

    pip install --upgrade kernel-grader
    grader update

It brings lessons, tests and new exercises, and never touches a kernel file that you have worked on.

## For help

`grader doctor` lists what works on this machine, what is missing, and how to fix it.
"""


def requirements(grader: str, extras: Collection[str]) -> str:
    """Return a pip requirements file for the grader, a wheel's path or a requirement.

    `extras` are some of the grader's extras. Raises UsageError for a text that pip would not read.
    """
    if grader.startswith("./"):
        line = f"{grader}[{','.join(sorted(extras))}]" if extras else grader
    else:
        try:
            requirement = Requirement(grader)
        except InvalidRequirement:
            raise UsageError(
                f"--grader {grader!r} is no requirement that pip reads.",
                "Write kernel-grader==VERSION, or kernel-grader @ https://HOST/FILE.whl.",
            ) from None
        requirement.extras |= set(extras)
        line = str(requirement)
    return f"-c constraints.txt\n{line}\n"


def requirement_files(grader: str, extras: frozenset[str]) -> dict[str, bytes]:
    return {
        REQUIREMENTS: requirements(grader, extras).encode(),
        f"requirements-{STUDENTS}.txt": requirements(grader, extras | {STUDENTS}).encode(),
    }


def readme(settings: Settings, exercises: Sequence[Exercise], ci: str | None) -> str:
    """Return the students' README.md. `exercises` are the released ones, at least one."""
    first = exercises[0]
    shown = {
        "grader list": "what there is",
        f"grader show {first.name}": "what an exercise asks for",
        f"grader check {first.name}": "grade your kernel.py",
    }
    widest = max(map(len, shown))
    return _README.format(
        title=settings.title,
        version=settings.version,
        students=STUDENTS,
        commands="\n".join(f"    {line:{widest}}   {what}" for line, what in shown.items()),
        first=first.name,
        shelf=first.folder.parent.name,
        checked=f"\n{_ON_PUSH[ci]}" if ci is not None else "",
        solutions=solutions(settings),
    )


def solutions(settings: Settings) -> str:
    """Say in two sentences that the solutions are not there, and when they are shown."""
    when = {
        When.NOW: "They are published apart from it.",
        When.NEVER: "They are not published.",
        When.ON_PASS: "You get to see one when your own kernel passes.",
        When.AFTER: f"They are published from {settings.solutions.day} on.",
    }[settings.solutions.when]
    return f"The model solutions are not in this repository. {when}"
