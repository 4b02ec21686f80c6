"""Grading from a notebook or a program: a kernel in, a typed result out."""

from grader.cli.notebook.checked import Checked
from grader.cli.notebook.judge import Judge, check
from grader.cli.notebook.magic import load_ipython_extension

__all__ = ["Checked", "Judge", "check", "load_ipython_extension"]
