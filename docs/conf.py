"""The site of the documentation: `make docs` builds it into build/docs; a warning is an error.

It fetches nothing, neither when it is built nor when it is read, also without any server.
"""

import re

from sphinx.application import Sphinx

project = "NAR"
html_title = "NAR"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["pictures"]

# Headings down to the third level can be linked to by the names that GitHub gives them.
myst_heading_anchors = 3

html_theme = "furo"
html_show_sourcelink = False
# Sources of pages would stand in the site a second time.
html_copy_source = False

# A name in single backticks is code in docstrings, as everywhere in the project.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
autodoc_default_options = {"members": True}
autodoc_inherit_docstrings = False


def _link_files(app: Sphinx, name: str, text: list[str]) -> None:
    # A Markdown file that is no page is a file to the site, as every other file that a page names.
    text[0] = re.sub(r"\]\((\.\./[^)#]+\.md)\)", r"](path:\1)", text[0])


def setup(app: Sphinx) -> None:
    """What Sphinx calls."""
    app.connect("source-read", _link_files)
