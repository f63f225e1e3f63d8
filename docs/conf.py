"""Sphinx settings of the documentation: ``make docs`` writes it to build/docs.

Nothing is fetched while it is built or read: formulas become MathML, the reference is written from
the package's own catalogues, and every tutorial is run.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from stemtheory import __version__

project = "stemtheory"
author = "the stemtheory authors"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "docs.build.mathml",
    "docs.build.reference",
]
root_doc = "index"
exclude_patterns = ["build", "_build", "*.template.md"]

html_theme = "furo"
html_title = "stemtheory"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
smartquotes = False  # a pair of hyphens begins an option
templates_path = []

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_in_temp = True  # what the notebooks write is not kept
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# ``name`` in a docstring is the name of something in the same module, in words, and no link.
default_role = "literal"
nitpicky = False
