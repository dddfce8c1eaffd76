"""HTML pages from jinja2 templates, which escape all data."""

from __future__ import annotations

import base64
import hashlib
import html
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralrules._io._checks import import_extra
from neuralrules._io._writing import checked_path, whole_file

if TYPE_CHECKING:
    import jinja2

# Characters that change the direction of all text after them. Pages show their codes instead:
# otherwise a column's name could make the rest of a rule read backwards.
TURNS = {code: f"⟨U+{code:04X}⟩" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def import_jinja2(needed_by: str) -> Any:
    """jinja2, or an error that says how to get it."""
    problem = f"{needed_by} fills templates with jinja2, and jinja2 is not installed."
    return import_extra("jinja2", "report", problem)


def escaping_environment(jinja: Any, package: str) -> jinja2.Environment:
    """The jinja2 environment with a package's templates and the shared ``page.html``."""
    packages = (package, "neuralrules._io")
    result: jinja2.Environment = jinja.Environment(
        loader=jinja.ChoiceLoader([jinja.PackageLoader(one) for one in packages]),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return result


def digest(text: str) -> str:
    """The hash of an inline block, by which a content security policy allows the block."""
    code = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{code}"


def page_bytes(page: str) -> bytes:
    """A page as bytes of UTF-8. A lone surrogate in a name becomes a question mark."""
    return page.translate(TURNS).encode("utf-8", errors="replace")


def plain_page(package: str, template: str, data: dict[str, Any], path: Any) -> Path:
    """Write a page of words and tables that needs no other files.

    `template` is a file of `package` that extends ``page.html`` and shows `data`. Messages
    suggest its name as the name of the page.
    """
    jinja = import_jinja2("to_html")
    target = checked_path(path, template)
    whole = rendered(jinja, package, template, data)
    with whole_file(target) as file:
        file.write(whole)
    return target


def framed_page(package: str, template: str, data: dict[str, Any], title: str) -> str | None:
    """A page as in `plain_page`, as an HTML frame that keeps a notebook's style out of it.

    Returns None without jinja2, so that the notebook shows text.
    """
    try:
        jinja = import_jinja2("_repr_html_")
    except ImportError:
        return None
    page = html.escape(rendered(jinja, package, template, data).decode())
    style = "width: 100%; height: 40em; border: 1px solid #8888; resize: vertical"
    return f'<iframe title="{html.escape(title)}" style="{style}" srcdoc="{page}"></iframe>'


def rendered(jinja: Any, package: str, template: str, data: dict[str, Any]) -> bytes:
    """A whole page. Its content security policy lets it load nothing and run nothing."""
    from markupsafe import Markup

    style = files("neuralrules._io").joinpath("templates", "page.css").read_text("utf-8")
    policy = f"default-src 'none'; style-src '{digest(style)}'; base-uri 'none'"
    page = escaping_environment(jinja, package).get_template(template)
    return page_bytes(page.render(data, policy=policy, style=Markup(style)))
