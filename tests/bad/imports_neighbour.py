"""Imports a file that lies beside it."""

from copies import copy  # noqa: F401
