"""Data frames for people: pandas is loaded only when one is asked for."""

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
