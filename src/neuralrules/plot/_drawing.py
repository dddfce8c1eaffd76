"""What the displays share: matplotlib, colours, short and safe texts, and checks.

The colours are those of Okabe and Ito, which colour-blind people tell apart; lightness,
hatches, markers and line styles say the same again for a greyscale print.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from neuralrules._data._columns import Category
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._names import column_label
from neuralrules._reading._numbers import number

BLUE, ORANGE, SKY, GREY = "#0072B2", "#D55E00", "#56B4E9", "#666666"
YELLOW, GREEN, PURPLE, LIGHT = "#F0E442", "#009E73", "#CC79A7", "#9A9A9A"
# Classes differ in marker and in colour.
MARKERS = ("o", "x", "^", "s", "+", "D", "v", "*")
INKS = (BLUE, ORANGE, "black", GREY)
NAME_LENGTH = 40  # characters of a name in a picture
LABEL_LENGTH = 52  # characters of a sentence beside a bar


def import_pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "Displays are drawn with matplotlib, which is not installed. "
            'Install it with: pip install "neuralrules[plots]"'
        ) from error
    return pyplot


def axes_to_draw_on(ax: Any, size: tuple[float, float]) -> Any:
    """The axes given, or those of a new figure of `size` (width, height) in inches."""
    pyplot = import_pyplot()
    if ax is None:
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    if not hasattr(ax, "spines"):
        raise TypeError(
            f"ax={ax!r} must be one matplotlib Axes, as of plt.subplots()[1], or None for a "
            "new figure."
        )
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def legend_below(ax: Any, handles: list[Any], n_columns: int) -> None:
    """A legend under the axes and their labels, where it can hide nothing."""
    height = ax.get_window_extent().height * 72 / ax.figure.dpi
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -42 / height),
        ncols=n_columns,
        frameon=False,
        fontsize="small",
    )


def shortened(text: Any, length: int = NAME_LENGTH) -> str:
    """A text on one line, its end cut off with … where it is longer than `length`."""
    line = one_line(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def short_name(name: Any, length: int = NAME_LENGTH) -> str:
    """A name cut in the middle: long names often differ only at one of their ends."""
    line = one_line(name)
    if len(line) <= length:
        return line
    tail = (length - 1) // 3
    return line[: length - 1 - tail].rstrip() + "…" + line[-tail:].lstrip()


def short_label(column: str, length: int = NAME_LENGTH) -> str:
    """A column's name where it stands alone, cut in the middle."""
    return short_name(column_label(column), length)


def one_line(text: Any) -> str:
    """Line breaks and what no font can show become spaces."""
    printable = "".join(sign if sign.isprintable() else " " for sign in str(text))
    return " ".join(printable.split())


def literally(text: str) -> str:
    """A text for matplotlib, which would read what stands between dollars as a formula."""
    return text.replace("$", r"\$")


def with_minus(value: float, precision: int = 4) -> str:
    """A number with a minus that is as wide as a plus."""
    return ("−" if value < 0 else "") + number(abs(float(value)), precision)


def signed(value: float, precision: int = 3) -> str:
    """The same with its sign, whatever it is."""
    return ("−" if value < 0 else "+") + number(abs(float(value)), precision)


def with_short_names(fitted: Fitted, length: int = 20) -> Fitted:
    """A copy of a fitted model whose texts have short names of columns and categories."""
    encoder = fitted.encoder
    short_encoder = Encoder(
        names=[short_name(name, length) for name in encoder.names],
        columns=[
            column
            if not isinstance(column, Category) or column.category is None
            else replace(column, category=short_name(column.category, length))
            for column in encoder.columns
        ],
    )
    return replace(fitted, encoder=short_encoder)


def longest_fitting(text_of: Callable[[int], str], length: int) -> str:
    """The text with the most terms, 3 to 1, that fits; else the shortest, cut."""
    for terms in (3, 2, 1):
        text = one_line(text_of(terms))
        if len(text) <= length:
            return text
    return shortened(text, length)


def is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_count(name: str, value: Any, example: int, least: int = 1) -> int:
    if not is_whole(value) or value < least:
        raise ValueError(
            f"{name}={value!r} must be a whole number of at least {least}, for example "
            f"{name}={example}."
        )
    return int(value)


def check_position(name: str, value: Any, n: int, things: str) -> int:
    """A whole number from 0 to n - 1, which is one of n things."""
    if not is_whole(value) or not 0 <= value < n:
        raise ValueError(
            f"{name}={value!r} is not one of the {n} {things}. "
            f"Give a whole number from 0 to {n - 1}."
        )
    return int(value)


def check_output(outputs: list[Any], output: Any) -> int:
    """Place of a class label, or of a target's number, among the outputs of a model."""
    for place, known in enumerate(outputs):
        if type(output) is not np.ndarray and bool(known == output):
            return place
    raise ValueError(
        f"output={output!r} is not one of the outputs of this model. "
        f"Give one of {', '.join(repr(plain_value(known)) for known in outputs)}."
    )


def plain_value(value: Any) -> Any:
    """A NumPy scalar as Python shows it."""
    return value.item() if isinstance(value, np.generic) else value


def output_words(fitted: Fitted, place: int) -> str:
    """What an output stands for: "class malignant", "prediction", "target 1".

    Or, where there is a link, what predictions are made of: "x, where prediction = exp(x)".
    """
    classes = fitted.task.classes
    if classes is not None:
        label = classes[1] if len(classes) == 2 else classes[place]
        return f"class {short_name(plain_value(label), 24)}"
    link, single = fitted.task.loss.link.function, fitted.network.n_outputs == 1
    if link is None:
        return "prediction" if single else f"target {place}"
    return f"x, where prediction{'' if single else f' of target {place}'} = {link}(x)"


def class_looks(place: int) -> dict[str, Any]:
    """Marker and colour of a class: different for the first 32."""
    turn, marker = divmod(place, len(MARKERS))
    return {"marker": MARKERS[marker], "color": INKS[(place + turn) % len(INKS)]}


def grey_levels(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Grey of each value, (n, 3): from nearly white for the lowest to black."""
    share = (values - low) / (high - low) if high > low else 0.5 + 0 * values
    return np.repeat((0.97 - 0.97 * share)[:, None], 3, axis=1)


def check_kind(parameter: str, value: Any, kind: type, source: str) -> None:
    """Refuse what is not of a kind; `source` says what makes one."""
    if not isinstance(value, kind):
        raise TypeError(
            f"{parameter}={value!r} must be of the kind {kind.__name__}, as of {source}."
        )
