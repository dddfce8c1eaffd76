"""Import pandas when a data frame is asked for, not before."""

from __future__ import annotations

from typing import Any


def import_pandas(what: str) -> Any:
    """pandas, or an error that says how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            f"{what} needs pandas, which is not installed. "
            'Install it with: pip install "neuralrules[frames]"'
        ) from error
    return pandas
