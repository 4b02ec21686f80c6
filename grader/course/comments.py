"""The comments of a Python file, and its lines without them."""

from __future__ import annotations

import io
import tokenize


def comments_of(source: str) -> list[tokenize.TokenInfo]:
    """List the comments of a Python file. Raises SyntaxError when Python cannot tokenize it.

    From Python 3.12 on the tokenizer rejects some files that `ast` reads. Examples are a control
    character or a letter of several bytes behind a lone carriage return.
    """
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except tokenize.TokenError as error:
        message, (line, column) = error.args
        raise SyntaxError(message, (None, line, column, None)) from error
    except UnicodeError as error:
        raise SyntaxError(str(error)) from error
    return [token for token in tokens if token.type == tokenize.COMMENT]


def without_comments(source: str) -> list[str]:
    """Return the lines, each without its comment and the blanks before it.

    Raises SyntaxError, as `comments_of` does.
    """
    lines = source.split("\n")  # as Python counts them
    for comment in comments_of(source):
        row, column = comment.start
        lines[row - 1] = lines[row - 1][:column].rstrip()
    return lines
