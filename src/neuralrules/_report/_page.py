"""A fitted model as one HTML page that needs nothing else: no server, no network.

Here what the other modules gather meets the templates, and the file is written.
"""

from __future__ import annotations

import base64
import hashlib
import os
import uuid
from importlib.resources import files
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from neuralrules._report._sections import Given, report_data
from neuralrules._simplify import SimplificationPath
from neuralrules._text import number

if TYPE_CHECKING:
    import jinja2

    from neuralrules._model import NeuralRuleModel

DIGITS = 3  # significant ones of the numbers that people read
# Characters that turn the direction of all text after them: shown, not obeyed, or a
# column's name could make the rest of a rule read backwards.
TURNS = {code: f"⟨U+{code:04X}⟩" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def report(
    model: NeuralRuleModel,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    title: str | None = None,
    simplification: SimplificationPath | None = None,
    n_examples: int = 0,
) -> Path:
    """Write a fitted model as one HTML page, to be read by people.

    Performance, importance, error against size, all rules, and a panel that predicts
    what one types, computed in the page by the model itself. The page loads nothing
    from anywhere else.

    Parameters
    ----------
    model : fitted estimator
    path : str or path
        The file to write. An old file stays until the new one is complete.
    X : array-like or frame of shape (n_rows, n_columns), optional
        Rows to measure on, best such as the model has not seen.
    y : array-like of shape (n_rows,) or (n_rows, n_targets), optional
        Their targets. Without them X still serves for the importance of columns and
        for the what-if panel, but performance and the table of rules are measured on
        the training rows, and the page says so.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows for performance and the table of rules.
    title : str, optional
    simplification : SimplificationPath, optional
        Adds its error against parameters.
    n_examples : int, default=0
        So many rows of X become part of the page, for readers to load into the panel.
        By default none: a page that is passed on should not carry anyone's data.

    Returns
    -------
    pathlib.Path
        The file written.
    """
    check_is_fitted(model)
    jinja = import_jinja2()
    target = checked_path(path)
    check_options(title, simplification, n_examples)
    given = checked_rows(model, X, y, sample_weight, n_examples)
    heading = f"Report of a {type(model).__name__}" if title is None else title
    data = report_data(model, given, heading, simplification)
    page = render(environment(jinja), data).translate(TURNS)
    # A lone surrogate in a name must not cost the report.
    write_whole(target, page.encode("utf-8", errors="replace"))
    return target


def import_jinja2() -> Any:
    """jinja2, or an error that says how to get it."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "report fills templates with jinja2, and jinja2 is not installed. "
            'Install it with: pip install "neuralrules[report]"'
        ) from error
    return jinja2


def checked_path(path: Any) -> Path:
    """The file to write, refused before any work is done on it."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path={path!r} must be the name of a file, for example 'report.html'.")
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(
            f"path={str(path)!r} is a folder. Give the name of a file in it, for example "
            f"{str(target / 'report.html')!r}."
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path={str(path)!r} cannot be written: there is no folder "
            f"{str(target.parent)!r}. Create it first, or give another path."
        )
    return target


def checked_rows(
    model: NeuralRuleModel, X: Any, y: Any, sample_weight: Any, n_examples: int
) -> Given:
    """The rows given, with the columns that the model knows."""
    if X is None and y is not None:
        raise ValueError(
            "y was given without X: the report cannot measure without the rows. Give X too, "
            "or neither for the training rows."
        )
    if y is None and sample_weight is not None:
        raise ValueError(
            "sample_weight was given without X and y: there are no rows to weight. Give all "
            "three, or no sample_weight."
        )
    if X is None:
        if n_examples:
            raise ValueError(
                f"n_examples={n_examples} was given without X: there are no rows to show. "
                "Give X too, or n_examples=0."
            )
        return Given()
    X = model._check_columns(X, reset=False)
    if y is not None:  # or a mistake in them would show only after the slow parts
        model._check_targets(X, y, sample_weight, known=True)
    return Given(X, y, sample_weight, n_examples)


def check_options(title: Any, simplification: Any, n_examples: Any) -> None:
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title={title!r} must be a string or None.")
    if simplification is not None and not isinstance(simplification, SimplificationPath):
        raise TypeError(
            f"simplification={simplification!r} must be a SimplificationPath, as of "
            "model.simplification_path(X, y), or None."
        )
    if not isinstance(n_examples, Integral) or isinstance(n_examples, bool) or n_examples < 0:
        raise ValueError(f"n_examples={n_examples!r} must be a whole number of at least 0.")


def environment(jinja: Any) -> jinja2.Environment:
    """Templates that escape whatever they are given."""
    result: jinja2.Environment = jinja.Environment(
        loader=jinja.PackageLoader("neuralrules._report"),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    result.policies["json.dumps_kwargs"] = {
        "sort_keys": False,
        "ensure_ascii": False,
        "allow_nan": False,
        "separators": (",", ":"),
    }
    result.filters["cell"] = cell_text
    result.filters["plain"] = plain_text
    return result


def cell_text(value: Any, kind: str = "number") -> str:
    """A number as people read it; the script writes its numbers in the same way."""
    if value is None:
        return "–"
    if kind == "share":
        return f"{100 * value:.1f}\N{NARROW NO-BREAK SPACE}%"
    if kind == "degrees":
        return f"{value:.1f}°"
    digits = {"metric": DIGITS + 1, "rough": DIGITS - 1}.get(kind, DIGITS)
    return number(float(value), digits).replace("-", "−")


def plain_text(value: float) -> str:
    """A number as an input holds it: every digit, and no ".0"."""
    return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def render(templates: jinja2.Environment, data: dict[str, Any]) -> str:
    """The page, with a policy that lets only its own style and script in."""
    from markupsafe import Markup

    folder = files("neuralrules._report").joinpath("templates")
    style = folder.joinpath("report.css").read_text("utf-8")
    script = folder.joinpath("report.js").read_text("utf-8")
    policy = (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    template = templates.get_template("report.html")
    return template.render(data, policy=policy, style=Markup(style), script=Markup(script))


def digest(text: str) -> str:
    """The hash by which a content security policy knows an inline block."""
    code = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{code}"


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file at once: no reader, and no kill, ever finds half of it."""
    part = path.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
