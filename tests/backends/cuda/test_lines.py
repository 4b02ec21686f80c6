"""`#line` directives: each line of a source is that of the kernel file which holds it."""

from __future__ import annotations

import re

from grader.backends.cuda.lines import numbered

FILE = '''"""A kernel."""

from cuda.core import Program

HEAD = r"""
#define SQUARE(a) \\
    ((a) * (a))
"""
SOURCE = r"""extern "C" __global__ void first(float* out) {
    out[0] = SQUARE(1.0f);
}
"""
TEMPLATE = """
extern "C" __global__ void second(float* out) {
    out[0] = VALUE;
    out[1] = SQUARE(2.0f);
}
"""
'''


def said_lines(code: str) -> dict[str, int]:
    """Return the line that a compiler names for each line of a source."""
    found, line = {}, 1
    for text in code.split("\n"):
        if directive := re.fullmatch(r'#line (\d+) "kernel.py"', text):
            line = int(directive[1])
        else:
            found[text.strip()] = line
            line += 1
    return found


def test_a_string_of_the_file_has_its_lines():
    code = FILE.split('SOURCE = r"""')[1].split('"""')[0]
    lines = said_lines(numbered(code, FILE.splitlines()))
    assert lines['extern "C" __global__ void first(float* out) {'] == 9
    assert lines["out[0] = SQUARE(1.0f);"] == 10


def test_strings_that_are_put_together_and_changed_keep_their_lines():
    head = FILE.split('HEAD = r"""')[1].split('"""')[0]
    template = FILE.split('TEMPLATE = """')[1].split('"""')[0].replace("VALUE", "3.0f")
    lines = said_lines(numbered(head + template, FILE.splitlines()))
    assert lines["((a) * (a))"] == 7
    assert lines["out[0] = 3.0f;"] == 15
    assert lines["out[1] = SQUARE(2.0f);"] == 16


def test_no_directive_cuts_a_macro_in_two():
    code = "#define TWICE \\\n    out[1] = SQUARE(2.0f);"
    assert "\\\n#line" not in numbered(code, FILE.splitlines())


def test_a_source_from_elsewhere_stays_as_it_is():
    code = "__global__ void elsewhere() {\n}\n"
    assert numbered(code, FILE.splitlines()) == code
