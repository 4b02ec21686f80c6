"""Put the course into the wheel; pyproject.toml has everything else.

exercises/, puzzles/ and solutions/ stay at the top of the repository. In a wheel they lie in
grader/course/installed/, from where `grader init` makes a learner's folder.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
COURSE = ("exercises", "puzzles", "solutions", "course.toml", "LICENSE")
# Only `grader verify` needs the last two: they are half of all that a wheel would hold.
UNWANTED = shutil.ignore_patterns("__pycache__", ".*", "wrong_*", "survivors.toml")


class WithCourse(build_py):
    """Build the package, and copy the course beside grader/course/installed.py."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # an editable installation finds the course in the clone
            return
        target = Path(self.build_lib, "grader", "course", "installed")
        shutil.rmtree(target, ignore_errors=True)  # of an earlier build
        target.mkdir(parents=True)
        for name in COURSE:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, target / name, ignore=UNWANTED)
            else:
                shutil.copyfile(source, target / name)


setup(cmdclass={"build_py": WithCourse})
