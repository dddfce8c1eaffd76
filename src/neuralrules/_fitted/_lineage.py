"""What was done to a model since it grew: by whom, when, with which release.

A model that is put before others must say where it comes from. Every change adds one event,
and files keep them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

GROWN = "grown and trained"
TRAINED = "trained further"
IN_PARTS = "trained in parts"  # by partial_fit: however often, it is one event
REFITTED = "refitted"
SIMPLIFIED = "simplified"
ROUNDED = "rounded"
EDITED = "edited"
READ = "read from text"
DEEDS = (GROWN, TRAINED, IN_PARTS, REFITTED, SIMPLIFIED, ROUNDED, EDITED, READ)

TIME = "SOURCE_DATE_EPOCH"  # as reproducible-builds.org defines it
FORMAT = "%Y-%m-%dT%H:%M:%SZ"
MOST_EVENTS = 200  # of those in between, the oldest are forgotten
LONGEST = 300  # letters of a text


@dataclass(frozen=True)
class Event:
    """One thing that was done to a model.

    Attributes
    ----------
    what : str
        One of `DEEDS`.
    when : str
        In UTC, such as "2026-11-16T15:03:26Z".
    who : str
        The name of the user; empty where there is none.
    version : str
        Release of neuralrules.
    summary : str
        What came of it, in one line.
    n_rows : int
        Rows that it was done on; 0 for none.
    """

    what: str
    when: str
    who: str
    version: str
    summary: str
    n_rows: int = 0

    def __str__(self) -> str:
        when = self.when.replace("T", " ").replace("Z", " UTC")
        by = f" by {self.who}" if self.who else ""
        on = f", on {self.n_rows:,} rows" if self.n_rows else ""
        return f"{when}  {self.what}{by}: {self.summary}{on} (neuralrules {self.version})"


def event(what: str, summary: str, n_rows: int = 0) -> Event:
    """Something that was done just now.

    Where the environment says `SOURCE_DATE_EPOCH`, that is the time and nobody did it: files
    are the same then, whoever makes them, and whenever.
    """
    from neuralrules._version import __version__

    fixed = fixed_time()
    when = datetime.now(UTC) if fixed is None else fixed
    who = user_name() if fixed is None else ""
    return Event(
        what, when.strftime(FORMAT).rjust(20, "0"), who, __version__, line(summary), int(n_rows)
    )


def fixed_time() -> datetime | None:
    """The time that the environment wants files to have."""
    try:
        return datetime.fromtimestamp(int(os.environ[TIME]), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        return None


def user_name() -> str:
    """Who runs this, as far as the system knows."""
    import getpass

    try:
        return line(getpass.getuser())
    except Exception:  # there are systems, and containers, that know no names
        return ""


def line(text: str) -> str:
    """A text on one line, not too long."""
    return "".join(c if c.isprintable() else "�" for c in text[:LONGEST])


def counted(count: int, what: str) -> str:
    """A number of things: "1 rule", "2 rules"."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def followed(lineage: Sequence[Event], new: Event) -> tuple[Event, ...]:
    """A lineage with one event more; calls of partial_fit after each other are one."""
    last = lineage[-1] if lineage else None
    if last is not None and last.what == new.what == IN_PARTS:
        return (*lineage[:-1], replace(new, n_rows=last.n_rows + new.n_rows))
    kept = tuple(lineage)
    if len(kept) >= MOST_EVENTS:
        kept = (kept[0], *kept[2 - MOST_EVENTS :])
    return (*kept, new)


def lineage_text(lineage: Sequence[Event]) -> str:
    """A lineage as text, one line an event."""
    if not lineage:
        return "What was done to this model is not known: its file does not say."
    return "\n".join(map(str, lineage))
