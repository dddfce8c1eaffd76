"""What was done to a model since it grew: by whom, when, with which release.

A model that is shown to other people must say where it comes from. Every change of the model
adds one event. The file of a model keeps these events.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

GROWN = "grown and trained"
TRAINED = "trained further"
IN_PARTS = "trained in parts"  # consecutive calls of partial_fit are one event
REFITTED = "refitted"
SIMPLIFIED = "simplified"
ROUNDED = "rounded"
EDITED = "edited"
READ = "read from text"
DEEDS = (GROWN, TRAINED, IN_PARTS, REFITTED, SIMPLIFIED, ROUNDED, EDITED, READ)

TIME = "SOURCE_DATE_EPOCH"  # as reproducible-builds.org defines it
FORMAT = "%Y-%m-%dT%H:%M:%SZ"
MOST_EVENTS = 200  # beyond this, the oldest events except the first are forgotten
LONGEST = 300  # characters of a text


@dataclass(frozen=True)
class Event:
    """One thing that was done to a model."""

    what: str  # one of `DEEDS`
    when: str  # in UTC, such as "2026-11-16T15:03:26Z"
    who: str  # the name of the user; empty if it is not known
    version: str  # release of neuralrules
    summary: str  # the result, in one line
    n_rows: int = 0  # rows that the event used

    def __str__(self) -> str:
        when = self.when.replace("T", " ").replace("Z", " UTC")
        by = f" by {self.who}" if self.who else ""
        on = f", on {self.n_rows:,} rows" if self.n_rows else ""
        return f"{when}  {self.what}{by}: {self.summary}{on} (neuralrules {self.version})"


def event(what: str, summary: str, n_rows: int = 0) -> Event:
    """An event that happens now.

    If the environment variable `SOURCE_DATE_EPOCH` is set, the event gets this time and no user
    name. Files are then the same, no matter who makes them and when.
    """
    from neuralrules._version import __version__

    fixed = fixed_time()
    when = (fixed or datetime.now(UTC)).strftime(FORMAT).rjust(20, "0")
    who = "" if fixed else user_name()
    return Event(what, when, who, __version__, line(summary), int(n_rows))


def fixed_time() -> datetime | None:
    """The time that `SOURCE_DATE_EPOCH` in the environment sets, or None."""
    try:
        return datetime.fromtimestamp(int(os.environ[TIME]), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        return None


def user_name() -> str:
    """The name of the user who runs this program; empty if the system does not know it."""
    import getpass

    try:
        return line(getpass.getuser())
    except Exception:  # some systems and containers have no user names
        return ""


def line(text: str) -> str:
    """A text on one line of at most `LONGEST` characters."""
    return "".join(c if c.isprintable() else "�" for c in text[:LONGEST])


def counted(count: int, what: str) -> str:
    """A number of things: "1 rule", "2 rules"."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def followed(lineage: Sequence[Event], new: Event) -> tuple[Event, ...]:
    """A lineage with one more event. Consecutive calls of partial_fit are one event."""
    last = lineage[-1] if lineage else None
    if last is not None and last.what == new.what == IN_PARTS:
        return (*lineage[:-1], replace(new, n_rows=last.n_rows + new.n_rows))
    if len(lineage) >= MOST_EVENTS:
        lineage = (lineage[0], *lineage[2 - MOST_EVENTS :])
    return (*lineage, new)


def lineage_text(lineage: Sequence[Event]) -> str:
    """A lineage as text, with one line for each event."""
    if not lineage:
        return "What was done to this model is not known: its file does not say."
    return "\n".join(map(str, lineage))
