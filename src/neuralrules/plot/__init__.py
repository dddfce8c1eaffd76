"""Pictures of fitted models: displays that work like those of scikit-learn.

The class method ``from_estimator`` makes a display. Other class methods make one from numbers
that were measured before. A display keeps the numbers that it shows as attributes, and its
method ``plot`` draws them again on any axes. matplotlib is loaded when something is drawn:
``pip install "neuralrules[plots]"``.
"""

from neuralrules.plot._bars import ImportanceDisplay, WaterfallDisplay
from neuralrules.plot._curves import HistoryDisplay, ShapeDisplay, SizeDisplay
from neuralrules.plot._diagram import RuleDisplay
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
