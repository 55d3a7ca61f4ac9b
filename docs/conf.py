"""Sphinx configuration. scripts/docs builds the site into docs/build/html."""

import inspect
import re
import sys
from pathlib import Path

import matplotlib

import softwood

matplotlib.use("agg")

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))  # for gallery_order
REPOSITORY = "https://github.com/softwood-learn/softwood"

project = "softwood"
author = "The softwood developers"
copyright = author
version = release = softwood.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["build", "examples/*.ipynb", "examples/*.py"]
templates_path = ["templates"]
root_doc = "index"
highlight_language = "none"  # blocks without a language are formulas, commands and output
default_role = "py:obj"  # `SoftTree` in a docstring is a link

# ---------------------------------------------------------------- pages in Markdown

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # so that links to sections work here as they do on GitHub

# On GitHub, pages link to the source of an example; here, to its page in the gallery.
EXAMPLE = re.compile(r"\]\(((?:\.\./)*)\.\./examples/(\w+)\.py\)")


def link_to_gallery(app, name, source):
    """Replace links to examples."""
    source[0] = EXAMPLE.sub(r"](\1examples/\2.rst)", source[0])


# ---------------------------------------------------------------- API

add_module_names = False
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autodoc_typehints = "none"  # docstrings give the types
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False  # the template lists them
numpydoc_xref_param_type = False
nitpick_ignore_regex = [("py:.*", ".*")]  # names of other packages have no page here

# inherited from scikit-learn, river or PyTorch and documented there
FOREIGN = ("sklearn.", "river.", "torch.", "abc", "builtins", "enum")
KEPT = {"get_params", "set_params", "score"}
LABEL = re.compile(r":ref:`([^`<]+) <[^`]+>`")
QUOTED = re.compile(r"(``.+?``|`.+?`_?)")
FITTED = re.compile(r"\b(\w+)_(?!\w)")


def skip_foreign_members(app, what, name, obj, skip, options):
    """Leave methods of other packages to the documentation of these packages."""
    if inspect.isbuiltin(obj) or inspect.ismethoddescriptor(obj):
        return True
    function = inspect.unwrap(getattr(obj, "__func__", obj.fget if isinstance(obj, property) else obj))
    module = getattr(function, "__module__", None) or ""
    return True if module.startswith(FOREIGN) and name not in KEPT else None


def mend_references(app, what, name, obj, options, lines):
    """Keep the words of references to sections of scikit-learn's pages; names such as classes_ are no references."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "... ")):
            parts = QUOTED.split(LABEL.sub(r"\1", line))
            lines[k] = "".join(part if part.startswith("`") else FITTED.sub(r"\1\\_", part) for part in parts)


# ---------------------------------------------------------------- examples

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery_order.ReadingOrder",
    "doc_module": ("softwood",),
    "backreferences_dir": "api/backreferences",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 0,
    "plot_gallery": "True",
}

# ---------------------------------------------------------------- looks

html_theme = "pydata_sphinx_theme"
html_title = "softwood"
html_static_path = ["static"]
html_css_files = ["softwood.css"]
html_show_sourcelink = False
html_theme_options = {
    "icon_links": [{"name": "GitHub", "url": REPOSITORY, "icon": "fa-brands fa-github"}],
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}


def setup(app):
    """Connect the hooks."""
    app.connect("source-read", link_to_gallery)
    app.connect("autodoc-skip-member", skip_foreign_members)
    app.connect("autodoc-process-docstring", mend_references)
