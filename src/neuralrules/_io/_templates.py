"""Pages from jinja2's templates, which escape whatever they are given."""

from __future__ import annotations

import base64
import hashlib
import html
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralrules._io._writing import checked_path, whole_file

if TYPE_CHECKING:
    import jinja2

# Characters that turn the direction of all text after them: shown, not obeyed, or a
# column's name could make the rest of a rule read backwards.
TURNS = {code: f"⟨U+{code:04X}⟩" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def import_jinja2(needed_by: str) -> Any:
    """jinja2, or an error that says how to get it."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            f"{needed_by} fills templates with jinja2, and jinja2 is not installed. "
            'Install it with: pip install "neuralrules[report]"'
        ) from error
    return jinja2


def escaping_environment(jinja: Any, package: str) -> jinja2.Environment:
    """The templates of a package, and the page that plain ones fill."""
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
    """The hash by which a content security policy knows an inline block."""
    code = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{code}"


def page_bytes(page: str) -> bytes:
    """A page as it is written; a lone surrogate in a name must not cost it."""
    return page.translate(TURNS).encode("utf-8", errors="replace")


def plain_page(package: str, template: str, data: dict[str, Any], path: Any) -> Path:
    """Write a page of words and tables that needs nothing else.

    Parameters
    ----------
    package : str
        The package that has the template.
    template : str
        A file that extends ``page.html``; what is written may well have the same name.
    data : dict
        What the template shows.
    path : str or path
    """
    jinja = import_jinja2("to_html")
    target = checked_path(path, template)
    whole = rendered(jinja, package, template, data)
    with whole_file(target) as file:
        file.write(whole)
    return target


def framed_page(package: str, template: str, data: dict[str, Any], title: str) -> str | None:
    """The same page in a frame, for a notebook; none without jinja2, so that text is shown.

    Notebooks have a style of their own, from which the frame keeps the page apart.
    """
    try:
        jinja = import_jinja2("_repr_html_")
    except ImportError:
        return None
    page = html.escape(rendered(jinja, package, template, data).decode())
    style = "width: 100%; height: 40em; border: 1px solid #8888; resize: vertical"
    return f'<iframe title="{html.escape(title)}" style="{style}" srcdoc="{page}"></iframe>'


def rendered(jinja: Any, package: str, template: str, data: dict[str, Any]) -> bytes:
    """A whole page, which may load nothing and run nothing."""
    from markupsafe import Markup

    style = files("neuralrules._io").joinpath("templates", "page.css").read_text("utf-8")
    policy = f"default-src 'none'; style-src '{digest(style)}'; base-uri 'none'"
    page = escaping_environment(jinja, package).get_template(template)
    return page_bytes(page.render(data, policy=policy, style=Markup(style)))
