"""Settings of the documentation site, which `make docs` builds with Sphinx.

The pages are the files of the repository, where they are. `spine.py` orders them and adds what only
the site shows; no exercise is named here.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "kernel-grader"
html_title = "kernel-grader"
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "spine", "docstrings", "flowchart", "accessible"]
root_doc = "README"
include_patterns = [
    "*.md",
    "classroom/*.md",
    "docs/*.md",
    "docs/site/api.md",
    "exercises/*/README.md",
    "puzzles/*.md",
    "puzzles/*/README.md",
]
# Folders without a page: Sphinx need not walk them.
exclude_patterns = [".*", "bench", "build", "grader", "solutions", "tests", "*.egg-info"]

# Links to headings are those that GitHub makes, and each must lead somewhere.
myst_heading_anchors = 6
myst_fence_as_directive = ["mermaid"]

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
# A site is opened at index.html, and its first page is README.
templates_path = ["templates"]
html_additional_pages = {"index": "to_readme.html"}
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
toc_object_entries = False
