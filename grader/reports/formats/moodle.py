"""Moodle's grade import: CSV with a column that names the student, and one for each exercise.

Moodle asks which column names the user (`Map from`), and to which field it belongs (`Map to`), then
which grade item each other column is for: docs.moodle.org, "Grade import".
"""

from __future__ import annotations

import csv
import io
from enum import StrEnum

from grader.model import texts
from grader.reports.formats.gradebooks import scaled
from grader.reports.formats.scores import Graded, scores


class Identity(StrEnum):
    """The field of a Moodle user that logins of the class are."""

    EMAIL = "email"
    USERNAME = "username"
    IDNUMBER = "idnumber"


# The titles of these columns in a file that Moodle exported.
_TITLES = {
    Identity.EMAIL: "Email address",
    Identity.USERNAME: "Username",
    Identity.IDNUMBER: "ID number",
}


def document(graded: Graded, by: Identity | None = None, total: str = "") -> str:
    """Return a row for each student; `total` names a column for the sum over all exercises.

    `by` is the field that names students: without it the e-mail address if every login is one, else
    the user name. A cell without points is empty, which Moodle reads as no grade.
    """
    of_class = scores(graded)
    if by is None:
        emails = all("@" in login for login in of_class.points)
        by = Identity.EMAIL if emails else Identity.USERNAME
    names = sorted(of_class.exercises)
    columns = [*names, total] if total else names
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([_TITLES[by], *map(texts.cell, columns)])
    for student in sorted(of_class.points):
        mine = of_class.with_total(student, total)
        cells = [scaled(*mine[name], None) if name in mine else "" for name in columns]
        writer.writerow([texts.cell(student), *cells])
    return texts.without_commands(text.getvalue())
