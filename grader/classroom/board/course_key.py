"""The secret that turns logins of a class into pseudonyms.

Only the instructor holds it: without it nobody can try which login makes which pseudonym.
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from grader.model import UsageError, create_file

KEY_BYTES = 32


def new_course_key(path: Path) -> None:
    """Write a new course key, which only its owner may read. Raises UsageError."""
    try:
        create_file(path, f"{secrets.token_hex(KEY_BYTES)}\n".encode(), 0o600)
    except OSError as error:
        raise UsageError(
            f"The course key {path} cannot be written: {error.strerror}.",
            "Name a new file: with another key, everybody's pseudonym would change.",
        ) from None


def course_key(path: Path) -> bytes:
    """Read a course key. Raises UsageError."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise UsageError(
            f"The course key {path} cannot be read: {error.strerror}.",
            "`grader keys new` makes one.",
        ) from None
    except UnicodeDecodeError:
        text = ""
    if not re.fullmatch(rf"[0-9a-f]{{{2 * KEY_BYTES}}}", text):
        raise UsageError(
            f"{path} holds no course key: {2 * KEY_BYTES} hexadecimal digits.",
            "`grader keys new` makes one.",
        )
    return bytes.fromhex(text)
