"""Draw the rooms of the library by their imports: each stands below all rooms that it uses.

python -m benchmarks.rooms
"""

from __future__ import annotations

import ast
from functools import cache
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.drawing import BLUE, GREY
from benchmarks.files import write_whole
from benchmarks.pages import DOCS

PICTURE = DOCS / "figures" / "rooms.svg"
SOURCE = DOCS.parent / "src" / "neuralrules"
# The result of each room, in words that fit into its box.
WORDS = {
    "_io": "pages, bars, whole files",
    "_task": "classes or numbers, loss",
    "_expression": "trees of operations",
    "_data": "Encoder, Rows",
    "_rules": "trees, Rules",
    "_network": "Network, Constraints",
    "_engine": "outputs, Adam steps",
    "_training": "a trained Network",
    "_fitted": "Fitted: the model as a value",
    "_fitting": "the one fit",
    "_reading": "texts, explanations",
    "_charts": "data of charts",
    "_files": "safe files",
    "_compare": "what changed",
    "_simplify": "smaller, rounder",
    "_counterfactual": "smallest change",
    "_stream": "fits on Parquet",
    "_export": "ONNX, SQL, Python",
    "_report": "one HTML page",
    "_estimators": "scikit-learn's interface",
    "_cluster": "workers in step",
    "plot": "displays",
    "ray": "fits on a cluster",
    "_cli": "commands",
}
WIDTH, BOX, HEIGHT, GAP = 880, 160, 44, 28
HEART = "_fitted"


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def uses() -> dict[str, frozenset[str]]:
    """The rooms that each room imports from. The package and its version are no rooms."""
    found: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        room = room_of(path)
        if room in ("__init__", "__main__", "_version"):
            continue
        own = found.setdefault(room, set())
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "neuralrules."
            ):
                own.add((node.module or "").split(".")[1])
    return {room: frozenset(own & set(found)) - {room} for room, own in found.items()}


@cache
def level(room: str) -> int:
    """The level of a room: one more than the highest level of the rooms that it uses."""
    return 1 + max((level(other) for other in uses()[room]), default=0)


def rows() -> list[list[str]]:
    """The rooms of each level, in the order of `WORDS`."""
    order = list(WORDS)
    ordered = sorted(uses(), key=lambda room: (level(room), order.index(room)))
    return [list(group) for _, group in groupby(ordered, key=level)]


def places() -> dict[str, tuple[float, float]]:
    """The middle of each box."""
    return {
        room: (
            WIDTH / 2 + (place - (len(row) - 1) / 2) * (BOX + GAP / 2),
            HEIGHT / 2 + 2 + number * (HEIGHT + GAP),
        )
        for number, row in enumerate(rows())
        for place, room in enumerate(row)
    }


def needed(room: str) -> list[str]:
    """The rooms that a room uses directly and through no other room; these get arrows."""
    direct = uses()[room]
    return sorted(one for one in direct if not any(one in reach(other) for other in direct))


@cache
def reach(room: str) -> frozenset[str]:
    """All rooms that a room uses, directly or through others."""
    return uses()[room].union(*(reach(other) for other in uses()[room]))


def svg() -> str:
    where = places()
    height = max(y for _, y in where.values()) + HEIGHT / 2 + 2
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" text-anchor="middle">',
        "<title>The rooms of the library: each uses only those above it</title>",
        f'<rect width="{WIDTH}" height="{height:g}" fill="#fff"/>',
    ]
    for room, (x, y) in where.items():
        for other in needed(room):
            above, top = where[other][0], where[other][1] + HEIGHT / 2
            bottom = y - HEIGHT / 2
            lines.append(
                f'<path d="M{above:g} {top:g}C{above:g} {top + GAP:g} {x:g} {bottom - GAP:g} '
                f'{x:g} {bottom:g}" fill="none" stroke="{GREY}" stroke-width="1.2"/>'
            )
    for room, (x, y) in where.items():
        lines += box(room, x, y)
    return "\n".join([*lines, "</svg>", ""])


def box(room: str, x: float, y: float) -> list[str]:
    fill, text, small = ("#fff", BLUE, "#333") if room != HEART else (BLUE, "#fff", "#fff")
    wide = BOX + 50 if room == HEART else BOX
    return [
        f'<rect x="{x - wide / 2:g}" y="{y - HEIGHT / 2:g}" width="{wide}" height="{HEIGHT}" '
        f'rx="6" fill="{fill}" stroke="{BLUE}" stroke-width="1.5"/>',
        f'<text x="{x:g}" y="{y - 4:g}" font-size="14" font-weight="bold" fill="{text}">'
        f"{escape(room)}</text>",
        f'<text x="{x:g}" y="{y + 13:g}" font-size="11" fill="{small}">'
        f"{escape(WORDS[room])}</text>",
    ]


if __name__ == "__main__":
    write_whole(PICTURE, svg())
