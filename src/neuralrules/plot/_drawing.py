"""Code that all displays share: loading matplotlib, colours and checks.

The colours are those of Okabe and Ito, which colour-blind people can tell apart. Lightness,
hatches, markers and line styles show the same differences, so that a greyscale print stays
readable.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._charts._chart import Axis
from neuralrules._charts._texts import plain_value

BLUE, ORANGE, SKY, GREY = "#0072B2", "#D55E00", "#56B4E9", "#666666"
YELLOW, GREEN, PURPLE, LIGHT = "#F0E442", "#009E73", "#CC79A7", "#9A9A9A"


def import_pyplot() -> Any:
    """Import matplotlib.pyplot, or raise an error that says how to install matplotlib."""
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
    """Draw a legend below the axes and their labels, where it hides nothing."""
    height = ax.get_window_extent().height * 72 / ax.figure.dpi
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -42 / height),
        ncols=n_columns,
        frameon=False,
        fontsize="small",
    )


def literally(text: str) -> str:
    """Escape the dollar signs of a text: matplotlib reads text between them as a formula."""
    return text.replace("$", r"\$")


def check_output(outputs: list[Any], output: Any, default: int) -> int:
    """The place of a class or of a target's number among outputs; `default` for None."""
    if output is None:
        return default
    for place, known in enumerate(outputs):
        if type(output) is not np.ndarray and bool(known == output):
            return place
    raise ValueError(
        f"output={output!r} is not one of the outputs of this model. "
        f"Give one of {', '.join(repr(plain_value(known)) for known in outputs)}."
    )


def check_kind(parameter: str, value: Any, kind: type, source: str) -> None:
    """Refuse a value that is not of type `kind`; `source` is the call that returns one."""
    if not isinstance(value, kind):
        raise TypeError(
            f"{parameter}={value!r} must be of the kind {kind.__name__}, as of {source}."
        )


def show_axis(ax: Any, axis: Axis, *, vertical: bool = False) -> None:
    """Set the label, the ticks, the ends and the scale of one axis of a plot."""
    side = "y" if vertical else "x"
    if axis.is_log:
        getattr(ax, f"set_{side}scale")("log")
        getattr(ax, f"{side}axis").set_minor_formatter(lambda *_: "")
    getattr(ax, f"set_{side}ticks")(axis.ticks, [literally(text) for text in axis.texts])
    getattr(ax, f"set_{side}lim")(*axis.ends)
    getattr(ax, f"set_{side}label")(literally(axis.label))
