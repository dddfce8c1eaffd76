"""How Sphinx builds the site: `make docs`, or `make docs-fast` without running the gallery."""

import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from numpydoc import xref
from sphinx.application import Sphinx

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))
sys.path.insert(0, str(DOCS.parent / "src"))

from offline_inventories import write_inventories  # noqa: E402

import neuralrules  # noqa: E402

project = "neuralrules"
author = "the neuralrules developers"
project_copyright = f"2026, {author}"
version = release = neuralrules.__version__

# Classes that have no public name, but a place on the page of returned values.
RETURNED = re.findall(r"autoclass:: (.*)", (DOCS / "returned.rst").read_text())

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # Our own, in docs/_ext.
    "command_line",
    "live_pages",
    "mathml",
    "source_links",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "_templates", "**/GALLERY_HEADER.*", "**.ipynb"]

# Pages: Markdown as GitHub shows it, and Sphinx's directives.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# The reference: numpydoc's sections, one page for each class with all of its methods.
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = True  # types that have a page are links to it: these alone
numpydoc_xref_ignore = "all"
xref.DEFAULT_LINKS.clear()  # nobody needs a page about int
numpydoc_xref_aliases = {
    "Axes": "matplotlib.axes.Axes",
    "DataFrame": "pandas.DataFrame",
    "Figure": "matplotlib.figure.Figure",
    "ModelFileError": "neuralrules.ModelFileError",
    "RandomState": "numpy.random.RandomState",
    "ndarray": "numpy.ndarray",
    "pathlib.Path": "pathlib.Path",
} | {name.rpartition(".")[2]: name for name in RETURNED}
nitpicky = True
default_role = "literal"
add_module_names = False
toc_object_entries_show_parents = "hide"
viewcode_line_numbers = True
viewcode_follow_imported_members = False  # source_links has done so

# Links to the libraries that we name, resolved without a network.
intersphinx_mapping = write_inventories(DOCS / "inventories.txt", DOCS / "_build/inventories")

# Executed examples.
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/tutorials", "../examples/gallery"],
    "gallery_dirs": ["tutorials", "gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": ("_repr_html_",),  # tables and pages, not the names of axes
    "min_reported_time": float("inf"),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,  # a page of other people's scripts
    "show_signature": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "neuralrules"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_domain_indices = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "neuralrules",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo_dark.svg",
        "alt_text": "neuralrules, front page",
    },
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navbar_end": ["release", "theme-switcher"],
    "show_version_warning_banner": False,
    "secondary_sidebar_items": ["page-toc", "sg_download_links"],
    "show_toc_level": 3,
    "collapse_navigation": True,
    "footer_start": ["copyright"],
    "footer_end": ["release"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "choose": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Files beside this folder that pages link to, and the pages of the site that include them.
INCLUDED = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "tables.md",
}


def link_to_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links that work in the repository lead to pages of the site, too."""
    for path, page in INCLUDED.items():
        source[0] = re.sub(rf"\]\((\.\./)+{path}\)", f"](/{page})", source[0])


def describe_pictures(app: Sphinx, docname: str, source: list[str]) -> None:
    """Figures without a title are described by that of their page, not by a file's name."""
    folder, _, stem = docname.rpartition("/")
    if folder in sphinx_gallery_conf["gallery_dirs"]:
        title = next(
            line for line, rule in pairwise(source[0].splitlines()) if rule[:3] == "==="
        )
        source[0] = source[0].replace(
            f":alt: {stem.replace('_', ' ')}\n", f":alt: Picture of: {title}\n"
        )


def name_or_no_header(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """The corner of a table is a cell: a header without a name confuses a screen reader."""
    if "body" in context:
        context["body"] = re.sub(r"<th[^>]*>(<p></p>)?</th>", "<td></td>", context["body"])


def hide_private_makers(
    app: Sphinx,
    what: str,
    name: str,
    obj: object,
    options: object,
    signature: str,
    returned: str,
) -> tuple[str, str] | None:
    """Nobody makes what methods return: their signatures would only distract."""
    return ("", "") if name in RETURNED else None


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-signature", hide_private_makers)
    app.connect("source-read", link_to_pages)
    app.connect("source-read", describe_pictures)
    app.connect("html-page-context", name_or_no_header)
