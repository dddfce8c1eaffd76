"""Pictures of fitted models, as displays in scikit-learn's manner.

Every display is made with ``from_estimator``, or from numbers that were measured before. It
keeps the numbers that it shows as attributes, and ``plot`` draws it again on any axes.
matplotlib is loaded when something is drawn: ``pip install "neuralrules[plots]"``.
"""

from neuralrules.plot._bars import ImportanceDisplay, WaterfallDisplay
from neuralrules.plot._curves import HistoryDisplay, SizeDisplay
from neuralrules.plot._diagram import RuleDisplay
from neuralrules.plot._shape import ShapeDisplay
from neuralrules.plot._support import SupportDisplay

__all__ = [
    "HistoryDisplay",
    "ImportanceDisplay",
    "RuleDisplay",
    "ShapeDisplay",
    "SizeDisplay",
    "SupportDisplay",
    "WaterfallDisplay",
]
