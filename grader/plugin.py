"""The pytest plugin under the name by which `pytest -p grader.plugin` knows it."""

from grader.grading.plugin import *  # noqa: F403
