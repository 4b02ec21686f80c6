"""Imports a package that does not exist."""

import no_such_package


def copy(x, out):
    no_such_package.copy(x, out)
