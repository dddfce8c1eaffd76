"""Warnings that point at the line of the user's program."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).resolve().parents[1])


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called this library, however deep in the library the cause is."""
    frame, level = sys._getframe(1), 2  # 1 would be this function
    while frame.f_code.co_filename.startswith(PACKAGE) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
